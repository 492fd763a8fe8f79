/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * wrap.h - WRAP: which functions of the program are recorded as allocation functions, and the
 * shared object that exports their names.
 *
 * A value is a list of words, separated by commas: TYPE:FUNCTION, where TYPE is the name of a
 * function of functions.def; or PREFIX*, which means all of these, with PREFIX before their names.
 */
#pragma once

#include <stdio.h>

#include "../util/error.h"

/* Returns 0, or -EINVAL with *err, which says what is wrong with a word. */
int wrap_check(const char *value, struct error *err);
/*
 * Writes the object (wrapped.h) to the user's cache directory, or finds it there.  Returns its
 * path, which the caller frees; NULL with *err.
 */
char *wrap_object(const char *value, struct error *err);
/*
 * Prints the words whose functions are not in `called`, a list of lines, separated by commas.
 * Returns how many there are.
 */
unsigned wrap_print_uncalled(FILE *out, const char *value, const char *called);
