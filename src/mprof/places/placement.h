/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * placement.h - where blocks lie, in the recorded run or in a replay: the input of pictures, movies
 * and page figures.
 *
 * A source passes births, ends, samples and frames in the order of ops to a sink, which is one
 * analysis or one picture.  Sources: place_trace.h (the recorded
 * run), place_run.h (a runner's records together with the playback file that it played).
 *
 * Ops count the calls of the playback file, or of the trace's blocks, from 0. Without memory a sink
 * ends the program (util/alloc.h). Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct place_block {
	uint64_t addr, size; /* size: requested */
	uint64_t usable;     /* at least size; equal to size if unknown */
	uint64_t op, ns;     /* of its birth; ns: recorded time since the first event */
	uint32_t site;	     /* node of the trace's stacks, 0 if unknown */
	uint32_t thread;     /* index; in the recorded run, its number - 1 */
	uint32_t slot;	     /* dense; no two live blocks have the same one */
};

struct place_sample {
	uint64_t op, ns;
	uint64_t rss, anon; /* in bytes; 0 if unknown */
};

/* A range of addresses with one bit a page: is it resident? */
struct place_range {
	uint64_t addr, pages;	 /* of 4096 bytes */
	const uint8_t *resident; /* bit i of byte i / 8 */
};

/* What a source knows before its first block. */
struct place_start {
	const char *title; /* "recorded", "jemalloc", ... */
	uint64_t ops;	   /* number of all ops */
	uint64_t ns;	   /* length of the recorded run; 0 if unknown */
	int64_t begin_ns;  /* for a recorded run, when it begins in the trace; else 0 */
	uint64_t peak_op;  /* most requested bytes are live after it; UINT64_MAX if unknown */
	uint64_t peak_bytes;
	bool has_residency; /* frames come with ranges */
	bool earlier; /* blocks from before, of a fork's parent or of --last, are not passed */
};

struct place_ops {
	void (*start)(void *self, const struct place_start *s);
	void (*begin)(void *self, const struct place_block *b);
	/* b as it was born; op and ns of its end. */
	void (*end)(void *self, const struct place_block *b, uint64_t op, uint64_t ns);
	void (*sample)(void *self, const struct place_sample *s);
	/*
	 * Called for each planned frame, and for one where sample.op == start.peak_op + 1.  n == 0
	 * = residency is unknown for this frame even with has_residency, and the sample's memory
	 * figures are from the last sample.
	 */
	void (*frame)(void *self, const struct place_sample *s, const struct place_range *r,
		      size_t n);
	void (*finish)(void *self);
	/* The block of this slot may end soon: a sink prefetches what that needs. */
	void (*soon)(void *self, uint32_t slot);
};

struct place_sink {
	const struct place_ops *ops; /* every hook is optional */
	void *self;
};
