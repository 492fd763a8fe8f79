// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * merge.c - all streams in the order of time.
 *
 * A binary heap holds the key of each stream's next event.  The stream on top
 * is decoded straight into the caller's array until it passes the runner-up,
 * so threads that take long turns cost the heap nothing, and a single thread
 * never touches it. A stream that has not begun is in the heap with the time
 * from the header of its first chunk, and is read when that time is reached.
 */
#include "reader.h"

static bool before(const struct merge_entry *a, const struct merge_entry *b)
{
	return a->key < b->key || (a->key == b->key && a->stream < b->stream);
}

static void sift_down(struct trace *t, size_t i)
{
	struct merge_entry *heap = t->heap, moving = heap[i];

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= t->heap_n)
			break;
		if (child + 1 < t->heap_n && before(&heap[child + 1], &heap[child]))
			child++;
		if (!before(&heap[child], &moving))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = moving;
}

static bool is_chosen(const struct trace *t, uint32_t process)
{
	for (size_t i = 0; i < t->chosen_n; i++)
		if (t->chosen[i] == process)
			return true;
	return !t->chosen_n;
}

void merge_start(struct trace *t)
{
	t->heap_n = 0;
	for (size_t i = 0; i < t->streams; i++) {
		struct stream *s = &t->stream[i];

		s->next = s->first;
		s->pos = s->end = NULL;
		if (!is_chosen(t, t->chunk[s->first].process))
			continue;
		t->heap[t->heap_n].key = (t->chunk[s->first].first_ticks & MPROF_TICKS_MASK) << 2;
		t->heap[t->heap_n++].stream = (uint32_t)i;
	}
	for (size_t i = t->heap_n / 2; i-- > 0;)
		sift_down(t, i);
}

/*
 * Returns the first key after the picture of a trace that is still being written, or after the time
 * from which only totals were kept.
 */
static uint64_t key_of_end(const struct trace *t)
{
	const uint64_t last = trace_last_shown(t);

	return last ? (last + 1) << 2 : KEY_END;
}

/* Returns the limit for keys of the top: below the runner-up's, or equal if the top comes first
 * at a tie. */
static uint64_t limit_of_top(const struct trace *t)
{
	const struct merge_entry *heap = t->heap, *second;
	uint64_t limit, end = key_of_end(t);

	if (t->heap_n < 2)
		return end;
	second = &heap[1];
	if (t->heap_n > 2 && before(&heap[2], second))
		second = &heap[2];
	limit = second->key + (heap[0].stream < second->stream);
	return limit < end ? limit : end;
}

/*
 * Removes events up to header.dropped_ticks that are still there, of threads that rarely write.
 * They would show only a part of what happened, so only forks and ends are kept.
 */
static size_t without_dropped(const struct trace *t, struct event *events, size_t n)
{
	const uint64_t last = t->header.dropped_ticks;
	size_t kept = 0;

	if (!n || !last || events[0].ticks > last)
		return n;
	for (size_t i = 0; i < n; i++)
		if (events[i].ticks > last || events[i].kind == EVENT_CONTROL ||
		    events[i].kind == EVENT_LOST)
			events[kept++] = events[i];
	return kept;
}

/* Reads some events of the stream at the top, possibly none; only while heap_n is not 0. */
static size_t merge_run(struct trace *t, struct event *events, size_t n, uint32_t *stream)
{
	size_t got;

	*stream = t->heap[0].stream;
	if (t->heap[0].key >= key_of_end(t)) {
		t->heap_n = 0;
		return 0;
	}
	got = stream_decode(t, &t->stream[*stream], events, n, limit_of_top(t), &t->heap[0].key);
	if (t->heap[0].key == KEY_END)
		t->heap[0] = t->heap[--t->heap_n];
	if (t->heap_n > 1)
		sift_down(t, 0);
	return without_dropped(t, events, got);
}

struct stream *merge_top(struct trace *t, uint64_t *limit)
{
	struct stream *s;

	if (t->source.next || t->packed || t->only_totals || !t->heap_n || t->header.dropped_ticks)
		return NULL;
	s = &t->stream[t->heap[0].stream];
	*limit = limit_of_top(t);
	return s->pos == s->end ? NULL : s;
}

/* Groups name blocks in a way that later events do not continue. */
static void forget_blocks(struct event *e, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (e[i].kind != EVENT_CONTROL && e[i].kind != EVENT_LOST)
			e[i].block = 0;
}

size_t trace_next(struct trace *t, struct event *events, size_t n)
{
	uint32_t stream;
	size_t got = 0;

	if (t->only_totals)
		return 0;
	if (t->source.next) {
		got = t->source.next(t->source.self, events, n, &t->damage);
		trace_see_damage(t);
		return got;
	}
	if (t->packed)
		got = packed_next(t, events, n);
	if (t->packed && t->has_taken)
		forget_blocks(events, got);
	while (got < n && t->heap_n)
		got += merge_run(t, events + got, n - got, &stream);
	main_threads_give(t, events, got);
	return got;
}
