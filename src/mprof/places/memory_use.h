/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * memory_use.h - the memory use of one run: a sink of places (placement.h), for a replay and for
 * the recorded run.
 *
 *   R         requested: requested bytes of live blocks
 *   U         usable: of the same
 *   P         resident: bytes in memory at a sample; anonymous ones where known
 *   L         live pages; page use is R / (L * g): page_use.h, at 4 KiB, 64 KiB, 2 MiB
 *   slack     U - R; the allocator's headers are not in U, so slack cannot be compared between
 *             allocators, but between sizes
 *   retained  resident pages without a live byte
 *
 * P of a replay is above its baseline; that of the recorded run is of the whole process, with the
 * program's data, stacks and mprof's own.  A snapshot has P only if a sample is near: at most a
 * hundredth of the calls before, with R within a hundredth.
 *
 * Op n is "after n calls".  A call costs tens of nanoseconds, a frame is proportional to its live
 * blocks.  Memory: 2 KiB for each 2 MiB region of addresses that ever had a block, and 24 bytes per
 * live block.
 *
 * Without memory the program ends (util/alloc.h). Threads: one at a time.
 */
#pragma once

#include "johnstone.h"
#include "page_use.h"
#include "pins.h"
#include "placement.h"

#define MEMORY_POINTS  512u
#define MEMORY_CLASSES 256u

/* The state after `op` calls. */
struct memory_point {
	uint64_t op, ns;
	uint64_t requested, usable, blocks;
	uint64_t live[PAGE_GRAINS]; /* pages */
	/* P; 0 = unknown.  Points of the curve repeat the last sample's value. */
	uint64_t resident;
};

/*
 * Blocks by requested size.  Class 0 is for 0 bytes.  Then come steps of 16 bytes up to 128, and
 * from there four steps to each doubling.  memory_class_most() is the largest size in a class.
 */
struct memory_class {
	uint64_t births, requested, usable; /* over the run; a realloc is a birth */
	struct {
		uint64_t blocks, requested, usable;
	} live, peak;		/* peak: when R was greatest */
	uint64_t most;		/* the most requested bytes live at once in this class */
	uint64_t births_usable; /* blocks whose usable size falls into this class */
};

enum memory_snapshots {
	MEMORY_PEAK,	 /* R was greatest */
	MEMORY_RETAINED, /* the frame with most retained pages; where residency is unknown, with the
			    most bytes of live pages beyond R */
	MEMORY_END,	 /* after the last call */
	MEMORY_SNAPSHOTS,
};

struct memory_snapshot {
	bool known;
	struct memory_point at;
	bool has_residency;
	uint64_t retained;	    /* pages of 4 KiB; with has_residency */
	uint64_t pinned[PAGE_PINS]; /* pages by number of live bytes */
	struct pins pins;	    /* the sites that pin those of PINS_64 */
};

/* Page use at the points where R was at least a 64th of its peak. */
struct memory_use {
	double min, mean, at_peak;
	uint64_t min_op;
};

struct memory {
	/* Set once the source has finished: */
	char title[64];
	uint64_t ops, births;
	bool has_residency;
	struct memory_point *point;
	size_t points;
	struct memory_class class[MEMORY_CLASSES];
	struct memory_snapshot moment[MEMORY_SNAPSHOTS];
	struct memory_use use[PAGE_GRAINS];
	struct johnstone fragmentation;			     /* of R and P */
	uint64_t most_resident, most_requested, most_usable; /* at points, samples and frames */
	/* Used while the source runs: */
	struct place_start start;
	struct memory_point now;    /* op: the number of the last event */
	struct memory_point looked; /* op and requested at the time of now.resident */
	uint64_t next_point, stride;
	struct page_use pages;
	struct pin_block *block; /* by slot */
	size_t room;
};

/* Zeroes m. */
void memory_init(struct memory *m);
void memory_release(struct memory *m);
/* self is the struct memory, initialised.  It accepts only one source. */
extern const struct place_ops memory_ops;

unsigned memory_class_of(uint64_t size);
uint64_t memory_class_most(unsigned class);

/* Returns R / P of a snapshot; 0 if P is unknown. */
double memory_density(const struct memory_snapshot *m);
/* Returns retained bytes; 0 if residency is unknown. */
uint64_t memory_retained(const struct memory_snapshot *m);
