// SPDX-License-Identifier: LGPL-3.0-or-later
/* html_head.c - the facts of a page. */
#include "html_report.h"

#include <json-c/json_visit.h>
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

/* Returns [from, to, blocks, bytes]. */
static json *pair_json(const struct cross_free_pair *p)
{
	const uint64_t of[] = { p->from, p->to, p->sum.blocks, p->sum.bytes };

	return JSON_LIST(4, true, json_object_new_uint64(of[i]));
}

static uint64_t blocks_left_out(const struct cross_frees *h)
{
	uint64_t blocks = h->rest.blocks;

	for (size_t i = PAIRS_MOST; i < h->pairs; i++)
		blocks += h->pair[i].sum.blocks;
	return blocks;
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

bool html_left_open(const struct html_report *r)
{
	const struct analysis *a = r->analysis;

	return report_ends_early(a) || analysis_interrupted(a);
}

bool html_is_live(const struct html_report *r)
{
	return r->served && text_running(&r->analysis->tree);
}

#include "page.def"

static json *growth_json(const struct growth *g, const struct html_map *map)
{
	size_t n = 0;
	struct growth_site *site = growth_merged(g, key_of, (void *)map, &n);
	json *o = JSON_NEW(page_growth, g, site, n, map);

	free(site);
	return o;
}

/* Replaces home directories in a string by "~". */
static int hide_home(json *o, int flags, json *parent, const char *name, size_t *i, void *none)
{
	char *hidden;

	if (json_object_is_type(o, json_type_string)) {
		hidden = html_hide_home(json_object_get_string(o));
		json_object_set_string(o, hidden);
		free(hidden);
	}
	return JSON_C_VISIT_RETURN_CONTINUE;
}

json *html_head(const struct html_report *r)
{
	json *o = JSON_NEW(page, r);

	if (!r->served)
		json_c_visit(o, 0, hide_home, NULL);
	return o;
}
