/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* picture_labels.c - the text above a map and the curves below it. */
#include "picture_parts.h"

#include <stdio.h>
#include <string.h>

#include "../util/format.h"

/* ---- labels ---- */

int picture_label_height(void)
{
	return font_height(FONT_STRONG) + (PICTURE_LABELS - 1) * font_height(FONT_SMALL) + 6;
}

struct lines {
	struct picture *p;
	const struct panel *a;
	int y;
};

static void put_line(struct lines *l, const char *text)
{
	canvas_text_cut(&l->p->canvas, FONT_SMALL, l->a->x + l->p->axis, l->y,
			l->p->panel_width - l->p->axis, COLOUR_INK, text);
	l->y += font_height(FONT_SMALL);
}

static void label_when(struct lines *l, const struct film_frame *f)
{
	const int64_t ns = film_time(l->a->film, f);
	char text[320];

	snprintf(text, sizeof(text), "after %s of %s (%s)%s%s%s", format_count(f->op).s,
		 format_many(l->a->film->ops, "call", "calls").s,
		 format_percent(f->op, l->a->film->ops).s, ns > 0 ? ", " : "",
		 ns > 0 ? format_ns((uint64_t)ns).s : "", f->peak ? ", the peak" : "");
	put_line(l, text);
}

/* Does the film show the whole process?  The resident bytes of a replay are those of the
 * allocator; those of a recorded run include the program's. */
static bool whole_process(const struct film *f)
{
	return !strcmp(f->title, "recorded");
}

static void label_bytes(struct lines *l, const struct film_frame *f)
{
	uint64_t resident = f->rss ? f->rss : f->resident_pages * FILM_PAGE;
	char text[320];
	int at;

	at = snprintf(text, sizeof(text), "%s live", format_bytes(f->requested).s);
	/* A recorded run is not sampled at every call. */
	if (resident && (resident > f->requested || !whole_process(l->a->film)))
		snprintf(text + at, sizeof(text) - (size_t)at,
			 whole_process(l->a->film) ? " in a process of %s" : " in %s resident",
			 format_bytes(resident).s);
	put_line(l, text);
}

static void label_pages(struct lines *l, const struct film_frame *f)
{
	char text[320];
	int at;

	if (l->a->film->left_out)
		at = snprintf(text, sizeof(text), "some addresses are too far away to be drawn");
	else
		at = snprintf(text, sizeof(text), "pages in use are %s full",
			      format_percent(f->requested, f->live_pages * FILM_PAGE).s);
	if (f->residency)
		at += snprintf(text + at, sizeof(text) - (size_t)at, ", %s kept empty%s",
			       format_bytes(f->retained_pages * FILM_PAGE).s,
			       l->a->film->earlier ? " or with earlier blocks" : "");
	if (f->pinned_pages)
		snprintf(text + at, sizeof(text) - (size_t)at, ", %s pinned",
			 format_count(f->pinned_pages).s);
	put_line(l, text);
}

static void label_film(struct lines *l)
{
	const struct film *f = l->a->film;
	char text[320];

	snprintf(text, sizeof(text), "%s%s%s", format_many(f->ops, "call", "calls").s,
		 f->ns ? " in " : "", f->ns ? format_ns(f->ns).s : "");
	put_line(l, text);
	snprintf(text, sizeof(text), "at most %s live%s%s%s", format_bytes(f->most_requested).s,
		 f->most_rss ? ", " : "", f->most_rss ? format_bytes(f->most_rss).s : "",
		 f->most_rss ? " resident" : "");
	put_line(l, text);
	if (!f->frames)
		return;
	snprintf(text, sizeof(text), "%s live at the end%s%s%s",
		 format_bytes(f->frame[f->frames - 1].requested).s,
		 f->frame[f->frames - 1].rss ? ", " : "",
		 f->frame[f->frames - 1].rss ? format_bytes(f->frame[f->frames - 1].rss).s : "",
		 f->frame[f->frames - 1].rss ? " resident" : "");
	put_line(l, text);
}

void picture_draw_labels(struct picture *p, const struct panel *a, const struct film_frame *f)
{
	struct lines l = { p, a, a->y };

	canvas_text_cut(&p->canvas, FONT_STRONG, a->x + p->axis, l.y, p->panel_width - p->axis,
			COLOUR_INK, a->name);
	l.y += font_height(FONT_STRONG);
	if (!f) {
		label_film(&l);
		return;
	}
	label_when(&l, f);
	label_bytes(&l, f);
	label_pages(&l, f);
}

/* ---- curves ---- */

/* Returns a round number of bytes near a third of the maximum. */
static uint64_t grid_step(uint64_t most)
{
	uint64_t unit = 1;

	while (unit <= most / 2 / 1024)
		unit *= 1024;
	while (most / unit > 4)
		unit *= 2;
	return unit;
}

static double point_x(const struct film *f, struct box b, uint64_t op)
{
	return b.x + (f->ops ? (double)op / (double)f->ops : 0) * (b.width - 1);
}

static double point_y(const struct picture *p, struct box b, uint64_t bytes)
{
	double top = b.y + 4, bottom = b.y + b.height - 2;

	return bottom - (p->most ? (double)bytes / (double)p->most : 0) * (bottom - top);
}

static uint64_t curve_value(const struct film_point *q, unsigned curve)
{
	return curve == 0 ? q->usable : curve == 1 ? q->rss : q->requested;
}

static void draw_curve(struct picture *p, const struct panel *a, struct box b, unsigned curve)
{
	static const uint8_t ramp[] = { COLOUR_USABLE, COLOUR_RESIDENT, COLOUR_REQUESTED };
	static const double width[] = { 1.2, 1.6, 1.8 };
	const struct film *f = a->film;
	const struct film_point *q = f->point;
	size_t i;

	for (i = 1; i < f->points; i++) {
		if (curve == 1 && !q[i - 1].rss)
			continue; /* before the first sample */
		canvas_line(&p->canvas, point_x(f, b, q[i - 1].op),
			    point_y(p, b, curve_value(&q[i - 1], curve)), point_x(f, b, q[i].op),
			    point_y(p, b, curve_value(&q[i], curve)), width[curve], ramp[curve]);
	}
}

static void draw_grid(struct picture *p, struct box b)
{
	uint64_t step = grid_step(p->most), at;
	int bottom = b.y + b.height, y;

	for (at = step; at <= p->most && at >= step; at += step) {
		y = (int)point_y(p, b, at);
		canvas_fill(&p->canvas, b.x, y, b.width, 1, COLOUR_GRID);
		if (p->axis)
			canvas_axis_text(&p->canvas, b.x - 6, y - 7, format_bytes(at).s);
		else
			canvas_text(&p->canvas, FONT_SMALL, b.x + 2, y - 13, COLOUR_MUTED,
				    format_bytes(at).s);
	}
	canvas_fill(&p->canvas, b.x, bottom - 1, b.width, 1, COLOUR_OTHER);
	canvas_text(&p->canvas, FONT_SMALL, b.x, bottom + 1, COLOUR_MUTED, "first call");
	canvas_axis_text(&p->canvas, b.x + b.width, bottom + 1, "last");
}

void picture_draw_curves(struct picture *p, const struct panel *a, struct box b,
			 const struct film_frame *cursor)
{
	unsigned curve;
	int x;

	draw_grid(p, b);
	for (curve = 0; curve < 3; curve++)
		draw_curve(p, a, b, curve);
	if (!cursor)
		return;
	x = (int)point_x(a->film, b, cursor->op);
	canvas_fill(&p->canvas, x, b.y - 2, 1, b.height + 3, COLOUR_CURSOR);
	canvas_fill(&p->canvas, x - 3, b.y - 4, 7, 2, COLOUR_CURSOR);
}
