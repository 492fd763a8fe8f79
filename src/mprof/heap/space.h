/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * space.h - the address space that a process mapped directly, with mmap, mremap,
 * and the break, range by range.
 *
 * Whole pages.  A mapping over an older one replaces it; munmap may cover a part of a mapping,
 * several mappings, and unmapped ranges.  Unmapped ranges are remembered, to distinguish unmapping
 * them again from unmapping memory whose mapping was not seen (by the loader, or before recording).
 *
 * Without memory the program ends (util/alloc.h).  Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../trace/trace.h"

enum space_kind {
	SPACE_MEMORY,	 /* anonymous and private */
	SPACE_RESERVED,	 /* the same, mapped without any access */
	SPACE_FILE,	 /* of a file, or shared: its pages are not the process's own */
	SPACE_INHERITED, /* inherited by fork, so not its own */
	SPACE_BREAK,	 /* not mapped: added by brk and sbrk, in bytes instead of whole pages */
	SPACE_KINDS,
};

struct map_range {
	uint64_t start, end; /* end > start */
	uint32_t stack;	     /* of the call that mapped it: a node of stacks.h, 0 if unknown */
	uint8_t kind;	     /* enum space_kind */
};

/* Ascending, disjoint; neighbours of one kind and stack are one range. */
struct map_set {
	struct map_range *range;
	size_t count, room;
	uint64_t bytes[SPACE_KINDS];
};

/* How a call changed the memory mapped by one stack. */
struct space_change {
	uint32_t stack;
	uint8_t kind;
	int64_t bytes;
};

struct space_changes {
	struct space_change *item;
	size_t count, room;
};

/* Notes that r is mapped now, replacing earlier mappings.  changes may be NULL. */
void map_set_add(struct map_set *s, const struct map_range *r, struct space_changes *changes);
/* Notes that [start, end) is unmapped; *removed: how many of its bytes were mapped. */
void map_set_remove(struct map_set *s, uint64_t start, uint64_t end, uint64_t *removed,
		    struct space_changes *changes);
/* Returns the range that contains addr, or NULL. */
const struct map_range *map_set_at(const struct map_set *s, uint64_t addr);
void map_set_release(struct map_set *s);

struct space {
	struct map_set mapped, gone;
	int64_t moved_break; /* bytes by which the break was moved */
};

/* The effect of a call. */
struct space_note {
	uint64_t bytes[SPACE_KINDS];
	int64_t moved_break;
	uint64_t unmapped; /* bytes unmapped by this call, whether their mapping was seen or not */
	uint64_t never_mapped; /* how many of these were in a mapping that was not seen */
	size_t first, changes; /* in struct space_changes */
};

/* Applies a call of the mmap family; does nothing if it failed.  changes, n: may be NULL. */
void space_apply(struct space *s, const struct event *e, uint32_t page_size,
		 struct space_changes *changes, struct space_note *n);
/* Copies the state with which a forked process begins. */
void space_inherit(struct space *to, const struct space *from);
void space_release(struct space *s);
