/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * film_store.h - what changed from frame to frame, compressed.
 *
 * A frame is one zstd frame of columns, each of n values for n changed cells:
 * cell number less the one before (32 bits; in the order in which units were
 * met), live (16), flags (8), then those of the channels that are kept.  Cells
 * are written while units are still being met, so rank[] turns a unit's number
 * into its place on the axis when frames are read.
 */
#pragma once

#include "film.h"

struct film_store {
	struct {
		void *data;
		size_t bytes;
		uint32_t cells;
	} * frame;
	size_t frames, frames_room;
	uint32_t *rank; /* set when the film has finished */
	uint32_t *cell; /* numbers of those being collected */
	struct film_cell *value;
	size_t cells, cells_room;
	char *text; /* columns, before compression */
	size_t text_room;
	void *zstd;
};

/* One more changed cell of the frame that is being taken. */
void film_store_cell(struct film_store *s, uint32_t cell, const struct film_cell *value);
/* The frame is complete. */
void film_store_frame(struct film_store *s, unsigned channels);
void film_store_free(struct film_store *s);
