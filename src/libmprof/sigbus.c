// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * sigbus.c - somebody truncated the file under our mappings.
 *
 * A store to a mapped page that lies behind the end of its file raises SIGBUS
 * and would kill the program for a fault of ours.  If the program left SIGBUS
 * at its default, a handler of ours puts anonymous memory in the place of the
 * mapping and marks the file broken; the next slow path turns recording off.
 * Any other SIGBUS is given back to the default action, with its address.
 *
 * A program that handles SIGBUS itself keeps its handler; ours is gone then.
 * The handler makes system calls only.
 */
#include <errno.h>
#include <signal.h>

#include "internal.h"

static int replace_if_in(uintptr_t at, void *base, size_t bytes)
{
	if (!base || at - (uintptr_t)base >= bytes)
		return 0;
	return !sys_failed(sys_mmap(base, bytes, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
}

/* A thread only ever touches the header, its own slot and its own counts. */
static int is_ours(uintptr_t at)
{
	struct mprof_thread *t = mprof_self;

	if (replace_if_in(at, mp_file.header, MPROF_HEADER_SIZE) ||
	    replace_if_in(at, t->slot, t->slot_bytes))
		return 1;
	return t->data && at - (uintptr_t)t->data < sizeof(struct mprof_counts) &&
	       replace_if_in(at, (void *)(at & -(uintptr_t)mp_page()), mp_page());
}

static void on_sigbus(int signal_number, siginfo_t *info, void *context)
{
	int saved = errno;
	struct sigaction dfl = { .sa_handler = SIG_DFL };

	(void)context;
	if (info->si_code > 0 && is_ours((uintptr_t)info->si_addr)) {
		__atomic_store_n(&mp_file.broken, MPROF_LOST_FILE + 1, __ATOMIC_RELEASE);
		errno = saved;
		return;
	}
	sigaction(signal_number, &dfl, NULL);
	if (info->si_code <= 0) /* sent, not faulted: it would not come again by itself */
		mp_sys(SYS_tgkill, sys_getpid(), sys_gettid(), signal_number, 0, 0, 0);
	errno = saved;
}

void mp_sigbus_guard(void)
{
	struct sigaction old,
	    ours = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };

	if (sigaction(SIGBUS, NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) &&
	    old.sa_handler == SIG_DFL)
		sigaction(SIGBUS, &ours, NULL);
}
