// SPDX-License-Identifier: LGPL-3.0-or-later
/* html_window.c - see html_window.h. */
#include "html_window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/bits.h"

/* ---- the peak of a window ---- */

struct highest {
	uint64_t from, to; /* ticks */
	uint64_t bytes;
	struct walk_until at;
	bool in_window;
};

static void look(void *self, const struct batch *b)
{
	struct highest *h = self;
	size_t i;

	for (i = 0; i < b->count; i++) {
		const struct note *n = &b->note[i];
		const uint64_t ticks = b->event[i].ticks;

		if (!(n->did & (NOTE_BEGAN | NOTE_ENDED)) || ticks > h->to)
			continue;
		/* Until the window begins, the latest state counts. */
		h->in_window |= ticks > h->from;
		if (h->in_window && note_all_bytes(n) <= h->bytes && h->at.set)
			continue;
		h->bytes = note_all_bytes(n);
		h->at = (struct walk_until){ .set = true, .ticks = ticks, .event = b->number + i };
	}
}

/* Blocks that are gone when the window begins do not count. */
static void lose(void *self, const struct heap *heap, uint32_t process, enum process_gone why,
		 uint64_t ticks)
{
	struct highest *h = self;

	h->in_window |= ticks > h->from;
	if (why == GONE_TRACE_ENDS || h->in_window)
		return;
	h->bytes = heap->all.bytes - heap->process[process]->live.bytes;
	h->at = (struct walk_until){ .set = true, .ticks = ticks };
}

static const struct pass_ops highest_pass = { .name = "highest", .batch = look, .gone = lose };

/* ---- one walk ---- */

/* A question, and the data for its answer. */
struct asking {
	struct window_answer *answer;
	struct trace *trace;
	const struct snapshot_slice *slice; /* one or more */
	size_t slices;
	const struct snapshots *snapshots;
	const struct html_map *map;
	const struct window_question *q;
	const struct site_filter *filter; /* with the times of blocks that count */
	struct walk walk;
};

/* One pass, starting at the beginning of a slice. */
static int run(struct asking *a, size_t slice, const struct pass_ops *ops, void *self,
	       const struct walk_until *until, struct error *err)
{
	struct snapshot_start from = { a->snapshots, slice, a->trace };
	const struct walk_pass pass = { ops, self };
	struct walk *w = &a->walk;
	struct walk_input in;
	int ret;

	trace_rewind(a->trace);
	walk_input_from_trace(&in, a->trace);
	in.stacks = trace_stacks(a->trace);
	walk_init(w, &in, &pass, 1);
	w->no_pages = true;
	w->until = *until;
	w->cancel = a->q->cancel;
	w->progress = a->q->progress;
	w->progress_context = a->q->progress_context;
	snapshots_begin(w, &from);
	ret = walk_run(w, err);
	walk_release(w);
	return ret;
}

static int64_t ns_of(const struct asking *a, uint64_t ticks)
{
	return trace_ns(a->trace, ticks);
}

static uint64_t ticks_of(const struct asking *a, int64_t ns)
{
	return ns < 0 ? 0 : trace_ticks(a->trace, (uint64_t)ns);
}

static uint64_t to_ticks(const struct asking *a)
{
	return trace_ticks(a->trace, a->q->to_ns < 0 ? 0 : (uint64_t)a->q->to_ns);
}

/* The last slice from which a walk reaches its end, as it would from the beginning. */
static size_t slice_before(const struct asking *a, const struct walk_until *until)
{
	size_t i = a->slices;

	while (--i)
		if (until->event ? a->slice[i].before < until->event
				 : a->slice[i].most_ticks <= until->ticks)
			break;
	return i;
}

/* ---- the peak ---- */

/* A slice that is partly in the window; *over: no later slice is. */
static int look_into(struct asking *a, struct highest *h, size_t i, bool *over, struct error *err)
{
	struct walk_until until = { .set = true, .ticks = h->to };

	*over = i + 1 == a->slices || a->slice[i].last_ticks > h->to;
	if (!*over)
		until.event = a->slice[i + 1].before;
	return run(a, i, &highest_pass, h, &until, err);
}

/* A slice that is entirely in the window. */
static void look_at(struct highest *h, const struct snapshot_slice *s)
{
	if (!s->highest.at.set)
		return;
	if (!h->in_window || !h->at.set || s->highest.live_bytes > h->bytes) {
		h->bytes = s->highest.live_bytes;
		h->at = s->highest.at;
	}
	h->in_window = true;
}

static bool is_inside(const struct asking *a, const struct highest *h,
		      const struct snapshot_slice *s)
{
	return a->slices > 1 && s->first_ticks > h->from && s->last_ticks <= h->to;
}

/* The most live bytes of the slices that are entirely in the window. */
static uint64_t most_inside(const struct asking *a, const struct highest *h, size_t i)
{
	uint64_t most = 0;

	for (; i < a->slices; i++)
		if (is_inside(a, h, &a->slice[i]) && a->slice[i].highest.at.set &&
		    a->slice[i].highest.live_bytes > most)
			most = a->slice[i].highest.live_bytes;
	return most;
}

/* Was less live in all of it?  Then a slice that is partly in the window need not be walked. */
static bool is_lower(const struct snapshot_slice *s, uint64_t bytes)
{
	return s->last.live_bytes < bytes && (!s->highest.at.set || s->highest.live_bytes < bytes);
}

/* Finds the time of the window's peak. */
static int find_peak(struct asking *a, struct walk_until *until, struct error *err)
{
	const uint64_t from = ticks_of(a, a->q->from_ns);
	const struct walk_until begin = { .ticks = from };
	size_t i = slice_before(a, &begin);
	struct highest h = { .from = from,
			     .to = until->ticks,
			     .at = a->slice[i].last.at,
			     .bytes = a->slice[i].last.live_bytes };
	const uint64_t inside = most_inside(a, &h, i);
	bool over = false;
	int ret = 0;

	for (; i < a->slices && !over && !ret; i++) {
		const struct snapshot_slice *s = &a->slice[i];

		if (is_inside(a, &h, s))
			look_at(&h, s);
		else if (is_lower(s, inside))
			over = s->last_ticks > h.to;
		else
			ret = look_into(a, &h, i, &over, err);
	}
	if (h.at.set)
		*until = h.at;
	return ret;
}

/* ---- what is live at a time ---- */

static void count(const struct asking *a, uint32_t stack, uint64_t blocks, uint64_t bytes)
{
	const uint32_t node = stack < a->map->stacks ? a->map->node_of[stack] : HTML_NO_NODE;

	if (!blocks || node == HTML_NO_NODE)
		return;
	a->answer->bytes += bytes;
	a->answer->blocks += blocks;
	a->answer->node_bytes[node] += bytes;
	a->answer->node_blocks[node] += blocks;
}

static void add_live(void *self, const struct heap *h, uint32_t process, enum process_gone why,
		     uint64_t ticks)
{
	struct heap_round round = { 0 };
	const struct block *b;
	struct asking *a = self;

	if (why != GONE_TRACE_ENDS)
		return;
	a->answer->ns = ns_of(a, ticks);
	while ((b = heap_next_block(h->process[process], &round)))
		if (!(b->owner & BLOCK_INHERITED) &&
		    site_filter_passes(a->filter, &a->walk, b, process))
			count(a, b->stack, 1, b->size);
}

static const struct pass_ops live_pass = { .name = "live", .gone = add_live };

static int ask_moment(struct asking *a, struct error *err)
{
	struct walk_until until = { .set = true, .ticks = to_ticks(a) };
	int ret = a->q->kind == WINDOW_PEAK ? find_peak(a, &until, err) : 0;

	return ret ? ret : run(a, slice_before(a, &until), &live_pass, a, &until, err);
}

/* ---- what was allocated ---- */

static void add_births(void *self, const struct batch *b)
{
	struct asking *a = self;

	for (size_t i = 0; i < b->count; i++) {
		const struct event *e = &b->event[i];
		const struct note *n = &b->note[i];
		const struct block born = { .size = e->size,
					    .start = e->ticks,
					    .owner = n->thread & BLOCK_THREAD,
					    .fn = e->fn };

		if (n->did & NOTE_BEGAN &&
		    site_filter_passes(a->filter, &a->walk, &born, n->process))
			count(a, e->stack, 1, e->size);
	}
}

/* The same without a heap, from what the file says. */
static void add_birth(void *self, const struct event *e)
{
	const struct asking *a = self;
	const struct site_filter *f = a->filter;
	int64_t ns;

	if ((f->process && f->process != e->process) ||
	    !trace_chooses(a->trace, &f->thread, e->thread) || e->size < f->size_min ||
	    e->size > f->size_max || (f->functions && !(f->functions >> (e->fn & 31) & 1)))
		return;
	ns = ns_of(a, e->ticks);
	if (ns >= f->from_ns && ns <= f->to_ns)
		count(a, e->stack, 1, e->size);
}

static const struct pass_ops births_pass = { .name = "births", .batch = add_births };

static bool is_power(uint64_t n)
{
	return n && !(n & (n - 1));
}

/* Are its limits on the boundaries of size classes? */
static bool is_of_classes(const struct site_filter *f)
{
	return (!f->size_min || is_power(f->size_min)) &&
	       (f->size_max == UINT64_MAX || is_power(f->size_max + 1));
}

static bool is_known(const struct asking *a, const struct snapshot_slice *s)
{
	const struct site_filter *f = a->filter;

	return a->slices > 1 && f->functions == a->snapshots->functions && is_of_classes(f) &&
	       ns_of(a, s->first_ticks) >= f->from_ns && ns_of(a, s->last_ticks) <= f->to_ns;
}

static void add_known(struct asking *a, const struct snapshot_slice *s)
{
	struct snapshot_births *b = snapshots_births(s);
	const struct site_filter *f = a->filter;

	for (size_t i = 0; i < s->birth_rows; i++)
		if ((!f->process || b[i].process == f->process) &&
		    trace_chooses(a->trace, &f->thread, (uint32_t)b[i].thread) &&
		    b[i].size_class >= bits_of(f->size_min) &&
		    b[i].size_class <= bits_of(f->size_max))
			count(a, (uint32_t)b[i].stack, b[i].blocks, b[i].bytes);
	free(b);
}

static bool are_known(const struct asking *a, size_t i, size_t slices)
{
	size_t n;

	for (n = 0; n < slices && is_known(a, &a->slice[i + n]); n++)
		;
	return n == slices;
}

/* Adds the slices that a sum from slice i on has, and returns how many; 0 if none can be added. */
static size_t add_sum(struct asking *a, size_t i)
{
	const size_t sum = i / SNAPSHOTS_SUM;

	if (i % SNAPSHOTS_SUM || sum >= a->snapshots->sums || !are_known(a, i, SNAPSHOTS_SUM))
		return 0;
	add_known(a, &a->snapshots->sum[sum]);
	return SNAPSHOTS_SUM;
}

/* The same for a question without a filter, from the longest sum by stack. */
static size_t add_stacks(struct asking *a, size_t i)
{
	const struct snapshots *s = a->snapshots;
	size_t slices = 1, longest = 0;
	const struct snapshot_stacks *of = NULL;
	struct snapshot_stack *row;

	for (unsigned level = 0; level < SNAPSHOTS_LEVELS; level++, slices *= SNAPSHOTS_EACH) {
		if (i % slices || i / slices >= s->by_stacks[level] || !are_known(a, i, slices))
			break;
		of = &s->by_stack[level][i / slices];
		longest = slices;
	}
	if (!of)
		return 0;
	row = snapshots_stacks(of);
	for (size_t n = 0; n < of->rows; n++)
		count(a, (uint32_t)row[n].stack, row[n].blocks, row[n].bytes);
	free(row);
	return longest;
}

static size_t add_several(struct asking *a, size_t i)
{
	const struct site_filter *f = a->filter;

	if (!a->snapshots)
		return 0;
	return f->process || thread_is_chosen(&f->thread) || f->size_min ||
		       f->size_max != UINT64_MAX
		   ? add_sum(a, i)
		   : add_stacks(a, i);
}

/* Adds the births of a slice that is partly in the window. */
static int read_births(struct asking *a, size_t i, struct error *err)
{
	const uint64_t to = i + 1 < a->slices ? a->slice[i + 1].before : UINT64_MAX;

	if (a->q->cancel && __atomic_load_n(a->q->cancel, __ATOMIC_RELAXED))
		return fail(err, -ECANCELED, "cancelled");
	if (!trace_births(a->trace, &a->slice[i].place, a->slice[i].before, to, add_birth, a))
		return fail(err, -EBADMSG, "'%s' has changed", trace_path(a->trace));
	return 0;
}

static int ask_total(struct asking *a, struct error *err)
{
	const struct site_filter *f = a->filter;
	int ret = 0;

	for (size_t i = 0; i < a->slices && !ret; i++) {
		const struct snapshot_slice *s = &a->slice[i];
		const size_t several = add_several(a, i);
		struct walk_until until = { .set = true, .ticks = to_ticks(a) };

		if (several) {
			i += several - 1;
			continue;
		}
		if (ns_of(a, s->last_ticks) < f->from_ns || ns_of(a, s->first_ticks) > f->to_ns)
			continue;
		if (i + 1 < a->slices && s->last_ticks <= until.ticks)
			until.event = a->slice[i + 1].before;
		if (is_known(a, s))
			add_known(a, s);
		else if (s->plain && trace_names_blocks(a->trace) &&
			 !trace_damage(a->trace)->chunks_bad)
			ret = read_births(a, i, err);
		else
			ret = run(a, i, &births_pass, a, &until, err);
	}
	a->answer->ns = a->q->to_ns;
	return ret;
}

/* ---- what was allocated, by lifetime, which is known when blocks end ---- */

static void add_ended(struct asking *a, const struct block *b, uint32_t process, uint64_t ns)
{
	const struct site_filter *f = a->filter;

	if (ns >= f->lifetime_min_ns && ns <= f->lifetime_max_ns &&
	    site_filter_passes(f, &a->walk, b, process))
		count(a, b->stack, 1, b->size);
}

static void add_endings(void *self, const struct batch *b)
{
	struct asking *a = self;

	for (size_t i = 0; i < b->ends; i++) {
		const struct note *n = &b->note[b->end[i]];
		const uint64_t ticks = b->event[b->end[i]].ticks, start = n->old.start;

		add_ended(a, &n->old, n->process,
			  ticks > start ? walk_duration_ns(&a->walk, ticks - start) : 0);
	}
}

static void add_remains(void *self, const struct heap *h, uint32_t process, enum process_gone why,
			uint64_t ticks)
{
	struct heap_round round = { 0 };
	const struct block *b;

	while ((b = heap_next_block(h->process[process], &round)))
		if (!(b->owner & BLOCK_INHERITED))
			add_ended(self, b, process, UINT64_MAX);
}

static const struct pass_ops endings_pass = { .name = "endings",
					      .batch = add_endings,
					      .gone = add_remains };

static int ask_lifetimes(struct asking *a, struct error *err)
{
	const struct walk_until begin = { .ticks = ticks_of(a, a->filter->from_ns - 1) };
	const struct walk_until until = { .set = false };

	a->answer->ns = a->q->to_ns;
	return run(a, slice_before(a, &begin), &endings_pass, a, &until, err);
}

/* ---- the answer ---- */

static bool has_lifetimes(const struct site_filter *f)
{
	return f->lifetime_min_ns || f->lifetime_max_ns != UINT64_MAX;
}

static int check(const struct window_question *q, struct error *err)
{
	if (has_lifetimes(&q->filter) && q->kind != WINDOW_TOTAL)
		return fail(err, -EINVAL, "the lifetime of a live block is unknown");
	if (q->from_ns >= q->to_ns)
		return fail(err, -EINVAL, "the window ends before it begins");
	return 0;
}

int window_ask(struct window_answer *answer, struct trace *t, const struct snapshots *snapshots,
	       const struct html_map *map, const struct window_question *q, struct error *err)
{
	static const struct snapshot_slice whole = { .last_ticks = INT64_MAX };
	struct site_filter filter = q->filter;
	struct asking *a;
	int ret = check(q, err);

	memset(answer, 0, sizeof(*answer));
	if (ret)
		return ret;
	filter.from_ns =
	    q->kind == WINDOW_TOTAL || q->kind == WINDOW_KEPT ? q->from_ns + 1 : INT64_MIN;
	filter.to_ns = q->kind == WINDOW_TOTAL ? q->to_ns : INT64_MAX;
	answer->nodes = map->nodes;
	answer->node_bytes = must_calloc(map->nodes + 1, sizeof(*answer->node_bytes));
	answer->node_blocks = must_calloc(map->nodes + 1, sizeof(*answer->node_blocks));
	a = must_calloc(1, sizeof(*a)); /* large: it contains two batches of events */
	a->answer = answer;
	a->trace = t;
	a->snapshots = snapshots;
	a->slice = snapshots && snapshots->slices ? snapshots->slice : &whole;
	a->slices = snapshots && snapshots->slices ? snapshots->slices : 1;
	a->map = map;
	a->q = q;
	a->filter = &filter;
	if (q->kind != WINDOW_TOTAL)
		ret = ask_moment(a, err);
	else
		ret = has_lifetimes(&filter) ? ask_lifetimes(a, err) : ask_total(a, err);
	free(a);
	if (ret)
		window_answer_release(answer);
	return ret;
}

void window_answer_release(struct window_answer *a)
{
	free(a->node_bytes);
	free(a->node_blocks);
	a->node_bytes = a->node_blocks = NULL;
}
