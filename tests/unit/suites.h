/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * suites.h - the suites of build/unit.  A new one is a function
 * `Suite *NAME_suite(void)` in a file of its own and a row in suites.def.
 */
#pragma once

#include <check.h>
/* A macro of old Check that hides our fail() of error.h. */
#undef fail

#define SUITE(name) Suite *name##_suite(void);
#include "suites.def"
#undef SUITE
