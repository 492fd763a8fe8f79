/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * scarce.c - an mprof that has no more memory after SCARCE requests for it.
 *
 * For LD_PRELOAD.  Only the process that it is loaded into at first runs out: programs that it
 * starts have what they need.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);

static long left = -1; /* none counted yet */
static bool counts;

static __attribute__((constructor)) void begin(void)
{
	const char *most = getenv("SCARCE");

	if (!most)
		return;
	left = atol(most);
	counts = true;
	unsetenv("SCARCE");
	unsetenv("LD_PRELOAD");
}

static bool is_out(void)
{
	if (!counts || __atomic_sub_fetch(&left, 1, __ATOMIC_RELAXED) >= 0)
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t bytes)
{
	return is_out() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
	return is_out() ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *p, size_t bytes)
{
	return is_out() ? NULL : __libc_realloc(p, bytes);
}

void *reallocarray(void *p, size_t n, size_t bytes)
{
	size_t all;

	if (__builtin_mul_overflow(n, bytes, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(p, all);
}
