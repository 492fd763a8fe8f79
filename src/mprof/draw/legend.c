/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* legend.c - the legend of a picture. */
#include "picture_parts.h"

#include <stdio.h>

#include "../util/format.h"

#define SWATCH 12
#define RAMP   150
#define LINE   20  /* height of a row of the legend */
#define APART  18  /* items */
#define NAME   250 /* most pixels of a class's name */

enum item_kind { ITEM_SWATCH, ITEM_CLASS, ITEM_PIN, ITEM_GAP, ITEM_RAMP, ITEM_CURVE, ITEM_HEADING };

struct item {
	enum item_kind kind;
	unsigned colour, levels;
	const char *text;
};

struct flow {
	struct picture *p;
	int x, y;
	bool draw;
};

static int item_mark(const struct item *i)
{
	switch (i->kind) {
	case ITEM_RAMP:
		return RAMP;
	case ITEM_HEADING:
		return 0;
	case ITEM_CURVE:
	case ITEM_GAP:
		return 22;
	default:
		return SWATCH;
	}
}

static void draw_ramp(struct canvas *c, const struct item *i, int x, int y)
{
	int k;

	for (k = 0; k < RAMP; k++)
		canvas_fill(c, x + k, y, 1, SWATCH,
			    (uint8_t)(i->colour + (unsigned)k * i->levels / RAMP));
	canvas_outline(c, x - 1, y - 1, RAMP + 2, SWATCH + 2, COLOUR_GRID);
}

static void draw_mark(struct canvas *c, const struct item *i, int x, int y)
{
	switch (i->kind) {
	case ITEM_RAMP:
		draw_ramp(c, i, x, y);
		return;
	case ITEM_CURVE:
		canvas_line(c, x, y + SWATCH / 2.0, x + 20, y + SWATCH / 2.0, 2,
			    (uint8_t)i->colour);
		return;
	case ITEM_GAP:
		canvas_fill(c, x, y + SWATCH / 2, 20, 1, COLOUR_GAP);
		return;
	case ITEM_HEADING:
		return;
	default:
		canvas_fill(c, x, y, SWATCH, SWATCH, (uint8_t)i->colour);
		canvas_outline(c, x - (i->kind != ITEM_PIN), y - (i->kind != ITEM_PIN),
			       SWATCH + 2 * (i->kind != ITEM_PIN),
			       SWATCH + 2 * (i->kind != ITEM_PIN),
			       i->kind == ITEM_PIN ? COLOUR_PIN : COLOUR_OTHER);
	}
}

/* Finds the next position in this line or the next. */
static void put_item(struct flow *f, struct item i)
{
	int text = font_width(FONT_SMALL, i.text), mark = item_mark(&i);
	int most = i.kind == ITEM_CLASS && text > NAME ? NAME : text;
	int width = mark + (mark ? 7 : 0) + most;

	if (f->x > PICTURE_MARGIN && f->x + width > f->p->o.width - PICTURE_MARGIN) {
		f->x = PICTURE_MARGIN;
		f->y += LINE;
	}
	if (f->draw) {
		draw_mark(&f->p->canvas, &i, f->x + 1, f->y + 1);
		canvas_text_cut(&f->p->canvas, FONT_SMALL, f->x + mark + (mark ? 8 : 0), f->y, most,
				COLOUR_INK, i.text);
	}
	f->x += width + APART;
}

static void new_line(struct flow *f)
{
	if (f->x > PICTURE_MARGIN)
		f->y += LINE;
	f->x = PICTURE_MARGIN;
}

static void put_swatch(struct flow *f, unsigned colour, const char *text)
{
	put_item(f, (struct item){ ITEM_SWATCH, colour, 0, text });
}

static void put_scale(struct flow *f)
{
	const struct layout *l = &f->p->layout;
	char text[256];
	size_t pages;
	int px;

	if (f->p->o.layout == LAYOUT_TIME) {
		pages = 1, px = 1; /* provisional: the map's height depends on the legend's */
		if (f->draw)
			picture_time_scale(f->p, &pages, &px);
		snprintf(text, sizeof(text), "a row of %d pixel%s is %s", px, px == 1 ? "" : "s",
			 format_bytes(pages * FILM_PAGE).s);
	} else if (l->kind == LAYOUT_HILBERT)
		snprintf(text, sizeof(text), "a square is %s, along Hilbert's curve",
			 format_bytes((uint64_t)l->pages * FILM_PAGE).s);
	else
		snprintf(text, sizeof(text), "a square is %s, a row %s of addresses%s",
			 format_bytes((uint64_t)l->pages * FILM_PAGE).s,
			 format_bytes(UINT64_C(1) << l->row_shift).s,
			 l->blocks > 1 ? ", continued at the top right" : "");
	put_item(f, (struct item){ ITEM_HEADING, 0, 0, text });
}

static void put_occupancy(struct flow *f)
{
	bool small = f->p->layout.px < PICTURE_PIN_FROM;

	put_item(f, (struct item){ ITEM_RAMP, COLOUR_FULL, FULL_LEVELS,
				   f->p->o.layout == LAYOUT_TIME && f->p->residency
				       ? "live bytes in resident pages: few to all"
				       : "live bytes in a page: few to all" });
	if (f->p->o.layout != LAYOUT_TIME)
		put_item(f, (struct item){ small ? ITEM_SWATCH : ITEM_PIN,
					   small ? COLOUR_PIN_FILL : COLOUR_FULL, 0,
					   "pinned by fewer than 64 bytes" });
}

static void put_age(struct flow *f)
{
	put_item(f, (struct item){ ITEM_RAMP, COLOUR_AGE, AGE_LEVELS,
				   "age of the largest block in a page, from new to as old as the "
				   "program: the logarithm of its calls" });
}

static void put_sizes(struct flow *f)
{
	char text[64];
	unsigned i;

	put_item(f, (struct item){ ITEM_HEADING, 0, 0, "size of the largest block in a page:" });
	for (i = 0; i < SIZE_CLASSES; i++) {
		if (i < SIZE_CLASSES - 1)
			snprintf(text, sizeof(text), "to %.30s",
				 format_bytes(palette_size_most(i)).s);
		else
			snprintf(text, sizeof(text), "larger");
		put_swatch(f, COLOUR_SIZE + i, text);
	}
}

static void put_classes(struct flow *f)
{
	const struct classes *c = &f->p->classes;
	char text[600], name[480];
	unsigned i;

	for (i = 0; i < c->tops; i++) {
		classes_name(c, i, name, sizeof(name));
		snprintf(text, sizeof(text), "%s %s",
			 format_percent(c->top_bytes[i], c->all_bytes).s, name);
		put_item(f, (struct item){ ITEM_CLASS, COLOUR_HUE + i, 0, text });
	}
	if (c->other_bytes)
		put_swatch(f, COLOUR_OTHER, "others");
	if (c->counted && c->bytes[0])
		put_swatch(f, COLOUR_UNKNOWN, "unknown");
}

static void put_states(struct flow *f)
{
	if (f->p->residency) {
		put_swatch(f, COLOUR_RETAINED,
			   f->p->earlier ? "resident, nothing live: retained, or earlier blocks"
					 : "resident, nothing live: retained");
		put_swatch(f, COLOUR_MAPPED, "mapped, not resident");
		put_swatch(f, COLOUR_MAP, "not mapped");
	} else {
		put_swatch(
		    f, COLOUR_UNKNOWN,
		    f->p->earlier
			? "nothing live, or earlier blocks (what is resident was not recorded)"
			: "nothing live (what is resident was not recorded)");
		put_swatch(f, COLOUR_MAP, "never used");
	}
	if (f->p->gaps)
		put_item(f, (struct item){ ITEM_GAP, 0, 0, "gap between addresses" });
}

static void put_curves(struct flow *f)
{
	put_item(f, (struct item){ ITEM_CURVE, COLOUR_REQUESTED, 0, "live bytes, as requested" });
	put_item(f, (struct item){ ITEM_CURVE, COLOUR_USABLE, 0, "usable bytes" });
	put_item(f, (struct item){ ITEM_CURVE, COLOUR_RESIDENT, 0, "resident" });
}

int picture_legend(struct picture *p, int top, bool draw)
{
	static void (*const put[PICTURE_BY_COUNT])(struct flow *) = {
		[PICTURE_BY_OCCUPANCY] = put_occupancy, [PICTURE_BY_AGE] = put_age,
		[PICTURE_BY_SIZE] = put_sizes,		[PICTURE_BY_THREAD] = put_classes,
		[PICTURE_BY_SITE] = put_classes,	[PICTURE_BY_MODULE] = put_classes,
	};
	struct flow f = { p, PICTURE_MARGIN, top, draw };

	put[p->o.by](&f);
	if (p->o.by != PICTURE_BY_OCCUPANCY)
		new_line(&f);
	put_states(&f);
	new_line(&f);
	put_curves(&f);
	put_scale(&f);
	new_line(&f);
	return f.y - top;
}
