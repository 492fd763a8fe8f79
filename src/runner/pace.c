/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * pace.c - waits for the recorded time.  A thread sleeps until its TIME word is due; a late one
 * continues at once.
 */
#include <time.h>
#include "call.h"

#define SOON 5000 /* ns: too short to sleep */

uint64_t pace(uint64_t recorded_ns)
{
	uint64_t due = baseline.begin_ns + recorded_ns / settings.speed, now = now_ns(), until;
	struct timespec t;

	while (now + SOON < due) {
		until = due - now < 1000000000u ? due : now + 1000000000u; /* shows progress */
		t.tv_sec = (time_t)(until / 1000000000u);
		t.tv_nsec = (long)(until % 1000000000u);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		watch_moved();
		now = now_ns();
	}
	return now > due ? now - due : 0;
}
