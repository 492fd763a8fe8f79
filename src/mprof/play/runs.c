// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * runs.c - start-up and memory runs, and the order of all runs.
 *
 * A memory run ends with a wait of some seconds for memory that its allocator returns late. Its
 * process waits while the time runs go on, and its result is collected afterwards, unless there is
 * too little memory to keep all of them.
 */
#include "runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/memory.h"
#include "play.h"
#include "room.h"
#include "runs_args.h"

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
	runs_args_startup(&a, plan);
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
		runs_tell(r, plan, "start of", row->variant->name);
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

/* Reads until the calls are over (if `once`), or to the end.  0 or -errno. */
static int read_memory(struct play *p, struct runs_row *row, uint64_t calls, bool once)
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
	return ret < 0 ? ret : 0;
}

/* Starts a memory run and waits for its last call. */
static void memory_begin(struct runs *r, struct runs_row *row, struct play *p,
			 const struct runs_plan *plan)
{
	int64_t limit = runs_limit_ms(r, plan, 1);
	struct play_args a;
	unsigned i;

	runs_tell(r, plan, "memory of", row->variant->name);
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

/* ---- all of it ---- */

/* Decides how often to play: a single run of a short playback is too short to time. */
static unsigned passes_for(const struct runs *r, const struct runs_plan *plan)
{
	double ns;
	size_t i;

	if (r->time_mode != RUNS_SERIAL || plan->speed)
		return 1;
	for (i = 0; i < r->n; i++) {
		ns = (double)runs_played_ns(&r->row[i]);
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
		ret = timing_make(r, plan, err);
	for (i = 0; i < r->n && !ret && plan->latency; i++)
		timing_latency(r, &r->row[i], plan);
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
