// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * own_memory.c - removes pages of the library's own tables from the lists of resident pages, so
 * that what remains is the program's.
 *
 * A table lives until its program ends.  A forked child has the tables that its parent had then.
 */
#include "reader.h"

#include <stdlib.h>

#include "../util/order.h"

/* A program that a process runs from some time on. */
struct program {
	uint32_t process, image;
	uint64_t ticks;
	uint32_t parent; /* if it was forked: the parent's number and when; else 0 */
	uint64_t fork_ticks;
};

ORDER(by_process, struct own_memory, RISING(process) ?: RISING(image))
ORDER(by_begin, struct program, RISING(process) ?: RISING(ticks))
ORDER(by_page, struct mprof_page_run, RISING(first))

struct programs {
	struct program *item;
	size_t n;
};

static struct programs find_programs(const struct trace *t)
{
	struct programs p = { .item = must_calloc(t->facts + 1, sizeof(*p.item)) };

	for (size_t i = 0; i < t->facts; i++) {
		const struct mprof_fact *f = t->fact[i].fact;
		const bool forked = f->what == MPROF_FACT_START && f->fork_ticks;

		if (f->what != MPROF_FACT_START && f->what != MPROF_FACT_EXEC)
			continue;
		p.item[p.n++] = (struct program){ .process = t->fact[i].process,
						  .image = t->fact[i].image,
						  .ticks = f->ticks,
						  .parent = forked ? f->parent : 0,
						  .fork_ticks = f->fork_ticks };
	}
	SORT(p.item, p.n, by_begin);
	return p;
}

/* Returns the program of a process at this time, or its first one; NULL if none is known. */
static const struct program *program_at(const struct programs *p, uint32_t process, uint64_t ticks)
{
	const size_t first = FIRST_WHERE(k, p->n, p->item[k].process >= process);
	const size_t behind =
	    FIRST_WHERE(k, p->n,
			p->item[k].process > process ||
			    (p->item[k].process == process && p->item[k].ticks > ticks));

	if (first == p->n || p->item[first].process != process)
		return NULL;
	return &p->item[behind > first ? behind - 1 : first];
}

#define ANCESTORS 64u /* in a damaged trace they may form a circle */

/* Puts the tables that a process had at this time, ascending, and returns how many. */
static size_t tables_at(const struct trace *t, const struct programs *p, uint32_t process,
			uint64_t ticks, struct mprof_page_run *to)
{
	const struct own_memory *own = t->own;
	const struct program *program = program_at(p, process, ticks);
	size_t n = 0;

	for (unsigned i = 0; program && i < ANCESTORS; i++) {
		size_t k = FIRST_WHERE(
		    j, t->owns,
		    own[j].process > program->process ||
			(own[j].process == program->process && own[j].image >= program->image));

		for (; k < t->owns && own[k].process == program->process &&
		       own[k].image == program->image && n < t->owns;
		     k++)
			if (own[k].ticks <= ticks)
				to[n++] = own[k].run;
		ticks = program->fork_ticks;
		program = program->parent ? program_at(p, program->parent, ticks) : NULL;
	}
	SORT(to, n, by_page);
	return n;
}

static uint64_t run_pages(const struct mprof_page_run *run, uint64_t runs)
{
	uint64_t pages = 0;

	for (uint64_t i = 0; i < runs; i++)
		pages += run[i].count;
	return pages;
}

/* Replaces the runs of r by those parts of them that are in none of the n tables. */
static void cut(struct trace *t, struct trace_residency *r, const struct mprof_page_run *table,
		size_t n)
{
	struct mprof_page_run *kept = must_malloc((r->runs + n + 1) * sizeof(*kept));
	uint64_t i, runs = 0;
	size_t k = 0;

	for (i = 0; i < r->runs; i++) {
		uint64_t at = r->run[i].first;
		const uint64_t end = at + r->run[i].count;

		while (k < n && table[k].first + table[k].count <= at)
			k++;
		for (size_t j = k; j < n && table[j].first < end && at < end; j++) {
			if (table[j].first > at)
				kept[runs++] = (struct mprof_page_run){ at, table[j].first - at };
			if (table[j].first + table[j].count > at)
				at = table[j].first + table[j].count;
		}
		if (at < end)
			kept[runs++] = (struct mprof_page_run){ at, end - at };
	}
	*GROW_ONE(t->copy, t->copies, t->copies_room) = kept;
	r->own = run_pages(r->run, r->runs) - run_pages(kept, runs);
	r->run = kept;
	r->runs = runs;
}

void own_memory_cut(struct trace *t)
{
	struct mprof_page_run *table;
	struct programs p;

	if (!t->owns)
		return;
	SORT(t->own, t->owns, by_process);
	p = find_programs(t);
	table = must_malloc(t->owns * sizeof(*table));
	for (size_t i = 0; i < t->residencies; i++) {
		struct trace_residency *r = &t->residency[i];
		const size_t n = tables_at(t, &p, r->process, r->head->ticks_after, table);

		if (n)
			cut(t, r, table, n);
	}
	free(table);
	free(p.item);
}
