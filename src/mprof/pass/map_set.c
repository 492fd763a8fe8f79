// SPDX-License-Identifier: LGPL-3.0-or-later
/* map_set.c - a set of mapped ranges: ascending, disjoint, in one array. */
#include "maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The first range that ends behind addr. */
static size_t first_behind(const struct map_set *s, uint64_t addr)
{
	size_t low = 0, high = s->count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (s->range[middle].end > addr)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static int make_room(struct map_set *s, size_t more)
{
	size_t room = s->room ? s->room : 16;
	struct map_range *grown;

	while (room < s->count + more)
		room *= 2;
	if (room == s->room)
		return 0;
	grown = reallocarray(s->range, room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	s->range = grown;
	s->room = room;
	return 0;
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

int64_t map_set_remove(struct map_set *s, uint64_t start, uint64_t end)
{
	uint64_t removed = 0;
	struct map_range *r;
	size_t i = first_behind(s, start), whole;

	if (start >= end || i == s->count)
		return 0;
	if (make_room(s, 1) < 0)
		return -1;
	r = &s->range[i];
	if (r->start < start) { /* its head stays */
		if (r->end > end) {
			insert_at(s, i, *r);
			s->range[i + 1].start = end;
		}
		r = &s->range[i++];
		removed += (r->end < end ? r->end : end) - start;
		s->bytes[r->file] -= removed;
		r->end = start;
	}
	for (whole = 0; i + whole < s->count && s->range[i + whole].end <= end; whole++) {
		r = &s->range[i + whole];
		removed += r->end - r->start;
		s->bytes[r->file] -= r->end - r->start;
	}
	remove_at(s, i, whole);
	if (i < s->count && s->range[i].start < end) { /* its tail stays */
		r = &s->range[i];
		removed += end - r->start;
		s->bytes[r->file] -= end - r->start;
		r->start = end;
	}
	return (int64_t)removed;
}

int map_set_add(struct map_set *s, uint64_t start, uint64_t end, bool file)
{
	size_t i;

	if (start >= end)
		return 0;
	if (make_room(s, 2) < 0 || map_set_remove(s, start, end) < 0)
		return -ENOMEM;
	s->bytes[file] += end - start;
	i = first_behind(s, start);
	if (i < s->count && s->range[i].start == end && s->range[i].file == file) {
		s->range[i].start = start;
		return 0;
	}
	if (i && s->range[i - 1].end == start && s->range[i - 1].file == file) {
		s->range[i - 1].end = end;
		return 0;
	}
	insert_at(s, i, (struct map_range){ .start = start, .end = end, .file = file });
	return 0;
}

bool map_set_is_file(const struct map_set *s, uint64_t addr)
{
	size_t i = first_behind(s, addr);

	return i < s->count && s->range[i].start <= addr && s->range[i].file;
}

void map_set_release(struct map_set *s)
{
	free(s->range);
	*s = (struct map_set){ .range = NULL };
}
