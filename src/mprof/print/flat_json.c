// SPDX-License-Identifier: LGPL-3.0-or-later
/* flat_json.c - views that are a list, as JSON. */
#include "flat_view.h"

#include <string.h>

/* Where a figure stands in a row: "group.name" or "name". */
static const struct {
	const char *path;
	size_t member;
} figures[] = {
#define FIGURE(member, unit, add, from, json, help) { json, offsetof(struct site_values, member) },
#include "../pass/figures.def"
};

static void add_at(json *o, const char *path, uint64_t n)
{
	const char *dot = strchr(path, '.');
	char group[32];
	json *in = o;

	if (dot) {
		snprintf(group, sizeof(group), "%.*s", (int)(dot - path), path);
		if (!json_object_object_get_ex(o, group, &in))
			add(o, group, in = json_object_new_object());
		path = dot + 1;
	}
	add_n(in, path, n);
}

/* Of estimates: where each figure is in 95 of 100 cases. */
static json *ranges_json(const struct site_values *v, const uint64_t figure[VALUE_COUNT])
{
	json *o = json_object_new_object(), *pair;
	struct estimate_range range;
	unsigned i;

	add_n(o, "samples", v->error.samples);
	for (i = 0; i < VALUE_COUNT; i++) {
		if (!estimate_range(v, (enum profile_value)i, figure[i], &range))
			continue;
		pair = json_object_new_array();
		json_object_array_add(pair, json_object_new_uint64(range.low));
		json_object_array_add(pair, json_object_new_uint64(range.high));
		add(o, profile_value_name((enum profile_value)i), pair);
	}
	return o;
}

void flat_values_json(json *o, const struct profile *p, const struct site_values *v)
{
	const struct profile_group g = { .v = *v };
	json *epochs = json_object_new_array();
	uint64_t figure[VALUE_COUNT];
	unsigned i;

	for (i = 0; i < VALUE_COUNT; i++)
		figure[i] = profile_group_value(&g, (enum profile_value)i);
	add(o, "figures", figures_json(figure));
	for (i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		if (*figures[i].path)
			add_at(o, figures[i].path,
			       *(const uint64_t *)((const char *)v + figures[i].member));
	add_at(o, "sizes.mean", v->calls ? v->bytes / v->calls : 0);
	if (v->freed_calls)
		add_at(o, "lifetimes_ns.mean", v->lifetime_ns / v->freed_calls);
	else
		add(o, "lifetimes_ns", NULL);
	if (v->error.samples)
		add(o, "ranges", ranges_json(v, figure));
	add_i(o, "first_ns", v->last_ticks ? walk_ns(&p->walk, v->first_ticks) : 0);
	add_i(o, "last_ns", v->last_ticks ? walk_ns(&p->walk, v->last_ticks) : 0);
	for (i = 0; i < SITE_EPOCHS; i++)
		json_object_array_add(epochs, json_object_new_uint64(v->epoch_bytes[i]));
	add(o, "live_by_epoch_bytes", epochs);
}

static void add_path(json *o, struct view_request *r, uint32_t stack,
		     const struct sym_line *through)
{
	const struct profile_path *path = profile_path_once(r->profile, stack);
	json *list = json_object_new_array(), *line;
	size_t i;

	for (i = 0; path && i < path->count; i++) {
		line = json_object_new_object();
		figures_line_json(line, path->line[i], true);
		json_object_array_add(list, line);
	}
	add(o, "stack", list);
	line = through ? json_object_new_object() : NULL;
	if (through)
		figures_line_json(line, through, LINE_LINE);
	add(o, "through", line);
	add(o, "stack_number", stack ? json_object_new_uint64(stack) : NULL);
	add_b(o, "stack_is_cut", path && path->truncated);
}

static void add_group(json *o, struct view_request *r, const struct profile_group *g)
{
	switch (r->profile->by) {
	case PROFILE_BY_STACK:
		add_path(o, r, g->stack, g->through);
		break;
	case PROFILE_BY_THREAD:
		add_n(o, "thread", g->part);
		break;
	case PROFILE_BY_SIZE:
		add_n(o, "size", g->part);
		break;
	case PROFILE_BY_MODULE:
		add(o, "module", g->line ? json_string(g->line->module) : NULL);
		break;
	case PROFILE_BY_FILE:
		add(o, "file", g->line && *g->line->file ? json_string(g->line->file) : NULL);
		add(o, "module", g->line ? json_string(g->line->module) : NULL);
		break;
	default:
		if (g->line)
			figures_line_json(o, g->line, r->profile->by == PROFILE_BY_LINE);
		else
			add(o, "function", NULL);
		break;
	}
}

json *flat_view_json_row(struct view_request *r, size_t i)
{
	const struct profile_group *g = &r->profile->group[i];
	const uint64_t n = profile_group_value(g, r->sort);
	const uint64_t total = profile_value_total(r->profile, r->sort);
	json *o = json_object_new_object();

	if (!o)
		return NULL;
	add_n(o, "value", n);
	add_ratio(o, "share", total ? (double)n / (double)total : 0);
	add_n(o, "sites", g->sites);
	add_group(o, r, g);
	flat_values_json(o, r->profile, &g->v);
	return o;
}

size_t flat_view_json_rows(const struct view_request *r)
{
	return flat_view_rows(r, NULL);
}

static json *moment_json(const struct site_moment *m, bool rss)
{
	json *o;

	if (!m->ticks)
		return NULL;
	o = json_object_new_object();
	add_i(o, "time_ns", m->ns);
	add_n(o, "bytes", m->bytes);
	add_n(o, "calls", m->calls);
	if (rss) {
		add_i(o, "from_ns", m->from_ns);
		if (m->to_ns != INT64_MAX)
			add_i(o, "to_ns", m->to_ns);
		else
			add(o, "to_ns", NULL);
		add(o, "sampled", json_object_new_boolean(m->sampled));
		add_n(o, "rss_bytes", m->rss);
		add_n(o, "later_bytes", m->unseen);
		add_n(o, "untouched_bytes", m->bytes > m->rss ? m->bytes - m->rss : 0);
		if (m->cpu_ns)
			add_n(o, "cpu_ns", m->cpu_ns);
		else
			add(o, "cpu_ns", NULL);
		add_n(o, "process", m->process);
		add_n(o, "arena_bytes", m->arena);
		add_n(o, "mapped_bytes", m->mapped);
	}
	return o;
}

int flat_view_json(struct view_request *r, json *o, struct error *err)
{
	const struct profile *p = r->profile;
	json *total = json_object_new_object();
	size_t more;

	(void)err;
	flat_view_rows(r, &more);
	add(o, "moment_of_peak", moment_json(&p->sites.peak, false));
	add(o, "moment_of_rss", moment_json(&p->sites.rss, true));
	flat_values_json(total, p, &p->total);
	add(o, "total", total);
	add_n(o, "rows_left_out", more);
	return 0;
}
