// SPDX-License-Identifier: LGPL-3.0-or-later
/* trace_clock.c - ticks to nanoseconds, from a bad guess and good facts. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "suites.h"
#include "trace/clock.h"
#include "trace_build.h"
#include "trace_text.h"

static struct build b;

static void start(uint32_t clock, uint32_t shift, uint64_t hz)
{
	struct mprof_file_header *h;

	build_start(&b, MPROF_MAGIC_TRACE);
	h = build_header(&b);
	h->clock = clock;
	h->clock_shift = shift;
	h->clock_hz = hz;
	h->start_ticks = 1000000;
	h->start_mono_ns = 5000000000;
}

static void fact(uint64_t ticks, int64_t mono_ns)
{
	struct mprof_fact f = { .what = MPROF_FACT_END, .ticks = ticks, .mono_ns = mono_ns };

	build_fact(&b, 1, &f, NULL, 0);
}

static int64_t ns_of(uint64_t ticks)
{
	struct error err;
	struct trace *t;
	int64_t ns;
	int fd;

	ck_assert_int_eq(trace_open(&t, build_path(&b, &fd), MPROF_MAGIC_TRACE, &err), 0);
	ns = trace_ns(t, ticks);
	trace_close(t);
	close(fd);
	return ns;
}

START_TEST(monotonic_is_exact)
{
	start(MPROF_CLOCK_MONOTONIC, 2, 250000000);
	fact(1000000 + 250000000, 7000000000); /* one that says 8 ns a tick is not believed */
	ck_assert_int_eq(ns_of(1000000), 0);
	ck_assert_int_eq(ns_of(1000001), 4);
	ck_assert_int_eq(ns_of(999999), -4);
	ck_assert_int_eq(ns_of(1000000 + 250000000000000), 1000000000000000);
	build_free(&b);
}
END_TEST

START_TEST(guess_without_facts)
{
	start(MPROF_CLOCK_TSC, 3, 250000000);
	ck_assert_int_eq(ns_of(1000000 + 250000000), 1000000000);
	build_free(&b);
}
END_TEST

/* The guess is 10 % off; of the facts, one was read by a process that was put to sleep. */
START_TEST(facts_are_better)
{
	int64_t ns;

	start(MPROF_CLOCK_TSC, 3, 275000000);
	for (int i = 1; i <= 5; i++) /* soon after the start: too short to say much */
		fact(1000000 + 250000ull * i, 5000000000 + 1300000 * i);
	fact(1000000 + 250000000 * 6ull, 5000000000 + 6000000000);
	fact(1000000 + 250000000 * 8ull, 5000000000 + 8000000000 + 500000000);
	fact(1000000 + 250000000 * 10ull, 5000000000 + 10000000000);
	ns = ns_of(1000000 + 250000000 * 4ull);
	ck_assert_int_ge(ns, 4000000000 - 100);
	ck_assert_int_le(ns, 4000000000 + 100);
	build_free(&b);
}
END_TEST

/* The reader ignores a fact if its clock runs twice or half as fast as the header says. */
START_TEST(facts_far_from_the_guess)
{
	static const struct {
		int64_t ns, is;
	} second[] = { { 1950000000, 1950000000 },
		       { 2050000000, 1000000000 },
		       { 550000000, 550000000 },
		       { 450000000, 1000000000 } };

	start(MPROF_CLOCK_TSC, 3, 250000000);
	fact(1000000 + 250000000, 5000000000 + second[_i].ns);
	ck_assert_int_le(llabs(ns_of(1000000 + 250000000) - second[_i].is), 1);
	build_free(&b);
}
END_TEST

/* Returns the last tick whose time is not later. */
START_TEST(ticks_of_a_time)
{
	static const uint64_t times[] = { 0, 1, 2, 999, 1000000007, 86400000000007 };
	struct error err;
	struct trace *t;
	int fd;

	start(MPROF_CLOCK_TSC, 3, 2999999999);
	ck_assert_int_eq(trace_open(&t, build_path(&b, &fd), MPROF_MAGIC_TRACE, &err), 0);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		const uint64_t ticks = trace_ticks(t, times[i]);

		ck_assert_int_le(trace_ns(t, ticks), (int64_t)times[i]);
		ck_assert_int_gt(trace_ns(t, ticks + 1), (int64_t)times[i]);
	}
	ck_assert_uint_eq(trace_ticks(t, UINT64_MAX), MPROF_TICKS_MASK);
	trace_close(t);
	close(fd);
	build_free(&b);
}
END_TEST

/* A clock faster than any, or a start after the last possible time. */
START_TEST(impossible_headers_are_survived)
{
	struct error err;
	struct trace *t;
	int fd;

	start(MPROF_CLOCK_TSC, 0, _i ? 1000000000 : UINT64_MAX);
	if (_i)
		build_header(&b)->start_ticks = UINT64_MAX;
	ck_assert_int_eq(trace_open(&t, build_path(&b, &fd), MPROF_MAGIC_TRACE, &err), 0);
	ck_assert_uint_eq(trace_ticks(t, 1000), _i ? MPROF_TICKS_MASK : 1001000);
	ck_assert_int_eq(trace_ns(t, 2000000), _i ? 2000000 - (int64_t)MPROF_TICKS_MASK : 1000000);
	trace_close(t);
	close(fd);
	build_free(&b);
}
END_TEST

START_TEST(nonsense_is_survived)
{
	start(MPROF_CLOCK_TSC, 32, 0);
	fact(UINT64_MAX, INT64_MIN);
	fact(1000001, INT64_MAX);
	fact(0, INT64_MAX);
	ck_assert_int_eq(ns_of(1000007), 7);
	ck_assert_int_gt(ns_of(UINT64_MAX), 0);
	ck_assert_int_lt(ns_of(0), 0);
	build_free(&b);
}
END_TEST

static uint64_t date_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Names of generated code are added to a dump when it has been written. */
START_TEST(merged_profiles_have_dates)
{
	const uint64_t start = date_ns() - 5000000000;
	const struct mprof_file_header h = { .clock = MPROF_CLOCK_MONOTONIC,
					     .start_ticks = 1,
					     .start_mono_ns = (int64_t)start,
					     .start_real_ns = (int64_t)start };
	const uint64_t before = date_ns(), ticks = clock_ticks(&h);

	ck_assert_uint_ge(ticks, before - start + 1);
	ck_assert_uint_le(ticks, date_ns() - start + 1);
}
END_TEST

Suite *trace_clock_suite(void)
{
	Suite *s = suite_create("trace_clock");
	TCase *tc = tcase_create("clock");

	tcase_add_test(tc, monotonic_is_exact);
	tcase_add_test(tc, guess_without_facts);
	tcase_add_test(tc, facts_are_better);
	tcase_add_loop_test(tc, facts_far_from_the_guess, 0, 4);
	tcase_add_test(tc, ticks_of_a_time);
	tcase_add_loop_test(tc, impossible_headers_are_survived, 0, 2);
	tcase_add_test(tc, nonsense_is_survived);
	tcase_add_test(tc, merged_profiles_have_dates);
	suite_add_tcase(s, tc);
	return s;
}
