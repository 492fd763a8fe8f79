/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * overhead.h - a run that records less when recording takes too much time (key OVERHEAD).
 */
#ifndef MP_OVERHEAD_H
#define MP_OVERHEAD_H

#include <stdint.h>

/* From a MODE: see module.h. */
int mp_overhead_spent(uint64_t now, uint64_t ticks, uint32_t calls);

#endif
