// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * variant_version.c - which version of an allocator is installed.
 *
 * Reads dpkg's own files, as dpkg-query(1) does: info/PACKAGE[:ARCH].list names a package's files,
 * one a line; status has "Package:", then "Version:".
 */
#include "variant.h"

#include <glob.h>
#include <gnu/libc-version.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"

#define DPKG "/var/lib/dpkg/"

static bool has_line(const char *file, const char *text)
{
	FILE *f = fopen(file, "re");
	const size_t n = strlen(text);
	char *line = NULL;
	bool found = false;
	size_t room = 0;

	while (f && !found && getline(&line, &room, f) > 0)
		found = !strncmp(line, text, n) && line[n] == '\n';
	free(line);
	if (f)
		fclose(f);
	return found;
}

/* The package that installed the file, if it is named after an allocator, else NULL.  Its full
 * name differs between releases: libmimalloc2.0, libmimalloc3. */
static char *package_of(const char *file)
{
	char *package = NULL;
	const char *name, *end;
	glob_t g;
	size_t i;

	if (glob(DPKG "info/lib*malloc*.list", 0, NULL, &g))
		return NULL;
	for (i = 0; i < g.gl_pathc && !package; i++) {
		name = basename(g.gl_pathv[i]);
		end = strchr(name, ':');
		if (!end)
			end = name + strlen(name) - strlen(".list");
		if (has_line(g.gl_pathv[i], file))
			package = must_strndup(name, (size_t)(end - name));
	}
	globfree(&g);
	return package;
}

static char *package_version(const char *package)
{
	FILE *f = fopen(DPKG "status", "re");
	char *line = NULL, *version = NULL;
	size_t room = 0, n = strlen(package);
	bool here = false;

	while (f && !version && getline(&line, &room, f) > 0) {
		if (!strncmp(line, "Package: ", 9))
			here = !strncmp(line + 9, package, n) && line[9 + n] == '\n';
		else if (here && !strncmp(line, "Version: ", 9))
			version = must_strndup(line + 9, strcspn(line + 9, "\n"));
	}
	free(line);
	if (f)
		fclose(f);
	return version;
}

char *variant_version(const char *so)
{
	char *package = *so ? package_of(so) : must_strdup("libc6");
	char *version = package ? package_version(package) : NULL;

	free(package);
	if (version)
		return version;
	return must_strdup(*so ? basename(so) : gnu_get_libc_version());
}
