/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * views.h - the interface of the views of `mprof report VIEW LOG`, and their table.
 *
 * To add one: a row in views.def and a file view_NAME.c that defines const struct view_ops
 * view_ID.  Help, manual page and completion come from the row; the fields of its JSON answer
 * are rows of a file in src/mprof/json.
 *
 * The command parses the options, allocates r->own, calls `prepare`, makes the profile (one walk),
 * then calls `make`, then `text` or `json`, then `release`.  Printers compute nothing that a pass
 * could compute.  Errors: -errno with err filled.
 */
#pragma once

#include <stdio.h>
#include <string.h>

#include "../profile/profile.h"
#include "json.h"

#define VIEW_ROWS 20u /* shown in text without --top */

#define VIEW_UNNAMED 8u
#define VIEW_PASSES  2u /* of one view */

/* The request. */
struct view_request {
	const char *arg;	 /* for views that take one */
	enum profile_value sort; /* --sort, else the view's default */
	enum profile_by by;	 /* --by, else the view's default */
	bool sorted, grouped;	 /* true if the user gave them */
	size_t top;		 /* rows; 0 = all */
	bool top_said;
	bool json;
	bool incomplete;	   /* parts of the trace are missing; the command has reported it */
	double min_percent;	   /* --min-percent of trees, default 1 */
	unsigned depth;		   /* --depth, 0 = all */
	const char *const *source; /* --source-dir, ending with NULL; may be NULL */
	struct profile_options *options;    /* `prepare` may change them */
	struct profile *profile;	    /* NULL in `prepare` */
	void *own;			    /* view_ops.own bytes for the view */
	struct walk_pass pass[VIEW_PASSES]; /* of view_needs() */
	/* Modules of lines that were shown without a name, if the view notes them. */
	bool notes_unnamed;
	const char *unnamed[VIEW_UNNAMED];
	size_t unnamed_count;
};

struct view_ops {
	enum profile_value sort; /* default of --sort */
	enum profile_by by;	 /* default of --by */
	bool rows;		 /* --by, --sort and --top apply */
	bool flat;		 /* its text has only rows with the figure of --sort, and totals */
	bool totals;		 /* works for a profile, which has no events */
	bool times;		 /* is about times, which records of some other tools lack */
	bool whole;		 /* filters do not apply, */
	bool of_process;	 /* except --process */
	size_t own;		 /* bytes of r->own, which is zeroed; with 0 it is NULL */
	/* Does the text contain maxima of rows (profile.h)?  NULL = only with --sort local. */
	bool (*own_peaks)(const struct view_request *r);
	/* Called before the walk: checks the request, adds passes to r->options.  May be NULL. */
	int (*prepare)(struct view_request *r, struct error *err);
	/* Called after the walk: makes the data of the answer.  NULL = it needs only the
	 * profile. */
	int (*make)(struct view_request *r, struct error *err);
	void (*text)(struct view_request *r, FILE *out);
	/* Adds members to o. */
	void (*json)(struct view_request *r, json *o);
	/* Returns row i of the member "rows", a new object, which is written before the next
	 * call.  Without this function, or without rows, there is no such member. */
	json *(*json_row)(struct view_request *r, size_t i);
	size_t (*json_rows)(const struct view_request *r);
	void (*release)(void *own); /* releases the contents of r->own; may be NULL */
};

struct view {
	const char *name;
	const char *arg; /* in usage lines; "" if none */
	const char *help;
	const struct view_ops *ops;
};

#define VIEW(id, name, arg, help) extern const struct view_ops view_##id;
#include "views.def"
#undef VIEW

extern const struct view view_table[]; /* ends with a row whose name is NULL */

/* Called before the walk and after the answer, whatever failed. */
int view_prepare(const struct view *v, struct view_request *r, struct error *err);
void view_release(const struct view *v, struct view_request *r);

/* For `text`, if the view notes them: a line is shown; its module, if it has no name. */
static inline void view_note_name(struct view_request *r, const struct sym_line *line)
{
	size_t i;

	if (line->known || r->unnamed_count == VIEW_UNNAMED)
		return;
	for (i = 0; i < r->unnamed_count; i++)
		if (!strcmp(r->unnamed[i], line->module))
			return;
	r->unnamed[r->unnamed_count++] = line->module;
}

/* For `prepare`: adds an analysis to the walk, which fills `result`.  Its pass_ops.part must name
 * all that the view reads of it: later commands take it from the file of milestones. */
static inline void view_needs(struct view_request *r, const struct pass_ops *pass, void *result)
{
	r->pass[r->options->passes++] = (struct walk_pass){ pass, result };
	r->options->pass = r->pass;
	r->options->no_pages = r->options->kept = true;
}

/* Returns how many of n rows are shown with --top. */
static inline size_t view_shown(const struct view_request *r, size_t n)
{
	return r->top && r->top < n ? r->top : n;
}

/* Finds a view by its exact name, else NULL. */
const struct view *view_find(const char *name);
/* Returns -EINVAL with err, which names the views. */
int view_unknown(const char *name, struct error *err);

/* Prints the answer of a view whose profile is made. */
int view_text(const struct view *v, struct view_request *r, FILE *out, struct error *err);
int view_json(const struct view *v, struct view_request *r, FILE *out, struct error *err);

/* Figures that pages of the HTML report have, too (json/growth.def, threads.def, globals.def). */
struct growth;
struct growth_site;
void grown_fields(json *to, const struct growth_site *s);
void growth_fields(json *to, const struct growth *g);
struct stack_of;
void stack_use_fields(json *to, const struct stack_of *s, const struct profile *p);
struct variables;
struct variable_object;
void variable_object_fields(json *to, const struct variable_object *o, const char *path);
void variables_fields(json *to, const struct variables *v);
