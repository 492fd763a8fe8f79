// SPDX-License-Identifier: LGPL-3.0-or-later
/* installed.c - see installed.h. */
#include "installed.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"

char *installed_in(const char *directory, const char *name, int how)
{
	char *path = must_printf("%s/%s", directory, name);
	char *found = access(path, how) ? NULL : realpath(path, NULL);

	free(path);
	return found;
}

char *installed_find(const char *const *below, const char *name, int how)
{
	char self[PATH_MAX], *slash, *directory, *found = NULL;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	for (; slash && *below && !found; below++) {
		directory = must_printf("%.*s/%s", (int)(slash - self), self, *below);
		found = installed_in(directory, name, how);
		free(directory);
	}
	return found;
}
