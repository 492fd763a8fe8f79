/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * tamed.h - figures of a profile as they count: where threads update them at different times, a
 * difference may be below 0 for a moment, and a damaged file may have anything.
 */
#pragma once

#include <stdint.h>

/* Returns 0 for what is below. */
static inline uint64_t above(int64_t v)
{
	return v > 0 ? (uint64_t)v : 0;
}

/* Returns 0 if it is not a number, below 0, or too large for 63 bits. */
static inline double tamed(double v)
{
	return v > 0 && v < 0x1p63 ? v : 0;
}

static inline uint64_t rounded(double v)
{
	return (uint64_t)(tamed(v) + 0.5);
}
