/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * nearest.h - how alike two words are, for "did you mean".
 */
#ifndef MPROF_UTIL_NEAREST_H
#define MPROF_UTIL_NEAREST_H

/*
 * Letters to insert, delete, change or swap with a neighbour to make b of a,
 * upper and lower case being alike.  Words are cut at 63 letters.
 */
unsigned nearest_distance(const char *a, const char *b);

/* A distance that is too far to be worth saying: about half of the word. */
unsigned nearest_limit(const char *word);

#endif
