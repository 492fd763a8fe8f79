/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * sites.h - the pass that counts figures for every allocating call stack, for
 * the blocks and calls that pass a filter.
 *
 * Bytes are requested bytes unless stated otherwise. A realloc is a call of its
 * stack; the block that it returns belongs to that stack, and the block passed
 * to it has ended. The mmap family is counted separately (map_calls,
 * map_bytes).
 *
 * A block is counted when it ends, so that every filter is exact, including the filter of
 * lifetimes. Figures counted while a block is live ignore it: reallocs, local peaks, and the first
 * and last call.
 *
 * "At a moment" (the peak, the greatest RSS) counts blocks that began at or before it and ended
 * after it.  The moment is determined for the whole run, so that filtered parts add up to the
 * whole; with filter.process, for this process.  The greatest RSS belongs to one process, whose
 * blocks are counted at the last moment, within the bracket of its time (rss.h), when most bytes
 * were live or mapped.
 *
 * With options.until, that moment replaces the peak, the walk ends there, and every figure
 * describes the run until then; the greatest RSS is unknown.
 *
 * Blocks that are live when their process or the trace ends are never freed.
 * Blocks that were live when a process called exec are neither freed nor never
 * freed, because their program is gone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "array.h"
#include "site.h"

/* A moment and what was live then in the whole run, in the process of the filter, or in the one
 * with the greatest RSS. */
struct site_snapshot {
	uint64_t ticks;
	int64_t ns; /* since the start of the run */
	uint64_t bytes, calls;
	/* Only for the greatest RSS: */
	uint64_t rss;		/* 0 if unknown */
	uint32_t process;	/* of which process */
	uint64_t arena, mapped; /* growth of the break; bytes mapped */
	uint64_t cpu_ns;	/* of the process until then; 0 if unknown */
	int64_t from_ns, to_ns; /* it was largest between these; INT64_MAX = at any time after */
	bool sampled;		/* rss is from samples: it may have been larger in between */
	uint64_t unseen;	/* how many more bytes were live or mapped at once after to_ns */
};

/* Most bytes live at once in a group. */
struct site_local {
	uint64_t calls, bytes;
};

struct sites {
	struct sites_options options; /* set before the walk */
	struct walk *walk;
	struct site *site;	  /* computed by finish: sites with figures, most bytes first */
	struct site_brief *brief; /* of these, with options.brief */
	size_t count;
	size_t bytes;		  /* of `site`, for large_free() */
	struct site_local *local; /* by group; NULL if the walk began at a milestone's end */
	size_t groups;
	struct site_values total;
	struct site_snapshot peak, rss;
	uint64_t epoch_ticks[SITE_EPOCHS + 1]; /* where epochs begin, and the last one's end */
	struct {
		bool read;	/* read from a profile: see site_totals.h for what is unknown */
		bool estimated; /* estimated from samples */
		uint64_t period, unit; /* as in struct mprof_heap_totals; the least period, */
		uint64_t period_most;  /* and the greatest, of profiles that were merged */
		uint32_t process;      /* owner of `peak`, if there are several; else 0 */
		uint64_t bound;	       /* bytes by which the peak may be wrong; 0 = exact */
		/* live when a process called exec; 0 if estimated */
		uint64_t exec_blocks, exec_bytes;
		uint64_t gone_blocks, gone_bytes; /* left by processes that are gone (tree.h) */
		uint64_t leaving;  /* processes with live blocks that ended, and are not gone */
		uint64_t together; /* of processes with live blocks, the most at one time */
		/* When past_bytes were live, and the last time at which calls may have been made,
		 * in the process with most bytes of those that lasted for half of the run; 0: there
		 * is none, or it was too short. */
		uint64_t past_ticks[SITE_PASTS], active_ticks;
		/* Live bytes of the processes whose growth is known: the least about midway
		 * between these two times, the most since shortly before the later one. */
		uint64_t midway_bytes, late_bytes;
		/* NULL if several processes have a known growth. */
		const struct mprof_course *course;
		int64_t unplaced; /* bytes of the peak that no stack has; negative if stacks have
				     too many */
	} totals;
	void *work; /* private */
};

extern const struct pass_ops sites_pass;

/* Copies all figures of a site. */
void sites_site(const struct sites *s, size_t i, struct site *site);
/* Fills `to` with moments, epochs and total of a finished walk, and the number of its sites, which
 * it does not have. */
void sites_take_moments(struct sites *to, const struct sites *from);
/* Do sites with these options count every block, once, for its whole call stack, with the usual
 * meaning of temporary? */
bool sites_are_usual(const struct sites_options *o);
/* Makes `brief` of `site`. */
void sites_make_brief(struct sites *s);

/* Does a block of the process with this heap index pass, ignoring its lifetime? */
bool site_filter_passes(const struct site_filter *f, const struct walk *w, const struct block *b,
			uint32_t process);

/* Does every block pass, ignoring lifetimes? */
static inline bool site_filter_is_plain(const struct site_filter *f)
{
	return !f->process && !thread_is_chosen(&f->thread) && !f->functions && !f->size_min &&
	       f->size_max == UINT64_MAX && f->from_ns == INT64_MIN && f->to_ns == INT64_MAX;
}

/* Returns when, in ns since the start of the run, the trace stopped having all calls of this stack;
 * 0 if it has all. */
uint64_t sites_kept_until(const struct walk *w, uint32_t stack);
