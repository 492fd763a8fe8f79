// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * live.c - one consistent picture of a file that is still being written.
 *
 * Words move while we read: a thread copies its slot to a new chunk, returns
 * the slot, and takes another. So slots are copied when the file is opened, in
 * an order that misses nothing:
 *
 *   walk, slots      the latest time that they and
 *   walk             the chunks and facts of a second walk tell: T
 *   walk, slots      the words that are kept
 *   walk             what was copied to chunks in the meantime
 *   walk, slots      stack records: each was there before a word named it
 *   walk             the same, for stack records
 *
 * The picture ends at T.  An event up to T was in a slot or a chunk before the second copy
 * began, unless its thread had its time and had not stored it yet; such a
 * thread has not returned from the call, so nothing in the picture depends on
 * it.  Therefore a block is never freed in the picture without having been
 * allocated there.  In a run that drops its oldest chunks, T might be dropped
 * by then, so everything found is kept, and chunks may be missing anywhere.
 *
 * A file that does not change between two readings of its slots needs none of this.
 *
 * A profile has no events.  Its cells are read where they are; then only the second half is
 * needed: a process that ends moves its stack records from its slot to a chunk, and the next one
 * takes the slot.  Full slots stay where they are: those of the last walk are copied, too, because
 * a chunk may follow on them.  Nothing refers to the stacks of a process that began since the cells
 * were read, and of these a walk may miss the first ones.
 */
#include "reader.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "../util/now.h"
#include "../util/order.h"

#define LOOKS	     8	/* attempts at listing the extents of a file that changes */
#define LOOKS_AT_END 30 /* attempts while one is beyond the end: its writer is about to write */
#define WRITER_NS                                                                           \
	2000000000	/* that a process may need to write, if it is not given a processor \
			 */
#define SLOT_LOOKS 1000 /* at one slot: less than it takes to fill one is enough */
#define ZEROS_KEPT 8u	/* after the last word: the values of a LONG record may be 0 */

/* In a live run: were chunks dropped since we read the header? */
static bool has_dropped_more(struct trace *t)
{
	struct mprof_file_header now, *h = &t->header;

	if (trace_read(t, &now, sizeof(now), 0) != sizeof(now) ||
	    now.dropped_bytes == h->dropped_bytes)
		return false;
	h->chunks = now.chunks;
	h->dropped_to = now.dropped_to;
	h->dropped_ticks = now.dropped_ticks;
	h->dropped_bytes = now.dropped_bytes;
	return true;
}

/* Was something written after the extents that we found? */
static bool has_grown(const struct trace *t)
{
	const size_t at = offsetof(struct mprof_file_header, tail);
	struct stat st;
	uint64_t tail;

	if (!fstat(t->fd, &st) && (uint64_t)st.st_size > t->file_bytes)
		return true;
	return trace_read(t, &tail, sizeof(tail), at) == sizeof(tail) && tail > t->header.tail;
}

/* May a process be about to write?  It may not have run since we opened the file. */
static bool is_written(const struct trace *t)
{
	struct timespec now;
	struct stat st;

	if (t->header.flags & (MPROF_FILE_COMPRESSED | MPROF_FILE_CLOSED))
		return false;
	return has_grown(t) || (!fstat(t->fd, &st) && !clock_gettime(CLOCK_REALTIME, &now) &&
				now.tv_sec - st.st_mtim.tv_sec <= 1);
}

/* Does a process of the run live here?  One that is stopped, or waits for a processor, may have
 * taken space that it has not written to yet. */
static bool has_writers(const struct trace *t)
{
	for (size_t i = 0; i < MPROF_PROCESS_TABLE; i++) {
		const struct mprof_process_entry *e = &t->header.process[i];

		if (e->state == MPROF_PROCESS_RUNNING && e->pid > 0 &&
		    (!kill(e->pid, 0) || errno == EPERM))
			return true;
	}
	return false;
}

/* Lists all extents again, up to the current end of the file. */
static void walk(struct trace *t, struct extents *x, const struct trace_damage *before)
{
	struct stat st;

	if (!fstat(t->fd, &st))
		t->file_bytes = (uint64_t)st.st_size;
	t->damage = *before;
	x->n = 0;
	extents_find(t, x);
}

/*
 * While a run drops its oldest chunks, those that we find may be gone before we
 * have found the last one, and others are beyond the end. An extent that was
 * taken but is not written yet looks like damage. In these cases we start
 * again, for some time if the process that took it may live; but once in each reading, because what
 * stays so was left by one that was killed.
 */
static bool looks_enough(struct trace *t, int looks, bool half, int64_t began)
{
	const bool missing = half && t->damage.bytes_missing;

	if (looks < (missing ? LOOKS_AT_END : LOOKS))
		return false;
	if (!half || t->gap_stays || !has_writers(t))
		return true;
	t->gap_stays = now_ns(CLOCK_MONOTONIC) - began > WRITER_NS;
	return t->gap_stays;
}

static void walk_until_sound(struct trace *t, struct extents *x, const struct trace_damage *before)
{
	const int64_t began = now_ns(CLOCK_MONOTONIC);
	struct trace_damage found;
	bool dropped, half;

	for (int looks = 1;; looks++) {
		walk(t, x, before);
		dropped = has_dropped_more(t);
		found = t->damage;
		if (!trace_has_events(t)) /* totals leave space empty, see find_cuts() */
			found.bytes_empty = before->bytes_empty;
		half = memcmp(&found, before, sizeof(*before)) != 0 && is_written(t);
		if (!(dropped || half) || looks_enough(t, looks, half, began))
			return;
		if (half)
			trace_wait();
	}
}

/* ---- slots ---- */

static bool is_slot(uint16_t kind)
{
	return kind == MPROF_EXTENT_SLOT || kind == MPROF_EXTENT_STACKS_SLOT;
}

static size_t words_used(const uint64_t *word, size_t n)
{
	size_t used = n;

	while (used && !word[used - 1])
		used--;
	return used + ZEROS_KEPT < n ? used + ZEROS_KEPT : n;
}

/*
 * Reads the words of a slot, with a header that is the same before and after.  0 if it is no longer
 * a slot, or not a slot yet.
 */
static size_t slot_read(const struct trace *t, struct extent *x, uint64_t *words)
{
	struct mprof_extent before, after;
	const uint64_t at = x->head.offset;
	size_t got;

	for (int looks = 0; looks < SLOT_LOOKS; looks++) {
		if (trace_read(t, &before, sizeof(before), at) != sizeof(before) ||
		    before.magic != MPROF_EXTENT_MAGIC || !is_slot(before.kind) || !before.seq)
			return 0;
		got = trace_read(t, words, x->bytes, x->payload);
		if (trace_read(t, &after, sizeof(after), at) != sizeof(after))
			return 0;
		if (memcmp(&before, &after, sizeof(before)))
			continue;
		before.size = x->head.size; /* another extent may begin inside it */
		x->head = before;
		x->kind = before.kind;
		return words_used(words, got / 8);
	}
	return 0;
}

/* Makes space for the words of the largest slot. */
static uint64_t *make_buffer(const struct extents *x)
{
	size_t most = 0, size;

	for (size_t i = 0; i < x->n; i++) {
		size = x->item[i].copy ? x->item[i].all_bytes : x->item[i].bytes;
		if (is_slot(x->item[i].kind) && size <= CHUNK_BYTES_MAX && size > most)
			most = size;
	}
	return must_malloc(most + 8);
}

/* Copies the current words of all slots, each with its header. */
static void slots_copy(struct trace *t, struct extents *x)
{
	uint64_t *words = make_buffer(x);

	for (size_t i = 0; i < x->n; i++) {
		struct extent *slot = &x->item[i];
		size_t n = is_slot(slot->kind) && slot->bytes <= CHUNK_BYTES_MAX
			       ? slot_read(t, slot, words)
			       : 0;

		if (!n)
			continue;
		slot->copy = must_memdup(words, n * 8);
		slot->all_bytes = slot->bytes;
		slot->bytes = n * 8;
	}
	free(words);
}

static bool slot_is_same(const struct trace *t, const struct extent *slot, uint64_t *words)
{
	struct extent now = *slot;

	now.bytes = slot->all_bytes;
	return slot_read(t, &now, words) * 8 == slot->bytes &&
	       !memcmp(&now.head, &slot->head, sizeof(now.head)) &&
	       !memcmp(words, slot->copy, slot->bytes);
}

/* Are the slots unchanged since they were copied? */
static bool slots_are_same(const struct trace *t, const struct extents *x)
{
	uint64_t *words = make_buffer(x);
	bool same = !has_grown(t);

	for (size_t i = 0; same && i < x->n; i++)
		same = !x->item[i].copy || slot_is_same(t, &x->item[i], words);
	free(words);
	return same;
}

static void forget(struct extents *x)
{
	for (size_t i = 0; i < x->n; i++)
		free(x->item[i].copy);
	free(x->item);
	*x = (struct extents){ 0 };
}

/* ---- the picture ---- */

/* Returns the latest time that is certainly complete, of events in copied slots. */
static uint64_t last_of_slots(const struct extents *x)
{
	uint64_t last = 0;

	for (size_t i = 0; i < x->n; i++) {
		const struct extent *s = &x->item[i];
		uint64_t ticks = 0;

		if (s->copy && s->kind == MPROF_EXTENT_SLOT)
			ticks = words_last_ticks(s->copy, s->bytes / 8,
						 s->head.first_ticks & MPROF_TICKS_MASK);
		if (ticks > last)
			last = ticks;
	}
	return last;
}

/* Returns the same for chunks and facts, or `last`. */
static uint64_t last_of_chunks(const struct extents *x, uint64_t last)
{
	for (size_t i = 0; i < x->n; i++) {
		const struct mprof_extent *h = &x->item[i].head;
		uint64_t ticks = h->kind == MPROF_EXTENT_EVENTS ? h->last_ticks
				 : h->kind == MPROF_EXTENT_FACT ? h->first_ticks
								: 0;

		if ((ticks & MPROF_TICKS_MASK) > last)
			last = ticks & MPROF_TICKS_MASK;
	}
	return last;
}

/* Adds the extents of one kind in another list; of slots, only those that were copied. */
static void extents_add(struct extents *x, uint16_t kind, struct extents *from)
{
	struct extent *item;

	for (size_t i = 0; i < from->n; i++) {
		if (from->item[i].kind != kind || (is_slot(kind) && !from->item[i].copy))
			continue;
		item = GROW_ONE(x->item, x->n, x->room);
		*item = from->item[i];
		from->item[i].copy = NULL;
	}
}

/* Replaces the extents of one kind by those of another list. */
static void extents_replace(struct extents *x, uint16_t kind, struct extents *from)
{
	size_t kept = 0;

	for (size_t i = 0; i < x->n; i++)
		if (x->item[i].kind != kind)
			x->item[kept++] = x->item[i];
	x->n = kept;
	extents_add(x, kind, from);
}

/* x: the result of the first look. */
static void look_again(struct trace *t, struct extents *x, const struct trace_damage *before)
{
	struct extents events = { 0 }, stacks = { 0 }, late = { 0 };

	t->is_live = true;
	t->until_ticks = last_of_slots(x);
	forget(x);
	walk(t, x, before);
	t->until_ticks = last_of_chunks(x, t->until_ticks);
	walk(t, &events, before);
	slots_copy(t, &events);
	walk_until_sound(t, x, before);
	walk(t, &stacks, before);
	slots_copy(t, &stacks);
	walk_until_sound(t, &late, before);
	extents_replace(x, MPROF_EXTENT_SLOT, &events);
	extents_replace(x, MPROF_EXTENT_STACKS_SLOT, &stacks);
	extents_replace(x, MPROF_EXTENT_STACKS, &late);
	if (t->header.dropped_ticks)
		t->until_ticks = 0;
	forget(&events);
	forget(&stacks);
	forget(&late);
}

/* Keeps the copies until the trace is closed. */
static void copies_keep(struct trace *t, struct extents *x)
{
	for (size_t i = 0; i < x->n; i++) {
		void **kept;

		if (!x->item[i].copy)
			continue;
		kept = GROW_ONE(t->copy, t->copies, t->copies_room);
		*kept = x->item[i].copy;
	}
}

static bool same_part(const struct extent *a, const struct extent *b)
{
	return a->head.offset == b->head.offset && a->head.process == b->head.process &&
	       a->head.image == b->head.image && a->head.seq == b->head.seq;
}

/* Copies the slots that are still what the walk found. */
static void slots_copy_again(struct trace *t, struct extents *x)
{
	struct extent *walked = must_memdup(x->item, x->n * sizeof(*x->item));

	slots_copy(t, x);
	for (size_t i = 0; i < x->n; i++) {
		if (!x->item[i].copy || same_part(&x->item[i], &walked[i]))
			continue;
		free(x->item[i].copy);
		x->item[i] = walked[i];
	}
	free(walked);
}

/* Drops the copies of which `later` has a newer one.  Both are in the order of the file. */
static void drop_older(struct extents *x, const struct extents *later)
{
	for (size_t i = 0, k = 0; i < x->n; i++) {
		struct extent *old = &x->item[i];

		while (k < later->n && later->item[k].head.offset < old->head.offset)
			k++;
		if (old->copy && k < later->n && later->item[k].copy &&
		    same_part(old, &later->item[k])) {
			free(old->copy);
			old->copy = NULL;
		}
	}
}

ORDER(by_owner, struct trace_fact, RISING(process) ?: RISING(image))

/* Drops the stack records of processes that began since the facts were read. */
static void drop_unknown(const struct trace *t, struct extents *x)
{
	struct trace_fact *known = must_calloc(t->facts + 1, sizeof(*known)), key = { 0 };
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < t->facts; i++)
		if (t->fact[i].fact->what == MPROF_FACT_START)
			known[n++] = t->fact[i];
	SORT(known, n, by_owner);
	for (size_t i = 0; i < x->n; i++) {
		const struct mprof_extent *h = &x->item[i].head;

		key.process = h->process;
		key.image = h->image;
		if ((h->kind == MPROF_EXTENT_STACKS || h->kind == MPROF_EXTENT_STACKS_SLOT) &&
		    !bsearch(&key, known, n, sizeof(key), by_owner))
			free(x->item[i].copy);
		else
			x->item[kept++] = x->item[i];
	}
	x->n = kept;
	free(known);
}

void live_find_stacks(struct trace *t, struct extents *x)
{
	const struct trace_damage before = t->damage, none = { 0 };
	struct extents stacks = { 0 }, late = { 0 };

	if (trace_has_events(t) || t->header.flags & (MPROF_FILE_COMPRESSED | MPROF_FILE_CLOSED))
		return;
	walk(t, &stacks, &none);
	slots_copy(t, &stacks);
	walk_until_sound(t, &late, &none);
	t->damage = before;
	t->is_growing = has_grown(t);
	if (t->is_growing) {
		slots_copy_again(t, &late);
		drop_older(&stacks, &late);
	}
	extents_replace(x, MPROF_EXTENT_STACKS_SLOT, &stacks);
	extents_replace(x, MPROF_EXTENT_STACKS, &late);
	extents_add(x, MPROF_EXTENT_STACKS_SLOT, &late);
	if (t->is_growing)
		drop_unknown(t, x);
	forget(&stacks);
	forget(&late);
	copies_keep(t, x);
}

void live_find_extents(struct trace *t, struct extents *x)
{
	const struct trace_damage before = t->damage;

	walk_until_sound(t, x, &before);
	if (!trace_has_events(t) || t->header.flags & (MPROF_FILE_COMPRESSED | MPROF_FILE_CLOSED))
		return;
	slots_copy(t, x);
	if (!slots_are_same(t, x))
		look_again(t, x, &before);
	t->may_complete = t->is_live || (is_written(t) && has_writers(t));
	copies_keep(t, x);
}
