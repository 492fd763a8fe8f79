// SPDX-License-Identifier: LGPL-3.0-or-later
/* trace_text.c - all that a file says, as text. */
#include "trace_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const functions[MPROF_FN_MAX] = {
#define MPROF_FUNCTION(id, code, name, class) [code] = name,
#include <mprof/functions.def>
#undef MPROF_FUNCTION
};

static const char *const kinds[] = {
	[EVENT_CALL] = "call",	     [EVENT_REALLOC_BEGIN] = "begin", [EVENT_REALLOC_END] = "end",
	[EVENT_CONTROL] = "control", [EVENT_LOST] = "lost",
};

static void call_text(FILE *out, const struct event *e)
{
	uint64_t count, element;

	fprintf(out, " %s addr=%" PRIx64 " size=%" PRIu64, functions[e->fn], e->addr, e->size);
	if (e->kind == EVENT_REALLOC_BEGIN ||
	    (e->fn != MPROF_FN_CALLOC && e->fn != MPROF_FN_REALLOCARRAY))
		fprintf(out, " usable=%" PRIu64 " arg=%" PRIu64, e->usable, e->arg);
	else if (event_factors(e, &count, &element))
		fprintf(out, " usable=%" PRIu64 " factors=%" PRIu64 "*%" PRIu64,
			e->addr ? e->usable : 0, count, element);
	fprintf(out, " error=%u", e->error);
}

void trace_text_event(FILE *out, const struct event *e)
{
	fprintf(out, "%" PRIu64 " %" PRIu32 ".%" PRIu32 " %s", e->ticks, e->process, e->thread,
		kinds[e->kind]);
	if (e->kind == EVENT_CONTROL || e->kind == EVENT_LOST)
		fprintf(out, " %u %" PRIu64, e->control, e->value);
	else
		call_text(out, e);
	if (e->kind != EVENT_CONTROL && e->kind != EVENT_LOST && e->stack)
		fprintf(out, " stack=%" PRIu32, e->stack);
	fputc('\n', out);
}

static void facts_text(FILE *out, const struct trace *t)
{
	const struct trace_fact *f;
	size_t n = trace_facts(t, &f);

	for (size_t i = 0; i < n; i++) {
		fprintf(out, "fact %u process %u pid %d at %" PRIu64 " exe=%s mode=%s why=%s",
			f[i].fact->what, f[i].process, f[i].fact->pid, f[i].fact->ticks, f[i].exe,
			f[i].mode, f[i].why);
		for (size_t k = 0; k < f[i].argc; k++)
			fprintf(out, " arg=%s", f[i].argv[k]);
		fputc('\n', out);
	}
}

static void samples_text(FILE *out, const struct trace *t)
{
	const struct trace_residency *r;
	const struct mprof_sample *s;

	for (uint32_t process = 1; process <= 3; process++) {
		size_t n = trace_samples(t, process, &s);

		for (size_t i = 0; i < n; i++)
			fprintf(out, "sample process %u at %" PRIu64 " rss %" PRIu64 "\n", process,
				s[i].ticks, s[i].rss);
	}
	for (size_t i = 0, n = trace_residencies(t, &r); i < n; i++) {
		fprintf(out, "residency process %u at %" PRIu64 ":", r[i].process,
			r[i].head->ticks_before);
		for (uint64_t k = 0; k < r[i].runs; k++)
			fprintf(out, " %" PRIx64 "+%" PRIu64, r[i].run[k].first, r[i].run[k].count);
		fputc('\n', out);
	}
}

static void reaches_text(FILE *out, const struct trace *t)
{
	const struct trace_reach *x;

	for (size_t i = 0, n = trace_reaches(t, &x); i < n; i++) {
		fprintf(out,
			"reach process %u image %u at %" PRIu64 ": %" PRIu64 " blocks, %" PRIu64
			" bytes\n",
			x[i].process, x[i].image, x[i].head->ticks, x[i].head->blocks,
			x[i].head->bytes);
		for (uint32_t k = 0; k < x[i].head->rows; k++) {
			const struct mprof_reach_row *r = &x[i].row[k];

			fprintf(out,
				"  stack %u root %u: %" PRIu64 "/%" PRIu64 " unreachable %" PRIu64
				"/%" PRIu64 " below %" PRIu64 "/%" PRIu64 "\n",
				r->stack, r->root, r->blocks, r->bytes, r->unreachable_blocks,
				r->unreachable_bytes, r->below_blocks, r->below_bytes);
		}
		for (uint32_t k = 0; k < x[i].head->roots; k++) {
			const struct mprof_reach_root *r = &x[i].root[k];

			fprintf(out, "  root %" PRIx64 " kind %u tid %d %s\n", r->address, r->kind,
				r->tid, r->kind == MPROF_REACH_VARIABLE ? x[i].text + r->path : "");
		}
	}
}

static void counts_text(FILE *out, const struct trace *t)
{
	const struct mprof_counts *c;
	uint32_t process, thread;

	for (size_t i = 0; (c = trace_counts(t, i, &process, &thread)); i++) {
		fprintf(out, "counts %u.%u tid %" PRIu64, process, thread, c->tid);
		for (int fn = 0; fn < MPROF_FN_MAX; fn++)
			if (c->fn[fn].calls)
				fprintf(out, " %s=%" PRIu64 "/%" PRIu64, functions[fn],
					c->fn[fn].calls, c->fn[fn].bytes);
		fputc('\n', out);
	}
}

static void stacks_text(FILE *out, const struct trace *t)
{
	const struct stacks *s = trace_stacks(t);

	for (size_t i = 1; i < s->objects; i++) {
		const struct stack_object *o = &s->object[i];

		fprintf(out, "object %zu %s bias %" PRIx64 " of process %" PRIu32 " id %.*s", i,
			o->path, o->bias, o->first_process, (int)o->build_id_bytes,
			o->build_id ? (const char *)o->build_id : "");
		for (size_t k = 0; k < o->segments; k++)
			fprintf(out, " %" PRIx64 "+%" PRIx64 "@%" PRIx64 ":%" PRIu32,
				o->segment[k].address, o->segment[k].bytes, o->segment[k].offset,
				o->segment[k].flags);
		fputc('\n', out);
	}
	for (size_t i = 1; s->definitions && i < s->nodes; i++) {
		const struct stack_frame *f = &s->frame[s->node[i].frame];

		fprintf(out,
			"node %zu in %" PRIu32 ": object %" PRIu32 " address %" PRIx64
			" flags %" PRIu32 "\n",
			i, s->node[i].parent, f->object, f->address, f->flags);
	}
}

static void damage_text(FILE *out, const struct trace_damage *d)
{
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{ "bytes skipped", d->bytes_skipped },	 { "chunks bad", d->chunks_bad },
		{ "chunks missing", d->chunks_missing }, { "words bad", d->words_bad },
		{ "bytes missing", d->bytes_missing },	 { "bytes empty", d->bytes_empty },
		{ "sizes bad", d->sizes_bad },		 { "stacks bad", d->stacks_bad },
		{ "stacks missing", d->stacks_missing }, { "first at", d->first_bad_offset },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].value)
			fprintf(out, "damage: %s %" PRIu64 "\n", rows[i].name, rows[i].value);
	for (int i = 0; i < MPROF_LOST_REASONS; i++)
		if (d->lost[i])
			fprintf(out, "damage: lost %d %" PRIu64 "\n", i, d->lost[i]);
}

void trace_text(FILE *out, struct trace *t)
{
	struct event e[7]; /* a batch size that ends in the middle of things */
	size_t n;

	facts_text(out, t);
	samples_text(out, t);
	reaches_text(out, t);
	counts_text(out, t);
	stacks_text(out, t);
	while ((n = trace_next(t, e, sizeof(e) / sizeof(e[0]))))
		for (size_t i = 0; i < n; i++)
			trace_text_event(out, &e[i]);
	damage_text(out, trace_damage(t));
}

/* The path of a file in memory means nothing to a reader of the expectation. */
static void error_text(FILE *out, const char *text, const char *path, const char *name)
{
	const char *at = strstr(text, path);

	if (at)
		fprintf(out, "error: %.*s%s%s\n", (int)(at - text), text, name, at + strlen(path));
	else
		fprintf(out, "error: %s\n", text);
}

char *trace_text_of(const char *path, const char *name, const char *magic)
{
	struct error err;
	struct trace *t;
	char *text;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		abort();
	if (trace_open(&t, path, magic, &err)) {
		error_text(out, err.text, path, name);
	} else {
		trace_text(out, t);
		trace_close(t);
	}
	fclose(out);
	return text;
}
