/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * pools.h - memory for what each thread needs, in few mappings: thousands of threads
 * at once must leave room below the system's limit of mappings for their stacks.
 *
 * A pool hands out units from pieces, each one mapping and a quarter of what there
 * was before, so that their number grows with the logarithm of the threads'.  Taking is
 * one atomic add; who takes one of the last units of a piece maps the next one before
 * anybody needs it.  Nothing is ever given back: what is free again goes to a list of
 * its owner's (lists.h).
 *
 * Zeroed memory is a pool that has nothing yet, as a forked child finds it.
 */
#ifndef MP_POOLS_H
#define MP_POOLS_H

#include <stddef.h>
#include <stdint.h>

#define MP_PIECES 64u

struct mp_piece {
	char *at;	 /* stored last; NULL: not there yet */
	uint64_t offset; /* of what is mapped from the file */
	uint32_t units, used;
};

struct mp_pool {
	uint32_t lock;	 /* held, signals blocked, while a piece is mapped */
	uint32_t pieces; /* that units are taken from, or were */
	struct mp_piece piece[MP_PIECES];
};

struct mp_pool_kind {
	uint32_t unit;	/* bytes */
	uint32_t first; /* units of the first piece */
	/* Maps zeroed units: sets at and offset.  0 or -errno. */
	int (*map)(const struct mp_pool_kind *kind, uint32_t units, struct mp_piece *out);
};

/* n units in a row, and where they lie in the file.  NULL and -errno: there are none. */
void *mp_pool_take(struct mp_pool *pool, const struct mp_pool_kind *kind, uint32_t n,
		   uint64_t *offset, int *error);

/* The same of memory that is not in the file, or NULL. */
void *mp_pool_memory(struct mp_pool *pool, const struct mp_pool_kind *kind, uint32_t n);

/* A kind's map: memory that a forked child finds zeroed; memory that it does not have. */
int mp_pool_wiped(const struct mp_pool_kind *kind, uint32_t units, struct mp_piece *out);
int mp_pool_private(const struct mp_pool_kind *kind, uint32_t units, struct mp_piece *out);

#endif
