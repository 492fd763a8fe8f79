/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * combine.h - several profiles as one (FORMAT.md 10.2).
 *
 * Every process keeps all data of its profile, under a new number: processes
 * are numbered by start time, whatever the order of the files.  The clock of
 * the result counts nanoseconds, and times from a profile that was combined
 * before stay unchanged, so combining is associative and commutative.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "../util/error.h"

/*
 * Writes to out, which must be seekable.  flags: MPROF_FILE_RUNNING or 0. -EBADMSG: one of them is
 * not a profile, is damaged, or contains a process that another one also contains; or they are not
 * all exact, or not all samples of one unit.  0 or -errno with *err; without memory the program
 * ends.
 */
int trace_combine(FILE *out, const char *const *path, size_t paths, uint32_t flags,
		  struct error *err);
