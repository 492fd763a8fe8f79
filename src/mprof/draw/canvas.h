/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * canvas.h - a picture in memory, and what can be drawn on it.
 *
 * A pixel is a colour of palette.h.  x grows to the right, y downward; what
 * falls outside is not drawn.  Text is UTF-8 of western European letters; others
 * appear as a box.
 */
#ifndef MPROF_DRAW_CANVAS_H
#define MPROF_DRAW_CANVAS_H

#include <stdint.h>

#include "palette.h"

#define CANVAS_MOST 16384 /* pixels in a row or a column */

struct canvas {
	int width, height;
	uint8_t *pixel; /* width * height, row by row */
};

/* All paper.  0 or -ENOMEM, -EINVAL beyond CANVAS_MOST. */
int canvas_new(struct canvas *c, int width, int height);
void canvas_free(struct canvas *c);
void canvas_clear(struct canvas *c);

void canvas_fill(struct canvas *c, int x, int y, int width, int height, uint8_t colour);
/* Its edge, one pixel wide, inside. */
void canvas_outline(struct canvas *c, int x, int y, int width, int height, uint8_t colour);
static inline void canvas_dot(struct canvas *c, int x, int y, uint8_t colour)
{
	if (x >= 0 && y >= 0 && x < c->width && y < c->height)
		c->pixel[(long)y * c->width + x] = colour;
}
static inline uint8_t canvas_at(const struct canvas *c, int x, int y)
{
	return c->pixel[(long)y * c->width + x];
}
/* A smooth line; ramp: the first of INK_LEVELS colours that begin with paper. */
void canvas_line(struct canvas *c, double x0, double y0, double x1, double y1, double width,
		 uint8_t ramp);

enum font { FONT_SMALL, FONT_BODY, FONT_STRONG, FONT_TITLE };

/* y is the top of the line of text.  Returns the x behind it. */
int canvas_text(struct canvas *c, enum font font, int x, int y, uint8_t ramp, const char *text);
/* As much of it as fits into `most` pixels, then an ellipsis. */
int canvas_text_cut(struct canvas *c, enum font font, int x, int y, int most, uint8_t ramp,
		    const char *text);
/* Ends at x. */
void canvas_text_right(struct canvas *c, enum font font, int x, int y, uint8_t ramp,
		       const char *text);
int font_width(enum font font, const char *text);
int font_height(enum font font);

#endif
