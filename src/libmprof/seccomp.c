// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * seccomp.c - a program that restricts its system calls.
 *
 * A filter lists the system calls that the program needs; ours are not among them, and the penalty
 * is often death.  Strict mode and PR_SET_TSC also forbid the clock.  So pending data is written
 * and recording suspended before either can take effect, and none of our code makes a system call
 * afterwards.
 *
 * Programs also probe what the kernel supports, by calls that cannot succeed: those change nothing.
 * After a call that might have restricted the program but did not, recording resumes.
 *
 * seccomp(2) has no wrapper in libc: programs and libseccomp call syscall().
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mprof/module.h>
#include <stdarg.h>

#include "config.h"
#include "core.h"
#include "local.h"
#include "process.h"
#include "real_libc.h"
#include "slots.h"
#include "stack_use.h"
#include "stop.h"
#include "sys.h"

static const char restricted[] = "the program restricted its system calls (seccomp)";

enum { SUSPENDED = 1, UNWATCHED = 2 };

/* Suspends recording before the call; returns what seccomp_resume() is to continue.  In a vfork
 * child, only the child is affected. */
static int seccomp_suspend(const char *why)
{
	const int unwatched = mp_end_signals_stop() ? UNWATCHED : 0;

	if (!mp_recording() || mp_local->pid != sys_getpid())
		return unwatched;
	mp_process_flush();
	mp_summary_write(mp_config.at_exit, 0,
			 NULL); /* after the restriction, we could not open a file any more */
	mp_suspend(why);
	return SUSPENDED | unwatched;
}

static void seccomp_resume(int what, int is_end)
{
	if (what & SUSPENDED)
		mp_resume(is_end);
	if (what & UNWATCHED && !is_end)
		mp_end_signals_start();
}

/* A probe passes a pointer that is not readable. */
static int seccomp_is_filter(const struct sock_fprog *program)
{
	return sys_readable(program) && sys_readable((const char *)program + 8) && program->len &&
	       sys_readable(program->filter);
}

/* Can such a call restrict anything? */
static int seccomp_may_restrict(unsigned long mode, unsigned long flags, const void *args)
{
	if (mode == SECCOMP_SET_MODE_STRICT)
		return !flags && !args;
	return mode == SECCOMP_SET_MODE_FILTER && seccomp_is_filter(args);
}

/* If a thread could not be synchronised, the call returns its number and installs no filter. */
static int seccomp_restricts(unsigned long flags, long ret)
{
	unsigned long other = SECCOMP_FILTER_FLAG_NEW_LISTENER;

	return !ret || (ret > 0 && (!(flags & SECCOMP_FILTER_FLAG_TSYNC) || flags & other));
}

/* Passes all arguments on: the kernel ignores those that the option does not use. */
EXPORT int prctl(int option, ...)
{
	unsigned long w[4];
	int suspended = 0, ret;
	va_list args;

	va_start(args, option);
	for (int i = 0; i < 4; i++)
		w[i] = va_arg(args, unsigned long);
	va_end(args);
	if (option == PR_SET_SECCOMP)
		suspended = w[0] == SECCOMP_MODE_STRICT ||
				    (w[0] == SECCOMP_MODE_FILTER && seccomp_is_filter((void *)w[1]))
				? seccomp_suspend(restricted)
				: 0;
	else if (option == PR_SET_TSC && w[0] == PR_TSC_SIGSEGV)
		suspended = seccomp_suspend("the program forbade reading the clock (PR_SET_TSC)");
	ret = mp_next()->prctl(option, w[0], w[1], w[2], w[3]);
	seccomp_resume(suspended, ret == 0);
	if (option == PR_SET_NAME && ret == 0) {
		mp_stack_use_renamed();
		mp_counts_renamed(0);
	}
	return ret;
}

long mp_seccomp(long number, unsigned long mode, unsigned long flags, const void *args);
long mp_syscall_failed(long error);

MP_HIDDEN __attribute__((used)) long mp_syscall_failed(long error)
{
	errno = (int)-error;
	return -1;
}

/* The assembly below jumps here if the call is seccomp, with its arguments unchanged. */
MP_HIDDEN __attribute__((used)) long mp_seccomp(long number, unsigned long mode,
						unsigned long flags, const void *args)
{
	int suspended = seccomp_may_restrict(mode, flags, args) ? seccomp_suspend(restricted) : 0;
	long ret = mp_sys(number, (long)mode, (long)flags, (long)args, 0, 0, 0);

	seccomp_resume(suspended, seccomp_restricts(flags, ret));
	return ret < 0 ? mp_syscall_failed(ret) : ret;
}

/*
 * syscall() without a frame of its own, like libc's: a clone may return on another stack, or twice
 * on this one.
 */
#if defined(__x86_64__)
MPROF_STATIC_ASSERT(SYS_seccomp == 317, "number in the assembly");
__asm__(".text\n"
	".globl syscall\n"
	".type syscall, @function\n"
	"syscall:\n"
	"	.cfi_startproc\n"
	"	cmpq $317, %rdi\n"
	"	je 2f\n"
	"1:	movq %rdi, %rax\n"
	"	movq %rsi, %rdi\n"
	"	movq %rdx, %rsi\n"
	"	movq %rcx, %rdx\n"
	"	movq %r8, %r10\n"
	"	movq %r9, %r8\n"
	"	movq 8(%rsp), %r9\n"
	"	syscall\n"
	"	cmpq $-4095, %rax\n"
	"	jae 3f\n"
	"	ret\n"
	"2:	jmp mp_seccomp\n"
	"3:	movq %rax, %rdi\n"
	"	jmp mp_syscall_failed\n"
	"	.cfi_endproc\n"
	".size syscall, . - syscall\n");
#elif defined(__aarch64__)
MPROF_STATIC_ASSERT(SYS_seccomp == 277, "number in the assembly");
__asm__(".text\n"
	".globl syscall\n"
	".type syscall, %function\n"
	"syscall:\n"
	"	.cfi_startproc\n"
	"	cmp x0, #277\n"
	"	b.eq 2f\n"
	"1:	mov x8, x0\n"
	"	mov x0, x1\n"
	"	mov x1, x2\n"
	"	mov x2, x3\n"
	"	mov x3, x4\n"
	"	mov x4, x5\n"
	"	mov x5, x6\n"
	"	svc #0\n"
	"	cmn x0, #4095\n"
	"	b.cs 3f\n"
	"	ret\n"
	"2:	b mp_seccomp\n"
	"3:	b mp_syscall_failed\n"
	"	.cfi_endproc\n"
	".size syscall, . - syscall\n");
#endif
