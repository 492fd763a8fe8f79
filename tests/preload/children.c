/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * children.c HOW COUNT - creates children one after the other.
 *
 *   fork    each allocates and ends        vfork   vfork and exec of this program
 *   spawn   posix_spawn of this program    system  through a shell
 *   popen   through a shell and a pipe     exec    this process becomes it, COUNT times
 */
#include "victim.h"

#include <spawn.h>
#include <stdint.h>
#include <sys/wait.h>

extern char **environ;

enum { BYTES = 7777 }; /* what a child allocates */

static void reap(pid_t pid)
{
	int status;

	must(pid > 0);
	must(waitpid(pid, &status, 0) == pid);
	must(WIFEXITED(status) && WEXITSTATUS(status) == 5);
}

static void by_fork(const char *self)
{
	pid_t pid = fork();

	(void)self;
	if (pid == 0) {
		free(malloc(BYTES));
		_exit(5);
	}
	reap(pid);
}

static void by_vfork(const char *self)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execl(self, self, "child", (char *)NULL);
		_exit(6);
	}
	reap(pid);
}

static void by_spawn(const char *self)
{
	char *args[] = { (char *)(uintptr_t)self, "child", NULL };
	pid_t pid;

	must(posix_spawn(&pid, self, NULL, NULL, args, environ) == 0);
	reap(pid);
}

static void by_system(const char *self)
{
	char command[4200];

	snprintf(command, sizeof(command), "'%s' child; exit $?", self);
	must(WEXITSTATUS(system(command)) == 5);
}

static void by_popen(const char *self)
{
	char command[4200];
	FILE *pipe;

	snprintf(command, sizeof(command), "'%s' child; exit $?", self);
	pipe = popen(command, "r");
	must(pipe && getc(pipe) == EOF);
	must(WEXITSTATUS(pclose(pipe)) == 5);
}

static const struct {
	const char *name;
	void (*make)(const char *self);
	int processes; /* for each child; 0: not checked */
} ways[] = {
	{ "fork", by_fork, 1 },	    { "vfork", by_vfork, 1 }, { "spawn", by_spawn, 1 },
	{ "system", by_system, 0 }, { "popen", by_popen, 0 },
};

static int chain(const char *self, long left, long all)
{
	char number[2][32];

	free(malloc(BYTES));
	if (left > 0) {
		snprintf(number[0], sizeof(number[0]), "%ld", left - 1);
		snprintf(number[1], sizeof(number[1]), "%ld", all);
		execl(self, self, "exec", number[0], number[1], (char *)NULL);
		return 6;
	}
	say("size %d %ld", BYTES, all + 1);
	say("expect processes 1"); /* one process, though it ran many programs */
	say("ends 5");
	return 5;
}

int main(int argc, char **argv)
{
	static char self[4096];
	long count = argc > 2 ? atol(argv[2]) : 10;

	must(argc > 1 && readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	if (strcmp(argv[1], "child") == 0) {
		free(malloc(BYTES));
		return 5;
	}
	if (strcmp(argv[1], "exec") == 0)
		return chain(self, count, argc > 3 ? atol(argv[3]) : count);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(argv[1], ways[i].name) != 0)
			continue;
		for (long n = 0; n < count; n++)
			ways[i].make(self);
		say("size %d %ld", BYTES, count);
		if (ways[i].processes)
			say("expect processes %ld", 1 + count * ways[i].processes);
		say("ends 0");
		return 0;
	}
	say("FAILED no such way");
	return 98;
}
