/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * watch.c - a timer that ends the process after settings.stall seconds without progress: threads of
 * the playback file wait for each other, or the allocator is in a deadlock.
 */
#include <signal.h>
#include <sys/time.h>
#include "run.h"

#define LOOKS 8 /* per stall time */

uint64_t watch_moves;

static void look(int signal)
{
	static uint64_t last;
	static int idle;
	uint64_t moves = __atomic_load_n(&watch_moves, __ATOMIC_RELAXED);

	(void)signal;
	idle = moves == last && !__atomic_load_n(&records_telling, __ATOMIC_RELAXED) ? idle + 1 : 0;
	last = moves;
	if (idle >= LOOKS)
		die(STATUS_RUN, "no progress for %u seconds (stall=)", settings.stall);
}

void watch_start(void)
{
	struct sigaction act = { .sa_handler = look, .sa_flags = SA_RESTART };
	struct itimerval every = { 0 };
	uint64_t us = settings.stall * 1000000 / LOOKS;

	every.it_value.tv_sec = (time_t)(us / 1000000);
	every.it_value.tv_usec = (suseconds_t)(us % 1000000);
	every.it_interval = every.it_value;
	sigaction(SIGALRM, &act, NULL);
	if (settings.stall)
		setitimer(ITIMER_REAL, &every, NULL);
}

void watch_stop(void)
{
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
}
