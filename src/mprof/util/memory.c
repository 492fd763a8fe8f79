/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* memory.c - how much memory a command may take. */
#include "format.h"
#include "memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static struct {
	bool on;
	uint64_t read;	/* bytes of files */
	uint64_t asked; /* 0: nothing */
	uint64_t bytes; /* in force */
	struct rlimit before;
} cap = { .bytes = UINT64_MAX };

uint64_t memory_free(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	unsigned long long kib = 0;
	char line[128];

	while (f && !kib && fgets(line, sizeof(line), f))
		sscanf(line, "MemAvailable: %llu", &kib);
	if (f)
		fclose(f);
	return kib ? kib * 1024
		   : (uint64_t)sysconf(_SC_AVPHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t usual(void)
{
	uint64_t bytes, most = memory_free() / 4 * 3;

	if (__builtin_mul_overflow(cap.read, MEMORY_PER_BYTE, &bytes) ||
	    __builtin_add_overflow(bytes, MEMORY_LEAST, &bytes))
		bytes = UINT64_MAX;
	if (most < MEMORY_FLOOR)
		most = MEMORY_FLOOR;
	return bytes < most ? bytes : most;
}

static void set_limit(void)
{
#ifndef __SANITIZE_ADDRESS__ /* whose own tables are larger than all limits */
	struct rlimit limit = cap.before;

	if (limit.rlim_cur > cap.bytes)
		limit.rlim_cur = cap.bytes;
	setrlimit(RLIMIT_DATA, &limit);
#endif
}

static void renew(void)
{
	if (!cap.on)
		return;
	cap.bytes = cap.asked ? cap.asked : usual();
	set_limit();
}

void memory_cap(void)
{
	if (!cap.on && getrlimit(RLIMIT_DATA, &cap.before) == 0)
		cap.on = true;
	renew();
}

void memory_cap_file(uint64_t bytes)
{
	if (__builtin_add_overflow(cap.read, bytes, &cap.read))
		cap.read = UINT64_MAX;
	renew();
}

void memory_cap_at(uint64_t bytes)
{
	cap.asked = bytes;
	renew();
}

uint64_t memory_cap_bytes(void)
{
	return cap.bytes;
}

uint64_t memory_cap_asked(void)
{
	return cap.asked;
}

void memory_uncap(void)
{
	if (cap.on)
		setrlimit(RLIMIT_DATA, &cap.before);
}

void memory_recap(void)
{
	if (cap.on)
		set_limit();
}

void memory_explain(char *text, size_t room)
{
	size_t n = strlen(text);

	if (cap.on && n < room)
		snprintf(text + n, room - n, " within %s; --memory SIZE allows more",
			 text_bytes(cap.bytes).s);
}
