// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * runs.c - start-up, memory and time runs, and their order.
 *
 * A memory run ends with a wait of some seconds for memory that its allocator returns late. Its
 * process waits while the time runs go on, and its result is collected afterwards, unless there is
 * too little memory to keep all of them.
 *
 * Place 0 of a round of time runs is the null run, 1 to n are the variants, n + 1 is the control.
 * Round k begins at place k.  The cost of the null run is subtracted as the median over all rounds,
 * so that its noise does not add to theirs.
 */
#include "runs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/memory.h"
#include "room.h"

#define FIRST_LIMIT_MS 60000 /* for a run of unknown length, and 20 us for each call */
#define LEAST_LIMIT_MS 20000
#define LIMIT_TIMES    50 /* times the time of the fastest memory run */
/* And as long as the program took, at most this: it may have waited for days. */
#define RECORDED_LIMIT_MS 600000

/* ---- arguments, limits and announcements ---- */

const char *runs_mode_name(enum runs_mode m)
{
	static const char *const name[] = { "auto", "serial", "threads", "ordered" };

	return name[m];
}

/* Adds the arguments of every run. */
static void common(struct play_args *a, const struct runs_plan *p, const char *mode)
{
	*a = (struct play_args){ .n = 0 };
	play_args_put(a, "in=%s", p->playback);
	play_args_put(a, "mode=%s", mode);
	play_args_put(a, "thp=%d", !p->no_huge);
	/* A run that waits for recorded times makes no progress meanwhile. */
	play_args_put(a, "stall=%d", p->speed ? 0 : RUNS_STALL_S);
}

static void paced(struct play_args *a, const struct runs_plan *p, enum runs_mode mode)
{
	if (p->speed && mode != RUNS_ORDERED)
		play_args_put(a, "speed=%u", p->speed);
}

static void args_startup(struct play_args *a, const struct runs_plan *p)
{
	common(a, p, "startup");
}

void runs_args_memory(struct play_args *a, const struct runs_plan *p, const struct runs *r)
{
	char drain[MPROF_RUN_DRAINS * 12] = "";
	unsigned i;
	int n = 0;

	common(a, p, runs_mode_name(r->memory_mode));
	play_args_put(a, "touch=%s", r->touch);
	play_args_put(a, "samples=%d", RUNS_SAMPLES);
	play_args_put(a, "keep=%d", p->keep);
	for (i = 0; i < p->drains; i++)
		n += snprintf(drain + n, sizeof(drain) - (size_t)n, "%s%u", i ? "," : "",
			      p->drain_ms[i]);
	if (n && !p->keep)
		play_args_put(a, "drain=%s", drain);
	paced(a, p, r->memory_mode);
}

/* Pins a run: only a single thread can be bound to one processor. */
static void pinned(struct play_args *a, const struct runs_plan *p, enum runs_mode mode)
{
	if (p->cpu >= 0 && mode == RUNS_SERIAL)
		play_args_put(a, "cpu=%d", p->cpu);
}

void runs_args_time(struct play_args *a, const struct runs_plan *p, const struct runs *r, bool null)
{
	common(a, p, runs_mode_name(r->time_mode));
	play_args_put(a, "null=%d", null);
	play_args_put(a, "touch=%s", r->touch);
	pinned(a, p, r->time_mode);
	if (r->passes > 1)
		play_args_put(a, "passes=%u", r->passes);
	if (!null)
		paced(a, p, r->time_mode);
}

static void args_latency(struct play_args *a, const struct runs_plan *p, const struct runs *r)
{
	const uint64_t calls = p->head->sum.calls;
	uint64_t each = calls / RUNS_LATENCIES;

	each = each < 16 ? 16 : each > 1024 ? 1024 : each;
	common(a, p, runs_mode_name(r->time_mode));
	play_args_put(a, "touch=%s", r->touch);
	pinned(a, p, r->time_mode);
	play_args_put(a, "latency=%u", (unsigned)each);
	paced(a, p, r->time_mode);
}

/* Returns how long the plan makes a run wait. */
static int64_t waiting_ms(const struct runs *r, const struct runs_plan *plan)
{
	int64_t ms = 0;

	if (plan->speed && r->memory_mode != RUNS_ORDERED)
		ms += (int64_t)((double)plan->head->sum.recorded_ns / 1e6 / plan->speed * 1.5);
	return ms;
}

/* Another allocator may need a hundredth of the time of the recorded one, which is not stuck. */
static int64_t recorded_ms(const struct runs_plan *plan)
{
	const int64_t ms = (int64_t)(plan->head->sum.recorded_ns / 1000000);

	return ms < RECORDED_LIMIT_MS ? ms : RECORDED_LIMIT_MS;
}

/* Returns the CPU time of the calls of a memory run, without its end; 0 if unknown. */
static uint64_t played_ns(const struct runs_row *row)
{
	return row->status || !row->samples ? 0 : row->sample[row->samples - 1].ns;
}

int64_t runs_limit_ms(const struct runs *r, const struct runs_plan *plan, unsigned passes)
{
	uint64_t least = 0, ns;
	int64_t ms;
	size_t i;

	if (plan->limit_ms)
		return plan->limit_ms;
	for (i = 0; i < r->n; i++) {
		ns = played_ns(&r->row[i]);
		if (ns && (!least || ns < least))
			least = ns;
	}
	if (least)
		ms = LEAST_LIMIT_MS + (int64_t)(least / 1000000) * LIMIT_TIMES * passes;
	else
		ms = FIRST_LIMIT_MS + (int64_t)(plan->head->sum.calls / 50) * passes;
	return ms + recorded_ms(plan) * passes + waiting_ms(r, plan);
}

/* Calls plan->progress. */
static void tell(struct runs *r, const struct runs_plan *plan, const char *what, const char *name)
{
	const size_t rows = r->n;

	if (plan->progress)
		plan->progress(
		    plan->context, what, name, r->done,
		    (unsigned)(2 * rows + plan->reps * (rows + 2) + (plan->latency ? rows : 0)));
	r->done++;
}

/* ---- start-up ---- */

/* Returns the least of a few runs, because the kernel counts resident pages in batches. */
static int startup_of(struct runs *r, const struct variant *v, const struct runs_plan *plan,
		      uint64_t *bytes, struct error *err)
{
	struct mprof_run_result m;
	struct play_args a;
	unsigned i;
	int ret = 0;

	*bytes = UINT64_MAX;
	args_startup(&a, plan);
	for (i = 0; i < RUNS_STARTS && !ret; i++) {
		ret =
		    play_result(v, (const char *const *)a.text, runs_limit_ms(r, plan, 1), &m, err);
		if (ret)
			break;
		if (m.start_hwm < *bytes)
			*bytes = m.start_hwm;
		r->thp = m.thp;
	}
	play_args_free(&a);
	return ret;
}

/* Does the same with a library that the program loads ("" = none). */
static int startup_beside(struct runs *r, const struct variant *v, const char *library,
			  const struct runs_plan *plan, uint64_t *bytes, struct error *err)
{
	struct variant both = *v;
	int ret;

	both.so = must_printf("%s%s%s", v->so, *v->so && *library ? ":" : "", library);
	ret = startup_of(r, &both, plan, bytes, err);
	free(both.so);
	return ret;
}

/* Finds a library that the program loads anyway: it is not a cost of an allocator that needs it,
 * too. */
static const char *library_beside(const struct runs_plan *plan)
{
	return plan->head->flags & MPROF_PLAY_LIBSTDCXX ? "libstdc++.so.6" : "";
}

/* Makes the start-up runs.  An error here is not due to a variant: the runner is missing, or
 * cannot run. */
static int make_startups(struct runs *r, const struct runs_plan *plan, struct error *err)
{
	static const struct variant glibc = { .name = (char *)"glibc", .so = (char *)"" };
	const char *beside = library_beside(plan);
	uint64_t floor, bytes;
	struct runs_row *row;
	size_t i;
	int ret = startup_beside(r, &glibc, beside, plan, &floor, err);

	if (ret && *beside) { /* the file was recorded on another machine, and the library is
				 missing here */
		beside = "";
		ret = startup_beside(r, &glibc, beside, plan, &floor, err);
	}
	for (i = 0; i < r->n && !ret; i++) {
		row = &r->row[i];
		tell(r, plan, "start of", row->variant->name);
		row->status = startup_beside(r, row->variant, beside, plan, &bytes, &row->why);
		/* For glibc itself, the difference is noise. */
		if (!row->status && (*row->variant->so || row->variant->envs))
			row->startup = bytes > floor ? bytes - floor : 0;
	}
	return ret;
}

/* ---- memory ---- */

/* Keeps a SAMPLE; returns 1 if it is the one at the end. */
static int take_sample(struct play *p, struct runs_row *row, uint64_t calls, struct error *err)
{
	struct mprof_run_sample s;
	int ret = play_read(p, &s, sizeof(s), err);

	if (ret)
		return ret;
	if (row->samples < RUNS_SAMPLES + 1)
		row->sample[row->samples++] = s;
	return s.op >= calls;
}

/* Reads until the calls are over (if `once`), or to the end. */
static void read_memory(struct play *p, struct runs_row *row, uint64_t calls, bool once)
{
	struct mprof_run_record rec;
	int ret;

	while ((ret = play_next(p, &rec, &row->why)) > 0) {
		if (rec.kind == MPROF_RUN_SAMPLE && rec.bytes == sizeof(struct mprof_run_sample))
			ret = take_sample(p, row, calls, &row->why);
		else if (rec.kind == MPROF_RUN_RESULT && rec.bytes == sizeof(row->memory))
			ret = play_read(p, &row->memory, sizeof(row->memory), &row->why);
		else
			ret = play_skip(p, rec.bytes, &row->why);
		if (ret < 0 || (ret > 0 && once))
			break;
	}
}

/* Starts a memory run and waits for its last call. */
static void memory_begin(struct runs *r, struct runs_row *row, struct play *p,
			 const struct runs_plan *plan)
{
	int64_t limit = runs_limit_ms(r, plan, 1);
	struct play_args a;
	unsigned i;

	tell(r, plan, "memory of", row->variant->name);
	for (i = 0; i < plan->drains && !plan->keep; i++)
		limit += plan->drain_ms[i];
	row->sample = must_calloc(RUNS_SAMPLES + 1, sizeof(*row->sample));
	runs_args_memory(&a, plan, r);
	row->status = play_start(p, row->variant, (const char *const *)a.text, limit, &row->why);
	play_args_free(&a);
	if (!row->status)
		read_memory(p, row, plan->head->sum.calls, true);
}

/*
 * The kernel counts resident pages in batches for each processor, and its high-water mark includes
 * only counted pages: a sample may have seen more.
 */
static void settle_peak(struct runs_row *row)
{
	struct mprof_run_result *m = &row->memory;
	size_t i;

	for (i = 0; i < row->samples; i++)
		if (row->sample[i].rss > m->peak_rss)
			m->peak_rss = row->sample[i].rss;
	if (m->end_rss > m->peak_rss)
		m->peak_rss = m->end_rss;
}

static void memory_end(struct runs_row *row, struct play *p, const struct runs_plan *plan)
{
	int ret;

	if (!p->pid)
		return;
	if (!p->failed)
		read_memory(p, row, plan->head->sum.calls, false);
	ret = play_end(p, &row->why);
	memcpy(row->said, p->line, sizeof(row->said));
	if (!row->status)
		row->status = ret;
	if (!row->status)
		settle_peak(row);
}

/* May all their processes stay in memory at once? */
static bool all_fit(const struct runs *r, const struct runs_plan *plan)
{
	return plan->head->sum.peak_bytes < memory_free() / 4 / r->n;
}

/* ---- time ---- */

/* Makes one run, with its result in *result. */
static int play_once(struct runs *r, const struct runs_plan *plan, const struct variant *v,
		     bool null, struct mprof_run_result *result, struct error *err)
{
	struct play_args a;
	int ret;

	runs_args_time(&a, plan, r, null);
	ret = play_result(v, (const char *const *)a.text, runs_limit_ms(r, plan, r->passes), result,
			  err);
	play_args_free(&a);
	return ret;
}

static double per_call(uint64_t ns, const struct mprof_run_result *m)
{
	return m->calls ? (double)ns / (double)m->calls : 0;
}

static void time_row(struct runs *r, const struct runs_plan *plan, struct runs_row *row,
		     const char *name)
{
	const struct mprof_run_result *m = &row->timed;

	if (row->status)
		return;
	tell(r, plan, "time of", name);
	row->status = play_once(r, plan, row->variant, false, &row->timed, &row->why);
	if (row->status)
		return;
	row->cpu[row->times] = per_call(m->user_ns + m->sys_ns, m);
	row->wall[row->times++] = per_call(m->wall_ns, m);
}

/* Times the runner alone. */
static int time_null(struct runs *r, const struct runs_plan *plan, double *figure,
		     struct error *err)
{
	static const struct variant none = { .name = (char *)"no allocator", .so = (char *)"" };
	struct mprof_run_result m;
	int ret;

	tell(r, plan, "time of", "the runner alone");
	ret = play_once(r, plan, &none, true, &m, err);
	if (!ret)
		*figure = per_call(m.user_ns + m.sys_ns, &m);
	return ret;
}

static int one_round(struct runs *r, const struct runs_plan *plan, size_t round, double *null,
		     struct error *err)
{
	const size_t places = r->n + 2;
	size_t i, place;
	int ret = 0;

	for (i = 0; i < places && !ret; i++) {
		place = (round + i) % places;
		if (!place)
			ret = time_null(r, plan, &null[round], err);
		else if (place <= r->n)
			time_row(r, plan, &r->row[place - 1], r->row[place - 1].variant->name);
		else if (!r->row[r->control_of].status)
			time_row(r, plan, &r->control, "the control");
	}
	return ret;
}

static void times_begin(struct runs_row *row, size_t reps)
{
	row->cpu = must_calloc(reps, sizeof(*row->cpu));
	row->wall = must_calloc(reps, sizeof(*row->wall));
}

static void times_end(struct runs_row *row, double null)
{
	size_t i;

	for (i = 0; i < row->times; i++)
		row->cpu[i] = row->cpu[i] > null ? row->cpu[i] - null : 0;
	row->cpu_ns = stats_middle(row->cpu, row->times);
	row->wall_ns = stats_middle(row->wall, row->times);
}

/* Fills cpu, wall and timed of the rows and of the control, and null_ns.  0, or -errno and *err. */
static int make_times(struct runs *r, const struct runs_plan *plan, struct error *err)
{
	double *null = must_calloc(plan->reps, sizeof(*null));
	size_t i;
	int ret = 0;

	times_begin(&r->control, plan->reps);
	for (i = 0; i < r->n; i++)
		times_begin(&r->row[i], plan->reps);
	for (i = 0; i < plan->reps && !ret; i++)
		ret = one_round(r, plan, i, null, err);
	if (!ret) {
		r->null_ns = stats_middle(null, plan->reps);
		for (i = 0; i < r->n; i++)
			times_end(&r->row[i], r->null_ns.median);
		times_end(&r->control, r->null_ns.median);
	}
	free(null);
	return ret;
}

/* Makes the run with timed calls.  An error belongs to the row. */
static void make_latency(struct runs *r, struct runs_row *row, const struct runs_plan *plan)
{
	struct play_args a;
	int ret;

	if (row->status)
		return;
	tell(r, plan, "latency of", row->variant->name);
	args_latency(&a, plan, r);
	ret = play_result(row->variant, (const char *const *)a.text, runs_limit_ms(r, plan, 1),
			  &row->latency, &row->why);
	play_args_free(&a);
	row->status = ret;
	row->has_latency = !ret;
}

/* ---- all of it ---- */

/* Decides how often to play: a single run of a short playback is too short to time. */
static unsigned passes_for(const struct runs *r, const struct runs_plan *plan)
{
	double ns;
	size_t i;

	if (r->time_mode != RUNS_SERIAL || plan->speed)
		return 1;
	for (i = 0; i < r->n; i++) {
		ns = (double)played_ns(&r->row[i]);
		if (ns >= RUNS_SHORT_NS)
			return 1;
		if (ns > 0)
			return ns * RUNS_PASSES < RUNS_SHORT_NS
				   ? RUNS_PASSES
				   : (unsigned)(RUNS_SHORT_NS / ns) + 1;
	}
	return 1;
}

void runs_choose(struct runs *r, const struct runs_plan *plan)
{
	const bool one = plan->head->threads <= 1;

	r->touch = plan->touch				      ? plan->touch
		   : plan->head->flags & MPROF_PLAY_HAS_TOUCH ? "recorded"
							      : "page";
	r->time_mode = one ? RUNS_SERIAL : plan->mode == RUNS_AUTO ? RUNS_THREADS : plan->mode;
	r->memory_mode = r->time_mode;
	/* With free threads, the peak differs from run to run. */
	if (r->memory_mode == RUNS_THREADS && !plan->speed)
		r->memory_mode = RUNS_ORDERED;
	r->passes = 1;
}

static int make_all(struct runs *r, struct play *waiting, const struct runs_plan *plan,
		    struct error *err)
{
	const bool fit = all_fit(r, plan);
	int ret = make_startups(r, plan, err);
	size_t i;

	for (i = 0; i < r->n && !ret; i++) {
		if (r->row[i].status)
			continue;
		memory_begin(r, &r->row[i], &waiting[i], plan);
		if (!fit || waiting[i].failed)
			memory_end(&r->row[i], &waiting[i], plan);
		/* A damaged file is not due to a variant either. */
		if (r->row[i].status == -EBADMSG)
			ret = fail(err, -EBADMSG, "%s", r->row[i].why.text);
	}
	for (i = r->n; i-- > 0;)
		if (!r->row[i].status && !waiting[i].failed)
			r->control_of = i;
	r->control.variant = r->row[r->control_of].variant;
	r->passes = passes_for(r, plan);
	if (!ret && plan->reps)
		ret = make_times(r, plan, err);
	for (i = 0; i < r->n && !ret && plan->latency; i++)
		make_latency(r, &r->row[i], plan);
	for (i = 0; i < r->n; i++)
		memory_end(&r->row[i], &waiting[i], plan);
	return ret;
}

int runs_make(struct runs *r, const struct runs_plan *plan, const struct variants *vs,
	      struct error *err)
{
	struct play *waiting = must_calloc(vs->n, sizeof(*waiting));
	size_t i;
	int ret;

	*r = (struct runs){ .row = must_calloc(vs->n, sizeof(*r->row)), .n = vs->n };
	for (i = 0; i < vs->n; i++)
		r->row[i].variant = &vs->v[i];
	runs_choose(r, plan);
	ret = room_check(plan->head, plan->playback, r->touch, err);
	if (!ret)
		ret = make_all(r, waiting, plan, err);
	free(waiting);
	return ret;
}

static void release(struct runs_row *row)
{
	free(row->sample);
	free(row->cpu);
	free(row->wall);
}

void runs_release(struct runs *r)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		release(&r->row[i]);
	release(&r->control);
	free(r->row);
	*r = (struct runs){ .n = 0 };
}
