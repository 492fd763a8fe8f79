// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * times.c - how long calls of the allocator take.
 *
 * A thread's turn comes after a random number of its calls.  The functions that stand in for the
 * allocator's are then in mprof_core.real until the thread has made a few more calls, one of which
 * is timed: not the next one, whose function depends on the call that noticed the turn, and whose
 * code and data that may have displaced from the caches.  Any thread may call them meanwhile; they
 * pass on the calls of others.  Pointers are replaced one by one, so some calls may miss them. They
 * are put back after the call was timed: until other processors have given up the cache lines, what
 * follows such stores may take 100 ns longer.
 *
 * Reading the clock costs something, which is measured beside each call and left to the reader to
 * subtract.  A call that takes long may have been interrupted, or wait.  If that can be noticed
 * (undisturbed.h), the time of other calls counts, and after an interrupted one, the thread's CPU
 * time limits what is counted of the next few.  Where it cannot be noticed, CPU time limits all
 * that follow a long call for some time.  It is then read at the turn, a few calls before: what
 * follows a system call takes 100 ns longer, until the processor has learnt again which branches
 * the code takes.
 */
#include <linux/time_types.h>
#include <mprof/chance.h>
#include <time.h>

#include "config.h"
#include "core.h"
#include "file.h"
#include "local.h"
#include "slots.h"
#include "sys.h"
#include "times.h"
#include "undisturbed.h"

#define RECORD (sizeof(struct mprof_extent) + sizeof(struct mprof_times))
MPROF_STATIC_ASSERT(RECORD % MP_RECORD == 0, "units of mp_record_take()");
#define KEPT	  1024u	   /* threads whose calls are timed, of each process */
#define WORDS	  512u	   /* between two turns of a thread, on average */
#define NEAR	  8u	   /* calls from a turn to the timed call, at most */
#define LONG_PER  200000u  /* 1/200000 s: a call that took longer may have been interrupted */
#define LOOKS	  100u	   /* a second, at most */
#define CPU_LEAST 1000000u /* ns; a process that used less keeps no record for that alone */
/* Timed calls that are compared with CPU time after such a call. */
#define SOON	  4096u
#define SOON_SEEN 64u /* ... and after one that was interrupted, if interruptions are noticed */

struct mprof_real mp_untimed MP_HIDDEN;
static struct mprof_real timed;
static uint32_t on;
static int notices;	 /* interruptions: mp_undisturbed() */
static uint64_t longest; /* in steps; longer ones are compared with CPU time */
static uint64_t hz;	 /* steps a second */

/*
 * The clock in its finest steps.  Processors execute instructions out of order, so without barriers
 * much of a short call would take place outside the two readings.
 */
MPROF_HOT uint64_t times_clock(void)
{
	uint64_t at;

#if defined(__x86_64__)
	if (mprof_likely(mprof_core.clock == MPROF_CLOCK_TSC)) {
		__builtin_ia32_lfence();
		at = __builtin_ia32_rdtsc();
		__builtin_ia32_lfence();
		return at;
	}
	return mprof_ticks();
#else
	__asm__ volatile("isb" : : : "memory");
	at = mprof_ticks();
	__asm__ volatile("isb" : : : "memory");
	return at;
#endif
}

/* ---- which functions are in place ---- */

/* Other threads may do the same, or read: any mixture of the two tables is valid. */
static void times_use(const struct mprof_real *functions)
{
#define MPROF_MALLOC(id, code, name, class, shape, found) \
	__atomic_store_n(&mprof_core.real.name, functions->name, __ATOMIC_RELAXED);
#include <mprof/functions.def>
}

/* ---- a timed call ---- */

struct timing {
	uint64_t from, to;
	int may;
};

/* Not once recording is suspended: the program may have forbidden the clock (seccomp.c). */
static int times_may_read(void)
{
	return mp_table() != &mp_pass_api;
}

static uint64_t times_cpu_ns(int clock)
{
	struct __kernel_timespec ts;

	if (!times_may_read() || mp_sys(SYS_clock_gettime, clock, (long)&ts, 0, 0, 0, 0) < 0)
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static __attribute__((noinline)) void times_begin(struct mprof_thread *t, struct timing *timing)
{
	timing->may = times_may_read();
	if (!notices)
		return;
	t->time_cpu = timing->may && t->time_long ? times_cpu_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
	mp_undisturbed_watch();
}

/* Inlined: between the two readings is nothing but the call, as in times_cost(). */
static inline __attribute__((always_inline)) uint64_t times_read(const struct timing *timing)
{
	return mprof_likely(timing->may) ? times_clock() : 0;
}

/* How much of a long and perhaps interrupted call counts. */
static uint64_t times_of_long(struct mprof_thread *t, uint64_t steps)
{
	const uint64_t cpu_ns = t->time_cpu;
	const uint64_t now = cpu_ns ? times_cpu_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
	uint64_t used = longest;

	t->time_long = notices ? SOON_SEEN : SOON;
	if (now > cpu_ns)
		used = (uint64_t)((unsigned __int128)(now - cpu_ns) * hz / 1000000000u);
	return steps < used ? steps : used;
}

static void times_add(struct mprof_times_fn *f, uint64_t steps)
{
	const double square = (double)steps * (double)steps;

	f->ticks += steps;
	f->squares += square;
	if (steps > f->most)
		f->most = steps;
	f->calls++;
}

static __attribute__((noinline)) void times_nothing(void)
{
	__asm__ volatile("");
}

/* Times a call of a function that does nothing: what reading the clock costs here and now. */
static uint64_t times_cost(void)
{
	static void (*volatile nothing)(void) = times_nothing;
	const uint64_t from = times_clock();

	nothing();
	return times_clock() - from;
}

static void times_measure(unsigned fn, const struct timing *timing)
{
	struct mprof_thread *t = mprof_self;
	uint64_t steps = timing->to - timing->from;
	const int undisturbed = notices && mp_undisturbed();
	const uint64_t cost = times_cost();

	if (!t->times)
		return;
	if (cost < longest) {
		t->times->cost_calls++;
		t->times->cost_ticks += cost;
	}
	t->time_long -= t->time_long > 0;
	if (steps > longest && !undisturbed)
		steps = times_of_long(t, steps);
	times_add(&t->times->fn[fn], steps);
}

static __attribute__((noinline)) void times_end(unsigned fn, const struct timing *timing)
{
	if (timing->may && times_may_read())
		times_measure(fn, timing);
	times_use(&mp_untimed);
}

/* [hot] Is it this thread's turn now? */
MPROF_HOT int times_is_now(struct mprof_thread *t)
{
	return mprof_unlikely(t->time_in) && !--t->time_in;
}

#define TIMED(ret, id, name, params, args)                   \
	static ret timed_##name params                       \
	{                                                    \
		struct timing timing;                        \
		ret result;                                  \
                                                             \
		if (mprof_likely(!times_is_now(mprof_self))) \
			return mp_untimed.name args;         \
		times_begin(mprof_self, &timing);            \
		timing.from = times_read(&timing);           \
		result = mp_untimed.name args;               \
		timing.to = times_read(&timing);             \
		times_end(MPROF_FN_##id, &timing);           \
		return result;                               \
	}
#define TIMED_ALLOC(id, name, shape, params, args, ...)	  TIMED(void *, id, name, params, args)
#define TIMED_REALLOC(id, name, shape, params, args, ...) TIMED(void *, id, name, params, args)
#define TIMED_OUT(id, name, shape, params, args, ...)	  TIMED(int, id, name, params, args)
#define TIMED_FREE(id, name, shape, params, args, ...)         \
	static void timed_##name params                        \
	{                                                      \
		struct timing timing;                          \
                                                               \
		if (mprof_likely(!times_is_now(mprof_self))) { \
			mp_untimed.name args;                  \
			return;                                \
		}                                              \
		times_begin(mprof_self, &timing);              \
		timing.from = times_read(&timing);             \
		mp_untimed.name args;                          \
		timing.to = times_read(&timing);               \
		times_end(MPROF_FN_##id, &timing);             \
	}
#define TIMED_QUERY(id, name, ...)
#define MPROF_MALLOC(id, code, name, class, shape, found) MPROF_CALL_##shape(TIMED, id, name)
#include <mprof/functions.def>

/* ---- records ---- */

static struct mprof_times *times_take(const struct mprof_thread *t)
{
	struct mprof_extent *x, head;
	struct mprof_times *times;
	uint64_t offset;

	if (__atomic_add_fetch(&mp_local->times_taken, 1, __ATOMIC_RELAXED) > KEPT)
		return NULL;
	x = mp_record_take(RECORD / MP_RECORD, &offset);
	if (!x)
		return NULL;
	times = (struct mprof_times *)(x + 1);
	times->hz = hz;
	times->tid = t->tid;
	mp_extent_fill(&head, MPROF_EXTENT_TIMES, offset, RECORD, t->number);
	head.used = sizeof(*times);
	*x = head;
	if (!__atomic_load_n(&mp_local->times_first, __ATOMIC_RELAXED))
		__atomic_store_n(&mp_local->times_first, times, __ATOMIC_RELEASE);
	return times;
}

/* Processes without a timed call have CPU time, too, of which the allocator takes a part. */
void mp_times_look(void)
{
	struct mprof_thread *t = mprof_self;
	struct mprof_times *first;
	uint64_t cpu_ns;

	if (!mp_local || !on)
		return;
	cpu_ns = times_cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (cpu_ns <= mp_local->times_cpu_from)
		return;
	cpu_ns -= mp_local->times_cpu_from;
	if (!mp_local->times_first && t->number && !t->times && cpu_ns >= CPU_LEAST)
		t->times = times_take(t);
	first = mp_local->times_first;
	if (first)
		__atomic_store_n(&first->cpu_ns, cpu_ns, __ATOMIC_RELAXED);
}

/* Reads the CPU time of the process from time to time, in case it is killed. */
static void times_look_again(void)
{
	const uint64_t now = times_clock(), due = mp_local->times_due;

	if (now < due)
		return;
	__atomic_store_n(&mp_local->times_due, now + hz / LOOKS, __ATOMIC_RELAXED);
	mp_times_look();
}

/* ---- turns ---- */

void mp_times_turn(struct mprof_thread *t)
{
	const uint32_t threads = __atomic_load_n(&mp_local->live_threads, __ATOMIC_RELAXED);

	int first;

	if (!on) {
		t->time_left = UINT32_MAX;
		return;
	}
	first = !t->time_random;
	if (first)
		t->time_random = chance_start(mp_config.seed, mprof_ticks(), t->number);
	/* Replacing functions costs every running thread a cache miss. */
	t->time_left = (uint32_t)chance_even(&t->time_random, WORDS * (threads ? threads : 1));
	if (!first && !t->times)
		t->times = times_take(t);
	if (!t->times)
		return;
	times_look_again();
	t->time_cpu = t->time_long && !notices ? times_cpu_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
	t->time_in = 1 + (uint32_t)chance_even(&t->time_random, NEAR / 2);
	times_use(&timed);
}

/* ---- the start ---- */

void mp_times_start(void)
{
	if (!mp_file.header)
		return;
	mp_untimed = timed = mprof_core.real;
#define USE(id, name, ...)	   timed.name = timed_##name;
#define USE_ALLOC(id, name, ...)   USE(id, name)
#define USE_OUT(id, name, ...)	   USE(id, name)
#define USE_REALLOC(id, name, ...) USE(id, name)
#define USE_FREE(id, name, ...)	   USE(id, name)
#define USE_QUERY(id, name, ...)
#define MPROF_MALLOC(id, code, name, class, shape, found) MPROF_CALL_##shape(USE, id, name)
#include <mprof/functions.def>
	hz = mp_file.header->clock_hz;
#if defined(__x86_64__)
	if (mprof_core.clock == MPROF_CLOCK_TSC)
		hz <<= mprof_core.clock_shift;
#endif
	longest = hz / LONG_PER;
	notices = mp_undisturbed_known();
	mp_local->times_cpu_from = times_cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
	on = 1;
}
