// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * compile_trace.c - feeding the compiler from a trace: one program, or all.
 *
 * Between events stand moments (pass/moments.h): a fork says whose blocks a
 * process begins with; of all programs, exec ends those of the image before,
 * and the end of a process all that it had, as long as others go on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compile_parts.h"
#include "compile_trace_images.h"

#define BATCH	       256u
#define PROGRESS_EVERY (1u << 20)

static const uint8_t class_of[MPROF_FN_MAX] = {
#define MPROF_FUNCTION(id, code, name, class) [code] = MPROF_CLASS_##class,
#include <mprof/functions.def>
#undef MPROF_FUNCTION
};

/* ---- the feed ---- */

struct feed {
	struct trace *trace;
	struct compile *to;
	const struct compile_options *options;
	uint32_t process; /* or COMPILE_ALL */
	uint32_t image;
	uint32_t page_size;
	struct images images;
	uint64_t start_ticks, ns_mult; /* ns = (ticks - start) * mult / 2^32 */
	uint64_t last_ticks, events, told;
};

static inline uint64_t ns_of(const struct feed *f, uint64_t ticks)
{
	const uint64_t span = ticks > f->start_ticks ? ticks - f->start_ticks : 0;

	return (uint64_t)((unsigned __int128)span * f->ns_mult >> 32);
}

/* The clock is linear: what it makes of 2^32 ticks is its factor. */
static void read_clock(struct feed *f)
{
	const uint64_t start = trace_header(f->trace)->start_ticks;

	f->start_ticks = start;
	f->ns_mult =
	    (uint64_t)(trace_ns(f->trace, start + (1ull << 32)) - trace_ns(f->trace, start));
}

static const uint8_t shape_of[MPROF_FN_MAX] = {
#define MPROF_SHAPED(id, code, name, class, shape) [code] = MPROF_SHAPE_##shape,
#include <mprof/functions.def>
};

static uint64_t align_of(const struct feed *f, const struct event *e)
{
	switch (shape_of[e->fn]) {
	case MPROF_SHAPE_PLAIN:
	case MPROF_SHAPE_COUNT:
		return 0;
	case MPROF_SHAPE_PAGE:
	case MPROF_SHAPE_PAGES:
		return f->page_size;
	default:
		return e->arg;
	}
}

static inline void feed_call(struct feed *f, const struct event *e)
{
	const unsigned class = class_of[e->fn];
	struct compile_call *c = compile_next(f->to);

	*c = (struct compile_call){
		.ns = ns_of(f, e->ticks),
		.thread = e->thread,
		.process = e->process,
		.fn = e->fn,
	};
	if (e->kind == EVENT_REALLOC_BEGIN || class == MPROF_CLASS_FREE) {
		c->old = e->addr;
		c->half = class == MPROF_CLASS_REALLOC ? COMPILE_BEGIN : COMPILE_WHOLE;
		c->has_touched = event_touched(e, &c->touched);
	} else {
		c->addr = e->addr;
		c->size = e->size;
		c->site = e->stack;
		if (class == MPROF_CLASS_REALLOC)
			c->half = COMPILE_END;
		else
			c->align = align_of(f, e);
	}
	compile_take(f->to);
}

static void feed_control(struct feed *f, const struct event *e)
{
	if (e->control == MPROF_CONTROL_THREAD_CREATE && e->value < UINT32_MAX)
		compile_thread_begin(f->to, (uint32_t)e->value, e->thread);
	else if (e->control == MPROF_CONTROL_THREAD_END)
		compile_thread_end(f->to, e->thread);
}

static bool is_wanted(struct feed *f, uint32_t process)
{
	return f->process == COMPILE_ALL ||
	       (process == f->process && images_of(&f->images, process)->image == f->image);
}

static void feed_moment(struct feed *f, const struct moment *m)
{
	const uint32_t last = images_of(&f->images, m->process)->thread;
	uint32_t forker;

	switch (m->kind) {
	case MOMENT_FORK:
		forker = images_of(&f->images, m->parent)->thread;
		if (is_wanted(f, m->process))
			compile_process_forked(f->to, m->process, forker ? forker : UINT32_MAX);
		break;
	case MOMENT_EXEC:
	case MOMENT_END:
		/* What a single program leaves when it ends is what it left. */
		if (f->process == COMPILE_ALL)
			compile_process_gone(f->to, m->process, last);
		break;
	case MOMENT_RESIDENCY:
		break;
	}
}

/* Moments before this event.  Those behind the last event never come up. */
static void moments_until(struct feed *f, uint64_t ticks)
{
	const struct moment *m;

	while ((m = images_step(&f->images, ticks)))
		feed_moment(f, m);
}

static inline void feed_event(struct feed *f, const struct event *e)
{
	if (__builtin_expect(images_due(&f->images, e->ticks), 0))
		moments_until(f, e->ticks);
	images_of(&f->images, e->process)->thread = e->thread;
	if (!is_wanted(f, e->process))
		return;
	if (e->kind <= EVENT_REALLOC_END && class_of[e->fn] != MPROF_CLASS_MAP)
		feed_call(f, e);
	else if (e->kind == EVENT_CONTROL)
		feed_control(f, e);
}

static void tell_progress(struct feed *f, uint64_t ticks)
{
	const struct trace_thread *thread;
	size_t n = trace_threads(f->trace, &thread), i;
	uint64_t first = UINT64_MAX, last = 0;

	for (i = 0; i < n; i++) {
		first = thread[i].first_ticks < first ? thread[i].first_ticks : first;
		last = thread[i].last_ticks > last ? thread[i].last_ticks : last;
	}
	if (last <= first || ticks < first)
		return;
	f->options->progress(f->options->progress_context, f->events,
			     (double)(ticks - first) / (double)(last - first));
}

static void feed_all(struct feed *f)
{
	struct event event[BATCH];
	size_t n, i;

	while ((n = trace_next(f->trace, event, BATCH))) {
		for (i = 0; i < n; i++)
			feed_event(f, &event[i]);
		f->events += n;
		if (f->options->progress && f->events - f->told >= PROGRESS_EVERY) {
			f->told = f->events;
			tell_progress(f, event[n - 1].ticks);
		}
	}
}

static void tell_damage(struct feed *f)
{
	const struct trace_damage *d = trace_damage(f->trace);
	uint64_t lost = 0;
	int i;

	for (i = 0; i < MPROF_LOST_REASONS; i++)
		if (i != MPROF_LOST_STACK)
			lost += d->lost[i];
	compile_damage(f->to, lost,
		       d->chunks_bad + d->chunks_missing + d->words_bad + d->sizes_bad +
			   (d->bytes_skipped > 0),
		       d->bytes_missing > 0 || d->bytes_cut > 0 || d->chunks_unseen > 0);
}

/* ---- options from the trace ---- */

static void join_arguments(const struct trace_fact *f, char *to, size_t room)
{
	size_t used = 0, i, n;

	to[0] = '\0';
	for (i = 0; f && i < f->argc && used + 1 < room; i++) {
		if (i)
			to[used++] = ' ';
		n = strnlen(f->argv[i], room - 1 - used);
		memcpy(to + used, f->argv[i], n);
		used += n;
		to[used] = '\0';
	}
}

const struct trace_fact *compile_fact_of(const struct trace *t, const char *program)
{
	char its[sizeof(((struct mprof_playback_header *)NULL)->program)];
	const struct trace_fact *f;
	size_t n;

	for (n = trace_facts(t, &f); n; n--, f++) {
		if (f->fact->what != MPROF_FACT_START || !f->argc)
			continue;
		join_arguments(f, its, sizeof(its));
		if (!strcmp(its, program))
			return f;
	}
	return NULL;
}

static bool may_have_touched(const struct trace *t)
{
	return trace_header(t)->flags & MPROF_FILE_TOUCHED;
}

/* Its pool for exceptions is allocated by itself, so that it is in the stacks of every trace. */
static bool had_libstdcxx(const struct trace *t)
{
	static const char prefix[] = "libstdc++.so.";
	const struct stacks *s = trace_stacks(t);
	const char *slash;
	size_t i;

	for (i = 1; i < s->objects; i++) {
		slash = strrchr(s->object[i].path, '/');
		if (!strncmp(slash ? slash + 1 : s->object[i].path, prefix, sizeof(prefix) - 1))
			return true;
	}
	return false;
}

/* What is to be compiled, and the fact that has its arguments. */
static int choose(struct feed *f, const struct trace_fact **fact, struct error *err)
{
	const struct compile_process *only = f->options->only;
	struct compile_process *list = NULL;
	size_t n;
	int ret = 0;

	if (!only) {
		ret = compile_processes(f->trace, &list, &n, err);
		if (!ret)
			ret = compile_choose(f->trace, list, n, f->process, &only, err);
	}
	if (!ret) {
		*fact = only->fact;
		f->image = only->image;
		if (f->process != COMPILE_ALL)
			f->process = only->number;
	}
	free(list);
	return ret;
}

/* The only one there is. */
static const struct trace_fact *take_single(struct feed *f)
{
	const struct trace_thread *thread;
	const struct trace_fact *fact;
	size_t n = trace_threads(f->trace, &thread);

	if (!n || (f->process && f->process != COMPILE_ALL && f->process != thread[0].process))
		return NULL;
	f->process = thread[0].process;
	for (n = trace_facts(f->trace, &fact); n; n--, fact++)
		if (fact->fact->what == MPROF_FACT_START && fact->process == f->process &&
		    fact->argc)
			return fact;
	return NULL;
}

static int run(struct feed *f, struct mprof_play_summary *sum, struct error *err)
{
	if (images_make(&f->images, f->trace) < 0) {
		compile_abandon(f->to);
		return fail(err, -ENOMEM, "no memory to read '%s'", trace_path(f->trace));
	}
	read_clock(f);
	feed_all(f);
	images_release(&f->images);
	tell_damage(f);
	return compile_finish(f->to, sum, err);
}

int compile_trace(struct trace *t, const struct compile_options *options,
		  struct mprof_play_summary *sum, struct error *err)
{
	struct compile_options o = *options;
	struct feed f = { .trace = t, .options = options, .process = o.process };
	const struct trace_fact *fact = NULL;
	char program[256], *source = realpath(trace_path(t), NULL);
	int ret = 0;

	if (!o.only && !compile_has_choice(t))
		fact = take_single(&f);
	if (!fact)
		ret = choose(&f, &fact, err);
	join_arguments(fact, program, sizeof(program));
	o.program = o.program ? o.program : program;
	o.source = o.source ? o.source : source;
	o.input = o.input ? o.input : "mprof";
	o.run_id = o.run_id ? o.run_id : trace_header(t)->run_id;
	o.sites |= trace_stacks(t)->definitions > 0;
	o.touch |= may_have_touched(t);
	o.flags |= had_libstdcxx(t) ? MPROF_PLAY_LIBSTDCXX : 0;
	f.page_size = trace_header(t)->page_size;
	trace_rewind(t);
	if (!ret)
		ret = compile_new(&f.to, &o, err);
	if (!ret)
		ret = run(&f, sum, err);
	trace_rewind(t);
	free(source);
	return ret;
}
