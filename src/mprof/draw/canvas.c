/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* canvas.c - rectangles and lines, and the formats of the finished picture. */
#include "canvas.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "../util/alloc.h"
#include "../util/memory.h"

#include "cairo_late.h"

struct cairo_functions cairo;

static uint32_t rgb_of(const struct canvas *c, uint8_t colour)
{
	const uint8_t *rgb = palette(c->theme)[colour];

	return (uint32_t)rgb[0] << 16 | (uint32_t)rgb[1] << 8 | rgb[2];
}

int canvas_format_of(const char *path)
{
	static const char *const suffix[] = {
		[CANVAS_PNG] = ".png",
		[CANVAS_SVG] = ".svg",
		[CANVAS_PDF] = ".pdf",
	};
	const char *dot = strrchr(path, '.');
	size_t i;

	for (i = 0; dot && i < sizeof(suffix) / sizeof(suffix[0]); i++)
		if (!strcasecmp(dot, suffix[i]))
			return (int)i;
	return -1;
}

int canvas_start(struct error *err)
{
	static const char *const name[] = { CAIRO_FUNCTIONS(LATE_NAME) };

	return late_load(LATE_LIBRARY, "draws pictures", name, &cairo, sizeof(cairo), err);
}

static cairo_surface_t *recording(int width, int height)
{
	cairo_rectangle_t extents = { 0, 0, width, height };

	return cairo.recording_surface_create(CAIRO_CONTENT_COLOR_ALPHA, &extents);
}

int canvas_new(struct canvas *c, enum canvas_format format, int width, int height)
{
	cairo_surface_t *over;

	*c = (struct canvas){ .width = width, .height = height, .format = format };
	if (width < 1 || height < 1 || width > CANVAS_MOST || height > CANVAS_MOST)
		return -EINVAL;
	c->pixel = must_malloc((size_t)width * (size_t)height * sizeof(*c->pixel));
	/* RGB24 needs no padding: its stride is 4 bytes a pixel for every width. */
	c->image = cairo.image_surface_create_for_data(
	    (unsigned char *)c->pixel, CAIRO_FORMAT_RGB24, width, height, width * 4);
	over = format == CANVAS_PNG ? cairo.surface_reference(c->image) : recording(width, height);
	c->cairo = cairo.create(over);
	cairo.surface_destroy(over);
	if (cairo.status(c->cairo))
		memory_out();
	canvas_clear(c);
	return 0;
}

void canvas_free(struct canvas *c)
{
	cairo.destroy(c->cairo);
	cairo.surface_destroy(c->image);
	free(c->pixel);
	c->cairo = NULL;
	c->image = NULL;
	c->pixel = NULL;
}

void canvas_theme(struct canvas *c, enum theme theme)
{
	c->theme = theme;
	canvas_clear(c);
}

void canvas_clear(struct canvas *c)
{
	canvas_fill(c, 0, 0, c->width, c->height, COLOUR_PAPER);
}

/* Does not use Cairo: a movie fills a million squares, and plain stores are 20 times as fast. */
void canvas_fill(struct canvas *c, int x, int y, int width, int height, uint8_t colour)
{
	int right = x + width, bottom = y + height, left;
	uint32_t rgb = rgb_of(c, colour), *row;

	x = x < 0 ? 0 : x;
	y = y < 0 ? 0 : y;
	right = right > c->width ? c->width : right;
	bottom = bottom > c->height ? c->height : bottom;
	if (x >= right || y >= bottom)
		return;
	if (!c->stored)
		cairo.surface_flush(c->image);
	c->stored = true;
	for (row = c->pixel + (long)y * c->width; y < bottom; y++, row += c->width)
		for (left = x; left < right; left++)
			row[left] = rgb;
}

void canvas_outline(struct canvas *c, int x, int y, int width, int height, uint8_t colour)
{
	canvas_fill(c, x, y, width, 1, colour);
	canvas_fill(c, x, y + height - 1, width, 1, colour);
	canvas_fill(c, x, y, 1, height, colour);
	canvas_fill(c, x + width - 1, y, 1, height, colour);
}

void canvas_ink(struct canvas *c, uint8_t colour)
{
	const uint8_t *rgb = palette(c->theme)[colour];

	if (c->stored)
		cairo.surface_mark_dirty(c->image);
	c->stored = false;
	cairo.set_source_rgb(c->cairo, rgb[0] / 255.0, rgb[1] / 255.0, rgb[2] / 255.0);
}

void canvas_line(struct canvas *c, double x0, double y0, double x1, double y1, double width,
		 uint8_t colour)
{
	canvas_ink(c, colour);
	cairo.set_line_width(c->cairo, width);
	cairo.set_line_cap(c->cairo, CAIRO_LINE_CAP_ROUND);
	cairo.move_to(c->cairo, x0, y0);
	cairo.line_to(c->cairo, x1, y1);
	cairo.stroke(c->cairo);
}

/* ---- the finished picture ---- */

void canvas_rgb(const struct canvas *c, int x, int y, int width, uint8_t *to)
{
	const uint32_t *from = c->pixel + (long)y * c->width + x;

	for (; width > 0; width--, from++) {
		*to++ = (uint8_t)(*from >> 16);
		*to++ = (uint8_t)(*from >> 8);
		*to++ = (uint8_t)*from;
	}
}

static cairo_status_t put(void *to, const unsigned char *data, unsigned bytes)
{
	return fwrite(data, 1, bytes, to) == bytes ? CAIRO_STATUS_SUCCESS
						   : CAIRO_STATUS_WRITE_ERROR;
}

#define PNG_HEAD 33 /* signature and first chunk; text may follow them */

struct png {
	FILE *out;
	size_t at;
};

/* Names mprof as the author, because it replaces only its own files. */
static cairo_status_t put_maker(FILE *out)
{
	static const char text[] = "tEXtSoftware\0mprof " MPROF_VERSION;
	const uint32_t bytes = sizeof(text) - 1;
	const uint32_t length = htobe32(bytes - 4);
	const uint32_t sum = htobe32((uint32_t)crc32(0, (const unsigned char *)text, bytes));

	return put(out, (const unsigned char *)&length, sizeof(length)) ||
		       put(out, (const unsigned char *)text, bytes) ||
		       put(out, (const unsigned char *)&sum, sizeof(sum))
		   ? CAIRO_STATUS_WRITE_ERROR
		   : CAIRO_STATUS_SUCCESS;
}

static cairo_status_t put_png(void *to, const unsigned char *data, unsigned bytes)
{
	struct png *png = to;
	unsigned before =
	    png->at < PNG_HEAD && bytes > PNG_HEAD - png->at ? (unsigned)(PNG_HEAD - png->at) : 0;

	if (before && put_png(png, data, before))
		return CAIRO_STATUS_WRITE_ERROR;
	if (png->at == PNG_HEAD && put_maker(png->out))
		return CAIRO_STATUS_WRITE_ERROR;
	png->at += bytes - before;
	return put(png->out, data + before, bytes - before);
}

static cairo_status_t put_vectors(struct canvas *c, FILE *out)
{
	cairo_surface_t *to =
	    c->format == CANVAS_SVG
		? cairo.svg_surface_create_for_stream(put, out, c->width, c->height)
		: cairo.pdf_surface_create_for_stream(put, out, c->width, c->height);
	cairo_t *page = cairo.create(to);
	cairo_status_t status;

	cairo.set_source_surface(page, c->image, 0, 0);
	/* Squares stay squares when the picture is enlarged. */
	cairo.pattern_set_filter(cairo.get_source(page), CAIRO_FILTER_NEAREST);
	cairo.paint(page);
	cairo.set_source_surface(page, cairo.get_target(c->cairo), 0, 0);
	cairo.paint(page);
	cairo.show_page(page);
	status = cairo.status(page);
	cairo.destroy(page);
	cairo.surface_finish(to);
	if (!status)
		status = cairo.surface_status(to);
	cairo.surface_destroy(to);
	return status;
}

int canvas_write(struct canvas *c, FILE *out, struct error *err)
{
	cairo_status_t status = cairo.status(c->cairo);
	struct png png = { out, 0 };

	if (c->stored)
		cairo.surface_mark_dirty(c->image);
	c->stored = false;
	errno = 0;
	if (!status)
		status = c->format == CANVAS_PNG
			     ? cairo.surface_write_to_png_stream(c->image, put_png, &png)
			     : put_vectors(c, out);
	if (status && !ferror(out))
		return fail(err, -EIO, "cannot write the picture: %s",
			    errno ? strerror(errno) : cairo.status_to_string(status));
	return 0;
}
