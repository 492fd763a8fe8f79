// SPDX-License-Identifier: LGPL-3.0-or-later
/* compile_calls.c - from calls to playback files. */
#include "suites.h"

#include <string.h>
#include <unistd.h>

#include "play_feed.h"

static void order_is(const char *right)
{
	ck_assert_str_eq(played_order(), right);
}

/* ---- one thread ---- */

START_TEST(slots_are_dense_and_last_in_first_out)
{
	played_start();
	played_malloc(0x1000, 10);
	played_malloc(0x2000, 20);
	played_malloc(0x3000, 30);
	played_free(0x2000);
	played_free(0x1000);
	played_malloc(0x4000, 40);
	played_malloc(0x5000, 50);
	played_malloc(0x6000, 0);
	played_finish();
	order_is("m0:10 m1:20 m2:30 f1 f0 m0:40 m1:50 m3:0 -0 E");
	ck_assert_uint_eq(playfile_header(played.file)->slots, 4);
	ck_assert_uint_eq(played.sum.peak_bytes, 120);
	ck_assert_uint_eq(played.sum.peak_op, 6);
	ck_assert_uint_eq(played.sum.peak_blocks, 4);
	ck_assert_uint_eq(played.sum.left_blocks, 4);
	ck_assert_uint_eq(played.sum.left_bytes, 120);
	ck_assert_uint_eq(played.sum.asked_bytes, 150);
	ck_assert_uint_eq(played.sum.recorded_ns, 7000);
	ck_assert_ptr_null(playfile_stream(played.file, 0, &(size_t){ 0 }));
	played_release();
}
END_TEST

START_TEST(functions_alignments_and_sizes_are_kept)
{
	played_start();
	played_alloc(MPROF_FN_CALLOC, 0x1000, 1ull << 28, 0);
	played_alloc(MPROF_FN_POSIX_MEMALIGN, 0x2000, 5, 4096);
	played_alloc(MPROF_FN_MEMALIGN, 0x3000, 5, 48); /* as glibc: the next power of two */
	played_alloc(MPROF_FN_ALIGNED_ALLOC, 0x4000, (1ull << 40) + 3, 1);
	played_alloc(MPROF_FN_NEW, 0x5000, 7, 0);
	played_alloc(MPROF_FN_NEW_ARRAY, 0x6000, 7, 32);
	played_alloc(MPROF_FN_REALLOCARRAY, 0x7000, 8, 0);
	played_alloc(MPROF_FN_MALLOC, 0x8000, UINT64_MAX, 0);
	played_finish();
	order_is("c0:268435456 a1:5/12=7 a2:5/6=6 a3:1099511627779/3=8 m4:7=14 a5:7/5=15 "
		 "r6:8=5 m7:1152921504606846975 -0 E");
	ck_assert_uint_eq(played.sum.by_op[MPROF_PLAY_ALIGNED], 4);
	played_release();
}
END_TEST

START_TEST(realloc_keeps_the_slot)
{
	played_start();
	played_malloc(0x1000, 10);
	played_half(PLAYED_BEGIN, 0x1000, 0, 20);
	played_half(PLAYED_END, 0, 0x2000, 20);
	played_realloc(0x2000, 0x2000, 5);
	played_realloc(0, 0x3000, 7);
	played_half(PLAYED_END, 0, 0x4000, 8);
	played_half(PLAYED_BEGIN, 0x2000, 0, 1000); /* fails */
	played_half(PLAYED_END, 0, 0, 1000);
	played_realloc(0x3000, 0, 1000); /* fails */
	played_realloc(0x2000, 0, 0);	 /* frees */
	played_half(PLAYED_BEGIN, 0x3000, 0, 0);
	played_half(PLAYED_END, 0, 0, 0);
	played_realloc(0, 0, 0);
	played_finish();
	order_is("m0:10 r0:20 r0:5 r1:7 r2:8 f0=4 f1=4 -0 E");
	ck_assert_uint_eq(played.sum.failed, 2);
	ck_assert_uint_eq(played.sum.peak_bytes, 20);
	ck_assert_uint_eq(played.sum.left_bytes, 8);
	played_release();
}
END_TEST

START_TEST(what_is_wrong_is_counted_and_left_out)
{
	played_start();
	played_free(0);
	played_free(0x9000);
	played_malloc(0, 100);
	played_malloc(0x1000, 1);
	played_malloc(0x1000, 2);
	played_realloc(0x9000, 0x2000, 3);
	played_half(PLAYED_BEGIN, 0x9000, 0, 4);
	played_half(PLAYED_END, 0, 0x1000, 4);
	played_half(PLAYED_BEGIN, 0x2000, 0, 4); /* no end */
	played_finish();
	order_is("m0:1 f0 m0:2 r1:3 f0 r0:4 -0 E");
	ck_assert_uint_eq(played.sum.null_frees, 1);
	ck_assert_uint_eq(played.sum.unknown_frees, 3);
	ck_assert_uint_eq(played.sum.failed, 1);
	ck_assert_uint_eq(played.sum.double_allocations, 2);
	ck_assert_uint_eq(played.sum.left_blocks, 2);
	ck_assert_uint_eq(played.sum.left_bytes, 7);
	played_release();
}
END_TEST

START_TEST(nothing_to_play_is_an_error)
{
	struct error err;

	played_start();
	played_free(0x1000);
	ck_assert_int_lt(played_try(&err), 0);
	ck_assert_msg(strstr(err.text, "nothing to play"), "%s", err.text);
	close(played.fd);
}
END_TEST

START_TEST(times_are_sparse_and_rise)
{
	int i;

	played_start();
	for (i = 0; i < 250; i++)
		played_malloc(0x1000 + 16 * (uint64_t)i, 1);
	played.ns -= 100000;
	played_free(0x1000);
	played_finish();
	ck_assert_ptr_nonnull(strstr(played_order(), "m99:1 t100000 m100:1 "));
	ck_assert_ptr_nonnull(strstr(played_order(), "m199:1 t200000 m200:1 "));
	ck_assert_ptr_null(strstr(strstr(played_order(), "m200:1"), " t"));
	ck_assert_uint_eq(played.sum.recorded_ns, 249000);
	played_release();
}
END_TEST

/* ---- touched bytes ---- */

static void touch_free(uint64_t old, uint64_t touched)
{
	struct played_call c = { .fn = MPROF_FN_FREE,
				 .thread = 1,
				 .process = 1,
				 .ns = played.ns += 1000,
				 .old = old,
				 .touched = touched,
				 .has_touched = true };

	played_call(&c);
}

START_TEST(touched_bytes_stand_behind_the_birth)
{
	played.options.touch = true;
	played_start();
	played_malloc(0x1000, 16383);
	played_malloc(0x10000, 16384);
	played_malloc(0x20000, 1 << 20);
	played_malloc(0x100000, 20000);
	touch_free(0x10000, 5000);
	touch_free(0x20000, 1ull << 50); /* never more than the block */
	touch_free(0x1000, 1);
	played_finish();
	order_is("m0:16383 m1:16384 b5000 m2:1048576 b1048576 m3:20000 b1152921504606846975 "
		 "f1 f2 f0 -0 E");
	ck_assert_uint_eq(played.sum.touched_blocks, 2);
	ck_assert(playfile_header(played.file)->flags & MPROF_PLAY_HAS_TOUCH);
	played_release();
}
END_TEST

static const struct mprof_page_run left_runs[] = { { 0x100, 2 }, { 0x103, 1 }, { 0x203, 9 } };
static struct mprof_residency left_head = { .ticks_before = 5010000, .ticks_after = 5010001 };

static void left_pages(void)
{
	played.options.touch = true;
	played.residency[0] = (struct trace_residency){
		.process = 1, .head = &left_head, .run = left_runs, .runs = 3
	};
	played.residency_count = 1;
}

START_TEST(touched_bytes_of_blocks_never_freed)
{
	left_pages();
	played_start();
	played_malloc(0x100000, 40000);
	played_malloc(0x200800, 16384); /* its last 6 KiB are resident */
	played_malloc(0x300000, 30000);
	played_malloc(0x400000, 100);
	played.ns = 5020000;
	played_malloc(0x500000, 30000); /* after the reading */
	played_finish();
	order_is("m0:40000 b12288 m1:16384 b6144 m2:30000 b0 m3:100 m4:30000 b1152921504606846975 "
		 "-0 E");
	ck_assert_uint_eq(played.sum.touched_blocks, 3);
	played_release();
}
END_TEST

START_TEST(touched_bytes_of_a_birth_long_ago)
{
	struct playfile_cursor cursor;
	struct playfile_op op;
	uint64_t i;

	played.options.touch = true;
	played_start();
	played_malloc(0x10000, 16384);
	for (i = 0; i < 100000; i++) {
		played_malloc(0x1000000, 8);
		played_free(0x1000000);
	}
	touch_free(0x10000, 4242);
	played_finish(); /* with a checksum that is right */
	playfile_start(&cursor, played.file);
	ck_assert(playfile_next(&cursor, &op));
	ck_assert_uint_eq(op.touched, 4242);
	ck_assert_uint_eq(op.size, 16384);
	for (i = 1; playfile_next(&cursor, &op); i++)
		ck_assert_uint_eq(op.op, i);
	ck_assert_uint_eq(i, 200002);
	ck_assert_uint_eq(op.kind, MPROF_PLAY_FREE);
	played_release();
}
END_TEST

/* ---- threads ---- */

START_TEST(threads_begin_and_end)
{
	played_start();
	played_malloc(0x1000, 1);
	played_thread_begin(2, 1);
	played_thread_begin(3, 1);
	played_thread_begin(9, 1); /* never calls */
	played.thread = 2;
	played_malloc(0x2000, 2);
	played_free(0x2000);
	played_thread_end(2);
	played.thread = 3;
	played_free(0x1000);
	played_malloc(0x3000, 3);
	played_thread_end(3);
	played.thread = 1;
	played_free(0x3000);
	played_finish();
	order_is("m0:1 +1 T1 m1:2 f1 -1 T0 ~1 +2 T2 f0 m2:3 -2 T0 f2 -0 E");
	ck_assert_str_eq(played_stream(0), "m0:1 +1 ~1 +2 f2@3 -0 E");
	ck_assert_str_eq(played_stream(1), "m1:2 f1 -1 E");
	ck_assert_str_eq(played_stream(2), "f0@3 m2:3 -2 E");
	ck_assert_uint_eq(played.sum.remote_frees, 2);
	ck_assert_uint_eq(playfile_threads(played.file)[2].recorded, 3);
	ck_assert_uint_eq(playfile_threads(played.file)[2].calls, 2);
	ck_assert_uint_eq(playfile_threads(played.file)[2].first_ns, 3000);
	ck_assert_uint_eq(playfile_threads(played.file)[2].last_ns, 4000);
	ck_assert(played_plays(1));
	played_release();
}
END_TEST

START_TEST(the_creator_creates)
{
	played_start();
	played_malloc(0x1000, 1);
	played_thread_begin(3, 1);
	played.thread = 2;
	played_malloc(0x2000, 2);
	played.thread = 3; /* thread 2 ran last, but has not made it */
	played_malloc(0x3000, 3);
	played_thread_end(2);
	played_thread_begin(4, 2); /* which has ended */
	played.thread = 4;
	played_malloc(0x4000, 4);
	played.thread = 5;
	played_malloc(0x5000, 5);
	played_finish();
	order_is("m0:1 +1 T1 m1:2 T0 +2 T2 m2:3 T1 -1 T0 ~1 +3 T3 m3:4 +4 T4 m4:5 "
		 "T0 -0 T2 -2 T3 -3 T4 -4 E");
	played_release();
}
END_TEST

START_TEST(a_thread_without_creator_is_the_last_ones)
{
	played_start();
	played_malloc(0x1000, 1);
	played.thread = 2;
	played_malloc(0x2000, 2);
	played.thread = 3;
	played_malloc(0x3000, 3);
	played_thread_end(3);
	played.thread = 4; /* the last one has ended */
	played_malloc(0x4000, 4);
	played_finish();
	order_is("m0:1 +1 T1 m1:2 +2 T2 m2:3 -2 T0 ~2 +3 T3 m3:4 T0 -0 T1 -1 T3 -3 E");
	ck_assert_uint_eq(playfile_threads(played.file)[3].creator, 0);
	ck_assert_uint_eq(playfile_threads(played.file)[2].creator, 1);
	played_release();
}
END_TEST

START_TEST(calls_behind_the_end_move_it)
{
	unsigned fillers;
	const char *at;

	played_start();
	played_malloc(0x1000, 1);
	played_malloc(0x1100, 1);
	played_malloc(0x1200, 1);
	played.thread = 2;
	played_malloc(0x2000, 2);
	played_thread_end(2);
	played_free(0x2000); /* as the C library does */
	played.thread = 3;
	played_malloc(0x3000, 3);
	played.thread = 2;
	played_free(0x1000);
	played_finish();
	/* What was EXIT and GONE are TIME words now. */
	order_is("m0:1 m1:1 m2:1 +1 T1 m3:2 t0 f3 t0 T0 t0 +2 T2 m4:3 T1 f0 -1 T0 -0 T2 -2 E");
	ck_assert_str_eq(played_stream(1), "m3:2 f3 f0@3 -1 E");
	played_release();

	/* One that only seemed to end. */
	played_start();
	played_malloc(0x1000, 1);
	played.thread = 2;
	played_malloc(0x2000, 2);
	played_thread_end(2);
	for (int i = 0; i < 40; i++) {
		played_free(0x2000);
		played_malloc(0x2000, 2);
	}
	played_finish();
	ck_assert_uint_eq(playfile_threads(played.file)[1].calls, 81);
	ck_assert_str_eq(strstr(played_order(), " T0"), " T0 -0 T1 -1 E");
	/* Its end was moved so often and no more. */
	for (fillers = 0, at = played_order(); (at = strstr(at, " t0 ")); at++)
		fillers++;
	ck_assert_uint_eq(fillers, 17);
	ck_assert(played_plays(1));
	played_release();
}
END_TEST

START_TEST(what_another_thread_freed_rests)
{
	uint64_t i, slots;

	played_start();
	for (i = 0; i < 1000; i++) {
		played.thread = 1;
		played_malloc(0x100000, 8);
		played.thread = 2;
		played_free(0x100000);
	}
	played_finish();
	slots = playfile_header(played.file)->slots;
	ck_assert_uint_eq(slots, 1000);
	ck_assert(played_plays(3));
	played_release();

	played_start();
	for (i = 0; i < 3 * MPROF_PLAY_REST; i++) {
		played.thread = 1;
		played_malloc(0x100000, 8);
		played.thread = 2;
		played_free(0x100000);
	}
	played_finish();
	slots = playfile_header(played.file)->slots;
	ck_assert_uint_ge(slots, MPROF_PLAY_REST / 2);
	ck_assert_uint_le(slots, MPROF_PLAY_REST / 2 + 1);
	played_release();
}
END_TEST

START_TEST(many_short_threads)
{
	uint32_t i;

	played_start();
	played_malloc(0x1000, 1);
	for (i = 2; i < 5000; i++) {
		played_thread_begin(i, 1);
		played.thread = i;
		played_malloc(0x100000, 8);
		played_malloc(0x200000, 8);
		played_free(0x100000);
		played_free(0x200000);
		played_thread_end(i);
	}
	played_finish();
	ck_assert_uint_eq(playfile_header(played.file)->threads, 4999);
	/* None of them was asked to wait for another one's slot too early. */
	ck_assert_uint_le(playfile_header(played.file)->slots, 10001);
	played_release();
}
END_TEST

/* ---- processes ---- */

START_TEST(exec_and_fork)
{
	played_start();
	played_malloc(0x1000, 1);
	played_malloc(0x2000, 2);
	played_half(PLAYED_BEGIN, 0x2000, 0, 3);
	played_fork(1, 2);
	played.process = played.thread = 2;
	played_free(0x1000);
	played_malloc(0x1000, 4);
	played_exec(1);
	played_exec(2);
	played_free(0x1000); /* of the next image */
	played_finish();
	order_is("m0:1 m1:2 +1 T1 m2:4 T0 f0 f1 -0 T1 f2 -1 E");
	ck_assert_uint_eq(played.sum.inherited_frees, 1);
	ck_assert_uint_eq(played.sum.unknown_frees, 1);
	ck_assert_uint_eq(played.sum.swept, 3);
	ck_assert_uint_eq(played.sum.left_blocks, 0);
	played_release();
}
END_TEST

/* ---- what stands in the wrong order ---- */

START_TEST(an_inversion_is_put_right)
{
	played_start();
	played_malloc(0x1000, 1);
	played.thread = 2;
	played_malloc(0x1000, 2); /* before the free that made room */
	played_malloc(0x2000, 3);
	played.thread = 1;
	played_malloc(0x3000, 4);
	played_free(0x1000);
	played.thread = 2;
	played_free(0x1000);
	played_finish();
	order_is("m0:1 m1:4 f0 +1 T1 m2:2 m3:3 f2 T0 -0 T1 -1 E");
	ck_assert_str_eq(played_stream(0), "m0:1 m1:4 f0 +1 -0 E");
	ck_assert_uint_eq(played.sum.inversions, 1);
	ck_assert_uint_eq(played.sum.double_allocations, 0);
	ck_assert_uint_eq(played.sum.unknown_frees, 0);
	ck_assert_uint_eq(played.sum.left_bytes, 7);
	played_release();
}
END_TEST

START_TEST(a_free_before_its_malloc_is_put_right)
{
	played_start();
	played_malloc(0x9000, 1);
	played.thread = 2;
	played_malloc(0x8000, 1);
	played_free(0x1000);
	played_half(PLAYED_BEGIN, 0x2000, 0, 9);
	played_half(PLAYED_END, 0, 0x3000, 9);
	played.thread = 1;
	played_malloc(0x1000, 5);
	played_malloc(0x2000, 6);
	played_finish();
	ck_assert_str_eq(played_stream(0), "m0:1 +1 m2:5 m3:6 -0 E");
	ck_assert_str_eq(played_stream(1), "m1:1 f2@3 r3:9@3 -1 E");
	ck_assert_uint_eq(played.sum.inversions, 2);
	ck_assert_uint_eq(played.sum.unknown_frees, 0);
	played_release();
}
END_TEST

START_TEST(too_late_is_not_put_right)
{
	played_start();
	played_malloc(0x1000, 1);
	played.thread = 2;
	played_malloc(0x1000, 2);
	played.ns += 200000;
	played.thread = 1;
	played_free(0x1000);
	played_finish();
	ck_assert_uint_eq(played.sum.inversions, 0);
	ck_assert_uint_eq(played.sum.double_allocations, 1);
	played_release();
}
END_TEST

/* ---- what-if ---- */

struct changer {
	uint64_t tags;
};

/* Blocks of site 7 vanish, those of site 8 become twice as large; a tag is the block's number. */
static void change(void *self, const struct compile_call *call, const struct compile_old *old,
		   bool begins, uint64_t *tag, struct compile *to)
{
	struct compile_call changed = *call;
	struct changer *c = self;

	c->tags += old != NULL;
	if (old ? old->site == 7 : call->site == 7)
		return;
	if (call->site == 8)
		changed.size *= 2;
	*tag = compile_call(to, &changed, old ? (uint32_t)old->tag : COMPILE_NONE, begins);
}

static void sited(uint64_t addr, uint64_t size, uint32_t site)
{
	struct played_call c = { .fn = MPROF_FN_MALLOC,
				 .thread = 1,
				 .process = 1,
				 .ns = played.ns += 1000,
				 .addr = addr,
				 .size = size,
				 .site = site };

	played_call(&c);
}

START_TEST(a_hook_changes_calls)
{
	struct changer changer = { 0 };
	struct compile_change hook = { &changer, change, NULL };

	played.options.change = &hook;
	played.options.sites = true;
	played_start();
	sited(0x1000, 1, 6);
	sited(0x2000, 2, 7);
	sited(0x3000, 3, 8);
	played.thread = 2;
	played_free(0x2000);
	played_half(PLAYED_BEGIN, 0x3000, 0, 4);
	played_half(PLAYED_END, 0, 0x4000, 4);
	played_free(0x9000);
	played_thread_end(2);
	played_finish();
	ck_assert_str_eq(played_order(), "m0:1 m1:6 +1 T1 r1:4 -1 T0 -0 E");
	ck_assert_uint_eq(changer.tags, 2);
	ck_assert_uint_eq(played.sum.unknown_frees, 1);
	ck_assert(playfile_header(played.file)->flags & MPROF_PLAY_CHANGED);
	ck_assert_uint_eq(playfile_sites(played.file)[1], 8);
	played_release();
}
END_TEST

/* ---- suite ---- */

Suite *compile_calls_suite(void)
{
	Suite *s = suite_create("compile_calls");
	TCase *c = tcase_create("all");

	tcase_add_test(c, slots_are_dense_and_last_in_first_out);
	tcase_add_test(c, functions_alignments_and_sizes_are_kept);
	tcase_add_test(c, realloc_keeps_the_slot);
	tcase_add_test(c, what_is_wrong_is_counted_and_left_out);
	tcase_add_test(c, nothing_to_play_is_an_error);
	tcase_add_test(c, times_are_sparse_and_rise);
	tcase_add_test(c, touched_bytes_stand_behind_the_birth);
	tcase_add_test(c, touched_bytes_of_blocks_never_freed);
	tcase_add_test(c, touched_bytes_of_a_birth_long_ago);
	tcase_add_test(c, threads_begin_and_end);
	tcase_add_test(c, the_creator_creates);
	tcase_add_test(c, a_thread_without_creator_is_the_last_ones);
	tcase_add_test(c, calls_behind_the_end_move_it);
	tcase_add_test(c, what_another_thread_freed_rests);
	tcase_add_test(c, many_short_threads);
	tcase_add_test(c, exec_and_fork);
	tcase_add_test(c, an_inversion_is_put_right);
	tcase_add_test(c, a_free_before_its_malloc_is_put_right);
	tcase_add_test(c, too_late_is_not_put_right);
	tcase_add_test(c, a_hook_changes_calls);
	suite_add_tcase(s, c);
	return s;
}
