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
#include <signal.h>
#include <sys/prctl.h>

#include "config.h"
#include "core.h"
#include "file.h"
#include "local.h"
#include "process.h"
#include "real_libc.h"
#include "sys.h"

#define GIVE_UP_NS  4000000000u /* without a sign of mprof */
#define LOOK_NS	    50000000
#define REPEAT_NS   200000000 /* one request to end may come as two signals: of timeout, shells */
#define BIT(signal) (1ull << ((signal)-1))
#define FAULTS	    (BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | BIT(SIGFPE))
#define END_SIGNALS (BIT(SIGHUP) | BIT(SIGINT) | BIT(SIGQUIT) | BIT(SIGTERM)) /* "end now" */

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

/* Others that end need not find out for themselves.  An mprof that was only slow counts on from 0.
 */
static void examined_give_up(struct mprof_file_header *h, uint32_t beat)
{
	__atomic_compare_exchange_n(&h->examiner, &beat, MPROF_EXAMINER_GONE, 0, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
}

static int examined_claim(struct mprof_file_header *h, uint32_t number, const void *context)
{
	uint32_t none = 0;

	if (!__atomic_compare_exchange_n(&h->waiting, &none, number | MPROF_WAITING_CLAIMED, 0,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return 0;
	h->waiting_tid = sys_gettid();
	h->waiting_exit = context ? 0 : (uintptr_t)mp_next()->exit;
	h->waiting_context = (uintptr_t)context;
	__atomic_store_n(&h->waiting, number, __ATOMIC_RELEASE);
	examined_wake(h);
	return 1;
}

static uint64_t examined_pending(void)
{
	uint64_t pending = 0;

	mp_sys(SYS_rt_sigpending, (long)&pending, sizeof(pending), 0, 0, 0, 0);
	return pending;
}

static uint64_t began; /* when the process exited, or a signal came that ends it */

static int examined_is_repeated(void)
{
	return mp_clock_monotonic_ns() - __atomic_load_n(&began, __ATOMIC_RELAXED) < REPEAT_NS;
}

/* Is there a signal that asks the process to end at once? */
static int examined_is_urged(void)
{
	const struct timespec none = { 0, 0 };
	const uint64_t ends = END_SIGNALS;

	while (examined_pending() & END_SIGNALS) {
		if (!examined_is_repeated())
			return 1;
		mp_sys(SYS_rt_sigtimedwait, (long)&ends, 0, (long)&none, sizeof(ends), 0, 0);
	}
	return 0;
}

static void examined_wait(struct mprof_file_header *h, const void *context)
{
	const uint32_t number = mp_local->process;
	uint32_t beat = 0, now, value, mine = 0;
	uint64_t seen = mp_clock_monotonic_ns();

	while (!mp_file.broken && !examined_is_urged()) {
		now = __atomic_load_n(&h->examiner, __ATOMIC_RELAXED);
		if (now != beat)
			seen = mp_clock_monotonic_ns();
		beat = now;
		if (mp_clock_monotonic_ns() - seen > GIVE_UP_NS)
			examined_give_up(h, now);
		if (__atomic_load_n(&h->examiner, __ATOMIC_RELAXED) == MPROF_EXAMINER_GONE)
			break;
		value = __atomic_load_n(&h->waiting, __ATOMIC_ACQUIRE);
		if (mine && value != number)
			return;
		if (!value && examined_claim(h, number, context))
			mine = value = number;
		examined_look(h, value);
	}
	value = number;
	if (mine && __atomic_compare_exchange_n(&h->waiting, &value, 0, 0, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
		examined_wake(h);
}

/*
 * A signal that comes now, as from a timer, would come too late if nobody examined the process, so
 * it stays blocked.  One that asks the process to end does so at once, unless it repeats the one
 * that made it end.
 */
static void examined_end(const void *context)
{
	struct mprof_file_header *h = mp_file.header;
	uint64_t signals;

	if (!mp_config.reach || !h || mp_file_is_profile())
		return;
	/* The one that examines is a child of mprof, so not an ancestor of this process. */
	mp_sys(SYS_prctl, PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0, 0);
	mp_signals_block(&signals);
	examined_wait(h, context);
	signals |= examined_pending() & ~END_SIGNALS;
	mp_signals_restore(&signals);
}

static uint32_t ending; /* pid of the process that ends */
static uint32_t done;	/* has it been examined? */
static int ending_tid;	/* of the thread that waited for that */

/* Returns 0 if it has begun before. */
static int examined_begin(void)
{
	const uint32_t self = (uint32_t)sys_getpid();

	if (__atomic_load_n(&ending, __ATOMIC_RELAXED) != self) {
		__atomic_store_n(&done, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&began, mp_clock_monotonic_ns(), __ATOMIC_RELAXED);
	}
	if (__atomic_exchange_n(&ending, self, __ATOMIC_ACQ_REL) == self)
		return 0;
	__atomic_store_n(&ending_tid, sys_gettid(), __ATOMIC_RELAXED);
	return 1;
}

/* The cause of one fault is often that of others: they wait until the first one is examined, but
 * not for ever. */
static void examined_await(void)
{
	const uint64_t since = mp_clock_monotonic_ns();
	const struct timespec most = { 0, LOOK_NS / 10 };

	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE) &&
	       __atomic_load_n(&ending_tid, __ATOMIC_RELAXED) != sys_gettid() &&
	       mp_clock_monotonic_ns() - since < GIVE_UP_NS)
		mp_sys(SYS_futex, (long)&done, FUTEX_WAIT, 0, (long)&most, 0, 0);
}

void mp_examined_wait(void)
{
	examined_begin();
	examined_end(NULL);
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
}

/* A second signal ends the process at once, in whatever thread. */
int mp_examined_signal(int number, const void *context)
{
	if (!mp_process_is_self())
		return 1;
	if (!examined_begin()) {
		if (BIT(number) & FAULTS)
			examined_await();
		return !(BIT(number) & END_SIGNALS && examined_is_repeated());
	}
	examined_end(context);
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
	return 1;
}
