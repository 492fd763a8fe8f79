/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* temporary.h - files without a name, which end with their last descriptor. */
#ifndef MPROF_UTIL_TEMPORARY_H
#define MPROF_UTIL_TEMPORARY_H

/* Beside the file `path`; NULL: in TMPDIR, or /tmp.  A descriptor, closed on exec, or -errno. */
int temporary_file(const char *path);

#endif
