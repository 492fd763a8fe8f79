// SPDX-License-Identifier: LGPL-3.0-or-later
/* trace_own_memory.c - resident pages of a program, without those of the library's tables. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "suites.h"
#include "trace/trace.h"
#include "trace_build.h"

static struct build b;

static void setup(void)
{
	build_start(&b, MPROF_MAGIC_TRACE);
}

static void teardown(void)
{
	build_free(&b);
}

static void program(uint32_t process, uint16_t image, uint64_t ticks, uint32_t parent,
		    uint64_t fork_ticks)
{
	const struct mprof_fact f = { .what = image ? MPROF_FACT_EXEC : MPROF_FACT_START,
				      .ticks = ticks,
				      .parent = parent,
				      .fork_ticks = fork_ticks };
	const size_t at = build_fact(&b, process, &f, "", 0);

	build_extent_at(&b, at)->image = image;
}

static void table(uint32_t process, uint16_t image, uint64_t ticks, uint64_t first, uint64_t count)
{
	const struct mprof_page_run run = { first, count };
	const size_t at = build_extent(&b, MPROF_EXTENT_OWN, process, 0, &run, sizeof(run), 0);

	build_extent_at(&b, at)->image = image;
	build_extent_at(&b, at)->last_ticks = ticks;
}

/* Pages 100 to 199 and 300 to 309. */
static void pages(uint32_t process, uint64_t ticks)
{
	struct {
		struct mprof_residency head;
		struct mprof_page_run run[2];
	} payload = { { ticks, ticks, 4096, 2 }, { { 100, 100 }, { 300, 10 } } };

	build_extent(&b, MPROF_EXTENT_RESIDENCY, process, 0, &payload, sizeof(payload), 0);
}

/* Checks that the i-th reading has these runs. */
static void expect(size_t i, uint64_t own, const char *runs)
{
	const struct trace_residency *r;
	char text[256] = "";
	struct error err;
	struct trace *t;
	size_t n = 0;
	int fd;

	ck_assert_msg(!trace_open(&t, build_path_prefix(&b, b.n, &fd), MPROF_MAGIC_TRACE, &err),
		      "%s", err.text);
	ck_assert_uint_gt(trace_residencies(t, &r), i);
	for (uint64_t k = 0; k < r[i].runs; k++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%d+%d", n ? " " : "",
				      (int)r[i].run[k].first, (int)r[i].run[k].count);
	ck_assert_str_eq(text, runs);
	ck_assert_uint_eq(r[i].own, own);
	ck_assert_uint_eq(trace_damage(t)->chunks_bad, 0);
	trace_close(t);
	close(fd);
}

START_TEST(parts_of_runs)
{
	program(1, 0, 1000, 0, 0);
	pages(1, 2000);
	expect(0, 0, "100+100 300+10");
	table(1, 0, 1500, 50, 60);
	expect(0, 10, "110+90 300+10");
	table(1, 0, 1500, 150, 1);
	table(1, 0, 1500, 150, 3);
	expect(0, 13, "110+40 153+47 300+10");
	table(1, 0, 1500, 190, 115);
	expect(0, 28, "110+40 153+37 305+5");
	table(1, 0, 1500, 0, 1000);
	expect(0, 110, "");
}
END_TEST

/* A table does not exist before it is mapped, nor after exec; a child has what its parent had. */
START_TEST(tables_have_times)
{
	program(1, 0, 1000, 0, 0);
	program(2, 0, 3000, 1, 2900);
	program(3, 0, 4000, 2, 3900);
	program(1, 1, 5000, 0, 0);
	table(1, 0, 2000, 100, 10);
	table(1, 0, 2950, 110, 10);
	table(2, 0, 3500, 120, 10);
	table(2, 0, 3950, 130, 10);
	table(1, 1, 5100, 140, 10);
	pages(1, 1900);
	pages(1, 2100);
	pages(2, 3600);
	pages(3, 4100);
	pages(1, 4900);
	pages(1, 5200);
	expect(0, 0, "100+100 300+10");
	expect(1, 10, "110+90 300+10");
	expect(2, 20, "110+10 130+70 300+10");
	expect(3, 20, "110+10 130+70 300+10");
	expect(4, 20, "120+80 300+10");
	expect(5, 10, "100+40 150+50 300+10");
}
END_TEST

/* Processes that are each other's parents end nowhere; an empty table is none. */
START_TEST(damaged)
{
	program(1, 0, 1000, 2, 1000);
	program(2, 0, 1000, 1, 1000);
	table(2, 0, 900, 300, 10);
	table(1, 0, 900, 100, 0);
	table(1, 0, 900, UINT64_MAX, 2);
	pages(1, 2000);
	expect(0, 10, "100+100");
}
END_TEST

Suite *trace_own_memory_suite(void)
{
	Suite *s = suite_create("trace_own_memory");
	TCase *tc = tcase_create("own memory");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, parts_of_runs);
	tcase_add_test(tc, tables_have_times);
	tcase_add_test(tc, damaged);
	suite_add_tcase(s, tc);
	return s;
}
