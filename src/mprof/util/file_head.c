// SPDX-License-Identifier: LGPL-3.0-or-later
/* file_head.c - see file_head.h. */
#include "file_head.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

ssize_t file_head(const char *path, void *to, size_t bytes)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = pread(fd, to, bytes, 0);
	if (n < 0)
		n = -errno;
	close(fd);
	return n;
}
