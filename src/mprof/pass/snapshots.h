/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * snapshots.h - the pass behind `mprof view`: the state of a walk at many
 * times, from which a later walk of the same trace can continue, and a summary
 * of the events between them.
 *
 * A slice is the part of a trace between two snapshots.  A question about a
 * window of time walks the two slices that contain its ends; for those between
 * it uses the summary of each: the highest moment, and the blocks that began in
 * it, by stack, thread, process and class of size.
 *
 * Only a compressed trace has snapshots, because reading can begin in its
 * middle; any other trace is one slice.
 *
 * Memory: SNAPSHOTS_MOST, plus two snapshots.  Beyond that, every second snapshot is dropped,
 * and slices become twice as long.  A snapshot takes about 10 bytes per live block.
 *
 * Errors: if memory runs out, the trace is not divided into slices.  Threads: one at a time.
 */
#pragma once

#include "walk_state.h"

#define SNAPSHOTS_EVERY	 (1u << 18) /* events */
#define SNAPSHOTS_MOST	 ((size_t)256 << 20)
#define SNAPSHOTS_SUM	 16u
#define SNAPSHOTS_LEVELS 4u /* of sums by stack */
#define SNAPSHOTS_EACH	 4u

/* The latest or highest moment of some events; `at` is not set if nothing began or ended. */
struct snapshot_moment {
	struct walk_until at;
	uint64_t live_bytes; /* live bytes of the run */
};

struct snapshot_slice {
	/* Its beginning: */
	struct trace_place place;
	struct state_frame state;    /* empty for the first slice */
	uint64_t before;	     /* number of the last event before it */
	uint64_t most_ticks;	     /* latest time at the end of a batch before it */
	struct snapshot_moment last; /* the last moment before it */
	uint64_t late;		     /* events before it that came after the end of their process */
	bool in_order; /* the events before it are those that the file has before it */
	/* Summary of its events: */
	uint64_t first_ticks, last_ticks; /* earliest and latest time of its events */
	struct snapshot_moment highest;	  /* the first one, if several are equal */
	struct state_frame births;
	size_t birth_rows;
	bool plain; /* the blocks that began are those of trace_births() with its numbers */
};

/* Blocks that began in a slice. */
struct snapshot_births {
	uint64_t stack;		  /* node of stacks.h, 0 if unknown */
	uint64_t thread, process; /* numbers in the run */
	uint64_t size_class;	  /* bits of the size: 0 for 0 bytes, n for 2^(n-1) to 2^n - 1 */
	uint64_t blocks, bytes;
};
#define SNAPSHOT_NUMBERS 6u

/* Blocks that began in one slice or in several, by stack alone. */
struct snapshot_stack {
	uint64_t stack, blocks, bytes;
};
struct snapshot_stacks {
	struct state_frame births;
	size_t rows;
};

struct snapshots {
	/* Set before the walk: */
	struct trace *trace;  /* the trace that is walked */
	uint32_t functions;   /* as in struct site_filter: births of other blocks are omitted */
	uint64_t every, most; /* events, bytes; 0 = the constants above */
	/* The result: */
	struct snapshot_slice *slice;
	size_t slices;
	/* Only births: sum[i] has those of slices i * SNAPSHOTS_SUM to (i + 1) * SNAPSHOTS_SUM. */
	struct snapshot_slice *sum;
	size_t sums;
	/* For questions without a filter: those of one slice, of SNAPSHOTS_EACH, of SNAPSHOTS_EACH
	 * times as many ... */
	struct snapshot_stacks *by_stack[SNAPSHOTS_LEVELS];
	size_t by_stacks[SNAPSHOTS_LEVELS];
	void *work; /* private */
};

/* Its release does not touch the walk. */
extern const struct pass_ops snapshots_pass;
void snapshots_release(struct snapshots *s);

/* Makes a walk of `trace`, which has the same file, begin with this slice.  Call it after
 * walk_init; `from` must outlive the walk. */
struct snapshot_start {
	const struct snapshots *snapshots;
	size_t slice;
	struct trace *trace;
};
void snapshots_begin(struct walk *w, struct snapshot_start *from);

/* Returns the births of a slice, birth_rows of them, which the caller frees. */
struct snapshot_births *snapshots_births(const struct snapshot_slice *s);
/* The same by stack. */
struct snapshot_stack *snapshots_stacks(const struct snapshot_stacks *s);
