// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * totals.c - counts calls, bytes and failures by function.
 *
 * Only threads are counted while walking; processes and the run are sums of
 * them, made at the end.
 */
#include "totals.h"

#include "../trace/functions.h"

/* Returns whether it failed. */
static inline bool count_call(struct totals_thread *t, const struct event *e, const struct note *n)
{
	struct totals_fn *f = &t->sum.fn[e->fn];
	const uint8_t class = function_class[e->fn];
	bool failed;

	f->calls++;
	if (class == MPROF_CLASS_FREE) {
		f->bytes += n->did & (NOTE_ENDED | NOTE_INHERITED) ? n->old.size : 0;
		if (n->did & NOTE_ENDED)
			totals_freed(&t->sum, &n->old);
		t->sum.null_frees += !e->addr;
		return false;
	}
	failed = class == MPROF_CLASS_MAP ? e->error != 0 : !e->addr && e->size;
	f->failed += failed;
	if (e->fn == MPROF_FN_MUNMAP) /* its range may have holes */
		f->bytes += n->did & NOTE_MAPPED ? n->space.unmapped : 0;
	else
		f->bytes += failed ? 0 : e->size;
	return failed;
}

static void note_failure(struct totals *s, const struct event *e)
{
	if (!s->first_failed.process)
		s->first_failed = (struct totals_failure){
			.ticks = e->ticks,
			.size = e->size,
			.stack = e->stack,
			.process = e->process,
			.flags = e->fn == MPROF_FN_MMAP ? (uint32_t)(e->usable >> 32) : 0,
			.fn = e->fn,
		};
}

static void note_control(struct totals *s, struct totals_thread *t, const struct event *e)
{
	if (e->kind == EVENT_LOST && e->control < MPROF_LOST_REASONS)
		s->lost[e->control] += e->value;
	else if (e->control == MPROF_CONTROL_THREAD_START)
		t->tid = e->value, t->ended = false; /* again after an exec */
	else if (e->control == MPROF_CONTROL_THREAD_END)
		t->ended = true;
}

struct totals_thread *totals_thread(struct totals *s, const struct event *e, uint32_t thread)
{
	struct totals_thread *t = array_at(&s->thread, thread, sizeof(*t));

	if (!t->number) {
		t->number = e->thread;
		t->process = e->process;
		t->first_ticks = e->ticks;
	}
	return t;
}

struct totals_process *totals_process(struct totals *s, uint32_t process)
{
	return array_at(&s->process, process, sizeof(struct totals_process));
}

static void batch(void *self, const struct batch *b)
{
	struct totals *s = self;
	struct totals_thread *t = NULL;
	const struct event *e = b->event;
	const struct note *n = b->note;
	size_t i;

	for (i = 0; i < b->count; i++, e++, n++) {
		if (!t || t->number != e->thread)
			t = totals_thread(s, e, n->thread);
		t->last_ticks = e->ticks;
		if (b->plain || e->kind == EVENT_CALL || e->kind == EVENT_REALLOC_END) {
			if (e->fn < MPROF_FN_MAX && count_call(t, e, n))
				note_failure(s, e);
			if (n->did & (NOTE_BEGAN | NOTE_ENDED))
				totals_swing(&totals_process(s, n->process)->swing, n->own.bytes);
		} else if (e->kind != EVENT_REALLOC_BEGIN) {
			note_control(s, t, e);
		}
	}
}

static void close_sum(struct totals_sum *s)
{
	int f;

	s->calls = s->allocated = s->failed = 0;
	for (f = 0; f < MPROF_FN_MAX; f++) {
		s->calls += s->fn[f].calls;
		s->failed += s->fn[f].failed;
		if (function_class[f] == MPROF_CLASS_ALLOC ||
		    function_class[f] == MPROF_CLASS_REALLOC)
			s->allocated += s->fn[f].bytes;
	}
}

static void add_sum(struct totals_sum *to, const struct totals_sum *from)
{
	int f;

	for (f = 0; f < MPROF_FN_MAX; f++) {
		to->fn[f].calls += from->fn[f].calls;
		to->fn[f].bytes += from->fn[f].bytes;
		to->fn[f].failed += from->fn[f].failed;
	}
	to->null_frees += from->null_frees;
	to->apart += from->apart;
	to->apart_blocks += from->apart_blocks;
}

static void add_thread(struct totals *s, const struct totals_thread *t, uint32_t process,
		       size_t *rows)
{
	struct totals_process *p = totals_process(s, process);
	struct totals_thread *row = s->thread.item;

	p->threads++;
	row[(*rows)++] = *t;
	add_sum(&p->sum, &t->sum);
	if (!p->last_ticks || t->first_ticks < p->first_ticks)
		p->first_ticks = t->first_ticks;
	if (t->last_ticks > p->last_ticks)
		p->last_ticks = t->last_ticks;
}

static void close_threads(struct totals *s, const struct walk *w)
{
	struct totals_thread *t = s->thread.item, now;
	size_t i, rows = 0;

	/* Rows only move down, so unread ones are not overwritten. */
	for (i = 0; i < s->thread.count; i++) {
		now = t[i];
		if (now.number)
			add_thread(s, &now, w->heap.thread[i].process, &rows);
	}
	s->thread.count = rows;
	for (i = 0; i < rows; i++)
		close_sum(&t[i].sum);
}

static void finish(void *self, struct walk *w)
{
	struct totals *s = self;
	struct totals_process *p;
	size_t i;

	if (w->heap.processes)
		totals_process(s, (uint32_t)w->heap.processes - 1);
	close_threads(s, w);
	p = s->process.item;
	for (i = 0; i < s->process.count && i < w->heap.processes; i++) {
		p[i].number = w->heap.process[i]->number;
		p[i].late = w->heap.process[i]->late;
		close_sum(&p[i].sum);
		add_sum(&s->all, &p[i].sum);
	}
	close_sum(&s->all);
}

static const struct pass_part parts[] = {
	{ PASS_ARRAY(struct totals, thread, struct totals_thread) },
	{ PASS_ARRAY(struct totals, process, struct totals_process) },
	{ .bytes = 0 },
};

const struct pass_ops totals_pass = {
	.name = "totals",
	.bytes = sizeof(struct totals),
	.part = parts,
	.batch = batch,
	.finish = finish,
};
