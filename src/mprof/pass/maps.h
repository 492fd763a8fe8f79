/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * maps.h - the pass that follows address space: what a process mapped itself
 * with mmap and mremap and has not unmapped, whole or in part, and its break.
 *
 * Bytes, in whole pages.  A mapping over an older one takes its place.  What
 * was unmapped without having been seen mapped (by the loader, or by the
 * parent before fork) is counted apart.  File mappings are kept apart from
 * anonymous ones: they are no memory that the program asked for.
 */
#ifndef MPROF_MAPS_H
#define MPROF_MAPS_H

#include "array.h"
#include "walk.h"

struct map_range {
	uint64_t start, end; /* end > start */
	bool file;
};

/* Ascending, disjoint. */
struct map_set {
	struct map_range *range;
	size_t count, room;
	uint64_t bytes[2]; /* [file] */
};

/* [start, end) is mapped now, whatever was there.  0 or -ENOMEM. */
int map_set_add(struct map_set *s, uint64_t start, uint64_t end, bool file);
/* [start, end) is not mapped any more; returns how many of its bytes were, or -1. */
int64_t map_set_remove(struct map_set *s, uint64_t start, uint64_t end);
/* Is the byte at addr in a file mapping?  False when it is in none. */
bool map_set_is_file(const struct map_set *s, uint64_t addr);
void map_set_release(struct map_set *s);

struct maps_of {
	struct map_set set;
	uint64_t now, peak, peak_ticks; /* anonymous bytes; the last state before its end */
	uint64_t file_now, file_peak;
	uint64_t unknown_unmapped;     /* bytes unmapped that were never seen mapped */
	int64_t break_now, break_peak; /* bytes the break was moved by */
	bool ended;
};

struct maps {
	struct walk *walk;
	struct maps_of all;   /* sums over processes; set unused; peaks are of the sum */
	struct array process; /* struct maps_of, by index of the heap */
};

extern const struct pass_ops maps_pass;

/* Does to p's set and break what a call of the mmap family did that succeeded. */
void maps_apply(struct walk *w, struct maps_of *p, const struct event *e);

#endif
