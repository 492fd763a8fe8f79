// SPDX-License-Identifier: LGPL-3.0-or-later
/* runs_args.c - the runner's arguments, time limit and announcement of each run. */
#include "runs_args.h"

#include <stdio.h>

#define FIRST_LIMIT_MS 60000 /* for a run of unknown length, and 20 us for each call */
#define LEAST_LIMIT_MS 20000
#define LIMIT_TIMES    50 /* times the time of the fastest memory run */

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

void runs_args_startup(struct play_args *a, const struct runs_plan *p)
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

void runs_args_latency(struct play_args *a, const struct runs_plan *p, const struct runs *r)
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

uint64_t runs_played_ns(const struct runs_row *row)
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
		ns = runs_played_ns(&r->row[i]);
		if (ns && (!least || ns < least))
			least = ns;
	}
	if (least)
		ms = LEAST_LIMIT_MS + (int64_t)(least / 1000000) * LIMIT_TIMES * passes;
	else
		ms = FIRST_LIMIT_MS + (int64_t)(plan->head->sum.calls / 50) * passes;
	return ms + waiting_ms(r, plan);
}

void runs_tell(struct runs *r, const struct runs_plan *plan, const char *what, const char *name)
{
	const size_t rows = r->n;

	if (plan->progress)
		plan->progress(
		    plan->context, what, name, r->done,
		    (unsigned)(2 * rows + plan->reps * (rows + 2) + (plan->latency ? rows : 0)));
	r->done++;
}
