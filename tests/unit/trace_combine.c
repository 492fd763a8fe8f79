// SPDX-License-Identifier: LGPL-3.0-or-later
/* trace_combine.c - a profile that grows while it is copied. */
#include <stdio.h>
#include <string.h>

#include "suites.h"
#include "trace/combine.h"
#include "trace_build.h"

static struct build b;

static void start_process(uint32_t number)
{
	struct mprof_fact f = { .what = MPROF_FACT_START, .ticks = 2000, .pid = (int)number };

	build_fact(&b, number, &f, NULL, 0);
	build_save(&b);
}

static ssize_t put(void *to, const char *bytes, size_t n)
{
	return (ssize_t)fwrite(bytes, 1, n, to);
}

/* What is written begins with a seek, between the two readings. */
static int seek(void *to, off64_t *at, int whence)
{
	if (whence == SEEK_SET && *at == MPROF_HEADER_SIZE)
		start_process(2);
	return fseeko(to, *at, whence) ? -1 : 0;
}

START_TEST(processes_start_meanwhile)
{
	const cookie_io_functions_t growing = { .write = put, .seek = seek };
	const char *path[] = { b.path };
	FILE *result = tmpfile(), *out = fopencookie(result, "w", growing);
	struct mprof_file_header h;
	struct error err = { .text = "" };

	build_start_file(&b);
	memcpy(build_header(&b)->magic, MPROF_MAGIC_PROFILE, MPROF_MAGIC_SIZE);
	start_process(1);
	ck_assert_msg(trace_combine(out, path, 1, MPROF_FILE_RUNNING, &err) == 0, "%s", err.text);
	fclose(out);
	rewind(result);
	ck_assert_uint_eq(fread(&h, sizeof(h), 1, result), 1);
	ck_assert_uint_eq(h.processes, 1);
	fclose(result);
	build_end_file(&b);
}
END_TEST

Suite *trace_combine_suite(void)
{
	Suite *s = suite_create("trace_combine");
	TCase *tc = tcase_create("combine");

	tcase_add_test(tc, processes_start_meanwhile);
	suite_add_tcase(s, tc);
	return s;
}
