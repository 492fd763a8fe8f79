/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* classes.c - classes of pages and their colours; see classes.h. */
#include "classes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../profile/profile.h"
#include "../util/word_list.h"
#include "../util/alloc.h"

static const unsigned channels[PICTURE_BY_COUNT] = {
	[PICTURE_BY_AGE] = FILM_BLOCKS,	   [PICTURE_BY_SIZE] = FILM_BLOCKS,
	[PICTURE_BY_THREAD] = FILM_THREAD, [PICTURE_BY_SITE] = FILM_SITE,
	[PICTURE_BY_MODULE] = FILM_SITE,
};

const char *picture_by_name(enum picture_by by)
{
	return words_PICTURE_BY[by];
}

unsigned classes_channels(enum picture_by by)
{
	return channels[by];
}

void classes_init(struct classes *c, enum picture_by by, struct profile *names)
{
	memset(c, 0, sizeof(*c));
	c->by = by;
	c->names = names;
	c->lines.same = by == PICTURE_BY_MODULE ? LINE_MODULE : LINE_FUNCTION;
}

void classes_release(struct classes *c)
{
	line_interner_release(&c->lines);
	free(c->number);
	free(c->bytes);
	c->number = NULL;
	c->bytes = NULL;
}

/* Returns the number of the line that requested; 0 if unknown. */
static uint32_t line_number(struct classes *c, uint32_t site)
{
	const struct sym_line *line;

	if (!site || !c->names)
		return 0;
	GROW_ZEROED(c->number, (size_t)site + 1, c->numbers);
	if (!c->number[site]) {
		line = profile_asked(c->names, site).line;
		c->number[site] = 1 + (line ? line_interner_id(&c->lines, line) : 0);
	}
	return c->number[site] - 1;
}

static uint32_t number_of(struct classes *c, const struct film_cell *cell)
{
	if (c->by == PICTURE_BY_THREAD)
		return cell->thread + 1;
	return c->names ? line_number(c, cell->site) : cell->site;
}

void classes_count(struct classes *c, const struct film_cell *cell)
{
	uint32_t number;

	if (c->by < PICTURE_BY_THREAD || !cell->live)
		return;
	number = number_of(c, cell);
	GROW_ZEROED(c->bytes, (size_t)number + 1, c->counted);
	c->bytes[number] += cell->live;
}

static void offer_top(struct classes *c, uint32_t number)
{
	unsigned i;

	for (i = c->tops; i && c->bytes[c->top[i - 1]] < c->bytes[number]; i--)
		if (i < HUES)
			c->top[i] = c->top[i - 1];
	if (i == HUES)
		return;
	c->top[i] = number;
	c->tops += c->tops < HUES;
}

void classes_rank(struct classes *c)
{
	uint32_t n;
	unsigned i;

	c->tops = 0;
	c->all_bytes = 0;
	for (n = 0; n < c->counted; n++) {
		c->all_bytes += c->bytes[n];
		if (n && c->bytes[n]) /* 0 is unknown */
			offer_top(c, n);
	}
	c->other_bytes = c->all_bytes - (c->counted ? c->bytes[0] : 0);
	for (i = 0; i < c->tops; i++) {
		c->top_bytes[i] = c->bytes[c->top[i]];
		c->other_bytes -= c->top_bytes[i];
	}
}

uint8_t classes_colour(struct classes *c, const struct film_cell *cell, uint64_t now, uint64_t ops)
{
	uint32_t number;
	unsigned i;

	if (c->by == PICTURE_BY_AGE)
		return palette_age(now > cell->born ? now - cell->born : 0, ops);
	if (c->by == PICTURE_BY_SIZE)
		return (uint8_t)(COLOUR_SIZE + palette_size_class(cell->size));
	number = number_of(c, cell);
	if (!number)
		return COLOUR_UNKNOWN;
	for (i = 0; i < c->tops; i++)
		if (c->top[i] == number)
			return (uint8_t)(COLOUR_HUE + i);
	return COLOUR_OTHER;
}

void classes_name(const struct classes *c, unsigned top, char *text, size_t room)
{
	const struct sym_line *line;
	uint32_t i;

	if (c->by == PICTURE_BY_THREAD) {
		i = c->top[top] - 1;
		snprintf(text, room, "thread %s",
			 i < c->threads.count ? c->threads.of[i] : format_number(i + 1ull).s);
	} else if (!c->names) {
		snprintf(text, room, "site %" PRIu32, c->top[top]);
	} else {
		line = line_interner_line(&c->lines, c->top[top]);
		snprintf(text, room, "%s",
			 c->by == PICTURE_BY_MODULE ? line->module : line->function);
	}
}
