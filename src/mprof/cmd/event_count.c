/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * event_count.c - counts the events of a trace, as MODE=Count would have.
 */
#include "event_count.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "../pass/tree.h"
#include "../run/program.h"
#include "../trace/functions.h"
#include "../trace/lost.h"

#define BATCH 1024

static bool asks(unsigned fn)
{
	return (function_class[fn] == MPROF_CLASS_ALLOC) |
	       (function_class[fn] == MPROF_CLASS_REALLOC);
}

uint64_t event_count_asked(const struct mprof_counts_fn *fn)
{
	uint64_t bytes = 0;
	unsigned i;

	for (i = 0; i < MPROF_FN_MAX; i++)
		bytes += asks(i) ? fn[i].bytes : 0;
	return bytes;
}

void event_count_events(void *context, const struct event *e, size_t n)
{
	struct event_count *event_count = context;
	uint64_t all = 0, asked = 0;

	for (const struct event *end = e + n; e < end; e++)
		if ((e->kind == EVENT_CALL || e->kind == EVENT_REALLOC_END) &&
		    e->fn < MPROF_FN_MAX) {
			all++;
			/* No branch: which function comes next cannot be foreseen. */
			asked += e->size * (asks(e->fn) & (e->addr != 0));
		}
	event_count->all += all;
	event_count->asked += asked;
}

/* After exec, a process continues in the same thread, under a new number. */
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

void event_count_losses(struct event_count *event_count, const struct trace *t)
{
	const struct trace_damage *d = trace_damage(t);
	unsigned i;

	for (i = 0; i < MPROF_LOST_REASONS; i++)
		if (lost_reason[i].counts != LOST_STACKS)
			*(lost_reason[i].counts == LOST_PROCESSES ? &event_count->ended
								  : &event_count->lost) +=
			    d->lost[i];
	event_count->damaged = count_damage(d);
}

static void take_fact(struct event_count_own *own, const struct trace_fact *f)
{
	if (f->fact->what == MPROF_FACT_DEEPBIND && !*own->object)
		snprintf(own->object, sizeof(own->object), "%s", f->path);
	else if (f->fact->what == MPROF_FACT_DEEPBIND)
		own->objects |= strcmp(own->object, f->path) != 0;
	if (f->fact->what == MPROF_FACT_OUTSIDE && f->process && !*own->remark)
		snprintf(own->remark, sizeof(own->remark), "%s", f->why);
	own->denied |= f->fact->what == MPROF_FACT_EXECING && f->fact->env_kept &&
		       f->fact->how == MPROF_EXEC_DENIED;
	if (!*f->malloc_of)
		return;
	if (!own->count++) /* the loader names the executable as it was called */
		snprintf(own->path, sizeof(own->path), "%s",
			 *f->malloc_of == '/' ? f->malloc_of : f->exe);
}

/* A process that still runs may not have loaded the library yet, but cannot if that is out of its
 * reach; a note has been told. */
static bool is_missing(const struct tree_missing *m)
{
	return m->environment ||
	       (!m->denied && !m->note && (m->apart || (kill(m->pid, 0) && errno == ESRCH)));
}

static void take_missing(struct event_count_own *own, const struct tree *tree)
{
	for (size_t i = 0; i < tree->missing_count; i++) {
		const struct tree_missing *m = &tree->missing[i];

		if (!is_missing(m) || own->missing++)
			continue;
		own->environment = m->environment;
		own->apart = m->apart;
		own->how = m->how;
		snprintf(own->missing_path, sizeof(own->missing_path), "%s", m->path);
	}
}

void event_count_own(struct event_count_own *own, const struct trace *t)
{
	struct walk_input in = { .header = trace_header(t) };
	struct tree tree = { .process = NULL };

	in.fact_count = trace_facts(t, &in.facts);
	in.thread_count = trace_threads(t, &in.threads);
	for (size_t i = 0; i < in.fact_count; i++)
		take_fact(own, &in.facts[i]);
	for (size_t i = 0; i < in.fact_count && !*own->remark; i++)
		if (in.facts[i].fact->what == MPROF_FACT_START)
			program_emulates(in.facts[i].exe, own->remark, sizeof(own->remark));
	tree_missing(&tree, &in);
	take_missing(own, &tree);
	tree_release(&tree);
}

void event_count_finish(void *context, const struct trace *t)
{
	struct event_count *event_count = context;

	event_count_own(&event_count->own, t);
	event_count_losses(event_count, t);
	event_count->processes = trace_header(t)->processes;
	event_count->threads = count_threads(t);
	event_count->dropped = trace_header(t)->dropped_bytes;
}

int event_count_read(struct event_count *event_count, const char *path, struct error *err)
{
	struct event batch[BATCH];
	struct trace *t;
	size_t n;
	int code = trace_open(&t, path, MPROF_MAGIC_TRACE, err);

	memset(event_count, 0, sizeof(*event_count));
	if (code)
		return code;
	while ((n = trace_next(t, batch, BATCH)) > 0)
		event_count_events(event_count, batch, n);
	event_count_finish(event_count, t);
	event_count->bytes = trace_bytes(t);
	trace_close(t);
	return 0;
}
