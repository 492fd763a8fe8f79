// SPDX-License-Identifier: LGPL-3.0-or-later
/* pass_site_totals.c - sites of profiles made byte by byte, wrong ones too. */
#include "suites.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pass/site_totals.h"
#include "profile/estimate.h"
#include "profile/profile.h"
#include "trace_build.h"

/* One profile in the making: process 1, image 0 unless said. */
static struct build file;

static size_t part(unsigned kind, uint32_t process, uint16_t image, uint32_t thread, uint32_t first,
		   const void *data, size_t bytes)
{
	size_t at = build_extent(&file, kind, process, thread, data, bytes, bytes);
	struct mprof_extent *x = build_extent_at(&file, at);

	x->image = image;
	x->seq = first;
	x->check = 0;
	return at;
}

/* Stacks 1 and 2 of a process's image: two different frames. */
static void stacks(uint32_t process, uint16_t image)
{
	const uint64_t frame[] = { 0x1000, 0x2000 };
	struct words w;

	words_start(&w, 0);
	words_define(&w, 0, 1, 0, 0, &frame[0], 1);
	words_define(&w, 0, 2, 0, 0, &frame[1], 1);
	build_stacks(&file, process, image, 1, &w);
	words_free(&w);
}

static void fact(uint32_t process, uint16_t image, unsigned what)
{
	const struct mprof_fact f = {
		.what = what, .pid = 100 + (int)process, .ticks = 2000, .mono_ns = 2000
	};
	size_t at = build_fact(&file, process, &f, "", 0);

	build_extent_at(&file, at)->image = image;
}

struct figures {
	struct mprof_cell cell[MPROF_CELLS]; /* with waste, a struct mprof_cells */
	uint64_t waste[MPROF_CELLS];
	struct mprof_site_live live[MPROF_CELLS];
	struct mprof_heap_totals heap;
};

static void cells(uint32_t process, uint16_t image, uint32_t thread, const struct figures *f)
{
	part(MPROF_EXTENT_CELLS, process, image, thread, 0, f->cell, sizeof(struct mprof_cells));
}

static void owner(uint32_t process, uint16_t image, const struct figures *f)
{
	part(MPROF_EXTENT_HEAP, process, image, 0, 0, &f->heap, sizeof(f->heap));
	part(MPROF_EXTENT_SITES, process, image, 0, 0, f->live, sizeof(f->live));
	cells(process, image, 1, f);
}

static struct profile profile;
static struct trace *trace;

static void read_with(const struct profile_options *o)
{
	struct error err = { "" };
	int fd;

	ck_assert_msg(!trace_open(&trace, build_path(&file, &fd), NULL, &err), "%s", err.text);
	close(fd);
	ck_assert_msg(!profile_make(&profile, trace, o, &err), "%s", err.text);
}

static struct profile_options all(void)
{
	return (struct profile_options){ .sites = { .filter = SITE_FILTER_ALL } };
}

static void read_it(void)
{
	const struct profile_options o = all();

	read_with(&o);
}

static void release(void)
{
	profile_release(&profile);
	trace_close(trace);
	build_free(&file);
}

static const struct site_values *site(size_t i)
{
	ck_assert_uint_lt(i, profile.count);
	return &profile.site[i].v;
}

/* One thread of a process frees what another allocated; the next process leaves less. */
START_TEST(what_one_process_left)
{
	struct figures f = { .heap = { .peak_bytes = 150, .live_bytes = 100 } };

	build_start(&file, MPROF_MAGIC_PROFILE);
	for (uint32_t process = 1; process <= 2; process++)
		stacks(process, 0);
	f.cell[1] = (struct mprof_cell){ .calls = 1, .bytes = 50 };
	owner(1, 0, &f);
	f.cell[1] =
	    (struct mprof_cell){ .calls = 1, .bytes = 100, .freed_calls = 1, .freed_bytes = 50 };
	cells(1, 0, 2, &f);
	f.cell[1] = (struct mprof_cell){ .calls = 1, .bytes = 70 };
	owner(2, 0, &f);
	read_it();
	ck_assert_uint_eq(site(0)->live_bytes, 170);
	ck_assert_uint_eq(site(0)->left_most, 100);
	release();
}
END_TEST

START_TEST(rounded)
{
	const uint64_t v[] = { 0,
			       1,
			       (1u << 26) - 1,
			       1u << 26,
			       (1u << 27) - 2,
			       123456789012345ull,
			       UINT64_MAX >> 1,
			       UINT64_MAX };
	uint64_t back, before = 0;

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		back = mprof_unrounded(mprof_rounded(v[i]));
		ck_assert_uint_le(back, v[i]);
		ck_assert_uint_le(v[i] - back, v[i] >> 25);
		ck_assert_uint_ge(mprof_rounded(v[i]), before);
		before = mprof_rounded(v[i]);
		if (v[i] < 1u << 26)
			ck_assert_uint_eq(back, v[i]);
		ck_assert_uint_ne(~mprof_rounded(v[i]), 0);
	}
}
END_TEST

/* A block of stack 1 is handed out by one lane and freed by another one. */
START_TEST(two_lanes)
{
	struct figures f = {
		.heap = { .peak_bytes = 300, .peak_calls = 3, .peak_ticks = 1500, .peak_bound = 64 }
	};
	struct figures g = { .heap = { .live_bytes = 0 } };

	build_start(&file, MPROF_MAGIC_PROFILE);
	stacks(1, 0);
	fact(1, 0, MPROF_FACT_START);
	f.cell[1] = (struct mprof_cell){ .calls = 3,
					 .bytes = 300,
					 .size_least = ~mprof_rounded(100),
					 .size_most = mprof_rounded(100) };
	f.live[1] = (struct mprof_site_live){ .live_bytes = 100,
					      .live_calls = 1,
					      .at_peak_bytes = 250,
					      .at_peak_calls = 3,
					      .local_bytes = 300,
					      .local_calls = 3,
					      .stamp = 300 };
	g.cell[1] = (struct mprof_cell){ .freed_calls = 2,
					 .freed_bytes = 200,
					 .lifetime = 70,
					 .lifetime_least = ~mprof_rounded(30),
					 .lifetime_most = mprof_rounded(40) };
	owner(1, 0, &f);
	cells(1, 0, 2, &g);
	read_it();
	ck_assert_uint_eq(profile.count, 1);
	ck_assert_uint_eq(site(0)->calls, 3);
	ck_assert_uint_eq(site(0)->freed_calls, 2);
	ck_assert_uint_eq(site(0)->live_calls, 1);
	ck_assert_uint_eq(site(0)->live_bytes, 100);
	ck_assert_uint_eq(site(0)->size_min, 100);
	ck_assert_uint_eq(site(0)->lifetime_ns, 70);
	ck_assert_uint_eq(site(0)->lifetime_min_ns, 30);
	ck_assert_uint_eq(site(0)->lifetime_max_ns, 40);
	ck_assert_uint_eq(site(0)->peak_bytes, 250);
	ck_assert_uint_eq(profile.sites.peak.bytes, 300);
	ck_assert_uint_eq(profile.sites.totals.bound, 64);
	ck_assert_int_eq(profile.sites.totals.unplaced, 50);
	release();
}
END_TEST

/* What changed since the peak has a stamp of it; what did not, lives as it did then. */
START_TEST(stamps)
{
	struct figures f = { .heap = { .peak_bytes = 500 } };

	build_start(&file, MPROF_MAGIC_PROFILE);
	stacks(1, 0);
	fact(1, 0, MPROF_FACT_START);
	f.cell[1] = f.cell[2] =
	    (struct mprof_cell){ .calls = 10, .bytes = 1000, .freed_calls = 9, .freed_bytes = 900 };
	f.live[1] = (struct mprof_site_live){ .live_bytes = 200, .at_peak_bytes = 7, .stamp = 499 };
	f.live[2] = (struct mprof_site_live){ .live_bytes = 1, .at_peak_bytes = 300, .stamp = 500 };
	owner(1, 0, &f);
	read_it();
	ck_assert_uint_eq(profile.count, 2);
	ck_assert_uint_eq(site(0)->peak_bytes + site(1)->peak_bytes, 500);
	ck_assert_int_eq(profile.sites.totals.unplaced, 0);
	release();
}
END_TEST

/* Threads had not gathered 60 live bytes of stack 2: what is live at the end is the peak. */
START_TEST(ungathered)
{
	struct figures f = { .heap = { .peak_bytes = 500, .peak_calls = 5 } };

	build_start(&file, MPROF_MAGIC_PROFILE);
	stacks(1, 0);
	fact(1, 0, MPROF_FACT_START);
	f.cell[1] = (struct mprof_cell){ .calls = 5, .bytes = 500 };
	f.cell[2] = (struct mprof_cell){ .calls = 2, .bytes = 60 };
	f.live[1] = (struct mprof_site_live){
		.live_bytes = 500, .live_calls = 5, .local_bytes = 500, .local_calls = 5
	};
	owner(1, 0, &f);
	read_it();
	ck_assert_uint_eq(profile.sites.peak.bytes, 560);
	ck_assert_uint_eq(profile.sites.peak.calls, 7);
	ck_assert_uint_eq(profile.total.peak_bytes, 560);
	ck_assert_uint_eq(site(1)->peak_bytes, 60);
	ck_assert_int_eq(profile.sites.totals.unplaced, 0);
	release();
}
END_TEST

/* After exec no process owns the live blocks; the peak is the greatest one, or the process's. */
START_TEST(processes)
{
	struct figures f = { .heap = { .peak_bytes = 100 } };
	struct profile_options o = all();

	o.sites.filter.process = 1;
	build_start(&file, MPROF_MAGIC_PROFILE);
	stacks(1, 0);
	stacks(1, 1);
	stacks(2, 0);
	fact(1, 0, MPROF_FACT_START);
	fact(1, 1, MPROF_FACT_EXEC);
	fact(2, 0, MPROF_FACT_START);
	f.cell[1] = (struct mprof_cell){ .calls = 1, .bytes = 100 };
	f.live[1] = (struct mprof_site_live){ .live_bytes = 100, .live_calls = 1 };
	owner(1, 0, &f);
	f.heap.peak_bytes = 40;
	f.cell[1].bytes = f.live[1].live_bytes = 40;
	owner(1, 1, &f);
	f.heap.peak_bytes = 170;
	f.cell[1].bytes = f.live[1].live_bytes = 170;
	owner(2, 0, &f);
	read_it();
	ck_assert_uint_eq(profile.total.bytes, 310);
	ck_assert_uint_eq(profile.total.live_bytes, 210);
	ck_assert_uint_eq(profile.sites.peak.bytes, 170);
	ck_assert_uint_eq(profile.sites.totals.process, 2);
	profile_release(&profile);
	trace_close(trace);
	read_with(&o);
	ck_assert_uint_eq(profile.total.bytes, 140);
	ck_assert_uint_eq(profile.sites.peak.bytes, 100);
	ck_assert_int_eq(profile.sites.totals.unplaced, 0);
	release();
}
END_TEST

/* Figures that cannot be, stacks that nobody defined, parts that are cut. */
START_TEST(wrong)
{
	struct figures f = { .heap = { .peak_bytes = -5 } };

	build_start(&file, MPROF_MAGIC_PROFILE);
	stacks(1, 0);
	fact(1, 0, MPROF_FACT_START);
	f.cell[1] = (struct mprof_cell){
		.calls = 1, .bytes = 10, .freed_calls = 3, .freed_bytes = UINT64_MAX
	};
	f.cell[9] = (struct mprof_cell){ .calls = 2, .bytes = 20 };
	f.live[1] = (struct mprof_site_live){ .live_bytes = INT64_MIN,
					      .local_bytes = -1,
					      .stamp = INT64_MAX };
	owner(1, 0, &f);
	part(MPROF_EXTENT_CELLS, 1, 0, 1, 16, &f, 64);
	part(MPROF_EXTENT_CELLS, 0, 0, 1, 16, f.cell, sizeof(f.cell));
	part(MPROF_EXTENT_MORE, 1, 0, 1, 0xfffffff8u, f.cell, sizeof(f.cell));
	read_it();
	ck_assert_uint_eq(profile.count, 2);
	ck_assert_uint_eq(profile.total.live_bytes, 31);
	ck_assert_uint_eq(profile.total.freed_calls, 1);
	ck_assert_uint_eq(profile.sites.peak.bytes, 0);
	ck_assert_uint_eq(trace_damage(trace)->chunks_bad, 3);
	release();
}
END_TEST

/* Sums of weights, minus those of freed samples; a value that is not a number counts as 0. */
START_TEST(samples)
{
	struct figures f = { .heap = { .peak_bytes = 900,
				       .sample_period = 512,
				       .sample_unit = MPROF_SAMPLE_BYTES } };
	struct mprof_sample_cell c[MPROF_CELLS] = { { .heaviest_calls = 0 } };
	struct estimate_range range;
	struct site_values by_calls;

	build_start(&file, MPROF_MAGIC_PROFILE);
	stacks(1, 0);
	fact(1, 0, MPROF_FACT_START);
	c[1] = (struct mprof_sample_cell){
		.made = { 100, 300.4, 51200.4, 400, 5000000 },
		.freed = { 40, 120.2, 20480.2, 160, 2000000 },
		.heaviest_calls = 2,
		.heaviest_bytes = 300,
	};
	c[2] =
	    (struct mprof_sample_cell){ .made = { 1, -1, __builtin_nan(""), __builtin_inf(), -9 },
					.heaviest_bytes = __builtin_inf() };
	part(MPROF_EXTENT_HEAP, 1, 0, 0, 0, &f.heap, sizeof(f.heap));
	part(MPROF_EXTENT_SAMPLES, 1, 0, 1, 0, c, sizeof(c));
	f.heap = (struct mprof_heap_totals){ .sample_period = 2048 };
	part(MPROF_EXTENT_HEAP, 2, 0, 0, 0, &f.heap, sizeof(f.heap));
	f.heap.sample_period = 1024;
	part(MPROF_EXTENT_HEAP, 3, 0, 0, 0, &f.heap, sizeof(f.heap));
	read_it();
	ck_assert(profile.sites.totals.estimated);
	ck_assert_uint_eq(profile.sites.totals.period, 512);
	ck_assert_uint_eq(profile.sites.totals.period_most, 2048);
	ck_assert_uint_eq(profile.count, 2);
	ck_assert_uint_eq(site(0)->calls, 300);
	ck_assert_uint_eq(site(0)->bytes, 51200);
	ck_assert_uint_eq(site(0)->live_calls, 180);
	ck_assert_uint_eq(site(0)->live_bytes, 30720);
	ck_assert_uint_eq(site(0)->past_bytes[0], 30720); /* without a course, it does not grow */
	ck_assert_uint_eq(site(0)->size_min, 0);
	ck_assert_uint_eq(site(0)->error.samples, 100);
	ck_assert(estimate_range(site(0), VALUE_TOTAL, site(0)->bytes, &range));
	/* 51200 + 1.96^2 * 150 - 1.96 * sqrt(5e6 + 1.96^2 * 22500), and so on. */
	ck_assert_uint_ge(range.low, 47330);
	ck_assert_uint_le(range.low, 47370);
	ck_assert_uint_ge(range.high, 56160);
	ck_assert_uint_le(range.high, 56200);
	ck_assert(!estimate_range(site(0), VALUE_TEMPORARY, 0, &range));
	by_calls = *site(0);
	by_calls.error.by_calls = true; /* then bytes have no error that is known */
	ck_assert(estimate_range(&by_calls, VALUE_CALLS, 300, &range));
	ck_assert(!estimate_range(&by_calls, VALUE_TOTAL, 51200, &range));
	release();
}
END_TEST

static double draw(void)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(state >> 11) * 0x1p-53;
}

static unsigned poisson(double mean)
{
	unsigned n = 0;

	for (double p = draw(), end = exp(-mean); p > end; p *= draw())
		n++;
	return n;
}

/* The greatest of many estimates has a range that contains what was live. */
START_TEST(peaks_of_samples)
{
	static const struct {
		double mean; /* samples that are live at a time */
		unsigned samples;
	} of[] = { { 0.3, 50 }, { 0.3, 2000 }, { 4, 50 }, { 4, 2000 }, { 60, 50 }, { 60, 1000 } };
	const double unit = 1000, mean = of[_i].mean;
	struct site_values v = { .bytes = 1000000,
				 .error = { .samples = of[_i].samples,
					    .bytes = 1000000 * unit,
					    .heaviest_bytes = unit } };
	unsigned runs = 200, right = 0;
	struct estimate_range range;

	for (unsigned i = 0; i < runs; i++) {
		unsigned greatest = 1, n;

		for (unsigned k = 0; k < of[_i].samples; k++) {
			n = poisson(mean);
			greatest = n > greatest ? n : greatest;
		}
		ck_assert(estimate_range(&v, VALUE_PEAK, (uint64_t)(greatest * unit), &range));
		right += (double)range.low <= mean * unit && (double)range.high >= mean * unit;
		ck_assert((double)range.high <= 8 * (mean + 2) * unit);
		ck_assert(mean < 60 || (double)range.low >= 0.6 * mean * unit);
	}
	ck_assert_uint_ge(right, runs * 95 / 100);
}
END_TEST

START_TEST(refused)
{
	struct profile_options o = all();
	struct figures f = { .heap = { .peak_bytes = 1 } };
	struct error err;
	int fd;

	build_start(&file, MPROF_MAGIC_PROFILE);
	stacks(1, 0);
	owner(1, 0, &f);
	ck_assert_int_eq(trace_open(&trace, build_path(&file, &fd), MPROF_MAGIC_TRACE, &err),
			 -EBADMSG);
	ck_assert_ptr_nonnull(strstr(err.text, "is a profile, which has no individual calls"));
	close(fd);
	ck_assert_int_eq(trace_open(&trace, build_path(&file, &fd), MPROF_MAGIC_PROFILE, &err), 0);
	o.sites.filter.size_min = 8;
	ck_assert_int_eq(profile_make(&profile, trace, &o, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "figures of some sizes need a trace"));
	trace_close(trace);
	close(fd);
	build_free(&file);
}
END_TEST

/* Every prefix is read or refused. */
START_TEST(prefixes)
{
	struct figures f = { .heap = { .peak_bytes = 1 } };
	struct profile_options o = all();
	struct error err;
	size_t n;
	int fd;

	build_start(&file, MPROF_MAGIC_PROFILE);
	stacks(1, 0);
	fact(1, 0, MPROF_FACT_START);
	f.cell[1] = (struct mprof_cell){ .calls = 1, .bytes = 10 };
	owner(1, 0, &f);
	for (n = 0; n <= file.n; n += n < MPROF_HEADER_SIZE - 64 ? 4093 : 8) {
		if (!trace_open(&trace, build_path_prefix(&file, n, &fd), NULL, &err)) {
			ck_assert_msg(!profile_make(&profile, trace, &o, &err), "%s", err.text);
			ck_assert_uint_le(profile.total.bytes, 10);
			profile_release(&profile);
			trace_close(trace);
		} else {
			ck_assert_uint_lt(n, MPROF_HEADER_SIZE);
		}
		close(fd);
	}
	build_free(&file);
}
END_TEST

Suite *pass_site_totals_suite(void)
{
	Suite *s = suite_create("pass_site_totals");
	TCase *t = tcase_create("profile");

	tcase_add_test(t, what_one_process_left);
	tcase_add_test(t, rounded);
	tcase_add_test(t, two_lanes);
	tcase_add_test(t, stamps);
	tcase_add_test(t, ungathered);
	tcase_add_test(t, processes);
	tcase_add_test(t, wrong);
	tcase_add_test(t, samples);
	tcase_add_loop_test(t, peaks_of_samples, 0, 6);
	tcase_add_test(t, refused);
	tcase_add_test(t, prefixes);
	suite_add_tcase(s, t);
	return s;
}
