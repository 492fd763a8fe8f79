// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * misuse.c - a program with one error in its use of the heap, by name; MODE=Guard must find it.
 *
 * Each error is made by a separate function, on a block of 24 bytes from grow() unless
 * the size matters.  It always ends with status 3.
 */
#include <malloc.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "victim.h"

#pragma GCC diagnostic ignored "-Wfree-nonheap-object"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wuse-after-free"
#endif

#define APART __attribute__((noinline, noipa))

static char variable[256];
static char *volatile shared;

static APART char *grow(size_t bytes)
{
	char *volatile p = malloc(bytes);

	must(p);
	return p;
}

static APART void put(char *at, int value)
{
	*(volatile char *)at = (char)value;
}

static APART void drop(void *p)
{
	free(p);
	__asm__ volatile("" ::: "memory");
}

static APART void overrun(void)
{
	char *p = grow(24);

	for (int i = 0; i < 27; i++)
		put(p + i, 'x');
	drop(p);
}

static APART void beyond(void)
{
	char *p = grow(24);

	put(p + 29, 0);
	drop(p);
}

static APART void underrun(void)
{
	char *p = grow(24);

	for (int i = -4; i < 0; i++)
		put(p + i, 'y');
	drop(p);
}

static APART void at_exit(void)
{
	put(grow(24) + 24, 0);
}

static APART void at_realloc(void)
{
	char *p = grow(24);

	put(p + 24, 1);
	p = realloc(p, 100);
	must(p);
	drop(p);
}

static APART void twice(void)
{
	char *p = grow(24);

	drop(p);
	drop(p);
}

static APART void realloc_freed(void)
{
	char *p = grow(24);

	drop(p);
	p = realloc(p, 50);
	must(p);
	drop(p);
}

static APART void moved_write(void)
{
	char *p = grow(24);

	drop(realloc(p, 32));
	put(p + 7, 'z');
}

static APART void moved_free(void)
{
	char *p = grow(24);

	must(realloc(p, 32));
	drop(p);
}

static APART void freed_write(void)
{
	char *p = grow(24);

	drop(p);
	put(p + 7, 'z');
}

static APART void inside(void)
{
	char *p = grow(24);

	drop(p + 16);
	drop(p);
}

static APART void inside_large(void)
{
	char *p = grow(300000);

	drop(p + 200000);
	drop(p);
}

static APART void of_stack(void)
{
	char local[64];

	drop(local + 16);
}

static APART void of_variable(void)
{
	drop(variable + 64);
}

static APART void unmapped(void)
{
	drop((void *)(uintptr_t)0x10);
}

static APART void aligned(void)
{
	static const size_t align[] = { 8, 64, 4096, 1 << 20 };

	for (int i = 0; i < 4; i++) {
		void *p = NULL;

		must(!posix_memalign(&p, align[i], 40) && (uintptr_t)p % align[i] == 0);
		must(malloc_usable_size(p) == 40);
		put((char *)p + 40, 0);
		drop(p);
	}
}

/* Each way to allocate, and one byte too many. */
static APART void ways(void)
{
	static size_t none; /* not a constant, of which compilers warn */
	char *p[8] = { malloc(24),
		       calloc(3, 8),
		       realloc(NULL, 24),
		       reallocarray(NULL, 3, 8),
		       aligned_alloc(64, 24),
		       memalign(64, 24),
		       valloc(24),
		       malloc(none) };

	for (int i = 0; i < 8; i++) {
		must(p[i] && malloc_usable_size(p[i]) == (i < 7 ? 24 : 0));
		put(p[i] + malloc_usable_size(p[i]), 0);
		drop(p[i]);
	}
}

static void *in_thread(void *unused)
{
	shared = grow(24);
	return unused;
}

/* One thread allocates, another frees. */
static APART void threads(void)
{
	pthread_t t;

	must(!pthread_create(&t, NULL, in_thread, NULL) && !pthread_join(t, NULL));
	put(shared + 24, 0);
	drop(shared);
}

/* The parent allocates, its child writes: only the child's block is overrun. */
static APART void forked(void)
{
	char *p = grow(24);
	pid_t child = fork();

	if (!child) {
		put(p + 24, 0);
		drop(p);
		_exit(0);
	}
	must(waitpid(child, NULL, 0) == child);
	drop(p);
}

static APART void many(void)
{
	for (int i = 0; i < 1000; i++)
		overrun();
}

/* Nothing is wrong, down to the last byte and beyond what realloc kept. */
static APART void clean(void)
{
	for (size_t n = 0; n < 5000; n += 7) {
		char *p = grow(n), *q;

		must(malloc_usable_size(p) >= n);
		memset(p, 1, n);
		q = realloc(p, 2 * n + 1);
		must(q && (!n || (q[0] == 1 && q[n - 1] == 1)));
		memset(q, 2, 2 * n + 1);
		q = realloc(q, n / 2 + 1);
		must(q && q[n / 2] == 2);
		drop(q);
		q = calloc(1, n + 1);
		for (size_t i = 0; i <= n; i++)
			must(!q[i]);
		drop(q);
	}
	must(realloc(malloc(5), 0) == NULL);
	drop(NULL);
}

/* Only read, write and exit from here on: the heap has free space, and nothing may be mapped. */
static APART void sandbox(void)
{
	static char *volatile p[20000];

	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	for (int i = 0; i < 200; i++)
		p[i] = grow(100000);
	for (int i = 0; i < 200; i++)
		drop(p[i]);
	must(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
	for (int i = 0; i < 20000; i++)
		p[i] = grow(64);
	for (int i = 0; i < 20000; i++)
		drop(p[i]);
	say("still here");
	syscall(SYS_exit, 3);
}

/* 1,000 blocks, of which 10 are live at the end: one is overrun. */
static APART void kill_me(void)
{
	char *p[10];

	for (int i = 0; i < 990; i++)
		drop(grow(24));
	for (int i = 0; i < 10; i++)
		p[i] = grow(24);
	put(p[5] + 24, 0);
	kill(getpid(), SIGKILL);
}

static const struct {
	const char *name;
	void (*make)(void);
} errors[] = {
	{ "overrun", overrun },
	{ "beyond", beyond },
	{ "underrun", underrun },
	{ "exit", at_exit },
	{ "realloc", at_realloc },
	{ "twice", twice },
	{ "realloc_freed", realloc_freed },
	{ "moved_write", moved_write },
	{ "moved_free", moved_free },
	{ "freed_write", freed_write },
	{ "inside", inside },
	{ "inside_large", inside_large },
	{ "stack", of_stack },
	{ "variable", of_variable },
	{ "unmapped", unmapped },
	{ "aligned", aligned },
	{ "ways", ways },
	{ "threads", threads },
	{ "fork", forked },
	{ "many", many },
	{ "clean", clean },
	{ "sandbox", sandbox },
	{ "killed", kill_me },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(errors) / sizeof(errors[0]); i++)
		if (!strcmp(argv[1], errors[i].name))
			errors[i].make();
	say("still here");
	return 3;
}
