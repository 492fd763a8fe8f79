// SPDX-License-Identifier: LGPL-3.0-or-later
/* html_realloc.c - see html_realloc.h. */
#include "html_realloc.h"

#include <stdlib.h>

#define ROWS_MOST 500

/* Chains of one node of the page are one row; those that the filters leave out are none. */
static uint32_t key_of(void *map, uint32_t stack)
{
	const struct html_map *m = map;

	return stack < m->stacks && m->node_of[stack] != HTML_NO_NODE ? m->node_of[stack] + 1 : 0;
}

static json *row_json(const struct growth_site *s, uint32_t node)
{
	json *o = json_object_new_object();

	add_n(o, "node", node);
	add_n(o, "chains", s->chains);
	add_n(o, "steps", s->steps);
	add_n(o, "copies", s->copies);
	add_n(o, "moved", s->moved);
	add_n(o, "copied_bytes", s->copied);
	add_n(o, "longest", s->longest);
	add_n(o, "first_bytes", s->first);
	add_n(o, "largest_bytes", s->greatest);
	add_n(o, "reserve_bytes", s->reserve);
	add_n(o, "saved_calls", s->saved_steps);
	add_n(o, "saved_copied_bytes", s->saved_copied);
	add_n(o, "spare_bytes", s->spare);
	return o;
}

json *html_realloc_json(const struct growth *g, const struct html_map *map)
{
	json *o = json_object_new_object(), *rows = json_object_new_array();
	struct growth_site *site;
	size_t n = 0, i;

	site = growth_merged(g, key_of, (void *)map, &n);
	for (i = 0; site && i < n && i < ROWS_MOST; i++)
		json_object_array_add(rows, row_json(&site[i], map->node_of[site[i].stack]));
	free(site);
	add_n(o, "chains", g->chains);
	add_n(o, "steps", g->steps);
	add_n(o, "copies", g->copies);
	add_n(o, "copied_bytes", g->copied);
	add_n(o, "left_out", n > ROWS_MOST ? n - ROWS_MOST : 0);
	add(o, "rows", rows);
	return o;
}
