// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * places_memory.c - pages, pins and the memory of a run, against a model that
 * keeps every byte: random blocks are begun and ended, and after each step the
 * model is counted from the beginning.
 */
#include "suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "places/memory_use.h"

#define BASE  0x7f0000000000ull
#define SPACE (12ull << 20) /* six regions of 2 MiB */
#define SLOTS 400u

static struct {
	uint8_t owner[SPACE]; /* slot + 1 modulo 256; 0: free.  A block of no bytes has one. */
	struct place_block block[SLOTS]; /* addr 0 = unused */
	uint64_t random;
} model;

static uint64_t random_below(uint64_t n)
{
	model.random = model.random * 6364136223846793005ull + 1442695040888963407ull;
	return (model.random >> 33) % n;
}

static uint64_t held(uint64_t size)
{
	return size ? size : 1;
}

/* Sizes of all kinds: none, small, about a page, several pages, regions. */
static uint64_t random_size(void)
{
	static const uint64_t most[] = { 1, 65, 300, 5000, 20000, 200000, 5000000 };
	uint64_t kind = random_below(60);

	return random_below(most[kind < 50 ? kind % 4 : kind < 57 ? 4 : kind < 59 ? 5 : 6]);
}

/* Finds a free place for this many bytes, or 0. */
static uint64_t random_place(uint64_t size)
{
	uint64_t at, i, tries;

	for (tries = 0; tries < 20; tries++) {
		at = random_below(SPACE - held(size) + 1);
		if (!random_below(4))
			at = at / 4096 * 4096;
		for (i = 0; i < held(size) && !model.owner[at + i]; i++)
			;
		if (i == held(size))
			return BASE + at;
	}
	return 0;
}

static struct place_block *random_block(uint64_t op)
{
	uint32_t slot = (uint32_t)random_below(SLOTS);
	struct place_block *b = &model.block[slot];

	if (b->addr)
		return b;
	b->size = random_size();
	b->addr = random_place(b->size);
	b->usable = b->size + random_below(17);
	b->site = 1 + (uint32_t)random_below(5);
	b->slot = slot;
	b->op = op;
	if (b->addr)
		memset(model.owner + (b->addr - BASE), (int)slot % 255 + 1, held(b->size));
	return b->addr ? b : NULL;
}

static void model_end(struct place_block *b)
{
	memset(model.owner + (b->addr - BASE), 0, held(b->size));
	b->addr = 0;
}

static uint64_t model_live(uint64_t at, uint64_t bytes)
{
	uint64_t live = 0, i;

	for (i = 0; i < bytes; i++)
		live += model.owner[at + i] != 0;
	return live;
}

static uint64_t model_pages(unsigned shift)
{
	uint64_t n = 0, at;

	for (at = 0; at < SPACE; at += 1ull << shift)
		n += model_live(at, 1ull << shift) != 0;
	return n;
}

static void model_start(uint64_t seed)
{
	memset(&model, 0, sizeof(model));
	model.random = seed;
}

static void check_pages(const struct page_use *u)
{
	uint64_t pins[PAGE_PINS] = { 0 }, got[PAGE_PINS], at, live;

	for (at = 0; at < SPACE; at += 4096) {
		live = model_live(at, 4096);
		if (live)
			pins[live == 4096 ? 4 : live >= 1024 ? 3 : live >= 256 ? 2 : live >= 64]++;
	}
	page_use_pins(u, got);
	ck_assert_mem_eq(got, pins, sizeof(pins));
	ck_assert_uint_eq(u->live[GRAIN_4K], model_pages(12));
	ck_assert_uint_eq(u->live[GRAIN_64K], model_pages(16));
	ck_assert_uint_eq(u->live[GRAIN_2M], model_pages(21));
}

START_TEST(pages_are_as_in_the_model)
{
	struct page_use u = { .last = NULL };
	struct place_block *b;
	unsigned step;
	bool lives;

	model_start((uint64_t)_i + 1);
	/* One block covers whole regions: aligned in the first round, beginning anywhere in others.
	 */
	model.block[0] = (struct place_block){
		.addr = BASE + (4ull << 20) + (_i ? random_below(100000) : 0),
		.size = (4ull << 20) + (_i ? random_below(3000000) : 0),
	};
	memset(model.owner + (model.block[0].addr - BASE), 1, model.block[0].size);
	page_use_add(&u, model.block[0].addr, model.block[0].size);
	for (step = 0; step < 3000; step++) {
		b = &model.block[random_below(step < 1000 ? SLOTS - 1 : SLOTS)];
		b += step < 1000;
		lives = b->addr;
		if (lives) {
			page_use_remove(&u, b->addr, b->size);
			model_end(b);
		} else {
			b = random_block(step);
			if (b && b->op == step)
				page_use_add(&u, b->addr, b->size);
		}
		if (step % 500 == 499)
			check_pages(&u);
	}
	for (b = model.block; b < model.block + SLOTS; b++)
		if (b->addr)
			page_use_remove(&u, b->addr, b->size);
	ck_assert_uint_eq(u.live[GRAIN_4K] + u.live[GRAIN_64K] + u.live[GRAIN_2M], 0);
	page_use_release(&u);
}
END_TEST

/* However blocks overlap, removing each as it was added leaves nothing. */
START_TEST(overlapping_blocks_cancel_out)
{
	static const struct {
		uint64_t addr, size;
	} over[] = { { BASE, 8u << 20 },
		     { BASE + 100, 4096 },
		     { BASE + 4096, 4096 },
		     { BASE + 100, 3u << 20 },
		     { BASE + (1 << 20), 100 },
		     { BASE, 2u << 20 },
		     { BASE, 0 },
		     { UINT64_MAX - 10, 100 } };
	struct page_use u = { .last = NULL };
	size_t i;

	for (i = 0; i < 8; i++)
		page_use_add(&u, over[i].addr, over[i].size);
	for (i = 0; i < 8; i++)
		page_use_remove(&u, over[(i * 3) % 8].addr, over[(i * 3) % 8].size);
	ck_assert_uint_eq(u.live[GRAIN_4K] + u.live[GRAIN_64K] + u.live[GRAIN_2M], 0);
	page_use_release(&u);
}
END_TEST

START_TEST(resident_pages_without_a_live_byte_are_retained)
{
	struct page_use u = { .last = NULL };
	uint8_t bits[2][SPACE / 4096 / 8 / 2 + 8] = { { 0 } };
	/* Two ranges, the second one before the first, and the border in a region. */
	const uint64_t half = SPACE / 2 - 5 * 4096;
	const struct place_range range[2] = {
		{ BASE + half, (SPACE - half) / 4096, bits[1] },
		{ BASE, half / 4096, bits[0] },
	};
	uint64_t retained = 0, page, local;
	struct place_block *b;
	unsigned i;

	model_start((uint64_t)_i + 77);
	for (i = 0; i < 300; i++) {
		b = random_block(i);
		if (b && b->op == i)
			page_use_add(&u, b->addr, b->size);
	}
	for (page = 0; page < SPACE / 4096; page++) {
		local = page < half / 4096 ? page : page - half / 4096;
		if (random_below(3) || page / 64 % 3 == 1)
			continue; /* with long runs of nothing */
		bits[page >= half / 4096][local / 8] |= (uint8_t)(1 << local % 8);
		retained += !model_live(page * 4096, 4096);
	}
	ck_assert_uint_eq(page_use_retained(&u, range, 2), retained);
	page_use_release(&u);
}
END_TEST

/* ---- pins ---- */

static void model_pins(uint64_t pages[8], uint64_t bytes[8])
{
	uint64_t at, live, of[8], i, most;
	uint32_t s;

	for (at = 0; at < SPACE; at += 4096) {
		live = model_live(at, 4096);
		if (!live || live >= PAGE_PINNED)
			continue;
		memset(of, 0, sizeof(of));
		for (i = 0; i < SLOTS; i++) {
			const struct place_block *b = &model.block[i];
			uint64_t from = b->addr - BASE, to = from + held(b->size), x;

			if (!b->addr || to <= at || from >= at + 4096)
				continue;
			for (x = from > at ? from : at; x < to && x < at + 4096; x++)
				of[b->site]++;
		}
		for (most = 1, s = 1; s < 8; s++) {
			bytes[s] += of[s];
			most = of[s] > of[most] ? s : most;
		}
		pages[most]++;
	}
}

START_TEST(pins_belong_to_sites)
{
	struct page_use u = { .last = NULL };
	struct pin_block block[SLOTS];
	uint64_t pages[8] = { 0 }, bytes[8] = { 0 }, all = 0;
	struct pins pins = { .pages = 0 };
	struct place_block *b;
	unsigned i;

	model_start((uint64_t)_i + 5);
	for (i = 0; i < 2000; i++) {
		b = random_block(i);
		if (!b || b->op != i)
			continue;
		page_use_add(&u, b->addr, b->size);
	}
	for (i = 0; i < SLOTS; i++)
		block[i] = (struct pin_block){ model.block[i].addr, model.block[i].size,
					       model.block[i].site };
	model_pins(pages, bytes);
	pins_make(&pins, &u, block, SLOTS);
	for (i = 0; i < pins.sites; i++) {
		ck_assert_uint_eq(pins.site[i].pages, pages[pins.site[i].site]);
		ck_assert_uint_eq(pins.site[i].bytes, bytes[pins.site[i].site]);
		ck_assert(!i || pins.site[i].pages <= pins.site[i - 1].pages);
		all += pins.site[i].pages;
	}
	ck_assert_uint_eq(pins.sites, 5);
	ck_assert_uint_eq(pins.pages, all);
	ck_assert_uint_gt(all, 20);
	pins_release(&pins);
	page_use_release(&u);
}
END_TEST

/* A block that reaches four bytes into a page holds it as one that begins there does. */
START_TEST(a_tail_pins_too)
{
	const struct pin_block block[] = { { BASE + 4096 - 100, 104, 7 },
					   { BASE + 8192, 0, 3 },
					   { 0, 10, 9 },
					   { BASE + 8192 + 10, 1, 2 } };
	struct page_use u = { .last = NULL };
	struct pins pins = { .pages = 0 };
	size_t i;

	for (i = 0; i < 4; i++)
		if (block[i].addr)
			page_use_add(&u, block[i].addr, block[i].size);
	pins_make(&pins, &u, block, 4);
	ck_assert_uint_eq(pins.pages, 2);
	ck_assert_uint_eq(pins.sites, 3);
	ck_assert_uint_eq(pins.site[0].site, 7);
	ck_assert_uint_eq(pins.site[0].bytes, 4);
	ck_assert_uint_eq(pins.site[0].blocks, 1);
	/* One byte each: the lower number has the page. */
	ck_assert_uint_eq(pins.site[1].site, 2);
	ck_assert_uint_eq(pins.site[1].pages, 1);
	ck_assert_uint_eq(pins.site[2].pages, 0);
	pins_release(&pins);
	page_use_release(&u);
}
END_TEST

/* ---- Johnstone and Wilson ---- */

START_TEST(four_measures)
{
	struct johnstone j = { .peak = 100 << 20 };
	const uint64_t mib = 1 << 20;

	johnstone_add(&j, 10, 50 * mib, 100 * mib);  /* 1.0 */
	johnstone_add(&j, 40, 100 * mib, 120 * mib); /* 0.2, for three times as many calls */
	johnstone_add(&j, 40, 90 * mib, 130 * mib);  /* the program waits */
	johnstone_add(&j, 50, 40 * mib, 140 * mib);  /* 2.5 */
	johnstone_add(&j, 60, mib, 130 * mib);	     /* too little lives */
	johnstone_add(&j, 70, 0, 130 * mib);
	johnstone_add(&j, 80, 10 * mib, 0); /* not known */
	johnstone_finish(&j);
	ck_assert(j.known && j.realized_known);
	ck_assert_uint_eq(j.samples, 4);
	ck_assert_double_eq_tol(j.average, (1.0 + 3 * 0.2 + 2.5) / 5, 1e-9);
	ck_assert_double_eq_tol(j.at_live_peak, 0.2, 1e-9);
	ck_assert_double_eq_tol(j.at_memory_peak, 2.5, 1e-9);
	ck_assert_double_eq_tol(j.of_peaks, 0.4, 1e-9);
}
END_TEST

/* Values with few samples, or samples away from the peak, are not measures. */
START_TEST(measures_need_samples)
{
	struct johnstone j = { .peak = 100 << 20, .least = 3 };
	const uint64_t mib = 1 << 20;

	johnstone_add(&j, 1, 98 * mib, 100 * mib);
	johnstone_finish(&j);
	ck_assert(!j.known && !j.live_known && !j.average_known && !j.realized_known);
	johnstone_add(&j, 2, 99 * mib, 100 * mib);
	johnstone_finish(&j);
	ck_assert(j.known && j.live_known && !j.average_known && !j.realized_known);
	johnstone_add(&j, 3, 50 * mib, 110 * mib);
	johnstone_finish(&j);
	ck_assert(j.known && j.live_known && j.average_known && j.realized_known);
}
END_TEST

START_TEST(a_small_heap_has_no_measures)
{
	struct johnstone j = { .peak = 1000 };

	johnstone_add(&j, 1, 1000, 1 << 20);
	johnstone_finish(&j);
	ck_assert(!j.known && !j.realized_known);
	/* A large one that is small when most is in memory. */
	j = (struct johnstone){ .peak = 10 << 20 };
	johnstone_add(&j, 1, 10 << 20, 11 << 20);
	johnstone_add(&j, 2, 1 << 20, 12 << 20);
	johnstone_finish(&j);
	ck_assert(j.known && !j.realized_known);
}
END_TEST

/* ---- the whole ---- */

static const struct place_ops *const ops = &memory_ops;

static void begin(struct memory *m, uint32_t slot, uint64_t addr, uint64_t size, uint64_t op)
{
	struct place_block *b = &model.block[slot];

	*b = (struct place_block){ .addr = addr,
				   .size = size,
				   .usable = size + 8,
				   .op = op,
				   .site = 1 + slot % 3,
				   .slot = slot };
	ops->begin(m, b);
}

static void end(struct memory *m, uint32_t slot, uint64_t op)
{
	ops->end(m, &model.block[slot], op, op);
	model.block[slot].addr = 0;
}

/*
 * A recorded run: 1000 blocks of 100 bytes, in memory as somebody saw it after
 * `seen` of them.  Known at the peak when that was a moment ago, not else.
 */
static uint64_t resident_at_peak(uint64_t seen)
{
	const struct place_start start = {
		.title = "recorded", .ops = 1000, .peak_op = 999, .peak_bytes = 100000
	};
	struct place_sample s = { .op = seen, .anon = 200000 };
	struct memory m;
	uint64_t resident;
	uint32_t i;

	memory_init(&m);
	ops->start(&m, &start);
	for (i = 0; i < 1000; i++) {
		if (i == seen)
			ops->sample(&m, &s);
		begin(&m, i % SLOTS, BASE + 128 * i, 100, i);
	}
	s.op = 1000;
	if (seen == 1000)
		ops->sample(&m, &s);
	ops->frame(&m, &s, NULL, 0);
	ops->finish(&m);
	ck_assert(m.moment[MEMORY_PEAK].known);
	resident = m.moment[MEMORY_PEAK].at.resident;
	memory_release(&m);
	return resident;
}

START_TEST(a_stale_sample_is_none)
{
	ck_assert_uint_eq(resident_at_peak(1000), 200000);
	ck_assert_uint_eq(resident_at_peak(995), 200000);
	ck_assert_uint_eq(resident_at_peak(980), 0);
	ck_assert_uint_eq(resident_at_peak(520), 0);
	ck_assert_uint_eq(resident_at_peak(2000), 0);
}
END_TEST

/*
 * 100 pages of 100 blocks of 40 bytes; then all but one of each page go, and one
 * page of the allocator's own is resident besides.
 */
START_TEST(a_heap_that_is_pinned)
{
	struct memory m;
	uint8_t bits[16];
	const struct place_range range = { BASE, 101, bits };
	const struct place_start start = {
		.title = "model",
		.ops = 10000 + 9900,
		.peak_op = 9999,
		.peak_bytes = 400000,
		.has_residency = true,
	};
	struct place_sample s = { .rss = 101 * 4096 };
	const struct memory_snapshot *peak = &m.moment[MEMORY_PEAK], *most, *last;
	static struct place_block block[10000];
	uint64_t op = 0;
	unsigned i;

	memset(bits, 0xff, sizeof(bits));
	memory_init(&m);
	ops->start(&m, &start);
	for (i = 0; i < 10000; i++, op++) {
		block[i] = (struct place_block){ .addr = BASE + i / 100 * 4096 + i % 100 * 40,
						 .size = 40,
						 .usable = 40,
						 .op = op,
						 .site = i % 100 ? 1 : 2,
						 .slot = i };
		ops->begin(&m, &block[i]);
	}
	s.op = op;
	ops->frame(&m, &s, &range, 1);
	for (i = 0; i < 10000; i++)
		if (i % 100) {
			ops->end(&m, &block[i], op, op);
			op++;
		}
	s.op = op;
	ops->frame(&m, &s, &range, 1);
	ops->finish(&m);
	most = &m.moment[MEMORY_RETAINED];
	last = &m.moment[MEMORY_END];
	ck_assert_uint_eq(m.most_requested, 400000);
	ck_assert_uint_eq(peak->at.requested, 400000);
	ck_assert_uint_eq(peak->at.live[GRAIN_4K], 100);
	ck_assert_uint_eq(peak->at.live[GRAIN_64K], 7);
	ck_assert_uint_eq(peak->at.live[GRAIN_2M], 1);
	ck_assert_uint_eq(peak->pinned[PINS_4K], 100);
	ck_assert_uint_eq(peak->retained, 1);
	ck_assert_uint_eq(memory_retained(peak), 4096);
	ck_assert_double_eq_tol(m.use[GRAIN_4K].at_peak, 400000.0 / 409600, 1e-9);
	ck_assert_double_eq_tol(memory_density(peak), 400000.0 / (101 * 4096), 1e-9);
	ck_assert_uint_eq(last->pinned[PINS_64], 100);
	ck_assert_uint_eq(last->pins.pages, 100);
	ck_assert_uint_eq(last->pins.sites, 1);
	ck_assert_uint_eq(last->pins.site[0].site, 2);
	ck_assert_uint_eq(last->pins.site[0].bytes, 4000);
	/* The first of equals. */
	ck_assert_uint_eq(most->at.op, 10000);
	memory_release(&m);
}
END_TEST

START_TEST(classes_of_sizes)
{
	uint64_t size, least = 0;
	unsigned class, last = 0;

	for (size = 0; size < 100000; size++) {
		class = memory_class_of(size);
		ck_assert_uint_le(size, memory_class_most(class));
		ck_assert(class == last || class == last + 1);
		if (class != last)
			ck_assert_uint_eq(memory_class_most(last), size - 1);
		last = class;
	}
	for (size = 1ull << 20; size; size <<= 1) {
		class = memory_class_of(size);
		ck_assert_uint_eq(memory_class_most(class), size);
		ck_assert_uint_eq(memory_class_of(size + 1), class + 1);
		ck_assert_uint_gt(size, least);
		least = size;
	}
	ck_assert_uint_lt(memory_class_of(UINT64_MAX), MEMORY_CLASSES);
	ck_assert_uint_eq(memory_class_most(memory_class_of(UINT64_MAX)), UINT64_MAX);
	ck_assert_uint_eq(memory_class_of(128), 8);
	ck_assert_uint_eq(memory_class_of(129), 9);
	ck_assert_uint_eq(memory_class_most(9), 160);
}
END_TEST

/* Many more calls than points: sums and the curve are as they should be all the way. */
START_TEST(curves_and_classes)
{
	const uint64_t n = 4000;
	const struct place_start start = {
		.title = "x", .ops = 2 * n, .peak_op = n - 1, .peak_bytes = 100 * n
	};
	const struct memory_class *c;
	struct memory m;
	uint64_t i;
	static struct place_block block[4000];

	memory_init(&m);
	ops->start(&m, &start);
	for (i = 0; i < n; i++) {
		block[i] = (struct place_block){ .addr = BASE + i * 4096,
						 .size = 100,
						 .usable = 104,
						 .op = i,
						 .slot = (uint32_t)i };
		ops->begin(&m, &block[i]);
	}
	ops->frame(&m, &(struct place_sample){ .op = n }, NULL, 0);
	for (i = 0; i < n; i++)
		ops->end(&m, &block[i], n + i, n + i);
	ops->frame(&m, &(struct place_sample){ .op = 2 * n }, NULL, 0);
	ops->finish(&m);
	ck_assert_uint_gt(m.points, 400);
	for (i = 0; i < m.points; i++) {
		const struct memory_point *p = &m.point[i];
		const uint64_t live = p->op <= n ? p->op : 2 * n - p->op;

		ck_assert(!i || p->op == p[-1].op + m.point[0].op);
		ck_assert_uint_eq(p->blocks, live);
		ck_assert_uint_eq(p->requested, 100 * live);
		ck_assert_uint_eq(p->usable, 104 * live);
		ck_assert_uint_eq(p->live[GRAIN_4K], live);
	}
	c = &m.class[memory_class_of(100)];
	ck_assert_uint_eq(c->births, n);
	ck_assert_uint_eq(c->births_usable, n);
	ck_assert_uint_eq(c->usable - c->requested, 4 * n);
	ck_assert_uint_eq(c->peak.blocks, n);
	ck_assert_uint_eq(c->most, 100 * n);
	ck_assert_uint_eq(c->live.blocks, 0);
	ck_assert(!m.moment[MEMORY_PEAK].has_residency);
	ck_assert_double_eq_tol(m.use[GRAIN_4K].min, 100.0 / 4096, 1e-9);
	/* Without residency: where live pages beyond the live bytes are most, at the peak. */
	ck_assert_uint_eq(m.moment[MEMORY_RETAINED].at.op, n);
	ck_assert_uint_eq(m.moment[MEMORY_END].at.blocks, 0);
	memory_release(&m);
}
END_TEST

/* realloc is an end and a begin of one op, and between both no point is taken. */
START_TEST(a_realloc_is_one_call)
{
	const struct place_start start = {
		.title = "x", .ops = 3, .peak_op = 1, .peak_bytes = 500
	};
	struct memory m;

	model_start(0);
	memory_init(&m);
	ops->start(&m, &start);
	begin(&m, 0, BASE, 100, 0);
	end(&m, 0, 1);
	begin(&m, 0, BASE + 4096, 500, 1);
	end(&m, 0, 2);
	ops->finish(&m);
	ck_assert_uint_eq(m.points, 3);
	ck_assert_uint_eq(m.point[0].requested, 100);
	ck_assert_uint_eq(m.point[1].requested, 500);
	ck_assert_uint_eq(m.point[2].requested, 0);
	ck_assert_uint_eq(m.births, 2);
	memory_release(&m);
}
END_TEST

Suite *places_memory_suite(void)
{
	Suite *s = suite_create("places_memory");
	TCase *pages = tcase_create("pages"), *whole = tcase_create("whole");

	tcase_add_loop_test(pages, pages_are_as_in_the_model, 0, 4);
	tcase_add_test(pages, overlapping_blocks_cancel_out);
	tcase_add_loop_test(pages, resident_pages_without_a_live_byte_are_retained, 0, 4);
	tcase_add_loop_test(pages, pins_belong_to_sites, 0, 4);
	tcase_add_test(pages, a_tail_pins_too);
	suite_add_tcase(s, pages);
	tcase_add_test(whole, four_measures);
	tcase_add_test(whole, measures_need_samples);
	tcase_add_test(whole, a_small_heap_has_no_measures);
	tcase_add_test(whole, a_stale_sample_is_none);
	tcase_add_test(whole, a_heap_that_is_pinned);
	tcase_add_test(whole, classes_of_sizes);
	tcase_add_test(whole, curves_and_classes);
	tcase_add_test(whole, a_realloc_is_one_call);
	suite_add_tcase(s, whole);
	return s;
}
