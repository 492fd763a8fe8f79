// SPDX-License-Identifier: LGPL-3.0-or-later
/* ahead.c - unpacking the next chunks while the last ones are worked on. */
#include "ahead.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "pack.h"
#include "reader.h"

#define WISHES 4 /* streams in turn; one that runs alone needs one */

enum state { EMPTY, ASKED, BUSY, READY };

/* BUSY: only the worker touches it, without the lock.  Else: with the lock. */
struct wish {
	enum state state;
	const struct chunk *chunk;
	uint64_t *buf;
	size_t room, words;
};

struct ahead {
	const struct trace *trace;
	pthread_t thread;
	pthread_mutex_t lock; /* of wish[].state and stop */
	pthread_cond_t asked, done;
	bool stop;
	struct wish wish[WISHES];
	struct unpacker *unpacker; /* the worker's */
};

static struct wish *find(struct ahead *a, enum state state)
{
	for (int i = 0; i < WISHES; i++)
		if (a->wish[i].state == state)
			return &a->wish[i];
	return NULL;
}

static void fulfil(struct ahead *a, struct wish *w)
{
	w->state = BUSY;
	pthread_mutex_unlock(&a->lock);
	w->words = chunk_load(a->trace, w->chunk, &a->unpacker, &w->buf, &w->room);
	pthread_mutex_lock(&a->lock);
	w->state = READY;
	pthread_cond_signal(&a->done);
}

static void *work(void *arg)
{
	struct ahead *a = arg;
	struct wish *w;
	sigset_t all;

	/* Signals are the business of whoever opened the trace. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	pthread_mutex_lock(&a->lock);
	while (!a->stop) {
		w = find(a, ASKED);
		if (w)
			fulfil(a, w);
		else
			pthread_cond_wait(&a->asked, &a->lock);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

struct ahead *ahead_new(const struct trace *t)
{
	struct ahead *a = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? calloc(1, sizeof(*a)) : NULL;

	if (!a)
		return NULL;
	a->trace = t;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->asked, NULL);
	pthread_cond_init(&a->done, NULL);
	if (pthread_create(&a->thread, NULL, work, a)) {
		free(a);
		return NULL;
	}
	return a;
}

void ahead_free(struct ahead *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_signal(&a->asked);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	for (int i = 0; i < WISHES; i++)
		free(a->wish[i].buf);
	unpacker_free(a->unpacker);
	free(a);
}

void ahead_ask(struct ahead *a, const struct chunk *c)
{
	struct wish *w;

	pthread_mutex_lock(&a->lock);
	w = find(a, EMPTY);
	if (w) {
		w->chunk = c;
		w->state = ASKED;
		pthread_cond_signal(&a->asked);
	}
	pthread_mutex_unlock(&a->lock);
}

static struct wish *find_chunk(struct ahead *a, const struct chunk *c)
{
	for (int i = 0; i < WISHES; i++)
		if (a->wish[i].state != EMPTY && a->wish[i].chunk == c)
			return &a->wish[i];
	return NULL;
}

static void exchange(struct wish *w, uint64_t **buf, size_t *room)
{
	uint64_t *words = w->buf;
	size_t bytes = w->room;

	w->buf = *buf;
	w->room = *room;
	*buf = words;
	*room = bytes;
}

bool ahead_take(struct ahead *a, const struct chunk *c, uint64_t **buf, size_t *room, size_t *words)
{
	struct wish *w;
	bool begun;

	pthread_mutex_lock(&a->lock);
	w = find_chunk(a, c);
	begun = w && w->state != ASKED;
	while (begun && w->state == BUSY)
		pthread_cond_wait(&a->done, &a->lock);
	if (begun) {
		exchange(w, buf, room);
		*words = w->words;
	}
	if (w)
		w->state = EMPTY;
	pthread_mutex_unlock(&a->lock);
	return begun;
}
