// SPDX-License-Identifier: LGPL-3.0-or-later
/* html_head.c - the facts of a page. */
#include "html_report.h"

#include <stdlib.h>

#include "../pass/growth.h"
#include "../pass/stack_uses.h"
#include "../print/json_rows.h"
#include "../print/print_totals.h"
#include "../print/report.h"
#include "../print/text.h"
#include "../print/views.h"
#include "../profile/suppressions.h"
#include "../profile/variables.h"

#define THREADS_MOST 4096 /* listed individually */
#define PAIRS_MOST   4096
#define ROWS_MOST    500 /* nodes whose blocks grew */

struct long_text html_command(const struct analysis *a)
{
	const struct tree_process *p = a->tree.processes ? &a->tree.process[0] : NULL;

	return text_command(p && p->images ? p->image[0] : NULL, 200);
}

/* Returns [from, to, blocks, bytes] for each pair of threads, most bytes first. */
static json *pairs_json(const struct cross_frees *h)
{
	json *pairs = json_object_new_array();

	for (size_t i = 0; i < h->pairs && i < PAIRS_MOST; i++) {
		const struct cross_free_pair *p = &h->pair[i];
		const uint64_t of[] = { p->from, p->to, p->sum.blocks, p->sum.bytes };
		json *pair = json_object_new_array();

		for (size_t k = 0; k < 4; k++)
			json_object_array_add(pair, json_object_new_uint64(of[k]));
		json_object_array_add(pairs, pair);
	}
	return pairs;
}

static uint64_t blocks_left_out(const struct cross_frees *h)
{
	uint64_t blocks = h->rest.blocks;

	for (size_t i = PAIRS_MOST; i < h->pairs; i++)
		blocks += h->pair[i].sum.blocks;
	return blocks;
}

/* Returns the part of a sample's other memory that mprof itself used. */
static uint64_t own_bytes(const struct html_report *r, const struct resident_parts_sample *s)
{
	const struct tree_process *p = tree_find(&r->analysis->tree, s->process);

	return p && p->self_bytes < s->other ? p->self_bytes : p ? s->other : 0;
}

static uint64_t bytes_left_out(const struct variables *v)
{
	uint64_t bytes = 0;

	for (size_t i = HTML_VARIABLES; i < v->count; i++)
		bytes += v->of[i].v.size;
	return bytes;
}

static json *report_part(const struct html_report *r)
{
	const struct analysis *a = r->analysis;
	json *report = r->totals ? totals_json_object(r->totals) : report_json_object(a);

	if (a->totals.thread.count > THREADS_MOST)
		json_object_object_del(report, "threads");
	return report;
}

/* Combines chains of one node of the page to one row; omits those that the filters exclude. */
static uint32_t key_of(void *map, uint32_t stack)
{
	const struct html_map *m = map;

	return stack < m->stacks && m->node_of[stack] != HTML_NO_NODE ? m->node_of[stack] + 1 : 0;
}

static json *growth_json(const struct growth *g, const struct html_map *map);

#include "page.def"

static json *growth_json(const struct growth *g, const struct html_map *map)
{
	size_t n = 0;
	struct growth_site *site = growth_merged(g, key_of, (void *)map, &n);
	json *o = JSON_NEW(page_growth, g, site, n, map);

	free(site);
	return o;
}

/* Returns the same value with "~" for home directories in every string. */
static json *hide_homes(json *o)
{
	json *to;
	char *hidden;
	size_t i;

	if (json_object_is_type(o, json_type_string)) {
		hidden = html_hide_home(json_object_get_string(o));
		to = json_object_new_string(hidden);
		free(hidden);
		return to;
	}
	if (json_object_is_type(o, json_type_array)) {
		to = json_object_new_array();
		for (i = 0; i < json_object_array_length(o); i++)
			json_object_array_add(to, hide_homes(json_object_array_get_idx(o, i)));
		return to;
	}
	if (!json_object_is_type(o, json_type_object))
		return json_object_get(o);
	to = json_object_new_object();
	json_object_object_foreach(o, name, value)
	    json_object_object_add(to, name, hide_homes(value));
	return to;
}

json *html_head(const struct html_report *r)
{
	json *o = JSON_NEW(page, r), *hidden;

	if (r->served)
		return o;
	hidden = hide_homes(o);
	json_object_put(o);
	return hidden;
}
