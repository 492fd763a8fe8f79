// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * cfi_records.c - finds records of .eh_frame by the table of .eh_frame_hdr.  Reads only readable
 * memory of the object: a damaged or hostile object costs stacks, never the program.
 */
#include "cfi.h"
#include "stack_parts.h"
#include "sys.h"

/*
 * Upper limit of an object's call frame information.  For a program that is not
 * position-independent, glibc before 2.37 reports the end of its code, which is too low.
 */
static uintptr_t cfi_end_of(const struct eh_object *o)
{
	uintptr_t header = (uintptr_t)o->header, more = 1u << 30;

	return header < o->end ? o->end : header + (more < -header ? more : -header - 1);
}

/*
 * Pages of objects that proved readable: a walk with all registers asks for the same few at every
 * frame, and must not spend a handler that fires every 50 us in system calls.  An object's pages
 * stay readable until it is unloaded; then cfi_forget().  Entries are single words, guarded like
 * rules: an entry found before an unload does not reappear after it.
 */
#define SEEN 256u
static uint64_t seen[SEEN];

static int cfi_readable_page(uintptr_t page)
{
	uint64_t *entry = &seen[page % SEEN];
	uint32_t generation = __atomic_load_n(&mp_rules_generation, __ATOMIC_ACQUIRE);

	if (__atomic_load_n(entry, __ATOMIC_RELAXED) == page)
		return 1;
	if (!sys_readable((const void *)(page << 12)))
		return 0;
	mp_rules_keep(entry, page, generation);
	return 1;
}

/*
 * Do `bytes` at an address lie in the object, before the end of its information, and in readable
 * memory?  There may be no memory between two segments.
 */
static int cfi_readable(const struct eh_object *o, uintptr_t at, uint64_t bytes)
{
	uintptr_t end = cfi_end_of(o);

	if (at < o->start || at > end || end - at < bytes)
		return 0;
	for (uintptr_t page = at >> 12; page <= (at + bytes - 1) >> 12; page++)
		if (!cfi_readable_page(page))
			return 0;
	return 1;
}

void cfi_forget(void)
{
	for (unsigned i = 0; i < SEEN; i++)
		__atomic_store_n(&seen[i], 0, __ATOMIC_RELAXED);
}

/* A row of the sorted table of .eh_frame_hdr: where a function begins, and its FDE. */
struct row {
	int32_t start, fde;
};

/* Sets r to row n; returns 1 if its function begins at pc or before. */
static int cfi_row_before(const struct eh_object *o, uintptr_t table, uint64_t n, uintptr_t pc,
			  struct row *row)
{
	uintptr_t at = table + n * sizeof(*row);

	if (!cfi_readable(o, at, sizeof(*row)))
		return 0;
	__builtin_memcpy(row, (const void *)at, sizeof(*row));
	return (uintptr_t)o->header + (uintptr_t)(intptr_t)row->start <= pc;
}

uintptr_t cfi_fde(const struct eh_object *o, uintptr_t pc)
{
	enum { HEADER = 36 };
	const uint8_t *h = o->header;
	uintptr_t base = (uintptr_t)h;
	struct cursor c;
	struct row row;
	uint64_t count, low, high;

	if (!h || !cfi_readable(o, base, HEADER) || h[0] != 1 ||
	    h[3] != 0x3b) /* version; datarel sdata4, as every linker writes */
		return 0;
	c = (struct cursor){ h + 4, h + HEADER, 0 };
	cursor_pointer(&c, h[1], base);
	count = cursor_pointer(&c, h[2], base);
	if (c.bad || !count || count > (cfi_end_of(o) - (uintptr_t)c.at) / sizeof(row))
		return 0;
	for (low = 0, high = count; high - low > 1;) {
		uint64_t mid = low + (high - low) / 2;

		if (cfi_row_before(o, (uintptr_t)c.at, mid, pc, &row))
			low = mid;
		else
			high = mid;
	}
	if (!cfi_row_before(o, (uintptr_t)c.at, low, pc, &row))
		return 0;
	return base + (uintptr_t)(intptr_t)row.fde;
}

/* A longer record is damaged; the limit bounds the time to read one. */
#define RECORD_MOST (1u << 20)

struct cursor cfi_record(const struct eh_object *o, uintptr_t start)
{
	struct cursor none = { NULL, NULL, 1 };
	const uint8_t *at = (const uint8_t *)start;
	uint32_t length;

	if (!cfi_readable(o, start, 8))
		return none;
	__builtin_memcpy(&length, at, 4);
	if (length < 8 || length > RECORD_MOST || !cfi_readable(o, start, 4 + (uint64_t)length))
		return none;
	return (struct cursor){ at + 4, at + 4 + length, 0 };
}
