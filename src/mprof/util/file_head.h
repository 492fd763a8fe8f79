/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* file_head.h - what a file begins with. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Reads the first bytes of a file.  Returns how many there are, up to `bytes`; or -errno, also for
 * a FIFO, which it neither waits for nor reads. */
ssize_t file_head(const char *path, void *to, size_t bytes);
