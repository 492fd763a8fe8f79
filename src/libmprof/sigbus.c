// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * sigbus.c - survives truncation of the file under our mappings.
 *
 * A store to a mapped page beyond the end of its file raises SIGBUS, which would kill the program
 * because of us.  If the program left SIGBUS at its default, our handler replaces the mapping by
 * anonymous memory and marks the file broken; the next slow path ends recording. Any other SIGBUS
 * gets the default action, with its address.
 *
 * A program that installs a handler for SIGBUS replaces ours. Our handler only makes system calls.
 * It stays after mprof detached, because threads write to our mappings until they end; the copy of
 * the library that is attached next passes on what is not its own.
 */
#include <errno.h>
#include <mprof/module.h>
#include <signal.h>

#include "config.h"
#include "core.h"
#include "file.h"
#include "local.h"
#include "process.h"
#include "scopes.h"
#include "sys.h"

/*
 * First marks the file broken: another thread that faults in the same pages may find them replaced.
 */
static int sigbus_replace_if_in(uintptr_t at, void *base, size_t bytes)
{
	if (!base || at - (uintptr_t)base >= bytes)
		return 0;
	__atomic_store_n(&mp_file.broken, MPROF_LOST_FILE + 1, __ATOMIC_RELEASE);
	return !sys_failed(sys_mmap(base, bytes, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
}

/*
 * The parts of the file that this process has mapped, other than the header: /proc, which has them,
 * may be out of reach, as after chroot.  process: whose entry it is, in a forked child another's,
 * which has no such mapping; 0 or another's: free; CLAIMED: it is being filled.
 */
#define PARTS	1024u
#define CLAIMED UINT32_MAX

static struct part {
	uint32_t process;
	char *at;
	size_t bytes;
} parts[PARTS];

void mp_sigbus_cover(void *at, size_t bytes)
{
	const uint32_t process = mp_local->process;

	for (struct part *p = parts; p < parts + PARTS; p++) {
		uint32_t old = __atomic_load_n(&p->process, __ATOMIC_RELAXED);

		if (old == process || old == CLAIMED ||
		    !__atomic_compare_exchange_n(&p->process, &old, CLAIMED, 0, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		p->at = at;
		p->bytes = bytes;
		/* Pairs with the acquire in part_of(). */
		__atomic_store_n(&p->process, process, __ATOMIC_RELEASE);
		return;
	}
}

static struct part *part_of(uintptr_t at)
{
	for (struct part *p = parts; mp_local && p < parts + PARTS; p++)
		if (__atomic_load_n(&p->process, __ATOMIC_ACQUIRE) == mp_local->process &&
		    at - (uintptr_t)p->at < p->bytes)
			return p;
	return NULL;
}

void mp_sigbus_uncover(void *at)
{
	struct part *p = part_of((uintptr_t)at);

	if (p)
		__atomic_store_n(&p->process, 0, __ATOMIC_RELEASE);
}

/*
 * Replaces the page if `at` is in our memory.  Also if another thread has just done so: both
 * faulted in it.
 */
static int sigbus_is_ours(uintptr_t at)
{
	const struct part *p = part_of(at);
	uintptr_t low = at & -(uintptr_t)mp_page(), high = low + mp_page();

	if (!p)
		return sigbus_replace_if_in(at, mp_file.header, MPROF_HEADER_SIZE);
	/* Nothing beyond the mapping: with MP_FAKE_PAGE, the kernel's pages are smaller. */
	if (low < (uintptr_t)p->at)
		low = (uintptr_t)p->at;
	if (high > (uintptr_t)p->at + p->bytes)
		high = (uintptr_t)p->at + p->bytes;
	return sigbus_replace_if_in(at, (void *)low, high - low);
}

/* The handler that the library installed when it was attached before. */
static void (*earlier)(int signal_number, siginfo_t *info, void *context);

static void on_sigbus(int signal_number, siginfo_t *info, void *context)
{
	int saved = errno;
	struct sigaction dfl = { .sa_handler = SIG_DFL };

	if (info->si_code > 0 && sigbus_is_ours((uintptr_t)info->si_addr)) {
		errno = saved;
		return;
	}
	if (earlier) {
		earlier(signal_number, info, context);
		return;
	}
	sigaction(signal_number, &dfl, NULL);
	mp_examined_signal(signal_number, context);
	if (info->si_code <= 0) /* sent, not raised by a fault: it would not recur by itself */
		mp_sys(SYS_tgkill, sys_getpid(), sys_gettid(), signal_number, 0, 0, 0);
	errno = saved;
}

static int sigbus_is_of_copy(const struct sigaction *a)
{
	const char *file = mp_known.attached && a->sa_flags & SA_SIGINFO
			       ? mp_scope_file(*(void *const *)&a->sa_sigaction)
			       : NULL;

	return file && mp_scope_ask(file, "mprof_attach") != NULL;
}

void mp_sigbus_guard(void)
{
	struct sigaction old,
	    ours = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };

	if (sigaction(SIGBUS, NULL, &old))
		return;
	if (sigbus_is_of_copy(&old))
		earlier = old.sa_sigaction;
	else if (old.sa_flags & SA_SIGINFO || old.sa_handler != SIG_DFL)
		return;
	sigaction(SIGBUS, &ours, NULL);
}
