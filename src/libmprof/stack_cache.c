// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * stack_cache.c - the memory of a thread's previous stack, and on which mapping
 * that stack lies.
 *
 * A cache is mapped at a thread's first capture and stays with the thread's
 * record, to be used again by the next thread that gets the record.  Its arrays
 * double when a stack is deeper than any before.
 */
#include "unwind.h"

#define FIRST_ROOM 192u

static size_t arrays_bytes(uint32_t room)
{
	return room * (sizeof(struct stack_frame) + sizeof(struct stack_meta) +
		       2 * sizeof(struct stack_slot) + sizeof(struct stack_fresh));
}

/* Lays the arrays out at `at`, copying what there is. */
static void place(struct stack_cache *c, char *at, uint32_t room)
{
	struct stack_cache old = *c;

	c->frame = (struct stack_frame *)at;
	c->meta = (struct stack_meta *)(c->frame + room);
	c->slot = (struct stack_slot *)(c->meta + room);
	c->fresh = (struct stack_fresh *)(c->slot + 2 * room);
	c->room = room;
	if (!old.room)
		return;
	__builtin_memcpy(c->frame, old.frame, old.n * sizeof(*c->frame));
	__builtin_memcpy(c->meta, old.meta, old.n * sizeof(*c->meta));
	__builtin_memcpy(c->slot, old.slot, old.slots * sizeof(*c->slot));
	__builtin_memcpy(c->fresh, old.fresh, old.fresh_n * sizeof(*c->fresh));
}

int mp_cache_grow(struct stack_cache *c)
{
	uint32_t room = c->room * 2;
	size_t bytes = arrays_bytes(room), old_bytes = c->bytes;
	char *old = (char *)c->frame, *at;

	if (c->room >= STACK_FRAMES_MAX || !(at = sys_memory(bytes)))
		return 0;
	sys_madvise(at, bytes, MADV_DONTFORK);
	place(c, at, room);
	c->bytes = bytes;
	if (old_bytes) /* the first arrays share the cache's own mapping */
		sys_munmap(old, old_bytes);
	mp_self_bytes((int64_t)bytes - (int64_t)old_bytes);
	return 1;
}

static struct stack_cache *cache_new(void)
{
	size_t bytes = sizeof(struct stack_cache) + arrays_bytes(FIRST_ROOM);
	struct stack_cache *c = sys_memory(bytes);

	if (!c)
		return NULL;
	/* A forked child finds its record without a cache: nothing is left behind in it. */
	sys_madvise(c, bytes, MADV_DONTFORK);
	place(c, (char *)(c + 1), FIRST_ROOM);
	c->generation = mp_rules_generation - 1;
	mp_self_bytes((int64_t)bytes);
	c->next = __atomic_load_n(&mp_local->caches, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&mp_local->caches, &c->next, c, 0, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
	return c;
}

/* ---- which stack we are on ---- */

int mp_cache_area(struct stack_cache *c, uintptr_t sp)
{
	struct area a;

	for (uint32_t i = 0; i < c->areas; i++)
		if (sp >= c->seen[i].low && sp < c->seen[i].high) {
			c->area = c->seen[i];
			return 1;
		}
	if (mp_area(sp, &a) < 0)
		return 0;
	/* The main thread's stack has grown: its old bounds are of no use any more. */
	for (uint32_t i = 0; i < c->areas; i++)
		if (c->seen[i].high == a.high) {
			c->seen[i] = c->area = a;
			return 1;
		}
	c->seen[c->next_area++ % STACK_AREAS] = c->area = a;
	c->areas += c->areas < STACK_AREAS;
	return 1;
}

void mp_stacks_unmapped(uintptr_t at, size_t bytes)
{
	struct stack_cache *c = mp_local ? mp_local->caches : NULL;

	for (; c; c = c->next)
		for (uint32_t i = 0; i < STACK_AREAS; i++)
			if (c->seen[i].low < at + bytes && at < c->seen[i].high) {
				__atomic_store_n(&c->generation, mp_rules_generation - 1,
						 __ATOMIC_RELEASE);
				break;
			}
}

struct stack_cache *mp_cache_prepare(struct mprof_thread *t, uintptr_t sp)
{
	struct stack_cache *c = t->stack;

	/* Left in the middle by a jump out of a signal handler: nothing in it can be relied on. */
	if (!c || c->dirty)
		c = t->stack = cache_new();
	if (!c)
		return NULL;
	c->n = c->slots = c->id = 0;
	if (c->generation != mp_rules_generation) {
		c->areas = c->next_area = 0;
		__builtin_memset(c->seen, 0, sizeof(c->seen));
		c->generation = mp_rules_generation;
	}
	return mp_cache_area(c, sp) ? c : NULL;
}

void mp_stack_forget(struct mprof_thread *t)
{
	struct stack_cache *c = t->stack;

	if (c)
		c->generation = mp_rules_generation - 1;
}
