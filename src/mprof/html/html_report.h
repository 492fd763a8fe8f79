/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * html_report.h - `mprof report --html`: one page that needs no network and no server.
 *
 * What ran, findings and the curve of live memory are plain HTML before everything else, so they
 * appear before any data is read, can be printed, and need no JavaScript.  The data follow as text
 * that is never executed; style and script are constants whose hashes are in the page's content
 * security policy, which forbids every request.
 */
#pragma once

#include <stdio.h>

#include "../pass/analysis.h"
#include "../pass/cross_frees.h"
#include "../pass/resident_parts.h"
#include "../pass/resident_shares.h"
#include "../print/json.h"
#include "../util/blob.h"
#include "../util/format.h"
#include "html_data.h"

struct print_totals;

struct html_report {
	const struct analysis *analysis; /* with findings; NULL if totals is set */
	/* Set for a profile, which leaves cells, map, cross_frees and resident NULL. */
	const struct print_totals *totals;
	json *threads, *processes; /* for a profile, rows of `mprof report hot --by`; else NULL */
	const struct cells *cells;
	const struct html_data *data;
	const struct cross_frees *cross_frees; /* which thread freed whose blocks */
	const struct html_map *map;
	const struct resident_parts *resident; /* the parts of resident memory */
	const struct resident_shares *shares;  /* whose blocks were on it; NULL as above */
	const struct profile *profile;	       /* by stack, with names */
	const struct stack_uses *stacks;
	const struct variables *variables;
	bool sources;		 /* embed source files */
	const struct blob *heap; /* JSON of a movie (src/web/README.md), or NULL */
	uint32_t heap_process;	 /* the process that it shows */
	bool served;		 /* by mprof view, to which the page may send requests */
	json *traces;		 /* names of the served traces, if there are several; else NULL */
	size_t index;		 /* index of this trace */
	uint32_t made;		 /* how often mprof view made the page before */
};

void html_report(const struct html_report *r, FILE *out);

/* ---- html_head.c, for html_report.c ---- */

/*
 * Returns HEAD: the facts of the page, without its large tables of numbers (page.def).  The caller
 * owns it.  Without home directories unless the page is served.
 */
json *html_head(const struct html_report *r);
/* Might the program have freed its blocks after the end of the recording? */
bool html_left_open(const struct html_report *r);
/* Does the program still run, so that its server can make the page again? */
bool html_is_live(const struct html_report *r);
/* Returns the command that was started first, as typed in a shell. */
struct long_text html_command(const struct analysis *a);
