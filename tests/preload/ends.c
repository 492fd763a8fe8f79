/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * ends.c HOW [PAIRS] - a known number of calls, then one of the ways to end.
 * In each case every call must be in the file.
 */
#include "victim.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static long pairs;

static void in_handler(void)
{
	for (int i = 0; i < 100; i++)
		free(malloc(6000));
}

static void by_exit(void)
{
	must(atexit(in_handler) == 0);
	exit(7);
}

static void by_quick_exit(void)
{
	must(at_quick_exit(in_handler) == 0);
	quick_exit(7);
}

static void by__exit(void)
{
	_exit(7);
}

static void by_exit_group(void)
{
	syscall(SYS_exit_group, 7);
}

static void by_abort(void)
{
	abort();
}

static void by_segv(void)
{
	*(volatile int *)8 = 1;
}

static void by_bus(void)
{
	char name[] = "/tmp/mprof-victim-XXXXXX";
	int fd = mkstemp(name);
	char *p;

	must(fd >= 0 && unlink(name) == 0 && ftruncate(fd, 8192) == 0);
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(p != MAP_FAILED && ftruncate(fd, 0) == 0);
	*(volatile char *)p = 1;
}

static void by_kill(void)
{
	kill(getpid(), SIGKILL);
	pause();
}

static void by_term(void)
{
	raise(SIGTERM);
}

static void *last_thread(void *arg)
{
	usleep(20000); /* let main be gone */
	free(malloc(6000));
	return arg;
}

static void by_pthread_exit(void)
{
	pthread_t id;

	must(pthread_create(&id, NULL, last_thread, NULL) == 0);
	pthread_exit(NULL);
}

static void *exiting_thread(void *arg)
{
	(void)arg;
	free(malloc(6000));
	exit(7);
}

static void by_thread(void)
{
	pthread_t id;

	must(pthread_create(&id, NULL, exiting_thread, NULL) == 0);
	for (;;)
		pause();
}

static const struct {
	const char *name;
	void (*end)(void);
	int status;  /* -signal when killed */
	long blocks; /* of 6000 bytes, allocated on the way out */
} doors[] = {
	{ "exit", by_exit, 7, 100 },	    { "quick_exit", by_quick_exit, 7, 100 },
	{ "_exit", by__exit, 7, 0 },	    { "exit_group", by_exit_group, 7, 0 },
	{ "abort", by_abort, -SIGABRT, 0 }, { "segv", by_segv, -SIGSEGV, 0 },
	{ "bus", by_bus, -SIGBUS, 0 },	    { "kill", by_kill, -SIGKILL, 0 },
	{ "term", by_term, -SIGTERM, 0 },   { "pthread_exit", by_pthread_exit, 0, 1 },
	{ "thread", by_thread, 7, 1 },
};

int main(int argc, char **argv)
{
	struct rlimit no_core = { 0, 0 };

	setrlimit(RLIMIT_CORE, &no_core);
	pairs = argc > 2 ? atol(argv[2]) : 1000;
	for (size_t i = 0; argc > 1 && i < sizeof(doors) / sizeof(doors[0]); i++) {
		if (strcmp(argv[1], doors[i].name) != 0)
			continue;
		for (long n = 0; n < pairs; n++)
			free(malloc(48));
		must(malloc(49));
		say("size 48 %ld", pairs);
		say("size 49 1");
		if (doors[i].blocks)
			say("size 6000 %ld", doors[i].blocks);
		/* pthread_exit loads libgcc_s, which allocates. */
		say("%s calls.malloc %ld", doors[i].end == by_pthread_exit ? "atleast" : "expect",
		    pairs + 1 + doors[i].blocks);
		say("ends %d", doors[i].status);
		doors[i].end();
	}
	say("FAILED no such door, or it did not open");
	return 98;
}
