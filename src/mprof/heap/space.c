// SPDX-License-Identifier: LGPL-3.0-or-later
/* space.c - the address space that a process mapped directly. */
#include "space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* One call in the making. */
struct call {
	struct space *s;
	uint64_t mask; /* page size - 1 */
	struct space_changes *changes;
	struct space_note n;
};

/* One past the last byte, in whole pages; 0 for an impossible range. */
static uint64_t end_of(const struct call *c, uint64_t start, uint64_t size)
{
	if (size > UINT64_MAX / 2 || start > UINT64_MAX / 2 - c->mask)
		return 0;
	return (start + size + c->mask) & ~c->mask;
}

static int map(struct call *c, const struct event *e, enum space_kind kind)
{
	const struct map_range r = { .start = e->addr,
				     .end = end_of(c, e->addr, e->size),
				     .stack = e->stack,
				     .kind = (uint8_t)kind };
	uint64_t again;
	int ret = map_set_remove(&c->s->gone, r.start, r.end, &again, NULL);

	return ret ? ret : map_set_add(&c->s->mapped, &r, c->changes);
}

static int unmap(struct call *c, uint64_t start, uint64_t size)
{
	const struct map_range r = { .start = start, .end = end_of(c, start, size) };
	uint64_t known, gone;
	int ret = map_set_remove(&c->s->mapped, r.start, r.end, &known, c->changes);

	if (!ret)
		ret = map_set_remove(&c->s->gone, r.start, r.end, &gone, NULL);
	if (ret || r.start >= r.end)
		return ret;
	c->n.unmapped += r.end - r.start - gone;
	c->n.never_mapped += r.end - r.start - gone - known;
	return map_set_add(&c->s->gone, &r, NULL);
}

static enum space_kind kind_of(const struct event *e)
{
	const uint32_t prot = (uint32_t)e->usable, flags = (uint32_t)(e->usable >> 32);

	if (!(flags & MAP_ANONYMOUS))
		return SPACE_FILE;
	return prot & (PROT_READ | PROT_WRITE | PROT_EXEC) ? SPACE_MEMORY : SPACE_RESERVED;
}

static int remap(struct call *c, const struct event *e)
{
	const struct map_range *old = map_set_at(&c->s->mapped, e->usable);
	enum space_kind kind = old ? (enum space_kind)old->kind : SPACE_MEMORY;
	int ret = unmap(c, e->usable, e->arg);

	return ret ? ret : map(c, e, kind);
}

static int apply(struct call *c, const struct event *e)
{
	switch (e->fn) {
	case MPROF_FN_MMAP:
		return map(c, e, kind_of(e));
	case MPROF_FN_MUNMAP:
		return unmap(c, e->addr, e->size);
	case MPROF_FN_MREMAP:
		return remap(c, e);
	case MPROF_FN_BRK:
	case MPROF_FN_SBRK:
		/* Unsigned, because a damaged trace may move it anywhere. */
		c->s->moved_break = (int64_t)((uint64_t)c->s->moved_break + e->addr - e->usable);
		return 0;
	default:
		return 0;
	}
}

int space_apply(struct space *s, const struct event *e, uint32_t page_size,
		struct space_changes *changes, struct space_note *n)
{
	struct call c = { .s = s, .mask = page_size - 1, .changes = changes };
	int ret;

	c.n.first = changes ? changes->count : 0;
	ret = e->error ? 0 : apply(&c, e);
	c.n.changes = changes ? changes->count - c.n.first : 0;
	c.n.moved_break = s->moved_break;
	memcpy(c.n.bytes, s->mapped.bytes, sizeof(c.n.bytes));
	if (n)
		*n = c.n;
	return ret;
}

/* kind: of all ranges of the copy; SPACE_KINDS: each unchanged. */
static int copy(struct map_set *to, const struct map_set *from, enum space_kind kind)
{
	struct map_range r;
	size_t i;
	int ret = 0;

	map_set_release(to);
	for (i = 0; i < from->count && !ret; i++) {
		r = from->range[i];
		if (kind != SPACE_KINDS)
			r.kind = (uint8_t)kind;
		ret = map_set_add(to, &r, NULL);
	}
	return ret;
}

int space_inherit(struct space *to, const struct space *from)
{
	int ret = copy(&to->mapped, &from->mapped, SPACE_INHERITED);

	return ret ? ret : copy(&to->gone, &from->gone, SPACE_KINDS);
}

void space_release(struct space *s)
{
	map_set_release(&s->mapped);
	map_set_release(&s->gone);
	s->moved_break = 0;
}
