/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * tree_rows.h - a call tree as the rows of an answer: callers before callees, without small and
 * deep nodes.
 */
#pragma once

#include "../profile/calltree.h"
#include "views.h"

struct tree_row {
	uint32_t node;	/* of the tree */
	uint32_t above; /* number of its parent's row, from 1; 0 = none */
	unsigned depth; /* from 1 */
	unsigned indent;
	bool same; /* it has the figures of the row above, as its only child */
};

struct tree_rows {
	struct calltree tree;
	enum profile_value value; /* the value that sorts, and that min_percent applies to */
	double min_percent;	  /* of the root: smaller nodes are left out */
	unsigned depth;		  /* deeper nodes are left out; 0 = none */
	uint64_t total;		  /* of the value, in the whole profile */
	struct tree_row *row;
	size_t count, room;
	uint64_t hidden; /* number of nodes left out */
};

/* Uses r's sort, by, min_percent, depth.  Zero *t before; release it in any case. */
void tree_rows_make(struct tree_rows *t, const struct view_request *r,
		    enum calltree_direction direction, const char *function);
void tree_rows_release(struct tree_rows *t);

/* Notes lines without names in r. */
void tree_rows_text(const struct tree_rows *t, struct view_request *r, FILE *out);
/* Returns row i, a new object. */
json *tree_rows_json(const struct tree_rows *t, size_t i);
/* Adds fields of the answers besides rows (json/tree.def). */
void tree_view_fields(json *to, const struct tree_rows *t);
void callers_view_fields(json *to, const char *function, const struct tree_rows *callers,
			 const struct tree_rows *callees);

/* Returns -EINVAL with err for a --by that trees do not support. */
int tree_rows_by(struct view_request *r, struct error *err);
