// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * walk.c - the one walk over a trace.
 *
 * Two batches are available at any time: the one being applied and the next,
 * which the heap may search.  A batch is contiguous in the window's ring, so
 * passes get plain arrays.
 */
#include "walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../trace/block_numbers.h"
#include "../util/alloc.h"
#include "../util/memory.h"
#include "boundaries.h"

#define PROGRESS_EVERY (1u << 20)

/* ---- input from a trace ---- */

static size_t next_of_trace(void *t, struct event *events, size_t n)
{
	return trace_next(t, events, n);
}

static int64_t ns_of_trace(void *t, uint64_t ticks)
{
	return trace_ns(t, ticks);
}

static const char *thread_name_of_trace(const void *t, uint32_t number)
{
	return trace_thread_name(t, number);
}

static bool chooses_of_trace(const void *t, const struct thread_choice *c, uint32_t number)
{
	return trace_chooses(t, c, number);
}

static size_t samples_of_trace(void *t, uint32_t process, const struct mprof_sample **samples)
{
	return trace_samples(t, process, samples);
}

static uint64_t seen_resident_in_trace(void *t, uint32_t process)
{
	const struct trace_totals *x;
	const size_t n = trace_totals(t, &x);
	uint64_t most = 0;

	for (size_t i = 0; i < n; i++) {
		const struct mprof_course *c = x[i].data;

		if (x[i].kind != MPROF_EXTENT_COURSE || x[i].process != process)
			continue;
		for (uint32_t k = 0; k < c->steps && k < MPROF_STEPS; k++)
			if (c->step[k].resident > most)
				most = c->step[k].resident;
	}
	return most;
}

void walk_input_from_trace(struct walk_input *in, struct trace *t)
{
	*in = (struct walk_input){
		.context = t,
		.next = next_of_trace,
		.names_blocks = trace_names_blocks(t),
		.ns = ns_of_trace,
		.thread_name = thread_name_of_trace,
		.chooses = chooses_of_trace,
		.samples = samples_of_trace,
		.seen_resident = seen_resident_in_trace,
		.header = trace_header(t),
	};
	in->fact_count = trace_facts(t, &in->facts);
	in->log_end = trace_has_events(t) ? in->header->log_end : 0;
	in->totals_end = trace_has_events(t) ? 0 : trace_totals_end(t);
	in->reduced_count = trace_reduced(t, &in->reduced);
	in->thread_count = trace_threads(t, &in->threads);
	in->residency_count = trace_residencies(t, &in->residencies);
	in->peak_count = trace_peaks(t, &in->peaks);
	in->system_count = trace_system(t, &in->system);
}

uint64_t walk_end_ticks(const struct walk_input *in, const struct walk_until *until)
{
	const uint64_t start = in->header->start_ticks;
	uint64_t end = start;
	size_t i;

	for (i = 0; i < in->thread_count; i++)
		if (in->threads[i].last_ticks > end)
			end = in->threads[i].last_ticks;
	if (until->set && until->ticks < end)
		end = until->ticks > start ? until->ticks : start;
	return end;
}

uint64_t walk_run_end_ticks(const struct walk_input *in)
{
	static const struct walk_until all = { .set = false };
	const struct mprof_sample *sample;
	uint64_t end = walk_end_ticks(in, &all);
	size_t i, n;

	for (i = 0; i < in->fact_count; i++) {
		const struct mprof_fact *f = in->facts[i].fact;

		n = in->samples ? in->samples(in->context, in->facts[i].process, &sample) : 0;
		if (n && sample[n - 1].ticks > end)
			end = sample[n - 1].ticks;
		if ((f->what == MPROF_FACT_END || f->what == MPROF_FACT_WAITED) && f->ticks > end)
			end = f->ticks;
	}
	return end;
}

/* ---- hooks of passes ---- */

/* Calls this hook of every pass that has it. */
#define TELL(w, hook, ...)                                                                     \
	for (const struct walk_pass *pass = (w)->pass; pass < (w)->pass + (w)->passes; pass++) \
		if (pass->ops->hook)                                                           \
	pass->ops->hook(pass->self, __VA_ARGS__)

static void tell_gone(struct walk *w, uint32_t process, enum process_gone why, uint64_t ticks)
{
	heap_settle(&w->heap, process);
	own_mark(&w->heap.process[process]->own);
	TELL(w, gone, &w->heap, process, why, ticks);
}

static void tell_residency(struct walk *w, uint32_t process, const struct trace_residency *r)
{
	TELL(w, residency, &w->heap, process, r);
}

static void run_fork(struct walk *w, const struct boundary *m, uint32_t child)
{
	const uint32_t parent = heap_process(&w->heap, m->parent);

	heap_fork(&w->heap, parent, child, m->ticks, m->fact->fact->ticks);
	TELL(w, forked, &w->heap, parent, child);
}

static void run_boundary(struct walk *w, const struct boundary *m)
{
	uint32_t process = heap_process(&w->heap, m->process);

	switch (m->kind) {
	case BOUNDARY_FORK:
		run_fork(w, m, process);
		break;
	case BOUNDARY_RESIDENCY:
		tell_residency(w, process, m->residency);
		break;
	case BOUNDARY_EXEC:
		tell_gone(w, process, GONE_EXEC, m->ticks);
		heap_clear(&w->heap, process, false);
		break;
	case BOUNDARY_END:
		tell_gone(w, process, GONE_ENDED, m->ticks);
		heap_clear(&w->heap, process, true);
		break;
	}
}

/* ---- batches ---- */

/* How many of the n events from `first` come before the next boundary. */
static size_t before_boundary(struct walk *w, size_t first, size_t n)
{
	uint64_t ticks;
	size_t i;

	if (w->next_boundary == w->boundaries)
		return n;
	ticks = w->boundary[w->next_boundary].ticks;
	if (n && window_at(&w->window, first + n - 1)->ticks <= ticks)
		return n;
	for (i = 0; i < n; i++)
		if (window_at(&w->window, first + i)->ticks > ticks)
			return i;
	return n;
}

static void tell_passes(struct walk *w, size_t first, size_t n)
{
	struct batch b = {
		.event = window_at(&w->window, first),
		.note = w->note,
		.count = n,
		.number = w->events + 1,
	};

	b.plain = heap_apply(&w->heap, &w->window, first, n, w->note);
	b.grew = w->heap.grew;
	b.end = w->heap.end;
	b.ends = w->heap.ends;
	TELL(w, batch, &b);
	w->events += n;
}

#define DECIDED_AT_ONCE 32u /* events after one that the fused loop left */

static void hand_out(struct walk *w, size_t first, size_t n)
{
	size_t now;

	while (w->fused && n) {
		now = w->fused(w->fused_self, w, first, n);
		w->events += now;
		first += now;
		n -= now;
		now = n < DECIDED_AT_ONCE ? n : DECIDED_AT_ONCE;
		if (now)
			tell_passes(w, first, now);
		first += now;
		n -= now;
	}
	if (n)
		tell_passes(w, first, n);
}

static void run_batch(struct walk *w, size_t n)
{
	size_t first = 0, now;

	if (!w->events && n)
		w->first_ticks = window_at(&w->window, 0)->ticks;
	while (first < n) {
		now = before_boundary(w, first, n - first);
		if (now)
			hand_out(w, first, now);
		first += now;
		if (first < n)
			run_boundary(w, &w->boundary[w->next_boundary++]);
	}
	if (n)
		w->last_ticks = window_at(&w->window, n - 1)->ticks;
}

/* Fills half a window, as far as there are events. */
static size_t read_batch(struct walk *w, size_t half)
{
	struct event *to = w->window.event + half;
	size_t n = 0, got;

	while (n < WINDOW_BATCH) {
		got = w->input.next(w->input.context, to + n, WINDOW_BATCH - n);
		if (!got)
			break;
		n += got;
	}
	if (w->names && names_give(w->names, to, n) < 0)
		memory_out();
	return n;
}

/* How many of the n events come before the walk's end. */
static size_t before_end(struct walk *w, size_t n)
{
	const struct walk_until *u = &w->until;
	size_t i = n;

	if (!u->set || !n)
		return n;
	if (u->event)
		i = u->event - w->events < n ? u->event - w->events : n;
	else if (window_at(&w->window, n - 1)->ticks > u->ticks)
		for (i = 0; window_at(&w->window, i)->ticks <= u->ticks;)
			i++;
	w->stopped = i < n;
	return i;
}

static bool is_cancelled(const struct walk *w)
{
	return w->cancel && __atomic_load_n(w->cancel, __ATOMIC_RELAXED);
}

/* The first batch: how many events it has. */
static size_t begin(struct walk *w)
{
	w->window.base = 0;
	w->window.befores = 0;
	return w->resume ? w->resume(w->resume_context, w) : read_batch(w, 0);
}

static void run_batches(struct walk *w, size_t here)
{
	uint64_t told = w->events;
	size_t next = 0;

	for (; here && !is_cancelled(w); here = next) {
		if (w->between)
			w->between(w->between_context, w, here);
		next = here == WINDOW_BATCH ? read_batch(w, w->window.base ^ WINDOW_BATCH) : 0;
		w->window.count = here + next;
		here = before_end(w, here);
		run_batch(w, here);
		if (w->stopped)
			return;
		window_next(&w->window, here);
		if (w->progress && w->events - told >= PROGRESS_EVERY) {
			told = w->events;
			w->progress(w->progress_context, w);
		}
	}
}

/* After an event, others of the same time may follow, which come before the boundary. */
static bool is_within(const struct walk *w, const struct boundary *m)
{
	const struct walk_until *u = &w->until;

	if (!u->set)
		return true;
	return u->event ? m->ticks < u->ticks : m->ticks <= u->ticks;
}

/* Processes whose end was not seen. */
static void run_out(struct walk *w)
{
	uint32_t i;

	w->over = true;
	while (w->next_boundary < w->boundaries && is_within(w, &w->boundary[w->next_boundary]))
		run_boundary(w, &w->boundary[w->next_boundary++]);
	if (w->until.set && w->last_ticks < w->until.ticks)
		w->last_ticks = w->until.ticks;
	for (i = 0; i < w->heap.processes; i++) {
		if (w->heap.process[i]->state == HEAP_ENDED)
			continue;
		tell_gone(w, i, GONE_TRACE_ENDS, w->last_ticks);
		heap_clear(&w->heap, i, true);
	}
}

/* ---- the whole ---- */

/* The clock is linear: its value for 2^32 ticks is the factor of durations. */
static uint64_t duration_factor(const struct walk_input *in)
{
	uint64_t start = in->header->start_ticks;
	int64_t ns = in->ns(in->context, start + (1ull << 32)) - in->ns(in->context, start);

	return ns > 0 ? (uint64_t)ns : 1ull << 32;
}

void walk_init(struct walk *w, const struct walk_input *in, const struct walk_pass *pass,
	       size_t passes)
{
	memset(w, 0, sizeof(*w));
	w->input = *in;
	w->pass = pass;
	w->passes = passes;
	w->ns_mult = duration_factor(in);
}

/* What came after the last event is not known: no process ends, and no block is a leak. */
static void end_with_log(struct walk *w)
{
	const uint64_t end = w->input.log_end;

	if (end && !(w->until.set && w->until.ticks <= end))
		w->until = (struct walk_until){ .set = true, .ticks = end };
}

int walk_run(struct walk *w, struct error *err)
{
	uint64_t inversion = (uint64_t)(((unsigned __int128)HEAP_INVERSION_NS << 32) / w->ns_mult);
	size_t i, here;

	heap_init(&w->heap, w->input.header->page_size, inversion, !w->no_pages);
	boundaries_make(&w->input, &w->boundary, &w->boundaries);
	if (!w->input.names_blocks && !(w->names = names_new()))
		memory_out();
	w->heap.from_the_middle = w->input.header->dropped_ticks;
	end_with_log(w);
	for (i = 0; i < w->passes; i++) {
		if (w->pass[i].ops->bytes)
			*(struct walk **)w->pass[i].self = w;
		if (w->pass[i].ops->start)
			w->pass[i].ops->start(w->pass[i].self, w);
	}
	here = begin(w);
	run_batches(w, here);
	if (is_cancelled(w))
		return fail(err, -ECANCELED, "cancelled");
	run_out(w);
	if (w->ended)
		w->ended(w->between_context, w);
	TELL(w, finish, w);
	return 0;
}

void walk_release(struct walk *w)
{
	size_t i;

	for (i = 0; i < w->passes; i++)
		pass_release(w->pass[i].ops, w->pass[i].self);
	heap_release(&w->heap);
	names_free(w->names);
	w->names = NULL;
	free(w->boundary);
	w->boundary = NULL;
}

int walk_trace(struct trace *t, const struct walk_pass *pass,
	       void (*tell)(void *context, const struct walk *w), void *context, struct error *err)
{
	struct walk *w = must_malloc(sizeof(*w)); /* it has two batches of events in it */
	struct walk_input in;
	int ret;

	trace_rewind(t);
	walk_input_from_trace(&in, t);
	walk_init(w, &in, pass, 1);
	w->no_pages = true;
	w->progress = tell;
	w->progress_context = context;
	ret = walk_run(w, err);
	w->passes = 0; /* its result is the caller's */
	walk_release(w);
	free(w);
	trace_rewind(t);
	return ret;
}
