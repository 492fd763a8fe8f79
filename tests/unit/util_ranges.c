// SPDX-License-Identifier: LGPL-3.0-or-later
/* util_ranges.c - numbers, sizes, times and ranges as users type them. */
#include "suites.h"

#include "util/ranges.h"

#include <string.h>

static const struct {
	const char *text;
	uint64_t value;
} sizes[] = {
	{ "0", 0 },
	{ "100", 100 },
	{ "4K", 4096 },
	{ "4k", 4096 },
	{ "4 KiB", 4096 },
	{ "1.5M", 1572864 },
	{ ".5G", 536870912 },
	{ "2TB", 2199023255552 },
	{ "17b", 17 },
}, times[] = {
	{ "1", 1000000000 },	{ "1.5", 1500000000 },	  { "20ms", 20000000 }, { "3us", 3000 },
	{ "7 ns", 7 },		{ "2min", 120000000000 }, { "1h", 3600000000000 }, { "0", 0 },
	{ "0.25s", 250000000 },
};

START_TEST(a_size)
{
	uint64_t v = 1;

	ck_assert(!parse_size(sizes[_i].text, &v));
	ck_assert_uint_eq(v, sizes[_i].value);
}
END_TEST

START_TEST(a_time)
{
	uint64_t v = 1;

	ck_assert(!parse_time(times[_i].text, &v));
	ck_assert_uint_eq(v, times[_i].value);
}
END_TEST

static const char *const no_sizes[] = {
	"",    "-1",  "+1",  "x",    "1X",	  "K",	 "0x10",
	"1e3", "inf", "nan", "1..2", "16000000T", "1 2", " 1",
};
static const char *const no_times[] = { "", "-1s", "1m", "s", "1e3", "0x1s", "99999999h", "1.s2" };

START_TEST(no_size)
{
	uint64_t v = 77;

	ck_assert_int_lt(parse_size(no_sizes[_i], &v), 0);
	ck_assert_uint_eq(v, 77);
}
END_TEST

START_TEST(no_time)
{
	uint64_t v = 77;

	ck_assert_int_lt(parse_time(no_times[_i], &v), 0);
	ck_assert_uint_eq(v, 77);
}
END_TEST

START_TEST(ranges)
{
	uint64_t a = 0, b = 0;

	ck_assert(!parse_sizes("64..1K", &a, &b) && a == 64 && b == 1024);
	ck_assert(!parse_sizes("1M..", &a, &b) && a == 1048576 && b == UINT64_MAX);
	ck_assert(!parse_sizes("..100", &a, &b) && a == 0 && b == 100);
	ck_assert(!parse_sizes("24", &a, &b) && a == 24 && b == 24);
	ck_assert(!parse_times("1ms..2s", &a, &b) && a == 1000000 && b == 2000000000);
	ck_assert(!parse_times(".5..1.5", &a, &b) && a == 500000000 && b == 1500000000);
	ck_assert(parse_sizes("..", &a, &b) < 0);
	ck_assert(parse_sizes("", &a, &b) < 0);
	ck_assert(parse_sizes("1..2..3", &a, &b) < 0);
	ck_assert(parse_sizes("2K..1K", &a, &b) < 0);
	ck_assert(parse_times("2s..1s", &a, &b) < 0);
}
END_TEST

START_TEST(whole)
{
	static const char *const none[] = {
		"", "-1", "+1", " 1", "1 ", "1.0", "0x1", "x", "9", "21"
	};
	uint64_t v = 77;
	size_t i;

	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		ck_assert_int_lt(parse_whole(none[i], 10, 20, &v), 0);
	ck_assert_int_lt(parse_whole("18446744073709551616", 0, UINT64_MAX, &v), 0);
	ck_assert_uint_eq(v, 77);
	ck_assert_int_eq(parse_whole("10", 10, 20, &v), 0);
	ck_assert_uint_eq(v, 10);
	ck_assert_int_eq(parse_whole("020", 10, 20, &v), 0);
	ck_assert_uint_eq(v, 20);
	ck_assert_int_eq(parse_whole("18446744073709551615", 0, UINT64_MAX, &v), 0);
	ck_assert_uint_eq(v, UINT64_MAX);
}
END_TEST

START_TEST(fraction)
{
	static const char *const none[] = { "",	  "%",	 ".",	"1.2.3", "-1",	"+1",  " 1",
					    "1 ", "0x1", "1e3", "inf",	 "nan", "1 %", "1%%" };
	double v = 77;
	size_t i;

	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		ck_assert_int_lt(parse_fraction(none[i], "%", &v), 0);
	ck_assert_int_lt(parse_fraction("1%", "", &v), 0);
	ck_assert_double_eq(v, 77);
	ck_assert_int_eq(parse_fraction("1.5", "", &v), 0);
	ck_assert_double_eq(v, 1.5);
	ck_assert_int_eq(parse_fraction(".25%", "%", &v), 0);
	ck_assert_double_eq(v, 0.25);
	ck_assert_int_eq(parse_fraction("020", "%", &v), 0);
	ck_assert_double_eq(v, 20);
}
END_TEST

#define COUNT(a) (int)(sizeof(a) / sizeof((a)[0]))

Suite *util_ranges_suite(void)
{
	Suite *s = suite_create("util_ranges");
	TCase *c = tcase_create("all");

	tcase_add_loop_test(c, a_size, 0, COUNT(sizes));
	tcase_add_loop_test(c, a_time, 0, COUNT(times));
	tcase_add_loop_test(c, no_size, 0, COUNT(no_sizes));
	tcase_add_loop_test(c, no_time, 0, COUNT(no_times));
	tcase_add_test(c, ranges);
	tcase_add_test(c, whole);
	tcase_add_test(c, fraction);
	suite_add_tcase(s, c);
	return s;
}
