/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* directories.h - the directories above a file. */
#pragma once

#include "error.h"

/* Makes those of them that are missing, as `mkdir -p` does.  0, or -errno and *err. */
int directories_make(const char *path, struct error *err);
