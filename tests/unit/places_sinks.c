// SPDX-License-Identifier: LGPL-3.0-or-later
/* places_sinks.c - births, ends, samples and frames of a recorded run, as text. */
#include "suites.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "places/place_sinks.h"
#include "places/place_trace.h"
#include "trace_build.h"

#define BASE UINT64_C(0x7f0000001000)
#define A    (BASE)
#define B    (BASE + 0x1000)
#define C    (BASE + 0x2000)

static struct build b;
static struct words w;

/* ---- a sink that writes down what it is told ---- */

static FILE *out;

static void told_start(void *self, const struct place_start *s)
{
	(void)self;
	fprintf(out, "start %s %" PRIu64 " ops", s->title, s->ops);
	if (s->peak_op != UINT64_MAX)
		fprintf(out, " peak %" PRIu64 "@%" PRIu64, s->peak_bytes, s->peak_op);
	fprintf(out, "%s\n", s->has_residency ? " residency" : "");
}

static void told_begin(void *self, const struct place_block *k)
{
	(void)self;
	fprintf(out, "+%" PRIx64 " %" PRIu64 "/%" PRIu64 " op %" PRIu64 " ns %" PRIu64 " t%u s%u\n",
		k->addr - BASE, k->size, k->usable, k->op, k->ns, k->thread, k->slot);
}

static void told_end(void *self, const struct place_block *k, uint64_t op, uint64_t ns)
{
	(void)self;
	fprintf(out, "-%" PRIx64 " %" PRIu64 " of %" PRIu64 " op %" PRIu64 " ns %" PRIu64 "\n",
		k->addr - BASE, k->size, k->op, op, ns);
}

static void told_sample(void *self, const struct place_sample *s)
{
	(void)self;
	fprintf(out, "sample %" PRIu64 " rss %" PRIu64 " anon %" PRIu64 "\n", s->op, s->rss,
		s->anon);
}

static void told_frame(void *self, const struct place_sample *s, const struct place_range *r,
		       size_t n)
{
	uint64_t set = 0, i;
	size_t k;

	(void)self;
	for (k = 0; k < n; k++)
		for (i = 0; i < r[k].pages; i++)
			set += r[k].resident[i / 8] >> i % 8 & 1;
	fprintf(out, "frame %" PRIu64, s->op);
	if (n)
		fprintf(out, " %zu ranges from %" PRIx64 " pages %" PRIu64, n, r[0].addr - BASE,
			set);
	fputc('\n', out);
}

static void told_finish(void *self)
{
	(void)self;
	fputs("finish\n", out);
}

static const struct place_ops told = {
	.start = told_start,
	.begin = told_begin,
	.end = told_end,
	.sample = told_sample,
	.frame = told_frame,
	.finish = told_finish,
};

static const char *told_by(struct trace *t, uint32_t process, const struct place_plan *plan)
{
	const struct place_sink sink = { &told, NULL };
	static char *text;
	struct error err;
	size_t n;

	free(text);
	out = open_memstream(&text, &n);
	if (place_trace(t, process, plan, &sink, &err) < 0)
		fprintf(out, "error%s\n", strrchr(err.text, '\'') + 1);
	fclose(out);
	return text;
}

static void check(uint32_t process, const struct place_plan *plan, const char *expected)
{
	struct place_plan one_by_one = plan ? *plan : (struct place_plan){ .at = PLACE_NOWHERE };
	struct error err;
	struct trace *t;
	int fd;

	one_by_one.one_by_one = true;
	ck_assert_msg(!trace_open(&t, build_path(&b, &fd), MPROF_MAGIC_TRACE, &err), "%s",
		      err.text);
	ck_assert_str_eq(told_by(t, process, plan), expected);
	ck_assert_str_eq(told_by(t, process, &one_by_one), expected);
	trace_close(t);
	close(fd);
	build_free(&b);
}

static void start(uint64_t ticks)
{
	words_start(&w, ticks);
}

static void thread_done(uint32_t process, uint32_t thread)
{
	build_chunk(&b, process, thread, 1, &w);
	words_free(&w);
}

/* ---- tests ---- */

START_TEST(births_and_ends)
{
	build_start(&b, MPROF_MAGIC_TRACE);
	start(2000);
	words_alloc(&w, MPROF_TAG_MALLOC, 2000, A, 100, 104);
	words_alloc(&w, MPROF_TAG_CALLOC, 2010, B, 50, 56);
	words_give(&w, MPROF_TAG_FREE, 2020, A);
	words_give(&w, MPROF_TAG_FREE, 2030, C);		/* never seen: no call */
	words_alloc(&w, MPROF_TAG_MALLOC, 2040, 0, 1000, 1000); /* failed: none either */
	words_give(&w, MPROF_TAG_REALLOC_BEGIN, 2050, B);
	words_alloc(&w, MPROF_TAG_REALLOC_END, 2060, C, 70, 72);
	thread_done(1, 1);
	check(0, NULL,
	      "start recorded 4 ops peak 150@1\n"
	      "+0 100/104 op 0 ns 0 t0 s0\n"
	      "+1000 50/56 op 1 ns 10 t0 s1\n"
	      "frame 2\n"
	      "-0 100 of 0 op 2 ns 20\n"
	      "-1000 50 of 1 op 3 ns 50\n"
	      "+2000 70/72 op 3 ns 60 t0 s1\n"
	      "finish\n");
}
END_TEST

/* A realloc that fails keeps its block; one to 0 bytes is a free; one that stays is one call. */
START_TEST(reallocs)
{
	build_start(&b, MPROF_MAGIC_TRACE);
	start(2000);
	words_alloc(&w, MPROF_TAG_MALLOC, 2000, A, 100, 104);
	words_give(&w, MPROF_TAG_REALLOC_BEGIN, 2010, A);
	words_alloc(&w, MPROF_TAG_REALLOC_END, 2020, 0, 1 << 30, 1 << 30);
	words_give(&w, MPROF_TAG_REALLOC_BEGIN, 2030, A);
	words_alloc(&w, MPROF_TAG_REALLOC_END, 2040, A, 200, 200);
	words_give(&w, MPROF_TAG_REALLOC_BEGIN, 2050, A);
	words_alloc(&w, MPROF_TAG_REALLOC_END, 2060, 0, 0, 0);
	thread_done(1, 1);
	check(1, NULL,
	      "start recorded 3 ops peak 200@1\n"
	      "+0 100/104 op 0 ns 0 t0 s0\n"
	      "-0 100 of 0 op 1 ns 10\n"
	      "+0 100/104 op 0 ns 0 t0 s0\n"
	      "-0 100 of 0 op 1 ns 30\n"
	      "+0 200/200 op 1 ns 40 t0 s0\n"
	      "frame 2\n"
	      "-0 200 of 1 op 2 ns 50\n"
	      "finish\n");
}
END_TEST

/* While one thread's realloc runs, another thread is given the old address. */
START_TEST(an_address_that_is_free_during_a_realloc)
{
	build_start(&b, MPROF_MAGIC_TRACE);
	start(2000);
	words_alloc(&w, MPROF_TAG_MALLOC, 2000, A, 100, 100);
	words_give(&w, MPROF_TAG_REALLOC_BEGIN, 2010, A);
	words_alloc(&w, MPROF_TAG_REALLOC_END, 2030, B, 200, 200);
	thread_done(1, 1);
	start(2020);
	words_alloc(&w, MPROF_TAG_MALLOC, 2020, A, 60, 60);
	thread_done(1, 2);
	check(0, NULL,
	      "start recorded 3 ops peak 260@2\n"
	      "+0 100/100 op 0 ns 0 t0 s0\n"
	      "-0 100 of 0 op 1 ns 10\n"
	      "+0 60/60 op 1 ns 20 t1 s0\n"
	      "+1000 200/200 op 2 ns 30 t0 s1\n"
	      "frame 3\n"
	      "finish\n");
}
END_TEST

/* A free was lost: the block that is still there ends, by a call of its own. */
START_TEST(a_double_allocation)
{
	build_start(&b, MPROF_MAGIC_TRACE);
	start(2000);
	words_alloc(&w, MPROF_TAG_MALLOC, 2000, A, 100, 100);
	words_alloc(&w, MPROF_TAG_MALLOC, 2010, A, 100, 100);
	words_give(&w, MPROF_TAG_FREE, 2020, A);
	thread_done(1, 1);
	check(0, NULL,
	      "start recorded 4 ops peak 100@0\n"
	      "+0 100/100 op 0 ns 0 t0 s0\n"
	      "frame 1\n"
	      "-0 100 of 0 op 1 ns 10\n"
	      "+0 100/100 op 2 ns 10 t0 s0\n"
	      "-0 100 of 2 op 3 ns 20\n"
	      "finish\n");
}
END_TEST

/* The process with most calls is shown, or the one that was asked for. */
static void two_processes(void)
{
	build_start(&b, MPROF_MAGIC_TRACE);
	start(2000);
	words_alloc(&w, MPROF_TAG_MALLOC, 2000, A, 100, 100);
	thread_done(1, 1);
	start(2005);
	words_alloc(&w, MPROF_TAG_MALLOC, 2005, A, 30, 30);
	words_give(&w, MPROF_TAG_FREE, 2015, A);
	thread_done(2, 2);
}

START_TEST(processes)
{
	two_processes();
	check(0, NULL,
	      "start recorded 2 ops peak 30@0\n"
	      "+0 30/30 op 0 ns 0 t1 s0\n"
	      "frame 1\n"
	      "-0 30 of 0 op 1 ns 10\n"
	      "finish\n");
	two_processes();
	check(1, NULL,
	      "start recorded 1 ops peak 100@0\n"
	      "+0 100/100 op 0 ns 0 t0 s0\n"
	      "frame 1\n"
	      "finish\n");
	two_processes();
	check(3, NULL,
	      "error has no process 3 that called an allocator; process 2 made the most calls\n");
	build_start(&b, MPROF_MAGIC_TRACE);
	check(0, NULL, "error contains no calls to an allocator\n");
}
END_TEST

/* Exec makes another program of a process; the one with most calls is shown. */
static void an_exec(unsigned calls_behind)
{
	struct mprof_fact fact = { .what = MPROF_FACT_EXEC, .ticks = 2025 };
	const struct mprof_sample sample[] = { { .ticks = 2005, .rss = 9 },
					       { .ticks = 2024, .rss = 8 },
					       { .ticks = 2100, .rss = 7 } };
	unsigned i;

	build_start(&b, MPROF_MAGIC_TRACE);
	start(2000);
	words_alloc(&w, MPROF_TAG_MALLOC, 2000, B, 10, 10);
	words_alloc(&w, MPROF_TAG_MALLOC, 2010, A, 20, 20);
	for (i = 0; i < calls_behind; i++)
		words_alloc(&w, MPROF_TAG_MALLOC, 2030 + i, A + 64 * i, 5, 5);
	thread_done(1, 1);
	build_extent(&b, MPROF_EXTENT_SAMPLE, 1, 1, sample, sizeof(sample), 0);
	build_fact(&b, 1, &fact, "", 0);
}

START_TEST(exec_begins_another_program)
{
	an_exec(2);
	check(0, NULL,
	      "start recorded 2 ops peak 30@1\n"
	      "+1000 10/10 op 0 ns 0 t0 s0\n"
	      "sample 1 rss 9 anon 0\n"
	      "+0 20/20 op 1 ns 10 t0 s1\n"
	      "frame 2\n"
	      "sample 2 rss 8 anon 0\n"
	      "finish\n");
	an_exec(3);
	check(1, NULL,
	      "start recorded 3 ops peak 15@2\n"
	      "+0 5/5 op 0 ns 0 t0 s0\n"
	      "+40 5/5 op 1 ns 1 t0 s1\n"
	      "+80 5/5 op 2 ns 2 t0 s2\n"
	      "frame 3\n"
	      "sample 3 rss 7 anon 0\n"
	      "finish\n");
}
END_TEST

START_TEST(samples_and_frames)
{
	const struct mprof_sample sample[] = { { .ticks = 2005, .rss = 900, .rss_anon = 500 },
					       { .ticks = 2100, .rss = 800, .rss_anon = 400 } };
	struct {
		struct mprof_residency head;
		struct mprof_page_run run[2];
	} pages = { { 2015, 2016, 700, 2 }, { { A / 4096, 2 }, { A / 4096 + 9, 100 } } };
	const struct place_plan plan = { .frames = 3, .at = 3 };
	int i;

	build_start(&b, MPROF_MAGIC_TRACE);
	start(2000);
	for (i = 0; i < 6; i++)
		words_alloc(&w, MPROF_TAG_MALLOC, 2000 + 10 * (uint64_t)i, A + 256 * (uint64_t)i,
			    10, 10);
	thread_done(1, 1);
	build_extent(&b, MPROF_EXTENT_SAMPLE, 1, 1, sample, sizeof(sample), 0);
	build_extent(&b, MPROF_EXTENT_RESIDENCY, 1, 1, &pages, sizeof(pages), 0);
	check(0, &plan,
	      "start recorded 6 ops peak 60@5 residency\n"
	      "+0 10/10 op 0 ns 0 t0 s0\n"
	      "sample 1 rss 900 anon 500\n"
	      "+100 10/10 op 1 ns 10 t0 s1\n"
	      "frame 2\n"
	      "frame 2 2 ranges from 0 pages 102\n"
	      "+200 10/10 op 2 ns 20 t0 s2\n"
	      "+300 10/10 op 3 ns 30 t0 s3\n"
	      "frame 4\n" /* of `frames` and of `at` */
	      "+400 10/10 op 4 ns 40 t0 s4\n"
	      "+500 10/10 op 5 ns 50 t0 s5\n"
	      "frame 6\n"
	      "sample 6 rss 800 anon 400\n"
	      "finish\n");
}
END_TEST

/* Pages that were read while the heap grew by half are of no moment. */
START_TEST(a_reading_that_takes_long)
{
	struct {
		struct mprof_residency head;
		struct mprof_page_run run;
	} pages[] = { { { 2015, 2025, 700, 1 }, { A / 4096, 2 } },
		      { { 2026, 2029, 700, 1 }, { A / 4096, 3 } },
		      { { 2045, 2046, 700, 1 }, { A / 4096, 4 } } };
	const struct place_plan plan = { .at = PLACE_NOWHERE };
	int i;

	build_start(&b, MPROF_MAGIC_TRACE);
	start(2000);
	for (i = 0; i < 5; i++)
		words_alloc(&w, MPROF_TAG_MALLOC, 2000 + 10 * (uint64_t)i, A + 256 * (uint64_t)i,
			    10, 10);
	thread_done(1, 1);
	for (i = 0; i < 3; i++)
		build_extent(&b, MPROF_EXTENT_RESIDENCY, 1, 1, &pages[i], sizeof(pages[i]), 0);
	check(0, &plan,
	      "start recorded 5 ops peak 50@4 residency\n"
	      "+0 10/10 op 0 ns 0 t0 s0\n"
	      "+100 10/10 op 1 ns 10 t0 s1\n"
	      "+200 10/10 op 2 ns 20 t0 s2\n"
	      "frame 3 1 ranges from 0 pages 3\n"
	      "+300 10/10 op 3 ns 30 t0 s3\n"
	      "+400 10/10 op 4 ns 40 t0 s4\n"
	      "frame 5\n"
	      "frame 5 1 ranges from 0 pages 4\n"
	      "finish\n");
}
END_TEST

/* Frames of a plan against those of its definition, all in order and each once. */
START_TEST(frames_of_a_plan)
{
	uint64_t ops, done, next, i, n;
	struct place_plan p = { .at = PLACE_NOWHERE };
	bool due[101];

	for (ops = 1; ops <= 100; ops += 11)
		for (p.frames = 0; p.frames < 130; p.frames += 7) {
			uint64_t peak = ops / 3;

			p.at = p.frames % 2 ? 7 : PLACE_NOWHERE;
			memset(due, 0, sizeof(due));
			for (i = 1; i <= p.frames; i++)
				due[ops * i / p.frames] = true;
			due[peak + 1] = true;
			if (p.at < ops)
				due[p.at + 1] = true;
			for (done = 0, n = 1; n <= ops; n++) {
				if (!due[n])
					continue;
				next = place_next_frame(&p, ops, peak, done);
				ck_assert_uint_eq(next, n);
				done = next;
			}
			ck_assert_uint_eq(place_next_frame(&p, ops, peak, done), PLACE_NOWHERE);
		}
}
END_TEST

Suite *places_sinks_suite(void)
{
	Suite *s = suite_create("places_sinks");
	TCase *c = tcase_create("recorded");

	tcase_add_test(c, births_and_ends);
	tcase_add_test(c, reallocs);
	tcase_add_test(c, an_address_that_is_free_during_a_realloc);
	tcase_add_test(c, a_double_allocation);
	tcase_add_test(c, processes);
	tcase_add_test(c, exec_begins_another_program);
	tcase_add_test(c, samples_and_frames);
	tcase_add_test(c, a_reading_that_takes_long);
	tcase_add_test(c, frames_of_a_plan);
	suite_add_tcase(s, c);
	return s;
}
