/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * pass.h - what a pass is: one analysis that the walk drives and that fills one
 * result struct, which printers read.  Passes share the walk's heap and its
 * notes, never each other's results, and never print.
 *
 * To add one: a struct in pass/NAME.h (its comment defines every figure, with
 * units), pass/NAME.c with a const struct pass_ops, a field in struct
 * analysis, a row in analysis.c, a table of its arrays, then the output in the printers.
 *
 * Every hook is optional.  `self` is the pass's own struct, zeroed before.
 */
#pragma once

#include <stddef.h>

#include "../heap/heap.h"
#include "../trace/trace.h"

/* Events in the order of time and what each did.  Valid during the call. */
struct batch {
	const struct event *event;
	const struct note *note;
	size_t count;
	uint64_t number;     /* of the first event, from 1 */
	bool plain;	     /* all are, see heap_apply */
	bool grew;	     /* false: no event here sets a new peak; see struct heap */
	const uint16_t *end; /* events with NOTE_ENDED or NOTE_DROPPED, by place */
	size_t ends;
};

enum process_gone { GONE_EXEC, GONE_ENDED, GONE_TRACE_ENDS };

/*
 * An array of a pass.  pass_release() frees it.  If finish() or a printer reads it, it is written
 * to a file with the struct (pass_state.c).  Offsets in the struct; a list of them ends with a
 * zeroed row.
 */
struct pass_part {
	size_t at, count, room; /* of the pointer, the number of items, and the room (or count) */
	size_t bytes;		/* of an item */
	const struct pass_part *inside; /* each item has these; NULL: none */
	size_t
	    unused; /* bytes of a member that is not written, but zeroed when the others are read */
};

#define PASS_LIST(type, pointer, number, space, of)                     \
	.at = offsetof(type, pointer), .count = offsetof(type, number), \
	.room = offsetof(type, space), .bytes = sizeof(of)
#define PASS_ARRAY(type, member, of) PASS_LIST(type, member.item, member.count, member.room, of)
/* A member that only the events before finish() need, or that finish() makes. */
#define PASS_UNUSED(type, member) \
	.at = offsetof(type, member), .unused = sizeof(((type *)NULL)->member)
/* The same of one that is or begins with a pointer to be freed: struct array, struct hash. */
#define PASS_FREED(type, member) PASS_UNUSED(type, member), .bytes = 1
/* The same of a struct array of items with such members, which a list of their own names. */
#define PASS_FREED_ARRAYS(type, member, of, list)                                              \
	PASS_UNUSED(type, member), .count = offsetof(type, member.count), .bytes = sizeof(of), \
				   .inside = (list)

struct walk;

struct pass_ops {
	const char *name;
	size_t
	    bytes; /* of the struct, which begins with a struct walk * that the walk sets; 0: not */
	const struct pass_part *part; /* NULL: it owns no arrays, or release() frees them */
	/* Once, before the first event.  The walk's clock and facts are ready. */
	void (*start)(void *self, struct walk *w);
	/* For every batch.  HOT: nanoseconds an event. */
	void (*batch)(void *self, const struct batch *b);
	/* A process began with the blocks of another one, which are inherited: indices. */
	void (*forked)(void *self, const struct heap *h, uint32_t parent, uint32_t child);
	/* The blocks of a process are about to end: h->process[process] still has them. */
	void (*gone)(void *self, const struct heap *h, uint32_t process, enum process_gone why,
		     uint64_t ticks);
	/* The heap is in its state at the time of this sample of resident pages. */
	void (*residency)(void *self, const struct heap *h, uint32_t process,
			  const struct trace_residency *r);
	/* Once, after the last event and the last `gone`. */
	void (*finish)(void *self, struct walk *w);
	/* What `part` does not name. */
	void (*release)(void *self);
};

/* Frees what the struct owns; it may be released again. */
void pass_release(const struct pass_ops *ops, void *self);
