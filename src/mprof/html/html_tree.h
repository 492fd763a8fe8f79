/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * html_tree.h - the figures of a page by call stack: those of each site as the walk leaves them,
 * and the tree of lines that the page shows, whose smallest nodes are merged into their callers.
 *
 * The figures are columns by site, and the tree has none: it is read one figure at a time.
 *
 * Without memory the program ends (util/alloc.h).  Threads: one at a time.
 */
#pragma once

#include "../profile/calltree.h"

#define HTML_NO_NODE UINT32_MAX

/* The node of the page that shows the figures of a stack. */
struct html_map {
	uint32_t *node_of; /* by node of stacks.h; HTML_NO_NODE if excluded by the filters */
	size_t stacks, nodes;
};
void html_map_release(struct html_map *map);

/* What a page has of a site beside the values of figures.def. */
enum html_extreme {
	HTML_FREED,
	HTML_SIZE_MIN,
	HTML_SIZE_MAX,
	HTML_LIFE_MIN,
	HTML_LIFE_MAX,
	HTML_EXTREMES
};
#define HTML_FIGURES ((size_t)VALUE_COUNT + HTML_EXTREMES)

struct html_tree {
	struct profile *profile; /* set before its walk, all else zero */
	/* ---- the sites ---- */
	uint32_t *stack;		/* of each */
	uint64_t *figure[HTML_FIGURES]; /* of each: enum profile_value, then enum html_extreme */
	struct site_error *error;	/* of each; NULL if the figures are exact */
	size_t sites, room;
	/* ---- the tree ---- */
	struct calltree tree; /* without figures; children in the order of the page */
	uint32_t *node_at;    /* by stack: its node + 1, 0 if it is unknown */
	uint32_t *first;      /* by node, for html_same_stack(): stack + 1; 0 = none yet */
	size_t first_room;
	struct calltree_path path; /* of the latest stack */
	uint32_t *node_of; /* by site: node of the tree, of the page after html_tree_order() */
	/* ---- the page ---- */
	uint32_t *order; /* node of the tree, by node of the page: callers first, then by falling
			  * figures, so that the first picture needs no sorting */
	size_t nodes;
	uint64_t merged; /* nodes that were merged into their callers */
};

/* For profile_options.take. */
void html_tree_take(void *html_tree, const struct site *site);
/* For struct cells.same: the first stack with a node represents all others with the same node in
 * the page. */
uint32_t html_same_stack(void *html_tree, uint32_t stack);
/* After the walk: makes the tree. */
void html_tree_make(struct html_tree *t);
/* Chooses the nodes of the page, at most `most`; fills map, which the caller releases. */
void html_tree_order(struct html_tree *t, size_t most, struct html_map *map);
void html_tree_release(struct html_tree *t);
