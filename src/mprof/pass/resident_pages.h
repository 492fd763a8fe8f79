/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * resident_pages.h - queries of one sample of resident pages.
 */
#pragma once

#include "../heap/heap.h"
#include "../trace/trace.h"
#include "../util/order.h"

/* Returns the first run that ends after `page`; r->runs if none does.  near: the last answer. */
static inline uint64_t resident_run(const struct trace_residency *r, uint64_t page, uint64_t near)
{
	if (near < r->runs && page >= r->run[near].first &&
	    page - r->run[near].first < r->run[near].count)
		return near;
	return FIRST_WHERE(i, r->runs, r->run[i].first + r->run[i].count > page);
}

static inline bool resident_has(const struct trace_residency *r, uint64_t page)
{
	const uint64_t run = resident_run(r, page, 0);

	return run < r->runs && page >= r->run[run].first;
}

/* Returns the bytes of [start, end) that lie on resident pages.  *near: the run where it began
 * last time. */
static inline uint64_t resident_bytes(const struct trace_residency *r, unsigned shift,
				      uint64_t start, uint64_t end, uint64_t *near)
{
	const uint64_t page = start >> shift;
	uint64_t i = *near = resident_run(r, page, *near), from, to, bytes = 0;

	if (page == (end - 1) >> shift) /* as that of most blocks */
		return i < r->runs && r->run[i].first <= page ? end - start : 0;
	for (; i < r->runs; i++) {
		from = r->run[i].first << shift;
		to = from + (r->run[i].count << shift);
		if (from >= end)
			break;
		from = from > start ? from : start;
		to = to < end ? to : end;
		bytes += to > from ? to - from : 0;
	}
	return bytes;
}

/* Returns the bytes that the process mapped itself and that lie on resident pages. */
static inline uint64_t resident_mapped(const struct trace_residency *r,
				       const struct heap_process *p)
{
	const struct map_set *set = &p->space.mapped;
	const struct map_range *range;
	uint64_t near = 0, sum = 0;

	for (range = set->range; range < set->range + set->count; range++)
		if (range->kind == SPACE_MEMORY || range->kind == SPACE_RESERVED)
			sum += resident_bytes(r, p->pages.shift, range->start, range->end, &near);
	return sum;
}

/* Returns the number of all resident pages. */
static inline uint64_t resident_all(const struct trace_residency *r)
{
	uint64_t i, pages = 0;

	for (i = 0; i < r->runs; i++)
		pages += r->run[i].count;
	return pages;
}
