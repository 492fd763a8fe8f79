/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * retained.h - memory of freed blocks that stays resident: why a process is larger than its live
 * blocks.
 *
 * In each sample of resident pages (resident_parts.h), the heap is live + rounding + gaps +
 * retained, and freed is gaps + retained.  A process has a finding if freed was at least
 * RESIDENT_FREED, half of the heap and a quarter of the resident size in samples that cover a tenth
 * of its time or more: between two such samples, and after the last one.  So a program that frees
 * everything just before it ends has none.
 *
 * A trace that lacks calls (--last, --budget) has no finding: its live blocks are unknown.
 *
 * Not all of it may have been freed.  If the alignment of live blocks explains at least half of it,
 * or if not even half as much was ever freed, the finding says so.  An allocator writes to few
 * pages of a wide gap, so an alignment of several pages counts as a page, unless nothing else
 * explains what remains.
 */
#pragma once

#include "../pass/analysis.h"
#include "profile.h"

/* How many chunks of each size glibc keeps in the cache of a thread by default, before 2.43 and
 * from then on, and the bytes of one of each: 32 to 1,040. */
#define RETAINED_COUNT	    7u
#define RETAINED_COUNT_2_43 16u
#define RETAINED_CACHE	    (64u * (32u + 1040u) / 2u)

struct retained {
	uint32_t process; /* number in the run; 0 without a finding */
	uint64_t ticks;	  /* of the sample with most freed bytes, whose figures follow: */
	uint64_t live;	  /* bytes of live blocks, with the allocator's additions */
	uint64_t beside;  /* freed bytes on pages with a live block */
	uint64_t whole;	  /* freed bytes on other pages */
	uint64_t aligned; /* live aligned blocks, if their alignment explains half of it, else 0 */
	uint64_t ended;	  /* bytes of blocks that ended until then, if less than half of it, else
			     UINT64_MAX */
	/* How long more than half was freed, and the length of the process. */
	uint64_t held_ns, of_ns;
	/* The function with the largest share of pages with live blocks, if that is at least
	 * half of them and most freed bytes are there; else line is NULL. */
	struct profile_asked who;
	/* glibc's malloc: malloc_trim() returns whole pages, except at the end of arenas other than
	 * the first one. */
	bool c_library;
	/* Threads that allocated, if these have most of the heap in arenas of glibc other than the
	 * first one, which is in front of the program break; else 0. */
	size_t threads;
	bool at_once; /* ... but most of it was live at one time, so one arena would be as large */
	/* Threads whose caches (glibc's tcache) may hold at least half of the freed bytes; else 0.
	 * malloc_trim() does not return these. */
	size_t caches;
	uint64_t cache; /* the most that one of them holds, in bytes; 0 if they are switched off */
};

/* Returns how many threads of the process allocated a considerable part of its bytes. */
size_t retained_threads(const struct analysis *a, uint32_t process);
/* names: NULL without call stacks. */
void retained_find(struct retained *f, const struct analysis *a, struct profile *names);
