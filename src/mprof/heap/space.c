// SPDX-License-Identifier: LGPL-3.0-or-later
/* space.c - the address space that a process mapped directly. */
#include "space.h"

#include <string.h>
#include <sys/mman.h>

/* The call that is being applied. */
struct call {
	struct space *s;
	uint64_t mask; /* page size - 1 */
	struct space_changes *changes;
	struct space_note n;
};

/* Returns the end in whole pages, one past the last byte; 0 for an impossible range. */
static uint64_t end_of(const struct call *c, uint64_t start, uint64_t size)
{
	if (size > UINT64_MAX / 2 || start > UINT64_MAX / 2 - c->mask)
		return 0;
	return (start + size + c->mask) & ~c->mask;
}

static void map(struct call *c, const struct event *e, enum space_kind kind)
{
	const struct map_range r = { .start = e->addr,
				     .end = end_of(c, e->addr, e->size),
				     .stack = e->stack,
				     .kind = (uint8_t)kind };
	uint64_t again;

	map_set_remove(&c->s->gone, r.start, r.end, &again, NULL);
	map_set_add(&c->s->mapped, &r, c->changes);
}

static void unmap(struct call *c, uint64_t start, uint64_t size)
{
	const struct map_range r = { .start = start, .end = end_of(c, start, size) };
	uint64_t known, gone;

	map_set_remove(&c->s->mapped, r.start, r.end, &known, c->changes);
	map_set_remove(&c->s->gone, r.start, r.end, &gone, NULL);
	if (r.start >= r.end)
		return;
	c->n.unmapped += r.end - r.start - gone;
	c->n.never_mapped += r.end - r.start - gone - known;
	map_set_add(&c->s->gone, &r, NULL);
}

static enum space_kind kind_of(const struct event *e)
{
	const uint32_t prot = (uint32_t)e->usable, flags = (uint32_t)(e->usable >> 32);

	/* The kernel makes a file for anonymous memory that is shared. */
	if (!(flags & MAP_ANONYMOUS) || flags & MAP_SHARED)
		return SPACE_FILE;
	return prot & (PROT_READ | PROT_WRITE | PROT_EXEC) ? SPACE_MEMORY : SPACE_RESERVED;
}

static void move_break(struct call *c, const struct event *e)
{
	const struct map_range r = {
		.start = e->usable, .end = e->addr, .stack = e->stack, .kind = SPACE_BREAK
	};
	uint64_t removed;

	/* Unsigned, because a damaged trace may move the break anywhere. */
	c->s->moved_break = (int64_t)((uint64_t)c->s->moved_break + e->addr - e->usable);
	if (e->addr > e->usable)
		map_set_add(&c->s->mapped, &r, c->changes);
	else
		map_set_remove(&c->s->mapped, e->addr, e->usable, &removed, c->changes);
}

static void remap(struct call *c, const struct event *e)
{
	const struct map_range *old = map_set_at(&c->s->mapped, e->usable);
	enum space_kind kind = old ? (enum space_kind)old->kind : SPACE_MEMORY;

	unmap(c, e->usable, e->arg);
	map(c, e, kind);
}

static void apply(struct call *c, const struct event *e)
{
	switch (e->fn) {
	case MPROF_FN_MMAP:
		map(c, e, kind_of(e));
		break;
	case MPROF_FN_MUNMAP:
		unmap(c, e->addr, e->size);
		break;
	case MPROF_FN_MREMAP:
		remap(c, e);
		break;
	case MPROF_FN_BRK:
	case MPROF_FN_SBRK:
		move_break(c, e);
		break;
	}
}

void space_apply(struct space *s, const struct event *e, uint32_t page_size,
		 struct space_changes *changes, struct space_note *n)
{
	struct call c = { .s = s, .mask = page_size - 1, .changes = changes };

	c.n.first = changes ? changes->count : 0;
	if (!e->error)
		apply(&c, e);
	c.n.changes = changes ? changes->count - c.n.first : 0;
	c.n.moved_break = s->moved_break;
	memcpy(c.n.bytes, s->mapped.bytes, sizeof(c.n.bytes));
	if (n)
		*n = c.n;
}

/* kind: for all ranges of the copy; SPACE_KINDS leaves each unchanged. */
static void copy(struct map_set *to, const struct map_set *from, enum space_kind kind)
{
	struct map_range r;
	size_t i;

	map_set_release(to);
	for (i = 0; i < from->count; i++) {
		r = from->range[i];
		if (kind != SPACE_KINDS)
			r.kind = (uint8_t)kind;
		map_set_add(to, &r, NULL);
	}
}

void space_inherit(struct space *to, const struct space *from)
{
	copy(&to->mapped, &from->mapped, SPACE_INHERITED);
	copy(&to->gone, &from->gone, SPACE_KINDS);
}

void space_release(struct space *s)
{
	map_set_release(&s->mapped);
	map_set_release(&s->gone);
	s->moved_break = 0;
}
