/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * space.h - the address space that a process mapped itself, with mmap, mremap,
 * and the break, range by range.
 *
 * Whole pages.  A mapping over an older one takes its place; munmap may name a
 * part of a mapping, several mappings, and what is not mapped at all.  What was
 * unmapped once is remembered, so that unmapping it again is told from
 * unmapping what was never seen mapped (by the loader, or before recording).
 *
 * Errors: -ENOMEM.  Threads: one at a time.
 */
#ifndef MPROF_HEAP_SPACE_H
#define MPROF_HEAP_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../trace/trace.h"

enum space_kind {
	SPACE_MEMORY,	 /* anonymous */
	SPACE_RESERVED,	 /* anonymous, and mapped without any access */
	SPACE_FILE,	 /* of a file: no memory that the program asked for */
	SPACE_INHERITED, /* from the process that forked this one: not its own */
	SPACE_KINDS,
};

struct map_range {
	uint64_t start, end; /* end > start */
	uint32_t stack;	     /* of the call that mapped it: a node of stacks.h, 0 not known */
	uint8_t kind;	     /* enum space_kind */
};

/* Ascending, disjoint; neighbours of one kind and stack are one range. */
struct map_set {
	struct map_range *range;
	size_t count, room;
	uint64_t bytes[SPACE_KINDS];
};

/* What a call did to what one stack had mapped. */
struct space_change {
	uint32_t stack;
	uint8_t kind;
	int64_t bytes;
};

struct space_changes {
	struct space_change *item;
	size_t count, room;
};

/* r is mapped now, whatever was there.  changes may be NULL. */
int map_set_add(struct map_set *s, const struct map_range *r, struct space_changes *changes);
/* [start, end) is not mapped any more; *removed: how many of its bytes were. */
int map_set_remove(struct map_set *s, uint64_t start, uint64_t end, uint64_t *removed,
		   struct space_changes *changes);
/* The range that the byte at addr is in, or NULL. */
const struct map_range *map_set_at(const struct map_set *s, uint64_t addr);
void map_set_release(struct map_set *s);

struct space {
	struct map_set mapped, gone;
	int64_t moved_break; /* bytes the break was moved by */
};

/* After a call, and what it did. */
struct space_note {
	uint64_t bytes[SPACE_KINDS];
	int64_t moved_break;
	uint64_t unmapped;     /* by this call: bytes that were mapped, seen or not, and no more */
	uint64_t never_mapped; /* of these, bytes that were never seen mapped */
	size_t first, changes; /* in struct space_changes */
};

/* Does what a call of the mmap family did; nothing when it failed.  changes, n: may be NULL. */
int space_apply(struct space *s, const struct event *e, uint32_t page_size,
		struct space_changes *changes, struct space_note *n);
/* What a forked process begins with. */
int space_inherit(struct space *to, const struct space *from);
void space_release(struct space *s);

#endif
