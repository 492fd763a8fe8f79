// SPDX-License-Identifier: LGPL-3.0-or-later
/* replay_words.c - the results of a playback on several allocators, in sentences. */
#include "replay.h"

#include <math.h>
#include <stdlib.h>

#include "../util/alloc.h"
#include "text.h"

#define KEPT_PART    0.25 /* of the peak: if less is retained at the end, it is not mentioned */
#define KEPT_BYTES   (4u << 20)
#define TOO_HIGH     8 /* a peak that is this part above the program's resident size is not its own */
#define CALLOC_PART  0.1  /* of the peak in large blocks of calloc: less does not decide */
#define NOISE_TOLD   5	  /* percent: smaller differences need no explanation */
#define MANY_PERCENT 1000 /* from here on, it says how many times as much */

/* ---- one figure of all rows against the reference ---- */

/* The words for a figure. */
struct told {
	const size_t *order;
	bool (*differ)(const struct verdict *v, size_t a, size_t b);
	double (*figure)(const struct runs_row *row);
	struct text (*text)(const struct runs_row *row);
	const char *would, *than, *what; /* "would need", "memory", "memory at the peak" */
};

static double peak_of(const struct runs_row *row)
{
	return (double)runs_peak(row);
}

static struct text peak_text(const struct runs_row *row)
{
	return format_bytes(runs_peak(row));
}

static double time_of(const struct runs_row *row)
{
	return row->cpu_ns.median;
}

static struct text ns_text(double ns)
{
	struct text t;

	if (ns >= 1000)
		return format_ns((uint64_t)ns);
	snprintf(t.s, sizeof(t.s), "%.1f ns", ns);
	return t;
}

static struct text time_text(const struct runs_row *row)
{
	struct text t;

	snprintf(t.s, sizeof(t.s), "%.40s a call", ns_text(row->cpu_ns.median).s);
	return t;
}

/* Returns -1 for less than the reference, 0 for an insignificant difference, 1 for more. */
static int side(const struct verdict *v, const struct told *t, size_t row)
{
	const struct runs_row *r = v->runs->row;

	if (row == v->reference || !t->differ(v, row, v->reference))
		return 0;
	return t->figure(&r[row]) < t->figure(&r[v->reference]) ? -1 : 1;
}

/* Returns by how much it is less or more, as a part of the reference. */
static uint64_t percent(const struct verdict *v, const struct told *t, size_t row)
{
	const double of = t->figure(&v->runs->row[v->reference]);

	return of > 0 ? (uint64_t)lround(100 * fabs(t->figure(&v->runs->row[row]) / of - 1)) : 0;
}

/* Puts "12 % less" or, where a percentage is hard to read, "31 times as much".  Returns the word
 * that follows it: "than" or "as". */
static const char *put_change(FILE *f, const struct verdict *v, const struct told *t, size_t row)
{
	const uint64_t by = percent(v, t, row);
	const int s = side(v, t, row);

	if (s > 0 && by >= MANY_PERCENT) {
		fprintf(f, " %s times as much", format_count((by + 100 + 50) / 100).s);
		return "as";
	}
	fprintf(f, " %s %% %s", format_count(by).s, s < 0 ? "less" : "more");
	return "than";
}

/* Puts one row's part of the sentence. */
static void put_clause(FILE *f, const struct verdict *v, const struct told *t, size_t row,
		       bool first)
{
	const struct runs_row *r = &v->runs->row[row], *ref = &v->runs->row[v->reference];
	const int s = side(v, t, row);
	const char *than;

	fprintf(f, "%s%s", first ? "" : "; ", r->variant->name);
	if (!s)
		return;
	if (first)
		fprintf(f, " %s", t->would);
	than = put_change(f, v, t, row);
	if (first)
		fprintf(f, " %s %s %s (%s instead of %s)", t->what, than, ref->variant->name,
			t->text(r).s, t->text(ref).s);
	else
		fprintf(f, " (%s)", t->text(r).s);
}

/* Is it a large difference, which does not count?  Then a sentence of its own says why. */
static bool explained(const struct verdict *v, const struct told *t, size_t row)
{
	return row != v->reference && !side(v, t, row) && percent(v, t, row) >= NOISE_TOLD;
}

static bool same(const struct verdict *v, const struct told *t, size_t row)
{
	return row != v->reference && !side(v, t, row) && !explained(v, t, row);
}

/* Returns what stands before the k-th of n words. */
static const char *before_word(size_t k, size_t n)
{
	return !k ? "" : k + 1 == n ? " and " : ", ";
}

/* Puts the names of the rows without significant difference from the reference. */
static void put_same(FILE *f, const struct verdict *v, const struct told *t, bool first)
{
	const char *ref = v->runs->row[v->reference].variant->name;
	size_t i, n = 0, k = 0;

	for (i = 0; i < v->played; i++)
		n += same(v, t, t->order[i]);
	if (n && !first)
		fputs("; ", f);
	for (i = 0; i < v->played; i++)
		if (same(v, t, t->order[i]))
			fprintf(f, "%s%s", before_word(k++, n),
				v->runs->row[t->order[i]].variant->name);
	if (n && first)
		fprintf(f, " cannot be told apart from %s by %s (%s)", ref, t->than,
			t->text(&v->runs->row[v->reference]).s);
	else if (n)
		fprintf(f, " cannot be told apart from %s", ref);
}

/* "a would need 12 % less memory at the peak than b (x instead of y); c 4 % less (z); d cannot be
 * told apart from b".
 */
static void compare(const struct verdict *v, const struct told *t, struct sentences *w)
{
	char *text = NULL;
	size_t size, i;
	FILE *f = must_memstream(&text, &size);
	bool first = true;
	int s;

	for (s = -1; s <= 1; s += 2) {
		if (s > 0) {
			put_same(f, v, t, first);
			fflush(f);
			first = first && !size;
		}
		for (i = 0; i < v->played; i++) {
			if (side(v, t, t->order[i]) != s)
				continue;
			put_clause(f, v, t, t->order[i], first);
			first = false;
		}
	}
	must_close(f, &text);
	if (*text)
		sentence_add(w, "%s.", text);
	free(text);
}

/* ---- other sentences ---- */

/* Puts chains of adjacent rows without significant differences, except the reference's. */
static void tell_ties(const struct verdict *v, const struct told *t, struct sentences *w)
{
	char names[512];
	size_t i, n, k, from;

	for (i = 0; i + 1 < v->played; i = from + 1) {
		from = i;
		n = 0;
		names[0] = '\0';
		while (from + 1 < v->played && side(v, t, t->order[from]) &&
		       side(v, t, t->order[from + 1]) &&
		       !t->differ(v, t->order[from], t->order[from + 1]))
			from++;
		for (k = i; k <= from && n < sizeof(names); k++)
			n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s",
					      k == i	  ? ""
					      : k == from ? " and "
							  : ", ",
					      v->runs->row[t->order[k]].variant->name);
		if (from > i)
			sentence_add(w, "By %s, %s cannot be told apart here.", t->than, names);
	}
}

/* Does the allocator that was played twice vary less than the runs of this row and of the
 * reference? */
static bool by_spread(const struct verdict *v, size_t row)
{
	const double least =
	    fmin(v->runs->row[row].cpu_ns.median, v->runs->row[v->reference].cpu_ns.median);

	return verdict_noise(v, row, v->reference) >
	       1.001 * fmax(v->control, VERDICT_FLOOR) * least;
}

/* Returns the spread of the runs of this row or of the reference, in ns a call. */
static double spread_of(const struct verdict *v, size_t row)
{
	const struct middle *r = &v->runs->row[row].cpu_ns,
			    *ref = &v->runs->row[v->reference].cpu_ns;

	return fmax(fmax(r->mad, ref->mad), v->spread * ref->median);
}

/* Puts "a took 9 % more and b 7 % less" for the n rows with one of two reasons. */
static void put_noisy(FILE *f, const struct verdict *v, const struct told *t, bool spread, size_t n)
{
	const double ref = v->runs->row[v->reference].cpu_ns.median;
	size_t i, k = 0;

	for (i = 0; i < v->played; i++) {
		const size_t row = t->order[i];
		const struct runs_row *r = &v->runs->row[row];

		if (explained(v, t, row) && by_spread(v, row) == spread) {
			fprintf(f, "%s%s %s%s %% %s", before_word(k, n), r->variant->name,
				k ? "" : "took ", format_count(percent(v, t, row)).s,
				r->cpu_ns.median > ref ? "more" : "less");
			k++;
		}
	}
}

/* Explains why large differences of time do not count: two runs of one allocator differ by as
 * much. */
static void tell_noise(const struct verdict *v, const struct told *t, bool spread,
		       struct sentences *w)
{
	const char *ref = v->runs->row[v->reference].variant->name;
	double vary = 0, noise = 0;
	size_t i, n = 0;
	char *took;

	for (i = 0; i < v->played; i++)
		if (explained(v, t, t->order[i]) && by_spread(v, t->order[i]) == spread) {
			vary = fmax(vary, spread_of(v, t->order[i]));
			noise = fmax(noise, verdict_noise(v, t->order[i], v->reference));
			n++;
		}
	if (!n)
		return;
	took = WRITTEN(f, put_noisy(f, v, t, spread, n));
	if (!spread)
		sentence_add(w,
			     "%s time than %s, which is within the noise: %s differs from itself "
			     "by %.0f %% when it is played again.",
			     took, ref, v->runs->control.variant->name, 100 * v->control);
	else if (n > 1)
		sentence_add(w,
			     "%s time than %s, which is within the noise: runs of one allocator "
			     "vary by up to %s a call, so these differences, all below %s, do "
			     "not count.",
			     took, ref, ns_text(vary).s, ns_text(noise).s);
	else
		sentence_add(w,
			     "%s time than %s, which is within the noise: runs of one allocator "
			     "vary by %s a call, so differences below %s do not count.",
			     took, ref, ns_text(vary).s, ns_text(noise).s);
	free(took);
}

/* Puts "a's peak differs by 9 % and b's by 7 %". */
static void put_small_differences(FILE *f, const struct verdict *v, const struct told *t, size_t n)
{
	size_t i, k = 0;

	for (i = 0; i < v->played; i++)
		if (explained(v, t, t->order[i])) {
			fprintf(f, "%s%s's %sby %s %%", before_word(k, n),
				v->runs->row[t->order[i]].variant->name, k ? "" : "peak differs ",
				format_count(percent(v, t, t->order[i])).s);
			k++;
		}
}

/* The same for memory, where a fixed amount decides. */
static void tell_small_differences(const struct verdict *v, const struct told *t,
				   struct sentences *w)
{
	size_t i, n = 0;
	char *text;

	for (i = 0; i < v->played; i++)
		n += explained(v, t, t->order[i]);
	if (!n)
		return;
	text = WRITTEN(f, put_small_differences(f, v, t, n));
	sentence_add(w, "%s from that of %s, but by less than %s, by which two runs can differ.",
		     text, v->runs->row[v->reference].variant->name, format_bytes(VERDICT_BYTES).s);
	free(text);
}

/* Puts the names of allocators whose memory and time are less (-1), more (1), or neither. */
static void tell_kind(const struct verdict *v, const struct told *peak, const struct told *cpu,
		      int memory, int time, const char *would, const char *how, struct sentences *w)
{
	const char *ref = v->runs->row[v->reference].variant->name;
	char names[512] = "";
	size_t i, k = 0, n = 0, count = 0;

	for (i = 0; i < v->played; i++)
		count +=
		    side(v, peak, v->by_peak[i]) == memory && side(v, cpu, v->by_peak[i]) == time;
	for (i = 0; i < v->played && n < sizeof(names); i++)
		if (side(v, peak, v->by_peak[i]) == memory && side(v, cpu, v->by_peak[i]) == time)
			n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s",
					      before_word(k++, count),
					      v->runs->row[v->by_peak[i]].variant->name);
	if (count)
		sentence_add(w, "%s would %s than %s%s.", names, would, ref, how);
}

static void tell_best(const struct verdict *v, const struct told *peak, const struct told *cpu,
		      struct sentences *w)
{
	const size_t said = w->n;

	tell_kind(v, peak, cpu, -1, -1, "be better", " in memory and in time", w);
	tell_kind(v, peak, cpu, 0, -1, "be better", " in time, with as much memory", w);
	tell_kind(v, peak, cpu, -1, 0, "be better",
		  " in memory, and by time they cannot be told apart", w);
	if (w->n > said)
		return;
	tell_kind(v, peak, cpu, 1, -1, "take less time", ", but need more memory", w);
	tell_kind(v, peak, cpu, -1, 1, "need less memory", ", but take more time", w);
	if (w->n == said)
		sentence_add(w, "Nothing here is better than %s in memory or in time.",
			     v->runs->row[v->reference].variant->name);
}

#define LITTLE 0.02 /* part of the program's time that an allocator takes */

/* Says which part of the program's time playback measures. */
static void tell_share(const struct replay_answer *a, struct sentences *w)
{
	const struct mprof_play_summary *sum = &a->plan->head->sum;
	const struct runs_row *ref = &a->runs->row[a->verdict.reference];
	const double ns = ref->cpu_ns.median * (double)sum->calls;

	if (!sum->recorded_ns || a->plan->head->threads > 1)
		return;
	sentence_add(
	    w,
	    "Played back, %s takes %s for all calls and page faults, %s of the %s that the program "
	    "took while it was recorded%s. Where an allocator places blocks can also make the "
	    "program's own code faster or slower, which playback does not measure.",
	    ref->variant->name, format_ns((uint64_t)ns).s,
	    format_percent((uint64_t)ns, sum->recorded_ns).s, format_ns(sum->recorded_ns).s,
	    ns < LITTLE * (double)sum->recorded_ns ? ": another allocator can save little time"
						   : "");
}

static void tell_control(const struct replay_answer *a, struct sentences *w)
{
	const struct verdict *v = &a->verdict;

	if (v->few) {
		sentence_add(w, "With fewer than %u timed runs, times are not compared.",
			     VERDICT_RUNS);
		return;
	}
	if (v->unmeasured) {
		sentence_add(
		    w,
		    "Times are not compared: those of the calls are not above the noise of "
		    "the playback itself, which takes %.1f +-%.1f ns a call.%s",
		    a->runs->null_ns.median, a->runs->null_ns.mad,
		    a->runs->time_mode == RUNS_THREADS
			? " Threads that wait for each other take most of the time; "
			  "--mode serial measures the calls of one thread."
			: "");
		return;
	}
	sentence_add(w,
		     "The machine was too busy to compare times: %s, played once more as if it "
		     "were another allocator, differs from itself by %.0f %%. Nothing is ranked by "
		     "time; try again on a quiet machine, or with more --reps.",
		     a->runs->control.variant->name, 100 * v->control);
}

/* Says how much is still resident long after the end, if it is much. */
static void tell_kept(const struct replay_answer *a, struct sentences *w)
{
	const unsigned waited = replay_waited(a);
	const struct runs_row *row;
	char text[1024] = "";
	size_t i, n = 0;
	uint64_t kept;

	for (i = 0; i < a->verdict.played && waited && n < sizeof(text); i++) {
		row = &a->runs->row[a->verdict.by_peak[i]];
		kept = replay_kept(a, row);
		if (kept > KEPT_BYTES && (double)kept > KEPT_PART * (double)row->memory.peak_rss)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s %s%s",
					      n ? ", " : "", row->variant->name,
					      n ? "" : "still has ", format_bytes(kept).s);
	}
	if (n)
		sentence_add(w, "%.3g s after everything was freed, %s in memory.",
			     (double)waited / 1e3, text);
}

static void tell_failures(const struct replay_answer *a, struct sentences *w)
{
	const struct runs_row *row;
	size_t i;

	for (i = 0; i < a->runs->n; i++) {
		row = &a->runs->row[i];
		if (row->status)
			sentence_add(w, "%s could not be compared: it %s.", row->variant->name,
				     row->why.text);
		else if (*row->said)
			sentence_add(w, "%s said: %s", row->variant->name, row->said);
		if (!row->status && row->memory.failed)
			sentence_add(w, "%s could not serve %s that succeeded in the program%s.",
				     row->variant->name,
				     format_many(row->memory.failed, "block", "blocks").s,
				     verdict_fits(&a->verdict, i) ? "" : ", so it is not compared");
	}
}

/* Says so if the program cannot have needed what its own allocator takes here. */
static void tell_too_high(const struct replay_answer *a, struct sentences *w)
{
	const struct mprof_playback_header *h = a->plan->head;
	const uint64_t most = h->sum.peak_rss_bytes;
	const struct runs_row *row = &a->runs->row[a->verdict.reference];

	if (!most || !a->verdict.played || !a->recorded_under ||
	    !verdict_is_used(row->variant, a->recorded_under) ||
	    runs_peak(row) < most + most / TOO_HIGH + VERDICT_BYTES)
		return;
	sentence_add(w,
		     "Peaks are too high here: %s takes %s, but the program itself had at most %s "
		     "resident, with its code. %s If the program calls malloc_trim, that is "
		     "not played.",
		     row->variant->name, format_bytes(runs_peak(row)).s, format_bytes(most).s,
		     h->flags & MPROF_PLAY_HAS_TOUCH
			 ? "How much it wrote into blocks that it never freed may be unknown."
			 : "A replay writes to every page of a block; mprof record --touched "
			   "records how much the program writes.");
}

/* Says so if it decides much what the program does with memory that it had cleared: glibc writes
 * zeros, while jemalloc maps fresh pages, which stay absent until they are written. */
static void tell_calloc(const struct replay_answer *a, struct sentences *w)
{
	const struct mprof_play_summary *sum = &a->plan->head->sum;

	if ((double)sum->peak_calloc_bytes < CALLOC_PART * (double)sum->peak_bytes ||
	    !strcmp(a->runs->touch, "none") || a->verdict.played < 2)
		return;
	sentence_add(
	    w,
	    "%s of the peak (%s) is in large blocks of calloc. Playback writes to them, "
	    "because a trace does not show whether the program did. If it did not, "
	    "allocators that map fresh pages for calloc, such as jemalloc, need up to that much "
	    "less; mprof stat --allocator NAME shows the largest resident set of the "
	    "program itself.",
	    format_bytes(sum->peak_calloc_bytes).s,
	    format_percent(sum->peak_calloc_bytes, sum->peak_bytes).s);
}

void replay_verdict(const struct replay_answer *a, struct sentences *w)
{
	const struct verdict *v = &a->verdict;
	const struct told peak = { v->by_peak,		verdict_by_peak, peak_of,
				   peak_text,		"would need",	 "memory",
				   "memory at the peak" };
	const struct told cpu = {
		v->by_time, verdict_by_time,	    time_of, time_text, "would spend",
		"time",	    "time in the allocator"
	};

	if (a->recorded_under && v->played > 1 &&
	    !verdict_is_used(v->runs->row[v->reference].variant, a->recorded_under))
		sentence_add(w,
			     "The program used the malloc of %s, which was not played: others are "
			     "compared with %s.",
			     text_base(a->recorded_under),
			     v->runs->row[v->reference].variant->name);
	if (!v->small)
		tell_too_high(a, w);
	if (v->small)
		sentence_add(w,
			     "The program never has more than %s live, less than an allocator "
			     "itself uses at the start: ratios of memory mean little here.",
			     format_bytes(a->plan->head->sum.peak_bytes).s);
	if (v->played > 1 && v->quiet && !v->small)
		tell_best(v, &peak, &cpu, w);
	if (v->played > 1 && !v->small) {
		compare(v, &peak, w);
		tell_small_differences(v, &peak, w);
		tell_ties(v, &peak, w);
		tell_calloc(a, w);
	}
	if (v->played > 1 && v->quiet) {
		compare(v, &cpu, w);
		tell_noise(v, &cpu, true, w);
		tell_noise(v, &cpu, false, w);
		tell_ties(v, &cpu, w);
	}
	if (v->timed && !v->quiet)
		tell_control(a, w);
	else if (v->timed && v->played)
		tell_share(a, w);
	if (!v->small)
		tell_kept(a, w);
	tell_failures(a, w);
}
