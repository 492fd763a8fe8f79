// SPDX-License-Identifier: LGPL-3.0-or-later
/* pass_growth.c - blocks grown step by step, and blocks freed by other threads. */
#include "suites.h"

#include "feed.h"
#include "pass/growth.h"
#include "pass/cross_frees.h"

static struct growth growth;
static struct cross_frees cross_frees;
static struct walk walk;

static void run(void)
{
	static const struct walk_pass pass[] = { { &growth_pass, &growth },
						 { &cross_free_pass, &cross_frees } };

	feed_walk(&walk, pass, 2);
}

static void release(void)
{
	walk_release(&walk);
}

/* 4,094 reallocs of one block, 256 bytes each. */
START_TEST(one_long_chain)
{
	const struct growth_site *s;
	uint64_t size = 512;

	feed_alloc_from(1, 0x100000, 512);
	for (; size < 1048576; size += 256)
		feed_realloc_from(2, 0x100000, 0x100000, size + 256);
	feed_free(0x100000);
	run();
	s = growth.site;
	ck_assert_uint_eq(growth.sites, 1);
	ck_assert_uint_eq(s->stack, 2);
	ck_assert_uint_eq(s->chains, 1);
	ck_assert_uint_eq(s->steps, 4094);
	ck_assert_uint_eq(s->longest, 4094);
	ck_assert_uint_eq(s->moved, 0);
	ck_assert_uint_eq(s->copied, 0);
	ck_assert_uint_eq(s->copies, 0);
	ck_assert_uint_eq(s->reserve, 1048576);
	ck_assert_uint_eq(s->saved_steps, 4094);
	ck_assert_uint_eq(s->spare, 0);
	release();
}
END_TEST

/* Moves copy the old size; shrinking is not a step; the chain ends with the process. */
START_TEST(moves_and_shrinking)
{
	feed_alloc_from(1, 0x1000, 10);
	feed_realloc_from(2, 0x1000, 0x2000, 100); /* copies 10 */
	feed_realloc_from(3, 0x2000, 0x2000, 50);
	feed_realloc_from(3, 0x2000, 0x3000, 1000); /* copies 50 */
	feed_alloc_from(1, 0x9000, 10);
	feed_realloc_from(4, 0x9000, 0x9000, 5); /* never grows: no chain */
	feed_realloc_from(5, 0, 0xa000, 5);	 /* a malloc */
	run();
	ck_assert_uint_eq(growth.sites, 1);
	ck_assert_uint_eq(growth.site->stack, 2);
	ck_assert_uint_eq(growth.site->steps, 2);
	ck_assert_uint_eq(growth.site->moved, 2);
	ck_assert_uint_eq(growth.site->copied, 60);
	ck_assert_uint_eq(growth.site->greatest, 1000);
	ck_assert_uint_eq(growth.site->saved_copied, 60);
	release();
}
END_TEST

static void vector_of(uint32_t stack, uint64_t addr, uint64_t bytes)
{
	uint64_t size = 8;

	feed_alloc_from(stack, addr, size);
	for (; size < bytes; size *= 2, addr += 0x100000) {
		feed_alloc_from(stack, addr + 0x100000, 2 * size);
		feed_free(addr);
	}
	feed_free(addr);
}

/* As std::vector grows: a new block twice the size, then free of the old one. */
START_TEST(grown_by_copies)
{
	vector_of(7, 0x1000000, 1024);
	run();
	ck_assert_uint_eq(growth.sites, 1);
	ck_assert_uint_eq(growth.site->stack, 7);
	ck_assert_uint_eq(growth.site->chains, 1);
	ck_assert_uint_eq(growth.site->steps, 7);
	ck_assert_uint_eq(growth.site->copies, 7);
	ck_assert_uint_eq(growth.site->copied, 8 * (1 + 2 + 4 + 8 + 16 + 32 + 64));
	ck_assert_uint_eq(growth.site->reserve, 1024);
	release();
}
END_TEST

/* Too few steps, other places, other threads, something in between: chance. */
START_TEST(not_grown_by_copies)
{
	uint64_t i;

	vector_of(7, 0x1000000, 64); /* three steps */
	for (i = 0; i < 20; i++) {
		feed_alloc_from(1, 0x2000000 + i * 0x1000, 8 + i);
		if (i)
			feed_alloc_from(2, 0x3000000 + i * 0x1000, 99);
		if (i)
			feed_free(0x2000000 + (i - 1) * 0x1000);
	}
	for (i = 0; i < 20; i++) {
		feed_alloc_from(3 + i, 0x4000000 + i * 0x1000, 8 + 8 * i);
		if (i)
			feed_free(0x4000000 + (i - 1) * 0x1000);
	}
	for (i = 0; i < 20; i++) {
		feed.thread = 1 + (uint32_t)i % 2;
		feed_alloc_from(50, 0x5000000 + i * 0x1000, 8 + 8 * i);
		feed.thread = 2 - (uint32_t)i % 2;
		if (i)
			feed_free(0x5000000 + (i - 1) * 0x1000);
	}
	/* Another block is freed first. */
	feed.thread = 1;
	for (i = 0; i < 20; i++)
		feed_alloc_from(99, 0x6000000 + i * 0x1000, 1);
	for (i = 0; i < 20; i++) {
		feed_alloc_from(60, 0x7000000 + i * 0x1000, 8 + 8 * i);
		feed_free(0x6000000 + i * 0x1000);
		if (i)
			feed_free(0x7000000 + (i - 1) * 0x1000);
	}
	/* Three steps, a block of the same size instead, three steps. */
	for (i = 0; i < 8; i++) {
		feed_alloc_from(70, 0x8000000 + i * 0x1000, 8u << (i - (i > 3)));
		if (i)
			feed_free(0x8000000 + (i - 1) * 0x1000);
	}
	run();
	ck_assert_uint_eq(growth.sites, 0);
	release();
}
END_TEST

/* A cache whose blocks are replaced by others of any size: five steps up, then a smaller one. */
START_TEST(replaced_by_chance)
{
	uint64_t i;

	for (i = 0; i < 60; i++) {
		feed_alloc_from(70, 0x8000000 + i * 0x1000, 8u << i % 6);
		if (i)
			feed_free(0x8000000 + (i - 1) * 0x1000);
	}
	run();
	ck_assert_uint_eq(growth.sites, 0);
	ck_assert_uint_eq(growth.chains, 0);
	release();
}
END_TEST

/* Two stacks that end in the same two frames are one place; in one frame, two. */
START_TEST(the_same_place_from_elsewhere)
{
	static const struct stack_node node[] = { { 0, 0 }, { 0, 1 }, { 0, 2 }, { 1, 3 }, { 2, 3 },
						  { 3, 4 }, { 4, 4 }, { 1, 5 }, { 2, 5 } };
	static const struct stacks stacks = { .node = node, .nodes = 9 };
	uint64_t i;

	feed.stacks = &stacks;
	for (i = 0; i < 10; i++) {
		feed_alloc_from(i % 2 ? 5 : 6, 0x4000000 + i * 0x1000, 8u << i);
		if (i)
			feed_free(0x4000000 + (i - 1) * 0x1000);
	}
	for (i = 0; i < 10; i++) {
		feed_alloc_from(i % 2 ? 7 : 8, 0x5000000 + i * 0x1000, 8u << i);
		if (i)
			feed_free(0x5000000 + (i - 1) * 0x1000);
	}
	run();
	ck_assert_uint_eq(growth.sites, 1);
	ck_assert_uint_eq(growth.site->steps, 9);
	release();
}
END_TEST

/* Ninety short chains and a long one: the advice fits the ninety. */
static void made_anew(uint64_t size)
{
	feed_alloc_from(1, 0x1000, 16);
	feed_realloc_from(2, 0x1000, 0x1000, size);
	feed_free(0x1000);
}

/* A block that is replaced at each step grows; sizes that also decrease or coexist do not. */
START_TEST(blocks_that_replace_each_other)
{
	const struct growth_site *s;
	uint64_t i;

	for (i = 1; i <= 1000; i++)
		made_anew(16 + 8 * i);
	run();
	s = growth.site;
	ck_assert_uint_eq(s->chains, 1);
	ck_assert_uint_eq(s->steps, 1000);
	ck_assert_uint_eq(s->reserve, 16 + 8 * 1000);
	ck_assert_uint_eq(s->saved_steps, 1000);
	ck_assert_uint_eq(s->spare, 0);
	release();
	feed_start();
	growth = (struct growth){ .sites = 0 };
	for (i = 0; i < 701; i++)
		made_anew(100 + 8 * (i % (GROWTH_RUN - 1)));
	for (i = 0; i < 100; i++)
		feed_alloc_from(1, 0x1000 + 0x1000 * i, 16);
	for (i = 0; i < 100; i++)
		feed_realloc_from(2, 0x1000 + 0x1000 * i, 0x1000 + 0x1000 * i, 200 + 8 * i);
	for (i = 0; i < 100; i++)
		feed_free(0x1000 + 0x1000 * i);
	run();
	ck_assert_uint_eq(growth.site->chains, 801);
	ck_assert_uint_eq(growth.site->steps, 801);
	release();
}
END_TEST

START_TEST(advice_covers_nine_tenths)
{
	uint64_t i, k;

	for (i = 0; i < 90; i++) {
		feed_alloc_from(1, 0x10000 + i * 0x10000, 10);
		for (k = 1; k <= 10; k++)
			feed_realloc_from(2, 0x10000 + i * 0x10000, 0x10000 + i * 0x10000,
					  (100 + i % 20) * k / 10 + 10);
		feed_free(0x10000 + i * 0x10000);
	}
	feed_alloc_from(1, 0x9000000, 10);
	for (k = 1; k <= 50; k++)
		feed_realloc_from(2, 0x9000000, 0x9000000, 100000 * k);
	run();
	ck_assert_uint_eq(growth.site->chains, 91);
	ck_assert_uint_eq(growth.site->steps, 950);
	ck_assert_uint_eq(growth.site->reserve, 129);
	ck_assert_uint_eq(growth.site->saved_steps, 900);
	ck_assert_uint_eq(growth.site->longest, 50);
	ck_assert(growth.site->spare > 0 && growth.site->spare < 20);
	release();
}
END_TEST

/* A chain of few copies continues with realloc, and keeps its greatest size. */
START_TEST(copied_then_reallocated)
{
	feed_alloc_from(7, 0x1000, 10);
	feed_alloc_from(7, 0x2000, 20);
	feed_free(0x1000);
	feed_alloc_from(7, 0x3000, 60);
	feed_free(0x2000);
	feed_realloc_from(8, 0x3000, 0x3000, 30);
	feed_realloc_from(9, 0x3000, 0x3000, 40);
	feed_free(0x3000);
	run();
	ck_assert_uint_eq(growth.sites, 1);
	ck_assert_uint_eq(growth.site->stack, 7);
	ck_assert_uint_eq(growth.site->steps, 3);
	ck_assert_uint_eq(growth.site->copies, 2);
	ck_assert_uint_eq(growth.site->moved, 2);
	ck_assert_uint_eq(growth.site->copied, 30);
	ck_assert_uint_eq(growth.site->first, 10);
	ck_assert_uint_eq(growth.site->greatest, 60);
	release();
}
END_TEST

/* ---- against a model ---- */

#define PLACES 3u /* stacks 1 to 3 */

struct model_chain {
	uint64_t steps, copies, moved, copied, first, greatest;
	uint32_t stack;
};

struct model_block {
	uint64_t addr, size;
	uint32_t stack;
	struct model_chain chain;
};

static struct model_block model[20000];
static struct model_chain model_sum[PLACES + 1];
static uint64_t model_addr;

static void model_close(const struct model_chain *c)
{
	struct model_chain *to = &model_sum[c->stack];

	if (!c->steps ||
	    (c->copies == c->steps && (c->steps < GROWTH_COPIES || c->greatest < 2 * c->first)))
		return;
	to->first = to->steps && to->first < c->first ? to->first : c->first;
	to->steps += c->steps;
	to->copies += c->copies;
	to->moved += c->moved;
	to->copied += c->copied;
	to->greatest = c->greatest > to->greatest ? c->greatest : to->greatest;
}

static struct model_chain model_step(const struct model_block *old, const struct model_block *now,
				     bool copy)
{
	struct model_chain c = old->chain;

	if (now->size <= old->size)
		return c;
	if (!c.steps)
		c = (struct model_chain){ .first = old->size, .stack = now->stack };
	c.steps++;
	c.copies += copy;
	c.moved += now->addr != old->addr;
	c.copied += now->addr != old->addr ? old->size : 0;
	c.greatest = now->size > c.greatest ? now->size : c.greatest;
	return c;
}

static struct model_block model_new(uint64_t *seed)
{
	const uint64_t size = random_after(seed) % 900, large = random_after(seed) % 50;

	return (struct model_block){
		.addr = model_addr += 0x100000000,
		.size = large ? size : size << 20,
		.stack = 1 + (uint32_t)(random_after(seed) % PLACES),
	};
}

/* Frees block i, directly after the call for `now` if that is not NULL. */
static void model_free(const struct model_block *b, struct model_block *now)
{
	feed_free(b->addr);
	if (now && now->stack == b->stack && b->size && now->size > b->size &&
	    now->size <= GROWTH_TIMES * b->size + GROWTH_MORE)
		now->chain = model_step(b, now, true);
	else
		model_close(&b->chain);
}

static void model_realloc(struct model_block *b, uint64_t *seed)
{
	struct model_block now = model_new(seed);

	now.addr = random_after(seed) % 2 ? now.addr : b->addr;
	feed_realloc_from(now.stack, b->addr, now.addr, now.size);
	now.chain = model_step(b, &now, false);
	*b = now;
}

/* Replaces blocks by others at random: n live ones, so more than have places for few copies. */
START_TEST(as_a_model_counts)
{
	static const size_t live[] = { 5, 40, 1000, GROWTH_FEW + 1000 };
	const size_t n = live[_i];
	uint64_t seed = 1 + (uint64_t)_i, chains = 0, steps = 0, copies = 0, copied = 0;

	memset(model_sum, 0, sizeof(model_sum));
	for (size_t i = 0; i < n; i++) {
		model[i] = model_new(&seed);
		feed_alloc_from(model[i].stack, model[i].addr, model[i].size);
	}
	while (feed.n < FEED_EVENTS - n - 4) {
		struct model_block *b = &model[random_after(&seed) % n], now = model_new(&seed);

		if (random_after(&seed) % 8 == 0) {
			model_realloc(b, &seed);
			continue;
		}
		feed_alloc_from(now.stack, now.addr, now.size);
		model_free(b, &now);
		*b = now;
	}
	for (size_t i = 0; i < n; i++)
		model_free(&model[i], NULL);
	run();
	ck_assert_uint_eq(growth.sites, PLACES);
	for (size_t i = 0; i < growth.sites; i++) {
		const struct growth_site *s = &growth.site[i];
		const struct model_chain *m = &model_sum[s->stack];

		ck_assert_uint_eq(s->steps, m->steps);
		ck_assert_uint_eq(s->copies, m->copies);
		ck_assert_uint_eq(s->moved, m->moved);
		ck_assert_uint_eq(s->copied, m->copied);
		ck_assert_uint_eq(s->first, m->first);
		ck_assert_uint_eq(s->greatest, m->greatest);
		chains += s->chains;
		steps += s->steps;
		copies += s->copies;
		copied += s->copied;
	}
	ck_assert_uint_eq(growth.chains, chains);
	ck_assert_uint_eq(growth.steps, steps);
	ck_assert_uint_eq(growth.copies, copies);
	ck_assert_uint_eq(growth.copied, copied);
	release();
}
END_TEST

/* ---- who frees whose blocks ---- */

static void by_thread(uint32_t thread)
{
	feed.thread = thread;
}

START_TEST(producers_and_consumers)
{
	const struct cross_free_thread *t;
	const struct cross_free_pair *p;

	by_thread(1);
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 100);
	feed_alloc(MPROF_FN_MALLOC, 0x2000, 10);
	feed_alloc(MPROF_FN_MALLOC, 0x3000, 1);
	by_thread(2);
	feed_free(0x1000);
	feed_alloc(MPROF_FN_MALLOC, 0x4000, 1000);
	feed_realloc(0x2000, 0x2000, 20); /* takes it over */
	by_thread(3);
	feed_free(0x2000);
	feed_free(0x4000);
	by_thread(1);
	feed_free(0x3000);
	run();
	ck_assert_uint_eq(cross_frees.pairs, 2);
	ck_assert_uint_eq(cross_frees.pair[0].from, 2);
	ck_assert_uint_eq(cross_frees.pair[0].to, 3);
	ck_assert_uint_eq(cross_frees.pair[0].sum.bytes, 1020);
	p = cross_free_find(&cross_frees, 1, 2);
	ck_assert_uint_eq(p->sum.blocks, 2);
	ck_assert_uint_eq(p->sum.bytes, 110);
	ck_assert_ptr_null(cross_free_find(&cross_frees, 1, 3));
	t = cross_frees.thread.item;
	ck_assert_uint_eq(t[0].number, 1);
	ck_assert_uint_eq(t[0].allocated.blocks, 3);
	ck_assert_uint_eq(t[0].own.bytes, 1);
	ck_assert_uint_eq(t[0].by_others.bytes, 110);
	ck_assert_uint_eq(t[1].of_others.blocks, 2);
	ck_assert_uint_eq(t[1].consumers, 1);
	ck_assert_uint_eq(t[2].producers, 1);
	ck_assert_uint_eq(cross_frees.all.bytes, 1130);
	release();
}
END_TEST

START_TEST(more_pairs_than_there_is_room_for)
{
	uint32_t i;

	cross_frees.limit = 10;
	for (i = 1; i < 40; i++) {
		by_thread(i);
		feed_alloc(MPROF_FN_MALLOC, 0x1000, 8);
		by_thread(i + 1);
		feed_free(0x1000);
	}
	run();
	ck_assert_uint_eq(cross_frees.pairs, 10);
	ck_assert_uint_eq(cross_frees.all.blocks, 39);
	ck_assert_uint_eq(cross_frees.rest.blocks, 29);
	release();
}
END_TEST

Suite *pass_growth_suite(void)
{
	Suite *s = suite_create("pass_growth");
	TCase *c = tcase_create("walked");

	tcase_add_checked_fixture(c, feed_start, NULL);
	tcase_add_test(c, one_long_chain);
	tcase_add_test(c, moves_and_shrinking);
	tcase_add_test(c, grown_by_copies);
	tcase_add_test(c, copied_then_reallocated);
	tcase_add_test(c, not_grown_by_copies);
	tcase_add_test(c, replaced_by_chance);
	tcase_add_test(c, the_same_place_from_elsewhere);
	tcase_add_test(c, blocks_that_replace_each_other);
	tcase_add_test(c, advice_covers_nine_tenths);
	tcase_add_loop_test(c, as_a_model_counts, 0, 4);
	tcase_add_test(c, producers_and_consumers);
	tcase_add_test(c, more_pairs_than_there_is_room_for);
	suite_add_tcase(s, c);
	return s;
}
