// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * compile_trace.c - feeding the compiler from a trace: one process, or all.
 *
 * Between events stand moments (pass/moments.h): a fork says whose blocks a
 * process begins with, exec ends those of the image before, and the end of a
 * process all that it had, as long as others go on.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../heap/heap.h"
#include "../pass/moments.h"
#include "compile.h"

#define BATCH	       256u
#define PROGRESS_EVERY (1u << 20)

static const uint8_t class_of[MPROF_FN_MAX] = {
#define MPROF_FUNCTION(id, code, name, class) [code] = MPROF_CLASS_##class,
#include <mprof/functions.def>
#undef MPROF_FUNCTION
};

/* ---- which processes there are ---- */

struct counted {
	uint64_t *calls; /* by number */
	size_t room;
};

static bool is_counted(const struct event *e)
{
	return (e->kind == EVENT_CALL || e->kind == EVENT_REALLOC_END) &&
	       class_of[e->fn] != MPROF_CLASS_MAP && e->process < HEAP_NUMBERS;
}

static int count_event(struct counted *n, const struct event *e)
{
	size_t room = n->room ? n->room : 16;
	uint64_t *grown;

	if (e->process >= n->room) {
		while (room <= e->process)
			room *= 2;
		grown = realloc(n->calls, room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		memset(grown + n->room, 0, (room - n->room) * sizeof(*grown));
		n->calls = grown;
		n->room = room;
	}
	n->calls[e->process]++;
	return 0;
}

static int count_all(struct trace *t, struct counted *n)
{
	struct event event[BATCH];
	size_t got, i;
	int ret = 0;

	trace_rewind(t);
	while (!ret && (got = trace_next(t, event, BATCH)))
		for (i = 0; i < got && !ret; i++)
			if (is_counted(&event[i]))
				ret = count_event(n, &event[i]);
	trace_rewind(t);
	return ret;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const struct trace_fact *last_image(const struct trace *t, uint32_t process)
{
	const struct trace_fact *f, *found = NULL;
	size_t n = trace_facts(t, &f), i;

	for (i = 0; i < n; i++)
		if (f[i].process == process && f[i].argc &&
		    (f[i].fact->what == MPROF_FACT_START || f[i].fact->what == MPROF_FACT_EXEC))
			found = &f[i];
	return found;
}

static int most_first(const void *a, const void *b)
{
	const struct compile_process *x = a, *y = b;

	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	return (x->number > y->number) - (x->number < y->number);
}

int compile_processes(struct trace *t, struct compile_process **out, size_t *n, struct error *err)
{
	struct counted counted = { NULL, 0 };
	const struct trace_fact *image;
	size_t i;

	*out = NULL;
	*n = 0;
	if (count_all(t, &counted) == 0)
		*out = calloc(counted.room + 1, sizeof(**out));
	if (!*out) {
		free(counted.calls);
		return fail(err, -ENOMEM, "no memory to read '%s'", trace_path(t));
	}
	for (i = 0; i < counted.room; i++) {
		if (!counted.calls[i])
			continue;
		image = last_image(t, (uint32_t)i);
		(*out)[(*n)++] = (struct compile_process){
			.number = (uint32_t)i,
			.calls = counted.calls[i],
			.exe = image ? base_name(image->exe) : "",
		};
	}
	qsort(*out, *n, sizeof(**out), most_first);
	free(counted.calls);
	return 0;
}

/* ---- the feed ---- */

struct feed {
	struct trace *trace;
	struct compile *to;
	const struct compile_options *options;
	uint32_t process; /* or COMPILE_ALL */
	uint32_t page_size;
	struct moment *moment;
	size_t moments, next;
	uint64_t start_ticks, ns_mult; /* ns = (ticks - start) * mult / 2^32 */
	uint64_t last_ticks, events, told;
	uint32_t *last_thread; /* by process number: its last thread */
	size_t last_threads;
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

static uint64_t align_of(const struct feed *f, const struct event *e)
{
	switch (e->fn) {
	case MPROF_FN_CALLOC:
	case MPROF_FN_MALLOC:
		return 0;
	case MPROF_FN_VALLOC:
	case MPROF_FN_PVALLOC:
		return f->page_size;
	default:
		return e->arg;
	}
}

static inline void feed_call(struct feed *f, const struct event *e)
{
	const unsigned class = class_of[e->fn];
	struct compile_call c = {
		.ns = ns_of(f, e->ticks),
		.thread = e->thread,
		.process = e->process,
		.fn = e->fn,
	};

	if (e->kind == EVENT_REALLOC_BEGIN || class == MPROF_CLASS_FREE) {
		c.old = e->addr;
		c.half = class == MPROF_CLASS_REALLOC ? COMPILE_BEGIN : COMPILE_WHOLE;
		c.has_touched = event_touched(e, &c.touched);
	} else {
		c.addr = e->addr;
		c.size = e->size;
		c.site = e->stack;
		if (class == MPROF_CLASS_REALLOC)
			c.half = COMPILE_END;
		else
			c.align = align_of(f, e);
	}
	compile_call(f->to, &c);
}

static void feed_control(struct feed *f, const struct event *e)
{
	if (e->control == MPROF_CONTROL_THREAD_CREATE && e->value < UINT32_MAX)
		compile_thread_begin(f->to, (uint32_t)e->value, e->thread);
	else if (e->control == MPROF_CONTROL_THREAD_END)
		compile_thread_end(f->to, e->thread);
}

static bool is_wanted(const struct feed *f, uint32_t process)
{
	return process == f->process || f->process == COMPILE_ALL;
}

/* The thread of a process that called last; 0: none did. */
static uint32_t last_of(const struct feed *f, uint32_t process)
{
	return process < f->last_threads ? f->last_thread[process] : 0;
}

static void feed_moment(struct feed *f, const struct moment *m)
{
	const uint32_t forker = last_of(f, m->parent);

	if (!is_wanted(f, m->process))
		return;
	switch (m->kind) {
	case MOMENT_FORK:
		compile_process_forked(f->to, m->process, forker ? forker : UINT32_MAX);
		break;
	case MOMENT_END:
		/* What a process leaves when it ends is what it left. */
		if (f->process != COMPILE_ALL)
			break;
		compile_process_gone(f->to, m->process, last_of(f, m->process));
		break;
	case MOMENT_EXEC:
		compile_process_gone(f->to, m->process, last_of(f, m->process));
		break;
	case MOMENT_RESIDENCY:
		break;
	}
}

/* Moments before this event.  Those behind the last event never come up. */
static void moments_until(struct feed *f, uint64_t ticks)
{
	while (f->next < f->moments && f->moment[f->next].ticks < ticks)
		feed_moment(f, &f->moment[f->next++]);
}

static inline void feed_event(struct feed *f, const struct event *e)
{
	if (__builtin_expect(f->next < f->moments && f->moment[f->next].ticks < e->ticks, 0))
		moments_until(f, e->ticks);
	if (!is_wanted(f, e->process))
		return;
	if (e->process < f->last_threads)
		f->last_thread[e->process] = e->thread;
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
		       d->bytes_missing > 0);
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

static bool may_have_touched(const struct trace *t)
{
#ifdef MPROF_FILE_TOUCHED
	return trace_header(t)->flags & MPROF_FILE_TOUCHED;
#else
	(void)t;
	return true;
#endif
}

/* Its pool for exceptions is allocated by itself, so that it is in the stacks of every trace. */
static bool had_libstdcxx(const struct trace *t)
{
	static const char prefix[] = "libstdc++.so.";
	const struct stacks *s = trace_stacks(t);
	size_t i;

	for (i = 1; i < s->objects; i++)
		if (!strncmp(base_name(s->object[i].path), prefix, sizeof(prefix) - 1))
			return true;
	return false;
}

static int choose(struct trace *t, uint32_t *process, struct error *err)
{
	struct compile_process *list;
	const uint32_t wanted = *process;
	size_t n, i;
	int ret = compile_processes(t, &list, &n, err);

	if (ret)
		return ret;
	if (!n)
		ret = fail(err, -EINVAL, "'%s' has no call of an allocator", trace_path(t));
	for (i = 0; !ret && i < n && wanted != COMPILE_ALL; i++)
		if (!wanted || list[i].number == wanted)
			break;
	if (!ret && wanted != COMPILE_ALL && i == n)
		ret = fail(err, -EINVAL,
			   "'%s' has no process %" PRIu32
			   " that called an allocator; process %" PRIu32 " called most",
			   trace_path(t), wanted, list[0].number);
	else if (!ret && !wanted)
		*process = list[0].number;
	free(list);
	return ret;
}

/* Is there nothing to choose from? */
static bool is_single(const struct trace *t, uint32_t *process)
{
	const struct trace_thread *thread;
	size_t n = trace_threads(t, &thread), i;

	for (i = 1; i < n; i++)
		if (thread[i].process != thread[0].process)
			return false;
	if (!n || (*process && *process != thread[0].process))
		return false;
	*process = thread[0].process;
	return true;
}

static int run(struct feed *f, struct mprof_play_summary *sum, struct error *err)
{
	struct walk_input in;

	walk_input_from_trace(&in, f->trace);
	f->last_threads = trace_header(f->trace)->processes;
	f->last_threads = f->last_threads < HEAP_NUMBERS ? f->last_threads + 1 : HEAP_NUMBERS;
	f->last_thread = calloc(f->last_threads, sizeof(*f->last_thread));
	if (!f->last_thread || moments_make(&in, &f->moment, &f->moments) < 0) {
		compile_abandon(f->to);
		return fail(err, -ENOMEM, "no memory to read '%s'", trace_path(f->trace));
	}
	read_clock(f);
	feed_all(f);
	tell_damage(f);
	return compile_finish(f->to, sum, err);
}

int compile_trace(struct trace *t, const struct compile_options *options,
		  struct mprof_play_summary *sum, struct error *err)
{
	struct compile_options o = *options;
	struct feed f = { .trace = t, .options = options, .process = o.process };
	char program[256], *source = realpath(trace_path(t), NULL);
	int ret = 0;

	if (o.process != COMPILE_ALL && !is_single(t, &f.process))
		ret = choose(t, &f.process, err);
	join_arguments(last_image(t, f.process == COMPILE_ALL ? 1 : f.process), program,
		       sizeof(program));
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
	free(f.moment);
	free(f.last_thread);
	free(source);
	return ret;
}
