// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * peak.c - when this process was largest.
 *
 * The kernel keeps the process's largest resident size, its high-water mark, but not when it
 * occurred.  So the mark is read whenever memory may be about to fall (before a large block or a
 * mapping goes), after it has grown, at the end of a slot and at the end of the process.  A mark
 * that has risen since the previous look rose between the two looks: the last rise brackets the
 * time of the peak.
 *
 * A look costs about 0.3 us, and 1.5 us more when the mark has risen and is written.  A look must
 * wait until the one before it amounts to no more than one part in COST_SHARE of the time, which
 * bounds the cost of a loop around a large free. A look that is left out only widens the bracket,
 * since marks never fall.
 *
 * ru_maxrss belongs to the process, not to the program: after exec it still has the mark of the
 * previous program, and a child of vfork or posix_spawn has its parent's.  While such a mark hides
 * ours, VmHWM is read instead, which takes a descriptor for a moment: not with several threads (see
 * mp_sample_maybe).
 *
 * Each program of a process has one extent, which is overwritten each time: two samples, the look
 * before the last rise and the look that saw it.
 */
#include <mprof/module.h>
#include <sys/resource.h>

#include "core.h"
#include "file.h"
#include "local.h"
#include "peak.h"
#include "status.h"
#include "sys.h"

#define COST_SHARE  50
#define BESIDES	    2000000 /* 1/2000000 s: what a system call costs the program in addition */
#define LARGE	    65536u  /* bytes: freeing smaller blocks returns little memory */
#define CPU_THREADS 256u    /* with more, the kernel takes too long to sum their times */

/* A power of two, so that it lies in one page of the file and is never half written. */
#define EXTENT_BYTES 256u

static uint64_t second;	   /* in ticks; 0: no looks in this run */
static uint64_t break_was; /* where the break was when the program began */

static uint64_t peak_break_now(void)
{
	return (uint64_t)mp_sys(SYS_brk, 0, 0, 0, 0, 0, 0);
}

/* Returns this program's mark in bytes; 0 if it is unknown at the moment. */
static uint64_t peak_mark(struct mp_peak *p)
{
	struct rusage ru;
	uint64_t bytes;

	/* The mark is of the whole process; RUSAGE_THREAD avoids adding up its threads' times. */
	if (sys_getrusage(RUSAGE_THREAD, &ru) < 0)
		return 0;
	bytes = (uint64_t)ru.ru_maxrss * 1024;
	if (bytes > p->hidden)
		p->hidden = 0;
	if (!p->hidden)
		return bytes;
	return mp_local->live_threads > 1 ? 0 : mp_high_water();
}

static void peak_usage(struct mprof_sample *s)
{
	struct rusage ru;

	if (mp_local->live_threads > CPU_THREADS || sys_getrusage(RUSAGE_SELF, &ru) < 0)
		return;
	s->cpu_ns = ((uint64_t)ru.ru_utime.tv_sec + (uint64_t)ru.ru_stime.tv_sec) * 1000000000u +
		    ((uint64_t)ru.ru_utime.tv_usec + (uint64_t)ru.ru_stime.tv_usec) * 1000u;
	s->minor_faults = (uint64_t)ru.ru_minflt;
}

static void peak_write_rise(struct mp_peak *p, uint64_t ticks, uint64_t bytes)
{
	struct {
		struct mprof_extent x;
		struct mprof_sample before, after;
		uint8_t pad[EXTENT_BYTES - sizeof(struct mprof_extent) -
			    2 * sizeof(struct mprof_sample)];
	} all = { .before = { .ticks = p->looked, .peak_rss = p->most },
		  .after = { .ticks = ticks, .peak_rss = bytes } };

	if (!p->offset)
		p->offset = mp_extent_take(EXTENT_BYTES, EXTENT_BYTES);
	if (!p->offset)
		return;
	peak_usage(&all.after);
	all.after.arena = peak_break_now() - break_was;
	mp_extent_fill(&all.x, MPROF_EXTENT_SAMPLE, p->offset, EXTENT_BYTES, 0);
	all.x.used = 2 * sizeof(struct mprof_sample);
	all.x.check = mprof_checksum(&all.before, all.x.used);
	mp_file_write(p->offset, &all, sizeof(all));
}

/* One thread at a time; a look that a signal handler jumped out of expires after a second. */
static int peak_look_begin(struct mp_peak *p, uint64_t now)
{
	uint64_t other = __atomic_load_n(&p->at_it, __ATOMIC_RELAXED);

	return (!other || now - other > second) &&
	       __atomic_compare_exchange_n(&p->at_it, &other, now, 0, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/*
 * Returns when the next look may be: when this one is paid for, beyond a credit of one millisecond
 * of looks.
 */
static uint64_t peak_pay(uint64_t from, uint64_t began, uint64_t now)
{
	uint64_t cost = now - began, most = second / 5000, credit = COST_SHARE * (second / 1000);

	/* More than that was not our cost: the thread was preempted. */
	cost = COST_SHARE * ((cost < most ? cost : most) + second / BESIDES);
	return (from + credit < now ? now - credit : from) + cost;
}

/* known: the mark, or 0 to ask for it. */
static void peak_look(struct mp_peak *p, uint64_t now, uint64_t known)
{
	uint64_t bytes, after;

	if (!peak_look_begin(p, now))
		return;
	bytes = known ? known : peak_mark(p);
	after = mprof_ticks();
	if (bytes > p->most) {
		peak_write_rise(p, after, bytes);
		p->most = bytes;
	}
	if (bytes)
		p->looked = after;
	p->next[0] = after + second / 100;
	p->next[1] = peak_pay(p->next[1], now, mprof_ticks());
	__atomic_store_n(&p->at_it, 0, __ATOMIC_RELEASE);
}

static struct mp_peak *peak_local(void)
{
	return second && mp_recording() && mp_local && mp_local->process ? &mp_local->peak : NULL;
}

int mp_peak_look(unsigned large, uint64_t now)
{
	struct mp_peak *p = &mp_local->peak;

	if (mprof_likely(now < p->next[large]) || !peak_local())
		return 0;
	peak_look(p, now, 0);
	return 1;
}

const uint64_t *mp_peak_times(void)
{
	return mp_local->peak.next;
}

void mp_peak_falls(size_t bytes)
{
	if (bytes >= LARGE && peak_local())
		mp_peak_look(1, mprof_ticks());
}

uint64_t mp_peak_last(void)
{
	struct mp_peak *p = peak_local();
	struct rusage ru;

	if (!p)
		return sys_getrusage(RUSAGE_THREAD, &ru) < 0 ? 0 : (uint64_t)ru.ru_maxrss * 1024;
	peak_look(p, mprof_ticks(), 0);
	return p->most;
}

void mp_peak_begin(int forked)
{
	const struct mprof_file_header *h = mp_file.header;
	struct mp_peak *p = &mp_local->peak;
	struct rusage ru;
	uint64_t mark = 0;

	if (__builtin_memcmp(h->magic, MPROF_MAGIC_TRACE, MPROF_MAGIC_SIZE))
		return;
	if (!forked) {
		second = h->clock_hz;
		break_was = mp_break_start();
		break_was = break_was ? break_was : peak_break_now();
		if (sys_getrusage(RUSAGE_THREAD, &ru) == 0)
			p->hidden = (uint64_t)ru.ru_maxrss * 1024;
		/* Reading it costs as much as all the rest. */
		mark = mp_high_water();
		if (p->hidden <= mark) {
			mark = p->hidden;
			p->hidden = 0;
		}
	}
	if (peak_local())
		peak_look(p, mprof_ticks(), mark);
}
