/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * view_answers.h - what `mprof view` answers: pages that were made, and questions about them that
 * a thread of its own finds out from the traces.
 *
 * The worker answers one question at a time and keeps no queue: a new question cancels the old one,
 * whose answer the client no longer needs.
 */
#pragma once

#include "../html/html_window.h"
#include "../html/serve.h"
#include "../profile/profile.h"

struct view_page {
	const char *path; /* of the trace */
	int copy;	  /* descriptor of a compressed copy, which has no name; 0: none */
	char *html;
	size_t bytes;
	struct html_map map;
	struct html_sources sources; /* the only files that are read for the page */
	bool totals;		     /* of a profile: it answers no question about a window */
	uint64_t events;
	struct trace *trace;	    /* for questions: the worker's while there is one */
	struct snapshots snapshots; /* of it */
};

struct view_answers;

/*
 * pages stay the caller's, and options: what --size and similar options select, and how sites are
 * named. NULL without memory.
 */
struct view_answers *view_answers_new(struct view_page *page, size_t pages,
				      const struct profile_options *options);
void view_answers_free(struct view_answers *a);

/* For serve_options.answer. */
void view_answer(void *answers, const struct serve_request *r, struct serve_answer *a);
