/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * view_answers.h - the answers of `mprof view`: pages, and queries about them that a worker thread
 * answers from the traces (view_worker.h).
 */
#pragma once

#include "../html/html_window.h"
#include "../html/serve.h"
#include "../profile/profile.h"

struct view_page {
	const char *path; /* of the trace */
	int copy;	  /* descriptor of a compressed copy, which has no name; 0 = none */
	char *html;
	size_t bytes;
	struct html_map map;
	struct html_sources sources; /* the only files that may be read for the page */
	bool totals;		     /* made from a profile: it answers no query about a window */
	bool live;		     /* its program still runs: the page can be made again */
	uint32_t made;		     /* how often it was made before */
	uint64_t events;
	struct trace *trace;	    /* for queries: only the worker uses it while there is one */
	struct snapshots snapshots; /* of that trace */
};

struct view_answers;

/* Makes a live page again, in its place; it stays as it is if that fails: -errno with err filled.
 * On the server's thread, while no worker uses the page. */
struct view_maker {
	int (*make)(void *self, size_t page, struct error *err);
	void *self;
};

/*
 * The caller owns pages and options: the selection of --size and similar options, and the names of
 * sites. NULL if no thread can be started.
 */
struct view_answers *view_answers_new(struct view_page *page, size_t pages,
				      const struct profile_options *options,
				      const struct view_maker *maker);
void view_answers_free(struct view_answers *a);

/* Implements serve_options.answer. */
void view_answer(void *answers, const struct serve_request *r, struct serve_answer *a);
