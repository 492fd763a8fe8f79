// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * report_screen.c - the first screen of a report: what ran and how it ended, what
 * is missing, the figures of the whole run, then the findings that gain most.
 *
 * At most SCREEN_LINES: each part has its share, and findings get the rest, at least one. What does
 * not fit is counted, and --all shows it.
 */
#include "report.h"

#include <stdlib.h>
#include <string.h>

#include "../sym/interpreters.h"
#include "../util/alloc.h"
#include "../util/columns.h"
#include "figures.h"
#include "print_findings.h"
#include "print_times.h"
#include "paragraph.h"
#include "quote.h"
#include "resident_words.h"
#include "screen_figures.h"
#include "source_text.h"

#define SCREEN_LINES	40u
#define FINDINGS_SHOWN	8u
#define MISSING_LINES	6u
#define WARNING_LINES	5u
#define NAME_MOST	34u	 /* letters of a function in a command */
#define SUBJECT_MOST	60u	 /* columns of a function in a finding */
#define PROOF_MOST	100u	 /* letters: a longer command is for --all */
#define COMPARED_CALLS	1000000u /* with fewer, another allocator makes no difference */
#define VIEWS		"; views: mprof report --help"
#define PROOF_REMARK	" # measures the gain"
#define RETAINED_REMARK " # Retained and pinned pages"

struct screen {
	const struct analysis *a;
	FILE *out;
	unsigned width;
	long left; /* lines; negative if the parts before the findings took too many */
};

void report_title(const char *title, FILE *out)
{
	terminal_style(out, STYLE_HEADING);
	fputs(title, out);
	terminal_style(out, STYLE_PLAIN);
	fputc('\n', out);
}

static void title(struct screen *s, const char *text)
{
	fputc('\n', s->out);
	report_title(text, s->out);
	s->left -= 2;
}

/* Prints and empties it. */
static void say(struct screen *s, struct paragraph *p, const char *first, unsigned indent)
{
	const struct paragraph_form form = { first, indent, s->width, false };

	if (p->n)
		s->left -= (long)paragraph_print(p, &form, s->out);
	paragraph_release(p);
}

/* ---- what ran ---- */

static void tell_command(struct screen *s, const char *before, const struct trace_fact *image)
{
	const struct long_text whole = text_command(image, sizeof(whole.s));
	struct paragraph p = { 0 };
	char line[sizeof(whole.s) + 4];

	columns_elide_arguments(line, whole.s, s->width - strlen(before));
	paragraph_add_styled(&p, STYLE_HEADING, "%s%s", before, line);
	say(s, &p, "", 0);
}

/* The C library's malloc is not worth naming. */
static bool is_usual(const char *allocator)
{
	const char *name = text_base(allocator);

	return !*name || !strncmp(name, "libc.", 5) || !strncmp(name, "libc-", 5) ||
	       !strncmp(name, "ld-musl", 7);
}

static void tell_run(struct screen *s)
{
	const struct analysis *a = s->a;
	const struct tree_process *p = a->tree.processes ? &a->tree.process[0] : NULL;
	const struct trace_fact *image = p ? tree_image(p) : NULL;
	struct paragraph words = { 0 };

	if (p && p->images)
		tell_command(s, "", p->image[0]);
	else /* another tool's record: it names no program */
		paragraph_add(&words, "A program without a recorded name. ");
	if (p && p->images > 1)
		tell_command(s, "which became: ", image);
	if (p) {
		paragraph_add(&words, "It ");
		paragraph_add_styled(
		    &words, p->end == TREE_EXITED && !p->status ? STYLE_PLAIN : STYLE_WARNING, "%s",
		    text_end(p).s);
		paragraph_add(&words, "%s. ", report_end(a).s);
	}
	paragraph_add(&words, "Recorded %s of %s",
		      format_many(a->totals.all.calls, "call", "calls").s,
		      format_many(a->totals.thread.count, "thread", "threads").s);
	if (a->tree.processes > 1)
		paragraph_add(&words, " in %s",
			      format_many(a->tree.processes, "process", "processes").s);
	paragraph_add(&words, "; trace: %s (%s).", a->path, format_bytes(a->file_bytes).s);
	if (image && !is_usual(image->allocator))
		paragraph_add(&words, " Allocator: %s.", image->allocator);
	if (report_is_partial(a))
		paragraph_add(&words, " %s", report_partial(a).s);
	say(s, &words, "  ", 2);
}

/* ---- warnings ---- */

/* Each line of text, or sentence behind "  * ", as a paragraph; those that fit. */
static void tell_lines(struct screen *s, char *text, size_t most)
{
	struct paragraph p = { 0 };
	char *line, *rest = text;
	size_t n, more = 0;

	while ((line = strsep(&rest, "\n"))) {
		unsigned deep = (unsigned)strspn(line, " *");

		if (!line[deep])
			continue;
		paragraph_add_styled(&p, STYLE_WARNING, "%s", line + deep);
		n = paragraph_print(&p, &(struct paragraph_form){ "  ", 4, s->width, false }, NULL);
		if (n > most || (more && n == most)) {
			more++;
			most = 0;
			paragraph_release(&p);
			continue;
		}
		most -= n;
		say(s, &p, "  ", 4);
	}
	if (!more)
		return;
	paragraph_add_styled(&p, STYLE_WARNING, "And %s: see mprof report --all.",
			     format_many(more, "more line", "more lines").s);
	say(s, &p, "  ", 4);
}

static void tell_warnings(struct screen *s)
{
	char *missing = WRITTEN(out, if (report_is_incomplete(s->a)) report_missing(s->a, out));
	char *other = WRITTEN(out, report_unended(s->a, out); report_warnings(s->a, out));

	if (*missing) {
		title(s, "What is missing from this trace");
		tell_lines(s, missing, MISSING_LINES);
	}
	if (*other) {
		title(s, "Warnings");
		tell_lines(s, other, WARNING_LINES);
	}
	free(missing);
	free(other);
}

/* ---- the whole run ---- */

/* text: freed. */
static void put_text(struct paragraph *p, enum style style, char *text)
{
	paragraph_add_styled(p, style, "%s", text);
	free(text);
}

static void say_printed(struct screen *s, void (*print)(const struct analysis *a, FILE *out),
			enum style style, unsigned indent)
{
	struct paragraph words = { 0 };

	put_text(&words, style, WRITTEN(out, print(s->a, out)));
	say(s, &words, "    " + (4 - indent), indent);
}

/* For a trace that does not contain all calls. */
static void tell_whole(struct screen *s)
{
	title(s, "The whole run");
	say_printed(s, report_whole, STYLE_PLAIN, 2);
	say_printed(s, report_whole_command, STYLE_FAINT, 4);
}

static void tell_totals(struct screen *s)
{
	struct paragraph words = { 0 };

	screen_totals(&words, s->a);
	say(s, &words, "  ", 2);
}

static void tell_heap(struct screen *s)
{
	struct paragraph words = { 0 };

	screen_heap(&words, s->a);
	say(s, &words, "  ", 2);
}

static void tell_times(struct screen *s)
{
	const struct findings *f = s->a->findings;
	struct paragraph words = { 0 };

	if (!f || screen_is_tree(s->a) || !times_are_told(&f->times))
		return;
	put_text(&words, STYLE_PLAIN, WRITTEN(out, times_sentence(&f->times, out)));
	say(s, &words, "  ", 2);
}

static void tell_figures(struct screen *s)
{
	tell_totals(s);
	/* What the pages held and how long blocks lived is known of a part only. */
	if (!report_is_reduced(s->a))
		tell_heap(s);
	tell_times(s);
}

static bool is_whole_tree(const struct screen *s)
{
	return screen_is_tree(s->a) && s->a->sizes.total.count && !report_is_partial(s->a);
}

/* ---- findings ---- */

/* One of the numbered list. */
struct item {
	struct paragraph words, command, proof; /* empty: none */
	const char *remark;			/* behind the command, if it fits; or NULL */
	const struct finding *finding, *also[FINDINGS];
	size_t also_count;
	uint64_t bytes; /* of memory that it is about; UINT64_MAX for a warning */
	size_t lines, proof_lines;
	bool proved; /* the command still fits */
};

static void mark_place(struct paragraph *p, const struct sym_line *line)
{
	char *place;

	if (!line)
		return;
	place = figures_line_text(line, true);
	if (*place && p->n && !strstr(p->text, place)) {
		free(place);
		place = figures_line_text(line, false);
	}
	paragraph_mark(p, place, STYLE_PLACE);
	free(place);
}

static void outside_item(struct item *x, const struct analysis *a)
{
	const struct outside *o = &a->findings->outside;
	char *command = outside_command(a, o);

	x->bytes = o->outside;
	put_text(&x->words, STYLE_PLAIN, WRITTEN(out, outside_sentence(a, o, out)));
	mark_place(&x->words, o->who.asked.line);
	if (command)
		put_text(&x->command, STYLE_FAINT, command);
}

static void stacks_item(struct item *x, const struct analysis *a, size_t which)
{
	x->bytes = stack_finding_bytes(&a->findings->stacks, which);
	put_text(&x->words, STYLE_PLAIN,
		 WRITTEN(out, stack_finding_sentence(a, &a->findings->stacks, which, out)));
	mark_place(&x->words, stack_finding_line(&a->findings->stacks, which));
	put_text(&x->command, STYLE_FAINT, shell_command(stack_finding_command(which), a->path));
}

static void larger_item(struct item *x, const struct analysis *a)
{
	const struct larger *f = &a->findings->larger;

	x->bytes = f->rest;
	put_text(&x->words, STYLE_PLAIN, WRITTEN(out, larger_sentence(a, f, out)));
	put_text(&x->command, STYLE_FAINT, WRITTEN(out, larger_command(a, out)));
}

static void refaults_item(struct item *x, const struct analysis *a)
{
	const struct refaults *f = &a->findings->refaults;

	x->bytes = UINT64_MAX; /* time, not memory */
	put_text(&x->words, STYLE_PLAIN, WRITTEN(out, refaults_sentence(a, f, out)));
	mark_place(&x->words, f->line);
	put_text(&x->command, STYLE_FAINT, WRITTEN(out, refaults_command(a, f, NAME_MOST, out)));
}

static void time_item(struct item *x, const struct analysis *a)
{
	put_text(&x->words, STYLE_PLAIN,
		 WRITTEN(out, time_finding_sentence(&a->findings->times, out)));
	put_text(&x->command, STYLE_FAINT, shell_command(TIME_COMMAND, a->path));
}

static void retained_item(struct item *x, const struct analysis *a)
{
	const struct retained *f = &a->findings->retained;

	x->bytes = f->beside + f->whole;
	put_text(&x->words, STYLE_PLAIN, WRITTEN(out, retained_sentence(a, f, out)));
	mark_place(&x->words, f->who.line);
	put_text(&x->command, STYLE_FAINT, WRITTEN(out, retained_command(a, f, out)));
	/* The table that answers the question. */
	x->remark = a->findings->retained.aligned ? NULL : RETAINED_REMARK;
}

/* The same function is named once: its further findings are added in few words. */
static void put_also(const struct item *x, FILE *out)
{
	size_t i;

	for (i = 0; i < x->also_count; i++) {
		fputs(!i ? " It also " : i + 1 < x->also_count ? ", " : " and ", out);
		findings_brief(x->also[i], out);
	}
	fputs(x->also_count ? "." : "", out);
}

/* The finding itself, or the first of those added to it, that proposes a change. */
static const struct finding *proposal_of(const struct item *x)
{
	size_t i;

	if (findings_proposes(x->finding))
		return x->finding;
	for (i = 0; i < x->also_count; i++)
		if (findings_proposes(x->also[i]))
			return x->also[i];
	return NULL;
}

static void finding_item(struct item *x, const struct analysis *a)
{
	static const bool in_memory[FINDING_KINDS] = {
#define FINDING(id, name, sentence, brief, figure, whole, unit, percent, least, most, weight, \
		change, view)                                                                 \
	[FINDING_##id] =                                                                      \
	    offsetof(struct site_values, whole) == offsetof(struct site_values, peak_bytes),
#include "../profile/finding_kinds.def"
	};
	const struct finding *f = x->finding, *proposal = proposal_of(x);

	x->bytes = in_memory[f->kind] ? f->part : 0;
	put_text(&x->words, STYLE_PLAIN,
		 WRITTEN(out, findings_sentence(f, SUBJECT_MOST, out); put_also(x, out)));
	mark_place(&x->words, f->line);
	put_text(&x->command, STYLE_FAINT,
		 WRITTEN(out, findings_command(f, a->path, NAME_MOST, out)));
	if (proposal)
		put_text(&x->proof, STYLE_FAINT, WRITTEN(out, findings_proof(proposal, a, out)));
}

/* Is it the fault of another caller of the same function?  Only its own sentence names that. */
static bool has_own_caller(const struct finding *f, const struct finding *of)
{
	return f->caller && (!of->caller || sym_order_functions(f->caller, of->caller));
}

/* Does an item about the same function take it? */
static bool is_added(struct item *item, size_t n, const struct finding *f)
{
	for (struct item *x = item; x < item + n; x++) {
		if (!x->finding || !findings_same_function(x->finding, f) ||
		    has_own_caller(f, x->finding))
			continue;
		/* The peak of what was never freed is the same blocks. */
		if (f->kind == FINDING_PEAK && x->finding->kind == FINDING_LEAK &&
		    x->finding->part >= f->part / 2)
			return true;
		if (findings_brief(f, NULL)) {
			x->also[x->also_count++] = f;
			return true;
		}
	}
	return false;
}

/* Moves the first `whole` items, about processes, behind findings about more bytes. */
static void place_items(struct item *item, size_t whole, size_t n)
{
	for (size_t from = whole; from--;) {
		const struct item x = item[from];
		size_t to = from;

		for (size_t i = from + 1; i < n; i++)
			to = item[i].bytes > x.bytes ? i : to;
		memmove(&item[from], &item[from + 1], (to - from) * sizeof(*item));
		item[to] = x;
	}
}

static size_t make_items(struct item *item, const struct analysis *a)
{
	const struct findings *f = a->findings;
	size_t n = 0, whole, i;

	if (f && f->outside.process)
		outside_item(&item[n++], a);
	for (i = 0; f && i < STACK_FINDINGS; i++)
		if (stack_finding_is(&f->stacks, i))
			stacks_item(&item[n++], a, i);
	if (f && f->retained.process)
		retained_item(&item[n++], a);
	if (f && f->refaults.process)
		refaults_item(&item[n++], a);
	if (f && f->larger.process)
		larger_item(&item[n++], a);
	if (f && f->times.high)
		time_item(&item[n++], a);
	whole = n;
	for (i = 0; f && i < f->count; i++)
		if (!is_added(item, n, &f->item[i]))
			item[n++].finding = &f->item[i];
	for (i = 0; i < n; i++)
		if (item[i].finding)
			finding_item(&item[i], a);
	place_items(item, whole, n);
	return n;
}

static struct paragraph_form command_form(const struct screen *s)
{
	return (struct paragraph_form){ "       ", 9, s->width, true };
}

/* A shell comment cannot continue on the next line. */
static void add_remark(const struct screen *s, struct paragraph *command, const char *remark)
{
	if (command->n && remark &&
	    strlen(command_form(s).first) + columns_of(command->text, command->n) + strlen(remark) +
		    PARAGRAPH_CONTINUES <=
		s->width)
		paragraph_add_styled(command, STYLE_FAINT, remark);
}

/* How many fit into `left`, but at least one, and for how many of these, from the first, the proof
 * fits too. */
static size_t choose(const struct screen *s, struct item *item, size_t n, size_t left)
{
	const struct paragraph_form words = { "  1. ", 5, s->width, false },
				    command = command_form(s);
	size_t shown = 0, i;

	for (i = 0; i < n && i < FINDINGS_SHOWN; i++) {
		struct item *x = &item[i];

		x->lines = paragraph_print(&x->words, &words, NULL);
		add_remark(s, &x->command, x->remark);
		if (x->command.n)
			x->lines += paragraph_print(&x->command, &command, NULL);
		add_remark(s, &x->proof, PROOF_REMARK);
		if (x->proof.n > PROOF_MOST)
			paragraph_release(&x->proof);
		if (x->proof.n)
			x->proof_lines = paragraph_print(&x->proof, &command, NULL);
		if (x->lines > left && shown)
			break;
		left -= x->lines < left ? x->lines : left;
		shown++;
	}
	for (i = 0; i < shown; i++) {
		item[i].proved = item[i].proof.n && item[i].proof_lines <= left;
		left -= item[i].proved ? item[i].proof_lines : 0;
	}
	return shown;
}

static void print_item(struct screen *s, struct item *x, size_t number)
{
	const struct paragraph_form command = command_form(s);
	char first[32];

	snprintf(first, sizeof(first), "%3zu. ", number);
	say(s, &x->words, first, 5);
	if (x->command.n)
		s->left -= (long)paragraph_print(&x->command, &command, s->out);
	if (x->proved)
		s->left -= (long)paragraph_print(&x->proof, &command, s->out);
}

/* Is the first finding about a function that of an interpreter? */
static bool begins_with_interpreter(const struct item *item, size_t n)
{
	size_t i = 0;

	while (i < n && !item[i].finding)
		i++;
	return i < n && item[i].finding->interpreter;
}

/* Lists those that are about functions.  The caller frees the array. */
static const struct finding **findings_of(const struct item *item, size_t n)
{
	const struct finding **f = must_calloc(n + 1, sizeof(*f));

	for (size_t i = 0; i < n; i++)
		f[i] = item[i].finding;
	return f;
}

/* Points the reader of findings about an interpreter to the script. */
static bool tell_interpreter(struct screen *s, const struct item *item, size_t n)
{
	const struct finding **f = findings_of(item, n);
	struct paragraph words = { 0 };
	bool told;

	report_interpreter(&words, s->a, f, n);
	told = words.n > 0;
	say(s, &words, "  ", 2);
	free(f);
	return told;
}

/* The first note of a finding. */
static void tell_note(struct screen *s, const struct item *item, size_t n)
{
	struct paragraph words = { 0 };

	for (size_t i = 0; i < n && !words.n; i++)
		if (item[i].finding && item[i].finding->note)
			paragraph_add(&words, "%s", item[i].finding->note);
	say(s, &words, "  ", 2);
}

/* Objects of findings whose lines are unknown. */
static void tell_unnamed(struct screen *s, const struct item *item, size_t n)
{
	const struct finding **f = findings_of(item, n);
	struct paragraph words = { 0 };
	struct report_unnamed u;
	size_t i;

	report_unnamed(&u, s->a, f, n);
	for (i = 0; i < u.unread_count; i++) {
		paragraph_add(&words, "%s", report_unread(s->a, u.unread[i]).s);
		say(s, &words, "  ", 2);
	}
	paragraph_add(&words, "%s", u.text.s);
	say(s, &words, "  ", 2);
	free(f);
}

/* The first file of findings that its author did not write. */
static void tell_generated(struct screen *s, const struct item *item, size_t n)
{
	struct paragraph words = { 0 };

	for (size_t i = 0; i < n && !words.n; i++)
		if (item[i].finding)
			source_words(&words, item[i].finding->line);
	say(s, &words, "  ", 2);
}

/* The last line: what was left out, and the command that shows it. */
static void tell_more(struct screen *s, size_t findings)
{
	struct paragraph words = { 0 };

	if (findings)
		paragraph_add_styled(&words, STYLE_FAINT, "%s and all tables",
				     format_many(findings, "more finding", "more findings").s);
	else
		paragraph_add_styled(&words, STYLE_FAINT, "All tables");
	put_text(&words, STYLE_FAINT, shell_command(": mprof report --all ", s->a->path));
	if (words.n && columns_of(words.text, words.n) + sizeof(VIEWS) <= s->width)
		paragraph_add_styled(&words, STYLE_FAINT, VIEWS);
	fputc('\n', s->out);
	s->left--;
	say(s, &words, "", 0);
	if (s->a->calls < COMPARED_CALLS || (s->a->findings && s->a->findings->times.high))
		return;
	put_text(&words, STYLE_FAINT,
		 shell_command("Which allocator would do better? mprof compare ", s->a->path));
	say(s, &words, "", 0);
}

/* Leaks that are too small for findings are what someone looks for who tries mprof.  The report of
 * a profile has a table of them. */
static void tell_no_finding(struct screen *s)
{
	const struct analysis *a = s->a;
	const struct paragraph_form form = command_form(s);
	const bool leaks = a->has_stacks && a->findings && !a->of_totals &&
			   a->never_freed.all.blocks > a->findings->kept.all.live_blocks;
	struct paragraph words = { 0 };

	if (!a->sizes.total.count && !a->of_totals)
		return;
	paragraph_add(&words,
		      a->has_stacks
			  ? "No call site stands out."
			  : "This %s has no call stacks, so findings cannot name source lines.",
		      a->of_totals ? "profile" : "trace");
	if (leaks)
		paragraph_add(&words, " To list the blocks that were %s:",
			      report_ends_early(a) || analysis_interrupted(a) ? "live at the end"
									      : "not freed");
	say(s, &words, "  ", 2);
	if (!leaks)
		return;
	put_text(&words, STYLE_FAINT, shell_command("mprof report leaks ", a->path));
	s->left -= (long)paragraph_print(&words, &form, s->out);
	paragraph_release(&words);
}

/* more: sets how many findings were left out.  Returns whether an interpreter was explained. */
static bool tell_findings(struct screen *s, size_t *more)
{
	struct item item[FINDINGS + STACK_FINDINGS + 4] = { { .finding = NULL } };
	const size_t n = make_items(item, s->a);
	const long reserved = 2 /* title */ + 3 /* unnamed */ + 3 /* tell_more */;
	const size_t shown =
	    choose(s, item, n, s->left > reserved ? (size_t)(s->left - reserved) : 0);
	size_t i;
	bool explained = false;

	if (n)
		title(s, n > 1 ? "Findings, largest gain first" : "Finding");
	/* What names the script comes before what does not. */
	if (begins_with_interpreter(item, shown))
		explained = tell_interpreter(s, item, shown);
	for (i = 0; i < shown; i++)
		print_item(s, &item[i], i + 1);
	tell_note(s, item, shown);
	explained = explained || tell_interpreter(s, item, shown);
	if (!explained || s->left > 5)
		tell_unnamed(s, item, shown);
	if (s->left > 5)
		tell_generated(s, item, shown);
	for (i = 0; i < n; i++) {
		paragraph_release(&item[i].words);
		paragraph_release(&item[i].command);
		paragraph_release(&item[i].proof);
	}
	if (!n)
		tell_no_finding(s);
	*more = n - shown;
	return explained;
}

static void tell_nothing(struct screen *s)
{
	char *text = WRITTEN(out, report_nothing(s->a, out));
	struct paragraph words = { 0 };

	tell_lines(s, text, 3);
	free(text);
	if (!is_whole_tree(s) && screen_resident(&words, s->a)) {
		paragraph_add(&words, ". ");
		resident_huge_pages(&words, s->a);
	}
	say(s, &words, "  ", 2);
}

void report_screen(const struct analysis *a, const struct report_options *o, FILE *out)
{
	struct screen s = { .a = a, .out = out, .width = o->width, .left = SCREEN_LINES };
	size_t more;

	tell_run(&s);
	if (is_whole_tree(&s)) /* its figures in the first paragraphs: findings need the room */
		tell_figures(&s);
	tell_warnings(&s);
	if (report_has_whole(a))
		tell_whole(&s);
	if (!is_whole_tree(&s) && (a->sizes.total.count || report_has_whole(a)))
		title(&s, report_span(a).s);
	if (!a->sizes.total.count)
		tell_nothing(&s);
	else if (!is_whole_tree(&s))
		tell_figures(&s);
	tell_findings(&s, &more);
	tell_more(&s, more);
}

bool report_screen_findings(const struct analysis *a, const struct report_options *o, FILE *out)
{
	struct screen s = { .a = a, .out = out, .width = o->width, .left = SCREEN_LINES };
	size_t more;

	return tell_findings(&s, &more);
}
