// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * genfont - prints the glyphs that pictures are labelled with as C, so that mprof needs neither
 * a font nor FreeType where it runs.
 *
 *   genfont NAME PIXELS FILE [NAME PIXELS FILE]... >font_data.h
 *
 * For each font: its height and the height above the line, glyphs in the order of their code
 * points, and their coverage, 0 to 15, two pixels a byte, the left one low, rows filled up to
 * whole bytes.
 */
#include <ft2build.h>
#include FT_FREETYPE_H
#include <stdio.h>
#include <stdlib.h>

static const struct {
	unsigned long from, to;
} range[] = {
	{ 0x20, 0x7e },	    { 0xa0, 0xff },	{ 0x2013, 0x2014 },
	{ 0x2026, 0x2026 }, { 0x2190, 0x2193 }, { 0x2264, 0x2265 },
};

static size_t put_coverage(const FT_Bitmap *b)
{
	unsigned row, x, pair;

	for (row = 0; row < b->rows; row++)
		for (x = 0; x < b->width; x += 2) {
			pair = b->buffer[row * (unsigned)b->pitch + x] >> 4;
			if (x + 1 < b->width)
				pair |= b->buffer[row * (unsigned)b->pitch + x + 1] & 0xf0u;
			printf("%u,", pair);
		}
	return (size_t)b->rows * ((b->width + 1) / 2);
}

static int load(FT_Face face, unsigned long code)
{
	return FT_Load_Char(face, code, FT_LOAD_RENDER | FT_LOAD_TARGET_NORMAL);
}

static void put_glyphs(FT_Face face, const char *name)
{
	FT_GlyphSlot g = face->glyph;
	unsigned long code;
	size_t i, at = 0;

	printf("static const struct font_glyph %s_glyph[] = {\n", name);
	for (i = 0; i < sizeof(range) / sizeof(range[0]); i++)
		for (code = range[i].from; code <= range[i].to; code++) {
			if (load(face, code))
				continue;
			printf("\t{ %lu, %d, %d, %u, %u, %ld, %zu },\n", code, g->bitmap_left,
			       g->bitmap_top, g->bitmap.width, g->bitmap.rows, g->advance.x >> 6,
			       at);
			at += (size_t)g->bitmap.rows * ((g->bitmap.width + 1) / 2);
		}
	printf("};\nstatic const unsigned char %s_coverage[] = {\n", name);
	for (i = 0; i < sizeof(range) / sizeof(range[0]); i++)
		for (code = range[i].from; code <= range[i].to; code++)
			if (!load(face, code) && put_coverage(&g->bitmap))
				putchar('\n');
	printf("};\n#define %s_ASCENT %ld\n#define %s_HEIGHT %ld\n", name,
	       face->size->metrics.ascender >> 6, name,
	       (face->size->metrics.ascender - face->size->metrics.descender) >> 6);
}

int main(int argc, char **argv)
{
	FT_Library library;
	FT_Face face;
	int i;

	if (argc < 4 || argc % 3 != 1 || FT_Init_FreeType(&library)) {
		fprintf(stderr, "usage: genfont NAME PIXELS FILE ...\n");
		return 2;
	}
	printf("/* Made by scripts/genfont.c. */\n");
	for (i = 1; i < argc; i += 3) {
		if (FT_New_Face(library, argv[i + 2], 0, &face) ||
		    FT_Set_Pixel_Sizes(face, 0, (unsigned)atoi(argv[i + 1]))) {
			fprintf(stderr, "genfont: cannot read the font '%s'\n", argv[i + 2]);
			return 1;
		}
		put_glyphs(face, argv[i]);
		FT_Done_Face(face);
	}
	FT_Done_FreeType(library);
	return ferror(stdout) ? 1 : 0;
}
