// SPDX-License-Identifier: LGPL-3.0-or-later
/* compile_resident.c - the largest resident size, and the resident pages of blocks. */
#include "compile_resident.h"

#include "../pass/resident_pages.h"
#include "../pass/rss.h"
#include "../util/order.h"

uint64_t compile_peak_rss(const struct walk_input *in, uint32_t process)
{
	struct rss_moment m;

	if (rss_swapped(in)) /* then it needs more than was ever resident */
		return 0;
	rss_find_process(&m, in, process);
	return m.rss;
}

bool compile_resident(const struct walk_input *in, uint32_t process, const struct block *b,
		      uint64_t until, uint64_t *bytes)
{
	const struct trace_residency *r = in->residencies;
	size_t i = FIRST_WHERE(k, in->residency_count, r[k].head->ticks_before >= b->start);
	const unsigned shift = (unsigned)__builtin_ctz(in->header->page_size);
	uint64_t n, near = 0;
	bool any = false;

	for (*bytes = 0; i < in->residency_count && r[i].head->ticks_after <= until; i++) {
		if (r[i].process != process)
			continue;
		n = resident_bytes(&r[i], shift, b->addr, b->addr + b->size, &near);
		*bytes = n > *bytes ? n : *bytes;
		any = true;
	}
	return any;
}
