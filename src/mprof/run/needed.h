/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * needed.h - the shared objects that an ELF file depends on.
 */
#ifndef MPROF_RUN_NEEDED_H
#define MPROF_RUN_NEEDED_H

#include <stdbool.h>

/* Does a DT_NEEDED name of this file begin with this? Also false if it cannot be read. */
bool needed_begins(const char *path, const char *begin);

#endif
