// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * pass_cells.c - windows of time against a list of all blocks: what was live at each point, what
 * the peak of a window was, and what was allocated in it.
 */
#include "suites.h"

#include <stdlib.h>
#include <string.h>

#include "feed.h"
#include "pass/cells.h"

#define STACKS 5u
#define BLOCKS 300u

struct life {
	uint64_t begun, ended; /* ticks; 0: never */
	uint64_t size;
	uint32_t stack;
	bool temporary; /* freed by the next call */
};

static struct cells cells;
static struct walk walk;
static struct life life[FEED_EVENTS];
static size_t lives;

static uint32_t first_stack(void *context, uint32_t stack)
{
	(void)context;
	(void)stack;
	return 1;
}

static void run_with(size_t most, uint32_t (*same)(void *context, uint32_t stack))
{
	static const struct walk_pass pass[] = { { &cells_pass, &cells } };

	memset(&cells, 0, sizeof(cells));
	cells.most = most;
	cells.same = same;
	feed_walk(&walk, pass, 1);
}

static void run(void)
{
	run_with(0, NULL);
}

static uint64_t place(size_t i)
{
	return 0x10000 + 0x1000 * i;
}

/* Blocks come and go at random; sizes grow towards the middle of the run, then shrink. */
static void random_program(unsigned seed)
{
	struct life *at[BLOCKS] = { NULL }, *last = NULL;
	size_t i, events = FEED_EVENTS - 100;

	srandom(seed);
	lives = 0;
	while (feed.n < events) {
		i = (size_t)random() % BLOCKS;
		if (at[i]) {
			at[i]->ended = feed.ticks;
			at[i]->temporary = at[i] == last;
			feed_free(place(i));
			last = at[i] = NULL;
			continue;
		}
		last = at[i] = &life[lives++];
		at[i]->temporary = false;
		at[i]->begun = feed.ticks;
		at[i]->ended = 0;
		at[i]->size =
		    (size_t)random() % (1 + (feed.n < events / 2 ? feed.n : events - feed.n));
		at[i]->stack = 1 + (uint32_t)random() % STACKS;
		feed_alloc(MPROF_FN_MALLOC, place(i), at[i]->size);
		feed.event[feed.n - 1].stack = at[i]->stack;
	}
}

/* From the list: requested bytes live just after `ticks`; stack 0 = of all. */
static uint64_t live_at(uint64_t ticks, uint32_t stack)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < lives; i++)
		if (life[i].begun <= ticks && (!life[i].ended || life[i].ended > ticks) &&
		    (!stack || life[i].stack == stack))
			bytes += life[i].size;
	return bytes;
}

static uint64_t cells_live_at(size_t point, uint32_t stack)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < cells.count; i++)
		if (cells.cell[i].birth <= point && cells.cell[i].death > point &&
		    (!stack || cells.cell[i].stack == stack))
			bytes += cells.cell[i].bytes;
	return bytes;
}

static void check_points(size_t every)
{
	uint32_t stack;
	size_t p;

	for (p = 0; p < cells.points; p += every) {
		ck_assert_uint_eq(cells.point[p].live.bytes, live_at(cells.point[p].ticks, 0));
		for (stack = 0; stack <= STACKS; stack++)
			ck_assert_uint_eq(cells_live_at(p, stack),
					  live_at(cells.point[p].ticks, stack));
	}
}

START_TEST(every_point_is_exact)
{
	random_program(1);
	run();
	ck_assert_uint_gt(cells.points, 400);
	ck_assert_uint_le(cells.points, CELLS_STEPS + 1);
	check_points(7);
	walk_release(&walk);
}
END_TEST

/* From the list: the most that was live between two times. */
static uint64_t peak_between(uint64_t from, uint64_t to)
{
	uint64_t most = live_at(from, 0), bytes;
	size_t i;

	for (i = 0; i < lives; i++) {
		if (life[i].begun <= from || life[i].begun > to)
			continue;
		bytes = live_at(life[i].begun, 0);
		most = bytes > most ? bytes : most;
	}
	return most;
}

static void check_windows(size_t widest)
{
	uint64_t most, begun, in_cells;
	size_t from, to, p, i;
	unsigned n;

	for (n = 0; n < 6; n++) {
		from = (size_t)random() % (cells.points - widest);
		to = from + 1 + (size_t)random() % (widest - 1);
		for (p = from, most = 0; p <= to; p++)
			if (cells.point[p].live.bytes > most)
				most = cells.point[p].live.bytes;
		ck_assert_uint_eq(most,
				  peak_between(cells.point[from].ticks, cells.point[to].ticks));
		for (i = 0, begun = 0; i < lives; i++)
			begun += life[i].begun > cells.point[from].ticks &&
				 life[i].begun <= cells.point[to].ticks;
		for (i = 0, in_cells = 0; i < cells.count; i++)
			if (cells.cell[i].birth > from && cells.cell[i].birth <= to)
				in_cells += cells.cell[i].blocks;
		ck_assert_uint_eq(in_cells, begun);
		ck_assert_uint_eq(cells.point[to].calls - cells.point[from].calls, begun);
	}
}

START_TEST(every_window_is_exact)
{
	random_program(2);
	run();
	check_windows(20);
	walk_release(&walk);
}
END_TEST

/* Points go until the cells are few, and those that remain are exact. */
START_TEST(few_cells)
{
	random_program(4);
	run_with(2000, NULL);
	ck_assert(cells.coarse);
	ck_assert_uint_le(cells.count, 2000 + FEED_EVENTS / CELLS_STEPS * 8);
	ck_assert_uint_ge(cells.points, CELLS_POINTS_LEAST);
	ck_assert_uint_lt(cells.points, 100);
	check_points(1);
	check_windows(5);
	walk_release(&walk);
}
END_TEST

/* Stacks that another one represents are merged first. */
START_TEST(stacks_that_read_the_same)
{
	random_program(5);
	run_with(CELLS_STEPS * 30, first_stack);
	ck_assert(!cells.coarse);
	ck_assert_uint_gt(cells.points, 400);
	for (size_t p = 0; p < cells.points; p += 7)
		ck_assert_uint_eq(cells_live_at(p, 1), live_at(cells.point[p].ticks, 0));
	walk_release(&walk);
}
END_TEST

START_TEST(classes_and_what_stays)
{
	size_t i;

	feed_alloc(MPROF_FN_MALLOC, place(0), 0);
	feed_alloc(MPROF_FN_MALLOC, place(1), 1000);
	feed.ticks += 3000;
	feed_free(place(1));
	run();
	ck_assert_uint_eq(cells.count, 2);
	for (i = 0; i < cells.count; i++) {
		const struct cell *c = &cells.cell[i];

		if (c->bytes) {
			ck_assert_uint_eq(c->size_class, 10); /* 512 to 1023 */
			ck_assert_uint_eq(c->life_class, 12); /* 2048 to 4095 ns */
			ck_assert_uint_lt(c->death, cells.points);
		} else {
			ck_assert_uint_eq(c->size_class, 0);
			ck_assert_uint_eq(c->life_class, CELL_NEVER_FREED);
			ck_assert_uint_eq(c->death, cells.points);
		}
	}
	walk_release(&walk);
}
END_TEST

/* Cells add up to the points' figure by when blocks end, and to each stack's own. */
START_TEST(temporary_blocks)
{
	uint64_t told[STACKS + 1] = { 0 }, were[STACKS + 1] = { 0 }, ended = 0;
	size_t p, i;

	random_program(3);
	run();
	for (p = 0; p < cells.points; p++) {
		for (i = 0; i < cells.count; i++)
			if (cells.cell[i].death == p)
				ended += cells.cell[i].temporary;
		ck_assert_uint_eq(ended, cells.point[p].temporary);
	}
	for (i = 0; i < cells.count; i++)
		told[cells.cell[i].stack] += cells.cell[i].temporary;
	for (i = 0; i < lives; i++)
		were[life[i].stack] += life[i].temporary;
	ck_assert_mem_eq(told, were, sizeof(told));
	ck_assert_uint_gt(ended, 20);
	walk_release(&walk);
}
END_TEST

/* A process ends with a block, and another one continues: the block is gone, and never freed. */
START_TEST(processes_that_end)
{
	size_t i, last, seen = 0;

	feed_fact(MPROF_FACT_START, 1);
	feed_fact(MPROF_FACT_START, 2);
	feed.process = feed.thread = 2;
	feed_alloc(MPROF_FN_MALLOC, place(1), 1000);
	feed.ticks += 100;
	feed_fact(MPROF_FACT_END, 2);
	feed.ticks += 100000;
	feed.process = feed.thread = 1;
	feed_alloc(MPROF_FN_MALLOC, place(2), 70);
	run();
	last = cells.points - 1;
	ck_assert_uint_eq(cells.point[last].live.bytes, 70);
	ck_assert_uint_eq(cells_live_at(last, 0), 70);
	for (i = 0; i < cells.count; i++)
		seen += cells.cell[i].life_class == CELL_NEVER_FREED;
	ck_assert_uint_eq(seen, 2);
	walk_release(&walk);
}
END_TEST

/* A process is sampled long after its last call, and between two calls that are far apart; another
 * one has ended by then. */
START_TEST(quiet_times)
{
	size_t i, at[3] = { 0 };

	feed_fact(MPROF_FACT_START, 1);
	feed_fact(MPROF_FACT_START, 2);
	feed_alloc(MPROF_FN_MALLOC, place(1), 1000);
	feed_alloc(MPROF_FN_MALLOC, place(2), 500);
	feed_free(place(2));
	feed.process = feed.thread = 2;
	feed_alloc(MPROF_FN_MALLOC, place(4), 300);
	feed.ticks += 100000;
	feed_fact(MPROF_FACT_END, 2);
	feed.process = feed.thread = 1;
	feed.sample[0].ticks = feed.ticks + 500000;
	feed.ticks += 1000000;
	feed_alloc(MPROF_FN_MALLOC, place(3), 70);
	feed.sample[1].ticks = feed.ticks + 700000;
	feed.sample_count = 2;
	feed.ticks += 2000000;
	feed_fact(MPROF_FACT_END, 1);
	run();
	for (i = 0; i < cells.points; i++) {
		if (i)
			ck_assert_uint_gt(cells.point[i].ticks, cells.point[i - 1].ticks);
		ck_assert_uint_eq(cells_live_at(i, 0), cells.point[i].live.bytes);
		for (size_t k = 0; k < 2; k++)
			if (cells.point[i].ticks == feed.sample[k].ticks)
				at[k] = cells.point[i].live.bytes;
	}
	at[2] = cells.point[cells.points - 1].live.bytes;
	ck_assert_uint_eq(at[0], 1000);
	ck_assert_uint_eq(at[1], 1070);
	ck_assert_uint_eq(at[2], 1070);
	ck_assert_uint_eq(cells.point[cells.points - 1].ticks, feed.facts[3].fact->ticks - 1001);
	walk_release(&walk);
}
END_TEST

/* In a damaged trace, a process may call exec long after the last event.  The pass must not step
 * through that time. */
START_TEST(exec_after_the_end)
{
	feed_fact(MPROF_FACT_START, 1);
	feed_alloc(MPROF_FN_MALLOC, place(1), 1000);
	feed.ticks += 1ull << 50;
	feed_fact(MPROF_FACT_EXEC, 1);
	run();
	ck_assert_uint_eq(cells_live_at(cells.points - 1, 0), 0);
	ck_assert_uint_eq(cells.point[cells.points - 1].live.bytes, 0);
	walk_release(&walk);
}
END_TEST

START_TEST(nothing_at_all)
{
	run();
	ck_assert_uint_eq(cells.count, 0);
	ck_assert_uint_le(cells.points, 1);
	walk_release(&walk);
}
END_TEST

Suite *pass_cells_suite(void)
{
	Suite *s = suite_create("pass_cells");
	TCase *c = tcase_create("cells");

	tcase_add_checked_fixture(c, feed_start, NULL);
	tcase_add_test(c, every_point_is_exact);
	tcase_add_test(c, every_window_is_exact);
	tcase_add_test(c, few_cells);
	tcase_add_test(c, stacks_that_read_the_same);
	tcase_add_test(c, classes_and_what_stays);
	tcase_add_test(c, temporary_blocks);
	tcase_add_test(c, processes_that_end);
	tcase_add_test(c, quiet_times);
	tcase_add_test(c, exec_after_the_end);
	tcase_add_test(c, nothing_at_all);
	suite_add_tcase(s, c);
	return s;
}
