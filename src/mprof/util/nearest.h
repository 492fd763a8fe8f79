/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * nearest.h - the similarity of two words, for "did you mean".
 */
#pragma once

#include <stdbool.h>

/*
 * Counts the letters to insert, delete, change or swap with a neighbour to turn a into b, ignoring
 * case.  Words are cut at 63 letters.
 */
unsigned nearest_distance(const char *a, const char *b);

/* The same for a word that was typed instead of name, but 0 if name begins with it. */
unsigned nearest_misses(const char *word, const char *name);

/* Returns the distance from which on a word is not suggested: about half of its letters. */
unsigned nearest_limit(const char *word);

/* Does name become word if whole parts between its hyphens are left out ("no-leaks",
 * "no-new-leaks")? */
bool nearest_is_part(const char *word, const char *name);
