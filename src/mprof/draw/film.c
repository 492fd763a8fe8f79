/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* film.c - a film as a sink: curves, frames, and the axis of addresses at the end. */
#include "film.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/memory.h"
#include "film_live.h"
#include "film_store.h"
#include "../util/alloc.h"
#include "../util/order.h"

#define POINTS 512

struct film *film_new(const struct film_options *o)
{
	struct film *f = must_calloc(1, sizeof(*f));

	f->live = must_calloc(1, sizeof(*f->live));
	f->store = must_calloc(1, sizeof(*f->store));
	f->live->settles = 1;
	f->options = *o;
	if (!f->options.points)
		f->options.points = POINTS;
	if (!f->options.units)
		f->options.units = FILM_UNITS_MOST;
	f->live->channels = f->options.channels;
	f->live->units_most = f->options.units;
	f->peak = FILM_NOWHERE;
	f->every = 1;
	return f;
}

size_t film_units_for(size_t n)
{
	uint64_t most = memory_cap_bytes() / FILM_UNIT_BYTES / (n ? n : 1);

	return most < FILM_UNITS_MOST ? most + 1 : FILM_UNITS_MOST;
}

void film_free(struct film *f)
{
	if (!f)
		return;
	film_live_free(f->live);
	film_store_free(f->store);
	free(f->unit);
	free(f->region);
	free(f->frame);
	free(f->point);
	free(f);
}

static void most(uint64_t *of, uint64_t value)
{
	if (value > *of)
		*of = value;
}

/* ---- curves ---- */

static uint64_t point_op(const struct film *f, size_t i)
{
	return (uint64_t)((unsigned __int128)f->ops * i / f->options.points);
}

static void add_point(struct film *f, uint64_t op)
{
	struct film_live *l = f->live;

	GROW(f->point, f->points + 1, l->point_room);
	f->point[f->points++] = (struct film_point){
		.op = op,
		.requested = l->most_requested,
		.usable = l->most_usable,
		.rss = l->sample_rss,
	};
	most(&f->most_requested, l->most_requested);
	most(&f->most_usable, l->most_usable);
	l->most_requested = l->now.requested;
	l->most_usable = l->now.usable;
}

/* Adds the points up to this op; they do not include its effect. */
static void reach(struct film *f, uint64_t op)
{
	struct film_live *l = f->live;

	while (op >= l->next_point) {
		add_point(f, l->next_point);
		l->next_point = f->points < f->options.points ? point_op(f, f->points) : UINT64_MAX;
	}
}

/* ---- the hooks ---- */

static void film_start(void *self, const struct place_start *s)
{
	struct film *f = self;

	snprintf(f->title, sizeof(f->title), "%s", s->title ? s->title : "");
	f->ops = s->ops;
	f->ns = s->ns;
	f->begin_ns = s->begin_ns;
	f->earlier = s->earlier;
	f->peak_op = s->peak_op;
	f->peak_bytes = s->peak_bytes;
	if (f->options.points > s->ops) /* so that no two points have the same op */
		f->options.points = s->ops ? (unsigned)s->ops : 1;
}

static void film_begin(void *self, const struct place_block *b)
{
	struct film *f = self;

	if (__builtin_expect(b->op >= f->live->next_point, 0))
		reach(f, b->op);
	if (b->ns > f->live->now.ns)
		f->live->now.ns = b->ns;
	film_live_begin(f->live, b);
}

static void film_end(void *self, const struct place_block *b, uint64_t op, uint64_t ns)
{
	struct film *f = self;

	if (__builtin_expect(op >= f->live->next_point, 0))
		reach(f, op);
	if (ns > f->live->now.ns)
		f->live->now.ns = ns;
	film_live_end(f->live, b);
}

static void film_soon(void *self, uint32_t slot)
{
	film_live_soon(((const struct film *)self)->live, slot);
}

static void film_sample(void *self, const struct place_sample *s)
{
	struct film *f = self;

	reach(f, s->op);
	f->live->now.rss = s->rss;
	f->live->sample_rss = s->rss;
	most(&f->most_rss, s->rss);
}

static void store_dirty(struct film *f)
{
	struct film_live *l = f->live;
	struct film_cell cell;
	struct film_unit *u;
	size_t i;
	unsigned page;

	for (i = 0; i < l->dirties; i++) {
		u = &l->unit[l->dirty[i]];
		if (i + 1 < l->dirties)
			film_live_cells_soon(l, &l->unit[l->dirty[i + 1]]);
		for (page = 0; page < FILM_UNIT_PAGES; page++) {
			if (!(u->dirty >> page & 1))
				continue;
			film_live_cell(l, u, page, &cell);
			film_store_cell(f->store, l->dirty[i] * FILM_UNIT_PAGES + page, &cell);
		}
		u->dirty = 0;
	}
	l->dirties = 0;
}

/*
 * Stored bytes for each byte of the page.  For 5 programs, a page with all frames took 0.5 to 1
 * times the stored bytes, or 0.22 to 0.4 times with occupancy as its only colour.
 */
#define STORED_MOST 4u

/* Stores the changes.  Once they no longer fit into the page, it will show at most every second
 * frame, so every second of those to come is skipped. */
static void store_frame(struct film *f)
{
	store_dirty(f);
	f->stored += film_store_frame(f->store, f->options.channels);
	if (f->options.page_bytes && f->stored / STORED_MOST > f->options.page_bytes) {
		f->every *= 2;
		f->stored /= 2;
	}
}

static void film_take_frame(void *self, const struct place_sample *s, const struct place_range *r,
			    size_t n)
{
	struct film *f = self;
	const bool peak = f->peak_op != UINT64_MAX && s->op == f->peak_op + 1;
	const uint64_t number = f->numbers++;
	struct film_frame *frame;

	if (s->rss)
		film_sample(f, s);
	else
		reach(f, s->op);
	if (number % f->every && !peak && s->op < f->ops)
		return;
	film_live_settle(f->live);
	if (n)
		film_live_residency(f->live, r, n);
	GROW(f->frame, f->frames + 1, f->live->frame_room);
	store_frame(f);
	frame = &f->frame[f->frames];
	*frame = f->live->now;
	frame->op = s->op;
	frame->number = number;
	if (!frame->ns)
		frame->ns = s->ns;
	frame->residency = n > 0;
	if (!n)
		frame->resident_pages = frame->retained_pages = 0;
	frame->peak = peak;
	if (frame->peak)
		f->peak = f->frames;
	f->frames++;
}

/* ---- the axis ---- */

ORDER_IN(by_key, uint32_t, struct film_unit, COMPARE(in[*x].key, in[*y].key))

static size_t count_regions(const struct film *f)
{
	size_t i, n = 0;

	for (i = 0; i < f->units; i++)
		n += !i || f->unit[i] != f->unit[i - 1] + 1;
	return n;
}

static void make_regions(struct film *f)
{
	size_t i;

	for (i = 0; i < f->units; i++) {
		if (!i || f->unit[i] != f->unit[i - 1] + 1)
			f->region[f->regions++] =
			    (struct film_region){ f->unit[i] << FILM_UNIT_SHIFT, i, 0 };
		f->region[f->regions - 1].units++;
	}
}

static void make_axis(struct film *f)
{
	struct film_live *l = f->live;
	uint32_t *order = must_calloc(l->units + 1, sizeof(*order));
	uint32_t *rank = must_calloc(l->units + 1, sizeof(*rank));
	size_t i;

	f->unit = must_calloc(l->units + 1, sizeof(*f->unit));
	for (i = 0; i < l->units; i++)
		order[i] = (uint32_t)i;
	SORT_IN(order, l->units, by_key, l->unit);
	for (i = 0; i < l->units; i++) {
		rank[order[i]] = (uint32_t)i;
		f->unit[i] = l->unit[order[i]].key;
	}
	f->units = l->units;
	f->region = must_calloc(count_regions(f) + 1, sizeof(*f->region));
	free(order);
	f->store->rank = rank;
	make_regions(f);
}

static void film_finish(void *self)
{
	struct film *f = self;

	reach(f, f->ops ? f->ops - 1 : 0);
	if (f->ops)
		add_point(f, f->ops);
	make_axis(f);
	f->left_out = f->live->left_out;
	film_live_free(f->live);
	f->live = NULL;
}

const struct place_ops film_ops = {
	.start = film_start,
	.begin = film_begin,
	.end = film_end,
	.sample = film_sample,
	.frame = film_take_frame,
	.finish = film_finish,
	.soon = film_soon,
};

/* ---- afterwards ---- */

int film_ready(const struct film *f, struct error *err)
{
	if (!f->frames || f->live)
		return fail(err, -ENODATA, "'%s' has nothing to draw", f->title);
	return 0;
}

size_t film_frame_at(const struct film *f, uint64_t op)
{
	const size_t after = FIRST_WHERE(i, f->frames, f->frame[i].op > op);

	return after ? after - 1 : 0;
}

/* ---- the walk over the frames ---- */

struct film_cursor *film_cursor_new(const struct film *f)
{
	struct film_cursor *c = must_calloc(1, sizeof(*c));

	c->film = f;
	c->frame = FILM_NOWHERE;
	c->cell = must_calloc(f->units * FILM_UNIT_PAGES + 1, sizeof(*c->cell));
	c->reader = film_reader_new();
	return c;
}

void film_cursor_free(struct film_cursor *c)
{
	if (!c)
		return;
	film_reader_free(c->reader);
	free(c->cell);
	free(c->changed);
	free(c);
}

bool film_next(struct film_cursor *c)
{
	const size_t next = c->frame == FILM_NOWHERE ? 0 : c->frame + 1;
	const struct film *f = c->film;
	ssize_t changes;

	c->changes = 0;
	if (c->failed || next >= f->frames)
		return false;
	GROW(c->changed, f->store->frame[next].cells, c->changed_room);
	changes =
	    film_store_read(f->store, next, f->options.channels, c->reader, c->cell, c->changed);
	if (changes < 0) {
		c->failed = (int)changes;
		return false;
	}
	c->changes = (size_t)changes;
	c->frame = next;
	return true;
}

int film_seek(struct film_cursor *c, size_t frame, struct error *err)
{
	if (c->frame != FILM_NOWHERE && c->frame > frame) {
		memset(c->cell, 0, c->film->units * FILM_UNIT_PAGES * sizeof(*c->cell));
		c->frame = FILM_NOWHERE;
	}
	while (c->frame == FILM_NOWHERE || c->frame < frame)
		if (!film_next(c))
			return fail(err, c->failed ? c->failed : -EINVAL,
				    "frame %zu of a film of %zu cannot be shown", frame,
				    c->film->frames);
	return 0;
}
