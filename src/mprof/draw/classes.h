/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * classes.h - the colour of a page: by how full it is, or by the age, size, thread, site or module
 * of the blocks in it.
 *
 * By thread, site and module, the HUES classes with the most live bytes in the counted pages have a
 * hue each, in that order; all others share COLOUR_OTHER.
 *
 * Without memory the program ends (util/alloc.h). Threads: one at a time.
 */
#pragma once

#include "../pass/interner.h"
#include "../pass/thread_title.h"
#include "film.h"
#include "palette.h"

struct profile;

enum picture_by {
	PICTURE_BY_OCCUPANCY,
	PICTURE_BY_AGE,
	PICTURE_BY_SIZE,
	PICTURE_BY_THREAD,
	PICTURE_BY_SITE,
	PICTURE_BY_MODULE,
	PICTURE_BY_COUNT,
};

struct classes {
	enum picture_by by;
	struct profile *names; /* NULL = sites are numbers */
	/* By index; of further ones, the number is index + 1.  May be set after classes_init. */
	struct thread_titles threads;
	/* Private: */
	struct line_interner lines; /* functions or modules, by number */
	uint32_t *number; /* by site: 0 = not looked up yet, else the number of its line + 1 */
	size_t numbers;
	uint64_t *bytes; /* by number */
	size_t counted;
	uint32_t top[HUES]; /* numbers, most bytes first */
	unsigned tops;
	uint64_t top_bytes[HUES], other_bytes, all_bytes;
};

void classes_init(struct classes *c, enum picture_by by, struct profile *names);
void classes_release(struct classes *c);

/* Returns the channels that a film must keep for it. */
unsigned classes_channels(enum picture_by by);

/* Counts a page that will be drawn. */
void classes_count(struct classes *c, const struct film_cell *cell);
/* Call this after the last page; again after more pages. */
void classes_rank(struct classes *c);

/* Returns the colour of a page with live bytes; not for occupancy.  now: op of the frame. */
uint8_t classes_colour(struct classes *c, const struct film_cell *cell, uint64_t now, uint64_t ops);

/* Puts the name of a class with a hue, 0 to tops - 1. */
void classes_name(const struct classes *c, unsigned top, char *text, size_t room);

/* Returns "occupancy" and so on: the word of util/words.def. */
const char *picture_by_name(enum picture_by by);
