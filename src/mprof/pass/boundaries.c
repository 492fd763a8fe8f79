// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * boundaries.c - boundaries between events, in the order of time.
 *
 * The end of a process is the latest of these: its own END fact, its parent's
 * WAITED, and the last time of each of its threads, because another thread may
 * continue while END is written.
 */
#include "../heap/heap.h"
#include "../util/order.h"
#include "boundaries.h"

#include <stdlib.h>

#include "array.h"
#include "tree.h"

ORDER(by_ticks, struct boundary, RISING(ticks) ?: RISING(kind) ?: RISING(process))

/* Facts about the end of a process, known before the walk, by number. */
struct last {
	uint64_t ticks;
	bool told; /* a boundary was made for it */
};

static bool ends(const struct trace_fact *f)
{
	return f->fact->what == MPROF_FACT_END || f->fact->what == MPROF_FACT_WAITED;
}

static void note_last(struct array *lasts, uint32_t process, uint64_t ticks)
{
	struct last *last;

	if (process >= HEAP_NUMBERS)
		return;
	last = array_at(lasts, process, sizeof(*last));
	if (ticks > last->ticks)
		last->ticks = ticks;
}

static void find_lasts(const struct walk_input *in, struct array *lasts)
{
	size_t i;

	for (i = 0; i < in->thread_count; i++)
		note_last(lasts, in->threads[i].process, in->threads[i].last_ticks);
	for (i = 0; i < in->fact_count; i++)
		note_last(lasts, in->facts[i].process, in->facts[i].fact->ticks);
}

/* Adds one end for each process, at the first fact about it. */
static bool end_of(struct array *lasts, uint32_t process, struct boundary *m)
{
	struct last *last = process < lasts->count ? array_at(lasts, process, sizeof(*last)) : NULL;

	if (!last || last->told)
		return false;
	last->told = true;
	m->kind = BOUNDARY_END;
	m->ticks = last->ticks;
	return true;
}

static bool boundary_of_fact(const struct walk_input *in, struct array *lasts,
			     const struct trace_fact *f, struct boundary *m)
{

	*m = (struct boundary){ .ticks = f->fact->ticks, .process = f->process, .fact = f };
	if (!f->process)
		return false;
	if (ends(f))
		return end_of(lasts, f->process, m);
	switch (f->fact->what) {
	case MPROF_FACT_START:
		m->kind = BOUNDARY_FORK;
		m->ticks = f->fact->fork_ticks;
		m->parent = f->fact->parent;
		return f->fact->fork_ticks && f->fact->parent && f->fact->parent != f->process;
	case MPROF_FACT_EXEC:
		m->kind = BOUNDARY_EXEC;
		m->ticks -=
		    m->ticks > 0; /* the first call of the new program may have the same time */
		return true;
	case MPROF_FACT_EXECING:
		m->kind = BOUNDARY_EXEC;
		return tree_became(in, f);
	default:
		return false;
	}
}

void boundaries_make(const struct walk_input *in, struct boundary **out, size_t *n)
{
	struct boundary *m = must_calloc(in->fact_count + in->residency_count + 1, sizeof(*m));
	struct array lasts = { .item = NULL };
	size_t i;

	*out = m;
	*n = 0;
	find_lasts(in, &lasts);
	for (i = 0; i < in->fact_count; i++)
		*n += boundary_of_fact(in, &lasts, &in->facts[i], &m[*n]);
	array_release(&lasts);
	for (i = 0; i < in->residency_count; i++)
		m[(*n)++] = (struct boundary){
			.ticks = in->residencies[i].head->ticks_before,
			.kind = BOUNDARY_RESIDENCY,
			.process = in->residencies[i].process,
			.residency = &in->residencies[i],
		};
	SORT(m, *n, by_ticks);
}
