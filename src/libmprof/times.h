/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * times.h - how long calls of the allocator take: struct mprof_times in the file.
 *
 * Some calls of each thread are timed, at random distances.  For such a call, the functions of
 * mprof_core.real are replaced by ones that count down to it and read the clock around the
 * allocator's own function; all other calls have no instruction more than without.
 */
#pragma once

#include <mprof/module.h>
#include <stdint.h>

/* Called when mprof_core.real is final: prepares timing if the MODE's file keeps times. */
void mp_times_start(void);
/* The allocator's own function, whatever stands in mprof_core.real. */
extern struct mprof_real mp_untimed;
#define MP_REAL(name) \
	(*(void **)&mp_untimed.name ? *(void **)&mp_untimed.name : *(void **)&mprof_core.real.name)
/*
 * It is t's turn: times one of its next calls, and sets t->time_left, the number of words that it
 * stores until the next turn.  t is the caller's record, and busy.
 */
void mp_times_turn(struct mprof_thread *t);
/* Called when the process is about to end or to exec: reads its CPU time. */
void mp_times_look(void);
