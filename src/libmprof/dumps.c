// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * dumps.c - summaries while the program runs: on a signal, and every N seconds.
 *
 * No thread waits for the time: a MODE compares the clock that it reads anyway with
 * dump_due, and the thread that comes first writes the dump before its own call counts.
 * What nobody calls for, nothing has changed.  The handler of the signal writes at once,
 * whatever its thread was doing, since a summary reads the file and nothing of the thread.
 */
#include <errno.h>
#include <mprof/module.h>
#include <mprof/signals.h>

#include "config.h"
#include "core.h"
#include "local.h"
#include "process.h"
#include "sys.h"
#include "text.h"

static uint64_t due = UINT64_MAX, period; /* ticks */

static void dump(void)
{
	if (mp_recording() && mp_local->alive && mp_local->pid == sys_getpid())
		mp_summary_write(mp_config.dump,
				 (int)__atomic_add_fetch(&mp_local->dumps, 1, __ATOMIC_RELAXED));
}

static void on_signal(int signal_number)
{
	int saved = errno;

	(void)signal_number;
	dump();
	errno = saved;
}

const uint64_t *mp_dump_due(void)
{
	return &due;
}

void mp_dump(uint64_t now)
{
	uint64_t then = __atomic_load_n(&due, __ATOMIC_RELAXED);

	if (now >= then && __atomic_compare_exchange_n(&due, &then, now + period, 0,
						       __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		dump();
}

/* A program that has a handler of its own keeps it. */
void mp_dumps_start(void)
{
	struct sigaction old, ours = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	int number = mprof_signal_number(mp_config.dump_signal);

	if (mp_config.dump_every) {
		period = mp_config.dump_every * mp_clock_hz();
		due = mprof_ticks() + period;
	}
	if (number > 0 && sigaction(number, NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) &&
	    (old.sa_handler == SIG_DFL || old.sa_handler == SIG_IGN))
		sigaction(number, &ours, NULL);
}
