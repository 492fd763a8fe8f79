// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * moments.c - what happens between events, in the order of time.
 *
 * The end of a process is the latest of what is known of it: its own END
 * fact, its parent's WAITED, and the last time of each of its threads, for
 * another thread may go on while END is written.
 */
#include "moments.h"

#include <errno.h>
#include <stdlib.h>

#include "tree.h"

static int by_ticks(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->ticks != y->ticks)
		return x->ticks < y->ticks ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->process > y->process) - (x->process < y->process);
}

static uint64_t last_of_threads(const struct walk_input *in, uint32_t process)
{
	uint64_t last = 0;
	size_t i;

	for (i = 0; i < in->thread_count; i++)
		if (in->threads[i].process == process && in->threads[i].last_ticks > last)
			last = in->threads[i].last_ticks;
	return last;
}

static bool ends(const struct trace_fact *f)
{
	return f->fact->what == MPROF_FACT_END || f->fact->what == MPROF_FACT_WAITED;
}

/* One end for each process: the first fact that tells of it carries it. */
static uint64_t end_ticks(const struct walk_input *in, size_t at)
{
	const struct trace_fact *f = &in->facts[at];
	uint64_t last = last_of_threads(in, f->process);
	size_t i;

	for (i = 0; i < in->fact_count; i++) {
		if (in->facts[i].process != f->process)
			continue;
		if (ends(&in->facts[i]) && i < at)
			return 0;
		if (in->facts[i].fact->ticks > last)
			last = in->facts[i].fact->ticks;
	}
	return last;
}

static bool moment_of_fact(const struct walk_input *in, size_t at, struct moment *m)
{
	const struct trace_fact *f = &in->facts[at];

	*m = (struct moment){ .ticks = f->fact->ticks, .process = f->process, .fact = f };
	if (!f->process)
		return false;
	switch (f->fact->what) {
	case MPROF_FACT_START:
		m->kind = MOMENT_FORK;
		m->ticks = f->fact->fork_ticks;
		m->parent = f->fact->parent;
		return f->fact->fork_ticks && f->fact->parent && f->fact->parent != f->process;
	case MPROF_FACT_EXEC:
		m->kind = MOMENT_EXEC;
		m->ticks -= m->ticks > 0; /* the new program's first call may bear the same time */
		return true;
	case MPROF_FACT_EXECING:
		m->kind = MOMENT_EXEC;
		return tree_became(in, f);
	case MPROF_FACT_END:
	case MPROF_FACT_WAITED:
		m->kind = MOMENT_END;
		m->ticks = end_ticks(in, at);
		return m->ticks != 0;
	default:
		return false;
	}
}

int moments_make(const struct walk_input *in, struct moment **out, size_t *n)
{
	struct moment *m = calloc(in->fact_count + in->residency_count + 1, sizeof(*m));
	size_t i;

	*out = m;
	*n = 0;
	if (!m)
		return -ENOMEM;
	for (i = 0; i < in->fact_count; i++)
		*n += moment_of_fact(in, i, &m[*n]);
	for (i = 0; i < in->residency_count; i++)
		m[(*n)++] = (struct moment){
			.ticks = in->residencies[i].head->ticks_before,
			.kind = MOMENT_RESIDENCY,
			.process = in->residencies[i].process,
			.residency = &in->residencies[i],
		};
	qsort(m, *n, sizeof(*m), by_ticks);
	return 0;
}
