// SPDX-License-Identifier: LGPL-3.0-or-later
/* alloc_times.c - estimates the time in the allocator. */
#include "alloc_times.h"

#include <math.h>
#include <stdlib.h>

#include "../util/alloc.h"

#define DEVIATIONS 1.96 /* of a 95 % confidence interval */
#define MOST_OF	   0.5	/* of the CPU time: the most that one timed call may stand for */

/* Sums of timed calls, in ns. */
struct timed {
	double calls, ns, squares, most;
};

/* longest: ns; a longer call is left out. */
static void add(struct timed *sum, const struct mprof_times *x, const struct mprof_times_fn *f,
		double longest)
{
	const double step = 1e9 / (double)x->hz;
	const double cost = x->cost_calls ? (double)x->cost_ticks / (double)x->cost_calls : 0;
	const double most = (double)f->most, most_ns = (most - cost) * step;
	double calls = (double)f->calls, ticks = (double)f->ticks, squares = f->squares;

	if (most_ns > longest) {
		calls--;
		ticks -= most;
		squares -= most * most;
	}
	sum->calls += calls;
	sum->ns += (ticks - calls * cost) * step;
	sum->squares += (squares - 2 * cost * ticks + calls * cost * cost) * step * step;
	sum->most = fmax(sum->most, most_ns);
}

static double mean_of(const struct timed *sum)
{
	return sum->calls ? fmax(sum->ns / sum->calls, 0) : 0;
}

/* The standard error of the mean. */
static double error_of(const struct timed *sum)
{
	const double mean = mean_of(sum);

	return sum->calls ? sqrt(fmax(sum->squares / sum->calls - mean * mean, 0) / sum->calls) : 0;
}

static void add_thread(struct alloc_times *a, const struct trace *t, size_t i,
		       const struct alloc_times_calls *thread,
		       const double longest[static MPROF_FN_MAX])
{
	struct timed own[MPROF_FN_MAX] = { { 0 } };
	const struct trace_times *times;
	size_t n = trace_times(t, &times), k;
	unsigned fn;
	double each;

	for (k = 0; k < n; k++)
		for (fn = 0;
		     fn < MPROF_FN_MAX && trace_thread(t, times[k].thread) == thread->thread; fn++)
			add(&own[fn], times[k].x, &times[k].x->fn[fn], longest[fn]);
	a->thread[i].thread = thread->thread;
	for (fn = 0; fn < MPROF_FN_MAX; fn++) {
		each = own[fn].calls < ALLOC_TIMES_OWN ? a->fn[fn].mean_ns : mean_of(&own[fn]);
		a->thread[i].ns[fn] = each * (double)thread->calls[fn];
		a->fn[fn].ns += a->thread[i].ns[fn];
		a->fn[fn].calls += thread->calls[fn];
	}
}

static void add_functions(struct alloc_times *a, const struct timed sum[static MPROF_FN_MAX])
{
	double squares = 0;

	for (unsigned fn = 0; fn < MPROF_FN_MAX; fn++) {
		struct alloc_times_fn *f = &a->fn[fn];

		if (!f->timed) {
			f->calls = 0;
			continue;
		}
		f->error_ns = DEVIATIONS * error_of(&sum[fn]) * (double)f->calls;
		a->timed += f->timed;
		a->calls += f->calls;
		a->ns += f->ns;
		squares += f->error_ns * f->error_ns;
	}
	a->error_ns = sqrt(squares);
}

/*
 * A call takes longer by itself than while the processor already executes what follows it, so a
 * program that does nothing else seems to take more than its CPU time.  Under emulation, a clock
 * may show anything.
 */
static void limit(struct alloc_times *a)
{
	const double part = (double)a->cpu_ns / a->ns;

	if (part < 0.5) {
		alloc_times_release(a);
		return;
	}
	a->ns *= part;
	a->error_ns *= part;
	for (unsigned fn = 0; fn < MPROF_FN_MAX; fn++) {
		a->fn[fn].ns *= part;
		a->fn[fn].error_ns *= part;
		for (size_t i = 0; i < a->threads; i++)
			a->thread[i].ns[fn] *= part;
	}
}

/*
 * The longest call that counts of each function, in ns.  A timed call stands for several hundreds,
 * so one that was interrupted for a millisecond seems to be most of the program; a virtual machine
 * that loses its processor has CPU clocks that run on.  Among many timed calls, one that alone
 * would stand for more than half of the CPU time was interrupted, or is rarer than it seems.
 */
static void find_longest(double longest[static MPROF_FN_MAX], uint64_t cpu_ns,
			 const struct trace_times *times, size_t n,
			 const struct alloc_times_calls *thread, size_t threads)
{
	for (unsigned fn = 0; fn < MPROF_FN_MAX; fn++) {
		double timed = 0, calls = 0;

		for (size_t i = 0; i < n; i++)
			timed += (double)times[i].x->fn[fn].calls;
		for (size_t i = 0; i < threads; i++)
			calls += (double)thread[i].calls[fn];
		longest[fn] = INFINITY;
		if (cpu_ns && calls > 0 && timed >= ALLOC_TIMES_OWN)
			longest[fn] = MOST_OF * (double)cpu_ns * timed / calls;
	}
}

void alloc_times_find(struct alloc_times *a, const struct trace *t,
		      const struct alloc_times_calls *calls, size_t threads)
{
	struct timed sum[MPROF_FN_MAX] = { { 0 } };
	const struct trace_times *times;
	size_t n = trace_times(t, &times), i;
	double longest[MPROF_FN_MAX];
	uint64_t timed = 0;

	*a = (struct alloc_times){ .timed = 0 };
	for (i = 0; i < n; i++)
		a->cpu_ns += times[i].x->cpu_ns;
	find_longest(longest, a->cpu_ns, times, n, calls, threads);
	for (i = 0; i < n; i++)
		for (unsigned fn = 0; fn < MPROF_FN_MAX; fn++)
			add(&sum[fn], times[i].x, &times[i].x->fn[fn], longest[fn]);
	for (unsigned fn = 0; fn < MPROF_FN_MAX; fn++) {
		a->fn[fn].timed = (uint64_t)sum[fn].calls;
		a->fn[fn].mean_ns = mean_of(&sum[fn]);
		a->fn[fn].most_ns = fmax(sum[fn].most, 0);
		timed += a->fn[fn].timed;
	}
	if (!threads || timed < ALLOC_TIMES_LEAST)
		return;
	a->threads = threads;
	a->thread = must_calloc(a->threads + 1, sizeof(*a->thread));
	for (i = 0; i < a->threads; i++)
		add_thread(a, t, i, &calls[i], longest);
	add_functions(a, sum);
	if (a->cpu_ns && a->ns > (double)a->cpu_ns)
		limit(a);
	a->high = a->ns >= ALLOC_TIMES_TOLD_NS && a->cpu_ns &&
		  a->ns - a->error_ns >= ALLOC_TIMES_HIGH * (double)a->cpu_ns;
}

void alloc_times_release(struct alloc_times *a)
{
	free(a->thread);
	*a = (struct alloc_times){ .timed = 0 };
}
