/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* now.h - the clocks of the system, in ns. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline int64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
