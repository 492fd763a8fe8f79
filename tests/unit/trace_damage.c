// SPDX-License-Identifier: LGPL-3.0-or-later
/* trace_damage.c - files that are cut off, torn, full of holes or being written. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suites.h"
#include "trace_build.h"
#include "trace_text.h"

#define BASE 0x7f0000001000ull
#define PAGE 4096u

static struct build b;

/* `n` pairs of one thread, from `ticks` on. */
static void pairs(struct words *w, uint64_t ticks, int n)
{
	words_start(w, ticks);
	for (int i = 0; i < n; i++) {
		words_alloc(w, MPROF_TAG_MALLOC, ticks + 10 * i + 1, BASE + 64 * i, 40, 56);
		words_give(w, MPROF_TAG_FREE, ticks + 10 * i + 5, BASE + 64 * i);
	}
}

static void setup(void)
{
	build_start(&b, MPROF_MAGIC_TRACE);
}

static void teardown(void)
{
	build_free(&b);
}

static size_t add_pairs(uint32_t thread, uint64_t seq, uint64_t ticks, int n)
{
	struct words w;
	size_t at;

	pairs(&w, ticks, n);
	at = build_chunk(&b, 1, thread, seq, &w);
	words_free(&w);
	return at;
}

static struct trace *open_prefix(size_t n, int *fd, struct error *err)
{
	struct trace *t;

	if (trace_open(&t, build_path_prefix(&b, n, fd), MPROF_MAGIC_TRACE, err))
		return NULL;
	return t;
}

/* Reads events and damage of the trace in b. */
static size_t walk(struct trace_damage *damage, struct event *events, size_t room)
{
	struct error err;
	struct event e[64];
	size_t got = 0, n;
	struct trace *t;
	int fd;

	t = open_prefix(b.n, &fd, &err);
	ck_assert_msg(t != NULL, "%s", err.text);
	while ((n = trace_next(t, e, 64)))
		for (size_t i = 0; i < n; i++, got++)
			if (got < room)
				events[got] = e[i];
	*damage = *trace_damage(t);
	trace_close(t);
	close(fd);
	return got;
}

/* One of everything, small. */
static void build_small(void)
{
	struct mprof_fact fact = {
		.what = MPROF_FACT_START, .pid = 7, .ticks = 1001, .mono_ns = 1001
	};
	struct mprof_sample sample = { .ticks = 1002, .rss = 4096 };
	struct words w;

	build_fact(&b, 1, &fact, "exe=/bin/true", 14);
	add_pairs(1, 1, 1000, 10);
	build_extent(&b, MPROF_EXTENT_SAMPLE, 1, 0, &sample, sizeof(sample), 0);
	add_pairs(1, 2, 2000, 10);
	pairs(&w, 3000, 6);
	build_slot(&b, 1, 1, 3, &w, 256);
	words_free(&w);
}

/* However it is truncated: no crash, and the events read are the beginning of all. */
START_TEST(cut_anywhere)
{
	struct event whole[128], part[128];
	struct error err;
	size_t n, last = 0;

	build_small();
	{
		struct trace_damage damage;

		n = walk(&damage, whole, 128);
		ck_assert_uint_eq(n, 52);
		ck_assert_uint_eq(damage.first_bad_offset, 0);
	}
	for (size_t cut = MPROF_HEADER_SIZE - 64; cut <= b.n; cut++) {
		int fd;
		struct trace *t = open_prefix(cut, &fd, &err);
		size_t got;

		ck_assert_int_eq(t != NULL, cut >= MPROF_HEADER_SIZE);
		if (t) {
			got = trace_next(t, part, 128);
			ck_assert_uint_ge(got, last);
			ck_assert_mem_eq(part, whole, got * sizeof(part[0]));
			ck_assert(cut == b.n || trace_damage(t)->bytes_missing == b.n - cut);
			last = got;
			trace_close(t);
		}
		close(fd);
	}
	ck_assert_uint_eq(last, n);
}
END_TEST

/* Looks of one program: the last rise stays.  They are not samples of resident memory. */
START_TEST(looks_at_the_peak)
{
	static const struct {
		uint32_t process;
		uint16_t image;
		struct mprof_sample s[2];
	} given[] = {
		{ 2, 0, { { .ticks = 900, .peak_rss = 70 }, { .ticks = 950, .peak_rss = 80 } } },
		{ 1, 1, { { .ticks = 500, .peak_rss = 10 }, { .ticks = 510, .peak_rss = 40 } } },
		{ 1, 0, { { .ticks = 0 }, { .ticks = 100, .peak_rss = 50, .cpu_ns = 1 } } },
		{ 1, 1, { { .ticks = 520, .peak_rss = 40 }, { .ticks = 505, .peak_rss = 20 } } },
		{ 1,
		  0,
		  { { .ticks = 300, .peak_rss = 60, .rss = 55 }, { .ticks = 301, .rss = 3 } } },
	};
	static const struct trace_peak want[] = {
		{ 1, 0, 0, 100, 50, 1, 0 },
		{ 1, 1, 505, 510, 40, 0, 0 },
		{ 2, 0, 900, 950, 80, 0, 0 },
	};
	const struct mprof_sample *sample;
	const struct trace_peak *peak;
	struct error err;
	struct trace *t;
	int fd;

	build_small();
	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
		size_t at = b.n;

		build_extent(&b, MPROF_EXTENT_SAMPLE, given[i].process, 0, given[i].s,
			     sizeof(given[i].s), 0);
		((struct mprof_extent *)(b.bytes + at))->image = given[i].image;
	}
	t = open_prefix(b.n, &fd, &err);
	ck_assert_ptr_nonnull(t);
	ck_assert_uint_eq(trace_peaks(t, &peak), 3);
	ck_assert_mem_eq(peak, want, sizeof(want));
	ck_assert_uint_eq(trace_samples(t, 1, &sample), 3);
	ck_assert_uint_eq(sample[0].rss, 55);
	trace_close(t);
	close(fd);
}
END_TEST

/* Every short header is refused, with the place where it ends. */
START_TEST(cut_header)
{
	static const size_t cuts[] = { 0, 1, 7, 8, 12, 16, 240, 4096, MPROF_HEADER_SIZE - 1 };
	struct error err = { "" };
	int fd;

	ck_assert_ptr_null(open_prefix(cuts[_i], &fd, &err));
	ck_assert_ptr_nonnull(strstr(err.text, "/proc/self/fd/"));
	close(fd);
}
END_TEST

/* A flipped byte anywhere in the extents: no crash, and no event that was not there. */
START_TEST(flipped_anywhere)
{
	struct event whole[128], part[128];
	struct trace_damage damage;
	size_t n;

	build_small();
	n = walk(&damage, whole, 128);
	for (size_t at = MPROF_HEADER_SIZE; at < b.n; at++) {
		b.bytes[at] ^= 0x40;
		ck_assert_uint_le(walk(&damage, part, 128), n);
		b.bytes[at] ^= 0x40;
	}
}
END_TEST

/* An extent's header is missing: the next one is found, and the gap is reported. */
START_TEST(torn_header)
{
	struct trace_damage damage;
	struct event e[64];
	size_t at;

	add_pairs(1, 1, 1000, 5);
	at = add_pairs(1, 2, 2000, 5);
	add_pairs(1, 3, 3000, 5);
	memset(b.bytes + at, 0xee, 64);
	ck_assert_uint_eq(walk(&damage, e, 64), 20);
	ck_assert_uint_eq(e[10].ticks, 3001);
	ck_assert_uint_eq(damage.chunks_missing, 1);
	ck_assert_uint_ge(damage.bytes_skipped, 64);
	ck_assert_uint_eq(damage.first_bad_offset, at);
}
END_TEST

/* Room that was taken and never written is not damage: its owner was killed. */
START_TEST(hole)
{
	struct trace_damage damage;
	struct event e[64];
	size_t at;

	add_pairs(1, 1, 1000, 5);
	at = add_pairs(2, 1, 2000, 5);
	add_pairs(1, 2, 3000, 5);
	memset(b.bytes + at, 0, build_extent_at(&b, at)->size);
	ck_assert_uint_eq(walk(&damage, e, 64), 20);
	ck_assert_uint_eq(damage.bytes_skipped, 0);
	ck_assert_uint_gt(damage.bytes_empty, 0);
	ck_assert_uint_eq(damage.chunks_missing, 0);
}
END_TEST

/* Sizes that lead into, or right over, the next extent do not hide it. */
START_TEST(size_too_great)
{
	static const uint32_t more[] = { 64, 128, 0, 1 << 20 };
	struct trace_damage damage;
	struct event e[64];
	size_t first, second;

	first = add_pairs(1, 1, 1000, 5);
	second = add_pairs(1, 2, 2000, 5);
	add_pairs(1, 3, 3000, 5);
	build_extent_at(&b, first)->size += more[_i] ? more[_i] : build_extent_at(&b, second)->size;
	ck_assert_uint_eq(walk(&damage, e, 64), 30);
	ck_assert_uint_eq(damage.sizes_bad, 1);
	ck_assert_uint_eq(damage.first_bad_offset, first);
}
END_TEST

/*
 * Killed in the middle of copying a slot: the copy is not whole, the slot is, and nothing is
 * missing.  But when the slot has begun something else, something is.
 */
START_TEST(killed_while_copying)
{
	struct trace_damage damage;
	struct event e[64];
	struct words w;
	size_t slot, copy;

	pairs(&w, 1000, 5);
	slot = build_slot(&b, 1, 1, 1, &w, 512);
	copy = build_chunk(&b, 1, 1, 1, &w);
	memset(build_extent_at(&b, copy) + 1, 0, 32);
	if (_i)
		memset((char *)(build_extent_at(&b, slot) + 1) + 32, 0, 8 * w.n - 32);
	ck_assert(_i == (walk(&damage, e, 64) != 10));
	ck_assert_uint_eq(damage.chunks_bad, _i);
	ck_assert_uint_eq(damage.first_bad_offset, _i ? copy : 0);
	words_free(&w);
}
END_TEST

/* The same for a slot, of which nobody knows how much of it is used. */
START_TEST(slot_too_great)
{
	struct trace_damage damage;
	struct event e[64];
	struct words w;
	size_t slot;

	pairs(&w, 1000, 5);
	slot = build_slot(&b, 1, 1, 1, &w, 512);
	add_pairs(2, 1, 2000, 5);
	add_pairs(2, 2, 3000, 5);
	build_extent_at(&b, slot)->size += 64;
	ck_assert_uint_eq(walk(&damage, e, 64), 30);
	ck_assert_uint_eq(damage.sizes_bad, 1);
	words_free(&w);
}
END_TEST

/*
 * The same over whole slots, behind which an extent stands where one is expected.  Slots
 * begin at pages, and so do those in it: the header of each is found.
 */
START_TEST(slot_over_slots)
{
	static const uint16_t kinds[] = { MPROF_EXTENT_SLOT, MPROF_EXTENT_STACKS_SLOT,
					  MPROF_EXTENT_FREE };
	bool is_slot = kinds[_i] == MPROF_EXTENT_SLOT;
	struct trace_damage damage;
	struct event e[64];
	struct words w;
	size_t slot;

	pairs(&w, 1000, 5);
	if (!is_slot)
		memset(w.word, 0, 8 * w.n);
	slot = build_slot(&b, 1, 1, 1, &w, PAGE - sizeof(struct mprof_extent));
	words_free(&w);
	build_extent_at(&b, slot)->kind = kinds[_i];
	build_extent(&b, MPROF_EXTENT_FREE, 1, 0, NULL, 0, PAGE - sizeof(struct mprof_extent));
	pairs(&w, 2000, 5);
	build_slot(&b, 1, 2, 1, &w, PAGE - sizeof(struct mprof_extent));
	build_slot(&b, 1, 3, 1, &w, PAGE - sizeof(struct mprof_extent));
	words_free(&w);
	add_pairs(1, 4, 3000, 5);
	build_extent_at(&b, slot)->size = 4 * PAGE;
	ck_assert_uint_eq(walk(&damage, e, 64), is_slot ? 40 : 30);
	ck_assert_uint_eq(damage.sizes_bad, 1);
	ck_assert_uint_eq(damage.first_bad_offset, slot);
}
END_TEST

/* A process was killed while it made slots of a free extent: that is not damage. */
START_TEST(free_over_free)
{
	struct trace_damage damage;
	struct event e[64];
	size_t slot;

	slot =
	    build_extent(&b, MPROF_EXTENT_FREE, 1, 0, NULL, 0, PAGE - sizeof(struct mprof_extent));
	build_extent(&b, MPROF_EXTENT_FREE, 1, 0, NULL, 0, PAGE - sizeof(struct mprof_extent));
	add_pairs(1, 1, 1000, 5);
	build_extent_at(&b, slot)->size = 2 * PAGE;
	ck_assert_uint_eq(walk(&damage, e, 64), 10);
	ck_assert_uint_eq(damage.first_bad_offset, 0);
}
END_TEST

/*
 * Killed, or read, between two steps of dropping old chunks: one FREE header replaces a chunk whose
 * own header is still there.  That is damage only where nothing was dropped.
 */
START_TEST(killed_while_dropping)
{
	struct trace_damage damage;
	struct event e[64];
	size_t gap, kept;

	gap =
	    build_extent(&b, MPROF_EXTENT_FREE, 1, 0, NULL, 0, PAGE - sizeof(struct mprof_extent));
	add_pairs(1, 1, 1000, 5);
	kept = add_pairs(1, 2, 2000, 5);
	build_extent_at(&b, gap)->size = (uint32_t)(kept - gap);
	if (!_i) {
		build_header(&b)->dropped_to = kept;
		build_header(&b)->dropped_ticks = build_extent_at(&b, kept)->first_ticks;
	}
	ck_assert_uint_eq(walk(&damage, e, 64), _i ? 20 : 10);
	ck_assert_uint_eq(damage.sizes_bad, _i);
	ck_assert_uint_eq(damage.first_bad_offset, _i ? gap : 0);
}
END_TEST

START_TEST(size_is_nothing)
{
	static const uint32_t sizes[] = { 0, 1, 63, 65, 224, 0xffffffc0 };
	struct trace_damage damage;
	struct event e[64];
	size_t first;

	first = add_pairs(1, 1, 1000, 5);
	add_pairs(1, 2, 2000, 5);
	build_extent_at(&b, first)->size = sizes[_i];
	ck_assert_uint_eq(walk(&damage, e, 64), 10);
	ck_assert_uint_eq(damage.chunks_missing, 1);
}
END_TEST

/* Where the file could not grow, its tail tells of space that nobody wrote to. */
START_TEST(tail_beyond_a_file_that_could_not_grow)
{
	struct trace_damage damage;
	struct event e[64];

	add_pairs(1, 1, 1000, 5);
	build_header(&b)->tail = b.n + 54016;
	build_header(&b)->process[0].lost[MPROF_LOST_SPACE] = 1;
	ck_assert_uint_eq(walk(&damage, e, 64), 10);
	ck_assert_uint_eq(damage.bytes_missing, 0);
	ck_assert_uint_eq(damage.first_bad_offset, 0);
}
END_TEST

/* The tail in the header is live and may say anything. */
START_TEST(tail_is_not_trusted)
{
	static const int64_t tails[] = { 0, MPROF_HEADER_SIZE, MPROF_HEADER_SIZE + 64, 1 << 30 };
	struct trace_damage damage;
	struct event e[64];

	add_pairs(1, 1, 1000, 5);
	add_pairs(1, 2, 2000, 5);
	build_header(&b)->tail = (uint64_t)tails[_i];
	ck_assert_uint_eq(walk(&damage, e, 64), 20);
	ck_assert_uint_eq(damage.bytes_missing, tails[_i] > (int64_t)b.n ? tails[_i] - b.n : 0);
}
END_TEST

/* If the header lost its processes, or the very first extent is missing, zeros are damage. */
START_TEST(cut_while_it_was_written)
{
	struct trace_damage damage;
	struct event e[64];
	size_t first, second;

	first = add_pairs(1, 1, 1000, 5);
	second = add_pairs(1, 2, 2000, 5);
	build_header(&b)->processes = 1;
	build_header(&b)->process[0].number = _i == 0 || _i == 3;
	build_header(&b)->process[0].lost[MPROF_LOST_FILE] = _i == 3;
	memset(b.bytes + (_i == 2 ? second : first), 0, (_i == 2 ? b.n : second) - first);
	ck_assert_uint_eq(walk(&damage, e, 64), 10);
	ck_assert_uint_eq(damage.header_cut, _i == 1 || _i == 2);
	ck_assert_uint_eq(damage.bytes_cut, second - first);
	ck_assert_uint_eq(damage.bytes_empty, 0);
}
END_TEST

/* The header knows how many chunks there were; more of them are not damage. */
START_TEST(chunks_that_nobody_sees)
{
	static const uint64_t said[] = { 0, 1, 2, 5 };
	struct trace_damage damage;
	struct event e[64];

	add_pairs(1, 1, 1000, 5);
	add_pairs(1, 2, 2000, 5);
	build_header(&b)->chunks = said[_i];
	ck_assert_uint_eq(walk(&damage, e, 64), 20);
	ck_assert_uint_eq(damage.chunks_unseen, said[_i] > 2 ? said[_i] - 2 : 0);
}
END_TEST

/* Nobody writes a zero word into a chunk: it was cut out of a slot before it was copied. */
START_TEST(zero_word_in_a_chunk)
{
	struct trace_damage damage;
	struct event e[64];
	struct mprof_extent *x;
	size_t at;

	at = add_pairs(1, 1, 1000, 5);
	x = build_extent_at(&b, at);
	memset((uint64_t *)(x + 1) + x->used / 16, 0, 8);
	x->check = mprof_checksum(x + 1, x->used);
	ck_assert_uint_lt(walk(&damage, e, 64), 10);
	ck_assert_uint_eq(damage.words_bad, 1);
}
END_TEST

/* Disk blocks may be there ahead of the tail. */
START_TEST(room_behind_the_tail)
{
	struct trace_damage damage;
	struct event e[64];
	size_t at;

	add_pairs(1, 1, 1000, 5);
	at = add_pairs(1, 2, 2000, 500);
	build_header(&b)->tail = at;
	memset(b.bytes + at, 0, b.n - at);
	ck_assert_uint_eq(walk(&damage, e, 64), 10);
	ck_assert_uint_eq(damage.bytes_empty, 0);
	ck_assert_uint_eq(damage.first_bad_offset, 0);
}
END_TEST

/* An extent of another run, as a copied file might have. */
START_TEST(other_run)
{
	struct trace_damage damage;
	struct event e[64];
	size_t at;

	at = add_pairs(1, 1, 1000, 5);
	add_pairs(2, 1, 1000, 5);
	build_extent_at(&b, at)->run ^= 1;
	ck_assert_uint_eq(walk(&damage, e, 64), 10);
	ck_assert_uint_gt(damage.bytes_skipped, 0);
}
END_TEST

/* An open trace does not change while its file is still written. */
START_TEST(file_grows_while_it_is_read)
{
	struct event e[64];
	struct error err;
	struct trace *t;
	struct words w;
	uint64_t seq = 2;
	size_t slot;
	int fd;

	add_pairs(1, 1, 1000, 5);
	pairs(&w, 2000, 3);
	slot = build_slot(&b, 1, 1, 2, &w, 1024);
	t = open_prefix(b.n, &fd, &err);
	ck_assert_ptr_nonnull(t);
	/* One more event now ... */
	ck_assert_int_eq(pwrite(fd, &(uint64_t){ mprof_word_free(MPROF_TAG_FREE, 1, BASE) }, 8,
				(off_t)(slot + 64 + 8 * w.n)),
			 8);
	ck_assert_uint_eq(trace_next(t, e, 64), 16);
	/* ... and then the slot is given to other words: they are not taken for its own. */
	seq++;
	ck_assert_int_eq(pwrite(fd, &seq, 8, (off_t)(slot + offsetof(struct mprof_extent, seq))),
			 8);
	trace_rewind(t);
	ck_assert_uint_eq(trace_next(t, e, 64), 16);
	ck_assert_uint_eq(trace_damage(t)->first_bad_offset, 0);
	/* A file that is cut short under our hands is damaged: only the words of the slot are left.
	 */
	ck_assert_int_eq(ftruncate(fd, MPROF_HEADER_SIZE + 100), 0);
	trace_rewind(t);
	ck_assert_uint_eq(trace_next(t, e, 64), 6);
	ck_assert_uint_ne(trace_damage(t)->first_bad_offset, 0);
	trace_close(t);
	words_free(&w);
	close(fd);
}
END_TEST

/* While a process lives, what it has not written yet is not damage: the chunk, the end of the file,
 * or a part of the chunk. */
START_TEST(written_in_a_moment)
{
	struct event e[64];
	const char *path;
	struct error err;
	struct trace *t;
	size_t at, from, bytes;
	pid_t writer;
	int fd, status;

	build_header(&b)->process[0] = (struct mprof_process_entry){
		.number = 1, .pid = getpid(), .state = MPROF_PROCESS_RUNNING
	};
	add_pairs(1, 1, 1000, 5);
	at = add_pairs(2, 1, 2000, 5);
	bytes = build_extent_at(&b, at)->size;
	if (_i != 1)
		add_pairs(1, 2, 3000, 5);
	from = _i == 2 ? at + sizeof(struct mprof_extent) + 8 : at;
	bytes -= from - at;
	path = build_path_prefix(&b, b.n, &fd);
	ck_assert_int_eq(_i == 1 ? ftruncate(fd, (off_t)at) : 0, 0);
	if (_i != 1)
		ck_assert_int_eq(pwrite(fd, (char[1024]){ 0 }, bytes, (off_t)from), bytes);
	writer = fork();
	if (!writer) {
		usleep(50000);
		_exit(pwrite(fd, b.bytes + from, bytes, (off_t)from) != (ssize_t)bytes);
	}
	ck_assert_int_eq(trace_open(&t, path, MPROF_MAGIC_TRACE, &err), 0);
	ck_assert_uint_eq(trace_next(t, e, 64), _i == 1 ? 20 : 30);
	ck_assert(!trace_is_damaged(trace_damage(t)) && !trace_damage(t)->bytes_empty);
	trace_close(t);
	close(fd);
	ck_assert(waitpid(writer, &status, 0) == writer && !status);
}
END_TEST

/* A slot whose owner has not begun with it, or was killed before. */
START_TEST(new_slot)
{
	struct trace_damage damage;
	struct event e[64];
	struct words w;
	size_t at;

	pairs(&w, 1000, _i);
	at = build_slot(&b, 1, 1, 1, &w, 512);
	build_extent_at(&b, at)->seq = 0;
	ck_assert_uint_eq(walk(&damage, e, 64), 0);
	ck_assert_uint_eq(damage.chunks_bad, _i);
	words_free(&w);
}
END_TEST

START_TEST(losses_are_summed)
{
	struct trace_damage damage;
	struct event e[4];

	build_header(&b)->lost[MPROF_LOST_PROCESS] = 2;
	build_header(&b)->process[0].lost[MPROF_LOST_NESTED] = UINT32_MAX;
	build_header(&b)->process[5].lost[MPROF_LOST_NESTED] = 3;
	ck_assert_uint_eq(walk(&damage, e, 4), 0);
	ck_assert_uint_eq(damage.lost[MPROF_LOST_PROCESS], 2);
	ck_assert_uint_eq(damage.lost[MPROF_LOST_NESTED], UINT32_MAX + 3ull);
}
END_TEST

/* Runs that overlap, are empty, or have more pages than can be resident end the list. */
START_TEST(residency_is_checked)
{
	static const struct {
		struct mprof_page_run run[4];
		uint64_t good;
	} is[] = {
		{ { { 16, 2 }, { 20, 1 }, { 20, 5 }, { 40, 1 } }, 2 },
		{ { { 16, 1 << 19 }, { 1 << 20, 1 << 19 }, { 1 << 22, 17 }, { 1 << 23, 1 } }, 2 },
		{ { { 16, 1 << 19 }, { 1 << 20, 1 << 19 }, { 1 << 22, 15 }, { 1 << 23, 1 } }, 4 },
		{ { { 16, 1 }, { 20, 1ull << 45 }, { 1ull << 46, 1 }, { 1ull << 47, 1 } }, 1 },
	};
	struct {
		struct mprof_residency head;
		struct mprof_page_run run[4];
	} payload = { .head = { 1001, 1002, 4096, 4 } };
	const struct trace_residency *r;
	struct error err;
	struct trace *t;
	int fd;

	memcpy(payload.run, is[_i].run, sizeof(payload.run));
	build_extent(&b, MPROF_EXTENT_RESIDENCY, 1, 0, &payload, sizeof(payload), 0);
	t = open_prefix(b.n, &fd, &err);
	ck_assert_uint_eq(trace_residencies(t, &r), 1);
	ck_assert_uint_eq(r[0].runs, is[_i].good);
	ck_assert_uint_eq(trace_damage(t)->chunks_bad, is[_i].good < 4);
	trace_close(t);
	close(fd);
}
END_TEST

/* One that means nothing is skipped; of what an image said of itself the last counts. */
START_TEST(misuses_are_checked)
{
	struct mprof_misuse good = { .what = MPROF_MISUSE_OVERRUN, .ticks = 20, .size = 24 },
			    early = { .what = MPROF_MISUSE_FOREIGN, .ticks = 10 },
			    what = { .what = MPROF_MISUSE_BEHIND },
			    seen = { .what = MPROF_MISUSE_OVERRUN, .seen_bytes = 17 };
	struct mprof_guarded first = { .blocks = 1 },
			     last = { .blocks = 5, .freed = 1, .unwritten = 2, .ended = 1 };
	const struct trace_misuse *u;
	struct mprof_guarded sum;
	uint64_t unchecked;
	struct error err;
	struct trace *t;
	int fd;

	build_extent(&b, MPROF_EXTENT_GUARDED, 1, 0, &first, sizeof(first), 0);
	build_extent(&b, MPROF_EXTENT_MISUSE, 1, 0, &good, sizeof(good), 0);
	build_extent(&b, MPROF_EXTENT_MISUSE, 1, 0, &what, sizeof(what), 0);
	build_extent(&b, MPROF_EXTENT_MISUSE, 1, 0, &seen, sizeof(seen), 0);
	build_extent(&b, MPROF_EXTENT_MISUSE, 2, 0, &early, sizeof(early), 0);
	build_extent(&b, MPROF_EXTENT_MISUSE, 1, 0, &good, sizeof(good) - 8, 0);
	build_extent(&b, MPROF_EXTENT_GUARDED, 1, 0, &last, sizeof(last), 0);
	build_extent(&b, MPROF_EXTENT_GUARDED, 2, 0, &first, sizeof(first), 0);
	t = open_prefix(b.n, &fd, &err);
	ck_assert_uint_eq(trace_misuses(t, &u), 2);
	ck_assert_uint_eq(u[0].m->what, MPROF_MISUSE_FOREIGN);
	ck_assert_uint_eq(u[0].process, 2);
	ck_assert_uint_eq(u[1].m->size, 24);
	ck_assert(trace_is_guarded(t));
	trace_guarded(t, &sum, &unchecked);
	ck_assert_uint_eq(sum.blocks, 6);
	ck_assert_uint_eq(unchecked, 1);
	ck_assert_uint_eq(sum.errors, 4);
	ck_assert_uint_eq(trace_damage(t)->chunks_bad, 3);
	trace_close(t);
	close(fd);
}
END_TEST

START_TEST(counts_of_threads)
{
	struct mprof_counts counts = { .tid = 77 };
	const struct mprof_counts *c;
	uint32_t process, thread;
	struct error err;
	struct trace *t;
	int fd;

	build_free(&b);
	build_start(&b, MPROF_MAGIC_COUNTS);
	counts.fn[MPROF_FN_MALLOC].calls = 3;
	build_extent(&b, MPROF_EXTENT_COUNTS, 2, 5, &counts, sizeof(counts), 0);
	build_extent(&b, MPROF_EXTENT_COUNTS, 1, 0, &counts, sizeof(counts), 0);
	build_extent(&b, MPROF_EXTENT_COUNTS, 1, 1, &counts, sizeof(counts), 0);
	ck_assert_int_eq(trace_open(&t, build_path(&b, &fd), MPROF_MAGIC_COUNTS, &err), 0);
	c = trace_counts(t, 0, &process, &thread);
	ck_assert_uint_eq(process, 1);
	ck_assert_uint_eq(c->fn[MPROF_FN_MALLOC].calls, 3);
	ck_assert_ptr_nonnull(trace_counts(t, 1, &process, &thread));
	ck_assert_uint_eq(thread, 5);
	ck_assert_ptr_null(trace_counts(t, 2, &process, &thread));
	trace_close(t);
	close(fd);
}
END_TEST

Suite *trace_damage_suite(void)
{
	Suite *s = suite_create("trace_damage");
	TCase *tc = tcase_create("damage");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, cut_anywhere);
	tcase_add_test(tc, looks_at_the_peak);
	tcase_add_loop_test(tc, cut_header, 0, 9);
	tcase_add_test(tc, flipped_anywhere);
	tcase_add_test(tc, torn_header);
	tcase_add_test(tc, hole);
	tcase_add_loop_test(tc, size_too_great, 0, 4);
	tcase_add_test(tc, slot_too_great);
	tcase_add_loop_test(tc, slot_over_slots, 0, 3);
	tcase_add_test(tc, free_over_free);
	tcase_add_loop_test(tc, size_is_nothing, 0, 6);
	tcase_add_loop_test(tc, tail_is_not_trusted, 0, 4);
	tcase_add_test(tc, tail_beyond_a_file_that_could_not_grow);
	tcase_add_loop_test(tc, cut_while_it_was_written, 0, 4);
	tcase_add_loop_test(tc, killed_while_copying, 0, 2);
	tcase_add_loop_test(tc, chunks_that_nobody_sees, 0, 4);
	tcase_add_test(tc, zero_word_in_a_chunk);
	tcase_add_test(tc, room_behind_the_tail);
	tcase_add_test(tc, other_run);
	tcase_add_loop_test(tc, killed_while_dropping, 0, 2);
	tcase_add_test(tc, file_grows_while_it_is_read);
	tcase_add_loop_test(tc, written_in_a_moment, 0, 3);
	tcase_add_loop_test(tc, new_slot, 0, 2);
	tcase_add_test(tc, losses_are_summed);
	tcase_add_loop_test(tc, residency_is_checked, 0, 4);
	tcase_add_test(tc, misuses_are_checked);
	tcase_add_test(tc, counts_of_threads);
	suite_add_tcase(s, tc);
	return s;
}
