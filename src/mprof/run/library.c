/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * library.c - finds libmprof.so and the installed allocators.
 *
 * An allocator is a file lib*.so* in LD_LIBRARY_PATH, in the linker's cache, or
 * in one of the directories that distributions use.
 */
#include "library.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../util/alloc.h"
#include "../util/installed.h"
#include "elf.h"
#include "ldcache.h"

#if defined(__x86_64__)
#define TRIPLET "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define TRIPLET "aarch64-linux-gnu"
#else
#define TRIPLET "."
#endif

const struct allocator allocator_table[] = {
#define X(name, soname, package) { name, soname, package },
	MPROF_ALLOCATORS(X)
#undef X
	    { NULL, NULL, NULL },
};

static bool is_regular(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

char *library_find(struct error *err)
{
	static const char *const below[] = { "", "../lib", "../lib/" TRIPLET, NULL };
	const char *said = getenv("MPROF_LIB");
	char *path;

	if (said && *said) {
		path = installed_in(said, "libmprof.so", F_OK);
		if (!path)
			path = realpath(said, NULL);
		if (!path) {
			fail(err, -errno, "MPROF_LIB names '%s': %s", said, strerror(errno));
			return NULL;
		}
		if (!is_regular(path)) {
			fail(err, -ENOENT,
			     "MPROF_LIB names '%s': expected libmprof.so, or a directory that has "
			     "it",
			     said);
			free(path);
			return NULL;
		}
	} else {
		path = installed_find(below, "libmprof.so", F_OK);
	}
	if (!path && access("/proc/self/exe", F_OK)) {
		fail(err, -ENOENT,
		     "cannot find libmprof.so without /proc; mount it, or set MPROF_LIB to the "
		     "path of the library");
		return NULL;
	}
	if (!path) {
		fail(err, -ENOENT,
		     "libmprof.so is neither next to mprof nor in ../lib; set MPROF_LIB to its "
		     "path");
		return NULL;
	}
	if (strpbrk(path, " :\t\n")) {
		fail(err, -EINVAL,
		     "'%s' cannot be preloaded: a path in LD_PRELOAD cannot contain blanks or "
		     "colons",
		     path);
		free(path);
		return NULL;
	}
	return path;
}

char *library_beside(const char *library, const char *name)
{
	const char *slash = strrchr(library, '/');
	char *path = must_printf("%.*s/%s", (int)(slash ? slash - library : 0), library, name);

	if (!slash || access(path, R_OK)) {
		free(path);
		return NULL;
	}
	return path;
}

/* Finds the newest "directory/soname*" that can be loaded; development links count, too. */
static char *newest_in(const char *directory, size_t length, const char *soname)
{
	char pattern[PATH_MAX], *found = NULL;
	glob_t g;

	snprintf(pattern, sizeof(pattern), "%.*s/%s*", (int)length, directory, soname);
	if (glob(pattern, 0, NULL, &g))
		return NULL;
	if (g.gl_pathc)
		found = realpath(g.gl_pathv[g.gl_pathc - 1], NULL);
	globfree(&g);
	return found;
}

char *library_path(const char *name)
{
	static const char *const standard[] = { "/usr/local/lib",
						"/usr/local/lib/" TRIPLET,
						"/usr/lib/" TRIPLET,
						"/lib/" TRIPLET,
						"/usr/lib64",
						"/usr/lib",
						NULL };
	const char *path = getenv("LD_LIBRARY_PATH"), *const * d;
	char *found = NULL;
	size_t n;

	if (strchr(name, '/'))
		return strdup(name);
	while (path && *path && !found) {
		n = strcspn(path, ":");
		if (n)
			found = newest_in(path, n, name);
		path += n + (path[n] == ':');
	}
	if (!found)
		found = ldcache_find("/etc/ld.so.cache", name);
	for (d = standard; *d && !found; d++)
		found = newest_in(*d, strlen(*d), name);
	return found;
}

char *allocator_find(const struct allocator *a)
{
	return *a->soname ? library_path(a->soname) : strdup("");
}

const char *allocator_name(const char *path)
{
	const char *base = basename(path);
	const struct allocator *a;

	if (!strncmp(base, "libc.so", 7) || !strncmp(base, "libc-2.", 7))
		return "glibc";
	for (a = allocator_table; a->name; a++)
		if (*a->soname && !strncmp(base, a->soname, strlen(a->soname)))
			return a->name;
	return NULL;
}

/* Lists the installed allocators: "glibc, jemalloc". */
static void list_installed(char *text, size_t size)
{
	const struct allocator *a;
	size_t n = 0;
	char *path;

	for (a = allocator_table; a->name; a++) {
		path = allocator_find(a);
		if (path && n < size)
			n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "", a->name);
		free(path);
	}
}

static char *refuse(struct error *err, const char *name, const char *why)
{
	char installed[256] = "";

	list_installed(installed, sizeof(installed));
	fail(err, -EINVAL,
	     "invalid --allocator '%s'%s: expected %s, or the path of a shared object", name, why,
	     installed);
	return NULL;
}

static char *resolve_path(const char *name, struct error *err)
{
	char *path = realpath(name, NULL);
	struct elf_facts elf;

	if (!path)
		return refuse(err, name, "");
	if (strpbrk(path, " :\t\n"))
		fail(err, -EINVAL,
		     "invalid --allocator '%s': expected a path without blanks and colons", path);
	else if (elf_read(path, &elf) || !elf.ours || elf.type != ELF_SHARED)
		fail(err, -EINVAL,
		     "invalid --allocator '%s': expected a shared object for this machine", path);
	else if (!defines_malloc(path))
		/* The linker would load it, but the program would still use glibc's malloc. */
		fail(err, -EINVAL,
		     "invalid --allocator '%s': expected a shared object that exports malloc",
		     path);
	else
		return path;
	free(path);
	return NULL;
}

char *allocator_resolve(const char *name, struct error *err)
{
	const struct allocator *a;
	char why[128], *path, *found;

	if (strchr(name, '/'))
		return resolve_path(name, err);
	for (a = allocator_table; a->name; a++) {
		if (strcmp(a->name, name))
			continue;
		path = allocator_find(a);
		if (path)
			return path;
		snprintf(why, sizeof(why), " here (Debian has it in %s)", a->package);
		return refuse(err, name, why);
	}
	path = strstr(name, ".so") ? library_path(name) : NULL;
	if (!path)
		return refuse(err, name, "");
	found = resolve_path(path, err);
	free(path);
	return found;
}
