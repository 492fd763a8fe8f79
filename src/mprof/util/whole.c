// SPDX-License-Identifier: LGPL-3.0-or-later
/* whole.c - see whole.h. */
#include "whole.h"

#include <errno.h>
#include <sys/types.h>
#include <unistd.h>

size_t read_at(int fd, void *to, size_t n, uint64_t offset)
{
	size_t got = 0;
	ssize_t some;

	while (got < n) {
		errno = 0;
		some = pread(fd, (char *)to + got, n - got, (off_t)(offset + got));
		if (some > 0)
			got += (size_t)some;
		else if (errno != EINTR)
			break;
	}
	return got;
}

int write_at(int fd, const void *from, size_t n, uint64_t offset)
{
	size_t done = 0;
	ssize_t some;

	while (done < n) {
		some = pwrite(fd, (const char *)from + done, n - done, (off_t)(offset + done));
		if (some > 0)
			done += (size_t)some;
		else if (!some || errno != EINTR)
			return some ? -errno : -EIO;
	}
	return 0;
}
