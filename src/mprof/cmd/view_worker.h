/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * view_worker.h - a thread of `mprof view` that answers one question at a time.
 *
 * It has no queue: a new question cancels the one in work, whose answer the client no longer needs.
 * The last answer is kept.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct view_worker;

struct view_work {
	size_t question; /* bytes of a question */
	/* Returns text for view_worker_answer().  On the thread of the worker. */
	char *(*answer)(void *self, const void *question, struct view_worker *w);
	void *self;
};

/* NULL if no thread can be started. */
struct view_worker *view_worker_new(const struct view_work *work);
void view_worker_free(struct view_worker *w);

/* Copies the question; id is not 0. */
void view_worker_ask(struct view_worker *w, uint64_t id, const void *question);
/* Returns a copy of the answer, or NULL: *percent is then its progress, or -1 if another question
 * replaced it. */
char *view_worker_answer(struct view_worker *w, uint64_t id, int *percent);

/* Returns the flag that view_work.answer checks: true once nobody waits for its answer. */
const bool *view_worker_cancel(const struct view_worker *w);
void view_worker_progress(void *worker, uint64_t done, uint64_t all);
