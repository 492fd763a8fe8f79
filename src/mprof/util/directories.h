/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* directories.h - the directories above a file. */
#ifndef MPROF_UTIL_DIRECTORIES_H
#define MPROF_UTIL_DIRECTORIES_H

#include "error.h"

/* Makes those of them that are missing, as `mkdir -p` does.  0, or -errno and *err. */
int directories_make(const char *path, struct error *err);

#endif
