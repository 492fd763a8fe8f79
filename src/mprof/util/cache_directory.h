/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * cache_directory.h - what commands keep on disk for later runs: directories below
 * $XDG_CACHE_HOME/mprof (or ~/.cache/mprof), and their size limits.
 *
 * Files are written under a name with a dot and renamed, so readers and writers may run at the
 * same time.  A directory that belongs to another user is ignored.
 */
#pragma once

#include <stdint.h>

/* Opens the one with this name, and creates it if necessary; -1: not possible. */
int cache_directory(const char *name);
/*
 * Above this many bytes, removes the files that were not used for longest; also removes what dead
 * writers left.
 */
void cache_directory_trim(int directory, uint64_t most);
