// SPDX-License-Identifier: LGPL-3.0-or-later
/* slots.c - slots of processes, and threads by their numbers. */
#include "slots.h"

#include <stdlib.h>
#include <string.h>

#include "../util/large.h"

/* ---- numbers to indices ---- */

static size_t hash(uint64_t key, size_t room)
{
	return (size_t)((key * 0x9e3779b97f4a7c15ull) >> 32) & (room - 1);
}

static uint64_t key_of_home(const struct slots *s, size_t i)
{
	return s->home[i]->process;
}

static uint64_t key_of_lane(const struct slots *s, size_t i)
{
	return (uint64_t)s->lane[i]->process << 32 | s->lane[i]->thread;
}

/* Returns the place of a key, which has its index + 1, or 0. */
static uint32_t *find(const struct slots *s, uint32_t *table, size_t room, uint64_t key,
		      uint64_t (*key_of)(const struct slots *, size_t))
{
	size_t i = hash(key, room);

	while (table[i] && key_of(s, table[i] - 1) != key)
		i = (i + 1) & (room - 1);
	return &table[i];
}

/* Makes space for one more of n. */
static bool grow_table(const struct slots *s, uint32_t **table, size_t *room, size_t n,
		       uint64_t (*key_of)(const struct slots *, size_t))
{
	size_t more = *room ? 2 * *room : 16;
	uint32_t *bigger;

	if (2 * (n + 1) <= *room)
		return true;
	bigger = calloc(more, sizeof(*bigger));
	if (!bigger)
		return false;
	free(*table);
	*table = bigger;
	*room = more;
	for (size_t i = 0; i < n; i++)
		*find(s, *table, *room, key_of(s, i), key_of) = (uint32_t)i + 1;
	return true;
}

static bool grow_list(void ***list, size_t n, size_t *room)
{
	size_t more = *room ? 2 * *room : 16;
	void **bigger;

	if (n < *room)
		return true;
	bigger = realloc(*list, more * sizeof(*bigger));
	if (!bigger)
		return false;
	*list = bigger;
	*room = more;
	return true;
}

/* ---- homes ---- */

bool home_room(struct home *h, uint32_t n)
{
	uint32_t room = h->room ? h->room : 64;
	struct slot *slot;
	uint64_t *live, *old;

	if (n > SLOTS_MAX)
		return false;
	if (n <= h->room)
		return true;
	while (room < n)
		room *= 2;
	live = realloc(h->live, room / 8);
	if (!live)
		return false;
	h->live = live;
	old = realloc(h->old, room / 8);
	if (!old)
		return false;
	h->old = old;
	slot = large_extend(h->slot, h->room * sizeof(*slot), room * sizeof(*slot));
	if (!slot)
		return false;
	h->slot = slot;
	memset(live + h->room / 64, 0, (room - h->room) / 8);
	memset(old + h->room / 64, 0, (room - h->room) / 8);
	h->room = room;
	return true;
}

uint32_t home_fresh_any(struct home *h)
{
	while (h->cursor < h->old_n) {
		uint64_t free_ones = ~h->old[h->cursor >> 6] >> (h->cursor & 63);

		if (free_ones) {
			h->cursor += (uint32_t)__builtin_ctzll(free_ones);
			break;
		}
		h->cursor = (h->cursor | 63) + 1;
	}
	if (h->cursor >= h->n) {
		if (!home_room(h, h->cursor + 1))
			return SLOT_NONE;
		h->n = h->cursor + 1;
	}
	return h->cursor++;
}

static void home_empty(struct home *h)
{
	places_free(&h->places);
	large_free(h->slot, h->room * sizeof(*h->slot));
	free(h->live);
	free(h->old);
	h->slot = NULL;
	h->live = h->old = NULL;
	h->n = h->room = 0;
	h->group = 0;
}

struct home *slots_known(const struct slots *s, uint32_t process)
{
	const uint32_t *at =
	    s->homes ? find(s, s->by_process, s->by_process_room, process, key_of_home) : NULL;

	return at && *at ? s->home[*at - 1] : NULL;
}

void slots_forget(struct slots *s, uint32_t process)
{
	struct home *h = slots_known(s, process);

	if (h)
		home_empty(h);
}

void slots_forget_where(struct slots *s, bool (*is_over)(const void *context, uint32_t process),
			const void *context)
{
	for (size_t i = 0; i < s->homes; i++)
		if (s->home[i]->group && is_over(context, s->home[i]->process))
			home_empty(s->home[i]);
}

struct home *slots_home(struct slots *s, uint32_t process)
{
	uint32_t *at;
	struct home *h;

	if (!grow_table(s, &s->by_process, &s->by_process_room, s->homes, key_of_home) ||
	    !grow_list((void ***)&s->home, s->homes, &s->homes_room))
		return NULL;
	at = find(s, s->by_process, s->by_process_room, process, key_of_home);
	if (!*at) {
		h = calloc(1, sizeof(*h));
		if (!h)
			return NULL;
		h->process = process;
		places_start(&h->places);
		s->home[s->homes++] = h;
		*at = (uint32_t)s->homes;
	}
	h = s->home[*at - 1];
	if (h->group != s->group) {
		if (!grow_list((void ***)&s->here, s->here_n, &s->here_room))
			return NULL;
		h->index = (uint32_t)s->here_n;
		s->here[s->here_n++] = h;
		h->group = s->group;
		h->cursor = 0;
		h->old_n = h->n;
		if (h->n)
			memcpy(h->old, h->live, (h->n + 63) / 64 * 8);
	}
	return h;
}

/* ---- lanes ---- */

bool lane_more(struct slots *s, struct lane *l)
{
	if (s->lists_births && l->born_room < l->births + BIRTH_RUN) {
		const uint32_t room = l->born_room ? 2 * l->born_room : BIRTH_RUN;

		l->born =
		    large_realloc(l->born, l->births * sizeof(*l->born), room * sizeof(*l->born));
		l->born_room = room;
	}
	if (s->runs == s->runs_room) {
		const size_t room = s->runs_room ? 2 * s->runs_room : 16;
		struct birth_run *bigger = reallocarray(s->run, room, sizeof(*bigger));

		if (!bigger)
			return false;
		s->run = bigger;
		s->runs_room = room;
	}
	l->birth = s->first_birth + (uint32_t)s->runs * BIRTH_RUN;
	s->run[s->runs++] = (struct birth_run){ l->number, l->births };
	return true;
}

/* Returns the next lane, as if it were the first in the file. */
static struct lane *next_lane(struct slots *s)
{
	struct lane *l, keep;

	if (s->lanes == s->lanes_made) {
		if (!grow_list((void ***)&s->lane, s->lanes, &s->lanes_room))
			return NULL;
		s->lane[s->lanes] = calloc(1, sizeof(*l));
		if (!s->lane[s->lanes])
			return NULL;
		s->lanes_made++;
	}
	l = s->lane[s->lanes];
	keep = *l;
	*l = (struct lane){ .number = (uint32_t)s->lanes,
			    .pile = 521 * (uint32_t)s->lanes,
			    .freed_lane = (uint32_t)s->lanes,
			    .born = keep.born,
			    .born_room = keep.born_room,
			    .kind = keep.kind };
	l->kind.n = 0;
	return lane_more(s, l) ? l : NULL;
}

struct lane *slots_lane(struct slots *s, uint32_t process, uint32_t thread)
{
	uint64_t key = (uint64_t)process << 32 | thread;
	struct home *h;
	struct lane *l;
	uint32_t *at;

	if (!grow_table(s, &s->by_thread, &s->by_thread_room, s->lanes, key_of_lane))
		return NULL;
	at = find(s, s->by_thread, s->by_thread_room, key, key_of_lane);
	if (*at)
		return s->lane[*at - 1];
	h = slots_home(s, process);
	l = h ? next_lane(s) : NULL;
	if (!l)
		return NULL;
	l->home = h;
	l->process = process;
	l->thread = thread;
	*at = (uint32_t)++s->lanes;
	return l;
}

/* ---- the whole ---- */

/* Before numbers of births begin again: those of live blocks are unknown from now on. */
static void forget_births(struct slots *s)
{
	for (size_t i = 0; i < s->homes; i++)
		for (uint32_t k = 0; k < s->home[i]->n; k++)
			s->home[i]->slot[k].birth = 0;
	s->first_birth = 0;
}

void slots_begin(struct slots *s)
{
	if (s->by_thread)
		memset(s->by_thread, 0, s->by_thread_room * sizeof(*s->by_thread));
	s->lanes = s->here_n = 0;
	/* A group has less than half of all numbers. */
	s->first_birth += (uint32_t)s->runs * BIRTH_RUN + 1;
	if (s->first_birth > UINT32_MAX / 2)
		forget_births(s);
	s->first_birth += !s->first_birth;
	s->runs = 0;
	s->group++;
}

void slots_free(struct slots *s)
{
	for (size_t i = 0; i < s->homes; i++) {
		home_empty(s->home[i]);
		free(s->home[i]);
	}
	for (size_t i = 0; i < s->lanes_made; i++) {
		large_free(s->lane[i]->born, s->lane[i]->born_room * sizeof(uint32_t));
		columns_free(&s->lane[i]->kind, 1);
		free(s->lane[i]);
	}
	free(s->home);
	free(s->here);
	free(s->lane);
	free(s->by_process);
	free(s->by_thread);
	free(s->run);
	*s = (struct slots){ .lists_births = s->lists_births };
}
