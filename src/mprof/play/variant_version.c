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

#include "../run/library.h"
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

/* Did this package install the file? */
static bool is_from(const char *package, const char *file)
{
	char pattern[256];
	bool found = false;
	glob_t g;
	size_t i;

	snprintf(pattern, sizeof(pattern), DPKG "info/%s*.list", package);
	if (glob(pattern, 0, NULL, &g))
		return false;
	for (i = 0; i < g.gl_pathc && !found; i++)
		found = has_line(g.gl_pathv[i], file);
	globfree(&g);
	return found;
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
	const struct allocator *a;
	const char *name = basename(so);
	char *version = NULL;

	for (a = allocator_table; a->name && !version; a++)
		if (*so ? *a->soname && !strncmp(name, a->soname, strlen(a->soname)) &&
			      is_from(a->package, so)
			: !*a->soname)
			version = package_version(a->package);
	if (version)
		return version;
	return must_strdup(*so ? name : gnu_get_libc_version());
}
