/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * suites.h - the suites of build/unit.  A new one is a function
 * `Suite *NAME_suite(void)` in a file of its own and a row in suites.def.
 */
#pragma once

#include <check.h>
#include <stdint.h>
/* A macro of old Check that hides our fail() of error.h. */
#undef fail

#define SUITE(name) Suite *name##_suite(void);
#include "suites.def"
#undef SUITE

/* The next random number; *state is the one before, and not 0. */
static inline uint64_t random_after(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}
