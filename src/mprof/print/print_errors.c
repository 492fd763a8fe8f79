// SPDX-License-Identifier: LGPL-3.0-or-later
/* print_errors.c - see print_errors.h. */
#include "print_errors.h"

#include <inttypes.h>
#include <stdlib.h>

#include "../pass/thread_title.h"
#include "../profile/paths.h"
#include "../trace/functions.h"
#include "../util/alloc.h"
#include "figures.h"

#define DEPTH 8u /* lines of a stack without --depth */

const char *errors_word(const struct mprof_misuse *m)
{
	static const char *const words[MPROF_MISUSE_BEHIND] = {
		[MPROF_MISUSE_OVERRUN] = "overrun",
		[MPROF_MISUSE_UNDERRUN] = "underrun",
		[MPROF_MISUSE_DOUBLE_FREE] = "double-free",
		[MPROF_MISUSE_FREED_WRITE] = "write-after-free",
		[MPROF_MISUSE_INTERIOR] = "inside-block",
		[MPROF_MISUSE_FOREIGN] = "not-allocated",
		[MPROF_MISUSE_MISMATCH] = "mismatch",
	};

	return words[m->what];
}

/* ---- which errors are the same ---- */

static bool is_same(const struct trace_misuse *a, const struct trace_misuse *b)
{
	return a->m->what == b->m->what && a->m->size == b->m->size &&
	       a->m->offset == b->m->offset && a->m->place == b->m->place &&
	       a->allocated == b->allocated && a->freed == b->freed && a->found == b->found;
}

void errors_find(struct errors *e, struct profile *p)
{
	const struct trace_misuse *u;
	size_t n = trace_misuses(p->trace, &u), i, k;

	*e = (struct errors){ .p = p };
	e->guarded = trace_is_guarded(p->trace);
	trace_guarded(p->trace, &e->sum, &e->unchecked);
	e->group = must_calloc(n + 1, sizeof(*e->group));
	for (i = 0; i < n; i++) {
		for (k = 0; k < e->count && !is_same(e->group[k].u, &u[i]); k++)
			;
		if (k == e->count)
			e->group[e->count++].u = &u[i];
		e->group[k].count++;
	}
}

void errors_release(struct errors *e)
{
	free(e->group);
}

/* ---- titles ---- */

const char *errors_function(unsigned fn)
{
	return function_name(fn) ?: "a check";
}

static const char *place_name(uint32_t place)
{
	switch (place) {
	case MPROF_PLACE_STACK:
		return "on the stack";
	case MPROF_PLACE_OBJECT:
		return "in a variable or code of the program";
	case MPROF_PLACE_UNMAPPED:
		return "that is not mapped";
	case MPROF_PLACE_MISALIGNED:
		return "that is not aligned";
	default:
		return "in unknown memory";
	}
}

static void put_block(const struct errors *e, const struct trace_misuse *u, FILE *out)
{
	const struct sym_line *line = u->allocated ? profile_asked(e->p, u->allocated).line : NULL;

	fprintf(out, "the %s-byte block", format_count(u->m->size).s);
	if (line) {
		fputs(" allocated by ", out);
		figures_line(out, line, true);
	}
}

static void put_bytes(uint64_t n, FILE *out)
{
	fputs(format_many(n, "byte", "bytes").s, out);
}

static void put_overrun(const struct errors *e, const struct trace_misuse *u, FILE *out)
{
	const uint64_t gap = (uint64_t)u->m->offset - u->m->size;

	fputs("heap overrun: ", out);
	put_bytes(u->m->bytes, out);
	fputs(" written ", out);
	if (gap)
		fprintf(out, "%s after the end of ", format_count(gap).s);
	else
		fputs("after ", out);
	put_block(e, u, out);
}

static void put_underrun(const struct errors *e, const struct trace_misuse *u, FILE *out)
{
	const uint64_t before = (uint64_t)-u->m->offset;

	fputs("heap underrun: ", out);
	put_bytes(u->m->bytes, out);
	fputs(" written ", out);
	if (before > u->m->bytes)
		fprintf(out, "%s before the beginning of ", format_count(before).s);
	else
		fputs("before ", out);
	put_block(e, u, out);
}

static void put_double(const struct errors *e, const struct trace_misuse *u, FILE *out)
{
	const char *name = errors_function(u->m->found_fn);

	if (u->m->found_fn == MPROF_FN_REALLOC || u->m->found_fn == MPROF_FN_REALLOCARRAY)
		fprintf(out, "%s after free of ", name);
	else
		fputs("double free of ", out);
	put_block(e, u, out);
}

static void put_interior(const struct errors *e, const struct trace_misuse *u, FILE *out)
{
	const bool before = u->m->offset < 0;
	const uint64_t n = before ? (uint64_t)-u->m->offset : (uint64_t)u->m->offset;

	fprintf(out, "%s of an address ", errors_function(u->m->found_fn));
	put_bytes(n, out);
	fputs(before ? " before " : n >= u->m->size ? " after the beginning of " : " into ", out);
	put_block(e, u, out);
}

static void put_mismatch(const struct errors *e, const struct trace_misuse *u, FILE *out)
{
	const char *by = errors_function(u->m->found_fn);
	const char *right = u->m->allocated_fn == MPROF_FN_NEW	       ? "operator delete"
			    : u->m->allocated_fn == MPROF_FN_NEW_ARRAY ? "operator delete[]"
								       : "free";

	fprintf(out, "mismatch: %s instead of %s for ", by, right);
	put_block(e, u, out);
}

static void put_title(const struct errors *e, const struct trace_misuse *u, FILE *out)
{
	switch (u->m->what) {
	case MPROF_MISUSE_OVERRUN:
		put_overrun(e, u, out);
		break;
	case MPROF_MISUSE_UNDERRUN:
		put_underrun(e, u, out);
		break;
	case MPROF_MISUSE_DOUBLE_FREE:
		put_double(e, u, out);
		break;
	case MPROF_MISUSE_FREED_WRITE:
		fputs("write after free: ", out);
		put_bytes(u->m->bytes, out);
		fprintf(out, " written at offset %" PRId64 " of ", u->m->offset);
		put_block(e, u, out);
		break;
	case MPROF_MISUSE_INTERIOR:
		put_interior(e, u, out);
		break;
	case MPROF_MISUSE_MISMATCH:
		put_mismatch(e, u, out);
		break;
	default:
		fprintf(out, "%s of an address that was never allocated: 0x%" PRIx64 ", %s",
			errors_function(u->m->found_fn), u->m->address, place_name(u->m->place));
	}
}

char *errors_title(const struct errors *e, const struct trace_misuse *u)
{
	return WRITTEN(out, put_title(e, u, out));
}

/* ---- stacks ---- */

static void put_stack(const struct errors *e, const char *what, uint32_t fn, uint32_t thread,
		      uint32_t stack, unsigned depth, FILE *out)
{
	const struct profile_path *path = stack ? profile_path_once(e->p, stack) : NULL;
	size_t i = path ? path->count : 0, outer, shown = 0;

	fprintf(out, "     %s", what);
	if (fn)
		fprintf(out, " by %s", errors_function(fn));
	if (thread)
		fprintf(out, " in thread %s",
			thread_title(trace_thread_name(e->p->trace, thread), thread).s);
	fputs(i ? ":\n" : "; the call stack is not known\n", out);
	outer = i ? paths_start_lines(path->line, path->count) : 0;
	while (i > outer && shown++ < depth) {
		fputs("       ", out);
		figures_line(out, path->line[--i], true);
		fputc('\n', out);
	}
	if (i > outer)
		fprintf(out, "       ... and %s\n", format_many(i - outer, "caller", "callers").s);
}

static void put_seen(const struct mprof_misuse *m, FILE *out)
{
	unsigned i;

	if (!m->seen_bytes)
		return;
	fputs("     written:", out);
	for (i = 0; i < m->seen_bytes; i++)
		fprintf(out, " %02x", m->seen[i]);
	fputs(m->bytes > m->seen_bytes ? " ...  \"" : "  \"", out);
	for (i = 0; i < m->seen_bytes; i++)
		fputc(m->seen[i] >= ' ' && m->seen[i] < 127 ? m->seen[i] : '.', out);
	fputs("\"\n", out);
}

static void put_error(const struct errors *e, const struct error_group *g, unsigned depth,
		      FILE *out)
{
	const struct trace_misuse *u = g->u;
	const struct mprof_misuse *m = u->m;

	put_title(e, u, out);
	if (g->count > 1)
		fprintf(out, ", %s", format_many(g->count, "time", "times").s);
	fputc('\n', out);
	put_seen(m, out);
	if (m->found_fn)
		put_stack(e, "found", m->found_fn, m->found_thread, u->found, depth, out);
	else if (m->what == MPROF_MISUSE_FREED_WRITE)
		fputs("     found later: the writing code is unknown\n", out);
	else
		fputs("     found when the process ended or ran another program\n", out);
	if (m->freed_fn)
		put_stack(e, "freed", m->freed_fn, m->freed_thread, u->freed, depth, out);
	if (m->what != MPROF_MISUSE_FOREIGN)
		put_stack(e, "allocated", m->allocated_fn, m->allocated_thread, u->allocated, depth,
			  out);
}

void errors_summary(const struct errors *e, const char *before, FILE *out)
{
	if (!e->guarded) {
		fprintf(out,
			"%sGuard checked nothing: no call was recorded with MODE=Guard (mprof -m "
			"Guard PROGRAM).\n",
			before);
		return;
	}
	fprintf(out, "%sGuard checked %s", before, format_many(e->sum.blocks, "block", "blocks").s);
	fprintf(out, " and found %s.\n",
		e->sum.errors ? format_many(e->sum.errors, "error", "errors").s : "no error");
	if (e->sum.unwritten)
		fprintf(out, "%s%s more %s not recorded: too many errors.\n", before,
			format_count(e->sum.unwritten).s, e->sum.unwritten == 1 ? "was" : "were");
	if (e->unchecked)
		fprintf(out,
			"%s%s not checked: live when the process was killed or ended by a system "
			"call of its own (as Go does), or it still runs.\n",
			before, format_many(e->unchecked, "block was", "blocks were").s);
	if (e->sum.bare)
		fprintf(out, "%s%s not guarded, for lack of memory for their records.\n", before,
			format_many(e->sum.bare, "block was", "blocks were").s);
}

void errors_text(const struct errors *e, size_t most, unsigned depth, FILE *out)
{
	size_t shown = most && most < e->count ? most : e->count, i;

	for (i = 0; i < shown; i++) {
		fprintf(out, "%s%2zu. ", i ? "\n" : "", i + 1);
		put_error(e, &e->group[i], depth ? depth : DEPTH, out);
	}
	if (shown < e->count)
		fprintf(out, "\nand %s; --top 0 shows all\n",
			format_many(e->count - shown, "more error", "more errors").s);
}
