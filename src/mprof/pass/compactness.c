// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * compactness.c - pages needed against pages touched.
 *
 * A state is a pair (needed, touched).  Sums are updated only when the state
 * changes, so a program that allocates and frees within the same pages costs
 * one comparison per event.
 */
#include "compactness.h"

static void state_ends(struct compactness_of *c, uint64_t ticks)
{
	double lasted = ticks > c->since_ticks ? (double)(ticks - c->since_ticks) : 0;

	if (c->touched) {
		c->states += c->run;
		c->sum += c->ratio * (double)c->run;
		c->time_sum += c->ratio * lasted;
		c->time += lasted;
	}
	c->run = 0;
	c->since_ticks = ticks;
}

static void state_is(struct compactness_of *c, const struct live *now, uint64_t ticks)
{
	state_ends(c, ticks);
	c->needed = now->needed;
	c->touched = now->pages;
	c->ratio = c->touched ? (double)c->needed / (double)c->touched : 0;
}

void compactness_state(struct compactness_of *c, const struct live *now, uint64_t ticks)
{
	state_is(c, now, ticks);
	if (!c->touched)
		return;
	if (!c->high_pages || c->ratio < c->min)
		c->min = c->ratio;
	if (c->ratio > c->max)
		c->max = c->ratio;
	if (c->touched > c->high_pages) {
		c->high_pages = c->touched;
		c->high_pages_ticks = ticks;
	}
}

/* The run is no longer just its first process: that has ended, or there is another one. */
static void part(struct compactness *s)
{
	if (!s->apart && s->process.count)
		s->all = *(const struct compactness_of *)s->process.item;
	s->apart = true;
}

struct compactness_of *compactness_process(struct compactness *s, uint32_t process)
{
	if (s->walk->heap.processes > 1)
		part(s);
	return array_at(&s->process, process, sizeof(struct compactness_of));
}

void compactness_brief(struct compactness *s, const struct live *all, uint64_t ticks,
		       uint64_t number)
{
	if (all->bytes <= s->all.high_bytes)
		return;
	s->all.high_bytes = all->bytes;
	s->all.high_needed = all->needed;
	moment_begin(&s->moment, ticks, number);
}

static void brief_end(struct compactness *s, const struct note *n)
{
	if (n->did & (NOTE_ENDED | NOTE_DROPPED))
		moment_ended(&s->moment, s->walk->heap.process[n->process]->pages.shift, n->process,
			     &n->old);
}

static void brief_batch(struct compactness *s, const struct batch *b)
{
	struct live all;
	size_t i;

	for (i = 0; !b->grew && i < b->ends; i++)
		brief_end(s, &b->note[b->end[i]]);
	for (i = 0; b->grew && i < b->count; i++) {
		brief_end(s, &b->note[i]);
		if (!(b->note[i].did & NOTE_BEGAN))
			continue;
		all = note_all(&b->note[i]);
		compactness_brief(s, &all, b->event[i].ticks, b->number + i);
	}
}

static void batch(void *self, const struct batch *b)
{
	struct compactness *s = self;
	struct compactness_of *c = NULL;
	const struct note *n = b->note;
	uint32_t process = 0;
	struct live all;
	size_t i;

	if (s->brief) {
		brief_batch(s, b);
		return;
	}
	for (i = 0; i < b->count; i++, n++) {
		if (!(n->did & (NOTE_BEGAN | NOTE_ENDED | NOTE_DROPPED)))
			continue;
		if (!c || n->process != process) {
			process = n->process;
			c = compactness_process(s, process);
		}
		compactness_look(c, &n->own, b->event[i].ticks);
		if (s->apart) {
			all = note_all(n);
			compactness_look(&s->all, &all, b->event[i].ticks);
		}
	}
}

static void gone(void *self, const struct heap *h, uint32_t process, enum process_gone why,
		 uint64_t ticks)
{
	struct compactness *s = self;
	struct compactness_of *c;
	struct live rest;

	if (s->brief) {
		moment_gone(&s->moment, h, process);
		return;
	}
	part(s);
	c = array_at(&s->process, process, sizeof(*c));
	rest = live_sum(&h->all, &(const struct live){ .bytes = 0 }, &h->process[process]->live);
	state_is(c, &(const struct live){ .bytes = 0 }, ticks);
	state_is(&s->all, &rest, ticks);
}

static void close_sums(struct compactness_of *c)
{
	if (c->states)
		c->mean = c->sum / (double)c->states;
	c->mean_over_time = c->time > 0 ? c->time_sum / c->time : c->mean;
	if (c->high_touched)
		c->at_peak = (double)c->high_needed / (double)c->high_touched;
}

static void finish(void *self, struct walk *w)
{
	struct compactness *s = self;
	struct compactness_of *c = s->process.item;
	size_t i;

	if (s->brief)
		s->all.high_touched = s->moment.pages;
	close_sums(&s->all);
	for (i = 0; i < s->process.count; i++)
		close_sums(&c[i]);
}

static const struct pass_part parts[] = {
	{ PASS_ARRAY(struct compactness, process, struct compactness_of) },
	{ PASS_UNUSED(struct compactness, moment.within) },
	{ PASS_FREED(struct compactness, moment.region) },
	{ PASS_UNUSED(struct compactness, moment.recent) },
	{ PASS_FREED(struct compactness, moment.places) },
	{ .bytes = 0 },
};

const struct pass_ops compactness_pass = {
	.name = "compactness",
	.bytes = sizeof(struct compactness),
	.part = parts,
	.batch = batch,
	.gone = gone,
	.finish = finish,
};
