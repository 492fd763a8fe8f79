/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * canvas.h - a surface for pictures, drawn by Cairo.
 *
 * Rectangles are pixels; text and curves are Cairo's, so that the same calls make a PNG, an SVG and
 * a PDF.  In the latter two, rectangles become one embedded image (a map of a heap has hundreds of
 * thousands) with text and curves as vectors above it, even if a rectangle was drawn after the
 * text.
 *
 * Colours are numbers of palette.h.  x grows to the right, y downward, in pixels; drawing outside
 * is clipped.  Text is UTF-8; invalid bytes appear as U+FFFD.  The font is DejaVu Sans if
 * fontconfig has it, else what fontconfig substitutes.
 *
 * Threads: one at a time.
 */
#pragma once

#include <cairo.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../util/error.h"
#include "palette.h"

#define CANVAS_MOST 16384 /* pixels in a row or a column */

enum canvas_format { CANVAS_PNG, CANVAS_SVG, CANVAS_PDF };

struct canvas {
	int width, height;
	uint32_t *pixel; /* 0x00RRGGBB, row by row without padding */
	enum canvas_format format;
	enum theme theme;
	bool stored;		/* pixels were written since Cairo drew */
	cairo_surface_t *image; /* Cairo's view of `pixel` */
	cairo_t *cairo;		/* draws on the image, or for SVG and PDF on a recording */
};

/* Returns the format by the extension of a file's name, upper or lower case: .png, .svg, .pdf.
 * -1 for another one. */
int canvas_format_of(const char *path);

/* Loads Cairo; call it before anything is drawn or measured.  0 or -errno with err filled. */
int canvas_start(struct error *err);
/* Makes a blank canvas on light paper.  0, or -EINVAL beyond CANVAS_MOST. */
int canvas_new(struct canvas *c, enum canvas_format format, int width, int height);
void canvas_free(struct canvas *c);
/* Call this before anything is drawn. */
void canvas_theme(struct canvas *c, enum theme theme);
void canvas_clear(struct canvas *c);

void canvas_fill(struct canvas *c, int x, int y, int width, int height, uint8_t colour);
/* Draws the edge of a rectangle, one pixel wide, inside it. */
void canvas_outline(struct canvas *c, int x, int y, int width, int height, uint8_t colour);
void canvas_line(struct canvas *c, double x0, double y0, double x1, double y1, double width,
		 uint8_t colour);

/* Sets the colour in which c->cairo draws. */
void canvas_ink(struct canvas *c, uint8_t colour);

enum font { FONT_SMALL, FONT_BODY, FONT_STRONG, FONT_TITLE };

/* y is the top of the line of text.  Returns the x at its end. */
int canvas_text(struct canvas *c, enum font font, int x, int y, uint8_t colour, const char *text);
/* Does the same, truncating text wider than `most` pixels with an ellipsis. */
int canvas_text_cut(struct canvas *c, enum font font, int x, int y, int most, uint8_t colour,
		    const char *text);
/* Draws the text of an axis, which ends at x. */
void canvas_axis_text(struct canvas *c, int x, int y, const char *text);
int font_width(enum font font, const char *text);
int font_height(enum font font);

/* Stores `width` pixels from (x, y) on, all within the canvas, as bytes red, green, blue. */
void canvas_rgb(const struct canvas *c, int x, int y, int width, uint8_t *to);
/* Writes the picture in its format.  0, also if writing failed (ferror), or -errno and *err. */
int canvas_write(struct canvas *c, FILE *out, struct error *err);
