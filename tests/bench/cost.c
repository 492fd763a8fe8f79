// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * cost.c - what a command cost the CPU, with every process it started.
 *
 *   cost FD [NAME=VALUE ...] COMMAND [ARGUMENT ...]
 *
 * Runs COMMAND, with the variables in its environment but not in ours (a
 * recorder must not be preloaded here), and writes one line to descriptor FD
 * when the last process of its tree has ended: user and system time of all of
 * them, page faults, and the greatest resident set of any.  Exit status is the command's,
 * 128 + N after signal N.
 *
 * Orphans are adopted (PR_SET_CHILD_SUBREAPER), so that helpers which outlive
 * their parent are counted too.  Each process is counted once, by whoever
 * waits for it.  The program is small on purpose: a process keeps, over exec,
 * the peak resident set of the image that forked it.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct cost {
	uint64_t user_us, system_us;
	uint64_t elapsed_us; /* until the command itself ended; a hint only */
	long peak_kib;
	long minor_faults;
	int status; /* of the command itself, as wait gives it */
};

static uint64_t microseconds(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_usec;
}

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static void collect(struct cost *cost, pid_t command)
{
	uint64_t start = now_us();
	struct rusage usage;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, 0, &usage)) > 0 || errno == EINTR) {
		if (pid <= 0)
			continue;
		cost->user_us += microseconds(usage.ru_utime);
		cost->system_us += microseconds(usage.ru_stime);
		cost->minor_faults += usage.ru_minflt;
		if (usage.ru_maxrss > cost->peak_kib)
			cost->peak_kib = usage.ru_maxrss;
		if (pid == command) {
			cost->status = status;
			cost->elapsed_us = now_us() - start;
		}
	}
}

static void run_command(char **word)
{
	while (*word && strchr(*word, '='))
		putenv(*word++);
	if (*word)
		execvp(*word, word);
	fprintf(stderr, "cost: %s: %s\n", *word ? *word : "COMMAND", strerror(errno));
	_exit(127);
}

int main(int argc, char **argv)
{
	struct cost cost = { 0 };
	pid_t command;
	int fd, code;

	if (argc < 3 || (fd = atoi(argv[1])) < 1) {
		fputs("usage: cost FD [NAME=VALUE ...] COMMAND [ARGUMENT ...]\n", stderr);
		return 2;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	command = fork();
	if (command == 0)
		run_command(argv + 2);
	if (command < 0) {
		perror("cost: fork");
		return 2;
	}
	collect(&cost, command);
	code = WIFSIGNALED(cost.status) ? 128 + WTERMSIG(cost.status) : WEXITSTATUS(cost.status);
	dprintf(fd,
		"cost user_us=%llu system_us=%llu elapsed_us=%llu peak_kib=%ld faults=%ld "
		"status=%d\n",
		(unsigned long long)cost.user_us, (unsigned long long)cost.system_us,
		(unsigned long long)cost.elapsed_us, cost.peak_kib, cost.minor_faults, code);
	return code;
}
