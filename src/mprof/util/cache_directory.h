/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * cache_directory.h - files that commands keep for later runs: directories below
 * $XDG_CACHE_HOME/mprof (or ~/.cache/mprof), and their size limits.
 *
 * Files are written under a name with a dot and renamed, so readers and writers may run at the
 * same time.  A directory that belongs to another user is ignored.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Opens the directory with this name, and creates it if necessary.  -1 if that is impossible. */
int cache_directory(const char *name);
/*
 * If the directory has more than this many bytes, removes the least recently used files.  Also
 * removes files of dead writers.
 */
void cache_directory_trim(int directory, uint64_t most);

/* Opens a file of the directory to read it, and marks it as used.  *bytes: its size.  -1 if it is
 * not a regular file of ours. */
int cache_file_open(int directory, const char *name, uint64_t *bytes);

struct cache_part {
	const void *from;
	size_t bytes;
};

/* Replaces a file by these parts, one after the other, or leaves it unchanged.  0 or -errno. */
int cache_file_write(int directory, const char *name, mode_t mode, const struct cache_part *part,
		     size_t parts);
