// SPDX-License-Identifier: LGPL-3.0-or-later
/* heap_events.c - what events do to a heap: realloc, fork, exec, and contradictions. */
#include "suites.h"

#include "feed.h"
#include "heap_valid.h"
#include "trace/block_numbers.h"

static const struct heap *heap(void)
{
	return &feed.a.walk.heap;
}

static void no_problems(void)
{
	int k;

	for (k = 0; k < HEAP_PROBLEM_KINDS; k++)
		ck_assert_msg(!heap()->problems[k], "%lu problems of kind %d, first at event %lu",
			      (unsigned long)heap()->problems[k], k,
			      (unsigned long)heap()->problem[0].event);
}

static const struct never_freed_process *left(void)
{
	return &feed.a.never_freed.all;
}

/* ---- realloc ---- */

START_TEST(realloc_that_fails_keeps_its_block)
{
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 100);
	feed_realloc(0x1000, 0, 1000);
	feed.event[feed.n - 1].error = 12;
	feed_realloc(0, 0, 5000); /* realloc(NULL, 5000) */
	feed_free(0x1000);
	feed_run();
	no_problems();
	ck_assert_uint_eq(feed.a.resizes.failed, 2);
	ck_assert_uint_eq(feed.a.totals.all.failed, 2);
	ck_assert_uint_eq(left()->blocks, 0);
	ck_assert_uint_eq(feed.a.peak.all.at.bytes, 100);
	ck_assert_uint_eq(feed.a.lifetimes.blocks, 1);
}
END_TEST

static void mapped(uint64_t addr, uint64_t size)
{
	feed.event[feed.n - 1].usable = ((addr + size + 4095) & ~4095ull) - addr;
}

/* From the heap into a mapping of its own is a copy, from there to another one is not. */
START_TEST(realloc_that_moves_pages)
{
	feed.header.page_size = 4096;
	feed_alloc(MPROF_FN_MALLOC, 0x1010, 100000);
	feed_realloc(0x1010, 0x7f0000000010, 200000);
	mapped(0x7f0000000010, 200000);
	feed_realloc(0x7f0000000010, 0x7f0000100010, 300000);
	mapped(0x7f0000100010, 300000);
	feed_realloc(0x7f0000100010, 0x7f0000100010, 310000);
	mapped(0x7f0000100010, 310000);
	feed_realloc(0x7f0000100010, 0x7f0000200000, 400000); /* another allocator's */
	feed.event[feed.n - 1].usable = 401408;
	feed_realloc(0x7f0000200000, 0x7f0000300000, 500000);
	feed.event[feed.n - 1].usable = 501760;
	feed_run();
	no_problems();
	ck_assert_uint_eq(feed.a.resizes.moved.grew, 4);
	ck_assert_uint_eq(feed.a.resizes.remapped, 1);
	ck_assert_uint_eq(feed.a.resizes.copied_bytes, 100000 + 310000 + 400000);
}
END_TEST

/* glibc 2.43 keeps 8 bytes behind such a block. */
START_TEST(realloc_that_moves_pages_but_8_bytes)
{
	feed.header.page_size = 4096;
	feed_alloc(MPROF_FN_MALLOC, 0x7f0000000010, 200000);
	mapped(0x7f0000000010, 200000 + 8);
	feed.event[feed.n - 1].usable -= 8;
	feed_realloc(0x7f0000000010, 0x7f0000100010, 300000);
	mapped(0x7f0000100010, 300000 + 8);
	feed.event[feed.n - 1].usable -= 8;
	feed_run();
	no_problems();
	ck_assert_uint_eq(feed.a.resizes.remapped, 1);
	ck_assert_uint_eq(feed.a.resizes.copied_bytes, 0);
}
END_TEST

START_TEST(realloc_that_moves)
{
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 100);
	feed_realloc(0x1000, 0x2000, 300);
	feed_realloc(0x2000, 0x2000, 200);
	feed_realloc(0x2000, 0x3000, 50);
	feed_run();
	no_problems();
	ck_assert_uint_eq(feed.a.resizes.moved.grew, 1);
	ck_assert_uint_eq(feed.a.resizes.moved.shrank, 1);
	ck_assert_uint_eq(feed.a.resizes.in_place.shrank, 1);
	ck_assert_uint_eq(feed.a.resizes.copied_bytes, 150);
	ck_assert_uint_eq(feed.a.resizes.chains, 1);
	ck_assert_uint_eq(feed.a.resizes.longest, 3);
	ck_assert_uint_eq(feed.a.resizes.longest_bytes, 50);
	ck_assert_uint_eq(feed.a.resizes.mosts, 3);
	ck_assert_uint_eq(feed.a.resizes.most[2].from, 300);
	ck_assert_uint_eq(feed.a.resizes.most[2].to, 200);
	ck_assert_uint_eq(feed.a.resizes.most[2].calls, 1);
	ck_assert_uint_eq(feed.a.resizes.more_calls, 0);
	ck_assert_uint_eq(left()->blocks, 1);
	ck_assert_uint_eq(left()->bytes, 50);
	ck_assert_uint_eq(feed.a.peak.all.at.bytes, 300);
	ck_assert_uint_eq(feed.a.peak.all.blocks, 1);
}
END_TEST

START_TEST(realloc_to_nothing_frees)
{
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 100);
	feed_realloc(0x1000, 0, 0);
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 7);
	feed_run();
	no_problems();
	ck_assert_uint_eq(feed.a.resizes.freed, 1);
	ck_assert_uint_eq(feed.a.resizes.failed, 0);
	ck_assert_uint_eq(left()->bytes, 7);
}
END_TEST

/* While one thread's realloc runs, another gets the address it gives up. */
START_TEST(realloc_lets_others_have_its_address)
{
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 100);
	feed_event(EVENT_REALLOC_BEGIN, MPROF_FN_REALLOC, 0x1000, 9000);
	feed.thread = 2;
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 100);
	feed.thread = 1;
	feed_event(EVENT_REALLOC_END, MPROF_FN_REALLOC, 0x20000, 9000);
	feed_free(0x1000);
	feed_free(0x20000);
	feed_run();
	no_problems();
	ck_assert_uint_eq(left()->blocks, 0);
	ck_assert_uint_eq(feed.a.lifetimes.other_thread, 1);
	ck_assert_uint_eq(feed.a.peak.all.at.bytes, 9100);
}
END_TEST

START_TEST(realloc_cut_off_by_death_leaves_its_block)
{
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 100);
	feed_event(EVENT_REALLOC_BEGIN, MPROF_FN_REALLOC, 0x1000, 9000);
	feed_run();
	no_problems();
	ck_assert_uint_eq(left()->blocks, 1);
	ck_assert_uint_eq(left()->bytes, 100);
}
END_TEST

/* In a compressed trace, its number may be used again while its realloc lasts. */
START_TEST(realloc_cut_off_leaves_its_block_without_its_number)
{
	struct heap heap;
	struct heap_process *p;
	uint32_t process, thread;

	for (uint64_t other = 0x1000; other <= 0x2000; other += 0x1000) {
		heap_init(&heap, 4096, 1000, false);
		process = heap_process(&heap, 1);
		thread = heap_thread(&heap, 1, process);
		heap.thread[thread] = (struct heap_thread){ .number = 1,
							    .process = process,
							    .pending = true,
							    .pending_old = true,
							    .number_old = 1,
							    .old = { .addr = 0x1000, .size = 9 } };
		heap.reallocs = 1;
		p = heap.process[process];
		own_put(&p->own, own_place(&p->own, 1),
			&(struct block){ .addr = other, .size = 7 });
		p->live = heap.all = (struct live){ .bytes = 16, .blocks = 2 };
		heap_settle(&heap, process);
		/* It is gone only if its address was allocated again. */
		ck_assert_uint_eq(p->live.bytes, other == 0x1000 ? 7 : 16);
		ck_assert(!blocks_find(&p->others, 0x1000) == (other == 0x1000));
		ck_assert_uint_eq(own_find(&p->own, 1)->addr, other);
		heap_release(&heap);
	}
}
END_TEST

/* ---- threads ---- */

START_TEST(another_thread_frees)
{
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 100);
	feed_alloc(MPROF_FN_NEW, 0x2000, 100);
	feed.thread = 2;
	feed_free(0x1000);
	feed.thread = 1;
	feed_event(EVENT_CALL, MPROF_FN_DELETE, 0x2000, 0);
	feed_run();
	no_problems();
	ck_assert_uint_eq(feed.a.lifetimes.blocks, 2);
	ck_assert_uint_eq(feed.a.lifetimes.other_thread, 1);
	ck_assert_uint_eq(feed.a.totals.thread.count, 2);
}
END_TEST

START_TEST(forty_threads_are_told_apart)
{
	uint32_t i;

	for (i = 1; i <= 40; i++) {
		feed.thread = i;
		feed_alloc(MPROF_FN_MALLOC, 0x1000 * i, i);
	}
	feed_run();
	no_problems();
	ck_assert_uint_eq(feed.a.totals.thread.count, 40);
	for (i = 0; i < 40; i++)
		ck_assert_uint_eq(
		    ((const struct totals_thread *)feed.a.totals.thread.item)[i].sum.allocated,
		    i + 1);
}
END_TEST

/* ---- contradictions ---- */

START_TEST(late_free_of_another_thread_is_an_inversion)
{
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 100);
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 50); /* thread 1 got it again ... */
	feed.ticks += HEAP_CLOCK_NS;
	feed.thread = 2;
	feed_free(0);
	feed_free(0x1000); /* ... and thread 2's free of the first stands behind */
	feed.thread = 1;
	feed_free(0x1000);
	feed_run();
	ck_assert_uint_eq(heap()->problems[HEAP_INVERSION], 1);
	ck_assert_uint_eq(heap()->problems[HEAP_DOUBLE_ALLOCATION], 0);
	ck_assert_uint_eq(heap()->problems[HEAP_UNMATCHED_FREE], 0);
	ck_assert_uint_eq(heap()->problem[0].event, 2);
	ck_assert_uint_eq(heap()->problem[0].addr, 0x1000);
	ck_assert_uint_eq(left()->blocks, 0);
	ck_assert_uint_eq(feed.a.peak.all.blocks, 1);
}
END_TEST

/* The free comes first, and before its allocation the other thread does more. */
START_TEST(early_free_is_an_inversion)
{
	feed_free(0x1000);
	feed.ticks += HEAP_CLOCK_NS;
	feed.thread = 2;
	feed_alloc(MPROF_FN_MALLOC, 0x9000, 9);
	feed_event(EVENT_REALLOC_BEGIN, MPROF_FN_REALLOC, 0x9000, 100);
	feed_event(EVENT_REALLOC_END, MPROF_FN_REALLOC, 0x1000, 100);
	feed_run();
	ck_assert_uint_eq(heap()->problems[HEAP_INVERSION], 1);
	ck_assert_uint_eq(heap()->problems[HEAP_UNMATCHED_FREE], 0);
	ck_assert_uint_eq(left()->blocks, 0);
	ck_assert_uint_eq(feed.a.resizes.copied_bytes, 9);
	ck_assert_uint_eq(feed.a.totals.all.calls, 3);
}
END_TEST

/* As close as a processor may read its clock early: put right, and not counted. */
START_TEST(early_reading_of_the_clock_is_no_inversion)
{
	feed_free(0x1000);
	feed.thread = 2;
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 100);
	feed_run();
	ck_assert_uint_eq(heap()->problems[HEAP_INVERSION], 0);
	ck_assert_uint_eq(heap()->problems[HEAP_UNMATCHED_FREE], 0);
	ck_assert_uint_eq(left()->blocks, 0);
}
END_TEST

/*
 * Thread 2 exchanges a pointer with thread 1, and frees what it gets: a block that thread 1
 * allocated at the address that it had just freed.  Thread 2 read its clock before the exchange
 * was over, so that its free stands before that of thread 1.
 */
START_TEST(early_free_of_the_next_block)
{
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 100);
	feed.thread = 2;
	feed_free(0x1000);
	feed.thread = 1;
	feed_free(0x1000);
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 60);
	feed_alloc(MPROF_FN_MALLOC, 0x2000, 10);
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 70);
	feed_free(0x1000);
	feed_run();
	no_problems();
	ck_assert_uint_eq(left()->blocks, 1);
	ck_assert_uint_eq(feed.a.totals.all.calls, 7);
	ck_assert_uint_eq(feed.a.totals.all.fn[MPROF_FN_FREE].calls, 3);
	ck_assert_uint_eq(feed.a.lifetimes.blocks, 3);
}
END_TEST

/* The thread whose free came on time gets the address next: nobody else's allocation, which
 * stands behind that, goes before it. */
START_TEST(early_free_of_the_block_that_follows)
{
	const int gap = _i; /* from within a batch to across its end */
	int i;

	for (i = 0; i < gap; i++)
		feed_free(0);
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 100);
	feed_alloc(MPROF_FN_MALLOC, 0x2000, 100);
	feed_free(0x1000);
	feed.thread = 4;
	feed_free(0x1000);
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 46);
	feed_free(0x2000);
	feed.thread = 1;
	feed_alloc(MPROF_FN_MALLOC, 0x2000, 32);
	feed.thread = 4;
	feed_alloc(MPROF_FN_MALLOC, 0x3000, 72);
	feed.thread = 1;
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 49);
	feed_free(0x1000);
	feed_run();
	no_problems();
	ck_assert_uint_eq(left()->blocks, 2);
	ck_assert_uint_eq(left()->bytes, 32 + 72);
}
END_TEST

/* Without the other thread's free it is what the program did. */
START_TEST(second_free_stays_unmatched)
{
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 100);
	feed_free(0x1000);
	feed_free(0x1000);
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 60);
	feed_run();
	ck_assert_uint_eq(heap()->problems[HEAP_UNMATCHED_FREE], 1);
	ck_assert_uint_eq(heap()->problem[0].event, 3);
	ck_assert_uint_eq(left()->blocks, 1);
}
END_TEST

/* The same distance in time, but across the border between two batches. */
START_TEST(inversions_are_found_across_batches)
{
	int i;

	for (i = 0; i < (int)WINDOW_BATCH - 1; i++)
		feed_free(0);
	feed_free(0x1000);
	feed.ticks += HEAP_CLOCK_NS;
	feed.thread = 2;
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 100);
	feed_run();
	ck_assert_uint_eq(heap()->problems[HEAP_INVERSION], 1);
	ck_assert_uint_eq(heap()->problem[0].event, WINDOW_BATCH);
	ck_assert_uint_eq(left()->blocks, 0);
}
END_TEST

/* Each of two threads has what the other's first event needs: no order is right. */
START_TEST(contradictions_both_ways_come_to_an_end)
{
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 10);
	feed_alloc(MPROF_FN_MALLOC, 0x2000, 10);
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 20);
	feed_free(0x2000);
	feed.ticks += HEAP_CLOCK_NS;
	feed.thread = 2;
	feed_alloc(MPROF_FN_MALLOC, 0x2000, 20);
	feed_free(0x1000);
	feed_run();
	ck_assert_uint_ge(heap()->problems[HEAP_INVERSION], 1);
	ck_assert_uint_eq(heap()->problems[HEAP_UNMATCHED_FREE], 0);
	ck_assert_uint_eq(left()->blocks, 2);
	ck_assert_uint_eq(feed.a.totals.all.calls, 6);
	ck_assert_uint_eq(feed.a.totals.all.fn[MPROF_FN_FREE].calls, 2);
}
END_TEST

START_TEST(too_late_is_no_inversion)
{
	feed_free(0x1000);
	feed.thread = 2;
	feed.ticks += HEAP_INVERSION_NS + 1;
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 100);
	feed_run();
	ck_assert_uint_eq(heap()->problems[HEAP_INVERSION], 0);
	ck_assert_uint_eq(heap()->problems[HEAP_UNMATCHED_FREE], 1);
	ck_assert_uint_eq(heap()->problem[0].event, 1);
	ck_assert_uint_eq(left()->blocks, 1);
}
END_TEST

START_TEST(one_thread_has_no_inversions)
{
	feed_free(0x1000);
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 100);
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 60);
	feed_free(0x1000);
	feed_run();
	ck_assert_uint_eq(heap()->problems[HEAP_INVERSION], 0);
	ck_assert_uint_eq(heap()->problems[HEAP_UNMATCHED_FREE], 1);
	ck_assert_uint_eq(heap()->problems[HEAP_DOUBLE_ALLOCATION], 1);
	ck_assert_uint_eq(heap()->problem[1].event, 3);
	ck_assert_uint_eq(heap()->problem[1].thread, 1);
	ck_assert_uint_eq(left()->blocks, 0);
	ck_assert_uint_eq(feed.a.peak.all.at.bytes, 100);
}
END_TEST

START_TEST(all_problems_are_counted_some_are_kept)
{
	uint64_t i;

	for (i = 1; i <= 1000; i++)
		feed_free(i * 64);
	feed_run();
	ck_assert_uint_eq(heap()->problems[HEAP_UNMATCHED_FREE], 1000);
	ck_assert_uint_eq(heap()->kept, HEAP_PROBLEMS);
}
END_TEST

/* ---- fork, exec, end ---- */

static void fork_child(uint32_t child, uint32_t parent)
{
	uint64_t fork_ticks = feed.ticks;
	struct mprof_fact *f;

	feed.ticks += 100;
	f = feed_fact(MPROF_FACT_START, child);
	f->parent = parent;
	f->fork_ticks = fork_ticks;
}

START_TEST(a_child_may_free_what_it_inherited)
{
	feed_fact(MPROF_FACT_START, 1);
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 100);
	feed_alloc(MPROF_FN_MALLOC, 0x2000, 200);
	feed_event(EVENT_REALLOC_BEGIN, MPROF_FN_REALLOC, 0x2000, 300); /* another thread's, open */
	fork_child(2, 1);
	feed.process = 2;
	feed.thread = 2;
	feed_free(0x1000);
	feed_free(0x2000);
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 30);
	feed.process = feed.thread = 1;
	feed_event(EVENT_REALLOC_END, MPROF_FN_REALLOC, 0x2000, 300);
	feed_free(0x1000);
	feed_free(0x2000);
	feed_run();
	no_problems();
	ck_assert_uint_eq(left()->blocks, 1);
	ck_assert_uint_eq(left()->bytes, 30);
	ck_assert_uint_eq(((struct peak_of *)feed.a.peak.process.item)[1].at.bytes, 30);
	ck_assert_uint_eq(feed.a.peak.all.at.bytes, 430);
	ck_assert_uint_eq(feed.a.lifetimes.blocks, 3);
	ck_assert_uint_eq(feed.a.tree.processes, 2);
	ck_assert_uint_eq(feed.a.tree.process[1].parent, 1);
	ck_assert(feed.a.tree.process[1].forked);
}
END_TEST

/* Another thread of the parent got a block after fork was stamped, before it happened. */
START_TEST(a_block_that_slipped_into_the_fork_is_inherited)
{
	uint64_t fork_ticks = feed.ticks;
	struct mprof_fact *f;

	feed.ticks += 10;
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 100);
	f = feed_fact(MPROF_FACT_START, 2);
	f->parent = 1;
	f->fork_ticks = fork_ticks;
	feed.process = feed.thread = 2;
	feed_free(0x1000);
	feed_run();
	no_problems();
	ck_assert_uint_eq(left()->blocks, 1);
}
END_TEST

START_TEST(exec_ends_all_blocks)
{
	feed_fact(MPROF_FACT_START, 1);
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 100);
	feed_alloc(MPROF_FN_MALLOC, 0x2000, 200);
	feed_fact(MPROF_FACT_EXEC, 1);
	feed.ticks -= 100; /* the first call bears the same time */
	feed.thread = 2;
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 50);
	feed_run();
	no_problems();
	ck_assert_uint_eq(left()->blocks, 1);
	ck_assert_uint_eq(left()->bytes, 50);
	ck_assert_uint_eq(left()->exec_blocks, 2);
	ck_assert_uint_eq(left()->exec_bytes, 300);
	ck_assert_uint_eq(feed.a.peak.all.at.bytes, 300);
	ck_assert_uint_eq(feed.a.tree.process[0].images, 2);
	ck_assert_uint_eq(feed.a.tree.processes, 1);
}
END_TEST

START_TEST(what_an_ended_process_held_is_not_live)
{
	feed_fact(MPROF_FACT_START, 1);
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 100);
	feed_fact(MPROF_FACT_END, 1)->status = 3;
	feed_fact(MPROF_FACT_START, 2);
	feed.process = feed.thread = 2;
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 70);
	feed_run();
	no_problems();
	ck_assert_uint_eq(feed.a.peak.all.at.bytes, 100);
	ck_assert_uint_eq(left()->bytes, 170);
	ck_assert_int_eq(feed.a.tree.process[0].end, TREE_EXITED);
	ck_assert_int_eq(feed.a.tree.process[0].status, 3);
	ck_assert_int_eq(feed.a.tree.process[1].end, TREE_UNKNOWN);
}
END_TEST

/* Another thread continues after the END fact: its events count all the same. */
START_TEST(end_waits_for_the_last_thread)
{
	feed_fact(MPROF_FACT_START, 1);
	feed_alloc(MPROF_FN_MALLOC, 0x1000, 100);
	feed_fact(MPROF_FACT_END, 1);
	feed.thread = 2;
	feed_free(0x1000);
	feed_run();
	no_problems();
	ck_assert_uint_eq(left()->blocks, 0);
}
END_TEST

/* ---- the heap's own sums, on random events ---- */

static uint64_t state = 4711;

static uint64_t random_number(void)
{
	return random_after(&state);
}

static void random_event(bool *lives)
{
	uint64_t k = random_number() % 256, addr = 0x100000 + k * 8192;

	feed.thread = 1 + (uint32_t)(random_number() % 3);
	if (!lives[k])
		feed_alloc(MPROF_FN_MALLOC, addr, random_number() % 8192);
	else if (random_number() & 1)
		feed_free(addr);
	else
		feed_realloc(addr, addr, random_number() % 8192);
	lives[k] =
	    feed.event[feed.n - 1].kind != EVENT_CALL || feed.event[feed.n - 1].fn != MPROF_FN_FREE;
}

START_TEST(sums_agree_with_tables)
{
	static struct window w;
	static struct note note[WINDOW_BATCH];
	bool lives[256] = { false };
	struct names *names = names_new();
	struct heap h;
	size_t i;

	while (feed.n < 10000)
		random_event(lives);
	ck_assert_int_eq(names_give(names, feed.event, feed.n), 0);
	names_free(names);
	heap_init(&h, 4096, 1000, true);
	for (i = 0; i < feed.n; i++) {
		w.event[0] = feed.event[i];
		w.count = 1;
		heap_apply(&h, &w, 0, 1, note);
		if (i % 50 == 0)
			ck_assert_msg(heap_is_valid(&h), "after event %zu", i);
	}
	ck_assert(heap_is_valid(&h));
	ck_assert_uint_gt(h.all.blocks, 0);
	for (i = 0; i < HEAP_PROBLEM_KINDS; i++)
		ck_assert_uint_eq(h.problems[i], 0);
	heap_clear(&h, 0, true);
	ck_assert(heap_is_valid(&h));
	ck_assert_uint_eq(h.all.bytes, 0);
	ck_assert_uint_eq(h.all.pages, 0);
	heap_release(&h);
}
END_TEST

/* What a program does, and now and then what none can do. */
static void any_event(bool *lives)
{
	const uint64_t addr = 0x1000 + random_number() % 256 * 0x10010;

	feed.process = 1 + (uint32_t)(random_number() % 40 == 0);
	switch (random_number() % 64) {
	case 0:
		feed_free(0);
		break;
	case 1:
		feed_realloc(0, addr, 10); /* it may be another block's */
		break;
	case 2:
		feed_free(addr);
		break;
	case 3:
		feed_alloc(MPROF_FN_MALLOC, addr, 1);
		break;
	case 4:
		feed_realloc(addr, 0, random_number() % 2);
		break;
	case 5:
		feed_alloc(MPROF_FN_MALLOC, 0, 1ull << 60);
		break;
	default:
		random_event(lives);
	}
}

static void same_notes(const struct note *a, const struct note *b, size_t i)
{
	const uint16_t began_or_ended = NOTE_BEGAN | NOTE_ENDED | NOTE_DROPPED;

	ck_assert_msg(a->did == b->did && a->problem == b->problem && a->process == b->process &&
			  a->thread == b->thread && a->ended == b->ended,
		      "event %zu did %#x or %#x", i, a->did, b->did);
	if (a->did & began_or_ended) {
		ck_assert(!memcmp(&a->own, &b->own, sizeof(a->own)));
		ck_assert(!memcmp(a->rest, b->rest, sizeof(*a->rest)));
	}
	if (a->did & ~NOTE_BEGAN)
		ck_assert(!memcmp(&a->old, &b->old, sizeof(a->old)));
	if (a->did & NOTE_DROPPED)
		ck_assert_uint_eq(a->taken, b->taken);
}

/* Plain is what began or ended a block by one call. */
static bool all_plain(const struct window *w, const struct note *n)
{
	size_t i;

	for (i = 0; i < WINDOW_BATCH; i++)
		if (window_at((struct window *)w, i)->kind != EVENT_CALL ||
		    n[i].did & ~(NOTE_BEGAN | NOTE_ENDED) ||
		    (n[i].did & NOTE_ENDED && n[i].old.owner & BLOCK_RESIZED))
			return false;
	return true;
}

/* What the heap says of a batch is what its notes say one by one. */
static void sums_up(const struct heap *h, const struct note *n, struct live *most)
{
	bool grew = false;
	size_t i, ends = 0;

	for (i = 0; i < WINDOW_BATCH; i++) {
		const struct live all = note_all(&n[i]);

		if (n[i].did & (NOTE_ENDED | NOTE_DROPPED))
			ck_assert_uint_eq(h->end[ends++], i);
		if (!(n[i].did & NOTE_BEGAN))
			continue;
		ck_assert_uint_eq(all.bytes, note_all_bytes(&n[i]));
		grew |= all.bytes > most->bytes || all.blocks > most->blocks;
		most->bytes = all.bytes > most->bytes ? all.bytes : most->bytes;
		most->blocks = all.blocks > most->blocks ? all.blocks : most->blocks;
	}
	ck_assert_uint_eq(h->ends, ends);
	ck_assert(h->grew || !grew);
}

START_TEST(a_run_is_its_events_one_by_one)
{
	static struct window w[2];
	static struct note note[2][WINDOW_BATCH];
	bool lives[256] = { false }, plain;
	struct names *names = names_new();
	struct live most[2] = { { .bytes = 0 } };
	struct heap h[2];
	size_t i, k, grew = 0;

	while (feed.n < 100 * WINDOW_BATCH)
		any_event(lives);
	ck_assert_int_eq(names_give(names, feed.event, feed.n), 0);
	names_free(names);
	for (k = 0; k < 2; k++)
		heap_init(&h[k], 4096, 1000, true);
	h[1].no_runs = true;
	for (i = 0; i + WINDOW_BATCH <= feed.n; i += WINDOW_BATCH) {
		for (k = 0; k < 2; k++) {
			memcpy(w[k].event, feed.event + i, sizeof(w[k].event) / 2);
			w[k].count = WINDOW_BATCH;
			memset(note[k], 0, sizeof(note[k]));
			plain = heap_apply(&h[k], &w[k], 0, WINDOW_BATCH, note[k]);
			ck_assert(plain == all_plain(&w[k], note[k]));
			sums_up(&h[k], note[k], &most[k]);
			grew += h[k].grew;
		}
		ck_assert(h[0].grew == h[1].grew);
		for (k = 0; k < WINDOW_BATCH; k++)
			same_notes(&note[0][k], &note[1][k], i + k);
	}
	ck_assert_uint_gt(grew, 0);
	ck_assert_uint_lt(grew, 2 * 100); /* nor does it say so of every batch */
	/* What contradicts itself may leave blocks that overlap: in both. */
	ck_assert(heap_is_valid(&h[0]) == heap_is_valid(&h[1]));
	ck_assert(!memcmp(&h[0].all, &h[1].all, sizeof(h[0].all)));
	ck_assert(!memcmp(h[0].problems, h[1].problems, sizeof(h[0].problems)));
	ck_assert_uint_gt(h[0].problems[HEAP_UNMATCHED_FREE], 0);
	ck_assert_uint_gt(h[0].problems[HEAP_DOUBLE_ALLOCATION], 0);
	for (k = 0; k < 2; k++)
		heap_release(&h[k]);
}
END_TEST

Suite *heap_events_suite(void)
{
	Suite *s = suite_create("heap_events");
	TCase *c = tcase_create("walked"), *h = tcase_create("alone");

	tcase_add_checked_fixture(c, feed_start, feed_release);
	tcase_add_test(c, realloc_that_fails_keeps_its_block);
	tcase_add_test(c, realloc_that_moves);
	tcase_add_test(c, realloc_that_moves_pages);
	tcase_add_test(c, realloc_that_moves_pages_but_8_bytes);
	tcase_add_test(c, realloc_to_nothing_frees);
	tcase_add_test(c, realloc_lets_others_have_its_address);
	tcase_add_test(c, realloc_cut_off_by_death_leaves_its_block);
	tcase_add_test(c, realloc_cut_off_leaves_its_block_without_its_number);
	tcase_add_test(c, another_thread_frees);
	tcase_add_test(c, forty_threads_are_told_apart);
	tcase_add_test(c, late_free_of_another_thread_is_an_inversion);
	tcase_add_test(c, early_free_is_an_inversion);
	tcase_add_test(c, early_reading_of_the_clock_is_no_inversion);
	tcase_add_test(c, early_free_of_the_next_block);
	tcase_add_loop_test(c, early_free_of_the_block_that_follows, WINDOW_BATCH - 12,
			    WINDOW_BATCH);
	tcase_add_test(c, second_free_stays_unmatched);
	tcase_add_test(c, inversions_are_found_across_batches);
	tcase_add_test(c, contradictions_both_ways_come_to_an_end);
	tcase_add_test(c, too_late_is_no_inversion);
	tcase_add_test(c, one_thread_has_no_inversions);
	tcase_add_test(c, all_problems_are_counted_some_are_kept);
	tcase_add_test(c, a_child_may_free_what_it_inherited);
	tcase_add_test(c, a_block_that_slipped_into_the_fork_is_inherited);
	tcase_add_test(c, exec_ends_all_blocks);
	tcase_add_test(c, what_an_ended_process_held_is_not_live);
	tcase_add_test(c, end_waits_for_the_last_thread);
	tcase_add_checked_fixture(h, feed_start, NULL);
	tcase_add_test(h, sums_agree_with_tables);
	tcase_add_test(h, a_run_is_its_events_one_by_one);
	suite_add_tcase(s, c);
	suite_add_tcase(s, h);
	return s;
}
