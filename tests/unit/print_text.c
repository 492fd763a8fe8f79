// SPDX-License-Identifier: LGPL-3.0-or-later
/* print_text.c - numbers and words as reports show them, and tables that line up. */
#include "suites.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "print/figures.h"
#include "print/json.h"
#include "print/paragraph.h"
#include "print/print_table.h"
#include "print/text.h"

START_TEST(numbers)
{
	ck_assert_str_eq(format_count(0).s, "0");
	ck_assert_str_eq(format_count(999).s, "999");
	ck_assert_str_eq(format_count(1000).s, "1,000");
	ck_assert_str_eq(format_count(UINT64_MAX).s, "18,446,744,073,709,551,615");
	ck_assert_str_eq(format_signed(-1234).s, "-1,234");
	ck_assert_str_eq(format_signed(INT64_MIN).s, "-9,223,372,036,854,775,808");
	ck_assert_str_eq(format_many(1, "block", "blocks").s, "1 block");
	ck_assert_str_eq(format_many(2000, "block", "blocks").s, "2,000 blocks");
}
END_TEST

START_TEST(bytes)
{
	ck_assert_str_eq(format_bytes(1).s, "1 byte");
	ck_assert_str_eq(format_bytes(1023).s, "1,023 bytes");
	ck_assert_str_eq(format_bytes(1024).s, "1.0 KiB");
	ck_assert_str_eq(format_bytes(102400).s, "100 KiB");
	ck_assert_str_eq(format_bytes(1023 * 1024).s, "1.0 MiB");
	ck_assert_str_eq(format_bytes(UINT64_MAX).s, "16.0 EiB");
	ck_assert_str_eq(format_exact(1089).s, "1,089 bytes");
	ck_assert_str_eq(format_exact(10485760).s, "10,485,760 bytes (10.0 MiB)");
}
END_TEST

START_TEST(durations)
{
	ck_assert_str_eq(format_ns(0).s, "0 ns");
	ck_assert_str_eq(format_ns(999).s, "999 ns");
	ck_assert_str_eq(format_ns(1000).s, "1.00 us");
	ck_assert_str_eq(format_ns(12345).s, "12.3 us");
	ck_assert_str_eq(format_ns(999999).s, "1.00 ms");
	ck_assert_str_eq(format_ns(61000000000).s, "61.0 s");
}
END_TEST

START_TEST(ranges)
{
	struct estimate_range range = { 5000000, 6000000 };

	ck_assert_str_eq(figures_between(VALUE_TOTAL, &range).s, "4.8 MiB to 5.7 MiB");
	range.high = 5000001;
	ck_assert_str_eq(figures_between(VALUE_TOTAL, &range).s, "4.8 MiB");
	ck_assert_str_eq(figures_between(VALUE_CALLS, &range).s, "5,000,000 to 5,000,001");
	range.high = UINT64_MAX;
	ck_assert_str_eq(figures_between(VALUE_TOTAL, &range).s, "range not known");
}
END_TEST

START_TEST(shares)
{
	ck_assert_str_eq(format_percent(0, 0).s, "-");
	ck_assert_str_eq(format_percent(0, 5).s, "0 %");
	ck_assert_str_eq(format_percent(1, 1000).s, "<1 %");
	ck_assert_str_eq(format_percent(999, 1000).s, ">99 %");
	ck_assert_str_eq(format_percent(5, 5).s, "100 %");
	ck_assert_str_eq(text_bar(0, 5, 10).s, "");
	ck_assert_str_eq(text_bar(1, 1000, 10).s, "#");
	ck_assert_str_eq(text_bar(5, 10, 10).s, "#####");
	ck_assert_str_eq(text_bar(10, 10, 4).s, "####");
	ck_assert_str_eq(text_bar(UINT64_MAX, 3, 4).s, "####");
	ck_assert_str_eq(text_bar(3, 0, 4).s, "####");
	ck_assert_uint_eq(strlen(text_bar(1, 1, 1000).s), LONGEST_BAR);
}
END_TEST

START_TEST(commands)
{
	const char *argv[] = { "sh", "-c", "a\nb\033[0m", "\xc3\xa4" };
	struct trace_fact image = { .exe = "/bin/sh", .argc = 4, .argv = argv };

	ck_assert_str_eq(text_command(&image, 512).s, "sh -c a b [0m \xc3\xa4");
	ck_assert_str_eq(text_command(&image, 12).s, "sh -c a ...");
	argv[3] = "";
	ck_assert_str_eq(text_command(&image, 512).s, "sh -c a b [0m ''");
	image.argc = 1; /* a name with blanks */
	argv[0] = "a b";
	ck_assert_str_eq(text_command(&image, 512).s, "a b");
	image.argc = 3; /* a title, and the remaining arguments */
	argv[1] = argv[2] = "";
	ck_assert_str_eq(text_command(&image, 512).s, "a b");
	image.argc = 0;
	ck_assert_str_eq(text_command(&image, 512).s, "/bin/sh");
	ck_assert_str_eq(text_command(NULL, 512).s, "(unknown)");
}
END_TEST

START_TEST(ends)
{
	struct tree_process p = { .end = TREE_EXITED, .status = 3 };

	ck_assert_str_eq(text_end(&p).s, "exited with status 3");
	p = (struct tree_process){ .end = TREE_KILLED, .status = 11 };
	ck_assert_str_eq(text_end(&p).s, "was killed by SIGSEGV");
	p.status = 4711;
	ck_assert_str_eq(text_end(&p).s, "was killed by signal 4711");
}
END_TEST

START_TEST(tables_line_up)
{
	struct table t = TABLE("<Name", ">No", "<Rest");
	size_t size;
	char *text;
	FILE *out = open_memstream(&text, &size);

	table_cell(&t, "a");
	table_cell(&t, "%d", 1000);
	table_cell(&t, "x");
	table_cell(&t, "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4");
	table_cell(&t, "%d", 1);
	table_cell(&t, "%s", "");
	table_print(&t, out);
	fclose(out);
	ck_assert_str_eq(text, "  Name     No  Rest\n"
			       "  a      1000  x\n"
			       "  \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4     1  \n");
	free(text);
}
END_TEST

/* Prints it on standard output, whose width tables heed.  The caller frees the text. */
static char *printed(struct table *t)
{
	const int to = dup(STDOUT_FILENO);
	FILE *file = tmpfile();
	char *text = calloc(1, 4096);

	ck_assert(to >= 0 && file && text);
	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	table_print(t, stdout);
	fflush(stdout);
	dup2(to, STDOUT_FILENO);
	close(to);
	rewind(file);
	ck_assert_uint_gt(fread(text, 1, 4095, file), 0);
	fclose(file);
	return text;
}

/* A name that is cut between its parts may become narrower than its column. */
START_TEST(tables_with_elided_names_line_up)
{
	struct table t = TABLE("<Name", ">No");
	char *text, *line[3], wide[100];

	memset(wide, 'n', sizeof(wide) - 1);
	wide[sizeof(wide) - 1] = 0;
	wide[sizeof(wide) - 26] = '-';
	table_cells(&t, wide, "1");
	table_cells(&t, "short", "2");
	text = printed(&t);
	for (size_t i = 0; i < 3; i++)
		line[i] = strtok(i ? NULL : text, "\n");
	ck_assert_ptr_nonnull(strstr(line[1], "..."));
	ck_assert_uint_eq(strlen(line[1]), strlen(line[2]));
	free(text);
}
END_TEST

/* Columns that do not fit into 80 make another table, which repeats the first one. */
START_TEST(tables_continue_underneath)
{
	struct table t = TABLE("<Name", ">A", ">B", ">C", ">D");
	char *text;

	table_cells(&t, "a", "100000000000000000", "200000000000000000", "300000000000000000",
		    "400000000000000000");
	table_cells(&t, "b", "1", "2", "3", "");
	text = printed(&t);
	ck_assert_str_eq(text,
			 "  Name                   A                   B                   C\n"
			 "  a     100000000000000000  200000000000000000  300000000000000000\n"
			 "  b                      1                   2                   3\n"
			 "\n"
			 "  Name                   D\n"
			 "  a     400000000000000000\n");
	free(text);
}
END_TEST

/* A last name that would be short is on a line of its own. */
START_TEST(tables_with_the_last_name_below)
{
	struct table t = TABLE("<Name", ">A", ">B", ">C", "<Last");
	char *text, last[41];

	memset(last, 'x', sizeof(last) - 1);
	last[sizeof(last) - 1] = 0;
	table_cells(&t, "a", "100000000000000000", "200000000000000000", "3000000000", last);
	table_cells(&t, "b", "1", "2", "3", "");
	text = printed(&t);
	ck_assert_str_eq(text, "  Name                   A                   B           C\n"
			       "      Last\n"
			       "  a     100000000000000000  200000000000000000  3000000000\n"
			       "      xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n"
			       "  b                      1                   2           3\n");
	free(text);
}
END_TEST

/* Bytes that are not UTF-8 become U+FFFD, one by one; valid text stays. */
static const struct {
	const char *text, *json;
} strings[] = {
	{ "plain", "plain" },
	{ "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80" },
	{ "a\xff"
	  "b",
	  "a\xef\xbf\xbd"
	  "b" },
	{ "\xc3", "\xef\xbf\xbd" },
	{ "\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd" },
	{ "\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd" },
	{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	{ "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
};

START_TEST(strings_are_utf8)
{
	json *o = json_string(strings[_i].text);

	ck_assert_str_eq(json_object_get_string(o), strings[_i].json);
	json_object_put(o);
}
END_TEST

/* One row of tests/format.tsv; the text is what stands behind the last tab. */
static void check_row(char *line)
{
	char *text = strrchr(line, '\t'), *kind, *rest = line;
	uint64_t n, of;
	struct text said;

	ck_assert_ptr_nonnull(text);
	*text++ = '\0';
	kind = strsep(&rest, "\t");
	n = strtoull(rest, &rest, 10);
	of = strtoull(rest, NULL, 10);
	if (!strcmp(kind, "count"))
		said = format_count(n);
	else if (!strcmp(kind, "bytes"))
		said = format_bytes(n);
	else if (!strcmp(kind, "duration"))
		said = format_ns(n);
	else
		said = format_percent(n, of);
	ck_assert_msg(!strcmp(said.s, text), "%s of %" PRIu64 " is '%s' instead of '%s'", kind, n,
		      said.s, text);
}

/* The same file is held against the pages' src/web/words.ts by tests/web/run. */
START_TEST(numbers_read_as_in_pages)
{
	FILE *vectors = fopen("tests/format.tsv", "r");
	char *line = NULL;
	size_t room = 0, rows = 0;

	ck_assert_ptr_nonnull(vectors);
	while (getline(&line, &room, vectors) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (!*line || *line == '#')
			continue;
		check_row(line);
		rows++;
	}
	ck_assert_uint_ge(rows, 40);
	free(line);
	fclose(vectors);
}
END_TEST

START_TEST(dates_are_utc)
{
	ck_assert_str_eq(format_date(0).s, "1970-01-01 00:00:00Z");
	ck_assert_str_eq(format_date(1609459199999999999).s, "2020-12-31 23:59:59Z");
	ck_assert_str_eq(format_date(INT64_MIN).s, "1677-09-21 00:12:44Z");
}
END_TEST

/* Lines of a width, with what comes before them. */
static const struct {
	const char *text, *lines;
	unsigned width;
	bool command;
} paragraphs[] = {
	{ "one two three", "- one two three\n", 40, false },
	{ "one two three four five", "- one two three four\n  five\n", 22, false },
	/* A number stays with its unit, and not with another word. */
	{ "aaaa bbbb cccc dd 12 KiB", "- aaaa bbbb cccc dd\n  12 KiB\n", 22, false },
	{ "aaaa bbbb cccc dd 12 cats", "- aaaa bbbb cccc dd 12\n  cats\n", 22, false },
	{ "aa 12345678901234567890123456789", "- aa\n  123456789...23456789\n", 22, false },
	{ "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
	  " \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 aaa",
	  "- \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
	  " \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\n  aaa\n",
	  22, false },
	{ "a\033[31mb\nc", "- a?[31mb c\n", 40, false },
	/* In a command nothing is elided, and quoted words stay together. */
	{ "mprof report 'a b c d e' log", "- mprof report \\\n  'a b c d e' log\n", 24, true },
	{ "mprof 12345678901234567890123456789", "- mprof \\\n  12345678901234567890123456789\n",
	  24, true },
};

START_TEST(paragraphs_break_between_words)
{
	const struct paragraph_form form = { "- ", 2, paragraphs[_i].width,
					     paragraphs[_i].command };
	struct paragraph p = { 0 };
	size_t size, lines = 0, i;
	char *text;
	FILE *out = open_memstream(&text, &size);

	paragraph_add(&p, "%s", paragraphs[_i].text);
	paragraph_mark(&p, "one", STYLE_PLACE);
	ck_assert_uint_eq(paragraph_print(&p, &form, out), paragraph_print(&p, &form, NULL));
	fclose(out);
	ck_assert_str_eq(text, paragraphs[_i].lines);
	for (i = 0; i < size; i++)
		lines += text[i] == '\n';
	ck_assert_uint_eq(paragraph_print(&p, &form, NULL), lines);
	paragraph_release(&p);
	free(text);
}
END_TEST

Suite *print_text_suite(void)
{
	Suite *s = suite_create("print_text");
	TCase *c = tcase_create("words");

	tcase_add_test(c, numbers);
	tcase_add_test(c, numbers_read_as_in_pages);
	tcase_add_test(c, dates_are_utc);
	tcase_add_test(c, bytes);
	tcase_add_test(c, durations);
	tcase_add_test(c, ranges);
	tcase_add_test(c, shares);
	tcase_add_test(c, commands);
	tcase_add_test(c, ends);
	tcase_add_test(c, tables_line_up);
	tcase_add_test(c, tables_with_elided_names_line_up);
	tcase_add_test(c, tables_continue_underneath);
	tcase_add_test(c, tables_with_the_last_name_below);
	tcase_add_loop_test(c, paragraphs_break_between_words, 0,
			    sizeof(paragraphs) / sizeof(paragraphs[0]));
	tcase_add_loop_test(c, strings_are_utf8, 0, sizeof(strings) / sizeof(strings[0]));
	suite_add_tcase(s, c);
	return s;
}
