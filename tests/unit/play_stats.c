// SPDX-License-Identifier: LGPL-3.0-or-later
/* play_stats.c - medians, percentiles, significant differences, and the words for them. */
#include "suites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "print/replay.h"
#include "play/stats.h"
#include "play/verdict.h"

START_TEST(test_middles)
{
	double odd[] = { 9, 1, 5, 4, 100 }, even[] = { 4, 1, 3, 2 }, one[] = { 7 };
	struct middle m = stats_middle(odd, 5);

	ck_assert_double_eq(m.median, 5);
	ck_assert_double_eq(m.mad, 4); /* 4 0 4 1 95 */
	m = stats_middle(even, 4);
	ck_assert_double_eq(m.median, 2.5);
	ck_assert_double_eq(m.mad, 1);
	m = stats_middle(one, 1);
	ck_assert_double_eq(m.median, 7);
	ck_assert_double_eq(m.mad, 0);
	m = stats_middle(one, 0);
	ck_assert_double_eq(m.median, 0);
}
END_TEST

/* Few figures must lie further apart. */
START_TEST(test_noise)
{
	const struct middle a = { 100, 3 }, b = { 110, 4 };

	ck_assert_double_eq_tol(stats_noise(a, b, 7), 15, 1e-9);
	ck_assert_double_eq_tol(stats_noise(a, b, 100), 15, 1e-9);
	ck_assert_double_eq_tol(stats_noise(a, b, 3), 35, 1e-9);
}
END_TEST

START_TEST(test_latency)
{
	uint64_t b[MPROF_RUN_LATENCY] = { 0 };

	ck_assert_double_eq(latency_ns(b, 1000000000, 500), 0);
	b[4 * 5] = 990;	   /* 32 to 40 ticks */
	b[4 * 10 + 3] = 9; /* 1792 to 2048 */
	b[4 * 20] = 1;
	ck_assert_uint_eq(latency_calls(b), 1000);
	ck_assert_double_eq(latency_ns(b, 1000000000, 500), 40);
	ck_assert_double_eq(latency_ns(b, 1000000000, 990), 40);
	ck_assert_double_eq(latency_ns(b, 1000000000, 991), 2048);
	ck_assert_double_eq(latency_ns(b, 1000000000, 999), 2048);
	ck_assert_double_eq(latency_ns(b, 2000000000, 1000), 1.25 * (1 << 20) / 2);
	ck_assert_double_eq(latency_ns(b, 0, 500), 0);
}
END_TEST

/* ---- a play of three, made up ---- */

#define MB (1u << 20)

static struct variant variant[] = {
	{ .name = (char *)"glibc", .so = (char *)"", .version = (char *)"1" },
	{ .name = (char *)"aa", .so = (char *)"/aa.so", .version = (char *)"2" },
	{ .name = (char *)"bb", .so = (char *)"/bb.so", .version = (char *)"3" },
};
static struct runs_row row[3];
static struct runs runs;
static struct mprof_playback_header head;
static struct runs_plan plan;
static struct replay_answer answer;
static struct sentences words;

static void set(struct runs_row *r, size_t i, uint64_t peak, double ns, double mad)
{
	*r = (struct runs_row){ .variant = &variant[i], .times = 7 };
	r->memory.peak_rss = peak;
	r->cpu_ns = (struct middle){ ns, mad };
}

static void setup(void)
{
	set(&row[0], 0, 100 * MB, 20, 0.2);
	set(&row[1], 1, 80 * MB, 15, 0.2);
	set(&row[2], 2, 99 * MB, 19.8, 0.2);
	runs = (struct runs){ .row = row,
			      .n = 3,
			      .touch = "page",
			      .passes = 1,
			      .time_mode = RUNS_SERIAL,
			      .memory_mode = RUNS_SERIAL };
	set(&runs.control, 0, 0, 20.1, 0.2);
	head = (struct mprof_playback_header){ .threads = 1 };
	head.sum.calls = 1000000;
	head.sum.peak_bytes = 70 * MB;
	head.sum.recorded_ns = 1000000000;
	plan = (struct runs_plan){
		.head = &head, .reps = 7, .cpu = -1, .drains = 1, .drain_ms = { 5000 }
	};
	answer = (struct replay_answer){ .path = "log", .plan = &plan, .runs = &runs };
}

static void judge(void)
{
	verdict_release(&answer.verdict);
	sentences_free(&words);
	verdict_make(&answer.verdict, &runs, head.sum.peak_bytes, answer.recorded_under);
	replay_verdict(&answer, &words);
}

static void teardown(void)
{
	verdict_release(&answer.verdict);
	sentences_free(&words);
}

static bool said(const char *text)
{
	size_t i;

	for (i = 0; i < words.n; i++)
		if (strstr(words.line[i], text))
			return true;
	return false;
}

/* Few live bytes may need much memory, because of alignment or of arenas. */
START_TEST(test_small)
{
	const struct verdict *v = &answer.verdict;

	head.sum.peak_bytes = 3 * MB;
	judge();
	ck_assert(!v->small);
	ck_assert(said("aa would need 20 % less memory at the peak"));
	set(&row[0], 0, 3 * MB, 20, 0.2);
	row[0].startup = 2 * MB; /* does not count */
	judge();
	ck_assert(v->small);
	ck_assert(said("The program never has more than 3.0 MiB live"));
	ck_assert(!said("less memory at the peak"));
}
END_TEST

START_TEST(test_told_apart)
{
	const struct verdict *v = &answer.verdict;

	judge();
	ck_assert(v->quiet && v->timed && !v->small);
	ck_assert_uint_eq(v->reference, 0);
	ck_assert_uint_eq(v->by_peak[0], 1);
	ck_assert_uint_eq(v->by_time[2], 0);
	ck_assert(verdict_by_time(v, 0, 1));
	ck_assert(!verdict_by_time(v, 0, 2));
	ck_assert(verdict_by_peak(v, 0, 1));
	ck_assert(!verdict_by_peak(v, 0, 2)); /* 1 of 99 MB are less than 2 % */
	ck_assert(said("aa would be better than glibc in memory and in time."));
	ck_assert(said("aa would need 20 % less memory at the peak than glibc (80.0 MiB instead of "
		       "100 MiB); bb cannot be told apart from glibc."));
	ck_assert(said("aa would spend 25 % less time in the allocator than glibc (15.0 ns a call "
		       "instead of 20.0 ns a call); bb cannot be told apart from glibc."));
	ck_assert(said("Played back, glibc takes 20.0 ms for all calls and page faults, 2 % of the "
		       "1.00 s that the program took while it was recorded. "));
	head.sum.recorded_ns *= 2;
	judge();
	ck_assert(said("took while it was recorded: another allocator can save little time. "));
}
END_TEST

/* Memory that is not given costs neither memory nor time. */
START_TEST(test_refused)
{
	const struct verdict *v = &answer.verdict;

	row[1].memory.failed = 1000;
	judge();
	ck_assert_uint_eq(v->played, 2);
	ck_assert(!verdict_by_peak(v, 0, 1) && !verdict_by_time(v, 0, 1));
	ck_assert(!said("aa would"));
	ck_assert(
	    said("aa could not serve 1,000 blocks that succeeded in the program, so it is not "
		 "compared."));
	row[0].memory.failed = row[2].memory.failed = 1000; /* as nobody had it */
	judge();
	ck_assert_uint_eq(v->played, 3);
	ck_assert(said("aa would be better than glibc in memory and in time."));
	ck_assert(said("aa could not serve 1,000 blocks that succeeded in the program."));
	row[1].memory.failed++; /* one that somebody had */
	row[2].memory.failed += 2;
	judge();
	ck_assert_uint_eq(v->played, 1);
}
END_TEST

START_TEST(test_ties_and_more)
{
	row[1].memory.peak_rss = 130 * MB;
	row[2].memory.peak_rss = 131 * MB;
	row[1].cpu_ns.median = 30;
	row[2].cpu_ns.median = 15;
	row[2].memory.drain_rss[0] = 50 * MB;
	judge();
	ck_assert(said("aa would need 30 % more memory at the peak than glibc (130 MiB instead of "
		       "100 MiB); bb 31 % more (131 MiB)."));
	ck_assert(said("By memory, aa and bb cannot be told apart here."));
	ck_assert(said("bb would spend 25 % less time in the allocator than glibc (15.0 ns a call "
		       "instead of 20.0 ns a call); aa 50 % more (30.0 ns a call)."));
	ck_assert(!said("By time"));
	ck_assert(said("bb would take less time than glibc, but need more memory."));
	ck_assert(!said("Nothing here"));
	ck_assert(said("5 s after everything was freed, bb still has 50.0 MiB in memory."));
	row[1].memory.peak_rss = 1099 * MB;
	row[2].memory.peak_rss = 3000 * MB;
	judge();
	ck_assert(said("aa would need 999 % more memory at the peak than glibc (1.1 GiB instead of "
		       "100 MiB); bb 30 times as much (2.9 GiB)."));
	row[1].memory.peak_rss = 1149 * MB;
	judge();
	ck_assert(said("aa would need 11 times as much memory at the peak as glibc"));
	row[2].memory.peak_rss = 50 * MB;
	row[2].cpu_ns.median = 4000000;
	judge();
	ck_assert(said("bb would need less memory than glibc, but take more time."));
	ck_assert(said("(4.00 ms a call)"));
	row[2].memory.peak_rss = 200 * MB;
	judge();
	ck_assert(said("Nothing here is better than glibc in memory or in time."));
}
END_TEST

/* Differences like the control's are noise; if they are large, no times are compared. */
START_TEST(test_control)
{
	const struct verdict *v = &answer.verdict;

	row[2].cpu_ns.median = 18.2;
	judge();
	ck_assert(verdict_by_time(v, 0, 2));
	runs.control.cpu_ns = (struct middle){ 22.2, 1 }; /* 11 % off, with a spread to match */
	judge();
	ck_assert(v->quiet);
	ck_assert(!verdict_by_time(v, 0, 2));
	ck_assert(verdict_by_time(v, 0, 1));
	ck_assert(said("bb took 9 % less time than glibc, which is within the noise: glibc differs "
		       "from itself by 11 % when it is played again."));
	runs.control.cpu_ns = (struct middle){ 22.2, 0.2 };
	judge();
	ck_assert(!v->quiet);
	ck_assert(!verdict_by_time(v, 0, 1));
	ck_assert(said("too busy to compare times: glibc, played once more as if it were another "
		       "allocator, differs from itself by 11 %"));
	ck_assert(!said("would spend"));
	ck_assert(!said("better than glibc"));
	ck_assert(said("20 % less memory"));
}
END_TEST

START_TEST(test_few_runs)
{
	size_t i;

	for (i = 0; i < 3; i++)
		row[i].times = VERDICT_RUNS;
	runs.control.times = 2;
	judge();
	ck_assert(answer.verdict.timed && !answer.verdict.quiet);
	ck_assert(!verdict_by_time(&answer.verdict, 0, 1));
	ck_assert(said("With fewer than 3 timed runs"));
	runs.control.times = VERDICT_RUNS;
	judge();
	ck_assert(answer.verdict.quiet && !answer.verdict.few);
}
END_TEST

/* No time is printed for an allocator whose calls cost less than the runner's own spread. */
START_TEST(test_no_time)
{
	const struct verdict *v = &answer.verdict;

	runs.null_ns = (struct middle){ 14, 0.5 };
	row[1].cpu_ns = (struct middle){ 0, 0 };
	judge();
	ck_assert(v->timed && !v->quiet);
	ck_assert(verdict_is_timed(v, 0) && !verdict_is_timed(v, 1));
	ck_assert(!verdict_by_time(v, 0, 1));
	ck_assert(said("Times are not compared: those of the calls are not above the noise of the "
		       "playback itself, which takes 14.0 +-0.5 ns a call."));
	ck_assert(!said("would spend") && !said("better than") && !said("Played back"));
	row[1].cpu_ns.median = 0.6;
	judge();
	ck_assert(v->quiet && verdict_is_timed(v, 1));
}
END_TEST

/* Others are compared with what the program used. */
START_TEST(test_used)
{
	answer.recorded_under = "/aa.so";
	judge();
	ck_assert_uint_eq(answer.verdict.reference, 1);
	ck_assert(said("bb would need 24 % more memory at the peak than aa"));
	ck_assert(!said("The program used"));
	variant[2].name = (char *)"jemalloc";
	answer.recorded_under = "/usr/local/lib/libjemalloc.so.2";
	judge();
	ck_assert_uint_eq(answer.verdict.reference, 2);
	answer.recorded_under = "/usr/bin/program";
	judge();
	ck_assert_uint_eq(answer.verdict.reference, 0);
	ck_assert(said("The program used the malloc of program, which was not played: others are "
		       "compared with glibc."));
	variant[2].name = (char *)"bb";
}
END_TEST

/* A spread that is small by chance proves nothing. */
START_TEST(test_lucky_spread)
{
	row[0].cpu_ns.mad = row[2].cpu_ns.mad = 0;
	row[1].cpu_ns.mad = runs.control.cpu_ns.mad = 0.8;
	row[2].cpu_ns.median = 19;
	judge();
	ck_assert(!verdict_by_time(&answer.verdict, 0, 2));
	ck_assert(said("bb took 5 % less time than glibc, which is within the noise: runs of one "
		       "allocator vary by 0.4 ns a call, so differences below "));
	ck_assert(!said("told apart from glibc by time"));
	row[1].cpu_ns.median = 21.2;
	judge();
	ck_assert(said("bb took 5 % less and aa 6 % more time than glibc, which is within the "
		       "noise: runs of one allocator vary by up to 0.8 ns a call, so these "
		       "differences, all below "));
	row[1].cpu_ns.mad = runs.control.cpu_ns.mad = 0.1;
	judge();
	ck_assert(verdict_by_time(&answer.verdict, 0, 2));
}
END_TEST

START_TEST(test_failures_and_small)
{
	row[0].status = -EPIPE;
	strcpy(row[0].why.text, "was killed by SIGSEGV during the playback");
	runs.control_of = 1;
	judge();
	ck_assert_uint_eq(answer.verdict.reference, 1);
	ck_assert_uint_eq(answer.verdict.played, 2);
	ck_assert(
	    said("glibc could not be compared: it was killed by SIGSEGV during the playback."));
	ck_assert(said("bb would need 24 % more memory at the peak than aa"));
	row[1].status = row[2].status = -EPIPE;
	judge();
	ck_assert_uint_eq(answer.verdict.played, 0);
	ck_assert_uint_eq(words.n, 3);
	teardown();
	setup();
	head.sum.peak_bytes = MB;
	set(&row[0], 0, 3 * MB, 20, 0.2);
	judge();
	ck_assert(said("never has more than 1.0 MiB live"));
	ck_assert(!said("would need"));
	ck_assert(said("would spend"));
}
END_TEST

Suite *play_stats_suite(void)
{
	Suite *s = suite_create("play_stats");
	TCase *t = tcase_create("statistics"), *v = tcase_create("verdicts");

	tcase_add_test(t, test_middles);
	tcase_add_test(t, test_noise);
	tcase_add_test(t, test_latency);
	suite_add_tcase(s, t);
	tcase_add_checked_fixture(v, setup, teardown);
	tcase_add_test(v, test_told_apart);
	tcase_add_test(v, test_small);
	tcase_add_test(v, test_refused);
	tcase_add_test(v, test_ties_and_more);
	tcase_add_test(v, test_control);
	tcase_add_test(v, test_few_runs);
	tcase_add_test(v, test_no_time);
	tcase_add_test(v, test_used);
	tcase_add_test(v, test_lucky_spread);
	tcase_add_test(v, test_failures_and_small);
	suite_add_tcase(s, v);
	return s;
}
