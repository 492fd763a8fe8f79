/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * placement.h - where blocks lie: what pictures, movies and page figures are made
 * of, whether the addresses are those of the recorded run or of a replay.
 *
 * A source hands out births, ends, samples and frames in the order of ops; a
 * sink is one analysis or one picture.  Several sinks may share a source.
 * Sources: place_trace.h (the recorded run), place_run.h (a runner's records
 * together with the playback file that it played).
 *
 * Ops count calls from 0: of the playback file, or of the trace's blocks.
 * Without memory a sink ends the program (util/alloc.h).
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct place_block {
	uint64_t addr, size; /* size: requested */
	uint64_t usable;     /* at least size; = size where unknown */
	uint64_t op, ns;     /* of its birth; ns: recorded, since the first event */
	uint32_t site;	     /* node of the trace's stacks, 0: unknown */
	uint32_t thread;     /* index; of the recorded run: its number - 1 */
	uint32_t process;    /* index; 0 in a replay */
	uint32_t slot;	     /* dense; no two live blocks have the same */
};

struct place_sample {
	uint64_t op, ns;
	uint64_t rss, anon, mapped; /* bytes; 0 where unknown */
};

/* Address ranges with one bit a page: is it resident? */
struct place_range {
	uint64_t addr, pages;	 /* of 4096 bytes */
	const uint8_t *resident; /* bit i of byte i / 8 */
};

/* What a source knows before its first block. */
struct place_start {
	const char *title; /* "recorded", "jemalloc", ... */
	uint64_t ops;	   /* in all */
	uint64_t ns;	   /* of the recorded run; 0: unknown */
	int64_t begin_ns;  /* when it begins in the trace, since the start of that; else 0 */
	uint64_t peak_op;  /* most requested bytes are live after it; UINT64_MAX: unknown */
	uint64_t peak_bytes;
	bool has_residency; /* frames come with ranges */
};

struct place_ops {
	void (*start)(void *self, const struct place_start *s);
	void (*begin)(void *self, const struct place_block *b);
	/* b as it was born; op: of its end. */
	void (*end)(void *self, const struct place_block *b, uint64_t op);
	void (*sample)(void *self, const struct place_sample *s);
	/*
	 * The planned frames, and one where sample.op == start.peak_op + 1.  n == 0: what was
	 * resident is not known at this one, has_residency or not, and the sample's memory is
	 * that of the last sample.
	 */
	void (*frame)(void *self, const struct place_sample *s, const struct place_range *r,
		      size_t n);
	void (*finish)(void *self);
};

struct place_sink {
	const struct place_ops *ops; /* every hook is optional */
	void *self;
};
