/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * html_data.h - the numbers behind the pages of `mprof report --html`: the tree of call stacks, the
 * points in time, and the cells that answer every window (src/web/report/README.md).
 *
 * The size of the page is limited: at most HTML_NODES nodes, the smallest merged into their callers
 * (`merged_*` counts them), and at most CELLS_MOST cells: beyond that, time is divided into fewer
 * points.
 *
 * Threads: one at a time.
 */
#pragma once

#include "../pass/cells.h"
#include "../util/blob.h"
#include "html_sources.h"
#include "html_tree.h"

struct course;
struct resident_shares;
struct stack_uses;
struct tree;
struct variables;

#define HTML_NODES     250000u
#define HTML_THREADS   1000u /* threads that used most of their stacks */
#define HTML_SAMPLES   2000u /* of resident pages */
#define HTML_VARIABLES 1000u /* the largest */

/* One of this many samples of resident pages is in the page. */
static inline size_t html_samples_step(size_t samples)
{
	return samples / HTML_SAMPLES + 1;
}

struct html_source_data {
	struct profile *profile;   /* by stack, including library calls, which the page can hide */
	struct html_tree *figures; /* of its sites */
	struct cells *cells;
	const struct resident_shares *shares; /* NULL for a profile */
	const struct tree *tree;	      /* when processes ended; NULL for a profile */
	const struct course *course;	      /* for a profile, its points in time; else NULL */
	const struct stack_uses *stacks;
	const struct variables *variables;
	size_t most_nodes;	      /* 0 = HTML_NODES */
	bool hide_home;		      /* in the paths that the page shows */
	struct html_sources *sources; /* files are added to it */
};

/* One of the page's columns of numbers. */
struct html_column {
	char name[32];
	size_t count;
};

struct html_data {
	struct blob blob;	    /* all columns, concatenated and compressed */
	struct html_column *column; /* in order */
	size_t columns, column_room;
	size_t nodes;
	uint64_t merged_nodes; /* nodes of the tree that were merged into their callers */
};

/* Fills map unless it is NULL; the caller releases it.  Uses up the figures and the cells, but not
 * the points. */
void html_data_make(struct html_data *to, const struct html_source_data *from,
		    struct html_map *map);
void html_data_release(struct html_data *d);
