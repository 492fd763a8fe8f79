// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * resident.c - how much of a large block the program used, as far as the kernel knows: mincore
 * reports for each page whether it is resident.
 *
 * A new block may lie on pages that are resident because earlier blocks used them; these pages do
 * not count.  Their number is stored when the block is allocated, in an entry of a table that the
 * block's address selects.  An entry is one word, so no thread waits; if another block overwrites
 * it, the first counts as allocated without resident pages.
 *
 * About 1.2 us for a small vector and 0.4 us for each further megabyte.
 */
#include "core.h"
#include "process.h"
#include "sys.h"

/* The vector lies on the stack of the thread that frees, possibly in a signal handler. */
#define PAGES_AT_ONCE 512u

/* A word has the address / 16 in its upper 44 bits, and units of 4 KiB in the others. */
#define BEGUN_BITS  15
#define BEGUN_UNIT  12
#define BEGUN_UNITS ((1u << 20) - 1)
static uint64_t begun[1u << BEGUN_BITS];

/*
 * Counts the bytes of [at, at + bytes) in resident pages, and in *first those before the first page
 * that is not resident.  -errno if unknown.
 */
static int64_t resident_bytes(uintptr_t at, size_t bytes, uint64_t *first)
{
	uintptr_t end = at + bytes, page = mp_page();
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

static uint64_t *resident_place(uintptr_t at)
{
	return &begun[(at >> 4) * 0x9e3779b97f4a7c15ull >> (64 - BEGUN_BITS)];
}

void mp_resident_begin(const void *block, size_t usable)
{
	uintptr_t at = (uintptr_t)block;
	uint64_t first, units;
	int64_t bytes = resident_bytes(at, usable, &first);

	units = bytes > 0 ? (uint64_t)bytes >> BEGUN_UNIT : 0;
	__atomic_store_n(resident_place(at),
			 at >> 4 << 20 | (units < BEGUN_UNITS ? units : BEGUN_UNITS),
			 __ATOMIC_RELAXED);
}

/*
 * Returns the bytes in pages that were not resident when the block was allocated.  Or, if they are
 * more, because programs fill blocks from the front, the bytes before the first page that is not
 * resident.
 */
int64_t mp_resident_end(const void *block, size_t usable)
{
	uintptr_t at = (uintptr_t)block;
	uint64_t first, word = __atomic_load_n(resident_place(at), __ATOMIC_RELAXED);
	int64_t bytes = resident_bytes(at, usable, &first);

	if (bytes < 0)
		return bytes;
	if (word >> 20 == at >> 4)
		bytes -= (int64_t)((word & BEGUN_UNITS) << BEGUN_UNIT);
	return bytes > (int64_t)first ? bytes : (int64_t)first;
}
