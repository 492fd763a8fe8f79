/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* columns.h - the width of text on a screen, and eliding names that are too wide. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Counts the columns of s: characters, not bytes. */
size_t columns_of(const char *s, size_t bytes);
/* Counts the columns of terminal_ellipsis(), which replaces an elided middle. */
size_t columns_ellipsis(void);
/* Copies s, its middle elided if it has more than `columns`; `to` has strlen(s) + 4 bytes. */
void columns_elide(char *to, const char *s, size_t columns);
/* The same for a command: omits the directories of its program if its path takes half of what
 * fits, and then whole arguments, where that costs at most half of what fits. */
void columns_elide_arguments(char *to, const char *s, size_t columns);
/*
 * Sets how many bytes at the beginning and at the end of s columns_elide() keeps.  It cuts between
 * the parts of a name (after "::", "/", "(", "<" ...) where that costs at most half of what fits,
 * and never leaves a piece of a word that is shorter than three letters.
 */
void columns_cut(const char *s, size_t bytes, size_t columns, size_t *head, size_t *tail);
/* Is it a unit, such as MiB or %, that belongs to the number before it? */
bool columns_is_unit(const char *s, size_t bytes);
