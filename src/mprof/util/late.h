/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * late.h - shared libraries that few commands need.
 *
 * Cairo, libmicrohttpd and libzip bring thirty others with them.  Linked, they would take most
 * of the time that every command needs to start; so the code that uses one of them loads it first.
 *
 *	#define SOME(X) X(some_, open) X(some_, close)
 *	static struct { SOME(LATE_MEMBER) } some;
 *	ret = late_load(LATE_LIBRARY, "does something", (const char *const[]){ SOME(LATE_NAME) },
 *			&some, sizeof(some), err);
 *	some.open(...);
 *
 * Threads: one at a time.
 */
#pragma once

#include <stddef.h>

#include "error.h"

/* Defined by the Makefile, for the files that load a library. */
#ifdef LATE_LIBRARY
_Static_assert(sizeof(LATE_LIBRARY) > 1, "the shared library was not found");
#endif

#define LATE_MEMBER(prefix, function) __typeof__(prefix##function) *function;
#define LATE_NAME(prefix, function)   #prefix #function,

/*
 * Fills a structure of pointers to functions, whose names are in the same order; does nothing if it
 * is filled.  The library stays loaded. 0 or -ELIBACC with err filled.
 */
int late_load(const char *library, const char *what, const char *const *name, void *functions,
	      size_t bytes, struct error *err);
