/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * view_heap.h - the heaps that a page of `mprof view` requests: a worker thread makes the data of
 * one movie at a time, and the last one is kept.
 */
#pragma once

#include "../html/serve.h"
#include "../profile/profile.h"

struct view_heap;

/* names: how sites are named; must outlive it.  NULL if no thread can be started. */
struct view_heap *view_heap_new(const struct profile_options *names);
void view_heap_free(struct view_heap *h);

/* Answers "heap?process=N" of a trace with its movie, or the progress. */
void view_heap_answer(struct view_heap *h, const char *trace, const struct serve_request *r,
		      struct serve_answer *to);
