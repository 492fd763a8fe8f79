// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * end_signals.c - a process that a signal would end waits to be examined first (REACH=1).
 *
 * The handler stands where the signal has its default action, so that the program still sees that:
 * the functions here show SIG_DFL in place of the handler, and install the handler when the program
 * asks for SIG_DFL.  exec resets it; a child that vfork made is not examined.
 */
#include <errno.h>
#include <mprof/module.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "core.h"
#include "local.h"
#include "process.h"
#include "real_libc.h"
#include "sys.h"

#define BIT(signal) (1ull << ((signal)-1))
/* They end a process by default.  Not SIGBUS, which sigbus.c handles, nor SIGTRAP and SIGSYS, which
 * belong to tracers. */
#define ENDING                                                                                     \
	(BIT(SIGHUP) | BIT(SIGINT) | BIT(SIGQUIT) | BIT(SIGILL) | BIT(SIGABRT) | BIT(SIGFPE) |     \
	 BIT(SIGSEGV) | BIT(SIGUSR1) | BIT(SIGUSR2) | BIT(SIGPIPE) | BIT(SIGALRM) | BIT(SIGTERM) | \
	 BIT(SIGXCPU) | BIT(SIGXFSZ))
#define FAULTS                                                                            \
	(BIT(SIGSEGV) | BIT(SIGILL) | BIT(SIGFPE)) /* happen again when a handler returns \
						    */
#define SIGNALS 64

static uint32_t watched; /* are the handlers in place? */

static int end_signal_is_watched(int number)
{
	return __atomic_load_n(&watched, __ATOMIC_RELAXED) && number > 0 && number <= SIGNALS &&
	       ENDING & BIT(number);
}

/* A wait such as sigsuspend() has blocked the signal again when the handler returns. */
static void end_signal_send(int number, ucontext_t *context)
{
	uint64_t blocked;

	memcpy(&blocked, &context->uc_sigmask, sizeof(blocked));
	blocked &= ~BIT(number);
	memcpy(&context->uc_sigmask, &blocked, sizeof(blocked));
	mp_sys(SYS_tgkill, sys_getpid(), sys_gettid(), number, 0, 0, 0);
}

static void on_end(int number, siginfo_t *info, void *context)
{
	const int saved = errno;
	struct sigaction standard = { .sa_handler = SIG_DFL }, now;
	const int is_fault = FAULTS & BIT(number) && info->si_code > 0;

	/* Handlers that were installed by a system call of their own, as Go's are, may call this
	 * one in place of no handler; Go then ignores a broken pipe. */
	if (number == SIGPIPE && !mp_next()->sigaction(number, NULL, &now) &&
	    now.sa_sigaction != on_end)
		return;
	if (!mp_examined_signal(number, context)) {
		errno = saved;
		return;
	}
	mp_next()->sigaction(number, &standard, NULL);
	if (!is_fault) /* it is pending until the return */
		end_signal_send(number, context);
	errno = saved;
}

static const struct sigaction *end_signal_action(void)
{
	static struct sigaction ours;
	const uint64_t blocked = ~BIT(SIGBUS); /* as mp_signals_block() */

	if (!ours.sa_sigaction) { /* two threads write the same */
		memcpy(&ours.sa_mask, &blocked, sizeof(blocked));
		ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART; /* if it repeats another */
		ours.sa_sigaction = on_end;
	}
	return &ours;
}

static int end_signal_is_default(const struct sigaction *a)
{
	return !(a->sa_flags & SA_SIGINFO) && a->sa_handler == SIG_DFL;
}

/* The first process of a PID namespace gets no signal that has its default action. */
void mp_end_signals_start(void)
{
	struct sigaction old;

	if (sys_getpid() == 1)
		return;
	__atomic_store_n(&watched, 1, __ATOMIC_RELAXED);
	for (int number = 1; number <= SIGNALS; number++)
		if (ENDING & BIT(number) && !mp_next()->sigaction(number, NULL, &old) &&
		    end_signal_is_default(&old))
			mp_next()->sigaction(number, end_signal_action(), NULL);
}

/* A vfork child has handlers of its own, but not `watched`. */
int mp_end_signals_stop(void)
{
	struct sigaction standard = { .sa_handler = SIG_DFL }, now;

	if (!__atomic_load_n(&watched, __ATOMIC_RELAXED))
		return 0;
	if (!mp_local->alive || mp_local->pid == sys_getpid())
		__atomic_store_n(&watched, 0, __ATOMIC_RELAXED);
	for (int number = 1; number <= SIGNALS; number++)
		if (ENDING & BIT(number) && !mp_next()->sigaction(number, NULL, &now) &&
		    now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_end)
			mp_next()->sigaction(number, &standard, NULL);
	return 1;
}

/* ---- what the program sees ---- */

EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	int ret;

	if (!end_signal_is_watched(number))
		return mp_next()->sigaction(number, action, old);
	if (action && sys_readable(action) && end_signal_is_default(action))
		action = end_signal_action();
	ret = mp_next()->sigaction(number, action, old);
	if (!ret && old && old->sa_flags & SA_SIGINFO && old->sa_sigaction == on_end)
		*old = (struct sigaction){ .sa_handler = SIG_DFL };
	return ret;
}

static sighandler_t end_signal_seen(int number, sighandler_t handler, sighandler_t old)
{
	if (!end_signal_is_watched(number) || old == SIG_ERR)
		return old;
	if (handler == SIG_DFL)
		mp_next()->sigaction(number, end_signal_action(), NULL);
	return old == (sighandler_t)(void *)on_end ? SIG_DFL : old;
}

#define SIGNAL_FUNCTION(name)                                                              \
	EXPORT sighandler_t name(int number, sighandler_t handler)                         \
	{                                                                                  \
		return end_signal_seen(number, handler, mp_next()->name(number, handler)); \
	}

SIGNAL_FUNCTION(signal)
SIGNAL_FUNCTION(bsd_signal)
SIGNAL_FUNCTION(ssignal)
SIGNAL_FUNCTION(sysv_signal)
SIGNAL_FUNCTION(__sysv_signal)
