// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * stop.c - ends recording or suspends it, and writes why.
 */
#include "stop.h"

#include <errno.h>

#include "config.h"
#include "core.h"
#include "facts.h"
#include "file.h"
#include "local.h"
#include "text.h"

void mp_stop(unsigned reason, const char *why)
{
	const struct mprof_process_entry *e = mp_entry();

	if (!mp_recording_end())
		return;
	if (!e || !e->lost[reason]) /* it is one process, also if it runs several programs */
		mp_lost(reason, 1);
	mp_fact_stopped(why);
	if (!mp_file.header && mp_known.notes[0]) /* no file to record it in */
		mp_note(why);
}

/* For a process that is excluded from recording: nothing is lost. */
static void stop_leave(void)
{
	mp_recording_end();
	mp_publish_pass();
}

int mp_failed(int error)
{
	if (mprof_likely(error >= 0))
		return error;
	if (error == -ECANCELED) {
		stop_leave();
		return error;
	}
	switch (mp_file.broken && error != -ECHILD ? -EIO : error) {
	case -ENOMEM:
		mp_stop(MPROF_LOST_MEMORY, "no memory or address space for the recording");
		break;
	case -ECHILD:
		mp_stop(MPROF_LOST_PROCESS, "a forked child could not join the run");
		break;
	case -ETIMEDOUT:
		mp_stop(MPROF_LOST_FILE, "a write to the file never completed");
		break;
	case -ENOSPC:
	case -EDQUOT:
	case -EFBIG:
		mp_stop(MPROF_LOST_SPACE, "too little space left for the file");
		break;
	default: /* among others, the program closed it and may not open it again */
		mp_stop(MPROF_LOST_FILE, "the file was truncated, removed or closed");
	}
	return error;
}

/*
 * Several threads may be suspended at once: each one asks the kernel something, or restricts
 * itself.  They are counted, under a lock, and only the last one to resume publishes the table.  A
 * final suspension stays in the count, so that nobody publishes the table again; its thread must
 * not make system calls any more, so it takes no lock.
 */
void mp_suspend(const char *why)
{
	uint64_t signals;

	mp_lock_blocking(&mp_local->suspend_lock, &signals);
	mp_local->suspended++;
	mp_publish_pass();
	mp_fact_stopped(why);
	mp_unlock_blocking(&mp_local->suspend_lock, &signals);
	if (!mp_file.header && mp_known.notes[0])
		mp_note(why);
}

/* Another thread may be ending recording: then it stays ended. */
static void stop_resume_locked(void)
{
	/* The count is 0 if a signal handler forked while this thread was suspended. */
	if (!mp_local->suspended || --mp_local->suspended || !mp_recording())
		return;
	mp_fact_mark(MPROF_FACT_RESUMED);
	mp_recording_continue();
}

static int silent;

int mp_is_silent(void)
{
	return __atomic_load_n(&silent, __ATOMIC_RELAXED);
}

void mp_resume(int is_end)
{
	uint64_t signals;

	if (is_end) {
		__atomic_store_n(&silent, 1, __ATOMIC_RELAXED);
		if (mp_recording_end())
			mp_lost(MPROF_LOST_LOCKED, 1);
		mp_publish_pass();
		return;
	}
	mp_lock_blocking(&mp_local->suspend_lock, &signals);
	stop_resume_locked();
	mp_unlock_blocking(&mp_local->suspend_lock, &signals);
}

/* In a forked child: another thread of the parent may have been suspended at the fork. */
void mp_suspend_forked(void)
{
	if (mp_recording() && mp_table() == &mp_pass_api)
		mp_publish_mode();
}

/*
 * Called by libmprof_mpi.so after MPI_Init, unless a launcher's variable gave the rank.  Ends the
 * recording of a rank that RANKS excludes; mprof removes what was written so far.
 */
void mprof_set_rank(unsigned rank) EXPORT;
void mprof_set_rank(unsigned rank)
{
	struct text number = text_on(mp_known.rank, sizeof(mp_known.rank));

	if (mp_known.rank[0] || !mp_recording())
		return;
	text_number(&number, rank);
	mp_fact_rank();
	if (!mp_is_rank_wanted(mp_known.rank))
		mp_failed(-ECANCELED);
}
