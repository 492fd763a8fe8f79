/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * view_heap.h - the heaps that a page of `mprof view` requests: a worker makes the data of one
 * movie at a time.
 */
#pragma once

#include "../html/serve.h"
#include "../profile/profile.h"
#include "view_worker.h"

/* names: how sites are named; must outlive it.  NULL if no thread can be started. */
struct view_worker *view_heap_new(const struct profile_options *names);

/* Answers "heap?process=N" of the trace of a page with its movie, or the progress. */
void view_heap_answer(struct view_worker *w, size_t page, const char *trace,
		      const struct serve_request *r, struct serve_answer *to);
