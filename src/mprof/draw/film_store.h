/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * film_store.h - the changes between frames, compressed.
 *
 * A frame is one zstd frame of columns, each of n values for n changed cells: difference to the
 * previous cell number (32 bits; units in the order of first use), live (16), flags (8), then
 * columns of the channels that are kept.  Cells are written before all units are known, so rank[]
 * maps the number of a unit to its place on the axis when frames are read.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "film_frame.h"

struct film_store {
	struct {
		void *data;
		size_t bytes;
		uint32_t cells;
	} * frame;
	size_t frames, frames_room;
	uint32_t *rank; /* set when the film has finished */
	uint32_t *cell; /* numbers of the cells collected so far */
	struct film_cell *value;
	size_t cells, cells_room;
	char *text; /* columns, before compression */
	size_t text_room;
	void *zstd;
};

/* Adds a changed cell to the current frame. */
void film_store_cell(struct film_store *s, uint32_t cell, const struct film_cell *value);
/* Call this when the frame is complete.  Returns its bytes. */
size_t film_store_frame(struct film_store *s, unsigned channels);
void film_store_free(struct film_store *s);

struct film_reader *film_reader_new(void);
void film_reader_free(struct film_reader *r);
/*
 * Applies a frame to cell[], numbered along the axis, and adds the numbers of those that differ to
 * changed[], which has room for all cells of the frame.  Returns how many, or -EBADMSG.
 */
ssize_t film_store_read(const struct film_store *s, size_t frame, unsigned channels,
			struct film_reader *r, struct film_cell *cell, uint32_t *changed);
