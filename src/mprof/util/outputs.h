/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* outputs.h - directories and temporary files for outputs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "error.h"

/* Makes the missing directories above a file, as `mkdir -p` does.  0, or -errno and *err.
 * *first: the length of the path of the outermost one that it made; 0: none. */
int directories_make(const char *path, size_t *first, struct error *err);
/* Says why no file could be made at `path`, which the user knows as `shown`: what is wrong with its
 * directory, if that is it.  Returns code, which is -errno. */
int fail_to_make(struct error *err, int code, const char *path, const char *shown);
/* Removes the directories that directories_make() made, but none that contains a file. */
void directories_remove(const char *path, size_t first);
/*
 * Creates a file without a name in the directory of `path`, or, if path is NULL, in TMPDIR or /tmp.
 * It disappears with its last descriptor.  Returns a descriptor, closed on exec, or -errno.
 */
int temporary_file(const char *path);
/* Makes a copy that all may read, at a path where nothing is.  0 or -errno; then there is none. */
int file_copy(const char *from, const char *to);
