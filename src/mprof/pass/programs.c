// SPDX-License-Identifier: LGPL-3.0-or-later
/* programs.c - the programs of a trace, sorted by calls. */
#include "programs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../util/hash.h"
#include "../util/order.h"
#include "boundaries.h"

static void start(void *self, struct walk *w)
{
	((struct programs *)self)->walk = w;
}

static bool is_call(const struct event *e)
{
	static const bool maps[MPROF_FN_MAX] = {
#define MPROF_FUNCTION(id, code, name, class) [code] = MPROF_CLASS_##class == MPROF_CLASS_MAP,
#include <mprof/functions.def>
#undef MPROF_FUNCTION
	};

	return (e->kind == EVENT_CALL || e->kind == EVENT_REALLOC_END) && e->fn < MPROF_FN_MAX &&
	       !maps[e->fn];
}

struct trace_program *programs_of(struct programs *f, uint32_t process)
{
	return array_at(&f->process, process, sizeof(struct trace_program));
}

static void batch(void *self, const struct batch *b)
{
	struct programs *f = self;
	const struct event *e = b->event, *end = e + b->count;
	const struct note *n = b->note;
	struct trace_program *p;

	array_at(&f->process, f->walk->heap.processes - 1, sizeof(*p));
	for (; e < end; e++, n++) {
		p = (struct trace_program *)f->process.item + n->process;
		if (!p->first_ticks)
			p->first_ticks = e->ticks;
		p->last_ticks = e->ticks;
		p->calls += is_call(e);
		p->ops += program_ops(e, n);
		if (n->did & (NOTE_BEGAN | NOTE_ENDED | NOTE_DROPPED) &&
		    n->own.bytes > p->peak_bytes) {
			p->peak_bytes = n->own.bytes;
			p->peak_op = p->ops - 1;
		}
	}
}

/* Ends a program; blocks that are live at an exec are not freed. */
static void gone(void *self, const struct heap *h, uint32_t process, enum process_gone why,
		 uint64_t ticks)
{
	struct programs *f = self;
	struct trace_program *p = programs_of(f, process), *to;
	const struct trace_fact *next = NULL;

	if (why == GONE_EXEC)
		next = f->walk->boundary[f->walk->next_boundary - 1].fact;
	to = p->calls ? array_at(&f->done, f->done.count, sizeof(*to)) : NULL;
	if (to) {
		*to = *p;
		to->number = h->process[process]->number;
		to->end_ticks = why == GONE_EXEC ? ticks : UINT64_MAX;
	}
	*p = (struct trace_program){ .image = p->image + 1,
				     .fact = next && next->argc ? next : NULL };
}

ORDER(most_first, struct trace_program, FALLING(calls) ?: RISING(number) ?: RISING(image))

/* Finds the facts of the first programs of processes; a program after exec has its own. */
static void find_facts(struct programs *f, const struct walk_input *in)
{
	struct hash first = { .used = 0 };
	struct trace_program *p;
	uint64_t *at;

	for (size_t i = 0; i < in->fact_count; i++) {
		const struct trace_fact *of = &in->facts[i];

		if (of->fact->what != MPROF_FACT_START || !of->argc)
			continue;
		at = hash_at(&first, of->process);
		*at = *at ? *at : (uintptr_t)of;
	}
	for (p = f->list; p < f->list + f->count; p++) {
		if (!p->image && !p->fact)
			p->fact = (const struct trace_fact *)hash_get(&first, p->number);
		p->exe = p->fact ? basename(p->fact->exe) : "";
	}
	hash_release(&first);
}

static void finish(void *self, struct walk *w)
{
	struct programs *f = self;

	f->list = f->done.item;
	f->count = f->done.count;
	find_facts(f, &w->input);
	SORT(f->list, f->count, most_first);
}

static const struct pass_part parts[] = {
	{ PASS_ARRAY(struct programs, process, struct trace_program) },
	{ PASS_ARRAY(struct programs, done, struct trace_program) },
	{ 0 },
};

const struct pass_ops programs_pass = {
	.name = "programs",
	.part = parts,
	.start = start,
	.batch = batch,
	.gone = gone,
	.finish = finish,
};

int programs_find(struct trace *t, struct trace_program **out, size_t *n, struct error *err)
{
	struct programs f = { .walk = NULL };
	int ret = walk_trace(t, &(struct walk_pass){ &programs_pass, &f }, NULL, NULL, err);

	*n = ret ? 0 : f.count;
	*out = *n ? must_memdup(f.list, *n * sizeof(*f.list)) : NULL;
	pass_release(&programs_pass, &f);
	if (!ret && !*n)
		ret = fail(err, -EINVAL, "'%s' contains no calls to an allocator", trace_path(t));
	return ret;
}

bool programs_many(struct trace *t)
{
	const struct trace_thread *thread;
	size_t n = trace_threads(t, &thread), i;
	struct walk_input in;
	struct boundary *m;
	bool many = false;

	for (i = 1; i < n; i++)
		many |= thread[i].process != thread[0].process;
	walk_input_from_trace(&in, t);
	if (many)
		return true;
	boundaries_make(&in, &m, &n);
	for (i = 0; i < n; i++)
		many |= m[i].kind == BOUNDARY_EXEC;
	free(m);
	return many;
}

int programs_choose(const struct trace *t, const struct trace_program *list, size_t n,
		    uint32_t process, const struct trace_program **chosen, struct error *err)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!process || process == PROGRAMS_ALL || list[i].number == process)
			break;
	if (i == n)
		return fail(err, -ESRCH,
			    "'%s' has no process %" PRIu32
			    " that called an allocator; process %" PRIu32 " made the most calls",
			    trace_path(t), process, list[0].number);
	*chosen = &list[i];
	return 0;
}

int programs_pick(struct trace *t, uint32_t process, struct trace_program *picked,
		  struct error *err)
{
	const struct trace_program *chosen;
	struct trace_program *list;
	size_t n;
	int ret = programs_find(t, &list, &n, err);

	if (!ret)
		ret = programs_choose(t, list, n, process, &chosen, err);
	if (!ret)
		*picked = *chosen;
	free(list);
	return ret;
}
