/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * film.h - the heap over time, under one allocator: a sink of places (places/placement.h) that
 * keeps every frame of its source.  Stills, APNG and the HTML player are drawn from films.
 *
 *	f = film_new(&options);
 *	place_run(..., &(struct place_sink){ &film_ops, f }, ...);
 *	film_ready(f, err);		-- fails if the source had no frame
 *	c = film_cursor_new(f);
 *	while (film_next(c)) ... c->frame, c->cell[], c->changed[] ...
 *	film_cursor_free(c);
 *	film_free(f);
 *
 * The address axis is compressed: a unit is 64 KiB of address space that ever
 * held a live block or, in a frame, a resident page; units are numbered in the
 * order of their addresses, and page p of unit u is cell u * 16 + p.  Pages that were only mapped
 * get no unit.
 *
 * A call costs a few nanoseconds; a frame costs as much as changed since the frame before.  Changes
 * between frames are compressed (zstd), a few bytes per changed page: 300 frames of a 100 MB heap
 * are a few MB.  Memory otherwise: 1,700 bytes a unit (FILM_UNIT_BYTES while arrays grow and are
 * drawn), and 50 bytes for each block that is live or, up to a million, has ended since the last
 * frame.  Only the first FILM_BLOCK_MOST bytes of a block count.  Addresses beyond FILM_UNITS_MOST
 * units are left out, and their bytes counted.
 *
 * Errors: -errno with err filled.  Threads: one at a time; films are independent.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../places/placement.h"
#include "../util/error.h"
#include "film_frame.h"

#define FILM_NOWHERE SIZE_MAX

struct film_options {
	unsigned channels; /* enum film_channel; 0 = live bytes and residency only */
	unsigned points;   /* of the curves; 0 = 512 */
	size_t units;	   /* the most units; 0 = FILM_UNITS_MOST */
	/* Size of the page that shows it, in bytes.  Frames that do not fit are skipped; 0: keep
	 * all. */
	uint64_t page_bytes;
};

/* A point of the curves, after `op` calls. requested and usable are maxima since the point
 * before, so that no peak is missed; rss is the value after `op`. */
struct film_point {
	uint64_t op;
	uint64_t requested, usable;
	uint64_t rss; /* P: resident bytes above the baseline; 0 if unknown */
};

/* A run of units without a gap; the axis consists of these, in the order of addresses. */
struct film_region {
	uint64_t addr;
	size_t unit, units; /* the first of them, and how many */
};

struct film_store;  /* the changes of each frame */
struct film_reader; /* reads them */
struct film_live;   /* the heap while the source runs */

struct film {
	struct film_options options;
	/* Set when the source has started: */
	char title[64];
	uint64_t ops, ns, peak_op, peak_bytes; /* of struct place_start */
	int64_t begin_ns;
	bool earlier;
	/* Set when it has finished: */
	uint64_t *unit; /* addresses >> FILM_UNIT_SHIFT, rising */
	size_t units;
	struct film_region *region;
	size_t regions;
	struct film_frame *frame; /* in the order of ops */
	size_t frames;
	unsigned every; /* keeps frames whose number is a multiple, the peak and the last one */
	size_t numbers; /* frames of the source */
	size_t peak;	/* index of the frame at the peak, or FILM_NOWHERE */
	struct film_point *point;
	size_t points;
	uint64_t most_requested, most_usable, most_rss; /* over the points, samples and frames */
	uint64_t left_out;				/* bytes of blocks beyond the limits */
	struct film_store *store;
	uint64_t stored; /* bytes of the frames kept, had `every` been the same from the start */
	struct film_live *live; /* NULL once finished */
};

struct film *film_new(const struct film_options *o);
void film_free(struct film *f);

/* Returns the number of units that each of n films can have within the limit of memory. */
size_t film_units_for(size_t n);

/* self is the film.  It accepts only one source. */
extern const struct place_ops film_ops;

/* Call this after the source has ended.  0; -ENODATA if it had no frame. */
int film_ready(const struct film *f, struct error *err);

/* Returns the last frame at or before this many calls; the first one if all are later. */
size_t film_frame_at(const struct film *f, uint64_t op);

/* Returns the time of a frame since the start of the run; of a replay, since its first call. */
static inline int64_t film_time(const struct film *f, const struct film_frame *frame)
{
	return f->begin_ns + (int64_t)frame->ns;
}

/* Returns the address of a cell. */
static inline uint64_t film_address(const struct film *f, size_t cell)
{
	return (f->unit[cell / FILM_UNIT_PAGES] << FILM_UNIT_SHIFT) +
	       cell % FILM_UNIT_PAGES * FILM_PAGE;
}

/* A walk over the frames, forward. */
struct film_cursor {
	const struct film *film;
	size_t frame; /* index of the frame that `cell` shows; FILM_NOWHERE before the first */
	struct film_cell *cell; /* film->units * FILM_UNIT_PAGES */
	/* Cells that differ from the frame before, each once, in no order; valid until the next
	 * step.  After film_seek: those of its last step. */
	uint32_t *changed;
	size_t changes;
	int failed; /* -EBADMSG: the store could not be read */
	/* Private: */
	size_t changed_room;
	struct film_reader *reader;
};

struct film_cursor *film_cursor_new(const struct film *f);
void film_cursor_free(struct film_cursor *c);
/* Advances to the next frame; false at the end, or if `failed` is set. */
bool film_next(struct film_cursor *c);
/* Goes to a frame; to an earlier one by starting again.  0 or -errno. */
int film_seek(struct film_cursor *c, size_t frame, struct error *err);
