// SPDX-License-Identifier: LGPL-3.0-or-later
/* path_search.c - see path_search.h. */
#include "path_search.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool path_is_runnable(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

int path_search(const char *name, char *found, size_t size)
{
	const char *path = getenv("PATH"), *p;
	int code = -ENOENT;
	size_t n;

	for (p = path ? path : "/bin:/usr/bin"; p; p = p[n] ? p + n + 1 : NULL) {
		n = strcspn(p, ":");
		if ((size_t)snprintf(found, size, "%.*s%s%s", (int)n, p, n ? "/" : "", name) >=
		    size)
			continue;
		if (path_is_runnable(found))
			return 0;
		if (!access(found, F_OK))
			code = -EACCES;
	}
	return code;
}
