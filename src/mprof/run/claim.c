/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* claim.c - see claim.h.  The kernel frees the name of a socket when its last user ends. */
#include "claim.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int claim_take(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), code;

	if (fd < 0)
		return -errno;
	/* A leading NUL: in the kernel, not in the file system. */
	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s", name);
	if (!bind(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd;
	code = -errno;
	close(fd);
	return code;
}
