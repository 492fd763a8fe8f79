// SPDX-License-Identifier: LGPL-3.0-or-later
/* trace_words.c - event words: put by encode.h, got by trace_next, at the bounds. */
#include <errno.h>
#include <unistd.h>

#include "suites.h"
#include "trace/trace.h"
#include "trace_build.h"

static struct words w;
static struct build b;

static void start(void)
{
	build_start(&b, MPROF_MAGIC_TRACE);
	words_start(&w, 5000);
}

static void stop(void)
{
	build_free(&b);
	words_free(&w);
}

/* Puts w into a file as one chunk and reads it back. */
static size_t walk(struct event *events, size_t n, struct trace_damage *damage)
{
	struct error err;
	struct trace *t;
	size_t got;
	int fd;

	build_chunk(&b, 1, 1, 1, &w);
	ck_assert_msg(!trace_open(&t, build_path(&b, &fd), MPROF_MAGIC_TRACE, &err), "%s",
		      err.text);
	got = trace_next(t, events, n);
	ck_assert_uint_eq(trace_next(t, events + got, n - got), 0);
	*damage = *trace_damage(t);
	trace_close(t);
	close(fd);
	return got;
}

struct alloc_case {
	uint64_t dt, size, slack, delta;
	int words; /* 1 short, 5 LONG, one more for TIME */
};

static const struct alloc_case alloc_cases[] = {
	{ 0, 0, 24, 0, 1 },
	{ MPROF_DT_MAX, 8191, 255, MPROF_DELTA_SHORT - 8, 1 },
	{ MPROF_DT_MAX + 1, 8191, 255, MPROF_DELTA_SHORT - 8, 2 },
	{ 1, 8192, 0, 16, 5 },
	{ 1, 100, 256, 16, 5 },
	{ 1, 100, 0, MPROF_DELTA_SHORT, 5 },
	{ 1, 100, 0, -MPROF_DELTA_SHORT, 1 },
	{ 1, 100, 0, -MPROF_DELTA_SHORT - 8, 5 },
	{ 1, 100, 0, 4, 5 },
	{ MPROF_TICKS_MASK - 100000, UINT64_MAX - 1, 1, 1, 6 },
};

START_TEST(allocation_at_bounds)
{
	const struct alloc_case *c = &alloc_cases[_i];
	const uint64_t base = 0x7f0000001000;
	struct trace_damage damage;
	struct event e[4];
	size_t words;

	start();
	words_alloc(&w, MPROF_TAG_MALLOC, 5000, base, 8, 24);
	ck_assert_uint_eq(w.n, 5); /* the first one of a chunk is far from 0 */
	words_alloc(&w, MPROF_TAG_NEW, 5000 + c->dt, base + c->delta, c->size, c->size + c->slack);
	words = w.n - 5;
	ck_assert_uint_eq(walk(e, 4, &damage), 2);
	ck_assert_uint_eq(words, c->words);
	ck_assert_uint_eq(e[1].ticks, 5000 + c->dt);
	ck_assert_uint_eq(e[1].addr, base + c->delta);
	ck_assert_uint_eq(e[1].size, c->size);
	ck_assert_uint_eq(e[1].usable, c->size + c->slack);
	ck_assert_uint_eq(e[1].arg, 0);
	ck_assert_uint_eq(e[1].fn, MPROF_FN_NEW);
	ck_assert_uint_eq(e[1].kind, EVENT_CALL);
	ck_assert_uint_eq(e[1].process, 1);
	ck_assert_uint_eq(e[1].thread, 1);
	ck_assert_uint_eq(damage.words_bad, 0);
	stop();
}
END_TEST

/* Every function as a LONG record, both halves of a realloc. */
START_TEST(long_by_class)
{
	static const struct {
		uint8_t fn, class;
	} fns[] = {
#define MPROF_FUNCTION(id, code, name, class) { code, MPROF_CLASS_##class },
#include <mprof/functions.def>
#undef MPROF_FUNCTION
	};
	unsigned fn = fns[_i].fn, class = fns[_i].class;
	const uint64_t v[4] = { 0x7f1234567890, 24, 1000, 5 };
	bool product = fn == MPROF_FN_CALLOC || fn == MPROF_FN_REALLOCARRAY;
	struct trace_damage damage;
	struct event e[4];

	start();
	words_long(&w, fn, 6000, 0, 12, v);
	if (class == MPROF_CLASS_REALLOC)
		words_long(&w, fn, 6001, MPROF_LONG_BEGIN, 0, v);
	ck_assert_uint_eq(walk(e, 4, &damage), class == MPROF_CLASS_REALLOC ? 2 : 1);
	ck_assert_uint_eq(e[0].fn, fn);
	ck_assert_uint_eq(e[0].addr, v[0]);
	ck_assert_uint_eq(e[0].size, product ? 24 * 5 : 24);
	ck_assert_uint_eq(e[0].usable, class == MPROF_CLASS_FREE ? 0 : 1000);
	ck_assert_uint_eq(e[0].arg, class == MPROF_CLASS_FREE ? 1000 : 5);
	ck_assert_uint_eq(e[0].error, 12);
	if (class == MPROF_CLASS_REALLOC) {
		ck_assert_uint_eq(e[0].kind, EVENT_REALLOC_END);
		ck_assert_uint_eq(e[1].kind, EVENT_REALLOC_BEGIN);
		ck_assert_uint_eq(e[1].size, 24);
	} else {
		ck_assert_uint_eq(e[0].kind, EVENT_CALL);
	}
	stop();
}
END_TEST

static const struct {
	uint64_t addr, count, element, product;
	bool known;
} factor_cases[] = {
	{ 0x10000, 3, 7, 21, true },
	{ 0x10000, 0, 5, 0, true },
	{ 0x10000, 5, 0, 0, true },
	{ 0x10000, 0, 0, 0, true },
	{ 0x10000, 0, UINT64_MAX, 0, true },
	{ 0x10000, 1, 99, 99, true },
	{ 0, 0, 5, 0, true },
	{ 0, 3, UINT64_MAX / 3, UINT64_MAX, true }, /* as large, but no overflow */
	{ 0, 3, UINT64_MAX / 2, UINT64_MAX, true },
	{ 0, UINT64_MAX / 2, 3, UINT64_MAX, true },
	{ 0, UINT64_MAX, UINT64_MAX, UINT64_MAX, true },
	{ 0x10000, 3, UINT64_MAX / 2, UINT64_MAX, false },
};

/* Both factors of calloc and reallocarray come back, whatever their product is. */
START_TEST(factors)
{
	const uint64_t addr = factor_cases[_i].addr, count = factor_cases[_i].count;
	const uint64_t v[4] = { addr, factor_cases[_i].element, addr ? 24 : 0, count };
	struct trace_damage damage;
	uint64_t got[2];
	struct event e[4];

	start();
	words_long(&w, MPROF_FN_CALLOC, 6000, 0, addr ? 0 : 12, v);
	words_long(&w, MPROF_FN_REALLOCARRAY, 6001, 0, addr ? 0 : 12, v);
	ck_assert_uint_eq(walk(e, 4, &damage), 2);
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(e[i].size, factor_cases[_i].product);
		ck_assert_int_eq(event_factors(&e[i], &got[0], &got[1]), factor_cases[_i].known);
		ck_assert_uint_eq(got[0], count);
		if (factor_cases[_i].known)
			ck_assert_uint_eq(got[1], factor_cases[_i].element);
		if (addr)
			ck_assert_uint_eq(e[i].usable, 24);
	}
	stop();
}
END_TEST

struct free_case {
	unsigned tag, fn;
	uint64_t addr;
	size_t words;
};

static const struct free_case free_cases[] = {
	{ MPROF_TAG_FREE, MPROF_FN_FREE, (1ull << 48) - 1, 1 },
	{ MPROF_TAG_FREE, MPROF_FN_FREE, 1ull << 48, 5 },
	{ MPROF_TAG_DELETE, MPROF_FN_DELETE, 0x7f0000001230, 1 },
	{ MPROF_TAG_REALLOC_BEGIN, MPROF_FN_REALLOC, 0x10, 1 },
	{ MPROF_TAG_REALLOC_BEGIN, MPROF_FN_REALLOC, UINT64_MAX, 5 },
	{ MPROF_TAG_FREE, MPROF_FN_FREE, 0, 1 },
};

START_TEST(free_at_bounds)
{
	const struct free_case *c = &free_cases[_i];
	struct trace_damage damage;
	struct event e[4];

	start();
	words_give(&w, c->tag, 5000 + MPROF_DT_MAX, c->addr);
	ck_assert_uint_eq(w.n, c->words);
	ck_assert_uint_eq(walk(e, 4, &damage), 1);
	ck_assert_uint_eq(e[0].ticks, 5000 + MPROF_DT_MAX);
	ck_assert_uint_eq(e[0].addr, c->addr);
	ck_assert_uint_eq(e[0].fn, c->fn);
	ck_assert_uint_eq(e[0].kind,
			  c->tag == MPROF_TAG_REALLOC_BEGIN ? EVENT_REALLOC_BEGIN : EVENT_CALL);
	stop();
}
END_TEST

/* Only blocks that were returned move the address that deltas count from. */
START_TEST(what_moves_the_address)
{
	const uint64_t base = 0x7f0000001000, map[4] = { 0x10000, 4096 }, failed[4] = { 0, 99 };
	struct trace_damage damage;
	struct event e[16];
	size_t n;

	start();
	words_alloc(&w, MPROF_TAG_MALLOC, 5001, base, 8, 24);
	words_give(&w, MPROF_TAG_FREE, 5002, base + 4096);
	words_long(&w, MPROF_FN_MMAP, 5003, 0, 0, map);
	words_long(&w, MPROF_FN_MALLOC, 5004, 0, 12, failed);
	words_long(&w, MPROF_FN_REALLOC, 5005, MPROF_LONG_BEGIN, 0, map);
	n = w.n;
	words_alloc(&w, MPROF_TAG_CALLOC, 5006, base + 32, 8, 24);
	ck_assert_uint_eq(w.n, n + 1);
	words_long(&w, MPROF_FN_REALLOC, 5007, 0, 0, (const uint64_t[]){ base * 2, 1, 24, 0 });
	n = w.n;
	words_alloc(&w, MPROF_TAG_REALLOC_END, 5008, base * 2 + 64, 8, 24);
	ck_assert_uint_eq(w.n, n + 1);
	ck_assert_uint_eq(walk(e, 16, &damage), 8);
	ck_assert_uint_eq(e[5].addr, base + 32);
	ck_assert_uint_eq(e[5].arg, 1); /* calloc(1, 8) */
	ck_assert_uint_eq(e[7].addr, base * 2 + 64);
	stop();
}
END_TEST

START_TEST(controls_and_losses)
{
	struct trace_damage damage;
	struct event e[8];

	start();
	words_control(&w, MPROF_CONTROL_THREAD_CREATE, 5001, (1ull << 40) - 1);
	words_put(&w, mprof_word_lost(MPROF_LOST_SPACE, (1ull << 52) - 1));
	ck_assert_uint_eq(walk(e, 8, &damage), 2);
	ck_assert_uint_eq(e[0].kind, EVENT_CONTROL);
	ck_assert_uint_eq(e[0].control, MPROF_CONTROL_THREAD_CREATE);
	ck_assert_uint_eq(e[0].value, (1ull << 40) - 1);
	ck_assert_uint_eq(e[1].kind, EVENT_LOST);
	ck_assert_uint_eq(e[1].control, MPROF_LOST_SPACE);
	ck_assert_uint_eq(e[1].value, (1ull << 52) - 1);
	ck_assert_uint_eq(e[1].ticks, 5001);
	stop();
}
END_TEST

/* Taken by what gives back next, LONG or short, and by nothing else. */
START_TEST(touched)
{
	static const uint64_t want[] = { 0, 0, 1 + 8176, 0, 1, 1 + MPROF_TOUCHED_MAX, 1 + 5, 0 };
	struct trace_damage damage;
	struct event e[16];

	start();
	words_give(&w, MPROF_TAG_FREE, 5001, 0x1000);
	words_put(&w, mprof_word_touched(8176));
	words_alloc(&w, MPROF_TAG_MALLOC, 5002, 0x2000, 8, 8);
	words_put(&w, mprof_word_time(15000));
	w.ticks = 15000;
	words_give(&w, MPROF_TAG_FREE, 15000, 0x1000);
	words_give(&w, MPROF_TAG_FREE, 15001, 0x2000);
	words_put(&w, mprof_word_touched(0));
	words_give(&w, MPROF_TAG_REALLOC_BEGIN, 15002, 0x3000);
	words_put(&w, mprof_word_touched(MPROF_TOUCHED_MAX));
	words_long(&w, MPROF_FN_DELETE_ARRAY, 15003, 0, 0, (uint64_t[4]){ 0x4000, 40 });
	words_put(&w, mprof_word_touched(4));
	words_put(&w, mprof_word_touched(5));
	words_long(&w, MPROF_FN_REALLOCARRAY, 15004, MPROF_LONG_BEGIN, 0,
		   (uint64_t[4]){ 0x5000, 40, 0, 2 });
	words_give(&w, MPROF_TAG_DELETE, 15005, 0x6000);
	ck_assert_uint_eq(walk(e, 16, &damage), 8);
	for (int i = 0; i < 8; i++)
		ck_assert_msg(i == 1 || e[i].usable == want[i], "event %d", i);
	ck_assert_uint_eq(e[1].usable, 8);
	stop();
}
END_TEST

/* A COUNT word applies to the next short calloc, whatever comes between, and to no other call. */
START_TEST(count)
{
	static const uint64_t want[] = { 1, 0, 0, 7, 1, 5, MPROF_COUNT_MAX };
	struct trace_damage damage;
	struct event e[16];

	start();
	words_alloc(&w, MPROF_TAG_CALLOC, 5001, 0x1000, 8, 8);
	words_put(&w, mprof_word_count(7));
	words_alloc(&w, MPROF_TAG_MALLOC, 5002, 0x2000, 8, 8);
	words_put(&w, mprof_word_time(15000));
	w.ticks = 15000;
	words_give(&w, MPROF_TAG_FREE, 15000, 0x1000);
	words_alloc(&w, MPROF_TAG_CALLOC, 15001, 0x1000, 70, 72);
	words_alloc(&w, MPROF_TAG_CALLOC, 15002, 0x3000, 30, 32);
	words_put(&w, mprof_word_count(7));
	words_put(&w, mprof_word_count(5));
	words_alloc(&w, MPROF_TAG_CALLOC, 15003, 0x4000, 30, 40);
	words_put(&w, mprof_word_count(MPROF_COUNT_MAX));
	words_alloc(&w, MPROF_TAG_CALLOC, 15004, 0x5000, 0, 24);
	ck_assert_uint_eq(walk(e, 16, &damage), 7);
	ck_assert_uint_eq(damage.words_bad, 0);
	for (int i = 0; i < 7; i++)
		ck_assert_msg(e[i].arg == want[i], "event %d", i);
	ck_assert_uint_eq(e[3].size, 70);
	ck_assert_uint_eq(e[3].usable, 72);
	stop();
}
END_TEST

/* FORMAT.md 5.4: the rest of the chunk is not read, and reported as damage. */
static const uint64_t bad_words[] = {
	MPROF_TAG_COUNT,
	MPROF_TAG_COUNT | 1 << 4,
	MPROF_TAG_COUNT | 1ull << 36,
	MPROF_TAG_TOUCHED | 1ull << 52,
	15ull << 60 | MPROF_TAG_STACK,
	1ull << 40 | MPROF_TAG_STACK,
	2 << 4 | MPROF_TAG_STACK,
	MPROF_TAG_LONG,		   /* no function */
	MPROF_TAG_LONG | 31 << 16, /* one that is not known */
	MPROF_TAG_LONG | MPROF_FN_MALLOC << 16 | MPROF_LONG_BEGIN << 24,
	MPROF_TAG_CONTROL,
	MPROF_TAG_CONTROL | 7 << 16,
	MPROF_TAG_LOST | MPROF_LOST_REASONS << 4,
	MPROF_TAG_THREAD,
	MPROF_TAG_THREAD | 1ull << 36,
	MPROF_TAG_END | 1 << 4,
};

START_TEST(bad_word)
{
	struct trace_damage damage;
	struct event e[8];

	start();
	words_give(&w, MPROF_TAG_FREE, 5001, 0x1000);
	words_put(&w, bad_words[_i]);
	for (int i = 0; i < 5; i++) /* as many as a LONG record would have */
		words_give(&w, MPROF_TAG_FREE, 5002, 0x2000);
	ck_assert_uint_eq(walk(e, 8, &damage), 1);
	ck_assert_uint_eq(e[0].addr, 0x1000);
	ck_assert_uint_eq(damage.words_bad, 1);
	ck_assert_uint_ne(damage.first_bad_offset, 0);
	stop();
}
END_TEST

START_TEST(long_cut_off)
{
	struct trace_damage damage;
	struct event e[8];

	start();
	words_put(&w, mprof_word_long(MPROF_FN_MALLOC, 1, 0, 0));
	for (int i = 0; i < _i; i++)
		words_put(&w, 1);
	ck_assert_uint_eq(walk(e, 8, &damage), _i == 4);
	ck_assert_uint_eq(damage.words_bad, _i != 4);
	stop();
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

Suite *trace_words_suite(void)
{
	Suite *s = suite_create("trace_words");
	TCase *tc = tcase_create("words");

	tcase_add_loop_test(tc, allocation_at_bounds, 0, COUNT(alloc_cases));
	tcase_add_loop_test(tc, free_at_bounds, 0, COUNT(free_cases));
	tcase_add_loop_test(tc, long_by_class, 0, 22);
	tcase_add_loop_test(tc, factors, 0, COUNT(factor_cases));
	tcase_add_test(tc, what_moves_the_address);
	tcase_add_test(tc, controls_and_losses);
	tcase_add_test(tc, touched);
	tcase_add_test(tc, count);
	tcase_add_loop_test(tc, long_cut_off, 0, 5);
	tcase_add_loop_test(tc, bad_word, 0, COUNT(bad_words));
	suite_add_tcase(s, tc);
	return s;
}
