/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* font.c - text on a canvas, by glyphs that were drawn when mprof was built (scripts/genfont.c). */
#include "canvas.h"

#include <stddef.h>

struct font_glyph {
	uint32_t code;
	int8_t left, top; /* from the pen, to the right and up */
	uint8_t width, rows, advance;
	uint32_t at; /* in coverage */
};

#include "font_data.h"

static const struct {
	const struct font_glyph *glyph;
	size_t glyphs;
	const unsigned char *coverage;
	int ascent, height;
} fonts[] = {
#define FONT(name)                                                                             \
	{                                                                                      \
		name##_glyph, sizeof(name##_glyph) / sizeof(name##_glyph[0]), name##_coverage, \
		    name##_ASCENT, name##_HEIGHT                                               \
	}
	FONT(small),
	FONT(body),
	FONT(strong),
	FONT(title),
};

/* The next code point; what is no UTF-8 is 0xfffd. */
static uint32_t next_code(const char **text)
{
	const unsigned char *s = (const unsigned char *)*text;
	unsigned more = *s < 0x80 ? 0 : *s >= 0xf0 ? 3 : *s >= 0xe0 ? 2 : *s >= 0xc0 ? 1 : 4, i;
	uint32_t code = more ? *s & (0x3fu >> more) : *s;

	for (i = 1; i <= more; i++)
		if (more == 4 || (s[i] & 0xc0) != 0x80) {
			*text += i == 1 ? 1 : i;
			return 0xfffd;
		} else {
			code = code << 6 | (s[i] & 0x3f);
		}
	*text += more + 1;
	return code;
}

/* NULL: none. */
static const struct font_glyph *glyph_of(enum font font, uint32_t code)
{
	size_t low = 0, high = fonts[font].glyphs, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (fonts[font].glyph[middle].code < code)
			low = middle + 1;
		else
			high = middle;
	}
	return low < fonts[font].glyphs && fonts[font].glyph[low].code == code
		   ? &fonts[font].glyph[low]
		   : NULL;
}

#define BOX_ADVANCE(font) (fonts[font].ascent * 2 / 3)

static int advance_of(enum font font, const struct font_glyph *g)
{
	return g ? g->advance : BOX_ADVANCE(font);
}

static void draw_glyph(struct canvas *c, enum font font, const struct font_glyph *g, int x, int y,
		       uint8_t ramp)
{
	const unsigned char *row = fonts[font].coverage + g->at;
	unsigned level;
	int i, k;

	for (k = 0; k < g->rows; k++, row += (g->width + 1) / 2)
		for (i = 0; i < g->width; i++) {
			level = row[i / 2] >> (i % 2 * 4) & 15;
			if (level)
				canvas_dot(c, x + g->left + i, y - g->top + k,
					   (uint8_t)(ramp + level));
		}
}

static int draw(struct canvas *c, enum font font, int x, int y, uint8_t ramp, const char *text,
		const char *end)
{
	const struct font_glyph *g;

	for (y += fonts[font].ascent; *text && text != end; x += advance_of(font, g)) {
		g = glyph_of(font, next_code(&text));
		if (g)
			draw_glyph(c, font, g, x, y, ramp);
		else
			canvas_outline(c, x + 1, y - BOX_ADVANCE(font), BOX_ADVANCE(font) - 2,
				       BOX_ADVANCE(font), (uint8_t)(ramp + INK_LEVELS - 1));
	}
	return x;
}

int canvas_text(struct canvas *c, enum font font, int x, int y, uint8_t ramp, const char *text)
{
	return draw(c, font, x, y, ramp, text, NULL);
}

int canvas_text_cut(struct canvas *c, enum font font, int x, int y, int most, uint8_t ramp,
		    const char *text)
{
	static const char dots[] = "\xe2\x80\xa6";
	const char *end = text, *next = text;
	int width = 0, room = most - font_width(font, dots);

	if (font_width(font, text) <= most)
		return canvas_text(c, font, x, y, ramp, text);
	for (;;) {
		width += advance_of(font, glyph_of(font, next_code(&next)));
		if (width > room)
			break;
		end = next;
	}
	if (end != text)
		x = draw(c, font, x, y, ramp, text, end);
	return room > 0 ? canvas_text(c, font, x, y, ramp, dots) : x;
}

void canvas_text_right(struct canvas *c, enum font font, int x, int y, uint8_t ramp,
		       const char *text)
{
	canvas_text(c, font, x - font_width(font, text), y, ramp, text);
}

int font_width(enum font font, const char *text)
{
	int width = 0;

	while (*text)
		width += advance_of(font, glyph_of(font, next_code(&text)));
	return width;
}

int font_height(enum font font)
{
	return fonts[font].height;
}
