// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * view_heap.c - see view_heap.h.
 */
#include "view_heap.h"

#include <stdlib.h>

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
	uint32_t process;
};

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

static int write_movie(const struct profile_options *options, const struct heap_of *of,
		       struct view_worker *w, FILE *out, struct error *err)
{
	struct profile *names = must_calloc(1, sizeof(*names));
	struct trace *t = NULL;
	int ret = import_open(&t, of->trace, MPROF_MAGIC_TRACE, err);

	if (!ret)
		ret = profile_names(names, t, options, err);
	if (!ret) {
		const struct long_text title = title_of(t, of->process);
		const struct recorded_movie o = {
			.title = title.s,
			.process = of->process,
			.names = names,
			.frames = FRAMES,
			.limit = LIMIT,
			.plan = { .progress = view_worker_progress,
				  .progress_context = w,
				  .cancel = view_worker_cancel(w) },
		};

		ret = recorded_movie_write(&o, t, out, err);
		profile_release(names);
	}
	trace_close(t);
	free(names);
	return ret;
}

static char *make(void *self, const void *question, struct view_worker *w)
{
	struct error err = { "" };
	char *text = NULL;
	size_t bytes;
	FILE *out = must_memstream(&text, &bytes);
	json *o;
	int ret = write_movie(self, question, w, out, &err);

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

void view_heap_answer(struct view_worker *w, size_t page, const char *trace,
		      const struct serve_request *r, struct serve_answer *to)
{
	const char *text = r->value(r, "process");
	uint64_t process = 0, id;
	int percent;
	char *said;

	serve_invalid(to);
	if (!text || parse_whole(text, 1, UINT32_MAX - 1, &process))
		return;
	id = (uint64_t)page << 32 | process;
	said = view_worker_answer(w, id, &percent);
	if (!said && percent < 0) {
		view_worker_ask(w, id, &(struct heap_of){ trace, (uint32_t)process });
		percent = 0;
	}
	serve_json(to, said ? said : must_printf("{\"percent\":%d}", percent));
}

struct view_worker *view_heap_new(const struct profile_options *names)
{
	return view_worker_new(&(struct view_work){ sizeof(struct heap_of), make, (void *)names });
}
