// SPDX-License-Identifier: LGPL-3.0-or-later
/* pass_results.c - what passes make of known programs, to the byte. */
#include "suites.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "pass/resident_parts.h"
#include "pass/rss.h"
#include "print/text.h"
#include "util/order.h"
#include "feed.h"

#define MIB 1048576u

static void no_problems(void)
{
	int k;

	for (k = 0; k < HEAP_PROBLEM_KINDS; k++)
		ck_assert_uint_eq(feed.a.walk.heap.problems[k], 0);
}

static uint64_t calls(uint8_t fn)
{
	return feed.a.totals.all.fn[fn].calls;
}
static uint64_t bytes(uint8_t fn)
{
	return feed.a.totals.all.fn[fn].bytes;
}

/* malloc, realloc that grows, calloc, posix_memalign, aligned_alloc, four frees, one leak. */
START_TEST(every_function_once)
{
	const struct never_freed *left = &feed.a.never_freed;

	feed_alloc(MPROF_FN_MALLOC, 0x10000, 100);
	feed_realloc(0x10000, 0x10000, 300);
	feed_alloc(MPROF_FN_CALLOC, 0x10140, 21);
	feed_alloc(MPROF_FN_POSIX_MEMALIGN, 0x10180, 640);
	feed_alloc(MPROF_FN_ALIGNED_ALLOC, 0x10440, 128);
	feed_free(0x10000);
	feed_free(0x10140);
	feed_free(0x10180);
	feed_free(0x10440);
	feed_alloc(MPROF_FN_MALLOC, 0x10000, 55);
	feed_run();
	no_problems();
	ck_assert_uint_eq(calls(MPROF_FN_MALLOC), 2);
	ck_assert_uint_eq(calls(MPROF_FN_FREE), 4);
	ck_assert_uint_eq(calls(MPROF_FN_CALLOC), 1);
	ck_assert_uint_eq(calls(MPROF_FN_REALLOC), 1);
	ck_assert_uint_eq(calls(MPROF_FN_POSIX_MEMALIGN), 1);
	ck_assert_uint_eq(calls(MPROF_FN_ALIGNED_ALLOC), 1);
	ck_assert_uint_eq(feed.a.totals.all.calls, 10);
	ck_assert_uint_eq(feed.a.totals.all.allocated, 100 + 300 + 21 + 640 + 128 + 55);
	ck_assert_uint_eq(bytes(MPROF_FN_FREE), 1089);
	ck_assert_uint_eq(feed.a.peak.all.at.bytes, 1089);
	ck_assert_uint_eq(feed.a.peak.all.blocks, 4);
	ck_assert_uint_eq(feed.a.peak.all.event, 6);
	ck_assert_uint_eq(left->all.blocks, 1);
	ck_assert_uint_eq(left->all.bytes, 55);
	ck_assert_uint_eq(left->classes, 1);
	ck_assert_uint_eq(left->class[0].size, 55);
	ck_assert_uint_eq(left->oldest_count, 1);
	ck_assert_uint_eq(left->oldest[0].addr, 0x10000);
	ck_assert_uint_eq(feed.a.compactness.all.high_pages, 1);
	ck_assert_uint_eq(feed.a.compactness.all.high_bytes, 1089);
	ck_assert(feed.a.compactness.all.min == 1 && feed.a.compactness.all.max == 1);
}
END_TEST

/* A = 3 MiB, B = 5, free A, C = 4, free B, A again, free C, free A. */
START_TEST(three_functions_overlap)
{
	const uint64_t a = 0x7f0000000010, b = 0x7f1000000010, c = 0x7f2000000010;

	feed_alloc(MPROF_FN_MALLOC, a, 3 * MIB);
	feed_alloc(MPROF_FN_MALLOC, b, 5 * MIB);
	feed_free(a);
	feed_alloc(MPROF_FN_MALLOC, c, 4 * MIB);
	feed_free(b);
	feed_alloc(MPROF_FN_MALLOC, a, 3 * MIB);
	feed_free(c);
	feed_free(a);
	feed_run();
	no_problems();
	ck_assert_uint_eq(feed.a.peak.all.at.bytes, 9437184);
	ck_assert_uint_eq(feed.a.peak.all.event, 4);
	ck_assert_uint_eq(feed.a.never_freed.all.blocks, 0);
	ck_assert_uint_eq(feed.a.totals.all.allocated, 15 * MIB);
	/* Each block begins 16 bytes into a page and so touches one page more. */
	ck_assert_uint_eq(feed.a.compactness.all.high_pages, (5 + 4) * 256 + 2);
	ck_assert_uint_eq(feed.a.compactness.all.high_needed, 9 * 256);
	ck_assert_uint_eq(feed.a.lifetimes.blocks, 4);
}
END_TEST

/* Two peaks, the second ten times the first: it is the second, to the block. */
START_TEST(the_greater_of_two_peaks)
{
	uint64_t i;

	for (i = 0; i < 1024; i++)
		feed_alloc(MPROF_FN_MALLOC, 0x1000000 + i * 1024, 1024);
	for (i = 0; i < 1024; i++)
		feed_free(0x1000000 + i * 1024);
	for (i = 0; i < 1024; i++)
		feed_alloc(MPROF_FN_MALLOC, 0x2000000 + i * 10240, 10240);
	for (i = 0; i < 1024; i++)
		feed_free(0x2000000 + i * 10240);
	feed_run();
	no_problems();
	ck_assert_uint_eq(feed.a.peak.all.at.bytes, 10485760);
	ck_assert_uint_eq(feed.a.peak.all.at.blocks, 1024);
	ck_assert_uint_eq(feed.a.peak.all.event, 3 * 1024);
	ck_assert(feed.a.compactness.all.at_peak == 1.0);
	ck_assert_uint_eq(feed.a.sizes.classes, 2);
	ck_assert_uint_eq(feed.a.sizes.class[0].size, 1024);
	ck_assert_uint_eq(feed.a.sizes.class[1].count, 1024);
	ck_assert_uint_eq(feed.a.sizes.bytes, 1048576 + 10485760);
}
END_TEST

/*
 * Blocks that each move, i + 1 times: chains of many calls, and of more bytes than 32 bits hold,
 * which end and begin in another order.
 */
START_TEST(chains_of_any_length)
{
	const struct resizes *r = &feed.a.resizes;
	uint64_t addr[40], copied = 0, next = 1ull << 40;

	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 40; i++)
			feed_alloc(MPROF_FN_MALLOC, addr[i] = next += 1ull << 32, 8);
		for (unsigned k = 0; k < 40; k++)
			for (unsigned i = k; i < 40; i++) {
				next += 1ull << 32;
				feed_realloc(addr[i], next, k < 20 ? 16 : 1u << 31);
				copied += !k ? 8 : k < 21 ? 16 : 1u << 31;
				addr[i] = next;
			}
		for (unsigned i = 0; i < 40; i++)
			feed_free(addr[i * 7 % 40]);
	}
	feed_run();
	no_problems();
	ck_assert_uint_eq(r->calls, 2 * 40 * 41 / 2);
	ck_assert_uint_eq(r->copied_bytes, copied);
	ck_assert_uint_eq(r->chains, 80);
	for (unsigned i = 0; i < 6; i++)
		ck_assert_uint_eq(r->chain[i], i < 5 ? 2u << i : 2 * 9);
	ck_assert_uint_eq(r->longest, 40);
	ck_assert_uint_eq(r->longest_copied, 8 + 20 * 16 + 19 * (1ull << 31));
	ck_assert_uint_eq(r->mosts, 4);
	ck_assert_uint_eq(r->more_calls, 0);
}
END_TEST

/* One block, 256 bytes more each time, up to 1 MiB. */
START_TEST(a_chain_of_reallocs)
{
	const struct resizes *r = &feed.a.resizes;
	uint64_t size = 512, n = 0;

	feed_alloc(MPROF_FN_MALLOC, 0x100000, 512);
	while (size < MIB) {
		size += 256;
		feed_realloc(0x100000, 0x100000, size);
		n++;
	}
	feed_free(0x100000);
	feed_run();
	no_problems();
	ck_assert_uint_eq(n, 4094);
	ck_assert_uint_eq(r->calls, 4094);
	ck_assert_uint_eq(r->in_place.grew, 4094);
	ck_assert_uint_eq(r->grown_bytes, 1048064);
	/* Each pair of sizes once: the first ones are listed, the others counted. */
	ck_assert_uint_eq(r->mosts, RESIZES_MOST);
	ck_assert_uint_eq(r->most[0].from, 512);
	ck_assert_uint_eq(r->most[0].to, 768);
	ck_assert_uint_eq(r->more_calls, 4094 - RESIZES_MOST);
	ck_assert_uint_eq(r->pair[10][10], 1); /* 512 to 768 */
	ck_assert_uint_eq(r->pair[10][11], 1);
	ck_assert_uint_eq(r->pair[11][11], 3);
	ck_assert_uint_eq(r->pair[20][21], 1);
	ck_assert_uint_eq(r->copied_bytes, 0);
	ck_assert_uint_eq(r->longest, 4094);
	ck_assert_uint_eq(r->chain[11], 1);
	ck_assert_uint_eq(feed.a.never_freed.all.blocks, 0);
}
END_TEST

/* ---- sizes ---- */

START_TEST(size_classes_by_size_and_power)
{
	const struct sizes *s = &feed.a.sizes;
	static const uint64_t size[] = { 0, 1, 2, 3, 4, 65535, 65536, 65537, 1ull << 40 };
	size_t i, k;

	for (i = 0; i < 9; i++)
		for (k = 0; k <= i; k++)
			feed_alloc(MPROF_FN_MALLOC,
				   (i << 48) + 0x100000 + k * 0x1000000000000ull / 16, size[i]);
	feed_alloc(MPROF_FN_MALLOC, 0, 77); /* failed: no block */
	feed_run();
	ck_assert_uint_eq(s->classes, 9);
	for (i = 0; i < 9; i++) {
		ck_assert_uint_eq(s->class[i].size, size[i]);
		ck_assert_uint_eq(s->class[i].count, i + 1);
		ck_assert_uint_eq(s->class[i].waste, (i + 1) * 8 * (size[i] & 1));
	}
	ck_assert_uint_eq(s->power[0].count, 1);
	ck_assert_uint_eq(s->power[1].count, 2);
	ck_assert_uint_eq(s->power[2].count, 3 + 4);
	ck_assert_uint_eq(s->power[3].count, 5);
	ck_assert_uint_eq(s->power[16].count, 6);
	ck_assert_uint_eq(s->power[17].count, 7 + 8);
	ck_assert_uint_eq(s->power[41].count, 9);
	ck_assert_uint_eq(s->total.count, 45);
	ck_assert_uint_eq(feed.a.totals.all.failed, 1);
}
END_TEST

START_TEST(many_large_sizes)
{
	uint64_t i;

	for (i = 0; i < 5000; i++)
		feed_alloc(MPROF_FN_MALLOC, (i + 1) << 32, 100000 + i * 7);
	feed_run();
	ck_assert_uint_eq(feed.a.sizes.classes, 5000);
	for (i = 0; i < 5000; i++)
		ck_assert_uint_eq(feed.a.sizes.class[i].size, 100000 + i * 7);
}
END_TEST

/* The table of blocks never freed has separate slots for fewer sizes. */
START_TEST(sizes_never_freed_are_those_allocated)
{
	const struct never_freed *left = &feed.a.never_freed;
	const struct sizes *s = &feed.a.sizes;
	uint64_t i, blocks = 0;

	for (i = 0; i < 4000; i++) /* up to 105,000 bytes */
		feed_alloc(MPROF_FN_MALLOC, (i + 1) << 20, i < 2000 ? i * 2 : i * 26 % 105000);
	feed_run();
	ck_assert_uint_eq(left->classes, s->classes);
	for (i = 0; i < left->classes; i++) {
		const struct size_class *c = &left->class[i];
		const size_t at = FIRST_WHERE(k, s->classes, s->class[k].size >= c->size);

		ck_assert_uint_eq(s->class[at].size, c->size);
		ck_assert_uint_eq(s->class[at].count, c->count);
		ck_assert_uint_eq(s->class[at].waste, c->waste);
		blocks += c->count;
	}
	ck_assert_uint_eq(blocks, 4000);
}
END_TEST

/* ---- lifetimes ---- */

static void lives_for(uint64_t addr, uint64_t ns)
{
	feed_alloc(MPROF_FN_MALLOC, addr, 8);
	feed.ticks += ns - 100;
	feed_free(addr);
}

/* Without tables, what the first screen prints is the same. */
START_TEST(a_brief_analysis_has_the_figures_of_the_screen)
{
	struct size_class total;
	uint64_t bytes, touched;
	double at_peak;
	uint64_t i;

	for (i = 0; i < 300; i++) {
		feed.process = 1 + i % 2;
		feed_alloc(MPROF_FN_MALLOC, 0x10000 + i * 10000, 1 + i * i % 9000);
		if (i % 3)
			feed_realloc(0x10000 + i * 10000, 0x10000 + i * 10000, 100000 % (i + 1));
		if (i > 200)
			feed_free(0x10000 + i * 10000);
	}
	feed_run();
	total = feed.a.sizes.total;
	bytes = feed.a.sizes.bytes;
	touched = feed.a.compactness.all.high_touched;
	at_peak = feed.a.compactness.all.at_peak;
	ck_assert_uint_eq(total.count, 500);
	ck_assert_uint_gt(touched, 200);
	feed_release();

	feed.read = 0;
	feed.brief = true;
	feed_run();
	ck_assert_uint_eq(feed.a.sizes.classes, 0);
	ck_assert_uint_eq(feed.a.sizes.total.count, total.count);
	ck_assert_uint_eq(feed.a.sizes.total.waste, total.waste);
	ck_assert_uint_eq(feed.a.sizes.bytes, bytes);
	ck_assert_uint_eq(feed.a.compactness.all.states, 0);
	ck_assert_uint_eq(feed.a.compactness.all.high_touched, touched);
	ck_assert(feed.a.compactness.all.at_peak == at_peak);
}
END_TEST

/* Pages at the peak are counted in regions of 2^14 pages, of which the latest are found quickly. */
START_TEST(a_brief_analysis_counts_pages_of_many_regions)
{
	const uint64_t region = 1ull << 26, regions = 40;
	uint64_t i;

	for (i = 0; i < 2 * regions; i++) {
		feed.process = 1 + i % 2;
		feed_alloc(MPROF_FN_MALLOC, (1 + i / 2 * 7 % regions) * region + 64, 8);
		feed_alloc(MPROF_FN_MALLOC, (1 + i / 2 * 7 % regions) * region + 128, 8);
	}
	/* 8 regions apart, then those beside each other */
	for (i = 0; i < 2 * regions; i++) {
		feed.process = 1 + i % 2;
		feed_free((1 + i / 2 * 8 % regions + i / 2 * 8 / regions) * region + 64);
	}
	for (i = 0; i < regions; i++) {
		feed.process = 1;
		feed_free((1 + i) * region + 128);
	}
	feed.brief = true;
	feed_run();
	ck_assert_uint_eq(feed.a.compactness.all.high_touched, 2 * regions);
}
END_TEST

START_TEST(lifetimes_in_their_buckets)
{
	const struct lifetimes *l = &feed.a.lifetimes;

	lives_for(0x1000, 100);
	lives_for(0x1000, 127);
	lives_for(0x1000, 128);
	lives_for(0x1000, 999);
	lives_for(0x1000, 1000);
	lives_for(0x1000, 999999);
	lives_for(0x1000, 1000000);
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 8);
	feed.ticks -= 100;
	feed_free(0x1000);
	feed_run();
	ck_assert_uint_eq(l->blocks, 8);
	ck_assert_uint_eq(l->bucket[0], 1);
	ck_assert_uint_eq(l->bucket[6], 2);
	ck_assert_uint_eq(l->bucket[7], 1);
	ck_assert_uint_eq(l->bucket[9], 2);
	ck_assert_uint_eq(l->bucket[19], 2);
	ck_assert_uint_eq(l->under_1us, 5);
	ck_assert_uint_eq(l->under_1ms, 7);
	ck_assert_uint_eq(l->least_ns, 0);
	ck_assert_uint_eq(l->most_ns, 1000000);
	ck_assert(l->sum_ns == 100 + 127 + 128 + 999 + 1000 + 999999 + 1000000);
}
END_TEST

/* ---- compactness ---- */

START_TEST(compactness_over_events_and_time)
{
	const struct compactness_of *c = &feed.a.compactness.all;

	feed_alloc(MPROF_FN_MALLOC, 0x10000, 4096); /* 1 of 1, for 100 ns */
	feed_alloc(MPROF_FN_MALLOC, 0x20000, 1);    /* 2 of 2, for 100 */
	feed_alloc(MPROF_FN_MALLOC, 0x30000, 1);    /* 2 of 3, for 100 */
	feed_free(0x10000);			    /* 1 of 2, for 700 */
	feed.ticks += 600;
	feed_free(0x20000); /* 1 of 1, for 100 */
	feed_free(0x30000); /* nothing: not counted */
	feed_run();
	ck_assert_uint_eq(c->states, 5);
	ck_assert(c->min == 0.5 && c->max == 1.0);
	ck_assert_double_eq_tol(c->mean, (1 + 1 + 2.0 / 3 + 0.5 + 1) / 5, 1e-12);
	ck_assert_double_eq_tol(c->mean_over_time, (300 + 200.0 / 3 + 350) / 1100, 1e-12);
	ck_assert_uint_eq(c->high_pages, 3);
	ck_assert_uint_eq(c->high_bytes, 4098);
	ck_assert_double_eq_tol(c->at_peak, 2.0 / 3, 1e-12);
}
END_TEST

/* A state lasts until its process ends, in the run as in the process. */
START_TEST(compactness_until_the_end)
{
	const struct compactness_of *all = &feed.a.compactness.all, *c;

	feed_fact(MPROF_FACT_START, 1);
	feed_fact(MPROF_FACT_START, 2);
	feed_alloc(MPROF_FN_MALLOC, 0x10000, 4096); /* 1 of 1, for 100 ns */
	feed.process = feed.thread = 2;
	feed_alloc(MPROF_FN_MALLOC, 0x10ff8, 16); /* 1 of 2, for 300; in all 2 of 3 */
	feed.ticks += 200;
	feed_fact(MPROF_FACT_END, 2);
	feed.ticks += 500; /* in all 1 of 1, for 600 */
	feed_fact(MPROF_FACT_END, 1);
	feed_run();
	c = feed.a.compactness.process.item;
	ck_assert_uint_eq(feed.a.compactness.process.count, 2);
	ck_assert(c[0].mean_over_time == 1 && c[1].mean_over_time == 0.5);
	ck_assert_double_eq_tol(all->mean_over_time, (100 + 200 + 600) / 1000.0, 1e-12);
	ck_assert_uint_eq(all->states, 2);
	ck_assert_double_eq_tol(all->min, 2.0 / 3, 1e-12);
	feed_release();
	feed_start();
	feed_alloc(MPROF_FN_MALLOC, 0x10000, 4096);
	feed_alloc(MPROF_FN_MALLOC, 0x20ff8, 16); /* 2 of 3, for 900 ns */
	feed.ticks += 800;
	feed_fact(MPROF_FACT_END, 1);
	feed_run();
	ck_assert_double_eq_tol(all->mean_over_time, (100 + 600) / 1000.0, 1e-12);
}
END_TEST

START_TEST(compactness_of_what_was_in_memory)
{
	static const struct mprof_page_run run[] = { { 0x10, 2 }, { 0x20, 1 }, { 0x40, 8 } };
	static struct mprof_residency head = { .rss = 123456, .runs = 3 };
	const struct residency_sample *s;

	feed_alloc(MPROF_FN_MALLOC, 0x10000, 100);    /* page 0x10, resident */
	feed_alloc(MPROF_FN_MALLOC, 0x10800, 0x1000); /* half of 0x10, half of 0x11, both are */
	feed_alloc(MPROF_FN_MALLOC, 0x20ff0, 0x20);   /* 16 bytes on 0x20, 16 on 0x21 that is not */
	feed_alloc(MPROF_FN_MALLOC, 0x3f000, 0x3000); /* 0x3f is not, 0x40 and 0x41 are */
	feed_alloc(MPROF_FN_MALLOC, 0x900000, 0x5000); /* never touched */
	feed_alloc(MPROF_FN_MALLOC, 0x45000, 0x1800);  /* 0x45 and half of 0x46, both are */
	/* A block that a realloc has is live until the realloc returns. */
	feed_event(EVENT_REALLOC_BEGIN, MPROF_FN_REALLOC, 0x45000, 0x2000);
	head.ticks_before = feed.ticks - 1;
	feed_event(EVENT_REALLOC_END, MPROF_FN_REALLOC, 0x50000, 0x2000)->usable = 0x2000;
	feed_free(0x50000);
	feed_free(0x10000);
	feed.residency[feed.residency_count++] = (struct trace_residency){
		.process = 1,
		.head = &head,
		.run = run,
		.runs = 3,
	};
	feed_run();
	ck_assert_uint_eq(feed.a.residency.sample.count, 1);
	s = feed.a.residency.sample.item;
	ck_assert_uint_eq(s->resident, 11);
	ck_assert_uint_eq(s->under_live, 2 + 1 + 2 + 2);
	ck_assert_uint_eq(s->live_bytes, 100 + 0x1000 + 0x20 + 0x3000 + 0x5000 + 0x1800);
	ck_assert_uint_eq(s->live_resident_bytes, 100 + 0x1000 + 0x10 + 0x2000 + 0x1800);
	ck_assert_uint_eq(s->needed, 5);
	ck_assert(s->compactness == 5.0 / 7);
	ck_assert_uint_eq(s->rss, 123456);
	feed_release();

	/* The fullest sample is the first screen's: blocks that come and go later are not in it. */
	feed_alloc(MPROF_FN_MALLOC, 0x10100, 100);
	feed_free(0x10100);
	feed_free(0x10800);
	feed_alloc(MPROF_FN_MALLOC, 0x40000, 0x2000);
	feed.read = 0;
	feed.brief = true;
	feed_run();
	ck_assert_uint_eq(feed.a.residency.sample.count, 1);
	ck_assert_uint_eq(feed.a.residency.compared, 1);
	ck_assert_uint_eq(feed.a.residency.fullest.resident, 11);
	ck_assert_uint_eq(feed.a.residency.fullest.under_live, 2 + 1 + 2 + 2);
}
END_TEST

static void add_pages(struct mprof_residency *head, const struct mprof_page_run *run)
{
	*head = (struct mprof_residency){ .ticks_before = feed.ticks - 1,
					  .rss = run->count << 12,
					  .runs = 1 };
	feed.residency[feed.residency_count++] =
	    (struct trace_residency){ .process = 1, .head = head, .run = run, .runs = 1 };
}

/* Whatever the program is that the process runs then. */
START_TEST(parts_when_most_was_resident)
{
	static const struct mprof_page_run run[] = { { 0x10, 3 }, { 0x10, 8 }, { 0x20, 2 } };
	static struct mprof_residency head[3];
	struct resident_parts parts = { .used = false };
	const struct walk_pass pass = { &resident_largest_pass, &parts };
	const struct resident_parts_sample *s;
	struct walk w;

	feed_alloc(MPROF_FN_MALLOC, 0x10000, 0x2000);
	add_pages(&head[0], &run[0]);
	feed_alloc(MPROF_FN_MALLOC, 0x12000, 0x5000);
	add_pages(&head[1], &run[1]);
	feed_free(0x12000);
	feed_fact(MPROF_FACT_EXEC, 1);
	feed_alloc(MPROF_FN_MALLOC, 0x20000, 0x1000);
	add_pages(&head[2], &run[2]);
	feed_alloc(MPROF_FN_MALLOC, 0x30000, 0x1000);
	feed_walk(&w, &pass, 1);
	ck_assert_uint_eq(parts.sample.count, 3);
	s = parts.sample.item;
	ck_assert(!s[0].found && s[1].found && !s[2].found);
	ck_assert_uint_eq(s[1].live, 0x7000);
	pass_release(&resident_largest_pass, &parts);
	walk_release(&w);
}
END_TEST

/* ---- address space ---- */

static void feed_mmap(uint64_t addr, uint64_t size, uint64_t flags)
{
	feed_event(EVENT_CALL, MPROF_FN_MMAP, addr, size)->usable = flags << 32;
}

static void feed_munmap(uint64_t addr, uint64_t size)
{
	feed_event(EVENT_CALL, MPROF_FN_MUNMAP, addr, size);
}

static void feed_mremap(uint64_t old, uint64_t old_size, uint64_t addr, uint64_t size)
{
	struct event *e = feed_event(EVENT_CALL, MPROF_FN_MREMAP, addr, size);

	e->usable = old;
	e->arg = old_size;
}

#define BASE 0x7f0000000000ull

/* A map unmapped in two halves; another shrunk by mremap, then unmapped. */
START_TEST(maps_unmapped_in_halves)
{
	feed_mmap(BASE, MIB, MAP_ANONYMOUS);
	feed_munmap(BASE, MIB / 2);
	feed_munmap(BASE + MIB / 2, MIB / 2);
	feed_mmap(BASE, MIB, MAP_ANONYMOUS);
	feed_mremap(BASE, MIB, BASE, MIB / 2);
	feed_munmap(BASE, MIB / 2);
	feed_run();
	ck_assert_uint_eq(calls(MPROF_FN_MMAP) + calls(MPROF_FN_MREMAP), 3);
	ck_assert_uint_eq(bytes(MPROF_FN_MMAP) + bytes(MPROF_FN_MREMAP), 2621440);
	ck_assert_uint_eq(feed.a.maps.all.now, 0);
	ck_assert_uint_eq(feed.a.maps.all.peak, MIB);
	ck_assert_uint_eq(feed.a.maps.all.unknown_unmapped, 0);
}
END_TEST

/* The middle goes first, then all of it. */
START_TEST(maps_unmapped_from_the_middle)
{
	feed_mmap(BASE, MIB, MAP_ANONYMOUS);
	feed_munmap(BASE + MIB / 4, MIB / 2);
	feed_munmap(BASE, MIB);
	feed_run();
	ck_assert_uint_eq(calls(MPROF_FN_MMAP), 1);
	ck_assert_uint_eq(bytes(MPROF_FN_MMAP), 1048576);
	ck_assert_uint_eq(calls(MPROF_FN_MUNMAP), 2);
	ck_assert_uint_eq(bytes(MPROF_FN_MUNMAP), 1048576);
	ck_assert_uint_eq(feed.a.maps.all.now, 0);
	ck_assert_uint_eq(feed.a.maps.all.unknown_unmapped, 0);
}
END_TEST

START_TEST(maps_of_all_sorts)
{
	const struct maps_of *m = &feed.a.maps.all;
	struct event *e;

	feed_mmap(BASE, 5000, MAP_ANONYMOUS);	   /* two pages */
	feed_mmap(BASE + 4096, 4096, MAP_PRIVATE); /* a file over the second */
	feed_mmap(0, 1 << 30, MAP_ANONYMOUS);
	feed.event[feed.n - 1].error = 12;
	feed_mremap(BASE, 4096, BASE + 0x10000, 8192); /* the anonymous one moves and grows */
	feed_mmap(BASE + MIB, 8192, MAP_PRIVATE);
	feed_munmap(BASE + MIB, 8192);
	e = feed_event(EVENT_CALL, MPROF_FN_SBRK, 0x5000, 0x3000);
	e->usable = 0x2000;
	e->arg = 0x3000;
	e = feed_event(EVENT_CALL, MPROF_FN_BRK, 0x4000, 0x1000);
	e->usable = 0x5000;
	feed_run();
	ck_assert_uint_eq(m->now, 8192);
	ck_assert_uint_eq(m->peak, 8192);
	ck_assert_uint_eq(m->file_now, 4096);
	ck_assert_uint_eq(m->file_peak, 12288);
	ck_assert_uint_eq(((struct maps_of *)feed.a.maps.process.item)->file_peak, 12288);
	ck_assert_int_eq(m->break_now, 0x2000);
	ck_assert_int_eq(m->break_peak, 0x3000);
	ck_assert_uint_eq(feed.a.totals.all.failed, 1);
}
END_TEST

static uint64_t state = 99;

static uint64_t random_number(void)
{
	return random_after(&state);
}

/* A process's address space, page by page. */
enum { PAGES = 256, STACKS = 4, UNSEEN = 0, GONE = 1, MAPPED = 2 };
struct page {
	unsigned char state; /* UNSEEN, GONE, or MAPPED + kind */
	unsigned char stack;
};

static uint64_t kind_as_flags(unsigned kind)
{
	const uint64_t prot = kind == SPACE_RESERVED ? PROT_NONE : PROT_READ | PROT_WRITE;
	const uint64_t flags = MAP_PRIVATE | (kind == SPACE_FILE ? 0 : MAP_ANONYMOUS);

	return prot | flags << 32;
}

static void model_map(struct page *page, uint64_t first, uint64_t end, unsigned kind,
		      unsigned stack)
{
	for (; first < end; first++)
		page[first] = (struct page){ (unsigned char)(MAPPED + kind), (unsigned char)stack };
}

static void model_unmap(struct page *page, uint64_t first, uint64_t end, uint64_t *unmapped,
			uint64_t *never)
{
	for (; first < end; first++) {
		*unmapped += page[first].state != GONE;
		*never += page[first].state == UNSEEN;
		page[first] = (struct page){ GONE, 0 };
	}
}

/* One random call, in the model too.  What it should say goes to unmapped and never. */
static struct event random_call(struct page *page, uint64_t *unmapped, uint64_t *never)
{
	const uint64_t first = random_number() % PAGES;
	const uint64_t n = 1 + random_number() % (PAGES - first);
	const uint64_t to = random_number() % PAGES, more = 1 + random_number() % (PAGES - to);
	const unsigned kind = (unsigned)(random_number() % 3);
	struct event e = { .kind = EVENT_CALL, .stack = 1 + (uint32_t)(random_number() % STACKS) };
	bool known;

	*unmapped = *never = 0;
	/* Lengths are rounded up to pages. */
	e.addr = first * 4096;
	e.size = n * 4096 - random_number() % 4096;
	switch (random_number() % 4) {
	case 0:
		e.fn = MPROF_FN_MMAP;
		e.usable = kind_as_flags(kind);
		model_map(page, first, first + n, kind, e.stack);
		break;
	case 1:
		e.fn = MPROF_FN_MREMAP;
		e.usable = e.addr;
		e.arg = random_number() % 8 ? e.size : 0; /* 0: the old one stays */
		e.addr = to * 4096;
		e.size = more * 4096;
		known = page[first].state >= MAPPED;

		{
			unsigned as = known ? page[first].state - MAPPED : SPACE_MEMORY;

			if (e.arg)
				model_unmap(page, first, first + n, unmapped, never);
			model_map(page, to, to + more, as, e.stack);
		}
		break;
	default:
		e.fn = MPROF_FN_MUNMAP;
		model_unmap(page, first, first + n, unmapped, never);
	}
	return e;
}

static void count_pages(const struct page *page, uint64_t bytes[SPACE_KINDS],
			int64_t of[SPACE_KINDS][STACKS + 1])
{
	memset(bytes, 0, SPACE_KINDS * sizeof(*bytes));
	memset(of, 0, SPACE_KINDS * sizeof(*of));
	for (int k = 0; k < PAGES; k++) {
		if (page[k].state < MAPPED)
			continue;
		bytes[page[k].state - MAPPED] += 4096;
		of[page[k].state - MAPPED][page[k].stack] += 4096;
	}
}

/* Do ranges say of each page what the model says, and could no two be one? */
static bool space_is(const struct space *s, const struct page *page)
{
	const struct map_range *r;

	for (uint64_t k = 0; k < PAGES; k++) {
		r = map_set_at(&s->mapped, k * 4096);
		if (page[k].state != (r ? MAPPED + r->kind : page[k].state & GONE) ||
		    (r && r->stack != page[k].stack) ||
		    (map_set_at(&s->gone, k * 4096) != NULL) != (page[k].state == GONE))
			return false;
	}
	for (r = s->mapped.range; r + 1 < s->mapped.range + s->mapped.count; r++)
		if (r->end > r[1].start ||
		    (r->end == r[1].start && r->kind == r[1].kind && r->stack == r[1].stack))
			return false;
	return true;
}

/* Random calls that overlap in every way, against pages counted one by one; now and then a fork. */
START_TEST(space_is_exact)
{
	struct page page[PAGES] = { { 0 } };
	struct space_changes changes = { .item = NULL };
	struct space s = { .moved_break = 0 }, child;
	int64_t sums[SPACE_KINDS][STACKS + 1] = { { 0 } }, of[SPACE_KINDS][STACKS + 1];
	uint64_t unmapped, never, bytes[SPACE_KINDS];
	struct space_note n;
	struct event e;

	state = 99 + (uint64_t)_i;
	for (int i = 0; i < 600; i++) {
		e = random_call(page, &unmapped, &never);
		changes.count = 0;
		space_apply(&s, &e, 4096, &changes, &n);
		ck_assert_uint_eq(n.unmapped, 4096 * unmapped);
		ck_assert_uint_eq(n.never_mapped, 4096 * never);
		ck_assert_uint_eq(n.changes, changes.count);
		for (size_t k = 0; k < changes.count; k++)
			sums[changes.item[k].kind][changes.item[k].stack] += changes.item[k].bytes;
		count_pages(page, bytes, of);
		ck_assert_mem_eq(bytes, n.bytes, sizeof(bytes));
		ck_assert_mem_eq(sums, of, sizeof(of));
		ck_assert(space_is(&s, page)); /* one: each takes a system call */
		if (i % 200 != 199)
			continue;
		child = (struct space){ .moved_break = 0 };
		space_inherit(&child, &s);
		space_release(&s);
		s = child;
		memset(sums, 0, sizeof(sums));
		for (int k = 0; k < PAGES; k++) {
			if (page[k].state < MAPPED)
				continue;
			page[k].state = MAPPED + SPACE_INHERITED;
			sums[SPACE_INHERITED][page[k].stack] += 4096;
		}
	}
	e.error = 22;
	space_apply(&s, &e, 4096, NULL, &n);
	ck_assert_uint_eq(n.unmapped, 0);
	ck_assert(space_is(&s, page));
	space_release(&s);
	free(changes.item);
}
END_TEST

/* A damaged trace may move the break by any number of bytes. */
START_TEST(space_of_a_damaged_break)
{
	struct space_changes changes = { .item = NULL };
	struct event e = { .fn = MPROF_FN_SBRK, .addr = 1ull << 63, .stack = 1 };
	struct space s = { .moved_break = 0 };
	struct space_note n;

	space_apply(&s, &e, 4096, &changes, &n);
	ck_assert_uint_eq(n.bytes[SPACE_BREAK], 1ull << 63);
	e.usable = e.addr;
	e.addr = 0;
	space_apply(&s, &e, 4096, &changes, &n); /* SAN: no overflow */
	ck_assert_uint_eq(n.bytes[SPACE_BREAK], 0);
	ck_assert_int_eq(n.moved_break, 0);
	ck_assert_uint_eq(changes.count, 2);
	space_release(&s);
	free(changes.item);
}
END_TEST

/* Two stacks map; what each had at the most, and a child that unmaps what it inherited. */
START_TEST(maps_by_stack)
{
	const struct maps_of *p;
	const struct maps_site *site;

	feed_mmap(BASE, 2 * MIB, MAP_ANONYMOUS);
	feed.event[feed.n - 1].stack = 1;
	feed_mmap(BASE + 8 * MIB, MIB, MAP_ANONYMOUS);
	feed.event[feed.n - 1].stack = 2;
	feed_munmap(BASE, MIB);
	feed_mmap(BASE + 16 * MIB, MIB / 2, MAP_ANONYMOUS);
	feed.event[feed.n - 1].stack = 2;
	feed_fact(MPROF_FACT_START, 2)->parent = 1;
	feed.fact[feed.fact_count - 1].fork_ticks = feed.ticks;
	feed.process = 2;
	feed.thread = 2;
	feed.ticks += 200;
	feed_munmap(BASE + 8 * MIB, MIB);
	feed_run();
	p = feed.a.maps.process.item;
	site = p[0].site.item;
	ck_assert_uint_eq(p[0].site.count, 2);
	ck_assert_uint_eq(p[0].peak, 3 * MIB);
	ck_assert_uint_eq(site[0].peak, 2 * MIB);
	ck_assert_uint_eq(site[1].peak, MIB);
	ck_assert_uint_eq(site[0].now, MIB);
	ck_assert_uint_eq(site[1].now, MIB + MIB / 2);
	ck_assert_uint_eq(p[1].now, 0);
	ck_assert_uint_eq(feed.a.maps.all.unknown_unmapped, 0);
	ck_assert_uint_eq(feed.a.maps.all.peak, 3 * MIB);
}
END_TEST

/* ---- what ran ---- */

START_TEST(what_could_not_be_recorded)
{
	const struct tree *t = &feed.a.tree;
	struct mprof_fact *f;

	feed_fact(MPROF_FACT_START, 1);
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 1);
	f = feed_fact(MPROF_FACT_CHILD, 1); /* spawned, joined: not missing */
	f->how = MPROF_CHILD_SPAWN;
	f->child_pid = 102;
	feed_fact(MPROF_FACT_START, 2)->parent = 1;
	f = feed_fact(MPROF_FACT_CHILD, 1); /* spawned without us */
	f->how = MPROF_CHILD_SPAWN;
	f->child_pid = 555;
	f = feed_fact(MPROF_FACT_CHILD, 1); /* forked, made no call */
	f->how = MPROF_CHILD_FORK;
	f->child_pid = 556;
	for (int i = 0; i < 2; i++) { /* a vfork child that searches PATH */
		f = feed_fact(MPROF_FACT_EXECING, 1);
		f->child_pid = 557;
		feed.facts[feed.fact_count - 1].path = i ? "/bin/found" : "/sbin/found";
	}
	for (int i = 0; i < 3; i++) { /* one that finds no program */
		f = feed_fact(i == 1 ? MPROF_FACT_RETURNED : MPROF_FACT_EXECING, 1);
		f->child_pid = 558;
	}
	feed_fact(MPROF_FACT_RETURNED, 1)->child_pid = 558;
	feed_fact(MPROF_FACT_EXECING, 1)->env_kept = 1; /* failed: process 1 continues */
	feed_free(0x1000);
	feed.process = feed.thread = 2;
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 5);
	feed_fact(MPROF_FACT_EXECING, 2)->env_kept = 1; /* worked: no more of process 2 */
	feed.facts[feed.fact_count - 1].path = "/sbin/static";
	feed_fact(MPROF_FACT_END, 1);
	feed_run();
	ck_assert_uint_eq(t->missing_count, 3);
	ck_assert_int_eq(t->missing[0].pid, 555);
	ck_assert(t->missing[0].environment);
	ck_assert(!t->missing[0].became);
	ck_assert_int_eq(t->missing[1].pid, 557);
	ck_assert_str_eq(t->missing[1].path, "/bin/found");
	ck_assert_int_eq(t->missing[2].pid, 102);
	ck_assert(t->missing[2].became);
	ck_assert(!t->missing[2].environment);
	ck_assert_str_eq(t->missing[2].path, "/sbin/static");
	ck_assert_int_eq(t->process[0].end, TREE_EXITED);
	ck_assert_int_eq(t->process[1].end, TREE_BECAME);
	ck_assert_uint_eq(feed.a.never_freed.all.blocks, 0);
	ck_assert_uint_eq(feed.a.never_freed.all.exec_blocks, 1);
}
END_TEST

START_TEST(what_the_parent_saw_is_surest)
{
	struct mprof_fact *f;

	feed_fact(MPROF_FACT_START, 1);
	f = feed_fact(MPROF_FACT_END, 1);
	f->status = 0;
	f->system_ns = 5; /* a short one has only this */
	f = feed_fact(MPROF_FACT_WAITED, 1);
	f->signal = 11;
	f->user_ns = f->system_ns = 500; /* with its children */
	feed.threads[feed.thread_count++] =
	    (struct trace_thread){ .process = 1, .last_ticks = f->ticks + 9 };
	feed_run();
	ck_assert_int_eq(feed.a.tree.process[0].end, TREE_KILLED);
	ck_assert_int_eq(feed.a.tree.process[0].status, 11);
	ck_assert_uint_eq(feed.a.tree.process[0].user_ns, 0);
	ck_assert_uint_eq(feed.a.tree.process[0].system_ns, 5);
	ck_assert(!feed.a.tree.process[0].oom);
	ck_assert_uint_eq(feed.a.tree.end_ticks, f->ticks + 9);
}
END_TEST

/* Blocks that the processes never had in memory were not written to, unless they were in swap. */
/* How much live bytes rose: as the comment on struct totals_swing says it, near 0 and far from it.
 */
START_TEST(rises_leave_out_swings)
{
	uint64_t state = 88172645463325252ull, live = 0, rises = 0, top = 0, most = 0;
	struct totals_swing s = { 0 };

	for (int i = 0; i < 100000; i++) {
		const uint64_t by = random_after(&state) % (i % 7 ? 20000 : 150000);

		live = random_after(&state) & 1 ? live + by : live - (by < live ? by : live);
		if (live > top) {
			rises += live - top;
			top = live;
		}
		if (top > live + TOTALS_SWING)
			top = live + TOTALS_SWING;
		most = live > most ? live : most;
		totals_swing(&s, live);
		ck_assert_uint_eq(s.rises, rises);
		ck_assert_uint_eq(s.top, top);
		ck_assert_uint_eq(s.most, most);
	}
	ck_assert_uint_gt(rises, most);
}
END_TEST

START_TEST(swap_is_not_untouched)
{
	struct tree_process process[2] = { { .peak_rss_bytes = 30 * MIB },
					   { .peak_rss_bytes = 10 * MIB } };
	const struct mprof_system system[3] = { { .swapped = 5 * MIB },
						{ .swapped = 20 * MIB },
						{ .swapped = 0 } };
	static struct analysis a;

	a.tree.process = process;
	a.tree.processes = 2;
	ck_assert_uint_eq(analysis_untouched(&a, 100 * MIB), 60 * MIB);
	a.walk.input.system = system;
	a.walk.input.system_count = 3;
	ck_assert_uint_eq(rss_swapped(&a.walk.input), 20 * MIB);
	ck_assert_uint_eq(analysis_untouched(&a, 100 * MIB), 40 * MIB);
	ck_assert_uint_eq(analysis_untouched(&a, 60 * MIB), 0);
	process[1].peak_rss_bytes = 0;
	ck_assert_uint_eq(analysis_untouched(&a, 100 * MIB), 0);
}
END_TEST

/* A process that was killed may have grown since its last sample, unless its parent knows. */
START_TEST(what_a_killed_process_had_is_not_untouched)
{
	struct tree_process process[2] = {
		{ .peak_rss_bytes = 30 * MIB },
		{ .peak_rss_bytes = 10 * MIB, .parent = 1, .end = TREE_KILLED }
	};
	static struct analysis a;

	a.tree.process = process;
	a.tree.processes = 2;
	ck_assert_uint_eq(analysis_untouched(&a, 100 * MIB), 0);
	process[1].waited_rss_bytes = 20 * MIB;
	ck_assert_uint_eq(analysis_untouched(&a, 100 * MIB), 50 * MIB);
	process[1].parent = 0; /* mprof waits for it */
	process[1].waited_rss_bytes = 0;
	ck_assert_uint_eq(analysis_untouched(&a, 100 * MIB), 60 * MIB);
}
END_TEST

/* It chooses the largest; a parent may kill the others with the same signal. */
START_TEST(killed_for_lack_of_memory_or_not)
{
	struct tree_process *p;

	for (uint32_t i = 1; i <= 4; i++) {
		struct mprof_fact *f = feed_fact(MPROF_FACT_START, i);

		f->parent = i > 1;
		f = feed_fact(MPROF_FACT_WAITED, i);
		f->signal = i > 1 ? SIGKILL : 0;
		f->peak_rss_bytes = (i == 3 ? 900 : 10 * i) * MIB;
		f->how = i == 1 ? (uint32_t)_i : 0;
	}
	feed_run();
	p = feed.a.tree.process;
	ck_assert(!p[0].oom);
	ck_assert_int_eq(p[1].oom, _i == 3);
	ck_assert_int_eq(p[2].oom, _i >= 1);
	ck_assert_int_eq(p[3].oom, _i >= 2);
}
END_TEST

/* mprof counts what the out-of-memory killer did during the run; any process may be its victim. */
START_TEST(killed_for_lack_of_memory)
{
	struct mprof_fact *f;
	const int victim = _i, first = victim == 1 ? SIGKILL : SIGTERM;

	feed_fact(MPROF_FACT_START, 1);
	f = feed_fact(MPROF_FACT_START, 2);
	f->parent = 1;
	feed_fact(MPROF_FACT_WAITED, 2)->signal = victim == 2 ? SIGKILL : 0;
	f = feed_fact(MPROF_FACT_WAITED, 1);
	f->signal = first;
	f->how = 1;
	feed_run();
	for (int i = 1; i <= 2; i++)
		ck_assert_int_eq(feed.a.tree.process[i - 1].oom, i == victim);
	ck_assert_str_eq(text_end(&feed.a.tree.process[victim - 1]).s,
			 "was killed by SIGKILL (probably the out-of-memory killer)");
}
END_TEST

/* Not a process that ended before the kill, or showed a sign of life long after it. */
START_TEST(killed_for_lack_of_memory_at_that_time)
{
	static const struct {
		uint64_t since, ticks;
		uint32_t victim;
	} kill[] = {
		{ 0, 90, 3 },	 /* the largest */
		{ 0, 60, 2 },	 /* the largest still allocated at 80 */
		{ 0, 35, 1 },	 /* so did the second, at 50 */
		{ 0, 5, 0 },	 /* so did all */
		{ 150, 160, 2 }, /* the largest had ended at 100 */
		{ 350, 360, 0 },
	};
	static const uint64_t signs[] = { 20, 50, 80 }, ends[] = { 300, 200, 100 };
	struct mprof_fact *f;

	feed.header.clock_hz = 1; /* so it takes at most 10 ticks until a victim is gone */
	for (uint32_t i = 1; i <= 3; i++) {
		f = feed_fact(MPROF_FACT_START, i);
		f->ticks = 1;
		f->parent = 9;
		f = feed_fact(MPROF_FACT_WAITED, i);
		f->ticks = ends[i - 1];
		f->signal = SIGKILL;
		f->peak_rss_bytes = i * MIB;
		feed.threads[feed.thread_count++] =
		    (struct trace_thread){ .process = i, .last_ticks = signs[i - 1] };
	}
	f = feed_fact(MPROF_FACT_OOM, 0);
	f->how = 1;
	f->since_ticks = kill[_i].since;
	f->ticks = kill[_i].ticks;
	feed_run();
	for (uint32_t i = 1; i <= 3; i++)
		ck_assert_int_eq(feed.a.tree.process[i - 1].oom, i == kill[_i].victim);
}
END_TEST

/* mprof waits for its program at once: it was killed when that says so. */
START_TEST(killed_long_after_another_lacked_memory)
{
	struct mprof_fact *f;

	feed.header.clock_hz = 1;
	feed_fact(MPROF_FACT_START, 1);
	f = feed_fact(MPROF_FACT_OOM, 0);
	f->how = 1;
	f = feed_fact(MPROF_FACT_WAITED, 1);
	f->ticks = f[-1].ticks + 10 + !_i;
	f->signal = SIGKILL;
	feed_run();
	ck_assert_int_eq(feed.a.tree.process[0].oom, _i);
}
END_TEST

Suite *pass_results_suite(void)
{
	Suite *s = suite_create("pass_results");
	TCase *c = tcase_create("walked"), *m = tcase_create("alone");

	tcase_add_checked_fixture(c, feed_start, feed_release);
	tcase_add_test(c, every_function_once);
	tcase_add_test(c, three_functions_overlap);
	tcase_add_test(c, the_greater_of_two_peaks);
	tcase_add_test(c, chains_of_any_length);
	tcase_add_test(c, a_chain_of_reallocs);
	tcase_add_test(c, size_classes_by_size_and_power);
	tcase_add_test(c, many_large_sizes);
	tcase_add_test(c, sizes_never_freed_are_those_allocated);
	tcase_add_test(c, a_brief_analysis_has_the_figures_of_the_screen);
	tcase_add_test(c, a_brief_analysis_counts_pages_of_many_regions);
	tcase_add_test(c, lifetimes_in_their_buckets);
	tcase_add_test(c, compactness_over_events_and_time);
	tcase_add_test(c, compactness_until_the_end);
	tcase_add_test(c, compactness_of_what_was_in_memory);
	tcase_add_test(c, parts_when_most_was_resident);
	tcase_add_test(c, maps_unmapped_in_halves);
	tcase_add_test(c, maps_unmapped_from_the_middle);
	tcase_add_test(c, maps_of_all_sorts);
	tcase_add_test(c, what_could_not_be_recorded);
	tcase_add_test(c, what_the_parent_saw_is_surest);
	tcase_add_test(c, rises_leave_out_swings);
	tcase_add_test(c, swap_is_not_untouched);
	tcase_add_test(c, what_a_killed_process_had_is_not_untouched);
	tcase_add_loop_test(c, killed_for_lack_of_memory, 1, 3);
	tcase_add_loop_test(c, killed_for_lack_of_memory_at_that_time, 0, 6);
	tcase_add_loop_test(c, killed_long_after_another_lacked_memory, 0, 2);
	tcase_add_loop_test(c, killed_for_lack_of_memory_or_not, 0, 4);
	tcase_add_loop_test(m, space_is_exact, 0, 20);
	tcase_add_test(m, space_of_a_damaged_break);
	tcase_add_test(c, maps_by_stack);
	suite_add_tcase(s, c);
	suite_add_tcase(s, m);
	return s;
}
