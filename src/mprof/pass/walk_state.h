/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * walk_state.h - a walk of a compressed trace as bytes, so that another walk goes on from there.
 *
 * It is taken between two batches: the heap has every event before the window, and the reader
 * stands behind the window.  So the window is part of it: events in there may have been pulled
 * forward.
 *
 * The reader needs addresses of blocks.  They are those of the heap, but for blocks that begin or
 * end in the window; these are told one by one.
 *
 * The bytes are for this build of the program: structs are copied as they are.
 */
#pragma once

#include "../heap/heap_state.h"
#include "../trace/pack.h"
#include "walk.h"

/* A zstd frame of bytes that only this program reads. */
struct state_frame {
	uint8_t *bytes;
	size_t count, plain;
};

/* Of *plain, which is empty then; false without memory. */
bool state_frame_make(struct packer *packer, struct byte_column *plain, struct state_frame *f);
/* For free(); NULL if the frame is damaged. */
uint8_t *state_frame_plain(const struct state_frame *f);

/* here: as walk.between is told; t NULL: the walk has ended.  Without memory, `to` has failed. */
void walk_state_put(const struct walk *w, const struct trace *t, size_t here,
		    struct byte_column *to);
/* The reader of t, which has the same file, goes to that place; place NULL: the walk has ended.
 * The events of the next batch. */
size_t walk_state_get(struct walk *w, struct trace *t, const struct trace_place *place,
		      struct cursor *from);

/*
 * pass_state.c: what a pass knows between its last event and finish(): its struct and the arrays
 * that its table names (pass.h).  Not for pass_sites, which has sites_state.h.
 */
void pass_state_put(const struct walk_pass *p, struct byte_column *to);
/* Into a pass that has started. */
void pass_state_get(const struct walk_pass *p, struct cursor *from);
