/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * arena.h - memory that is freed all at once, and strings that exist once.
 *
 * Two equal interned strings are one pointer, so names are compared and looked up by address.
 * A zeroed struct is empty.  (obstack(3) of this glibc has sizes of type int.)
 *
 * Ownership: the arena owns everything until arena_release().  Without memory the program ends
 * (alloc.h).  Threads: one at a time.
 */
#pragma once

#include "hash.h"

struct arena_chunk;

struct arena {
	struct arena_chunk *chunk;
	size_t left;	     /* bytes left from `next` on */
	char *next;	     /* in the newest chunk */
	struct hash strings; /* hash -> the last string that has it */
};

/* Returns memory that is aligned for any type; not zeroed. */
void *arena_alloc(struct arena *a, size_t bytes);
const char *arena_intern(struct arena *a, const char *text);
/* Interns the n letters of text, none of which is a NUL. */
const char *arena_intern_n(struct arena *a, const char *text, size_t n);
void arena_release(struct arena *a);
