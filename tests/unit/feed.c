// SPDX-License-Identifier: LGPL-3.0-or-later
/* feed.c - events and facts written down by a test. */
#include "suites.h"

#include "feed.h"

#include <string.h>

struct feed feed;

void feed_start(void)
{
	memset(&feed, 0, sizeof(feed));
	feed.ticks = 1000;
	feed.process = feed.thread = 1;
	feed.header.page_size = 4096;
	feed.header.start_ticks = 0;
}

struct event *feed_event(uint8_t kind, uint8_t fn, uint64_t addr, uint64_t size)
{
	struct event *e = &feed.event[feed.n++];

	ck_assert(feed.n <= FEED_EVENTS);
	*e = (struct event){
		.ticks = feed.ticks,
		.addr = addr,
		.size = size,
		.process = feed.process,
		.thread = feed.thread,
		.kind = kind,
		.fn = fn,
	};
	feed.ticks += 100;
	return e;
}

void feed_alloc(uint8_t fn, uint64_t addr, uint64_t size)
{
	feed_event(EVENT_CALL, fn, addr, size)->usable = addr ? size + 8 * (size & 1) : 0;
}

void feed_free(uint64_t addr)
{
	feed_event(EVENT_CALL, MPROF_FN_FREE, addr, 0);
}

void feed_realloc(uint64_t old, uint64_t addr, uint64_t size)
{
	if (old)
		feed_event(EVENT_REALLOC_BEGIN, MPROF_FN_REALLOC, old, size);
	feed_event(EVENT_REALLOC_END, MPROF_FN_REALLOC, addr, size)->usable = addr ? size : 0;
}

void feed_alloc_from(uint32_t stack, uint64_t addr, uint64_t size)
{
	feed_alloc(MPROF_FN_MALLOC, addr, size);
	feed.event[feed.n - 1].stack = stack;
}

void feed_realloc_from(uint32_t stack, uint64_t old, uint64_t addr, uint64_t size)
{
	feed_realloc(old, addr, size);
	feed.event[feed.n - 1].stack = stack;
}

struct mprof_fact *feed_fact(uint32_t what, uint32_t process)
{
	struct mprof_fact *m = &feed.fact[feed.fact_count];
	struct trace_fact *f = &feed.facts[feed.fact_count++];

	ck_assert(feed.fact_count <= FEED_FACTS);
	*m = (struct mprof_fact){ .what = what, .ticks = feed.ticks, .pid = 100 + (int)process };
	*f = (struct trace_fact){ .fact = m, .process = process, TRACE_FACT_TEXTS };
	feed.ticks += 100;
	return m;
}

static size_t next(void *context, struct event *events, size_t n)
{
	struct feed *f = context;
	size_t got = f->n - f->read < n ? f->n - f->read : n;

	/* Batches of odd lengths, as a merge of threads may hand them out. */
	if (got > 7)
		got -= got / 3;
	memcpy(events, f->event + f->read, got * sizeof(*events));
	f->read += got;
	return got;
}

static int64_t ns(void *context, uint64_t ticks)
{
	(void)context;
	return (int64_t)ticks;
}

size_t feed_samples(void *context, uint32_t process, const struct mprof_sample **sample)
{
	const struct feed *f = context;

	*sample = f->sample;
	return process == 1 ? f->sample_count : 0;
}

static void list_threads(void)
{
	size_t i, k;

	for (i = 0; i < feed.n; i++) {
		for (k = 0; k < feed.thread_count; k++)
			if (feed.threads[k].number == feed.event[i].thread)
				break;
		ck_assert(k < FEED_FACTS);
		if (k == feed.thread_count)
			feed.threads[feed.thread_count++] = (struct trace_thread){
				.number = feed.event[i].thread,
				.process = feed.event[i].process,
			};
		feed.threads[k].last_ticks = feed.event[i].ticks;
	}
}

static void fill_input(struct walk_input *in)
{
	list_threads();
	*in = (struct walk_input){
		.context = &feed,
		.next = next,
		.ns = ns,
		.facts = feed.facts,
		.fact_count = feed.fact_count,
		.threads = feed.threads,
		.thread_count = feed.thread_count,
		.residencies = feed.residency,
		.residency_count = feed.residency_count,
		.samples = feed_samples,
		.peaks = feed.peak,
		.peak_count = feed.peak_count,
		.header = &feed.header,
		.stacks = feed.stacks,
	};
}

void feed_run(void)
{
	struct analysis_source source = { .damage = &feed.damage,
					  .path = "test",
					  .brief = feed.brief,
					  .one_by_one = feed.one_by_one };
	struct error err;

	fill_input(&source.input);
	ck_assert_msg(!analysis_make(&feed.a, &source, &err), "%s", err.text);
}

void feed_walk(struct walk *w, const struct walk_pass *pass, size_t passes)
{
	struct walk_input in;
	struct error err;

	fill_input(&in);
	walk_init(w, &in, pass, passes);
	w->fused = feed.fused;
	w->fused_self = feed.fused_self ? feed.fused_self : pass->self;
	w->no_pages = feed.fused && !feed.fused_self;
	ck_assert_msg(!walk_run(w, &err), "%s", err.text);
}

void feed_release(void)
{
	analysis_release(&feed.a);
}
