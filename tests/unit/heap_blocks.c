// SPDX-License-Identifier: LGPL-3.0-or-later
/* heap_blocks.c - the table of blocks and the page counters against models of brute force. */
#include "suites.h"

#include <stdlib.h>
#include <string.h>

#include "heap/heap.h"
#include "heap/own_blocks.h"
#include "heap/pages.h"
#include "heap_valid.h"

static uint64_t state = 88172645463325252ull;

static uint64_t random_number(void)
{
	return random_after(&state);
}

#define MODEL 512

/* Addresses that collide: few of them, many puts and takes. */
START_TEST(blocks_come_and_go)
{
	struct blocks t = { .slot = NULL };
	bool lives[MODEL] = { false };
	struct block b, *found;
	size_t i, k, n = 0;

	for (i = 0; i < 200000; i++) {
		k = random_number() % MODEL;
		b = (struct block){ .addr = 0x10000 + 16 * k, .size = k };
		found = blocks_find(&t, b.addr);
		if ((found != NULL) != lives[k] || (found && found->size != k))
			ck_abort_msg("block %zu", (size_t)k);
		if (found) {
			blocks_take(&t, found);
		} else {
			blocks_put(&t, &b);
		}
		lives[k] = !lives[k];
		n += lives[k] ? 1 : -1;
		if (i % 1000 == 0) {
			ck_assert_uint_eq(t.used, n);
			ck_assert(blocks_is_valid(&t));
		}
	}
	ck_assert(blocks_is_valid(&t));
	blocks_release(&t);
}
END_TEST

/* ---- pages ---- */

#define SPACE_PAGES 2048u
#define PAGE	    4096u

struct range {
	uint64_t addr, size;
};

static uint64_t touched_by(const struct range *r, size_t n)
{
	static unsigned char touched[SPACE_PAGES];
	uint64_t count = 0, page;
	size_t i;

	memset(touched, 0, sizeof(touched));
	for (i = 0; i < n; i++)
		for (page = r[i].addr / PAGE;
		     r[i].size && page <= (r[i].addr + r[i].size - 1) / PAGE; page++)
			touched[page] = 1;
	for (i = 0; i < SPACE_PAGES; i++)
		count += touched[i];
	return count;
}

static bool overlaps(const struct range *r, size_t n, const struct range *new)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (r[i].addr < new->addr + new->size &&new->addr < r[i].addr + r[i].size)
			return true;
	return false;
}

/* Sizes around every border that there is: nothing, a byte, a page, some pages. */
static uint64_t random_size(void)
{
	static const uint64_t at[] = { 0, 1, 16, 1000, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE };

	return random_number() & 1 ? at[random_number() % 8] : random_number() % (6 * PAGE);
}

START_TEST(pages_are_those_of_a_bitmap)
{
	struct range live[300], new;
	struct pages p;
	size_t n = 0, i, k;

	pages_init(&p, PAGE);
	for (i = 0; i < 20000; i++) {
		new.addr = random_number() % (SPACE_PAGES - 8) * PAGE;
		new.addr += random_number() & 1 ? 0 : random_number() % PAGE;
		new.size = random_size();
		if (n < 300 && (random_number() & 3) && !overlaps(live, n, &new)) {
			live[n++] = new;
			pages_add(&p, new.addr, new.size);
		} else if (n) {
			k = random_number() % n;
			pages_remove(&p, live[k].addr, live[k].size);
			live[k] = live[--n];
		}
		ck_assert_uint_eq(p.touched, touched_by(live, n));
	}
	while (n--)
		pages_remove(&p, live[n].addr, live[n].size);
	ck_assert_uint_eq(p.touched, 0);
	pages_clear(&p);
}
END_TEST

/* Half open: what ends at a border does not touch the page behind it. */
static const struct {
	uint64_t addr, size, touched;
} borders[] = {
	{ 4096, 0, 0 },	      { 4096, 1, 1 },		{ 4096, 4096, 1 },
	{ 4096, 4097, 2 },    { 4095, 1, 1 },		{ 4095, 2, 2 },
	{ 4095, 4097, 2 },    { 4095, 4098, 3 },	{ 4080, 16, 1 },
	{ 4080, 17, 2 },      { 4096, 8192, 2 },	{ 4097, 8190, 2 },
	{ 1ull << 47, 1, 1 }, { UINT64_MAX - 9, 5, 1 }, { 4096, UINT64_MAX - 4096, 0 },
};

START_TEST(pages_at_borders)
{
	struct pages p;

	pages_init(&p, PAGE);
	pages_add(&p, borders[_i].addr, borders[_i].size);
	ck_assert_uint_eq(p.touched, borders[_i].touched);
	pages_remove(&p, borders[_i].addr, borders[_i].size);
	ck_assert_uint_eq(p.touched, 0);
	pages_clear(&p);
}
END_TEST

/* Many far regions, one after the other: empty ones must not pile up. */
START_TEST(pages_forget_empty_regions)
{
	struct pages p;
	uint64_t i;

	pages_init(&p, PAGE);
	for (i = 0; i < 100000; i++) {
		pages_add(&p, i << 30, 100);
		pages_remove(&p, i << 30, 100);
	}
	ck_assert_uint_le(p.capacity, 128);
	ck_assert_uint_eq(p.touched, 0);
	pages_clear(&p);
}
END_TEST

/* A table that grows from the heap into a mapping keeps what it has, and has zeros behind
 * it. */
START_TEST(own_blocks_that_grow_long)
{
	const uint32_t most = 700000;
	struct own_blocks own = { .block = NULL };
	uint32_t i, wrong = 0;

	for (i = 1; i <= most; i += 3)
		own_place(&own, i)->addr = 16 * (uint64_t)i;
	for (i = 1; i <= most; i++) {
		const struct own_block *b = own_find(&own, i);

		if (i % 3 == 1 ? !b || b->addr != 16 * (uint64_t)i : b != NULL)
			wrong = i;
	}
	ck_assert_uint_eq(wrong, 0); /* one for all: each takes a system call */
	ck_assert_ptr_null(own_find(&own, own.room));
	own_release(&own);
	ck_assert_ptr_null(own.block);
}
END_TEST

/* Every field comes back, however large, also where a large block was before. */
START_TEST(own_blocks_of_any_size)
{
	static const uint64_t size[] = { 0, (1 << 24) - 1, 1 << 24, UINT32_MAX, UINT64_MAX };
	static const uint32_t slack[] = { 0, 254, 255, 256, UINT32_MAX };
	struct own_blocks own = { .block = NULL };

	for (uint32_t round = 0; round < 3; round++)
		for (uint32_t i = 0; i < 25; i++) {
			const struct block b = {
				.addr = 1ull << 63 | i,
				.size = size[(i + round) % 5],
				.start = UINT64_MAX - i,
				.slack = slack[i / 5],
				.owner =
				    (BLOCK_THREAD - i) | (i & 1 ? BLOCK_INHERITED : BLOCK_RESIZED),
				.stack = UINT32_MAX - i,
				.fn = 255 - i % 2,
				.order = 0xffffff - i,
			};
			struct own_block *at = own_place(&own, i + 1);
			struct block back;

			own_put(&own, at, &b);
			back = own_block(&own, at);
			ck_assert(!memcmp(&back, &b, sizeof(b)));
			own_drop(&own, at);
			ck_assert_ptr_null(own_find(&own, i + 1));
			own_put(&own, at, &b);
			if (i % 2)
				own_drop(&own, at);
		}
	ck_assert_uint_le(own.wides, 3 * 25);
	own_release(&own);
}
END_TEST

/* Rounds that leave out small own blocks, with and without marks, or all own blocks. */
START_TEST(rounds_over_some_blocks)
{
	static const uint64_t size[] = { 100, 5000, 4999, 1ull << 30, 0, 5001, 1ull << 24, 4095 };
	const uint32_t n = sizeof(size) / sizeof(size[0]);
	struct heap h;
	struct heap_process *p;
	const struct block *b;

	heap_init(&h, 4096, 1000, false);
	ck_assert_uint_eq(heap_process(&h, 1), 0);
	p = h.process[0];
	for (uint32_t i = 0; i < n; i++) {
		const struct block own = { .addr = i + 1, .size = size[i], .slack = 100 * i };

		own_put(&p->own, own_place(&p->own, i + 1), &own);
	}
	own_drop(&p->own, own_find(&p->own, 6)); /* of 5001 bytes */
	blocks_put(&p->others,
		   &(const struct block){ .addr = 77, .size = 9, .owner = BLOCK_INHERITED });
	for (int marked = 0; marked < 2; marked++) {
		struct heap_live_round round = { .round.least = 5000 };
		struct heap_live_round others = heap_without_own(p);
		uint64_t found = 0;

		while ((b = heap_next_live(&h, 0, &round)))
			found = 100 * found + b->addr;
		ck_assert_uint_eq(found, 2040777);
		b = heap_next_live(&h, 0, &others);
		ck_assert(b && b->addr == 77);
		ck_assert_ptr_null(heap_next_live(&h, 0, &others));
		own_mark(&p->own);
	}
	heap_release(&h);
}
END_TEST

Suite *heap_blocks_suite(void)
{
	Suite *s = suite_create("heap_blocks");
	TCase *c = tcase_create("tables");

	tcase_add_test(c, blocks_come_and_go);
	tcase_add_test(c, own_blocks_that_grow_long);
	tcase_add_test(c, own_blocks_of_any_size);
	tcase_add_test(c, rounds_over_some_blocks);
	tcase_add_test(c, pages_are_those_of_a_bitmap);
	tcase_add_loop_test(c, pages_at_borders, 0, sizeof(borders) / sizeof(borders[0]));
	tcase_add_test(c, pages_forget_empty_regions);
	suite_add_tcase(s, c);
	return s;
}
