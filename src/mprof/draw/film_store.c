/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* film_store.c - frames as changes, written and read again; see film_store.h. */
#include "film_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "../util/alloc.h"
#include "../util/memory.h"

#define LEVEL 1

void film_store_cell(struct film_store *s, uint32_t cell, const struct film_cell *value)
{
	if (s->cells == s->cells_room) {
		s->cells_room = grow_room(s->cells + 1, s->cells_room);
		s->cell = must_reallocarray(s->cell, s->cells_room, sizeof(*s->cell));
		s->value = must_reallocarray(s->value, s->cells_room, sizeof(*s->value));
	}
	s->cell[s->cells] = cell;
	s->value[s->cells++] = *value;
}

/* ---- columns ---- */

struct column {
	size_t offset, bytes; /* of the field in struct film_cell */
	unsigned channel;     /* 0 = always present */
};

#define COLUMN(field, channel)                                                                     \
	{                                                                                          \
		offsetof(struct film_cell, field), sizeof(((struct film_cell *)0)->field), channel \
	}

static const struct column column[] = {
	COLUMN(live, 0),
	COLUMN(flags, 0),
	COLUMN(blocks, FILM_BLOCKS),
	COLUMN(size, FILM_BLOCKS),
	COLUMN(born, FILM_BLOCKS),
	COLUMN(site, FILM_SITE),
	COLUMN(thread, FILM_THREAD),
};
#define COLUMNS (sizeof(column) / sizeof(column[0]))

static bool has_column(size_t i, unsigned channels)
{
	return !column[i].channel || column[i].channel & channels;
}

static size_t format_bytes(size_t cells, unsigned channels)
{
	size_t bytes = sizeof(uint32_t), i;

	for (i = 0; i < COLUMNS; i++)
		bytes += has_column(i, channels) ? column[i].bytes : 0;
	return bytes * cells;
}

/* Constant sizes, so that the copies are single moves. */
static void move(char *to, const char *from, size_t bytes)
{
	switch (bytes) {
	case 1:
		memcpy(to, from, 1);
		break;
	case 2:
		memcpy(to, from, 2);
		break;
	case 4:
		memcpy(to, from, 4);
		break;
	default:
		memcpy(to, from, 8);
	}
}

static char *put_column(char *at, const struct column *c, const struct film_cell *value, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++, at += c->bytes)
		move(at, (const char *)&value[i] + c->offset, c->bytes);
	return at;
}

static void put_columns(char *at, const struct film_store *s, unsigned channels)
{
	uint32_t last = 0, step;
	size_t i;

	for (i = 0; i < s->cells; i++, at += sizeof(step)) {
		step = s->cell[i] - last;
		last = s->cell[i];
		memcpy(at, &step, sizeof(step));
	}
	for (i = 0; i < COLUMNS; i++)
		if (has_column(i, channels))
			at = put_column(at, &column[i], s->value, s->cells);
}

void film_store_frame(struct film_store *s, unsigned channels)
{
	size_t bytes = format_bytes(s->cells, channels), most = ZSTD_compressBound(bytes), used;

	GROW(s->frame, s->frames + 1, s->frames_room);
	GROW(s->text, bytes + most, s->text_room);
	if (!s->zstd)
		s->zstd = ZSTD_createCCtx();
	if (!s->zstd)
		memory_out();
	put_columns(s->text, s, channels);
	used = ZSTD_compressCCtx(s->zstd, s->text + bytes, most, s->text, bytes, LEVEL);
	if (ZSTD_isError(used)) /* it fails only without memory */
		memory_out();
	s->frame[s->frames].data = must_memdup(s->text + bytes, used);
	s->frame[s->frames].bytes = used;
	s->frame[s->frames++].cells = (uint32_t)s->cells;
	s->cells = 0;
}

void film_store_free(struct film_store *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->frames; i++)
		free(s->frame[i].data);
	free(s->frame);
	free(s->rank);
	free(s->cell);
	free(s->value);
	free(s->text);
	ZSTD_freeCCtx(s->zstd);
	free(s);
}

/* ---- reading ---- */

struct film_cursor *film_cursor_new(const struct film *f)
{
	struct film_cursor *c = must_calloc(1, sizeof(*c));

	c->film = f;
	c->frame = FILM_NOWHERE;
	c->cell = must_calloc(f->units * FILM_UNIT_PAGES + 1, sizeof(*c->cell));
	c->zstd = ZSTD_createDCtx();
	if (!c->zstd)
		memory_out();
	return c;
}

void film_cursor_free(struct film_cursor *c)
{
	if (!c)
		return;
	ZSTD_freeDCtx(c->zstd);
	free(c->cell);
	free(c->changed);
	free(c->text);
	free(c);
}

/* Takes one cell at a time from all columns, because column by column would write each cell
 * several times. */
static void take_cells(struct film_cursor *c, uint32_t n)
{
	const struct film_store *s = c->film->store;
	const char *at[COLUMNS], *end = c->text + n * sizeof(uint32_t);
	unsigned channels = c->film->options.channels;
	uint32_t number = 0, step, k;
	struct film_cell value;
	size_t i, cell;

	for (i = 0; i < COLUMNS; i++) {
		at[i] = end;
		end += has_column(i, channels) ? column[i].bytes * n : 0;
	}
	for (k = 0; k < n; k++) {
		memcpy(&step, c->text + k * sizeof(step), sizeof(step));
		number += step;
		memset(&value, 0, sizeof(value));
		for (i = 0; i < COLUMNS; i++)
			if (has_column(i, channels)) {
				move((char *)&value + column[i].offset, at[i], column[i].bytes);
				at[i] += column[i].bytes;
			}
		cell = (size_t)s->rank[number / FILM_UNIT_PAGES] * FILM_UNIT_PAGES +
		       number % FILM_UNIT_PAGES;
		if (!memcmp(&c->cell[cell], &value, sizeof(value)))
			continue;
		c->cell[cell] = value;
		c->changed[c->changes++] = (uint32_t)cell;
	}
}

bool film_next(struct film_cursor *c)
{
	const struct film_store *s = c->film->store;
	size_t next = c->frame == FILM_NOWHERE ? 0 : c->frame + 1, bytes;
	uint32_t n;

	c->changes = 0;
	if (c->failed || next >= c->film->frames)
		return false;
	n = s->frame[next].cells;
	bytes = format_bytes(n, c->film->options.channels);
	GROW(c->text, bytes, c->text_room);
	GROW(c->changed, n, c->changed_room);
	if (ZSTD_decompressDCtx(c->zstd, c->text, bytes, s->frame[next].data,
				s->frame[next].bytes) != bytes) {
		c->failed = -EBADMSG;
		return false;
	}
	take_cells(c, n);
	c->frame = next;
	return true;
}

int film_seek(struct film_cursor *c, size_t frame, struct error *err)
{
	if (c->frame != FILM_NOWHERE && c->frame > frame) {
		memset(c->cell, 0, c->film->units * FILM_UNIT_PAGES * sizeof(*c->cell));
		c->frame = FILM_NOWHERE;
	}
	while (c->frame == FILM_NOWHERE || c->frame < frame)
		if (!film_next(c))
			return fail(err, c->failed ? c->failed : -EINVAL,
				    "frame %zu of a film of %zu cannot be shown", frame,
				    c->film->frames);
	return 0;
}
