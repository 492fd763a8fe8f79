/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* inline.h - for loops over all events. */
#pragma once

/* Marks functions that must be inlined so that values stay in registers. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/*
 * For functions that only prefetch. gcc considers such a function free of effects, and drops the
 * call, unless it is inlined first.
 */
#define PREFETCHES ALWAYS_INLINE void
