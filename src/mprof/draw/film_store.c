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

size_t film_store_frame(struct film_store *s, unsigned channels)
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
	return used;
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

struct film_reader {
	char *text; /* columns of one frame */
	size_t text_room;
	ZSTD_DCtx *zstd;
};

struct film_reader *film_reader_new(void)
{
	struct film_reader *r = must_calloc(1, sizeof(*r));

	r->zstd = ZSTD_createDCtx();
	if (!r->zstd)
		memory_out();
	return r;
}

void film_reader_free(struct film_reader *r)
{
	ZSTD_freeDCtx(r->zstd);
	free(r->text);
	free(r);
}

/* Takes one cell at a time from all columns, because column by column would write each cell
 * several times. */
static size_t take_cells(const struct film_store *s, const char *text, uint32_t n,
			 unsigned channels, struct film_cell *cells, uint32_t *changed)
{
	const char *at[COLUMNS], *end = text + n * sizeof(uint32_t);
	uint32_t number = 0, step, k;
	struct film_cell value;
	size_t i, cell, changes = 0;

	for (i = 0; i < COLUMNS; i++) {
		at[i] = end;
		end += has_column(i, channels) ? column[i].bytes * n : 0;
	}
	for (k = 0; k < n; k++) {
		memcpy(&step, text + k * sizeof(step), sizeof(step));
		number += step;
		memset(&value, 0, sizeof(value));
		for (i = 0; i < COLUMNS; i++)
			if (has_column(i, channels)) {
				move((char *)&value + column[i].offset, at[i], column[i].bytes);
				at[i] += column[i].bytes;
			}
		cell = (size_t)s->rank[number / FILM_UNIT_PAGES] * FILM_UNIT_PAGES +
		       number % FILM_UNIT_PAGES;
		if (!memcmp(&cells[cell], &value, sizeof(value)))
			continue;
		cells[cell] = value;
		changed[changes++] = (uint32_t)cell;
	}
	return changes;
}

ssize_t film_store_read(const struct film_store *s, size_t frame, unsigned channels,
			struct film_reader *r, struct film_cell *cell, uint32_t *changed)
{
	const uint32_t n = s->frame[frame].cells;
	const size_t bytes = format_bytes(n, channels);

	GROW(r->text, bytes, r->text_room);
	if (ZSTD_decompressDCtx(r->zstd, r->text, bytes, s->frame[frame].data,
				s->frame[frame].bytes) != bytes)
		return -EBADMSG;
	return (ssize_t)take_cells(s, r->text, n, channels, cell, changed);
}
