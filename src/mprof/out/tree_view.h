/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * tree_view.h - call trees of a profile as text and as JSON: top-down, bottom-up
 * and both directions from one function; and the same figures at the lines of a
 * source file.
 *
 * Errors: -errno with err filled.
 */
#ifndef MPROF_TREE_VIEW_H
#define MPROF_TREE_VIEW_H

#include "../pass/calltree.h"
#include "json.h"

struct tree_view {
	enum calltree_direction direction; /* CALLERS: callees too */
	enum line_same same;
	enum profile_value value; /* which sorts, and of which min_percent is */
	double min_percent;	  /* of the total: smaller nodes are left out */
	unsigned depth;		  /* deeper nodes are left out; 0: none */
	const char *function;	  /* for CALLERS */
};

int tree_view_text(struct profile *p, const struct tree_view *v, FILE *out, struct error *err);
/* A new object, the caller's; NULL with err filled. */
json *tree_view_json(struct profile *p, const struct tree_view *v, struct error *err);

struct source_view {
	const char *file; /* pattern, see sources.h */
	enum profile_value value;
	const char *const *dir; /* searched for sources first, NULL-ended; may be NULL */
	bool all;		/* every line of the files, not only those near figures */
};

int source_view_text(struct profile *p, const struct source_view *v, FILE *out, struct error *err);
json *source_view_json(struct profile *p, const struct source_view *v, struct error *err);

#endif
