// SPDX-License-Identifier: LGPL-3.0-or-later
/* late.c - see late.h. */
#include "late.h"

#include <dlfcn.h>
#include <errno.h>

int late_load(const char *library, const char *what, const char *const *name, void *functions,
	      size_t bytes, struct error *err)
{
	void **to = functions, *loaded;
	size_t n = bytes / sizeof(*to);

	if (to[0])
		return 0;
	loaded = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
	/* Store the first one last, because it marks the structure as filled. */
	for (size_t i = n; loaded && i--;) {
		to[i] = dlsym(loaded, name[i]);
		if (!to[i])
			loaded = NULL;
	}
	return loaded
		   ? 0
		   : fail(err, -ELIBACC, "cannot load %s, which %s: %s", library, what, dlerror());
}
