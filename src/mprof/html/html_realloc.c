// SPDX-License-Identifier: LGPL-3.0-or-later
/* html_realloc.c - blocks that grew step by step, for the page Realloc. */
#include "html_data.h"

#include <stdlib.h>

#include "../pass/growth.h"
#include "../print/views.h"

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
	grown_fields(o, s);
	return o;
}

json *html_realloc_json(const struct growth *g, const struct html_map *map)
{
	json *o = json_object_new_object(), *rows = json_object_new_array();
	struct growth_site *site;
	size_t n = 0, i;

	site = growth_merged(g, key_of, (void *)map, &n);
	for (i = 0; i < n && i < ROWS_MOST; i++)
		json_object_array_add(rows, row_json(&site[i], map->node_of[site[i].stack]));
	free(site);
	growth_fields(o, g);
	add_n(o, "left_out", n > ROWS_MOST ? n - ROWS_MOST : 0);
	add(o, "rows", rows);
	return o;
}
