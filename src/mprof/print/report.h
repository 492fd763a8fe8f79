/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * report.h - the printers of an analysis. They show the results of passes and compute only
 * percentages.  The caller checks for write errors when it flushes out.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "../pass/analysis.h"
#include "json.h"
#include "text.h"

struct report_options {
	bool all;      /* every table, every row */
	bool analyses; /* adds the largest size classes and compactness below the first screen */
	unsigned width;
};

/* Prints the first screen (report_screen.c), or everything. */
void report_text(const struct analysis *a, const struct report_options *o, FILE *out);
/* Names and units: src/mprof/json. */
void report_json(const struct analysis *a, FILE *out);
/* Returns the object that report_json prints. */
json *report_json_object(const struct analysis *a);

/* Parts that other answers have, too (json/report.def). */
void lost_fields(json *to, const uint64_t *lost);
void libraries_fields(json *to, const struct stacks *s);
void process_fields(json *to, const struct analysis *a, const struct tree_process *p);

/* ---- parts of report_text; below ---- */

struct report_section {
	const char *title;
	/* Is there anything to print?  NULL = always. */
	bool (*applies)(const struct analysis *a);
	void (*print)(const struct analysis *a, FILE *out);
};

/* Each list ends with a row without a title. */
extern const struct report_section report_run_sections[];   /* what ran, losses */
extern const struct report_section report_kept_sections[];  /* the whole run, of a partial trace */
extern const struct report_section report_call_sections[];  /* functions, processes, threads */
extern const struct report_section report_block_sections[]; /* peak to lifetimes */
extern const struct report_section report_page_sections[];  /* compactness to problems */

void report_sections(const struct report_section *s, const struct analysis *a, FILE *out);
void report_findings(const struct analysis *a, FILE *out);
/* Prints only what can be improved. */
void report_found(const struct analysis *a, FILE *out);
/* The same as part of a screen, with a title; false if no interpreter was explained. */
bool report_screen_findings(const struct analysis *a, const struct report_options *o, FILE *out);
void report_screen(const struct analysis *a, const struct report_options *o, FILE *out);

/* Prints the size classes; most: only those with most bytes, 0 = all of them. */
void report_sizes(const struct analysis *a, size_t most, FILE *out);
bool report_has_blocks(const struct analysis *a);
bool report_has_compactness(const struct analysis *a);
void report_compactness(const struct analysis *a, FILE *out);
/* Did the run not keep all of its calls (--last, --budget)?  report_partial() says so. */
bool report_is_partial(const struct analysis *a);
struct long_text report_partial(const struct analysis *a);
/* If the program ran before mprof attached to it, prints what that means. */
void report_attached(const struct analysis *a, FILE *out);
/* Were earlier calls dropped (--last)?  Then which blocks were live is not known. */
bool report_is_recent(const struct analysis *a);
/* Are calls after some time missing?  Then blocks that were live may have been freed. */
bool report_ends_early(const struct analysis *a);
/* Are there stacks whose calls were not all kept?  Then sums of what was kept are too low. */
bool report_is_reduced(const struct analysis *a);
uint64_t report_reduced_from(const struct analysis *a); /* in ticks; 0: there are none */
/* Returns a title that says which part of the run its events cover. */
struct long_text report_span(const struct analysis *a);
/* Are there totals of the whole run?  And their sentences, with the command that shows more. */
bool report_has_whole(const struct analysis *a);
void report_whole(const struct analysis *a, FILE *out);
void report_whole_command(const struct analysis *a, FILE *out);
/* Prints lines of two blanks and a sentence each. */
bool report_is_incomplete(const struct analysis *a);
void report_missing(const struct analysis *a, FILE *out);
void report_unended(const struct analysis *a, FILE *out);
/* The words behind text_end() of the first process: when it ended, and the run if that went on. */
struct text report_end(const struct analysis *a);
/* Prints calls that failed and contradictions of the trace, as lines like those of
 * report_findings. */
void report_warnings(const struct analysis *a, FILE *out);
/* Says why the file of a module of findings could not be read, as when it was built again since the
 * run; "" if it could. */
struct long_text report_unread(const struct analysis *a, const char *module);
struct finding;

/* Objects whose lines findings would name, but cannot: for report_unread(), and in a sentence, ""
 * if there is none. */
#define REPORT_UNNAMED 3u
struct report_unnamed {
	const char *unread[REPORT_UNNAMED];
	size_t unread_count;
	struct long_text text;
};
/* f: n findings; one may be NULL. */
void report_unnamed(struct report_unnamed *u, const struct analysis *a,
		    const struct finding *const *f, size_t n);
/* Points the reader of findings about an interpreter to the script.  Adds nothing if there are
 * none. */
struct paragraph;
void report_interpreter(struct paragraph *p, const struct analysis *a,
			const struct finding *const *f, size_t n);
/* Words behind a figure of lifetimes if many of these ended by realloc, else "". */
const char *report_realloc_ends(const struct analysis *a);
/* The same if nothing was allocated or recorded. */
void report_nothing(const struct analysis *a, FILE *out);

void report_title(const char *title, FILE *out);
/* Returns a point in time, since the start. */
struct text report_since(const struct analysis *a, uint64_t ticks);
