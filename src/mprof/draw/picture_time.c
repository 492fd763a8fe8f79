/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * picture_time.c - time from the left to the right, addresses upward: each
 * column is a frame, each row some pages, and the colour shows how full they are. Memory that an
 * allocator retains after a peak is white to the right of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "picture_parts.h"
#include "../util/alloc.h"

#define PX_MOST	     8	/* pixels of a row */
#define LABEL_HEIGHT 12 /* px; a region that is less high has no address beside it */

struct plot {
	struct picture *p;
	struct panel *a;
	struct box b;
	size_t pages; /* of a row */
	int px, rows;
	uint8_t *colour;    /* of each row */
	bool *stale, *ever; /* its cells have changed; it has had live bytes */
	bool residency;
};

void picture_time_scale(const struct picture *p, size_t *pages, int *px)
{
	size_t most = 1, height = (size_t)p->map_height, i, cells;

	for (i = 0; i < p->panels; i++) {
		cells = p->panel[i].film->units * FILM_UNIT_PAGES;
		most = cells > most ? cells : most;
	}
	*pages = (most + height - 1) / height;
	*px = (int)(height / ((most + *pages - 1) / *pages));
	*px = *px > PX_MOST ? PX_MOST : *px;
}

static void colour_row(struct plot *t, int row, uint64_t now)
{
	const struct film *f = t->a->film;
	size_t from = (size_t)row * t->pages, to = from + t->pages, i;
	struct square s = { .residency = t->residency };
	bool pin;

	if (to > f->units * FILM_UNIT_PAGES)
		to = f->units * FILM_UNIT_PAGES;
	for (i = from; i < to; i++)
		square_add(&s, &t->a->cursor->cell[i]);
	t->ever[row] |= s.live > 0;
	t->colour[row] = picture_colour(t->p, f, &s, now, &pin);
	if (!s.live && !t->residency && !t->ever[row])
		t->colour[row] = COLOUR_MAP;
	t->stale[row] = false;
}

static int row_y(const struct plot *t, int row)
{
	return t->b.y + t->b.height - (row + 1) * t->px;
}

static void draw_column(struct plot *t, int from, int to)
{
	int row;

	for (row = 0; row < t->rows; row++)
		canvas_fill(&t->p->canvas, t->b.x + from, row_y(t, row), to - from, t->px,
			    t->colour[row]);
}

static int column_of(const struct plot *t, uint64_t op)
{
	uint64_t ops = t->a->film->ops;

	return ops ? (int)((unsigned __int128)op * (unsigned)t->b.width / ops) : t->b.width;
}

static void draw_frames(struct plot *t)
{
	const struct film *f = t->a->film;
	struct film_cursor *c = t->a->cursor;
	int from = 0, to, row;
	size_t i;

	memset(t->stale, 1, (size_t)t->rows * sizeof(*t->stale));
	while (film_next(c)) {
		for (i = 0; i < c->changes; i++)
			t->stale[c->changed[i] / t->pages] = true;
		for (row = 0; row < t->rows; row++)
			if (t->stale[row])
				colour_row(t, row, f->frame[c->frame].op);
		to = column_of(t, f->frame[c->frame].op);
		to = to > t->b.width ? t->b.width : to;
		draw_column(t, from, to);
		from = to > from ? to : from;
	}
	draw_column(t, from, t->b.width);
}

static void draw_regions(struct plot *t)
{
	const struct film *f = t->a->film;
	int low, high, last = t->b.y + t->b.height + LABEL_HEIGHT;
	char text[32];
	size_t i;

	for (i = 0; i < f->regions; i++) {
		low = row_y(t, (int)(f->region[i].unit * FILM_UNIT_PAGES / t->pages)) + t->px;
		high = low - (int)(f->region[i].units * FILM_UNIT_PAGES * (size_t)t->px / t->pages);
		if (i && low - high >= 4)
			canvas_fill(&t->p->canvas, t->b.x, low, t->b.width, 1, COLOUR_GAP);
		if (!t->p->axis || last - low < LABEL_HEIGHT)
			continue;
		last = low;
		snprintf(text, sizeof(text), "%llx", (unsigned long long)f->region[i].addr);
		canvas_axis_text(&t->p->canvas, t->b.x - 6, low - LABEL_HEIGHT, text);
	}
}

static bool mostly_resident(const struct film *f)
{
	size_t i, n = 0;

	for (i = 0; i < f->frames; i++)
		n += f->frame[i].residency;
	return n * 2 > f->frames;
}

int picture_draw_time(struct picture *p, struct panel *a, struct box b, struct error *err)
{
	struct plot t = { .p = p, .a = a, .b = b, .residency = mostly_resident(a->film) };
	size_t rows;
	int ret;

	picture_time_scale(p, &t.pages, &t.px);
	t.rows = (int)((a->film->units * FILM_UNIT_PAGES + t.pages - 1) / t.pages);
	rows = (size_t)t.rows + 1;
	t.colour = must_calloc(rows, 1);
	t.stale = must_calloc(rows, sizeof(*t.stale));
	t.ever = must_calloc(rows, sizeof(*t.ever));
	canvas_fill(&p->canvas, b.x, row_y(&t, t.rows - 1), b.width, t.rows * t.px, COLOUR_MAP);
	if (a->cursor->frame != FILM_NOWHERE) {
		film_cursor_free(a->cursor);
		a->cursor = film_cursor_new(a->film);
	}
	draw_frames(&t);
	draw_regions(&t);
	ret = a->cursor->failed;
	free(t.colour);
	free(t.stale);
	free(t.ever);
	return ret < 0 ? fail(err, ret, "a film could not be read back") : 0;
}
