// SPDX-License-Identifier: LGPL-3.0-or-later
/* draw_film.c - films against a brute-force model of pages. */
#include "suites.h"

#include "draw/film.h"
#include "util/order.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define BLOCKS 260
#define FRAMES 24
#define PLACES 64 /* of 16 KiB, where blocks may lie; every 16th opens another region */

struct shot { /* what a frame must show */
	struct place_block block[BLOCKS];
	uint64_t resident[PLACES]; /* bit p: page p of the place */
	bool live[BLOCKS], ranges;
	uint64_t requested, op;
};

static unsigned seed;

static unsigned dice(unsigned n)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 8) % n;
}

static uint64_t place_addr(unsigned place)
{
	return 0x555555550000ull + place / 16 * 0x7000000000ull + place % 16 * 0x4000ull;
}

/* Each block has a place of its own: few are large, many lie at once in one page. */
static void make_block(struct place_block *b, unsigned i, uint64_t op)
{
	static const unsigned sizes[] = { 0, 1, 16, 40, 63, 64, 200 };

	memset(b, 0, sizeof(*b));
	if (i < PLACES) {
		b->addr = place_addr(i) + 0x1000 + dice(64);
		b->size = dice(0x2f00);
	} else {
		b->addr = place_addr((i - PLACES) % PLACES) + (i - PLACES) / PLACES * 256;
		b->size = sizes[dice(7)];
	}
	b->usable = b->size + 8;
	b->op = op;
	b->ns = op * 10;
	b->site = 1 + dice(5);
	b->thread = dice(3);
	b->slot = i;
}

static void take(struct film *f, struct shot *s, uint64_t op, bool ranges)
{
	struct place_sample sample = { .op = op, .rss = ranges ? 4096 * op : 0 };
	struct place_range r[PLACES];
	uint8_t bits[PLACES];
	unsigned i, n = 0;

	s->ranges = ranges;
	s->op = op;
	for (i = 0; i < PLACES; i++) {
		s->resident[i] = dice(16);
		if (!ranges || i % 5 == 4)
			s->resident[i] = 0;
		if (i % 5 == 4)
			continue; /* not mapped */
		bits[i] = (uint8_t)s->resident[i];
		r[n++] = (struct place_range){ place_addr(i), 4, &bits[i] };
	}
	film_ops.frame(f, &sample, r, ranges ? n : 0);
}

static uint64_t live_in(const struct place_block *b, uint64_t page)
{
	uint64_t end = b->addr + (b->size ? b->size : 1), from = b->addr, to = end;

	from = from > page ? from : page;
	to = to < page + 4096 ? to : page + 4096;
	return to > from ? to - from : 0;
}

static uint32_t most_of(const struct shot *s, uint64_t page, bool site)
{
	uint64_t bytes[8] = { 0 }, born[8], in, best = 8;
	unsigned i, k;

	memset(born, 0xff, sizeof(born));
	for (i = 0; i < BLOCKS; i++) {
		in = s->live[i] ? live_in(&s->block[i], page) : 0;
		k = site ? s->block[i].site : s->block[i].thread;
		bytes[k] += in;
		if (in && s->block[i].op < born[k])
			born[k] = s->block[i].op;
	}
	for (k = 0; k < 8; k++)
		if (bytes[k] && (best == 8 || bytes[k] > bytes[best] ||
				 (bytes[k] == bytes[best] && born[k] < born[best])))
			best = k;
	return best == 8 ? 0 : (uint32_t)best;
}

static void check_page(const struct film *f, const struct film_cursor *c, const struct shot *s,
		       unsigned place, unsigned page)
{
	uint64_t addr = place_addr(place) + page * 4096ull, live = 0, most = 0, in;
	size_t unit = FIRST_WHERE(i, f->units, f->unit[i] >= addr >> FILM_UNIT_SHIFT);
	const struct place_block *top = NULL;
	const struct film_cell *cell;
	unsigned i, blocks = 0;

	ck_assert(unit < f->units && f->unit[unit] == addr >> FILM_UNIT_SHIFT);
	cell = &c->cell[unit * FILM_UNIT_PAGES + addr / 4096 % FILM_UNIT_PAGES];
	ck_assert_uint_eq(film_address(f, (size_t)(cell - c->cell)), addr);
	for (i = 0; i < BLOCKS; i++) {
		in = s->live[i] ? live_in(&s->block[i], addr) : 0;
		live += in;
		blocks += in > 0;
		if (in > most || (in && in == most && s->block[i].op < top->op)) {
			most = in;
			top = &s->block[i];
		}
	}
	ck_assert_uint_eq(cell->live, live);
	ck_assert_uint_eq(cell->blocks, blocks);
	ck_assert_uint_eq(cell->size, top ? top->size : 0);
	ck_assert_uint_eq(cell->born, top ? top->op : 0);
	ck_assert_uint_eq(cell->site, most_of(s, addr, true));
	ck_assert_uint_eq(cell->thread, most_of(s, addr, false));
	if (s->ranges)
		ck_assert_uint_eq(!!(cell->flags & FILM_RESIDENT), s->resident[place] >> page & 1);
	if (s->ranges)
		ck_assert_uint_eq(!!(cell->flags & FILM_MAPPED), place % 5 != 4);
}

static void check_frame(const struct film *f, const struct film_cursor *c, const struct shot *s)
{
	const struct film_frame *frame = &f->frame[c->frame];
	uint64_t live = 0, pinned = 0, retained = 0, resident = 0;
	unsigned place, page;
	size_t i;

	for (place = 0; place < PLACES; place++)
		for (page = 0; page < 4; page++)
			check_page(f, c, s, place, page);
	for (i = 0; i < f->units * FILM_UNIT_PAGES; i++) {
		live += c->cell[i].live > 0;
		pinned += c->cell[i].live && c->cell[i].live < FILM_PIN_BYTES;
		resident += c->cell[i].flags & FILM_RESIDENT;
		retained += c->cell[i].flags & FILM_RESIDENT && !c->cell[i].live;
	}
	ck_assert_uint_eq(frame->op, s->op);
	ck_assert_uint_eq(frame->requested, s->requested);
	ck_assert_uint_eq(frame->live_pages, live);
	ck_assert_uint_eq(frame->pinned_pages, pinned);
	ck_assert_uint_eq(frame->residency, s->ranges);
	ck_assert_uint_eq(frame->resident_pages, s->ranges ? resident : 0);
	ck_assert_uint_eq(frame->retained_pages, s->ranges ? retained : 0);
}

static void step(struct film *f, struct shot *now, uint64_t op)
{
	unsigned i = dice(BLOCKS);

	if (now->live[i]) {
		now->requested -= now->block[i].size;
		film_ops.end(f, &now->block[i], op, op);
	} else {
		make_block(&now->block[i], i, op);
		now->requested += now->block[i].size;
		film_ops.begin(f, &now->block[i]);
	}
	now->live[i] = !now->live[i];
}

/* In runs 5 to 9, the page is too small for all frames. */
START_TEST(pages_are_as_counted)
{
	const struct film_options o = { .channels = FILM_ALL,
					.points = 50,
					.page_bytes = _i < 5 ? 0 : 2000 };
	struct place_start start = { .title = "model", .ops = 4800, .peak_op = UINT64_MAX };
	struct shot *shot = calloc(FRAMES + 1, sizeof(*shot)), *now = &shot[FRAMES];
	struct film_cursor *c;
	struct film *f;
	struct error err;
	uint64_t op;
	unsigned i;

	seed = (unsigned)_i + 1;
	f = film_new(&o);
	film_ops.start(f, &start);
	for (op = 0; op < start.ops; op++) {
		step(f, now, op);
		if ((op + 1) % 200 == 0) {
			take(f, now, op + 1, dice(3) > 0);
			shot[op / 200] = *now;
		}
	}
	film_ops.finish(f);
	ck_assert_int_eq(film_ready(f, &err), 0);
	if (o.page_bytes) {
		ck_assert_uint_gt(f->every, 1);
		ck_assert_uint_lt(f->frames, FRAMES);
		ck_assert_uint_eq(f->frame[f->frames - 1].number, FRAMES - 1);
	} else {
		ck_assert_uint_eq(f->frames, FRAMES);
	}
	ck_assert_uint_eq(f->numbers, FRAMES);
	ck_assert_uint_eq(f->points, 51);
	ck_assert_uint_eq(f->regions, 4);
	c = film_cursor_new(f);
	for (i = 0; i < f->frames; i++) {
		ck_assert(film_next(c));
		check_frame(f, c, &shot[f->frame[i].number]);
	}
	ck_assert(!film_next(c));
	ck_assert_int_eq(film_seek(c, 5, &err), 0);
	check_frame(f, c, &shot[f->frame[5].number]);
	film_cursor_free(c);
	film_free(f);
	free(shot);
}
END_TEST

START_TEST(broken_places_are_borne)
{
	const struct film_options o = { .channels = FILM_ALL };
	struct place_start start = { .title = "broken", .ops = 10, .peak_op = 3 };
	struct place_block b = { .addr = 0x10000, .size = 100 },
			   far = { .addr = UINT64_MAX - 10, .size = 4096, .slot = 1 };
	struct place_block vast = {
		.addr = UINT64_MAX - (1u << 26), .size = UINT64_C(1) << 50, .op = 2, .slot = 2
	};
	struct place_sample s = { .op = 4 };
	struct film *f;
	struct error err;

	f = film_new(&o);
	film_ops.start(f, &start);
	film_ops.begin(f, &b);
	film_ops.begin(f, &b); /* twice */
	film_ops.begin(f, &far);
	film_ops.begin(f, &vast);
	film_ops.end(f, &vast, 3, 3);
	film_ops.end(f, &far, 3, 3);
	film_ops.end(f, &b, 3, 3);
	film_ops.end(f, &b, 3, 3);
	film_ops.end(f, &b, 3, 3); /* never begun */
	film_ops.frame(f, &s, NULL, 0);
	ck_assert_uint_eq(f->frame[0].live_pages, 0);
	film_ops.finish(f);
	ck_assert_int_eq(film_ready(f, &err), 0);
	ck_assert_uint_eq(f->peak, 0);
	ck_assert_uint_gt(f->left_out, 0);
	film_free(f);
}
END_TEST

#define MANY (3u << 19)

/* Between two frames, more blocks end than a film keeps; some of them have begun there, too. */
START_TEST(blocks_end_between_frames)
{
	const struct film_options o = { .channels = _i ? FILM_ALL : 0 };
	struct place_start start = { .title = "brief", .ops = 1000, .peak_op = UINT64_MAX };
	struct place_block b = { .size = 16 };
	struct film_cursor *c;
	struct film *f;
	unsigned i;

	f = film_new(&o);
	film_ops.start(f, &start);
	for (i = 0; i < MANY; i++) {
		b.addr = 0x10000 + 16ull * i;
		b.slot = i;
		film_ops.begin(f, &b);
	}
	film_ops.frame(f, &(struct place_sample){ .op = 1 }, NULL, 0);
	for (i = 0; i < MANY - 3; i++) {
		b.addr = 0x10000 + 16ull * i;
		b.slot = i;
		film_ops.soon(f, i);
		film_ops.end(f, &b, 2, 2);
		b.addr += i % 2;
		film_ops.begin(f, &b);
		film_ops.end(f, &b, 3, 3);
	}
	film_ops.frame(f, &(struct place_sample){ .op = 4 }, NULL, 0);
	film_ops.finish(f);
	ck_assert_uint_eq(f->frame[0].live_pages, MANY / 256);
	ck_assert_uint_eq(f->frame[1].live_pages, 1);
	ck_assert_uint_eq(f->frame[1].pinned_pages, 1);
	ck_assert_uint_eq(f->units, MANY / 4096);
	c = film_cursor_new(f);
	ck_assert(film_next(c));
	for (i = 0; i < MANY / 256; i++)
		ck_assert_uint_eq(c->cell[i].blocks, _i ? 256 : 0);
	ck_assert(film_next(c));
	for (i = 0; i < MANY / 256; i++)
		ck_assert_uint_eq(c->cell[i].blocks, i + 1 < MANY / 256 || !_i ? 0 : 3);
	ck_assert_uint_eq(c->cell[MANY / 256 - 1].live, 48);
	film_cursor_free(c);
	film_free(f);
}
END_TEST

START_TEST(nothing_is_an_error)
{
	const struct film_options o = { .channels = 0 };
	struct place_start start = { .title = "empty", .ops = 0, .peak_op = UINT64_MAX };
	struct film *f;
	struct error err = { "" };

	f = film_new(&o);
	film_ops.start(f, &start);
	film_ops.finish(f);
	ck_assert_int_lt(film_ready(f, &err), 0);
	ck_assert_str_ne(err.text, "");
	film_free(f);
}
END_TEST

/* A list of blocks that has become a circle has no end. */
static void limit_cpu_time(void)
{
	setrlimit(RLIMIT_CPU, &(struct rlimit){ 20, 30 });
}

Suite *draw_film_suite(void)
{
	Suite *s = suite_create("draw_film");
	TCase *c = tcase_create("all");

	tcase_add_checked_fixture(c, limit_cpu_time, NULL);
	tcase_add_loop_test(c, pages_are_as_counted, 0, 10);
	tcase_add_loop_test(c, blocks_end_between_frames, 0, 2);
	tcase_add_test(c, broken_places_are_borne);
	tcase_add_test(c, nothing_is_an_error);
	suite_add_tcase(s, c);
	return s;
}
