// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * snapshots.c - see snapshots.h.
 */
#include "snapshots.h"

#include <stdlib.h>
#include <string.h>

#include "../util/order.h"
#include "../util/alloc.h"
#include "../util/bits.h"

_Static_assert(sizeof(struct snapshot_births) == SNAPSHOT_NUMBERS * sizeof(uint64_t),
	       "written as rows of numbers");

#define SNAPSHOT_STACK_NUMBERS 3u
_Static_assert(sizeof(struct snapshot_stack) == SNAPSHOT_STACK_NUMBERS * sizeof(uint64_t),
	       "so are these");

struct work {
	struct walk *walk;
	struct packer *packer;
	struct byte_column plain;
	struct snapshot_births *birth; /* open addressing; blocks 0 = empty */
	size_t births, room;	       /* room: a power of two */
	uint64_t every, most;
	size_t kept; /* bytes of all frames */
	size_t slices_room;
	struct snapshot_moment last;
	uint64_t most_ticks;
	bool failed;
};

/* ---- frames ---- */

/* Makes a frame of k->plain, and empties it. */
static void make_frame(struct work *k, struct state_frame *f)
{
	*f = (struct state_frame){ .bytes = NULL };
	k->failed |= !state_frame_put(k->packer, &k->plain, f);
	k->kept += f->count;
}

static void drop_frame(struct work *k, struct state_frame *f)
{
	if (k)
		k->kept -= f->count;
	free(f->bytes);
	*f = (struct state_frame){ .bytes = NULL };
}

/* ---- births ---- */

static uint64_t hash(const struct snapshot_births *b)
{
	uint64_t h = (b->stack << 32 | b->thread) * 0xff51afd7ed558ccdull;

	return (h ^ h >> 29 ^ (b->process << 8 | b->size_class)) * 0x9e3779b97f4a7c15ull;
}

static bool is_same(const struct snapshot_births *a, const struct snapshot_births *b)
{
	return a->stack == b->stack && a->thread == b->thread && a->process == b->process &&
	       a->size_class == b->size_class;
}

static struct snapshot_births *find(const struct work *k, const struct snapshot_births *b)
{
	size_t i = hash(b) >> 20 & (k->room - 1);

	while (k->birth[i].blocks && !is_same(&k->birth[i], b))
		i = (i + 1) & (k->room - 1);
	return &k->birth[i];
}

static bool grow(struct work *k)
{
	struct snapshot_births *old = k->birth;
	const size_t room = k->room;

	k->birth = calloc(room ? 2 * room : 1u << 12, sizeof(*k->birth));
	if (!k->birth) {
		k->birth = old;
		k->failed = true;
		return false;
	}
	k->room = room ? 2 * room : 1u << 12;
	for (size_t i = 0; i < room; i++)
		if (old[i].blocks)
			*find(k, &old[i]) = old[i];
	free(old);
	return true;
}

static void add(struct work *k, const struct snapshot_births *b)
{
	struct snapshot_births *to;

	if (k->births >= k->room / 2 && !grow(k))
		return;
	to = find(k, b);
	if (!to->blocks) {
		*to = *b;
		k->births++;
		return;
	}
	to->blocks += b->blocks;
	to->bytes += b->bytes;
}

ORDER(by_key, struct snapshot_births,
      RISING(stack) ?: RISING(thread) ?: RISING(process) ?: RISING(size_class))

/* Moves the rows to the front of the table, in order; returns their number. */
static size_t order_births(struct work *k)
{
	size_t n = 0;

	for (size_t i = 0; i < k->room; i++)
		if (k->birth[i].blocks)
			k->birth[n++] = k->birth[i];
	SORT(k->birth, n, by_key);
	return n;
}

static void empty(struct work *k)
{
	memset(k->birth, 0, k->room * sizeof(*k->birth));
	k->births = 0;
}

/* Makes the table the slice's frame, and empties it. */
static void keep_births(struct work *k, struct snapshot_slice *s)
{
	s->birth_rows = order_births(k);
	state_put_rows(&k->plain, &k->birth->stack, s->birth_rows, SNAPSHOT_NUMBERS);
	make_frame(k, &s->births);
	empty(k);
}

/* Returns the rows of a frame, which the caller frees. */
static uint64_t *get_rows(const struct state_frame *f, size_t rows, unsigned numbers)
{
	uint64_t *row = must_calloc(rows * numbers + 1, sizeof(*row));
	uint8_t *plain = state_frame_plain(f);
	struct cursor from = { plain, plain + f->plain };

	state_get_rows(&from, row, rows, numbers);
	free(plain);
	return row;
}

struct snapshot_births *snapshots_births(const struct snapshot_slice *s)
{
	return (struct snapshot_births *)get_rows(&s->births, s->birth_rows, SNAPSHOT_NUMBERS);
}

struct snapshot_stack *snapshots_stacks(const struct snapshot_stacks *s)
{
	return (struct snapshot_stack *)get_rows(&s->births, s->rows, SNAPSHOT_STACK_NUMBERS);
}

/* ---- taking a snapshot ---- */

static struct snapshot_slice *next_slice(struct snapshots *s)
{
	struct work *k = s->work;
	const size_t room = k->slices_room ? 2 * k->slices_room : 64;
	struct snapshot_slice *more;

	if (s->slices == k->slices_room) {
		more = reallocarray(s->slice, room, sizeof(*more));
		if (!more) {
			k->failed = true;
			return NULL;
		}
		s->slice = more;
		k->slices_room = room;
	}
	more = &s->slice[s->slices++];
	*more = (struct snapshot_slice){ .first_ticks = UINT64_MAX,
					 .in_order = s->slices == 1,
					 .before = k->walk->events,
					 .most_ticks = k->most_ticks,
					 .last = k->last };
	return more;
}

/* ---- what the file has ---- */

static uint64_t late_events(const struct heap *h)
{
	uint64_t late = 0;

	for (size_t i = 0; i < h->processes; i++)
		late += h->process[i]->late;
	return late;
}

/* A process that runs reads its clock in another order than its calls: the heap repairs that. */
static bool is_in_order(const struct walk *w, size_t here, const struct trace_place *place)
{
	return place->first_event + place->events == w->events + here + 1 &&
	       (!w->heap.crossed || w->heap.crossed + WINDOW_BATCH <= w->events);
}

/* Ends a slice at the beginning of the next one, or at the end of the trace. */
static void end_slice(struct snapshot_slice *s, uint64_t late, bool in_order)
{
	s->plain = s->in_order && in_order && s->late == late;
}

/* ---- fewer of them ---- */

static void add_rows(struct work *k, const struct snapshot_slice *s)
{
	struct snapshot_births *b = snapshots_births(s);

	for (size_t i = 0; i < s->birth_rows; i++)
		add(k, &b[i]);
	free(b);
}

/* Merges b, which follows a, into a. */
static void join(struct work *k, struct snapshot_slice *a, struct snapshot_slice *b)
{
	add_rows(k, a);
	add_rows(k, b);
	drop_frame(k, &a->births);
	drop_frame(k, &b->births);
	drop_frame(k, &b->state);
	keep_births(k, a);
	if (b->first_ticks < a->first_ticks)
		a->first_ticks = b->first_ticks;
	if (b->last_ticks > a->last_ticks)
		a->last_ticks = b->last_ticks;
	a->plain = a->plain && b->plain;
	if (!a->highest.at.set ||
	    (b->highest.at.set && b->highest.live_bytes > a->highest.live_bytes))
		a->highest = b->highest;
}

/* Drops every second snapshot; all slices must be complete.  If it fails, each frame still belongs
 * to one slice. */
static void thin(struct snapshots *s)
{
	struct work *k = s->work;
	struct snapshot_slice slice;
	size_t n = 0;

	for (size_t i = 0; i < s->slices && !k->failed; i += 2) {
		if (i + 1 < s->slices)
			join(k, &s->slice[i], &s->slice[i + 1]);
		slice = s->slice[i];
		s->slice[i] = (struct snapshot_slice){ .plain = false };
		s->slice[n++] = slice;
	}
	s->slices = k->failed ? s->slices : n;
	k->every *= 2;
}

/* ---- the walk ---- */

static void cut(struct snapshots *s, struct walk *w, size_t here, const struct trace_place *place)
{
	const uint64_t late = late_events(&w->heap);
	const bool in_order = is_in_order(w, here, place);
	struct work *k = s->work;
	struct snapshot_slice *slice = &s->slice[s->slices - 1];

	keep_births(k, slice);
	end_slice(slice, late, in_order);
	while (k->kept > k->most && s->slices > 1 && !k->failed)
		thin(s);
	slice = k->failed ? NULL : next_slice(s);
	if (!slice)
		return;
	slice->place = *place;
	slice->late = late;
	slice->in_order = in_order;
	walk_state_put(w, s->trace, here, &k->plain);
	make_frame(k, &slice->state);
}

static void between(void *self, struct walk *w, size_t here)
{
	struct snapshots *s = self;
	struct work *k = s->work;
	struct trace_place place;

	if (!k || k->failed)
		return;
	if (w->events && w->last_ticks > k->most_ticks)
		k->most_ticks = w->last_ticks;
	if (w->events - s->slice[s->slices - 1].before >= k->every && trace_place(s->trace, &place))
		cut(s, w, here, &place);
}

static void drop_work(struct snapshots *s)
{
	struct work *k = s->work;

	if (!k)
		return;
	packer_free(k->packer);
	columns_free(&k->plain, 1);
	free(k->birth);
	free(k);
	s->work = NULL;
}

static void start(void *self, struct walk *w)
{
	struct snapshots *s = self;
	struct work *k = calloc(1, sizeof(*k));

	s->work = k;
	if (!k)
		return;
	k->walk = w;
	k->every = s->every ? s->every : SNAPSHOTS_EVERY;
	k->most = s->most ? s->most : SNAPSHOTS_MOST;
	k->packer = packer_new(1);
	k->failed = !k->packer || !next_slice(s) || !grow(k);
	w->between = between;
	w->between_context = s;
}

static void note(struct snapshots *s, const struct event *e, const struct note *n, uint64_t number)
{
	struct work *k = s->work;
	struct snapshot_moment *highest = &s->slice[s->slices - 1].highest;

	k->last = (struct snapshot_moment){
		.at = { .set = true, .ticks = e->ticks, .event = number },
		.live_bytes = note_all_bytes(n),
	};
	if (!highest->at.set || k->last.live_bytes > highest->live_bytes)
		*highest = k->last;
	if (!(n->did & NOTE_BEGAN) || (s->functions && !(s->functions >> (e->fn & 31) & 1)))
		return;
	add(k, &(struct snapshot_births){
		   .stack = e->stack,
		   .thread = e->thread,
		   .process = e->process,
		   .size_class = bits_of(e->size),
		   .blocks = 1,
		   .bytes = e->size,
	       });
}

static void batch(void *self, const struct batch *b)
{
	struct snapshots *s = self;
	struct work *k = s->work;
	struct snapshot_slice *slice;

	if (!k || k->failed)
		return;
	slice = &s->slice[s->slices - 1];
	for (size_t i = 0; i < b->count; i++) {
		const struct event *e = &b->event[i];

		if (e->ticks < slice->first_ticks)
			slice->first_ticks = e->ticks;
		if (e->ticks > slice->last_ticks)
			slice->last_ticks = e->ticks;
		if (b->note[i].did & (NOTE_BEGAN | NOTE_ENDED))
			note(s, e, &b->note[i], b->number + i);
	}
}

/* Most stacks allocate in every slice: a sum has few more rows than one of its slices. */
static void sum_up(struct snapshots *s)
{
	struct work *k = s->work;

	s->sum = calloc(s->slices / SNAPSHOTS_SUM + 1, sizeof(*s->sum));
	for (size_t i = 0; s->sum && i < s->slices / SNAPSHOTS_SUM && !k->failed; i++) {
		for (size_t n = 0; n < SNAPSHOTS_SUM; n++)
			add_rows(k, &s->slice[i * SNAPSHOTS_SUM + n]);
		keep_births(k, &s->sum[s->sums++]);
	}
}

/* The same with a table by stack alone. */
static void keep_stacks(struct work *k, struct snapshot_stacks *s)
{
	struct snapshot_stack *row = must_calloc(k->births + 1, sizeof(*row));

	s->rows = order_births(k);
	for (size_t i = 0; i < s->rows; i++)
		row[i] = (struct snapshot_stack){ k->birth[i].stack, k->birth[i].blocks,
						  k->birth[i].bytes };
	state_put_rows(&k->plain, &row->stack, s->rows, SNAPSHOT_STACK_NUMBERS);
	make_frame(k, &s->births);
	empty(k);
	free(row);
}

static void add_stack(struct work *k, uint64_t stack, uint64_t blocks, uint64_t bytes)
{
	add(k, &(struct snapshot_births){ .stack = stack, .blocks = blocks, .bytes = bytes });
}

static void add_slice(struct work *k, const struct snapshot_slice *s)
{
	struct snapshot_births *b = snapshots_births(s);

	for (size_t i = 0; i < s->birth_rows; i++)
		add_stack(k, b[i].stack, b[i].blocks, b[i].bytes);
	free(b);
}

static void add_stacks(struct work *k, const struct snapshot_stacks *s)
{
	struct snapshot_stack *b = snapshots_stacks(s);

	for (size_t i = 0; i < s->rows; i++)
		add_stack(k, b[i].stack, b[i].blocks, b[i].bytes);
	free(b);
}

static void sum_stacks(struct snapshots *s, unsigned level)
{
	const size_t n = level ? s->by_stacks[level - 1] / SNAPSHOTS_EACH : s->slices;
	struct snapshot_stacks *to = must_calloc(n + 1, sizeof(*to));
	struct work *k = s->work;

	s->by_stack[level] = to;
	for (size_t i = 0; i < n && !k->failed; i++) {
		if (!level)
			add_slice(k, &s->slice[i]);
		for (size_t j = 0; level && j < SNAPSHOTS_EACH; j++)
			add_stacks(k, &s->by_stack[level - 1][i * SNAPSHOTS_EACH + j]);
		keep_stacks(k, &to[s->by_stacks[level]++]);
	}
}

static void finish(void *self, struct walk *w)
{
	struct snapshots *s = self;
	struct work *k = s->work;

	w->between = NULL;
	s->trace = NULL;
	if (k && !k->failed) {
		keep_births(k, &s->slice[s->slices - 1]);
		end_slice(&s->slice[s->slices - 1], late_events(&w->heap), true);
	}
	if (k && !k->failed)
		sum_up(s);
	for (unsigned i = 0; i < SNAPSHOTS_LEVELS && k && !k->failed; i++)
		sum_stacks(s, i);
	if (!k || k->failed)
		snapshots_release(s);
	drop_work(s);
}

const struct pass_ops snapshots_pass = {
	.name = "snapshots",
	.start = start,
	.batch = batch,
	.finish = finish,
};

void snapshots_release(struct snapshots *s)
{
	for (size_t i = 0; i < s->slices; i++) {
		drop_frame(NULL, &s->slice[i].state);
		drop_frame(NULL, &s->slice[i].births);
	}
	for (size_t i = 0; i < s->sums; i++)
		drop_frame(NULL, &s->sum[i].births);
	for (unsigned level = 0; level < SNAPSHOTS_LEVELS; level++) {
		for (size_t i = 0; i < s->by_stacks[level]; i++)
			drop_frame(NULL, &s->by_stack[level][i].births);
		free(s->by_stack[level]);
		s->by_stack[level] = NULL;
		s->by_stacks[level] = 0;
	}
	free(s->slice);
	free(s->sum);
	s->slice = s->sum = NULL;
	s->slices = s->sums = 0;
	drop_work(s);
}

/* ---- going on from one ---- */

static size_t resume(void *self, struct walk *w)
{
	const struct snapshot_start *at = self;
	const struct snapshot_slice *s = &at->snapshots->slice[at->slice];
	uint8_t *plain = state_frame_plain(&s->state);
	struct cursor from = { plain, plain + s->state.plain };
	const size_t here = walk_state_get(w, at->trace, &s->place, &from);

	free(plain);
	return here;
}

void snapshots_begin(struct walk *w, struct snapshot_start *from)
{
	if (!from->slice)
		return;
	w->resume = resume;
	w->resume_context = from;
}
