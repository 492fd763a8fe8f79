// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * memory_use.c - the memory use of one run.
 *
 * A point of the curve is the state after a number of calls.  It is taken when the next event
 * comes, before that event is counted.
 */
#include "memory_use.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"

#define LINEAR	 8u  /* classes of 16 bytes */
#define SAMPLES	 16u /* least samples of an average */
#define LEAST_OF 64u /* page use counts while R is at least a 64th of its peak */

/* ---- classes of sizes ---- */

unsigned memory_class_of(uint64_t size)
{
	unsigned log2;

	if (size <= 16 * LINEAR)
		return (unsigned)((size + 15) / 16);
	size--;
	log2 = 63 - (unsigned)__builtin_clzll(size);
	return LINEAR + 1 + (log2 - 7) * 4 + (unsigned)(size >> (log2 - 2) & 3);
}

uint64_t memory_class_most(unsigned class)
{
	unsigned step;

	if (class <= LINEAR)
		return 16 * class;
	step = class - LINEAR - 1;
	/* The last class has no upper bound. */
	if (step >= 4 * 57 - 1)
		return UINT64_MAX;
	return (uint64_t)(5 + step % 4) << (step / 4 + 5);
}

static inline void class_add(struct memory *m, const struct place_block *b, int sign)
{
	struct memory_class *c = &m->class[memory_class_of(b->size)];
	const uint64_t n = (uint64_t)sign;

	c->live.blocks += n;
	c->live.requested += n * b->size;
	c->live.usable += n * b->usable;
	if (c->live.requested > c->most && sign > 0)
		c->most = c->live.requested;
}

/* ---- points ---- */

static void take_points(struct memory *m, uint64_t op)
{
	memcpy(m->now.live, m->pages.live, sizeof(m->now.live));
	while (op >= m->next_point && m->points < MEMORY_POINTS) {
		m->point[m->points] = m->now;
		m->point[m->points++].op = m->next_point;
		m->next_point += m->stride;
	}
}

static inline void look(struct memory *m, uint64_t op)
{
	if (__builtin_expect(op >= m->next_point, 0))
		take_points(m, op);
}

static void keep_most(struct memory *m)
{
	if (m->now.requested > m->most_requested)
		m->most_requested = m->now.requested;
	if (m->now.usable > m->most_usable)
		m->most_usable = m->now.usable;
}

/* ---- blocks ---- */

static void put_block(struct memory *m, const struct place_block *b)
{
	GROW_ZEROED(m->block, (size_t)b->slot + 1, m->room);
	m->block[b->slot] = (struct pin_block){ b->addr, b->size, b->site };
}

static void on_start(void *self, const struct place_start *s)
{
	struct memory *m = self;

	snprintf(m->title, sizeof(m->title), "%s", s->title);
	m->start = *s;
	m->ops = s->ops;
	m->has_residency = s->has_residency;
	m->fragmentation.peak = s->peak_bytes;
	m->fragmentation.least = s->ops < 4 * SAMPLES ? s->ops / 4 : SAMPLES;
	m->stride = s->ops / MEMORY_POINTS + 1;
	m->next_point = m->stride;
	m->point = must_calloc(MEMORY_POINTS, sizeof(*m->point));
}

static void on_begin(void *self, const struct place_block *b)
{
	struct memory *m = self;
	struct memory_class *c = &m->class[memory_class_of(b->size)];

	look(m, b->op);
	m->now.op = b->op;
	m->now.ns = b->ns;
	m->now.requested += b->size;
	m->now.usable += b->usable;
	m->now.blocks++;
	m->births++;
	c->births++;
	c->requested += b->size;
	c->usable += b->usable;
	m->class[memory_class_of(b->usable)].births_usable++;
	class_add(m, b, 1);
	page_use_add(&m->pages, b->addr, b->size);
	put_block(m, b);
}

static void on_end(void *self, const struct place_block *b, uint64_t op, uint64_t ns)
{
	struct memory *m = self;

	look(m, op);
	m->now.op = op;
	m->now.ns = ns;
	m->now.requested -= b->size;
	m->now.usable -= b->usable;
	m->now.blocks--;
	class_add(m, b, -1);
	page_use_remove(&m->pages, b->addr, b->size);
	if (b->slot < m->room)
		m->block[b->slot].addr = 0;
}

/* ---- samples and frames ---- */

static void on_sample(void *self, const struct place_sample *s)
{
	struct memory *m = self;
	const uint64_t resident = s->anon ? s->anon : s->rss;

	look(m, s->op);
	keep_most(m);
	m->now.resident = resident;
	m->looked.op = s->op;
	m->looked.requested = m->now.requested;
	if (resident > m->most_resident)
		m->most_resident = resident;
	johnstone_add(&m->fragmentation, s->op, m->now.requested, resident);
}

/* Is the last sample still close to the present state? */
static bool is_fresh(const struct memory *m, uint64_t op)
{
	const uint64_t is = m->now.requested, was = m->looked.requested;

	return op - m->looked.op <= m->ops / 100 && (is > was ? is - was : was - is) <= was / 100;
}

/* Copies m->now as a snapshot. */
static void take_snapshot(struct memory *m, enum memory_snapshots which, uint64_t op,
			  const uint64_t *retained)
{
	struct memory_snapshot *to = &m->moment[which];

	to->known = true;
	to->at = m->now;
	memcpy(to->at.live, m->pages.live, sizeof(to->at.live));
	to->at.op = op;
	if (!is_fresh(m, op))
		to->at.resident = 0;
	to->has_residency = retained != NULL;
	to->retained = retained ? *retained : 0;
	page_use_pins(&m->pages, to->pinned);
	pins_make(&to->pins, &m->pages, m->block, m->room);
}

/* Counts the unrequested pages of a frame; MEMORY_RETAINED is the frame with most of them. */
static uint64_t idle_pages(uint64_t requested, uint64_t live, const uint64_t *retained)
{
	const uint64_t packed = requested / 4096;

	return retained ? *retained : live > packed ? live - packed : 0;
}

static uint64_t most_idle(const struct memory_snapshot *most)
{
	return idle_pages(most->at.requested, most->at.live[GRAIN_4K],
			  most->has_residency ? &most->retained : NULL);
}

static void keep_class_peaks(struct memory *m)
{
	unsigned i;

	for (i = 0; i < MEMORY_CLASSES; i++) {
		m->class[i].peak.blocks = m->class[i].live.blocks;
		m->class[i].peak.requested = m->class[i].live.requested;
		m->class[i].peak.usable = m->class[i].live.usable;
	}
}

static void on_frame(void *self, const struct place_sample *s, const struct place_range *r,
		     size_t n)
{
	struct memory *m = self;
	const struct memory_snapshot *most = &m->moment[MEMORY_RETAINED];
	uint64_t found, *retained = NULL;

	look(m, s->op);
	if (n) {
		found = page_use_retained(&m->pages, r, n);
		retained = &found;
		on_sample(m, s);
	}
	keep_most(m);
	if (s->op == m->start.peak_op + 1 && m->start.peak_op != UINT64_MAX) {
		take_snapshot(m, MEMORY_PEAK, s->op, retained);
		keep_class_peaks(m);
	}
	/* A frame without ranges, from a source that has some, does not show retained pages. */
	if (!retained && m->has_residency)
		return;
	if (!most->known ||
	    idle_pages(m->now.requested, m->pages.live[GRAIN_4K], retained) > most_idle(most))
		take_snapshot(m, MEMORY_RETAINED, s->op, retained);
	if (s->op == m->ops)
		take_snapshot(m, MEMORY_END, s->op, retained);
}

/* ---- the end ---- */

static double use_at(const struct memory_point *p, enum page_grain g)
{
	return page_use_of(p->requested, p->live, g);
}

static void find_use(struct memory *m, enum page_grain g)
{
	struct memory_use *to = &m->use[g];
	uint64_t n = 0;
	double sum = 0, now;
	size_t i;

	for (i = 0; i < m->points; i++) {
		if (m->point[i].requested < m->most_requested / LEAST_OF || !m->point[i].live[g])
			continue;
		now = use_at(&m->point[i], g);
		if (!n++ || now < to->min) {
			to->min = now;
			to->min_op = m->point[i].op;
		}
		sum += now;
	}
	to->mean = n ? sum / (double)n : 0;
	to->at_peak = use_at(&m->moment[MEMORY_PEAK].at, g);
}

static void on_finish(void *self)
{
	struct memory *m = self;
	enum page_grain g;

	look(m, m->ops);
	keep_most(m);
	if (m->moment[MEMORY_PEAK].known && m->moment[MEMORY_PEAK].at.requested > m->most_requested)
		m->most_requested = m->moment[MEMORY_PEAK].at.requested;
	if (!m->moment[MEMORY_END].known)
		take_snapshot(m, MEMORY_END, m->ops, NULL);
	for (g = 0; g < PAGE_GRAINS; g++)
		find_use(m, g);
	johnstone_finish(&m->fragmentation);
	page_use_release(&m->pages);
	free(m->block);
	m->block = NULL;
	m->room = 0;
}

const struct place_ops memory_ops = {
	.start = on_start,
	.begin = on_begin,
	.end = on_end,
	.sample = on_sample,
	.frame = on_frame,
	.finish = on_finish,
};

void memory_init(struct memory *m)
{
	memset(m, 0, sizeof(*m));
}

void memory_release(struct memory *m)
{
	unsigned i;

	for (i = 0; i < MEMORY_SNAPSHOTS; i++)
		pins_release(&m->moment[i].pins);
	page_use_release(&m->pages);
	free(m->block);
	free(m->point);
	memory_init(m);
}

double memory_density(const struct memory_snapshot *m)
{
	return m->at.resident ? (double)m->at.requested / (double)m->at.resident : 0;
}

uint64_t memory_retained(const struct memory_snapshot *m)
{
	return m->has_residency ? m->retained * 4096 : 0;
}
