// SPDX-License-Identifier: LGPL-3.0-or-later
/* print_retained.c - freed memory that stays resident, in words. */
#include "print_findings.h"

#include <inttypes.h>
#include <stdlib.h>

#include "figures.h"
#include "json_rows.h"
#include "quote.h"

#define NO_CACHES "glibc.malloc.tcache_count=0"

static uint64_t freed_of(const struct retained *f)
{
	return f->beside + f->whole;
}

/* Names a part only if it is at least an eighth of the other. */
static void put_where(const struct retained *f, FILE *out)
{
	const bool beside = f->beside >= f->whole / 8, whole = f->whole >= f->beside / 8;

	if (beside && whole)
		fprintf(out, "%s of it", format_bytes(f->beside).s);
	else
		fputs(f->ended == UINT64_MAX ? "The freed memory" : "This memory", out);
	fprintf(out, " is in pages %s live blocks", beside ? "with" : "without");
	if (f->who.line) {
		fputs(", mostly of ", out);
		figures_line(out, f->who.line, true);
	}
	if (beside && whole)
		fprintf(out, ", and %s in pages without", format_bytes(f->whole).s);
	if (whole && f->c_library && f->ended == UINT64_MAX && !f->caches)
		fprintf(out, ", which malloc_trim(0) may return%s",
			f->threads ? " where it is not at the end of an arena" : "");
}

static void put_amounts(const struct retained *f, FILE *out)
{
	fprintf(out, "%s and %s of live blocks", f->ended == UINT64_MAX ? "freed memory" : "it",
		format_bytes(f->live).s);
	if (!f->ended)
		fputs(", though nothing had been freed", out);
	else if (f->ended != UINT64_MAX)
		fprintf(out, ", though at most %s had been freed", format_bytes(f->ended).s);
	fputs(". ", out);
}

static void put_aligned(const struct retained *f, FILE *out)
{
	fprintf(out, "gaps beside %s of live blocks, because %s", format_bytes(f->live).s,
		format_many(f->aligned, "of these is aligned", "of these are aligned").s);
	if (f->who.line) {
		fputs(", mostly those of ", out);
		figures_line(out, f->who.line, true);
	}
}

void retained_sentence(const struct analysis *a, const struct retained *f, FILE *out)
{
	const int64_t ns = walk_ns(&a->walk, f->ticks);

	if (!f->process)
		return;
	fprintf(out, "%s: %s after the start, ",
		f->aligned		 ? "Alignment wastes resident memory"
		: f->ended == UINT64_MAX ? "Freed memory stays resident"
					 : "Memory without blocks is resident",
		format_since(ns).s);
	if (a->tree.processes > 1)
		fprintf(out, "process %" PRIu32, f->process);
	else
		fputs("the program", out);
	fprintf(out, " had %s of ", format_bytes(freed_of(f)).s);
	if (f->aligned) {
		put_aligned(f, out);
	} else {
		put_amounts(f, out);
		put_where(f, out);
	}
	fprintf(out, ". It was more than half of the heap for %s of %s.", format_ns(f->held_ns).s,
		format_ns(f->of_ns).s);
	if (f->at_once)
		fputs(" Most of it was live at one time, so one arena for all threads would keep "
		      "about as much.",
		      out);
	else if (f->threads)
		fprintf(
		    out,
		    " Most of the heap was in arenas of single threads; with MALLOC_ARENA_MAX=1, "
		    "all %s share one.",
		    format_many(f->threads, "thread", "threads").s);
	if (f->caches)
		fprintf(
		    out,
		    " Each of %s may keep up to %s of freed blocks in a cache of its own, which "
		    "malloc_trim(0) does not return; GLIBC_TUNABLES=" NO_CACHES
		    " switches these caches off.",
		    format_many(f->caches, "thread", "threads").s, format_bytes(f->cache).s);
}

void retained_command(const struct analysis *a, const struct retained *f, FILE *out)
{
	/* Its table of retained and pinned pages covers the whole run; `compare` prints only what
	 * remains after all blocks were freed, and the peaks, which depend on gaps. */
	fputs(f->aligned ? "mprof compare " : "mprof replay ", out);
	/* Both would not fit into a line. */
	if (f->caches)
		fputs("-a 'glibc,glibc[GLIBC_TUNABLES=" NO_CACHES "]' ", out);
	else if (f->threads && !f->at_once)
		fputs("-a 'glibc,glibc[MALLOC_ARENA_MAX=1]' ", out);
	if (a->tree.processes > 1)
		fprintf(out, "--process %" PRIu32 " ", f->process);
	shell_path(a->path, out);
}

#include "../json/retained.def"
