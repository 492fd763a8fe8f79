// SPDX-License-Identifier: LGPL-3.0-or-later
/* temporary.c - files without a name. */
#include "temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"

int temporary_file(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL, *base = getenv("TMPDIR");
	char *name;
	int fd;

	if (path)
		name = must_printf("%.*s.mprof-XXXXXX", slash ? (int)(slash - path) + 1 : 0, path);
	else
		name = must_printf("%s/mprof-XXXXXX", base && *base ? base : "/tmp");
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	else
		unlink(name);
	free(name);
	return fd;
}
