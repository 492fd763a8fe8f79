/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* recorded.h - is there anything in a file that a run has written? */
#ifndef MPROF_RUN_RECORDED_H
#define MPROF_RUN_RECORDED_H

#include <stdbool.h>

/* At least one call, of any process.  magic: MPROF_MAGIC_*.  True also when it cannot be read. */
bool recorded_anything(const char *path, const char *magic);

#endif
