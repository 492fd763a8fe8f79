/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * nearest.h - the similarity of two words, for "did you mean".
 */
#pragma once

/*
 * Letters to insert, delete, change or swap with a neighbour to make b of a,
 * upper and lower case being alike.  Words are cut at 63 letters.
 */
unsigned nearest_distance(const char *a, const char *b);

/* The distance from which a word is not suggested: about half of its letters. */
unsigned nearest_limit(const char *word);
