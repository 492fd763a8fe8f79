// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * streams.c - sorts chunks into one stream for each thread, and loads them. Chunks of stack records
 * are sorted the same way, by process and image.
 *
 * Within a thread chunks follow each other by seq.  A slot repeats a chunk when
 * its owner was killed after copying it and before reusing the slot; it then
 * counts only if the copy is damaged. A stream owns one buffer, from its first
 * chunk to its end, so memory use follows the threads alive at one time.
 */
#include "../util/order.h"
#include "reader.h"

#include <stdlib.h>

ORDER(by_place, struct chunk,
      RISING(process) ?: RISING(thread) ?: RISING(seq) ?: RISING(slot) ?: RISING(payload))

static bool same_thread(const struct chunk *a, const struct chunk *b)
{
	return a->process == b->process && a->thread == b->thread;
}

/* In a run that keeps its last events: is this chunk older, and only not freed yet? */
static bool is_dropped(const struct trace *t, const struct extent *x)
{
	return x->head.kind == MPROF_EXTENT_EVENTS &&
	       x->head.last_ticks <= t->header.dropped_ticks && t->header.dropped_ticks;
}

/* Is all of it later than the last event that is shown? */
static bool is_later(const struct trace *t, const struct extent *x)
{
	const uint64_t last = trace_last_shown(t);

	return last && (x->head.first_ticks & MPROF_TICKS_MASK) > last;
}

/* Do groups have all of it? */
static bool is_taken(const struct trace *t, const struct extent *x)
{
	const struct mprof_taken_entry *e = taken_of(t, x->head.process, x->head.thread);

	return e && x->head.seq <= e->chunks;
}

static bool is_events(const struct trace *t, const struct extent *x)
{
	return (x->head.kind == MPROF_EXTENT_EVENTS || x->head.kind == MPROF_EXTENT_SLOT) &&
	       !is_dropped(t, x) && !is_later(t, x) && !is_taken(t, x);
}

static bool is_stacks(const struct extent *x)
{
	return x->head.kind == MPROF_EXTENT_STACKS || x->head.kind == MPROF_EXTENT_STACKS_SLOT;
}

/* Its owner stores the number last, so it has not begun with this slot, or was killed there. */
static bool is_new_slot(const struct trace *t, const struct extent *x)
{
	uint64_t first;

	return (x->kind == MPROF_EXTENT_SLOT || x->kind == MPROF_EXTENT_STACKS_SLOT) &&
	       !x->head.seq && !x->copy &&
	       trace_read(t, &first, sizeof(first), x->payload) == sizeof(first) && !first;
}

static void take_chunk(struct trace *t, const struct extent *x)
{
	bool stacks = is_stacks(x);
	struct chunk c = {
		.payload = x->payload,
		.copy = x->copy,
		.bytes = (uint32_t)x->bytes,
		.used = x->head.used,
		.check = x->head.check,
		.kind = x->kind,
		.image = x->head.image,
		.slot =
		    x->head.kind == MPROF_EXTENT_SLOT || x->head.kind == MPROF_EXTENT_STACKS_SLOT,
		.seq = x->head.seq,
		.seqs = x->chunks,
		.first_ticks = x->head.first_ticks,
		.last_ticks = x->head.last_ticks,
		.process = x->head.process,
		.thread = stacks ? x->head.image : x->head.thread,
	};

	if (is_new_slot(t, x))
		return;
	if (!c.process || !(c.thread || stacks) || !c.seq || x->bytes > CHUNK_BYTES_MAX)
		trace_note_damage(t, &t->damage.chunks_bad, 1, x->head.offset);
	else if (stacks)
		t->stack_chunk[t->stack_chunks++] = c;
	else
		t->chunk[t->chunks++] = c;
}

/*
 * Killed while copying, or still copying: the slot has everything that the copy
 * should have, so nothing is missing.
 */
static bool slot_has_all(struct trace *t, const struct chunk *copy, const struct chunk *slot)
{
	uint64_t *buf = NULL;
	size_t room = 0, words = chunk_load(t, slot, &buf, &room);
	bool all = copy->kind != MPROF_EXTENT_PACKED && words >= (copy->used + 7) / 8 &&
		   mprof_checksum(buf, copy->used) == copy->check;

	free(buf);
	return all;
}

/* Should the later one of two chunks with one number be kept?  Checks only copies. */
static bool later_is_better(struct trace *t, const struct chunk *a, const struct chunk *b)
{
	uint64_t *buf = NULL;
	size_t room = 0, words;

	if (!b->slot)
		return false;
	words = chunk_load(t, a, &buf, &room);
	free(buf);
	return a->used && (!words || chunk_is_cut(t, a));
}

/* Sorts chunks and removes duplicate numbers; returns how many are left. */
static size_t order_chunks(struct trace *t, struct chunk *chunk, size_t n)
{
	size_t kept = 0;

	SORT(chunk, n, by_place);
	for (size_t i = 0; i < n; i++) {
		struct chunk *a = kept ? &chunk[kept - 1] : NULL, *b = &chunk[i];

		if (!a || !same_thread(a, b) || b->seq - a->seq >= a->seqs) {
			chunk[kept++] = *b;
		} else if (later_is_better(t, a, b)) {
			if (!slot_has_all(t, a, b))
				trace_note_damage(t, &t->damage.chunks_bad, 1, chunk_offset(a));
			*a = *b;
		} else if (a->slot == b->slot) {
			trace_note_damage(t, &t->damage.chunks_bad, 1, chunk_offset(b));
		}
	}
	return kept;
}

static void open_stream(struct trace *t, size_t i)
{
	const struct chunk *c = &t->chunk[i];
	const struct mprof_taken_entry *taken = taken_of(t, c->process, c->thread);

	t->stream[t->streams] = (struct stream){ .first = (uint32_t)i };
	t->thread[t->threads] = (struct trace_thread){ .number = c->thread,
						       .process = c->process,
						       .first_ticks = c->first_ticks };
	if (taken) {
		if (c->seq == taken->chunks + 1)
			t->stream[t->streams].skip = taken->words;
		t->thread[t->threads].chunks = taken->chunks;
		t->thread[t->threads].first_ticks = taken->first_ticks;
		t->thread[t->threads].last_ticks = taken->last_ticks;
	}
	t->streams++;
	t->threads++;
}

ORDER(by_number, struct trace_thread, RISING(process) ?: RISING(number))

/* Adds the threads of which groups have everything. */
static void add_taken_threads(struct trace *t)
{
	for (size_t i = 0; i < t->taken_n; i++) {
		const struct mprof_taken_entry *e = &t->taken[i];
		const struct chunk *c = t->chunk;
		const size_t k =
		    FIRST_WHERE(n, t->chunks,
				c[n].process > e->process ||
				    (c[n].process == e->process && c[n].thread >= e->thread));

		if (k < t->chunks && c[k].process == e->process && c[k].thread == e->thread)
			continue;
		t->thread[t->threads++] = (struct trace_thread){ .number = e->thread,
								 .process = e->process,
								 .chunks = e->chunks,
								 .first_ticks = e->first_ticks,
								 .last_ticks = e->last_ticks };
	}
	if (t->taken_n)
		SORT(t->thread, t->threads, by_number);
}

static void fill_streams(struct trace *t)
{
	uint64_t seq = 0;

	for (size_t i = 0; i < t->chunks; i++) {
		const struct chunk *c = &t->chunk[i];
		struct trace_thread *thread;

		if (!i || !same_thread(c, c - 1)) {
			open_stream(t, i);
			seq = t->thread[t->threads - 1].chunks;
		}
		if (c->seq != seq + 1 && !trace_is_dropping(t) &&
		    !(t->header.dropped_ticks && c->first_ticks <= t->header.dropped_ticks))
			trace_note_damage(t, &t->damage.chunks_missing, c->seq - seq - 1,
					  chunk_offset(c));
		seq = c->seq + c->seqs - 1;
		t->stream[t->streams - 1].last = (uint32_t)i + 1;
		thread = &t->thread[t->threads - 1];
		thread->chunks += c->seqs;
		if (c->last_ticks > thread->last_ticks)
			thread->last_ticks = c->last_ticks;
		if (c->first_ticks > thread->last_ticks)
			thread->last_ticks = c->first_ticks;
	}
}

/* The header of a slot tells when it was taken, its words when its last event was. */
static void read_last_ticks(struct trace *t)
{
	const uint64_t shown = trace_last_shown(t);
	uint64_t *buf = NULL, last;
	size_t room = 0, words;

	for (size_t i = 0; i < t->streams; i++) {
		for (size_t k = t->stream[i].first; k < t->stream[i].last; k++) {
			const struct chunk *c = &t->chunk[k];

			if (!c->slot)
				continue;
			words = chunk_load(t, c, &buf, &room);
			last = words_last_ticks(buf, words, c->first_ticks & MPROF_TICKS_MASK);
			if (last > t->thread[i].last_ticks)
				t->thread[i].last_ticks = last;
		}
		if (shown && t->thread[i].last_ticks > shown)
			t->thread[i].last_ticks = shown;
	}
	free(buf);
}

void streams_build(struct trace *t, const struct extents *x, bool events)
{
	size_t n = 0, stacks = 0;

	for (size_t i = 0; i < x->n; i++) {
		n += events && is_events(t, &x->item[i]);
		stacks += is_stacks(&x->item[i]);
	}
	t->chunk = must_calloc(n + 1, sizeof(*t->chunk));
	t->stack_chunk = must_calloc(stacks + 1, sizeof(*t->stack_chunk));
	for (size_t i = 0; i < x->n; i++)
		if ((events && is_events(t, &x->item[i])) || is_stacks(&x->item[i]))
			take_chunk(t, &x->item[i]);
	t->chunks = order_chunks(t, t->chunk, t->chunks);
	t->stack_chunks = order_chunks(t, t->stack_chunk, t->stack_chunks);
	n = 0;
	for (size_t i = 0; i < t->chunks; i++)
		n += !i || !same_thread(&t->chunk[i], &t->chunk[i - 1]);
	t->stream = must_calloc(n + 1, sizeof(*t->stream));
	t->thread = events ? must_calloc(n + t->taken_n + 1, sizeof(*t->thread)) : NULL;
	t->heap = must_calloc(n + 1, sizeof(*t->heap));
	fill_streams(t);
	read_last_ticks(t);
	if (events)
		add_taken_threads(t);
}

void streams_free(struct trace *t)
{
	for (size_t i = 0; i < t->streams; i++)
		free(t->stream[i].buf);
	free(t->stream);
	free(t->chunk);
	free(t->thread);
}

size_t trace_threads(const struct trace *t, const struct trace_thread **threads)
{
	*threads = t->thread;
	return t->only_totals ? 0 : t->threads;
}
