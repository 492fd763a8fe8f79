// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * overhead.c - a run that records less when recording takes too much time: OVERHEAD.
 *
 * The MODE times randomly chosen calls, so its own time in this process is known without a clock
 * around each call.  From time to time it is compared with the CPU time of the process:
 *
 *   all calls -> fewer     of this process: log_steps is raised, as in budget.c
 *   fewer -> totals        of the run: header.log_end is set, as in budget.c
 *   totals -> samples      of this process: mp_overhead_spent() returns 1
 *
 * Each phase is measured from its beginning.  The first FREE_NS of overhead in a phase are free,
 * because how a program starts says little about the rest of its run.  Recording never returns to
 * an earlier phase.
 */
#include "limits.h"

#include <linux/time_types.h>
#include <mprof/module.h>
#include <time.h>

#include "config.h"
#include "core.h"
#include "file.h"
#include "local.h"
#include "sys.h"

#define FREE_NS	  50000000u
#define LOOKS	  100u	 /* a second, at most */
#define CALL_MOST 20000u /* 1/20000 s: a call that took longer was interrupted */

static uint64_t overhead_cpu_ns(void)
{
	struct __kernel_timespec ts;

	if (mp_sys(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, (long)&ts, 0, 0, 0, 0) < 0)
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void overhead_begin(struct mp_overhead *o, uint64_t end, uint64_t cpu, uint64_t spent)
{
	o->measured = 1;
	o->end = end;
	o->cpu_from = cpu;
	o->spent_from = spent;
}

static int overhead_is_over(const struct mp_overhead *o, uint64_t cpu, uint64_t spent)
{
	const uint64_t hz = mp_file.header->clock_hz, all = cpu - o->cpu_from;
	const uint64_t own =
	    (uint64_t)((unsigned __int128)(spent - o->spent_from) * 1000000000u / (hz ? hz : 1));
	const uint64_t program = all > own ? all - own : 0;

	return own > FREE_NS && own - FREE_NS > program / 100 * mp_config.overhead;
}

/* Returns 1 to change to samples. */
static int overhead_look(struct mp_overhead *o, uint64_t now, uint64_t spent)
{
	struct mprof_file_header *h = mp_file.header;
	const uint64_t cpu = overhead_cpu_ns();
	uint64_t end = __atomic_load_n(&h->log_end, __ATOMIC_RELAXED), none = 0;

	/* Another process may have ended the events, or the size of the file may have. */
	if (!o->measured || o->end != end) {
		overhead_begin(o, end, cpu, spent);
		return 0;
	}
	if (!cpu || !overhead_is_over(o, cpu, spent))
		return 0;
	if (!end && !o->stepped) {
		o->stepped = 1;
		__atomic_fetch_add(&mp_local->log_steps, 1, __ATOMIC_RELAXED);
		overhead_begin(o, end, cpu, spent);
		return 0;
	}
	if (end) {
		__atomic_compare_exchange_n(&h->sampled_from, &none, now, 0, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
		return 1;
	}
	if (__atomic_compare_exchange_n(&h->log_end, &end, now, 0, __ATOMIC_RELEASE,
					__ATOMIC_RELAXED))
		h->log_end_why = MPROF_LOG_END_OVERHEAD;
	return 0;
}

int mp_overhead_spent(uint64_t now, uint64_t ticks, uint32_t calls)
{
	struct mp_overhead *o = &mp_local->overhead;
	const uint64_t hz = mp_file.header ? mp_file.header->clock_hz : 0, most = hz / CALL_MOST;
	const uint64_t spent =
	    __atomic_add_fetch(&o->spent, (ticks < most ? ticks : most) * calls, __ATOMIC_RELAXED);
	uint64_t due = __atomic_load_n(&o->due, __ATOMIC_RELAXED);

	if (!hz || now < due ||
	    !__atomic_compare_exchange_n(&o->due, &due, now + hz / LOOKS, 0, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return 0;
	return mp_recording() && overhead_look(o, now, spent);
}
