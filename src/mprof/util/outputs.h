/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* outputs.h - directories and temporary files for outputs. */
#pragma once

#include "error.h"

/* Makes the missing directories above a file, as `mkdir -p` does.  0, or -errno and *err. */
int directories_make(const char *path, struct error *err);
/*
 * A file without a name beside the file `path`; NULL: in TMPDIR, or /tmp.  It ends with its last
 * descriptor.  A descriptor, closed on exec, or -errno.
 */
int temporary_file(const char *path);
