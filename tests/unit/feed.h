/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * feed.h - events and facts written down by a test, and the analysis of them,
 * without a file.
 *
 * feed_* add one event each; time advances by 100 ticks (ns) an event unless feed.ticks is set.
 * feed_run() walks them; checks read feed.a afterwards; feed_release() ends it.
 */
#pragma once

#include "pass/analysis.h"

#define FEED_EVENTS 40000
#define FEED_FACTS  64

struct feed {
	struct event event[FEED_EVENTS];
	size_t n, read;
	uint64_t ticks;		  /* of the next event */
	uint32_t process, thread; /* of the next event */
	struct mprof_fact fact[FEED_FACTS];
	struct trace_fact facts[FEED_FACTS];
	size_t fact_count;
	struct trace_thread threads[FEED_FACTS];
	size_t thread_count;
	struct trace_residency residency[4];
	size_t residency_count;
	struct mprof_sample sample[4]; /* of process 1 */
	size_t sample_count;
	struct trace_peak peak[4];
	size_t peak_count;
	struct mprof_file_header header;
	struct trace_damage damage;
	const struct stacks *stacks;
	bool brief, one_by_one; /* of the analysis */
	/* Filled by feed_walk, with its first pass. */
	size_t (*fused)(void *self, struct walk *w, size_t first, size_t n);
	void *fused_self; /* NULL: the pass, which does not look at pages */
	struct analysis a;
};

/* One for all tests: Check runs each in a process of its own. */
extern struct feed feed;

void feed_start(void);
struct event *feed_event(uint8_t kind, uint8_t fn, uint64_t addr, uint64_t size);
void feed_alloc(uint8_t fn, uint64_t addr, uint64_t size); /* usable: size, 8 more for odd ones */
void feed_alloc_from(uint32_t stack, uint64_t addr, uint64_t size); /* by malloc */
void feed_free(uint64_t addr);
void feed_realloc(uint64_t old, uint64_t addr, uint64_t size); /* both halves, or one if !old */
void feed_realloc_from(uint32_t stack, uint64_t old, uint64_t addr, uint64_t size);
struct mprof_fact *feed_fact(uint32_t what, uint32_t process);
/* feed.sample, for walk_input.samples; context: a struct feed. */
size_t feed_samples(void *context, uint32_t process, const struct mprof_sample **sample);
void feed_run(void);
/* Walks them with these passes and no analysis; w is then walk_release()d. */
void feed_walk(struct walk *w, const struct walk_pass *pass, size_t passes);
void feed_release(void);
