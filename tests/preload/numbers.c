/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * numbers.c - prints which descriptors are open, up to its limit: the same ones
 * with and without a recorder where the limit can be raised.
 */
#include "victim.h"

#include <fcntl.h>

int main(void)
{
	int most = (int)sysconf(_SC_OPEN_MAX);

	free(malloc(40));
	for (int fd = 0; fd < most; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			say("has %d", fd);
	for (int fd = 3; fd < most; fd++)
		if (close(fd) == 0)
			say("closed %d", fd);
	free(malloc(41));
	return 0;
}
