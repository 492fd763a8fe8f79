/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* site.h - the figures of a site, and the options that say what a site is and what it counts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "walk.h"

#define SITE_EPOCHS 16u /* equal parts of the run, for growth */
#define SITE_PASTS  2u	/* earlier moments that a profile knows */

/* The property by which the blocks of one stack are divided. */
enum site_part {
	SITE_WHOLE,
	SITE_BY_THREAD,	 /* number in the run of the thread that allocated */
	SITE_BY_SIZE,	 /* requested bytes, exactly */
	SITE_BY_PROCESS, /* number in the run of the process that allocated */
};

/* For figures estimated from samples: sums of variances, in bytes^2 and calls^2. */
struct site_error {
	uint64_t samples;
	bool by_calls; /* sampled independently of size: the error of byte figures is unknown */
	double calls, bytes, live_calls, live_bytes;
	double heaviest_calls, heaviest_bytes; /* the greatest share of one sample */
};

/*
 * Calls are those that returned blocks. Leaked blocks are live and not
 * suppressed (profile.c).
 */
struct site_values {
#define FIGURE(member, unit, add, from, json, help) uint64_t member;
#include "figures.def"
	uint64_t first_ticks, last_ticks; /* of its calls */
	/* When the oldest of its live blocks was allocated; 0 without any, and in a profile. */
	uint64_t left_ticks;
	/* Live bytes at the end of each epoch; blocks never freed count until their process ends,
	 * which in the last epoch is the end of the run.  What exec discarded does not count: it
	 * is neither freed nor left. */
	uint64_t epoch_bytes[SITE_EPOCHS];
	/* Live bytes at sites.totals.past_ticks; 0 in a trace. */
	uint64_t past_bytes[SITE_PASTS];
	/* No process left more live bytes at its end (a sum of the most of each site); 0 in a
	 * trace, and if estimated. */
	uint64_t left_most;
	/* The stack (a node) with the most bytes that were still reachable, and these. */
	uint64_t held_bytes;
	uint32_t held_stack;
	struct site_error error; /* all 0 if the figures are not estimates */
};

struct site {
	uint32_t key;	/* node of stacks.h, 0 if unknown */
	uint32_t group; /* from sites_options.group, or 0 */
	uint64_t part;	/* SITE_BY_THREAD: thread; SITE_BY_SIZE: size; SITE_BY_PROCESS; else 0 */
	struct site_values v;
};

/* The figures that findings need of all sites: members of struct site_values. */
#define SITE_BRIEF(of)                                                                \
	of(calls) of(bytes) of(size_max) of(live_calls) of(live_bytes) of(peak_calls) \
	    of(peak_bytes) of(peak_slack) of(reallocs) of(temporary_calls) of(foreign_frees)

struct site_brief {
	uint32_t key;
#define SITE_BRIEF_MEMBER(member) uint64_t member;
	SITE_BRIEF(SITE_BRIEF_MEMBER)
};

/* Everything passes if the struct is zero, except that upper bounds are UINT64_MAX. */
struct site_filter {
	uint32_t process;			   /* number in the run; 0 = all */
	struct thread_choice thread;		   /* that allocated */
	uint64_t size_min, size_max;		   /* bytes requested, inclusive */
	uint64_t lifetime_min_ns, lifetime_max_ns; /* inclusive; never freed counts as longest */
	int64_t from_ns, to_ns; /* when it began, since the start of the run; inclusive */
	uint32_t functions;	/* 1 << enum mprof_fn of kinds that count; 0 = all */
};
#define SITE_FILTER_ALL                                                                      \
	{                                                                                    \
		.size_max = UINT64_MAX, .lifetime_max_ns = UINT64_MAX, .from_ns = INT64_MIN, \
		.to_ns = INT64_MAX                                                           \
	}

struct sites_options {
	enum site_part part;
	struct site_filter filter;
	struct walk_until until; /* also for the walk */
	/* A block is temporary if the thread that allocated it freed it within this many of its
	 * calls (1 = the very next one), or, if not 0, within this many ns. */
	uint64_t temporary_events; /* 0 = SITE_TEMPORARY_EVENTS */
	uint64_t temporary_ns;
	/* Returns the group of a site, called once for each: then local peaks are also kept for
	 * groups.  NULL = no groups. */
	uint32_t (*group)(void *context, uint32_t stack, uint64_t part);
	void *group_context;
	/* Not 0: leave out groups in whose sites this figure is 0: one that site_rows.c stores as
	 * it is, its offset in struct site_values plus 1.  sites.total has all. */
	size_t only;
	/* Make sites.brief instead of sites.site, which is NULL then. */
	bool brief;
};
#define SITE_TEMPORARY_EVENTS 1u    /* as in heaptrack: freed by the next call */
#define SITE_TEMPORARY_MOST   1024u /* the most calls that a thread remembers */

/* Adds the figures of `from` to `to`; merges extremes, and sums local peaks (an upper bound). */
void site_values_add(struct site_values *to, const struct site_values *from);
