// SPDX-License-Identifier: LGPL-3.0-or-later
/* flat_json.c - views that are a list, as JSON. */
#include "flat_view.h"

static void add_lifetimes(json *o, const struct site_values *v)
{
	json *l = json_object_new_object();

	if (!v->freed_calls) {
		add(o, "lifetime_ns", NULL);
		json_object_put(l);
		return;
	}
	add_n(l, "min", v->lifetime_min_ns);
	add_n(l, "mean", v->lifetime_ns / v->freed_calls);
	add_n(l, "max", v->lifetime_max_ns);
	add_n(l, "sum", v->lifetime_ns);
	add(o, "lifetime_ns", l);
}

static void add_pair(json *o, const char *name, uint64_t calls, uint64_t bytes)
{
	json *pair = json_object_new_object();

	add_n(pair, "calls", calls);
	add_n(pair, "bytes", bytes);
	add(o, name, pair);
}

json *flat_values_json(const struct site_values *v, uint64_t leaked_bytes, uint64_t leaked_calls)
{
	json *o = json_object_new_object(), *epochs = json_object_new_array();
	unsigned i;

	add_n(o, "calls", v->calls);
	add_n(o, "bytes", v->bytes);
	add_n(o, "size_min", v->size_min);
	add_n(o, "size_mean", v->calls ? v->bytes / v->calls : 0);
	add_n(o, "size_max", v->size_max);
	add_n(o, "waste_bytes", v->slack);
	add_pair(o, "freed", v->freed_calls, v->freed_bytes);
	add_lifetimes(o, v);
	add_pair(o, "live", v->live_calls, v->live_bytes);
	add_pair(o, "leaked", leaked_calls, leaked_bytes);
	add_pair(o, "peak", v->peak_calls, v->peak_bytes);
	add_n(o, "peak_waste_bytes", v->peak_slack);
	add_pair(o, "rss", v->rss_calls, v->rss_bytes);
	add_pair(o, "local", v->local_calls, v->local_bytes);
	add_pair(o, "temporary", v->temporary_calls, v->temporary_bytes);
	add_n(o, "foreign_frees", v->foreign_frees);
	add_n(o, "reallocs", v->reallocs);
	add_n(o, "reallocs_moved", v->realloc_moved);
	add_n(o, "realloc_copied_bytes", v->realloc_bytes);
	add_pair(o, "maps", v->map_calls, v->map_bytes);
	for (i = 0; i < SITE_EPOCHS; i++)
		json_object_array_add(epochs, json_object_new_uint64(v->epoch_bytes[i]));
	add(o, "live_bytes_by_epoch", epochs);
	return o;
}

static json *line_json(const struct sym_line *line)
{
	json *o = json_object_new_object();

	add_s(o, "function", line->function);
	add_s(o, "file", line->file);
	add_n(o, "line", line->line);
	add_s(o, "module", line->module);
	if (line->inlined)
		add_b(o, "inlined", true);
	return o;
}

static void add_path(json *o, struct view_request *r, uint32_t stack)
{
	const struct profile_path *path = profile_path(r->profile, stack);
	json *list = json_object_new_array();
	size_t i;

	for (i = path ? path->count : 0; i--;)
		json_object_array_add(list, line_json(path->line[i]));
	add(o, "stack", list);
	add_b(o, "stack_truncated", path && path->truncated);
}

static void add_group(json *o, struct view_request *r, const struct profile_group *g)
{
	switch (r->profile->by) {
	case PROFILE_BY_STACK:
		add_path(o, r, g->stack);
		break;
	case PROFILE_BY_THREAD:
		add_n(o, "thread", g->part);
		break;
	case PROFILE_BY_SIZE:
		add_n(o, "size", g->part);
		break;
	case PROFILE_BY_MODULE:
		add_s(o, "module", g->line ? g->line->module : "");
		break;
	case PROFILE_BY_FILE:
		add_s(o, "file", g->line ? g->line->file : "");
		add_s(o, "module", g->line ? g->line->module : "");
		break;
	case PROFILE_BY_FUNCTION:
		add_s(o, "function", g->line ? g->line->function : "");
		add_s(o, "module", g->line ? g->line->module : "");
		break;
	default:
		add(o, "line", g->line ? line_json(g->line) : NULL);
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
	add_n(o, "stacks", g->sites);
	add(o, "figures", flat_values_json(&g->v, g->leaked_bytes, g->leaked_calls));
	add_group(o, r, g);
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
		add_n(o, "rss_bytes", m->rss);
		add_n(o, "process", m->process);
		add_n(o, "arena_bytes", m->arena);
		add_n(o, "mapped_bytes", m->mapped);
	}
	return o;
}

int flat_view_json(struct view_request *r, json *o, struct error *err)
{
	const struct profile *p = r->profile;
	size_t more;

	(void)err;
	flat_view_rows(r, &more);
	add(o, "moment_of_peak", moment_json(&p->sites.peak, false));
	add(o, "moment_of_rss", moment_json(&p->sites.rss, true));
	add(o, "total", flat_values_json(&p->total, p->leaked_total, p->leaked_calls_total));
	add_n(o, "rows_left_out", more);
	return 0;
}
