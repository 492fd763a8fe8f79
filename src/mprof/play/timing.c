// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * timing.c - the rounds of time runs.
 *
 * Place 0 of a round is the null run, 1 to n are the variants, n + 1 is the
 * control.  Round k begins at place k.  The cost of the null run is subtracted as the median over
 * all rounds, so that its noise does not add to theirs.
 */
#include "runs.h"

#include <stdlib.h>

#include "../util/alloc.h"
#include "play.h"
#include "runs_args.h"

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
	runs_tell(r, plan, "time of", name);
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

	runs_tell(r, plan, "time of", "the runner alone");
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

static void begin(struct runs_row *row, size_t reps)
{
	row->cpu = must_calloc(reps, sizeof(*row->cpu));
	row->wall = must_calloc(reps, sizeof(*row->wall));
}

static void conclude(struct runs_row *row, double null)
{
	size_t i;

	for (i = 0; i < row->times; i++)
		row->cpu[i] = row->cpu[i] > null ? row->cpu[i] - null : 0;
	row->cpu_ns = stats_middle(row->cpu, row->times);
	row->wall_ns = stats_middle(row->wall, row->times);
}

int timing_make(struct runs *r, const struct runs_plan *plan, struct error *err)
{
	double *null = must_calloc(plan->reps, sizeof(*null));
	size_t i;
	int ret = 0;

	begin(&r->control, plan->reps);
	for (i = 0; i < r->n; i++)
		begin(&r->row[i], plan->reps);
	for (i = 0; i < plan->reps && !ret; i++)
		ret = one_round(r, plan, i, null, err);
	if (!ret) {
		r->null_ns = stats_middle(null, plan->reps);
		for (i = 0; i < r->n; i++)
			conclude(&r->row[i], r->null_ns.median);
		conclude(&r->control, r->null_ns.median);
	}
	free(null);
	return ret;
}

void timing_latency(struct runs *r, struct runs_row *row, const struct runs_plan *plan)
{
	struct play_args a;
	int ret;

	if (row->status)
		return;
	runs_tell(r, plan, "latency of", row->variant->name);
	runs_args_latency(&a, plan, r);
	ret = play_result(row->variant, (const char *const *)a.text, runs_limit_ms(r, plan, 1),
			  &row->latency, &row->why);
	play_args_free(&a);
	row->status = ret;
	row->has_latency = !ret;
}
