/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * wrap.h - WRAP: which functions of the program are recorded as allocation functions, and the
 * shared object that exports their names.
 *
 * A value is words with commas between them: TYPE:FUNCTION, with TYPE the name of a function of
 * functions.def; or PREFIX*, which means all of these, with PREFIX before their names.
 */
#pragma once

#include <stdio.h>

#include "../util/error.h"

/* 0, or -EINVAL and *err, which says what is wrong with a word. */
int wrap_check(const char *value, struct error *err);
/*
 * Writes the object (wrapped.h) to the user's cache directory, or finds it there.  Its path, to be
 * freed; NULL and *err.
 */
char *wrap_object(const char *value, struct error *err);
/*
 * The words of which no function is in `called`, a list of lines: prints them with commas between
 * them.  How many there are.
 */
unsigned wrap_print_uncalled(FILE *out, const char *value, const char *called);
