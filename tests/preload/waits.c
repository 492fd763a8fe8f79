/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * waits.c - children that end without a fact, and every way to wait for one.
 *
 * The trace must show how each one ended: `killed SIGNAL` and `exited STATUS` below are the
 * numbers of processes that did.
 */
#include "victim.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static volatile sig_atomic_t reaped;

static pid_t child_killed_by(int signal)
{
	pid_t pid = fork();

	if (pid == 0) {
		free(malloc(100));
		kill(getpid(), signal);
		pause();
	}
	must(pid > 0);
	return pid;
}

static pid_t child_that_exits(int status)
{
	pid_t pid = fork();

	if (pid == 0) {
		free(malloc(100));
		syscall(SYS_exit_group, status);
	}
	must(pid > 0);
	return pid;
}

static void on_child(int signal)
{
	int code = errno;

	(void)signal;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		reaped++;
	errno = code;
}

int main(void)
{
	struct rusage usage;
	siginfo_t info = { 0 };
	int status = 0, i;
	pid_t pid;

	pid = child_killed_by(SIGKILL);
	must(wait(&status) == pid && WTERMSIG(status) == SIGKILL);
	pid = child_killed_by(SIGKILL);
	must(wait(NULL) == pid);
	pid = child_killed_by(SIGKILL);
	must(waitpid(pid, &status, 0) == pid && WTERMSIG(status) == SIGKILL);
	pid = child_killed_by(SIGTERM);
	must(wait3(&status, 0, &usage) == pid && WTERMSIG(status) == SIGTERM);
	pid = child_killed_by(SIGTERM);
	must(wait4(pid, NULL, 0, NULL) == pid);
	pid = child_killed_by(SIGTERM);
	must(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0 && info.si_pid == pid);
	must(waitid(P_PID, (id_t)pid, &info, WEXITED) == 0 && info.si_status == SIGTERM);
	pid = child_that_exits(7);
	must(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7);
	/* A process that is not a child, and a child that has not ended. */
	errno = 0;
	must(wait(&status) == -1 && errno == ECHILD);
	must(waitid(P_ALL, 0, &info, WEXITED) == -1 && errno == ECHILD);
	pid = child_killed_by(SIGSTOP);
	must(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
	kill(pid, SIGKILL);
	must(waitpid(pid, &status, 0) == pid && WTERMSIG(status) == SIGKILL);
	/* In a signal handler, while this thread allocates. */
	signal(SIGCHLD, on_child);
	for (i = 0; i < 20; i++)
		child_killed_by(SIGUSR1);
	while (reaped < 20)
		free(malloc(50));
	say("expect killed.9 4");
	say("expect killed.15 3");
	say("expect killed.10 20");
	say("expect exited.7 1");
	say("expect processes 29");
	say("lossy");
	say("ends 0");
	return 0;
}
