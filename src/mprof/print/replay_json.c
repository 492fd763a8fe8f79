// SPDX-License-Identifier: LGPL-3.0-or-later
/* replay_json.c - a playback on several allocators as one JSON object. */
#include "replay.h"

#include <errno.h>
#include <string.h>

static void add_ns(json *o, const char *name, double v)
{
	char text[32];

	snprintf(text, sizeof(text), "%.3f", v);
	add(o, name, json_object_new_double_s(v, text));
}

static json *words_json(const struct replay_answer *a,
			void (*say)(const struct replay_answer *a, struct sentences *w))
{
	json *list = json_object_new_array();
	struct sentences w = { .n = 0 };
	size_t i;

	say(a, &w);
	for (i = 0; i < w.n; i++)
		json_object_array_add(list, json_string(w.line[i]));
	sentences_free(&w);
	return list;
}

static json *strings_json(char *const *s, size_t n)
{
	json *list = json_object_new_array();
	size_t i;

	for (i = 0; i < n; i++)
		json_object_array_add(list, json_string(s[i]));
	return list;
}

/* ---- what was played ---- */

static json *problems_json(const struct mprof_playback_header *h)
{
	const struct mprof_play_summary *s = &h->sum;
	json *o = json_object_new_object();

	add_n(o, "lost", s->lost);
	add_n(o, "damaged", s->damaged);
	add_n(o, "inversions", s->inversions);
	add_n(o, "unknown_frees", s->unknown_frees);
	add_n(o, "inherited_frees", s->inherited_frees);
	add_n(o, "double_allocations", s->double_allocations);
	add_n(o, "failed_calls", s->failed);
	add_n(o, "swept_blocks", s->swept);
	add_b(o, "cut", h->flags & MPROF_PLAY_CUT);
	return o;
}

static json *program_json(const struct replay_answer *a)
{
	const struct mprof_playback_header *h = a->plan->head;
	const struct mprof_play_summary *s = &h->sum;
	json *o = json_object_new_object();

	add_s(o, "command", h->program);
	add_s(o, "input", h->input);
	add(o, "allocator", a->recorded_under ? json_string(a->recorded_under) : NULL);
	add_n(o, "calls", s->calls);
	add_n(o, "threads", h->threads);
	add_n(o, "asked_bytes", s->asked_bytes);
	add_n(o, "peak_live_bytes", s->peak_bytes);
	add_n(o, "peak_live_blocks", s->peak_blocks);
	add_n(o, "left_bytes", s->left_bytes);
	add_n(o, "left_blocks", s->left_blocks);
	add_n(o, "remote_frees", s->remote_frees);
	add_n(o, "recorded_ns", s->recorded_ns);
	add_b(o, "changed", h->flags & MPROF_PLAY_CHANGED);
	add(o, "problems", problems_json(h));
	return o;
}

static json *played_json(const struct replay_answer *a)
{
	static const char *const thp[] = { "never", "madvise", "always" };
	const struct runs_plan *p = a->plan;
	json *o = json_object_new_object(), *drain = json_object_new_array();
	unsigned i;

	add_s(o, "memory_mode", runs_mode_name(a->runs->memory_mode));
	add_s(o, "time_mode", runs_mode_name(a->runs->time_mode));
	add_s(o, "touch", a->runs->touch);
	add_n(o, "repetitions", p->reps);
	add_n(o, "passes", a->runs->passes);
	if (p->cpu >= 0 && a->runs->time_mode == RUNS_SERIAL)
		add_i(o, "cpu", p->cpu);
	else
		add(o, "cpu", NULL);
	add_n(o, "paced", p->speed);
	add_ratio(o, "speed_up", replay_speed_up(a));
	add_b(o, "keep", p->keep);
	for (i = 0; i < p->drains && !p->keep; i++)
		json_object_array_add(drain, json_object_new_uint64(p->drain_ms[i]));
	add(o, "drain_ms", drain);
	add_s(o, "huge_pages", a->runs->thp < 3 ? thp[a->runs->thp] : "unknown");
	add_b(o, "huge_pages_off", p->no_huge);
	add(o, "inherited", strings_json(a->inherited, a->inherited_n));
	return o;
}

static json *control_json(const struct replay_answer *a)
{
	const struct runs_row *c = &a->runs->control;
	json *o;

	if (!a->verdict.timed)
		return NULL;
	o = json_object_new_object();
	add_s(o, "name", c->variant->name);
	add_ns(o, "cpu_ns_per_call", c->cpu_ns.median);
	add_ns(o, "cpu_mad_ns", c->cpu_ns.mad);
	add_ratio(o, "difference", a->verdict.control);
	add_b(o, "quiet", a->verdict.quiet);
	add_ns(o, "null_ns_per_call", a->runs->null_ns.median);
	add_ns(o, "null_mad_ns", a->runs->null_ns.mad);
	return o;
}

/* ---- one allocator ---- */

static json *latency_json(const struct runs_row *row)
{
	json *o;

	if (!row->has_latency)
		return NULL;
	o = json_object_new_object();
	add_n(o, "calls",
	      latency_calls(row->latency.latency[0]) + latency_calls(row->latency.latency[1]) +
		  latency_calls(row->latency.latency[2]));
	add_ns(o, "p50_ns", replay_latency(row, 500));
	add_ns(o, "p99_ns", replay_latency(row, 990));
	add_ns(o, "p999_ns", replay_latency(row, 999));
	add_ns(o, "max_ns", replay_latency(row, 1000));
	add_ns(o, "clock_ns",
	       row->latency.latency_ticks_per_s ? (double)row->latency.latency_empty * 1e9 /
						      (double)row->latency.latency_ticks_per_s
						: 0);
	return o;
}

/* Two lists that belong together: half the lines of a list of pairs. */
static json *curve_json(const struct runs_row *row)
{
	json *o = json_object_new_object(), *op = json_object_new_array(),
	     *rss = json_object_new_array();
	size_t i;

	for (i = 0; i < row->samples; i++) {
		json_object_array_add(op, json_object_new_uint64(row->sample[i].op));
		json_object_array_add(rss, json_object_new_uint64(row->sample[i].rss));
	}
	add(o, "op", op);
	add(o, "rss_bytes", rss);
	return o;
}

static void add_memory(const struct replay_answer *a, json *o, const struct runs_row *row)
{
	const struct mprof_run_result *m = &row->memory;
	json *drain = json_object_new_array();
	unsigned i;

	add_n(o, "peak_rss_bytes", runs_peak(row));
	add_n(o, "heap_rss_bytes", m->peak_rss);
	add_n(o, "startup_bytes", row->startup);
	add_n(o, "end_rss_bytes", m->end_rss);
	if (a->plan->keep)
		add(o, "drained_rss_bytes", NULL);
	else
		add_n(o, "drained_rss_bytes", m->drained_rss);
	for (i = 0; i < a->plan->drains && !a->plan->keep; i++)
		json_object_array_add(drain, json_object_new_uint64(m->drain_rss[i]));
	add(o, "drain_rss_bytes", drain);
	add_n(o, "minor_faults", m->minflt);
	add_n(o, "major_faults", m->majflt);
	add_n(o, "failed_calls", m->failed);
	add(o, "curve", curve_json(row));
}

static void add_time(const struct replay_answer *a, json *o, size_t i)
{
	const struct verdict *v = &a->verdict;
	const struct runs_row *row = &a->runs->row[i];

	add_n(o, "time_runs", row->times);
	if (!row->times)
		return;
	add_ns(o, "cpu_ns_per_call", row->cpu_ns.median);
	add_ns(o, "cpu_mad_ns", row->cpu_ns.mad);
	add_ns(o, "cpu_ns", row->cpu_ns.median * (double)a->plan->head->sum.calls);
	add_ns(o, "wall_ns_per_call", row->wall_ns.median);
	add_ns(o, "wall_mad_ns", row->wall_ns.mad);
	add_ns(o, "noise_ns", verdict_noise(v, i, v->reference));
	add(o, "latency", latency_json(row));
}

static json *row_json(const struct replay_answer *a, size_t i)
{
	const struct verdict *v = &a->verdict;
	const struct runs_row *row = &a->runs->row[i];
	json *o = json_object_new_object();

	add_s(o, "name", row->variant->name);
	add_s(o, "file", row->variant->so);
	add_s(o, "version", row->variant->version);
	add(o, "environment", strings_json(row->variant->env, row->variant->envs));
	add_b(o, "played", !row->status);
	if (row->status)
		add_s(o, "why", row->why.text);
	else
		add(o, "why", NULL);
	if (*row->said)
		add_s(o, "said", row->said);
	else
		add(o, "said", NULL);
	if (row->status)
		return o;
	add_memory(a, o, row);
	add_time(a, o, i);
	if (a->heap && a->heap[i])
		add(o, "heap", replay_memory_json(&a->heaps, a->heap[i]));
	add_b(o, "peak_differs", verdict_by_peak(v, i, v->reference));
	add_b(o, "time_differs", verdict_by_time(v, i, v->reference));
	return o;
}

json *replay_json(const struct replay_answer *a)
{
	json *all = json_object_new_object(), *rows = json_object_new_array();
	size_t i;

	add_s(all, "mprof_version", MPROF_VERSION);
	add_s(all, "trace", a->path);
	add(all, "program", program_json(a));
	add(all, "run", played_json(a));
	add(all, "control", control_json(a));
	if (a->verdict.reference < a->runs->n)
		add_s(all, "reference", a->runs->row[a->verdict.reference].variant->name);
	else
		add(all, "reference", NULL);
	add(all, "findings", words_json(a, replay_verdict));
	add(all, "how", words_json(a, replay_how));
	for (i = 0; i < a->runs->n; i++)
		json_object_array_add(rows, row_json(a, i));
	add(all, "allocators", rows);
	if (a->heaps.memories && a->heaps.memories->recorded.status != -ENOENT)
		add(all, "recorded", replay_memory_json(&a->heaps, &a->heaps.memories->recorded));
	return all;
}
