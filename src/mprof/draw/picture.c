/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* picture.c - the arrangement of a picture, and the map of a frame. */
#include "picture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "picture_parts.h"
#include "../util/alloc.h"

#define PER_ROW_MOST 6	 /* panels */
#define GRID_FROM    8	 /* least pixels of squares that are drawn with gaps */
#define BORDER_FROM  3	 /* least pixels of squares with borders between regions */
#define AXIS_PANELS  2	 /* most panels that have addresses at their left */
#define AXIS_STEP    100 /* pixels between addresses of rows without a gap */
#define TITLE_HEIGHT 48	 /* including the note */

/* ---- squares ---- */

static void draw_square(struct picture *p, int x, int y, uint8_t colour, bool pin)
{
	int px = (int)p->layout.px, inner = px - (px >= GRID_FROM);

	if (pin && px < PICTURE_PIN_FROM)
		colour = COLOUR_PIN_FILL;
	canvas_fill(&p->canvas, x, y, inner, inner, colour);
	if (pin && px >= PICTURE_PIN_FROM)
		canvas_outline(&p->canvas, x, y, inner, inner, COLOUR_PIN);
}

/* ---- the map of a frame ---- */

static void draw_rows(struct picture *p, const struct panel *a, int left, int top)
{
	int width = (int)(p->layout.columns * p->layout.px), last = -AXIS_STEP, y;
	const struct layout_row *r;
	char text[32];
	size_t i;

	for (i = 0; i < a->map.rows; i++) {
		r = &a->map.row[i];
		y = top + (int)r->y;
		canvas_fill(&p->canvas, left + (int)r->x, y, width, (int)p->layout.px, COLOUR_MAP);
		if (r->gap)
			canvas_fill(&p->canvas, left + (int)r->x, y - 2, width, 1, COLOUR_GAP);
		if (!p->axis || r->x || y - last < font_height(FONT_SMALL) ||
		    (i && !r->gap && y - last < AXIS_STEP))
			continue;
		last = y;
		snprintf(text, sizeof(text), "%llx",
			 (unsigned long long)(r->key << p->layout.row_shift));
		canvas_axis_text(&p->canvas, left - 6,
				 y + (int)p->layout.px / 2 - font_height(FONT_SMALL) / 2, text);
	}
}

static void draw_cells(struct picture *p, const struct panel *a, int left, int top)
{
	const struct film_frame *frame = &a->film->frame[a->cursor->frame];
	size_t cells = a->film->units * FILM_UNIT_PAGES, i;
	unsigned x = 0, y = 0, next_x, next_y;
	struct square s = { .residency = frame->residency };
	uint8_t colour;
	bool pin;

	for (i = 0; i <= cells; i++) {
		if (i < cells)
			layout_place(&a->map, i, &next_x, &next_y);
		if (s.pages && (i == cells || next_x != x || next_y != y)) {
			colour = picture_colour(p, a->film, &s, frame->op, &pin);
			draw_square(p, left + (int)x, top + (int)y, colour, pin);
			s = (struct square){ .residency = frame->residency };
		}
		x = next_x;
		y = next_y;
		if (i < cells)
			square_add(&s, &a->cursor->cell[i]);
	}
}

/* Draws lines along Hilbert's curve between neighbouring squares whose addresses are not
 * neighbours. */
static void draw_borders(struct picture *p, const struct panel *a, int left, int top)
{
	unsigned side = p->layout.side, x, y;
	int px = (int)p->layout.px;
	uint32_t *of = must_calloc((size_t)side * side, sizeof(*of)), here;
	size_t r, i;

	for (r = 0; r < a->film->regions; r++)
		for (i = 0; i < a->film->region[r].units * FILM_UNIT_PAGES; i++) {
			layout_place(&a->map, a->film->region[r].unit * FILM_UNIT_PAGES + i, &x,
				     &y);
			of[(size_t)(y / p->layout.px) * side + x / p->layout.px] = (uint32_t)r + 1;
		}
	for (y = 0; y < side; y++)
		for (x = 0; x < side; x++) {
			here = of[(size_t)y * side + x];
			if (here && x + 1 < side && of[(size_t)y * side + x + 1] != here)
				canvas_fill(&p->canvas, left + ((int)x + 1) * px - 1,
					    top + (int)y * px, 1, px, COLOUR_CURSOR);
			if (here && y + 1 < side && of[(size_t)(y + 1) * side + x] != here)
				canvas_fill(&p->canvas, left + (int)x * px,
					    top + ((int)y + 1) * px - 1, px, 1, COLOUR_CURSOR);
		}
	free(of);
}

static void draw_map(struct picture *p, const struct panel *a)
{
	int left = a->x + p->axis, top = a->y + p->map_top;

	if (p->layout.kind == LAYOUT_STRIPS)
		draw_rows(p, a, left, top);
	draw_cells(p, a, left, top);
	if (p->layout.kind == LAYOUT_HILBERT && p->layout.px >= BORDER_FROM)
		draw_borders(p, a, left, top);
}

/* ---- what will be drawn ---- */

static void count_cells(struct picture *p, const struct panel *a)
{
	size_t i, cells = a->film->units * FILM_UNIT_PAGES;

	for (i = 0; i < cells; i++)
		classes_count(&p->classes, &a->cursor->cell[i]);
}

static int survey_all(struct picture *p, struct panel *a, struct error *err)
{
	size_t i;

	while (film_next(a->cursor))
		for (i = 0; i < a->cursor->changes; i++)
			classes_count(&p->classes, &a->cursor->cell[a->cursor->changed[i]]);
	return film_seek(a->cursor, 0, err);
}

/* Finds the classes that get hues, and whether any frame has residency. */
static int survey(struct picture *p, const size_t *frame, struct error *err)
{
	size_t i, k;
	int ret;

	for (i = 0; i < p->panels; i++) {
		struct panel *a = &p->panel[i];

		p->earlier |= a->film->earlier;
		for (k = 0; k < a->film->frames; k++)
			if (!frame || k == frame[i])
				p->residency |= a->film->frame[k].residency;
		if (p->o.layout == LAYOUT_TIME)
			continue;
		ret = frame ? film_seek(a->cursor, frame[i], err) : survey_all(p, a, err);
		if (ret < 0)
			return ret;
		if (frame)
			count_cells(p, a);
	}
	classes_rank(&p->classes);
	return 0;
}

/* ---- geometry ---- */

static int default_width(size_t panels)
{
	return panels <= 1 ? 1200 : panels == 2 ? 1480 : 1800;
}

static int per_row(size_t panels)
{
	size_t rows = (panels + PER_ROW_MOST - 1) / PER_ROW_MOST;

	return (int)((panels + rows - 1) / rows);
}

static void place_across(struct picture *p)
{
	p->o.width = p->o.width ? p->o.width : default_width(p->panels);
	p->per_row = p->o.per_row ? p->o.per_row : per_row(p->panels);
	p->axis = p->per_row <= AXIS_PANELS && p->o.layout != LAYOUT_HILBERT ? PICTURE_AXIS : 0;
	p->panel_width =
	    (p->o.width - 2 * PICTURE_MARGIN - (p->per_row - 1) * PICTURE_BETWEEN) / p->per_row;
}

unsigned picture_columns(const struct picture_options *o, size_t panels)
{
	struct picture p = { .o = *o, .panels = panels };

	place_across(&p);
	return p.panel_width > p.axis + 1 ? (unsigned)(p.panel_width - p.axis) : 1;
}

static int fit_map(struct picture *p, int room, struct error *err)
{
	const struct film **film = must_calloc(p->panels, sizeof(*film));
	size_t i;
	int ret;

	for (i = 0; i < p->panels; i++)
		film[i] = p->panel[i].film;
	ret = layout_fit(&p->layout, p->o.layout, film, p->panels,
			 (unsigned)(p->panel_width - p->axis), (unsigned)room);
	free(film);
	return ret < 0
		   ? fail(err, ret,
			  "the heap does not fit into a picture of %d by %d: set a larger --size",
			  p->o.width, p->o.height)
		   : 0;
}

/* Assigns heights from the bottom up: the legend has a fixed one, the map gets the rest. */
static int place_down(struct picture *p, struct error *err)
{
	int rows = (int)((p->panels + (size_t)p->per_row - 1) / (size_t)p->per_row);
	bool fixed = p->o.height > 0;
	int height = fixed ? p->o.height : rows * 880, legend = picture_legend(p, 0, false);
	int room, rest = picture_label_height() + 10 + PICTURE_CURVES + 22;

	room = (height - TITLE_HEIGHT - 2 * PICTURE_MARGIN - legend) / rows - rest;
	if (room < 40 || p->panel_width - p->axis < 64)
		return fail(err, -EINVAL,
			    "%d by %d pixels leave no room for a map: set a larger --size",
			    p->o.width, height);
	p->map_top = picture_label_height();
	p->map_height = room;
	if (p->o.layout != LAYOUT_TIME) {
		if (fit_map(p, room, err) < 0)
			return -E2BIG;
		if (!fixed && p->layout.height < (unsigned)room)
			p->map_height = (int)p->layout.height;
	}
	p->curves_top = p->map_top + p->map_height + 10;
	p->panel_height = p->map_height + rest;
	p->legend_top = PICTURE_MARGIN + TITLE_HEIGHT + rows * p->panel_height;
	p->o.height = fixed ? height : p->legend_top + legend + PICTURE_MARGIN;
	return 0;
}

static void place_panels(struct picture *p)
{
	const struct film *f;
	struct panel *a;
	size_t i, k;

	for (i = 0; i < p->panels; i++) {
		a = &p->panel[i];
		f = a->film;
		a->x = PICTURE_MARGIN +
		       (int)(i % (size_t)p->per_row) * (p->panel_width + PICTURE_BETWEEN);
		a->y =
		    PICTURE_MARGIN + TITLE_HEIGHT + (int)(i / (size_t)p->per_row) * p->panel_height;
		for (k = 0; k < 3; k++) {
			uint64_t most = k == 0	 ? f->most_requested
					: k == 1 ? f->most_usable
						 : f->most_rss;

			p->most = most > p->most ? most : p->most;
		}
		if (p->o.layout == LAYOUT_TIME)
			continue;
		layout_map_new(&a->map, &p->layout, f);
	}
}

static void find_gaps(struct picture *p)
{
	size_t i;

	for (i = 0; i < p->panels; i++)
		p->gaps |= p->panel[i].film->regions > 1;
}

/* ---- making one ---- */

static int set_up(struct picture *p, const struct picture_panel *panel, const size_t *frame,
		  struct error *err)
{
	size_t i;

	for (i = 0; i < p->panels; i++) {
		p->panel[i].name = panel[i].name;
		p->panel[i].film = panel[i].film;
		p->panel[i].cursor = film_cursor_new(panel[i].film);
	}
	find_gaps(p);
	place_across(p);
	if (survey(p, frame, err) < 0 || place_down(p, err) < 0)
		return -EINVAL;
	place_panels(p);
	if (canvas_new(&p->canvas, p->o.format, p->o.width, p->o.height) < 0)
		return fail(err, -EINVAL, "cannot draw a picture of %d by %d", p->o.width,
			    p->o.height);
	canvas_theme(&p->canvas, p->o.theme);
	return 0;
}

int picture_new(struct picture **out, const struct picture_options *o,
		const struct picture_panel *panel, size_t n, const size_t *frame, struct error *err)
{
	struct picture *p;
	int ret = canvas_start(err);

	*out = NULL;
	if (ret < 0)
		return ret;
	p = must_calloc(1, sizeof(*p));
	p->panel = must_calloc(n, sizeof(*p->panel));
	p->o = *o;
	p->panels = n;
	classes_init(&p->classes, o->by, o->names);
	p->classes.threads = o->threads;
	ret = set_up(p, panel, frame, err);
	if (ret < 0) {
		picture_free(p);
		return ret;
	}
	*out = p;
	return 0;
}

void picture_free(struct picture *p)
{
	size_t i;

	if (!p)
		return;
	for (i = 0; i < p->panels; i++) {
		film_cursor_free(p->panel[i].cursor);
		layout_map_release(&p->panel[i].map);
	}
	classes_release(&p->classes);
	canvas_free(&p->canvas);
	free(p->panel);
	free(p);
}

struct canvas *picture_canvas(struct picture *p)
{
	return &p->canvas;
}

void picture_place(const struct picture *p, size_t panel, struct picture_place *to)
{
	const struct panel *a = &p->panel[panel];

	*to = (struct picture_place){
		.name = a->name,
		.film = a->film,
		.x = a->x + p->axis,
		.y = a->y + p->map_top,
		.width = p->panel_width - p->axis,
		.height = p->map_height,
		.row = a->map.row,
		.rows = a->map.rows,
	};
}

const struct layout *picture_layout(const struct picture *p)
{
	return &p->layout;
}

const struct classes *picture_classes(const struct picture *p)
{
	return &p->classes;
}

/* ---- drawing ---- */

static void draw_title(struct picture *p)
{
	int most = p->o.width - 2 * PICTURE_MARGIN;

	canvas_text_cut(&p->canvas, FONT_TITLE, PICTURE_MARGIN, PICTURE_MARGIN - 2, most,
			COLOUR_INK, p->o.title ? p->o.title : "heap");
	if (p->o.note)
		canvas_text_cut(&p->canvas, FONT_BODY, PICTURE_MARGIN, PICTURE_MARGIN + 20, most,
				COLOUR_MUTED, p->o.note);
}

static int draw_panel(struct picture *p, struct panel *a, const size_t *frame, size_t i,
		      struct error *err)
{
	const struct film_frame *at = NULL;
	struct box map = { a->x + p->axis, a->y + p->map_top, p->panel_width - p->axis,
			   p->map_height };
	struct box curves = { map.x, a->y + p->curves_top, map.width, PICTURE_CURVES };

	if (p->o.layout == LAYOUT_TIME) {
		if (picture_draw_time(p, a, map, err) < 0)
			return -EIO;
	} else {
		if (film_seek(a->cursor, frame[i], err) < 0)
			return -EIO;
		at = &a->film->frame[frame[i]];
		draw_map(p, a);
	}
	picture_draw_labels(p, a, at);
	picture_draw_curves(p, a, curves, at);
	return 0;
}

int picture_draw(struct picture *p, const size_t *frame, struct error *err)
{
	size_t i;

	canvas_clear(&p->canvas);
	draw_title(p);
	for (i = 0; i < p->panels; i++)
		if (draw_panel(p, &p->panel[i], frame, i, err) < 0)
			return -EIO;
	picture_legend(p, p->legend_top, true);
	return 0;
}
