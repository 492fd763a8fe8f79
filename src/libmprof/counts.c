// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * counts.c - records of counts: each thread has one, mapped, in the file (live.c).
 *
 * After a thread has ended, its record keeps its sums.  Beyond COUNTS_KEPT of them, the sums of
 * ended threads are added to one record, so any number fits; only then may a thread wait for
 * another one here.
 */
#include <mprof/module.h>

#include "core.h"
#include "file.h"
#include "local.h"
#include "slots.h"
#include "sys.h"
#include "thread_names.h"

#define COUNTS_KEPT  65536u
#define COUNTS_NAMED 4096u /* records of running threads, among which one is looked for */

static __thread struct mprof_counts *own;

static void counts_merge(struct mprof_counts *into, const struct mprof_counts *from)
{
	for (unsigned i = 0; i < MPROF_FN_MAX; i++) {
		into->fn[i].calls += from->fn[i].calls;
		into->fn[i].bytes += from->fn[i].bytes;
		into->fn[i].failed += from->fn[i].failed;
	}
	into->merged++;
	into->name[0] = 0;
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
	if (!c)
		return NULL;
	c->tid = t->tid;
	c->thread_pointer = (uintptr_t)__builtin_thread_pointer();
	mp_thread_name_read(c->name);
	own = c;
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

/* ---- names ---- */

static int counts_are_kept(void)
{
	return mp_recording() && mp_file.header && !mp_file.broken && mp_local->alive &&
	       mp_local->process &&
	       !__builtin_memcmp(mp_file.header->magic, MPROF_MAGIC_COUNTS, MPROF_MAGIC_SIZE);
}

/* A forked child does not inherit the record. */
void mp_counts_forked(void)
{
	own = NULL;
}

/* A child of vfork has its parent's variables.  After its last call, a thread's record may be
 * another one's. */
void mp_counts_renamed(int last)
{
	if (!own || !counts_are_kept() || own->tid != (uint32_t)sys_gettid())
		return;
	mp_thread_name_read(own->name);
	if (last)
		own = NULL;
}

/* Returns the record in the extent at `at`, if it is that of a thread that has not ended. */
static struct mprof_counts *counts_at(char *at, uint32_t *bytes)
{
	struct mprof_extent *x = (struct mprof_extent *)at;
	struct mprof_counts *c = (struct mprof_counts *)(x + 1);

	*bytes = MPROF_EXTENT_ALIGN;
	if (x->magic != MPROF_EXTENT_MAGIC)
		return NULL;
	*bytes = x->size;
	return x->kind == MPROF_EXTENT_COUNTS && c->tid && !c->end_ticks ? c : NULL;
}

void mp_counts_name(uintptr_t pointer, const char name[MPROF_THREAD_NAME])
{
	uint32_t looks = 0, bytes;
	struct mprof_counts *c;

	if (!counts_are_kept())
		return;
	for (uint32_t i = 0; i < MP_PIECES; i++) {
		const struct mp_piece *p = &mp_local->live.piece[i];
		char *at = __atomic_load_n(&p->at, __ATOMIC_ACQUIRE);
		char *end =
		    at + (uint64_t)__atomic_load_n(&p->used, __ATOMIC_RELAXED) * MPROF_EXTENT_ALIGN;

		for (; at && at < end && looks < COUNTS_NAMED; at += bytes) {
			c = counts_at(at, &bytes);
			looks += c != NULL;
			if (c && c->thread_pointer == pointer) {
				__builtin_memcpy(c->name, name, MPROF_THREAD_NAME);
				return;
			}
		}
	}
}
