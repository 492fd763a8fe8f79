// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * report_findings.c - the most important facts, in sentences: what can be improved, then figures of
 * the whole run.
 *
 * One function for each sentence; it prints nothing if it does not apply. A sentence states its
 * figure, then what it means.
 */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../sym/interpreters.h"
#include "../util/alloc.h"
#include "interpreter_words.h"
#include "print_findings.h"
#include "print_times.h"
#include "quote.h"
#include "resident_words.h"

#define MODULE_BYTES	 100 /* of a name in a sentence about several */
#define KEPT_TOLD	 4u  /* reasons */
#define PEAK_FACTOR_TOLD 2   /* from this factor on, say how often the peak was allocated again */

void report_nothing(const struct analysis *a, FILE *out)
{
	if (a->sizes.total.count || (a->of_totals && a->whole.total.calls))
		return;
	if (a->tree.owns)
		fprintf(out,
			"  * No call of malloc was seen: '%s' defines malloc itself (see above).\n",
			a->tree.own[0].path);
	else
		fprintf(out, "  * No %s.\n",
			trace_lacks_events(a->damage) ? "allocation can be read"
			: report_is_incomplete(a)     ? "allocation was recorded"
						      : "block was allocated");
}

/* Printed early, because what follows applies only to the rest. */
static void tell_outside(const struct analysis *a, FILE *out)
{
	const struct outside *o = a->findings ? &a->findings->outside : NULL;
	char *command;

	if (!o || !o->process)
		return;
	fputs("  * ", out);
	outside_sentence(a, o, out);
	fputc('\n', out);
	command = outside_command(a, o);
	if (command)
		fprintf(out, "      %s\n", command);
	free(command);
}

static void tell_stack_uses(const struct analysis *a, FILE *out)
{
	size_t i;

	for (i = 0; a->findings && i < STACK_FINDINGS; i++) {
		if (!stack_finding_is(&a->findings->stacks, i))
			continue;
		fputs("  * ", out);
		stack_finding_sentence(a, &a->findings->stacks, i, out);
		fputc('\n', out);
	}
}

static void tell_retained(const struct analysis *a, FILE *out)
{
	if (!a->findings || !a->findings->retained.process)
		return;
	fputs("  * ", out);
	retained_sentence(a, &a->findings->retained, out);
	fputc('\n', out);
}

static void tell_larger(const struct analysis *a, FILE *out)
{
	if (!a->findings || !a->findings->larger.process)
		return;
	fputs("  * ", out);
	larger_sentence(a, &a->findings->larger, out);
	fputs("\n      ", out);
	larger_command(a, out);
	fputc('\n', out);
}

static void tell_refaults(const struct analysis *a, FILE *out)
{
	if (!a->findings || !a->findings->refaults.process)
		return;
	fputs("  * ", out);
	refaults_sentence(a, &a->findings->refaults, out);
	fputs("\n      ", out);
	refaults_command(a, &a->findings->refaults, 0, out);
	fputc('\n', out);
}

static void tell_time_finding(const struct analysis *a, FILE *out)
{
	char *command;

	if (!a->findings || !a->findings->times.high)
		return;
	fputs("  * ", out);
	time_finding_sentence(&a->findings->times, out);
	command = shell_command(TIME_COMMAND, a->path);
	fprintf(out, "\n      %s\n", command);
	free(command);
}

static void tell_times(const struct analysis *a, FILE *out)
{
	if (!a->findings || !times_are_told(&a->findings->times))
		return;
	fputs("  * ", out);
	times_sentence(&a->findings->times, out);
	fputc('\n', out);
}

/* Printed before all sums over calls. */
static void tell_reduced(const struct analysis *a, FILE *out)
{
	if (report_is_reduced(a))
		fputs(
		    "  * The next figures count the recorded calls only: the whole run had more.\n",
		    out);
}

static void tell_peak(const struct analysis *a, FILE *out)
{
	const struct peak_of *p = &a->peak.all;

	if (!a->sizes.total.count)
		return;
	fprintf(out, "  * At its peak, %s%s%s held %s in %s.\n",
		a->untimed ? "" : report_since(a, p->ticks).s,
		a->untimed ? "" : " after the start, ",
		a->tree.processes > 1 ? "all processes together" : "the program",
		format_exact(p->at.bytes).s, format_many(p->at.blocks, "block", "blocks").s);
	if (a->sizes.bytes / PEAK_FACTOR_TOLD >= p->at.bytes && p->at.bytes)
		fprintf(out, "  * In total, %s in %s were allocated: %s times the peak.\n",
			format_exact(a->sizes.bytes).s,
			format_many(a->sizes.total.count, "block", "blocks").s,
			format_mean(a->sizes.bytes, p->at.bytes).s);
}

static void tell_never_freed(const struct analysis *a, FILE *out)
{
	const struct never_freed_process *n = &a->never_freed.all;

	if (n->blocks)
		fprintf(out, "  * %s, %s, %s %s%s.\n", format_many(n->blocks, "block", "blocks").s,
			format_exact(n->bytes).s, n->blocks == 1 ? "was" : "were",
			report_ends_early(a)	  ? "live at the last event that was kept"
			: text_running(&a->tree)  ? "live when this was written"
			: analysis_interrupted(a) ? "live at the end"
						  : "never freed",
			analysis_is_cut(a) ? ", as far as this trace shows" : "");
	else if (a->sizes.total.count)
		fputs(n->exec_blocks ? "" : "  * Every block was freed.\n", out);
	if (n->exec_blocks)
		fprintf(out, "  * %s, %s, %s live when a program called exec.\n",
			format_many(n->exec_blocks, "block", "blocks").s,
			format_exact(n->exec_bytes).s, n->exec_blocks == 1 ? "was" : "were");
}

/* Names memory that every program has and cannot free. */
static void tell_kept(const struct analysis *a, FILE *out)
{
	const struct kept *k = a->findings ? &a->findings->kept : NULL;
	size_t i;

	if (!k || !(k->all.peak_bytes | k->all.live_bytes))
		return;
	fprintf(out, "  * Not in your code: %s keep %s%s in %s", kept_by(k), kept_least(k),
		format_bytes(k->all.live_blocks ? k->all.live_bytes : k->all.peak_bytes).s,
		format_many(k->all.live_blocks ? k->all.live_blocks : k->all.peak_blocks, "block",
			    "blocks")
		    .s);
	if (k->all.live_blocks && k->all.peak_bytes)
		fprintf(out, " of these, and %s of the peak",
			k->all.peak_bytes == k->all.live_bytes ? "as much"
							       : format_bytes(k->all.peak_bytes).s);
	else
		fputs(k->all.live_blocks ? " of these" : " of the peak", out);
	for (i = 0; i < k->rows && i < KEPT_TOLD; i++)
		fprintf(out, "%s %s (%s)", i ? "," : ":", k->row[i].why,
			format_bytes(k->row[i].live_bytes > k->row[i].peak_bytes
					 ? k->row[i].live_bytes
					 : k->row[i].peak_bytes)
			    .s);
	fputs(i < k->rows ? ", and others.\n" : ".\n", out);
}

const char *report_realloc_ends(const struct analysis *a)
{
	const struct resizes *r = &a->resizes;
	const uint64_t moved = r->moved.grew + r->moved.shrank + r->moved.same;
	const uint64_t stayed = r->in_place.grew + r->in_place.shrank + r->in_place.same;

	return moved + stayed >= a->lifetimes.blocks / 10 + 1 ? " (realloc counts as a free)" : "";
}

static void tell_lifetimes(const struct analysis *a, FILE *out)
{
	const struct lifetimes *l = &a->lifetimes;

	if (!l->blocks || a->untimed)
		return;
	fprintf(out, "  * %s of the freed blocks lived less than 1 ms, %s less than 1 us%s",
		format_percent(l->under_1ms, l->blocks).s,
		format_percent(l->under_1us, l->blocks).s, report_realloc_ends(a));
	if (l->other_thread)
		fprintf(out, "; %s were freed by another thread",
			format_percent(l->other_thread, l->blocks).s);
	fputs(".\n", out);
}

static void tell_waste(const struct analysis *a, FILE *out)
{
	const struct live *at = &a->peak.all.at;

	if (at->bytes && analysis_knows_rounding(a))
		fprintf(
		    out,
		    "  * At the peak, the allocator's rounding added %s to the requested bytes"
		    " (%s)%s.\n",
		    format_bytes(at->slack).s, format_percent(at->slack, at->bytes).s,
		    at->slack > at->blocks * a->walk.heap.page_size
			? ", mostly of address space: whole pages, which take memory only where "
			  "they are written to"
			: "");
}

static void tell_compactness(const struct analysis *a, FILE *out)
{
	const struct compactness_of *c = &a->compactness.all;

	if (!c->high_touched || report_is_recent(a))
		return;
	fprintf(
	    out,
	    "  * At the peak, the live bytes occupied %s and would fit into %s (compactness %s; "
	    "1.00 is perfect).\n",
	    format_many(c->high_touched, "page", "pages").s, format_count(c->high_needed).s,
	    format_ratio(c->at_peak).s);
}

/* Prints the time of a sample, so the sentence names its process if there are several. */
static void tell_resident(const struct analysis *a, FILE *out)
{
	const struct residency_sample *s = &a->residency.fullest;
	const uint64_t page = a->walk.heap.page_size;

	if (!a->residency.compared || report_is_recent(a))
		return;
	fprintf(out, "  * %s after the start", report_since(a, s->ticks).s);
	if (a->tree.processes > 1)
		fprintf(out, ", process %" PRIu32 " had", s->process);
	else
		fputs(", it had", out);
	fprintf(out,
		" %s of heap, stacks and data resident, %s of it in pages with live "
		"blocks.\n",
		format_bytes(s->resident * page).s, format_bytes(s->under_live * page).s);
}

static void tell_sentence(void (*add)(struct paragraph *words, const struct analysis *a),
			  const struct analysis *a, FILE *out)
{
	struct paragraph words = { 0 };

	add(&words, a);
	if (words.n)
		fprintf(out, "  * %.*s\n", (int)words.n - 1, words.text); /* a blank is last */
	paragraph_release(&words);
}

static void tell_huge_pages(const struct analysis *a, FILE *out)
{
	tell_sentence(resident_huge_pages, a, out);
}

static void tell_together(const struct analysis *a, FILE *out)
{
	tell_sentence(resident_together, a, out);
}

static void tell_maps(const struct analysis *a, FILE *out)
{
	if (a->maps.all.peak)
		fprintf(out, "  * In addition, up to %s of address space was mapped directly.\n",
			format_bytes(a->maps.all.peak).s);
}

static void tell_realloc(const struct analysis *a, FILE *out)
{
	const struct resizes *r = &a->resizes;
	uint64_t moved = r->moved.grew + r->moved.shrank + r->moved.same;
	uint64_t stayed = r->in_place.grew + r->in_place.shrank + r->in_place.same;

	if (moved + stayed)
		fprintf(out, "  * realloc moved %s of its blocks and copied at most %s.\n",
			format_percent(moved, moved + stayed).s, format_exact(r->copied_bytes).s);
}

static void tell_failures(const struct analysis *a, FILE *out)
{
	if (!a->totals.all.failed)
		return;
	fputs("  * ", out);
	failures_sentence(a, out);
	fputc('\n', out);
}

/* Reports the program's own errors, if the trace has all calls and no others contradict each
 * other. */
static void tell_unmatched(const struct analysis *a, uint64_t frees, FILE *out)
{
	const bool known = a->findings && a->findings->unmatched.of;

	fprintf(out, "  * %s an address where no block was live: ",
		format_many(frees, "free passed", "frees passed").s);
	if (known)
		unmatched_sentence(a, a->findings, out);
	else
		fputs("a block freed twice, or one that no recorded call returned.", out);
	fprintf(out, " mprof -m Guard PROGRAM finds the %s.\n",
		known && !a->findings->unmatched.stack ? "calls of free" : "place");
}

static void tell_problems(const struct analysis *a, FILE *out)
{
	const uint64_t *n = a->walk.heap.problems;
	const uint64_t doubled = n[HEAP_DOUBLE_ALLOCATION], unmatched = n[HEAP_UNMATCHED_FREE];

	if (unmatched && !doubled && !analysis_is_cut(a))
		tell_unmatched(a, unmatched, out);
	else if (doubled + unmatched)
		fprintf(
		    out, "  * The trace contradicts itself: %s%s%s%s.\n",
		    doubled ? format_many(doubled, "double allocation", "double allocations").s
			    : "",
		    doubled && unmatched ? " and " : "",
		    unmatched ? format_many(unmatched, "unmatched free", "unmatched frees").s : "",
		    analysis_is_cut(a) ? "; what is missing from the trace may be the reason" : "");
}

#define ADDRESS_BITS 47 /* of a program */

/* WRAP can name a function whose first argument is not a size. */
static void tell_impossible(const struct analysis *a, FILE *out)
{
	if (a->peak.all.at.bytes >> ADDRESS_BITS)
		fputs("  * More bytes were live than a program can address. A function that "
		      "--wrap names may take its size second, as in pool_alloc(pool, size): "
		      "then use memalign:FUNCTION.\n",
		      out);
}

void report_warnings(const struct analysis *a, FILE *out)
{
	tell_failures(a, out);
	tell_impossible(a, out);
	tell_problems(a, out);
}

/* Does a finding call objects of a script never freed? */
static bool tells_of_kept(const struct finding *const *f, size_t n,
			  const struct sym_interpreter *of)
{
	for (size_t i = 0; i < n; i++)
		if (f[i] && (f[i]->kind == FINDING_LEAK || f[i]->left) && !f[i]->interrupted &&
		    sym_interpreter(f[i]->line->module) == of)
			return true;
	return false;
}

void report_interpreter(struct paragraph *p, const struct analysis *a,
			const struct finding *const *f, size_t n)
{
	const struct sym_line *line;
	size_t i = 0;

	while (i < n && !(f[i] && f[i]->interpreter))
		i++;
	if (i == n)
		return;
	line = f[i]->interpreter;
	interpreter_words(p, &(struct interpreter_words){
				 .module = line->module,
				 .calls = f[i]->line->module,
				 .left = tells_of_kept(f, n, sym_interpreter(line->module)),
				 .coded = a->findings->names.stacks->codes > 0,
				 .unnamed = interpreter_unnamed(a->findings->names.stacks),
				 .header = a->walk.input.header,
				 .tree = &a->tree,
			     });
}

/* Lists the findings about functions; returns their number. */
static size_t findings_list(const struct analysis *a, const struct finding *f[FINDINGS])
{
	const size_t n = a->findings ? a->findings->count : 0;

	for (size_t i = 0; i < n; i++)
		f[i] = &a->findings->item[i];
	return n;
}

static void tell_interpreter(const struct analysis *a, FILE *out)
{
	const struct finding *f[FINDINGS];
	const size_t n = findings_list(a, f);
	struct paragraph words = { 0 };

	report_interpreter(&words, a, f, n);
	if (words.n)
		fprintf(out, "  * %s\n", words.text);
	paragraph_release(&words);
}

/* Prints the allocating functions, each with the command that shows it. */
static void tell_stacks(const struct analysis *a, FILE *out)
{
	const struct findings *f = a->findings;
	const bool script = f && f->count && f->item[0].interpreter;
	size_t i;

	if (script) /* what names it comes before what does not */
		tell_interpreter(a, out);
	for (i = 0; f && i < f->count; i++) {
		fputs("  * ", out);
		findings_sentence(&f->item[i], 0, out);
		fputs("\n      ", out);
		findings_command(&f->item[i], a->path, 0, out);
		fputc('\n', out);
		if (!findings_proposes(&f->item[i]))
			continue;
		fputs("    To see ", out);
		findings_what_if(&f->item[i], out);
		fputs(":\n      ", out);
		findings_proof(&f->item[i], a, out);
		fputc('\n', out);
	}
	if (!script)
		tell_interpreter(a, out);
}

static const char *remedy(const struct sym_remark *r, const char *path, const char *module)
{
	if (r->split)
		return " Keep the .dwo files where the compiler wrote them, or beside the program.";
	if (!strncmp(module, "memfd:", 6))
		return "";
	if (strstr(path, STACK_APPIMAGE))
		return " Extract it (--appimage-extract), and record squashfs-root/AppRun.";
	return " Record it again, or keep the files of the recorded programs and pass their"
	       " directory to --sysroot.";
}

struct long_text report_unread(const struct analysis *a, const char *module)
{
	const struct profile *p = &a->findings->names;
	struct long_text t = { .s = "" };
	const struct sym_remark *r;
	size_t n = sym_remarks(p->sym, &r);

	for (; n && !*t.s; n--, r++) {
		const char *path = r->object ? p->stacks->object[r->object].path : "";

		if (r->object && !r->stripped && !strcmp(basename(path), module))
			snprintf(t.s, sizeof(t.s), "%s for %s: %s.%s",
				 r->split ? "No inlined functions and few lines" : "No names",
				 module, r->why, remedy(r, path, module));
	}
	return t;
}

static bool is_named_in(const struct sym_line *line, const char *module)
{
	return line && *line->file && !strcmp(line->module, module);
}

/* Does a finding show a source line of the object?  Then only a part of it was built without -g. */
static bool shows_lines_of(const struct finding *const *f, size_t n, const char *module)
{
	for (size_t i = 0; i < n; i++)
		if (f[i] &&
		    (is_named_in(f[i]->line, module) || is_named_in(f[i]->through, module) ||
		     is_named_in(f[i]->caller, module) || is_named_in(f[i]->source, module)))
			return true;
	return false;
}

void report_unnamed(struct report_unnamed *u, const struct analysis *a,
		    const struct finding *const *f, size_t n)
{
	const char *named[REPORT_UNNAMED], **list;
	size_t names = 0, *count, length, i, k;

	*u = (struct report_unnamed){ .unread_count = 0 };
	for (i = 0; i < n && names < REPORT_UNNAMED && u->unread_count < REPORT_UNNAMED; i++) {
		const struct sym_line *line = f[i] ? f[i]->line : NULL;

		if (!line || *line->file || *line->module == '?' || sym_interpreter(line->module))
			continue;
		list = *report_unread(a, line->module).s ? u->unread : named;
		if (list == named && shows_lines_of(f, n, line->module))
			continue;
		count = list == named ? &names : &u->unread_count;
		for (k = 0; k < *count && strcmp(list[k], line->module) != 0; k++)
			;
		if (k == *count)
			list[(*count)++] = line->module;
	}
	length = (size_t)snprintf(u->text.s, sizeof(u->text.s), names ? "No source lines for" : "");
	for (i = 0; i < names; i++)
		length += (size_t)snprintf(u->text.s + length, sizeof(u->text.s) - length,
					   "%s %.*s", i ? "," : "", MODULE_BYTES, named[i]);
	if (names)
		snprintf(u->text.s + length, sizeof(u->text.s) - length, "%s",
			 ": build with -g, install debug symbols (-dbgsym or -debuginfo packages),"
			 " or add --debuginfod.");
}

/* The objects of the findings above whose lines are unknown. */
static void tell_unnamed(const struct analysis *a, FILE *out)
{
	const struct finding *f[FINDINGS];
	struct report_unnamed u;
	const size_t n = findings_list(a, f);
	size_t i;

	report_unnamed(&u, a, f, n);
	for (i = 0; i < u.unread_count; i++)
		fprintf(out, "  * %s\n", report_unread(a, u.unread[i]).s);
	if (*u.text.s)
		fprintf(out, "  * %s\n", u.text.s);
}

static void tell_note(const struct analysis *a, FILE *out)
{
	const struct findings *f = a->findings;
	size_t i = 0;

	while (f && i < f->count && !f->item[i].note)
		i++;
	if (f && i < f->count)
		fprintf(out, "  * %s\n", f->item[i].note);
}

typedef void sentence(const struct analysis *a, FILE *out);

/* What can be improved. */
void report_found(const struct analysis *a, FILE *out)
{
	static sentence *const list[] = {
		report_nothing,	   tell_reduced,  report_warnings, tell_outside,
		tell_stack_uses,   tell_retained, tell_refaults,   tell_larger,
		tell_time_finding, tell_stacks,	  tell_note,	   tell_unnamed,
	};
	size_t i;

	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		list[i](a, out);
}

/* Facts that are neither good nor bad. */
static void tell_facts(const struct analysis *a, FILE *out)
{
	static sentence *const list[] = {
		tell_peak,     tell_never_freed, tell_kept,	tell_lifetimes,
		tell_waste,    tell_compactness, tell_resident, tell_huge_pages,
		tell_together, tell_maps,	 tell_realloc,	tell_times,
	};
	size_t i;

	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		list[i](a, out);
}

void report_findings(const struct analysis *a, FILE *out)
{
	char *found = WRITTEN(to, report_found(a, to)), *facts = WRITTEN(to, tell_facts(a, to));

	fputs(found, out);
	if (*found && *facts)
		fprintf(out, "\n%s\n", report_span(a).s);
	fputs(facts, out);
	free(found);
	free(facts);
}
