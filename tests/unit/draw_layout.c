// SPDX-License-Identifier: LGPL-3.0-or-later
/* draw_layout.c - pages have places of their own, and colours stand for what they should. */
#include "suites.h"

#include "draw/classes.h"
#include "draw/layout.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(a) (int)(sizeof(a) / sizeof((a)[0]))

START_TEST(hilbert_is_a_path)
{
	unsigned side = 1u << _i, x, y, was_x = 0, was_y = 0;
	uint64_t d, squares = (uint64_t)side * side;
	char *seen = calloc(squares, 1);

	for (d = 0; d < squares; d++) {
		hilbert_place(side, d, &x, &y);
		ck_assert_uint_lt(x, side);
		ck_assert_uint_lt(y, side);
		ck_assert_int_eq(seen[y * side + x]++, 0);
		if (d)
			ck_assert_int_eq(abs((int)x - (int)was_x) + abs((int)y - (int)was_y), 1);
		was_x = x;
		was_y = y;
	}
	free(seen);
}
END_TEST

/* Heaps: runs of units, each so far behind the end of the one before. */
struct heap {
	struct {
		uint64_t skip; /* units */
		size_t units;
	} run[6];
};

static const struct heap heaps[] = {
	{ { { 0x55555, 1 } } },
	{ { { 0x55555, 40 }, { 0x2aaa0000, 7 }, { 1, 1 }, { 1, 200 }, { 31, 32 }, { 3, 3 } } },
	{ { { 0, 700 }, { 1000, 1 } } },
	{ { { 32, 6000 } } },
	{ { { 7, 30000 }, { 100000, 30000 } } },
};

static struct film film_of(const struct heap *h)
{
	struct film f = { .units = 0 };
	uint64_t key = 0;
	size_t i, k;

	f.unit = calloc(100000, sizeof(*f.unit));
	for (i = 0; i < 6; i++)
		for (k = 0, key += h->run[i].skip; k < h->run[i].units; k++)
			f.unit[f.units++] = key++;
	return f;
}

/* Each square is there once, in the frame, on no other one. */
static void check_places(const struct layout *l, const struct film *f, unsigned width,
			 unsigned height)
{
	struct layout_map m;
	unsigned x, y, i, k, was_x = 0, was_y = 0;
	char *taken = calloc(width * height, 1);
	size_t cell, squares = 0, twice = 0;

	layout_map_new(&m, l, f);
	for (cell = 0; cell < f->units * FILM_UNIT_PAGES; cell++) {
		layout_place(&m, cell, &x, &y);
		if (cell && x == was_x && y == was_y)
			continue; /* another page of the same square */
		ck_assert_uint_le(x + l->px, l->width);
		ck_assert_uint_le(y + l->px, l->height);
		for (i = 0; i < l->px; i++)
			for (k = 0; k < l->px; k++)
				twice += (size_t)taken[(y + i) * width + x + k]++;
		was_x = x;
		was_y = y;
		squares++;
	}
	ck_assert_uint_eq(twice, 0); /* one for all: each takes a system call */
	ck_assert_uint_ge(squares * l->pages, f->units * FILM_UNIT_PAGES);
	layout_map_release(&m);
	free(taken);
}

static const struct {
	enum layout_kind kind;
	unsigned width, height;
} frames[] = {
	{ LAYOUT_STRIPS, 1000, 600 },  { LAYOUT_STRIPS, 300, 500 },  { LAYOUT_STRIPS, 120, 900 },
	{ LAYOUT_HILBERT, 1000, 600 }, { LAYOUT_HILBERT, 200, 900 },
};

START_TEST(every_page_is_drawn_once)
{
	unsigned width = frames[_i].width, height = frames[_i].height;
	const struct film *of;
	struct layout l;
	struct film f;
	int i;

	for (i = 0; i < COUNT(heaps); i++) {
		f = film_of(&heaps[i]);
		of = &f;
		ck_assert_int_eq(layout_fit(&l, frames[_i].kind, &of, 1, width, height), 0);
		ck_assert_uint_le(l.width, width);
		ck_assert_uint_le(l.height, height);
		check_places(&l, &f, width, height);
		free(f.unit);
	}
}
END_TEST

START_TEST(one_scale_for_all)
{
	struct film a = film_of(&heaps[0]), b = film_of(&heaps[3]);
	const struct film *both[] = { &a, &b };
	struct layout l, alone;

	ck_assert_int_eq(layout_fit(&alone, LAYOUT_STRIPS, both, 1, 500, 500), 0);
	ck_assert_int_eq(layout_fit(&l, LAYOUT_STRIPS, both, 2, 500, 500), 0);
	ck_assert_uint_gt(alone.px, l.px);
	check_places(&l, &a, 500, 500);
	check_places(&l, &b, 500, 500);
	free(a.unit);
	free(b.unit);
}
END_TEST

/* Low bits of addresses say the column, and rows that were never used take a narrow band. */
START_TEST(rows_are_aligned)
{
	struct film f = film_of(&heaps[1]);
	const struct film *of = &f;
	struct layout_map m;
	struct layout l;
	unsigned x, y, column;
	uint64_t addr, row;
	size_t cell, i;

	ck_assert_int_eq(layout_fit(&l, LAYOUT_STRIPS, &of, 1, 1000, 600), 0);
	layout_map_new(&m, &l, &f);
	row = UINT64_C(1) << l.row_shift;
	ck_assert(row % (2 << 20) == 0 || (2 << 20) % row == 0);
	for (cell = 0; cell < f.units * FILM_UNIT_PAGES; cell++) {
		addr = film_address(&f, cell);
		layout_place(&m, cell, &x, &y);
		column = (unsigned)(addr % row / FILM_PAGE / l.pages);
		ck_assert_uint_eq(x % (l.columns * l.px + LAYOUT_GUTTER), column * l.px);
	}
	for (i = 1; i < m.rows; i++) {
		ck_assert(m.row[i].key > m.row[i - 1].key);
		if (m.row[i].x == m.row[i - 1].x)
			ck_assert_uint_eq(m.row[i].y - m.row[i - 1].y,
					  l.px + (m.row[i].gap ? LAYOUT_GAP : 0));
		if (m.row[i].gap)
			ck_assert(m.row[i].key != m.row[i - 1].key + 1);
	}
	layout_map_release(&m);
	free(f.unit);
}
END_TEST

START_TEST(too_large_is_said)
{
	struct film f = { .units = 0 };
	const struct film *of = &f;
	struct layout l;
	size_t i;

	f.unit = calloc(4000, sizeof(*f.unit));
	for (i = 0; i < 4000; i++)
		f.unit[f.units++] = i << 20; /* each far from the next */
	ck_assert_int_lt(layout_fit(&l, LAYOUT_STRIPS, &of, 1, 100, 100), 0);
	free(f.unit);
}
END_TEST

START_TEST(classes_by_bytes)
{
	struct film_cell cell = { .live = 10 };
	struct classes c;
	uint8_t most, least;
	char name[64];
	uint32_t i;

	classes_init(&c, PICTURE_BY_THREAD, NULL);
	for (i = 0; i < 20; i++) {
		cell.thread = i;
		cell.live = (uint16_t)(100 + i);
		classes_count(&c, &cell);
	}
	classes_rank(&c);
	ck_assert_uint_eq(c.tops, HUES);
	classes_name(&c, 0, name, sizeof(name));
	ck_assert_str_eq(name, "thread 20");
	most = classes_colour(&c, &cell, 0, 1);
	cell.thread = 0;
	least = classes_colour(&c, &cell, 0, 1);
	ck_assert_uint_eq(most, COLOUR_HUE);
	ck_assert_uint_eq(least, COLOUR_OTHER);
	ck_assert_uint_eq(c.other_bytes, (100 + 107) * 8 / 2);
	classes_release(&c);
}
END_TEST

START_TEST(ramps_rise)
{
	uint64_t live;
	unsigned i;

	ck_assert_uint_eq(palette_full(1, FILM_PAGE), COLOUR_FULL);
	ck_assert_uint_eq(palette_full(FILM_PAGE, FILM_PAGE), COLOUR_FULL + FULL_LEVELS - 1);
	for (live = 2; live <= FILM_PAGE; live++)
		ck_assert_uint_ge(palette_full(live, FILM_PAGE), palette_full(live - 1, FILM_PAGE));
	ck_assert_uint_eq(palette_age(0, 1000), COLOUR_AGE);
	ck_assert_uint_eq(palette_age(1000, 1000), COLOUR_AGE + AGE_LEVELS - 1);
	for (i = 0; i + 1 < SIZE_CLASSES; i++) {
		ck_assert_uint_eq(palette_size_class(palette_size_most(i)), i);
		ck_assert_uint_eq(palette_size_class(palette_size_most(i) + 1), i + 1);
	}
}
END_TEST

Suite *draw_layout_suite(void)
{
	Suite *s = suite_create("draw_layout");
	TCase *c = tcase_create("all");

	tcase_add_loop_test(c, hilbert_is_a_path, 0, 8);
	tcase_add_loop_test(c, every_page_is_drawn_once, 0, COUNT(frames));
	tcase_add_test(c, one_scale_for_all);
	tcase_add_test(c, rows_are_aligned);
	tcase_add_test(c, too_large_is_said);
	tcase_add_test(c, classes_by_bytes);
	tcase_add_test(c, ramps_rise);
	suite_add_tcase(s, c);
	return s;
}
