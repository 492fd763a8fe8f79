// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * whatif_change.c - what if: scripts of calls, compiled as they are and changed.
 *
 * A site is its own number here, and "7" as a function is site 7; "*" is all of
 * them.  Random scripts are changed by the rules and, naively, by the test.
 */
#include "suites.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "play_feed.h"
#include "whatif/change.h"

#define CALLS 5000

static struct {
	struct played_call call[CALLS];
	size_t n;
} script;

static struct change_rule rule[4];
static size_t rules;
static char text[1 << 16];

/* ---- scripts ---- */

static void begin_script(void)
{
	memset(&script, 0, sizeof(script));
	while (rules)
		change_rule_release(&rule[--rules]);
}

static void add(uint32_t thread, uint8_t fn, uint64_t old, uint64_t addr, uint64_t size,
		uint32_t site)
{
	ck_assert_uint_lt(script.n, CALLS);
	script.call[script.n++] = (struct played_call){
		.fn = fn,
		.thread = thread,
		.process = 1,
		.old = old << 12,
		.addr = addr << 12,
		.size = size,
		.site = site,
	};
}

static void get(uint64_t addr, uint64_t size, uint32_t site)
{
	add(1, MPROF_FN_MALLOC, 0, addr, size, site);
}

static void put(uint64_t old)
{
	add(1, MPROF_FN_FREE, old, 0, 0, 0);
}

static void resize(uint64_t old, uint64_t addr, uint64_t size, uint32_t site)
{
	add(1, MPROF_FN_REALLOC, old, addr, size, site);
}

static void add_rule(enum change_kind kind, const char *how)
{
	struct error err;

	ck_assert_msg(!change_parse(&rule[rules++], kind, how, &err), "%s", err.text);
}

static bool matches(void *context, const struct change_rule *r, uint32_t site)
{
	char name[16];

	(void)context;
	snprintf(name, sizeof(name), "%u", site);
	return !fnmatch(r->function, name, 0);
}

/* Feeds the script; the file stays open in `played`. */
static void play(const struct compile_change *change)
{
	size_t i;

	played.options.change = change;
	played_start();
	for (i = 0; i < script.n; i++)
		played_call(&script.call[i]);
	played_finish();
	played.options.change = NULL;
}

/* The script as the rules change it, as text; sums in played.sum. */
static const char *changed(void)
{
	const struct change_plan plan = { .rule = rule, .rules = rules, .matches = matches };
	struct compile_change hook;
	struct change *c = change_new(&plan);

	if (change_needs_collect(c)) {
		hook = change_collect(c);
		play(&hook);
		ck_assert_uint_eq(played.sum.calls, 1);
		played_release();
	}
	hook = change_apply(c);
	play(&hook);
	ck_assert_uint_eq(played.sum.unknown_frees + played.sum.double_allocations, 0);
	ck_assert_uint_eq(played.sum.inversions, 0);
	snprintf(text, sizeof(text), "%s", played_order());
	played_release();
	change_free(c);
	return text;
}

/* ---- rules as text ---- */

START_TEST(rules_are_read)
{
	static const struct {
		enum change_kind kind;
		const char *text, *why;
	} bad[] = {
		{ CHANGE_DROP, "", "a function (parse), a line (parse:29) or a stack (stack:17)" },
		{ CHANGE_POOL, ",free-list",
		  "a function (parse), a line (parse:29) or a stack (stack:17)" },
		{ CHANGE_DROP, "stack:x", "stack:N with a number from a view of mprof report" },
		{ CHANGE_DROP, "f:0", "a line number from 1 after the colon" },
		{ CHANGE_POOL, "f,chunk=9", "a chunk of 256 bytes to 1 GiB, not '9'" },
		{ CHANGE_RESIZE, "f",
		  "SITE=SIZE or SITE=xFACTOR, such as parse*=64 or parse*=x0.5" },
		{ CHANGE_RESIZE, "f=x",
		  "SITE=SIZE or SITE=xFACTOR, such as parse*=64 or parse*=x0.5" },
		{ CHANGE_RESIZE, "f=x-1",
		  "SITE=SIZE or SITE=xFACTOR, such as parse*=64 or parse*=x0.5" },
	};
	struct change_rule r;
	struct error err;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_int_lt(change_parse(&r, bad[i].kind, bad[i].text, &err), 0);
		ck_assert_str_eq(err.text, bad[i].why);
		change_rule_release(&r);
	}
	ck_assert_int_eq(
	    change_parse(&r, CHANGE_POOL, "map<int, char>::f,chunk=1M,free-list", &err), 0);
	ck_assert_str_eq(r.function, "map<int, char>::f");
	ck_assert_uint_eq(r.chunk, 1 << 20);
	ck_assert(r.free_list);
	change_rule_release(&r);
	ck_assert_int_eq(change_parse(&r, CHANGE_POOL, "f", &err), 0);
	ck_assert_uint_eq(r.chunk, 65536);
	ck_assert(!r.free_list);
	change_rule_release(&r);
	ck_assert_int_eq(change_parse(&r, CHANGE_RESIZE, "operator==4k", &err), 0);
	ck_assert_str_eq(r.function, "operator=");
	ck_assert_uint_eq(r.size, 4096);
	change_rule_release(&r);
	ck_assert_int_eq(change_parse(&r, CHANGE_RESIZE, "f=x0.5", &err), 0);
	ck_assert_double_eq_tol(r.factor, 0.5, 1e-12);
	change_rule_release(&r);
	ck_assert_int_eq(change_parse(&r, CHANGE_POOL, "ns::f:29,chunk=1M", &err), 0);
	ck_assert_str_eq(r.site, "ns::f:29");
	ck_assert_str_eq(r.function, "ns::f");
	ck_assert_uint_eq(r.line, 29);
	change_rule_release(&r);
	ck_assert_int_eq(change_parse(&r, CHANGE_DROP, "ns::0", &err), 0);
	ck_assert_str_eq(r.function, "ns::0");
	ck_assert_uint_eq(r.line, 0);
	change_rule_release(&r);
	ck_assert_int_eq(change_parse(&r, CHANGE_RESIZE, "stack:17=x2", &err), 0);
	ck_assert_uint_eq(r.stack, 17);
	ck_assert_ptr_null(r.function);
	change_rule_release(&r);
}
END_TEST

/* ---- drop and resize ---- */

START_TEST(dropped_blocks_were_never_there)
{
	begin_script();
	get(1, 100, 7);
	get(2, 50, 8);
	resize(1, 3, 200, 7); /* stays away */
	resize(3, 4, 300, 8); /* site 8 would have asked for it itself */
	resize(2, 5, 60, 7);  /* goes */
	put(4);
	put(5);
	add_rule(CHANGE_DROP, "7");
	ck_assert_str_eq(changed(), "m0:50 m1:300 f0 f1 -0 E");
	ck_assert_uint_eq(rule[0].blocks, 3);
	ck_assert_uint_eq(rule[0].bytes, 360);
}
END_TEST

START_TEST(sizes_are_changed)
{
	begin_script();
	get(1, 100, 7);
	get(2, 100, 8);
	resize(1, 1, 201, 7);
	resize(2, 3, 10, 9);
	add_rule(CHANGE_RESIZE, "7=x0.5");
	add_rule(CHANGE_RESIZE, "[89]=64");
	ck_assert_str_eq(changed(), "m0:50 m1:64 r0:100 r1:64 -0 E");
	ck_assert_uint_eq(rule[0].blocks, 2);
	ck_assert_uint_eq(rule[1].blocks, 2);
}
END_TEST

/* ---- pools ---- */

START_TEST(changed_blocks_keep_their_touched_bytes)
{
	static const struct mprof_page_run run[] = { { 4, 2 }, { 21, 1 } };
	static const struct mprof_residency head = { .ticks_before = 0 };

	begin_script();
	get(1, 20000, 7);
	get(20, 20000, 9);
	resize(20, 20, 40000, 9);
	get(4, 20000, 8);
	put(1);
	add_rule(CHANGE_DROP, "7");
	add_rule(CHANGE_RESIZE, "8=x2");
	add_rule(CHANGE_RESERVE, "9");
	played.options.touch = true;
	played.residency[0] =
	    (struct trace_residency){ .process = 1, .head = &head, .run = run, .runs = 2 };
	played.residency_count = 1;
	ck_assert_str_eq(changed(), "m0:40000 b4096 m1:40000 b8192 -0 E");
}
END_TEST

START_TEST(a_bump_pool)
{
	unsigned i;

	begin_script();
	/* Three chunks of 1024 bytes: 64 blocks of 16 bytes each, the last one half full. */
	for (i = 0; i < 160; i++)
		get(100 + i, 10, 7);
	get(1, 257, 7); /* too large for it */
	get(2, 300, 7);
	get(3, 260, 7);
	for (i = 0; i < 63; i++)
		put(100 + i);
	put(1);
	for (i = 64; i < 159; i++)
		put(100 + i); /* all of the second chunk, all but one of the third */
	put(163);	      /* the last one of the first */
	put(259);	      /* a new chunk begins */
	add_rule(CHANGE_POOL, "7,chunk=1k");
	ck_assert_str_eq(changed(), "m0:1024 m1:1024 m2:1024 m3:257 m4:300 m5:260 f3 f1 f0 -0 E");
	ck_assert_uint_eq(rule[0].blocks, 160);
	ck_assert_uint_eq(rule[0].bytes, 1600);
	ck_assert_uint_eq(rule[0].chunks, 3);
	ck_assert_uint_eq(rule[0].refused, 3);
	ck_assert_uint_eq(rule[0].refused_bytes, 817);
	ck_assert_uint_eq(rule[0].refused_most, 300);
}
END_TEST

START_TEST(a_free_list_uses_room_again)
{
	unsigned i, round;

	begin_script();
	for (round = 0; round < 10; round++) {
		for (i = 0; i < 32; i++)
			get(100 + i, 20 + i % 10, 7); /* class of 32 bytes: 32 a chunk */
		for (i = 0; i < 32; i++)
			put(100 + i);
	}
	get(1, 100, 7);	      /* another class: of 112 bytes */
	resize(1, 2, 110, 7); /* stays where it is */
	resize(2, 3, 120, 7); /* class of 128 */
	resize(3, 4, 130, 9); /* not of the pool any more: what it had there is free */
	add_rule(CHANGE_POOL, "7,chunk=1k,free-list");
	ck_assert_str_eq(changed(), "m0:1024 m1:1024 m2:1024 m3:130 -0 E");
	ck_assert_uint_eq(rule[0].chunks, 3);
}
END_TEST

START_TEST(an_empty_chunk_goes_when_another_has_room)
{
	unsigned i;

	begin_script();
	for (i = 0; i < 96; i++)
		get(100 + i, 32, 7); /* three full chunks */
	for (i = 0; i < 96; i += 2)
		put(100 + i); /* half of each */
	for (i = 1; i < 64; i += 2)
		put(100 + i); /* all of two */
	add_rule(CHANGE_POOL, "7,chunk=1k,free-list");
	ck_assert_str_eq(changed(), "m0:1024 m1:1024 m2:1024 f0 f1 -0 E");
}
END_TEST

/* ---- chains ---- */

START_TEST(a_chain_of_reallocs_is_one_block)
{
	unsigned i;

	begin_script();
	get(1, 16, 3);
	get(50, 1, 4);
	for (i = 1; i <= 10; i++)
		resize(i, i + 1, 16 + 16 * i, 7);
	resize(11, 11, 8, 9); /* the same chain */
	put(11);
	put(50);
	add_rule(CHANGE_RESERVE, "7");
	ck_assert_str_eq(changed(), "m0:176 m1:1 f0 f1 -0 E");
	ck_assert_uint_eq(rule[0].blocks, 1);
	ck_assert_uint_eq(rule[0].steps, 11);
	/* 16 + 32 + ... + 160; the last one did not move. */
	ck_assert_uint_eq(rule[0].copied, 880);
}
END_TEST

START_TEST(chains_of_two_rules)
{
	begin_script();
	get(1, 16, 7);
	resize(1, 2, 32, 7);
	get(51, 16, 8);
	resize(51, 52, 48, 8);
	resize(52, 53, 64, 8);
	add_rule(CHANGE_RESERVE, "8");
	add_rule(CHANGE_RESERVE, "7");
	ck_assert_str_eq(changed(), "m0:32 m1:64 -0 E");
	ck_assert_uint_eq(rule[0].blocks, 1);
	ck_assert_uint_eq(rule[0].bytes, 16);
	ck_assert_uint_eq(rule[0].steps, 2);
	ck_assert_uint_eq(rule[0].copied, 64);
	ck_assert_uint_eq(rule[1].blocks, 1);
	ck_assert_uint_eq(rule[1].steps, 1);
	ck_assert_uint_eq(rule[1].copied, 16);
}
END_TEST

/* glibc moves the pages of a block that has its own mapping (mremap): nothing is copied. */
START_TEST(moved_pages_are_not_copied)
{
	begin_script();
	get(1000, 50 * 4096 - 16, 7);
	resize(1000, 2000, 80 * 4096 - 16, 7);
	resize(2000, 3000, 90 * 4096 - 16, 7);
	for (size_t i = 0; i < script.n; i++) {
		script.call[i].addr += 16;
		script.call[i].old += script.call[i].old ? 16 : 0;
	}
	add_rule(CHANGE_RESERVE, "7");
	ck_assert_str_eq(changed(), "m0:368624 -0 E");
	ck_assert_uint_eq(rule[0].steps, 2);
	ck_assert_uint_eq(rule[0].copied, 0);
}
END_TEST

/* std::vector: a new block, a copy, a free; five times, so that it is not by chance. */
static void grow_vector(unsigned steps)
{
	unsigned i;

	get(1, 8, 7);
	for (i = 1; i <= steps; i++) {
		get(i + 1, 8u << i, 7);
		put(i);
	}
	put(steps + 1);
}

START_TEST(a_chain_of_copies_is_one_block)
{
	begin_script();
	grow_vector(6);
	add_rule(CHANGE_RESERVE, "7");
	ck_assert_str_eq(changed(), "m0:512 f0 -0 E");
	ck_assert_uint_eq(rule[0].blocks, 1);
	ck_assert_uint_eq(rule[0].steps, 6);
	ck_assert_uint_eq(rule[0].copied, 8 + 16 + 32 + 64 + 128 + 256);
	/* Three are not enough, nor are those of another function. */
	begin_script();
	grow_vector(3);
	add_rule(CHANGE_RESERVE, "7");
	ck_assert_str_eq(changed(), "m0:8 m1:16 f0 m0:32 f1 m1:64 f0 f1 -0 E");
	ck_assert_uint_eq(rule[0].blocks, 0);
	begin_script();
	grow_vector(4);
	add_rule(CHANGE_RESERVE, "8");
	changed();
	ck_assert_uint_eq(played.sum.calls, 10);
}
END_TEST

/* Between a copy's malloc and its free its thread does nothing else; another one may. */
START_TEST(copies_are_by_thread)
{
	unsigned i;

	begin_script();
	add(1, MPROF_FN_MALLOC, 0, 1, 8, 7);
	for (i = 1; i <= 5; i++) {
		add(1, MPROF_FN_MALLOC, 0, i + 1, 8u << i, 7);
		add(2, MPROF_FN_MALLOC, 0, 100 + i, 8, 9);
		add(1, MPROF_FN_FREE, i, 0, 0, 0);
	}
	add_rule(CHANGE_RESERVE, "7");
	changed();
	ck_assert_uint_eq(played.sum.calls, 1 + 5);
	ck_assert_uint_eq(rule[0].steps, 5);
	begin_script();
	add(1, MPROF_FN_MALLOC, 0, 1, 8, 7);
	for (i = 1; i <= 5; i++) {
		add(1, MPROF_FN_MALLOC, 0, i + 1, 8u << i, 7);
		add(1, MPROF_FN_MALLOC, 0, 100 + i, 8, 9);
		add(1, MPROF_FN_FREE, i, 0, 0, 0);
	}
	add_rule(CHANGE_RESERVE, "7");
	changed();
	ck_assert_uint_eq(played.sum.calls, script.n);
}
END_TEST

/* ---- random scripts ---- */

static uint64_t state;

static uint64_t random_below(uint64_t n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (state >> 33) % n;
}

/* 200 places; each call resizes or frees what lives there, or gets a block. */
static void random_script(uint64_t seed)
{
	uint64_t live[200] = { 0 }, next = 1000, place;

	state = seed;
	begin_script();
	while (script.n < CALLS - 200) {
		const uint32_t thread = 1 + (uint32_t)random_below(3),
			       site = 1 + (uint32_t)random_below(6);

		place = random_below(200);
		if (!live[place])
			add(thread, MPROF_FN_MALLOC, 0, live[place] = next++, random_below(500),
			    site);
		else if (random_below(3)) {
			add(thread, MPROF_FN_FREE, live[place], 0, 0, 0);
			live[place] = 0;
		} else {
			add(thread, MPROF_FN_REALLOC, live[place], next, 1 + random_below(900),
			    site);
			live[place] = next++;
		}
	}
}

/* Computes naively the calls without the blocks of site 3. */
static void drop_naively(void)
{
	static struct played_call left[CALLS];
	static bool gone[1000 + CALLS];
	size_t i, n = 0;

	memset(gone, 0, sizeof(gone));
	for (i = 0; i < script.n; i++) {
		struct played_call c = script.call[i];
		const bool old_gone = c.old && gone[c.old >> 12];

		if (c.addr && c.site == 3) {
			gone[c.addr >> 12] = true;
			if (!c.old || old_gone)
				continue;
			c = (struct played_call){
				.fn = MPROF_FN_FREE, .thread = c.thread, .process = 1, .old = c.old
			};
		} else if (old_gone) {
			if (!c.addr)
				continue;
			c.old = 0;
			c.fn = MPROF_FN_MALLOC;
		}
		left[n++] = c;
	}
	memcpy(script.call, left, sizeof(left));
	script.n = n;
}

START_TEST(random_drops_are_as_in_the_model)
{
	static char of_rule[sizeof(text)];

	random_script((uint64_t)_i + 1);
	add_rule(CHANGE_DROP, "3");
	strcpy(of_rule, changed());
	drop_naively();
	play(NULL);
	ck_assert_msg(!strcmp(of_rule, played_order()), "it is not as in the model");
	played_release();
}
END_TEST

/* A rule that changes nothing gives the same file. */
START_TEST(nothing_changed_is_the_same)
{
	static const struct {
		enum change_kind kind;
		const char *text;
	} none[] = { { CHANGE_DROP, "9" },
		     { CHANGE_RESIZE, "*=x1" },
		     { CHANGE_POOL, "9" },
		     { CHANGE_RESERVE, "9" } };
	static char as_it_is[sizeof(text)];

	random_script(77);
	play(NULL);
	strcpy(as_it_is, played_order());
	played_release();
	add_rule(none[_i].kind, none[_i].text);
	ck_assert_msg(!strcmp(changed(), as_it_is), "%s changes something", none[_i].text);
}
END_TEST

/* All that lives ends: then at most the pools' last chunks are left. */
static void end_all(void)
{
	static bool lives[1000 + CALLS];
	size_t i;

	memset(lives, 0, sizeof(lives));
	for (i = 0; i < script.n; i++) {
		lives[script.call[i].old >> 12] = false;
		lives[script.call[i].addr >> 12] = script.call[i].addr;
	}
	for (i = 1; i < 1000 + CALLS; i++)
		if (lives[i])
			put(i);
}

START_TEST(mixed_rules_leave_nothing_behind)
{
	random_script((uint64_t)_i + 500);
	end_all();
	add_rule(CHANGE_RESERVE, "1");
	add_rule(CHANGE_DROP, "2");
	add_rule(CHANGE_POOL, "[34],chunk=2k,free-list");
	add_rule(CHANGE_POOL, "5,chunk=4k");
	changed();
	ck_assert_uint_lt(played.sum.calls, script.n);
	/* One of the bump pool, one of each class of the free list. */
	ck_assert_uint_le(played.sum.left_blocks, 1 + 20);
	ck_assert_uint_eq(played.sum.left_bytes % 2048, 0);
	ck_assert_uint_gt(rule[0].steps, 10);
	ck_assert_uint_gt(rule[2].blocks, 100);
	ck_assert_uint_gt(rule[3].blocks, 100);
}
END_TEST

Suite *whatif_change_suite(void)
{
	Suite *s = suite_create("whatif_change");
	TCase *c = tcase_create("change");

	tcase_add_test(c, rules_are_read);
	tcase_add_test(c, dropped_blocks_were_never_there);
	tcase_add_test(c, sizes_are_changed);
	tcase_add_test(c, changed_blocks_keep_their_touched_bytes);
	tcase_add_test(c, a_bump_pool);
	tcase_add_test(c, a_free_list_uses_room_again);
	tcase_add_test(c, an_empty_chunk_goes_when_another_has_room);
	tcase_add_test(c, a_chain_of_reallocs_is_one_block);
	tcase_add_test(c, chains_of_two_rules);
	tcase_add_test(c, moved_pages_are_not_copied);
	tcase_add_test(c, a_chain_of_copies_is_one_block);
	tcase_add_test(c, copies_are_by_thread);
	tcase_add_loop_test(c, random_drops_are_as_in_the_model, 0, 5);
	tcase_add_loop_test(c, nothing_changed_is_the_same, 0, 4);
	tcase_add_loop_test(c, mixed_rules_leave_nothing_behind, 0, 5);
	suite_add_tcase(s, c);
	return s;
}
