/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* bits.h - classes of numbers by powers of two. */
#pragma once

#include <stdint.h>

/* Returns the number of significant bits: 0 for 0, i for 2^(i - 1) to below 2^i. */
static inline unsigned bits_of(uint64_t n)
{
	return n ? 64u - (unsigned)__builtin_clzll(n) : 0;
}
