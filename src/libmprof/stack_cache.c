// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * stack_cache.c - the memory of a thread's previous stack, and which mapping that stack lies in.
 *
 * A cache is created at a thread's first capture and stays with the thread's record, for the next
 * thread that gets the record.  Its arrays double when a stack is deeper than any before.  Arrays
 * of moderate depth come from a pool, so that thousands of threads have few mappings; few threads
 * recurse deeply.
 */
#include <mprof/module.h>
#include <sys/auxv.h>

#include "core.h"
#include "lists.h"
#include "local.h"
#include "pools.h"
#include "stack_parts.h"
#include "stack_use.h"
#include "sys.h"

#define FIRST_ROOM 24u	 /* one page together with the cache */
#define UNIT	   4096u /* bytes */

static size_t cache_arrays_bytes(uint32_t room)
{
	return sizeof(struct stack_frame) +
	       room * (sizeof(struct stack_frame) + sizeof(struct stack_meta) +
		       2 * sizeof(struct stack_slot) + sizeof(struct stack_fresh));
}

/* Lays out the arrays at `at`, copying the current contents. */
static void cache_place(struct stack_cache *c, char *at, uint32_t room)
{
	struct stack_cache old = *c;

	c->frame = (struct stack_frame *)at + 1;
	c->frame[-1] = (struct stack_frame){ .sp = UINTPTR_MAX };
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

/* A forked child finds its record without a cache. */
static void *cache_units_take(size_t bytes)
{
	static const struct mp_pool_kind kind = { UNIT, 65536 / UNIT, mp_pool_private };

	return mp_pool_memory(&mp_local->caches, &kind, (uint32_t)((bytes + UNIT - 1) / UNIT));
}

/* Returns the list of unused arrays for `room`; larger arrays have their own mappings. */
static unsigned cache_size_of(uint32_t room)
{
	return (unsigned)__builtin_ctz(room / FIRST_ROOM);
}

static char *cache_arrays_take(uint32_t room)
{
	size_t bytes = cache_arrays_bytes(room);
	char *at;

	if (cache_size_of(room) < MP_CACHE_SIZES) {
		at = (char *)mp_list_take(&mp_local->cache_arrays[cache_size_of(room)], 0);
		return at ? at : cache_units_take(bytes);
	}
	at = sys_memory(bytes);
	if (at) {
		sys_madvise(at, bytes, MADV_DONTFORK);
		mp_self_bytes((int64_t)bytes);
	}
	return at;
}

static void cache_arrays_release(char *at, uint32_t room)
{
	size_t bytes = cache_arrays_bytes(room);

	if (cache_size_of(room) < MP_CACHE_SIZES) {
		mp_list_put(&mp_local->cache_arrays[cache_size_of(room)], (void **)at);
	} else {
		sys_munmap(at, bytes);
		mp_self_bytes(-(int64_t)bytes);
	}
}

int mp_cache_grow(struct stack_cache *c)
{
	uint32_t room = c->room, dirty = c->dirty;
	char *old = (char *)(c->frame - 1), *at;

	if (room >= (c->budget ? STACK_FRAMES_MAX : STACK_ROOM) ||
	    !(at = cache_arrays_take(room * 2)))
		return 0;
	c->dirty = STACK_MOVING;
	compiler_barrier();
	cache_place(c, at, room * 2);
	compiler_barrier();
	c->dirty = dirty;
	if (old != (char *)(c + 1)) /* the first arrays share the cache's own memory */
		cache_arrays_release(old, room);
	return 1;
}

static struct stack_cache *cache_new(void)
{
	struct stack_cache *c = cache_units_take(sizeof(*c) + cache_arrays_bytes(FIRST_ROOM));

	if (!c)
		return NULL;
	cache_place(c, (char *)(c + 1), FIRST_ROOM);
	c->generation = mp_rules_generation - 1;
	c->budget = STACK_BUDGET;
	c->near = mp_rules_shared;
	return c;
}

/* Drops the outermost `drop` frames; the remaining ones belong to no stack yet. */
static void cache_drop_outer(struct stack_cache *c, uint32_t drop, uint32_t kept)
{
	uint64_t h = ~mp_stacks_seed;
	uint32_t slots = 0;

	for (uint32_t i = 0; i < kept - drop; i++) {
		c->frame[i] = c->frame[drop + i];
		c->meta[i] = c->meta[drop + i];
		c->meta[i].hash = h = mp_stack_hash(h, STACK_SHOWN(c, i));
	}
	for (uint32_t i = 0; i < c->slots; i++)
		if (c->slot[i].frame >= drop) {
			c->slot[slots] = c->slot[i];
			c->slot[slots++].frame -= drop;
		}
	c->slots = slots;
}

void mp_cache_spend(struct stack_cache *c, uint64_t frames)
{
	c->budget = c->budget > frames ? c->budget - (uint32_t)frames : 0;
	if (c->budget)
		return;
	c->id = 0; /* the stack may have more frames than the cache keeps */
	c->room = c->room < STACK_ROOM ? c->room : STACK_ROOM;
}

uint32_t mp_cache_cut(struct stack_cache *c, uint32_t kept)
{
	uint32_t drop = kept + c->fresh_n - STACK_DEEP / 2;

	c->cut = 1;
	c->sized = c->owned = 0;
	if (drop < kept) {
		cache_drop_outer(c, drop, kept);
		return kept - drop;
	}
	c->fresh_n = STACK_DEEP / 2;
	c->slots = 0;
	return 0;
}

/* ---- which stack we are on ---- */

static uintptr_t main_stack; /* an address in it */

void mp_cache_start(void)
{
	main_stack = mprof_stack();
}

static int cache_is_in(uintptr_t at, const struct area *a)
{
	return at - a->low < a->high - a->low;
}

/* Is this the thread's initial stack?  It exists as long as the thread; glibc's contain its TLS
 * at the top. */
static int cache_is_home(const struct area *a)
{
	return cache_is_in(main_stack, a) ||
	       (sys_gettid() != mp_local->pid && cache_is_in((uintptr_t)&mprof_self, a));
}

/* Makes c notice memory that is unmapped.  Only few threads need to: see cache_is_home(). */
static void cache_listen(struct stack_cache *c)
{
	c->listens = 1;
	c->next = __atomic_load_n(&mp_local->listening, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&mp_local->listening, &c->next, c, 0, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}

/* Makes the next call a miss, and the lowest sp so far. */
static void cache_raise(struct stack_cache *c)
{
	for (uint32_t i = 0; i < c->areas; i++)
		if (c->seen[i].high == c->area.high)
			c->seen[i].low = c->area.high;
	c->area.low = c->area.high;
	c->id = 0;
}

/* Not on another stack than the thread's own, where no depth is noted. */
void mp_stack_interval(struct mprof_thread *t)
{
	struct stack_cache *c = t->stack;
	const uintptr_t busy = t->busy;

	if (!c || c->dirty || c->generation != mp_rules_generation || c->area.high != c->home.high)
		return;
	t->busy = mprof_stack();
	compiler_barrier();
	if (mp_stack_use_interval())
		cache_raise(c);
	compiler_barrier();
	t->busy = busy;
}

static int cache_are_readable(uintptr_t low, uintptr_t high)
{
	for (; low < high; low += mp_page())
		if (!sys_readable((const void *)low))
			return 0;
	return 1;
}

/* Finds the area without a descriptor, whose number another thread may rely on, if sp is near
 * the top of a stack. */
static int cache_is_near(uintptr_t top, uintptr_t sp, struct area *out)
{
	enum { NEAR = 1 << 20 };
	uintptr_t page = mp_page();

	if (top - sp > NEAR || !cache_are_readable(sp & -page, top & -page))
		return 0;
	*out = (struct area){ sp & -page, (top & -page) + page, AREA_READABLE | 2 };
	return 1;
}

/*
 * The thread's own stack has grown below area.low: extends the area if the pages between are
 * readable.  area.low is the lowest stack pointer so far, so other calls need no test for it.
 */
static int cache_has_grown(struct stack_cache *c, uintptr_t sp)
{
	enum { LITTLE = 16 };
	uintptr_t low = sp & -(uintptr_t)mp_page(), at = c->home.low;

	if (sp >= c->area.low || c->area.high != c->home.high)
		return 0;
	if (low < at) {
		if (at - low > LITTLE * mp_page() || !cache_are_readable(low, at))
			return 0;
		c->home.low = low;
	}
	for (uint32_t i = 0; i < c->areas; i++)
		if (c->seen[i].high == c->area.high)
			c->seen[i].low = sp;
	c->area.low = sp;
	c->deeper = 1;
	return 1;
}

/*
 * Returns 0 if the area is unknown, for example deep in a stack without /proc, as after chroot.
 * Asking takes system calls, so after each failure the next attempt waits for twice as many calls.
 */
static int cache_find_area(struct stack_cache *c, uintptr_t sp, struct area *out)
{
	enum { BLIND_MOST = 4095 };
	const uintptr_t top = (uintptr_t)&mprof_self; /* of any thread except the first one */

	if (mp_stack_use_home(sp, &out->low, &out->high)) {
		out->flags = AREA_READABLE | 2;
		return 1;
	}
	if (sys_gettid() != mp_local->pid && cache_is_near(top, sp, out))
		return 1;
	if (c->blind_left) {
		c->blind_left--;
		return 0;
	}
	/* Stack overflow: sp lies in the guard page when the signal arrives. */
	if ((mp_area(sp, out) == 0 && out->flags & AREA_READABLE) || cache_is_near(top, sp, out) ||
	    cache_is_near(getauxval(AT_EXECFN), sp, out)) {
		c->blind = 0;
		return 1;
	}
	c->blind = c->blind < BLIND_MOST ? 2 * c->blind + 1 : BLIND_MOST;
	c->blind_left = c->blind;
	return 0;
}

int mp_cache_area(struct stack_cache *c, uintptr_t sp)
{
	struct area a;

	for (uint32_t i = 0; i < c->areas; i++)
		if (sp >= c->seen[i].low && sp < c->seen[i].high) {
			c->area = c->seen[i];
			return 1;
		}
	if (!cache_find_area(c, sp, &a))
		return 0;
	if (cache_is_home(&a)) {
		c->home = a;
		a.low = sp;
		c->deeper = 1;
	} else if (!c->listens) {
		cache_listen(c);
	}
	/* The main thread's stack has grown: its old bounds are invalid. */
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
	struct stack_cache *c = mp_local ? mp_local->listening : NULL;

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

	/*
	 * A jump out of a signal handler left it half changed: its contents are unreliable, and if
	 * its arrays were being moved, so is its memory.
	 */
	if (!c || c->dirty == STACK_MOVING)
		c = t->stack = cache_new();
	if (!c)
		return NULL;
	if (c->dirty) {
		c->dirty = 0;
		c->generation = mp_rules_generation - 1;
	}
	if (c->generation == mp_rules_generation && cache_has_grown(c, sp))
		return c; /* frames further out are unchanged */
	c->n = c->slots = c->id = 0;
	if (c->generation != mp_rules_generation) {
		if (c->near != mp_rules_shared)
			__builtin_memset(c->near, 0, RULES_NEAR * sizeof(*c->near));
		/* None of these is valid any more, even if the current mapping is unknown. */
		c->area = c->code = c->home = (struct area){ 0, 0, 0 };
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
