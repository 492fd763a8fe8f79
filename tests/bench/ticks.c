// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * ticks.c - what one reading of the CPU's counter costs here.
 *
 *   ticks FD
 *
 * A recorder that keeps the time of each call reads it twice a pair, and under
 * some hypervisors that is half of what it adds.  Writes one line to FD; 0
 * where the counter of this architecture is not known.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define READINGS 5000000u

static inline uint64_t counter(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return 0;
#endif
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
	uint64_t start = cpu_ns(), sum = 0;
	volatile uint64_t keep;
	unsigned i;

	if (argc != 2) {
		fputs("usage: ticks FD\n", stderr);
		return 2;
	}
	for (i = 0; i < READINGS; i++)
		sum += counter();
	keep = sum;
	(void)keep;
	dprintf(atoi(argv[1]), "ticks ns_per_reading=%.3f\n",
		counter() ? (double)(cpu_ns() - start) / READINGS : 0.0);
	return 0;
}
