/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* report_html.h - `mprof report --html FILE LOG`. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "../html/html_data.h"
#include "../pass/snapshots.h"
#include "../print/print_totals.h"

/*
 * Writes the page to `path` ("-": standard output) from one walk over the trace; the heap map takes
 * another.  open: show it with the desktop's browser.  0, or -errno with err filled.
 */
struct report_html {
	const char *path;
	bool open;
	bool sources;		       /* embed them */
	bool no_heap_map;	       /* leave out the map of the heap, which takes another walk */
	const char *const *source_dir; /* ends with NULL; may be NULL */
};
int report_html(struct trace *t, const struct profile_options *options,
		const struct report_html *html, struct error *err);

/* The same for a profile. */
int report_html_totals(const struct print_totals *totals, const struct profile_options *options,
		       const struct report_html *html, struct error *err);

/* Additions of `mprof view` to a page. */
struct report_served {
	struct html_map *map;	     /* is filled; the caller releases it */
	struct snapshots *snapshots; /* likewise; for the whole trace */
	json *traces; /* names of all traces that it serves, if there are several; else NULL */
	size_t index;
	uint64_t *events; /* filled: of the trace; not for a profile */
	bool *live;	  /* filled: html_is_live() */
	uint32_t made;	  /* how often the page was made before */
};

/* Does the trace have what a page shows?  0, or -EINVAL with err filled. */
int report_page_check(const struct trace *t, struct error *err);
/* Writes only the page.  Adds the files that it names to `sources`.  heap_map: draw it into the
 * page.  served: NULL for a file. */
int report_page(struct trace *t, const struct profile_options *options, FILE *out,
		struct html_sources *sources, bool heap_map, const struct report_served *served,
		struct error *err);

/* Writes the page of a profile. */
int report_page_totals(const struct print_totals *totals, const struct profile_options *options,
		       FILE *out, struct html_sources *sources, const struct report_served *served,
		       struct error *err);

/* Opens it by xdg-open; false if it cannot be shown here. */
bool browser_show(const char *address);
