/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * cache_directory.h - what commands keep on disk for the next time: directories below
 * $XDG_CACHE_HOME/mprof (or ~/.cache/mprof), and what keeps them small.
 *
 * Files are written under a name with a dot and renamed, so readers and writers may run at the
 * same time.  A directory that belongs to somebody else counts as not there.
 */
#ifndef MPROF_UTIL_CACHE_DIRECTORY_H
#define MPROF_UTIL_CACHE_DIRECTORY_H

#include <stdint.h>

/* Opens the one of this name, and makes it if need be; -1: there is none. */
int cache_directory(const char *name);
/* Beyond so many bytes, what was not used for longest goes; and what a writer left that died. */
void cache_directory_trim(int directory, uint64_t most);

#endif
