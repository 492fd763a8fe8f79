// SPDX-License-Identifier: LGPL-3.0-or-later
/* print_outside.c - memory that was not allocated through malloc, in words. */
#include "print_findings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "figures.h"
#include "json_rows.h"
#include "quote.h"

void outside_put_place(const struct outside_place *place, FILE *out)
{
	const struct profile_asked *who = &place->asked;

	figures_line(out, who->line, !place->many_lines);
	if (place->many_lines && who->line->line && place->line_bytes)
		figures_most_at(out, who->line->line, place->mostly_line,
				format_bytes(place->line_bytes).s, format_bytes(place->bytes).s);
	else if (place->many_lines && who->line->line)
		fprintf(out, ", %s at line %" PRIu32, place->mostly_line ? "mostly" : "most",
			who->line->line);
	if (who->through) {
		fputs(", through ", out);
		figures_line(out, who->through, false);
	}
	if (who->caller) {
		fprintf(out, ", %scalled by ", who->mostly ? "mostly " : "");
		figures_line(out, who->caller, true);
	}
}

static void put_who(const struct outside *o, FILE *out)
{
	const bool all = o->who.bytes >= o->by_who;

	if (o->mapper)
		fputs(o->mapper->whose, out);
	if (!o->who.asked.line) {
		fputs(o->mapper ? "" : "its own calls of mmap", out);
		return;
	}
	if (o->mapper && all)
		fputs(" (", out);
	else if (o->mapper)
		fprintf(out, ", %s of it in ", format_bytes(o->who.bytes).s);
	outside_put_place(&o->who, out);
	fputs(o->mapper && all ? ")" : "", out);
}

static void put_mapped(const struct outside *o, FILE *out)
{
	const struct text by_who = format_bytes(o->by_who);

	fprintf(out, "%s%s mapped by ", by_who.s,
		strcmp(by_who.s, format_bytes(o->mapped).s) ? " of it was" : " was");
	put_who(o, out);
	if (o->mapper)
		fprintf(out, "; %s", o->mapper->remedy);
	else
		fputs("; mprof does not record the blocks inside it", out);
}

static void put_moved(const struct outside *o, FILE *out)
{
	fprintf(out, "%s was added by brk and sbrk", o->mapped ? format_bytes(o->moved).s : "it");
	if (o->mover.asked.line) {
		fputs(", mostly in ", out);
		outside_put_place(&o->mover, out);
	}
	fputs("; mprof does not record the blocks inside it", out);
}

static void put_unseen(const struct analysis *a, const struct outside *o, FILE *out)
{
	if (o->moved >= o->unseen / 4 * 3) {
		put_moved(o, out);
		return;
	}
	fprintf(out, "no recorded call mapped %s", o->mapped ? format_bytes(o->unseen).s : "it");
	if (o->mapper && !o->mapped) {
		fprintf(out, " (%s; %s)", o->mapper->whose, o->mapper->remedy);
		return;
	}
	if (o->stacks >= o->unseen / 4)
		fprintf(out, "; thread stacks held %s", format_bytes(o->stacks).s);
	if (o->globals >= o->unseen / 4)
		fprintf(out, "; global and thread-local variables held %s",
			format_bytes(o->globals).s);
	if (o->stacks + o->globals < o->unseen / 2)
		fprintf(out, "; it may come from %s",
			a->tree.remarks ? "calls that were not recorded" : "direct system calls");
}

/* Puts "cc1 (process 2)". */
static void put_process(const struct analysis *a, uint32_t process, FILE *out)
{
	const struct tree_process *p = tree_find(&a->tree, process);
	const struct trace_fact *image = p ? tree_image(p) : NULL;
	char *name = image ? text_program(image) : NULL;

	if (name) {
		figures_name(out, name);
		fprintf(out, " (process %" PRIu32 ")", process);
	} else {
		fprintf(out, "process %" PRIu32, process);
	}
	free(name);
}

void outside_sentence(const struct analysis *a, const struct outside *o, FILE *out)
{
	if (!o->process)
		return;
	/* Pages of files and shared memory were not counted. */
	fprintf(out, "%s%s of the %sresident memory of ", o->at_least ? "At least " : "",
		format_percent(o->outside, o->memory).s, o->looked ? "private " : "");
	if (a->tree.processes > 1)
		put_process(a, o->process, out);
	else
		fputs("the program", out);
	fprintf(out, "%s did not come from malloc (%s of %s",
		o->looked ? "" : ", without code and files,", format_bytes(o->outside).s,
		format_bytes(o->memory).s);
	if (o->looked)
		fprintf(out, ", %s after the start", format_since(walk_ns(&a->walk, o->ticks)).s);
	else
		fputs(" at its largest", out);
	fputs("): ", out);
	if (o->by_who)
		put_mapped(o, out);
	if (o->by_who && o->unseen)
		fputs("; ", out);
	if (o->unseen)
		put_unseen(a, o, out);
	fputc('.', out);
}

char *outside_command(const struct analysis *a, const struct outside *o)
{
	if (!o->looked || !a->has_stacks)
		return NULL;
	return shell_command(o->globals > o->outside / 2 ? "mprof report globals "
							 : "mprof report peak-rss ",
			     a->path);
}

#include "../json/outside.def"
