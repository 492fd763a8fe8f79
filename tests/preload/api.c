/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * api.c - every function of the C API, with edge cases: zero sizes, failures,
 * overflow, errno, alignment.  What the C library lacks is looked up by dlsym
 * and left out when nobody defines it.
 */
#include "victim.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>

#define HUGE_SIZE ((size_t)PTRDIFF_MAX - 4096)

static volatile size_t huge = HUGE_SIZE; /* the compiler must not know better */
static volatile size_t zero;

static int aligned(const void *p, size_t align)
{
	return p && (uintptr_t)p % align == 0;
}

static void plain(void)
{
	char *a, *b;

	errno = 77;
	a = malloc(24);
	must(errno == 77 && aligned(a, 16) && malloc_usable_size(a) >= 24);
	say("event malloc 24 A");
	memset(a, 1, 24);
	a = realloc(a, 4000);
	must(errno == 77 && aligned(a, 16) && a[23] == 1);
	say("event realloc A 4000 A");
	b = realloc(NULL, 50);
	must(errno == 77 && b);
	say("event realloc 0 50 B");
	free(a);
	free(b);
	free(NULL);
	must(errno == 77);
	say("event free A");
	say("event free B");
	say("event free 0");
	a = reallocarray(NULL, 5, 10);
	say("event reallocarray 0 5 10 C");
	a = reallocarray(a, 7, 100);
	must(errno == 77 && a);
	say("event reallocarray C 7 100 C");
	free(a);
	say("event free C");
	a = calloc(10, 10);
	for (int i = 0; i < 100; i++)
		must(a[i] == 0);
	say("event calloc 10 10 D");
	free(a);
	say("event free D");
}

static void aligning(void)
{
	void *p = memalign(256, 100);

	must(aligned(p, 256));
	say("event memalign 256 100 A");
	free(p);
	say("event free A");
	must(posix_memalign(&p, 4096, 10) == 0 && aligned(p, 4096));
	say("event posix_memalign 4096 10 B");
	free(p);
	say("event free B");
	p = aligned_alloc(32, 64);
	must(aligned(p, 32));
	say("event aligned_alloc 32 64 C");
	free(p);
	say("event free C");
	p = valloc(10);
	must(aligned(p, 4096));
	say("event valloc 10 D");
	free(p);
	say("event free D");
	p = pvalloc(10);
	must(aligned(p, 4096) && malloc_usable_size(p) >= 4096);
	say("event pvalloc 10 E");
	free(p);
	say("event free E");
	must(malloc_usable_size(NULL) == 0);
}

static void zeros(void)
{
	char *p = malloc(zero);

	must(p); /* glibc returns a block */
	say("event malloc 0 A");
	p = realloc(p, zero);
	must(p == NULL); /* glibc frees */
	say("event realloc A 0 0");
	p = calloc(zero, 5);
	must(p);
	say("event calloc 0 5 B");
	free(p);
	say("event free B");
	p = realloc(NULL, zero);
	must(p);
	say("event realloc 0 0 C");
	free(p);
	say("event free C");
	p = calloc(5, zero);
	must(p);
	say("event calloc 5 0 D");
	free(p);
	say("event free D");
	p = reallocarray(NULL, zero, 5);
	must(p);
	say("event reallocarray 0 0 5 E");
	must(reallocarray(p, zero, 7) == NULL);
	say("event reallocarray E 0 7 0");
	p = reallocarray(NULL, 5, zero);
	must(p);
	say("event reallocarray 0 5 0 F");
	free(p);
	say("event free F");
}

static void failures(void)
{
	void *p = (void *)0x1234;
	char *a = malloc(10);

	say("event malloc 10 A");
	errno = 0;
	must(malloc(huge) == NULL && errno == ENOMEM);
	say("event malloc %zu 0", HUGE_SIZE);
	errno = 0;
	must(realloc(a, huge) == NULL && errno == ENOMEM);
	say("event realloc A %zu 0", HUGE_SIZE);
	strcpy(a, "lives on");
	errno = 0;
	must(calloc(huge, 16) == NULL && errno == ENOMEM);
	say("event calloc %zu 16 0", HUGE_SIZE);
	errno = 0;
	must(reallocarray(a, huge, 16) == NULL && errno == ENOMEM);
	say("event reallocarray A %zu 16 0", HUGE_SIZE);
	must(calloc(16, huge) == NULL && reallocarray(a, 16, huge) == NULL);
	say("event calloc 16 %zu 0", HUGE_SIZE);
	say("event reallocarray A 16 %zu 0", HUGE_SIZE);
	must(calloc(3, SIZE_MAX / 3 - zero) ==
	     NULL); /* the greatest product that does not overflow */
	say("event calloc 3 %zu 0", SIZE_MAX / 3);
	errno = 5;
	must(posix_memalign(&p, 3, 100) == EINVAL && p == (void *)0x1234 && errno == 5);
	say("event posix_memalign 3 100 0");
	must(posix_memalign(&p, 64, huge) == ENOMEM && p == (void *)0x1234);
	say("event posix_memalign 64 %zu 0", HUGE_SIZE);
	errno = 0;
	must(aligned_alloc(64, huge) == NULL && errno == ENOMEM);
	say("event aligned_alloc 64 %zu 0", HUGE_SIZE);
	must(strcmp(a, "lives on") == 0);
	free(a);
	say("event free A");
}

/* C23 and the past: there under libmprof, perhaps not in this C library. */
static void others(void)
{
	void (*sized)(void *, size_t) = (void (*)(void *, size_t))dlsym(RTLD_DEFAULT, "free_sized");
	void (*aligned_sized)(void *, size_t, size_t) =
	    (void (*)(void *, size_t, size_t))dlsym(RTLD_DEFAULT, "free_aligned_sized");
	void (*old)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "cfree");

	/* The output must not depend on which library defines them. */
	if (sized)
		sized(malloc(33), 33);
	else
		free(malloc(33));
	say("event malloc 33 A");
	say("event free_sized A 33");
	if (aligned_sized)
		aligned_sized(aligned_alloc(64, 192), 64, 192);
	else
		free(aligned_alloc(64, 192));
	say("event aligned_alloc 64 192 B");
	say("event free_aligned_sized B 64 192");
	if (old)
		old(malloc(44));
	else
		free(malloc(44));
	say("event malloc 44 C");
	say("event cfree C");
}

int main(void)
{
	say("exact");
	plain();
	aligning();
	zeros();
	failures();
	others();
	say("expect live_blocks 0");
	say("expect live_bytes 0");
	say("ends 0");
	return 0;
}
