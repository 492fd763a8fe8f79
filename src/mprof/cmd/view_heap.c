// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * view_heap.c - see view_heap.h.
 *
 * `lock` protects everything below it.  A request for another heap cancels the one in progress,
 * because the client no longer needs it.
 */
#include "view_heap.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../import/import.h"
#include "../print/json.h"
#include "../print/text.h"
#include "../util/alloc.h"
#include "../util/ranges.h"
#include "recorded_movie.h"

#define FRAMES 300
#define LIMIT  (18u << 20)

struct heap_of {
	const char *trace;
	uint32_t process; /* 0 = none */
};

struct view_heap {
	const struct profile_options *names;
	pthread_t worker;
	bool started;

	pthread_mutex_t lock;
	pthread_cond_t asked;
	struct heap_of next, now, done;
	char *said; /* result for `done` */
	unsigned percent;
	bool cancel, stop;
};

static bool same(const struct heap_of *a, const struct heap_of *b)
{
	return a->trace == b->trace && a->process == b->process;
}

/* ---- the worker ---- */

static void progress(void *self, uint64_t op, uint64_t ops)
{
	struct view_heap *h = self;

	__atomic_store_n(&h->percent, ops ? (unsigned)(op * 100 / ops % 100) : 0, __ATOMIC_RELAXED);
}

/* Returns the command line of a process's last program. */
static struct long_text title_of(struct trace *t, uint32_t process)
{
	const struct trace_fact *fact, *found = NULL;
	size_t n = trace_facts(t, &fact), i;

	for (i = 0; i < n; i++)
		if (fact[i].process == process && fact[i].argc)
			found = &fact[i];
	return text_command(found, 200);
}

static int write_movie(struct view_heap *h, const struct heap_of *of, FILE *out, struct error *err)
{
	struct profile *names = must_calloc(1, sizeof(*names));
	struct trace *t = NULL;
	int ret = import_open(&t, of->trace, MPROF_MAGIC_TRACE, err);

	if (!ret)
		ret = profile_names(names, t, h->names, err);
	if (!ret) {
		const struct long_text title = title_of(t, of->process);
		const struct recorded_movie o = {
			.title = title.s,
			.process = of->process,
			.names = names,
			.frames = FRAMES,
			.limit = LIMIT,
			.plan = { .progress = progress,
				  .progress_context = h,
				  .cancel = &h->cancel },
		};

		ret = recorded_movie_write(&o, t, out, err);
		profile_release(names);
	}
	trace_close(t);
	free(names);
	return ret;
}

static char *make(struct view_heap *h, const struct heap_of *of)
{
	struct error err = { "" };
	char *text = NULL;
	size_t bytes;
	FILE *out = must_memstream(&text, &bytes);
	json *o;
	int ret = write_movie(h, of, out, &err);

	must_close(out, &text);
	if (!ret)
		return text;
	free(text);
	o = json_object_new_object();
	add_s(o, "error", err.text);
	text = must_strdup(json_text(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
	return text;
}

static void *work(void *self)
{
	struct view_heap *h = self;
	struct heap_of of;
	char *said;

	pthread_mutex_lock(&h->lock);
	while (!h->stop) {
		if (!h->next.process) {
			pthread_cond_wait(&h->asked, &h->lock);
			continue;
		}
		h->now = of = h->next;
		h->next.process = 0;
		__atomic_store_n(&h->percent, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&h->cancel, false, __ATOMIC_RELAXED);
		pthread_mutex_unlock(&h->lock);
		said = make(h, &of);
		pthread_mutex_lock(&h->lock);
		h->now.process = 0;
		if (h->cancel) {
			free(said);
			continue;
		}
		free(h->said);
		h->said = said;
		h->done = of;
	}
	pthread_mutex_unlock(&h->lock);
	return NULL;
}

/* ---- answers ---- */

static void ask(struct view_heap *h, const struct heap_of *of)
{
	if (h->now.process && same(&h->now, of) && !h->cancel)
		return;
	h->next = *of;
	if (h->now.process)
		__atomic_store_n(&h->cancel, true, __ATOMIC_RELAXED);
	pthread_cond_signal(&h->asked);
}

void view_heap_answer(struct view_heap *h, const char *trace, const struct serve_request *r,
		      struct serve_answer *to)
{
	const char *text = r->value(r, "process");
	uint64_t process = 0;
	struct heap_of of = { .trace = trace };
	char percent[32];

	serve_invalid(to);
	if (!text || parse_whole(text, 1, UINT32_MAX - 1, &process))
		return;
	of.process = (uint32_t)process;
	pthread_mutex_lock(&h->lock);
	if (h->said && same(&h->done, &of)) {
		serve_json(to, must_strdup(h->said));
	} else {
		ask(h, &of);
		snprintf(percent, sizeof(percent), "{\"percent\":%u}",
			 __atomic_load_n(&h->percent, __ATOMIC_RELAXED));
		serve_json(to, must_strdup(percent));
	}
	pthread_mutex_unlock(&h->lock);
}

/* ---- the whole ---- */

struct view_heap *view_heap_new(const struct profile_options *names)
{
	struct view_heap *h = must_calloc(1, sizeof(*h));

	h->names = names;
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->asked, NULL);
	h->started = !pthread_create(&h->worker, NULL, work, h);
	if (h->started)
		return h;
	view_heap_free(h);
	return NULL;
}

void view_heap_free(struct view_heap *h)
{
	if (!h)
		return;
	if (h->started) {
		pthread_mutex_lock(&h->lock);
		h->stop = true;
		__atomic_store_n(&h->cancel, true, __ATOMIC_RELAXED);
		pthread_cond_signal(&h->asked);
		pthread_mutex_unlock(&h->lock);
		pthread_join(h->worker, NULL);
	}
	pthread_mutex_destroy(&h->lock);
	pthread_cond_destroy(&h->asked);
	free(h->said);
	free(h);
}
