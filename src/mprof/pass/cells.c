// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * cells.c - see cells.h.
 *
 * The point of a step is known only when the step is over, so blocks that end
 * within a step are kept in a list until then.  A block is identified by the
 * time of its birth; at equal times the order of events decides
 * (block_began_by).
 */
#include "cells.h"

#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/bits.h"
#include "../util/order.h"
#include "boundaries.h"
#include "../util/rank.h"
#include "array.h"

#define SLOTS_LEAST 4096u

struct ending {
	uint64_t start, ticks; /* of the block: when it began and ended */
	uint64_t size;
	uint32_t stack, thread;
	uint32_t order;	   /* number of its birth, modulo 2^24 */
	uint32_t late : 1; /* it ended after the step's highest moment so far */
	uint32_t why : 7;  /* CELL_NEVER_FREED, CELL_EXEC; 0 = freed */
	uint32_t temporary : 1;
};

struct work {
	struct walk *walk;
	uint64_t begin, step_ticks; /* of the run; ticks of a step, at least 1 */
	uint64_t end;		    /* of the last event */
	uint64_t step_end;
	struct cells_point now, top; /* top: the highest moment of this step so far */
	bool any;		     /* this step has an event that changed the heap */
	struct ending *ending;
	size_t endings, room;
	size_t cells_room;
	uint32_t *slot;	       /* open addressing: index of a cell + 1; see find() */
	size_t slots, used;    /* a power of two; how many are taken */
	size_t first;	       /* cells from here on were made in the last step, or are all found */
	bool merged;	       /* stacks with equal text are merged */
	struct array stand_in; /* uint32_t by stack: the stack that represents it in cells, + 1; 0 =
				  unknown yet */
	struct array recent;   /* uint64_t by thread: the block that its last call returned */
	struct array mapped;   /* uint64_t by process: its part of now.mapped */
};

/* ---- the table of cells ---- */

static uint64_t hash(const struct cell *c)
{
	uint64_t h = (uint64_t)c->stack << 32 | (uint64_t)c->birth << 16 | c->death;

	h ^= ((uint64_t)c->thread << 16 | (uint64_t)c->size_class << 8 | c->life_class) *
	     0xff51afd7ed558ccdull;
	return (h ^ h >> 29) * 0x9e3779b97f4a7c15ull;
}

/* Where the search for a cell begins. */
static size_t place_of(const struct work *k, const struct cell *c)
{
	return hash(c) >> 20 & (k->slots - 1);
}

static bool same(const struct cell *a, const struct cell *b)
{
	return a->stack == b->stack && a->birth == b->birth && a->death == b->death &&
	       a->thread == b->thread && a->size_class == b->size_class &&
	       a->life_class == b->life_class;
}

/*
 * Only cells to which blocks can be added are found: a block ends at the point of its step or at
 * the next one, so after a step the earlier cells do not change.  The table of one step fits into
 * the processor's cache; one of all cells would not.
 */
static uint32_t *find(const struct cells *s, const struct cell *c)
{
	const struct work *k = s->work;
	size_t i = place_of(k, c);

	while (k->slot[i] && !same(&s->cell[k->slot[i] - 1], c))
		i = (i + 1) & (k->slots - 1);
	return &k->slot[i];
}

static void add_to(struct cell *to, const struct cell *c)
{
	to->blocks += c->blocks;
	to->bytes += c->bytes;
	to->temporary += c->temporary;
}

/* Empties the table; it has room for this many cells. */
static void empty_slots(struct work *k, size_t cells)
{
	const size_t least = SLOTS_LEAST > cells * 2 ? SLOTS_LEAST : cells * 2;
	size_t slots = k->slots ? k->slots : SLOTS_LEAST;

	while (slots < least)
		slots *= 2;
	while (slots > least * 8)
		slots /= 2;
	if (slots != k->slots) {
		free(k->slot);
		k->slot = must_malloc(slots * sizeof(*k->slot));
		k->slots = slots;
	}
	memset(k->slot, 0, slots * sizeof(*k->slot));
	k->used = 0;
}

static void grow_slots(struct cells *s)
{
	struct work *k = s->work;
	const size_t slots = k->slots;
	uint32_t *slot = k->slot;

	k->slot = NULL;
	k->slots *= 2;
	k->slot = must_calloc(k->slots, sizeof(*k->slot));
	for (size_t i = 0; i < slots; i++)
		if (slot[i])
			*find(s, &s->cell[slot[i] - 1]) = slot[i];
	free(slot);
}

/* Makes a table of all cells; merges those that have become equal. */
static void find_all(struct cells *s)
{
	const size_t cells = s->count;
	struct work *k = s->work;
	struct cell c;
	uint32_t *at;

	empty_slots(k, cells);
	s->count = 0;
	for (size_t i = 0; i < cells; i++) {
		c = s->cell[i];
		at = find(s, &c);
		if (*at) {
			add_to(&s->cell[*at - 1], &c);
			continue;
		}
		s->cell[s->count++] = c;
		*at = (uint32_t)s->count;
	}
	k->used = s->count;
	k->first = 0;
}

/* Begins the step with this point: forgets cells of blocks that ended before it. */
static void find_from(struct cells *s, size_t point)
{
	struct work *k = s->work;

	empty_slots(k, s->count - k->first);
	for (size_t i = k->first; i < s->count; i++)
		if (s->cell[i].death >= point) {
			*find(s, &s->cell[i]) = (uint32_t)i + 1;
			k->used++;
		}
	k->first = s->count;
}

static void coarsen(struct cell *c)
{
	c->thread = 0;
	c->size_class = 0;
	if (c->life_class < CELL_NEVER_FREED)
		c->life_class = 0;
}

static uint32_t stack_of(struct cells *s, uint32_t stack)
{
	struct work *k = s->work;
	uint32_t *known = array_at(&k->stand_in, stack, sizeof(*known));

	if (!*known)
		*known = s->same(s->same_context, stack) + 1;
	return *known - 1;
}

/* Removes from a cell what was removed from all cells. */
static void simplify(struct cells *s, struct cell *c)
{
	const struct work *k = s->work;

	if (k->merged)
		c->stack = stack_of(s, c->stack);
	if (s->coarse)
		coarsen(c);
}

static void add(struct cells *s, struct cell *c)
{
	struct work *k = s->work;
	uint32_t *at;

	if (k->used >= k->slots / 4 * 3)
		grow_slots(s);
	at = find(s, c);
	if (*at) {
		add_to(&s->cell[*at - 1], c);
		return;
	}
	GROW(s->cell, s->count + 1, k->cells_room);
	s->cell[s->count++] = *c;
	*at = (uint32_t)s->count;
	k->used++;
}

/* ---- fewer cells ---- */

void cells_halve(struct cells *s, bool keep_last)
{
	const size_t points = s->points, pairs = keep_last && points ? points - 1 : points;
	uint16_t *to = must_calloc(points + 2, sizeof(*to));
	size_t i, n = 0;
	bool second;

	for (i = 0; i < pairs; i += 2, n++) {
		second = i + 1 < pairs && s->point[i + 1].live.bytes > s->point[i].live.bytes;
		to[i] = (uint16_t)n;
		to[i + 1] = (uint16_t)(n + !second);
		s->point[n] = s->point[i + second];
	}
	for (i = pairs; i < points; i++) {
		to[i] = (uint16_t)n;
		s->point[n++] = s->point[i];
	}
	to[points] = (uint16_t)n;
	s->points = n;
	for (i = 0; i < s->count; i++) {
		s->cell[i].birth = to[s->cell[i].birth];
		s->cell[i].death = to[s->cell[i].death];
	}
	free(to);
}

static void simplify_all(struct cells *s)
{
	for (size_t i = 0; i < s->count; i++)
		simplify(s, &s->cell[i]);
	find_all(s);
}

/* Are there many stacks?  Each has at least one cell. */
static bool are_many(const struct cells *s)
{
	const struct work *k = s->work;
	const struct stacks *stacks = k->walk->input.stacks;

	return s->count > s->most && (!stacks || s->count > stacks->nodes);
}

static void keep_few(struct cells *s)
{
	struct work *k = s->work;

	if (are_many(s) && s->same && !k->merged) {
		k->merged = true;
		simplify_all(s);
	}
	if (are_many(s) && !s->coarse && !s->by_thread_only) {
		s->coarse = true;
		simplify_all(s);
	}
	while (are_many(s) && s->points > CELLS_POINTS_LEAST) {
		cells_halve(s, false);
		k->step_ticks *= 2;
		find_all(s);
	}
}

/* ---- points ---- */

static bool began_by(const struct block *born, const struct cells_point *p)
{
	return block_began_by(born, p->ticks, p->event);
}

/* Returns the first point at or after the event with this time and number.  Most blocks end in the
 * step in which they began, so it is one of the last points. */
static uint16_t point_of(const struct cells *s, uint64_t ticks, uint32_t order)
{
	const struct block born = { .start = ticks, .order = order };
	const size_t n = s->points;

	if (n > 1 && !began_by(&born, &s->point[n - 2]))
		return (uint16_t)(n - began_by(&born, &s->point[n - 1]));
	return (uint16_t)FIRST_WHERE(i, n, began_by(&born, &s->point[i]));
}

static struct cell cell_of(struct cells *s, const struct ending *e, size_t death)
{
	uint64_t life = e->ticks > e->start ? e->ticks - e->start : 0;
	const struct work *k = s->work;
	struct cell c = { .stack = e->stack,
			  .thread = e->thread,
			  .birth = point_of(s, e->start, e->order),
			  .death = (uint16_t)death,
			  .size_class = (uint8_t)bits_of(e->size),
			  .blocks = 1,
			  .bytes = e->size,
			  .temporary = e->temporary };

	c.life_class = (uint8_t)(e->why ? e->why : bits_of(walk_duration_ns(k->walk, life)));
	if (s->by_thread_only) {
		c.size_class = 0;
		c.life_class = e->why;
	}
	simplify(s, &c);
	return c;
}

static void put(struct cells *s, const struct ending *e, size_t death)
{
	struct cell c = cell_of(s, e, death);

	add(s, &c);
}

static void put_step(struct cells *s, size_t at)
{
	const struct work *k = s->work;

	find_from(s, at);
	for (size_t i = 0; i < k->endings; i++)
		put(s, &k->ending[i], at + k->ending[i].late);
}

/* The step is over: its point and the ends before it are known. */
static void close_step(struct cells *s)
{
	struct work *k = s->work;
	const size_t at = s->points;

	s->point[at] = k->top;
	s->point[at].ns = walk_ns(k->walk, k->top.ticks);
	s->points++;
	/* Blocks that ended at or before the point died there, the others at the next one. */
	put_step(s, at);
	k->endings = 0;
	k->any = false;
	keep_few(s);
}

/* Returns the time of the last sample in (from, to], or 0. */
static uint64_t sampled_at(const struct walk *w, uint64_t from, uint64_t to)
{
	const struct mprof_sample *sample;
	uint64_t last = 0;
	size_t i, n, after;

	for (i = 0; w->input.samples && i < w->heap.processes; i++) {
		n = w->input.samples(w->input.context, w->heap.process[i]->number, &sample);
		after = FIRST_WHERE(k, n, sample[k].ticks > to);
		if (after && sample[after - 1].ticks > from && sample[after - 1].ticks > last)
			last = sample[after - 1].ticks;
	}
	return last;
}

/* Adds a point with the state after the last event, or after a process that ended since then. */
static void add_quiet(struct cells *s, uint64_t ticks)
{
	struct cells_point *p = &s->point[s->points];
	struct work *k = s->work;

	*p = k->now;
	p->ticks = ticks;
	p->ns = walk_ns(k->walk, ticks);
	for (size_t i = 0; i < k->endings; i++)
		k->ending[i].late = 0;
	put_step(s, s->points++);
	k->endings = 0;
}

/* Called before the first event of a later step. */
static void reach(struct cells *s, uint64_t ticks)
{
	struct work *k = s->work;
	/* A process may run another program later than the last event. */
	const uint64_t known = ticks < k->end ? ticks : k->end;
	uint64_t at;

	if (k->any)
		close_step(s);
	for (; k->step_end <= known && known - k->step_end >= k->step_ticks && s->points;
	     k->step_end += k->step_ticks) {
		at = sampled_at(k->walk, k->step_end, k->step_end + k->step_ticks - 1);
		if (at && s->points < s->steps)
			add_quiet(s, at);
	}
	k->step_end = k->begin + ((ticks - k->begin) / k->step_ticks + 1) * k->step_ticks;
}

/* Called after an event: is this the highest moment of its step? */
static void look(struct cells *s, uint64_t ticks, uint64_t number)
{
	struct work *k = s->work;
	size_t i;

	k->now.ticks = ticks;
	k->now.event = number;
	if (k->any && k->now.live.bytes <= k->top.live.bytes)
		return;
	k->top = k->now;
	k->any = true;
	for (i = k->endings; i-- && k->ending[i].late;)
		k->ending[i].late = 0;
}

/* ---- the walk ---- */

static void start(void *self, struct walk *w)
{
	struct cells *s = self;
	struct work *k = must_calloc(1, sizeof(*k));
	const uint64_t end = walk_end_ticks(&w->input, &w->until);

	s->work = k;
	if (!s->steps)
		s->steps = CELLS_STEPS;
	if (!s->most)
		s->most = CELLS_MOST;
	k->walk = w;
	empty_slots(k, 0);
	s->point = must_calloc(s->steps + 2 + CELLS_QUIET, sizeof(*s->point));
	k->begin = w->input.header->start_ticks;
	k->end = end;
	k->step_ticks = (end - k->begin) / s->steps + 1;
	k->step_end = k->begin + k->step_ticks;
}

static bool passes(const struct cells *s, const struct block *b, uint32_t process, uint64_t ticks,
		   unsigned why)
{
	const struct work *k = s->work;
	const struct site_filter *f = s->filter;
	uint64_t ns = UINT64_MAX;

	if (!f)
		return true;
	if (!why)
		ns = ticks > b->start ? walk_duration_ns(k->walk, ticks - b->start) : 0;
	return ns >= f->lifetime_min_ns && ns <= f->lifetime_max_ns &&
	       site_filter_passes(f, k->walk, b, process);
}

static void note_ending(struct cells *s, const struct block *b, uint32_t process, uint64_t ticks,
			unsigned why, bool temporary)
{
	struct work *k = s->work;

	if (!passes(s, b, process, ticks, why))
		return;
	GROW(k->ending, k->endings + 1, k->room);
	k->ending[k->endings++] = (struct ending){ .start = b->start,
						   .ticks = ticks,
						   .size = b->size,
						   .stack = b->stack,
						   .thread = b->owner & BLOCK_THREAD,
						   .order = b->order,
						   .late = 1,
						   .why = why & 127,
						   .temporary = temporary };
}

/* Notes a call: does it free the block that the thread's last call returned? */
static bool call(struct cells *s, const struct event *e, const struct note *n)
{
	struct work *k = s->work;
	uint64_t *recent = array_at(&k->recent, n->thread, sizeof(*recent));
	const bool temporary = n->did & (NOTE_ENDED | NOTE_DROPPED) && e->kind == EVENT_CALL &&
			       n->old.addr == *recent && (n->old.owner & BLOCK_THREAD) == n->thread;

	*recent = n->did & NOTE_BEGAN ? e->addr : 0;
	return temporary;
}

/* Sets a process's part of mapped memory. */
static void map(struct cells *s, uint32_t process, uint64_t bytes)
{
	struct work *k = s->work;
	uint64_t *mapped = array_at(&k->mapped, process, sizeof(*mapped));

	k->now.mapped += bytes - *mapped;
	*mapped = bytes;
}

static void take_map(struct cells *s, const struct event *e, const struct note *n)
{
	const struct space_note *space = &n->space;
	struct work *k = s->work;

	if (e->ticks >= k->step_end && s->points < s->steps)
		reach(s, e->ticks);
	map(s, n->process,
	    space->bytes[SPACE_MEMORY] + space->bytes[SPACE_RESERVED] +
		(space->moved_break > 0 ? (uint64_t)space->moved_break : 0));
}

void cells_take(struct cells *s, const struct cells_event *x)
{
	const struct event *e = x->event;
	struct work *k = s->work;

	/* Everything after the end that was known at the start belongs to the last step. */
	if (e->ticks >= k->step_end && s->points < s->steps)
		reach(s, e->ticks);
	k->now.temporary += x->temporary;
	if (x->old) {
		note_ending(s, x->old, x->process, e->ticks, 0, x->temporary);
		k->now.frees += x->counted;
		k->now.freed += x->counted ? x->old->size : 0;
	}
	if (x->began) {
		k->now.calls++;
		k->now.bytes += e->size;
	}
	k->now.live = x->all;
	look(s, e->ticks, x->number);
}

void cells_called(struct cells *s, uint32_t thread, uint64_t addr)
{
	*(uint64_t *)array_at(&((struct work *)s->work)->recent, thread, sizeof(addr)) = addr;
}

static void take(struct cells *s, const struct event *e, const struct note *n, uint64_t number,
		 bool temporary)
{
	cells_take(s, &(struct cells_event){
			  .event = e,
			  .old = n->did & (NOTE_ENDED | NOTE_DROPPED) ? &n->old : NULL,
			  .process = n->process,
			  .began = n->did & NOTE_BEGAN,
			  .temporary = temporary,
			  .counted = n->did & NOTE_ENDED,
			  .number = number,
			  .all = note_all(n),
		      });
}

static void batch(void *self, const struct batch *b)
{
	struct cells *s = self;
	bool temporary;
	size_t i;

	for (i = 0; i < b->count; i++) {
		if (!b->plain && b->note[i].did & NOTE_MAPPED && !b->event[i].error) {
			take_map(s, &b->event[i], &b->note[i]);
			continue;
		}
		temporary =
		    (b->plain || event_is_call(&b->event[i])) && call(s, &b->event[i], &b->note[i]);
		if (b->note[i].did & (NOTE_BEGAN | NOTE_ENDED | NOTE_DROPPED))
			take(s, &b->event[i], &b->note[i], b->number + i, temporary);
	}
}

static void gone(void *self, const struct heap *h, uint32_t process, enum process_gone why,
		 uint64_t ticks)
{
	struct heap_round round = { 0 };
	const struct block *b;
	struct cells *s = self;
	struct work *k = s->work;

	/* A process that ends after the last event ends the run: its blocks are live at that point.
	 */
	if (why == GONE_TRACE_ENDS || (why == GONE_ENDED && ticks >= k->end)) {
		ticks = UINT64_MAX;
	} else {
		if (ticks >= k->step_end && s->points < s->steps)
			reach(s, ticks);
		k->now.live.bytes -= h->process[process]->live.bytes;
		k->now.live.blocks -= h->process[process]->live.blocks;
		k->now.live.slack -= h->process[process]->live.slack;
	}
	if (why != GONE_TRACE_ENDS && ticks != UINT64_MAX)
		map(s, process, 0);
	while ((b = heap_next_block(h->process[process], &round)))
		if (!(b->owner & BLOCK_INHERITED))
			note_ending(s, b, process, ticks,
				    why == GONE_EXEC ? CELL_EXEC : CELL_NEVER_FREED, false);
}

/* Sorts by key of each cell, which stay in order where keys are equal. */
static void sort_by(struct ranked *r, const struct cells *s, uint64_t (*key)(const struct cell *c))
{
	for (size_t i = 0; i < s->count; i++)
		r[i].key = key(&s->cell[r[i].item]);
	rank(r, s->count);
}

static uint64_t kind_key(const struct cell *c)
{
	return (uint64_t)c->thread << 16 | (uint64_t)c->size_class << 8 | c->life_class;
}

static uint64_t place_key(const struct cell *c)
{
	return (uint64_t)c->stack << 32 | (uint64_t)c->birth << 16 | c->death;
}

void cells_merge(struct cells *s)
{
	struct ranked *r = must_malloc((s->count + 1) * sizeof(*r));
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++)
		r[i].item = i;
	sort_by(r, s, kind_key);
	sort_by(r, s, place_key);
	ranked_move(r, s->count, s->cell, sizeof(*s->cell));
	free(r);
	for (size_t i = 0; i < s->count; i++)
		if (n && same(&s->cell[n - 1], &s->cell[i]))
			add_to(&s->cell[n - 1], &s->cell[i]);
		else
			s->cell[n++] = s->cell[i];
	s->count = n;
}

/* Moves blocks that never ended (UINT64_MAX) to the end.  Returns the number of others. */
static size_t part_endings(struct work *k)
{
	struct ending e;
	size_t i, n = 0;

	for (i = 0; i < k->endings; i++) {
		if (k->ending[i].ticks == UINT64_MAX)
			continue;
		e = k->ending[i];
		k->ending[i] = k->ending[n];
		k->ending[n++] = e;
	}
	return n;
}

static void drop(struct cells *s)
{
	struct work *k = s->work;

	if (k) {
		free(k->slot);
		free(k->ending);
		array_release(&k->stand_in);
		array_release(&k->recent);
		array_release(&k->mapped);
	}
	free(k);
	s->work = NULL;
}

/* Returns the time before the first end of a process after the last event, or of the run. */
static uint64_t quiet_until(const struct walk *w)
{
	const uint64_t us = (1000ull << 32) / w->ns_mult + 1;
	uint64_t end = walk_run_end_ticks(&w->input);

	for (size_t i = 0; i < w->boundaries; i++)
		if (w->boundary[i].kind == BOUNDARY_END && w->boundary[i].ticks > w->last_ticks &&
		    w->boundary[i].ticks < end)
			end = w->boundary[i].ticks;
	return end > us ? end - us : 0;
}

/* Adds points for the time after the last event, until blocks of a process are gone. */
static void add_rest(struct cells *s, struct walk *w)
{
	const uint64_t end = w->until.set ? 0 : quiet_until(w);
	const struct work *k = s->work;
	uint64_t from = w->last_ticks, step, at;

	if (!s->points || end < from || end - from < k->step_ticks)
		return;
	step = (end - from) / CELLS_QUIET + 1;
	for (; from + step < end; from += step) {
		at = sampled_at(w, from, from + step);
		if (at)
			add_quiet(s, at);
	}
	add_quiet(s, end);
}

/* Makes the last points. */
static void finish(void *self, struct walk *w)
{
	struct cells *s = self;
	struct work *k = s->work;
	size_t i, ended, all;

	ended = part_endings(k);
	all = k->endings;
	k->endings = ended;
	if (k->any)
		close_step(s);
	for (i = 0; i < k->endings; i++)
		put(s, &k->ending[i], s->points);
	if (!s->points || s->point[s->points - 1].ticks < w->last_ticks ||
	    s->point[s->points - 1].live.blocks != k->now.live.blocks) {
		k->now.ticks = w->last_ticks;
		k->now.ns = walk_ns(w, w->last_ticks);
		k->now.event = w->events;
		s->point[s->points++] = k->now;
	}
	k->endings = 0;
	add_rest(s, w);
	for (i = ended; i < all; i++)
		put(s, &k->ending[i], s->points);
	drop(s);
	cells_merge(s);
}

void cells_forget(struct cells *s)
{
	free(s->cell);
	s->cell = NULL;
	s->count = 0;
}

static void release(void *self)
{
	struct cells *s = self;

	drop(s);
	cells_forget(s);
	free(s->point);
	*s = (struct cells){ .point = NULL };
}

const struct pass_ops cells_pass = {
	.name = "cells",
	.start = start,
	.batch = batch,
	.gone = gone,
	.finish = finish,
	.release = release,
};
