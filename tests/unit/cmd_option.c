// SPDX-License-Identifier: LGPL-3.0-or-later
/* cmd_option.c - types of values of options: what they take, and what they say of what they do not.
 */
#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/option.h"
#include "cmd/when.h"

struct values {
	unsigned filler; /* so that no member is at offset 0 */
	bool flag, given;
	unsigned bits;
	uint8_t tiny;
	uint16_t narrow;
	int whole;
	uint64_t wide, size, range[2];
	int64_t time;
	double real, percent;
	enum { RED, GREEN, BLUE } word;
	const char *text, *file, *picked, *named;
	const char *const *list;
	struct when when;
};

static const char *const words[] = { "red", "green", "blue", NULL };

#define OPTIONS struct values
static const struct option_row rows[] = {
	OPTION_FLAG(0, "flag", flag, "", .given = OPTION_AT(given)),
	OPTION_SET(0, "best", whole, 9, ""),
	OPTION_BIT(0, "bit", bits, 4, ""),
	OPTION_NUMBER(0, "tiny", "N", tiny, 1, 200, "", .example = "20"),
	OPTION_NUMBER(0, "narrow", "N", narrow, 1, 65535, ""),
	OPTION_NUMBER(0, "whole", "N", whole, 0, UINT32_MAX, ""),
	OPTION_NUMBER(0, "wide", "N", wide, 0, UINT64_MAX, "", .given = OPTION_AT(given),
		      .named = OPTION_AT(named), .otherwise = "7"),
	OPTION_SIZE_FROM(0, "size", "SIZE", size, 0, ""),
	OPTION_SIZE_FROM(0, "large", "SIZE", size, 64 << 20, ""),
	OPTION_RANGE(0, "sizes", range[0], &option_sizes, ""),
	OPTION_RANGE(0, "times", range[0], &option_times, ""),
	OPTION_TIME(0, "time", time, ""),
	OPTION_REAL(0, "real", "N", real, 0.1, 240, ""),
	OPTION_PERCENT(0, "percent", percent, 100, ""),
	OPTION_WORD(0, "word", "WORD", word, words, ""),
	OPTION_WORD_TEXT(0, "picked", "WORD", picked, words, ""),
	OPTION_TEXT(0, "text", "TEXT", text, ""),
	OPTION_FILE(0, "file", "FILE", file, ""),
	OPTION_LIST(0, "list", "FILE", list, &option_files, ""),
	OPTION_WHEN(when, ""),
	OPTION_END,
};

static struct values v;
static struct error err;

static void setup(void)
{
	memset(&v, 0, sizeof(v));
	memset(&err, 0, sizeof(err));
}

static int take(const char *name, const char *arg)
{
	const struct option_row *row = rows;

	while (!row->end && strcmp(row->name, name))
		row++;
	ck_assert_msg(!row->end, "%s", name);
	return option_take(row, arg, &v, &err);
}

START_TEST(flags)
{
	ck_assert_int_eq(take("flag", NULL), 0);
	ck_assert(v.flag && v.given);
	ck_assert_int_eq(take("best", NULL), 0);
	ck_assert_int_eq(v.whole, 9);
	v.bits = 1;
	ck_assert_int_eq(take("bit", NULL), 0);
	ck_assert_uint_eq(v.bits, 5);
}
END_TEST

START_TEST(whole_numbers)
{
	ck_assert_int_eq(take("tiny", "200"), 0);
	ck_assert_uint_eq(v.tiny, 200);
	ck_assert_int_eq(take("narrow", "65535"), 0);
	ck_assert_uint_eq(v.narrow, 65535);
	ck_assert_int_eq(take("whole", "0"), 0);
	ck_assert_int_eq(take("wide", "18446744073709551615"), 0);
	ck_assert_uint_eq(v.wide, UINT64_MAX);
	ck_assert(v.given);
	ck_assert_str_eq(v.named, "wide");
	ck_assert_int_eq(take("wide", NULL), 0);
	ck_assert_uint_eq(v.wide, 7);
	/* Neighbours stay. */
	ck_assert(!v.flag && !v.bits && !v.size);
}
END_TEST

START_TEST(numbers_and_sizes)
{
	ck_assert_int_eq(take("size", "1.5K"), 0);
	ck_assert_uint_eq(v.size, 1536);
	ck_assert_int_eq(take("large", "64M"), 0);
	ck_assert_uint_eq(v.size, 64 << 20);
	ck_assert_int_eq(take("sizes", "64..1K"), 0);
	ck_assert(v.range[0] == 64 && v.range[1] == 1024);
	ck_assert_int_eq(take("times", "..5us"), 0);
	ck_assert(v.range[0] == 0 && v.range[1] == 5000);
	ck_assert_int_eq(take("time", "-1.5"), 0);
	ck_assert_int_eq(v.time, -1500000000);
	ck_assert_int_eq(take("time", "20ms"), 0);
	ck_assert_int_eq(v.time, 20000000);
	ck_assert_int_eq(take("real", "0.1"), 0);
	ck_assert_double_eq(v.real, 0.1);
	ck_assert_int_eq(take("percent", "12.5%"), 0);
	ck_assert_double_eq(v.percent, 12.5);
	ck_assert_int_eq(take("percent", "100"), 0);
}
END_TEST

START_TEST(words_and_text)
{
	ck_assert_int_eq(take("word", "blue"), 0);
	ck_assert_int_eq(v.word, BLUE);
	ck_assert_int_eq(take("picked", "green"), 0);
	ck_assert_ptr_eq(v.picked, words[1]);
	ck_assert_int_eq(take("text", "-"), 0);
	ck_assert_str_eq(v.text, "-");
	ck_assert_int_lt(take("text", ""), 0);
	ck_assert_int_eq(take("file", "a"), 0);
	ck_assert_str_eq(v.file, "a");
	ck_assert_int_eq(take("list", "a"), 0);
	ck_assert_int_eq(take("list", "b"), 0);
	ck_assert_str_eq(v.list[0], "a");
	ck_assert_str_eq(v.list[1], "b");
	ck_assert_ptr_null(v.list[2]);
	free((void *)v.list);
	ck_assert_int_eq(take("at", "50%"), 0);
	ck_assert_int_eq(v.when.kind, WHEN_PERCENT);
}
END_TEST

static const struct {
	const char *name, *arg, *why;
} bad[] = {
	{ "tiny", "0", "invalid --tiny '0': expected a number from 1 to 200, for example 20" },
	{ "tiny", "201", "invalid --tiny '201': expected a number from 1 to 200, for example 20" },
	{ "tiny", "", "invalid --tiny '': expected a number from 1 to 200, for example 20" },
	{ "tiny", "x", NULL },
	{ "tiny", "-1", NULL },
	{ "tiny", "1 ", NULL },
	{ "tiny", "0x10", NULL },
	{ "tiny", "257", NULL },
	{ "narrow", "65536", NULL },
	{ "whole", "4294967296", "invalid --whole '4294967296': expected a whole number from 0" },
	{ "wide", "18446744073709551616", NULL },
	{ "size", "", NULL },
	{ "size", "x", "invalid --size 'x': expected a size such as 100, 64K or 1.5M" },
	{ "size", "-1", NULL },
	{ "size", "8388608T", NULL },
	{ "large", "63M", "invalid --large '63M': expected a size of at least 64M" },
	{ "sizes", "1K..64", NULL },
	{ "sizes", "..", NULL },
	{ "times", "2s..1s",
	  "invalid --times '2s..1s': expected a range such as 1ms..2s, 10s.. or ..5us, the smaller "
	  "first" },
	{ "time", "--1", NULL },
	{ "time", "", NULL },
	{ "time", "1e300", NULL },
	{ "real", "0", "invalid --real '0': expected a number from 0.1 to 240" },
	{ "real", "nan", NULL },
	{ "real", "inf", NULL },
	{ "real", "1x", NULL },
	{ "percent", "101", "invalid --percent '101': expected a percentage from 0 to 100" },
	{ "percent", "-1", NULL },
	{ "percent", "%", NULL },
	{ "word", "", "invalid --word '': expected red, green, blue" },
	{ "word", "gren",
	  "invalid --word 'gren': expected red, green, blue; did you mean 'green'?" },
	{ "picked", "Red", NULL },
	{ "file", "", "invalid --file '': expected the name of a file" },
	{ "list", "", NULL },
	{ "at", "soon", NULL },
	{ "at", "101%", NULL },
};

START_TEST(bad_values)
{
	static const struct values untouched;
	char begin[128];

	ck_assert_int_eq(take(bad[_i].name, bad[_i].arg), -EINVAL);
	snprintf(begin, sizeof(begin), "invalid --%s '%s': expected ", bad[_i].name, bad[_i].arg);
	ck_assert_msg(!strncmp(err.text, begin, strlen(begin)), "%s", err.text);
	if (bad[_i].why)
		ck_assert_str_eq(err.text, bad[_i].why);
	if (strcmp(bad[_i].name, "at"))
		ck_assert_mem_eq(&v, &untouched, sizeof(v));
	ck_assert(!v.given && !v.named);
}
END_TEST

/* A long value is cut, and the message still says what would be right. */
START_TEST(long_value)
{
	char text[2000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ck_assert_int_eq(take("tiny", text), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "': expected a number from 1 to 200"));
	ck_assert_int_eq(take("word", text), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "': expected red, green, blue"));
}
END_TEST

Suite *cmd_option_suite(void)
{
	Suite *s = suite_create("cmd_option");
	TCase *c = tcase_create("values");

	tcase_add_checked_fixture(c, setup, NULL);
	tcase_add_test(c, flags);
	tcase_add_test(c, whole_numbers);
	tcase_add_test(c, numbers_and_sizes);
	tcase_add_test(c, words_and_text);
	tcase_add_loop_test(c, bad_values, 0, sizeof(bad) / sizeof(bad[0]));
	tcase_add_test(c, long_value);
	suite_add_tcase(s, c);
	return s;
}
