/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * undisturbed.h - did this thread run without a pause?
 *
 * Between the two calls the thread's area of restartable sequences (rseq(2), which glibc 2.35 and
 * later registers) refers to a sequence of no instructions.  The kernel removes a reference to a
 * sequence in which the thread is not, whenever the thread loses its processor or gets a signal:
 * one that is still there proves that nothing of this kind happened.  No system calls.
 */
#pragma once

/* Can this be known here?  One system call. */
int mp_undisturbed_known(void);
/* Begins to watch the calling thread.  Call this and the next one only if the answer is known. */
void mp_undisturbed_watch(void);
/* Has the thread run without a pause and without a signal since?  Ends the watch. */
int mp_undisturbed(void);
