/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * tally.c - counts the events of a trace, as MODE=Count would have.
 */
#include "tally.h"

#include <stdio.h>
#include <string.h>

#include "../trace/lost.h"

#define BATCH 1024

static const uint8_t class_of[MPROF_FN_MAX] = {
#define MPROF_FUNCTION(id, code, name, class) [code] = MPROF_CLASS_##class,
#include <mprof/functions.def>
#undef MPROF_FUNCTION
};

static bool asks(unsigned fn)
{
	return class_of[fn] == MPROF_CLASS_ALLOC || class_of[fn] == MPROF_CLASS_REALLOC;
}

uint64_t tally_asked(const struct mprof_counts_fn *fn)
{
	uint64_t bytes = 0;
	unsigned i;

	for (i = 0; i < MPROF_FN_MAX; i++)
		bytes += asks(i) ? fn[i].bytes : 0;
	return bytes;
}

void tally_events(void *context, const struct event *e, size_t n)
{
	struct tally *tally = context;
	size_t i;

	for (i = 0; i < n; i++)
		if ((e[i].kind == EVENT_CALL || e[i].kind == EVENT_REALLOC_END) &&
		    e[i].fn < MPROF_FN_MAX) {
			tally->calls[e[i].fn]++;
			tally->asked += asks(e[i].fn) && e[i].addr ? e[i].size : 0;
		}
}

/* An exec goes on in the same thread, under a new number. */
static uint64_t count_threads(const struct trace *t)
{
	const struct trace_thread *threads;
	const struct trace_fact *fact;
	uint64_t n = trace_threads(t, &threads), least = trace_header(t)->processes;
	size_t i, facts = trace_facts(t, &fact);

	for (i = 0; i < facts && n > least; i++)
		n -= fact[i].fact->what == MPROF_FACT_EXEC;
	return n;
}

static uint64_t count_damage(const struct trace_damage *d)
{
	return d->chunks_bad + d->chunks_missing + d->words_bad + d->sizes_bad + d->stacks_bad +
	       d->lines_bad + d->lines_cut + d->header_cut + d->chunks_unseen + (d->bytes_cut > 0) +
	       (d->bytes_missing > 0);
}

void tally_losses(struct tally *tally, const struct trace *t)
{
	const struct trace_damage *d = trace_damage(t);
	unsigned i;

	for (i = 0; i < MPROF_LOST_REASONS; i++)
		if (!lost_is_stack(i))
			*(lost_is_end(i) ? &tally->ended : &tally->lost) += d->lost[i];
	tally->damaged = count_damage(d);
}

void tally_own(struct tally_own *own, const struct trace_fact *f)
{
	if (!*f->malloc_of)
		return;
	if (!own->count++) /* the loader names the executable as it was called */
		snprintf(own->path, sizeof(own->path), "%s",
			 *f->malloc_of == '/' ? f->malloc_of : f->exe);
}

void tally_finish(void *context, const struct trace *t)
{
	struct tally *tally = context;
	const struct trace_fact *fact;
	size_t facts = trace_facts(t, &fact);

	for (size_t i = 0; i < facts; i++)
		tally_own(&tally->own, &fact[i]);
	for (unsigned i = 0; i < MPROF_FN_MAX; i++)
		tally->all += tally->calls[i];
	tally_losses(tally, t);
	tally->processes = trace_header(t)->processes;
	tally->threads = count_threads(t);
}

int tally_read(struct tally *tally, const char *path, struct error *err)
{
	struct event batch[BATCH];
	struct trace *t;
	size_t n;
	int code = trace_open(&t, path, MPROF_MAGIC_TRACE, err);

	memset(tally, 0, sizeof(*tally));
	if (code)
		return code;
	while ((n = trace_next(t, batch, BATCH)) > 0)
		tally_events(tally, batch, n);
	tally_finish(tally, t);
	tally->bytes = trace_bytes(t);
	trace_close(t);
	return 0;
}
