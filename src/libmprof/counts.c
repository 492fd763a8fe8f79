// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * counts.c - records of counts: each thread has one, mapped, in the file.
 *
 * After a thread has ended, its record keeps its sums.  Beyond COUNTS_KEPT of them, the sums of
 * ended threads are added to one record, so any number fits; only then may a thread wait for
 * another one here.
 */
#include <errno.h>
#include <mprof/module.h>

#include "core.h"
#include "local.h"
#include "pools.h"
#include "slots.h"

#define COUNTS_RECORD (sizeof(struct mprof_extent) + sizeof(struct mprof_counts))
#define COUNTS_KEPT   65536u
#define COUNTS_FIRST  4u /* as many as fit one page of 4096 */

static void counts_merge(struct mprof_counts *into, const struct mprof_counts *from)
{
	for (unsigned i = 0; i < MPROF_FN_MAX; i++) {
		into->fn[i].calls += from->fn[i].calls;
		into->fn[i].bytes += from->fn[i].bytes;
		into->fn[i].failed += from->fn[i].failed;
	}
	into->merged++;
}

static int counts_map(const struct mp_pool_kind *kind, uint32_t units, struct mp_piece *out)
{
	return mp_slots_map_records(kind, units, MPROF_EXTENT_COUNTS, out);
}

/* Returns a record whose sums were merged into another one, or NULL. */
static struct mprof_extent *counts_take_used(struct mp_local *l)
{
	struct mprof_extent *x = NULL;
	uint64_t signals;

	if (!__atomic_load_n(&l->counts_merged, __ATOMIC_RELAXED))
		return NULL;
	mp_lock_blocking(&l->counts_lock, &signals);
	for (unsigned i = 0; i < MP_COUNTS_UNUSED && !x; i++)
		if (l->counts_unused[i]) {
			x = (struct mprof_extent *)l->counts_unused[i] - 1;
			l->counts_unused[i] = NULL;
		}
	mp_unlock_blocking(&l->counts_lock, &signals);
	return x;
}

static struct mprof_extent *counts_take_new(struct mp_local *l, int *error)
{
	static const struct mp_pool_kind kind = { COUNTS_RECORD, COUNTS_FIRST, counts_map };
	uint64_t offset;
	struct mprof_extent *x = mp_pool_take(&l->counts, &kind, 1, &offset, error);

	if (x)
		__atomic_fetch_add(&l->counts_taken, 1, __ATOMIC_RELAXED);
	return x;
}

struct mprof_counts *mp_counts_take(struct mprof_thread *t, int *error)
{
	struct mprof_extent *x = counts_take_used(mp_local);
	struct mprof_counts *c;

	if (!x)
		x = counts_take_new(mp_local, error);
	if (!x)
		return NULL;
	c = (struct mprof_counts *)(x + 1);
	c->tid = t->tid;
	x->used = sizeof(*c);
	x->process = mp_local->process;
	x->thread = t->number;
	return c;
}

/* The first record beyond COUNTS_KEPT receives the sums of all after it. */
static void counts_release_locked(struct mp_local *l, struct mprof_counts *c)
{
	if (!l->counts_merged) {
		__atomic_store_n(&l->counts_merged, c, __ATOMIC_RELAXED);
		return;
	}
	for (unsigned i = 0; i < MP_COUNTS_UNUSED; i++)
		if (!l->counts_unused[i]) {
			counts_merge(l->counts_merged, c);
			__builtin_memset(c, 0, sizeof(*c));
			((struct mprof_extent *)c - 1)->thread = 0;
			l->counts_unused[i] = c;
			return;
		}
}

void mp_counts_give(struct mprof_thread *t)
{
	struct mp_local *l = mp_local;
	struct mprof_counts *c = t->data;
	uint64_t signals;

	t->data = NULL;
	if (!c)
		return;
	c->end_ticks = mprof_ticks();
	if (__atomic_load_n(&l->counts_taken, __ATOMIC_RELAXED) <= COUNTS_KEPT)
		return;
	mp_lock_blocking(&l->counts_lock, &signals);
	counts_release_locked(l, c);
	mp_unlock_blocking(&l->counts_lock, &signals);
}
