// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * rss.c - finds when a process was largest.
 *
 * The process reads its own mark before large blocks are freed, so its bracket
 * is the best. Other readings narrow it: a program may run for long without a
 * reading of its own. They replace it if they are higher: the process was
 * killed after its last reading, or could not read (peak.c of the library).
 */
#include "../heap/heap.h"
#include "../util/order.h"
#include "rss.h"

/* Uses readings by the process itself, during one of its programs. */
static void look_inside(struct rss_moment *m, const struct trace_peak *p)
{
	if (p->rss <= m->rss)
		return;
	*m = (struct rss_moment){
		.process = p->process,
		.rss = p->rss,
		.from_ticks = p->from_ticks,
		.to_ticks = p->ticks,
		.cpu_ns = p->cpu_ns,
		.arena = p->arena,
		.arena_known = true,
	};
}

static uint64_t mark_of(const struct mprof_sample *s)
{
	return s->peak_rss > s->rss ? s->peak_rss : s->rss;
}

/* Moves the limits of the time to samples within it: the largest size was reached after the last
 * one whose mark is lower, and by the first one that has it. */
static void narrow(struct rss_moment *m, const struct mprof_sample *s, size_t n)
{
	const uint64_t lag = rss_lag(m->rss);

	for (; n && s->ticks < m->to_ticks; s++, n--) {
		if (s->ticks <= m->from_ticks || !s->peak_rss)
			continue;
		if (mark_of(s) + lag < m->rss)
			m->from_ticks = s->ticks;
		if (mark_of(s) + lag / 4 < m->rss)
			continue;
		m->to_ticks = s->ticks;
		m->cpu_ns = 0;
		return;
	}
}

/* Uses samples from outside. */
static void look_outside(struct rss_moment *m, const struct mprof_sample *s, size_t n)
{
	size_t most = 0, i;

	for (i = 1; i < n; i++)
		if (mark_of(&s[i]) > mark_of(&s[most]))
			most = i;
	if (!n || mark_of(&s[most]) <= (m->rss ? m->rss + rss_lag(m->rss) : 0)) {
		narrow(m, s, n);
		return;
	}
	m->rss = mark_of(&s[most]);
	m->sampled = !s[most].peak_rss;
	m->cpu_ns = 0;
	m->arena_known = false;
	if (m->sampled) {
		/* The program continued to grow after the greatest one. */
		m->from_ticks = s[most].ticks;
		m->to_ticks = most + 1 < n ? s[most + 1].ticks : UINT64_MAX;
		return;
	}
	m->from_ticks = m->to_ticks < s[most].ticks ? m->to_ticks : 0;
	if (most && s[most - 1].ticks > m->from_ticks)
		m->from_ticks = s[most - 1].ticks;
	m->to_ticks = s[most].ticks;
}

/* The greatest mark of mprof before exec, which traces of earlier versions may have. */
#define MARK_OF_MPROF (4u << 20)

/*
 * wait4 returns the mark of a process and of the children that it waited for.
 * After exec and vfork it includes the mark of another program.
 */
struct told {
	uint64_t waited, ended;	      /* as its parent was told, and as it read itself at its end */
	bool started, forked, others; /* others: children, or another program */
	bool has_parent;
};

static void take_fact(struct array *told, uint32_t process, const struct mprof_fact *f)
{
	struct told *t;

	if (f->parent && f->parent < HEAP_NUMBERS) {
		t = array_at(told, f->parent, sizeof(*t));
		t->others = true;
	}
	if (process >= HEAP_NUMBERS)
		return;
	t = array_at(told, process, sizeof(*t));
	if (f->what == MPROF_FACT_START) {
		t->started = true;
		t->forked = f->fork_ticks;
		t->has_parent = f->parent;
	}
	if (f->what == MPROF_FACT_WAITED)
		t->waited = f->peak_rss_bytes;
	if (f->what == MPROF_FACT_END)
		t->ended = f->peak_rss_bytes;
	t->others |= f->what == MPROF_FACT_CHILD || f->what == MPROF_FACT_EXECING ||
		     f->what == MPROF_FACT_EXEC;
}

void rss_told_make(struct array *told, const struct walk_input *in)
{
	size_t i;

	*told = (struct array){ .item = NULL };
	for (i = 0; i < in->fact_count; i++)
		take_fact(told, in->facts[i].process, in->facts[i].fact);
}

/* Returns what the parent was told, unless it may be the mark of a recorded child or program. */
static uint64_t waited_of(const struct told *t)
{
	if (t->others)
		return 0;
	if (t->forked)
		return t->waited;
	return !t->has_parent && t->waited >= MARK_OF_MPROF ? t->waited : 0;
}

static bool has_child(const struct told *t)
{
	return t->ended && waited_of(t) > t->ended + rss_lag(t->ended);
}

uint64_t rss_told(const struct array *told, uint32_t process)
{
	const struct told *t = told->item;

	return process < told->count && !has_child(&t[process]) ? waited_of(&t[process]) : 0;
}

uint64_t rss_of_children(const struct array *told)
{
	const struct told *t = told->item;
	uint64_t most = 0;

	for (size_t i = 0; i < told->count; i++)
		if (has_child(&t[i]) && t[i].waited > most)
			most = t[i].waited;
	return most;
}

size_t rss_peaks(const struct walk_input *in, uint32_t process, const struct trace_peak **peaks)
{
	const size_t i = FIRST_WHERE(k, in->peak_count, in->peaks[k].process >= process);
	size_t n;

	for (n = 0; i + n < in->peak_count && in->peaks[i + n].process == process; n++)
		;
	*peaks = n ? in->peaks + i : NULL;
	return n;
}

/* Handles growth after the last reading. */
static void look_behind(struct rss_moment *m, uint64_t most)
{
	if (!m->rss || most <= m->rss + rss_lag(m->rss))
		return;
	m->rss = most;
	m->from_ticks = m->sampled ? m->from_ticks : m->to_ticks;
	m->to_ticks = UINT64_MAX;
	m->sampled = false;
	m->cpu_ns = 0;
	m->arena_known = false;
}

static void find(struct rss_moment *m, const struct walk_input *in, uint32_t process)
{
	const struct mprof_sample *sample;
	const struct trace_peak *peak;
	size_t n = rss_peaks(in, process, &peak), i;

	*m = (struct rss_moment){ .process = process };
	for (i = 0; i < n; i++)
		look_inside(m, &peak[i]);
	if (in->samples) {
		n = in->samples(in->context, process, &sample);
		look_outside(m, sample, n);
	}
}

void rss_find_process(struct rss_moment *m, const struct walk_input *in, uint32_t process)
{
	struct array told;

	rss_told_make(&told, in);
	find(m, in, process);
	look_behind(m, rss_told(&told, process));
	array_release(&told);
}

void rss_find(struct rss_moment *m, const struct walk_input *in)
{
	struct rss_moment one;
	struct array told;
	uint32_t i;

	rss_told_make(&told, in);
	*m = (struct rss_moment){ .rss = 0 };
	for (i = 0; i < told.count; i++) {
		if (!((const struct told *)told.item)[i].started)
			continue;
		find(&one, in, i);
		look_behind(&one, rss_told(&told, i));
		if (one.rss > m->rss)
			*m = one;
	}
	array_release(&told);
}

uint64_t rss_swapped(const struct walk_input *in)
{
	uint64_t most = 0;

	for (size_t i = 0; i < in->system_count; i++)
		most = in->system[i].swapped > most ? in->system[i].swapped : most;
	return most;
}

uint64_t rss_limit(const struct walk_input *in)
{
	return in->system_count ? in->system[0].limit : 0;
}
