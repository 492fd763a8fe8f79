/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * replay.h - the printers of a playback on several allocators.
 *
 * What is said in words is made once, as lists of sentences, and is the same in
 * text, JSON and HTML.
 */
#ifndef MPROF_PRINT_REPLAY_H
#define MPROF_PRINT_REPLAY_H

#include <stdio.h>

#include "sentences.h"

#include "../play/runs.h"
#include "../play/verdict.h"
#include "json.h"
#include "replay_memory.h"

struct replay_answer {
	const char *path; /* as it was given */
	const struct runs_plan *plan;
	const struct runs *runs;
	/* Path of the allocator that the program had; NULL: not known. */
	const char *recorded_under;
	struct verdict verdict;
	char *
	    *inherited; /* settings of allocators in our environment, which they were played with */
	size_t inherited_n;
	struct replay_memory heaps; /* where blocks lay; memories NULL: nobody looked */
	/* For each of the runs' rows; NULL: the same, or that row failed. */
	const struct memories_row **heap;
};

void replay_what(const struct replay_answer *a, struct sentences *w);	 /* what was played */
void replay_verdict(const struct replay_answer *a, struct sentences *w); /* what came out */
void replay_how(const struct replay_answer *a, struct sentences *w); /* what figures are worth */

/* How many times faster than the program its replay was; 0: not known. */
double replay_speed_up(const struct replay_answer *a);
/* Bytes that were still there at the end of the waiting after all was freed. */
uint64_t replay_kept(const struct replay_answer *a, const struct runs_row *row);
/* For how long was waited, ms; 0: nothing was freed, or nobody waited. */
unsigned replay_waited(const struct replay_answer *a);
/* Latency of all kinds of calls of a row: 500, 990, 999 or 1000 permille. */
double replay_latency(const struct runs_row *row, unsigned permille);

uint64_t replay_latency_calls(const struct runs_row *row);

/* What of the pages that blocks lie on they asked for, at the peak; negative: not known. */
double replay_page_use(const struct replay_answer *a, size_t row);

/* The words and the table; and all there is. */
void replay_brief(const struct replay_answer *a, FILE *out);
void replay_text(const struct replay_answer *a, FILE *out);
/* Names and units: src/mprof/json. */
json *replay_json(const struct replay_answer *a);

#endif
