/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* path_search.h - finds programs as execvp(3) does. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Is it a regular file that we may execute? */
bool path_is_runnable(const char *path);
/* Searches PATH for a program and copies its path to `found`.  0, -EACCES if there is only a file
 * that is not executable, or -ENOENT. */
int path_search(const char *name, char *found, size_t size);
