// SPDX-License-Identifier: LGPL-3.0-or-later
/* pass_fused.c - the fused loop has the results of the passes' own loops. */
#include "suites.h"

#include <string.h>

#include "feed.h"
#include "pass/analysis.h"
#include "pass/cells.h"
#include "pass/cross_frees.h"
#include "pass/programs.h"

#define EVENTS 30000u
#define BLOCKS 300u
#define SITES  8u
#define NODES  (2 * SITES + 1)

static uint64_t random_number(void)
{
	static uint64_t state = 88172645463325252ull;

	return random_after(&state);
}

/* Sizes rise at first and in the middle, so that peaks come late, too. */
static uint64_t any_size(void)
{
	return random_number() % (feed.n / 4 + 100);
}

static void stack(uint32_t number)
{
	feed.event[feed.n - 1].stack = number;
}

/* A call of the process's own block k. */
static void any_call(bool *lives, uint64_t k)
{
	const uint64_t addr = 0x100000 + (k + BLOCKS * feed.process) * 0x10000;
	const uint32_t site = 1 + (uint32_t)(random_number() % (NODES - 1));

	if (!lives[k]) {
		feed_alloc(random_number() & 1 ? MPROF_FN_MALLOC : MPROF_FN_CALLOC, addr,
			   any_size());
		lives[k] = true;
	} else if (random_number() % 4) {
		feed_free(addr);
		lives[k] = false;
	} else {
		feed_realloc(addr, addr + 16 * (random_number() & 1), any_size());
		lives[k] = feed.event[feed.n - 1].addr == addr;
		if (!lives[k])
			feed_free(addr + 16);
	}
	stack(site);
}

/* What a vector does: a larger block of the same place, then the smaller one is freed. */
static void copies(bool *lives, uint64_t k)
{
	const uint64_t addr = 0x100000 + (k + BLOCKS * feed.process) * 0x10000;

	if (lives[k] || lives[k + 1])
		return;
	feed_alloc(MPROF_FN_MALLOC, addr, 100 + k);
	stack(1);
	feed_alloc(MPROF_FN_MALLOC, addr + 0x10000, 150 + k);
	stack(1 + (uint32_t)(k & 1));
	feed_free(addr);
	feed_free(addr + 0x10000);
}

/* What has to be decided. */
static void odd_event(void)
{
	switch (random_number() % 6) {
	case 0:
		feed_free(0);
		break;
	case 1:
		feed_free(0x77770000); /* nobody has it */
		break;
	case 2:
		feed_alloc(MPROF_FN_MALLOC, 0, 1ull << 60);
		break;
	case 3:
		feed_alloc(MPROF_FN_MALLOC, 0x55550000, any_size()); /* and again */
		break;
	case 4:
		feed_realloc(0, 0, 1ull << 60);
		break;
	default:
		feed_event(EVENT_CALL, MPROF_FN_MMAP, 0x7f0000000000 + feed.n * 0x1000, 0x1000)
		    ->usable = 3 | 0x22ull << 32;
	}
}

/* Two threads of one process, one of another, and a child that inherits. */
static void any_events(void)
{
	static bool lives[4][BLOCKS + 1];
	struct mprof_fact *fork;
	uint64_t r;

	feed_fact(MPROF_FACT_START, 1);
	feed_fact(MPROF_FACT_START, 2);
	while (feed.n < EVENTS) {
		if (feed.n > EVENTS / 3 && feed.fact_count == 2) {
			fork = feed_fact(MPROF_FACT_START, 3);
			fork->parent = 1;
			fork->fork_ticks = fork->ticks - 1;
		}
		if (random_number() % 300 == 0) {
			feed.thread = 1 + (uint32_t)(random_number() % (feed.fact_count + 1));
			feed.process = feed.thread == 1 ? 1 : feed.thread - 1;
		}
		r = random_number();
		if (r % 50 == 0)
			odd_event();
		else if (r % 50 < 5)
			copies(lives[feed.process], random_number() % (BLOCKS - 1));
		else
			any_call(lives[feed.process], random_number() % BLOCKS);
	}
}

#define SAME(member) \
	ck_assert_msg(!memcmp(&a->member, &b->member, sizeof(a->member)), "%s differs", #member)

static void same_sites(const struct sites *a, const struct sites *b)
{
	size_t i;

	ck_assert_uint_eq(a->count, b->count);
	for (i = 0; i < a->count; i++) {
		struct site x, y;

		sites_site(a, i, &x);
		sites_site(b, i, &y);
		ck_assert_uint_eq(x.key, y.key);
#define FIGURE(member, unit, add, from, json, help) \
	if (x.v.member != y.v.member)               \
		ck_abort_msg(#member " of a site differs");
#include "pass/figures.def"
		ck_assert(!memcmp(x.v.epoch_bytes, y.v.epoch_bytes, sizeof(x.v.epoch_bytes)));
		ck_assert_uint_eq(x.v.first_ticks, y.v.first_ticks);
		ck_assert_uint_eq(x.v.last_ticks, y.v.last_ticks);
	}
	SAME(peak.bytes);
	SAME(peak.calls);
	SAME(peak.ticks);
	SAME(rss.bytes);
	SAME(rss.calls);
	SAME(rss.ticks);
	SAME(rss.mapped);
	SAME(rss.unseen);
}

static void same_growth(const struct growth *a, const struct growth *b)
{
	size_t i;

	SAME(sites);
	SAME(chains);
	SAME(steps);
	SAME(copies);
	SAME(copied);
	for (i = 0; i < a->sites; i++) {
		SAME(site[i].stack);
		SAME(site[i].chains);
		SAME(site[i].steps);
		SAME(site[i].moved);
		SAME(site[i].copied);
		SAME(site[i].longest);
		SAME(site[i].greatest);
	}
}

static void same(const struct analysis *a, const struct analysis *b)
{
	SAME(totals.all);
	SAME(totals.thread.count);
	SAME(peak.all.at);
	SAME(peak.all.event);
	SAME(peak.all.block_ticks);
	SAME(sizes.total);
	SAME(sizes.bytes);
	SAME(never_freed.all);
	SAME(resizes.calls);
	SAME(resizes.grown_bytes);
	SAME(resizes.copied_bytes);
	SAME(resizes.pair);
	SAME(resizes.chain);
	SAME(resizes.longest);
	SAME(lifetimes.bucket);
	SAME(lifetimes.blocks);
	SAME(lifetimes.under_1us);
	SAME(lifetimes.other_thread);
	SAME(lifetimes.least_ns);
	SAME(lifetimes.sum_ns);
	SAME(compactness.all.at_peak);
	SAME(compactness.all.high_touched);
	SAME(residency.fullest);
	SAME(resident_parts.sample.count);
	ck_assert(!memcmp(a->resident_parts.sample.item, b->resident_parts.sample.item,
			  a->resident_parts.sample.count * sizeof(struct resident_parts_sample)));
	SAME(resident_parts.shares.share.count);
	SAME(walk.heap.problems);
	same_sites(&a->sites, &b->sites);
	same_growth(&a->growth, &b->growth);
}

static void same_when_full(const struct analysis *a, const struct analysis *b)
{
	const struct compactness_of *x = a->compactness.process.item,
				    *y = b->compactness.process.item;
	size_t i;

	SAME(compactness.all);
	SAME(compactness.apart);
	SAME(compactness.process.count);
	for (i = 0; i < a->compactness.process.count; i++)
		ck_assert(!memcmp(&x[i], &y[i], sizeof(x[i])));
	SAME(sizes.classes);
	for (i = 0; i < a->sizes.classes; i++)
		SAME(sizes.class[i]);
	SAME(sizes.power);
	SAME(residency.compared);
	SAME(residency.mean);
}

static void any_run(void)
{
	static struct stack_node node[NODES];
	static struct stacks stacks = { .node = node, .nodes = NODES, .definitions = NODES };
	static const struct mprof_page_run pages = { 0x100, 0x4000 };
	static const struct mprof_residency head = { .ticks_before = 500000,
						     .ticks_after = 500001 };

	for (uint32_t i = 1; i < NODES; i++)
		node[i] = (struct stack_node){ .parent = i > SITES ? i - SITES : 0,
					       .frame = 1 + i % SITES };
	feed.stacks = &stacks;
	feed.residency[feed.residency_count++] =
	    (struct trace_residency){ .process = 1, .head = &head, .run = &pages, .runs = 1 };
	feed.peak[feed.peak_count++] = (struct trace_peak){
		.process = 1, .from_ticks = 700000, .ticks = 1500000, .rss = 50 << 20
	};
	any_events();
}

START_TEST(one_loop_has_the_results_of_many)
{
	const struct resident_parts_sample *parts;
	static struct analysis fused;

	feed.brief = _i;
	any_run();
	feed_run();
	ck_assert(feed.a.walk.fused);
	fused = feed.a;
	feed.read = 0;
	feed.one_by_one = true;
	feed_run();
	ck_assert(!feed.a.walk.fused);
	same(&fused, &feed.a);
	if (!feed.brief)
		same_when_full(&fused, &feed.a);
	/* It was worth it. */
	ck_assert_uint_gt(fused.growth.chains, 0);
	ck_assert_uint_gt(fused.sites.rss.calls, 0);
	ck_assert_uint_gt(fused.residency.fullest.under_live, 0);
	parts = fused.resident_parts.sample.item;
	ck_assert(parts->found && parts->ended && parts->gaps && parts->retained);
	ck_assert_uint_gt(fused.resident_parts.shares.share.count, 0);
	ck_assert_uint_gt(fused.resizes.chains, 0);
	ck_assert_uint_gt(fused.walk.heap.problems[HEAP_UNMATCHED_FREE], 0);
	ck_assert(fused.compactness.apart != feed.brief);
	feed_release();
	feed.a = fused;
	feed_release();
}
END_TEST

static uint32_t two_groups(void *context, uint32_t stack, uint64_t part)
{
	(void)context;
	return (stack + part) & 1;
}

#define NEARLY_ALL(...)                                                                    \
	{                                                                                  \
		.size_max = UINT64_MAX, .lifetime_max_ns = UINT64_MAX, .to_ns = INT64_MAX, \
		__VA_ARGS__                                                                \
	}

static const struct sites_options ask[] = {
	{ .filter = SITE_FILTER_ALL },
	{ .filter = SITE_FILTER_ALL, .group = two_groups },
	{ .filter = SITE_FILTER_ALL, .part = SITE_BY_THREAD },
	{ .filter = SITE_FILTER_ALL, .part = SITE_BY_SIZE, .group = two_groups },
	{ .filter = SITE_FILTER_ALL, .temporary_ns = 2000 },
	{ .filter = SITE_FILTER_ALL, .temporary_events = 3 },
	{ .filter = NEARLY_ALL(.process = 1) },
	{ .filter = NEARLY_ALL(.thread.number = 2) },
	{ .filter = NEARLY_ALL(.size_min = 500) },
	{ .filter = NEARLY_ALL(.lifetime_min_ns = 5000) },
	{ .filter = NEARLY_ALL(.from_ns = 900000) },
	{ .filter = NEARLY_ALL(.functions = 1u << MPROF_FN_CALLOC) },
};

/* Sites alone, whatever they are asked. */
START_TEST(sites_are_the_same)
{
	static struct sites one, many;
	static struct walk walk_one, walk_many;
	const struct walk_pass pass_one = { &sites_pass, &one };
	const struct walk_pass pass_many = { &sites_pass, &many };

	any_run();
	one.options = many.options = ask[_i];
	feed.fused = analysis_fused_sites;
	feed_walk(&walk_one, &pass_one, 1);
	ck_assert(!walk_one.fused == (one.options.temporary_events > 1));
	feed.read = feed.thread_count = 0;
	feed.fused = NULL;
	feed_walk(&walk_many, &pass_many, 1);
	ck_assert_uint_gt(one.count, 0);
	same_sites(&one, &many);
	ck_assert_uint_eq(one.groups, many.groups);
	for (size_t i = 0; i < one.groups; i++)
		ck_assert_uint_eq(one.local[i].bytes, many.local[i].bytes);
	walk_release(&walk_one);
	walk_release(&walk_many);
}
END_TEST

/* What a page of a report has of a walk. */
struct page {
	struct analysis analysis;
	struct cells cells;
	struct cross_frees cross_frees;
	struct programs programs;
	struct walk_pass pass[3 + ANALYSIS_PASSES];
	size_t passes;
	struct walk walk;
};

static void page_walk(struct page *p, bool fused)
{
	struct analysis_source source = { .damage = &feed.damage };
	struct analysis_page page = { &p->analysis, &p->cells, &p->cross_frees, &p->programs };

	source.input.stacks = feed.stacks;
	p->pass[0] = (struct walk_pass){ &cells_pass, &p->cells };
	p->pass[1] = (struct walk_pass){ &cross_free_pass, &p->cross_frees };
	p->pass[2] = (struct walk_pass){ &programs_pass, &p->programs };
	p->passes = 3 + analysis_begin(&p->analysis, &source, p->pass + 3);
	p->analysis.resident_parts.every = true;
	feed.read = feed.thread_count = 0;
	feed.fused = fused ? analysis_fused_page : NULL;
	feed.fused_self = &page;
	feed_walk(&p->walk, p->pass, p->passes);
}

static void same_cells(const struct cells *a, const struct cells *b)
{
	SAME(points);
	SAME(count);
	for (size_t i = 0; i < a->points; i++) {
		SAME(point[i].ticks);
		SAME(point[i].event);
		SAME(point[i].live.bytes);
		SAME(point[i].live.blocks);
		SAME(point[i].live.slack);
		SAME(point[i].calls);
		SAME(point[i].bytes);
		SAME(point[i].frees);
		SAME(point[i].freed);
		SAME(point[i].temporary);
		SAME(point[i].mapped);
	}
	for (size_t i = 0; i < a->count; i++)
		SAME(cell[i]);
}

static void same_cross_frees(const struct cross_frees *a, const struct cross_frees *b)
{
	const struct cross_free_thread *x = a->thread.item, *y = b->thread.item;

	SAME(pairs);
	SAME(all);
	SAME(rest);
	for (size_t i = 0; i < a->pairs; i++)
		SAME(pair[i]);
	SAME(thread.count);
	ck_assert(!memcmp(x, y, a->thread.count * sizeof(*x)));
}

START_TEST(pages_are_the_same)
{
	static struct page one, many;

	any_run();
	page_walk(&one, true);
	page_walk(&many, false);
	same(&one.analysis, &many.analysis);
	same_when_full(&one.analysis, &many.analysis);
	same_cells(&one.cells, &many.cells);
	same_cross_frees(&one.cross_frees, &many.cross_frees);
	ck_assert_uint_eq(one.programs.count, many.programs.count);
	for (size_t i = 0; i < one.programs.count; i++)
		ck_assert(!memcmp(&one.programs.list[i], &many.programs.list[i],
				  sizeof(*one.programs.list)));
	/* It was worth it. */
	ck_assert_uint_gt(one.cells.points, 100);
	ck_assert_uint_gt(one.cells.point[one.cells.points - 1].temporary, 0);
	ck_assert_uint_gt(one.cross_frees.all.blocks, 0);
	ck_assert_uint_gt(one.programs.count, 2);
	walk_release(&one.walk);
	walk_release(&many.walk);
}
END_TEST

Suite *pass_fused_suite(void)
{
	Suite *s = suite_create("pass_fused");
	TCase *c = tcase_create("random");

	tcase_add_checked_fixture(c, feed_start, NULL);
	tcase_add_loop_test(c, one_loop_has_the_results_of_many, 0, 2);
	tcase_add_loop_test(c, sites_are_the_same, 0, sizeof(ask) / sizeof(ask[0]));
	tcase_add_test(c, pages_are_the_same);
	suite_add_tcase(s, c);
	return s;
}
