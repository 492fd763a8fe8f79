// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * seccomp.c - a program that locks itself in.
 *
 * A filter lists the system calls that the program needs; ours are not on it,
 * and the penalty is often death.  Strict mode and PR_SET_TSC also forbid the
 * clock.  So before either takes effect recording ends, with what is there
 * written out, and nothing of ours makes a system call afterwards.
 *
 * seccomp(2) has no wrapper in libc: programs and libseccomp call syscall().
 */
#include <errno.h>
#include <stdarg.h>

#include "internal.h"
#include "next.h"

#define EXPORT __attribute__((visibility("default")))

static void lock_in(const char *why)
{
	if (!mp_recording() ||
	    mp_local->pid != sys_getpid()) /* a vfork child's is its own affair */
		return;
	mp_process_flush();
	mp_stop(MPROF_LOST_LOCKED, why);
}

/* Variadic in name only: the kernel takes what it needs of the words. */
EXPORT int prctl(int option, ...)
{
	unsigned long w[4];
	va_list args;

	va_start(args, option);
	for (int i = 0; i < 4; i++)
		w[i] = va_arg(args, unsigned long);
	va_end(args);
	if (option == PR_SET_SECCOMP)
		lock_in("the program restricted its system calls (seccomp)");
	else if (option == PR_SET_TSC && w[0] == PR_TSC_SIGSEGV)
		lock_in("the program forbade reading the clock (PR_SET_TSC)");
	return mp_next()->prctl(option, w[0], w[1], w[2], w[3]);
}

void mp_seccomp_begins(void);
long mp_syscall_failed(long error);

/* Called from the assembly below, with the arguments of syscall() saved. */
MP_HIDDEN __attribute__((used)) void mp_seccomp_begins(void)
{
	lock_in("the program restricted its system calls (seccomp)");
}

MP_HIDDEN __attribute__((used)) long mp_syscall_failed(long error)
{
	errno = (int)-error;
	return -1;
}

/*
 * syscall() without a frame of its own, as libc's: a clone may return on
 * another stack, or twice on this one.
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
	"2:	pushq %rdi\n"
	"	pushq %rsi\n"
	"	pushq %rdx\n"
	"	pushq %rcx\n"
	"	pushq %r8\n"
	"	pushq %r9\n"
	"	subq $8, %rsp\n"
	"	call mp_seccomp_begins\n"
	"	addq $8, %rsp\n"
	"	popq %r9\n"
	"	popq %r8\n"
	"	popq %rcx\n"
	"	popq %rdx\n"
	"	popq %rsi\n"
	"	popq %rdi\n"
	"	jmp 1b\n"
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
	"2:	stp x29, x30, [sp, #-80]!\n"
	"	stp x0, x1, [sp, #16]\n"
	"	stp x2, x3, [sp, #32]\n"
	"	stp x4, x5, [sp, #48]\n"
	"	str x6, [sp, #64]\n"
	"	bl mp_seccomp_begins\n"
	"	ldr x6, [sp, #64]\n"
	"	ldp x4, x5, [sp, #48]\n"
	"	ldp x2, x3, [sp, #32]\n"
	"	ldp x0, x1, [sp, #16]\n"
	"	ldp x29, x30, [sp], #80\n"
	"	b 1b\n"
	"3:	b mp_syscall_failed\n"
	"	.cfi_endproc\n"
	".size syscall, . - syscall\n");
#endif
