// SPDX-License-Identifier: LGPL-3.0-or-later
/* profile_difference.c - which functions of two builds are the same, and what changed. */
#include "suites.h"

#include <stdlib.h>
#include <string.h>

#include "profile/difference.h"

static struct sym_line pool[256];
static size_t pooled;
static struct diff diff;
static struct diff_options options;

static const struct sym_line *in(const char *function, const char *file, const char *module)
{
	struct sym_line *l = &pool[pooled++];

	ck_assert_uint_le(pooled, sizeof(pool) / sizeof(pool[0]));
	*l = (struct sym_line){
		.function = function,
		.raw = "",
		.file = file,
		.module = module,
		.known = true,
	};
	return l;
}

/* Functions separated by blanks, root first, all of x.c in prog. */
static void site(enum diff_side side, const char *path, uint64_t peak)
{
	const uint64_t v[VALUE_COUNT] = { [VALUE_PEAK] = peak, [VALUE_CALLS] = 1 };
	const struct sym_line *line[32];
	char *copy = strdup(path), *word, *rest;
	size_t n = 0;

	for (word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		line[n++] = in(strdup(word), "x.c", "prog");
	diff_add(&diff, side, line, n, v, NULL);
	free(copy);
}

static void start(void)
{
	options = (struct diff_options){ .by = DIFF_BY_STACK, .value = VALUE_PEAK };
	diff_init(&diff, &options);
}

static void finish(void)
{
	diff.options = options;
	diff_finish(&diff);
}

static void release(void)
{
	diff_release(&diff);
}

static const char *leaf(size_t i)
{
	return diff.group[i].line[diff.group[i].lines - 1]->function;
}

/* Figures of a damaged trace: no difference overflows. */
START_TEST(differences_beyond_a_signed_number)
{
	site(DIFF_BEFORE, "main a", 1);
	site(DIFF_BEFORE, "main b", UINT64_C(1) << 63);
	site(DIFF_BEFORE, "main c", 1);
	site(DIFF_AFTER, "main c", UINT64_MAX);
	finish();
	ck_assert_str_eq(leaf(0), "c");
	ck_assert_int_eq(diff_delta(&diff.group[0], VALUE_PEAK), INT64_MAX);
	ck_assert_str_eq(leaf(1), "b");
	ck_assert_int_eq(diff_delta(&diff.group[1], VALUE_PEAK), -INT64_MAX);
	release();
}
END_TEST

static void expect(size_t i, const char *function, enum diff_change change, int64_t by)
{
	ck_assert_uint_lt(i, diff.groups);
	ck_assert_str_eq(leaf(i), function);
	ck_assert_int_eq(diff.group[i].change, change);
	ck_assert_int_eq(diff_delta(&diff.group[i], VALUE_PEAK), by);
}

START_TEST(added_removed_grown_shrunk)
{
	site(DIFF_BEFORE, "main a", 100);
	site(DIFF_BEFORE, "main b", 100);
	site(DIFF_BEFORE, "main c", 7);
	site(DIFF_BEFORE, "main d", 50);
	site(DIFF_BEFORE, "main d", 50); /* another line of main */
	site(DIFF_AFTER, "main a", 130);
	site(DIFF_AFTER, "main b", 80);
	site(DIFF_AFTER, "main d", 100);
	site(DIFF_AFTER, "main e f", 10);
	finish();
	ck_assert_uint_eq(diff.groups, 5);
	expect(0, "a", DIFF_GROWN, 30);
	expect(1, "b", DIFF_SHRUNK, -20);
	expect(2, "f", DIFF_ADDED, 10);
	expect(3, "c", DIFF_REMOVED, -7);
	expect(4, "d", DIFF_SAME, 0);
	ck_assert_uint_eq(diff.group[4].sites[DIFF_BEFORE], 2);
	ck_assert_uint_eq(diff.total[DIFF_BEFORE][VALUE_PEAK], 307);
	ck_assert_uint_eq(diff.total[DIFF_AFTER][VALUE_PEAK], 320);
	ck_assert_uint_eq(diff.changed[DIFF_SAME], 1);
	ck_assert_uint_eq(diff.renames, 0);
	release();
}
END_TEST

static void site_of(enum diff_side side, const char *function, const char *file, const char *module,
		    uint64_t peak, const struct site_values *estimate)
{
	const uint64_t v[VALUE_COUNT] = { [VALUE_PEAK] = peak, [VALUE_LIVE] = peak };
	const struct sym_line *line = in(function, file, module);

	diff_add(&diff, side, &line, 1, v, estimate);
}

/* A function that moved to a library has two rows, which need their modules. */
START_TEST(twins_in_two_modules)
{
	options.by = DIFF_BY_FUNCTION;
	site_of(DIFF_BEFORE, "moved", "x.c", "prog", 100, NULL);
	site_of(DIFF_AFTER, "moved", "x.c", "libx.so", 90, NULL);
	site_of(DIFF_BEFORE, "other", "x.c", "prog", 80, NULL);
	site_of(DIFF_AFTER, "other", "y.c", "liby.so", 70, NULL); /* another one */
	finish();
	ck_assert_uint_eq(diff.groups, 4);
	for (size_t i = 0; i < 4; i++)
		ck_assert_int_eq(diff.group[i].twin, !strcmp(leaf(i), "moved"));
	release();
}
END_TEST

/* 95 % intervals of 1000 bytes with a variance of 2500 end at about 902 and 1098. */
START_TEST(samples_may_hide_a_change)
{
	const struct site_values v = {
		.bytes = 1000,
		.error = { .samples = 400, .live_bytes = 2500, .heaviest_bytes = 0.01 }
	};

	options.by = DIFF_BY_FUNCTION;
	options.value = VALUE_LIVE;
	site_of(DIFF_BEFORE, "a", "x.c", "prog", 1000, &v);
	site_of(DIFF_AFTER, "a", "x.c", "prog", 1190, &v);
	site_of(DIFF_BEFORE, "b", "x.c", "prog", 1000, &v);
	site_of(DIFF_AFTER, "b", "x.c", "prog", 1200, &v);
	finish();
	ck_assert_uint_eq(diff.changed[DIFF_UNCLEAR], 1);
	ck_assert_uint_eq(diff.changed[DIFF_GROWN], 1);
	ck_assert_str_eq(leaf(0), "b");
	release();
}
END_TEST

START_TEST(noise_is_no_change)
{
	site(DIFF_BEFORE, "main a", 1000);
	site(DIFF_BEFORE, "main b", 1000);
	site(DIFF_AFTER, "main a", 1009);
	site(DIFF_AFTER, "main b", 1010);
	site(DIFF_AFTER, "main c", 5);
	site(DIFF_AFTER, "main d", 6);
	options.least = 6;
	options.least_percent = 1;
	finish();
	expect(0, "b", DIFF_GROWN, 10);
	expect(1, "d", DIFF_ADDED, 6);
	ck_assert_uint_eq(diff.changed[DIFF_SAME], 2);
	release();
}
END_TEST

/* What compilers and linkers change from build to build. */
START_TEST(builds_differ_in_nothing)
{
	const uint64_t v[VALUE_COUNT] = { [VALUE_PEAK] = 1 };
	const struct sym_line *before[] = { in("main", "", "prog-1"), in("f", "a.c", "libx.so.1.2"),
					    in("g.constprop.0", "", "libx.so.1.2"),
					    in("h::h0123456789abcdef", "", "libx.so.1.2") };
	const struct sym_line *after[] = { in("main", "", "prog-2"),
					   in("f.isra.3", "b.c", "libx.so"),
					   in("f", "a.c", "libx.so"),
					   in("g.part.1.cold", "", "libx.so"),
					   in("h::hfedcba9876543210", "", "libx.so") };

	options.program[DIFF_BEFORE] = "prog-1";
	options.program[DIFF_AFTER] = "prog-2";
	diff.options = options;
	diff_add(&diff, DIFF_BEFORE, before, 4, v, NULL);
	diff_add(&diff, DIFF_AFTER, after, 5, v, NULL);
	finish();
	ck_assert_uint_eq(diff.groups, 1);
	ck_assert_int_eq(diff.group[0].change, DIFF_SAME);
	release();
	ck_assert_uint_eq(diff_bare_name("f.cold"), 1);
	ck_assert_uint_eq(diff_bare_name("f.constprop.0.isra.12"), 1);
	ck_assert_uint_eq(diff_bare_name("a.b"), 3);
	ck_assert_uint_eq(diff_bare_name("f.2"), 3);
	ck_assert_uint_eq(diff_bare_name(".cold"), 5);
	ck_assert_uint_eq(diff_bare_name(""), 0);
}
END_TEST

/* Without symbols: by offset where the file is the same, else by module. */
START_TEST(code_without_symbols)
{
	const uint64_t v[VALUE_COUNT] = { [VALUE_PEAK] = 1 };
	struct sym_line l[3];
	const struct sym_line *p;
	int i, side;

	for (i = 0; i < 3; i++) {
		l[i] = *in("m+0x10", "", i == 2 ? "same.so" : "other.so");
		l[i].known = false;
	}
	diff_stable(&diff, "same.so");
	for (side = 0; side < 2; side++)
		for (i = 0; i < 3; i++) {
			p = &pool[pooled];
			pool[pooled] = l[i];
			pool[pooled++].offset = (uint64_t)(16 * i + side);
			diff_add(&diff, (enum diff_side)side, &p, 1, v, NULL);
		}
	finish();
	ck_assert_uint_eq(diff.groups, 3);
	ck_assert_uint_eq(diff.changed[DIFF_SAME], 1);
	ck_assert_uint_eq(diff.changed[DIFF_ADDED], 1);
	ck_assert_uint_eq(diff.changed[DIFF_REMOVED], 1);
	release();
}
END_TEST

START_TEST(a_renamed_function)
{
	site(DIFF_BEFORE, "main load parse_row copy", 10);
	site(DIFF_BEFORE, "main load parse_row", 20);
	site(DIFF_BEFORE, "main gone", 5);
	site(DIFF_AFTER, "main load parse_line copy", 10);
	site(DIFF_AFTER, "main load parse_line", 25);
	site(DIFF_AFTER, "main x y", 5);
	finish();
	ck_assert_uint_eq(diff.renames, 1);
	ck_assert_str_eq(diff.rename[0].line[DIFF_BEFORE]->function, "parse_row");
	ck_assert_str_eq(diff.rename[0].line[DIFF_AFTER]->function, "parse_line");
	ck_assert_uint_eq(diff.groups, 4);
	expect(0, "parse_line", DIFF_GROWN, 5);
	release();
	start();
	site(DIFF_BEFORE, "main load parse_row copy", 10);
	site(DIFF_AFTER, "main load parse_line copy", 10);
	options.no_renames = true;
	finish();
	ck_assert_uint_eq(diff.groups, 2);
	release();
}
END_TEST

static void site_in(enum diff_side side, const char *function, const char *file, uint64_t peak)
{
	const uint64_t v[VALUE_COUNT] = { [VALUE_PEAK] = peak };
	const struct sym_line *line[2] = { in("main", "x.c", "prog"), in(function, file, "prog") };

	diff_add(&diff, side, line, 2, v, NULL);
}

static void expect_file(size_t i, const char *file)
{
	const struct diff_group *g = &diff.group[i];

	ck_assert_str_eq(g->line[g->lines - 1]->file, file);
}

START_TEST(functions_of_one_name)
{
	/* Two of the later side, of which the earlier one has one, in another directory. */
	site_in(DIFF_BEFORE, "init", "/old/a.c", 100);
	site_in(DIFF_AFTER, "init", "/new/a.c", 30);
	site_in(DIFF_AFTER, "init", "/new/b.c", 70);
	/* One that moved to another file. */
	site_in(DIFF_BEFORE, "load", "x.c", 10);
	site_in(DIFF_AFTER, "load", "y.c", 10);
	/* One side does not know its files. */
	site_in(DIFF_BEFORE, "stop", "", 10);
	site_in(DIFF_AFTER, "stop", "a.c", 5);
	site_in(DIFF_AFTER, "stop", "b.c", 5);
	options.by = DIFF_BY_FUNCTION;
	finish();
	ck_assert_uint_eq(diff.groups, 4);
	expect(0, "init", DIFF_SHRUNK, -70);
	expect_file(0, "/new/a.c");
	expect(1, "init", DIFF_ADDED, 70);
	expect_file(1, "/new/b.c");
	ck_assert_uint_eq(diff.changed[DIFF_SAME], 2);
	ck_assert_uint_eq(diff.renames, 0);
	release();
}
END_TEST

START_TEST(no_guesses_of_names)
{
	const uint64_t v[VALUE_COUNT] = { [VALUE_PEAK] = 1 };
	const struct sym_line *p[2] = { in("main", "x.c", "prog"), in("old", "old.c", "prog") };

	/* Either could be the other. */
	site(DIFF_BEFORE, "main a f", 1);
	site(DIFF_AFTER, "main a g", 1);
	site(DIFF_AFTER, "main a h", 1);
	site(DIFF_BEFORE, "main b f2", 1);
	site(DIFF_BEFORE, "main b f3", 1);
	site(DIFF_AFTER, "main b g2", 1);
	/* A function of another file. */
	diff_add(&diff, DIFF_BEFORE, p, 2, v, NULL);
	site(DIFF_AFTER, "main new", 1);
	finish();
	ck_assert_uint_eq(diff.renames, 0);
	ck_assert_uint_eq(diff.groups, 8);
	release();
}
END_TEST

START_TEST(groups_by_function_module_file)
{
	site(DIFF_BEFORE, "main a f", 1);
	site(DIFF_BEFORE, "main b f", 2);
	site(DIFF_AFTER, "main c f", 4);
	options.by = DIFF_BY_FUNCTION;
	finish();
	ck_assert_uint_eq(diff.groups, 1);
	expect(0, "f", DIFF_GROWN, 1);
	release();
	start();
	site(DIFF_BEFORE, "main a f", 1);
	site(DIFF_AFTER, "main c g", 4);
	options.by = DIFF_BY_FILE;
	finish();
	ck_assert_uint_eq(diff.groups, 1);
	release();
	start();
	site(DIFF_BEFORE, "main a f", 1);
	site(DIFF_AFTER, "main c g", 4);
	options.by = DIFF_BY_MODULE;
	finish();
	ck_assert_uint_eq(diff.groups, 1);
	release();
}
END_TEST

/* A stack of one function, whose lines have `peak` 10 times their distance from `base`. */
static void lines_of(enum diff_side side, const char *function, uint32_t base,
		     const char *distances)
{
	for (; *distances; distances++) {
		const uint64_t v[VALUE_COUNT] = { [VALUE_PEAK] =
						      10 * (uint64_t)(*distances - '0') };
		const struct sym_line *line = in(function, "x.c", "prog");

		pool[pooled - 1].line = base + (uint32_t)(*distances - '0');
		diff_add(&diff, side, &line, 1, v, NULL);
	}
}

START_TEST(lines_that_moved)
{
	options.by = DIFF_BY_LINE;
	/* Seven lines further down, where another function's were; and one line more. */
	lines_of(DIFF_BEFORE, "f", 100, "1368");
	lines_of(DIFF_BEFORE, "g", 107, "1368");
	lines_of(DIFF_AFTER, "f", 107, "13568");
	lines_of(DIFF_AFTER, "g", 207, "1368");
	finish();
	expect(0, "f", DIFF_ADDED, 50);
	ck_assert_uint_eq(diff.changed[DIFF_SAME], 8);
	release();
	/* At its place, but for a line that does not allocate any more. */
	start();
	options.by = DIFF_BY_LINE;
	lines_of(DIFF_BEFORE, "f", 100, "2468");
	lines_of(DIFF_AFTER, "f", 100, "468");
	finish();
	expect(0, "f", DIFF_REMOVED, -20);
	ck_assert_uint_eq(diff.changed[DIFF_SAME], 3);
	release();
	/* Two lines of three remain: the first and the last one. */
	start();
	options.by = DIFF_BY_LINE;
	lines_of(DIFF_BEFORE, "f", 100, "159");
	lines_of(DIFF_AFTER, "f", 110, "14");
	finish();
	ck_assert_uint_eq(diff.changed[DIFF_SAME], 1);
	ck_assert_uint_eq(diff.changed[DIFF_REMOVED], 1);
	release();
}
END_TEST

Suite *profile_difference_suite(void)
{
	Suite *s = suite_create("profile_difference");
	TCase *c = tcase_create("stacks");

	tcase_add_checked_fixture(c, start, NULL);
	tcase_add_test(c, added_removed_grown_shrunk);
	tcase_add_test(c, differences_beyond_a_signed_number);
	tcase_add_test(c, twins_in_two_modules);
	tcase_add_test(c, samples_may_hide_a_change);
	tcase_add_test(c, noise_is_no_change);
	tcase_add_test(c, builds_differ_in_nothing);
	tcase_add_test(c, code_without_symbols);
	tcase_add_test(c, a_renamed_function);
	tcase_add_test(c, functions_of_one_name);
	tcase_add_test(c, no_guesses_of_names);
	tcase_add_test(c, groups_by_function_module_file);
	tcase_add_test(c, lines_that_moved);
	suite_add_tcase(s, c);
	return s;
}
