/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* canvas.c - rectangles and lines. */
#include "canvas.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int canvas_new(struct canvas *c, int width, int height)
{
	*c = (struct canvas){ width, height, NULL };
	if (width < 1 || height < 1 || width > CANVAS_MOST || height > CANVAS_MOST)
		return -EINVAL;
	c->pixel = malloc((size_t)width * (size_t)height);
	if (!c->pixel)
		return -ENOMEM;
	canvas_clear(c);
	return 0;
}

void canvas_free(struct canvas *c)
{
	free(c->pixel);
	c->pixel = NULL;
}

void canvas_clear(struct canvas *c)
{
	memset(c->pixel, COLOUR_PAPER, (size_t)c->width * (size_t)c->height);
}

void canvas_fill(struct canvas *c, int x, int y, int width, int height, uint8_t colour)
{
	int right = x + width, bottom = y + height;

	x = x < 0 ? 0 : x;
	y = y < 0 ? 0 : y;
	right = right > c->width ? c->width : right;
	bottom = bottom > c->height ? c->height : bottom;
	if (x >= right)
		return;
	for (; y < bottom; y++)
		memset(c->pixel + (long)y * c->width + x, colour, (size_t)(right - x));
}

void canvas_outline(struct canvas *c, int x, int y, int width, int height, uint8_t colour)
{
	canvas_fill(c, x, y, width, 1, colour);
	canvas_fill(c, x, y + height - 1, width, 1, colour);
	canvas_fill(c, x, y, 1, height, colour);
	canvas_fill(c, x + width - 1, y, 1, height, colour);
}

/* Of two lines that meet in a pixel, the one that covers more of it. */
static void cover(struct canvas *c, int x, int y, double part, uint8_t ramp)
{
	int level = (int)lround(part * (INK_LEVELS - 1)), was;

	if (level <= 0 || x < 0 || y < 0 || x >= c->width || y >= c->height)
		return;
	was = canvas_at(c, x, y);
	if (was >= COLOUR_INK && was < COLOUR_FULL && (was - COLOUR_INK) % INK_LEVELS >= level)
		return;
	canvas_dot(c, x, y, (uint8_t)(ramp + level));
}

static double distance(double px, double py, double x0, double y0, double x1, double y1)
{
	double dx = x1 - x0, dy = y1 - y0, length = dx * dx + dy * dy;
	double t = length > 0 ? ((px - x0) * dx + (py - y0) * dy) / length : 0;

	t = t < 0 ? 0 : t > 1 ? 1 : t;
	return hypot(px - x0 - t * dx, py - y0 - t * dy);
}

void canvas_line(struct canvas *c, double x0, double y0, double x1, double y1, double width,
		 uint8_t ramp)
{
	double half = width / 2, part;
	int left = (int)floor(fmin(x0, x1) - half - 1), right = (int)ceil(fmax(x0, x1) + half + 1);
	int top = (int)floor(fmin(y0, y1) - half - 1), bottom = (int)ceil(fmax(y0, y1) + half + 1);
	int x, y;

	for (y = top; y <= bottom; y++)
		for (x = left; x <= right; x++) {
			part = half + 0.5 - distance(x + 0.5, y + 0.5, x0, y0, x1, y1);
			cover(c, x, y, part > 1 ? 1 : part, ramp);
		}
}
