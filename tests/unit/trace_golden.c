// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * trace_golden.c - what the reader says of the files in tests/golden.
 *
 * NAME.trace is opened as a trace, NAME.counts-file as counts, and NAME.expect
 * is the text, to the letter: events, facts, damage, or the error line.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suites.h"
#include "trace_text.h"

static glob_t files;

static void find_files(void)
{
	ck_assert_int_eq(glob("tests/golden/*/*.trace", 0, NULL, &files), 0);
	ck_assert_int_eq(glob("tests/golden/*/*.counts-file", GLOB_APPEND, NULL, &files), 0);
}

static char *read_expect(const char *file)
{
	const char *dot = strrchr(file, '.');
	char path[256], *text = calloc(1, 1 << 16);
	FILE *f;

	snprintf(path, sizeof(path), "%.*s.expect", (int)(dot - file), file);
	f = fopen(path, "r");
	ck_assert_msg(f && text, "%s: cannot be read", path);
	ck_assert_uint_lt(fread(text, 1, 1 << 16, f), 1 << 16);
	fclose(f);
	return text;
}

/* Line by line, so that a failure names the line. */
static void assert_same(const char *file, char *got, char *want)
{
	char *got_line, *want_line;

	do {
		got_line = strsep(&got, "\n");
		want_line = strsep(&want, "\n");
		ck_assert_msg((!got_line && !want_line) ||
				  (got_line && want_line && !strcmp(got_line, want_line)),
			      "%s: got '%s', expected '%s'", file, got_line ? got_line : "(end)",
			      want_line ? want_line : "(end)");
	} while (got_line);
}

START_TEST(golden)
{
	size_t good = 0;

	find_files();
	for (size_t i = 0; i < files.gl_pathc; i++) {
		const char *file = files.gl_pathv[i], *name = strrchr(file, '/') + 1;
		bool counts = strstr(name, ".counts-file");
		char *want = read_expect(file);
		char *got =
		    trace_text_of(file, name, counts ? MPROF_MAGIC_COUNTS : MPROF_MAGIC_TRACE);

		if (strstr(file, "/ok/"))
			ck_assert_msg(!strstr(got, "error:") && !strstr(got, "damage: chunks"),
				      "%s is not a good file", file);
		good += !!strstr(file, "/ok/");
		assert_same(file, got, want);
		free(got);
		free(want);
	}
	ck_assert_uint_ge(good, 10);
	ck_assert_uint_ge(files.gl_pathc - good, 20);
	globfree(&files);
}
END_TEST

Suite *trace_golden_suite(void)
{
	Suite *s = suite_create("trace_golden");
	TCase *tc = tcase_create("golden");

	tcase_add_test(tc, golden);
	suite_add_tcase(s, tc);
	return s;
}
