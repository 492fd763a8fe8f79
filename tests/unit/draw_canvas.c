// SPDX-License-Identifier: LGPL-3.0-or-later
/* draw_canvas.c - drawings stay on the canvas, and movies read back equal what was drawn. */
#include "suites.h"

#include "draw/apng.h"
#include "draw/canvas.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define WIDTH  61
#define HEIGHT 47
#define FRAMES 9

static uint32_t rgb_of(unsigned colour)
{
	const uint8_t *rgb = palette(THEME_LIGHT)[colour];

	return (uint32_t)rgb[0] << 16 | (uint32_t)rgb[1] << 8 | rgb[2];
}

static unsigned drawn(const struct canvas *c)
{
	unsigned n = 0;
	int i;

	for (i = 0; i < c->width * c->height; i++)
		n += (c->pixel[i] & 0xffffff) != rgb_of(COLOUR_PAPER);
	return n;
}

static void load_cairo(void)
{
	ck_assert_int_eq(canvas_start(NULL), 0);
}

START_TEST(outside_is_not_drawn)
{
	struct canvas c;

	ck_assert_int_eq(canvas_new(&c, CANVAS_PNG, WIDTH, HEIGHT), 0);
	canvas_fill(&c, -10, -10, 11, 11, COLOUR_PIN);
	canvas_fill(&c, WIDTH - 1, HEIGHT - 1, 50, 50, COLOUR_PIN);
	canvas_fill(&c, 100, 100, 5, 5, COLOUR_PIN);
	canvas_fill(&c, -100, 3, 5, 5, COLOUR_PIN);
	ck_assert_uint_eq(drawn(&c), 2);
	ck_assert_uint_eq(c.pixel[0], rgb_of(COLOUR_PIN));
	ck_assert_uint_eq(c.pixel[WIDTH * HEIGHT - 1], rgb_of(COLOUR_PIN));
	canvas_line(&c, -1e4, -50, 1e4, 90, 3, COLOUR_INK);
	canvas_text(&c, FONT_TITLE, -20, -10, COLOUR_INK, "Mg\xc3\xa9\xe4\xb8\xad\xff\xc3");
	canvas_text(&c, FONT_BODY, WIDTH - 3, HEIGHT - 3, COLOUR_INK, "Mg");
	canvas_free(&c);
	ck_assert_int_eq(canvas_new(&c, CANVAS_PNG, 0, 5), -EINVAL);
	ck_assert_int_eq(canvas_new(&c, CANVAS_PNG, 5, CANVAS_MOST + 1), -EINVAL);
}
END_TEST

START_TEST(text_fits)
{
	static const char text[] = "std::vector<int>::push_back";
	struct canvas c;
	int most, end, whole = font_width(FONT_SMALL, text);

	for (most = 0; most < whole + 10; most += 7) {
		ck_assert_int_eq(canvas_new(&c, CANVAS_PNG, whole + 40, 20), 0);
		end = canvas_text_cut(&c, FONT_SMALL, 0, 0, most, COLOUR_INK, text);
		ck_assert_int_le(end, most > whole ? whole : most);
		canvas_free(&c);
	}
	ck_assert_int_eq(canvas_new(&c, CANVAS_PNG, 200, 30), 0);
	ck_assert_int_eq(canvas_text(&c, FONT_BODY, 5, 5, COLOUR_INK, "a b"),
			 5 + font_width(FONT_BODY, "a b"));
	ck_assert_uint_gt(drawn(&c), 20);
	canvas_free(&c);
}
END_TEST

/* What a format writes of the same drawing; the caller frees it. */
static char *written(enum canvas_format format, size_t *bytes)
{
	struct canvas c;
	struct error err;
	char *text = NULL;
	FILE *out = open_memstream(&text, bytes);

	ck_assert_int_eq(canvas_new(&c, format, WIDTH, HEIGHT), 0);
	canvas_fill(&c, 5, 5, 10, 10, COLOUR_PIN);
	canvas_line(&c, 0, 40, 60, 20, 1.5, COLOUR_USABLE);
	canvas_text(&c, FONT_BODY, 2, 2, COLOUR_INK, "heap \xff");
	ck_assert_int_eq(canvas_write(&c, out, &err), 0);
	canvas_free(&c);
	fclose(out);
	return text;
}

START_TEST(three_formats_from_the_same_calls)
{
	static const struct {
		const char *name, *begins;
	} row[] = {
		[CANVAS_PNG] = { "a.b/x.PNG", "\x89PNG\r\n" },
		[CANVAS_SVG] = { "x.svg", "<?xml" },
		[CANVAS_PDF] = { "x.png.pdf", "%PDF-" },
	};
	size_t bytes, i;
	char *text;

	for (i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		ck_assert_int_eq(canvas_format_of(row[i].name), (int)i);
		text = written((enum canvas_format)i, &bytes);
		ck_assert_uint_gt(bytes, 200);
		ck_assert_int_eq(memcmp(text, row[i].begins, strlen(row[i].begins)), 0);
		/* The line is a vector, not pixels; cairo 1.18 writes an attribute, not a style. */
		if (i == CANVAS_SVG)
			ck_assert(strstr(text, "stroke-width:1.5") ||
				  strstr(text, "stroke-width=\"1.5\""));
		free(text);
	}
	ck_assert_int_eq(canvas_format_of("x.gif"), -1);
	ck_assert_int_eq(canvas_format_of("png"), -1);
}
END_TEST

START_TEST(a_full_disk_is_an_error_of_the_stream)
{
	struct canvas c;
	struct error err;
	FILE *full = fopen("/dev/full", "w");
	unsigned i;

	ck_assert_ptr_nonnull(full);
	setbuf(full, NULL);
	for (i = CANVAS_PNG; i <= CANVAS_PDF; i++) {
		ck_assert_int_eq(canvas_new(&c, i, WIDTH, HEIGHT), 0);
		clearerr(full);
		ck_assert_int_eq(canvas_write(&c, full, &err), 0);
		ck_assert(ferror(full));
		canvas_free(&c);
	}
	fclose(full);
}
END_TEST

/* ---- a reader of APNG that believes nothing ---- */

struct reader {
	const uint8_t *at, *end;
	uint32_t sequence, frames, area[4]; /* width, height, x, y */
	unsigned delay;
	struct canvas shown;
	unsigned read;
	bool ended;
};

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void show(struct reader *r, const uint8_t *data, size_t bytes)
{
	uint8_t raw[(3 * WIDTH + 1) * HEIGHT], *from;
	uLongf length = sizeof(raw);
	uint32_t x, y, row = 3 * r->area[0] + 1;

	ck_assert_int_eq(uncompress(raw, &length, data, bytes), Z_OK);
	ck_assert_uint_eq(length, row * r->area[1]);
	for (y = 0; y < r->area[1]; y++) {
		ck_assert_uint_eq(raw[y * row], 0);
		from = raw + y * row + 1;
		for (x = 0; x < r->area[0]; x++, from += 3)
			r->shown.pixel[(r->area[3] + y) * WIDTH + r->area[2] + x] =
			    (uint32_t)from[0] << 16 | (uint32_t)from[1] << 8 | from[2];
	}
	r->read++;
}

static void take_control(struct reader *r, const uint8_t *data, uint32_t bytes)
{
	unsigned i;

	ck_assert_uint_eq(bytes, 26);
	ck_assert_uint_eq(get32(data), r->sequence++);
	for (i = 0; i < 4; i++)
		r->area[i] = get32(data + 4 + 4 * i);
	ck_assert_uint_le(r->area[0] + r->area[2], WIDTH);
	ck_assert_uint_le(r->area[1] + r->area[3], HEIGHT);
	r->delay = (unsigned)data[20] << 8 | data[21];
}

/* One chunk; true if it was a frame. */
static bool take_chunk(struct reader *r)
{
	uint32_t bytes = get32(r->at);
	const uint8_t *type = r->at + 4, *data = r->at + 8;
	bool frame = false;

	ck_assert(r->at + 12 + bytes <= r->end);
	ck_assert_uint_eq(get32(data + bytes), crc32(0, type, bytes + 4));
	r->at = data + bytes + 4;
	if (!memcmp(type, "acTL", 4)) {
		r->frames = get32(data);
	} else if (!memcmp(type, "fcTL", 4)) {
		take_control(r, data, bytes);
	} else if (!memcmp(type, "IDAT", 4)) {
		ck_assert_uint_eq(r->read, 0);
		show(r, data, bytes);
		frame = true;
	} else if (!memcmp(type, "fdAT", 4)) {
		ck_assert_uint_gt(r->read, 0);
		ck_assert_uint_eq(get32(data), r->sequence++);
		show(r, data + 4, bytes - 4);
		frame = true;
	} else if (!memcmp(type, "IEND", 4)) {
		r->ended = true;
	}
	return frame;
}

/* Frame 4 is as frame 3; the others differ in something small. */
static void draw_frame(struct canvas *c, unsigned i)
{
	if (i == 4)
		return;
	canvas_fill(c, (int)(i * 5 % WIDTH), (int)(i * 7 % HEIGHT), 3 + (int)i, 2, COLOUR_FULL + i);
}

START_TEST(a_movie_is_read_back)
{
	struct reader r = { .read = 0 };
	struct canvas c, was[FRAMES];
	struct error err;
	struct apng *a;
	char *text = NULL;
	size_t bytes = 0;
	unsigned i, n = 0;
	FILE *out = open_memstream(&text, &bytes);

	ck_assert_int_eq(canvas_new(&c, CANVAS_PNG, WIDTH, HEIGHT), 0);
	ck_assert_int_eq(canvas_new(&r.shown, CANVAS_PNG, WIDTH, HEIGHT), 0);
	a = apng_new(out, FRAMES, 40);
	for (i = 0; i < FRAMES; i++) {
		draw_frame(&c, i);
		ck_assert_int_eq(canvas_new(&was[i], CANVAS_PNG, WIDTH, HEIGHT), 0);
		memcpy(was[i].pixel, c.pixel, sizeof(*c.pixel) * WIDTH * HEIGHT);
		ck_assert_int_eq(apng_add(a, &c, &err), 0);
	}
	apng_hold(a, 1000);
	ck_assert_msg(!apng_finish(a, &err), "%s", err.text);
	apng_free(a);
	fclose(out);
	r.at = (uint8_t *)text + 8;
	r.end = (uint8_t *)text + bytes;
	for (i = 0; i < FRAMES; i++) {
		if (i == 4)
			continue;
		while (!take_chunk(&r))
			;
		ck_assert_int_eq(
		    memcmp(r.shown.pixel, was[i].pixel, sizeof(*was[i].pixel) * WIDTH * HEIGHT), 0);
		ck_assert_uint_eq(r.delay, i == 3 ? 80 : i == FRAMES - 1 ? 1040 : 40);
		n++;
	}
	take_chunk(&r);
	ck_assert(r.ended && r.at == r.end);
	ck_assert_uint_eq(r.frames, n);
	for (i = 0; i < FRAMES; i++)
		canvas_free(&was[i]);
	canvas_free(&c);
	canvas_free(&r.shown);
	free(text);
}
END_TEST

START_TEST(a_movie_needs_a_frame)
{
	struct error err = { "" };
	struct apng *a;
	FILE *out = tmpfile();

	a = apng_new(out, 0, 40);
	ck_assert_int_eq(apng_finish(a, &err), -EINVAL);
	apng_free(a);
	fclose(out);
}
END_TEST

Suite *draw_canvas_suite(void)
{
	Suite *s = suite_create("draw_canvas");
	TCase *c = tcase_create("all");

	tcase_add_checked_fixture(c, load_cairo, NULL);
	tcase_add_test(c, outside_is_not_drawn);
	tcase_add_test(c, text_fits);
	tcase_add_test(c, three_formats_from_the_same_calls);
	tcase_add_test(c, a_full_disk_is_an_error_of_the_stream);
	tcase_add_test(c, a_movie_is_read_back);
	tcase_add_test(c, a_movie_needs_a_frame);
	suite_add_tcase(s, c);
	return s;
}
