// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * undisturbed.c - an empty restartable sequence that notices when a thread loses its processor.
 */
#include "undisturbed.h"

#include <mprof/module.h>
#include <stddef.h>
#include <stdint.h>

#include "sys.h"

#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

#ifdef RSEQ_SIG
#pragma weak __rseq_offset
#pragma weak __rseq_size

/* The kernel requires the signature before the address where an interrupted sequence continues. */
static const uint32_t continues[2] = { RSEQ_SIG };
static const struct rseq_cs empty = {
	.start_ip = (uintptr_t)&continues[1],
	.abort_ip = (uintptr_t)&continues[1],
};

static uint64_t *rseq_current(void)
{
	/* Absent from older C libraries; the size is 0 if the kernel or the user refused it. */
	if (!&__rseq_size || !__rseq_size)
		return NULL;
	return (uint64_t *)((char *)__builtin_thread_pointer() + __rseq_offset +
			    offsetof(struct rseq, rseq_cs));
}

/* Since Linux 6.19 a thread that loses its processor in a system call, where no sequence can be,
 * may keep its reference: one that waited for a lock would seem to have run. */
static int kernel_tells(void)
{
	char name[6][65]; /* struct utsname of the kernel */
	unsigned version[2] = { 0, 0 }, part = 0;

	if (mp_sys(SYS_uname, (long)name, 0, 0, 0, 0, 0) != 0)
		return 0;
	for (const char *p = name[2]; *p; p++) {
		if (*p >= '0' && *p <= '9')
			version[part] = version[part] * 10 + (unsigned)(*p - '0');
		else if (*p != '.' || ++part == 2)
			break;
	}
	return version[0] < 6 || (version[0] == 6 && version[1] < 19);
}

int mp_undisturbed_known(void)
{
	return rseq_current() && kernel_tells();
}

void mp_undisturbed_watch(void)
{
	uint64_t *current = rseq_current();

	if (current)
		__atomic_store_n(current, (uintptr_t)&empty, __ATOMIC_RELAXED);
}

int mp_undisturbed(void)
{
	uint64_t *current = rseq_current();

	if (!current || __atomic_load_n(current, __ATOMIC_RELAXED) != (uintptr_t)&empty)
		return 0;
	__atomic_store_n(current, 0, __ATOMIC_RELAXED);
	return 1;
}
#else
int mp_undisturbed_known(void)
{
	return 0;
}

void mp_undisturbed_watch(void) {}

int mp_undisturbed(void)
{
	return 0;
}
#endif
