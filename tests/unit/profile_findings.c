// SPDX-License-Identifier: LGPL-3.0-or-later
/* profile_findings.c - what findings propose, what they leave to another one, and how leaks grew */
#include "suites.h"

#include "profile/finding_sums.h"
#include "profile/findings.h"
#include "profile/leak_growth.h"
#include "profile/leaks.h"
#include "profile/retained.h"

static struct sym_line line, through;
static struct finding finding;

/* Half of the calls are of one line of the program, with small blocks. */
static void start(void)
{
	line = (struct sym_line){ .function = "f",
				  .raw = "f",
				  .file = "/home/prog.c",
				  .module = "prog",
				  .line = 7,
				  .known = true };
	through = (struct sym_line){
		.function = "g", .raw = "g", .file = "", .module = "prog", .known = true
	};
	finding = (struct finding){
		.kind = FINDING_HOT,
		.line = &line,
		.at_line = { .part = 5000, .calls = 5000, .largest = FINDINGS_POOLED },
		.at_stack = { .part = 4999, .calls = 4999, .largest = 16 },
		.part = 10000,
		.of = 20000,
		.aligned = 2500,
	};
}

static enum finding_change proposed(void)
{
	return finding_proposal(&finding).change;
}

START_TEST(a_pool_for_small_blocks)
{
	const struct finding_proposal p = finding_proposal(&finding);

	ck_assert_int_eq(p.change, PROPOSES_POOL);
	ck_assert(p.of_line);
	ck_assert_uint_eq(p.calls, 5000);
	finding.aligned++; /* more than half of its calls may be of these */
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
	start();
	finding.at_line.largest++;
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
	start();
	finding.at_line.part--; /* less than half of the finding */
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
	start();
	finding.part = finding.of = finding.at_line.part = finding.at_line.calls = 1000;
	finding.aligned = 0;
	ck_assert_int_eq(proposed(), PROPOSES_POOL);
	finding.at_line.calls--;
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
}
END_TEST

START_TEST(the_stack_where_no_line_is_known)
{
	struct finding_proposal p;

	line.line = 0;
	line.file = "";
	finding.part = 9998;
	finding.aligned = 0;
	p = finding_proposal(&finding);
	ck_assert_int_eq(p.change, PROPOSES_POOL);
	ck_assert(!p.of_line);
	ck_assert_uint_eq(p.calls, 4999);
	line.known = false; /* nor a name */
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
	line.known = true;
	line.module = "libown.so.1"; /* nor in the program */
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
}
END_TEST

START_TEST(what_the_reader_cannot_change)
{
	finding.reduced = true;
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
	start();
	line.script = true;
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
	start();
	line.module = "python3.11";
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
	start();
	finding.through = &through;
	ck_assert_int_eq(proposed(), PROPOSES_POOL);
	finding.by_library = true;
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
	ck_assert(!finding_is_theirs(&through));
	through.module = "libc.so.6"; /* allocates there, and takes no allocator */
	ck_assert(finding_is_theirs(&through));
	through.function = "std::string::_M_mutate";
	ck_assert(!finding_is_theirs(&through));
	through.module = "prog";
	through.function = "std::panicking::begin_panic";
	ck_assert(finding_is_theirs(&through));
	through.function = "core::panicking::panic_fmt";
	ck_assert(finding_is_theirs(&through));
}
END_TEST

/* A copy is better avoided, unless its calls are nearly all that the program does. */
START_TEST(copies_are_dropped)
{
	finding.through = &through;
	through.raw = "_ZN3recC2ERKS_";
	ck_assert_int_eq(proposed(), PROPOSES_POOL);
	finding.all_through = true;
	ck_assert_int_eq(proposed(), PROPOSES_DROP);
	finding.of = 5556;
	ck_assert_int_eq(proposed(), PROPOSES_DROP);
	finding.of = 5555;
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
	start();
	finding.kind = FINDING_TEMPORARY;
	finding.at_line.calls = 10001; /* less than half of them are temporary */
	ck_assert_int_eq(proposed(), PROPOSES_DROP);
	finding.at_line.calls = 10002;
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
}
END_TEST

START_TEST(what_grows_is_reserved)
{
	finding.kind = FINDING_GROWN;
	finding.grown.chains = 3;
	finding.grown.merged = 2;
	ck_assert_int_eq(proposed(), PROPOSES_RESERVE);
	ck_assert_uint_eq(finding_proposal(&finding).calls, 3);
	line.line = 0; /* of several stacks, and none can be named */
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
	finding.grown.merged = 1;
	ck_assert_int_eq(proposed(), PROPOSES_RESERVE);
}
END_TEST

static struct findings findings;

static void tell(uint64_t stacks, uint64_t globals)
{
	findings.outside = (struct outside){
		.process = 1, .outside = 4000, .unseen = 1000, .stacks = stacks, .globals = globals
	};
	findings.stacks.process = findings.stacks.variables_process = 1;
	findings_tell_outside_once(&findings);
}

static void expect_told(bool outside, bool stacks, bool variables)
{
	ck_assert_int_eq(findings.outside.process != 0, outside);
	ck_assert_int_eq(findings.stacks.process != 0, stacks);
	ck_assert_int_eq(findings.stacks.variables_process != 0, variables);
}

START_TEST(memory_outside_is_told_once)
{
	tell(750, 0);
	expect_told(false, true, true);
	tell(375, 375);
	expect_told(false, true, true);
	tell(500, 249);
	expect_told(true, false, true);
	tell(249, 250);
	expect_told(true, true, false);
	tell(250, 250);
	expect_told(true, false, false);
	tell(249, 249);
	expect_told(true, true, true);
	findings.outside.unseen = 0; /* all of it moved, or was mapped */
	findings_tell_outside_once(&findings);
	expect_told(true, true, true);
}
END_TEST

/* Mapped memory may include stacks, but never those of another process. */
START_TEST(memory_outside_of_one_process)
{
	findings.outside = (struct outside){
		.process = 1, .outside = 4000, .unseen = 1000, .stacks = 1000, .by_who = 1
	};
	findings.stacks.process = 1;
	findings_tell_outside_once(&findings);
	expect_told(true, false, false);
	findings.outside =
	    (struct outside){ .process = 1, .outside = 4000, .unseen = 1000, .stacks = 1000 };
	findings.stacks.process = findings.stacks.variables_process = 2;
	findings_tell_outside_once(&findings);
	expect_told(true, true, true);
}
END_TEST

/* ---- growth ---- */

static int64_t farthest(void *context, uint64_t ticks)
{
	(void)context;
	return ticks ? INT64_MAX : INT64_MIN;
}

/* Times of a damaged trace: as far apart as times can be, and in the wrong order. */
/* A damaged file may say that a process forked itself, or that two forked each other. */
START_TEST(memory_retained_by_a_process_without_beginning)
{
	struct mprof_fact fact = { .what = MPROF_FACT_START };
	const struct trace_fact start = { .fact = &fact,
					  .malloc_of = "",
					  .allocator = "/libc.so.6" };
	const struct trace_fact *image[] = { &start };
	struct tree_process process[2] = {
		{ .number = 1, .parent = 2, .forked = true, .image = image, .images = 1 },
		{ .number = 2, .parent = _i ? 2 : 1, .forked = true, .image = image, .images = 1 },
	};
	struct resident_parts_sample sample = {
		.process = 2, .found = true, .ticks = 1, .retained = 1u << 30
	};
	struct mprof_file_header header = { .clock_hz = 1 };
	const struct trace_damage none = { .chunks_bad = 0 };
	static struct analysis a;
	struct retained r;

	a.walk.input.header = &header;
	a.damage = &none;
	a.tree = (struct tree){ .process = process, .processes = 2, .end_ticks = 100 };
	a.resident_parts.sample = (struct array){ .item = &sample, .count = 1 };
	retained_find(&r, &a, NULL);
	ck_assert_uint_eq(r.process, 2);
	ck_assert_uint_eq(r.whole, 1u << 30);
}
END_TEST

START_TEST(ages_beyond_all_bounds)
{
	static struct profile p;
	const struct site_values v = { .leaked_calls = 2 };
	struct profile_group g = { .v = &v, .leaked_epochs = v.epoch_bytes };
	struct leak leak;
	int i;

	p.walk.input.ns = farthest;
	for (i = 0; i <= (int)SITE_EPOCHS; i++)
		p.sites.epoch_ticks[i] = 1;
	leak_of(&p, &g, &leak);
	ck_assert_uint_eq(leak.age_ns, UINT64_MAX);
	g.leaked_first_ticks = 1;
	p.sites.epoch_ticks[SITE_EPOCHS] = 0;
	leak_of(&p, &g, &leak);
	ck_assert_uint_eq(leak.age_ns, 0);
}
END_TEST

/* Growth counts from the first block: what was full soon after a late start does not grow. */
START_TEST(growth_since_the_first_block)
{
	uint64_t steady[SITE_EPOCHS] = { 0 }, full[SITE_EPOCHS] = { 0 };
	uint64_t late[SITE_EPOCHS] = { 0 }, stopped[SITE_EPOCHS] = { 0 };
	unsigned i;

	for (i = 0; i < SITE_EPOCHS; i++) {
		steady[i] = 100 * i;
		full[i] = i < 11 ? 0 : i == 11 ? 700 : 1000;
		late[i] = i < 11 ? 0 : 100 * (i - 10);
		stopped[i] = i < 4 ? 100 * i : 400;
	}
	ck_assert(leak_goes_on(steady));
	ck_assert(!leak_goes_on(full));
	ck_assert(leak_goes_on(late));
	ck_assert(!leak_goes_on(stopped));
	for (i = 0; i < 13; i++)
		late[i] = 0;
	ck_assert(!leak_goes_on(late)); /* too short a time */
	for (i = 10; i < SITE_EPOCHS; i++)
		steady[i] = full[i] = stopped[i] = 0; /* the process ended before the run did */
	ck_assert(leak_goes_on(steady));
	ck_assert(!leak_goes_on(full));
	ck_assert(!leak_goes_on(stopped));
}
END_TEST

/* What a script keeps is freed when its interpreter ends. */
START_TEST(growth_until_freed)
{
	struct sites s = { .epoch_ticks = { 0 } };
	uint64_t grows[SITE_EPOCHS], stops[SITE_EPOCHS], leaks[SITE_EPOCHS], early[SITE_EPOCHS];
	unsigned i;

	for (i = 0; i < SITE_EPOCHS; i++) {
		s.epoch_ticks[i + 1] = 100 * (i + 1);
		grows[i] = i < 14 ? 1000 * i : 0;
		stops[i] = i > 2 && i < 14 ? 9000 : 0;
		leaks[i] = i < 15 ? 1000 * i : 14000;
		early[i] = i < 9 ? 1000 * i : 0;
	}
	ck_assert_uint_eq(growth_freed_ticks(&s, grows), 1400);
	ck_assert_uint_eq(growth_freed_ticks(&s, stops), 0);
	ck_assert_uint_eq(growth_freed_ticks(&s, leaks), 0);
	ck_assert_uint_eq(growth_freed_ticks(&s, early), 0);
}
END_TEST

/* A buffer that is filled and freed again and again was not freed only in the end; a queue that
 * grows was, though no block is in it for long. */
START_TEST(growth_until_freed_of_batches)
{
	static struct analysis a;
	struct sites sites = { .epoch_ticks = { 0 } };
	struct site_values v = { .lifetime_max_ns = 700 };
	unsigned i;

	a.walk.ns_mult = 1ull << 32;
	a.tree.end_ticks = 1600;
	for (i = 0; i < SITE_EPOCHS; i++) {
		sites.epoch_ticks[i + 1] = 100 * (i + 1);
		v.epoch_bytes[i] = i < 14 ? 1000 * i : 0;
	}
	ck_assert_uint_eq(growth_freed_ns(&a, &sites, &v, true), 200);
	ck_assert_uint_eq(growth_freed_ns(&a, &sites, &v, false), 0); /* too short a run */
	v.lifetime_max_ns = 150;
	v.local_bytes = 13500;
	ck_assert_uint_eq(growth_freed_ns(&a, &sites, &v, true), 200); /* a queue */
	v.epoch_bytes[8] = 11000;
	ck_assert_uint_eq(growth_freed_ns(&a, &sites, &v, true), 0);
	v.epoch_bytes[8] = 8000;
	v.local_bytes = 20000;
	ck_assert_uint_eq(growth_freed_ns(&a, &sites, &v, true), 0);
}
END_TEST

/* A pool that is full, and changes a little with each request, has not grown since. */
START_TEST(growth_by_more_than_a_hundredth)
{
	uint64_t pool[SITE_EPOCHS], slow[SITE_EPOCHS], once[SITE_EPOCHS];
	unsigned i, last;

	for (i = 0; i < SITE_EPOCHS; i++) {
		pool[i] = i ? 10000 + 7 * i + 60 * (i % 3) : 8000;
		slow[i] = i < 14 ? 10000 + 60 * i : 0; /* its process ended before the run did */
		once[i] = i < 3 ? 0 : 500;
	}
	ck_assert_uint_eq(leak_rises(pool, &last), 2);
	ck_assert_uint_eq(last, 8);
	ck_assert_uint_eq(leak_rises(slow, &last), 6);
	ck_assert_uint_eq(last, 12);
	ck_assert_uint_eq(leak_rises(once, &last), 0);
	ck_assert_uint_eq(last, 3);
}
END_TEST

/* A batch is as large as chance will have it at the end of an epoch; a queue has no old block. */
START_TEST(growth_of_what_is_replaced)
{
	uint64_t ticks[SITE_EPOCHS + 1];
	struct site_values batch = { .local_bytes = 2000 }, queue, leak;
	unsigned i;

	for (i = 0; i <= SITE_EPOCHS; i++)
		ticks[i] = 100 * i;
	for (i = 0; i < SITE_EPOCHS; i++)
		batch.epoch_bytes[i] = 100 * (i + 1);
	leak = queue = batch;
	batch.left_ticks = queue.left_ticks = 1590;
	queue.local_bytes = 1650;
	ck_assert(leak_goes_on(batch.epoch_bytes));
	ck_assert(leak_is_replaced(&batch, ticks, 1600)); /* there was more */
	ck_assert(!leak_is_replaced(&queue, ticks, 1600));
	queue.local_bytes = 3100; /* a text that grows, and is copied for it */
	queue.size_max = 1600;
	ck_assert(!leak_is_replaced(&queue, ticks, 1600));
	queue.size_max = 800;
	ck_assert(leak_is_replaced(&queue, ticks, 1600)); /* there was more */
	queue.local_bytes = 1650;
	queue.epoch_bytes[5] = 1200;
	ck_assert(leak_is_replaced(&queue, ticks, 1600)); /* it falls */
	for (i = 0; i < SITE_EPOCHS; i++)
		queue.epoch_bytes[i] = 1400 + 10 * i;
	ck_assert(leak_is_replaced(&queue, ticks, 1600)); /* a cache that is full */
	leak.left_ticks = 1190;
	ck_assert(!leak_is_replaced(&leak, ticks, 1600));
	/* 90 freed blocks that lived for 200 ns each: 11 are live on average. */
	leak.freed_calls = 90;
	leak.calls = 110;
	leak.lifetime_ns = 90 * 200;
	leak.lifetime_max_ns = 300;
	leak.live_calls = 30;
	for (i = 7; i < SITE_EPOCHS; i++)
		leak.epoch_bytes[i] = 1400 + i % 2;
	ck_assert(!leak_is_replaced(&leak, ticks, 1600));
	leak.live_calls = 15; /* a cache, whose blocks are replaced in any order */
	ck_assert(leak_is_replaced(&leak, ticks, 1600));
	leak.lifetime_max_ns = 150; /* most blocks are older than any that was freed */
	ck_assert(!leak_is_replaced(&leak, ticks, 1600));
	leak.lifetime_max_ns = 300;
	for (i = 7; i < SITE_EPOCHS; i++)
		leak.epoch_bytes[i] = 1400 + 10 * i; /* little, and always */
	ck_assert(!leak_is_replaced(&leak, ticks, 1600));
	leak.epoch_bytes[9] = leak.epoch_bytes[12] = leak.epoch_bytes[14] = 1560;
	leak.epoch_bytes[3] = 100;
	ck_assert(leak_is_replaced(&leak, ticks, 1600));
	leak.epoch_bytes[7] = 1000; /* grew much */
	ck_assert(!leak_is_replaced(&leak, ticks, 1600));
	leak.left_ticks = 0; /* unknown */
	ck_assert(!leak_is_replaced(&leak, ticks, 1600));
	for (i = 0; i < 12; i++)
		batch.epoch_bytes[i] = 0;
	ck_assert(!leak_is_replaced(&batch, ticks, 1600)); /* too short a time */
}
END_TEST

static bool busy(struct sites *s, size_t i)
{
	struct growth_calls calls;

	growth_calls_make(&calls, s);
	return growth_is_busy(&calls, s, &s->site[i].v);
}

/* Before or after an idle time, a leak is growth; what a program loads before it works is none. */
START_TEST(growth_beside_an_idle_time)
{
	struct site site[3] = {
		{ .v = { .calls = 100, .live_calls = 100, .first_ticks = 30, .last_ticks = 400 } },
		{ .v = { .calls = 100, .live_calls = 0, .first_ticks = 20, .last_ticks = 410 } },
		{ .v = { .calls = 5, .live_calls = 0, .first_ticks = 10, .last_ticks = 1590 } },
	};
	struct sites s = { .site = site, .count = 3 };

	for (unsigned i = 0; i <= SITE_EPOCHS; i++)
		s.epoch_ticks[i] = 100 * i;
	ck_assert(busy(&s, 0));
	site[2].v.calls = 50; /* it went on working */
	ck_assert(!busy(&s, 0));
	site[2].v.calls = 5;
	site[0].v.last_ticks = 90; /* a start */
	ck_assert(!busy(&s, 0));
	site[0].v = (struct site_values){
		.calls = 100, .live_calls = 100, .first_ticks = 1300, .last_ticks = 1580
	};
	site[1].v = (struct site_values){ .calls = 100, .first_ticks = 1310, .last_ticks = 1590 };
	ck_assert(busy(&s, 0)); /* the program was idle before */
	site[0].v.first_ticks = 100;
	ck_assert(!busy(&s, 0)); /* most of the run: epochs tell */
}
END_TEST

/* A trace has the live bytes at the end of each epoch. */
START_TEST(growth_of_a_trace)
{
	struct site_values v = { .calls = 1 };
	uint64_t *e = v.epoch_bytes;

	for (unsigned i = 0; i < SITE_EPOCHS; i++)
		e[i] = 1000 * (i + 1);
	v.live_bytes = e[SITE_EPOCHS - 1];
	ck_assert_int_eq(growth_of(&v, true), GROWTH_ONCE);
	v.calls = 2;
	ck_assert_int_eq(growth_of(&v, true), GROWTH_STEADY);
	ck_assert_int_eq(growth_of(&v, false), GROWTH_OTHER);
	v.kept_until_ns = 1; /* later events were not kept */
	ck_assert_int_eq(growth_of(&v, true), GROWTH_OTHER);
	v.kept_until_ns = 0;
	e[4] = e[3] = e[2] = e[1] = e[0]; /* 11 of 15 epochs rise */
	ck_assert_int_eq(growth_of(&v, true), GROWTH_GOES_ON);
	e[1] += 500;
	e[2] = e[3] = e[4] = e[1]; /* 12 */
	ck_assert_int_eq(growth_of(&v, true), GROWTH_STEADY);
	for (unsigned i = 0; i < SITE_EPOCHS; i++)
		e[i] = 1000 * (i < 7 ? i + 1 : 7);
	v.live_bytes = 7000;
	ck_assert_int_eq(growth_of(&v, true), GROWTH_UNTIL); /* six parts */
	for (unsigned i = 5; i < SITE_EPOCHS; i++)
		e[i] = 6000;
	v.live_bytes = 6000;
	ck_assert_int_eq(growth_of(&v, true), GROWTH_OTHER);
	for (unsigned i = 3; i < SITE_EPOCHS; i++)
		e[i] = 4000;
	v.live_bytes = 4000;
	ck_assert_int_eq(growth_of(&v, true), GROWTH_EARLY);
	v.live_bytes = 4001; /* another process left some, and ended before */
	ck_assert_int_eq(growth_of(&v, true), GROWTH_OTHER);
}
END_TEST

static struct analysis analysis;
static struct site_values leaked;

static void expect_totals(uint64_t first, uint64_t then, uint64_t now, enum finding_growth growth,
			  uint64_t until)
{
	uint64_t ticks = 7;

	leaked.past_bytes[0] = first;
	leaked.past_bytes[1] = then;
	leaked.live_bytes = now;
	ck_assert_int_eq(growth_of_totals(&analysis, &leaked, &ticks), growth);
	ck_assert_uint_eq(ticks, until);
}

/* A profile has the live bytes at two earlier times, and now. */
START_TEST(growth_of_a_profile)
{
	analysis = (struct analysis){ .tree = { .start_ticks = 100, .end_ticks = 1100 } };
	analysis.whole.totals.active_ticks = 1100;
	leaked = (struct site_values){ .calls = 2 };
	expect_totals(10000, 20000, 30000, GROWTH_OTHER, 0); /* earlier times are unknown */
	analysis.whole.totals.past_ticks[0] = 500;
	analysis.whole.totals.past_ticks[1] = 1000;
	expect_totals(10000, 20000, 30000, GROWTH_GOES_ON, 0);
	expect_totals(30000, 30000, 30000, GROWTH_EARLY, 500);
	expect_totals(30000, 30000, 30001, GROWTH_OTHER, 0); /* by less than a hundredth */
	/* The later time is a fifth of the earlier: it need not show any. */
	analysis.whole.totals.midway_bytes = 50000;
	analysis.whole.totals.late_bytes = 52500;
	expect_totals(20000, 30000, 30000, GROWTH_GOES_ON, 0);
	analysis.whole.totals.late_bytes = 52499; /* all grew before the middle of the earlier */
	expect_totals(20000, 30000, 30000, GROWTH_OTHER, 0);
	analysis.whole.totals.late_bytes = 60000;
	expect_totals(20000, 30000, 29000, GROWTH_OTHER, 0); /* but no less */
	expect_totals(27000, 30000, 30000, GROWTH_OTHER, 0); /* nor little before */
	analysis.whole.totals.past_ticks[1] = 979;	     /* more than a quarter */
	expect_totals(20000, 30000, 30000, GROWTH_OTHER, 0);
	leaked.local_bytes = 40004; /* once it was larger than now */
	expect_totals(10000, 20000, 30000, GROWTH_OTHER, 0);
	leaked.local_bytes = 40000;
	expect_totals(10000, 20000, 30000, GROWTH_GOES_ON, 0);
	analysis.whole.totals.active_ticks = 850; /* the program was idle since */
	expect_totals(10000, 20000, 30000, GROWTH_UNTIL, 850);
	analysis.whole.totals.active_ticks = 851;
	expect_totals(10000, 20000, 30000, GROWTH_GOES_ON, 0);
	analysis.whole.totals.bound = 12000; /* the profile may be wrong by that */
	expect_totals(10000, 20000, 40000, GROWTH_OTHER, 0);
	analysis.whole.totals.bound = 9000;
	expect_totals(10000, 20000, 40000, GROWTH_GOES_ON, 0);
	analysis.whole.totals.bound = 0;
	analysis.whole.totals.estimated = true; /* of samples: by two standard deviations */
	leaked.error.live_bytes = 1e6;
	expect_totals(10000, 12000, 30000, GROWTH_GOES_ON, 0);
	expect_totals(10000, 11999, 30000, GROWTH_OTHER, 0);
	leaked.calls = 1;
	expect_totals(10000, 20000, 40000, GROWTH_ONCE, 0);
}
END_TEST

/* A batch is high or low by chance at these times; a queue rises steadily. */
START_TEST(growth_of_a_profile_of_batches)
{
	analysis = (struct analysis){ .tree = { .start_ticks = 100, .end_ticks = 1100 } };
	analysis.walk.ns_mult = 1ull << 32;
	analysis.whole.totals.active_ticks = 1100;
	analysis.whole.totals.past_ticks[0] = 600;
	analysis.whole.totals.past_ticks[1] = 850;
	leaked = (struct site_values){ .calls = 500, .live_calls = 30, .local_bytes = 30000 };
	expect_totals(5000, 12000, 30000, GROWTH_GOES_ON, 0);
	/* 470 freed blocks that lived for 30 ns each: 14 are live on average. */
	leaked.freed_calls = 470;
	leaked.lifetime_ns = 470 * 30;
	leaked.lifetime_max_ns = 40; /* a cache of 20 beside a leak */
	expect_totals(22000, 26000, 30000, GROWTH_GOES_ON, 0);
	leaked.lifetime_max_ns = 80;
	expect_totals(22000, 26000, 30000, GROWTH_OTHER, 0);
	expect_totals(5000, 12000, 30000, GROWTH_OTHER, 0);
	expect_totals(15000, 22000, 30000, GROWTH_GOES_ON, 0);
	leaked.local_bytes = 35000; /* it was larger */
	expect_totals(15000, 22000, 30000, GROWTH_OTHER, 0);
	leaked.size_max = 30000; /* but only while it was copied */
	expect_totals(15000, 22000, 30000, GROWTH_GOES_ON, 0);
	leaked.size_max = 0;
	leaked.live_calls = 300; /* those explain little */
	expect_totals(5000, 12000, 30000, GROWTH_GOES_ON, 0);
}
END_TEST

/* What a single process has in all tells when it stopped to grow. */
START_TEST(growth_of_a_profile_until)
{
	static struct mprof_course course = { .began_ticks = 100, .step_ticks = 100, .steps = 9 };

	for (uint32_t i = 0; i < course.steps; i++)
		course.step[i].live_bytes = i < 7 ? 50000 : 60000;
	analysis = (struct analysis){ .tree = { .start_ticks = 100, .end_ticks = 1100 } };
	analysis.whole.totals.active_ticks = 1100;
	analysis.whole.totals.past_ticks[0] = 500;
	analysis.whole.totals.past_ticks[1] = 1000;
	analysis.whole.totals.midway_bytes = 50000;
	analysis.whole.totals.late_bytes = 60000;
	analysis.whole.totals.course = &course;
	leaked = (struct site_values){ .calls = 2 };
	expect_totals(20000, 30000, 30000, GROWTH_GOES_ON, 0); /* until 900: less than a quarter */
	for (uint32_t i = 4; i < 7; i++)
		course.step[i].live_bytes = 57500;
	expect_totals(20000, 30000, 30000, GROWTH_UNTIL, 600); /* within a quarter of its growth */
	course.step[5].live_bytes = 57499;
	expect_totals(20000, 30000, 30000, GROWTH_UNTIL, 800);
	expect_totals(20000, 30000, 31000, GROWTH_GOES_ON, 0); /* it grows in the later time, too */
}
END_TEST

/* Nothing can be said if older blocks are missing, or many short processes left a little each. */
START_TEST(growth_that_is_known)
{
	struct heap_process heap[3] = { { .number = 1 }, { .number = 2 }, { .number = 3 } };
	struct heap_process *heaps[3] = { &heap[0], &heap[1], &heap[2] };
	struct tree_process process[3] = {
		{ .number = 1, .start_ticks = 100 }, /* to the end */
		{ .number = 2, .start_ticks = 100, .end_ticks = 599 },
		{ .number = 3, .start_ticks = 200, .end_ticks = 300 },
	};
	struct never_freed_process left[3] = { { .bytes = 499 },
					       { .bytes = 200 },
					       { .bytes = 301 } };

	analysis = (struct analysis){
		.tree = { .process = process,
			  .processes = 3,
			  .start_ticks = 100,
			  .end_ticks = 1100 },
		.never_freed = { .all = { .bytes = 1000, .blocks = 100 },
				 .process = { .item = left, .count = 3 } },
	};
	analysis.walk.heap.process = heaps;
	analysis.walk.heap.processes = 3;
	ck_assert(!growth_is_known(&analysis));
	process[1].end_ticks = 600; /* half of the run */
	ck_assert(growth_is_known(&analysis));
	process[1].end_ticks = 300;
	left[2].bytes = 500; /* one has half of all */
	ck_assert(growth_is_known(&analysis));
	analysis.walk.heap.older_frees = 10;
	ck_assert(growth_is_known(&analysis));
	analysis.walk.heap.older_frees = 11;
	ck_assert(!growth_is_known(&analysis));
}
END_TEST

Suite *profile_findings_suite(void)
{
	Suite *s = suite_create("profile_findings");
	TCase *c = tcase_create("all");

	tcase_add_checked_fixture(c, start, NULL);
	tcase_add_test(c, a_pool_for_small_blocks);
	tcase_add_test(c, the_stack_where_no_line_is_known);
	tcase_add_test(c, what_the_reader_cannot_change);
	tcase_add_test(c, copies_are_dropped);
	tcase_add_test(c, what_grows_is_reserved);
	tcase_add_test(c, memory_outside_is_told_once);
	tcase_add_test(c, memory_outside_of_one_process);
	tcase_add_loop_test(c, memory_retained_by_a_process_without_beginning, 0, 2);
	tcase_add_test(c, ages_beyond_all_bounds);
	tcase_add_test(c, growth_since_the_first_block);
	tcase_add_test(c, growth_of_what_is_replaced);
	tcase_add_test(c, growth_until_freed);
	tcase_add_test(c, growth_until_freed_of_batches);
	tcase_add_test(c, growth_by_more_than_a_hundredth);
	tcase_add_test(c, growth_beside_an_idle_time);
	tcase_add_test(c, growth_of_a_trace);
	tcase_add_test(c, growth_of_a_profile);
	tcase_add_test(c, growth_of_a_profile_of_batches);
	tcase_add_test(c, growth_of_a_profile_until);
	tcase_add_test(c, growth_that_is_known);
	suite_add_tcase(s, c);
	return s;
}
