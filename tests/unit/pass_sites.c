// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * pass_sites.c - figures for call stacks: known programs to the byte, and random
 * ones against the definitions, block by block.
 */
#include "suites.h"

#include <string.h>
#include <sys/mman.h>

#include "compile/compile_resident.h"
#include "feed.h"
#include "pass/rss.h"
#include "pass/site_rows.h"
#include "pass/sites.h"

#define MIB 1048576u

static struct sites sites;
static struct walk walk;

static void start(void)
{
	memset(&sites, 0, sizeof(sites));
	sites.options.filter = (struct site_filter)SITE_FILTER_ALL;
}

static void run(void)
{
	static const struct walk_pass pass[] = { { &sites_pass, &sites } };

	feed.read = 0;
	feed.thread_count = 0;
	feed_walk(&walk, pass, 1);
}

static void release(void)
{
	walk_release(&walk);
}

static const struct site_values *of_part(uint32_t stack, uint64_t part)
{
	static const struct site_values none;
	size_t i;

	for (i = 0; i < sites.count; i++)
		if (sites.site[i].key == stack && sites.site[i].part == part)
			return &sites.site[i].v;
	return &none;
}

static const struct site_values *of(uint32_t stack)
{
	return of_part(stack, 0);
}

/* A = 3 MiB, B = 5, free A, C = 4, free B, A from elsewhere, free C, free A. */
static void three_functions(void)
{
	const uint64_t a = 0x7f0000000010, b = 0x7f1000000010, c = 0x7f2000000010;

	feed_alloc_from(1, a, 3 * MIB);
	feed_alloc_from(2, b, 5 * MIB);
	feed_free(a);
	feed_alloc_from(3, c, 4 * MIB);
	feed_free(b);
	feed_alloc_from(4, a, 3 * MIB);
	feed_free(c);
	feed_free(a);
}

START_TEST(three_functions_at_the_peak)
{
	three_functions();
	start();
	run();
	ck_assert_uint_eq(sites.peak.bytes, 9437184);
	ck_assert_uint_eq(sites.peak.calls, 2);
	ck_assert_uint_eq(sites.peak.ticks, 1300);
	ck_assert_uint_eq(of(1)->peak_bytes, 0);
	ck_assert_uint_eq(of(2)->peak_bytes, 5242880);
	ck_assert_uint_eq(of(3)->peak_bytes, 4194304);
	ck_assert_uint_eq(of(4)->peak_bytes, 0);
	ck_assert_uint_eq(of(1)->local_bytes, 3 * MIB);
	ck_assert_uint_eq(of(2)->local_bytes, 5 * MIB);
	ck_assert_uint_eq(of(3)->local_bytes, 4 * MIB);
	ck_assert_uint_eq(sites.total.peak_bytes, 9437184);
	ck_assert_uint_eq(sites.total.calls, 4);
	ck_assert_uint_eq(sites.total.live_calls, 0);
	ck_assert_uint_eq(sites.total.freed_calls, 4);
	ck_assert_uint_eq(of(2)->lifetime_ns, 300);
	ck_assert_uint_eq(sites.site[0].key, 2); /* most bytes first */
	ck_assert_uint_eq(sites.count, 4);
	release();
}
END_TEST

static uint32_t a_is_one(void *context, uint32_t stack, uint64_t part)
{
	++*(int *)context;
	ck_assert_uint_eq(part, 0);
	return stack == 4 ? 1 : stack;
}

/* The two stacks of A never live together: its own peak is that of one of them. */
START_TEST(groups_have_their_own_peak)
{
	int asked = 0;

	three_functions();
	start();
	sites.options.group = a_is_one;
	sites.options.group_context = &asked;
	run();
	ck_assert_int_eq(asked, 4);
	ck_assert_uint_eq(sites.groups, 4);
	ck_assert_uint_eq(sites.local[1].bytes, 3 * MIB);
	ck_assert_uint_eq(sites.local[1].calls, 1);
	ck_assert_uint_eq(sites.local[2].bytes, 5 * MIB);
	ck_assert_uint_eq(sites.local[3].bytes, 4 * MIB);
	release();
}
END_TEST

/* A group counts what its first site had before the second one joined, and frees of it since. */
START_TEST(a_group_gets_a_second_site)
{
	const uint64_t a = 0x7f0000000010, b = 0x7f1000000010, c = 0x7f2000000010;
	int asked = 0;

	feed_alloc_from(1, a, 2 * MIB);
	feed_alloc_from(1, b, 3 * MIB);
	feed_free(b);
	feed_alloc_from(4, b, 1 * MIB);
	feed_free(a);
	feed_alloc_from(4, a, 1 * MIB);
	feed_alloc_from(1, c, 4 * MIB);
	feed_free(a);
	feed_alloc_from(4, a, 3 * MIB);
	start();
	sites.options.group = a_is_one;
	sites.options.group_context = &asked;
	run();
	ck_assert_int_eq(asked, 2);
	ck_assert_uint_eq(sites.local[1].bytes, 8 * MIB);
	ck_assert_uint_eq(sites.local[1].calls, 3);
	ck_assert_uint_eq(of(1)->local_bytes, 5 * MIB);
	ck_assert_uint_eq(of(4)->local_bytes, 4 * MIB);
	release();
}
END_TEST

static uint32_t first_two_are_one(void *context, uint32_t stack, uint64_t part)
{
	(void)context;
	(void)part;
	return stack <= 2 ? 1 : stack;
}

/* Stacks 2 and 3 are live at the peak; 1 is in the group of 2. */
START_TEST(only_groups_of_the_peak)
{
	three_functions();
	start();
	sites.options.group = first_two_are_one;
	sites.options.only = offsetof(struct site_values, peak_bytes) + 1;
	run();
	ck_assert_uint_eq(sites.count, 3);
	ck_assert_uint_eq(sites.site[0].key, 2);
	ck_assert_uint_eq(sites.site[0].group, 1);
	ck_assert_uint_eq(sites.site[1].key, 3);
	ck_assert_uint_eq(sites.site[2].key, 1);
	ck_assert_uint_eq(sites.site[2].group, 1);
	ck_assert_uint_eq(of(2)->peak_bytes, 5 * MIB);
	ck_assert_uint_eq(sites.total.calls, 4);
	release();
}
END_TEST

/* Kept, growing all the time; kept, at once in the beginning; and freed in each epoch. */
START_TEST(growth_over_epochs)
{
	unsigned i;

	feed.header.start_ticks = 0;
	feed.ticks = 0;
	for (i = 0; i < 1600; i++) {
		feed.ticks = i * 10;
		feed_alloc_from(i < 100 ? 2 : 1, 0x10000 + i * 64, 16);
		feed.ticks = i * 10 + 4;
		feed_alloc_from(3, 0x900000, 64);
		feed.ticks = i * 10 + 8;
		feed_free(0x900000);
	}
	feed.ticks = 16000;
	feed_free(0);
	start();
	run();
	for (i = 0; i < SITE_EPOCHS; i++) {
		ck_assert_uint_eq(of(2)->epoch_bytes[i], 1600);
		ck_assert_uint_eq(of(1)->epoch_bytes[i], 1600 * i);
		ck_assert_uint_eq(of(3)->epoch_bytes[i], 0);
	}
	ck_assert_uint_eq(of(1)->live_bytes, 1500 * 16);
	ck_assert_uint_eq(of(3)->temporary_calls, 1600);
	ck_assert_uint_eq(of(1)->temporary_calls, 0);
	release();
}
END_TEST

/* What a process left is not live after its end; the other one's is until the end of the run. */
START_TEST(epochs_of_processes_that_end)
{
	unsigned i;

	feed.header.start_ticks = 0;
	feed.ticks = 0;
	feed_fact(MPROF_FACT_START, 1);
	feed_fact(MPROF_FACT_START, 2);
	feed.process = feed.thread = 2;
	feed_alloc_from(1, 0x10000, 1000);
	feed.process = feed.thread = 1;
	feed.ticks = 100;
	feed_alloc_from(2, 0x20000, 70);
	feed.ticks = 8000;
	feed_fact(MPROF_FACT_END, 2);
	feed.ticks = 15900;
	feed_fact(MPROF_FACT_END, 1);
	feed.ticks = 16000;
	feed_free(0);
	start();
	run();
	for (i = 0; i < SITE_EPOCHS; i++) {
		ck_assert_uint_eq(of(1)->epoch_bytes[i], i < 8 ? 1000 : 0);
		ck_assert_uint_eq(of(2)->epoch_bytes[i], 70);
	}
	ck_assert_uint_eq(of(1)->live_bytes, 1000);
	release();
}
END_TEST

START_TEST(reallocs_of_a_stack)
{
	feed_alloc_from(1, 0x1000, 10);
	feed_realloc_from(2, 0x1000, 0x1000, 20);
	feed_realloc_from(2, 0x1000, 0x2000, 40); /* copies 20 */
	feed_realloc_from(2, 0x2000, 0x3000, 30); /* copies 30 */
	feed_realloc_from(2, 0, 0x4000, 5);	  /* as malloc */
	start();
	run();
	ck_assert_uint_eq(of(1)->calls, 1);
	ck_assert_uint_eq(of(1)->freed_calls, 1);
	ck_assert_uint_eq(of(1)->temporary_calls, 0); /* was not freed but resized */
	ck_assert_uint_eq(of(2)->calls, 4);
	ck_assert_uint_eq(of(2)->bytes, 95);
	ck_assert_uint_eq(of(2)->reallocs, 3);
	ck_assert_uint_eq(of(2)->realloc_moved, 2);
	ck_assert_uint_eq(of(2)->realloc_bytes, 50);
	ck_assert_uint_eq(of(2)->live_bytes, 35);
	ck_assert_uint_eq(of(2)->freed_bytes, 60);
	ck_assert_uint_eq(sites.peak.bytes, 40);
	ck_assert_uint_eq(of(2)->peak_bytes, 40);
	ck_assert_uint_eq(of(2)->local_bytes, 40);
	release();
}
END_TEST

/* Blocks live at an exec are not leaks, and a child's inherited blocks belong to its parent. */
START_TEST(ends_of_processes)
{
	struct mprof_fact *f;

	feed_fact(MPROF_FACT_START, 1);
	feed_alloc_from(1, 0x1000, 100);
	f = feed_fact(MPROF_FACT_START, 2);
	f->parent = 1;
	f->fork_ticks = f->ticks;
	f->how = MPROF_CHILD_FORK;
	feed.process = feed.thread = 2;
	feed_free(0x1000);
	feed_alloc_from(2, 0x2000, 200);
	feed_fact(MPROF_FACT_EXEC, 2);
	feed_alloc_from(3, 0x2000, 300);
	feed.process = feed.thread = 1;
	feed_alloc_from(1, 0x5000, 1);
	start();
	run();
	ck_assert_uint_eq(of(1)->live_calls, 2);
	ck_assert_uint_eq(of(1)->live_bytes, 101);
	ck_assert_uint_eq(of(1)->freed_calls, 0);
	ck_assert_uint_eq(of(2)->calls, 1);
	ck_assert_uint_eq(of(2)->live_calls, 0);
	ck_assert_uint_eq(of(2)->freed_calls, 0);
	ck_assert_uint_eq(of(3)->live_bytes, 300);
	ck_assert_uint_eq(sites.peak.bytes, 401);
	ck_assert_uint_eq(of(2)->peak_bytes, 0);
	release();
}
END_TEST

static void map_call(uint8_t fn, uint64_t addr, uint64_t size, uint64_t usable, uint64_t arg)
{
	struct event *e = feed_event(EVENT_CALL, fn, addr, size);

	e->usable = usable;
	e->arg = arg;
	e->stack = 7;
}

#define ANONYMOUS ((uint64_t)(MAP_PRIVATE | MAP_ANONYMOUS) << 32)

/* 1 MiB mapped, unmapped in halves; 1 MiB mapped, shrunk by half, unmapped; then the break. */
START_TEST(the_mmap_family)
{
	map_call(MPROF_FN_MMAP, 0x100000, MIB, ANONYMOUS, 0);
	map_call(MPROF_FN_MUNMAP, 0x100000, MIB / 2, 0, 0);
	map_call(MPROF_FN_MUNMAP, 0x180000, MIB / 2, 0, 0);
	map_call(MPROF_FN_MMAP, 0x100000, MIB, ANONYMOUS, 0);
	map_call(MPROF_FN_MREMAP, 0x100000, MIB / 2, 0x100000, MIB);
	map_call(MPROF_FN_SBRK, 0x5010000, 0x10000, 0x5000000, 0x10000);
	feed_fact(MPROF_FACT_START, 1);
	feed.sample[feed.sample_count++] =
	    (struct mprof_sample){ .ticks = feed.ticks, .rss = 5000 };
	feed.ticks += 100;
	map_call(MPROF_FN_MUNMAP, 0x100000, MIB / 2, 0, 0);
	map_call(MPROF_FN_SBRK, 0x5000000, 0x10000, 0x5010000, (uint64_t)-0x10000);
	map_call(MPROF_FN_MMAP, 0, MIB, ANONYMOUS, 0);
	feed.event[feed.n - 1].error = 12;
	start();
	run();
	ck_assert_uint_eq(of(7)->map_calls, 4);
	ck_assert_uint_eq(of(7)->map_bytes, 2621440 + 0x10000);
	ck_assert_uint_eq(of(7)->calls, 0);
	ck_assert_uint_eq(sites.count, 1);
	ck_assert_uint_eq(sites.rss.mapped, MIB / 2);
	ck_assert_uint_eq(sites.rss.arena, 0x10000);
	release();
}
END_TEST

/* The process's own looks: what lived or was mapped last when that was most, in the bracket. */
START_TEST(the_greatest_rss_is_bracketed)
{
	feed_fact(MPROF_FACT_START, 1);
	feed_alloc_from(1, 0x1000, 500); /* more, but before */
	feed_free(0x1000);
	feed_alloc_from(2, 0x2000, 50);
	feed.peak[0] =
	    (struct trace_peak){ .process = 1, .from_ticks = feed.ticks - 50, .rss = 9000 };
	feed_alloc_from(3, 0x3000, 30);
	feed_free(0x3000);
	map_call(MPROF_FN_MMAP, 0x100000, 0x1000, ANONYMOUS, 0);
	feed_alloc_from(4, 0x4000, 20);
	feed_alloc_from(5, 0x5000, 10);
	feed_free(0x4000);
	feed_alloc_from(6, 0x6000, 20); /* as much again, and later */
	map_call(MPROF_FN_MUNMAP, 0x100000, 0x1000, 0, 0);
	feed.peak[0].ticks = feed.ticks - 50;
	feed.peak[0].arena = 77;
	feed.peak[0].cpu_ns = 88;
	feed_alloc_from(7, 0x7000, 5000);
	feed_free(0x7000);
	feed_alloc_from(8, 0x7000, 6000);
	feed.peak_count = 1;
	start();
	run();
	ck_assert_uint_eq(sites.rss.rss, 9000);
	ck_assert_uint_eq(sites.rss.bytes, 80);
	ck_assert_uint_eq(sites.rss.calls, 3);
	ck_assert_uint_eq(of(2)->rss_bytes, 50);
	ck_assert_uint_eq(of(4)->rss_bytes, 0);
	ck_assert_uint_eq(of(5)->rss_bytes, 10);
	ck_assert_uint_eq(of(6)->rss_bytes, 20);
	ck_assert_uint_eq(of(7)->rss_bytes, 0);
	ck_assert_uint_eq(sites.rss.mapped, 0x1000);
	ck_assert_uint_eq(sites.rss.arena, 77);
	ck_assert_uint_eq(sites.rss.cpu_ns, 88);
	ck_assert_int_eq(sites.rss.from_ns, (int64_t)feed.peak[0].from_ticks);
	ck_assert_int_eq(sites.rss.to_ns, (int64_t)feed.peak[0].ticks);
	ck_assert_uint_eq(sites.rss.unseen, 6080 - (80 + 0x1000));
	release();
}
END_TEST

/* The kernel's mark lags: the look saw all but the last pages of a phase of growth. */
START_TEST(the_greatest_rss_is_at_the_end_of_growth)
{
	uint64_t end;

	feed_fact(MPROF_FACT_START, 1);
	feed.peak[0] = (struct trace_peak){ .process = 1, .from_ticks = feed.ticks - 50 };
	feed_alloc_from(1, 0x1000, MIB);
	feed.peak[0].ticks = feed.ticks - 50;
	feed.peak[0].rss = MIB;
	feed.peak_count = 1;
	feed_alloc_from(2, 0x200000, 5000);
	feed_alloc_from(3, 0x300000, 3000);
	end = feed.ticks;
	feed_free(0x200000);
	feed_alloc_from(4, 0x200000, 6000); /* memory had fallen before */
	start();
	run();
	ck_assert_uint_eq(sites.rss.bytes, MIB + 8000);
	ck_assert_uint_eq(of(2)->rss_bytes, 5000);
	ck_assert_uint_eq(of(3)->rss_bytes, 3000);
	ck_assert_uint_eq(of(4)->rss_bytes, 0);
	ck_assert_int_eq(sites.rss.ns, sites.rss.to_ns);
	ck_assert_int_le(sites.rss.to_ns, (int64_t)end);
	ck_assert_uint_eq(sites.rss.unseen, 1000);
	release();
}
END_TEST

/* Nothing is allocated between two looks: the memory was only written to. */
START_TEST(the_greatest_rss_without_events)
{
	feed_fact(MPROF_FACT_START, 1);
	feed_alloc_from(1, 0x1000, 500);
	feed.peak[0] = (struct trace_peak){
		.process = 1, .from_ticks = feed.ticks - 50, .ticks = feed.ticks - 10, .rss = 9000
	};
	feed.peak_count = 1;
	feed_free(0x1000);
	start();
	run();
	ck_assert_uint_eq(sites.rss.bytes, 500);
	ck_assert_uint_eq(of(1)->rss_calls, 1);
	ck_assert_int_eq(sites.rss.ns, (int64_t)feed.peak[0].ticks);
	release();
}
END_TEST

/* What is in swap, the program needs, too: a playback may take more than was resident. */
START_TEST(the_greatest_rss_beside_swap)
{
	const struct mprof_system system = { .swapped = 4096 };
	struct walk_input in = { .facts = feed.facts,
				 .context = &feed,
				 .peaks = feed.peak,
				 .peak_count = 1,
				 .samples = feed_samples };

	feed_fact(MPROF_FACT_START, 1);
	in.fact_count = feed.fact_count;
	feed.peak[0] = (struct trace_peak){ .process = 1, .ticks = 10, .rss = 9000 };
	ck_assert_uint_eq(compile_peak_rss(&in, 1), 9000);
	in.system = &system;
	in.system_count = 1;
	ck_assert_uint_eq(compile_peak_rss(&in, 1), 0);
}
END_TEST

static struct rss_moment found;

static void find(void)
{
	struct walk_input in = {
		.facts = feed.facts,
		.fact_count = feed.fact_count,
		.context = &feed,
		.peaks = feed.peak,
		.peak_count = feed.peak_count,
		.samples = feed_samples,
	};

	rss_find(&found, &in);
}

#define A_SAMPLE(at, r, p) ((struct mprof_sample){ .ticks = (at), .rss = (r), .peak_rss = (p) })

/* Who is believed: the process itself, unless others saw clearly more. */
START_TEST(who_saw_the_greatest_rss)
{
	struct mprof_fact *end;

	feed_fact(MPROF_FACT_START, 1);
	find();
	ck_assert_uint_eq(found.rss, 0);
	feed.peak[0] = (struct trace_peak){
		.process = 1, .from_ticks = 10, .ticks = 20, .rss = 50 * MIB, .arena = 3
	};
	feed.peak[1] = (struct trace_peak){
		.process = 1, .image = 1, .from_ticks = 80, .ticks = 90, .rss = 20 * MIB
	};
	feed.peak_count = 2;
	find();
	ck_assert(found.arena_known && found.rss == 50 * MIB && found.to_ticks == 20);
	/* Counters lag. */
	feed.sample[0] = A_SAMPLE(15, 40 * MIB, 40 * MIB);
	feed.sample[1] = A_SAMPLE(30, 50 * MIB + 4096, 50 * MIB + 8192);
	feed.sample_count = 2;
	find();
	ck_assert(found.arena_known && found.rss == 50 * MIB && found.to_ticks == 20);
	/* It grew after its last look, was seen to, and what was seen then is the mark. */
	feed.sample[2] = A_SAMPLE(40, 55 * MIB, 60 * MIB);
	feed.sample[3] = A_SAMPLE(50, 10 * MIB, 60 * MIB);
	feed.sample_count = 4;
	find();
	ck_assert(!found.arena_known && !found.sampled && found.rss == 60 * MIB);
	ck_assert(found.from_ticks == 30 && found.to_ticks == 40);
	/* Without a mark it may have been larger until the next sample. */
	feed.sample[2] = A_SAMPLE(40, 60 * MIB, 0);
	feed.sample[3] = A_SAMPLE(50, 10 * MIB, 0);
	find();
	ck_assert(found.sampled && found.from_ticks == 40 && found.to_ticks == 50);
	/* wait4 knows better, but not of a process with children. */
	feed.sample_count = 2;
	end = feed_fact(MPROF_FACT_WAITED, 1);
	end->peak_rss_bytes = 70 * MIB;
	find();
	ck_assert(found.rss == 70 * MIB && found.from_ticks == 20 && found.to_ticks == UINT64_MAX);
	/* The process itself knows that it was a child, which was not recorded. */
	feed_fact(MPROF_FACT_END, 1)->peak_rss_bytes = 50 * MIB;
	find();
	ck_assert(found.rss == 50 * MIB && found.to_ticks == 20);
	feed_fact(MPROF_FACT_START, 2)->parent = 1;
	find();
	ck_assert(found.rss == 50 * MIB && found.to_ticks == 20);
	/* The largest of all processes. */
	feed.peak[1].process = 2;
	feed.peak[1].rss = 51 * MIB;
	find();
	ck_assert(found.process == 2 && found.rss == 51 * MIB && found.from_ticks == 80);
}
END_TEST

/* The sample with most resident counts, and blocks that were freed at its time do not. */
START_TEST(the_greatest_rss)
{
	feed_fact(MPROF_FACT_START, 1);
	feed_alloc_from(1, 0x1000, 100);
	feed_alloc_from(2, 0x2000, 50);
	feed.sample[0] = (struct mprof_sample){ .ticks = feed.ticks, .rss = 7000 };
	feed.ticks += 100;
	feed_free(0x1000);
	feed_alloc_from(3, 0x3000, 10);
	feed.sample[1] = (struct mprof_sample){ .ticks = feed.ticks, .rss = 9000 };
	feed.ticks += 100;
	feed_free(0x2000);
	feed.sample[2] = (struct mprof_sample){ .ticks = feed.ticks, .rss = 8000 };
	feed.sample_count = 3;
	start();
	run();
	ck_assert_uint_eq(sites.rss.rss, 9000);
	ck_assert_uint_eq(sites.rss.process, 1);
	ck_assert_uint_eq(sites.rss.bytes, 60);
	ck_assert_uint_eq(of(1)->rss_bytes, 0);
	ck_assert_uint_eq(of(2)->rss_bytes, 50);
	ck_assert_uint_eq(of(3)->rss_calls, 1);
	ck_assert_uint_eq(sites.peak.bytes, 150);
	release();
	/* A filter leaves the moments as they are. */
	start();
	sites.options.filter.size_max = 20;
	run();
	ck_assert_uint_eq(sites.rss.bytes, 60);
	ck_assert_uint_eq(sites.total.rss_bytes, 10);
	ck_assert_uint_eq(sites.peak.bytes, 150);
	ck_assert_uint_eq(sites.total.peak_bytes, 0);
	release();
}
END_TEST

START_TEST(parts_of_a_stack)
{
	uint64_t i;

	for (i = 0; i < 6000; i++) {
		feed.thread = 1 + i % 3;
		feed_alloc_from(1 + i % 2, 0x10000 + 64 * i, 1 + i / 2);
	}
	start();
	sites.options.part = SITE_BY_SIZE;
	run();
	ck_assert_uint_eq(sites.count, 6000);
	ck_assert_uint_eq(of_part(2, 17)->calls, 1);
	ck_assert_uint_eq(of_part(1, 3000)->bytes, 3000);
	release();
	start();
	sites.options.part = SITE_BY_THREAD;
	run();
	ck_assert_uint_eq(sites.count, 6);
	ck_assert_uint_eq(of_part(1, 2)->calls, 1000);
	ck_assert_uint_eq(of_part(2, 3)->calls, 1000);
	release();
}
END_TEST

/* ---- against the definitions ---- */

#define STACKS	4u
#define THREADS 3u
#define CALLS	3000u
#define SLOTS	64u

struct life {
	uint64_t begin, end; /* numbers of events; end 0: never */
	uint64_t from, to;   /* ticks */
	uint64_t size;
	uint32_t stack, thread, freed_by;
	uint64_t call_begin, call_end; /* numbers of the thread's own calls */
	uint8_t fn;
};

static struct life life[CALLS];
static size_t lives;
static uint64_t seed;

static uint64_t roll(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % n;
}

static void make_lives(void)
{
	size_t slot[SLOTS] = { 0 }, i;
	uint64_t calls[THREADS + 1] = { 0 }, s;
	struct life *l;

	lives = 0;
	for (i = 0; i < CALLS; i++) {
		feed.thread = 1 + (uint32_t)roll(THREADS);
		feed.ticks += roll(50) * roll(50);
		s = roll(SLOTS);
		calls[feed.thread]++;
		if (slot[s]) {
			l = &life[slot[s] - 1];
			l->end = feed.n + 1;
			l->to = feed.ticks;
			l->freed_by = feed.thread;
			l->call_end = calls[feed.thread];
			slot[s] = 0;
			feed_free(0x10000 + 0x10000 * s);
			continue;
		}
		l = &life[lives++];
		*l = (struct life){ .begin = feed.n + 1,
				    .from = feed.ticks,
				    .size = 1 + roll(2000),
				    .stack = 1 + (uint32_t)roll(STACKS),
				    .thread = feed.thread,
				    .call_begin = calls[feed.thread],
				    .fn = roll(2) ? MPROF_FN_MALLOC : MPROF_FN_NEW };
		slot[s] = lives;
		feed_alloc_from(l->stack, 0x10000 + 0x10000 * s, l->size);
		feed.event[feed.n - 1].fn = l->fn;
	}
}

static bool lived_at(const struct life *l, uint64_t event)
{
	return l->begin <= event && (!l->end || l->end > event);
}

static uint64_t bytes_at(uint64_t event)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < lives; i++)
		sum += lived_at(&life[i], event) ? life[i].size : 0;
	return sum;
}

static uint64_t peak_event(void)
{
	uint64_t most = 0, at = 0, e, now;

	for (e = 1; e <= feed.n; e++) {
		now = bytes_at(e);
		if (now > most) {
			most = now;
			at = e;
		}
	}
	return at;
}

static bool passes(const struct life *l, bool lifetimes)
{
	const struct site_filter *f = &sites.options.filter;
	uint64_t ns = l->end ? l->to - l->from : UINT64_MAX;

	return (!f->thread.number || f->thread.number == l->thread) && l->size >= f->size_min &&
	       l->size <= f->size_max && (!f->functions || f->functions >> l->fn & 1) &&
	       (int64_t)l->from >= f->from_ns && (int64_t)l->from <= f->to_ns &&
	       (!lifetimes || (ns >= f->lifetime_min_ns && ns <= f->lifetime_max_ns));
}

static bool is_temporary(const struct life *l)
{
	uint64_t n = sites.options.temporary_events ? sites.options.temporary_events : 1;

	return l->end && l->thread == l->freed_by &&
	       (l->call_end - l->call_begin <= n || l->to - l->from < sites.options.temporary_ns);
}

static void expect_values(uint32_t stack, uint64_t peak)
{
	struct site_values want = { .size_min = UINT64_MAX, .lifetime_min_ns = UINT64_MAX };
	const struct site_values *v = of(stack);
	size_t i, e;

	for (i = 0; i < lives; i++) {
		const struct life *l = &life[i];

		if (l->stack != stack || !passes(l, true))
			continue;
		want.calls++;
		want.bytes += l->size;
		want.slack += 8 * (l->size & 1);
		want.size_min = l->size < want.size_min ? l->size : want.size_min;
		want.size_max = l->size > want.size_max ? l->size : want.size_max;
		if (l->end) {
			want.freed_calls++;
			want.lifetime_ns += l->to - l->from;
			if (l->to - l->from < want.lifetime_min_ns)
				want.lifetime_min_ns = l->to - l->from;
			if (l->to - l->from > want.lifetime_max_ns)
				want.lifetime_max_ns = l->to - l->from;
			want.foreign_frees += l->thread != l->freed_by;
		} else {
			want.live_calls++;
			want.live_bytes += l->size;
			if (!want.left_ticks || l->from < want.left_ticks)
				want.left_ticks = l->from;
		}
		if (lived_at(l, peak)) {
			want.peak_calls++;
			want.peak_bytes += l->size;
		}
		want.temporary_calls += is_temporary(l);
		want.temporary_bytes += is_temporary(l) ? l->size : 0;
		for (e = 0; e + 1 < SITE_EPOCHS; e++)
			if (l->from < sites.epoch_ticks[e + 1] &&
			    (!l->end || l->to >= sites.epoch_ticks[e + 1]))
				want.epoch_bytes[e] += l->size;
		want.epoch_bytes[e] += l->end ? 0 : l->size;
	}
	ck_assert_uint_eq(v->calls, want.calls);
	if (!want.calls)
		return;
	ck_assert_uint_eq(v->bytes, want.bytes);
	ck_assert_uint_eq(v->slack, want.slack);
	ck_assert_uint_eq(v->size_min, want.size_min);
	ck_assert_uint_eq(v->size_max, want.size_max);
	ck_assert_uint_eq(v->freed_calls, want.freed_calls);
	ck_assert_uint_eq(v->live_calls, want.live_calls);
	ck_assert_uint_eq(v->live_bytes, want.live_bytes);
	ck_assert_uint_eq(v->left_ticks, want.left_ticks);
	ck_assert_uint_eq(v->lifetime_ns, want.lifetime_ns);
	if (want.freed_calls) {
		ck_assert_uint_eq(v->lifetime_min_ns, want.lifetime_min_ns);
		ck_assert_uint_eq(v->lifetime_max_ns, want.lifetime_max_ns);
	}
	ck_assert_uint_eq(v->foreign_frees, want.foreign_frees);
	ck_assert_uint_eq(v->peak_calls, want.peak_calls);
	ck_assert_uint_eq(v->peak_bytes, want.peak_bytes);
	ck_assert_uint_eq(v->temporary_calls, want.temporary_calls);
	ck_assert_uint_eq(v->temporary_bytes, want.temporary_bytes);
	for (e = 0; e < SITE_EPOCHS; e++)
		ck_assert_uint_eq(v->epoch_bytes[e], want.epoch_bytes[e]);
}

/* The most of the stack that passes all but the filter of lifetimes. */
static void expect_local(uint32_t stack)
{
	uint64_t most = 0, now, e;
	size_t i;

	for (e = 1; e <= feed.n; e++) {
		now = 0;
		for (i = 0; i < lives; i++)
			if (life[i].stack == stack && lived_at(&life[i], e) &&
			    passes(&life[i], false))
				now += life[i].size;
		most = now > most ? now : most;
	}
	ck_assert_uint_eq(of(stack)->local_bytes, of(stack)->calls ? most : 0);
}

static void set_filter(int which)
{
	struct site_filter *f = &sites.options.filter;

	if (which & 1) {
		f->size_min = 300;
		f->size_max = 1500;
	}
	if (which & 2) {
		f->lifetime_min_ns = 20000;
		f->lifetime_max_ns = which & 8 ? UINT64_MAX : 150000;
	}
	if (which & 4) {
		f->from_ns = 900000;
		f->to_ns = 2500000;
		sites.options.temporary_events = 4;
	}
	if (which & 8)
		f->thread.number = 2;
	if (which & 16) {
		f->functions = 1u << MPROF_FN_NEW;
		sites.options.temporary_ns = 30000;
	}
}

START_TEST(filters_against_their_definitions)
{
	uint64_t peak;
	uint32_t s;

	seed = 17 + (uint64_t)_i;
	make_lives();
	start();
	set_filter(_i);
	run();
	peak = peak_event();
	ck_assert_uint_eq(sites.peak.bytes, bytes_at(peak));
	ck_assert_uint_eq(sites.peak.ticks, feed.event[peak - 1].ticks);
	for (s = 1; s <= STACKS; s++) {
		expect_values(s, peak);
		if (_i % 8 == 0)
			expect_local(s);
	}
	release();
}
END_TEST

/* ---- rows ---- */

#define ROWS 500u

static uint64_t random_number(void)
{
	static uint64_t state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Any figures: most are 0 or small, some have all bits. */
static void make_site(struct site *site)
{
	uint64_t number[offsetof(struct site, v.error) / sizeof(uint64_t)];

	for (size_t i = 0; i < sizeof(number) / sizeof(*number); i++)
		number[i] = random_number() % 3 ? 0 : random_number() >> random_number() % 64;
	*site = (struct site){ .key = 0 };
	memcpy(site, number, sizeof(number));
}

static void expect_brief(const struct site_brief *brief, const struct site *site)
{
	struct site_brief other;

	site_brief_fill(&other, site);
	ck_assert_uint_eq(brief->key, site->key);
	ck_assert_uint_eq(brief->calls, site->v.calls);
	ck_assert_uint_eq(brief->foreign_frees, site->v.foreign_frees);
	ck_assert_mem_eq(&brief->calls, &other.calls,
			 sizeof(other) - offsetof(struct site_brief, calls));
}

START_TEST(rows_keep_all_figures)
{
	static struct site site[ROWS];
	static struct site_brief brief[ROWS];
	struct site_rows rows = { .at = NULL }, copy = { .at = NULL };
	struct cursor from;
	struct site got;

	for (size_t i = 0; i < ROWS; i++) {
		make_site(&site[i]);
		site_rows_add(&rows, i, &site[i]);
	}
	from = (struct cursor){ rows.added.byte, rows.added.byte + rows.added.n };
	site_rows_take(&copy, ROWS, &from, brief);
	ck_assert_ptr_eq(from.p, from.end);
	for (size_t i = 0; i < ROWS; i++) {
		site_rows_get(&rows, i, &got);
		ck_assert_mem_eq(&got, &site[i], sizeof(got));
		site_rows_get(&copy, i, &got);
		ck_assert_mem_eq(&got, &site[i], sizeof(got));
		expect_brief(&brief[i], &site[i]);
	}
	site_rows_release(&copy);
	site_rows_release(&rows);
}
END_TEST

/* With options.brief, the same sites. */
START_TEST(brief_sites)
{
	struct site_brief brief[STACKS];
	struct site site;
	size_t n;

	seed = 5;
	make_lives();
	start();
	sites.options.brief = true;
	run();
	n = sites.count;
	ck_assert_uint_gt(n, 1);
	ck_assert_uint_le(n, STACKS);
	ck_assert_ptr_null(sites.site);
	memcpy(brief, sites.brief, n * sizeof(*brief));
	sites_site(&sites, n - 1, &site);
	release();
	start();
	run();
	ck_assert_uint_eq(sites.count, n);
	for (size_t i = 0; i < n; i++)
		expect_brief(&brief[i], &sites.site[i]);
	ck_assert_mem_eq(&site, &sites.site[n - 1], sizeof(site));
	release();
}
END_TEST

Suite *pass_sites_suite(void)
{
	Suite *s = suite_create("pass_sites");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, feed_start, NULL);
	tcase_add_test(t, three_functions_at_the_peak);
	tcase_add_test(t, groups_have_their_own_peak);
	tcase_add_test(t, a_group_gets_a_second_site);
	tcase_add_test(t, only_groups_of_the_peak);
	tcase_add_test(t, growth_over_epochs);
	tcase_add_test(t, epochs_of_processes_that_end);
	tcase_add_test(t, reallocs_of_a_stack);
	tcase_add_test(t, ends_of_processes);
	tcase_add_test(t, the_mmap_family);
	tcase_add_test(t, the_greatest_rss);
	tcase_add_test(t, the_greatest_rss_is_bracketed);
	tcase_add_test(t, the_greatest_rss_is_at_the_end_of_growth);
	tcase_add_test(t, the_greatest_rss_without_events);
	tcase_add_test(t, the_greatest_rss_beside_swap);
	tcase_add_test(t, who_saw_the_greatest_rss);
	tcase_add_test(t, parts_of_a_stack);
	tcase_add_loop_test(t, filters_against_their_definitions, 0, 32);
	tcase_add_test(t, rows_keep_all_figures);
	tcase_add_test(t, brief_sites);
	suite_add_tcase(s, t);
	return s;
}
