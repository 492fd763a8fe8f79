/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * fork.c - a child frees inherited blocks, its parent continues with its own.
 *
 *   (none)     fork        raw        fork by a raw system call, unknown to the C library
 *   tree       a child that forks a child, all living at once
 *   threads    the parent has threads that allocate while it forks
 *   loading    a thread of the parent loads objects while it forks: the child may do what is
 *              safe in a signal handler, although the loader's lock is held for ever in it
 *   signals    a signal comes at each system call of the children in turn, the recorder's
 *              included, and its handler allocates
 *   leaps      the same, and the handler jumps out
 */
#include "victim.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { BLOCKS = 100 };
static void *block[BLOCKS];

static pid_t raw_fork(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void fill(size_t size)
{
	for (int i = 0; i < BLOCKS; i++)
		must((block[i] = malloc(size)));
}

static void empty(int from, int to)
{
	for (int i = from; i < to; i++)
		free(block[i]);
}

static void reap(pid_t pid, int status)
{
	int got;

	must(waitpid(pid, &got, 0) == pid);
	must(WIFEXITED(got) && WEXITSTATUS(got) == status);
}

static void simple(pid_t (*fork_with)(void))
{
	pid_t pid;

	fill(1000);
	pid = fork_with();
	must(pid >= 0);
	if (pid == 0) {
		empty(0, BLOCKS); /* inherited: no unmatched frees */
		fill(2000);
		empty(0, BLOCKS);
		_exit(3);
	}
	reap(pid, 3);
	empty(0, BLOCKS);
	say("expect calls.malloc %d", 2 * BLOCKS);
	say("expect calls.free %d", 3 * BLOCKS);
	say("size 1000 %d", BLOCKS);
	say("size 2000 %d", BLOCKS);
	say("expect processes 2");
}

static void tree(void)
{
	pid_t child, grandchild;

	fill(1000);
	child = fork();
	must(child >= 0);
	if (child == 0) {
		empty(0, 50);
		grandchild = fork();
		must(grandchild >= 0);
		if (grandchild == 0) {
			empty(50, BLOCKS);
			free(malloc(4000));
			exit(0);
		}
		empty(50, BLOCKS);
		free(malloc(3000));
		reap(grandchild, 0);
		exit(0);
	}
	reap(child, 0);
	empty(0, BLOCKS);
	say("expect calls.malloc %d", BLOCKS + 2);
	say("expect calls.free %d", 50 + 50 + 1 + 50 + 1 + BLOCKS);
	say("size 3000 1");
	say("size 4000 1");
	say("expect processes 3");
}

static volatile int stop;

static void *churn(void *arg)
{
	while (!stop)
		free(malloc(16));
	return arg;
}

static void threads(void)
{
	pthread_t id[4];

	for (int i = 0; i < 4; i++)
		must(pthread_create(&id[i], NULL, churn, NULL) == 0);
	for (int i = 0; i < 50; i++) {
		pid_t pid = fork();

		must(pid >= 0);
		if (pid == 0) {
			free(malloc(5000));
			_exit(0);
		}
		reap(pid, 0);
	}
	stop = 1;
	for (int i = 0; i < 4; i++)
		must(pthread_join(id[i], NULL) == 0);
	say("size 5000 50");
	say("expect processes 51");
}

static void *load(void *arg)
{
	while (!stop) {
		void *so = dlopen("libm.so.6", RTLD_NOW);

		must(so && dlsym(so, "cos") && !dlsym(so, "no such symbol"));
		must(dlclose(so) == 0);
	}
	return arg;
}

static void loading(void)
{
	pthread_t id;

	must(pthread_create(&id, NULL, load, NULL) == 0);
	for (int i = 0; i < 200; i++) {
		pid_t pid = fork();

		must(pid >= 0);
		if (pid == 0) {
			int fd = open("/dev/null", O_RDWR);

			must(dup2(fd, 50) == 50 && close(fd) == 0);
			closefrom(51);
			if (i % 2)
				execl("/bin/true", "true", (char *)NULL);
			_exit(0);
		}
		reap(pid, 0);
	}
	stop = 1;
	must(pthread_join(id, NULL) == 0);
	say("expect processes 201");
}

enum { CHILDREN = 50 };
static sigjmp_buf before_fork;
static volatile int leaps, in_malloc;

static void on_signal(int number)
{
	if (in_malloc) /* not even natively may a handler allocate then */
		return;
	free(malloc(3000));
	if (leaps)
		siglongjmp(before_fork, number);
}

/* Forks children one after the other.  Each one allocates, regardless of its handler. */
static void fork_many(void)
{
	for (int i = 0; i < CHILDREN; i++) {
		volatile pid_t parent = getpid();
		volatile pid_t pid = 0;

		if (!sigsetjmp(before_fork, 1))
			pid = fork();
		if (getpid() != parent) {
			in_malloc = 1;
			free(malloc(5000));
			syscall(SYS_exit_group, 0); /* not the recorder's _exit */
		}
		must(pid > 0);
		reap(pid, 0);
	}
}

/* The n-th child gets SIGUSR1 where it enters or leaves its n-th system call. */
static void send_signals(pid_t parent)
{
	int status, children = 0, stops = 0;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		int signal = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;

		if (!WIFSTOPPED(status)) {
			must(WIFEXITED(status) && WEXITSTATUS(status) == 0);
			if (pid == parent)
				return;
			continue;
		}
		if (pid != parent && signal == SIGSTOP) { /* a new one */
			children++;
			stops = 0;
		}
		if (pid != parent && signal == (SIGTRAP | 0x80) && stops++ == children)
			must(kill(pid, SIGUSR1) == 0);
		if (signal == SIGSTOP || signal == SIGTRAP || signal == (SIGTRAP | 0x80))
			signal = 0;
		must(ptrace(pid == parent ? PTRACE_CONT : PTRACE_SYSCALL, pid, NULL,
			    (void *)(long)signal) == 0);
	}
}

static void signals(void)
{
	struct sigaction act = { .sa_handler = on_signal };
	pid_t pid;
	int status;

	must(sigaction(SIGUSR1, &act, NULL) == 0);
	pid = fork();
	must(pid >= 0);
	if (pid == 0) {
		must(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
		raise(SIGSTOP);
		fork_many();
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	must(ptrace(PTRACE_SETOPTIONS, pid, NULL,
		    (void *)(long)(PTRACE_O_TRACEFORK | PTRACE_O_TRACESYSGOOD |
				   PTRACE_O_EXITKILL)) == 0);
	must(ptrace(PTRACE_CONT, pid, NULL, NULL) == 0);
	send_signals(pid);
	say("size 5000 %d", CHILDREN);
	say("expect processes %d", CHILDREN + 2);
	say("lossy");
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (strcmp(how, "tree") == 0)
		tree();
	else if (strcmp(how, "threads") == 0)
		threads();
	else if (strcmp(how, "loading") == 0)
		loading();
	else if (strcmp(how, "signals") == 0 || (leaps = strcmp(how, "leaps") == 0))
		signals();
	else
		simple(strcmp(how, "raw") == 0 ? raw_fork : fork);
	say("ends 0");
	return 0;
}
