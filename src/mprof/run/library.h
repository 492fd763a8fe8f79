/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * library.h - which shared objects a program is to be run with: libmprof.so,
 * and the allocators that are installed here.
 */
#pragma once

#include <mprof/runner.h>

#include <stdbool.h>
#include <stddef.h>

#include "../util/error.h"

/*
 * The absolute path of libmprof.so: what MPROF_LIB names (the file or its
 * directory), else the one next to this program, else in ../lib from there.
 * free() it.  NULL and *err when there is none, or when its path cannot stand
 * in LD_PRELOAD (a blank or a colon).
 */
char *library_find(struct error *err);

/* The library beside it that asks MPI for the rank; NULL: it is not there.  free() it. */
char *library_mpi(const char *library);

/*
 * The file that the dynamic linker would load for a name; if it has to search, the newest one whose
 * name begins with that.  free() it; NULL when there is none.
 */
char *library_path(const char *name);

struct allocator {
	const char *name;    /* what --allocator says */
	const char *soname;  /* without the version */
	const char *package; /* of Debian */
};

/* The allocators known by name; the last row's name is NULL. */
extern const struct allocator allocator_table[];
/* The help of --allocator, which names them. */
#define ALLOCATOR_NAME(name, soname, package) name ", "
#define ALLOCATOR_HELP \
	"Run with this allocator: " MPROF_ALLOCATORS(ALLOCATOR_NAME) "or the path of another one"

/*
 * Where an allocator is installed: free() it; NULL when it is not.  "glibc" has no file: the result
 * is an empty string.
 */
char *allocator_find(const struct allocator *a);

/* The name that this table has for an object's path, or NULL. */
const char *allocator_name(const char *path);

/*
 * What --allocator NAME|PATH names: an absolute path, or "" for glibc.
 * free() it.  NULL and *err, which lists what is installed.
 */
char *allocator_resolve(const char *name, struct error *err);

/*
 * defines.c: 1 if others get this function from the object; 0 if not; -1: the file has no
 * table of dynamic symbols that can be read.
 */
int defines_function(const char *path, const char *name);
