// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * pools.c - allocates units from few mappings: see pools.h.
 */

#include "pools.h"

#include <errno.h>

#include "local.h"
#include "sys.h"

/* Size of the next piece in units: a quarter of all existing units. */
static uint32_t pool_next_units(const struct mp_pool *pool, const struct mp_pool_kind *kind,
				uint32_t pieces, uint32_t n)
{
	uint32_t units = 0;

	for (uint32_t i = 0; i < pieces; i++)
		units += pool->piece[i].units / 4;
	units = units > kind->first ? units : kind->first;
	return units > n ? units : n;
}

/*
 * Maps piece number `pieces` unless another thread has.  0 or -errno.  The caller passes the
 * number, because others raise pool->pieces without the lock as soon as a piece exists.
 */
static int pool_add_locked(struct mp_pool *pool, const struct mp_pool_kind *kind, uint32_t pieces,
			   uint32_t n)
{
	struct mp_piece got = { 0 }, *p = &pool->piece[pieces];
	int ret = -ENOMEM;

	if (pieces == MP_PIECES)
		return -ENOMEM;
	if (p->at)
		return 0;
	/* When address space is scarce, a smaller piece may still fit. */
	for (uint32_t units = pool_next_units(pool, kind, pieces, n); units >= n && ret < 0;
	     units /= 8) {
		got.units = units;
		ret = kind->map(kind, units, &got);
	}
	if (ret < 0)
		return ret;
	p->offset = got.offset;
	p->units = got.units;
	p->used = 0;
	/* Pairs with the acquire in mp_pool_take(). */
	__atomic_store_n(&p->at, got.at, __ATOMIC_RELEASE);
	return 0;
}

/* Adds units beyond the first `pieces`.  With `ahead`, they are not needed yet, so does not wait
 * for the lock. */
static int pool_grow(struct mp_pool *pool, const struct mp_pool_kind *kind, uint32_t pieces,
		     uint32_t n, int ahead)
{
	uint64_t signals;
	int ret = 0;

	if (ahead && __atomic_load_n(&pool->lock, __ATOMIC_RELAXED))
		return 0;
	mp_lock_blocking(&pool->lock, &signals);
	if (__atomic_load_n(&pool->pieces, __ATOMIC_RELAXED) == pieces)
		ret = pool_add_locked(pool, kind, pieces, n);
	mp_unlock_blocking(&pool->lock, &signals);
	return ret;
}

/* Does this request take the last units? */
static int pool_is_near_end(const struct mp_piece *p, uint32_t first, uint32_t n)
{
	uint32_t mark = p->units - p->units / 8;

	return first <= mark && first + n > mark;
}

/*
 * Takes units from the current piece; NULL if it is too small.  Does not raise `used` of a full
 * piece: without memory for another piece, callers retry on every call of the program, and the sum
 * would wrap and return the same units twice.
 */
static void *pool_take_here(struct mp_pool *pool, const struct mp_pool_kind *kind, uint32_t pieces,
			    uint32_t n, uint64_t *offset)
{
	struct mp_piece *p = &pool->piece[pieces - 1];
	uint32_t first = __atomic_load_n(&p->used, __ATOMIC_RELAXED);

	if (n > p->units || first > p->units - n)
		return NULL;
	first = __atomic_fetch_add(&p->used, n, __ATOMIC_RELAXED);
	if (first > p->units - n)
		return NULL;
	if (pool_is_near_end(p, first, n))
		pool_grow(pool, kind, pieces, n, 1);
	mp_self_bytes((int64_t)n * kind->unit);
	*offset = p->offset + (uint64_t)first * kind->unit;
	return p->at + (size_t)first * kind->unit;
}

void *mp_pool_take(struct mp_pool *pool, const struct mp_pool_kind *kind, uint32_t n,
		   uint64_t *offset, int *error)
{
	for (;;) {
		uint32_t pieces = __atomic_load_n(&pool->pieces, __ATOMIC_ACQUIRE);
		void *got = pieces ? pool_take_here(pool, kind, pieces, n, offset) : NULL;

		if (got)
			return got;
		if (pieces == MP_PIECES ||
		    !__atomic_load_n(&pool->piece[pieces].at, __ATOMIC_ACQUIRE)) {
			*error = pool_grow(pool, kind, pieces, n, 0);
			if (*error < 0)
				return NULL;
		}
		/* One of the threads counts the piece for all. */
		__atomic_compare_exchange_n(&pool->pieces, &pieces, pieces + 1, 0, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED);
	}
}

void *mp_pool_memory(struct mp_pool *pool, const struct mp_pool_kind *kind, uint32_t n)
{
	uint64_t offset;
	int error;

	return mp_pool_take(pool, kind, n, &offset, &error);
}

int mp_pool_wiped(const struct mp_pool_kind *kind, uint32_t units, struct mp_piece *out)
{
	out->at = mp_wiped_memory((size_t)units * kind->unit);
	return out->at ? 0 : -ENOMEM;
}

int mp_pool_private(const struct mp_pool_kind *kind, uint32_t units, struct mp_piece *out)
{
	size_t bytes = (size_t)units * kind->unit;

	out->at = sys_memory(bytes);
	if (out->at)
		sys_madvise(out->at, bytes, MADV_DONTFORK);
	return out->at ? 0 : -ENOMEM;
}
