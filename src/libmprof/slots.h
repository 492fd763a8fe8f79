/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * slots.h - parts of the file that are mapped and stored into: slots of words, counts, figures.
 *
 * Their disk blocks are reserved first, so a store cannot fail.  A forked child does not inherit
 * them.  Errors: -errno; recording cannot continue, which the caller reports (mp_failed).
 */
#pragma once

#include <mprof/module.h>
#include <stddef.h>
#include <stdint.h>

#include "pools.h"

/* ---- slots.c ---- */

/*
 * t's slot of event words (module.h).  t is the caller's record, or its thread has ended. 0 or
 * -errno. flush and release block signals themselves; take must be called with signals blocked.
 */
int mp_slot_take(struct mprof_thread *t);
int mp_slot_flush(struct mprof_thread *t);
/*
 * Called at t->end.  turn: reduces t->time_left by the words stored, and returns 1 if it is 0;
 * room: moves t->end on, or flushes the slot.
 */
int mp_slot_turn(struct mprof_thread *t);
int mp_slot_room(struct mprof_thread *t);
int mp_slot_release(struct mprof_thread *t);
/* Takes a new part of the file, reserves and maps it, so that a store to it cannot fail.  0 or
 * -errno. */
int mp_slots_map_new(uint64_t bytes, uint64_t *offset, char **out);

/* ---- counts.c: module.h ---- */

/* NULL on failure, with -errno in *error. */
struct mprof_counts *mp_counts_take(struct mprof_thread *t, int *error);
void mp_counts_give(struct mprof_thread *t);
/* The names of threads, as in stack_use.h.  last: this thread ends. */
void mp_counts_renamed(int last);
void mp_counts_forked(void);
void mp_counts_name(uintptr_t pointer, const char name[MPROF_THREAD_NAME]);

/* ---- live.c: module.h ---- */

void *mp_live_memory(size_t bytes, size_t touched);
/* NULL on failure, with -errno in *error. */
void *mp_live_take(unsigned kind, uint32_t thread, uint64_t seq, size_t bytes, int *error);
/*
 * What the library itself records of a thread: a free extent of n units of MP_RECORD bytes, or
 * NULL.  These are in pieces of their own, so that mp_local->records has them all.
 */
#define MP_RECORD 192u
struct mprof_extent *mp_record_take(uint32_t n, uint64_t *offset);
