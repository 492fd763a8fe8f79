// SPDX-License-Identifier: LGPL-3.0-or-later
/* compile_resident.c - the largest resident size, and the resident pages of blocks. */
#include "compile_resident.h"

#include "../pass/rss.h"
#include "../util/order.h"

uint64_t compile_peak_rss(const struct walk_input *in, uint32_t process)
{
	struct rss_moment m;

	rss_find_process(&m, in, process);
	return m.rss;
}

/* Returns the resident bytes from `from` to `to`. */
static uint64_t bytes_within(const struct trace_residency *r, uint64_t page, uint64_t from,
			     uint64_t to)
{
	size_t i = FIRST_WHERE(k, r->runs, (r->run[k].first + r->run[k].count) * page > from);
	uint64_t sum = 0, low, high;

	for (; i < r->runs && r->run[i].first * page < to; i++) {
		low = r->run[i].first * page;
		high = low + r->run[i].count * page;
		sum += (high < to ? high : to) - (low > from ? low : from);
	}
	return sum;
}

bool compile_resident(const struct walk_input *in, uint32_t process, const struct block *b,
		      uint64_t until, uint64_t *bytes)
{
	const struct trace_residency *r = in->residencies;
	size_t i = FIRST_WHERE(k, in->residency_count, r[k].head->ticks_before >= b->start);
	uint64_t n;
	bool any = false;

	for (*bytes = 0; i < in->residency_count && r[i].head->ticks_after <= until; i++) {
		if (r[i].process != process)
			continue;
		n = bytes_within(&r[i], in->header->page_size, b->addr, b->addr + b->size);
		*bytes = n > *bytes ? n : *bytes;
		any = true;
	}
	return any;
}
