/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* large.h - memory that is met in random places. */
#ifndef MPROF_UTIL_LARGE_H
#define MPROF_UTIL_LARGE_H

#include <stddef.h>

/*
 * n items of `bytes`, zeroed, in large pages where they are worth it: they spare a table
 * most misses of the TLB.  For free(); NULL without memory.
 */
void *large_calloc(size_t n, size_t bytes);

#endif
