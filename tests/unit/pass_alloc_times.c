// SPDX-License-Identifier: LGPL-3.0-or-later
/* pass_alloc_times.c - the time in the allocator, and which sizes of frames a reader uses. */
#include "suites.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "pass/alloc_times.h"
#include "pass/stack_uses.h"
#include "print/print_times.h"
#include "trace_build.h"

#define HZ   2000000000u /* two steps in a ns */
#define COST 40u	 /* steps */

static struct build b;
static int fd;

static struct trace *reopen(void)
{
	struct error err;
	struct trace *t;

	ck_assert_msg(!trace_open(&t, build_path(&b, &fd), MPROF_MAGIC_TRACE, &err), "%s",
		      err.text);
	return t;
}

static void done(struct trace *t)
{
	trace_close(t);
	close(fd);
	build_free(&b);
}

/* A thread with `timed` calls of a function, half of them 10 ns shorter than the mean, half longer.
 */
static void add_times(uint32_t thread, unsigned fn, uint64_t timed, uint64_t ns, uint64_t cpu_ns)
{
	struct mprof_times x = {
		.hz = HZ, .cost_calls = 10, .cost_ticks = 10 * COST, .cpu_ns = cpu_ns
	};
	const double low = (double)(2 * (ns - 10) + COST), high = (double)(2 * (ns + 10) + COST);

	x.fn[fn] =
	    (struct mprof_times_fn){ .calls = timed,
				     .ticks = timed * (2 * ns + COST),
				     .squares = (low * low + high * high) / 2 * (double)timed,
				     .most = 2 * (ns + 10) + COST };
	build_extent(&b, MPROF_EXTENT_TIMES, 1, thread, &x, sizeof(x), 0);
}

/* One more call of the function, which an interruption made this long. */
static void add_interrupted(uint32_t thread, unsigned fn, uint64_t timed, uint64_t ns,
			    uint64_t long_ns)
{
	struct mprof_times x = { .hz = HZ, .cost_calls = 10, .cost_ticks = 10 * COST };
	const double each = (double)(2 * ns + COST), most = (double)(2 * long_ns + COST);

	x.fn[fn] = (struct mprof_times_fn){ .calls = timed + 1,
					    .ticks = (uint64_t)(each * (double)timed + most),
					    .squares = each * each * (double)timed + most * most,
					    .most = (uint64_t)most };
	build_extent(&b, MPROF_EXTENT_TIMES, 1, thread, &x, sizeof(x), 0);
}

static bool near(double a, double of)
{
	return fabs(a - of) <= of * 1e-9 + 1e-6;
}

START_TEST(means_times_calls)
{
	struct alloc_times_calls calls[3] = { { .thread = 1 }, { .thread = 2 }, { .thread = 3 } };
	struct alloc_times a;
	struct trace *t;

	calls[0].calls[MPROF_FN_MALLOC] = 1000;
	calls[1].calls[MPROF_FN_MALLOC] = 500;
	calls[2].calls[MPROF_FN_MALLOC] = 100;
	calls[2].calls[MPROF_FN_CALLOC] = 7;
	build_start(&b, MPROF_MAGIC_TRACE);
	add_times(1, MPROF_FN_MALLOC, 300, 20, 1000000);
	add_times(2, MPROF_FN_MALLOC, 100, 60, 0);
	t = reopen();
	alloc_times_find(&a, t, calls, 3);
	ck_assert_uint_eq(a.timed, 400);
	ck_assert_uint_eq(a.calls, 1600);
	ck_assert_uint_eq(a.cpu_ns, 1000000);
	/* The third thread has no timed calls of its own; calloc has none at all. */
	ck_assert(near(a.thread[0].ns[MPROF_FN_MALLOC], 20 * 1000));
	ck_assert(near(a.thread[1].ns[MPROF_FN_MALLOC], 60 * 500));
	ck_assert(near(a.thread[2].ns[MPROF_FN_MALLOC], 30 * 100));
	ck_assert(near(a.ns, 53000));
	ck_assert(near(a.fn[MPROF_FN_MALLOC].mean_ns, 30));
	ck_assert(near(a.fn[MPROF_FN_MALLOC].most_ns, 70));
	/* The variance: 10 ns around each mean, and 400 (3/4 of them 10 off, 1/4 30 off) of these.
	 */
	ck_assert(near(a.error_ns, 1.96 * sqrt((100 + 300) / 400.0) * 1600));
	ck_assert(!a.high);
	alloc_times_release(&a);
	alloc_times_find(&a, t, calls, 0);
	ck_assert_uint_eq(a.timed, 0);
	done(t);
}
END_TEST

START_TEST(too_few_or_too_much)
{
	struct alloc_times_calls calls = { .thread = 1 };
	struct alloc_times a;
	struct trace *t;

	calls.calls[MPROF_FN_FREE] = 10000000;
	build_start(&b, MPROF_MAGIC_TRACE);
	add_times(1, MPROF_FN_FREE, 99, 20, 1000000000);
	t = reopen();
	alloc_times_find(&a, t, &calls, 1);
	ck_assert_uint_eq(a.timed, 0);
	done(t);
	/* 200 ms of a second are worth a finding. */
	build_start(&b, MPROF_MAGIC_TRACE);
	add_times(1, MPROF_FN_FREE, 1000, 20, 1000000000);
	t = reopen();
	alloc_times_find(&a, t, &calls, 1);
	ck_assert(a.high);
	ck_assert(near(a.ns, 2e8));
	alloc_times_release(&a);
	done(t);
	/* No more than the CPU time, unless that is impossible. */
	build_start(&b, MPROF_MAGIC_TRACE);
	add_times(1, MPROF_FN_FREE, 1000, 20, 160000000);
	t = reopen();
	alloc_times_find(&a, t, &calls, 1);
	ck_assert(near(a.ns, 1.6e8));
	ck_assert(near(a.thread[0].ns[MPROF_FN_FREE], 1.6e8));
	alloc_times_release(&a);
	done(t);
	build_start(&b, MPROF_MAGIC_TRACE);
	add_times(1, MPROF_FN_FREE, 1000, 20, 90000000);
	t = reopen();
	alloc_times_find(&a, t, &calls, 1);
	ck_assert_uint_eq(a.timed, 0);
	done(t);
}
END_TEST

/* Two threads with `timed` calls; one call takes long_ns; the CPU time is 1 s. */
static struct alloc_times with_one_of(uint64_t timed, uint64_t calls_of_all, uint64_t long_ns)
{
	struct alloc_times_calls calls[2] = { { .thread = 1 }, { .thread = 2 } };
	struct alloc_times a;
	struct trace *t;

	calls[0].calls[MPROF_FN_MALLOC] = calls_of_all / 2;
	calls[1].calls[MPROF_FN_MALLOC] = calls_of_all / 2;
	build_start(&b, MPROF_MAGIC_TRACE);
	add_times(1, MPROF_FN_FREE, 1000, 20, 1000000000);
	add_interrupted(1, MPROF_FN_MALLOC, timed / 2 - 1, 20, long_ns);
	add_interrupted(2, MPROF_FN_MALLOC, timed / 2 - 1, 20, 20);
	t = reopen();
	alloc_times_find(&a, t, calls, 2);
	done(t);
	return a;
}

START_TEST(one_call_is_not_most_of_the_run)
{
	struct alloc_times a;

	/* Each of 1000 calls stands for 500; 5 ms would be 2.5 s. */
	a = with_one_of(1000, 500000, 5000000);
	ck_assert_uint_eq(a.timed, 1999);
	ck_assert(near(a.ns, 20 * 500000));
	ck_assert(near(a.thread[0].ns[MPROF_FN_MALLOC], 20 * 250000));
	ck_assert(a.error_ns < 1e4);
	ck_assert(near(a.fn[MPROF_FN_MALLOC].most_ns, 5e6));
	alloc_times_release(&a);
	/* One of 0.9 ms may be true: 0.45 s. */
	a = with_one_of(1000, 500000, 900000);
	ck_assert_uint_eq(a.timed, 2000);
	ck_assert(near(a.ns, 20 * 500000 + (900000 - 20) * 500));
	alloc_times_release(&a);
	/* 20 calls are too few to tell. */
	a = with_one_of(20, 20, 900000000);
	ck_assert_uint_eq(a.timed, 1020);
	ck_assert(near(a.ns, 900000000 + 19 * 20));
	alloc_times_release(&a);
}
END_TEST

/* ---- intervals of stack use ---- */

#define INTERVAL(at, units) ((uint64_t)(at) << MPROF_INTERVAL_DEPTH_BITS | (units))

/* words: what follows the record, intervals at the end, the last one first. */
static void add_intervals(uint32_t thread, uint32_t count, const uint64_t *word, size_t words,
			  uint64_t deepest)
{
	struct {
		struct mprof_stack_use u;
		uint64_t word[4];
	} x = { .u = { .high = 0x7fff00000000,
		       .begin_ticks = 5,
		       .deepest = deepest,
		       .intervals = count } };

	memcpy(x.word, word, words * sizeof(*word));
	build_extent(&b, MPROF_EXTENT_STACK_USE, 1, thread, &x, sizeof(x.u) + words * 8, 0);
}

START_TEST(intervals_of_time)
{
	static const uint64_t good[] = { 7, INTERVAL(9, 1), INTERVAL(3, 100), INTERVAL(0, 2) },
			      back[] = { INTERVAL(9, 5), INTERVAL(2, 1), INTERVAL(3, 4),
					 INTERVAL(0, 2) },
			      quiet[] = { 0, INTERVAL(9, 0), INTERVAL(3, 0), INTERVAL(0, 2) };
	struct stack_uses s;
	struct trace *t;

	build_start(&b, MPROF_MAGIC_TRACE);
	add_intervals(1, 3, good, 4, 6350);
	add_intervals(2, 4, back, 4, 6350);	   /* one begins before the one in front of it */
	add_intervals(3, UINT32_MAX, good, 4, 50); /* more than fit; deeper than the deepest */
	add_intervals(4, 3, good, 0, 6350);	   /* no room */
	add_intervals(5, 0, good, 4, 6350);	   /* are being joined */
	add_intervals(6, 3, quiet, 4, 6350);	   /* the last two have no call */
	t = reopen();
	stack_uses_find(&s, t);
	ck_assert_uint_eq(s.count, 6);
	for (size_t i = 0; i < s.count; i++) {
		static const uint32_t count[] = { 0, 3, 2, 3, 0, 0, 1 };
		const struct stack_of *x = &s.of[i];

		ck_assert_uint_eq(x->intervals, count[x->thread]);
		if (x->intervals)
			ck_assert_uint_eq(stack_interval(x, 0).deepest, x->thread == 3 ? 50 : 128);
		if (x->thread > 1)
			continue;
		ck_assert_uint_eq(stack_interval(x, 0).ticks, 5);
		ck_assert_uint_eq(stack_interval(x, 1).ticks, 5 + 3 * 16384);
		ck_assert_uint_eq(stack_interval(x, 1).deepest,
				  6350); /* not rounded up beyond it */
		ck_assert_uint_eq(stack_interval(x, 2).deepest, 64);
	}
	stack_uses_release(&s);
	done(t);
}
END_TEST

/* ---- sizes of frames ---- */

struct use {
	struct mprof_stack_use u;
	uint32_t size[4];
};

static void add_use(uint32_t thread, uint64_t deepest, uint64_t sized, uint32_t frames,
		    const uint32_t size[3])
{
	struct use x = { .u = { .high = 0x7fff00000000,
				.deepest = deepest,
				.sized = sized,
				.frames = frames } };

	memcpy(x.size, size, 3 * sizeof(*size));
	build_extent(&b, MPROF_EXTENT_STACK_USE, 1, thread, &x, sizeof(x), 0);
}

START_TEST(sizes_of_another_call)
{
	static const uint32_t size[] = { 16, 100, 84 };
	const struct trace_stack_use *use;
	struct trace *t;

	build_start(&b, MPROF_MAGIC_TRACE);
	add_use(1, 200, 200, 3, size);
	add_use(2, 208, 200, 3, size); /* of an earlier call */
	add_use(3, 200, 0, 3, size);   /* was being written */
	add_use(4, 208, 208, 3, size); /* another sum */
	add_use(5, 200, 200, 400, size);
	add_use(6, 200, 0, 3, size); /* the record moved: the valid one counts, */
	add_use(6, 200, 200, 3, size);
	add_use(7, 116, 116, 2, size); /* or the deeper one */
	add_use(7, 200, 200, 3, size);
	t = reopen();
	ck_assert_uint_eq(trace_stack_uses(t, &use), 7);
	for (uint32_t i = 0; i < 7; i++) {
		const bool good = i == 0 || i >= 5;

		ck_assert_uint_eq(use[i].thread, i + 1);
		ck_assert_uint_eq(use[i].frames, good ? 3 : 0);
		ck_assert_uint_eq(use[i].u->deepest, i == 1 || i == 3 ? 208 : 200);
		ck_assert(!good || use[i].size[1] == 100);
	}
	done(t);
}
END_TEST

START_TEST(what_may_be_0_is_not_told)
{
	struct alloc_times a = { .cpu_ns = 1000000000, .ns = 900000000.0, .error_ns = 910000000.0 };
	char text[200] = "";
	FILE *out;

	ck_assert(!times_are_told(&a));
	a.error_ns = 800000000;
	ck_assert(times_are_told(&a));
	out = fmemopen(text, sizeof(text), "w");
	times_sentence(&a, out);
	fclose(out);
	ck_assert_str_eq(text,
			 "The allocator took about 900 ms (100 ms to 1.00 s), 90 % of the CPU "
			 "time with recording (1.00 s):.");
}
END_TEST

Suite *pass_alloc_times_suite(void)
{
	Suite *s = suite_create("pass_alloc_times");
	TCase *c = tcase_create("all");

	tcase_add_test(c, means_times_calls);
	tcase_add_test(c, too_few_or_too_much);
	tcase_add_test(c, one_call_is_not_most_of_the_run);
	tcase_add_test(c, what_may_be_0_is_not_told);
	tcase_add_test(c, intervals_of_time);
	tcase_add_test(c, sizes_of_another_call);
	suite_add_tcase(s, c);
	return s;
}
