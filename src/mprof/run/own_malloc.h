/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * own_malloc.h - objects that serve malloc themselves, past a preloaded one.
 *
 * The dynamic linker looks for malloc in the executable first, then in what is
 * preloaded, then in the libraries: an executable that offers a malloc takes all
 * calls.  An object that is linked with -Bsymbolic, or that keeps its malloc
 * hidden, takes its own calls only.  Functions that only one allocator has are called past us, too.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum own_how {
	OWN_NONE,
	OWN_FIRST,     /* the executable's: all calls go there */
	OWN_PRELOADED, /* in an object that is preloaded before libmprof.so: the same */
	OWN_SYMBOLIC,  /* in a library with -Bsymbolic: its own calls go there */
	OWN_HIDDEN,    /* not offered to others: the object's own calls do */
	OWN_CALLS,     /* none: the object calls functions of an allocator other than malloc */
	OWN_CONTAINS,  /* none: an allocator in the object has other names, by which it is called */
	OWN_PASSES,    /* none: forwards requests of other objects to functions of that kind */
};

struct own_malloc {
	enum own_how how;
	char path[PATH_MAX];
	const char *allocator; /* a well-known one that is linked into it, or NULL */
	const char *called;    /* OWN_CALLS: one of those functions; OWN_CONTAINS: of its own */
	const char *wraps;     /* OWN_CALLS and OWN_PASSES: a function that must be wrapped */
	const char *remedy;    /* the option that records them */
};

/* Examines a program and the libraries that its linker will load with it.  False if none has
 * one. */
bool own_malloc_find(const char *program, struct own_malloc *own);
/* The same for the objects of a program that was recorded, but for one that takes all calls. */
bool own_malloc_loaded(const char *const *object, size_t n, struct own_malloc *own);
/* Does WRAP name own_malloc.wraps, as a whole or by its prefix? function may be NULL. */
bool own_malloc_is_wrapped(const char *function, const char *wrap);
/* Examines only this file, whose malloc is known to come first. */
void own_malloc_first(const char *path, struct own_malloc *own);
/* Does a sanitizer that is linked into the program take all its calls? */
bool own_malloc_is_sanitizer(const struct own_malloc *own);
/* Writes "'FILE' defines malloc itself ...: the consequence and the remedy". */
void own_malloc_words(const struct own_malloc *own, char *to, size_t size);
