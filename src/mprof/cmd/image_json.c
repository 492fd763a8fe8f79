/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* image_json.c - a picture in figures: where things are, and which colour is what. */
#include "image_json.h"

#include <stdio.h>

#include "../print/json.h"
#include "cmd.h"

static json *colour_text(unsigned colour)
{
	const uint8_t *rgb = palette()[colour];
	char text[8];

	snprintf(text, sizeof(text), "#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
	return json_string(text);
}

static json *colours(unsigned first, unsigned n)
{
	json *a = json_object_new_array();
	unsigned i;

	for (i = 0; i < n; i++)
		json_object_array_add(a, colour_text(first + i));
	return a;
}

static json *classes_of(const struct classes *c)
{
	json *a = json_object_new_array(), *row;
	char name[512];
	unsigned i;

	for (i = 0; i < c->tops; i++) {
		row = json_object_new_object();
		classes_name(c, i, name, sizeof(name));
		add_s(row, "name", name);
		add(row, "colour", colour_text(COLOUR_HUE + i));
		add_n(row, "bytes", c->top_bytes[i]);
		json_object_array_add(a, row);
	}
	return a;
}

static json *colours_of(const struct picture *p, const struct picture_options *o)
{
	json *c = json_object_new_object();

	add(c, "kept", colour_text(COLOUR_RETAINED));
	add(c, "mapped", colour_text(COLOUR_MAPPED));
	add(c, "unused", colour_text(COLOUR_MAP));
	add(c, "unknown", colour_text(COLOUR_UNKNOWN));
	add(c, "paper", colour_text(COLOUR_PAPER));
	if (o->by == PICTURE_BY_OCCUPANCY) {
		add(c, "pinned",
		    colour_text(picture_layout(p)->px < PICTURE_PIN_FROM ? COLOUR_PIN_FILL
									 : COLOUR_PIN));
		add(c, "full", colours(COLOUR_FULL, FULL_LEVELS));
	} else if (o->by == PICTURE_BY_AGE) {
		add(c, "age", colours(COLOUR_AGE, AGE_LEVELS));
	} else if (o->by == PICTURE_BY_SIZE) {
		add(c, "size", colours(COLOUR_SIZE, SIZE_CLASSES));
	} else {
		add(c, "classes", classes_of(picture_classes(p)));
		add(c, "other", colour_text(COLOUR_OTHER));
	}
	return c;
}

static json *rows_of(const struct picture_place *at, unsigned shift)
{
	json *a = json_object_new_array(), *row;
	size_t i;

	for (i = 0; i < at->rows; i++) {
		row = json_object_new_object();
		add_addr(row, "address", at->row[i].key << shift);
		add_n(row, "x", (uint64_t)at->x + at->row[i].x);
		add_n(row, "y", (uint64_t)at->y + at->row[i].y);
		json_object_array_add(a, row);
	}
	return a;
}

static void add_frame(json *o, const struct film_frame *f)
{
	add_n(o, "calls", f->op);
	add_n(o, "time_ns", f->ns);
	add_b(o, "peak", f->peak);
	add_n(o, "live_bytes", f->requested);
	add_n(o, "usable_bytes", f->usable);
	add_n(o, "live_blocks", f->blocks);
	add_n(o, "live_pages", f->live_pages);
	add_n(o, "pinned_pages", f->pinned_pages);
	add_n(o, "rss_bytes", f->rss);
	if (!f->residency)
		return;
	add_n(o, "resident_pages", f->resident_pages);
	add_n(o, "kept_pages", f->retained_pages);
}

static json *panel_of(const struct picture *p, size_t i, const struct picture_options *o,
		      size_t frame)
{
	json *a = json_object_new_object();
	struct picture_place at;

	picture_place(p, i, &at);
	add_s(a, "name", at.name);
	add_n(a, "x", (uint64_t)at.x);
	add_n(a, "y", (uint64_t)at.y);
	add_n(a, "width", (uint64_t)at.width);
	add_n(a, "height", (uint64_t)at.height);
	add_n(a, "calls_in_all", at.film->ops);
	add_n(a, "left_out_bytes", at.film->left_out);
	if (o->layout != LAYOUT_TIME)
		add_frame(a, &at.film->frame[frame]);
	if (o->layout == LAYOUT_STRIPS)
		add(a, "rows", rows_of(&at, picture_layout(p)->row_shift));
	return a;
}

int image_json(struct picture *p, const struct picture_options *o, const size_t *frame,
	       size_t panels)
{
	json *root = json_object_new_object(), *a = json_object_new_array();
	const struct layout *l = picture_layout(p);
	struct error err;
	size_t i;

	add_n(root, "width", (uint64_t)picture_canvas(p)->width);
	add_n(root, "height", (uint64_t)picture_canvas(p)->height);
	add_s(root, "by", picture_by_name(o->by));
	if (o->layout != LAYOUT_TIME) {
		add_n(root, "square_pixels", l->px);
		add_n(root, "square_bytes", (uint64_t)l->pages * FILM_PAGE);
	}
	if (o->layout == LAYOUT_STRIPS)
		add_n(root, "row_bytes", UINT64_C(1) << l->row_shift);
	add(root, "colours", colours_of(p, o));
	for (i = 0; i < panels; i++)
		json_object_array_add(a, panel_of(p, i, o, frame[i]));
	add(root, "panels", a);
	if (json_print(stdout, root, &err))
		return cmd_error(STATUS_FOUND, "%s", err.text);
	return cmd_flush(STATUS_OK);
}
