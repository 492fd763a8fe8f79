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

#include "suites.h"
#include "trace/compact.h"
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

static void setup(void)
{
	build_start_file(&b);
}

static void teardown(void)
{
	build_end_file(&b);
}

static uint64_t file_bytes(void)
{
	struct stat st;

	ck_assert_int_eq(stat(b.path, &st), 0);
	return (uint64_t)st.st_size;
}

/* The first line that differs. */
static void assert_same_text(char *before, char *after)
{
	char *line_before, *line_after, *rest_before = before, *rest_after = after;

	do {
		line_before = strsep(&rest_before, "\n");
		line_after = strsep(&rest_after, "\n");
		if (line_before && line_after)
			ck_assert_str_eq(line_before, line_after);
	} while (line_before && line_after);
	ck_assert_ptr_eq(line_before, line_after);
}

/* Compresses the trace in b; all results of reading it must be as before. */
static void same_after(void)
{
	struct error err = { "" };
	char *before, *after;
	struct stat st;

	build_save(&b);
	before = trace_text_of(b.path, "t", MPROF_MAGIC_TRACE);
	ck_assert_msg(!trace_compress(b.path,
				      &(struct compact_options){ .level = COMPACT_LEVEL_DEFAULT,
								 .exact = true },
				      &err),
		      "%s", err.text);
	after = trace_text_of(b.path, "t", MPROF_MAGIC_TRACE);
	assert_same_text(before, after);
	ck_assert_int_eq(stat(b.path, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0600);
	free(before);
	free(after);
}

static uint64_t random_state;

static uint64_t random_next(void)
{
	return random_after(&random_state);
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

/* The addresses are those of the allocator that the test runs with.  Returns the requested bytes.
 */
static uint64_t churn(int pairs, bool at_random)
{
	uint64_t asked = 0;
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
		asked += size;
		c.ticks += 7 + (r >> 52 & 3);
		words_alloc(&c.w, MPROF_TAG_MALLOC, c.ticks, (uintptr_t)*block, size,
			    malloc_usable_size(*block));
		next_chunk(&c, false);
	}
	next_chunk(&c, true);
	words_free(&c.w);
	for (int i = 0; i < RING; i++)
		free(c.block[i]);
	return asked;
}

START_TEST(churn_takes_four_bytes_a_pair)
{
	struct error err;

	churn(PAIRS, _i);
	same_after();
	build_save(&b);
	ck_assert(!trace_compress(
	    b.path, &(struct compact_options){ .level = COMPACT_LEVEL_DEFAULT, .exact = false },
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
	build_chunk(&b, 1, 3, 1, &w);
	words_free(&w);
	same_after();
}
END_TEST

/* Threads in turn, from the start again and left in the middle. */
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
			build_chunk(&b, 1, thread, seq, &w);
			words_free(&w);
		}
	same_after();
	ck_assert_int_eq(trace_open(&t, b.path, MPROF_MAGIC_TRACE, &err), 0);
	ck_assert_uint_eq(trace_next(t, e, 50), 50);
	trace_rewind(t);
	while ((n = trace_next(t, e, 50)))
		all += n;
	ck_assert_uint_eq(all, 30 * 49);
	trace_rewind(t);
	ck_assert_uint_eq(trace_next(t, e, 50), 50);
	trace_close(t);
}
END_TEST

/* In another order than that of time, and each chunk begins with a short word. */
START_TEST(chunks_in_any_order)
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

/* No room for the new file: the old one stays, and nothing beside it. */
START_TEST(no_room)
{
	struct rlimit limit = { 512, RLIM_INFINITY };
	struct error err;
	uint64_t bytes;
	int ret;

	churn(1000, true);
	build_save(&b);
	bytes = file_bytes();
	signal(SIGXFSZ, SIG_IGN);
	/* Nothing is asserted meanwhile, because that writes to a file, too. */
	setrlimit(RLIMIT_FSIZE, &limit);
	ret = trace_compress(b.path, &(struct compact_options){ .level = 1, .exact = true }, &err);
	limit.rlim_cur = RLIM_INFINITY;
	setrlimit(RLIMIT_FSIZE, &limit);
	ck_assert_int_eq(ret, -EFBIG);
	ck_assert_uint_eq(file_bytes(), bytes);
	ck_assert_ptr_nonnull(strstr(err.text, b.path));
}
END_TEST

/* What cannot be read today is not thrown away. */
static void stays(const char *why)
{
	struct error err;
	uint64_t bytes;

	build_save(&b);
	bytes = file_bytes();
	ck_assert_int_eq(
	    trace_compress(b.path, &(struct compact_options){ .level = 1, .exact = true }, &err),
	    -EBADMSG);
	ck_assert_ptr_nonnull(strstr(err.text, b.path));
	ck_assert_ptr_nonnull(strstr(err.text, why));
	ck_assert_uint_eq(file_bytes(), bytes);
}

START_TEST(bad_chunk_is_left_alone)
{
	size_t at;

	churn(100, true);
	at = b.n;
	churn(100, true);
	build_extent_at(&b, at)->thread = 2;
	b.bytes[at + 80] ^= 4;
	stays("is damaged at byte");
}
END_TEST

START_TEST(bad_word_is_left_alone)
{
	struct words w;

	words_pairs(&w, 1000, 25);
	words_put(&w, 15);
	build_chunk(&b, 1, 1, 1, &w);
	words_free(&w);
	stays("is damaged at byte");
}
END_TEST

START_TEST(cut_file_is_left_alone)
{
	churn(1000, true);
	b.n -= 64;
	stays("is left uncompressed");
}
END_TEST

/* Whoever waits gets every event once, and can stop it. */
struct seen {
	uint64_t events, asked, finished, told;
	volatile sig_atomic_t stop;
};

static void see(void *context, const struct event *e, size_t n)
{
	struct seen *s = context;

	s->events += n;
	for (size_t i = 0; i < n; i++)
		s->asked += e[i].size;
}

static void see_sums(void *context, uint64_t calls, uint64_t asked)
{
	struct seen *s = context;

	s->events += calls;
	s->asked += asked;
}

static void see_finished(void *context, const struct trace *t)
{
	struct seen *s = context;

	(void)t;
	s->finished++;
}

static void see_progress(void *context, uint64_t done, uint64_t all)
{
	struct seen *s = context;

	ck_assert_uint_le(done, all);
	s->told++;
	s->stop = 1;
}

START_TEST(seen_and_stopped)
{
	struct seen seen = { 0 };
	struct compact_options o = { .level = 1,
				     .stop = &seen.stop,
				     .context = &seen,
				     .events = see,
				     .sums = see_sums,
				     .finished = see_finished,
				     .progress = see_progress };
	struct error err;
	uint64_t bytes, asked;

	asked = churn(PAIRS, true);
	build_save(&b);
	bytes = file_bytes();
	seen.stop = 1;
	ck_assert_int_eq(trace_compress(b.path, &o, &err), -EINTR);
	ck_assert_ptr_nonnull(strstr(err.text, "the file is unchanged"));
	ck_assert_uint_eq(seen.finished, 0);
	ck_assert_uint_eq(file_bytes(), bytes);
	seen = (struct seen){ 0 };
	ck_assert_int_eq(trace_compress(b.path, &o, &err), 0);
	ck_assert_uint_eq(seen.events, 2 * PAIRS - RING);
	ck_assert_uint_eq(seen.asked, asked);
	ck_assert_uint_eq(seen.finished, 1);
	ck_assert_uint_ge(seen.told, 1);
	seen.events = 0;
	ck_assert_int_eq(trace_compress(b.path, &o, &err), 0);
	ck_assert_uint_eq(seen.events, 0);
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
	    trace_compress(b.path, &(struct compact_options){ .level = 1, .exact = true }, &err),
	    0);
	ck_assert_uint_eq(file_bytes(), bytes);
}
END_TEST

START_TEST(what_is_not_there)
{
	struct error err;

	ck_assert_int_eq(
	    trace_compress(b.path, &(struct compact_options){ .level = 1, .exact = true }, &err),
	    -ENOENT);
	memcpy(build_header(&b)->magic, MPROF_MAGIC_COUNTS, MPROF_MAGIC_SIZE);
	build_save(&b);
	ck_assert_int_eq(
	    trace_compress(b.path, &(struct compact_options){ .level = 1, .exact = true }, &err),
	    -EBADMSG);
}
END_TEST

/* The file as it is now, in b. */
static void load(void)
{
	FILE *f = fopen(b.path, "r");

	free(b.bytes);
	b.n = b.room = file_bytes();
	b.bytes = malloc(b.n);
	ck_assert_uint_eq(fread(b.bytes, 1, b.n, f), b.n);
	fclose(f);
}

#define MANY 1100000 /* pairs: three groups */

/* Once for all that need it: each test is a process of its own. */
static void setup_many(void)
{
	struct error err;

	build_start_file(&b);
	churn(MANY, true);
	build_save(&b);
	ck_assert(!trace_compress(b.path, &(struct compact_options){ .level = 1 }, &err));
	load();
}

/* The index names every group, so that one is found without reading the others. */
START_TEST(index_names_the_groups)
{
	struct mprof_file_header *h;
	struct mprof_extent *x;
	struct mprof_index_entry *e;
	uint64_t event = 1;

	h = build_header(&b);
	ck_assert_uint_eq(h->flags, MPROF_FILE_COMPRESSED);
	ck_assert_uint_eq(h->tail, b.n);
	x = build_extent_at(&b, h->index_offset);
	ck_assert_uint_eq(x->kind, MPROF_EXTENT_INDEX);
	ck_assert_uint_eq(x->check, mprof_checksum(x + 1, x->used));
	e = (struct mprof_index_entry *)(x + 1);
	ck_assert_uint_eq(x->used, 3 * sizeof(*e));
	for (size_t i = 0; i < 3; i++) {
		const struct mprof_extent *group = build_extent_at(&b, e[i].offset);
		const struct mprof_group *head = (const struct mprof_group *)(group + 1);

		ck_assert_uint_eq(group->kind, MPROF_EXTENT_GROUP);
		ck_assert_uint_eq(group->seq, i + 1);
		ck_assert_uint_eq(group->first_ticks, e[i].first_ticks);
		ck_assert_uint_eq(group->last_ticks, e[i].last_ticks);
		ck_assert_uint_eq(e[i].first_event, event);
		event += head->events;
	}
	ck_assert_uint_eq(event, 2 * MANY - RING + 1);
}
END_TEST

static bool same_call(const struct event *a, const struct event *b)
{
	return a->ticks == b->ticks && a->addr == b->addr && a->size == b->size &&
	       a->block == b->block && a->thread == b->thread && a->fn == b->fn;
}

static struct event *read_all(size_t *n, uint64_t *bad)
{
	struct event *e = malloc(2 * MANY * sizeof(*e)), again[256];
	struct error err;
	struct trace *t;
	size_t got;

	ck_assert(!trace_open(&t, b.path, MPROF_MAGIC_TRACE, &err));
	for (*n = 0; *n < 2 * MANY && (got = trace_next(t, e + *n, 2 * MANY - *n)); *n += got)
		;
	*bad = trace_damage(t)->chunks_bad + trace_damage(t)->chunks_missing;
	/* What one reading found stays known while another one begins, and does not count twice. */
	trace_rewind(t);
	ck_assert_uint_eq(trace_damage(t)->chunks_bad + trace_damage(t)->chunks_missing, *bad);
	ck_assert_int_eq(trace_is_damaged(trace_damage(t)), *bad != 0);
	for (size_t at = 0; (got = trace_next(t, again, 256)); at += got) {
		ck_assert_uint_le(at + got, *n);
		for (size_t i = 0; i < got; i++)
			if (!same_call(&again[i], &e[at + i])) /* Check writes at each assertion */
				ck_abort_msg("event %zu is another one", at + i);
	}
	ck_assert_uint_eq(trace_next(t, again, 256), 0);
	ck_assert_uint_eq(trace_damage(t)->chunks_bad + trace_damage(t)->chunks_missing, *bad);
	trace_close(t);
	return e;
}

/* A group that cannot be read, or is not there, costs its own events and no others. */
START_TEST(damaged_group)
{
	struct event *all, *left;
	struct mprof_index_entry e[3];
	size_t n, m, first, end, lost_addresses = 0;
	uint64_t bad;

	build_save(&b); /* the one before damaged it */
	all = read_all(&n, &bad);
	ck_assert_uint_eq(bad, 0);
	memcpy(e, build_extent_at(&b, build_header(&b)->index_offset) + 1, sizeof(e));
	if (_i == 0)
		b.bytes[e[1].offset + 5000] ^= 1;
	else
		build_extent_at(&b, e[1].offset)->kind = MPROF_EXTENT_FREE;
	build_save(&b);
	left = read_all(&m, &bad);
	ck_assert_uint_eq(bad, 1);
	first = e[1].first_event - 1;
	end = e[2].first_event - 1;
	ck_assert_uint_eq(m, n - (end - first));
	ck_assert(!memcmp(left, all, first * sizeof(*all)));
	for (size_t i = first; i < m; i++) {
		struct event was = all[i + end - first];

		/* Where a block was that the lost group handed out is not known any more. */
		if (left[i].addr >> 63) {
			lost_addresses++;
			left[i].addr = was.addr;
		}
		if (memcmp(&left[i], &was, sizeof(was)))
			ck_abort_msg("event %zu is another one", i);
	}
	ck_assert_uint_le(lost_addresses, RING);
	free(all);
	free(left);
}
END_TEST

/* Groups say how many calls they have: those before the n-th call are not read. */
START_TEST(skips_groups)
{
	uint64_t calls, skipped, n, bad;
	struct event *all, e;
	size_t events;
	struct error err;
	struct trace *t;

	all = read_all(&events, &bad);
	ck_assert(!trace_open(&t, b.path, MPROF_MAGIC_TRACE, &err));
	for (n = 1; n <= events; n += events / 5) {
		calls = skipped = 0;
		trace_rewind(t);
		trace_skip(t, n, &calls, &skipped);
		ck_assert_uint_lt(calls, n);
		ck_assert_uint_le(n - calls, (1u << 20) + 1); /* the rest of one group */
		ck_assert_uint_eq(skipped, calls);	      /* each event is a call */
		ck_assert_uint_eq(trace_next(t, &e, 1), 1);
		ck_assert_uint_eq(e.ticks, all[skipped].ticks);
		ck_assert_uint_eq(e.size, all[skipped].size);
	}
	calls = skipped = 0;
	trace_rewind(t);
	trace_skip(t, UINT64_MAX, &calls, &skipped);
	ck_assert_uint_eq(calls, events);
	ck_assert_uint_eq(trace_next(t, &e, 1), 0);
	trace_close(t);
	free(all);
}
END_TEST

Suite *trace_compact_suite(void)
{
	Suite *s = suite_create("trace_compact");
	TCase *tc = tcase_create("compact"), *many = tcase_create("many");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, churn_takes_four_bytes_a_pair, 0, 2);
	tcase_add_loop_test(tc, every_word_comes_back, 0, 8);
	tcase_add_test(tc, threads_in_turn);
	tcase_add_test(tc, no_room);
	tcase_add_test(tc, chunks_in_any_order);
	tcase_add_test(tc, bad_chunk_is_left_alone);
	tcase_add_test(tc, bad_word_is_left_alone);
	tcase_add_test(tc, seen_and_stopped);
	tcase_add_test(tc, cut_file_is_left_alone);
	tcase_add_test(tc, twice_is_once);
	tcase_add_test(tc, what_is_not_there);
	suite_add_tcase(s, tc);

	tcase_add_unchecked_fixture(many, setup_many, teardown);
	tcase_add_test(many, index_names_the_groups);
	tcase_add_test(many, skips_groups);
	tcase_add_loop_test(many, damaged_group, 0, 2);
	suite_add_tcase(s, many);
	return s;
}
