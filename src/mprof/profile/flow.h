/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * flow.h - a second walk, for what tells of blocks one by one: every block that
 * passes the profile's filter, as it begins and ends, in the order of time.
 *
 * What begins and ends adds up to the profile's figures: calls and bytes that
 * began are its calls and bytes, what ended is freed, what was left behind is
 * live (but for what exec left).  A filter of lifetimes cannot be kept here: a
 * block's end is not known when it begins.
 *
 * Memory: by stacks, plus the walk's own.  Errors: -errno with err filled.
 * Threads: one at a time.
 */
#ifndef MPROF_PROFILE_FLOW_H
#define MPROF_PROFILE_FLOW_H

#include "profile.h"

struct flow_block {
	const struct block *block;
	uint64_t ticks;		  /* of the event */
	uint64_t number;	  /* of the event in the trace, from 1; as dump --numbers */
	uint32_t process, thread; /* that asked, or gave back; numbers of the run */
	uint32_t site;		  /* index of profile->site */
	uint32_t index;		  /* of the process in the heap */
	uint8_t fn;		  /* of the event */
	bool resized;		  /* began: by a realloc of a block; ended: by a realloc */
};

struct flow;

/* A thread's events, whether they pass or not. */
struct flow_thread {
	uint32_t process; /* number of the run */
	uint32_t tid;	  /* the kernel's, 0: not known */
	uint64_t first, last, events;
};

/* Every hook is optional.  A hook without memory calls flow_failed(). */
struct flow_ops {
	bool threads; /* fill flow.thread */
	/* Every event, whatever it is, before what it does to blocks. */
	void (*event)(void *context, struct flow *f, const struct event *e, uint64_t number);
	/* Before each block that passes, whatever it does; and before a process goes. */
	void (*time)(void *context, struct flow *f, uint64_t ticks, uint64_t number);
	void (*began)(void *context, struct flow *f, const struct flow_block *b);
	void (*ended)(void *context, struct flow *f, const struct flow_block *b);
	/* Its process is going.  ticks are of that, number and fn are 0. */
	void (*left)(void *context, struct flow *f, const struct flow_block *b,
		     enum process_gone why);
	/* All its blocks have been left. */
	void (*gone)(void *context, struct flow *f, uint32_t process, enum process_gone why,
		     uint64_t ticks);
	/* The run is at its peak: behind the event that made it, once. */
	void (*peak)(void *context, struct flow *f, uint64_t ticks, uint64_t number);
};

struct flow {
	struct array thread; /* struct flow_thread, by number: the caller's to release, if wanted */
	struct profile *profile;
	const struct site_filter *filter;
	const struct flow_ops *ops;
	void *context;
	struct walk walk;
	const uint32_t *site; /* the profile's site_of */
	struct live live;     /* of what passes: bytes, blocks, slack; after the event at hand */
	bool at_peak;	      /* was there already */
};

/* o: those that p was made with; their filter and progress count here.  0, or -errno with err
 * filled: no memory, or a filter that cannot be kept. */
int flow_run(struct flow *f, struct trace *t, struct profile *p, const struct profile_options *o,
	     const struct flow_ops *ops, void *context, struct error *err);

static inline void flow_failed(struct flow *f)
{
	pass_failed(&f->walk);
}

static inline uint64_t flow_ns(const struct flow *f, uint64_t ticks)
{
	int64_t ns = walk_ns(&f->walk, ticks);

	return ns > 0 ? (uint64_t)ns : 0;
}

#endif
