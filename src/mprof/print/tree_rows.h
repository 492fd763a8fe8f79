/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * tree_rows.h - a call tree as the rows of an answer: callers before what they
 * call, small and deep nodes left out.
 */
#pragma once

#include "../profile/calltree.h"
#include "views.h"

struct tree_row {
	uint32_t node;	/* of the tree */
	uint32_t above; /* number of the row of its parent, from 1; 0: none */
	unsigned depth; /* from 1 */
	unsigned indent;
	bool same; /* the same figures as the row above, of which it is the only child */
};

struct tree_rows {
	struct calltree tree;
	enum profile_value value; /* which sorts, and of which min_percent is */
	double min_percent;	  /* of total: smaller nodes are left out */
	unsigned depth;		  /* deeper nodes are left out; 0: none */
	uint64_t total;		  /* of the value, in the whole profile */
	struct tree_row *row;
	size_t count, room;
	uint64_t hidden; /* nodes left out */
};

/* r: sort, by, min_percent, depth.  Release in any case; zeroed before. */
void tree_rows_make(struct tree_rows *t, const struct view_request *r,
		    enum calltree_direction direction, const char *function);
void tree_rows_release(struct tree_rows *t);

void tree_rows_text(const struct tree_rows *t, FILE *out);
/* Row i, a new object. */
json *tree_rows_json(const struct tree_rows *t, size_t i);
/* Fields of the answers besides rows (json/tree.def). */
void tree_view_fields(json *to, const struct tree_rows *t);
void callers_view_fields(json *to, const char *function, const struct tree_rows *callers,
			 const struct tree_rows *callees);

/* -EINVAL with err for a --by that trees do not support. */
int tree_rows_by(struct view_request *r, struct error *err);
