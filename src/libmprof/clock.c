// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * clock.c - the run's clock: the CPU's counter if it is invariant and the kernel trusts it, else
 * CLOCK_MONOTONIC.  All threads of all processes read the same clock, so events are ordered
 * correctly across them.
 */
#include <mprof/module.h>
#include <time.h>

#include "core.h"
#include "sys.h"

/* Through libc for its vDSO; clock_gettime sets no errno and takes no lock. */
static uint64_t now_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t mp_clock_monotonic_ns(void)
{
	return now_ns(CLOCK_MONOTONIC);
}

uint64_t mp_clock_real_ns(void)
{
	return now_ns(CLOCK_REALTIME);
}

/* Counts for 50 us: accurate to about 0.1 %.  Readers compute it more exactly from the facts. */
uint64_t mp_clock_hz(void)
{
	uint64_t ns0 = mp_clock_monotonic_ns(), t0 = mprof_ticks(), ns, t;

	if (mprof_core.clock == MPROF_CLOCK_MONOTONIC)
		return 1000000000u;
	do {
		ns = mp_clock_monotonic_ns();
		t = mprof_ticks();
	} while (ns - ns0 < 50000);
	return (uint64_t)((unsigned __int128)(t - t0) * 1000000000u / (ns - ns0));
}

#if defined(__x86_64__)
static int tsc_is_good(void)
{
	unsigned a = 0x80000007u, b, c = 0, d;
	char name[32];
	long n;
	int fd;

	__asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	if (!(d & (1u << 8)))
		return 0;
	/* A kernel that fell back to hpet, acpi_pm or jiffies found that the counters differ. */
	fd = sys_open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		      O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return 1;
	n = sys_read(fd, name, sizeof(name) - 1);
	sys_close(fd);
	name[n > 0 ? n : 0] = 0;
	return !(name[0] == 'h' && name[1] == 'p') && !(name[0] == 'a' && name[1] == 'c') &&
	       name[0] != 'j';
}
#endif

/*
 * Makes a tick of a fast counter 2 to 4 ns: shorter than any handover of an address between threads
 * takes, and long enough that 12 bits span 8 us.  60 bits then span 73 years, also where the
 * counter has the nanoseconds since 1970 (qemu 8 and later, as aarch64).
 */
static unsigned shift_of(uint64_t hz)
{
	unsigned shift = 0;

	while (hz >> shift > 500000000u)
		shift++;
	return shift;
}

void mp_clock_choose(void)
{
#if defined(__x86_64__)
	uint64_t ns0, t0, ns, hz;

	if (!tsc_is_good())
		return;
	ns0 = mp_clock_monotonic_ns();
	t0 = __builtin_ia32_rdtsc();
	do
		ns = mp_clock_monotonic_ns();
	while (ns - ns0 < 2000);
	hz = (__builtin_ia32_rdtsc() - t0) * 1000000000u / (ns - ns0);
	mprof_core.clock_shift = shift_of(hz);
	mprof_core.clock = MPROF_CLOCK_TSC;
#elif defined(__aarch64__)
	uint64_t hz;

	__asm__("mrs %0, cntfrq_el0" : "=r"(hz)); /* 24 MHz to 1 GHz */
	mprof_core.clock_shift = shift_of(hz & UINT32_MAX);
	mprof_core.clock = MPROF_CLOCK_CNTVCT;
#endif
}
