// SPDX-License-Identifier: LGPL-3.0-or-later
/* report_run.c - the report's first part: the processes, and what is missing. */
#include "report.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "../pass/rss.h"
#include "../trace/lost.h"
#include "text.h"

#define UNENDED_SHOWN  5u
#define PROGRAMS_SHOWN 10u
#define LATER_NS       1000000u /* a run that goes on for less ends with its first process */

static const struct tree_process *first_process(const struct analysis *a)
{
	return a->tree.processes ? &a->tree.process[0] : NULL;
}

struct text report_since(const struct analysis *a, uint64_t ticks)
{
	return format_since(walk_ns(&a->walk, ticks));
}

static struct text duration(const struct analysis *a)
{
	return format_ns(walk_duration_ns(&a->walk, a->tree.end_ticks - a->tree.start_ticks));
}

/* Returns the bytes that it left to its heir, UINT64_MAX if they are unknown, as in a profile. */
static uint64_t left_to_heir(const struct analysis *a, const struct tree_process *p)
{
	const struct heap *h = &a->walk.heap;
	uint32_t i = 0;

	while (p->heir && i < h->processes && h->process[i]->number != p->number)
		i++;
	if (p->heir && a->walk.events && i < h->processes)
		return h->process[i]->left_bytes;
	return p->heir ? UINT64_MAX : 0;
}

/* Prints recorded processes whose live blocks are not leaks: those whose child went on with copies
 * of them, and children that did not exit. */
void report_unended(const struct analysis *a, FILE *out)
{
	const struct tree_process *p;
	size_t i, n = 0;
	uint64_t left;

	for (p = a->tree.process; p < a->tree.process + a->tree.processes; p++) {
		left = left_to_heir(a, p);
		if (!left || n++ >= UNENDED_SHOWN)
			continue;
		fprintf(out,
			"  Process %u (pid %d) ended; its fork, process %u, went on and may have "
			"freed its blocks",
			p->number, p->pid, p->heir);
		if (left != UINT64_MAX)
			fprintf(out, " (%s, which count for the first one only, up to its end)",
				format_bytes(left).s);
		fputs(".\n", out);
	}
	n = 0;
	for (i = 1; i < a->tree.processes; i++) {
		p = &a->tree.process[i];
		if (tree_process_interrupted(p) && n++ < UNENDED_SHOWN)
			fprintf(out, "  Process %u, %s (pid %d), %s.\n", p->number,
				text_process(p, 80).s, p->pid, text_end(p).s);
	}
	if (n > UNENDED_SHOWN)
		fprintf(
		    out, "  And %s killed, or did not end.\n",
		    format_many(n - UNENDED_SHOWN, "more process was", "more processes were").s);
}

/* Returns when the last of the other processes ended, 0 if one has no recorded end. */
static uint64_t last_end(const struct analysis *a)
{
	const struct tree_process *p = a->tree.process, *end = p + a->tree.processes;
	uint64_t last = p->end_ticks;

	while (++p < end) {
		if (p->end == TREE_UNKNOWN || p->end == TREE_BECAME)
			return 0;
		if (p->end_ticks > last)
			last = p->end_ticks;
	}
	return last;
}

static struct text since_start(const struct analysis *a, uint64_t ticks)
{
	return format_ns(ticks > a->tree.start_ticks
			     ? walk_duration_ns(&a->walk, ticks - a->tree.start_ticks)
			     : 0);
}

struct text report_end(const struct analysis *a)
{
	const struct tree_process *p = first_process(a);
	const uint64_t last = last_end(a);
	const struct text end = since_start(a, p->end_ticks), later = since_start(a, last);
	struct text t;

	if (p->end == TREE_UNKNOWN || !p->end_ticks) /* recording may have ended long before it */
		snprintf(t.s, sizeof(t.s), "; the recording ends %.16s after the start",
			 duration(a).s);
	else if (!last && walk_duration_ns(&a->walk, a->tree.end_ticks - p->end_ticks) > LATER_NS)
		snprintf(t.s, sizeof(t.s), " after %.14s; the recording ends after %.14s", end.s,
			 duration(a).s);
	else if (last > p->end_ticks &&
		 walk_duration_ns(&a->walk, last - p->end_ticks) > LATER_NS &&
		 strcmp(end.s, later.s) != 0)
		snprintf(t.s, sizeof(t.s), " after %.15s, the last process after %.15s", end.s,
			 later.s);
	else
		snprintf(t.s, sizeof(t.s), " after %.16s", duration(a).s);
	return t;
}

/* Prints the programs of other processes that no recorded one started, as in a merged profile. */
static void print_other_programs(const struct analysis *a, FILE *out)
{
	const struct tree_process *p = a->tree.process, *end = p + a->tree.processes;
	const char *told[PROGRAMS_SHOWN];
	size_t n = 0, k;

	if (p == end || !p->images)
		return;
	told[n++] = p->image[0]->exe;
	while (++p < end && n < PROGRAMS_SHOWN) {
		if (p->parent || !p->images)
			continue;
		for (k = 0; k < n && strcmp(told[k], p->image[0]->exe) != 0; k++)
			;
		if (k < n)
			continue;
		told[n++] = p->image[0]->exe;
		fprintf(out, "  and: %s\n", text_command(p->image[0], 200).s);
	}
}

/* Names the threads that the user chose: the totals are theirs alone. */
static void print_threads_chosen(const char *conf, FILE *out)
{
	static const char key[] = "THREADS=";
	const char *at = strstr(conf, key);

	while (at && at > conf && !isspace((unsigned char)at[-1])) /* in the name of a file */
		at = strstr(at + 1, key);
	if (!at)
		return;
	at += strlen(key);
	at += *at == '\'' || *at == '"';
	fprintf(out, "  Counted only what these threads allocated (--threads): %.*s.\n",
		(int)strspn(at, "0123456789,-"), at);
}

void report_attached(const struct analysis *a, FILE *out)
{
	const struct tree_process *p = first_process(a);

	if (!p || !p->attached)
		return;
	fprintf(out,
		"mprof attached to it%s%s: blocks from before are unknown, and times count from "
		"then.",
		p->before_ns ? " after " : "", p->before_ns ? format_ns(p->before_ns).s : "");
	if (p->held)
		fprintf(out, " Its heap then had %s in blocks, and glibc kept %s of freed memory.",
			format_bytes(p->held).s, format_bytes(p->freed).s);
}

static void print_run(const struct analysis *a, FILE *out)
{
	const struct tree_process *p = first_process(a);
	const struct trace_fact *image = p ? tree_image(p) : NULL;

	fprintf(out, "  %s\n", text_command(p && p->images ? p->image[0] : NULL, 512).s);
	if (p && p->images > 1)
		fprintf(out, "  which became: %s\n", text_command(image, 200).s);
	print_other_programs(a, out);
	if (p)
		fprintf(out, "  pid %d %s%s.\n", p->pid, text_end(p).s, report_end(a).s);
	fprintf(
	    out, "  Recorded: %s of %s",
	    format_many(a->calls, a->sampled ? "sample" : "call", a->sampled ? "samples" : "calls")
		.s,
	    format_many(a->threads, "thread", "threads").s);
	if (a->tree.processes) /* unknown of records of other tools */
		fprintf(out, " in %s", format_many(a->tree.processes, "process", "processes").s);
	fprintf(out, "; %s of %s in %s", format_bytes(a->file_bytes).s,
		mprof_kind_name(a->walk.input.header->magic), a->path);
	if (a->time_error_ns)
		fprintf(out, "; times are accurate to %s", format_ns(a->time_error_ns).s);
	fprintf(out, ".\n");
	if (report_is_partial(a))
		fprintf(out, "  %s\n", report_partial(a).s);
	report_unended(a, out);
	if (p && p->attached) {
		fputs("  ", out);
		report_attached(a, out);
		fputc('\n', out);
	}
	if (a->walk.input.header->paused > 1)
		fputs("  Cleared while it ran (mprof ctl): the totals are of what followed.\n",
		      out);
	if (a->walk.input.header->pauses)
		fputs("  Paused at times (--paused, mprof ctl): blocks allocated then are not "
		      "counted.\n",
		      out);
	if (image)
		print_threads_chosen(image->conf, out);
	if (a->walk.input.header->start_real_ns)
		fprintf(out, "  Started: %s.\n",
			format_date(a->walk.input.header->start_real_ns).s);
	if (image && *image->allocator)
		fprintf(out, "  Allocator: %s.\n", image->allocator);
	if (image && *image->host)
		fprintf(out, "  Host: %s%s%s%s%s.\n", image->host, *image->kernel ? ", " : "",
			image->kernel, *image->cpus ? ", processors: " : "", image->cpus);
	if (rss_limit(&a->walk.input))
		fprintf(out, "  Memory limit of the control group: %s.\n",
			format_bytes(rss_limit(&a->walk.input)).s);
}

/* ---- what is missing ---- */

static void print_lost(const struct analysis *a, FILE *out)
{
	const char *words;
	unsigned i;

	for (i = 0; i < MPROF_LOST_REASONS; i++) {
		if (!a->tree.lost[i])
			continue;
		words = lost_reason[i].in_report;
		if (lost_reason[i].counts == LOST_PROCESSES)
			fprintf(out, "  Recording ended early in %s: %s.\n",
				format_many(a->tree.lost[i], "process", "processes").s, words);
		else if (lost_reason[i].counts == LOST_STACKS)
			fprintf(out, "  %s recorded without the stack: %s.\n",
				format_many(a->tree.lost[i], "call was", "calls were").s, words);
		else
			fprintf(out, "  %s not recorded: %s.\n",
				format_many(a->tree.lost[i], "call was", "calls were").s, words);
	}
}

static void print_damage(const struct trace_damage *d, FILE *out)
{
	const struct {
		uint64_t n;
		const char *one, *many;
	} row[] = {
		{ d->header_cut, "table of processes is cut off: the file was truncated",
		  "tables of processes are cut off: the files were truncated" },
		{ d->bytes_cut, "byte is empty: truncated away, or never written",
		  "bytes are empty: truncated away, or never written" },
		{ d->chunks_unseen, "part was written but is missing from the file",
		  "parts were written but are missing from the file" },
		{ d->bytes_missing, "byte is missing at the end of the file",
		  "bytes are missing at the end of the file" },
		{ d->bytes_skipped, "byte between its parts is not readable",
		  "bytes between its parts are not readable" },
		{ d->bytes_empty, "byte was reserved and never written",
		  "bytes were reserved and never written" },
		{ d->chunks_bad, "part fails its checksum or reaches beyond its bounds",
		  "parts fail their checksum or reach beyond their bounds" },
		{ d->chunks_missing, "part is missing in the middle",
		  "parts are missing in the middle" },
		{ d->words_bad, "part ends at an invalid event", "parts end at an invalid event" },
		{ d->lines_bad, "line is invalid and was skipped",
		  "lines are invalid and were skipped" },
		{ d->lines_cut, "line at the end is incomplete",
		  "lines at the end are incomplete" },
		{ d->sizes_bad, "part overlaps another", "parts overlap others" },
		{ d->stacks_bad, "description of a call stack is invalid",
		  "descriptions of call stacks are invalid" },
		{ d->stacks_missing, "reference to a call stack that is not defined",
		  "references to call stacks that are not defined" },
	};
	bool any = false;
	size_t i;

	for (i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		any |= row[i].n != 0;
	if (!any)
		return;
	if (d->first_bad_offset)
		fprintf(out, "  The trace is damaged, first at byte %s:\n",
			format_count(d->first_bad_offset).s);
	else
		fprintf(out, "  The trace is not complete:\n");
	for (i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (row[i].n)
			fprintf(out, "    %s %s\n", format_count(row[i].n).s,
				row[i].n == 1 ? row[i].one : row[i].many);
}

static void print_own(const struct tree *r, FILE *out)
{
	size_t i;

	for (i = 0; i < r->owns; i++) {
		fprintf(out, "  Process %" PRIu32, r->own[i].process);
		if (r->own[i].processes > 1)
			fprintf(out, " and %s more", format_count(r->own[i].processes - 1).s);
		fprintf(out, ": %s.\n", r->own[i].why);
	}
}

/* Objects that called libc's malloc and free instead of the library's. */
static void print_deepbinds(const struct tree *r, FILE *out)
{
	static const char *const how[] = {
		[1U << MPROF_BYPASS_DEEPBIND] = "with RTLD_DEEPBIND",
		[1U << MPROF_BYPASS_NAMESPACE] = "into another namespace (dlmopen)",
		[1U << MPROF_BYPASS_DEEPBIND | 1U << MPROF_BYPASS_NAMESPACE] =
		    "with RTLD_DEEPBIND or into another namespace (dlmopen)",
	};
	const struct tree_process *p = r->process;

	if (!r->deepbinds)
		return;
	while (!p->deepbind)
		p++;
	fprintf(out, "  Process %" PRIu32, p->number);
	if (r->deepbinds > 1)
		fprintf(out, " and %s more", format_count(r->deepbinds - 1).s);
	fprintf(out, " loaded %s%s %s: what %s allocated and freed itself is not recorded.\n",
		p->deepbind, p->deepbinds ? " and others" : "", how[p->bypass],
		p->deepbinds ? "such an object" : "it");
}

/* Did mprof attach to the process, or to one that forked it? */
static bool is_attached(const struct tree *r, uint32_t number)
{
	const struct tree_process *p = tree_find(r, number);

	return p && (p->attached || (p->parent < number && is_attached(r, p->parent)));
}

/* There may be thousands of them. */
static bool is_beyond_attached(const struct tree *r, const struct tree_missing *m)
{
	return m->environment && is_attached(r, m->parent);
}

static void print_beyond_attached(const struct tree *r, FILE *out)
{
	const char *first = NULL;
	uint64_t n = 0;

	for (size_t i = 0; i < r->missing_count; i++)
		if (is_beyond_attached(r, &r->missing[i]) && !n++)
			first = r->missing[i].path;
	if (!n)
		return;
	fprintf(out, "  %s not recorded, because mprof attach reaches no program that a process ",
		n == 1 ? "A program was" : format_many(n, "program was", "programs were").s);
	fprintf(out, "runs later%s%s.\n",
		n == 1 ? ": " : "; the first: ", *first ? first : "its path is unknown");
}

static void print_missing(const struct analysis *a, FILE *out)
{
	const struct tree *r = &a->tree;
	size_t i;

	print_deepbinds(r, out);
	print_beyond_attached(r, out);
	for (i = 0; i < r->missing_count; i++) {
		const struct tree_missing *m = &r->missing[i];

		if (is_beyond_attached(r, m))
			continue;
		fprintf(out,
			m->became ? "  Process %" PRIu32 " became %s"
				  : "  A child of process %" PRIu32 ", %s",
			m->parent, *m->path ? m->path : "a program");
		fprintf(out, " (pid %d): not recorded%c %s.\n", m->pid,
			tree_why_missing(m) == m->note ? ':' : ',', tree_why_missing(m));
	}
	if (r->unrecorded_rss)
		fprintf(
		    out,
		    "  A program that was not recorded had %s resident. A recorded one ran it, "
		    "perhaps without LD_PRELOAD in its environment, or it became a recorded one.\n",
		    format_bytes(r->unrecorded_rss).s);
	for (i = 0; i < r->processes; i++)
		if (r->process[i].stopped)
			fprintf(out,
				"  Recording of process %" PRIu32 " (pid %d) stopped early: %s.\n",
				r->process[i].number, r->process[i].pid, r->process[i].stopped);
	for (i = 0; i < r->remarks; i++)
		fprintf(out, "  Remark: %s.\n", r->remark[i]);
}

void report_missing(const struct analysis *a, FILE *out)
{
	print_own(&a->tree, out); /* first, because it outweighs single lost calls */
	print_lost(a, out);
	print_damage(a->damage, out);
	print_missing(a, out);
}

bool report_is_incomplete(const struct analysis *a)
{
	size_t i;

	for (i = 0; i < a->tree.processes; i++)
		if (a->tree.process[i].stopped)
			return true;
	return a->tree.lost_all || a->tree.lost[MPROF_LOST_STACK] || trace_is_damaged(a->damage) ||
	       a->tree.missing_count || a->tree.owns || a->tree.deepbinds || a->tree.remarks ||
	       a->tree.unrecorded_rss;
}

const struct report_section report_run_sections[] = {
	{ "What ran", NULL, print_run },
	{ "What is missing from this trace", report_is_incomplete, report_missing },
	{ NULL, NULL, NULL },
};
