// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * make-golden.c - makes the files of tests/golden/ok and tests/golden/bad.
 *
 *   tests/golden/make [DIRECTORY]
 *
 * compiles and runs it.  A file NAME.trace is opened as a trace, NAME.counts-file
 * as counts; NAME.expect is what the reader says of it.  Golden files change
 * only with the format: look at the difference of every .expect before
 * committing one.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../unit/trace_build.h"
#include "../unit/trace_text.h"
#include "trace/follow.h"

#define BASE WORDS_BASE

static struct build b;

static void die(const char *what)
{
	fprintf(stderr, "make-golden: %s\n", what);
	exit(1);
}

static size_t add_pairs(uint32_t process, uint32_t thread, uint64_t seq, uint64_t ticks, int n)
{
	struct words w;
	size_t at;

	words_pairs(&w, ticks, n);
	at = build_chunk(&b, process, thread, seq, &w);
	words_free(&w);
	return at;
}

static void add_start(uint32_t process, int pid, uint64_t ticks)
{
	static const char strings[] = "exe=/usr/bin/prog\0arg=prog\0arg=-x\0mode=LogMmap";
	struct mprof_fact f = {
		.what = MPROF_FACT_START, .pid = pid, .ticks = ticks, .mono_ns = (int64_t)ticks
	};

	build_fact(&b, process, &f, strings, sizeof(strings));
}

/* --- good ones --- */

static void one_thread(void)
{
	add_start(1, 100, 1001);
	add_pairs(1, 1, 1, 2000, 4);
	add_pairs(1, 1, 2, 9000, 3);
}

static void two_threads(void)
{
	struct words w;

	add_start(1, 100, 1001);
	words_start(&w, 2000);
	words_control(&w, MPROF_CONTROL_THREAD_START, 2000, 100);
	words_alloc(&w, MPROF_TAG_NEW, 2010, BASE, 100, 104);
	words_control(&w, MPROF_CONTROL_THREAD_CREATE, 2020, 2);
	words_alloc(&w, MPROF_TAG_MALLOC, 2050, BASE + 64, 8, 24); /* what the other just freed */
	build_chunk(&b, 1, 1, 1, &w);
	words_free(&w);
	words_start(&w, 2020);
	words_control(&w, MPROF_CONTROL_THREAD_START, 2020, 101);
	words_alloc(&w, MPROF_TAG_CALLOC, 2040, BASE + 64, 8, 24);
	words_give(&w, MPROF_TAG_FREE, 2050, BASE + 64);
	words_give(&w, MPROF_TAG_DELETE, 2060, BASE);
	words_control(&w, MPROF_CONTROL_THREAD_END, 2070, 0);
	build_chunk(&b, 1, 2, 1, &w);
	words_free(&w);
}

static void slot_tail(void)
{
	struct words w;

	add_start(1, 100, 1001);
	add_pairs(1, 1, 1, 2000, 2);
	words_pairs(&w, 3000, 3);
	build_slot(&b, 1, 1, 2, &w, 4096 - 64);
	words_free(&w);
}

static void slot_copied(void)
{
	struct words w;

	slot_tail();
	words_pairs(&w, 3000, 3);
	build_chunk(&b, 1, 1, 2, &w);
	words_free(&w);
}

static void long_records(void)
{
	static const struct {
		unsigned fn, flags, error;
		uint64_t v[4];
	} rows[] = {
		{ MPROF_FN_MALLOC, 0, 12, { 0, UINT64_MAX - 7, 0, 0 } },
		{ MPROF_FN_CALLOC, 0, 0, { BASE, 7, 24, 3 } },
		{ MPROF_FN_CALLOC, 0, 12, { 0, UINT64_MAX / 2, 0, 3 } },
		{ MPROF_FN_REALLOC, MPROF_LONG_BEGIN, 0, { BASE, 100000, 0, 0 } },
		{ MPROF_FN_REALLOC, 0, 0, { BASE + 4096, 100000, 100008, 0 } },
		{ MPROF_FN_REALLOCARRAY, MPROF_LONG_BEGIN, 0, { BASE + 4096, 80, 0, 0 } },
		{ MPROF_FN_REALLOCARRAY, 0, 0, { BASE + 4096, 8, 88, 10 } },
		{ MPROF_FN_POSIX_MEMALIGN, 0, 0, { BASE + 64, 640, 648, 64 } },
		{ MPROF_FN_ALIGNED_ALLOC, 0, 22, { 0, 10, 0, 3 } },
		{ MPROF_FN_FREE_SIZED, 0, 0, { BASE + 64, 640, 0, 0 } },
		{ MPROF_FN_FREE_ALIGNED_SIZED, 0, 0, { BASE + 4096, 80, 64, 0 } },
		{ MPROF_FN_NEW_ARRAY, 0, 0, { BASE + 128, 40, 40, 0 } },
		{ MPROF_FN_DELETE_ARRAY, 0, 0, { BASE + 128, 40, 0, 0 } },
		{ MPROF_FN_MMAP, 0, 0, { BASE << 4, 8192, 3 | 34ull << 32, 0xffffffff } },
		{ MPROF_FN_MREMAP, 0, 0, { BASE << 5, 16384, BASE << 4, 8192 } },
		{ MPROF_FN_MUNMAP, 0, 0, { BASE << 5, 4096, 0, 0 } },
		{ MPROF_FN_SBRK, 0, 0, { 0x601000, 4096, 0x600000, 4096 } },
	};
	struct words w;

	words_start(&w, 2000);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		words_long(&w, rows[i].fn, 2000 + 5000 * i, rows[i].flags, rows[i].error,
			   rows[i].v);
	build_chunk(&b, 1, 1, 1, &w);
	words_free(&w);
}

static void realloc_short(void)
{
	struct words w;

	words_start(&w, 2000);
	words_alloc(&w, MPROF_TAG_MALLOC, 2001, BASE, 100, 104);
	words_give(&w, MPROF_TAG_REALLOC_BEGIN, 2010, BASE);
	words_alloc(&w, MPROF_TAG_REALLOC_END, 2020, BASE + 256, 300, 312);
	words_alloc(&w, MPROF_TAG_REALLOC_END, 2030, BASE, 10, 24); /* realloc(NULL, 10) */
	build_chunk(&b, 1, 1, 1, &w);
	words_free(&w);
}

/* The touched bytes of two blocks are known, of the second one by the first half of a realloc. */
static void touched(void)
{
	struct words w;

	words_start(&w, 2000);
	words_alloc(&w, MPROF_TAG_MALLOC, 2001, BASE, 100000, 102400);
	words_alloc(&w, MPROF_TAG_MALLOC, 2002, BASE + 204800, 100000, 102400);
	words_put(&w, mprof_word_touched(8192));
	words_give(&w, MPROF_TAG_FREE, 2010, BASE);
	words_put(&w, mprof_word_touched(0));
	words_give(&w, MPROF_TAG_REALLOC_BEGIN, 2020, BASE + 204800);
	words_alloc(&w, MPROF_TAG_REALLOC_END, 2030, BASE, 10, 24);
	words_give(&w, MPROF_TAG_FREE, 2040, BASE);
	build_chunk(&b, 1, 1, 1, &w);
	words_free(&w);
}

static void fork_and_exec(void)
{
	struct mprof_fact f = { .what = MPROF_FACT_START,
				.pid = 101,
				.parent_pid = 100,
				.parent = 1,
				.fork_ticks = 2010,
				.ticks = 2015,
				.mono_ns = 2015 };
	struct words w;

	add_start(1, 100, 1001);
	words_start(&w, 2000);
	words_alloc(&w, MPROF_TAG_MALLOC, 2001, BASE, 100, 104);
	words_control(&w, MPROF_CONTROL_FORK, 2010, 1);
	words_control(&w, MPROF_CONTROL_FORKED, 2030, 101);
	build_chunk(&b, 1, 1, 1, &w);
	words_free(&w);
	build_fact(&b, 2, &f, NULL, 0);
	words_start(&w, 2010);
	words_give(&w, MPROF_TAG_FREE, 2020, BASE);
	words_control(&w, MPROF_CONTROL_EXEC, 2025, 0);
	build_chunk(&b, 2, 2, 1, &w);
	words_free(&w);
}

static void losses(void)
{
	struct words w;

	build_header(&b)->lost[MPROF_LOST_PROCESS] = 1;
	build_header(&b)->process[0].lost[MPROF_LOST_SPACE] = 12;
	words_start(&w, 2000);
	words_put(&w, mprof_word_lost(MPROF_LOST_SPACE, 12));
	build_chunk(&b, 1, 1, 1, &w);
	words_free(&w);
}

static void late_threads(void)
{
	struct words w;

	add_pairs(1, 1, 1, 2000, 2);
	words_start(&w, 2500);
	words_put(&w, mprof_word_thread(1));
	words_give(&w, MPROF_TAG_FREE, 2501, BASE + 64);
	build_chunk(&b, 1, 2, 1, &w);
	words_free(&w);
}

static void memory(void)
{
	struct mprof_sample s[2] = { { .ticks = 3000, .rss = 8192 },
				     { .ticks = 2000, .rss = 4096 } };
	struct {
		struct mprof_residency head;
		struct mprof_page_run run[2];
	} r = { { 2500, 2501, 12288, 2 }, { { 0x7f0000001, 2 }, { 0x7f0000010, 1 } } };

	build_extent(&b, MPROF_EXTENT_SAMPLE, 1, 0, s, sizeof(s), 0);
	build_extent(&b, MPROF_EXTENT_RESIDENCY, 1, 0, &r, sizeof(r), 0);
}

struct reach {
	struct mprof_reach head;
	struct mprof_reach_row row[2];
	struct mprof_reach_root root[2];
	char text[16];
};
static const struct reach good_reach = {
	.head = { .ticks = 5000, .rows = 2, .roots = 2, .blocks = 9, .bytes = 900, .text = 16 },
	.row = { { 1, 1, 5, 500, 2, 200, 1, 100 }, { 2, 2, 4, 400, 0, 0, 0, 0 } },
	.root = { { .address = 0x4050, .kind = MPROF_REACH_VARIABLE, .path = 3 },
		  { .address = 0x7f001000, .kind = MPROF_REACH_STACK, .tid = 77 } },
	.text = "/a\0/usr/bin/pro",
};

static void put_reach(const struct reach *r)
{
	build_extent(&b, MPROF_EXTENT_REACH, 1, 0, r, sizeof(*r), 0);
}

/* The last one of an image counts. */
static void reach(void)
{
	struct reach earlier = good_reach, other = good_reach;

	earlier.head.ticks = 4000;
	other.head.image = 1;
	put_reach(&earlier);
	put_reach(&other);
	put_reach(&good_reach);
}

static void reach_bad(void)
{
	struct reach r[8];

	for (int i = 0; i < 8; i++)
		r[i] = good_reach;
	r[0].head.rows = 3;		    /* beyond the end */
	r[1].row[0].root = 3;		    /* there are two */
	r[2].row[0].unreachable_blocks = 6; /* of five */
	r[3].row[0].below_bytes = 201;	    /* of 200 */
	r[4].root[0].path = 16;		    /* beyond the strings */
	r[5].root[1].kind = MPROF_REACH_BEHIND;
	r[6].text[15] = 'x'; /* no NUL */
	r[7].head.text = UINT32_MAX;
	for (int i = 0; i < 8; i++)
		put_reach(&r[i]);
}

/* A process was killed between taking room and writing to it. */
static void hole(void)
{
	size_t at;

	add_pairs(1, 1, 1, 2000, 2);
	at = add_pairs(1, 2, 1, 2000, 20);
	memset(b.bytes + at, 0, build_extent_at(&b, at)->size);
	add_pairs(1, 1, 2, 3000, 2);
}

#define BESIDE "make-golden.tmp"

static void put_beside(void)
{
	FILE *f = fopen(BESIDE, "w");

	if (!f || fwrite(b.bytes, 1, b.n, f) != b.n || fclose(f))
		die("cannot write make-golden.tmp here");
}

static void take_back(void)
{
	struct stat st;
	FILE *f = fopen(BESIDE, "r");

	if (!f || fstat(fileno(f), &st))
		die("cannot read make-golden.tmp");
	b.bytes = realloc(b.bytes, (size_t)st.st_size);
	b.n = b.room = (size_t)st.st_size;
	if (!b.bytes || fread(b.bytes, 1, b.n, f) != b.n)
		die("cannot read make-golden.tmp");
	fclose(f);
	unlink(BESIDE);
}

static void compress_groups(bool exact)
{
	const struct compact_options o = { .level = 1, .exact = exact };
	struct error err;

	put_beside();
	if (trace_compress(BESIDE, &o, &err))
		die(err.text);
	take_back();
}

/* As mprof does while a run goes on. */
static void compress_begun(void)
{
	const struct compact_options o = { .level = 1, .exact = true };
	struct follow *f;
	struct error err;

	put_beside();
	if (follow_start(&f, BESIDE, &o, &err) || follow_round(f, &err))
		die(err.text);
	follow_free(f);
	take_back();
}

/* Stacks of a process and its child, an object that goes, a slot, and what makes no sense. */
static void add_stacks(bool sound)
{
	static const uint64_t frame[] = { 0x555500001100, 0x7f0000000200, 0x7f0000000300 };
	struct mprof_fact fact = { .what = MPROF_FACT_START,
				   .pid = 101,
				   .parent = 1,
				   .ticks = 1500,
				   .fork_ticks = 1500,
				   .stacks = 3 };
	struct words w;

	add_start(1, 100, 1001);
	words_start(&w, 1000);
	words_object(&w, 1001, 0x555500000000, 0x555500001000, 0x1000, "/bin/main", "main's id");
	words_object(&w, 1001, 0x7f0000000000, 0x7f0000000000, 0x1000, "/lib/a.so", "");
	words_define(&w, 0, 1, 0, 0, frame, 2);
	words_define(&w, 0, 2, 1, 1, frame + 2, 1);
	build_stacks(&b, 1, 0, 1, &w);
	words_free(&w);
	words_start(&w, 1400);
	words_gone(&w, 2, 1400);
	words_define(&w, MPROF_STACK_TRUNCATED, 3, 0, 0, frame + 1, 1);
	if (!sound)
		words_define(&w, 0, 4, 9, 1, frame, 2);
	build_stacks_slot(&b, 1, 0, 2, &w, 640);
	words_free(&w);
	build_fact(&b, 2, &fact, NULL, 0);
	words_start(&w, 1600);
	words_define(&w, 0, 4, 2, 2, frame, 1);
	if (!sound)
		words_put(&w, 7);
	build_stacks(&b, 2, 0, 1, &w);
	words_free(&w);
	for (uint32_t process = 1; process <= 2; process++) {
		words_start(&w, 2000);
		for (uint32_t id = 0; id < (sound ? 4 : 6); id++) {
			words_stack(&w, id & MPROF_STACK_OF_FREES, id + process - 1);
			words_alloc(&w, MPROF_TAG_MALLOC, 2010 + 10 * id, BASE, 40, 40);
			words_give(&w, MPROF_TAG_FREE, 2015 + 10 * id, BASE);
		}
		build_chunk(&b, process, process, 1, &w);
		words_free(&w);
	}
}

static void stacks(void)
{
	add_stacks(true);
}

static void stacks_bad(void)
{
	add_stacks(false);
}

static void grouped_stacks(void)
{
	add_stacks(true);
	compress_groups(true);
}

static void grouped(void)
{
	build_header(&b)->process[2] = (struct mprof_process_entry){ .number = 1, .pid = 100 };
	add_start(1, 100, 1001);
	add_pairs(1, 1, 1, 2000, 100);
	add_pairs(1, 1, 2, 9000, 3);
	add_pairs(2, 2, 1, 2000, 3);
	compress_groups(false);
}

static void grouped_long(void)
{
	long_records();
	compress_groups(true);
}

/* Many ways to name an address: FORMAT.md 8.3. */
static void grouped_names(void)
{
	static const uint64_t at[] = { 0, 64, 120, 0x1000, 64, 0, 0x1040 };
	struct words w;

	words_start(&w, 2000);
	for (unsigned i = 0; i < 4; i++)
		words_alloc(&w, MPROF_TAG_MALLOC, 2001 + i, BASE + at[i], 40, 56);
	for (unsigned i = 0; i < 3; i++)
		words_give(&w, MPROF_TAG_FREE, 2010 + i, BASE + at[i]);
	for (unsigned i = 4; i < 7; i++)
		words_alloc(&w, MPROF_TAG_MALLOC, 2020 + i, BASE + at[i], 33, 56);
	words_alloc(&w, MPROF_TAG_MALLOC, 2030, BASE + 120, 100, 104); /* given, another pile */
	words_alloc(&w, MPROF_TAG_MALLOC, 2031, BASE + 120 + 112, 100, 106);
	words_alloc(&w, MPROF_TAG_MALLOC, 2032, BASE + 3, 10, 16); /* at an odd address */
	words_alloc(&w, MPROF_TAG_MALLOC, 2033, BASE + 3, 20, 24); /* twice */
	words_give(&w, MPROF_TAG_FREE, 2034, BASE + 3);
	words_give(&w, MPROF_TAG_FREE, 2035, BASE + 3); /* not known */
	words_give(&w, MPROF_TAG_FREE, 2036, 0);
	build_chunk(&b, 1, 1, 1, &w);
	words_free(&w);
	compress_groups(true);
}

static void grouped_slot(void)
{
	slot_copied();
	compress_groups(true);
}

static void grouped_fork(void)
{
	fork_and_exec();
	compress_groups(false);
}

static void grouped_empty(void)
{
	add_start(1, 100, 1001);
	compress_groups(false);
}

/* A thread that goes on in its slot and in a new chunk, one that ended, and one that began later.
 */
static void grouped_begun(void)
{
	struct words w;

	build_header(&b)->process[2] = (struct mprof_process_entry){ .number = 1, .pid = 100 };
	build_header(&b)->chunks = 3;
	add_start(1, 100, 1001);
	add_pairs(1, 1, 1, 2000, 100);
	add_pairs(1, 2, 1, 2050, 5);
	add_pairs(1, 1, 2, 3000, 3);
	words_pairs(&w, 4000, 4);
	build_slot(&b, 1, 1, 3, &w, 4096);
	compress_begun();
	words_pairs(&w, 4000, 6); /* the same ones and two more */
	build_chunk(&b, 1, 1, 3, &w);
	add_pairs(1, 3, 1, 4100, 2);
	build_header(&b)->chunks += 2;
}

static void add_counts(void)
{
	struct mprof_counts c = { .tid = 100 };

	c.fn[MPROF_FN_MALLOC] = (struct mprof_counts_fn){ 3, 300, 1 };
	c.fn[MPROF_FN_FREE] = (struct mprof_counts_fn){ 2, 0, 0 };
	add_start(1, 100, 1001);
	build_extent(&b, MPROF_EXTENT_COUNTS, 1, 1, &c, sizeof(c), 0);
	c.tid = 101;
	build_extent(&b, MPROF_EXTENT_COUNTS, 1, 2, &c, sizeof(c), 0);
	build_extent(&b, MPROF_EXTENT_COUNTS, 1, 0, &c, sizeof(c), 0); /* not taken */
}

/* --- bad ones: refused --- */

static void wrong_magic(void)
{
	memcpy(b.bytes,
	       "\x7f"
	       "ELF\2\1\1",
	       8);
}
static void other_version(void)
{
	build_header(&b)->version = 1;
}
static void header_size(void)
{
	build_header(&b)->header_size = 4096;
}
static void unknown_clock(void)
{
	build_header(&b)->clock = 3;
}
static void clock_shift(void)
{
	build_header(&b)->clock_shift = 64;
}
static void empty(void)
{
	b.n = 0;
}
static void truncated_magic(void)
{
	b.n = 5;
}
static void truncated_header(void)
{
	b.n = 4096;
}
static void other_kind(void)
{
	memcpy(b.bytes, MPROF_MAGIC_COUNTS, MPROF_MAGIC_SIZE);
}
static void other_kind_counts(void)
{
	memcpy(b.bytes, MPROF_MAGIC_TRACE, MPROF_MAGIC_SIZE);
}

/* --- bad ones: read as far as they are right --- */

static void overlap(void)
{
	size_t at = add_pairs(1, 1, 1, 2000, 3);

	add_pairs(1, 1, 2, 3000, 3);
	build_extent_at(&b, at)->size += 64;
}

static void overlap_whole(void)
{
	size_t at = add_pairs(1, 1, 1, 2000, 3), next = add_pairs(1, 1, 2, 3000, 3);

	add_pairs(1, 1, 3, 4000, 3);
	build_extent_at(&b, at)->size += build_extent_at(&b, next)->size;
}

/* A slot of one page that says it has three: the threads behind it are not lost. */
static void overlap_slots(void)
{
	size_t at = 0;

	for (uint32_t thread = 1; thread <= 3; thread++) {
		struct words w;
		size_t slot;

		words_pairs(&w, 1000 * thread, 3);
		slot = build_slot(&b, 1, thread, 1, &w, 4096 - 64);
		words_free(&w);
		at = at ? at : slot;
	}
	build_extent_at(&b, at)->size = 3 * 4096;
}

static void checksum(void)
{
	size_t at;

	add_pairs(1, 1, 1, 2000, 3);
	at = add_pairs(1, 1, 2, 3000, 3);
	add_pairs(1, 1, 3, 4000, 3);
	b.bytes[at + 64 + 9] ^= 1;
}

static void undecodable(void)
{
	struct words w;

	words_pairs(&w, 2000, 3);
	w.word[w.n - 2] = 15;
	build_chunk(&b, 1, 1, 1, &w);
	words_free(&w);
	add_pairs(1, 1, 2, 3000, 3);
}

static void long_cut_off(void)
{
	struct words w;

	words_pairs(&w, 2000, 2);
	words_put(&w, mprof_word_long(MPROF_FN_MALLOC, 1, 0, 0));
	words_put(&w, BASE);
	build_chunk(&b, 1, 1, 1, &w);
	words_free(&w);
}

static void size_zero(void)
{
	size_t at = add_pairs(1, 1, 1, 2000, 3);

	add_pairs(1, 1, 2, 3000, 3);
	build_extent_at(&b, at)->size = 0;
}

static void used_beyond_size(void)
{
	size_t at = add_pairs(1, 1, 1, 2000, 3);

	add_pairs(1, 1, 2, 3000, 3);
	build_extent_at(&b, at)->used = build_extent_at(&b, at)->size;
}

static void tail_beyond_end(void)
{
	add_pairs(1, 1, 1, 2000, 3);
	build_header(&b)->tail += 1 << 20;
}

static void cut_in_chunk(void)
{
	add_pairs(1, 1, 1, 2000, 3);
	add_pairs(1, 1, 2, 3000, 30);
	b.n -= 256;
}

static void gap(void)
{
	add_pairs(1, 1, 1, 2000, 3);
	add_pairs(1, 1, 4, 3000, 3);
}

static void same_number_twice(void)
{
	add_pairs(1, 1, 1, 2000, 3);
	add_pairs(1, 1, 1, 3000, 3);
}

static void no_owner(void)
{
	add_pairs(0, 1, 1, 2000, 3);
	add_pairs(1, 0, 1, 2000, 3);
	add_pairs(1, 1, 0, 2000, 3);
	add_pairs(1, 1, 1, 3000, 3);
}

static void other_run(void)
{
	size_t at = add_pairs(1, 1, 1, 2000, 3);

	add_pairs(1, 2, 1, 3000, 3);
	build_extent_at(&b, at)->run ^= 1;
}

static void fact_checksum(void)
{
	add_start(1, 100, 1001);
	b.bytes[MPROF_HEADER_SIZE + 64 + sizeof(struct mprof_fact) + 2] ^= 1;
	add_pairs(1, 1, 1, 2000, 3);
}

static void short_fact(void)
{
	build_extent(&b, MPROF_EXTENT_FACT, 1, 0, "exe=x", 6, 0);
	add_pairs(1, 1, 1, 2000, 3);
}

/* The first extent of a kind in a compressed trace. */
static size_t find_extent(enum mprof_extent_kind kind)
{
	size_t at = build_header(&b)->header_size;

	while (build_extent_at(&b, at)->kind != kind)
		at += build_extent_at(&b, at)->size;
	return at;
}

/* Stacks, compressed; returns the first packed extent. */
static size_t make_packed(void)
{
	add_stacks(true);
	compress_groups(true);
	return find_extent(MPROF_EXTENT_PACKED);
}

static void packed_checksum(void)
{
	b.bytes[make_packed() + 64 + sizeof(struct mprof_packed) + 20] ^= 1;
}

/* The extent's checksum is right, so the frame itself has to be looked at. */
static void packed_frame(void)
{
	size_t at = make_packed();

	memset(b.bytes + at + 64 + sizeof(struct mprof_packed) + 8, 0xa5, 40);
	build_seal(&b, at);
}

static struct mprof_packed *packed_of(size_t at)
{
	return (struct mprof_packed *)(b.bytes + at + 64);
}

static void packed_raw_bytes(void)
{
	size_t at = make_packed();

	packed_of(at)->raw_bytes = 0xfffffff8;
	build_seal(&b, at);
}

static void packed_unknown(void)
{
	size_t at = make_packed();

	packed_of(at)->packing = 4;
	build_seal(&b, at);
}

/* More words than the columns give: the words' own checksum tells. */
static void packed_too_many(void)
{
	size_t at = make_packed();

	packed_of(at)->raw_bytes += 8;
	build_seal(&b, at);
}

static void packed_frame_bytes(void)
{
	size_t at = make_packed();

	packed_of(at)->frame_bytes += 1000;
	build_seal(&b, at);
}

/* A compressed trace; returns the group. */
static size_t make_group(struct mprof_group **head)
{
	size_t at;

	grouped();
	at = find_extent(MPROF_EXTENT_GROUP);
	*head = (struct mprof_group *)(b.bytes + at + 64);
	return at;
}

static void group_checksum(void)
{
	struct mprof_group *head;

	b.bytes[make_group(&head) + 64 + sizeof(*head) + 5] ^= 1;
}

/* Groups do not count then, and their events are missing. */
static void group_taken_checksum(void)
{
	size_t at;

	grouped_begun();
	for (at = MPROF_HEADER_SIZE; at < b.n; at += build_extent_at(&b, at)->size)
		if (build_extent_at(&b, at)->kind == MPROF_EXTENT_TAKEN &&
		    build_extent_at(&b, at)->seq)
			b.bytes[at + 64] ^= 1;
}

/* Only the first entry is in order. */
static void group_taken_order(void)
{
	struct mprof_taken *head;
	struct mprof_taken_entry *e;
	size_t at;

	grouped_begun();
	for (at = MPROF_HEADER_SIZE; at < b.n; at += build_extent_at(&b, at)->size) {
		head = (struct mprof_taken *)(b.bytes + at + 64);
		e = (struct mprof_taken_entry *)(head + 1);
		if (build_extent_at(&b, at)->kind != MPROF_EXTENT_TAKEN || !head->groups)
			continue;
		e[1].thread = 0;
		build_seal(&b, at);
	}
}

static void group_frame_bytes(void)
{
	struct mprof_group *head;
	size_t at = make_group(&head);

	head->frame_bytes[1] += 1000;
	build_seal(&b, at);
}

/* The group says that it has more events than there are; those that are there count. */
static void group_events(void)
{
	struct mprof_group *head;
	size_t at = make_group(&head);

	head->events++;
	build_seal(&b, at);
}

static void group_lanes(void)
{
	struct mprof_group *head;
	size_t at = make_group(&head);

	head->lanes = 0xffffffff;
	build_seal(&b, at);
}

static void group_missing(void)
{
	struct mprof_group *head;
	size_t at = make_group(&head);

	build_extent_at(&b, at)->seq = 3;
}

/* Sizes and functions of all blocks are not known. */
static void group_sorts(void)
{
	struct mprof_group *head;

	make_group(&head);
	b.bytes[find_extent(MPROF_EXTENT_SORTS) + 64 + sizeof(struct mprof_sorts) + 9] ^= 1;
}

/* A chunk in a compressed trace has no place in the order of events. */
static void group_and_chunk(void)
{
	struct mprof_group *head;
	struct words w;

	make_group(&head);
	words_pairs(&w, 2000, 3);
	build_chunk(&b, 1, 3, 1, &w);
	words_free(&w);
}

static void group_short_header(void)
{
	grouped();
	build_header(&b)->header_size += 8;
}

static void grouped_touched(void)
{
	touched();
	compress_groups(true);
}

static const struct row {
	const char *name;
	void (*make)(void);
} rows[] = {
	{ "ok/one-thread.trace", one_thread },
	{ "ok/two-threads.trace", two_threads },
	{ "ok/slot-tail.trace", slot_tail },
	{ "ok/slot-copied.trace", slot_copied },
	{ "ok/long-records.trace", long_records },
	{ "ok/realloc-short.trace", realloc_short },
	{ "ok/touched.trace", touched },
	{ "ok/fork-and-exec.trace", fork_and_exec },
	{ "ok/losses.trace", losses },
	{ "ok/late-threads.trace", late_threads },
	{ "ok/memory.trace", memory },
	{ "ok/reach.trace", reach },
	{ "ok/hole.trace", hole },
	{ "ok/stacks.trace", stacks },
	{ "ok/grouped.trace", grouped },
	{ "ok/grouped-long.trace", grouped_long },
	{ "ok/grouped-stacks.trace", grouped_stacks },
	{ "ok/grouped-touched.trace", grouped_touched },
	{ "ok/grouped-names.trace", grouped_names },
	{ "ok/grouped-slot.trace", grouped_slot },
	{ "ok/grouped-fork.trace", grouped_fork },
	{ "ok/group-taken.trace", grouped_begun },
	{ "ok/grouped-empty.trace", grouped_empty },
	{ "ok/counts.counts-file", add_counts },
	{ "bad/wrong-magic.trace", wrong_magic },
	{ "bad/other-version.trace", other_version },
	{ "bad/header-size.trace", header_size },
	{ "bad/unknown-clock.trace", unknown_clock },
	{ "bad/clock-shift.trace", clock_shift },
	{ "bad/empty.trace", empty },
	{ "bad/truncated-magic.trace", truncated_magic },
	{ "bad/truncated-header.trace", truncated_header },
	{ "bad/counts-given.trace", other_kind },
	{ "bad/trace-given.counts-file", other_kind_counts },
	{ "bad/overlap.trace", overlap },
	{ "bad/overlap-whole.trace", overlap_whole },
	{ "bad/overlap-slots.trace", overlap_slots },
	{ "bad/checksum.trace", checksum },
	{ "bad/undecodable.trace", undecodable },
	{ "bad/long-cut-off.trace", long_cut_off },
	{ "bad/size-zero.trace", size_zero },
	{ "bad/used-beyond-size.trace", used_beyond_size },
	{ "bad/tail-beyond-end.trace", tail_beyond_end },
	{ "bad/cut-in-chunk.trace", cut_in_chunk },
	{ "bad/gap.trace", gap },
	{ "bad/same-number-twice.trace", same_number_twice },
	{ "bad/no-owner.trace", no_owner },
	{ "bad/other-run.trace", other_run },
	{ "bad/fact-checksum.trace", fact_checksum },
	{ "bad/short-fact.trace", short_fact },
	{ "bad/reach.trace", reach_bad },
	{ "bad/packed-checksum.trace", packed_checksum },
	{ "bad/packed-frame.trace", packed_frame },
	{ "bad/packed-raw-bytes.trace", packed_raw_bytes },
	{ "bad/packed-unknown.trace", packed_unknown },
	{ "bad/packed-too-many.trace", packed_too_many },
	{ "bad/packed-frame-bytes.trace", packed_frame_bytes },
	{ "bad/stacks.trace", stacks_bad },
	{ "bad/group-checksum.trace", group_checksum },
	{ "bad/group-taken-checksum.trace", group_taken_checksum },
	{ "bad/group-taken-order.trace", group_taken_order },
	{ "bad/group-frame-bytes.trace", group_frame_bytes },
	{ "bad/group-events.trace", group_events },
	{ "bad/group-lanes.trace", group_lanes },
	{ "bad/group-missing.trace", group_missing },
	{ "bad/group-sorts.trace", group_sorts },
	{ "bad/group-and-chunk.trace", group_and_chunk },
	{ "bad/group-short-header.trace", group_short_header },
};

static void write_file(const char *path, const void *data, size_t bytes)
{
	FILE *f = fopen(path, "w");

	if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f))
		die(path);
}

static void make_row(const struct row *r)
{
	const char *kind = strrchr(r->name, '.');
	bool counts = !strcmp(kind, ".counts-file");
	const char *magic = counts ? MPROF_MAGIC_COUNTS : MPROF_MAGIC_TRACE;
	char expect[128], *text;

	build_start(&b, magic);
	r->make();
	write_file(r->name, b.bytes, b.n);
	text = trace_text_of(r->name, strrchr(r->name, '/') + 1, magic);
	snprintf(expect, sizeof(expect), "%.*s.expect", (int)(kind - r->name), r->name);
	write_file(expect, text, strlen(text));
	free(text);
	build_free(&b);
}

int main(int argc, char **argv)
{
	if (argc != 2 || chdir(argv[1]))
		die("give the directory that ok and bad are in");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		make_row(&rows[i]);
	return 0;
}
