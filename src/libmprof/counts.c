// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * counts.c - records of counts: each thread has one, mapped, in the file (live.c).
 *
 * After a thread has ended, its record keeps its sums.  Beyond COUNTS_KEPT of them, the sums of
 * ended threads are added to one record, so any number fits; only then may a thread wait for
 * another one here.
 */
#include <mprof/module.h>

#include "local.h"
#include "slots.h"

#define COUNTS_KEPT 65536u

static void counts_merge(struct mprof_counts *into, const struct mprof_counts *from)
{
	for (unsigned i = 0; i < MPROF_FN_MAX; i++) {
		into->fn[i].calls += from->fn[i].calls;
		into->fn[i].bytes += from->fn[i].bytes;
		into->fn[i].failed += from->fn[i].failed;
	}
	into->merged++;
}

/* Returns a record whose sums were merged into another one, or NULL. */
static struct mprof_counts *counts_take_used(struct mp_local *l, uint32_t number)
{
	struct mprof_counts *c = NULL;
	uint64_t signals;

	if (!__atomic_load_n(&l->counts_merged, __ATOMIC_RELAXED))
		return NULL;
	mp_lock_blocking(&l->counts_lock, &signals);
	for (unsigned i = 0; i < MP_COUNTS_UNUSED && !c; i++)
		if (l->counts_unused[i]) {
			c = l->counts_unused[i];
			l->counts_unused[i] = NULL;
		}
	mp_unlock_blocking(&l->counts_lock, &signals);
	if (c)
		((struct mprof_extent *)c - 1)->thread = number;
	return c;
}

static struct mprof_counts *counts_take_new(struct mp_local *l, uint32_t number, int *error)
{
	struct mprof_counts *c = mp_live_take(MPROF_EXTENT_COUNTS, number, 0, sizeof(*c), error);

	if (c)
		__atomic_fetch_add(&l->counts_taken, 1, __ATOMIC_RELAXED);
	return c;
}

struct mprof_counts *mp_counts_take(struct mprof_thread *t, int *error)
{
	struct mprof_counts *c = counts_take_used(mp_local, t->number);

	if (!c)
		c = counts_take_new(mp_local, t->number, error);
	if (c)
		c->tid = t->tid;
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
