// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * view_worker.c - see view_worker.h.
 *
 * `lock` protects everything below it.
 */
#include "view_worker.h"

#include <pthread.h>
#include <stdlib.h>

#include "../util/alloc.h"

struct asked {
	uint64_t id; /* 0 = none */
	void *question;
};

struct view_worker {
	struct view_work work;
	pthread_t thread;
	bool started;

	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct asked next;
	uint64_t now, done; /* ids of the question in work, and of the one that `said` answers */
	char *said;
	int percent;
	bool cancel, stop;
};

const bool *view_worker_cancel(const struct view_worker *w)
{
	return &w->cancel;
}

void view_worker_progress(void *worker, uint64_t done, uint64_t all)
{
	struct view_worker *w = worker;

	__atomic_store_n(&w->percent, all ? (int)(done * 100 / all % 100) : 0, __ATOMIC_RELAXED);
}

static void *run(void *worker)
{
	struct view_worker *w = worker;
	struct asked now;
	char *said;

	pthread_mutex_lock(&w->lock);
	while (!w->stop) {
		if (!w->next.id) {
			pthread_cond_wait(&w->wake, &w->lock);
			continue;
		}
		now = w->next;
		w->next = (struct asked){ 0 };
		w->now = now.id;
		__atomic_store_n(&w->percent, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&w->cancel, false, __ATOMIC_RELAXED);
		pthread_mutex_unlock(&w->lock);
		said = w->work.answer(w->work.self, now.question, w);
		free(now.question);
		pthread_mutex_lock(&w->lock);
		w->now = 0;
		if (w->cancel) {
			free(said);
			continue;
		}
		free(w->said);
		w->said = said;
		w->done = now.id;
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

void view_worker_ask(struct view_worker *w, uint64_t id, const void *question)
{
	pthread_mutex_lock(&w->lock);
	free(w->next.question);
	w->next = (struct asked){ id, must_memdup(question, w->work.question) };
	__atomic_store_n(&w->cancel, true, __ATOMIC_RELAXED);
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
}

char *view_worker_answer(struct view_worker *w, uint64_t id, int *percent)
{
	char *said = NULL;

	pthread_mutex_lock(&w->lock);
	if (w->done == id)
		said = must_strdup(w->said);
	*percent = w->next.id == id		? 0
		   : w->now == id && !w->cancel ? __atomic_load_n(&w->percent, __ATOMIC_RELAXED)
						: -1;
	pthread_mutex_unlock(&w->lock);
	return said;
}

struct view_worker *view_worker_new(const struct view_work *work)
{
	struct view_worker *w = must_calloc(1, sizeof(*w));

	w->work = *work;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	w->started = !pthread_create(&w->thread, NULL, run, w);
	if (w->started)
		return w;
	view_worker_free(w);
	return NULL;
}

void view_worker_free(struct view_worker *w)
{
	if (!w)
		return;
	if (w->started) {
		pthread_mutex_lock(&w->lock);
		w->stop = true;
		__atomic_store_n(&w->cancel, true, __ATOMIC_RELAXED);
		pthread_cond_signal(&w->wake);
		pthread_mutex_unlock(&w->lock);
		pthread_join(w->thread, NULL);
	}
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->wake);
	free(w->next.question);
	free(w->said);
	free(w);
}
