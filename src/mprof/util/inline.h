/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* inline.h - for loops over all events. */
#pragma once

/* Marks functions that must be inlined so that values stay in registers. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))
