// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * examined.c - at its end, a process waits until mprof has examined its memory (REACH=1).
 *
 * One process at a time has its number in header.waiting, and the others wait for that to become 0.
 * mprof sets it to 0 when it has finished.  If mprof is killed, its counter stops, and the process
 * ends.
 */
#include <errno.h>
#include <linux/futex.h>
#include <mprof/module.h>
#include <sys/prctl.h>

#include "config.h"
#include "core.h"
#include "file.h"
#include "local.h"
#include "process.h"
#include "real_libc.h"
#include "sys.h"

#define GIVE_UP_NS 4000000000u /* without a sign of mprof */
#define LOOK_NS	   50000000

/* Waits for a change of header.waiting, but not long. */
static void examined_look(struct mprof_file_header *h, uint32_t value)
{
	const struct timespec most = { 0, LOOK_NS };

	mp_sys(SYS_futex, (long)&h->waiting, FUTEX_WAIT, value, (long)&most, 0, 0);
}

static void examined_wake(struct mprof_file_header *h)
{
	mp_sys(SYS_futex, (long)&h->waiting, FUTEX_WAKE, INT32_MAX, 0, 0, 0);
}

static int examined_claim(struct mprof_file_header *h, uint32_t number)
{
	uint32_t none = 0;

	if (!__atomic_compare_exchange_n(&h->waiting, &none, number | MPROF_WAITING_CLAIMED, 0,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return 0;
	h->waiting_tid = sys_gettid();
	h->waiting_exit = (uintptr_t)mp_next()->exit;
	__atomic_store_n(&h->waiting, number, __ATOMIC_RELEASE);
	examined_wake(h);
	return 1;
}

void mp_examined_wait(void)
{
	struct mprof_file_header *h = mp_file.header;
	const uint32_t number = mp_local->process;
	uint32_t beat = 0, now, value, mine = 0;
	uint64_t seen = mp_clock_monotonic_ns();

	if (!mp_config.reach || !h || mp_file_is_profile())
		return;
	/* The one that examines is a child of mprof, so not an ancestor of this process. */
	mp_sys(SYS_prctl, PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0, 0);
	while (!mp_file.broken) {
		now = __atomic_load_n(&h->examiner, __ATOMIC_RELAXED);
		if (now != beat)
			seen = mp_clock_monotonic_ns();
		beat = now;
		if (now == MPROF_EXAMINER_GONE || mp_clock_monotonic_ns() - seen > GIVE_UP_NS)
			break;
		value = __atomic_load_n(&h->waiting, __ATOMIC_ACQUIRE);
		if (mine && value != number)
			return;
		if (!value && examined_claim(h, number))
			mine = value = number;
		examined_look(h, value);
	}
	value = number;
	if (mine && __atomic_compare_exchange_n(&h->waiting, &value, 0, 0, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
		examined_wake(h);
}
