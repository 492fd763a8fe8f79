/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* inline.h - for the parts of a loop over all events. */
#ifndef MPROF_UTIL_INLINE_H
#define MPROF_UTIL_INLINE_H

/* What has to be inlined so that figures stay in registers. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

#endif
