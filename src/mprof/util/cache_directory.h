/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * cache_directory.h - files that commands keep for later runs: directories below
 * $XDG_CACHE_HOME/mprof (or ~/.cache/mprof), and their size limits.
 *
 * Files are written under a name with a dot and renamed, so readers and writers may run at the
 * same time.  A directory that belongs to another user is ignored.
 */
#pragma once

#include <stdint.h>

/* Opens the directory with this name, and creates it if necessary.  -1 if that is impossible. */
int cache_directory(const char *name);
/*
 * If the directory has more than this many bytes, removes the least recently used files.  Also
 * removes files of dead writers.
 */
void cache_directory_trim(int directory, uint64_t most);
