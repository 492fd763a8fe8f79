// SPDX-License-Identifier: LGPL-3.0-or-later
/* findings.c - see findings.h. */
#include "findings.h"

#include <stdlib.h>
#include <string.h>

#include "finding_sums.h"
#include "leak_growth.h"
#include "leaks.h"
#include "paths.h"
#include "../sym/code.h"
#include "../sym/interpreters.h"
#include "../util/alloc.h"
#include "../util/order.h"

/* Many small blocks are a leak, too, if they are this part of all blocks that were never freed. */
#define LEAK_BLOCKS_PART 2u
#define LEAK_BLOCKS	 100u
/* A leak that grows and has LEAK_BLOCKS, or this number of bytes, is a finding even if it is a
 * small part of the peak.  The largest functions are examined. */
#define LEAK_GROWN	(64u << 10)
#define LEAK_LARGEST	64u
#define LEAK_GROWN_RANK 0.45
/* But a start that takes most of a run makes what it keeps look like growth: unless it grew in all
 * parts of the run, it comes after leaks this many times as large that may grow as well. */
#define LEAK_LARGER 4u

#define TURNED_OVER  100u     /* times the peak: from here on the total is a finding */
#define LONG_STRING  1024u    /* bytes, on average */
#define ENOUGH_BYTES 65536.0  /* of the peak, and ... */
#define ENOUGH_CALLS 1000.0   /* from which a finding has its full rank */
#define RARE_NS	     1000000u /* of CPU time for each call, which takes about 0.01 % of it, ... */
#define RARE_BYTES   4096u    /* or for each of this size: to write to it takes as long */
#define GROWN_COPIED (16u << 20) /* copying this much is a finding, however few the steps */

static const struct {
	size_t whole; /* offset in struct site_values */
	unsigned least_percent;
	uint64_t least;
	unsigned most;
	double weight;
	enum finding_change change;
} kinds[FINDING_KINDS] = {
#define FINDING(id, name, sentence, brief, figure, total, unit, percent, fewest, times, part, \
		proposes, view)                                                               \
	[FINDING_##id] = { .whole = offsetof(struct site_values, total),                      \
			   .least_percent = percent,                                          \
			   .least = fewest,                                                   \
			   .most = times,                                                     \
			   .weight = part,                                                    \
			   .change = PROPOSES_##proposes },
#include "finding_kinds.def"
};

/* Returns the total that the parts of a kind belong to. */
static uint64_t whole_of(const struct sites *s, enum finding_kind kind)
{
	return *(const uint64_t *)((const char *)&s->total + kinds[kind].whole);
}

/* ---- findings ---- */

/* Is it part of a script or its interpreter?  Its author can neither reserve nor use a pool. */
static bool is_of_script(const struct sym_line *line)
{
	return line->script || sym_interpreter(line->module);
}

/* Does an interpreter end without freeing it? */
static bool is_kept_for_script(const struct sym_line *line)
{
	const struct sym_interpreter *of = sym_interpreter(line->module);

	return of && of->keeps;
}

/* Can the reader change it?  That needs a place in the source: a line, or at least a name in the
 * program, not in a library nor in an interpreter. */
static bool can_be_changed(const struct sym_line *line)
{
	if (is_of_script(line))
		return false;
	return *line->file || (line->known && !finding_is_of_shared(line));
}

static const struct sym_line *find_interpreter(struct profile *names, uint32_t stack)
{
	const struct profile_path *path = profile_path(names, stack);

	for (size_t i = path->all; i--;)
		if (sym_interpreter(path->line[i]->module) && !path->line[i]->runs_scripts)
			return path->line[i];
	return NULL;
}

/* Does GLib request a block to divide?  With G_SLICE=always-malloc, it calls g_malloc. */
static bool is_of_slices(struct profile *names, uint32_t stack)
{
	const struct profile_path *path = profile_path(names, stack);

	for (size_t i = path->all; i-- > 1;)
		if (!strcmp(path->line[i - 1]->function, "g_slice_alloc"))
			return strncmp(path->line[i]->function, "g_", 2) != 0;
	return false;
}

static bool passes_through(struct profile *names, uint32_t stack, const char *begin)
{
	const struct profile_path *path = profile_path(names, stack);

	for (size_t i = 0; i < path->all; i++)
		if (!strncmp(path->line[i]->function, begin, strlen(begin)))
			return true;
	return false;
}

#define COLLECTOR(of)                                                           \
	of "'s collector requests large blocks for values of many callers, and" \
	   " keeps its heap until the program ends: that is not a leak."

/* Does a collector request the block, for its heap or its own work?  Returns what to say then. */
static const char *collector_of(struct profile *names, uint32_t stack)
{
	static const struct {
		const char *function, *note;
	} heaps[] = {
		{ "caml_alloc_for_heap", COLLECTOR("OCaml") },
		{ "caml_shared_try_alloc", COLLECTOR("OCaml") },
		{ "caml_major_collection_slice", COLLECTOR("OCaml") },
		{ "caml_init_gc", COLLECTOR("OCaml") },
		{ "C_rereclaim2", COLLECTOR("Chicken") },
		{ "___setup_mem", COLLECTOR("Gambit") },
	};

	for (size_t k = 0; k < sizeof(heaps) / sizeof(heaps[0]); k++)
		if (passes_through(names, stack, heaps[k].function))
			return heaps[k].note;
	return NULL;
}

static const char *note_of(struct profile *names, uint32_t stack)
{
	/* Pools that request blocks to divide, by the beginning of a function's name. */
	static const struct {
		const char *function, *note;
	} pools[] = {
		{ "std::pmr::monotonic_buffer_resource::",
		  "A std::pmr::monotonic_buffer_resource divides its blocks for many callers;"
		  " std::pmr::new_delete_resource() in its place shows those of each." },
		{ "std::pmr::unsynchronized_pool_resource::",
		  "A std::pmr::unsynchronized_pool_resource divides its blocks for many callers;"
		  " std::pmr::new_delete_resource() in its place shows those of each." },
		{ "std::pmr::synchronized_pool_resource::",
		  "A std::pmr::synchronized_pool_resource divides its blocks for many callers;"
		  " std::pmr::new_delete_resource() in its place shows those of each." },
		{ "google::protobuf::internal::SerialArena::",
		  "An Arena of protobuf divides its blocks for many messages; without one, the"
		  " program shows those of each." },
	};

	if (is_of_slices(names, stack))
		return "GLib divides the blocks of g_slice_alloc for many callers;"
		       " G_SLICE=always-malloc in the environment shows those of each.";
	for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++)
		if (passes_through(names, stack, pools[i].function))
			return pools[i].note;
	return collector_of(names, stack);
}

static void insert(struct findings *f, const struct finding *new)
{
	size_t i = f->count;

	if (i == FINDINGS) {
		if (new->rank <= f->item[i - 1].rank)
			return;
		i--;
	} else {
		f->count++;
	}
	for (; i && f->item[i - 1].rank < new->rank; i--)
		f->item[i] = f->item[i - 1];
	f->item[i] = *new;
	f->item[i].interpreter = find_interpreter(&f->names, new->at_stack.stack);
	f->item[i].note = note_of(&f->names, new->at_stack.stack);
}

/* Will a longer run have more of it, by more than chance explains? */
static bool grows_on(const struct analysis *a, enum finding_growth growth,
		     const struct finding_top *t)
{
	return growth_goes_on(growth) && (t->live_calls >= LEAK_BLOCKS || t->part >= LEAK_GROWN) &&
	       t->part >= a->never_freed.all.bytes / LEAK_LITTLE;
}

/* Was all recorded for which a process used its CPU time? */
static bool is_whole(const struct analysis *a)
{
	const struct mprof_file_header *h = a->walk.input.header;
	bool attached = false;

	for (size_t i = 0; i < a->tree.processes; i++)
		attached |= a->tree.process[i].attached;
	return !attached && !h->dropped_ticks && !h->pauses && h->paused < 2 &&
	       !a->walk.input.log_end && !a->walk.input.reduced_count;
}

/* Are these calls too few, and the bytes of their blocks in total, to matter beside the CPU time?
 * If that is unknown, no. */
static bool is_rare(const struct analysis *a, uint64_t calls, uint64_t bytes)
{
	uint64_t cpu_ns = 0;

	for (size_t i = 0; i < a->tree.processes; i++)
		cpu_ns += a->tree.process[i].user_ns + a->tree.process[i].system_ns;
	return calls + bytes / RARE_BYTES < cpu_ns / RARE_NS && is_whole(a);
}

static bool is_of_calls(enum finding_kind kind)
{
	return kind == FINDING_HOT || kind == FINDING_TEMPORARY || kind == FINDING_THREADS;
}

static bool is_of_rare_calls(const struct analysis *a, struct finding_sums *s, uint32_t function,
			     const struct finding_top *t)
{
	struct site_values v;

	if (!is_of_calls(s->kind) || !is_rare(a, t->part, 0))
		return false;
	finding_sums_values(s, function, &v);
	return is_rare(a, t->part, v.bytes);
}

/* Is the function's part worth a finding? */
static bool is_worth(const struct analysis *a, enum finding_kind kind, const struct finding_top *t,
		     uint64_t whole, uint64_t peak, enum finding_growth growth)
{
	if (!whole || t->part < kinds[kind].least)
		return false;
	if (kind == FINDING_TOTAL && (!peak || whole / 2 < peak))
		return false;
	if (kind == FINDING_LEAK && t->live_calls >= LEAK_BLOCKS &&
	    t->live_calls >= a->never_freed.all.blocks / LEAK_BLOCKS_PART)
		return true;
	if (kind == FINDING_LEAK && grows_on(a, growth, t))
		return true;
	return (double)t->part * 100 >= kinds[kind].least_percent * (double)whole;
}

/* Returns the bytes at the peak of the run.  That of totals may be too low, because threads fold
 * their changes now and then; that of events is, if some are missing. */
static uint64_t peak_of(const struct analysis *a, const struct sites *sites)
{
	return sites->total.peak_bytes > a->peak.all.at.bytes ? sites->total.peak_bytes
							      : a->peak.all.at.bytes;
}

static uint64_t aligned_calls(const struct analysis *a)
{
	uint64_t calls = 0;

	for (unsigned fn = 0; fn < MPROF_FN_MAX; fn++)
		calls += heap_aligns(fn) ? a->totals.all.fn[fn].calls : 0;
	return calls;
}

/* Returns the time from its last call to the end of the run, if it is most of it and it freed no
 * block: then a leak has stopped, or the program keeps what it has loaded. */
static uint64_t quiet_ns(const struct analysis *a, struct finding_sums *s, uint32_t function,
			 const struct finding_top *t)
{
	const uint64_t end = a->tree.end_ticks, start = a->tree.start_ticks;
	struct site_values v;

	if (a->of_totals || !analysis_interrupted(a) || tree_has_heir(&a->tree) ||
	    t->live_calls < t->calls || t->calls < LEAK_BLOCKS)
		return 0;
	finding_sums_values(s, function, &v);
	if (v.last_ticks >= end || end - v.last_ticks < (end - start) / 2)
		return 0;
	return walk_duration_ns(&a->walk, end - v.last_ticks);
}

static uint64_t growing_ns(const struct analysis *a, struct finding_sums *s, uint32_t function,
			   bool script)
{
	struct site_values v;

	finding_sums_values(s, function, &v);
	return growth_freed_ns(a, s->sites, &v, script);
}

/* Most of very little is little. */
static double weight_of(enum finding_kind kind, uint64_t whole)
{
	const double enough = is_of_calls(kind) ? ENOUGH_CALLS : ENOUGH_BYTES;

	return (double)whole < enough ? (double)whole / enough : 1;
}

static void add_growth(struct finding *new, const struct analysis *a, struct finding_sums *s,
		       uint32_t function)
{
	const bool known = growth_is_known(a);
	struct site_values v, grown;
	uint64_t until;

	finding_sums_values(s, function, &v);
	if (a->of_totals) {
		new->growth = growth_of_totals(a, &v, &until);
		new->grew_ns = until ? walk_since_ns(&a->walk, until) : 0;
		return;
	}
	new->ended_before =
	    !tree_has_heir(&a->tree) && v.epoch_bytes[SITE_EPOCHS - 1] < v.live_bytes;
	grown = v;
	finding_sums_curve(s, function, grown.epoch_bytes);
	new->growth = growth_of(&grown, known);
	if (new->growth == GROWTH_OTHER) /* also of what is replaced: it was full early */
		new->growth = growth_of(&v, false);
	new->unreachable = v.unreachable_calls;
	if (!v.unreachable_calls)
		new->holder = reachable_holder(s->names->reachable, s->names->sym, &v);
	if (new->growth == GROWTH_UNTIL)
		new->grew_ns = growth_end_ns(a, s->sites, grown.epoch_bytes);
	/* Totals have no times of calls. */
	if (known && !s->sites->totals.read &&
	    (new->growth == GROWTH_EARLY || new->growth == GROWTH_OTHER) &&
	    growth_is_short(s->sites, &v) && growth_is_busy(finding_sums_calls(s), s->sites, &v)) {
		new->growth = GROWTH_BUSY;
		new->since_ns = walk_since_ns(&a->walk, v.first_ticks);
		new->grew_ns = walk_since_ns(&a->walk, v.last_ticks);
	}
}

/*
 * Is the standard deviation of its part more than half of it?  That of n samples of the same weight
 * is 1/sqrt(n) of their sum.  How much of a peak comes from samples is unknown: of a function that
 * has samples, it is assumed to be all.
 */
static bool is_about(enum finding_kind kind, struct finding_sums *s, uint32_t function,
		     uint64_t part)
{
	const double half = (double)part / 2;
	struct site_values v;

	if (!s->sites->totals.estimated ||
	    (kind != FINDING_PEAK && kind != FINDING_LEAK && kind != FINDING_HOT))
		return false;
	finding_sums_values(s, function, &v);
	if (kind == FINDING_PEAK)
		return (double)part < 4 * v.error.heaviest_bytes;
	return (kind == FINDING_LEAK ? v.error.live_bytes : v.error.calls) > half * half;
}

/* Returns the rank of a leak that grows, whose size alone would give it another one. */
static double rank_of_grown(const struct findings *f, const struct finding *new)
{
	double rank = LEAK_GROWN_RANK;
	const struct finding *x;

	for (x = f->item; x < f->item + f->count && new->growth != GROWTH_STEADY; x++)
		if (x->kind == FINDING_LEAK && x->part / LEAK_LARGER >= new->part &&
		    x->growth != GROWTH_ONCE && x->growth != GROWTH_EARLY &&
		    !is_kept_for_script(x->line) && x->rank < rank)
			rank = x->rank;
	return new->rank > rank ? new->rank : rank;
}

/* Returns a bound of how much of a leak was live at a time; 0 if it is unknown.  Processes may have
 * left it one after another. */
static uint64_t most_of_leak(const struct analysis *a, struct finding_sums *s, uint32_t function,
			     const struct finding *new)
{
	struct site_values v;

	if (new->about || new->cut)
		return 0;
	if (a->of_totals) {
		finding_sums_values(s, function, &v);
		return v.left_most * s->sites->totals.together;
	}
	/* No more than the peak was ever live, if that is of all calls and processes. */
	return a->walk.input.header->dropped_bytes || a->walk.input.reduced_count ||
		       a->walk.input.log_end
		   ? 0
		   : new->peak;
}

static void add_left_by(const struct analysis *a, struct finding_sums *s, uint32_t function,
			struct finding *new)
{
	const uint64_t most = most_of_leak(a, s, function, new);

	if (!most || new->part / 2 <= most)
		return;
	new->one_by_one = true;
	new->rank *= (double)most / (double)new->part;
	new->peak = most;
}

/* Are there as many findings of leaks that an interpreter has as are shown? */
static bool has_kept(const struct findings *f)
{
	unsigned kept = 0;

	for (size_t i = 0; i < f->count; i++)
		kept += f->item[i].kind == FINDING_LEAK && is_kept_for_script(f->item[i].line);
	return kept >= kinds[FINDING_LEAK].most;
}

bool findings_of_plus(const struct finding *f)
{
	static const char plus[] = "operator+";
	const char *at = f->through && f->all_through ? strstr(f->through->function, plus) : NULL;

	return at && !strchr("+=", at[strlen(plus)] ?: '(') &&
	       (!strncmp(f->through->function, "std::", 5) || strstr(f->through->file, "string"));
}

/* Is the total much beside the peak of the run, or, for long strings that are made anew again and
 * again, beside the function's own? */
static bool is_turned_over(struct finding_sums *s, uint32_t function, const struct finding_top *t,
			   const struct finding *f)
{
	struct site_values v;

	if (f->of / TURNED_OVER >= f->peak)
		return true;
	if (!findings_of_plus(f) || !t->own_calls || t->part / t->own_calls < LONG_STRING)
		return false;
	finding_sums_values(s, function, &v);
	return v.local_bytes <= t->part / TURNED_OVER;
}

/* Returns false if the blocks are not a leak of the program, whatever their size. */
static bool add_finding(struct findings *f, const struct analysis *a, struct finding_sums *s,
			uint32_t function, const struct finding_top *t, bool only_grown)
{
	const enum finding_kind kind = s->kind;
	const uint64_t whole = whole_of(s->sites, kind);
	struct finding new = {
		.kind = kind,
		.part = t->part,
		.of = whole,
		.calls = t->calls,
		.interrupted = analysis_interrupted(a),
		.cut = analysis_is_cut(a),
		.reduced = t->reduced || a->of_totals,
		.process = a->of_totals ? s->sites->totals.process : 0,
		.aligned = aligned_calls(a),
		.peak = peak_of(a, s->sites),
	};
	bool kept;

	if (kind == FINDING_LEAK)
		add_growth(&new, a, s, function);
	if (!is_worth(a, kind, t, whole, new.peak, new.growth) ||
	    is_of_rare_calls(a, s, function, t) || (only_grown && !grows_on(a, new.growth, t)))
		return true;
	finding_sums_place(s, function, &new);
	if (kind == FINDING_TOTAL && !is_turned_over(s, function, t, &new))
		return true;
	kept = kind == FINDING_LEAK && is_kept_for_script(new.line);
	if ((kind == FINDING_LEAK && collector_of(&f->names, new.at_stack.stack)) ||
	    (kept && has_kept(f)))
		return false;
	if (new.lines == 1)
		new.calls = new.at_line.calls;
	new.blocks = kind == FINDING_LEAK    ? t->live_calls
		     : kind == FINDING_TOTAL ? t->own_calls
					     : t->peak_calls;
	new.about = is_about(kind, s, function, t->part);
	/* The remaining blocks of a process that was killed are a leak only if they grew. */
	if (kind == FINDING_LEAK && new.interrupted && !growth_goes_on(new.growth))
		return true;
	new.left = t->left;
	new.pages = kind == FINDING_WASTE ? t->peak_slack - t->part : 0;
	new.quiet_ns = kind == FINDING_PEAK ? quiet_ns(a, s, function, t) : 0;
	if (kind == FINDING_PEAK)
		new.growing_ns = growing_ns(a, s, function, new.line->script);
	new.untouched = kind == FINDING_PEAK ? analysis_untouched(a, t->part) : 0;
	new.rank = kinds[kind].weight *(double)t->part / (double)whole;
	if (new.rank > kinds[kind].weight)
		new.rank = kinds[kind].weight;
	new.rank *= weight_of(kind, whole);
	if (kind == FINDING_LEAK) {
		add_left_by(a, s, function, &new);
		new.examined = f->names.reachable != NULL;
	}
	/* A leak that still grows is worse in a longer run; a single one is not, nor a script's
	 * objects that its interpreter leaves to the end of the process. */
	if (kind == FINDING_LEAK &&
	    (new.growth == GROWTH_ONCE || new.growth == GROWTH_EARLY || kept))
		new.rank /= 4;
	else if (kind == FINDING_LEAK && grows_on(a, new.growth, t))
		new.rank = rank_of_grown(f, &new);
	insert(f, &new);
	return !kept;
}

static void find_kind(struct findings *f, const struct analysis *a, struct finding_sums *s,
		      enum finding_kind kind)
{
	struct finding_top top;
	unsigned taken = 0;
	uint32_t function;

	finding_sums_begin(s, kind);
	for (unsigned n = 0; n < (kind == FINDING_LEAK ? LEAK_LARGEST : kinds[kind].most); n++) {
		function = finding_sums_next(s, &top);
		if (!function)
			break;
		/* What a program holds from its start on may well be larger than a leak. */
		taken += add_finding(f, a, s, function, &top, taken >= kinds[kind].most);
	}
}

/* Returns the share of all calls, or of all copied and allocated bytes, whichever is greater. */
static double rank_of_growth(const struct analysis *a, const struct growth_site *s)
{
	const struct site_values *all = &analysis_sites(a)->total;
	double calls = (double)s->saved_steps / (double)(all->calls ? all->calls : 1);
	double bytes = (double)s->saved_copied / (double)(all->bytes ? all->bytes : 1);

	return calls > bytes ? calls : bytes;
}

static bool has_grown(const struct findings *f, const struct sym_line *line)
{
	const struct finding *x;

	for (x = f->item; x < f->item + f->count; x++)
		if (x->kind == FINDING_GROWN && !sym_order_functions(x->line, line))
			return true;
	return false;
}

/* An allocating line, whose chains are combined. */
struct growing {
	struct profile *names;
	struct line_interner lines;
};

static uint32_t line_of(void *growing, uint32_t stack)
{
	struct growing *g = growing;
	/* Nobody can reserve in what a run-time library keeps for itself. */
	const struct sym_line *line =
	    profile_kept(g->names, stack, 0) ? NULL : profile_asked(g->names, stack).line;

	return line ? line_interner_id(&g->lines, line) : 0;
}

/* Can the caller of a library reserve?  Only for a function that adds to what the caller has, not
 * for one that makes a list of its own. */
static bool can_reserve(const struct sym_line *through)
{
	static const char *const adds[] = {
		"append", "prepend", "add", "push", "insert", "emplace",
		"write",  "printf",  "put", "+=",   "<<",     "resize"
	};

	if (!through || *through->file || !finding_is_of_shared(through) ||
	    !strncmp(through->module, "libstdc++", 9))
		return true;
	for (size_t i = 0; i < sizeof(adds) / sizeof(adds[0]); i++)
		if (strcasestr(through->function, adds[i]))
			return true;
	return false;
}

/* Returns false if the following ones are not worth reporting either. */
static bool add_grown(struct findings *f, const struct analysis *a, const struct growth_site *s)
{
	const struct profile_asked who = profile_asked(&f->names, s->stack);
	struct finding new = {
		.kind = FINDING_GROWN,
		.line = who.line,
		.at_line = { .part = s->saved_steps, .calls = s->steps, .stack = s->stack },
		.lines = 1,
		.through = who.through,
		.all_through = true,
		.caller = who.caller,
		.all_by_caller = true,
		.at_stack = { .calls = s->steps, .stack = s->stack },
		.grown = *s,
		.part = s->saved_steps,
		.of = analysis_sites(a)->total.calls,
		.calls = s->steps,
		.rank = rank_of_growth(a, s),
		.reduced = sites_kept_until(&a->walk, s->stack),
	};

	if (new.rank * 100 < kinds[FINDING_GROWN].least_percent)
		return false;
	/* A user who runs a script cannot reserve in its interpreter, nor in a library whose source
	 * is not known, nor in what Rust does for a panic. */
	if (((s->saved_steps < kinds[FINDING_GROWN].least ||
	      is_rare(a, s->saved_steps, s->saved_copied)) &&
	     s->saved_copied < GROWN_COPIED) ||
	    has_grown(f, new.line) || is_of_script(new.line) || finding_is_of_panic(new.through) ||
	    (finding_is_of_shared(new.line) && !*new.line->file) || !can_reserve(new.through) ||
	    profile_is_closed(&f->names, s->stack))
		return true;
	new.rank *= kinds[FINDING_GROWN].weight;
	insert(f, &new);
	return true;
}

ORDER_IN(by_growth, struct growth_site, struct analysis,
	 COMPARE(rank_of_growth(in, y), rank_of_growth(in, x)))

/* Finds the best line of each of the best functions. */
static void find_grown(struct findings *f, const struct analysis *a)
{
	struct growing g = { .names = &f->names, .lines.same = LINE_LINE };
	size_t n, i, before = f->count;
	struct growth_site *site = growth_merged(&a->growth, line_of, &g, &n);

	SORT_IN(site, n, by_growth, a);
	for (i = 0; i < n; i++)
		if (!add_grown(f, a, &site[i]) || f->count >= before + kinds[FINDING_GROWN].most)
			break;
	line_interner_release(&g.lines);
	free(site);
}

/* ---- what can be tried ---- */

/* Would a pool of the usual chunks take the blocks of this part?  `aligned`: calls of the whole run
 * with an alignment, which no site counts. */
static bool fits_pool(const struct finding_part *part, uint64_t aligned)
{
	return part->calls >= FINDINGS_POOL_CALLS && part->largest <= FINDINGS_POOLED &&
	       aligned <= part->calls / 2;
}

struct finding_proposal finding_proposal(const struct finding *f)
{
	struct finding_proposal p = { .change = kinds[f->kind].change, .of_line = f->line->line };
	const struct finding_part *part = p.of_line ? &f->at_line : &f->at_stack;

	p.calls = f->kind == FINDING_GROWN ? f->grown.chains : part->calls;
	if (f->reduced || paths_part(f->line) != PATHS_PROGRAM || !can_be_changed(f->line))
		p.change = PROPOSES_NOTHING;
	if (f->kind == FINDING_GROWN ? !p.of_line && f->grown.merged > 1 : part->part < f->part / 2)
		p.change = PROPOSES_NOTHING;
	if (p.change == PROPOSES_POOL &&
	    (profile_copies(f->line) ||
	     (f->through && f->all_through && profile_copies(f->through))))
		p.change = PROPOSES_DROP;
	/* It must drop the blocks that were found, and not everything that the program does. */
	if (p.change == PROPOSES_DROP &&
	    (part->part < part->calls / 2 || (double)part->calls > 0.9 * (double)f->of))
		p.change = PROPOSES_NOTHING;
	if (p.change == PROPOSES_POOL && (!fits_pool(part, f->aligned) || f->by_library))
		p.change = PROPOSES_NOTHING;
	return p;
}

/* ---- all ---- */

/* Finds functions whose calls are not all events, the one with most bytes first. */
static void name_reduced(struct findings *f, const struct sites *s, const struct askers *askers)
{
	const struct sym_line *line;
	size_t i, k;

	f->reduced_count = 0;
	f->reduced_more = false;
	for (i = 0; i < s->count; i++) {
		if (!askers->of[i].line || !sites_kept_until(s->walk, s->brief[i].key))
			continue;
		line = line_interner_line(&askers->lines, askers->of[i].line);
		for (k = 0; k < f->reduced_count; k++)
			if (!sym_order_functions(f->reduced[k], line))
				break;
		if (k == FINDINGS_REDUCED)
			f->reduced_more = true;
		else if (k == f->reduced_count)
			f->reduced[f->reduced_count++] = line;
	}
}

bool findings_same_function(const struct finding *a, const struct finding *b)
{
	return !sym_order_functions(a->line, b->line);
}

/* Does x include everything that y says? */
static bool says_more(const struct finding *x, const struct finding *y)
{
	/* The reason why a function calls so often implies that it does.  An array that is
	 * replaced at each step takes two calls a step, and a few more. */
	if (y->kind == FINDING_HOT)
		return ((x->kind == FINDING_TEMPORARY && x->part >= y->part / 2) ||
			(x->kind == FINDING_GROWN && x->part * 20 >= y->part * 9)) &&
		       findings_same_function(x, y);
	/* The sizes of a block that grows by a little at a time add up to much, whatever is copied.
	 */
	if (y->kind == FINDING_TOTAL)
		return x->kind == FINDING_GROWN && y->lines == 1 &&
		       x->line->line == y->line->line && x->part * 20 >= y->calls * 9 &&
		       findings_same_function(x, y);
	/* The peak includes blocks that were allocated once and stayed. */
	if (y->kind == FINDING_LEAK)
		return x->kind == FINDING_PEAK && x->left && x->left >= x->part / 2 &&
		       (y->growth == GROWTH_ONCE || y->growth == GROWTH_EARLY) &&
		       findings_same_function(x, y);
	return false;
}

static void drop_told(struct findings *f)
{
	size_t i, k, n;

	for (i = n = 0; i < f->count; i++) {
		for (k = 0; k < f->count; k++)
			if (k != i && says_more(&f->item[k], &f->item[i]))
				break;
		/* A finding that was dropped said no more than the remaining ones. */
		if (k == f->count)
			f->item[n++] = f->item[i];
	}
	f->count = n;
	for (i = 0; i < n; i++)
		for (k = 0; k < n; k++)
			f->item[i].left_told |= f->item[k].kind == FINDING_LEAK &&
						findings_same_function(&f->item[i], &f->item[k]);
}

/* Finds resident memory that is not live; names is NULL without call stacks. */
static void find_resident(struct findings *f, const struct analysis *a, struct trace *t,
			  struct profile *names)
{
	f->retained = (struct retained){ .process = 0 };
	f->outside = (struct outside){ .process = 0 };
	f->larger = (struct larger){ .process = 0 };
	f->files = (struct outside_place){ .bytes = 0 };
	if (a->of_totals)
		larger_find(&f->larger, a, t, names);
	/* Only a part of the live memory is known. */
	if (a->of_totals || a->walk.input.reduced_count || a->walk.input.log_end)
		return;
	outside_find(&f->outside, a, t, &f->stacks.uses, names);
	if (names)
		outside_find_files(&f->files, a, names);
	if (analysis_knows_live(a))
		retained_find(&f->retained, a, names);
}

static void find_times(struct findings *f, const struct analysis *a, const struct trace *t)
{
	const struct totals_thread *thread = a->totals.thread.item;
	const size_t n = a->totals.thread.count;
	const bool all = !a->walk.input.log_end && !a->walk.input.reduced_count &&
			 !trace_header(t)->dropped_ticks;
	struct alloc_times_calls *calls = must_calloc(n + 1, sizeof(*calls));

	for (size_t i = 0; i < n; i++) {
		calls[i].thread = thread[i].number;
		for (unsigned fn = 0; fn < MPROF_FN_MAX; fn++)
			calls[i].calls[fn] = thread[i].sum.fn[fn].calls;
	}
	alloc_times_find(&f->times, t, calls, all ? n : 0);
	f->times.interrupted = tree_interrupted(&a->tree);
	free(calls);
}

/* Without --python, CPython's own allocator serves small objects; what those cost now says nothing
 * about another allocator. */
static void judge_times(struct alloc_times *t, const struct stacks *stacks)
{
	t->of_objects = t->high && code_of_python(stacks);
	t->high &= !t->of_objects;
}

static int open_names(struct findings *f, struct trace *t, const struct profile_options *o,
		      struct error *err)
{
	const int ret = f->named ? 0 : profile_names(&f->names, t, o, err);

	f->named = !ret;
	return ret;
}

/* With more stacks, to compare them costs more than it saves later. */
#define GROUPED_STACKS 16384u

int findings_open(struct findings *f, struct trace *t, const struct profile_options *o,
		  struct analysis_source *source, struct error *err)
{
	const struct stacks *stacks = trace_stacks(t);
	struct sites_options groups = { .group = NULL };
	int ret;

	if (!source->milestones || !stacks->definitions || stacks->definitions > GROUPED_STACKS)
		return 0;
	ret = open_names(f, t, o, err);
	if (ret)
		return ret;
	profile_group_stacks(&f->names, &groups);
	source->group = groups.group;
	source->group_context = groups.group_context;
	return 0;
}

int findings_make(struct findings *f, const struct analysis *a, struct trace *t,
		  const struct profile_options *o, struct error *err)
{
	const struct sites *sites = analysis_sites(a);
	struct finding_sums sums;
	int ret, kind;

	f->count = 0;
	f->kept = (struct kept){ .rows = 0 };
	f->unmatched = (struct unmatched){ .of = NULL };
	stack_findings_make(&f->stacks, a, t);
	refaults_find(&f->refaults, a, sites, t);
	if (!a->of_totals) /* mprof compare, which would show more, needs calls */
		find_times(f, a, t);
	if (!a->has_stacks) {
		find_resident(f, a, t, NULL);
		return 0;
	}
	ret = open_names(f, t, o, err);
	if (ret < 0)
		return ret;
	judge_times(&f->times, f->names.stacks);
	/* Its time is that of the pages, and so is what helps. */
	f->times.high &= !f->refaults.process;
	find_resident(f, a, t, &f->names);
	ret = unmatched_find(&f->unmatched, &a->walk.heap, t, err);
	if (ret < 0)
		return ret;
	stack_findings_name(&f->stacks, &f->names);
	if (a->tree.processes == 1)
		f->shorter = shorter_stacks_find(f->names.stacks);
	if (!a->walk.input.log_end)
		stack_findings_unjoined(&f->stacks, sites, &f->names);
	kept_find(&f->kept, sites, &f->names);
	finding_sums_make(&sums, sites, &f->names);
	name_reduced(f, sites, &sums.askers);
	for (kind = 0; kind < FINDING_KINDS; kind++)
		if (kind == FINDING_GROWN)
			find_grown(f, a);
		else
			find_kind(f, a, &sums, (enum finding_kind)kind);
	if (f->refaults.process)
		refaults_place(&f->refaults, sites, &sums.askers, &f->names, a->of_totals);
	for (size_t i = 0; i < f->count; i++) {
		finding_sums_twin(&sums, &f->item[i]);
		f->item[i].beside = o->totals;
	}
	finding_sums_release(&sums);
	profile_path_numbered(&f->names);
	drop_told(f);
	return 0;
}

void findings_tell_outside_once(struct findings *f)
{
	struct outside *o = &f->outside;
	struct stack_findings *s = &f->stacks;
	const uint64_t stacks = s->process == o->process ? o->stacks : 0;
	const uint64_t variables = s->variables_process == o->process ? o->globals : 0;

	if (!o->process || !o->unseen)
		return;
	/* Mapped memory may be a stack, too. */
	if (stacks + variables >= (o->by_who ? o->outside : o->unseen) / 4 * 3) {
		o->process = 0;
		return;
	}
	if (stacks >= o->unseen / 4)
		s->process = 0;
	if (variables >= o->unseen / 4)
		s->variables_process = 0;
}

void findings_release(struct findings *f)
{
	if (f->named)
		profile_release(&f->names);
	f->named = false;
	f->count = 0;
	stack_findings_release(&f->stacks);
	alloc_times_release(&f->times);
}
