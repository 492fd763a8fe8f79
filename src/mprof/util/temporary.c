// SPDX-License-Identifier: LGPL-3.0-or-later
/* temporary.c - files without a name. */
#include "temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int temporary_file(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL, *base = getenv("TMPDIR");
	char *name;
	int n, fd;

	if (path)
		n = asprintf(&name, "%.*s.mprof-XXXXXX", slash ? (int)(slash - path) + 1 : 0, path);
	else
		n = asprintf(&name, "%s/mprof-XXXXXX", base && *base ? base : "/tmp");
	if (n < 0)
		return -ENOMEM;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	else
		unlink(name);
	free(name);
	return fd;
}
