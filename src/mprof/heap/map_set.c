// SPDX-License-Identifier: LGPL-3.0-or-later
/* map_set.c - a set of mapped ranges: ascending, disjoint, in one array. */
#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/order.h"
#include "space.h"

/* Returns the first range that ends after addr. */
static size_t first_behind(const struct map_set *s, uint64_t addr)
{
	return FIRST_WHERE(i, s->count, s->range[i].end > addr);
}

static void insert_at(struct map_set *s, size_t i, struct map_range r)
{
	memmove(&s->range[i + 1], &s->range[i], (s->count - i) * sizeof(r));
	s->range[i] = r;
	s->count++;
}

static void remove_at(struct map_set *s, size_t i, size_t n)
{
	s->count -= n;
	memmove(&s->range[i], &s->range[i + n], (s->count - i) * sizeof(*s->range));
}

static void note_change(struct space_changes *c, const struct map_range *r, int64_t bytes)
{
	if (!c)
		return;
	GROW(c->item, c->count + 1, c->room);
	c->item[c->count++] = (struct space_change){ r->stack, r->kind, bytes };
}

/* Removes n bytes of r. */
static void take(struct map_set *s, const struct map_range *r, uint64_t n, uint64_t *removed,
		 struct space_changes *changes)
{
	*removed += n;
	s->bytes[r->kind] -= n;
	note_change(changes, r, (int64_t)-n); /* unsigned: a damaged trace may have 2^63 */
}

void map_set_remove(struct map_set *s, uint64_t start, uint64_t end, uint64_t *removed,
		    struct space_changes *changes)
{
	size_t i = first_behind(s, start), whole;
	struct map_range *r;

	*removed = 0;
	if (start >= end || i == s->count)
		return;
	GROW(s->range, s->count + 1, s->room);
	r = &s->range[i];
	if (r->start < start) { /* its head stays */
		if (r->end > end) {
			insert_at(s, i, *r);
			s->range[i + 1].start = end;
		}
		r = &s->range[i++];
		take(s, r, (r->end < end ? r->end : end) - start, removed, changes);
		r->end = start;
	}
	for (whole = 0; i + whole < s->count && s->range[i + whole].end <= end; whole++) {
		r = &s->range[i + whole];
		take(s, r, r->end - r->start, removed, changes);
	}
	remove_at(s, i, whole);
	if (i < s->count && s->range[i].start < end) { /* its tail stays */
		r = &s->range[i];
		take(s, r, end - r->start, removed, changes);
		r->start = end;
	}
}

static bool are_alike(const struct map_range *a, const struct map_range *b)
{
	return a->kind == b->kind && a->stack == b->stack;
}

void map_set_add(struct map_set *s, const struct map_range *r, struct space_changes *changes)
{
	uint64_t removed;
	bool left, right;
	size_t i;

	if (r->start >= r->end)
		return;
	GROW(s->range, s->count + 2, s->room);
	map_set_remove(s, r->start, r->end, &removed, changes);
	note_change(changes, r, (int64_t)(r->end - r->start));
	s->bytes[r->kind] += r->end - r->start;
	i = first_behind(s, r->start);
	left = i && s->range[i - 1].end == r->start && are_alike(&s->range[i - 1], r);
	right = i < s->count && s->range[i].start == r->end && are_alike(&s->range[i], r);
	if (left) {
		s->range[i - 1].end = right ? s->range[i].end : r->end;
		if (right)
			remove_at(s, i, 1);
	} else if (right) {
		s->range[i].start = r->start;
	} else {
		insert_at(s, i, *r);
	}
}

const struct map_range *map_set_at(const struct map_set *s, uint64_t addr)
{
	size_t i = first_behind(s, addr);

	return i < s->count && s->range[i].start <= addr ? &s->range[i] : NULL;
}

void map_set_release(struct map_set *s)
{
	free(s->range);
	*s = (struct map_set){ .range = NULL };
}
