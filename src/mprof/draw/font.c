/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* font.c - text on a canvas. */
#include "canvas.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "../util/alloc.h"
#include "../util/utf8.h"
#include "cairo_late.h"

#define FAMILY	 "DejaVu Sans"
#define ELLIPSIS "\xe2\x80\xa6"

static const struct {
	cairo_font_weight_t weight;
	double pixels;
} fonts[] = {
	[FONT_SMALL] = { CAIRO_FONT_WEIGHT_NORMAL, 11 },
	[FONT_BODY] = { CAIRO_FONT_WEIGHT_NORMAL, 13 },
	[FONT_STRONG] = { CAIRO_FONT_WEIGHT_BOLD, 13 },
	[FONT_TITLE] = { CAIRO_FONT_WEIGHT_BOLD, 16 },
};
#define FONTS (sizeof(fonts) / sizeof(fonts[0]))

/* Returns a font, made at first use and kept.  Full hints: a label is as wide in an SVG as in a
 * PNG. */
static cairo_scaled_font_t *scaled(enum font font)
{
	static cairo_scaled_font_t *made[FONTS];
	cairo_font_options_t *options;
	cairo_font_face_t *face;
	cairo_matrix_t size, identity;

	if (made[font])
		return made[font];
	options = cairo.font_options_create();
	cairo.font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
	cairo.font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_ON);
	face = cairo.toy_font_face_create(FAMILY, CAIRO_FONT_SLANT_NORMAL, fonts[font].weight);
	cairo.matrix_init_scale(&size, fonts[font].pixels, fonts[font].pixels);
	cairo.matrix_init_identity(&identity);
	made[font] = cairo.scaled_font_create(face, &size, &identity, options);
	cairo.font_face_destroy(face);
	cairo.font_options_destroy(options);
	return made[font];
}

/* Cairo requires well-formed UTF-8. */
static double advance(enum font font, const char *well_formed)
{
	cairo_text_extents_t extents;

	cairo.scaled_font_text_extents(scaled(font), well_formed, &extents);
	return extents.x_advance;
}

int font_width(enum font font, const char *text)
{
	char *made;
	double width = advance(font, utf8_clean(text, &made));

	free(made);
	return (int)ceil(width);
}

static void extents_of(enum font font, cairo_font_extents_t *extents)
{
	cairo.scaled_font_extents(scaled(font), extents);
}

int font_height(enum font font)
{
	cairo_font_extents_t extents;

	extents_of(font, &extents);
	return (int)ceil(extents.height);
}

int canvas_text(struct canvas *c, enum font font, int x, int y, uint8_t colour, const char *text)
{
	cairo_font_extents_t extents;
	char *made;
	const char *well_formed = utf8_clean(text, &made);
	double width = advance(font, well_formed);

	extents_of(font, &extents);
	canvas_ink(c, colour);
	cairo.set_scaled_font(c->cairo, scaled(font));
	cairo.move_to(c->cairo, x, y + extents.ascent);
	cairo.show_text(c->cairo, well_formed);
	free(made);
	return x + (int)ceil(width);
}

/* Returns the number of bytes, in whole characters, that fit into `most` pixels. */
static size_t fitting(enum font font, char *text, int most)
{
	size_t end = 0, next;
	char kept;
	bool fits = true;

	while (text[end] && fits) {
		next = end + (size_t)utf8_at((const unsigned char *)text + end);
		kept = text[next];
		text[next] = '\0';
		fits = advance(font, text) <= most;
		text[next] = kept;
		if (fits)
			end = next;
	}
	return end;
}

int canvas_text_cut(struct canvas *c, enum font font, int x, int y, int most, uint8_t colour,
		    const char *text)
{
	int room = most - font_width(font, ELLIPSIS);
	char *made, *copy;
	size_t end;

	if (font_width(font, text) <= most)
		return canvas_text(c, font, x, y, colour, text);
	if (room <= 0)
		return x;
	copy = must_strdup(utf8_clean(text, &made));
	free(made);
	end = fitting(font, copy, room);
	copy[end] = '\0';
	x = canvas_text(c, font, x, y, colour, copy);
	free(copy);
	return canvas_text(c, font, x, y, colour, ELLIPSIS);
}

void canvas_axis_text(struct canvas *c, int x, int y, const char *text)
{
	canvas_text(c, FONT_SMALL, x - font_width(FONT_SMALL, text), y, COLOUR_MUTED, text);
}
