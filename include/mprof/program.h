/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * program.h - for programs that say themselves what is recorded of them.
 *
 * Needs no library: without libmprof.so these functions do nothing.
 *
 *   mprof profile --paused -- ./program      and in the program, around what matters:
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
	MPROF_KEEP_AS_OTHERS, /* as long as the program says nothing: --threads, --paused, mprof ctl
			       */
	MPROF_KEEP_ALL,
	MPROF_KEEP_NONE,
};

/* In libmprof.so. */
extern void mprof_keep_thread(enum mprof_keep keep) __attribute__((weak));

/* Counts the blocks that the calling thread allocates from now on, also while recording is paused.
 */
static inline void mprof_count_thread(void)
{
	if (mprof_keep_thread)
		mprof_keep_thread(MPROF_KEEP_ALL);
}

/* Counts none of them.  Blocks that were counted are still noticed when they are freed. */
static inline void mprof_ignore_thread(void)
{
	if (mprof_keep_thread)
		mprof_keep_thread(MPROF_KEEP_NONE);
}

#ifdef __cplusplus
}
#endif

#endif
