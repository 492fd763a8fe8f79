/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * ranges.h - numbers, sizes, times, and ranges of them, as a user types them.
 *
 *   size   a number, with K, M, G or T for powers of 1024: 100, 1.5M, 64KiB
 *   time   a number with ns, us, ms, s, min or h; seconds without one: 20ms, 1.5
 *   range  A..B, A.. or ..B, both ends included; A alone is A..A
 *
 *   whole     decimal digits, nothing else
 *   fraction  decimal digits, perhaps with a point
 *
 * All functions return 0 or -EINVAL; results are set only on success.  Callers say what was
 * expected.
 */
#pragma once

#include <stdint.h>

/* Parses a number from least to most. */
int parse_whole(const char *text, uint64_t least, uint64_t most, uint64_t *n);

/* Parses a number with or without a suffix, such as "%". */
int parse_fraction(const char *text, const char *suffix, double *value);

int parse_size(const char *text, uint64_t *bytes);
int parse_time(const char *text, uint64_t *ns);

/* An end that is missing is 0 or UINT64_MAX. */
int parse_sizes(const char *text, uint64_t *least, uint64_t *most);
int parse_times(const char *text, uint64_t *least, uint64_t *most);
