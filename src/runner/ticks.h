/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * ticks.h - the processor's own clock, for individual calls.
 */
#pragma once

#include <stdint.h>
#include <time.h>

#if defined(__x86_64__) || defined(__i386__)
/* Waits for pending instructions, so that a call's end is not read too early. */
static inline uint64_t ticks(void)
{
	uint32_t low, high;

	__asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}
static inline void relax(void)
{
	__asm__ volatile("pause" : : : "memory");
}
#elif defined(__aarch64__)
static inline uint64_t ticks(void)
{
	uint64_t t;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(t) : : "memory");
	return t;
}
static inline void relax(void)
{
	__asm__ volatile("yield" : : : "memory");
}
#else
static inline uint64_t ticks(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
static inline void relax(void) {}
#endif
