/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * stop.h - what ends recording or suspends it.
 *
 * Functions return -errno up to the function that the program or a MODE called, which passes the
 * error to mp_failed().
 */
#pragma once

/*
 * Ends recording in this process for good, because of `error`, a -errno; does nothing if error >=
 * 0.  Returns error.  Any thread; may be called with signals blocked and locks held.
 */
int mp_failed(int error);
/*
 * mp_suspend() stops recording until mp_resume(); after a resume with is_end, none of our code
 * makes a system call.  Any number of threads may be suspended.
 */
void mp_suspend(const char *why);
void mp_resume(int is_end);
/* Did such a resume happen, here or in a process that this one was forked from? */
int mp_is_silent(void);
void mp_suspend_forked(void); /* in a child: the parent's suspensions do not count */
/* Ends recording; reason: enum mprof_lost.  Does nothing if it has ended. */
void mp_stop(unsigned reason, const char *why);
