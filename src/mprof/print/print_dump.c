// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * print_dump.c - the printer of single events.
 *
 * A table has a row for each function: its arguments in order, each with its place in struct event.
 */
#include "print_dump.h"

#include <errno.h>
#include <inttypes.h>
#include <mprof/functions.h>
#include <stdlib.h>
#include <string.h>

#include "../trace/functions.h"
#include "../util/alloc.h"
#include "../util/format.h"
#include "dump_stacks.h"
#include "json_lines.h"

enum source {
	FROM_NOTHING,
	FROM_ADDR,    /* event.addr, hexadecimal */
	FROM_SIZE,    /* event.size */
	FROM_ARG,     /* event.arg */
	FROM_ARG_HEX, /* event.arg, an address */
	FROM_ARG_SIGNED,
	FROM_ARG_IF,  /* event.arg unless it is 0 */
	FROM_SIZE_IF, /* event.size unless it is 0 */
	FROM_COUNT,   /* elements, from event_factors() */
	FROM_ELEMENT, /* bytes of one element */
	FROM_OLD,     /* the block passed to realloc, hexadecimal */
	FROM_USABLE_HEX,
	FROM_PROT,
	FROM_FLAGS,
	FROM_FD,
	FROM_OFFSET, /* of mmap */
};

struct field {
	const char *name;
	enum source from;
};
#define FIELDS 7 /* the most, and one that ends them */

/* The fields of functions outside the malloc family. */
static const struct field of_maps[MPROF_FN_MAX][FIELDS] = {
	[MPROF_FN_MMAP] = { { "length", FROM_SIZE },
			    { "prot", FROM_PROT },
			    { "flags", FROM_FLAGS },
			    { "fd", FROM_FD },
			    { "offset", FROM_OFFSET },
			    { "result", FROM_ADDR } },
	[MPROF_FN_MUNMAP] = { { "pointer", FROM_ADDR }, { "length", FROM_SIZE } },
	[MPROF_FN_MREMAP] = { { "pointer", FROM_USABLE_HEX },
			      { "old_length", FROM_ARG },
			      { "length", FROM_SIZE },
			      { "result", FROM_ADDR } },
	[MPROF_FN_BRK] = { { "old_break", FROM_USABLE_HEX }, { "result", FROM_ADDR } },
	[MPROF_FN_SBRK] = { { "increment", FROM_ARG_SIGNED }, { "result", FROM_USABLE_HEX } },
};

static const struct {
	enum mprof_shape shape;
	enum mprof_fn_class class;
} called[MPROF_FN_MAX] = {
#define MPROF_SHAPED(id, code, name, class, shape) \
	[code] = { MPROF_SHAPE_##shape, MPROF_CLASS_##class },
#include <mprof/functions.def>
};

/* The fields of a line, by function; filled by learn_shapes(). */
static struct field shapes[MPROF_FN_MAX][FIELDS];

static const char *const marks[] = {
	[MPROF_CONTROL_THREAD_CREATE] = "thread-create",
	[MPROF_CONTROL_THREAD_START] = "thread-start",
	[MPROF_CONTROL_THREAD_END] = "thread-end",
	[MPROF_CONTROL_FORK] = "fork",
	[MPROF_CONTROL_FORKED] = "forked",
	[MPROF_CONTROL_EXEC] = "exec",
};

#define DUMP_BATCH   256u
#define DUMP_NUMBERS (1u << 22) /* greater numbers of a damaged trace are not remembered */

/* From the first half of a realloc: the block and its touched bytes (event.usable). */
struct old {
	uint64_t addr, touched;
	bool unknown; /* the address */
};

struct dump {
	const struct dump_filter *filter;
	struct trace *trace;
	struct line line;
	uint64_t page_size;
	int32_t *pid; /* by process number */
	size_t pids;
	struct old *old; /* by thread number: the block passed to realloc */
	size_t olds;
	uint64_t number; /* number of the event */
	uint64_t written;
	bool went;		  /* not all calls before --from were read */
	bool stopped, met_thread; /* --to ended it before the end; the wanted thread was seen */
	struct dump_stacks stacks;
	struct event event[DUMP_BATCH];
};

/* ---- who ---- */

static struct field field_of(char letter, bool is_realloc, bool has_count)
{
	switch (letter) {
	case 'o':
		return (struct field){ "pointer", is_realloc ? FROM_OLD : FROM_ADDR };
	case 'n':
		return (struct field){ "count", FROM_COUNT };
	case 's':
		return (struct field){ "size", has_count ? FROM_ELEMENT : FROM_SIZE };
	case 'S':
		return (struct field){ "size", FROM_SIZE_IF };
	case 'a':
		return (struct field){ "alignment", FROM_ARG };
	case 'A':
		return (struct field){ "alignment", FROM_ARG_IF };
	default:
		return (struct field){ "result", FROM_ADDR };
	}
}

static void learn_shapes(void)
{
	static const char *const values[] = {
#define X(shape, values, operation) values,
		MPROF_SHAPES(X)
#undef X
	};

	for (unsigned fn = 0; fn < MPROF_FN_MAX; fn++) {
		const char *v = values[called[fn].shape];

		memcpy(shapes[fn], of_maps[fn], sizeof(shapes[fn]));
		for (size_t i = 0; v[i]; i++)
			shapes[fn][i] = field_of(v[i], called[fn].class == MPROF_CLASS_REALLOC,
						 strchr(v, 'n') != NULL);
	}
}

static void learn_pids(struct dump *d)
{
	const struct trace_fact *f;
	size_t n = trace_facts(d->trace, &f), i;

	for (i = 0; i < n; i++)
		if (f[i].process >= d->pids && f[i].process < DUMP_NUMBERS)
			d->pids = f[i].process + 1;
	d->pid = must_calloc(d->pids + 1, sizeof(*d->pid));
	for (i = 0; i < n; i++)
		if (f[i].process < d->pids && f[i].fact->what == MPROF_FACT_START)
			d->pid[f[i].process] = f[i].fact->pid;
}

static int32_t pid_of(const struct dump *d, uint32_t process)
{
	const struct mprof_file_header *h = trace_header(d->trace);

	if (process < d->pids && d->pid[process])
		return d->pid[process];
	/* A process that was killed before it recorded anything still has its entry. */
	for (size_t i = 0; i < MPROF_PROCESS_TABLE; i++)
		if (h->process[i].number == process)
			return h->process[i].pid;
	return 0;
}

static void remember_old(struct dump *d, uint32_t thread, struct old old)
{
	if (thread >= DUMP_NUMBERS)
		return;
	GROW_ZEROED(d->old, thread + (size_t)1, d->olds);
	d->old[thread] = old;
}

/* A realloc without a first half got NULL. */
static struct old recall_old(struct dump *d, uint32_t thread)
{
	struct old old = { 0 };

	if (thread < d->olds) {
		old = d->old[thread];
		d->old[thread] = (struct old){ 0 };
	}
	return old;
}

static bool frees_block(const struct event *e)
{
	return shapes[e->fn][0].from == FROM_ADDR && !mprof_fn_maps(e->fn);
}

/* Returns event.usable of the block that a call freed; 0 if unknown. */
static uint64_t touched_by(const struct event *e, const struct old *old)
{
	return e->kind == EVENT_REALLOC_END ? old->touched : frees_block(e) ? e->usable : 0;
}

static bool is_call(const struct event *e)
{
	return e->kind != EVENT_CONTROL && e->kind != EVENT_LOST;
}

static bool wanted(const struct dump *d, const struct event *e, int64_t ns)
{
	const struct dump_filter *f = d->filter;

	if ((f->process && e->process != f->process) ||
	    !trace_chooses(d->trace, &f->thread, e->thread))
		return false;
	if (f->pid && pid_of(d, e->process) != f->pid)
		return false;
	if (ns < f->from_ns || ns >= f->to_ns)
		return false;
	if (!is_call(e))
		return f->marks;
	return function_name(e->fn) && (!f->functions || f->functions >> e->fn & 1);
}

/* ---- values ---- */

static bool is_hex(enum source from)
{
	return from == FROM_ADDR || from == FROM_ARG_HEX || from == FROM_OLD ||
	       from == FROM_USABLE_HEX || from == FROM_PROT || from == FROM_FLAGS;
}

static bool is_shown(const struct event *e, enum source from)
{
	return !(from == FROM_ARG_IF && !e->arg) && !(from == FROM_SIZE_IF && !e->size);
}

/* Is this the address of a block that was allocated in a part of the trace that was not read? */
static bool is_skipped(const struct event *e, enum source from, const struct old *old)
{
	return (from == FROM_ADDR && event_is_of_unread(e)) || (from == FROM_OLD && old->unknown);
}

static bool is_known(const struct event *e, enum source from, const struct old *old)
{
	uint64_t count, element;

	if (is_skipped(e, from, old))
		return false;
	return from != FROM_ELEMENT || event_factors(e, &count, &element);
}

static bool is_signed(enum source from)
{
	return from == FROM_ARG_SIGNED || from == FROM_FD;
}

static uint64_t value_of(const struct dump *d, const struct event *e, enum source from,
			 uint64_t old)
{
	uint64_t count, element;

	event_factors(e, &count, &element);
	switch (from) {
	case FROM_ADDR:
		return e->addr;
	case FROM_SIZE:
	case FROM_SIZE_IF:
		return e->size;
	case FROM_COUNT:
		return count;
	case FROM_ELEMENT:
		return element;
	case FROM_OLD:
		return old;
	case FROM_USABLE_HEX:
		return e->usable;
	case FROM_PROT:
		return e->usable & UINT32_MAX;
	case FROM_FLAGS:
		return e->usable >> 32;
	case FROM_FD:
		return (uint64_t)(int64_t)(int32_t)(e->arg & UINT32_MAX);
	case FROM_OFFSET:
		return (e->arg >> 32) * d->page_size;
	default:
		return e->arg;
	}
}

static void put_value(struct line *l, enum source from, uint64_t v)
{
	if (is_hex(from)) {
		line_hex(l, v);
	} else if (is_signed(from) && (int64_t)v < 0) {
		line_char(l, '-');
		line_number(l, -v);
	} else {
		line_number(l, v);
	}
}

/* ---- text ---- */

static void text_who(struct dump *d, const struct event *e, int64_t ns)
{
	struct line *l = &d->line;

	if (d->filter->numbers) {
		line_number(l, d->number);
		line_char(l, '\t');
	}
	line_seconds(l, ns);
	line_char(l, '\t');
	line_number(l, e->process);
	line_char(l, '/');
	line_number(l, (uint32_t)pid_of(d, e->process));
	line_char(l, '\t');
	line_number(l, e->thread);
	line_char(l, '\t');
}

static void text_call(struct dump *d, const struct event *e, const struct old *old)
{
	const struct field *f = shapes[e->fn];
	struct line *l = &d->line;
	const char *error;

	line_text(l, function_name(e->fn));
	for (; f->name; f++) {
		if (!is_shown(e, f->from))
			continue;
		line_char(l, '\t');
		if (is_known(e, f->from, old))
			put_value(l, f->from, value_of(d, e, f->from, old->addr));
		else
			line_char(l, '?');
	}
	if (e->error) {
		error = strerrorname_np(e->error);
		line_char(l, '\t');
		if (error)
			line_text(l, error);
		else
			line_number(l, e->error);
	}
	if (touched_by(e, old)) {
		line_text(l, "\ttouched=");
		line_number(l, touched_by(e, old) - 1);
	}
	if (d->filter->stacks) {
		line_text(l, "\t@");
		line_number(l, e->stack);
	}
	line_char(l, '\n');
}

static const char *mark_name(const struct event *e)
{
	if (e->kind == EVENT_LOST)
		return "lost";
	return e->control < sizeof(marks) / sizeof(marks[0]) && marks[e->control]
		   ? marks[e->control]
		   : "mark";
}

static void text_mark(struct dump *d, const struct event *e)
{
	line_char(&d->line, '#');
	line_text(&d->line, mark_name(e));
	line_char(&d->line, '\t');
	line_number(&d->line, e->value);
	line_char(&d->line, '\n');
}

/* ---- JSON ---- */

static void put_arguments(struct line *l, struct dump *d, const struct event *e,
			  const struct old *old)
{
	for (const struct field *f = shapes[e->fn]; f->name; f++) {
		if (!is_shown(e, f->from) || !is_known(e, f->from, old))
			continue;
		line_name(l, f->name);
		line_text(l, is_hex(f->from) ? "\"" : "");
		put_value(l, f->from, value_of(d, e, f->from, old->addr));
		line_text(l, is_hex(f->from) ? "\"" : "");
	}
}

#define JSON_OF_EVENTS
#define SIGNED(name, value, help) \
	line_name(l, name);       \
	put_value(l, FROM_ARG_SIGNED, (uint64_t)(value));
#include "../json/dump.def"

static void json_who(struct dump *d, const struct event *e, int64_t ns)
{
	line_char(&d->line, '{');
	dump_event_fields(&d->line, d, e, ns);
}

static void json_call(struct dump *d, const struct event *e, const struct old *old)
{
	dump_call_fields(&d->line, d, e, old);
	line_text(&d->line, "}\n");
}

static void json_mark(struct dump *d, const struct event *e)
{
	dump_mark_fields(&d->line, e);
	line_text(&d->line, "}\n");
}

/* ---- the whole ---- */

static const struct style {
	void (*who)(struct dump *d, const struct event *e, int64_t ns);
	void (*call)(struct dump *d, const struct event *e, const struct old *old);
	void (*mark)(struct dump *d, const struct event *e);
} styles[] = {
	{ text_who, text_call, text_mark },
	{ json_who, json_call, json_mark },
};

/* Returns false if that was enough. */
static bool dump_event(struct dump *d, const struct style *style, const struct event *e)
{
	int64_t ns = trace_ns(d->trace, e->ticks);
	struct old old = { 0 };

	d->number++;
	d->met_thread |= trace_chooses(d->trace, &d->filter->thread, e->thread);
	if (ns >= d->filter->to_ns) {
		d->stopped = true;
		return false;
	}
	if (e->kind == EVENT_REALLOC_BEGIN) {
		remember_old(d, e->thread,
			     (struct old){ e->addr, e->usable, event_is_of_unread(e) });
		return true;
	}
	if (e->kind == EVENT_REALLOC_END)
		old = recall_old(d, e->thread);
	if (!wanted(d, e, ns))
		return true;
	d->written++;
	if (d->filter->stacks && is_call(e))
		dump_stacks_tell(&d->stacks, &d->line, e->stack);
	if (!line_room(&d->line))
		return false;
	style->who(d, e, ns);
	if (is_call(e))
		style->call(d, e, &old);
	else
		style->mark(d, e);
	return true;
}

static void dump_events(struct dump *d, const struct style *style)
{
	bool more = true;
	size_t n, i;

	if (d->filter->files)
		dump_stacks_files(&d->stacks, &d->line);
	while (more && (n = trace_next(d->trace, d->event, DUMP_BATCH))) {
		for (i = 0; i < n && more; i++)
			more = dump_event(d, style, &d->event[i]);
	}
	line_flush(&d->line);
}

/* Begins where the first call that passes may be.  Blocks that were allocated before then have no
 * address; to find all of them, all calls before would have to be read. */
static void go_to_first(struct dump *d)
{
	const struct dump_filter *f = d->filter;
	const uint64_t error = trace_header(d->trace)->time_error;
	struct trace_place place;
	uint64_t ticks;

	if (f->from_ns <= 0)
		return;
	ticks = trace_ticks(d->trace, (uint64_t)f->from_ns);
	if (!trace_place_at(d->trace, ticks > error ? ticks - error : 0, &place))
		return;
	trace_go(d->trace, &place);
	d->number = place.first_event - 1;
	d->went = true;
}

/* Is the chosen thread in the part that was not read? */
static bool meets_thread(struct dump *d)
{
	size_t n;

	if (!d->went || d->met_thread)
		return d->met_thread;
	trace_rewind(d->trace);
	while (!d->met_thread && (n = trace_next(d->trace, d->event, DUMP_BATCH)))
		for (size_t i = 0; i < n; i++)
			d->met_thread |=
			    trace_chooses(d->trace, &d->filter->thread, d->event[i].thread);
	return d->met_thread;
}

static bool has_process(const struct dump *d, uint32_t number, int32_t pid)
{
	const struct mprof_file_header *h = trace_header(d->trace);
	size_t i;

	for (i = 1; i < d->pids; i++)
		if (d->pid[i] && (number ? i == number : d->pid[i] == pid))
			return true;
	for (i = 0; i < MPROF_PROCESS_TABLE; i++)
		if (h->process[i].pid &&
		    (number ? h->process[i].number == number : h->process[i].pid == pid))
			return true;
	return false;
}

/* Called if nothing was written: does the trace have the requested process and thread? */
static int nothing(struct dump *d, struct error *err)
{
	const struct dump_filter *f = d->filter;
	const char *path = trace_path(d->trace);

	if (f->process && !has_process(d, f->process, 0))
		return fail(err, -EINVAL,
			    "no process %" PRIu32 " in '%s'; mprof report names the processes",
			    f->process, path);
	if (f->pid && !has_process(d, 0, f->pid))
		return fail(err, -EINVAL,
			    "no process with pid %" PRId32 " in '%s'; mprof report names the"
			    " processes",
			    f->pid, path);
	if (thread_is_chosen(&f->thread) && !d->stopped && !meets_thread(d))
		return fail(err, -EINVAL, "no thread %s in '%s'; mprof report threads shows them",
			    f->thread.pattern ?: format_number(f->thread.number).s, path);
	if (!f->process && !f->pid && !thread_is_chosen(&f->thread) && !f->functions &&
	    f->from_ns == INT64_MIN && f->to_ns == INT64_MAX)
		return fail(err, 1, "'%s' contains no calls", path);
	return fail(err, 1, "no call in '%s' passes the filters", path);
}

int dump_print(struct trace *t, const struct dump_filter *filter, bool json, FILE *out,
	       struct error *err)
{
	struct dump *d = must_calloc(1, sizeof(*d));
	int ret;

	d->filter = filter;
	d->trace = t;
	trace_choose_threads(t, &filter->thread);
	d->page_size = trace_header(t)->page_size;
	line_init(&d->line, out);
	learn_shapes();
	learn_pids(d);
	dump_stacks_start(&d->stacks, trace_stacks(t), json);
	go_to_first(d);
	dump_events(d, &styles[json]);
	ret = d->written ? 0 : nothing(d, err);
	free(d->pid);
	free(d->old);
	dump_stacks_end(&d->stacks);
	free(d);
	return ret;
}
