/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* layout.c - strips and Hilbert's curve; see layout.h. */
#include "layout.h"
#include "../util/alloc.h"

#include <errno.h>
#include <stdlib.h>

#define ROW_SHIFTS   12		/* rows of 64 KiB to 128 MiB */
#define PAGES_MOST   (1u << 14) /* in a square: 64 MiB */
#define PX_LEAST     2		/* less only if nothing else fits */
#define SHIFT_OF(of) (FILM_UNIT_SHIFT + (of))

/* ---- strips ---- */

static uint64_t row_key(const struct film *f, size_t unit, unsigned row_shift)
{
	return f->unit[unit] >> (row_shift - FILM_UNIT_SHIFT);
}

static unsigned row_pages(unsigned row_shift)
{
	return 1u << (row_shift - 12);
}

/* Walks through the rows; fills in row[] unless it is NULL. */
struct flow {
	unsigned x, y, block_width, bottom, deepest;
	uint64_t last;
	bool any;
};

static void flow_row(struct flow *w, const struct layout *l, uint64_t key, struct layout_row *row)
{
	bool gap = w->any && key != w->last + 1;
	unsigned above = gap ? LAYOUT_GAP : 0;

	if (w->any && w->y + above + l->px > w->bottom) {
		w->x += w->block_width + LAYOUT_GUTTER;
		w->y = 0;
		above = 0;
		gap = false;
	}
	if (row)
		*row = (struct layout_row){ key, w->x, w->y + above, gap };
	w->y += above + l->px;
	if (w->y > w->deepest)
		w->deepest = w->y;
	w->last = key;
	w->any = true;
}

static struct flow flow_start(const struct layout *l)
{
	return (struct flow){ .block_width = l->columns * l->px, .bottom = l->most_height };
}

/* Returns the number of rows; fills in row[] unless it is NULL. */
static size_t flow_film(const struct layout *l, const struct film *f, struct flow *w,
			struct layout_row *row)
{
	uint64_t key, last = UINT64_MAX;
	size_t i, n = 0;

	for (i = 0; i < f->units; i++) {
		key = row_key(f, i, l->row_shift);
		if (key == last)
			continue;
		flow_row(w, l, key, row ? &row[n] : NULL);
		last = key;
		n++;
	}
	return n;
}

/* Do all films fit?  Sets width and height, and derives columns and blocks. */
static bool strips_fit(struct layout *l, const struct film *const *film, size_t n, unsigned width)
{
	struct flow w;
	size_t i;

	l->columns = row_pages(l->row_shift) / l->pages;
	l->width = l->height = 0;
	if (!l->columns || l->columns * l->px > width || l->px > l->most_height)
		return false;
	for (i = 0; i < n; i++) {
		w = flow_start(l);
		flow_film(l, film[i], &w, NULL);
		if (w.x + w.block_width > l->width)
			l->width = w.x + w.block_width;
		if (w.deepest > l->height)
			l->height = w.deepest;
		if (l->width > width)
			return false;
	}
	l->blocks = (l->width + LAYOUT_GUTTER) / (l->columns * l->px + LAYOUT_GUTTER);
	return true;
}

/* Among layouts with equal squares, prefers those that fill the frame most evenly, with the fewest
 * blocks. */
static double waste(const struct layout *l, unsigned width)
{
	double across = (double)l->width / width, down = (double)l->height / l->most_height;

	return (across > down ? across - down : down - across) + 0.5 * (l->blocks - 1);
}

static bool strips_best(struct layout *l, const struct film *const *film, size_t n, unsigned width)
{
	struct layout try = *l;
	bool found = false;
	unsigned shift;

	for (shift = 0; shift < ROW_SHIFTS; shift++) {
		try.row_shift = SHIFT_OF(shift);
		if (!strips_fit(&try, film, n, width))
			continue;
		if (!found || waste(&try, width) < waste(l, width))
			*l = try;
		found = true;
	}
	return found;
}

static int fit_strips(struct layout *l, const struct film *const *film, size_t n, unsigned width)
{
	for (l->pages = 1; l->pages <= PAGES_MOST; l->pages *= 2)
		for (l->px = LAYOUT_MOST; l->px >= PX_LEAST; l->px--)
			if (strips_best(l, film, n, width))
				return 0;
	return -E2BIG;
}

/* ---- Hilbert ---- */

void hilbert_place(unsigned side, uint64_t d, unsigned *x, unsigned *y)
{
	unsigned s, right, up, swap;

	*x = *y = 0;
	for (s = 1; s < side; s *= 2, d /= 4) {
		right = 1 & (unsigned)(d / 2);
		up = 1 & ((unsigned)d ^ right);
		if (!up) {
			if (right) {
				*x = s - 1 - *x;
				*y = s - 1 - *y;
			}
			swap = *x;
			*x = *y;
			*y = swap;
		}
		*x += s * right;
		*y += s * up;
	}
}

static int fit_hilbert(struct layout *l, const struct film *const *film, size_t n, unsigned width)
{
	unsigned room = width < l->most_height ? width : l->most_height;
	uint64_t most = 1, squares;
	size_t i;

	for (i = 0; i < n; i++)
		if (film[i]->units * FILM_UNIT_PAGES > most)
			most = film[i]->units * FILM_UNIT_PAGES;
	for (l->pages = 1; l->pages <= PAGES_MOST; l->pages *= 2) {
		squares = (most + l->pages - 1) / l->pages;
		for (l->side = 1; (uint64_t)l->side * l->side < squares; l->side *= 2)
			;
		l->px = room / l->side;
		if (l->px < PX_LEAST)
			continue;
		if (l->px > LAYOUT_MOST)
			l->px = LAYOUT_MOST;
		l->width = l->height = l->side * l->px;
		return 0;
	}
	return -E2BIG;
}

int layout_fit(struct layout *l, enum layout_kind kind, const struct film *const *film, size_t n,
	       unsigned width, unsigned height)
{
	*l = (struct layout){ .kind = kind, .most_height = height };
	return kind == LAYOUT_HILBERT ? fit_hilbert(l, film, n, width)
				      : fit_strips(l, film, n, width);
}

/* ---- the places of one film ---- */

void layout_map_new(struct layout_map *m, const struct layout *l, const struct film *f)
{
	struct flow w = flow_start(l);
	size_t i, at = 0;

	*m = (struct layout_map){ .layout = l, .film = f };
	if (l->kind == LAYOUT_HILBERT)
		return;
	m->rows = flow_film(l, f, &w, NULL);
	m->row = must_calloc(m->rows + 1, sizeof(*m->row));
	m->row_of = must_calloc(f->units + 1, sizeof(*m->row_of));
	w = flow_start(l);
	flow_film(l, f, &w, m->row);
	for (i = 0; i < f->units; i++) {
		while (m->row[at].key != row_key(f, i, l->row_shift))
			at++;
		m->row_of[i] = (uint32_t)at;
	}
}

void layout_map_release(struct layout_map *m)
{
	free(m->row);
	free(m->row_of);
	m->row = NULL;
	m->row_of = NULL;
}

void layout_place(const struct layout_map *m, size_t cell, unsigned *x, unsigned *y)
{
	const struct layout *l = m->layout;
	const struct layout_row *r;
	uint64_t page;

	if (l->kind == LAYOUT_HILBERT) {
		hilbert_place(l->side, cell / l->pages, x, y);
		*x *= l->px;
		*y *= l->px;
		return;
	}
	r = &m->row[m->row_of[cell / FILM_UNIT_PAGES]];
	page = film_address(m->film, cell) / FILM_PAGE % row_pages(l->row_shift);
	*x = r->x + (unsigned)(page / l->pages) * l->px;
	*y = r->y;
}
