// SPDX-License-Identifier: LGPL-3.0-or-later
/* trace_group.c - groups of chunks: the same events in the same order, times right to the error. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suites.h"
#include "trace/compact.h"
#include "trace/group.h"
#include "trace/block_numbers.h"
#include "trace/pack.h"
#include "trace/stack_pack.h"
#include "trace/trace.h"
#include "trace_build.h"

#define THREADS 4
#define EVENTS	60000
#define BLOCKS	512

static struct build b;
static uint64_t random_state;

static uint64_t random_next(void)
{
	return random_after(&random_state);
}

static void setup(void)
{
	build_start_file(&b);
	random_state = 88172645463325252u;
}

static void teardown(void)
{
	build_end_file(&b);
}

/* All events, the caller's. */
static struct event *read_all(struct trace *t, size_t *n)
{
	struct event *e = NULL;
	size_t room = 0, got;

	*n = 0;
	do {
		if (room - *n < 256) {
			room = 2 * room + 1024;
			e = realloc(e, room * sizeof(*e));
			ck_assert_ptr_nonnull(e);
		}
		got = trace_next(t, e + *n, 256);
		*n += got;
	} while (got);
	return e;
}

static bool same_but_time(struct event a, struct event c)
{
	a.ticks = c.ticks = 0;
	return !memcmp(&a, &c, sizeof(a));
}

/* Blocks get the numbers that a group gives them. */
static void name_blocks(struct event *e, size_t n)
{
	struct names *names = names_new();

	ck_assert_ptr_nonnull(names);
	ck_assert_int_eq(names_give(names, e, n), 0);
	names_free(names);
}

/* Compresses the trace in b and compares every event; returns the greatest error of a time. */
static uint64_t compress_and_compare(bool exact)
{
	struct event *before, *after;
	uint64_t worst = 0, off;
	struct error err;
	struct trace *t;
	size_t n, m;

	build_save(&b);
	t = build_reopen(&b);
	before = read_all(t, &n);
	ck_assert(!trace_names_blocks(t));
	name_blocks(before, n);
	trace_close(t);
	ck_assert_msg(!trace_compress(b.path,
				      &(struct compact_options){ .level = COMPACT_LEVEL_DEFAULT,
								 .exact = exact },
				      &err),
		      "%s", err.text);
	t = build_reopen(&b);
	after = read_all(t, &m);
	ck_assert(trace_names_blocks(t));
	ck_assert_uint_eq(trace_damage(t)->chunks_bad + trace_damage(t)->chunks_missing +
			      trace_damage(t)->words_bad + trace_damage(t)->stacks_bad,
			  0);
	trace_close(t);
	ck_assert_uint_eq(n, m);
	for (size_t i = 0; i < n; i++) {
		ck_assert_msg(same_but_time(before[i], after[i]), "event %zu", i);
		off = before[i].ticks > after[i].ticks ? before[i].ticks - after[i].ticks
						       : after[i].ticks - before[i].ticks;
		worst = off > worst ? off : worst;
	}
	free(before);
	free(after);
	return worst;
}

struct writer {
	struct words w;
	uint64_t seq;
};

static void flush(struct writer *to, uint32_t thread, bool end)
{
	uint64_t ticks = to->w.ticks;

	if (to->w.n < 4000 && !end)
		return;
	build_chunk(&b, 1, thread, ++to->seq, &to->w);
	words_free(&to->w);
	words_start(&to->w, ticks);
}

static void take(struct words *w, uint64_t ticks, uint64_t addr, uint64_t r)
{
	static const uint8_t tag[] = { MPROF_TAG_MALLOC, MPROF_TAG_CALLOC, MPROF_TAG_REALLOC_END,
				       MPROF_TAG_NEW };
	uint64_t size = r >> 20 & 7 ? 24 + 16 * (r >> 24 & 3) : r >> 24 & 0xffff;

	if (!(r >> 8 & 7))
		words_stack(w, 0, r >> 12 & 15);
	if (r >> 16 & 31)
		words_alloc(w, tag[r >> 30 & 3], ticks, addr, size, size + 8);
	else
		words_long(w, MPROF_FN_MEMALIGN, ticks, 0, 0,
			   (uint64_t[4]){ addr, size, size + 8, 64 });
}

static void give(struct words *w, uint64_t ticks, uint64_t addr, uint64_t r)
{
	static const uint8_t tag[] = { MPROF_TAG_FREE, MPROF_TAG_DELETE, MPROF_TAG_REALLOC_BEGIN };

	if (!(r >> 8 & 31))
		words_stack(w, MPROF_STACK_OF_FREES, r >> 13 & 3);
	if (!(r >> 36 & 7))
		words_put(w, mprof_word_touched(r >> 39 & 1 ? 0 : r >> 16 & MPROF_TOUCHED_MAX));
	if (!(r >> 20 & 15))
		words_long(w, r & 1 ? MPROF_FN_DELETE : MPROF_FN_DELETE_ARRAY, ticks, 0, 0,
			   (uint64_t[4]){ addr, r >> 24 & 1 ? 40 : 0 });
	else
		words_give(w, tag[r >> 30 & 3 ? 0 : r % 3], ticks, addr);
}

static void other(struct words *w, uint64_t ticks, uint64_t r)
{
	switch (r >> 40 & 3) {
	case 0:
		words_control(w, MPROF_CONTROL_FORK, ticks, r >> 50 & 7);
		break;
	case 1:
		words_put(w, mprof_word_lost(MPROF_LOST_NESTED, 3));
		break;
	case 2:
		words_long(w, MPROF_FN_MMAP, ticks, 0, 0,
			   (uint64_t[4]){ r & ~4095ull, 8192, 3, r >> 50 });
		break;
	default:
		words_give(w, MPROF_TAG_FREE, ticks, 0);
	}
}

/* Threads that hand each other blocks; addresses are used again as soon as they can be. */
static void build_threads(int threads, int events)
{
	struct writer to[THREADS] = { 0 };
	uint64_t block[BLOCKS] = { 0 }, ticks = 1000;

	for (int i = 0; i < threads; i++)
		words_start(&to[i].w, ticks);
	for (int i = 0; i < events; i++) {
		uint64_t r = random_next(), *slot = &block[r % BLOCKS];
		uint32_t thread = (uint32_t)(i / (1 + (r >> 60)) % threads);
		struct words *w = &to[thread].w;

		ticks += r >> 32 & 1 ? 20 : r >> 33 & 63 ? 100 : r >> 33 & 0xfffff;
		if (!(r >> 45 & 127)) {
			other(w, ticks, r);
		} else if (*slot) {
			give(w, ticks, *slot, r);
			*slot = 0;
		} else {
			*slot = 0x7f0000000010 + 64 * (r % BLOCKS);
			take(w, ticks, *slot, r);
		}
		flush(&to[thread], thread + 1, false);
	}
	for (int i = 0; i < threads; i++) {
		flush(&to[i], (uint32_t)i + 1, true);
		words_free(&to[i].w);
	}
}

START_TEST(exact)
{
	build_threads(THREADS, EVENTS);
	ck_assert_uint_eq(compress_and_compare(true), 0);
}
END_TEST

/* A tick is a nanosecond here. */
START_TEST(times_are_right_to_the_error)
{
	struct trace *t;
	uint64_t worst;

	build_threads(_i, EVENTS);
	worst = compress_and_compare(false);
	ck_assert_uint_le(worst, COMPACT_ERROR_NS);
	ck_assert_uint_gt(worst, 0);
	t = build_reopen(&b);
	ck_assert_uint_eq(trace_header(t)->time_error, 512);
	trace_close(t);
}
END_TEST

/* Mostly short words, some of which tell nothing; addresses may be 0. */
static void put_short(struct words *w, uint64_t ticks, uint64_t r)
{
	const uint64_t addr = r & 255 ? 0x10 + 16 * (r >> 8 & 511) : 0, size = r >> 20 & 255;

	for (uint64_t i = r >> 30 & 7; i > 4; i--)
		words_put(w, mprof_word_count(2 + (r >> i & 1023)));
	if (r >> 33 & 1)
		words_stack(w, 0, (uint32_t)(r >> 34 & 3));
	if (!(r >> 36 & 127))
		words_put(w, MPROF_TAG_TIME | (w->ticks = ticks - 3) << 4);
	if (!(r >> 43 & 255))
		words_stack(w, MPROF_STACK_OF_FREES, (uint32_t)(r >> 34 & 3));
	if (!(r >> 51 & 255))
		words_put(w, mprof_word_touched(size));
	if (!(r >> 60 & 1)) {
		words_give(w, MPROF_TAG_FREE + (r >> 61) % 3, ticks, addr);
	} else if (addr) {
		words_alloc(w, MPROF_TAG_MALLOC + (r >> 61 & 3), ticks, addr, size, size + 8);
	} else { /* the library would make it a long one */
		words_put(w, mprof_word_alloc(MPROF_TAG_MALLOC, 0, size, 8, -w->addr));
		w->addr = 0;
	}
}

/* A tick is more than the error of times here, so all are exact. */
START_TEST(short_words)
{
	struct mprof_fact fact = { .what = MPROF_FACT_START, .pid = 3 };
	struct writer to[2] = { 0 };
	struct words stacks;
	uint64_t ticks = 1000;

	build_header(&b)->clock_shift = 10;
	words_start(&stacks, ticks);
	for (uint32_t id = 1; id < 4; id++)
		words_define(&stacks, 0, id, 0, 0, (uint64_t[]){ 0x1000 * id, 0x2000 }, 2);
	build_stacks(&b, 1, 0, 1, &stacks);
	words_free(&stacks);
	words_start(&to[0].w, ticks);
	words_start(&to[1].w, ticks);
	for (int i = 0; i < EVENTS; i++) {
		const uint64_t r = random_next(), thread = _i && i >> 10 & 1;

		/* Sometimes thousands of events have one time. */
		ticks += i >> 12 & 1 ? !(r & 2047) : r >> 12 & 3 ? 1 : r >> 14 & 511;
		put_short(&to[thread].w, ticks, random_next());
		flush(&to[thread], (uint32_t)thread + 1, false);
		if (i % 5000 == 4000) {
			fact.ticks = ticks;
			build_fact(&b, 1, &fact, "exe=/bin/true", 14);
		}
	}
	for (uint32_t thread = 0; thread < 2; thread++) {
		flush(&to[thread], thread + 1, true);
		words_free(&to[thread].w);
	}
	ck_assert_uint_eq(compress_and_compare(false), 0);
}
END_TEST

/* A long one among short ones: nothing of one group's is left over for the next. */
static void build_many(int threads)
{
	uint64_t ticks = 1000;

	for (int i = 1; i <= threads; i++) {
		int calls = i % 100 == 1 ? 2000 : 1 + (int)(random_next() % 16);
		struct words w;

		words_start(&w, ticks);
		for (int k = 0; k < calls; k++) {
			uint64_t r = random_next(), addr = WORDS_BASE + 65536 * (r >> 54);

			take(&w, ticks += 10 + (r & 255), addr, r);
			give(&w, ticks += 10 + (r >> 8 & 255), addr, random_next());
		}
		build_chunk(&b, 1, (uint32_t)i, 1, &w);
		words_free(&w);
	}
}

START_TEST(many_threads)
{
	struct stat st;

	build_many(2000);
	ck_assert_uint_le(compress_and_compare(false), COMPACT_ERROR_NS);
	ck_assert_int_eq(stat(b.path, &st), 0);
	ck_assert_uint_lt((uint64_t)st.st_size, b.n / 4 * 3);
}
END_TEST

/* Some chunks of the middle are of another image, missing, or end in a word of no meaning. */
START_TEST(pieces)
{
	struct mprof_extent *x;
	size_t last = 0;

	build_threads(2, EVENTS);
	for (size_t at = MPROF_HEADER_SIZE; at < b.n; at += x->size) {
		x = build_extent_at(&b, at);
		if (x->thread == 1 && x->seq > 3)
			x->image = 1;
		if (x->thread == 2)
			last = at;
	}
	x = build_extent_at(&b, last);
	x->kind = MPROF_EXTENT_SLOT;
	x->used = x->check = 0;
	ck_assert_uint_le(compress_and_compare(false), COMPACT_ERROR_NS);
}
END_TEST

START_TEST(header)
{
	struct mprof_file_header *h;
	struct stat st;
	struct trace *t;

	build_threads(1, 100);
	h = build_header(&b);
	for (uint32_t i = 0; i < 5; i++)
		if (i != 1)
			h->process[i] = (struct mprof_process_entry){ .number = i + 1,
								      .pid = 100 + (int)i,
								      .lost = { 1 } };
	compress_and_compare(false);
	ck_assert_int_eq(stat(b.path, &st), 0);
	ck_assert_int_lt(st.st_size, 3000);
	t = build_reopen(&b);
	ck_assert_uint_eq(trace_header(t)->process[1].number, 0);
	ck_assert_int_eq(trace_header(t)->process[4].pid, 104);
	ck_assert_uint_eq(trace_header(t)->process[5].number, 0);
	ck_assert_uint_eq(trace_damage(t)->lost[0], 4);
	trace_close(t);
}
END_TEST

/* Stacks, objects and records of no meaning come through; those of two images apart. */
START_TEST(stack_records)
{
	struct words w;
	const struct stacks *s;
	struct trace *t;
	uint64_t frame[40], nodes;
	static uint32_t frames[6001];
	uint32_t id = 0;
	int fd;

	for (uint16_t image = 0; image < 2; image++, id = 0)
		for (uint64_t seq = 1; seq <= 3; seq++) {
			words_start(&w, 1000);
			words_object(&w, 1000, 0x1000, 0x555500000000 + 0x100000 * seq, 0x90000,
				     "/bin/program of a name", "id");
			for (int i = 0; i < 2000; i++) {
				uint32_t n = (uint32_t)(random_next() % 40), joined, depth;

				for (uint32_t k = 0; k < n; k++)
					frame[k] = 0x555500100000 + random_next() % 500 * 8;
				joined = id ? (uint32_t)(random_next() % id + 1) : 0;
				depth = (uint32_t)(random_next() % (frames[joined] % 200 + 1));
				frames[++id] = depth + n;
				words_define(&w, i % 50 ? 0 : MPROF_STACK_TRUNCATED, id, joined,
					     depth, frame, n);
			}
			words_gone(&w, (uint32_t)seq, 2000);
			if (seq == 3)
				build_stacks_slot(&b, 1, image, seq, &w, 8 * w.n + 640);
			else
				build_stacks(&b, 1, image, seq, &w);
			words_free(&w);
		}
	build_threads(1, 500);
	ck_assert_int_eq(
	    trace_open(&t, build_path(&b, &fd), MPROF_MAGIC_TRACE, &(struct error){ "" }), 0);
	nodes = trace_stacks(t)->nodes;
	ck_assert_uint_eq(trace_stacks(t)->definitions, 12000);
	trace_close(t);
	close(fd);
	compress_and_compare(false);
	t = build_reopen(&b);
	s = trace_stacks(t);
	ck_assert_uint_eq(s->nodes, nodes);
	ck_assert_str_eq(s->object[1].path, "/bin/program of a name");
	trace_close(t);
}
END_TEST

/* Plain bytes in one piece, the caller's. */
static uint8_t *plain_of(pack_piece *piece, void *from, size_t *bytes)
{
	const void *data;
	uint8_t *plain = calloc(1, 1);
	size_t n;

	*bytes = 0;
	for (size_t i = 0; piece(from, i, &data, &n); i++) {
		plain = realloc(plain, *bytes + n + 1);
		if (n)
			memcpy(plain + *bytes, data, n);
		*bytes += n;
	}
	return plain;
}

/* A group without a file. */
struct packed {
	struct sorts sorts;
	struct group_writer *writer;
	struct mprof_group head;
	uint8_t *plain[MPROF_GROUP_FRAMES];
	uint64_t ticks;
};

static void pack_events(struct packed *p, const struct event *e, size_t n, bool exact)
{
	size_t bytes;

	ck_assert_int_eq(sorts_start(&p->sorts, 1), 0);
	p->writer = group_writer_new(&p->sorts);
	p->ticks = e->ticks;
	group_begin(p->writer, 8, exact);
	for (size_t i = 0; i < n; i += GROUP_BATCH)
		ck_assert_int_eq(
		    group_add(p->writer, e + i, n - i < GROUP_BATCH ? n - i : GROUP_BATCH), 0);
	ck_assert_int_eq(group_end(p->writer, &p->head), 0);
	ck_assert_uint_eq(p->head.events, n);
	p->head.first_event = 1;
	for (unsigned i = 0; i < MPROF_GROUP_FRAMES; i++) {
		struct group_frame frame = { p->writer, i };

		p->plain[i] = plain_of(group_piece, &frame, &bytes);
		ck_assert_uint_eq(bytes, p->head.plain_bytes[i]);
	}
}

static void pack_release(struct packed *p)
{
	group_writer_free(p->writer);
	sorts_free(&p->sorts);
	for (unsigned i = 0; i < MPROF_GROUP_FRAMES; i++)
		free(p->plain[i]);
}

static struct event *some_events(size_t *n)
{
	struct event *e;
	struct trace *t;

	build_threads(3, 3000);
	build_save(&b);
	t = build_reopen(&b);
	e = read_all(t, n);
	trace_close(t);
	for (size_t i = 0; i < *n; i++)
		if (e[i].kind <= EVENT_REALLOC_END)
			e[i].value = 0;
	name_blocks(e, *n);
	return e;
}

/* The same thread's realloc: its block gone meanwhile, failed, of size 0, never ended. */
START_TEST(reallocs)
{
	struct event e[40], back[41];
	struct packed p;
	struct group_reader *r;
	size_t n = 0;
	uint64_t ticks = 5000;

#define EVENT(...)                                                  \
	do {                                                        \
		e[n] = (struct event){ .process = 1, __VA_ARGS__ }; \
		e[n].ticks = ticks += 7;                            \
		e[n].thread += !e[n].thread;                        \
		n++;                                                \
	} while (0)
#define TAKE(at, bytes)                                                           \
	.kind = EVENT_CALL, .fn = MPROF_FN_MALLOC, .addr = (at), .size = (bytes), \
	.usable = (bytes) + 8
#define GIVE(at)  .kind = EVENT_CALL, .fn = MPROF_FN_FREE, .addr = (at)
#define BEGIN(at) .kind = EVENT_REALLOC_BEGIN, .fn = MPROF_FN_REALLOC, .addr = (at)
#define END(at, bytes)                                                                    \
	.kind = EVENT_REALLOC_END, .fn = MPROF_FN_REALLOC, .addr = (at), .size = (bytes), \
	.usable = (at) ? (bytes) + 8 : 0, .error = (at) ? 0 : 12
	EVENT(TAKE(0x1000, 40));
	EVENT(BEGIN(0x1000));
	EVENT(END(0x1000, 80)); /* grew where it was */
	EVENT(BEGIN(0x1000));
	EVENT(END(0, 1000)); /* failed: lives on */
	EVENT(GIVE(0x1000));
	EVENT(TAKE(0x1000, 40));
	EVENT(BEGIN(0x1000));
	EVENT(END(0, 0));    /* freed */
	EVENT(GIVE(0x1000)); /* not known */
	EVENT(TAKE(0x2000, 40));
	EVENT(BEGIN(0x2000));
	EVENT(TAKE(0x2000, 50), .thread = 2); /* meanwhile another thread's */
	EVENT(END(0, 1000));		      /* and it failed all the same */
	EVENT(GIVE(0x2000));
	EVENT(TAKE(0x3000, 40));
	EVENT(TAKE(0x3000, 48)); /* twice */
	EVENT(GIVE(0x3000));
	EVENT(GIVE(0x3000));
	EVENT(TAKE(0x4000, 40));
	EVENT(BEGIN(0x4000));
	EVENT(TAKE(0x5000, 40));
	EVENT(BEGIN(0x5000)); /* the one before has not been seen to end */
	EVENT(END(0x6000, 40));
	EVENT(GIVE(0x6000));
	EVENT(GIVE(0));
	EVENT(TAKE(0x1001, 3)); /* odd addresses, and one at the end of all */
	EVENT(TAKE(0x1002, 3));
	EVENT(TAKE(~0ull, 3));
	EVENT(GIVE(0x1001), .usable = 2, .size = 3, .error = 9);
	EVENT(GIVE(0x1002), .arg = 16);
	EVENT(GIVE(~0ull));
	name_blocks(e, n);
	pack_events(&p, e, n, true);
	r = group_reader_new(&p.sorts);
	ck_assert(group_open(r, &p.head, p.ticks, p.plain));
	ck_assert_uint_eq(group_read(r, back, n + 1), n);
	for (size_t i = 0; i < n; i++)
		ck_assert_msg(!memcmp(&e[i], &back[i], sizeof(*e)), "event %zu", i);
	group_reader_free(r);
	pack_release(&p);
}
END_TEST

/* Whatever stands in the plain bytes, unpacking ends, in bounds. */
START_TEST(hostile)
{
	struct packed p;
	struct event *e, back[256];
	struct group_reader *r;
	uint8_t *copy[MPROF_GROUP_FRAMES];
	size_t n;

	e = some_events(&n);
	pack_events(&p, e, n, false);
	r = group_reader_new(&p.sorts);
	for (unsigned i = 0; i < MPROF_GROUP_FRAMES; i++)
		copy[i] = malloc(p.head.plain_bytes[i]);
	for (int round = 0; round < 5000; round++) {
		for (unsigned i = 0; i < MPROF_GROUP_FRAMES; i++) {
			memcpy(copy[i], p.plain[i], p.head.plain_bytes[i]);
			for (uint64_t k = random_next() % 4; k-- < 4;)
				copy[i][random_next() % p.head.plain_bytes[i]] =
				    (uint8_t)(random_next() >> 30);
		}
		if (group_open(r, &p.head, p.ticks, copy))
			while (group_read(r, back, 256))
				;
	}
	/* Nothing of all that is left over. */
	group_reader_rewind(r, 1);
	ck_assert(group_open(r, &p.head, p.ticks, p.plain));
	for (size_t i = 0, got; i < n; i += got) {
		got = group_read(r, back, 256);
		ck_assert_uint_gt(got, 0);
		for (size_t k = 0; k < got; k++)
			ck_assert(same_but_time(e[i + k], back[k]));
	}
	group_reader_free(r);
	for (unsigned i = 0; i < MPROF_GROUP_FRAMES; i++)
		free(copy[i]);
	free(e);
	pack_release(&p);
}
END_TEST

START_TEST(hostile_sorts)
{
	struct mprof_sorts head;
	struct packed p;
	struct event *e;
	uint8_t *plain, *copy;
	size_t n, bytes;

	e = some_events(&n);
	pack_events(&p, e, n, false);
	ck_assert_int_eq(sorts_tell(&p.sorts, &head), 0);
	plain = plain_of(sorts_piece, &p.sorts, &bytes);
	head.plain_bytes = (uint32_t)bytes;
	copy = malloc(bytes);
	for (int round = 0; round < 5000; round++) {
		struct sorts s;
		struct mprof_sorts bad = head;

		memcpy(copy, plain, bytes);
		if (round) {
			for (uint64_t k = random_next() % 4; k-- < 4;)
				copy[random_next() % bytes] = (uint8_t)(random_next() >> 30);
			if (!(round & 7))
				bad.sorts = (uint32_t)random_next();
			if (!(round & 15))
				bad.first_sort = (uint32_t)random_next() % 100000;
		}
		ck_assert_int_eq(sorts_start(&s, 0), 0);
		ck_assert(sorts_take(&s, &bad, copy) || round);
		if (!round) {
			ck_assert_uint_eq(s.n, p.sorts.n);
			for (size_t i = 1; i < s.n; i++)
				ck_assert_uint_eq(sort_sizes(&s, &s.sort[i]).usable,
						  sort_sizes(&p.sorts, &p.sorts.sort[i]).usable);
		}
		sorts_free(&s);
	}
	free(copy);
	free(plain);
	free(e);
	pack_release(&p);
}
END_TEST

START_TEST(hostile_stacks)
{
	struct stack_packer *p = stack_packer_new();
	struct words w;
	uint64_t *out, frame[2] = { 0x1000, 0x2000 };
	uint8_t *plain, *copy;
	size_t bytes;

	words_start(&w, 0);
	for (uint32_t id = 1; id < 60; id++)
		words_define(&w, 0, id, id / 2, id / 3, frame, 2);
	ck_assert_int_eq(stack_pack(p, w.word, w.n), 0);
	plain = plain_of(stack_piece, p, &bytes);
	out = malloc(8 * w.n);
	ck_assert(stack_unpack(plain, bytes, out, w.n));
	ck_assert_mem_eq(out, w.word, 8 * w.n);
	copy = malloc(bytes);
	for (int i = 0; i < 20000; i++) {
		memcpy(copy, plain, bytes);
		for (uint64_t k = random_next() % 4; k-- < 4;)
			copy[random_next() % bytes] = (uint8_t)(random_next() >> 30);
		stack_unpack(copy, bytes, out, w.n);
	}
	free(plain);
	free(copy);
	free(out);
	words_free(&w);
	stack_packer_free(p);
}
END_TEST

struct one_piece {
	const void *data;
	size_t bytes;
};

static bool one_piece(void *from, size_t i, const void **data, size_t *bytes)
{
	const struct one_piece *p = from;

	*data = p->data;
	*bytes = p->bytes;
	return !i;
}

/* Packs and unpacks bytes; returns the size of their frame. */
static size_t frame_bytes(struct packer *p, const uint8_t *plain, size_t bytes)
{
	struct one_piece piece = { plain, bytes };
	struct unpacker *u = unpacker_new();
	uint8_t *frame, *back = malloc(bytes);
	size_t most, n;

	ck_assert_uint_eq(pieces_bytes(one_piece, &piece, &most), bytes);
	frame = malloc(most);
	n = packer_frames(p, one_piece, &piece, frame, most);
	ck_assert_uint_gt(n, 0);
	ck_assert(unpacker_frames(u, frame, n, back, bytes));
	ck_assert_mem_eq(back, plain, bytes);
	unpacker_free(u);
	free(back);
	free(frame);
	return n;
}

/* Random bytes take what their number of values needs; after them, what repeats is found again. */
START_TEST(bytes_of_all_kinds)
{
	enum { N = 1 << 20 };
	struct packer *p = packer_new(1);
	uint8_t *plain = malloc(N);

	for (unsigned bits = 0; bits <= 8; bits += 2) {
		for (size_t i = 0; i < N; i++)
			plain[i] = (uint8_t)(random_next() >> 20 & ((1u << bits) - 1));
		ck_assert_uint_le(frame_bytes(p, plain, N), N / 8 * bits + N / 50);
		for (size_t i = N / 64; i < N; i++)
			plain[i] = plain[i - N / 64];
		ck_assert_uint_le(frame_bytes(p, plain, N), N / 32);
	}
	packer_free(p);
	free(plain);
}
END_TEST

/* What is taken out of a pile by its depth, and where it is found, as of a plain list. */
START_TEST(piles_are_lists)
{
	struct piles *all = calloc(1, sizeof(*all));
	struct pile *p;
	uint64_t list[4096];
	size_t n = 0;

	ck_assert_ptr_nonnull(all);
	p = &all->pile[7];
	piles_begin(all);
	ck_assert_uint_eq(pile_find(p, 16), 0);
	ck_assert(!pile_is_top(p, 16));
	for (unsigned i = 0; i < 3 * 4096; i++) {
		unsigned depth = random_next() % (GROUP_PILE_DEPTH + 4), found = 0;
		uint64_t wanted = 16 * (1 + random_next() % 32);

		for (unsigned k = 0; k < GROUP_PILE_DEPTH && k < n; k++)
			found |= (unsigned)(list[n - 1 - k] == wanted) << k;
		ck_assert_uint_eq(pile_find(p, wanted), found);
		ck_assert_int_eq(pile_is_top(p, wanted), found & 1);
		if (depth < GROUP_PILE_DEPTH && depth < n) {
			ck_assert_uint_eq(pile_pull(p, depth), list[n - 1 - depth]);
			memmove(&list[n - 1 - depth], &list[n - depth], depth * sizeof(*list));
			n--;
		} else if (n < 4096) {
			ck_assert(pile_push(p, wanted));
			list[n++] = wanted;
		}
		ck_assert_uint_eq(p->n, n);
		ck_assert(!n || !memcmp(p->addr, list, n * sizeof(*list)));
	}
	piles_begin(all);
	ck_assert_uint_eq(pile_find(p, 16), 0);
	piles_free(all);
	free(all);
}
END_TEST

/* A region with one large block has no leaf before another block begins in it. */
START_TEST(places_of_large_blocks)
{
	const uint64_t first = 0x7f0000000000;
	struct places p;

	places_start(&p);
	for (uint64_t i = 0; i < 1000; i++)
		*places_make(&p, first + 512 * i, true) = (uint32_t)i + 1;
	ck_assert_uint_eq(p.slabs, 0);
	ck_assert_ptr_null(places_find(&p, first + 16));
	ck_assert_ptr_eq(places_make(&p, first, false), places_find(&p, first));
	ck_assert_uint_eq(p.promoted, 0);
	for (uint64_t i = 0; i < 1000; i += 3)
		*places_make(&p, first + 512 * i + 16 * (1 + i % 31), i % 2) = (uint32_t)i + 5000;
	ck_assert_uint_eq(p.promoted, 334);
	for (uint64_t i = 0; i < 1000; i++) {
		ck_assert_uint_eq(*places_find(&p, first + 512 * i), i + 1);
		if (i % 3 == 0)
			ck_assert_uint_eq(*places_find(&p, first + 512 * i + 16 * (1 + i % 31)),
					  i + 5000);
		else
			ck_assert_ptr_null(places_find(&p, first + 512 * i + 16));
	}
	places_free(&p);
}
END_TEST

/* Each address has a cell of its own, which stays when the table grows. */
START_TEST(places_are_apart)
{
	const uint64_t first = 0x7f0000000000, far = 1ull << 40;
	struct places p;

	places_start(&p);
	for (unsigned times = 0; times < 2; times++) {
		ck_assert_ptr_null(places_find(&p, 0));
		ck_assert_ptr_null(places_find(&p, first));
		for (uint32_t i = 1; i < 5000; i++) {
			uint32_t *cell = places_make(&p, first + 8 * i, false);

			ck_assert_ptr_nonnull(cell);
			ck_assert_uint_eq(*cell, 0);
			*cell = i;
			cell = places_make(&p, first + far * i, i % 2);
			ck_assert_uint_eq(*cell, 0);
			*cell = ~i;
		}
		for (uint32_t i = 1; i < 5000; i++) {
			ck_assert_uint_eq(*places_find(&p, first + 8 * i), i);
			ck_assert_uint_eq(*places_find(&p, first + far * i), ~i);
		}
		ck_assert_ptr_null(places_find(&p, first - 1024));
		places_free(&p);
	}
	places_free(&p);
}
END_TEST

#define LANES  3u
#define BIRTHS 1000u

/* Allocates blocks of several threads in turn, and checks what is known about each. */
static void check_births(struct slots *s, uint32_t slot[LANES][BIRTHS])
{
	struct lane *lane[LANES];

	for (uint32_t k = 0; k < LANES; k++)
		lane[k] = slots_lane(s, 1, k + 1);
	for (uint32_t i = 0; i < LANES * BIRTHS; i++) {
		struct lane *l = lane[i % LANES];

		slot[i % LANES][i / LANES] = slots_take(l);
		ck_assert(slots_born(s, l, slot[i % LANES][i / LANES]));
	}
	for (uint32_t i = 0; i < LANES * BIRTHS; i++) {
		const struct home *h = lane[0]->home;
		const struct birth birth = slots_birth(s, &h->slot[slot[i % LANES][i / LANES]]);

		ck_assert_uint_eq(birth.lane, lane[i % LANES]->number);
		ck_assert_uint_eq(birth.born, i / LANES);
		ck_assert_uint_eq(lane[i % LANES]->born[birth.born], slot[i % LANES][i / LANES]);
	}
}

/* A birth is known within its group, also when the numbers of births begin again. */
START_TEST(births_of_a_group)
{
	static uint32_t slot[2][LANES][BIRTHS];
	static const uint32_t before[] = { 0, UINT32_MAX / 2 - 1, UINT32_MAX / 2, 1 };
	struct slots s = { .lists_births = true };

	for (unsigned g = 0; g < sizeof(before) / sizeof(before[0]); g++) {
		if (g)
			s.first_birth = before[g]; /* as after that many births */
		slots_begin(&s);
		check_births(&s, slot[g & 1]);
		for (uint32_t i = 0; g && i < BIRTHS; i++)
			ck_assert_uint_eq(
			    slots_birth(&s, &s.home[0]->slot[slot[~g & 1][1][i]]).lane, LANE_NONE);
	}
	slots_free(&s);
}
END_TEST

Suite *trace_group_suite(void)
{
	Suite *s = suite_create("trace_group");
	TCase *c = tcase_create("groups");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, exact);
	tcase_add_loop_test(c, short_words, 0, 2);
	tcase_add_loop_test(c, times_are_right_to_the_error, 1, THREADS + 1);
	tcase_add_test(c, many_threads);
	tcase_add_test(c, pieces);
	tcase_add_test(c, header);
	tcase_add_test(c, stack_records);
	tcase_add_test(c, reallocs);
	tcase_add_test(c, bytes_of_all_kinds);
	tcase_add_test(c, piles_are_lists);
	tcase_add_test(c, places_of_large_blocks);
	tcase_add_test(c, places_are_apart);
	tcase_add_test(c, births_of_a_group);
	tcase_add_test(c, hostile);
	tcase_add_test(c, hostile_sorts);
	tcase_add_test(c, hostile_stacks);
	suite_add_tcase(s, c);
	return s;
}
