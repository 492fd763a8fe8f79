/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * clock.h - the present time by the clock of a run, on the machine of the run.
 *
 * Ticks are those of format.h.  Never fails.  Threads: any.
 */
#pragma once

#include <mprof/format.h>

/* 0 on a processor whose counter mprof cannot read. */
uint64_t clock_ticks(const struct mprof_file_header *h);
/* Sets ticks, mono_ns and real_ns of a fact to now. */
void clock_stamp(const struct mprof_file_header *h, struct mprof_fact *fact);
