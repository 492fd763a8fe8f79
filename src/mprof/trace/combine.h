/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * combine.h - several profiles as one (FORMAT.md 10.2).
 *
 * Every process keeps all that its profile says of it, under a new number: processes are
 * numbered by when they began, whatever the order of the files.  The clock of the result
 * counts nanoseconds, and times from a profile that was combined before stay as they are,
 * so combining is associative and commutative.
 */
#ifndef MPROF_TRACE_COMBINE_H
#define MPROF_TRACE_COMBINE_H

#include <stdio.h>

#include "../util/error.h"

/*
 * Writes to out, which must be able to seek.  -EBADMSG: one of them is no profile, is
 * damaged, or holds a process that another one holds too; they are not all exact, or not
 * all samples of one unit.  0 or -errno with *err.
 */
int trace_combine(FILE *out, const char *const *path, size_t paths, struct error *err);

#endif
