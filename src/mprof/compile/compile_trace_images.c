// SPDX-License-Identifier: LGPL-3.0-or-later
/* compile_trace_images.c - the programs that a trace has, and which of them calls most. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../heap/heap.h"
#include "compile.h"
#include "compile_trace_images.h"

#define BATCH 256u

static const uint8_t class_of[MPROF_FN_MAX] = {
#define MPROF_FUNCTION(id, code, name, class) [code] = MPROF_CLASS_##class,
#include <mprof/functions.def>
#undef MPROF_FUNCTION
};

/* ---- images ---- */

static bool is_start(const struct trace_fact *f, uint32_t process)
{
	return f->fact->what == MPROF_FACT_START && f->process == process && f->argc;
}

int images_make(struct images *m, struct trace *t)
{
	const struct trace_fact *fact;
	size_t n = trace_facts(t, &fact), i;
	struct walk_input in;

	*m = (struct images){ .room = 1 };
	for (i = 0; i < n; i++)
		if (fact[i].process < HEAP_NUMBERS && fact[i].process >= m->room)
			m->room = fact[i].process + 1u;
	if (trace_header(t)->processes < HEAP_NUMBERS && trace_header(t)->processes >= m->room)
		m->room = trace_header(t)->processes + 1u;
	m->of = calloc(m->room, sizeof(*m->of));
	walk_input_from_trace(&in, t);
	if (!m->of || moments_make(&in, &m->moment, &m->moments) < 0) {
		images_release(m);
		return -ENOMEM;
	}
	for (i = 0; i < n; i++)
		if (is_start(&fact[i], fact[i].process))
			images_of(m, fact[i].process)->fact = &fact[i];
	return 0;
}

void images_release(struct images *m)
{
	free(m->moment);
	free(m->of);
	*m = (struct images){ .moment = NULL };
}

struct image_of *images_of(struct images *m, uint32_t process)
{
	return &m->of[process < m->room ? process : 0];
}

const struct moment *images_step(struct images *m, uint64_t ticks)
{
	const struct moment *at = &m->moment[m->next];
	struct image_of *of;

	if (!images_due(m, ticks))
		return NULL;
	m->next++;
	if (at->kind == MOMENT_EXEC) {
		of = images_of(m, at->process);
		of->image++;
		of->entry = 0;
		of->fact = at->fact && at->fact->argc ? at->fact : NULL;
	}
	return at;
}

/* ---- counting ---- */

struct list {
	struct compile_process *item;
	size_t n, room;
};

static bool is_counted(const struct event *e)
{
	return (e->kind == EVENT_CALL || e->kind == EVENT_REALLOC_END) &&
	       class_of[e->fn] != MPROF_CLASS_MAP;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int new_entry(struct list *l, struct image_of *of, uint32_t process)
{
	size_t room = l->room ? 2 * l->room : 16;
	struct compile_process *grown = l->item;

	if (l->n == l->room) {
		grown = reallocarray(l->item, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		l->item = grown;
		l->room = room;
	}
	l->item[l->n++] = (struct compile_process){
		.number = process,
		.image = of->image,
		.fact = of->fact,
		.exe = of->fact ? base_name(of->fact->exe) : "",
	};
	of->entry = (uint32_t)l->n;
	return 0;
}

static int count_all(struct trace *t, struct images *images, struct list *l)
{
	struct event event[BATCH];
	struct image_of *of;
	size_t got, i;

	while ((got = trace_next(t, event, BATCH))) {
		for (i = 0; i < got; i++) {
			if (!is_counted(&event[i]))
				continue;
			while (images_step(images, event[i].ticks))
				;
			of = images_of(images, event[i].process);
			if (!of->entry && new_entry(l, of, event[i].process) < 0)
				return -ENOMEM;
			l->item[of->entry - 1].calls++;
		}
	}
	return 0;
}

static int most_first(const void *a, const void *b)
{
	const struct compile_process *x = a, *y = b;

	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->image > y->image) - (x->image < y->image);
}

int compile_processes(struct trace *t, struct compile_process **out, size_t *n, struct error *err)
{
	struct list l = { NULL, 0, 0 };
	struct images images;
	int ret = images_make(&images, t);

	trace_rewind(t);
	if (!ret)
		ret = count_all(t, &images, &l);
	trace_rewind(t);
	images_release(&images);
	*out = NULL;
	*n = 0;
	if (ret) {
		free(l.item);
		return fail(err, ret, "no memory to read '%s'", trace_path(t));
	}
	if (!l.n) {
		free(l.item);
		return fail(err, -EINVAL, "'%s' has no call of an allocator", trace_path(t));
	}
	qsort(l.item, l.n, sizeof(*l.item), most_first);
	*out = l.item;
	*n = l.n;
	return 0;
}

bool compile_has_choice(struct trace *t)
{
	const struct trace_thread *thread;
	size_t n = trace_threads(t, &thread), i;
	struct images images;
	bool has = false;

	for (i = 1; i < n; i++)
		has |= thread[i].process != thread[0].process;
	if (has || images_make(&images, t) < 0)
		return true;
	for (i = 0; i < images.moments; i++)
		has |= images.moment[i].kind == MOMENT_EXEC;
	images_release(&images);
	return has;
}

int compile_choose(const struct trace *t, const struct compile_process *list, size_t n,
		   uint32_t process, const struct compile_process **chosen, struct error *err)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!process || process == COMPILE_ALL || list[i].number == process)
			break;
	if (i == n)
		return fail(err, -ESRCH,
			    "'%s' has no process %" PRIu32
			    " that called an allocator; process %" PRIu32 " called most",
			    trace_path(t), process, list[0].number);
	*chosen = &list[i];
	return 0;
}
