// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * resident.c - how much of a block was ever used, as far as the kernel knows:
 * mincore tells of each page whether this process has it.
 *
 * About 1.2 us for a small vector and 0.4 us for each further megabyte.
 */
#include "internal.h"

/* The vector lies on the stack of whoever frees, which may be a signal handler's. */
#define PAGES_AT_ONCE 512u

int64_t mp_resident(const void *block, size_t bytes, uint64_t *first)
{
	uintptr_t at = (uintptr_t)block, end = at + bytes, page = mp_page();
	unsigned char pages[PAGES_AT_ONCE];
	int64_t sum = 0;
	int hole = 0;

	*first = 0;
	for (uintptr_t from = at & -page, next; from < end; from = next) {
		uintptr_t most = from + PAGES_AT_ONCE * page, last = (end + page - 1) & -page;
		int ret;

		next = last < most ? last : most;
		ret = sys_mincore(from, next - from, pages);
		if (ret < 0)
			return ret;
		for (uintptr_t i = 0, p = from; p < next; i++, p += page) {
			uintptr_t here = (p + page < end ? p + page : end) - (p > at ? p : at);

			hole |= !(pages[i] & 1);
			sum += pages[i] & 1 ? (int64_t)here : 0;
			*first += hole ? 0 : here;
		}
	}
	return sum;
}
