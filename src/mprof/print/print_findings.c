// SPDX-License-Identifier: LGPL-3.0-or-later
/* print_findings.c - findings of call stacks in words. */
#include "print_findings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../pass/thread_title.h"
#include "../util/alloc.h"
#include "../util/columns.h"
#include "../util/utf8.h"
#include "../whatif/change.h"
#include "figures.h"
#include "json_rows.h"
#include "quote.h"

#define OTHER_MOST 34u /* columns of another function's name, if names are short */

static const char *const kind_names[FINDING_KINDS] = {
#define FINDING(id, name, ...) [FINDING_##id] = name,
#include "../profile/finding_kinds.def"
};

static const char *const growth_words[] = {
	[GROWTH_ONCE] = ", from a single call",
	[GROWTH_EARLY] = ", not growing after the first quarter of the run",
	[GROWTH_STEADY] = ", growing throughout the run",
	[GROWTH_GOES_ON] = ", growing to the end of the run",
	[GROWTH_UNTIL] = "",
	[GROWTH_BUSY] = "",
	[GROWTH_OTHER] = "",
};

#define CUT "as far as this trace shows"

static struct long_text growth_of(const struct finding *f)
{
	struct long_text t;

	if (f->growth == GROWTH_UNTIL)
		snprintf(t.s, sizeof(t.s), ", growing until %s after the start",
			 format_ns(f->grew_ns).s);
	else if (f->growth == GROWTH_EARLY && f->grew_ns)
		snprintf(t.s, sizeof(t.s), ", not growing since %s after the start",
			 format_ns(f->grew_ns).s);
	else if (f->growth == GROWTH_BUSY)
		snprintf(t.s, sizeof(t.s),
			 ", growing from %s to %s after the start, when the program made nearly "
			 "all of its calls",
			 format_ns(f->since_ns).s, format_ns(f->grew_ns).s);
	else
		snprintf(t.s, sizeof(t.s), "%s",
			 f->growth != GROWTH_GOES_ON ? growth_words[f->growth]
			 : f->ended_before	     ? ", still growing when its process ended"
			 : f->interrupted	     ? ", still growing"
						     : growth_words[f->growth]);
	return t;
}

static const char *const growth_names[] = {
	[GROWTH_ONCE] = "once",	      [GROWTH_EARLY] = "early", [GROWTH_STEADY] = "steady",
	[GROWTH_GOES_ON] = "goes_on", [GROWTH_UNTIL] = "until", [GROWTH_BUSY] = "busy",
	[GROWTH_OTHER] = "other",
};

/* ---- sentences ---- */

static struct text amount(const struct finding *f, uint64_t n)
{
	static const struct {
		bool BYTES, CALLS;
	} unit[FINDING_KINDS] = {
#define FINDING(id, name, sentence, brief, figure, whole, unit, ...) \
	[FINDING_##id] = { .unit = true },
#include "../profile/finding_kinds.def"
	};

	return unit[f->kind].BYTES ? format_bytes(n) : format_count(n);
}

/* Puts a function, with its line if it is the subject; most: columns of its name, 0 = any. */
static void put_function(const struct sym_line *line, size_t most, bool with_line, FILE *out)
{
	struct sym_line shorter = *line;
	char *name = must_malloc(strlen(line->function) + 4);

	columns_elide(name, line->function, most ? most : SIZE_MAX);
	shorter.function = name;
	figures_line(out, &shorter, with_line);
	if (*line->module == '?') /* an address: generated code */
		fputs(" [no file]", out);
	free(name);
}

/* Puts another function than the subject: common parts are printed only once. */
static void put_other(const struct finding *f, const struct sym_line *line, size_t most,
		      bool with_line, FILE *out)
{
	struct sym_line plain = *line;

	if (!*line->file && !strcmp(line->module, f->line->module))
		plain.known = false; /* so its module is not named */
	put_function(&plain, most ? OTHER_MOST : 0, with_line, out);
}

/* Puts the library's function; of a constructor or an assignment that copies, the class. */
static void put_through(const struct finding *f, size_t most, FILE *out)
{
	struct sym_line through = *f->through;
	const char *function = through.function, *class_ends = NULL, *at;
	const char *mostly = f->all_through ? "" : "mostly ";
	char *name;

	if (profile_copies(f->through))
		for (at = strstr(function, "::"); at; at = strstr(at + 2, "::"))
			class_ends = at;
	if (!class_ends || *function == '<' || strchr(function, '{')) {
		/* An address in an extension tells the author of a script nothing. */
		if (f->line->script && !through.known && !*through.file)
			through.function = through.module;
		fprintf(out, ", %sthrough ", mostly);
		put_other(f, &through, most, false, out);
		return;
	}
	name = must_strndup(function, (size_t)(class_ends - function));
	fprintf(out, ", %sby copying %s", mostly, name);
	free(name);
}

static bool has_source(const struct sym_line *line)
{
	return line && *line->file;
}

/* Puts the function, and its line that has the figure, or most of it. */
static void put_who(const struct finding *f, size_t most, FILE *out)
{
	put_function(f->line, most, f->lines == 1, out);
	if (f->lines > 1 && f->line->line)
		figures_most_at(out, f->line->line, f->at_line.part > f->part / 2,
				amount(f, f->at_line.part).s, amount(f, f->part).s);
	if (f->through)
		put_through(f, most, out);
	if (f->caller) {
		fprintf(out, ", %scalled by ", f->all_by_caller ? "" : "mostly ");
		put_other(f, f->caller, most, true, out);
	}
	if (f->beyond) {
		fputs(", reached mostly from ", out);
		put_other(f, f->beyond, most, true, out);
	}
	if (f->source && !has_source(f->caller) && !has_source(f->beyond)) {
		if (f->beyond)
			fputs(" and ", out);
		else
			fprintf(out, ", reached %sfrom ", f->all_from_source ? "" : "mostly ");
		put_other(f, f->source, most, true, out);
	}
}

static void put_peak(const struct finding *f, size_t most, FILE *out)
{
	fprintf(out, "%s%s of the peak ", f->about ? "About " : "",
		format_percent(f->part, f->of).s);
	if (f->process)
		fprintf(out, "of process %" PRIu32 " ", f->process);
	fprintf(out, "(%s in %s) was allocated by ", format_bytes(f->part).s,
		format_many(f->blocks, "block", "blocks").s);
	put_who(f, most, out);
	if (f->left && f->left >= f->part / 2 && !f->interrupted && !f->cut && !f->left_told)
		fprintf(out, "; %s of its blocks were never freed", format_bytes(f->left).s);
	if (f->quiet_ns)
		fprintf(out, "; none of its %s was freed, though the last one came %s %s",
			format_many(f->calls, "block", "blocks").s, format_ns(f->quiet_ns).s,
			f->runs ? "ago" : "before the end");
	if (f->growing_ns)
		fprintf(out, "; this still grew %s before the end, and was freed only then",
			format_ns(f->growing_ns).s);
	if (f->untouched)
		fprintf(out,
			"; at least %s of it was not resident, because nothing was written "
			"there or it was returned to the system",
			format_bytes(f->untouched).s);
}

/* Puts "5 of the 7 blocks allocated by f", "all 7 blocks ...", "both blocks ...", or "the only
 * block
 * ...". */
static void put_blocks(const struct finding *f, uint64_t part, size_t most, FILE *out)
{
	if (part < f->calls)
		fprintf(out, "%s of the %s ", format_count(part).s, format_count(f->calls).s);
	else if (f->calls == 1)
		fputs("the only ", out);
	else if (f->calls == 2)
		fputs("both ", out);
	else
		fprintf(out, "all %s ", format_count(f->calls).s);
	fprintf(out, "%s allocated by ", f->calls == 1 ? "block" : "blocks");
	put_who(f, most, out);
}

static void put_left_by(const struct finding *f, FILE *out)
{
	if (f->one_by_one)
		fprintf(
		    out,
		    ", left by processes that ended one after another (at most %s was live at a "
		    "time)",
		    format_bytes(f->peak).s);
}

static void put_reachable(const struct finding *f, FILE *out)
{
	if (!f->examined)
		return;
	if (*f->holder.text)
		fprintf(out, "; held by %s", f->holder.text);
	if (f->unreachable && f->unreachable < f->blocks)
		fprintf(out, "; no pointer led to %s of them at the end",
			format_count(f->unreachable).s);
	else if (f->unreachable)
		fprintf(out, "; no pointer led to %s at the end", f->blocks == 1 ? "it" : "them");
}

static void put_leak(const struct finding *f, size_t most, FILE *out)
{
	fprintf(out, "%s%s %s%s%s", f->about ? "About " : "", format_bytes(f->part).s,
		f->runs		 ? "is live now"
		: f->interrupted ? "was live at the end"
				 : "was never freed",
		growth_of(f).s, f->cut ? ", " CUT : "");
	put_left_by(f, out);
	fputs(": ", out);
	put_blocks(f, f->blocks, most, out);
	put_reachable(f, out);
}

static void put_hot(const struct finding *f, size_t most, FILE *out)
{
	fprintf(out, "%s of all allocations (%s%s) come from ", format_percent(f->part, f->of).s,
		f->about ? "about " : "", format_count(f->part).s);
	put_who(f, most, out);
}

#define PLUS "+ makes a new string each time, += or insert grows one in place"

/* How many times the peak is it? */
static struct text times_peak(const struct finding *f, uint64_t bytes)
{
	const uint64_t times = bytes / f->peak;

	return times < 10 ? format_ratio((double)bytes / (double)f->peak) : format_count(times);
}

static void put_total(const struct finding *f, size_t most, FILE *out)
{
	fprintf(out,
		"Over the run, %s was requested, %s times the peak (%s): %s of it (%s in %s) by ",
		format_bytes(f->of).s, times_peak(f, f->of).s, format_bytes(f->peak).s,
		format_percent(f->part, f->of).s, format_bytes(f->part).s,
		format_many(f->blocks, "block", "blocks").s);
	put_who(f, most, out);
	if (findings_of_plus(f))
		fprintf(out, "; %s", PLUS);
}

static void put_temporary(const struct finding *f, size_t most, FILE *out)
{
	fprintf(out,
		"%s of all allocations are freed immediately: ", format_percent(f->part, f->of).s);
	put_blocks(f, f->part, most, out);
}

static void put_grown(const struct finding *f, size_t most, FILE *out)
{
	const struct growth_site *g = &f->grown;
	const bool copies = g->copies == g->steps;
	/* A library's class does copy; of the program's own code, that is unknown. */
	const bool sure = f->through || !copies;

	if (findings_of_plus(f))
		fputs("Growing the string in place (+= or insert) instead of by +", out);
	else if (2 * g->spare >
		 g->reserve) /* the largest size for each would waste more than it saves */
		fprintf(out, "Reserving what each block needs, at most %s,",
			format_bytes(g->reserve).s);
	else
		fprintf(out, "Reserving %s%s", format_bytes(g->reserve).s,
			g->chains == 1 ? "" : " for each block");
	fprintf(out, " would save %s",
		copies ? format_many(g->saved_steps, "new block", "new blocks").s
		       : format_many(g->saved_steps, "call of realloc", "calls of realloc").s);
	if (g->saved_copied)
		fprintf(out, " and up to %s of copying%s", format_bytes(g->saved_copied).s,
			sure ? "" : ", if each is copied into the next");
	fprintf(out, ": %s in %s%s, in ", format_many(g->chains, "block grows", "blocks grow").s,
		format_many(g->steps, "step", "steps").s,
		!sure	 ? " of a new block and a free of the smaller one"
		: copies ? " of a new block, a copy and a free"
			 : "");
	put_who(f, most, out);
}

static void put_waste(const struct finding *f, size_t most, FILE *out)
{
	fprintf(out, "At the peak, the allocator's rounding adds %s to the blocks of ",
		format_bytes(f->part).s);
	put_who(f, most, out);
	if (f->pages)
		fprintf(out, ", and %s of address space in whole pages behind them",
			format_bytes(f->pages).s);
}

static void put_threads(const struct finding *f, size_t most, FILE *out)
{
	fprintf(out,
		"%s of freed blocks (%s) were freed by a thread other than the one that"
		" allocated them: blocks of ",
		format_percent(f->part, f->of).s, format_count(f->part).s);
	put_who(f, most, out);
}

/* ---- the same, of a function that another sentence has named ---- */

static void brief_peak(const struct finding *f, FILE *out)
{
	fprintf(out, "has %s%s of the peak (%s)", f->about ? "about " : "",
		format_percent(f->part, f->of).s, format_bytes(f->part).s);
}

static void brief_leak(const struct finding *f, FILE *out)
{
	const struct long_text text = growth_of(f);
	const char *growth = text.s;

	fprintf(out, "%s %s%s in %s%s", f->interrupted ? "holds" : "never frees",
		f->about ? "about " : "", format_bytes(f->part).s,
		format_many(f->blocks, "block", "blocks").s,
		f->runs		 ? " now"
		: f->interrupted ? " at the end"
				 : "");
	/* In a list, whose items have commas between them. */
	if (*growth || f->cut)
		fprintf(out, " (%s%s%s)", *growth ? growth + strlen(", ") : "",
			*growth && f->cut ? "; " : "", f->cut ? CUT : "");
	if (f->one_by_one)
		fprintf(out, " (at most %s at a time, in processes that ended)",
			format_bytes(f->peak).s);
}

static void brief_hot(const struct finding *f, FILE *out)
{
	fprintf(out, "makes %s of all allocations (%s%s)", format_percent(f->part, f->of).s,
		f->about ? "about " : "", format_count(f->part).s);
}

static void brief_total(const struct finding *f, FILE *out)
{
	fprintf(out, "requests %s over the run (%s times the peak%s)", format_bytes(f->part).s,
		times_peak(f, f->part).s, findings_of_plus(f) ? "; " PLUS : "");
}

static void brief_temporary(const struct finding *f, FILE *out)
{
	fprintf(out, "has %s freed immediately", format_many(f->part, "block", "blocks").s);
}

static void brief_waste(const struct finding *f, FILE *out)
{
	fprintf(out, "loses %s to rounding at the peak", format_bytes(f->part).s);
}

static void brief_threads(const struct finding *f, FILE *out)
{
	fprintf(out, "has %s freed by other threads", format_many(f->part, "block", "blocks").s);
}

bool findings_brief(const struct finding *f, FILE *out)
{
	static void (*const put[FINDING_KINDS])(const struct finding *, FILE *) = {
#define FINDING(id, name, sentence, brief, ...) [FINDING_##id] = brief,
#include "../profile/finding_kinds.def"
	};

	if (put[f->kind] && out)
		put[f->kind](f, out);
	return put[f->kind];
}

void findings_sentence(const struct finding *f, size_t most, FILE *out)
{
	static void (*const put[FINDING_KINDS])(const struct finding *, size_t most, FILE *) = {
#define FINDING(id, name, sentence, ...) [FINDING_##id] = sentence,
#include "../profile/finding_kinds.def"
	};

	put[f->kind](f, most, out);
	fputc('.', out);
}

/* ---- a free of no block ---- */

static void put_place(const char *words, const struct findings *f, uint32_t stack, FILE *out)
{
	/* Names do not change what they name. */
	const struct sym_line *line =
	    stack ? profile_asked((struct profile *)&f->names, stack).line : NULL;

	if (!line)
		return;
	fputs(words, out);
	figures_line(out, line, true);
}

static struct text time_between(const struct analysis *a, uint64_t from, uint64_t to)
{
	return format_ns(to > from ? walk_duration_ns(&a->walk, to - from) : 0);
}

static struct text title_of(const struct analysis *a, uint32_t thread)
{
	return thread_title(walk_thread_name(&a->walk.input, thread), thread);
}

void unmatched_sentence(const struct analysis *a, const struct findings *f, FILE *out)
{
	const struct unmatched *u = &f->unmatched;

	fprintf(out, "%s%s after the start, thread %s",
		a->walk.heap.problems[HEAP_UNMATCHED_FREE] > 1 ? "first, " : "",
		format_ns((uint64_t)walk_ns(&a->walk, u->of->ticks)).s,
		title_of(a, u->of->thread).s);
	put_place(" in ", f, u->stack, out);
	if (u->live.size) {
		fprintf(out, " passed an address %s into a live block of %s",
			format_bytes(u->of->addr - u->live.addr).s, format_bytes(u->live.size).s);
		put_place(", which was allocated by ", f, u->live.stack, out);
	} else if (u->known) {
		fprintf(out, " freed a block of %s again, %s after thread %s",
			format_bytes(u->freed.size).s,
			time_between(a, u->freed_ticks, u->of->ticks).s,
			title_of(a, u->freed_thread).s);
		put_place(" in ", f, u->freed_stack, out);
		fputs(" had freed it", out);
		put_place("; it was allocated by ", f, u->freed.stack, out);
	} else {
		fputs(" freed an address that no recorded call returned", out);
	}
	fputc('.', out);
}

/* ---- the command ---- */

/* Returns a function's name as a glob that matches only it, which the caller frees. */
static char *as_glob(const char *name)
{
	char *glob = must_malloc(2 * strlen(name) + 1), *to = glob;
	int n;

	for (; *name; name += n ? n : 1) {
		if (strchr("*?[\\", *name))
			*to++ = '\\';
		/* Other bytes are matched, not shown. */
		n = utf8_shown_at(name);
		to = mempcpy(to, n ? name : "?", n ? (size_t)n : 1);
	}
	*to = '\0';
	return glob;
}

/* The same for a name that is too long for a line: its beginning and end. */
static char *as_short_glob(const char *name, size_t most)
{
	const size_t n = strlen(name);
	char *first, *begin, *end, *both;
	size_t head, tail;

	if (n <= most)
		return as_glob(name);
	columns_cut(name, n, most, &head, &tail);
	first = must_strndup(name, head);
	begin = as_glob(first);
	end = as_glob(name + n - tail);
	both = must_printf("%s*%s", begin, end);
	free(first);
	free(begin);
	free(end);
	return both;
}

/* Returns the finding's function as a glob that matches only that of this file. */
static char *function_glob(const struct finding *f, size_t most)
{
	char *name = most ? as_short_glob(f->line->function, most) : as_glob(f->line->function);
	char *file, *glob;

	if (!f->has_twin)
		return name;
	file = as_glob(basename(f->line->file));
	glob = must_printf("%s (%s)", name, file);
	free(name);
	free(file);
	return glob;
}

void findings_command(const struct finding *f, const char *trace, size_t most, FILE *out)
{
	static const char *const view[FINDING_KINDS] = {
#define FINDING(id, name, sentence, brief, figure, whole, unit, percent, least, most, weight, \
		change, view)                                                                 \
	[FINDING_##id] = view,
#include "../profile/finding_kinds.def"
	};
	static const char callers[] = "callers";
	const bool of_module = f->line->script && !strcmp(f->line->function, "<module>") &&
			       !strncmp(view[f->kind], callers, strlen(callers));
	const char *totals = f->beside ? "--totals " : "";
	const char *file = sym_file(f->line);
	char *glob = !of_module ? function_glob(f, most)
		     : most	? as_short_glob(file, most)
				: as_glob(file);
	const bool of_function = view[f->kind][strlen(view[f->kind]) - 1] == ' ';

	/* Each module of Python has a function of this name; each of its lines can be an import. */
	if (of_module)
		fprintf(out, "mprof report %sannotate%s", totals, view[f->kind] + strlen(callers));
	else
		fprintf(out, "mprof report %s%s%s", totals, view[f->kind], of_function ? "" : " ");
	if (of_function) {
		shell_word(glob, out);
		fputc(' ', out);
	}
	shell_path(trace, out);
	free(glob);
}

_Static_assert(FINDINGS_POOLED == CHANGE_CHUNK / 4, "what a pool of the usual chunks takes");

static const struct {
	const char *option, *more;
} change[] = {
	[PROPOSES_POOL] = { "--pool-site", ",free-list" },
	[PROPOSES_DROP] = { "--drop-site", "" },
	[PROPOSES_RESERVE] = { "--reserve-site", "" },
};

bool findings_proposes(const struct finding *f)
{
	return finding_proposal(f).change != PROPOSES_NOTHING;
}

/* Returns "read:29", or "stack:17" if no line is known. */
static char *rule_of(const struct finding *f, const struct finding_proposal *p)
{
	char *glob, *rule;

	if (!p->of_line)
		return must_printf("stack:%" PRIu32 "%s", f->at_stack.stack,
				   change[p->change].more);
	glob = function_glob(f, 0);
	/* Distinguishes a function of this name from the number of a stack. */
	rule = must_printf("%s%s:%" PRIu32 "%s", strcmp(glob, "stack") ? "" : "\\", glob,
			   f->line->line, change[p->change].more);
	free(glob);
	return rule;
}

void findings_proof(const struct finding *f, const struct analysis *a, FILE *out)
{
	const struct finding_proposal p = finding_proposal(f);
	char *rule = rule_of(f, &p);

	fprintf(out, "mprof replay %s ", change[p.change].option);
	shell_word(rule, out);
	if (tree_has_several(&a->tree)) /* else replay would play only the busiest */
		fputs(" --process all", out);
	fputc(' ', out);
	shell_path(a->path, out);
	free(rule);
}

void findings_what_if(const struct finding *f, FILE *out)
{
	const struct finding_proposal p = finding_proposal(f);
	const char *whose = p.of_line ? "this line" : "this stack";

	switch (p.change) {
	case PROPOSES_DROP:
		fprintf(out, "what it would save if %s did not allocate its %s", whose,
			format_many(p.calls, "block", "blocks").s);
		break;
	case PROPOSES_POOL:
		fprintf(out, "what it would save if the %s of %s came from a pool",
			format_many(p.calls, "block", "blocks").s, whose);
		break;
	case PROPOSES_RESERVE:
		if (p.calls == 1)
			fputs("what it would save if the block had its full size from the start",
			      out);
		else
			fprintf(out,
				"what it would save if the %s blocks had their full size from the "
				"start",
				format_count(p.calls).s);
		break;
	case PROPOSES_NOTHING:
		break;
	}
}

/* ---- JSON ---- */

#include "../json/findings.def"
