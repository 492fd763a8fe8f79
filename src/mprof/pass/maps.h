/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * maps.h - the pass that follows address space: what a process mapped directly
 * with mmap and mremap and has not unmapped, its break, and the call stacks of
 * these calls.
 *
 * Bytes, in whole pages, of a process's own mappings: inherited ones are not
 * counted. Memory unmapped whose mapping was not seen (for example by the
 * loader) is counted separately, and so are mappings of files and of shared
 * memory: their pages are not the process's own.
 *
 * Resident is the part of these and of the break that was in memory when, of all times at which
 * pages were read, the process had most private writable pages.  Of a forked process that then ran
 * another program, only those since then count: the pages before were its parent's.
 */
#pragma once

#include "array.h"
#include "interner.h"
#include "walk.h"

/* One stack that mapped memory, or moved the break. */
struct maps_site {
	uint32_t stack;
	uint64_t now, peak;		  /* anonymous bytes, and those at the process's peak */
	uint64_t reserved, peak_reserved; /* how many of these were mapped without any access */
	uint64_t file_now, file_peak;	  /* bytes of files and shared memory, and at their peak */
	uint64_t break_now, break_most;	  /* bytes that it added by moving the break */
	/* When pages were read: bytes in memory, mapped and of the break, of all it could use. */
	uint64_t resident, break_resident, looked;
	uint64_t changed, file_changed; /* own */
	bool has_blocks;		/* recorded ones, of functions of the program (--wrap) */
};

struct maps_of {
	uint64_t now, peak, peak_ticks; /* anonymous bytes; the last state before its end */
	uint64_t file_now, file_peak;
	uint64_t unknown_unmapped;     /* bytes unmapped whose mapping was not seen */
	int64_t break_now, break_peak; /* bytes by which the break was moved */
	uint64_t looked;	/* in ticks: when it had most private writable pages in memory */
	uint64_t resident_of;	/* bytes of these pages */
	struct array site;	/* struct maps_site, in the order of their first call */
	struct interner stacks; /* private */
	uint64_t peaks, file_peaks;
	bool ended;
	bool copied; /* a fork that runs its parent's program, with the parent's memory */
};

struct maps {
	struct walk *walk;
	struct maps_of all;   /* sums over processes; no sites; peaks are of the sum */
	struct array process; /* struct maps_of, by index of the heap */
	bool wrapped;	      /* maps_began() is of interest */
};

/* A block began; for loops that pass no notes. */
void maps_began(struct maps *s, uint32_t process, const struct event *e);

extern const struct pass_ops maps_pass;
