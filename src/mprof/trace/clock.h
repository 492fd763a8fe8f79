/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* clock.h - the present time by a run's clock, on the machine of the run. */
#pragma once

#include <mprof/format.h>

uint64_t clock_ticks(const struct mprof_file_header *h);
/* Sets the three times of a fact to now. */
void clock_stamp(const struct mprof_file_header *h, struct mprof_fact *fact);
