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
/* In a new thread, from its first function: what its creator prepared. */
void mp_thread_begins(uint32_t number, const struct mp_stack_room *room);
/*
 * Between the two, calls of this thread to the malloc family are not recorded; end: were there any?
 */
void mp_trial_begin(struct mprof_thread **before);
int mp_trial_end(struct mprof_thread *before);
#define MP_QUIET_WORDS 128
#define MP_QUIET_APART 16
/*
 * Between the two, calls of this thread to the malloc family are not recorded.  words, in the
 * caller's frame, or NULL: MP_QUIET_WORDS of them, by which a jump out of the call is noticed.
 */
void mp_quiet_begin(struct mprof_thread **before, uintptr_t *words);
void mp_quiet_end(struct mprof_thread *before);
int mp_is_quiet(void); /* between these, or between those of a trial */
/* Between these something is recorded after all, if the thread is quiet. */
int mp_quiet_lift(void);
void mp_quiet_drop(int lifted);
int mp_threads_start(void);		 /* once, before the first event: mp_local; 0 or -errno */
int mp_enter(struct mprof_thread **out); /* module.h; 0 or -errno */
void mp_threads_forked(void);		 /* in a child: forget what the parent's threads had */
