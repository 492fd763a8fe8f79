// SPDX-License-Identifier: LGPL-3.0-or-later
/* replay_how.c - what was played, how, and how reliable the figures are, in sentences. */
#include "replay.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../run/library.h"
#include "text.h"

/* ---- lists of sentences ---- */

/* Replaces control characters, which command lines and output of allocators may contain. */
static void clean(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			*s = ' ';
}

void sentence_add(struct sentences *w, const char *format, ...)
{
	va_list args;

	GROW(w->line, w->n + 1, w->room);
	va_start(args, format);
	w->line[w->n] = must_vprintf(format, args);
	va_end(args);
	clean(w->line[w->n++]);
}

void sentences_free(struct sentences *w)
{
	while (w->n)
		free(w->line[--w->n]);
	free(w->line);
	*w = (struct sentences){ 0 };
}

#define FASTER 2.0 /* from this factor on, a replay leaves allocators too little time */

double replay_speed_up(const struct replay_answer *a)
{
	const uint64_t recorded = a->plan->head->sum.recorded_ns;
	const struct verdict *v = &a->verdict;
	uint64_t played;

	if (v->reference == a->runs->n)
		return 0;
	played = a->runs->row[v->reference].memory.wall_ns;
	return recorded && played ? (double)recorded / (double)played : 0;
}

unsigned replay_waited(const struct replay_answer *a)
{
	return a->plan->keep || !a->plan->drains ? 0 : a->plan->drain_ms[a->plan->drains - 1];
}

uint64_t replay_kept(const struct replay_answer *a, const struct runs_row *row)
{
	return replay_waited(a) ? row->memory.drain_rss[a->plan->drains - 1] : 0;
}

double replay_latency(const struct runs_row *row, unsigned permille)
{
	uint64_t all[MPROF_RUN_LATENCY];
	size_t b;

	for (b = 0; b < MPROF_RUN_LATENCY; b++)
		all[b] = row->latency.latency[0][b] + row->latency.latency[1][b] +
			 row->latency.latency[2][b];
	return latency_ns(all, row->latency.latency_ticks_per_s, permille);
}

uint64_t replay_latency_calls(const struct runs_row *row)
{
	return latency_calls(row->latency.latency[0]) + latency_calls(row->latency.latency[1]) +
	       latency_calls(row->latency.latency[2]);
}

double replay_page_use(const struct replay_answer *a, size_t row)
{
	const struct memories_row *heap = a->heap ? a->heap[row] : NULL;

	return heap && !heap->status ? heap->memory.use[GRAIN_4K].at_peak : -1;
}

/* ---- what was played ---- */

/* Puts "; 12 frees of unknown blocks" for calls that the compiler or the recorder left out. */
static void left_out(const struct mprof_play_summary *s, struct sentences *w)
{
	static const struct {
		size_t at;
		const char *one, *many;
	} of[] = {
		{ offsetof(struct mprof_play_summary, lost), "call lost by the recorder",
		  "calls lost by the recorder" },
		{ offsetof(struct mprof_play_summary, damaged), "unreadable place",
		  "unreadable places" },
		{ offsetof(struct mprof_play_summary, inversions), "event put into order",
		  "events put into order" },
		{ offsetof(struct mprof_play_summary, unknown_frees), "free of an unknown block",
		  "frees of unknown blocks" },
		{ offsetof(struct mprof_play_summary, inherited_frees),
		  "free of a block from before the first call",
		  "frees of blocks from before the first call" },
		{ offsetof(struct mprof_play_summary, double_allocations), "free not recorded",
		  "frees not recorded" },
		{ offsetof(struct mprof_play_summary, swept),
		  "block that ended with exec or its process",
		  "blocks that ended with exec or their process" },
		{ offsetof(struct mprof_play_summary, failed), "call that had failed",
		  "calls that had failed" },
		{ offsetof(struct mprof_play_summary, null_frees), "call of free(NULL)",
		  "calls of free(NULL)" },
	};
	char text[500] = "";
	uint64_t count;
	size_t i, n = 0;

	for (i = 0; i < sizeof(of) / sizeof(*of); i++) {
		memcpy(&count, (const char *)s + of[i].at, sizeof(count));
		if (count && n < sizeof(text))
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s %s", n ? ", " : "",
					      format_count(count).s,
					      count == 1 ? of[i].one : of[i].many);
	}
	if (n)
		sentence_add(w, "Repaired or left out: %s.", text);
	else
		sentence_add(w, "Of the recorded calls, nothing was lost, repaired or left out.");
}

static void put_settings(FILE *f, const struct replay_answer *a)
{
	for (size_t i = 0; i < a->settings_n; i++)
		fprintf(f, "%s%s", i ? ", " : "", a->settings[i]);
}

/* Names the allocator of the recorded times and of the heap of the row "recorded". */
static void recorded_under(const struct replay_answer *a, struct sentences *w)
{
	const char *name = a->recorded_under ? allocator_name(a->recorded_under) : NULL;
	char *list;

	if (name)
		sentence_add(w, "Recorded under %s (%s).", name, a->recorded_under);
	else if (a->recorded_under)
		sentence_add(w, "Recorded under the malloc of %s.", a->recorded_under);
	if (a->of_python)
		sentence_add(w, "--python recorded it with PYTHONMALLOC=malloc; without that, "
				"Python's own allocator serves objects of up to 512 bytes, and "
				"another malloc makes less difference.");
	if (a->settings_n) {
		list = WRITTEN(f, put_settings(f, a));
		sentence_add(
		    w, "It is played as the program configured it: %s (not with --env clear).",
		    list);
		free(list);
	}
}

void replay_what(const struct replay_answer *a, struct sentences *w)
{
	const struct mprof_playback_header *h = a->plan->head;
	const struct mprof_play_summary *s = &h->sum;
	char *choice = program_choice_text(&a->choice);

	/* Other tools' records do not name the program. */
	sentence_add(w, "%s", *h->program ? h->program : text_base(a->path));
	sentence_add(w, "Recorded: %s of %s in %s; peak %s live, at most %s. From %s.",
		     format_many(s->calls, "call", "calls").s,
		     format_many(h->threads, "thread", "threads").s,
		     s->recorded_ns ? format_ns(s->recorded_ns).s : "an unknown time",
		     format_bytes(s->peak_bytes).s,
		     format_many(s->peak_blocks, "block", "blocks").s, a->path);
	if (choice)
		sentence_add(w, "Played: %s.", choice);
	free(choice);
	recorded_under(a, w);
	left_out(s, w);
	if (h->flags & MPROF_PLAY_CHANGED)
		sentence_add(w, "These are not the program's own calls: a what-if changed them.");
	if (h->flags & MPROF_PLAY_CUT)
		sentence_add(w, "The recording is incomplete; its recorded part was played.");
}

/* ---- how ---- */

static const char *threads_word(const struct replay_answer *a, enum runs_mode m)
{
	const bool paced = a->plan->speed;

	if (m == RUNS_ORDERED)
		return "by as many threads as the program had, in the recorded order";
	if (m == RUNS_SERIAL)
		return paced ? "by one thread, at the recorded times"
			     : "by one thread, in the recorded order";
	return paced ? "by as many threads as the program had, at the recorded times"
		     : "by as many threads as the program had, each as fast as it can";
}

static const char *touch_word(const char *touch)
{
	static const struct {
		const char *touch, *word;
	} of[] = {
		{ "none", "nothing is written into blocks, unlike in a real program" },
		{ "first", "the first byte of each block is written" },
		{ "page", "one byte of each page of a block is written" },
		{ "full", "each block is written in full" },
		{ "recorded", "as much of each large block is written as was recorded, and one "
			      "byte of each page of others" },
	};
	size_t i;

	for (i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (!strcmp(of[i].touch, touch))
			return of[i].word;
	return touch;
}

static void how_memory(const struct replay_answer *a, struct sentences *w)
{
	sentence_add(w,
		     "Memory: one run each, %s; %s. Peak memory is the largest increase since the "
		     "start, plus what the allocator uses at the start (beyond glibc).",
		     threads_word(a, a->runs->memory_mode), touch_word(a->runs->touch));
}

static void how_time(const struct replay_answer *a, struct sentences *w)
{
	const struct runs *r = a->runs;
	char pinned[40] = "", passes[64] = "";

	if (a->plan->cpu >= 0 && r->time_mode == RUNS_SERIAL)
		snprintf(pinned, sizeof(pinned), " on processor %d", a->plan->cpu);
	if (r->passes > 1)
		snprintf(passes, sizeof(passes), ", each playing the file %u times", r->passes);
	sentence_add(
	    w,
	    "Time: %s each%s, in turn%s, %s. User and system time, without the %.1f ns a call that "
	    "the runner itself takes: the median, and the median deviation from it.",
	    format_many(a->plan->reps, "run", "runs").s, pinned, passes,
	    threads_word(a, r->time_mode), r->null_ns.median);
	sentence_add(
	    w,
	    "Two times count as different if they differ by more than %.3g times the sum of their "
	    "deviations, by more than the control (%s played again: %.1f %%) and by 1 %%.",
	    stats_noise((struct middle){ 0, 1 }, (struct middle){ 0, 0 }, a->plan->reps),
	    r->control.variant ? r->control.variant->name : "", 100 * a->verdict.control);
	sentence_add(w,
		     "This is the time in the allocator and its page faults. Block placement also "
		     "affects the speed of the program itself, which is not measured here.");
	if (r->time_mode == RUNS_THREADS)
		sentence_add(
		    w,
		    "Without a fixed order, threads interleave differently than in the program.");
}

static void how_speed(const struct replay_answer *a, struct sentences *w)
{
	const double up = replay_speed_up(a);

	if (a->plan->speed && a->runs->memory_mode != RUNS_ORDERED)
		sentence_add(w, "Calls waited for the recorded time divided by %u.",
			     a->plan->speed);
	else if (up >= FASTER)
		sentence_add(w,
			     "A replay is %.3g times as fast as the program was: allocators that "
			     "return memory after a delay have less time to do so. --speed 1 plays "
			     "at the program's speed.",
			     up);
}

/* Puts "MALLOC_ARENA_MAX=2, ...", and the version of each allocator. */
static void how_system(const struct replay_answer *a, struct sentences *w)
{
	static const char *const thp[] = { "never", "madvise", "always" };
	const struct runs *r = a->runs;
	size_t i;

	sentence_add(w, "Huge pages: %s%s.",
		     a->plan->no_huge ? "switched off for these runs; system setting: " : "",
		     r->thp < 3 ? thp[r->thp] : "not known");
	for (i = 0; i < a->inherited_n; i++)
		sentence_add(w, "From the environment: %s (--env clear removes it).",
			     a->inherited[i]);
	for (i = 0; i < r->n; i++)
		sentence_add(w, "%s: %s%s%s.", r->row[i].variant->name, r->row[i].variant->version,
			     *r->row[i].variant->so ? ", " : "", r->row[i].variant->so);
}

static void how_kept(const struct replay_answer *a, struct sentences *w)
{
	if (replay_waited(a))
		sentence_add(w,
			     "No call is made for %.3g s after all blocks were freed: an allocator "
			     "that returns memory only during calls still has it.",
			     replay_waited(a) / 1e3);
}

void replay_how(const struct replay_answer *a, struct sentences *w)
{
	how_memory(a, w);
	how_kept(a, w);
	if (a->verdict.timed)
		how_time(a, w);
	how_speed(a, w);
	how_system(a, w);
}
