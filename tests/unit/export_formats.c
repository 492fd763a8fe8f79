// SPDX-License-Identifier: LGPL-3.0-or-later
/* export_formats.c - names in line-oriented formats, formats by name, files that appear when
 * complete.
 */
#include "suites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export/exports.h"

static void expect_name(const char *name, const char *bad, const char *wanted)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	export_name(out, name, bad, ':');
	fclose(out);
	ck_assert_str_eq(text, wanted);
	free(text);
}

START_TEST(names_keep_lines_whole)
{
	expect_name("plain", ";", "plain");
	expect_name("a;b;c", ";", "a:b:c");
	expect_name("a$b;c", ";$", "a:b:c");
	expect_name("two\nlines\tand\x7f", "", "two lines and ");
	expect_name("gr\xc3\xb6\xc3\x9f"
		    "er",
		    ";",
		    "gr\xc3\xb6\xc3\x9f"
		    "er");
	expect_name("\xff half \xc3", "", "\xef\xbf\xbd half \xef\xbf\xbd");
	expect_name("", ";", "");
}
END_TEST

START_TEST(formats_by_name)
{
	size_t i;

	for (i = 0; export_names[i]; i++)
		ck_assert_str_eq(export_find(export_names[i])->name, export_table[i].name);
	ck_assert_ptr_null(export_table[i].name);
	ck_assert_ptr_null(export_find("callgrid"));
}
END_TEST

/* ---- files ---- */

static char directory[] = "/tmp/mprof-unit-XXXXXX", path[64];

static void enter(void)
{
	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/file", directory);
}

static void leave(void)
{
	unlink(path);
	ck_assert_int_eq(rmdir(directory), 0); /* nothing else is left in it */
}

static void write_file(const char *text)
{
	FILE *f = fopen(path, "w");

	fputs(text, f);
	fclose(f);
}

static void expect_file(const char *text)
{
	char found[64] = "";
	FILE *f = fopen(path, "r");

	ck_assert_ptr_nonnull(f);
	found[fread(found, 1, sizeof(found) - 1, f)] = '\0';
	fclose(f);
	ck_assert_str_eq(found, text);
}

START_TEST(a_file_appears_when_complete)
{
	struct export_file f;
	struct error err = { "" };
	struct stat st;
	mode_t mask = umask(027);

	write_file("old");
	ck_assert_int_eq(export_file_open(&f, path, &err), 0);
	fputs("new", f.out);
	fflush(f.out);
	expect_file("old");
	ck_assert_int_eq(export_file_done(&f, 0, &err), 0);
	expect_file("new");
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0640);
	umask(mask);
}
END_TEST

START_TEST(a_dropped_file_never_was)
{
	struct export_file f;
	struct error err = { "" };

	ck_assert_int_eq(export_file_open(&f, path, &err), 0);
	fputs("half", f.out);
	export_file_drop(&f);
	ck_assert_int_eq(access(path, F_OK), -1);
	/* Nor one that could not be written to the end. */
	ck_assert_int_eq(export_file_open(&f, path, &err), 0);
	fputs("half", f.out);
	ck_assert_int_eq(export_file_done(&f, -EIO, &err), -EIO);
	ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

START_TEST(recordings_are_not_replaced)
{
	static const char *const magic[] = { MPROF_MAGIC_TRACE, MPROF_MAGIC_COUNTS };
	struct export_file f;
	struct error err = { "" };
	char text[32];

	snprintf(text, sizeof(text), "%s and more", magic[_i]);
	write_file(text);
	ck_assert_int_eq(export_file_open(&f, path, &err), -EEXIST);
	ck_assert_ptr_nonnull(strstr(err.text, "is a recording of mprof"));
	expect_file(text);
	/* What only begins like one is none. */
	write_file("mproftr");
	ck_assert_int_eq(export_file_open(&f, path, &err), 0);
	export_file_drop(&f);
}
END_TEST

START_TEST(a_directory_is_no_file)
{
	struct export_file f;
	struct error err = { "" };

	ck_assert_int_eq(export_file_open(&f, directory, &err), -EISDIR);
}
END_TEST

Suite *export_formats_suite(void)
{
	Suite *s = suite_create("export_formats");
	TCase *c = tcase_create("words"), *f = tcase_create("files");

	tcase_add_test(c, names_keep_lines_whole);
	tcase_add_test(c, formats_by_name);
	suite_add_tcase(s, c);
	tcase_add_checked_fixture(f, enter, leave);
	tcase_add_test(f, a_file_appears_when_complete);
	tcase_add_test(f, a_dropped_file_never_was);
	tcase_add_loop_test(f, recordings_are_not_replaced, 0, 2);
	tcase_add_test(f, a_directory_is_no_file);
	suite_add_tcase(s, f);
	return s;
}
