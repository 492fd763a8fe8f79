/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* large.h - memory that is met in random places. */
#ifndef MPROF_UTIL_LARGE_H
#define MPROF_UTIL_LARGE_H

#include <stddef.h>

/*
 * For functions that only begin to load what will be asked soon.  gcc takes such a one for a
 * function without effects, and leaves it out, if it has not been inlined by then.
 */
#define PREFETCHES static inline __attribute__((always_inline)) void

/*
 * An array that grows; what of it was never written takes no memory when it is long, and
 * then it is in large pages: they spare a table most misses of the TLB, and page faults.
 * large_extend fills the new part with zeros.  Ends: without memory the program (alloc.h).
 * It has its size whenever it is named again; p is NULL at first.  Not for free() but for
 * large_free().
 */
void *large_realloc(void *p, size_t bytes, size_t more);
void *large_extend(void *p, size_t bytes, size_t more);
void large_free(void *p, size_t bytes);

/*
 * From now on malloc has its first HEAP bytes in large pages too, and keeps what is freed.  For
 * a command that soon fills them: page faults were up to a quarter of its time.
 */
void large_heap(void);

#endif
