/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* png.c - writing PNG by libpng. */
#include "png.h"

#include <errno.h>
#include <png.h>
#include <string.h>

static void complain(png_structp png, png_const_charp text)
{
	struct error *err = png_get_error_ptr(png);

	fail(err, 0, "cannot write the picture: %s", errno ? strerror(errno) : text);
	png_longjmp(png, 1);
}

static void ignore(png_structp png, png_const_charp text)
{
	(void)png;
	(void)text;
}

static void put_header(png_structp png, png_infop info, const struct canvas *c, const char *title)
{
	const uint8_t(*rgb)[3] = palette();
	png_color colour[PALETTE_COUNT];
	png_text text[2] = {
		{ .compression = PNG_TEXT_COMPRESSION_NONE,
		  .key = (char *)"Software",
		  .text = (char *)"mprof " MPROF_VERSION },
		{ .compression = PNG_ITXT_COMPRESSION_NONE,
		  .key = (char *)"Title",
		  .text = (char *)(title ? title : ""),
		  .lang = (char *)"",
		  .lang_key = (char *)"Title" },
	};
	int i;

	for (i = 0; i < COLOUR_END; i++)
		colour[i] = (png_color){ rgb[i][0], rgb[i][1], rgb[i][2] };
	png_set_IHDR(png, info, (png_uint_32)c->width, (png_uint_32)c->height, 8,
		     PNG_COLOR_TYPE_PALETTE, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
		     PNG_FILTER_TYPE_DEFAULT);
	png_set_PLTE(png, info, colour, COLOUR_END);
	png_set_text(png, info, text, title ? 2 : 1);
	png_set_compression_level(png, 9);
	png_set_filter(png, 0, PNG_FILTER_NONE);
	png_write_info(png, info);
}

int png_write_canvas(FILE *out, const struct canvas *c, const char *title, struct error *err)
{
	png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, err, complain, ignore);
	png_infop info = png ? png_create_info_struct(png) : NULL;
	int y;

	if (!info) {
		png_destroy_write_struct(&png, NULL);
		return fail(err, -ENOMEM, "no memory for a picture");
	}
	errno = 0;
	if (setjmp(png_jmpbuf(png))) {
		png_destroy_write_struct(&png, &info);
		return -EIO;
	}
	png_init_io(png, out);
	put_header(png, info, c, title);
	for (y = 0; y < c->height; y++)
		png_write_row(png, c->pixel + (long)y * c->width);
	png_write_end(png, info);
	png_destroy_write_struct(&png, &info);
	return 0;
}
