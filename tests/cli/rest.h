/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * rest.h - for programs that rest until mprof has seen their memory; compile includes it.
 *
 * Pages are read when memory has grown by an eighth, or when the program is twice as old as at the
 * last reading (src/mprof/run/sampler.c).  So rest() waits for twice the age of the program.
 */
#define _GNU_SOURCE
#include <time.h>

static struct timespec rest_begun;

__attribute__((constructor)) static void rest_begin(void)
{
	clock_gettime(CLOCK_MONOTONIC, &rest_begun);
}

static void rest(long ms)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ms += 2 * ((now.tv_sec - rest_begun.tv_sec) * 1000 +
		   (now.tv_nsec - rest_begun.tv_nsec) / 1000000);
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}
