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

Suite *trace_words_suite(void)
{
	Suite *s = suite_create("trace words");
	TCase *tc = tcase_create("words");

	tcase_add_loop_test(tc, allocation_at_bounds, 0,
			    sizeof(alloc_cases) / sizeof(alloc_cases[0]));
	suite_add_tcase(s, tc);
	return s;
}
