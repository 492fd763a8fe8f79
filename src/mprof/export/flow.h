/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * flow.h - blocks one by one, in the walk that makes a profile: each block that passes the
 * profile's filter, as it begins and ends, in the order of time.
 *
 * Beginnings and ends add up to the profile's figures: blocks that began are
 * its calls and bytes, those that ended are freed, those that remain are live
 * (except those ended by exec). A filter of lifetimes cannot be applied here:
 * the end of a block is unknown when it begins.
 *
 * While the walk runs, names and processes (profile->tree) are known; figures, their order
 * and the peak are not.  A stack is therefore named by its group, a number from
 * 1, in order of first occurrence, that stacks with the same lines share:
 * site.group. A format that needs the figures first sets ops.later: the trace
 * is then walked again after the profile is made. (Keeping the blocks in a
 * temporary file takes four times as long as that walk.)
 *
 * Memory: 4 bytes a stack.  Errors: -errno with err filled.  Threads: one at a time.
 */
#pragma once

#include "exports.h"

struct flow_block {
	const struct block *block;
	uint64_t ticks;	 /* of the event */
	uint64_t number; /* of the event in the trace, from 1, as shown by dump --numbers */
	uint32_t process, thread; /* that allocated or freed; numbers in the run */
	uint32_t group;		  /* of its stack */
	uint8_t fn;		  /* function of the event */
	bool resized; /* at the beginning: by a realloc of a block; at the end: by a realloc */
};

struct flow;

/* The thread of an event, whether blocks pass or not. */
struct flow_thread {
	uint32_t process; /* number in the run */
	uint32_t tid;	  /* the kernel's; 0 if unknown */
	uint64_t first, last, events;
};

/* Every hook is optional. */
struct flow_ops {
	bool threads; /* fill flow.thread */
	bool later;   /* call the hooks when the profile is made, in a second walk */
	/* Called first; the profile's names and tree are available. */
	void (*start)(void *context, struct flow *f);
	/* Called for every event, before its effect on blocks. */
	void (*event)(void *context, struct flow *f, const struct event *e, uint64_t number);
	/* Called before each block that passes, and before a process ends. */
	void (*time)(void *context, struct flow *f, uint64_t ticks, uint64_t number);
	void (*began)(void *context, struct flow *f, const struct flow_block *b);
	void (*ended)(void *context, struct flow *f, const struct flow_block *b);
	/* Its process ends.  ticks is that time; number and fn are 0. */
	void (*left)(void *context, struct flow *f, const struct flow_block *b,
		     enum process_gone why);
	/* Called after left() for all its blocks. */
	void (*gone)(void *context, struct flow *f, uint32_t process, enum process_gone why,
		     uint64_t ticks);
	/* Called at a new maximum of live bytes in the run, or in the filter's process, after the
	 * event that caused it.  The last one is the peak. */
	void (*most)(void *context, struct flow *f, uint64_t ticks, uint64_t number);
};

struct flow {
	struct profile *profile;
	const struct walk *walk;
	const struct flow_ops *ops;
	void *context;
	struct live live;    /* blocks that pass: bytes, blocks, slack; after the current event */
	struct array thread; /* struct flow_thread, by number */
	uint64_t events;     /* events before the end of the process */
	bool over;	     /* there are no more events; only ends of processes follow */
	/* Private: */
	const struct site_filter *filter; /* NULL = everything passes */
	struct array group;		  /* uint32_t by stack: group + 1, 0 = not yet determined */
	uint64_t most;			  /* most bytes live at once so far, + 1 */
};

/* Makes the profile of x like profile_make(), and calls the hooks.  0, or -errno with err filled;
 * flow_release in both cases. */
int flow_run(struct flow *f, const struct export *x, const struct flow_ops *ops, void *context,
	     struct error *err);
void flow_release(struct flow *f);

/* Returns the index of p->site by group, when p is made; the caller frees it. */
uint32_t *flow_sites(const struct profile *p);
