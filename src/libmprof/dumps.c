// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * dumps.c - summaries while the program runs: on a signal, after and every N seconds, and when
 * memory exceeds a limit.
 *
 * No thread waits for any of these: a MODE compares the clock that it reads anyway with dump_due,
 * and the first thread that allocates checks the limits, and writes the dump before its own call
 * counts.  A thread that frees only closes steps of the course.  The signal handler writes at once,
 * whatever its thread was doing, because a summary reads the file and nothing of the thread.
 *
 * Limits on memory are checked every LOOKS-th of a second, those on calls and stacks at each call.
 */
#include <errno.h>
#include <mprof/filters.h>
#include <mprof/module.h>
#include <mprof/signals.h>

#include "config.h"
#include "core.h"
#include "facts.h"
#include "file.h"
#include "local.h"
#include "process.h"
#include "stack_parts.h"
#include "status.h"
#include "sys.h"
#include "text.h"

#define LOOKS 100

/* Dumps when a figure exceeds `limit`, and again after it has fallen a tenth below. */
struct trigger {
	const char *why;
	uint64_t limit; /* 0 if none */
	uint32_t passed;
};
enum { REQUESTED, RSS, VIRTUAL, SYSTEM, GROUP, STACK, TRIGGERS };
static struct trigger triggers[TRIGGERS] = {
	[REQUESTED] = { .why = "requested memory" },
	[RSS] = { .why = "resident memory" },
	[VIRTUAL] = { .why = "virtual memory" },
	[SYSTEM] = { .why = "memory of the system" },
	[GROUP] = { .why = "memory of the control group" },
	[STACK] = { .why = "stack of a thread" },
};

static uint64_t second; /* all in ticks */
static uint64_t due = UINT64_MAX, next_time = UINT64_MAX, next_look = UINT64_MAX;
static uint64_t next_step = UINT64_MAX; /* UINT64_MAX also while a thread closes a step */
static uint64_t period, last;		/* of dumps; when a limit or peak last caused one */
static uint32_t each_call;
static uint64_t calls;
static int64_t last_peak;

static void dump(const char *why)
{
	if (mp_recording() && mp_local->alive && mp_local->pid == sys_getpid())
		mp_summary_write(mp_config.dump,
				 (int)__atomic_add_fetch(&mp_local->dumps, 1, __ATOMIC_RELAXED),
				 why);
}

static void on_signal(int signal_number)
{
	int saved = errno;

	(void)signal_number;
	dump(NULL);
	errno = saved;
}

const uint64_t *mp_dump_due(void)
{
	return &due;
}

/* ---- limits ---- */

static void dump_passed(struct trigger *t, uint64_t now)
{
	char buffer[80];
	struct text why = text_on(buffer, sizeof(buffer));

	text_string(&why, t->why);
	text_string(&why, " above ");
	text_number(&why, t->limit);
	text_string(&why, " bytes");
	last = now;
	dump(buffer);
}

/* Allows at most one dump a second; a limit that is exceeded in between is noticed afterwards. */
static int may_dump(uint64_t now)
{
	return !last || now - last >= second;
}

static void look_at(struct trigger *t, uint64_t value, uint64_t now)
{
	if (value < t->limit - t->limit / 10)
		__atomic_store_n(&t->passed, 0, __ATOMIC_RELAXED);
	else if (value > t->limit && may_dump(now) &&
		 !__atomic_exchange_n(&t->passed, 1, __ATOMIC_RELAXED))
		dump_passed(t, now);
}

static void look_at_peak(int64_t peak, uint64_t now)
{
	if (!mp_config.dump_peak || peak <= 0 || !may_dump(now) ||
	    (last_peak &&
	     (peak - last_peak) / (double)last_peak * 100 < (double)mp_config.dump_peak))
		return;
	last_peak = peak;
	last = now;
	dump("new peak");
}

static void look(uint64_t now, const struct mprof_heap_totals *heap)
{
	const int64_t live = __atomic_load_n(&heap->live_bytes, __ATOMIC_RELAXED);
	uint64_t mapped, resident, used;

	if (triggers[REQUESTED].limit)
		look_at(&triggers[REQUESTED], live > 0 ? (uint64_t)live : 0, now);
	if ((triggers[RSS].limit || triggers[VIRTUAL].limit) &&
	    mp_memory_pages(&mapped, &resident) == 0) {
		if (triggers[RSS].limit)
			look_at(&triggers[RSS], resident * mp_page(), now);
		if (triggers[VIRTUAL].limit)
			look_at(&triggers[VIRTUAL], mapped * mp_page(), now);
	}
	if (triggers[SYSTEM].limit && mp_system_used(&used) == 0)
		look_at(&triggers[SYSTEM], used, now);
	if (triggers[GROUP].limit && mp_group_used(&used) == 0)
		look_at(&triggers[GROUP], used, now);
	look_at_peak(__atomic_load_n(&heap->peak_bytes, __ATOMIC_RELAXED), now);
}

/* Dumps again when a stack is a tenth larger than at the last dump.  Threads take turns. */
static void look_at_stack(uint64_t now)
{
	static __thread uintptr_t low, high;
	struct trigger *t = &triggers[STACK];
	const uintptr_t sp = mprof_stack();
	struct area area;

	if (sp < low || sp >= high) {
		if (mp_area(sp, &area) < 0)
			return;
		low = area.low;
		high = area.high;
	}
	if (high - sp <= t->limit)
		return;
	dump_passed(t, now);
	t->limit = high - sp + (high - sp) / 10;
}

/* ---- when ---- */

static int is_due(uint64_t *at, uint64_t now, uint64_t step)
{
	uint64_t then = __atomic_load_n(at, __ATOMIC_RELAXED);

	return now >= then && __atomic_compare_exchange_n(at, &then, now + step, 0,
							  __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void look_at_time(uint64_t now, struct mprof_heap_totals *heap, void (*sum)(int past))
{
	uint64_t then = __atomic_load_n(&next_step, __ATOMIC_RELAXED);

	if (now >= then && __atomic_compare_exchange_n(&next_step, &then, UINT64_MAX, 0,
						       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		__atomic_store_n(&next_step, mp_course_look(now, heap, sum), __ATOMIC_RELEASE);
}

static void set_due(void)
{
	uint64_t next = next_look < next_time ? next_look : next_time;

	next = next_step < next ? next_step : next;
	__atomic_store_n(&due, each_call ? 0 : next, __ATOMIC_RELAXED);
}

void mp_dump(uint64_t now, struct mprof_heap_totals *heap, void (*sum)(int past))
{
	if (triggers[STACK].limit)
		look_at_stack(now);
	if (mp_config.dump_calls) {
		uint64_t before = __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);

		if (before && before % mp_config.dump_calls == 0)
			dump("number of calls");
	}
	if (is_due(&next_time, now, period))
		dump(NULL);
	if (is_due(&next_look, now, second / LOOKS))
		look(now, heap);
	look_at_time(now, heap, sum);
	set_due();
}

void mp_step(uint64_t now, struct mprof_heap_totals *heap, void (*sum)(int past))
{
	look_at_time(now, heap, sum);
	set_due();
}

/* In the child no thread will close the step that another thread of the parent was closing. */
void mp_dumps_forked(void)
{
	next_step = 0;
	due = 0;
}

/* A control group may use less than the machine has: a percentage is of its limit, too. */
static void group_start(void)
{
	const char *said = mp_config.dump_system;
	const size_t n = text_length(said);

	if (n && said[n - 1] == '%')
		mprof_amount(said, mp_group_limit(), &triggers[GROUP].limit);
}

static void limits_start(void)
{
	const char *const said[TRIGGERS] = {
		[REQUESTED] = mp_config.dump_requested, [RSS] = mp_config.dump_rss,
		[VIRTUAL] = mp_config.dump_virtual,	[SYSTEM] = mp_config.dump_system,
		[STACK] = mp_config.dump_stack,
	};
	const uint64_t memory = mp_system_memory();
	int looks = mp_config.dump_peak != 0;

	group_start();
	for (int i = 0; i < TRIGGERS; i++) {
		if (said[i])
			mprof_amount(said[i], memory, &triggers[i].limit);
		looks |= i != STACK && triggers[i].limit;
	}
	each_call = mp_config.dump_calls || triggers[STACK].limit;
	if (looks)
		next_look = 0;
}

static void times_start(void)
{
	const uint64_t every = mp_config.dump_every * second;
	const uint64_t first = mp_config.dump_after ? mp_config.dump_after * second : every;

	if (first)
		next_time = mprof_ticks() + first;
	period = every ? every : UINT64_MAX / 2;
}

void mp_course_start(void)
{
	next_step = due = 0;
}

static int is_ours_to_take(const struct sigaction *a)
{
	return !(a->sa_flags & SA_SIGINFO) &&
	       (a->sa_handler == SIG_DFL || a->sa_handler == SIG_IGN);
}

/* If the program has installed a handler for the signal, leaves it in place. */
void mp_dumps_start(void)
{
	struct sigaction old, ours = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	int number = mprof_signal_number(mp_config.dump_signal);

	second = mp_file.header->clock_hz;
	times_start();
	limits_start();
	mp_course_start();
	if (number > 0 && sigaction(number, NULL, &old) == 0 && is_ours_to_take(&old))
		sigaction(number, &ours, NULL);
}

void mp_dumps_end(void)
{
	const int number = mprof_signal_number(mp_config.dump_signal);
	char buffer[96];
	struct text why = text_on(buffer, sizeof(buffer));
	struct sigaction now;

	if (number <= 0 || sigaction(number, NULL, &now) != 0 || is_ours_to_take(&now) ||
	    now.sa_handler == on_signal)
		return;
	text_string(&why, "the program handles signal ");
	text_string(&why, mp_config.dump_signal);
	text_string(&why, " itself, so it writes no dump on it");
	mp_fact_remark(buffer);
}
