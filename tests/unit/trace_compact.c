// SPDX-License-Identifier: LGPL-3.0-or-later
/* trace_compact.c - a compressed trace says what the raw one said, in less room. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "suites.h"
#include "trace/columns.h"
#include "trace/compact.h"
#include "trace/pack.h"
#include "trace_build.h"
#include "trace_text.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#define PAIRS	    20000
#define RING	    256
#define CHUNK_WORDS 8000

static struct build b;
static char directory[32];
static char path[64];

static void setup(void)
{
	strcpy(directory, "/tmp/mprof-unit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/t.log", directory);
	build_start(&b, MPROF_MAGIC_TRACE);
}

static void teardown(void)
{
	unlink(path);
	ck_assert_int_eq(rmdir(directory), 0); /* nothing else was left in it */
	build_free(&b);
}

static void save(void)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(b.bytes, 1, b.n, f), b.n);
	ck_assert_int_eq(fclose(f), 0);
}

static uint64_t file_bytes(void)
{
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	return (uint64_t)st.st_size;
}

/* The first line that differs; damage may stand at another offset afterwards. */
static void assert_same_text(char *before, char *after)
{
	char *line_before, *line_after, *rest_before = before, *rest_after = after;

	do {
		line_before = strsep(&rest_before, "\n");
		line_after = strsep(&rest_after, "\n");
		if (line_before && line_after && strncmp(line_before, "damage: first at", 16))
			ck_assert_str_eq(line_before, line_after);
	} while (line_before && line_after);
	ck_assert_ptr_eq(line_before, line_after);
}

/* Compresses what is in b; everything that can be asked of it must be as before. */
static void same_after(void)
{
	struct error err = { "" };
	char *before, *after;
	struct stat st;

	save();
	before = trace_text_of(path, "t", MPROF_MAGIC_TRACE);
	ck_assert_msg(!trace_compress(path,
				      &(struct compact_options){ .level = COMPACT_LEVEL_DEFAULT,
								 .exact = true },
				      &err),
		      "%s", err.text);
	after = trace_text_of(path, "t", MPROF_MAGIC_TRACE);
	assert_same_text(before, after);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0600);
	free(before);
	free(after);
}

static uint64_t random_state;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

struct churn {
	struct words w;
	uint64_t seq, ticks;
	void *block[RING];
};

static void next_chunk(struct churn *c, bool force)
{
	if (c->w.n < CHUNK_WORDS && !force)
		return;
	build_chunk(&b, 1, 1, ++c->seq, &c->w);
	words_free(&c->w);
	words_start(&c->w, c->ticks);
}

/* The addresses are those of the allocator that the test runs with. */
static void churn(int pairs, bool at_random)
{
	struct churn c = { .ticks = 1000 };

	random_state = 88172645463325252u;
	words_start(&c.w, c.ticks);
	for (int i = 0; i < pairs; i++) {
		uint64_t r = random_next(), size = 16 + (r & 1023);
		void **block = &c.block[at_random ? r >> 40 & (RING - 1) : (uint64_t)i % RING];

		c.ticks += 5 + (r >> 50 & 3);
		if (*block)
			words_give(&c.w, MPROF_TAG_FREE, c.ticks, (uintptr_t)*block);
		free(*block);
		*block = malloc(size);
		c.ticks += 7 + (r >> 52 & 3);
		words_alloc(&c.w, MPROF_TAG_MALLOC, c.ticks, (uintptr_t)*block, size,
			    malloc_usable_size(*block));
		next_chunk(&c, false);
	}
	next_chunk(&c, true);
	words_free(&c.w);
	for (int i = 0; i < RING; i++)
		free(c.block[i]);
}

START_TEST(churn_takes_four_bytes_a_pair)
{
	struct error err;

	churn(PAIRS, _i);
	same_after();
	save();
	ck_assert(!trace_compress(
	    path, &(struct compact_options){ .level = COMPACT_LEVEL_DEFAULT, .exact = false },
	    &err));
	/* A sanitizer's allocator never hands out again what was just given back. */
	if (!SANITIZED)
		ck_assert_uint_lt(file_bytes(), 4 * PAIRS);
}
END_TEST

/* One event of every function and tag, words of no meaning, and blocks freed twice. */
static void odd_words(struct words *w, uint64_t seed)
{
	random_state = seed;
	for (int i = 0; i < 3000; i++) {
		uint64_t r = random_next(),
			 addr = 0x5000000000 + (r >> 20 & (r & 128 ? 0xffff0 : 0xff0));
		uint64_t ticks = w->ticks + (r >> 40 & 0x3fff);
		uint64_t v[4] = { r & 64 ? addr : r << 7, random_next() >> (r & 63), r >> 3,
				  r & 7 };

		switch (r % 7) {
		case 0:
		case 1:
			words_alloc(w, MPROF_TAG_MALLOC + (r >> 8 & 3), ticks, addr, r >> 8 & 16383,
				    (r >> 8 & 16383) + (r >> 30 & 511));
			break;
		case 2:
		case 3:
			words_give(w, MPROF_TAG_FREE + (r >> 8) % 3, ticks, addr);
			break;
		case 4:
			words_long(w, 1 + (r >> 8) % 22, ticks, 0, r >> 16 & 255, v);
			break;
		case 5:
			words_long(w, MPROF_FN_REALLOC, ticks, MPROF_LONG_BEGIN, 0, v);
			break;
		case 6:
			words_control(w, 1 + (r >> 8) % 6, ticks, r >> 24);
			words_put(w, mprof_word_thread(2 + (r & 1)));
			words_put(w, mprof_word_lost(r >> 8 & 7, r >> 20));
		}
	}
}

START_TEST(every_word_comes_back)
{
	struct mprof_fact fact = { .what = MPROF_FACT_START, .pid = 3, .ticks = 1001 };
	struct mprof_sample sample = { .ticks = 1002, .rss = 4096 };
	struct words w;

	build_fact(&b, 1, &fact, "exe=/bin/true", 14);
	words_start(&w, 1000);
	odd_words(&w, 1000003u * (_i + 1));
	build_chunk(&b, 1, 2, 1, &w);
	words_free(&w);
	words_start(&w, 9000000); /* one whose first word is short */
	words_alloc(&w, MPROF_TAG_MALLOC, 9000001, 4096, 8, 24);
	odd_words(&w, 77 + (uint64_t)_i);
	build_extent(&b, MPROF_EXTENT_FREE, 0, 0, NULL, 0, 4096);
	build_slot(&b, 1, 2, 2, &w, 8 * w.n + 4096);
	build_extent(&b, MPROF_EXTENT_SAMPLE, 1, 0, &sample, sizeof(sample), 0);
	words_put(&w, 15); /* undecodable, and still carried over */
	words_put(&w, MPROF_TAG_LONG | MPROF_FN_MALLOC << 16);
	build_chunk(&b, 1, 3, 1, &w);
	words_free(&w);
	same_after();
}
END_TEST

/* Streams in turn, from the start again and left in the middle: chunks are unpacked ahead. */
START_TEST(threads_in_turn)
{
	struct event e[50];
	struct error err;
	struct trace *t;
	struct words w;
	size_t n, all = 0;

	for (uint64_t seq = 1; seq <= 6; seq++)
		for (uint32_t thread = 1; thread <= 5; thread++) {
			words_pairs(&w, 1000 * seq + 7 * thread, 25);
			if (seq == 3 && thread == 2)
				w.word[w.n - 2] = 15;
			build_chunk(&b, 1, thread, seq, &w);
			words_free(&w);
		}
	same_after();
	ck_assert_int_eq(trace_open(&t, path, MPROF_MAGIC_TRACE, &err), 0);
	ck_assert_uint_eq(trace_next(t, e, 50), 50);
	trace_rewind(t);
	while ((n = trace_next(t, e, 50)))
		all += n;
	ck_assert_uint_gt(all, 29 * 49);
	ck_assert_uint_eq(trace_damage(t)->words_bad, 1);
	trace_rewind(t);
	ck_assert_uint_eq(trace_next(t, e, 50), 50);
	trace_close(t);
}
END_TEST

/* More words than the tables serve: packed without columns. */
START_TEST(long_chunk)
{
	struct words w;

	words_start(&w, 1000);
	for (uint64_t i = 0; i < 200000; i++)
		words_give(&w, MPROF_TAG_FREE, 1000 + i, 64 * i);
	build_chunk(&b, 1, 1, 1, &w);
	words_free(&w);
	same_after();
	ck_assert_uint_lt(file_bytes(), 1000000);
}
END_TEST

/* Read in another order than they were packed in, and each begins with a short word. */
START_TEST(packed_chunks_start_anew)
{
	struct words w;

	for (uint32_t thread = 4; thread >= 1; thread--)
		for (uint64_t seq = 2; seq >= 1; seq--) {
			words_start(&w, 1000 * seq + 10 * thread);
			words_alloc(&w, MPROF_TAG_MALLOC, w.ticks + 1, 4096 * thread + 64 * seq, 8,
				    24);
			words_give(&w, MPROF_TAG_FREE, w.ticks + 1, 4096 * thread + 4160);
			build_chunk(&b, 1, thread, seq, &w);
			words_free(&w);
		}
	same_after();
}
END_TEST

/* A packed extent made by hand: one record, of the columns that are given. */
static void add_packed(const uint8_t *op, size_t ops, uint8_t place, uint64_t word)
{
	struct {
		uint32_t length[COLUMNS];
		uint8_t column[32];
	} plain = { 0 };
	unsigned char payload[1024];
	struct mprof_packed *p = (struct mprof_packed *)payload;

	plain.length[COLUMN_OP] = (uint32_t)ops;
	plain.length[COLUMN_PLACE] = 1;
	memcpy(plain.column, op, ops);
	plain.column[ops] = place;
	*p = (struct mprof_packed){ .packing = PACKING_COLUMNS,
				    .raw_bytes = 8,
				    .plain_bytes = (uint32_t)(sizeof(plain.length) + ops + 1) };
	p->original = (struct mprof_extent){ .kind = MPROF_EXTENT_EVENTS,
					     .process = 1,
					     .thread = 1,
					     .seq = 1,
					     .used = 8,
					     .check = mprof_checksum(&word, 8) };
	p->frame_bytes =
	    (uint32_t)ZSTD_compress(p + 1, sizeof(payload) - sizeof(*p), &plain, p->plain_bytes, 1);
	build_extent(&b, MPROF_EXTENT_PACKED, 1, 1, payload, sizeof(*p) + p->frame_bytes, 0);
}

static size_t events_of(struct trace_damage *damage)
{
	struct error err;
	struct event e[8];
	struct trace *t;
	size_t n;

	save();
	ck_assert_msg(!trace_open(&t, path, MPROF_MAGIC_TRACE, &err), "%s", err.text);
	n = trace_next(t, e, 8);
	*damage = *trace_damage(t);
	trace_close(t);
	return n;
}

/* Columns that name what is not there, and words that are not those of the original. */
START_TEST(packed_by_hand)
{
	static const struct {
		uint8_t op, place;
		uint64_t word;
		size_t events;
	} rows[] = {
		{ MPROF_TAG_FREE | OP_UNKNOWN, 0, MPROF_TAG_FREE, 1 },
		{ MPROF_TAG_FREE | OP_UNKNOWN, 0, MPROF_TAG_FREE | 1 << 4, 0 },
		{ MPROF_TAG_FREE, 0, MPROF_TAG_FREE, 0 },
		{ MPROF_TAG_FREE, 255, MPROF_TAG_FREE, 0 },
		{ MPROF_TAG_LONG, 0, MPROF_TAG_LONG, 0 },
		{ 9, 0, MPROF_TAG_TIME, 0 },
		{ OP_WORD, 0, 0, 0 },
	};
	struct trace_damage damage;

	add_packed(&rows[_i].op, 1, rows[_i].place, rows[_i].word);
	ck_assert_uint_eq(events_of(&damage), rows[_i].events);
	ck_assert_uint_eq(damage.chunks_bad, !rows[_i].events && rows[_i].op != OP_WORD);
}
END_TEST

/* No room for the new file: the old one stays, and nothing beside it. */
START_TEST(no_room)
{
	struct rlimit limit = { 512, RLIM_INFINITY };
	struct error err;
	uint64_t bytes;

	churn(1000, true);
	save();
	bytes = file_bytes();
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(
	    trace_compress(path, &(struct compact_options){ .level = 1, .exact = true }, &err),
	    -EFBIG);
	limit.rlim_cur = RLIM_INFINITY;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_uint_eq(file_bytes(), bytes);
	ck_assert_ptr_nonnull(strstr(err.text, path));
}
END_TEST

/* Damage is found afterwards where it was before. */
START_TEST(bad_chunk_stays_bad)
{
	size_t at;

	churn(100, true);
	at = b.n;
	churn(100, true);
	churn(100, true);
	build_extent_at(&b, at)->thread = 2;
	b.bytes[at + 80] ^= 4;
	save();
	{
		char *before = trace_text_of(path, "t", MPROF_MAGIC_TRACE), *after;
		struct error err;

		ck_assert_ptr_nonnull(strstr(before, "damage: chunks bad"));
		ck_assert_int_eq(
		    trace_compress(path, &(struct compact_options){ .level = 1, .exact = true },
				   &err),
		    0);
		after = trace_text_of(path, "t", MPROF_MAGIC_TRACE);
		assert_same_text(before, after);
		free(before);
		free(after);
	}
}
END_TEST

START_TEST(cut_file_is_left_alone)
{
	struct error err;
	uint64_t bytes;

	churn(1000, true);
	b.n -= 64;
	save();
	bytes = file_bytes();
	ck_assert_int_eq(
	    trace_compress(path, &(struct compact_options){ .level = 1, .exact = true }, &err),
	    -EBADMSG);
	ck_assert_ptr_nonnull(strstr(err.text, path));
	ck_assert_uint_eq(file_bytes(), bytes);
}
END_TEST

START_TEST(twice_is_once)
{
	struct error err;
	uint64_t bytes;

	churn(1000, true);
	same_after();
	bytes = file_bytes();
	ck_assert_int_eq(
	    trace_compress(path, &(struct compact_options){ .level = 1, .exact = true }, &err), 0);
	ck_assert_uint_eq(file_bytes(), bytes);
}
END_TEST

START_TEST(what_is_not_there)
{
	struct error err;

	ck_assert_int_eq(
	    trace_compress(path, &(struct compact_options){ .level = 1, .exact = true }, &err),
	    -ENOENT);
	build_free(&b);
	build_start(&b, MPROF_MAGIC_COUNTS);
	save();
	ck_assert_int_eq(
	    trace_compress(path, &(struct compact_options){ .level = 1, .exact = true }, &err),
	    -EBADMSG);
}
END_TEST

/* The index names every chunk, so that one is found without reading the others. */
START_TEST(index_names_the_chunks)
{
	struct mprof_file_header *h;
	struct mprof_extent *x;
	struct mprof_index_entry *e;
	FILE *f;

	churn(PAIRS, true);
	/* A chunk is missing: there are two groups. */
	for (size_t at = MPROF_HEADER_SIZE; at < b.n; at += build_extent_at(&b, at)->size)
		if (build_extent_at(&b, at)->seq == 3)
			build_extent_at(&b, at)->kind = MPROF_EXTENT_FREE;
	same_after();
	build_free(&b);
	b.n = b.room = file_bytes();
	b.bytes = malloc(b.n);
	f = fopen(path, "r");
	ck_assert_uint_eq(fread(b.bytes, 1, b.n, f), b.n);
	fclose(f);
	h = build_header(&b);
	ck_assert_uint_eq(h->flags, MPROF_FILE_COMPRESSED);
	ck_assert_uint_eq(h->tail, b.n);
	x = build_extent_at(&b, h->index_offset);
	ck_assert_uint_eq(x->kind, MPROF_EXTENT_INDEX);
	ck_assert_uint_eq(x->check, mprof_checksum(x + 1, x->used));
	e = (struct mprof_index_entry *)(x + 1);
	ck_assert_uint_eq(x->used % sizeof(*e), 0);
	ck_assert_uint_ge(x->used / sizeof(*e), 2);
	for (size_t i = 0; i < x->used / sizeof(*e); i++) {
		const struct mprof_extent *chunk = build_extent_at(&b, e[i].offset);

		ck_assert_uint_eq(chunk->kind, MPROF_EXTENT_PACKED);
		ck_assert_uint_eq(chunk->first_ticks, e[i].first_ticks);
		ck_assert_uint_eq(chunk->last_ticks, e[i].last_ticks);
		ck_assert_uint_eq(e[i].thread, 1);
	}
}
END_TEST

Suite *trace_compact_suite(void)
{
	Suite *s = suite_create("trace compact");
	TCase *tc = tcase_create("compact");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, churn_takes_four_bytes_a_pair, 0, 2);
	tcase_add_loop_test(tc, every_word_comes_back, 0, 8);
	tcase_add_test(tc, threads_in_turn);
	tcase_add_test(tc, long_chunk);
	tcase_add_loop_test(tc, packed_by_hand, 0, 7);
	tcase_add_test(tc, no_room);
	tcase_add_test(tc, packed_chunks_start_anew);
	tcase_add_test(tc, bad_chunk_stays_bad);
	tcase_add_test(tc, cut_file_is_left_alone);
	tcase_add_test(tc, twice_is_once);
	tcase_add_test(tc, what_is_not_there);
	tcase_add_test(tc, index_names_the_chunks);
	suite_add_tcase(s, tc);
	return s;
}
