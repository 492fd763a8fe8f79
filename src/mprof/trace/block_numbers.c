// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * block_numbers.c - addresses to numbers of blocks.
 *
 * As in group_write.c, the memory that a batch needs is prefetched before
 * anything is decided.
 */
#include "block_numbers.h"

#include <errno.h>
#include <stdlib.h>

#include "group.h"

#define BATCH 256

struct names {
	struct slots slots;
	struct lane *lane;
	struct home *home[BATCH];
	uint32_t *cell[BATCH];
};

struct names *names_new(void)
{
	struct names *n = calloc(1, sizeof(*n));

	if (n)
		slots_begin(&n->slots);
	return n;
}

void names_free(struct names *n)
{
	if (!n)
		return;
	slots_free(&n->slots);
	free(n);
}

static bool prepare(struct names *n, const struct event *e, size_t count)
{
	struct home *home = n->lane ? n->lane->home : NULL;

	for (size_t i = 0; i < count; i++) {
		if (!home || home->process != e[i].process) {
			home = slots_home(&n->slots, e[i].process);
			if (!home)
				return false;
		}
		n->home[i] = home;
		__builtin_prefetch(places_first(&home->places, e[i].addr));
	}
	for (size_t i = 0; i < count; i++) {
		n->cell[i] = NULL;
		if (!e[i].addr)
			continue;
		if (sorts_is_birth(e[i].kind, e[i].fn)) {
			n->cell[i] = places_make(&n->home[i]->places, e[i].addr, false);
			if (!n->cell[i])
				return false;
		} else if (sorts_is_end(e[i].kind, e[i].fn)) {
			n->cell[i] = places_find(&n->home[i]->places, e[i].addr);
		}
		if (n->cell[i])
			__builtin_prefetch(n->cell[i]);
	}
	for (size_t i = 0; i < count; i++)
		if (n->cell[i] && *n->cell[i])
			__builtin_prefetch(&n->home[i]->slot[*n->cell[i] - 1]);
	return true;
}

static bool birth(struct names *n, struct lane *l, struct event *e, uint32_t *cell)
{
	struct slot *b;
	uint32_t slot;

	if (e->kind == EVENT_REALLOC_END)
		slots_settle(&n->slots, l);
	slot = *cell ? *cell - 1 : slots_take(l);
	if (slot == SLOT_NONE)
		return false;
	b = &l->home->slot[slot];
	b->addr = e->addr;
	b->birth = l->birth; /* births are not counted: all are the lane's first */
	*cell = e->block = slot + 1;
	return true;
}

static void end(struct names *n, struct lane *l, struct event *e, uint32_t *cell)
{
	/* A block near it may have been the first one a moment ago. */
	if (!cell)
		cell = places_find(&l->home->places, e->addr);
	if (!cell || !*cell)
		return;
	e->block = *cell;
	*cell = 0;
	if (e->kind == EVENT_REALLOC_BEGIN) {
		slots_settle(&n->slots, l);
		l->pending = e->block;
	} else {
		slots_give(&n->slots, l, e->block - 1,
			   slots_birth(&n->slots, &l->home->slot[e->block - 1]));
	}
}

/* Handles a realloc that returned nothing: its block ended with size 0, or is still live. */
static void failed(struct names *n, struct lane *l, struct event *e)
{
	uint32_t *cell;

	if (!l->pending)
		return;
	cell = places_find(&l->home->places, l->home->slot[l->pending - 1].addr);
	if (!e->size || !cell || *cell) {
		slots_settle(&n->slots, l);
		return;
	}
	*cell = e->block = l->pending;
	l->pending = 0;
}

static bool name(struct names *n, struct event *e, uint32_t *cell)
{
	struct lane *l = n->lane;

	if (!l || l->thread != e->thread || l->process != e->process)
		l = n->lane = slots_lane(&n->slots, e->process, e->thread);
	if (!l)
		return false;
	if (e->kind > EVENT_REALLOC_END)
		return true; /* its value stands there */
	e->block = 0;
	if (e->addr && sorts_is_birth(e->kind, e->fn))
		return birth(n, l, e, cell);
	if (e->addr && sorts_is_end(e->kind, e->fn))
		end(n, l, e, cell);
	else if (e->kind == EVENT_REALLOC_END)
		failed(n, l, e);
	return true;
}

int names_give(struct names *n, struct event *e, size_t count)
{
	for (size_t now; count; e += now, count -= now) {
		now = count < BATCH ? count : BATCH;
		if (!prepare(n, e, now))
			return -ENOMEM;
		for (size_t i = 0; i < now; i++)
			if (!name(n, &e[i], n->cell[i]))
				return -ENOMEM;
	}
	return 0;
}
