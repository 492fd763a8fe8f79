// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * play_file.c - what the reader of playback files rejects: a good file of
 * two threads, with one thing changed and all checksums made right again.
 */
#include "suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "play_feed.h"

static struct good {
	char *data;
	size_t bytes;
	struct mprof_playback_header *h;
} good;

static void load(void)
{
	played_finish();
	good.bytes = playfile_header(played.file)->file_bytes;
	good.data = malloc(good.bytes);
	ck_assert_ptr_nonnull(good.data);
	ck_assert_int_eq(pread(played.fd, good.data, good.bytes, 0), (ssize_t)good.bytes);
	good.h = (struct mprof_playback_header *)good.data;
}

/* The good one in a copy that may be changed. */
static void begin(void)
{
	static const uint64_t big = 1ull << 20;

	memset(&played.options, 0, sizeof(played.options));
	played.options.sites = played.options.touch = true;
	played_start();
	played_malloc(0x1000, big);
	played_malloc(0x2000, 2);
	played_alloc(MPROF_FN_MEMALIGN, 0x3000, 3, 64);
	played.ns += 200000;
	played_free(0x2000);
	played.thread = 2;
	played_free(0x1000);
	played_realloc(0x3000, 0x4000, 5);
	played_thread_end(2);
	played.thread = 3;
	played_malloc(0x5000, 1);
	load();
}

static void end(void)
{
	free(good.data);
	played_release();
}

/* In ORDER: m0 b? m1 EXT a2 TIME f1 +1 T1 f0 r2 -1 T0 ~1 +2 T2 m? ... */
enum {
	M0,
	TOUCH,
	M1,
	EXT,
	A2,
	TIME,
	F1,
	CREATE1,
	TO_1,
	F0,
	R2,
	EXIT1,
	TO_0,
	GONE1,
	CREATE2,
	TO_2,
	M
};

static uint64_t *word(size_t i)
{
	return (uint64_t *)(good.data + good.h->order.offset) + i;
}

static uint64_t *stream(uint32_t thread, size_t i)
{
	const struct mprof_play_thread *t =
	    (const struct mprof_play_thread *)(good.data + good.h->thread.offset);

	return (uint64_t *)(good.data + t[thread].offset) + i;
}

static struct mprof_play_thread *thread(uint32_t i)
{
	return (struct mprof_play_thread *)(good.data + good.h->thread.offset) + i;
}

static void seal_section(struct mprof_play_section *s)
{
	if (s->offset <= good.bytes && s->bytes <= good.bytes - s->offset)
		s->check =
		    mprof_play_check(MPROF_PLAY_CHECK_START, good.data + s->offset, s->bytes);
}

static void seal_header(void)
{
	good.h->check = mprof_play_check(MPROF_PLAY_CHECK_START, good.h,
					 offsetof(struct mprof_playback_header, check));
}

static void seal(void)
{
	seal_section(&good.h->order);
	seal_section(&good.h->sites);
	seal_section(&good.h->streams);
	seal_section(&good.h->thread);
	seal_header();
}

/* What the reader says of it: of opening, else of checking; "" when it is right. */
static const char *said(size_t bytes, bool *opened)
{
	static struct error err;
	struct playfile *p;
	char path[64];
	int fd = memfd_create("changed", MFD_CLOEXEC);

	ck_assert_int_eq(write(fd, good.data, bytes), (ssize_t)bytes);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err.text[0] = '\0';
	*opened = !playfile_open(&p, path, &err);
	if (*opened)
		playfile_check(p, &err);
	playfile_close(*opened ? p : NULL);
	close(fd);
	return err.text;
}

static void rejects_cut(size_t bytes, bool opens, const char *text)
{
	bool opened;
	const char *is = said(bytes, &opened);

	ck_assert_msg(strstr(is, text) && *is, "'%s' and not '%s'", is, text);
	ck_assert_msg(opened == opens, "'%s' is told by %s", is, opened ? "check" : "open");
}

static void rejects(bool opens, const char *text)
{
	rejects_cut(good.bytes, opens, text);
}

/* Changes a place for a moment. */
#define WITH(place, value, opens, text)               \
	do {                                          \
		__typeof__(place) was = (place);      \
                                                      \
		(place) = (__typeof__(place))(value); \
		seal();                               \
		rejects(opens, text);                 \
		(place) = was;                        \
	} while (0)

START_TEST(the_good_one_is_good)
{
	bool opened;

	begin();
	ck_assert_str_eq(played_order(),
			 "m0:1048576 b1152921504606846975 m1:2 a2:3/6=6 t203000 f1 +1 T1 f0 r2:5 "
			 "-1 T0 ~1 +2 T2 m3:1 T0 -0 T2 -2 E");
	seal();
	ck_assert_str_eq(said(good.bytes, &opened), "");
	end();
}
END_TEST

/* The compiler's output equals the stored one; MPROF_GOLDEN=1 writes it again. */
static void is_golden(const char *path)
{
	char *now = malloc(good.bytes + 1);
	FILE *f;

	if (getenv("MPROF_GOLDEN")) {
		f = fopen(path, "we");
		ck_assert_ptr_nonnull(f);
		ck_assert_uint_eq(fwrite(good.data, 1, good.bytes, f), good.bytes);
		fclose(f);
	}
	f = fopen(path, "re");
	ck_assert_msg(f != NULL, "%s is missing", path);
	ck_assert_uint_eq(fread(now, 1, good.bytes + 1, f), good.bytes);
	fclose(f);
	ck_assert_msg(!memcmp(now, good.data, good.bytes),
		      "%s is not what is compiled: the format has changed", path);
	free(now);
}

START_TEST(golden)
{
	begin();
	is_golden("tests/golden/playback/three-threads.play");
	end();
	memset(&played.options, 0, sizeof(played.options));
	played_start();
	played_malloc(0x1000, 100);
	played_realloc(0x1000, 0x2000, 1ull << 33);
	played_free(0x2000);
	load();
	is_golden("tests/golden/playback/one-thread.play");
	end();
}
END_TEST

START_TEST(headers)
{
	begin();
	rejects_cut(0, false, "ends at byte 0");
	rejects_cut(4095, false, "ends at byte 4095");
	rejects_cut(good.bytes - 4096, false, "size is");
	WITH(good.h->magic[0], 'x', false, "magic");
	WITH(good.h->version, 2, false, "version is 2");
	WITH(good.h->header_bytes, 64, false, "header's size is 64");
	WITH(good.h->file_bytes, good.bytes + 1, false, "size is");
	WITH(good.h->slots, 0, false, "0 slots");
	WITH(good.h->slots, 1ull << 32, false, "4294967296 slots");
	WITH(good.h->slots, 1ull << 31, false, "slots for");
	WITH(good.h->threads, 0, false, "0 threads");
	WITH(good.h->threads, 4, false, "section thread has");
	WITH(good.h->sum.calls, 1 << 20, false, "words for 1048576 calls");
	WITH(good.h->sum.calls, 6, false, "section sites has");
	good.h->sum.calls ^= 2;
	rejects(false, "header's checksum");
	end();
}
END_TEST

START_TEST(sections)
{
	struct mprof_play_section *order;

	begin();
	order = &good.h->order;
	WITH(order->offset, 0, false, "section order");
	WITH(order->offset, 4104, false, "section order");
	WITH(order->offset, 1ull << 60, false, "section order");
	WITH(order->bytes, UINT64_MAX, false, "section order");
	WITH(order->bytes, order->bytes + 4, false, "not a multiple of 8");
	WITH(order->bytes, order->bytes - 8, true, "END");
	WITH(order->bytes, order->bytes + 8, true, "END");
	WITH(good.h->thread.offset, good.bytes, false, "section thread");
	WITH(good.h->thread.bytes, 1, false, "section thread");
	WITH(good.h->streams.bytes, 8, false, "stream of thread");
	WITH(good.h->streams.bytes, good.h->streams.bytes + 8, false, "streams end at");
	WITH(good.h->sites.bytes, 4, false, "section sites has");
	WITH(thread(1)->creator, 3, false, "creator");
	WITH(thread(1)->creator, 1, false, "creator");
	WITH(thread(1)->creator, 2, true, "CREATE");
	WITH(thread(1)->offset, thread(1)->offset + 8, false, "stream of thread 1");
	WITH(thread(1)->words, 1ull << 61, false, "stream of thread 1");
	WITH(thread(2)->words, 1, false, "stream of thread 2");
	WITH(thread(1)->calls, 1, true, "thread 1 does not end, or");
	*word(M1) ^= 16;
	rejects(true, "checksum of section order");
	end();
}
END_TEST

START_TEST(words_of_calls)
{
	begin();
	WITH(*word(M0), mprof_play_call(MPROF_PLAY_MALLOC, 9, 1 << 20), true, "beyond the table");
	WITH(*word(M1), mprof_play_call(MPROF_PLAY_MALLOC, 0, 2), true, "slot that has a block");
	WITH(*word(F1), mprof_play_call(MPROF_PLAY_FREE, 3, 0), true, "without a block");
	WITH(*word(F1), mprof_play_call(MPROF_PLAY_FREE, 1, 7), true, "FREE with a size");
	WITH(*word(M1), 13, true, "unknown");
	WITH(*word(M1), 0, true, "END before the end");
	WITH(*word(EXT), mprof_play_ext(0, MPROF_FN_MEMALIGN, 0, 0), true, "ALIGNED without one");
	WITH(*word(EXT), mprof_play_ext(6, MPROF_FN_FREE, 0, 0), true, "does not fit");
	WITH(*word(EXT), mprof_play_ext(6, 63, 0, 0), true, "does not fit");
	WITH(*word(EXT), mprof_play_ext(6, MPROF_FN_MEMALIGN, 1, 0), true, "a call with a wait");
	WITH(*word(A2), mprof_play_call(MPROF_PLAY_MALLOC, 2, 3), true, "does not fit");
	WITH(*word(A2), MPROF_PLAY_TIME, true, "EXT that no call follows");
	WITH(*word(M1), mprof_play_call(MPROF_PLAY_MALLOC, 1, 1), true, "own stream");
	WITH(*word(F1), *word(TIME) - 16, true, "time before");
	WITH(*word(TIME), *word(TOUCH), true, "TOUCH that does not follow");
	WITH(*word(TOUCH), MPROF_PLAY_TOUCH | 5 << 4, true, "own stream");
	WITH(good.h->sum.peak_op, 3, true, "sums");
	WITH(good.h->sum.left_bytes, 3, true, "sums");
	WITH(good.h->sum.by_op[MPROF_PLAY_FREE], 3, true, "sums");
	end();
}
END_TEST

START_TEST(words_of_threads)
{
	begin();
	WITH(*word(TO_1), mprof_play_other(MPROF_PLAY_SWITCH, 3), true, "does not exist");
	WITH(*word(TO_1), mprof_play_other(MPROF_PLAY_SWITCH, 1) | 16, true, "does not exist");
	WITH(*word(CREATE1), MPROF_PLAY_TIME | 4000000ull << 4, true, "is not running");
	WITH(*word(CREATE2), mprof_play_other(MPROF_PLAY_CREATE, 1), true, "CREATE");
	WITH(*word(GONE1), mprof_play_other(MPROF_PLAY_GONE, 0), true, "GONE");
	WITH(*word(EXIT1), mprof_play_other(MPROF_PLAY_EXIT, 0), true, "EXIT");
	WITH(*word(EXIT1), MPROF_PLAY_TIME | 4000000ull << 4, true, "GONE");
	WITH(*word(TO_0), MPROF_PLAY_TIME | 4000000ull << 4, true, "does not have");
	WITH(*stream(1, 0), *stream(1, 0) + 16, true, "own stream");
	WITH(*stream(1, 1), mprof_play_ext(0, 0, 1, 0), true, "own stream");
	WITH(*stream(2, 0), 0, true, "own stream");
	end();
}
END_TEST

/* Whatever one word is changed to: no crash, and a player would stay in its table. */
START_TEST(any_word)
{
	unsigned seed = 1;
	bool opened;
	size_t i;

	begin();
	for (i = 0; i < 20000; i++) {
		uint64_t *at = (uint64_t *)good.data + (size_t)rand_r(&seed) % (good.bytes / 8);
		uint64_t was = *at;

		*at = rand_r(&seed) & 1 ? *at ^ 1ull << ((unsigned)rand_r(&seed) & 63)
					: (uint64_t)rand_r(&seed) << ((unsigned)rand_r(&seed) & 63);
		if (rand_r(&seed) & 7)
			seal();
		(void)said(good.bytes, &opened);
		*at = was;
		seal();
	}
	end();
}
END_TEST

Suite *play_file_suite(void)
{
	Suite *s = suite_create("play_file");
	TCase *c = tcase_create("all");

	tcase_add_test(c, the_good_one_is_good);
	tcase_add_test(c, golden);
	tcase_add_test(c, headers);
	tcase_add_test(c, sections);
	tcase_add_test(c, words_of_calls);
	tcase_add_test(c, words_of_threads);
	tcase_add_test(c, any_word);
	suite_add_tcase(s, c);
	return s;
}
