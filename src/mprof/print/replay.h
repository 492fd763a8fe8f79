/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * replay.h - the printers of a playback on several allocators.
 *
 * Sentences are made once, as lists, and are the same in text, JSON and HTML.
 */
#pragma once

#include <stdio.h>

#include "../play/runs.h"
#include "../play/verdict.h"
#include "json.h"
#include "print_choice.h"
#include "print_table.h"
#include "replay_memory.h"

/* The list owns the strings. */
struct sentences {
	char **line;
	size_t n, room;
};
void sentence_add(struct sentences *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void sentences_free(struct sentences *w);

struct replay_answer {
	const char *path; /* as it was given */
	struct program_choice choice;
	const struct runs_plan *plan;
	const struct runs *runs;
	/* Path of the program's allocator; NULL if unknown. */
	const char *recorded_under;
	bool of_python; /* --python made Python call malloc for each object */
	struct verdict verdict;
	char **inherited; /* settings of allocators that the runs inherited */
	size_t inherited_n;
	const char **settings; /* of the program's allocator, with which it is played */
	size_t settings_n;
	struct replay_memory heaps; /* where blocks were placed; memories is NULL if not analysed */
	/* For each of the runs' rows; NULL = all the same, or that row failed. */
	const struct memories_row **heap;
};

void replay_what(const struct replay_answer *a, struct sentences *w);	 /* what was played */
void replay_verdict(const struct replay_answer *a, struct sentences *w); /* what came out */
void replay_how(const struct replay_answer *a, struct sentences *w); /* how reliable figures are */

/* Returns the factor by which the replay was faster than the program; 0 if unknown. */
double replay_speed_up(const struct replay_answer *a);
/* Returns the bytes still resident at the end of the wait after all blocks were freed. */
uint64_t replay_kept(const struct replay_answer *a, const struct runs_row *row);
/* Returns the length of that wait, in ms; 0 if nothing was freed, or there was no wait. */
unsigned replay_waited(const struct replay_answer *a);
/* Returns the latency of all kinds of calls of a row: 500, 990, 999 or 1000 permille. */
double replay_latency(const struct runs_row *row, unsigned permille);

uint64_t replay_latency_calls(const struct runs_row *row);

/* Returns requested bytes as a share of the pages with live blocks, at the peak; negative if
 * unknown. */
double replay_page_use(const struct replay_answer *a, size_t row);

/* Prints sentences and table; then everything. */
void replay_brief(const struct replay_answer *a, FILE *out);
void replay_text(const struct replay_answer *a, FILE *out);
/* Names and units: src/mprof/json. */
json *replay_json(const struct replay_answer *a);

/* ---- the tables, for text and for HTML ---- */

struct replay_table {
	struct table table; /* without cells if there is nothing to show */
	char title[128];    /* above it */
	char versus[64], time_versus[64], kept[48];
};

/* Both fill *t, which must not move until table_print(). */
void replay_table_rows(struct replay_table *t, const struct replay_answer *a);
void replay_table_latency(struct replay_table *t, const struct replay_answer *a);
