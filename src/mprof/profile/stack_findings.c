// SPDX-License-Identifier: LGPL-3.0-or-later
/* stack_findings.c - findings about the stacks of threads. */
#include "stack_findings.h"

#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/order.h"
#include "kept.h"
#include "variables.h"

#define STACKS_CACHED (40ull << 20) /* stacks that glibc keeps in a process for reuse */

static void find_fullest(struct stack_findings *s)
{
	const struct stack_of *x, *best = NULL;

	for (size_t i = 0; i < s->uses.count; i++) {
		x = &s->uses.of[i];
		if (!stack_is_nearly_full(x))
			continue;
		s->full++;
		if (!best ||
		    (double)x->used / (double)x->limit > (double)best->used / (double)best->limit)
			best = x;
	}
	s->fullest = best;
}

/* The beginning of a thread, or its end. */
struct turn {
	uint64_t ticks;
	const struct stack_of *of;
	bool end;
};

/* Sorts by process; ends come before beginnings. */
ORDER(by_time, struct turn, RISING(of->process) ?: RISING(ticks) ?: FALLING(end))

static uint64_t bytes_of(const struct stack_of *x)
{
	return x->looked_ticks ? x->resident : x->deepest;
}

static const struct stack_of *largest_at(const struct stack_uses *uses, uint32_t process,
					 uint64_t ticks)
{
	for (size_t i = 0; i < uses->count; i++)
		if (uses->of[i].process == process && uses->of[i].begin_ticks <= ticks &&
		    (!uses->of[i].end_ticks || uses->of[i].end_ticks > ticks))
			return &uses->of[i];
	return NULL;
}

static void take_most(struct stack_findings *s, const struct analysis *a, const struct turn *at,
		      uint64_t bytes, uint64_t threads)
{
	const struct tree_process *p = tree_find(&a->tree, at->of->process);
	const uint64_t memory = p ? p->peak_rss_bytes : 0;

	if (bytes <= s->bytes || bytes < STACKS_LEAST || !memory || bytes < memory / 4)
		return;
	s->process = at->of->process;
	s->bytes = bytes;
	s->memory = memory;
	s->threads = threads;
	s->largest = largest_at(&s->uses, s->process, at->ticks);
}

static void find_most(struct stack_findings *s, const struct analysis *a)
{
	struct turn *turn = must_calloc(2 * s->uses.count + 1, sizeof(*turn));
	uint64_t bytes = 0, threads = 0;
	size_t n = 0, i;

	for (i = 0; i < s->uses.count; i++) {
		const struct stack_of *x = &s->uses.of[i];

		turn[n++] = (struct turn){ x->begin_ticks, x, false };
		turn[n++] = (struct turn){ x->end_ticks ? x->end_ticks : UINT64_MAX, x, true };
	}
	SORT(turn, n, by_time);
	for (i = 0; i < n; i++) {
		if (i && turn[i].of->process != turn[i - 1].of->process)
			bytes = threads = 0;
		bytes = turn[i].end ? bytes - bytes_of(turn[i].of) : bytes + bytes_of(turn[i].of);
		threads = turn[i].end ? threads - 1 : threads + 1;
		if (!turn[i].end)
			take_most(s, a, &turn[i], bytes, threads);
	}
	free(turn);
}

static void find_variables(struct stack_findings *s, const struct analysis *a,
			   const struct trace *t)
{
	for (size_t i = 0; i < a->walk.heap.processes; i++) {
		const uint32_t number = a->walk.heap.process[i]->number;
		const struct tree_process *p = tree_find(&a->tree, number);
		const uint64_t bytes = variables_resident(t, number);

		/* A forked process has copies of its parent's variables. */
		if (!p || (p->forked && p->images < 2) || bytes < STACKS_LEAST ||
		    bytes < p->peak_rss_bytes / 4 || bytes <= s->variables || !p->peak_rss_bytes)
			continue;
		s->variables_process = number;
		s->variables = bytes;
		s->variables_memory = p->peak_rss_bytes;
	}
}

void stack_findings_make(struct stack_findings *s, const struct analysis *a, const struct trace *t)
{
	*s = (struct stack_findings){ .process = 0 };
	stack_uses_find(&s->uses, t);
	find_fullest(s);
	find_most(s, a);
	/* A single stack that is nearly full is reported only as such. */
	if (s->threads == 1 && s->largest == s->fullest)
		s->process = 0;
	find_variables(s, a, t);
}

/* ---- threads that nobody joined ---- */

static bool creates_thread(const struct profile_path *path)
{
	size_t i;

	for (i = path->asked; i < path->all; i++)
		if (!strncmp(path->line[i]->function, "pthread_create", 14) ||
		    !strcmp(path->line[i]->function, "thrd_create"))
			return true;
	return false;
}

/* Those besides the main one. */
struct threads {
	uint64_t running, limit; /* at the end; the smallest size of a stack, 0 = unknown */
	uint64_t ended, resident;
	uint64_t processes; /* that have such threads */
};

static struct threads count_threads(const struct stack_uses *uses)
{
	struct threads t = { .running = 0 };
	struct array seen = { .item = NULL }; /* bool, by process */

	for (size_t i = 0; i < uses->count; i++) {
		const struct stack_of *x = &uses->of[i];
		bool *known;

		if (x->main)
			continue;
		known = array_at(&seen, x->process, sizeof(*known));
		t.processes += !*known;
		*known = true;
		if (x->limit && (!t.limit || x->limit < t.limit))
			t.limit = x->limit;
		t.running += !x->end_ticks;
		t.ended += x->end_ticks && x->looked_ticks;
		t.resident += x->end_ticks ? x->resident : 0;
	}
	array_release(&seen);
	return t;
}

/* If recorded calls explain the depth: what went deeper than twice as far allocated nothing. */
static const struct sym_line *deepest_line(const struct stack_of *of, struct profile *names)
{
	return of && of->stack && of->deepest >= of->used / 2 ? profile_asked(names, of->stack).line
							      : NULL;
}

static struct stack_function half_of(const struct stack_of *of, struct profile *names)
{
	struct stack_function most = { .line = NULL };
	struct stack_frames f;

	if (!of || !stack_frames_find(&f, of, names))
		return most;
	if (f.count && f.of[0].bytes >= of->used / 2)
		most = f.of[0];
	stack_frames_release(&f);
	return most;
}

/* Names the variable with at least half of the resident bytes of the process's variables. */
static void name_variable(struct stack_findings *s, const struct profile *names)
{
	struct variables v;
	size_t i;

	variables_find(&v, names);
	for (i = 0; i < v.count; i++) {
		const struct variable *x = &v.of[i];
		const struct stack_object *file = &names->stacks->object[x->v.object];

		if (file->first_process != s->variables_process || !x->known ||
		    x->resident < s->variables / 2)
			continue;
		s->variable = (struct sym_line){ .function = x->v.name,
						 .file = x->v.file,
						 .line = x->v.line,
						 .module = basename(file->path),
						 .known = true };
		s->variable_resident = x->resident;
		break;
	}
	variables_release(&v);
}

void stack_findings_name(struct stack_findings *s, struct profile *names)
{
	s->fullest_line = deepest_line(s->fullest, names);
	s->largest_line = deepest_line(s->largest, names);
	s->fullest_part = half_of(s->fullest, names);
	s->largest_part = half_of(s->largest, names);
	if (s->variables_process)
		name_variable(s, names);
}

/*
 * glibc allocates one block for each stack that it makes for a thread, and frees both together,
 * unless it keeps them for the next thread.  So live blocks are the threads that run, stacks that
 * each process keeps for reuse, and threads that wait for pthread_join.
 */
void stack_findings_unjoined(struct stack_findings *s, const struct sites *sites,
			     struct profile *names)
{
	const struct threads t = count_threads(&s->uses);
	uint64_t blocks = 0, bytes = 0, most = 0, other;

	for (size_t i = 0; t.limit && i < sites->count && i < KEPT_SITES; i++) {
		const struct site_brief *x = &sites->brief[i];

		if (!x->live_calls || !profile_kept(names, x->key, x->live_calls) ||
		    !creates_thread(profile_path_once(names, x->key)))
			continue;
		blocks += x->live_calls;
		bytes += x->live_bytes;
		if (x->live_calls > most) {
			most = x->live_calls;
			s->unjoined_line = profile_asked(names, x->key).line;
		}
	}
	other = t.limit ? t.running + t.processes * (STACKS_CACHED / t.limit) : 0;
	if (blocks < other + UNJOINED_LEAST)
		return;
	s->unjoined = blocks - other;
	s->unjoined_stacks = s->unjoined * t.limit;
	s->unjoined_resident = t.ended ? t.resident / t.ended * s->unjoined : 0;
	s->unjoined_bytes = bytes / blocks * s->unjoined;
}

void stack_findings_release(struct stack_findings *s)
{
	stack_uses_release(&s->uses);
}
