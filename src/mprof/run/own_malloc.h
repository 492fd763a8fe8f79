/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * own_malloc.h - objects that serve malloc themselves, past a preloaded one.
 *
 * The dynamic linker looks for malloc in the executable first, then in what is
 * preloaded, then in the libraries: an executable that offers a malloc takes all
 * calls.  An object that is linked with -Bsymbolic, or that keeps its malloc
 * hidden, takes its own calls only.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum own_how {
	OWN_NONE,
	OWN_FIRST,     /* the executable's: all calls go there */
	OWN_PRELOADED, /* of an object that is preloaded before libmprof.so: the same */
	OWN_SYMBOLIC,  /* a library's, -Bsymbolic: its own calls do */
	OWN_HIDDEN,    /* not offered to others: the object's own calls do */
};

struct own_malloc {
	enum own_how how;
	char path[PATH_MAX];
	const char *allocator; /* a well-known one that is linked into it, or NULL */
};

/* Of a program and the libraries that its linker will load with it.  False: there is none. */
bool own_malloc_find(const char *program, struct own_malloc *own);
/* Of this file alone, whose malloc is known to come first. */
void own_malloc_first(const char *path, struct own_malloc *own);
/* "'FILE' defines malloc itself ...: the consequence and the remedy". */
void own_malloc_words(const struct own_malloc *own, char *to, size_t size);
