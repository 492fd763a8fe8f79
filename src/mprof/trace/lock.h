/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * lock.h - readers of a trace against whoever replaces chunks of it by groups (follow.h).
 *
 * A lock of the open file description on the field replaced_bytes of the header.  Where a file
 * system has no locks, readers go on, and nothing is replaced.
 */
#pragma once

#include <fcntl.h>
#include <mprof/format.h>
#include <stddef.h>

static inline struct flock lock_of(short type)
{
	return (struct flock){ .l_type = type,
			       .l_whence = SEEK_SET,
			       .l_start = offsetof(struct mprof_file_header, replaced_bytes),
			       .l_len = sizeof(((struct mprof_file_header *)0)->replaced_bytes) };
}

/* Waits for whoever replaces chunks at this moment, for some seconds at most. */
void lock_shared(int fd);
/* Does not wait.  Returns -1 if another process reads the file or the file system has no locks,
 * else 0. */
static inline int lock_alone(int fd)
{
	struct flock lock = lock_of(F_WRLCK);

	return fcntl(fd, F_OFD_SETLK, &lock);
}
/* Closing the file does it, too. */
static inline void lock_release(int fd)
{
	struct flock lock = lock_of(F_UNLCK);

	fcntl(fd, F_OFD_SETLK, &lock);
}
