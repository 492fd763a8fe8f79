/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* foreign.h - what is said of a record that another tool made. */
#ifndef MPROF_CMD_FOREIGN_H
#define MPROF_CMD_FOREIGN_H

#include <stdbool.h>

#include "../import/import.h"

/*
 * After it was read: what was left out of it, on stderr.  False: t is a trace of mprof's own.
 */
bool foreign_tell(const struct trace *t);
/* The same for who prints times: whether the record has any. */
void foreign_tell_times(const struct trace *t);

#endif
