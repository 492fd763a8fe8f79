// SPDX-License-Identifier: LGPL-3.0-or-later
/* directories.c - the directories above a file. */
#include "directories.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int directories_make(const char *path, struct error *err)
{
	char *copy = strdup(path), *slash = copy;
	int ret = 0;

	if (!copy)
		return fail(err, -ENOMEM, "no memory for the name '%s'", path);
	while (!ret && (slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		if (mkdir(copy, 0777) && errno != EEXIST && errno != EISDIR && errno != EROFS)
			ret = fail(err, -errno, "cannot create the directory '%s': %s", copy,
				   strerror(errno));
		*slash = '/';
	}
	free(copy);
	return ret;
}
