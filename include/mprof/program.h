/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * program.h - lets a program select which of its threads are recorded, and when.
 *
 * Needs no library: without libmprof.so these functions do nothing.
 *
 *   mprof profile --paused -- ./program      and in the program, around the relevant part:
 *
 *   mprof_count_thread();
 *   ...
 *   mprof_ignore_thread();
 */
#ifndef MPROF_PROGRAM_H
#define MPROF_PROGRAM_H

#ifdef __cplusplus
extern "C" {
#endif

enum mprof_keep {
	MPROF_KEEP_AS_OTHERS, /* the default: --threads, --paused and mprof ctl decide */
	MPROF_KEEP_ALL,
	MPROF_KEEP_NONE,
};

/* In libmprof.so. */
extern void mprof_keep_thread(enum mprof_keep keep) __attribute__((weak));

/* Counts the blocks that the calling thread allocates from now on, even while counting is
 * paused. */
static inline void mprof_count_thread(void)
{
	if (mprof_keep_thread)
		mprof_keep_thread(MPROF_KEEP_ALL);
}

/* Counts no further blocks of this thread.  Frees of counted blocks are still counted. */
static inline void mprof_ignore_thread(void)
{
	if (mprof_keep_thread)
		mprof_keep_thread(MPROF_KEEP_NONE);
}

#ifdef __cplusplus
}
#endif

#endif
