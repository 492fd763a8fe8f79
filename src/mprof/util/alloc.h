/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * alloc.h - allocation that never returns NULL, and arrays that grow.  (xmalloc() and its like are
 * libiberty's, which sym/names_d.c replaces.)
 *
 * Without memory these functions do not return: memory_out() ends the program (memory.h), so
 * callers have nothing to check.  Not for sizes that a file claims and nothing bounds: compare
 * those with the file first ("damaged").  Not in `mprof record` while the program runs, where
 * malloc may fail and recording continues, nor in a child between fork and exec.
 *
 * Ownership: free() for all of them.  Threads: any.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

void *must_malloc(size_t bytes) __attribute__((malloc, returns_nonnull));
void *must_calloc(size_t n, size_t bytes) __attribute__((malloc, returns_nonnull));
void *must_reallocarray(void *p, size_t n, size_t bytes) __attribute__((returns_nonnull));
char *must_strdup(const char *text) __attribute__((malloc, returns_nonnull));
/* Copies at most n letters of text, and appends a NUL. */
char *must_strndup(const char *text, size_t n) __attribute__((malloc, returns_nonnull));
/* Copies n bytes of p. */
void *must_memdup(const void *p, size_t n) __attribute__((malloc, returns_nonnull));
/* Returns the text that printf would print. */
char *must_printf(const char *format, ...)
    __attribute__((malloc, returns_nonnull, format(printf, 1, 2)));
char *must_vprintf(const char *format, va_list args)
    __attribute__((malloc, returns_nonnull, format(printf, 1, 0)));

/* Like open_memstream(3).  must_close(), with the same text, sets *text, never NULL, which the
 * caller frees, and *bytes. */
FILE *must_memstream(char **text, size_t *bytes) __attribute__((returns_nonnull));
void must_close(FILE *memstream, char *const *text);

/* A string, which the caller frees, with the text that the statements write to the stream `out`. */
#define WRITTEN(out, ...)                                             \
	({                                                            \
		char *written = NULL;                                 \
		size_t written_bytes;                                 \
		FILE *out = must_memstream(&written, &written_bytes); \
		__VA_ARGS__;                                          \
		must_close(out, &written);                            \
		written;                                              \
	})

/*
 * An array is a pointer and the number of items that it has room for; the caller counts those in
 * use.  NULL and 0 are an empty one.
 *
 *	GROW(list->item, list->n + 1, list->room);
 *	list->item[list->n++] = one;
 *
 * GROW makes room for n items and does not initialise new ones; GROW_ZEROED zeroes them.  Room
 * grows by half, so n calls cost O(n).  Pointers to items become invalid.  Arguments are evaluated
 * more than once; room is a size_t.  Arrays that share one room grow by grow_room().
 */
#define GROW(array, n, room)                                                            \
	do {                                                                            \
		if ((size_t)(n) > (room)) {                                             \
			(room) = grow_room((n), (room));                                \
			(array) = must_reallocarray((array), (room), sizeof(*(array))); \
		}                                                                       \
	} while (0)

#define GROW_ZEROED(array, n, room)                                                     \
	do {                                                                            \
		if ((size_t)(n) > (room))                                               \
			(array) = grow_zeroed((array), (n), &(room), sizeof(*(array))); \
	} while (0)

/* Adds one item, zeroed, and evaluates to a pointer to it. */
#define GROW_ONE(array, n, room)                          \
	({                                                \
		GROW(array, (n) + 1, room);               \
		memset(&(array)[n], 0, sizeof(*(array))); \
		&(array)[(n)++];                          \
	})

/* Returns the new room for n > room items. */
static inline size_t grow_room(size_t n, size_t room)
{
	const size_t more = room + room / 2 + 16;

	return n > more ? n : more;
}

void *grow_zeroed(void *array, size_t n, size_t *room, size_t bytes);
