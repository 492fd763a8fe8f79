// SPDX-License-Identifier: LGPL-3.0-or-later
/* trace_merge.c - the order of events over threads, slots against chunks, fork. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suites.h"
#include "trace_build.h"
#include "trace_text.h"

#define BASE 0x7f0000001000ull

static struct build b;
static struct words w;

static struct trace *open_build(int *fd)
{
	struct error err;
	struct trace *t;

	ck_assert_msg(!trace_open(&t, build_path(&b, fd), MPROF_MAGIC_TRACE, &err), "%s", err.text);
	return t;
}

/* A thread whose events are mallocs at these times, addr = BASE + 16 * time. */
static void add_thread(uint32_t process, uint32_t thread, uint64_t seq, const uint64_t *times,
		       size_t n)
{
	words_start(&w, times[0]);
	for (size_t i = 0; i < n; i++)
		words_alloc(&w, MPROF_TAG_MALLOC, times[i], BASE + 16 * times[i], 8, 24);
	build_chunk(&b, process, thread, seq, &w);
	words_free(&w);
}

static size_t read_all(struct event *e, size_t room, size_t batch, struct trace_damage *damage)
{
	int fd;
	struct trace *t = open_build(&fd);
	size_t got = 0, n;

	while ((n = trace_next(t, e + got, batch < room - got ? batch : room - got)))
		got += n;
	*damage = *trace_damage(t);
	trace_close(t);
	close(fd);
	return got;
}

/* Batches of all sizes give the same order. */
START_TEST(order_over_threads)
{
	static const uint64_t a[] = { 10, 20, 30, 40, 5000, 5001 };
	static const uint64_t c[] = { 15, 16, 17, 41, 6000 };
	static const uint64_t d[] = { 1, 2, 9000, 9001, 9002 };
	struct trace_damage damage;
	struct event e[20];
	size_t n;

	build_start(&b, MPROF_MAGIC_TRACE);
	add_thread(1, 1, 1, a, 6);
	add_thread(1, 2, 1, c, 5);
	add_thread(2, 3, 1, d, 5);
	n = read_all(e, 20, (size_t)_i, &damage);
	ck_assert_uint_eq(n, 16);
	for (size_t i = 1; i < n; i++)
		ck_assert_uint_lt(e[i - 1].ticks, e[i].ticks);
	for (size_t i = 0; i < n; i++)
		ck_assert_uint_eq(e[i].addr, BASE + 16 * e[i].ticks);
	ck_assert_uint_eq(e[0].thread, 3);
	ck_assert_uint_eq(e[0].process, 2);
	ck_assert_uint_eq(e[15].thread, 3);
	ck_assert_uint_eq(damage.first_bad_offset, 0);
	build_free(&b);
}
END_TEST

/* At one time: the free of one thread, then the malloc that got its block. */
START_TEST(free_before_malloc_at_a_tie)
{
	static const unsigned gives[] = { MPROF_TAG_FREE, MPROF_TAG_DELETE,
					  MPROF_TAG_REALLOC_BEGIN };
	static const unsigned takes[] = { MPROF_TAG_MALLOC, MPROF_TAG_NEW, MPROF_TAG_REALLOC_END };
	bool free_is_first_thread = _i & 1;
	struct trace_damage damage;
	struct event e[8];

	build_start(&b, MPROF_MAGIC_TRACE);
	words_start(&w, 100);
	words_give(&w, gives[_i / 2], 500, BASE);
	build_chunk(&b, 1, free_is_first_thread ? 1 : 2, 1, &w);
	words_free(&w);
	words_start(&w, 100);
	words_alloc(&w, takes[_i / 2], 500, BASE, 8, 24);
	build_chunk(&b, 1, free_is_first_thread ? 2 : 1, 1, &w);
	words_free(&w);
	ck_assert_uint_eq(read_all(e, 8, 8, &damage), 2);
	ck_assert_uint_eq(e[0].thread, free_is_first_thread ? 1 : 2);
	ck_assert_uint_eq(e[0].ticks, e[1].ticks);
	ck_assert_uint_eq(e[0].addr, BASE);
	ck_assert_uint_eq(e[1].usable, 24);
	build_free(&b);
}
END_TEST

/* A thread's own order is never changed, whatever its times say. */
START_TEST(thread_keeps_its_order)
{
	struct trace_damage damage;
	struct event e[8];

	build_start(&b, MPROF_MAGIC_TRACE);
	words_start(&w, 100);
	words_alloc(&w, MPROF_TAG_MALLOC, 500, BASE, 8, 24);
	words_give(&w, MPROF_TAG_FREE, 500, BASE);
	words_alloc(&w, MPROF_TAG_MALLOC, 500, BASE, 8, 24);
	words_put(&w, mprof_word_time(300)); /* a clock that went back */
	w.ticks = 300;
	words_give(&w, MPROF_TAG_FREE, 301, BASE);
	build_chunk(&b, 1, 1, 1, &w);
	words_free(&w);
	ck_assert_uint_eq(read_all(e, 8, 8, &damage), 4);
	ck_assert_uint_eq(e[0].fn, MPROF_FN_MALLOC);
	ck_assert_uint_eq(e[1].fn, MPROF_FN_FREE);
	ck_assert_uint_eq(e[2].fn, MPROF_FN_MALLOC);
	ck_assert_uint_eq(e[3].ticks, 301);
	build_free(&b);
}
END_TEST

static const uint64_t first[] = { 10, 11 }, second[] = { 20, 21 }, third[] = { 30, 31, 32 };

static void make(struct words *to, const uint64_t *times, size_t n)
{
	words_start(to, times[0]);
	for (size_t i = 0; i < n; i++)
		words_alloc(to, MPROF_TAG_MALLOC, times[i], BASE + 16 * times[i], 8, 24);
}

/* Chunks out of their order in the file, then a slot with the tail. */
START_TEST(slot_is_the_tail)
{
	static const uint64_t times[] = { 10, 11, 20, 21, 30, 31, 32 };
	struct trace_damage damage;
	struct event e[16];

	build_start(&b, MPROF_MAGIC_TRACE);
	make(&w, third, 3);
	build_slot(&b, 1, 1, 3, &w, 4096 - 64);
	words_free(&w);
	add_thread(1, 1, 2, second, 2);
	add_thread(1, 1, 1, first, 2);
	ck_assert_uint_eq(read_all(e, 16, 16, &damage), 7);
	for (int i = 0; i < 7; i++)
		ck_assert_uint_eq(e[i].ticks, times[i]);
	ck_assert_uint_eq(damage.first_bad_offset, 0);
	build_free(&b);
}
END_TEST

/* Killed after the copy and before the slot was reused: the same words twice. */
START_TEST(slot_that_was_copied)
{
	struct trace_damage damage;
	struct event e[16];
	size_t chunk;

	build_start(&b, MPROF_MAGIC_TRACE);
	add_thread(1, 1, 1, first, 2);
	make(&w, second, 2);
	build_slot(&b, 1, 1, 2, &w, 1024);
	chunk = build_chunk(&b, 1, 1, 2, &w);
	words_free(&w);
	ck_assert_uint_eq(read_all(e, 16, 16, &damage), 4);
	ck_assert_uint_eq(damage.first_bad_offset, 0);
	/* A copy that was torn does not hide the slot, which has all of it. */
	b.bytes[chunk + sizeof(struct mprof_extent)] ^= 1;
	ck_assert_uint_eq(read_all(e, 16, 16, &damage), 4);
	ck_assert_uint_eq(e[3].ticks, 21);
	ck_assert_uint_eq(damage.chunks_bad, 0);
	build_free(&b);
}
END_TEST

START_TEST(gap_in_a_thread)
{
	struct trace_damage damage;
	struct event e[16];

	build_start(&b, MPROF_MAGIC_TRACE);
	add_thread(1, 1, 2, first, 2);
	add_thread(1, 1, 5, second, 2);
	add_thread(1, 2, 1, third, 3);
	ck_assert_uint_eq(read_all(e, 16, 16, &damage), 7);
	ck_assert_uint_eq(damage.chunks_missing, 3); /* 1, 3 and 4 */
	build_free(&b);
}
END_TEST

/* The chunk of threads that ended: each event says whose it is. */
START_TEST(thread_words)
{
	struct trace_damage damage;
	struct event e[16];

	build_start(&b, MPROF_MAGIC_TRACE);
	words_start(&w, 10);
	words_put(&w, mprof_word_thread(7));
	words_give(&w, MPROF_TAG_FREE, 11, BASE);
	words_put(&w, mprof_word_thread(8));
	words_give(&w, MPROF_TAG_FREE, 12, BASE + 16);
	build_chunk(&b, 1, 9, 1, &w);
	words_free(&w);
	add_thread(1, 9, 2, second, 2);
	ck_assert_uint_eq(read_all(e, 16, 16, &damage), 4);
	ck_assert_uint_eq(e[0].thread, 7);
	ck_assert_uint_eq(e[1].thread, 8);
	ck_assert_uint_eq(e[2].thread, 9); /* until the chunk ends, not longer */
	build_free(&b);
}
END_TEST

/* The parent continues; the child is a separate process with its own thread number. */
START_TEST(fork_is_two_processes)
{
	struct mprof_fact start = {
		.what = MPROF_FACT_START, .pid = 100, .ticks = 1001, .mono_ns = 1001
	};
	struct mprof_fact child = { .what = MPROF_FACT_START,
				    .pid = 101,
				    .parent = 1,
				    .fork_ticks = 1010,
				    .ticks = 1012,
				    .mono_ns = 1012 };
	static const char strings[] = "exe=/bin/a\0arg=a\0arg=-x\0mode=LogMmap";
	const struct trace_fact *f;
	struct event e[16];
	struct trace *t;
	int fd;

	build_start(&b, MPROF_MAGIC_TRACE);
	build_fact(&b, 2, &child, "why=a string without an end", 27);
	build_fact(&b, 1, &start, strings, sizeof(strings));
	words_start(&w, 1000);
	words_control(&w, MPROF_CONTROL_FORK, 1010, 1);
	words_control(&w, MPROF_CONTROL_FORKED, 1015, 101);
	build_chunk(&b, 1, 1, 1, &w);
	words_free(&w);
	words_start(&w, 1010);
	words_control(&w, MPROF_CONTROL_THREAD_START, 1013, 101);
	words_control(&w, MPROF_CONTROL_EXEC, 1014, 0);
	build_chunk(&b, 2, 2, 1, &w);
	words_free(&w);
	t = open_build(&fd);
	ck_assert_uint_eq(trace_facts(t, &f), 2);
	ck_assert_int_eq(f[0].fact->pid, 100); /* in the order of time */
	ck_assert_str_eq(f[0].exe, "/bin/a");
	ck_assert_str_eq(f[0].mode, "LogMmap");
	ck_assert_str_eq(f[0].cwd, "");
	ck_assert_uint_eq(f[0].argc, 2);
	ck_assert_str_eq(f[0].argv[1], "-x");
	ck_assert_str_eq(f[1].why, "a string without an end");
	ck_assert_uint_eq(f[1].fact->fork_ticks, 1010);
	ck_assert_uint_eq(trace_next(t, e, 16), 4);
	ck_assert_uint_eq(e[0].control, MPROF_CONTROL_FORK);
	ck_assert_uint_eq(e[1].control, MPROF_CONTROL_THREAD_START);
	ck_assert_uint_eq(e[1].process, 2);
	ck_assert_uint_eq(e[2].control, MPROF_CONTROL_EXEC);
	ck_assert_uint_eq(e[3].value, 101);
	trace_close(t);
	close(fd);
	build_free(&b);
}
END_TEST

START_TEST(rewind_gives_the_same)
{
	struct event once[16], again[16];
	struct trace *t;
	size_t n;
	int fd;

	build_start(&b, MPROF_MAGIC_TRACE);
	add_thread(1, 1, 1, first, 2);
	add_thread(1, 1, 3, third, 3); /* with a gap, to be counted once */
	add_thread(1, 2, 1, second, 2);
	add_thread(1, 3, 1, second, 2);
	b.bytes[b.n - 60] ^= 1; /* in the payload of the last one */
	t = open_build(&fd);
	n = trace_next(t, once, 3);
	while (trace_next(t, again, 16))
		;
	ck_assert_uint_eq(trace_damage(t)->chunks_bad, 1);
	trace_rewind(t);
	ck_assert_uint_eq(trace_damage(t)->chunks_bad, 1); /* it stays known */
	ck_assert_uint_eq(trace_next(t, again, 16), 7);
	ck_assert_mem_eq(once, again, n * sizeof(once[0]));
	ck_assert_uint_eq(trace_next(t, again, 16), 0);
	ck_assert_uint_eq(trace_damage(t)->chunks_missing, 1);
	ck_assert_uint_eq(trace_damage(t)->chunks_bad, 1);
	trace_close(t);
	close(fd);
	build_free(&b);
}
END_TEST

/* A few threads that take turns at random: long runs, short runs, every shape of the heap. */
START_TEST(random_turns)
{
	enum { EVENTS = 4000 };
	static struct event e[EVENTS];
	struct trace_damage damage;
	struct words each[9];
	uint32_t r = 12345, threads = (uint32_t)_i;

	build_start(&b, MPROF_MAGIC_TRACE);
	for (uint32_t i = 0; i < threads; i++)
		words_start(&each[i], 0);
	for (uint64_t tick = 0; tick < EVENTS; tick++) {
		r = r * 1664525 + 1013904223;
		words_give(&each[(r >> 16) % threads], MPROF_TAG_FREE, tick, 64 * tick);
	}
	for (uint32_t i = 0; i < threads; i++) {
		build_chunk(&b, 1, i + 1, 1, &each[i]);
		words_free(&each[i]);
	}
	ck_assert_uint_eq(read_all(e, EVENTS, 100, &damage), EVENTS);
	for (size_t i = 0; i < EVENTS; i++)
		ck_assert_uint_eq(e[i].addr, 64 * i);
	build_free(&b);
}
END_TEST

/* Each chunk can be read by itself: deltas count from 0 again. */
START_TEST(chunks_start_anew)
{
	struct trace_damage damage;
	struct event e[4];

	build_start(&b, MPROF_MAGIC_TRACE);
	for (uint64_t seq = 1; seq <= 2; seq++) {
		words_start(&w, 100 * seq);
		words_alloc(&w, MPROF_TAG_MALLOC, 100 * seq + 1, 4096 * seq, 8, 24);
		ck_assert_uint_eq(w.n, 1);
		build_chunk(&b, 1, 1, seq, &w);
		words_free(&w);
	}
	ck_assert_uint_eq(read_all(e, 4, 4, &damage), 2);
	ck_assert_uint_eq(e[0].addr, 4096);
	ck_assert_uint_eq(e[1].addr, 8192);
	ck_assert_uint_eq(e[1].ticks, 201);
	build_free(&b);
}
END_TEST

/* A thousand threads, each event of another one than the last. */
START_TEST(many_threads)
{
	enum { THREADS = 1000, EVENTS = 10 };
	static struct event e[THREADS * EVENTS];
	struct trace_damage damage;
	uint64_t times[EVENTS];

	build_start(&b, MPROF_MAGIC_TRACE);
	for (uint32_t thread = 1; thread <= THREADS; thread++) {
		for (int i = 0; i < EVENTS; i++)
			times[i] = (uint64_t)i * THREADS + (thread * 7919ull) % THREADS;
		add_thread(1, thread, 1, times, EVENTS);
	}
	ck_assert_uint_eq(read_all(e, THREADS * EVENTS, 333, &damage), THREADS * EVENTS);
	for (size_t i = 0; i < THREADS * EVENTS; i++)
		ck_assert_uint_eq(e[i].ticks, i);
	build_free(&b);
}
END_TEST

/* One event of any kind, at `ticks`. */
static void add_any(unsigned kind, uint64_t ticks)
{
	static const uint64_t v[4] = { BASE, 1 << 20, 1 << 20, 0 };

	switch (kind) {
	case 0:
		words_alloc(&w, MPROF_TAG_MALLOC, ticks, BASE, 8, 24);
		break;
	case 1:
		words_give(&w, MPROF_TAG_FREE, ticks, BASE);
		break;
	case 2:
		words_long(&w, MPROF_FN_MALLOC, ticks, 0, 0, v);
		break;
	default:
		words_control(&w, MPROF_CONTROL_FORK, ticks, 1);
	}
}

/*
 * A slot says when it was taken, not when its last event was: a thread's last
 * time is read from the words, whatever they are and whatever follows them.
 */
START_TEST(last_time_of_a_slot)
{
	const struct trace_thread *thread;
	struct event e[64];
	uint64_t ticks = 100;
	struct trace *t;
	size_t slot, n;
	int fd;

	srand((unsigned)_i);
	build_start(&b, MPROF_MAGIC_TRACE);
	words_start(&w, ticks);
	for (int i = 0; i < 1 + rand() % 40; i++) {
		if (rand() % 4 == 0)
			words_stack(&w, 0, 0);
		ticks += (uint64_t)rand() % 9000;
		add_any((unsigned)rand() % 4, ticks);
	}
	/* Words without an event of their own. */
	if (_i & 1)
		words_put(&w, mprof_word_time(ticks + 5000));
	if (_i & 2) { /* what the decoder refuses */
		words_put(&w, _i & 4 ? MPROF_TAG_COUNT | 1 << 4 : 77 << 4);
		words_alloc(&w, MPROF_TAG_MALLOC, ticks + 9000, BASE, 8, 24);
	}
	slot = build_slot(&b, 1, 1, 1, &w, 4096);
	build_extent_at(&b, slot)->last_ticks = 100;
	words_free(&w);
	t = open_build(&fd);
	n = trace_next(t, e, 64);
	ck_assert_uint_gt(n, 0);
	ck_assert_uint_eq(trace_threads(t, &thread), 1);
	ck_assert_uint_eq(thread->last_ticks, e[n - 1].ticks);
	ck_assert_uint_eq(thread->last_ticks, ticks);
	ck_assert_uint_eq(trace_next(t, e, 64), 0);
	trace_close(t);
	close(fd);
	build_free(&b);
}
END_TEST

Suite *trace_merge_suite(void)
{
	Suite *s = suite_create("trace_merge");
	TCase *tc = tcase_create("merge");

	tcase_add_loop_test(tc, order_over_threads, 1, 18);
	tcase_add_loop_test(tc, free_before_malloc_at_a_tie, 0, 6);
	tcase_add_test(tc, thread_keeps_its_order);
	tcase_add_test(tc, slot_is_the_tail);
	tcase_add_test(tc, slot_that_was_copied);
	tcase_add_loop_test(tc, last_time_of_a_slot, 0, 40);
	tcase_add_test(tc, gap_in_a_thread);
	tcase_add_test(tc, thread_words);
	tcase_add_test(tc, fork_is_two_processes);
	tcase_add_test(tc, rewind_gives_the_same);
	tcase_add_test(tc, many_threads);
	tcase_add_loop_test(tc, random_turns, 1, 10);
	tcase_add_test(tc, chunks_start_anew);
	suite_add_tcase(s, tc);
	return s;
}
