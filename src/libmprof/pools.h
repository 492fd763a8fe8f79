/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * pools.h - per-thread memory in few mappings: thousands of threads at once must stay below the
 * system's limit of mappings, which their stacks need, too.
 *
 * A pool allocates units from pieces.  Each piece is one mapping and a quarter of the existing
 * units, so the number of pieces grows with the logarithm of the number of threads.  Taking is one
 * atomic add; the thread that takes one of the last units of a piece maps the next one ahead of
 * need.  Units never return to the pool: their owner keeps free ones in a list (lists.h).
 *
 * Zeroed memory is an empty pool, which is what a forked child has.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define MP_PIECES 64u

struct mp_piece {
	char *at;	 /* stored last; NULL until it is mapped */
	uint64_t offset; /* of the part of the file that is mapped */
	uint32_t units, used;
};

struct mp_pool {
	uint32_t lock;	 /* held, with signals blocked, while a piece is mapped */
	uint32_t pieces; /* pieces in use */
	struct mp_piece piece[MP_PIECES];
};

struct mp_pool_kind {
	uint32_t unit;	/* bytes of a unit */
	uint32_t first; /* units of the first piece */
	/* Maps zeroed units and sets at, offset and, if there are more, units.  0 or -errno. */
	int (*map)(const struct mp_pool_kind *kind, uint32_t units, struct mp_piece *out);
};

/* Takes n adjacent units, and returns their offset in the file, too.  NULL with -errno in
 * *error. */
void *mp_pool_take(struct mp_pool *pool, const struct mp_pool_kind *kind, uint32_t n,
		   uint64_t *offset, int *error);

/* The same for memory outside the file, or NULL. */
void *mp_pool_memory(struct mp_pool *pool, const struct mp_pool_kind *kind, uint32_t n);

/* Two map functions: for memory that is zeroed in a forked child, and for memory that it does
 * not inherit. */
int mp_pool_wiped(const struct mp_pool_kind *kind, uint32_t units, struct mp_piece *out);
int mp_pool_private(const struct mp_pool_kind *kind, uint32_t units, struct mp_piece *out);
