/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * thread.h - the record of each thread (struct mprof_thread, module.h).
 *
 * Only the thread uses its record; another one reclaims it when the kernel no longer knows the
 * thread.  Errors: -errno, NULL for memory.
 */
#pragma once

#include <mprof/module.h>
#include <stdint.h>

extern struct mprof_thread mp_nobody; /* always zero */
struct mp_stack_room;
/* Called in a new thread, from its first function, with what its creator prepared. */
void mp_thread_begins(uint32_t number, const struct mp_stack_room *room);
/*
 * Calls of this thread to the malloc family between the two are not recorded; end returns whether
 * there were any.
 */
void mp_trial_begin(struct mprof_thread **before);
int mp_trial_end(struct mprof_thread *before);
#define MP_QUIET_WORDS 128
#define MP_QUIET_APART 16
/*
 * Calls of this thread to the malloc family between the two are not recorded.  words:
 * MP_QUIET_WORDS of them in the caller's frame, by which a jump out of the call is noticed, or
 * NULL.
 */
void mp_quiet_begin(struct mprof_thread **before, uintptr_t *words);
void mp_quiet_end(struct mprof_thread *before);
int mp_is_quiet(void); /* 1 between those calls, or between the calls of a trial */
/* Between these calls, blocks are recorded even if the thread is quiet. */
int mp_quiet_lift(void);
void mp_quiet_drop(int lifted);
void mp_threads_watch(void); /* called once: from now on, ends of threads are noticed */
/* Will the end of this thread be?  Even if it is not recorded. */
int mp_thread_end_is_seen(void);
int mp_threads_start(void); /* called once, before the first event: sets up mp_local; 0 or -errno */
int mp_enter(struct mprof_thread **out); /* module.h; 0 or -errno */
void mp_threads_forked(void); /* called in a child: forgets what the parent's threads had */
