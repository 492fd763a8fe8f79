// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * pass_snapshots.c - a walk that begins at a snapshot sees what one from the beginning sees there:
 * the same events, which did the same to the same heap, and the same blocks live at the end.
 */
#include "suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heap_valid.h"
#include "html/html_window.h"
#include "pass/snapshots.h"
#include "trace/compact.h"
#include "trace/group.h"
#include "trace_build.h"

#define THREADS	  8u /* the last two are of a child */
#define OF_PARENT 6u
#define STEPS	  950000u
#define BLOCKS	  600u
#define EVERY	  50000u
#define FORKED	  (STEPS / 2)

static struct build b;
static uint64_t random_state;

static uint64_t random_next(void)
{
	return random_after(&random_state);
}

/* ---- a trace ---- */

struct writer {
	struct words w;
	uint64_t seq;
};

static struct writer to[THREADS];

static void flush(unsigned thread, bool end)
{
	struct words *w = &to[thread].w;
	const uint64_t ticks = w->ticks;

	if (w->n < 2000 && !end)
		return;
	if (w->n)
		build_chunk(&b, thread < OF_PARENT ? 1 : 2, thread + 1, ++to[thread].seq, w);
	words_free(w);
	words_start(w, ticks);
}

static void take(unsigned thread, uint64_t ticks, uint64_t addr, unsigned tag)
{
	struct words *w = &to[thread].w;
	const uint64_t r = random_next(), size = r & 7 ? 24 + 16 * (r >> 4 & 15) : r >> 4 & 0xffff;

	words_stack(w, 0, r >> 24 & 15);
	words_alloc(w, tag, ticks, addr, size, size + 8);
	flush(thread, false);
}

static void give(unsigned thread, uint64_t ticks, uint64_t addr, unsigned tag)
{
	words_give(&to[thread].w, tag, ticks, addr);
	flush(thread, false);
}

static uint64_t address(uint64_t i)
{
	return 0x7f0000000010 + 0x10000 * i;
}

/* One step with block i: it begins, ends, is resized, or changes hands against the order. */
static void step(bool *live, uint64_t i, unsigned thread, unsigned other, uint64_t *ticks)
{
	const uint64_t r = random_next();

	*ticks += 20 + (r >> 50 & 255);
	if (!*live) {
		take(thread, *ticks, address(i), r & 1 ? MPROF_TAG_MALLOC : MPROF_TAG_CALLOC);
		*live = true;
	} else if (r >> 8 & 3) {
		give(thread, *ticks, address(i), MPROF_TAG_FREE);
		*live = false;
	} else if (r >> 10 & 1) {
		give(thread, *ticks, address(i), MPROF_TAG_REALLOC_BEGIN);
		take(thread, *ticks + 5, address(i), MPROF_TAG_REALLOC_END);
		*ticks += 5;
	} else {
		/* An inversion: its address was handed out again before, as the clocks say. */
		take(other, *ticks + 10, address(i), MPROF_TAG_MALLOC);
		give(thread, *ticks + 50, address(i), MPROF_TAG_FREE);
		*ticks += 60;
	}
}

static void build_run(void)
{
	bool live[BLOCKS] = { false }, of_child[BLOCKS] = { false };
	struct mprof_fact fork = { .what = MPROF_FACT_START, .parent = 1 };
	uint64_t ticks = 1000;

	for (unsigned i = 0; i < THREADS; i++)
		words_start(&to[i].w, ticks);
	for (unsigned n = 0; n < STEPS; n++) {
		const uint64_t r = random_next(), i = r % BLOCKS;
		const unsigned threads = n < FORKED ? OF_PARENT : THREADS;
		const unsigned thread = (unsigned)(r >> 40) % threads;
		const bool child = thread >= OF_PARENT;
		const unsigned other =
		    child ? 2 * OF_PARENT + 1 - thread : (thread + 1) % OF_PARENT;

		if (n == FORKED) {
			fork.fork_ticks = ticks += 1000;
			fork.ticks = ticks += 1000;
			memcpy(of_child, live, sizeof(live));
			ticks += 1000;
		}
		step(child ? &of_child[i] : &live[i], i, thread, other, &ticks);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		flush(i, true);
		words_free(&to[i].w);
	}
	build_fact(&b, 2, &fork, "", 0);
}

struct seen {
	uint64_t event[2 * STEPS]; /* by number: what it was and did */
	uint64_t first, count;	   /* numbers of the first and of the last one */
	uint64_t remains;	   /* blocks that were live at the end */
	uint64_t blocks;
};

/* On the heap: the leak sanitizer reads all of .bss at the end of each test of any suite. */
static struct seen *all, *some;

static void setup(void)
{
	struct error err = { "" };

	all = calloc(1, sizeof(*all));
	some = calloc(1, sizeof(*some));
	build_start_file(&b);
	random_state = 88172645463325252u;
	build_run();
	build_save(&b);
	ck_assert_msg(!trace_compress(b.path,
				      &(struct compact_options){ .level = COMPACT_LEVEL_DEFAULT,
								 .exact = true },
				      &err),
		      "%s", err.text);
}

static void teardown(void)
{
	free(all);
	free(some);
	build_end_file(&b);
}

/* ---- what a walk saw ---- */

static uint64_t mix(uint64_t h, uint64_t n)
{
	h = (h ^ n) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

static uint64_t of_block(uint64_t h, const struct block *at)
{
	h = mix(mix(mix(h, at->addr), at->size), at->start);
	return mix(mix(mix(h, at->owner), at->stack), at->slack);
}

static void look(void *self, const struct batch *events)
{
	struct seen *s = self;

	for (size_t i = 0; i < events->count; i++) {
		const struct event *e = &events->event[i];
		const struct note *n = &events->note[i];
		uint64_t h = mix(mix(mix(n->did, e->ticks), e->addr), e->size);

		h = mix(mix(mix(h, n->process), n->thread), n->problem);
		if (n->did & (NOTE_ENDED | NOTE_INHERITED | NOTE_DROPPED | NOTE_RESTORED))
			h = of_block(h, &n->old);
		if (n->did & (NOTE_BEGAN | NOTE_ENDED))
			h = mix(mix(h, note_all_bytes(n)), n->own.blocks);
		s->count = events->number + i;
		s->first = s->first ? s->first : s->count;
		s->event[s->count] = h;
	}
}

static void remain(void *self, const struct heap *h, uint32_t process, enum process_gone why,
		   uint64_t ticks)
{
	struct heap_round round = { 0 };
	const struct block *at;
	struct seen *s = self;

	(void)why;
	ck_assert(heap_is_valid(h));
	while ((at = heap_next_block(h->process[process], &round))) {
		s->remains += of_block(mix(ticks, process), at);
		s->blocks++;
	}
}

static const struct pass_ops seen_pass = { .name = "seen", .batch = look, .gone = remain };
static struct walk walk;

static void run(struct trace *t, const struct walk_pass *pass, size_t passes,
		struct snapshot_start *from)
{
	struct error err = { "" };
	struct walk_input in;

	trace_rewind(t);
	walk_input_from_trace(&in, t);
	walk_init(&walk, &in, pass, passes);
	walk.no_pages = true;
	if (from)
		snapshots_begin(&walk, from);
	ck_assert_msg(!walk_run(&walk, &err), "%s", err.text);
	walk_release(&walk);
}

/* From every third slice on, compares what is seen; returns the number of slices. */
static size_t go_on_from_each(struct snapshots *s)
{
	struct trace *t = build_reopen(&b);
	const struct walk_pass both[] = { { &seen_pass, all }, { &snapshots_pass, s } };
	const struct walk_pass one = { &seen_pass, some };
	uint64_t k;
	size_t slices;

	s->trace = t;
	memset(all, 0, sizeof(*all));
	run(t, both, 2, NULL);
	trace_close(t);
	t = build_reopen(&b);
	slices = s->slices;
	for (size_t i = slices - 1; i < slices; i -= 5) { /* the reader has been further on */
		struct snapshot_start from = { s, i, t };

		memset(some, 0, sizeof(*some));
		run(t, &one, 1, &from);
		ck_assert_uint_eq(some->first, s->slice[i].before + 1);
		ck_assert_uint_eq(some->count, all->count);
		k = some->first;
		while (k <= some->count && some->event[k] == all->event[k])
			k++; /* Check writes to a pipe at each of its assertions */
		ck_assert_msg(k == some->count + 1, "slice %zu, event %lu", i, (unsigned long)k);
		ck_assert_uint_eq(some->remains, all->remains);
		ck_assert_uint_eq(some->blocks, all->blocks);
	}
	trace_close(t);
	return slices;
}

START_TEST(a_walk_goes_on_from_each)
{
	struct snapshots s = { .every = EVERY };

	ck_assert_uint_gt(go_on_from_each(&s), 20);
	ck_assert_uint_gt(all->count, GROUP_EVENTS);
	ck_assert_uint_gt(all->blocks, 500);
	snapshots_release(&s);
}
END_TEST

/* A sum has the births of its slices. */
static void check_sum(const struct snapshots *s, size_t at)
{
	uint64_t blocks[2] = { 0 }, bytes[2] = { 0 };

	for (size_t n = 0; n <= SNAPSHOTS_SUM; n++) {
		const struct snapshot_slice *x =
		    n < SNAPSHOTS_SUM ? &s->slice[at * SNAPSHOTS_SUM + n] : &s->sum[at];
		struct snapshot_births *born = snapshots_births(x);

		for (size_t i = 0; i < x->birth_rows; i++) {
			blocks[n == SNAPSHOTS_SUM] += born[i].blocks;
			bytes[n == SNAPSHOTS_SUM] += born[i].bytes;
		}
		free(born);
	}
	ck_assert_uint_gt(blocks[0], 0);
	ck_assert_uint_eq(blocks[0], blocks[1]);
	ck_assert_uint_eq(bytes[0], bytes[1]);
}

START_TEST(fewer_of_them_tell_the_same)
{
	struct snapshots many = { .every = EVERY }, few = { .every = EVERY, .most = 100000 };
	uint64_t blocks[2] = { 0 }, bytes[2] = { 0 }, highest[2] = { 0 };
	const struct snapshots *s = &many;

	go_on_from_each(&many);
	ck_assert_uint_gt(go_on_from_each(&few), 2);
	ck_assert_uint_lt(few.slices, many.slices / 2);
	for (unsigned k = 0; k < 2; k++, s = &few) {
		ck_assert_uint_eq(s->sums, s->slices / SNAPSHOTS_SUM);
		for (size_t i = 0; i < s->sums; i++)
			check_sum(s, i);
		for (size_t i = 0; i < s->slices; i++) {
			struct snapshot_births *born = snapshots_births(&s->slice[i]);

			for (size_t n = 0; n < s->slice[i].birth_rows; n++) {
				blocks[k] += born[n].blocks;
				bytes[k] += born[n].bytes;
			}
			if (s->slice[i].highest.live_bytes > highest[k])
				highest[k] = s->slice[i].highest.live_bytes;
			free(born);
		}
	}
	ck_assert_uint_gt(blocks[0], 10000);
	ck_assert_uint_eq(blocks[0], blocks[1]);
	ck_assert_uint_eq(bytes[0], bytes[1]);
	ck_assert_uint_eq(highest[0], highest[1]);
	snapshots_release(&many);
	snapshots_release(&few);
}
END_TEST

/* Three of four questions have a filter. */
static void set_filter(struct site_filter *f, unsigned i)
{
	*f = (struct site_filter)SITE_FILTER_ALL;
	if (i % 4 == 1)
		f->thread.number = 1 + i % THREADS;
	if (i % 4 == 2)
		f->process = 1 + i / 4 % 2;
	if (i % 4 == 3)
		f->size_max = 100;
}

static struct event *born;
static size_t borns;

static void keep_born(void *self, const struct batch *events)
{
	(void)self;
	for (size_t i = 0; i < events->count; i++)
		if (events->note[i].did & NOTE_BEGAN)
			born[borns++] = events->event[i];
}

static void check_births(struct trace *t, const struct snapshots *s, const struct html_map *map,
			 const struct window_question *q)
{
	const struct site_filter *f = &q->filter;
	uint64_t *bytes = calloc(map->nodes, sizeof(*bytes)), blocks = 0;
	struct window_answer answer;
	struct error err;

	for (size_t i = 0; i < borns; i++) {
		const int64_t ns = trace_ns(t, born[i].ticks);

		if (ns <= q->from_ns || ns > q->to_ns || born[i].size > f->size_max ||
		    (f->thread.number && born[i].thread != f->thread.number) ||
		    (f->process && born[i].process != f->process))
			continue;
		blocks++;
		bytes[born[i].stack] += born[i].size;
	}
	ck_assert(!window_ask(&answer, t, s, map, q, &err));
	ck_assert_uint_eq(answer.blocks, blocks);
	ck_assert(!memcmp(answer.node_bytes, bytes, map->nodes * sizeof(*bytes)));
	window_answer_release(&answer);
	free(bytes);
}

/* What was allocated is read without a heap, but not where the heap puts events into an order that
 * the file does not have. */
START_TEST(births_are_those_of_the_heap)
{
	static const struct pass_ops keep = { .name = "born", .batch = keep_born };
	struct snapshots s = { .every = EVERY / 8 };
	struct trace *t = build_reopen(&b);
	const struct walk_pass pass[] = { { &snapshots_pass, &s }, { &keep, NULL } };
	struct html_map map = { .node_of = NULL };
	size_t plain = 0;

	born = calloc(2 * STEPS, sizeof(*born));
	s.trace = t;
	run(t, pass, 2, NULL);
	map.nodes = map.stacks = trace_stacks(t)->nodes + 1;
	map.node_of = calloc(map.stacks, sizeof(*map.node_of));
	for (uint32_t i = 0; i < map.stacks; i++)
		map.node_of[i] = i;
	for (size_t i = 0; i < s.slices; i += 11) {
		struct window_question q = { .kind = WINDOW_TOTAL };
		const struct snapshot_slice *to = &s.slice[i],
					    *from = i % 16 < 3 ? s.slice : to - i % 4;

		if (!to->plain || !from->plain)
			continue;
		plain++;
		set_filter(&q.filter, (unsigned)(i / 4));
		q.from_ns =
		    trace_ns(t, from->first_ticks + (from->last_ticks - from->first_ticks) / 3);
		q.to_ns = trace_ns(t, to->last_ticks - 1);
		check_births(t, &s, &map, &q);
	}
	ck_assert_uint_gt(plain, 10);
	ck_assert_uint_lt(plain, s.slices);
	free(born);
	html_map_release(&map);
	snapshots_release(&s);
	trace_close(t);
}
END_TEST

START_TEST(windows_are_those_of_a_walk)
{
	struct snapshots s = { .every = EVERY };
	struct trace *t = build_reopen(&b);
	const struct walk_pass pass = { &snapshots_pass, &s };
	struct html_map map = { .nodes = 1 };
	struct window_answer with, without;
	struct error err = { "" };
	struct walk_input in;
	int64_t end;

	walk_input_from_trace(&in, t);
	end = trace_ns(t, walk_end_ticks(&in, &(struct walk_until){ .set = false }));
	s.trace = t;
	run(t, &pass, 1, NULL);
	ck_assert_uint_gt(s.slices, 20);
	map.stacks = trace_stacks(t)->nodes + 1;
	map.node_of = calloc(map.stacks, sizeof(*map.node_of));
	for (unsigned i = 0; i < 7; i++) {
		struct window_question q = { .kind = WINDOW_PEAK, .filter = SITE_FILTER_ALL };

		q.from_ns = (int64_t)(random_next() % (uint64_t)end);
		q.to_ns = q.from_ns + 1 + (int64_t)(random_next() % (uint64_t)(end / 2));
		if (i >= 4) { /* long enough for a sum of slices, whose first one begins the run */
			q.kind = WINDOW_TOTAL;
			q.from_ns = i % 2 ? -1 : (int64_t)(random_next() % (uint64_t)(end / 50));
			q.to_ns = end - (int64_t)(random_next() % (uint64_t)(end / 50));
		}
		ck_assert(!window_ask(&with, t, &s, &map, &q, &err));
		ck_assert(!window_ask(&without, t, NULL, &map, &q, &err));
		ck_assert_int_eq(with.ns, without.ns);
		ck_assert_uint_eq(with.bytes, without.bytes);
		ck_assert_uint_eq(with.blocks, without.blocks);
		window_answer_release(&with);
		window_answer_release(&without);
	}
	html_map_release(&map);
	snapshots_release(&s);
	trace_close(t);
}
END_TEST

/* Pieces of any length, compressed one after the other, are one sequence of bytes. */
START_TEST(frames_of_several_pieces)
{
	static const size_t length[] = { 1, 3 << 20, 0, (1 << 20) - 1, 1 << 20, 7 };
	struct packer *packer = packer_new(-4);
	struct byte_column column = { .n = 0 };
	struct state_frame f = { .bytes = NULL };
	uint8_t *all = malloc(6 << 20), *plain;
	size_t n = 0;

	for (size_t i = 0; i < 6 << 20; i++)
		all[i] = (uint8_t)(i % 300 < 200 ? i % 300 : random_next() >> 20);
	for (size_t i = 0; i < sizeof(length) / sizeof(length[0]); n += length[i++]) {
		if (i & 1) {
			ck_assert(state_frame_add(packer, all + n, length[i], &f));
			continue;
		}
		for (size_t k = 0; k < length[i]; k++)
			column_put(&column, all[n + k]);
		ck_assert(state_frame_put(packer, &column, &f));
		ck_assert_uint_eq(column.n, 0);
	}
	ck_assert_uint_eq(f.plain, n);
	ck_assert_uint_lt(f.count, n);
	plain = state_frame_plain(&f);
	ck_assert_mem_eq(plain, all, n);
	free(plain);

	column.failed = true;
	ck_assert(!state_frame_put(packer, &column, &f));
	ck_assert_ptr_null(f.bytes);
	columns_free(&column, 1);
	packer_free(packer);
	free(all);
}
END_TEST

Suite *pass_snapshots_suite(void)
{
	Suite *suite = suite_create("pass_snapshots");
	TCase *c = tcase_create("pass_snapshots"), *pieces = tcase_create("pieces");

	/* Once for all: each test, which is a process of its own, only reads the file. */
	tcase_add_unchecked_fixture(c, setup, teardown);
	tcase_add_test(c, a_walk_goes_on_from_each);
	tcase_add_test(c, fewer_of_them_tell_the_same);
	tcase_add_test(c, births_are_those_of_the_heap);
	tcase_add_test(c, windows_are_those_of_a_walk);
	tcase_add_test(pieces, frames_of_several_pieces);
	suite_add_tcase(suite, c);
	suite_add_tcase(suite, pieces);
	return suite;
}
