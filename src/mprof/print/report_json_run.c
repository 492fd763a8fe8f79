// SPDX-License-Identifier: LGPL-3.0-or-later
/* report_json_run.c - the JSON report's functions, threads and processes. */
#include "report_json.h"

#include "text.h"

static const char *const names[MPROF_FN_MAX] = {
#define MPROF_FUNCTION(id, code, name, class) [code] = name,
#include <mprof/functions.def>
#undef MPROF_FUNCTION
};

/* ---- calls ---- */

static json *calls_json(const struct totals_sum *s, size_t offset)
{
	json *o = json_object_new_object();
	int i;

	for (i = 0; i < MPROF_FN_MAX; i++)
		if (names[i])
			add_n(o, names[i], *(const uint64_t *)((const char *)&s->fn[i] + offset));
	return o;
}

void report_json_totals(json *o, const struct totals_sum *s)
{
	add(o, "calls", calls_json(s, offsetof(struct totals_fn, calls)));
	add(o, "bytes", calls_json(s, offsetof(struct totals_fn, bytes)));
	add(o, "failed", calls_json(s, offsetof(struct totals_fn, failed)));
	add_n(o, "events", s->calls);
	add_n(o, "total_bytes", s->allocated);
	add_n(o, "failed_calls", s->failed);
	add_n(o, "null_frees", s->null_frees);
}

json *report_json_threads(const struct analysis *a)
{
	const struct totals_thread *t = a->totals.thread.item;
	json *list = json_object_new_array(), *o;
	size_t i;

	for (i = 0; i < a->totals.thread.count; i++) {
		o = json_object_new_object();
		add_n(o, "thread", t[i].number);
		add_n(o, "tid", t[i].tid);
		add_n(o, "process", t[i].process);
		add_ns(o, "first_ns", a, t[i].first_ticks);
		add_ns(o, "last_ns", a, t[i].last_ticks);
		add_b(o, "ended", t[i].ended);
		report_json_totals(o, &t[i].sum);
		json_object_array_add(list, o);
	}
	return list;
}

/* ---- processes ---- */

static json *image_json(const struct analysis *a, const struct trace_fact *f)
{
	json *o = json_object_new_object(), *argv = json_object_new_array();
	size_t i;

	for (i = 0; i < f->argc; i++)
		json_object_array_add(argv, json_string(f->argv[i]));
	add_ns(o, "at_ns", a, f->fact->ticks);
	add_s(o, "exe", f->exe);
	add(o, "argv", argv);
	add_s(o, "cwd", f->cwd);
	add_s(o, "allocator", f->allocator);
	return o;
}

static void add_process_end(json *o, const struct analysis *a, const struct tree_process *p)
{
	static const char *const word[] = {
		[TREE_UNKNOWN] = "unknown",
		[TREE_EXITED] = "exited",
		[TREE_KILLED] = "killed",
		[TREE_BECAME] = "became_unrecorded",
	};

	add_s(o, "end", word[p->end]);
	add(o, "status", p->end == TREE_EXITED ? json_object_new_int(p->status) : NULL);
	add(o, "signal", p->end == TREE_KILLED ? json_object_new_int(p->status) : NULL);
	add_ns(o, "start_ns", a, p->start_ticks);
	add_ns(o, "end_ns", a, p->end_ticks);
	add(o, "stopped", p->stopped ? json_string(p->stopped) : NULL);
}

static void add_process_use(json *o, const struct tree_process *p)
{
	add_n(o, "user_ns", p->user_ns);
	add_n(o, "system_ns", p->system_ns);
	add_n(o, "minor_faults", p->minor_faults);
	add_n(o, "major_faults", p->major_faults);
	add_n(o, "peak_rss_bytes", p->peak_rss_bytes);
	add_n(o, "samples", p->samples);
	add_n(o, "rss_most_bytes", p->rss_most);
	add_n(o, "rss_anon_most_bytes", p->rss_anon_most);
	add_n(o, "self_bytes", p->self_bytes);
	add(o, "lost_by_reason", report_json_lost(p->lost));
}

/* What the passes know of it: nothing when it had no event. */
static void add_process_passes(json *o, const struct analysis *a, uint32_t number)
{
	const struct totals_process *t = a->totals.process.item;
	const struct compactness_of *c = a->compactness.process.item;
	const struct totals_sum none = { .calls = 0 };
	json *compactness = json_object_new_object();
	size_t i;

	for (i = 0; i < a->totals.process.count && t[i].number != number; i++)
		;
	if (i == a->totals.process.count) {
		report_json_totals(o, &none);
		report_json_peak(o, a, &(struct peak_of){ .blocks = 0 });
		report_json_left(o, &(struct never_freed_process){ .blocks = 0 });
		add_n(o, "threads", 0);
		json_object_put(compactness);
		return;
	}
	report_json_totals(o, &t[i].sum);
	add_n(o, "threads", t[i].threads);
	add_n(o, "late_events", t[i].late);
	report_json_peak(o, a, (const struct peak_of *)a->peak.process.item + i);
	report_json_left(o, (const struct never_freed_process *)a->never_freed.process.item + i);
	add(compactness, "virtual",
	    i < a->compactness.process.count ? report_json_virtual(a, &c[i]) : NULL);
	add(o, "compactness", compactness);
	if (i < a->compactness.process.count)
		add(o, "high_water", report_json_high_water(&c[i]));
	if (i < a->maps.process.count)
		add(o, "maps",
		    report_json_maps(a, (const struct maps_of *)a->maps.process.item + i));
}

static json *process_json(const struct analysis *a, const struct tree_process *p)
{
	const struct trace_fact *last = tree_image(p);
	json *o = json_object_new_object(), *images = json_object_new_array();
	size_t i;

	for (i = 0; i < p->images; i++)
		json_object_array_add(images, image_json(a, p->image[i]));
	add_n(o, "process", p->number);
	add_i(o, "pid", p->pid);
	add_i(o, "parent_pid", p->parent_pid);
	add_n(o, "parent", p->parent);
	add_b(o, "forked", p->forked);
	add_s(o, "exe", last ? last->exe : "");
	add_s(o, "command", text_command(last, 512).s);
	add(o, "programs", images);
	add_process_end(o, a, p);
	add_process_use(o, p);
	add_process_passes(o, a, p->number);
	return o;
}

json *report_json_processes(const struct analysis *a)
{
	json *list = json_object_new_array();
	size_t i;

	for (i = 0; i < a->tree.processes; i++)
		json_object_array_add(list, process_json(a, &a->tree.process[i]));
	return list;
}

json *report_json_missing(const struct analysis *a)
{
	json *list = json_object_new_array(), *o;
	size_t i;

	for (i = 0; i < a->tree.missing_count; i++) {
		const struct tree_missing *m = &a->tree.missing[i];

		o = json_object_new_object();
		add_i(o, "pid", m->pid);
		add_n(o, "parent", m->parent);
		add_b(o, "became", m->became);
		add_s(o, "path", m->path);
		add_b(o, "environment_cleared", m->environment);
		add_s(o, "why", m->why);
		json_object_array_add(list, o);
	}
	return list;
}

json *report_json_owns(const struct analysis *a)
{
	json *list = json_object_new_array(), *o;
	size_t i;

	for (i = 0; i < a->tree.owns; i++) {
		const struct tree_own *own = &a->tree.own[i];

		o = json_object_new_object();
		add_s(o, "path", own->path);
		add_n(o, "process", own->process);
		add_n(o, "processes", own->processes);
		add_s(o, "why", own->why);
		json_object_array_add(list, o);
	}
	return list;
}

json *report_json_remarks(const struct analysis *a)
{
	json *list = json_object_new_array();
	size_t i;

	for (i = 0; i < a->tree.remarks; i++)
		json_object_array_add(list, json_string(a->tree.remark[i]));
	return list;
}
