/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * difference_names.h - spells names for diff.c so that two builds can be
 * compared, and finds functions that were renamed.
 *
 * These functions follow snprintf: they return the full length, whatever the size of the buffer.
 */
#pragma once

#include "difference.h"

size_t diff_spell(const struct diff *d, enum diff_side side, const struct sym_line *l, char *to,
		  size_t room);
size_t diff_spell_module(const struct diff *d, enum diff_side side, const struct sym_line *l,
			 char *to, size_t room);
/* Spells only the last part of the path, because builds are in different directories. */
size_t diff_spell_file(const struct diff *d, enum diff_side side, const struct sym_line *l,
		       char *to, size_t room);
/* Spells the innermost line of a site with the other side's number.  Call it after
 * diff_find_lines. */
size_t diff_spell_line(const struct diff *d, const struct diff_site *s, char *to, size_t room);

/* Returns the length of the name without suffixes of compilers. */
size_t diff_bare_name(const char *function);

/* Fills d->renamed and d->rename. */
void diff_find_renames(struct diff *d);

/* Fills d->place.  Call it after d->renamed is final. */
void diff_find_lines(struct diff *d);
