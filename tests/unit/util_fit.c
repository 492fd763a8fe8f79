// SPDX-License-Identifier: LGPL-3.0-or-later
/* util_fit.c - lines that are broken between words, and names whose middle is elided. */
#include "suites.h"

#include <stdio.h>
#include <string.h>

#include "util/columns.h"
#include "util/fit.h"

static void append(void *to, const char *s, size_t n)
{
	strncat(to, s, n);
}

static const struct {
	unsigned width;
	const char *in, *out;
} lines[] = {
	{ 20, "short\n", "short\n" },
	{ 20, "  a   table    row\n", "  a   table    row\n" },
	{ 20, "A sentence at the left edge\n", "A sentence at the\nleft edge\n" },
	/* No deeper than leaves 20 columns for text. */
	{ 30, "  * one that is indented goes on\n", "  * one that is indented goes\n    on\n" },
	{ 24, "It took 12 MiB and then 345 ms\n", "It took 12 MiB and then\n345 ms\n" },
	{ 24, "It took 12 MiB and so 345 x\n", "It took 12 MiB and so\n345 x\n" },
	{ 24, "a 1 2 3\n", "a 1 2 3\n" },
	{ 24, "a 1  2   3\n", "a 1  2   3\n" },
	{ 24, "ends in 5 \n", "ends in 5\n" },
	{ 24, "A path /a/long/one/stays/whole/here.c\n",
	  "A path\n/a/long/one/stays/whole/here.c\n" },
	{ 40, "      mprof report leaks --function 'a b c' log\n",
	  "      mprof report leaks --function \\\n        'a b c' log\n" },
	{ 37, "      mprof report --function 'b c' \\\n        log\n",
	  "      mprof report --function 'b c' \\\n        log\n" },
	{ 24,
	  "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 "
	  "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 \xc3\xa4\n",
	  "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 "
	  "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 \xc3\xa4\n" },
	{ 24, "without an end", "without an end" },
};

/* However the text is cut into writes. */
START_TEST(line)
{
	const char *in = lines[_i].in;
	char got[512];
	size_t step, i;

	for (step = 1; step <= strlen(in); step++) {
		struct fit f = { .width = lines[_i].width, .put = append, .to = got };

		*got = '\0';
		for (i = 0; i < strlen(in); i += step)
			fit_text(&f, in + i, strlen(in) - i < step ? strlen(in) - i : step);
		fit_end(&f);
		ck_assert_str_eq(got, lines[_i].out);
	}
}
END_TEST

START_TEST(escapes)
{
	char got[128] = "";
	struct fit f = { .width = 20, .put = append, .to = got };

	fit_escape(&f, "\033[1m");
	fit_text(&f, "Bold words, of 12", 17);
	fit_escape(&f, "\033[m");
	fit_text(&f, " more\n", 6);
	ck_assert_str_eq(got, "\033[1mBold words, of 12\033[m\nmore\n");
}
END_TEST

static const struct {
	size_t columns;
	const char *in, *out;
} names[] = {
	{ 20, "short", "short" },
	{ 20, "std::vector<int>::push_back", "std::...::push_back" },
	{ 22, "/usr/lib/a/very/long/path.so", "/usr/lib/a.../path.so" },
	{ 18, "a_name_without_any_seam_at_all", "a_name_w..._at_all" },
	/* No piece of one or two letters. */
	{ 13, "alphabet soup again", "alpha...again" },
	/* Rather the whole last word than more of the first. */
	{ 34, "google::protobuf::internal::MergeFromImpl<...>", "google::...::MergeFromImpl<...>" },
};

START_TEST(name)
{
	char got[64];

	columns_elide(got, names[_i].in, names[_i].columns);
	ck_assert_str_eq(got, names[_i].out);
	ck_assert_uint_le(columns_of(got, sizeof(got)), names[_i].columns);
}
END_TEST

static const struct {
	size_t columns;
	const char *in, *out;
} commands[] = {
	{ 40, "server --data=/srv/data", "server --data=/srv/data" },
	{ 40, "server --fast --data=/srv/data --socket=/srv/socket",
	  "server --fast ... --socket=/srv/socket" },
	/* Little would be left. */
	{ 24, "server --data=/srv/a/long/path x", "server --.../long/path x" },
	{ 24, "/a/program/that/has/no/arguments", "/a/program/.../arguments" },
	/* The name of the program remains. */
	{ 40, "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus -quiet -O2 -o /tmp/t.s",
	  ".../cc1plus -quiet -O2 -o /tmp/t.s" },
	{ 32, "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus -quiet -O2 -o /tmp/t.s",
	  ".../cc1plus ... -O2 -o /tmp/t.s" },
};

START_TEST(command)
{
	char got[64];

	columns_elide_arguments(got, commands[_i].in, commands[_i].columns);
	ck_assert_str_eq(got, commands[_i].out);
	ck_assert_uint_le(columns_of(got, sizeof(got)), commands[_i].columns);
}
END_TEST

Suite *util_fit_suite(void)
{
	Suite *s = suite_create("util_fit");
	TCase *tc = tcase_create("lines");

	tcase_add_loop_test(tc, line, 0, sizeof(lines) / sizeof(lines[0]));
	tcase_add_test(tc, escapes);
	tcase_add_loop_test(tc, name, 0, sizeof(names) / sizeof(names[0]));
	tcase_add_loop_test(tc, command, 0, sizeof(commands) / sizeof(commands[0]));
	suite_add_tcase(s, tc);
	return s;
}
