/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * library.h - finds shared objects to preload: libmprof.so, and the allocators that are installed.
 */
#pragma once

#include <mprof/runner.h>

#include <stdbool.h>
#include <stddef.h>

#include "../util/error.h"

/*
 * Returns the absolute path of libmprof.so, which the caller frees: the file that MPROF_LIB names
 * (or the one in that directory), else the one next to this program, else in ../lib from there.
 * NULL with *err if there is none, or if LD_PRELOAD cannot contain its path (a blank or a colon).
 */
char *library_find(struct error *err);

/* Returns the path of the library `name` in the same directory, which the caller frees; NULL if it
 * does not exist. */
char *library_beside(const char *library, const char *name);

/*
 * Returns the file that the dynamic linker would load for a name; if it has to search, the newest
 * one whose name has this beginning.  The caller frees it; NULL if there is none.
 */
char *library_path(const char *name);

struct allocator {
	const char *name;    /* NAME of --allocator */
	const char *soname;  /* without the version */
	const char *package; /* Debian's name */
};

/* The allocators known by name; the last row's name is NULL. */
extern const struct allocator allocator_table[];
/* The help of --allocator, which lists them. */
#define ALLOCATOR_NAME(name, soname, package) name ", "
#define ALLOCATOR_HELP \
	"Run with this allocator: " MPROF_ALLOCATORS(ALLOCATOR_NAME) "or the path of another one"

/*
 * Returns the path of an installed allocator, which the caller frees; NULL if it is not installed.
 * "glibc" has no file: the result is an empty string.
 */
char *allocator_find(const struct allocator *a);

/* Returns the name that this table has for an object's path, or NULL. */
const char *allocator_name(const char *path);

/*
 * Resolves --allocator NAME|PATH|SONAME to an absolute path, or "" for glibc, which the caller
 * frees. NULL with *err, which lists what is installed.
 */
char *allocator_resolve(const char *name, struct error *err);

/*
 * defines.c: 1 if other objects get malloc from the object; 0 if not; -1 if the file has no table
 * of dynamic symbols that can be read.
 */
int defines_malloc(const char *path);
