// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * rss.c - when a process was largest.
 *
 * The process's own looks come before large blocks are freed, so their bracket
 * is the narrowest.  Others are believed where they saw more than it did: it was
 * killed after its last look, or could not look (peak.c of the library).
 */
#include "rss.h"

/* The process's own looks, at one of its programs. */
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

/* Samples from outside. */
static void look_outside(struct rss_moment *m, const struct mprof_sample *s, size_t n)
{
	size_t most = 0, i;

	for (i = 1; i < n; i++)
		if (mark_of(&s[i]) > mark_of(&s[most]))
			most = i;
	if (!n || mark_of(&s[most]) <= (m->rss ? m->rss + rss_lag(m->rss) : 0))
		return;
	m->rss = mark_of(&s[most]);
	m->sampled = !s[most].peak_rss;
	m->cpu_ns = 0;
	m->arena_known = false;
	if (m->sampled) {
		/* The program goes on growing behind the greatest one. */
		m->from_ticks = s[most].ticks;
		m->to_ticks = most + 1 < n ? s[most + 1].ticks : UINT64_MAX;
		return;
	}
	m->from_ticks = m->to_ticks < s[most].ticks ? m->to_ticks : 0;
	if (most && s[most - 1].ticks > m->from_ticks)
		m->from_ticks = s[most - 1].ticks;
	m->to_ticks = s[most].ticks;
}

/* The greatest mark that mprof itself may have when it forks the program. */
#define MARK_OF_MPROF (4u << 20)

/*
 * wait4 tells the mark of a process and of the children that it waited for.  Exec
 * and vfork leave the mark of another program in it.
 */
static uint64_t least_told(const struct walk_input *in, uint32_t process)
{
	uint64_t least = UINT64_MAX;
	size_t i;

	for (i = 0; i < in->fact_count; i++) {
		const struct mprof_fact *f = in->facts[i].fact;

		if (f->parent == process)
			return UINT64_MAX;
		if (in->facts[i].process != process)
			continue;
		if (f->what == MPROF_FACT_CHILD || f->what == MPROF_FACT_EXECING ||
		    f->what == MPROF_FACT_EXEC)
			return UINT64_MAX;
		if (f->what == MPROF_FACT_START && (f->fork_ticks || !f->parent))
			least = f->fork_ticks ? 0 : MARK_OF_MPROF;
	}
	return least;
}

uint64_t rss_waited(const struct walk_input *in, uint32_t process)
{
	uint64_t most = 0;
	size_t i;

	for (i = 0; i < in->fact_count; i++)
		if (in->facts[i].process == process && in->facts[i].fact->what == MPROF_FACT_WAITED)
			most = in->facts[i].fact->peak_rss_bytes;
	return most && most >= least_told(in, process) ? most : 0;
}

/* It grew behind the last look. */
static void look_behind(struct rss_moment *m, const struct walk_input *in)
{
	const uint64_t most = rss_waited(in, m->process);

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
	size_t i;

	*m = (struct rss_moment){ .process = process };
	for (i = 0; i < in->peak_count; i++)
		if (in->peaks[i].process == process)
			look_inside(m, &in->peaks[i]);
	if (in->samples)
		look_outside(m, sample, in->samples(in->context, process, &sample));
	look_behind(m, in);
}

void rss_find(struct rss_moment *m, const struct walk_input *in)
{
	struct rss_moment one;
	size_t i;

	*m = (struct rss_moment){ .rss = 0 };
	for (i = 0; i < in->fact_count; i++) {
		if (in->facts[i].fact->what != MPROF_FACT_START)
			continue;
		find(&one, in, in->facts[i].process);
		if (one.rss > m->rss)
			*m = one;
	}
}
