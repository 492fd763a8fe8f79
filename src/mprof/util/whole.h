/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* whole.h - reads and writes that the system may do in parts, or interrupt.  Threads: any. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Returns how many of n bytes it has read: fewer at the end of the file, where errno is 0, and
 * after an error. */
size_t read_at(int fd, void *to, size_t n, uint64_t offset);
/* Writes all of it.  0 or -errno. */
int write_at(int fd, const void *from, size_t n, uint64_t offset);
