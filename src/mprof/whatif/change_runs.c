// SPDX-License-Identifier: LGPL-3.0-or-later
/* change_runs.c - the recorded and the changed calls of a program on the same allocators. */
#include "change_runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../play/play.h"
#include "../play/runs.h"
#include "../play/verdict.h"
#include "../util/alloc.h"

/* Runs of a round for each variant. */
enum { PLACE_AS_IT_IS, PLACE_CHANGED, PLACE_CONTROL, PLACES };

static void tell(struct change_runs *r, const struct change_runs_plan *plan, const char *what,
		 const char *name)
{
	const struct runs_plan *p = &plan->side[0];

	if (p->progress)
		p->progress(p->context, what, name, r->done, r->of);
	r->done++;
}

static int play(const struct change_runs *r, const struct change_runs_plan *plan,
		enum change_sides side, const struct variant *v, struct play_args *a,
		struct mprof_run_result *result, struct error *err)
{
	const int64_t limit = runs_limit_ms(&r->how[side], &plan->side[side], r->how[side].passes);
	const int ret = play_result(v, (const char *const *)a->text, limit, result, err);

	play_args_free(a);
	return ret;
}

/* ---- memory ---- */

static void look_at_memory(struct change_runs *r, const struct change_runs_plan *plan,
			   struct change_row *row, enum change_sides side)
{
	struct runs_plan without_waiting = plan->side[side];
	struct play_args a;

	if (row->status)
		return;
	tell(r, plan, side ? "changed memory of" : "memory of", row->variant->name);
	without_waiting.drains = 0;
	runs_args_memory(&a, &without_waiting, &r->how[side]);
	row->status = play(r, plan, side, row->variant, &a, &row->side[side].memory, &row->why);
}

/* Decides how often to play: a run that is too short to be timed is repeated, as often on both
 * sides. */
static unsigned passes_for(const struct change_runs *r, const struct change_runs_plan *plan)
{
	double ns = 0, most = RUNS_PASSES;
	size_t i;

	for (i = 0; i < r->n && !(ns > 0); i++)
		if (!r->row[i].status)
			ns = (double)r->row[i].side[SIDE_AS_IT_IS].memory.wall_ns;
	if (r->how[0].time_mode != RUNS_SERIAL || r->how[1].time_mode != RUNS_SERIAL ||
	    plan->side[0].speed > 0 || !(ns > 0))
		return 1;
	return ns >= RUNS_SHORT_NS ? 1 : (unsigned)fmin(most, RUNS_SHORT_NS / ns + 1);
}

/* ---- time ---- */

/* Makes one run; ns of processor time for all calls. */
static int time_once(struct change_runs *r, const struct change_runs_plan *plan,
		     enum change_sides side, const struct variant *v, bool null, double *ns,
		     struct error *err)
{
	struct mprof_run_result m;
	struct play_args a;
	int ret;

	runs_args_time(&a, &plan->side[side], &r->how[side], null);
	ret = play(r, plan, side, v, &a, &m, err);
	if (!ret)
		*ns = (double)(m.user_ns + m.sys_ns) / r->how[side].passes;
	return ret;
}

static void time_row(struct change_runs *r, const struct change_runs_plan *plan,
		     struct change_row *row, unsigned place, size_t round)
{
	static const char *const what[PLACES] = { "time of", "changed time of", "control of" };
	struct change_side *to = place == PLACE_CONTROL ? &row->control : &row->side[place];

	if (row->status)
		return;
	tell(r, plan, what[place], row->variant->name);
	row->status = time_once(r, plan, place == PLACE_CHANGED ? SIDE_CHANGED : SIDE_AS_IT_IS,
				row->variant, false, &to->cpu[round], &row->why);
}

static int one_round(struct change_runs *r, const struct change_runs_plan *plan, size_t round,
		     double *null[SIDES], struct error *err)
{
	static const struct variant none = { .name = (char *)"no allocator", .so = (char *)"" };
	const size_t places = SIDES + PLACES * r->n;
	size_t i, place;
	int ret = 0;

	for (i = 0; i < places && !ret; i++) {
		place = (round + i) % places;
		if (place >= SIDES) {
			place -= SIDES;
			time_row(r, plan, &r->row[place / PLACES], place % PLACES, round);
			continue;
		}
		tell(r, plan, "time of", "the runner alone");
		ret = time_once(r, plan, (enum change_sides)place, &none, true, &null[place][round],
				err);
	}
	return ret;
}

static struct middle conclude(double *cpu, size_t n, double null)
{
	size_t i;

	for (i = 0; i < n; i++)
		cpu[i] = cpu[i] > null ? cpu[i] - null : 0;
	return stats_middle(cpu, n);
}

static void conclude_row(struct change_runs *r, struct change_row *row, size_t n)
{
	const struct change_side *is = &row->side[SIDE_AS_IT_IS],
				 *changed = &row->side[SIDE_CHANGED];
	double apart, part;
	unsigned s;

	if (row->status || !n)
		return;
	for (s = 0; s < SIDES; s++)
		row->side[s].cpu_ns = conclude(row->side[s].cpu, n, r->null_ns[s].median);
	row->control.cpu_ns = conclude(row->control.cpu, n, r->null_ns[SIDE_AS_IT_IS].median);
	row->timed = true;
	apart = fabs(is->cpu_ns.median - row->control.cpu_ns.median);
	part = is->cpu_ns.median > 0 ? apart / is->cpu_ns.median : 0;
	row->quiet =
	    apart <= stats_noise(is->cpu_ns, row->control.cpu_ns, n) || part <= VERDICT_CONTROL;
	row->noise =
	    fmax(stats_noise(is->cpu_ns, changed->cpu_ns, n),
		 fmax(part, VERDICT_FLOOR) * fmin(is->cpu_ns.median, changed->cpu_ns.median));
	row->time_differs =
	    row->quiet && fabs(is->cpu_ns.median - changed->cpu_ns.median) > row->noise;
}

static void begin_rounds(struct change_runs *r, unsigned reps, double *null[SIDES])
{
	unsigned s;
	size_t i;

	for (s = 0; s < SIDES; s++)
		null[s] = must_calloc(reps, sizeof(double));
	for (i = 0; i < r->n; i++) {
		for (s = 0; s < SIDES; s++)
			r->row[i].side[s].cpu = must_calloc(reps, sizeof(double));
		r->row[i].control.cpu = must_calloc(reps, sizeof(double));
	}
}

static int time_all(struct change_runs *r, const struct change_runs_plan *plan, struct error *err)
{
	const unsigned reps = plan->side[0].reps;
	double *null[SIDES];
	unsigned s;
	size_t i;
	int ret = 0;

	begin_rounds(r, reps, null);
	for (i = 0; i < reps && !ret; i++)
		ret = one_round(r, plan, i, null, err);
	for (s = 0; s < SIDES && !ret; s++)
		r->null_ns[s] = stats_middle(null[s], reps);
	for (i = 0; i < r->n && !ret; i++)
		conclude_row(r, &r->row[i], reps);
	free(null[0]);
	free(null[1]);
	return ret;
}

/* ---- where blocks lie ---- */

static void look_at_heaps(struct change_runs *r, const struct change_runs_plan *plan,
			  const struct variants *vs)
{
	unsigned s;

	for (s = 0; s < SIDES; s++) {
		const struct runs_plan *p = &plan->side[s];
		const struct memories_plan heaps = {
			.playback = p->playback,
			.plan = { .at = PLACE_NOWHERE,
				  .mode =
				      r->how[s].memory_mode == RUNS_ORDERED ? "ordered" : "serial",
				  .touch = r->how[s].touch,
				  .no_huge = p->no_huge,
				  .limit_ms = p->limit_ms },
		};

		memories_make(&r->heaps[s], &heaps, vs);
	}
	r->has_heaps = true;
}

/* ---- the whole ---- */

static void judge_peak(struct change_row *row)
{
	const double p = (double)change_peak(row, SIDE_AS_IT_IS),
		     q = (double)change_peak(row, SIDE_CHANGED);

	row->peak_differs =
	    !row->status && fabs(p - q) > fmax(VERDICT_BYTES, VERDICT_PART * fmin(p, q));
}

int change_runs_make(struct change_runs *r, const struct change_runs_plan *plan,
		     const struct variants *vs, struct error *err)
{
	const unsigned reps = plan->side[0].reps;
	unsigned s;
	size_t i;
	int ret = 0;

	memset(r, 0, sizeof(*r));
	r->row = must_calloc(vs->n + 1, sizeof(*r->row));
	r->n = vs->n;
	r->of = (unsigned)(2 * r->n + reps * (SIDES + PLACES * r->n));
	for (s = 0; s < SIDES; s++)
		runs_choose(&r->how[s], &plan->side[s]);
	for (i = 0; i < r->n; i++)
		r->row[i].variant = &vs->v[i];
	for (i = 0; i < r->n; i++)
		for (s = 0; s < SIDES; s++)
			look_at_memory(r, plan, &r->row[i], (enum change_sides)s);
	for (i = 0; i < r->n; i++)
		judge_peak(&r->row[i]);
	r->how[0].passes = r->how[1].passes = passes_for(r, plan);
	if (reps)
		ret = time_all(r, plan, err);
	if (!ret && plan->heaps)
		look_at_heaps(r, plan, vs);
	return ret;
}

void change_runs_release(struct change_runs *r)
{
	size_t i;

	for (i = 0; i < r->n; i++) {
		free(r->row[i].side[0].cpu);
		free(r->row[i].side[1].cpu);
		free(r->row[i].control.cpu);
	}
	free(r->row);
	memories_release(&r->heaps[0]);
	memories_release(&r->heaps[1]);
	memset(r, 0, sizeof(*r));
}

uint64_t change_peak(const struct change_row *row, enum change_sides side)
{
	return row->side[side].memory.peak_rss;
}

double change_page_use(const struct change_runs *r, size_t row, enum change_sides side)
{
	const struct memories_row *of = r->has_heaps ? &r->heaps[side].row[row] : NULL;

	return of && !of->status ? of->memory.use[GRAIN_4K].at_peak : 0;
}
