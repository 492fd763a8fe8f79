/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* temporary.h - files without a name, which end with their last descriptor. */
#pragma once

/* Beside the file `path`; NULL: in TMPDIR, or /tmp.  A descriptor, closed on exec, or -errno. */
int temporary_file(const char *path);
