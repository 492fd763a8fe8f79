// SPDX-License-Identifier: LGPL-3.0-or-later
/* replay_random.c - random programs, compiled: nothing is lost, nothing breaks. */
#include "suites.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "play_feed.h"

#define CALLS  20000
#define LIVE   400
#define PLACES 1000

/* A program of several threads that gives addresses out again at once. */
struct program {
	struct played_call call[CALLS];
	size_t n;
	uint64_t live[LIVE];
	bool taken[PLACES];
	unsigned seed;
};

static uint64_t pick(struct program *p)
{
	unsigned at = (unsigned)rand_r(&p->seed) % PLACES;

	while (p->taken[at])
		at = (at + 1) % PLACES;
	p->taken[at] = true;
	return 0x10000 + 64 * (uint64_t)at;
}

static void give(struct program *p, uint64_t addr)
{
	p->taken[(addr - 0x10000) / 64] = false;
}

static void write_down(struct program *p, struct played_call c, uint32_t thread)
{
	c.ns = 1000 * (p->n + 1);
	c.thread = thread;
	c.process = 1;
	p->call[p->n++] = c;
}

static void one_call(struct program *p, uint32_t threads)
{
	const unsigned i = (unsigned)rand_r(&p->seed) % LIVE, what = (unsigned)rand_r(&p->seed);
	const uint32_t thread = 1 + (uint32_t)rand_r(&p->seed) % threads;
	const uint64_t size = what % 4096, old = p->live[i];
	const bool moves = what & 64;

	if (!old) {
		p->live[i] = pick(p);
		write_down(p,
			   (struct played_call){ .fn = what & 1 ? MPROF_FN_MALLOC : MPROF_FN_CALLOC,
						 .addr = p->live[i],
						 .size = size },
			   thread);
	} else if (what & 1) {
		p->live[i] = 0;
		give(p, old);
		write_down(p, (struct played_call){ .fn = MPROF_FN_FREE, .old = old }, thread);
	} else {
		write_down(p,
			   (struct played_call){
			       .fn = MPROF_FN_REALLOC, .half = PLAYED_BEGIN, .old = old },
			   thread);
		if (moves)
			give(p, old);
		p->live[i] = moves ? pick(p) : old;
		write_down(p,
			   (struct played_call){ .fn = MPROF_FN_REALLOC,
						 .half = PLAYED_END,
						 .addr = p->live[i],
						 .size = size + 1 },
			   thread);
	}
}

static struct program *make_program(unsigned seed, uint32_t threads)
{
	struct program *p = calloc(1, sizeof(*p));

	ck_assert_ptr_nonnull(p);
	p->seed = seed;
	while (p->n + 2 <= CALLS)
		one_call(p, threads);
	return p;
}

static void feed_program(const struct program *p)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		played_call(&p->call[i]);
}

/* Plays ORDER beside the calls: each must be there, with the slot of its block. */
static void is_the_program(const struct program *p)
{
	uint32_t slot_of[PLACES], pending[64] = { 0 };
	struct playfile_cursor cursor;
	struct playfile_op op;
	size_t i;

	playfile_start(&cursor, played.file);
	for (i = 0; i < p->n; i++) {
		const struct played_call *c = &p->call[i];

		if (c->half == PLAYED_BEGIN) {
			pending[c->thread] = slot_of[(c->old - 0x10000) / 64];
			continue;
		}
		ck_assert(playfile_next(&cursor, &op));
		ck_assert_uint_eq(op.fn, c->fn);
		ck_assert_uint_eq(op.size, c->size);
		ck_assert_uint_eq(playfile_threads(played.file)[op.thread].recorded, c->thread);
		if (c->fn == MPROF_FN_FREE)
			ck_assert_uint_eq(op.slot, slot_of[(c->old - 0x10000) / 64]);
		if (c->fn == MPROF_FN_REALLOC)
			ck_assert_uint_eq(op.slot, pending[c->thread]);
		if (c->addr)
			slot_of[(c->addr - 0x10000) / 64] = op.slot;
	}
	ck_assert(!playfile_next(&cursor, &op));
}

START_TEST(random_programs_are_kept)
{
	struct program *p = make_program((unsigned)_i + 1, _i ? 7 : 1);

	played_start();
	feed_program(p);
	played_finish();
	is_the_program(p);
	if (!_i)
		ck_assert_uint_eq(playfile_header(played.file)->slots, played.sum.peak_blocks);
	ck_assert(played_plays((unsigned)_i));
	ck_assert_uint_eq(
	    played.sum.inversions + played.sum.unknown_frees + played.sum.double_allocations, 0);
	played_release();
	free(p);
}
END_TEST

/* One call in a hundred changes places with one of another thread that stands up to 20 later. */
START_TEST(random_inversions_never_break_it)
{
	struct program *p = make_program((unsigned)_i + 100, 5);
	size_t i, j, swaps = 0;
	uint64_t wrong;

	for (i = 0; i + 30 < p->n; i++) {
		struct played_call c = p->call[i];

		if (rand_r(&p->seed) % 100)
			continue;
		j = i + 1 + (unsigned)rand_r(&p->seed) % 20;
		p->call[i] = p->call[j];
		p->call[j] = c;
		p->call[j].ns = p->call[i].ns;
		p->call[i].ns = c.ns;
		swaps++;
	}
	played_start();
	feed_program(p);
	played_finish();
	wrong = played.sum.unknown_frees + played.sum.double_allocations;
	ck_assert_uint_gt(played.sum.inversions + wrong, 0);
	/* Not each swap does harm, and a call that is left out may leave another one alone. */
	ck_assert_uint_lt(wrong, 4 * swaps);
	ck_assert(played_plays((unsigned)_i));
	played_release();
	free(p);
}
END_TEST

START_TEST(two_compiles_are_one_file)
{
	struct program *p = make_program(77, 5);
	char *first, *second;
	size_t bytes;
	int fd;

	played_start();
	feed_program(p);
	played_finish();
	fd = played.fd;
	bytes = playfile_header(played.file)->file_bytes;
	playfile_close(played.file);
	played_start();
	feed_program(p);
	played_finish();
	ck_assert_uint_eq(playfile_header(played.file)->file_bytes, bytes);
	first = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	second = mmap(NULL, bytes, PROT_READ, MAP_SHARED, played.fd, 0);
	ck_assert(!memcmp(first, second, bytes));
	munmap(first, bytes);
	munmap(second, bytes);
	close(fd);
	played_release();
	free(p);
}
END_TEST

/* ---- suite ---- */

Suite *replay_random_suite(void)
{
	Suite *s = suite_create("replay_random");
	TCase *c = tcase_create("all");

	tcase_add_loop_test(c, random_programs_are_kept, 0, 6);
	tcase_add_loop_test(c, random_inversions_never_break_it, 0, 8);
	tcase_add_test(c, two_compiles_are_one_file);
	suite_add_tcase(s, c);
	return s;
}
