// SPDX-License-Identifier: LGPL-3.0-or-later
/* replay_memory_json.c - where blocks lay, as JSON. */
#include "../places/pin_names.h"
#include "figures.h"
#include "replay_memory.h"

static const char *const grain_names[PAGE_GRAINS] = {
	[GRAIN_4K] = "4k",
	[GRAIN_64K] = "64k",
	[GRAIN_2M] = "2m",
};

static const char *const pin_members[PAGE_PINS] = {
	[PINS_64] = "under_64",	  [PINS_256] = "under_256", [PINS_1K] = "under_1024",
	[PINS_4K] = "under_4096", [PINS_FULL] = "full",
};

static void add_known(json *o, const char *name, bool known, uint64_t n)
{
	if (known)
		add_n(o, name, n);
	else
		add(o, name, NULL);
}

static void add_known_ratio(json *o, const char *name, bool known, double ratio)
{
	if (known)
		add_ratio(o, name, ratio);
	else
		add(o, name, NULL);
}

static json *name_json(const struct pin_name *name)
{
	json *o = json_object_new_object();

	if (name->line) {
		figures_line_json(o, name->line, LINE_LINE);
	} else {
		add(o, "function", NULL);
		add(o, "file", NULL);
		add(o, "line", NULL);
		add(o, "module", NULL);
	}
	add_n(o, "pages", name->pages);
	add_n(o, "bytes", name->bytes);
	add_n(o, "blocks", name->blocks);
	return o;
}

static json *pinned_by(const struct replay_memory *r, const struct pins *pins)
{
	json *list = json_object_new_array();
	struct pin_names names;
	size_t i;

	if (!pin_names_make(&names, pins, r->names))
		for (i = 0; i < names.n; i++)
			json_object_array_add(list, name_json(&names.name[i]));
	pin_names_release(&names);
	return list;
}

static json *grains(const uint64_t n[PAGE_GRAINS])
{
	json *o = json_object_new_object();
	enum page_grain g;

	for (g = 0; g < PAGE_GRAINS; g++)
		add_n(o, grain_names[g], n[g]);
	return o;
}

static json *moment_json(const struct replay_memory *r, const struct memory_moment *k)
{
	json *o, *pins = json_object_new_object();
	unsigned i;

	if (!k->known) {
		json_object_put(pins);
		return NULL;
	}
	o = json_object_new_object();
	add_n(o, "op", k->at.op);
	add_n(o, "requested_bytes", k->at.requested);
	add_n(o, "usable_bytes", k->at.usable);
	add_n(o, "blocks", k->at.blocks);
	add_known(o, "resident_bytes", k->at.resident, k->at.resident);
	add_known(o, "retained_bytes", k->has_residency, memory_retained(k));
	add(o, "live_pages", grains(k->at.live));
	for (i = 0; i < PAGE_PINS; i++)
		add_n(pins, pin_members[i], k->pinned[i]);
	add(o, "pages_by_live_bytes", pins);
	add(o, "pinned_by", pinned_by(r, &k->pins));
	return o;
}

static json *use_json(const struct memory *m)
{
	json *o = json_object_new_object(), *of;
	enum page_grain g;

	for (g = 0; g < PAGE_GRAINS; g++) {
		of = json_object_new_object();
		add_ratio(of, "at_peak", m->use[g].at_peak);
		add_ratio(of, "mean", m->use[g].mean);
		add_ratio(of, "min", m->use[g].min);
		add_n(of, "min_op", m->use[g].min_op);
		add(o, grain_names[g], of);
	}
	return o;
}

static json *fragmentation_json(const struct johnstone *j)
{
	json *o;

	if (!j->known)
		return NULL;
	o = json_object_new_object();
	add_known_ratio(o, "average", j->average_known, j->average);
	add_known_ratio(o, "at_live_peak", j->live_known, j->at_live_peak);
	add_known_ratio(o, "realized", j->realized_known, j->at_memory_peak);
	add_known_ratio(o, "peak_to_peak", j->live_known, j->of_peaks);
	return o;
}

static json *classes_json(const struct memory *m)
{
	json *list = json_object_new_array(), *o;
	const struct memory_class *c;
	unsigned i;

	for (i = 0; i < MEMORY_CLASSES; i++) {
		c = &m->class[i];
		if (!c->births && !c->births_usable)
			continue;
		o = json_object_new_object();
		add_n(o, "to_bytes", memory_class_most(i));
		add_n(o, "blocks", c->births);
		add_n(o, "requested_bytes", c->requested);
		add_n(o, "slack_bytes", c->usable - c->requested);
		add_n(o, "blocks_by_usable", c->births_usable);
		add_n(o, "most_live_bytes", c->most);
		add_n(o, "peak_blocks", c->peak.blocks);
		add_n(o, "peak_requested_bytes", c->peak.requested);
		add_n(o, "peak_slack_bytes", c->peak.usable - c->peak.requested);
		json_object_array_add(list, o);
	}
	return list;
}

static json *curve_json(const struct memory *m)
{
	json *list = json_object_new_array(), *o;
	const struct memory_point *p;

	for (p = m->point; p < m->point + m->points; p++) {
		o = json_object_new_object();
		add_n(o, "op", p->op);
		add_n(o, "recorded_ns", p->ns);
		add_n(o, "requested_bytes", p->requested);
		add_n(o, "usable_bytes", p->usable);
		add_n(o, "blocks", p->blocks);
		add_known(o, "resident_bytes", p->resident, p->resident);
		add(o, "live_pages", grains(p->live));
		json_object_array_add(list, o);
	}
	return list;
}

json *replay_memory_json(const struct replay_memory *r, const struct memories_row *row)
{
	const struct memory *m = &row->memory;
	json *o;

	if (row->status)
		return NULL;
	o = json_object_new_object();
	add_n(o, "ops", m->ops);
	add_n(o, "births", m->births);
	add(o, "page_use", use_json(m));
	add(o, "fragmentation", fragmentation_json(&m->fragmentation));
	add(o, "peak", moment_json(r, &m->moment[MEMORY_PEAK]));
	add(o, "most_retained", moment_json(r, &m->moment[MEMORY_RETAINED]));
	add(o, "end", moment_json(r, &m->moment[MEMORY_END]));
	add(o, "sizes", classes_json(m));
	add(o, "curve", curve_json(m));
	return o;
}
