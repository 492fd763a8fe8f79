// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * compile_apply.c - what a call does to the blocks that live, and what is wrong
 * with it.  The rules are those of heap/heap.c, and so are the figures.
 *
 * A realloc in two halves takes its address out of the table at the first one,
 * because from then on another thread may be given it, and is played at the
 * second one, because until then the block lives.
 */
#include <errno.h>
#include <stdlib.h>

#include "compile_parts.h"

#define AHEAD 12 /* calls: memory has answered by then */

static const uint8_t class_of[MPROF_FN_MAX] = {
#define MPROF_FUNCTION(id, code, name, class) [code] = MPROF_CLASS_##class,
#include <mprof/functions.def>
#undef MPROF_FUNCTION
};

/* The operation of what hands out; with an alignment MALLOC becomes ALIGNED. */
static const uint8_t play_of[MPROF_FN_MAX] = {
#define MPROF_SHAPED(id, code, name, class, shape) [code] = MPROF_PLAY_OF_##shape,
#include <mprof/functions.def>
};

struct step {
	struct compile *c;
	struct compile_thread *t;
	size_t at;
	unsigned repairs;
};

static inline enum mprof_play op_of(const struct compile_call *e)
{
	enum mprof_play op = play_of[e->fn];

	return op == MPROF_PLAY_MALLOC && e->align ? MPROF_PLAY_ALIGNED : op;
}

static bool is_call(const struct compile_call *e)
{
	return e->half <= COMPILE_END && e->fn < MPROF_FN_MAX;
}

static bool hands_out(const struct compile_call *e, uint64_t addr)
{
	return is_call(e) && e->half != COMPILE_BEGIN && class_of[e->fn] != MPROF_CLASS_FREE &&
	       e->addr == addr;
}

static bool gives_back(const struct compile_call *e, uint64_t addr)
{
	return is_call(e) && e->half != COMPILE_END && class_of[e->fn] != MPROF_CLASS_ALLOC &&
	       e->old == addr;
}

/* ---- played: to the file, or to the hook ---- */

static void ask_hook(struct compile *c, const struct compile_call *call, uint32_t slot,
		     bool had_old)
{
	const struct compile_block *b = &c->block[slot];
	struct compile_old old = {
		.size = b->size,
		.site = b->site,
		.thread = had_old ? c->thread[b->thread].number : 0,
		.tag = had_old ? c->tag[slot] : 0,
	};
	struct compile_call changed = *call;
	uint64_t tag = 0;

	changed.half = COMPILE_WHOLE;
	c->sum.calls++; /* slots rest so long */
	c->change->call(c->change->self, &changed, had_old ? &old : NULL, &tag, c->inner);
	c->tag[slot] = tag;
}

static inline void played(struct step *s, enum mprof_play op, const struct compile_call *call,
			  uint32_t slot, bool had_old)
{
	struct compile *c = s->c;

	if (__builtin_expect(c->writes, 1))
		compile_play(c, s->t, op, call, slot, had_old);
	else
		ask_hook(c, call, slot, had_old);
	if (op == MPROF_PLAY_FREE)
		return;
	c->block[slot] = (struct compile_block){
		.size = compile_size(call),
		.thread = s->t->place,
		.site = call->site,
	};
}

/* A FREE that the program did not do, by the thread at hand. */
static void put_free(struct step *s, uint64_t addr, uint32_t slot, const struct compile_call *of)
{
	const struct compile_call call = {
		.ns = of->ns,
		.old = addr,
		.thread = s->t->number,
		.process = of->process,
		.fn = MPROF_FN_FREE,
	};

	played(s, MPROF_PLAY_FREE, &call, slot, true);
	compile_slot_give(s->c, s->t, slot);
}

/* ---- what stands in the wrong order ---- */

static void move_forward(struct compile *c, size_t to, size_t from)
{
	struct compile_call moved = *compile_at(c, from);

	for (; from > to; from--)
		*compile_at(c, from) = *compile_at(c, from - 1);
	*compile_at(c, to) = moved;
}

/* All of the thread of j from i on goes to i, in its order. */
static void pull_thread(struct compile *c, size_t i, size_t j)
{
	const uint32_t thread = compile_at(c, j)->thread;
	size_t k;

	for (k = i; k <= j; k++)
		if (compile_at(c, k)->thread == thread)
			move_forward(c, i++, k);
}

/*
 * The call contradicts what lives.  Does one of another thread, just behind it,
 * do with this address what is missing?  Then that goes first.
 */
static bool repair(struct step *s, bool (*wanted)(const struct compile_call *, uint64_t),
		   uint64_t addr)
{
	const struct compile_call *e = compile_at(s->c, s->at), *other;
	uint64_t late;
	size_t j;

	if (s->repairs == COMPILE_REPAIRS)
		return false;
	for (j = s->at + 1; j < s->c->count; j++) {
		other = compile_at(s->c, j);
		late = other->ns > e->ns ? other->ns - e->ns : 0;
		if (late > COMPILE_INVERSION_NS)
			return false;
		if (other->thread == e->thread || other->process != e->process ||
		    !wanted(other, addr))
			continue;
		if (late > COMPILE_CLOCK_NS || !other->ns)
			s->c->sum.inversions++;
		pull_thread(s->c, s->at, j);
		s->repairs++;
		return true;
	}
	return false;
}

/* The address is taken.  False: the call must be read again, another one goes first. */
static bool make_room(struct step *s, const struct compile_call *e, struct address *taken)
{
	const uint32_t slot = taken->slot;

	if (repair(s, gives_back, e->addr))
		return false;
	s->c->sum.double_allocations++;
	addresses_take(&s->c->addresses, taken);
	put_free(s, e->addr, slot, e);
	return true;
}

/* False as above. */
static bool no_such_block(struct step *s, const struct compile_call *e)
{
	if (compile_process_of(s->c, e->process)->forked) {
		s->c->sum.inherited_frees++;
		return true;
	}
	if (repair(s, hands_out, e->old))
		return false;
	s->c->sum.unknown_frees++;
	return true;
}

/* ---- calls; false: read again ---- */

static inline void given_back(struct step *s, uint32_t slot)
{
	s->c->sum.remote_frees += s->c->block[slot].thread != s->t->place;
}

static inline void put_address(struct compile *c, const struct compile_call *e, uint32_t slot)
{
	if (__builtin_expect(addresses_put(&c->addresses, e->addr, e->process, slot) < 0, 0))
		c->error = -ENOMEM;
}

static inline bool apply_birth(struct step *s, const struct compile_call *e)
{
	struct address *taken = addresses_find(&s->c->addresses, e->addr, e->process);
	uint32_t slot;

	if (__builtin_expect(taken != NULL, 0) && !make_room(s, e, taken))
		return false;
	slot = compile_slot_take(s->c, s->t);
	if (__builtin_expect(slot == COMPILE_NONE, 0))
		return true;
	put_address(s->c, e, slot);
	played(s, op_of(e), e, slot, false);
	return true;
}

static inline bool apply_free(struct step *s, const struct compile_call *e)
{
	struct compile *c = s->c;
	struct address *a;
	uint32_t slot;

	if (__builtin_expect(!e->old, 0)) {
		c->sum.null_frees++;
		return true;
	}
	a = addresses_find(&c->addresses, e->old, e->process);
	if (__builtin_expect(!a, 0))
		return no_such_block(s, e);
	slot = a->slot;
	addresses_take(&c->addresses, a);
	given_back(s, slot);
	played(s, MPROF_PLAY_FREE, e, slot, true);
	compile_slot_give(c, s->t, slot);
	return true;
}

static bool apply_begin(struct step *s, const struct compile_call *e)
{
	struct address *a = e->old ? addresses_find(&s->c->addresses, e->old, e->process) : NULL;

	if (!a && e->old && !no_such_block(s, e))
		return false;
	s->t->pending = true;
	s->t->pending_old = a != NULL;
	s->t->pending_addr = e->old;
	s->t->pending_touched = e->touched;
	s->t->pending_has_touched = e->has_touched;
	if (a) {
		s->t->pending_slot = a->slot;
		addresses_take(&s->c->addresses, a);
	}
	return true;
}

/* A realloc that failed: its block lives on, unless someone was given the address. */
static void restore(struct step *s, const struct compile_call *e)
{
	struct compile *c = s->c;
	const uint64_t addr = s->t->pending_addr;

	if (addresses_find(&c->addresses, addr, e->process)) {
		c->sum.double_allocations++;
		put_free(s, addr, s->t->pending_slot, e);
	} else if (addresses_put(&c->addresses, addr, e->process, s->t->pending_slot) < 0) {
		c->error = -ENOMEM;
	}
}

/* The realloc of a block that is known and is not in the table any more. */
static void resize(struct step *s, const struct compile_call *e, uint32_t slot)
{
	given_back(s, slot);
	if (e->addr) {
		put_address(s->c, e, slot);
		played(s, MPROF_PLAY_REALLOC, e, slot, true);
	} else {
		played(s, MPROF_PLAY_FREE, e, slot, true);
		compile_slot_give(s->c, s->t, slot);
	}
}

/* Nothing was given back, or nothing that is known. */
static bool apply_first(struct step *s, const struct compile_call *e)
{
	if (e->addr)
		return apply_birth(s, e);
	s->c->sum.failed += e->size != 0;
	return true;
}

static bool apply_end(struct step *s, const struct compile_call *e)
{
	struct compile_thread *t = s->t;
	struct compile_call whole;
	struct address *taken;

	if (!t->pending || !t->pending_old) {
		if (!apply_first(s, e))
			return false;
		t->pending = false;
		return true;
	}
	taken = e->addr ? addresses_find(&s->c->addresses, e->addr, e->process) : NULL;
	if (taken && !make_room(s, e, taken))
		return false;
	t->pending = false;
	if (!e->addr && e->size) {
		s->c->sum.failed++;
		restore(s, e);
		return true;
	}
	whole = *e;
	whole.old = t->pending_addr;
	whole.touched = t->pending_touched;
	whole.has_touched = t->pending_has_touched;
	resize(s, &whole, t->pending_slot);
	return true;
}

static bool apply_realloc(struct step *s, const struct compile_call *e)
{
	struct addresses *all = &s->c->addresses;
	struct address *a, *taken;
	uint32_t slot;

	if (!e->old || (!e->addr && e->size))
		return apply_first(s, e);
	a = addresses_find(all, e->old, e->process);
	if (!a)
		return no_such_block(s, e) && apply_first(s, e);
	taken = e->addr && e->addr != e->old ? addresses_find(all, e->addr, e->process) : NULL;
	if (taken && !make_room(s, e, taken))
		return false;
	a = addresses_find(all, e->old, e->process);
	slot = a->slot;
	addresses_take(all, a);
	resize(s, e, slot);
	return true;
}

static void apply_control(struct step *s, const struct compile_call *e)
{
	struct compile_thread *t;

	if (e->half == COMPILE_PROCESS_GONE) {
		compile_sweep(s->c, e->process, e->thread);
		return;
	}
	t = compile_known_thread(s->c, e->thread);
	if (s->c->inner)
		compile_thread_end(s->c->inner, e->thread);
	else if (t)
		compile_thread_exits(s->c, t);
}

static inline bool apply(struct step *s, const struct compile_call *e)
{
	if (__builtin_expect(e->fn >= MPROF_FN_MAX, 0))
		return true;
	switch (class_of[e->fn]) {
	case MPROF_CLASS_ALLOC:
		if (__builtin_expect(!e->addr, 0)) {
			s->c->sum.failed++;
			return true;
		}
		return apply_birth(s, e);
	case MPROF_CLASS_FREE:
		return apply_free(s, e);
	case MPROF_CLASS_REALLOC:
		return e->half == COMPILE_BEGIN ? apply_begin(s, e)
		       : e->half == COMPILE_END ? apply_end(s, e)
						: apply_realloc(s, e);
	default:
		return true;
	}
}

void compile_apply(struct compile *c, size_t n)
{
	struct step s = { .c = c };
	const struct compile_call *e, *ahead;

	for (s.at = 0; s.at < n; s.at++) {
		ahead = compile_at(c, s.at + AHEAD);
		addresses_prefetch(&c->addresses, ahead->old | ahead->addr, ahead->process);
		s.repairs = 0;
		do {
			/* Read again after a repair: another call is here now. */
			e = compile_at(c, s.at);
			if (__builtin_expect(e->half > COMPILE_END, 0)) {
				apply_control(&s, e);
				break;
			}
			s.t = compile_thread_of(c, e->thread);
			if (__builtin_expect(s.t->process != e->process, 0))
				s.t->process = e->process;
		} while (!apply(&s, e));
	}
}

/* ---- the end of a process ---- */

struct swept {
	uint64_t addr;
	uint32_t slot;
};

static size_t collect(struct compile *c, uint32_t process, struct swept *list)
{
	struct compile_thread *t;
	size_t n = 0;
	uint64_t i;

	for (i = 0; i < c->addresses.capacity; i++)
		if (c->addresses.at[i].addr && c->addresses.at[i].process == process)
			list[n++] =
			    (struct swept){ c->addresses.at[i].addr, c->addresses.at[i].slot };
	for (i = 0; i < n; i++)
		addresses_take(&c->addresses, addresses_find(&c->addresses, list[i].addr, process));
	for (t = c->thread; t < c->thread + c->threads; t++) {
		if (t->process != process || !t->pending)
			continue;
		if (t->pending_old)
			list[n++] = (struct swept){ t->pending_addr, t->pending_slot };
		t->pending = false;
	}
	return n;
}

static int by_slot(const void *a, const void *b)
{
	const struct swept *x = a, *y = b;

	return (x->slot > y->slot) - (x->slot < y->slot);
}

static void end_threads(struct compile *c, uint32_t process)
{
	uint32_t i;

	for (i = 0; i < c->threads; i++) {
		if (c->thread[i].process != process)
			continue;
		if (c->inner)
			compile_thread_end(c->inner, c->thread[i].number);
		else
			compile_thread_exits(c, &c->thread[i]);
	}
}

void compile_sweep(struct compile *c, uint32_t process, uint32_t thread)
{
	const struct compile_call gone = { .ns = c->last_ns, .process = process };
	struct compile_thread *by = compile_known_thread(c, thread);
	struct swept *list = calloc(c->addresses.used + c->threads + 1, sizeof(*list));
	struct step s = { .c = c };
	size_t n, i;

	compile_process_of(c, process)->forked = false;
	if (!list) {
		c->error = -ENOMEM;
		return;
	}
	n = collect(c, process, list);
	qsort(list, n, sizeof(*list), by_slot);
	s.t = by && thread ? by : &c->thread[c->last_thread];
	for (i = 0; i < n; i++)
		put_free(&s, list[i].addr, list[i].slot, &gone);
	c->sum.swept += n;
	free(list);
	end_threads(c, process);
}
