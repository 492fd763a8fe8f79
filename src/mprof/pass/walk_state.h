/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * walk_state.h - saves a walk of a compressed trace as bytes, so that another walk can continue
 * from there.
 *
 * A walk is saved between two batches.  Then the heap has all events before the window, and the
 * reader has read up to the window's end.  The window is saved too, because it may contain events
 * that were pulled forward.
 *
 * The reader needs the addresses of live blocks.  It takes them from the heap; only blocks that
 * begin or end in the window are saved one by one.
 *
 * Only the same build of mprof can read the bytes: they contain copies of its structs.
 */
#pragma once

#include "../heap/heap_state.h"
#include "../trace/pack.h"
#include "walk.h"

/* zstd frames of bytes that only this program reads. */
struct state_frame {
	uint8_t *bytes;
	size_t count, plain;
};

/* Compresses n bytes, and appends them to *f, which is zeroed at first.  False without memory:
 * then *f is zeroed again. */
bool state_frame_add(struct packer *packer, const void *bytes, size_t n, struct state_frame *f);
/* The same with *plain, which is empty then. */
bool state_frame_put(struct packer *packer, struct byte_column *plain, struct state_frame *f);
/* Returns the bytes, which the caller frees; NULL if the frame is damaged. */
uint8_t *state_frame_plain(const struct state_frame *f);

/* here: as in walk.between; t NULL = the walk has ended.  Sets to->failed without memory. */
void walk_state_put(const struct walk *w, const struct trace *t, size_t here,
		    struct byte_column *to);
/*
 * Moves the reader of t, which has opened the same file, to `place` (NULL: the walk has ended).
 * Returns the events of the next batch.
 */
size_t walk_state_get(struct walk *w, struct trace *t, const struct trace_place *place,
		      struct cursor *from);

/*
 * pass_state.c: saves the state of a pass between its last event and finish(): its struct and the
 * arrays that its table names (pass.h).  Not for pass_sites, which has sites_state.h.
 */
void pass_state_put(const struct walk_pass *p, struct byte_column *to);
/* Loads into a pass that has started. */
void pass_state_get(const struct walk_pass *p, struct cursor *from);
