/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * signals.c - allocations in signal handlers: on the stack that was interrupted and on another
 * one, at a system call, at the first instruction of a function, and in the middle of anything.
 */
#include "stack.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>

/*
 * What is outside of a handler: on x86-64 a frame of libc's, elsewhere one of the kernel's own,
 * of which an emulator may say nothing.
 */
#ifdef __x86_64__
#define OUTSIDE(frames) "@libc " frames
#else
#define OUTSIDE(frames) "... !any"
#endif

static volatile size_t wanted;
static volatile int ticks;

FRAME static void in_handler(void)
{
	TAG(wanted);
	STAY();
}

FRAME static void handler(int signal)
{
	(void)signal;
	in_handler();
	STAY();
}

/* A signal sent by a system call of its own: the interrupted frame is this function's. */
FRAME static void sends(int signal)
{
	long result;

#ifdef __x86_64__
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"((long)SYS_tgkill), "D"((long)getpid()), "S"((long)getpid()),
			   "d"((long)signal)
			 : "rcx", "r11", "memory");
#else
	result = syscall(SYS_tgkill, getpid(), getpid(), signal);
#endif
	must(result == 0);
	STAY();
}

FRAME static void middle(int signal)
{
	volatile char room[300];

	room[0] = 1;
	sends(signal);
	TAG(wanted + 1);
	must(room[0] == 1);
	STAY();
}

#ifdef __x86_64__
#define TRAP_BYTES 2
__asm__(".text\n.p2align 4\n.globl before_fault\n.type before_fault, @function\nbefore_fault:\n"
	".cfi_startproc\n nop\n nop\n ret\n.cfi_endproc\n.size before_fault, .-before_fault\n"
	".globl faults\n.type faults, @function\nfaults:\n"
	".cfi_startproc\n ud2\n ret\n.cfi_endproc\n.size faults, .-faults\n"
	".globl faults_later\n.type faults_later, @function\nfaults_later:\n"
	".cfi_startproc\n push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_offset %rbx, -16\n"
	" sub $48, %rsp\n.cfi_adjust_cfa_offset 48\n mov $7, %ebx\n ud2\n"
	" add $48, %rsp\n.cfi_adjust_cfa_offset -48\n pop %rbx\n.cfi_adjust_cfa_offset -8\n ret\n"
	".cfi_endproc\n.size faults_later, .-faults_later\n");
#else
#define TRAP_BYTES 4
__asm__(".text\n.globl faults\n.type faults, %function\nfaults:\n"
	".cfi_startproc\n udf #0\n ret\n.cfi_endproc\n.size faults, .-faults\n"
	".globl faults_later\n.type faults_later, %function\nfaults_later:\n"
	".cfi_startproc\n stp x29, x30, [sp, -32]!\n.cfi_def_cfa_offset 32\n.cfi_offset 29, -32\n"
	".cfi_offset 30, -24\n mov x29, sp\n udf #0\n ldp x29, x30, [sp], 32\n.cfi_restore 30\n"
	".cfi_restore 29\n.cfi_def_cfa_offset 0\n ret\n.cfi_endproc\n"
	".size faults_later, .-faults_later\n");
#endif
void faults(void);
void faults_later(void);

FRAME static void on_trap(int signal, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)signal;
	(void)info;
	in_handler();
#ifdef __x86_64__
	uc->uc_mcontext.gregs[REG_RIP] += TRAP_BYTES;
#else
	uc->uc_mcontext.pc += TRAP_BYTES;
#endif
	STAY();
}

FRAME static void calls_faults(void)
{
	faults();
	STAY();
	wanted++;
	faults_later();
	STAY();
}

FRAME static void nested_handler(int signal)
{
	(void)signal;
	wanted = 2031;
	sends(SIGUSR1);
	STAY();
}

FRAME static void on_tick(int signal)
{
	(void)signal;
	ticks++;
	TAG(2050);
	STAY();
}

/* Interrupted anywhere: in malloc, in the recorder, in between. */
FRAME static void churn(void)
{
	struct itimerval every = { { 0, 300 }, { 0, 300 } };

	setitimer(ITIMER_REAL, &every, NULL);
	for (long i = 0; ticks < 40 && i < 20000000; i++)
		free(malloc((size_t)(i & 255)));
	memset(&every, 0, sizeof(every));
	setitimer(ITIMER_REAL, &every, NULL);
	STAY();
}

static void on(int signal, void (*f)(int), int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = f;
	action.sa_flags = flags;
	must(sigaction(signal, &action, NULL) == 0);
}

int main(int argc, char **argv)
{
	static char other[1 << 16];
	stack_t alternate = { .ss_sp = other, .ss_size = sizeof(other) };
	struct sigaction trap;

	must(sigaltstack(&alternate, NULL) == 0);
	on(SIGUSR1, handler, 0);
	wanted = 2001;
	middle(SIGUSR1);
	middle(SIGUSR1);
	say("chain 2001 in_handler handler " OUTSIDE("sends middle " MAIN));
	say("chain 2002 middle " MAIN);
	say("count 2001 2");

	on(SIGUSR2, handler, SA_ONSTACK);
	wanted = 2011;
	middle(SIGUSR2);
	middle(SIGUSR2);
	say("chain 2011 in_handler handler " OUTSIDE("sends middle " MAIN));
	say("chain 2012 middle " MAIN);

	memset(&trap, 0, sizeof(trap));
	trap.sa_sigaction = on_trap;
	trap.sa_flags = SA_SIGINFO;
	must(sigaction(SIGILL, &trap, NULL) == 0);
	wanted = 2021;
	calls_faults();
	say("chain 2021 in_handler on_trap " OUTSIDE("faults calls_faults " MAIN));
	say("chain 2022 in_handler on_trap " OUTSIDE("faults_later calls_faults " MAIN));

	on(SIGUSR1, handler, SA_ONSTACK);
	on(SIGHUP, nested_handler, 0);
	wanted = 2030;
	middle(SIGHUP);
	say("chain 2031 in_handler handler " OUTSIDE(
	    "sends nested_handler @libc sends middle " MAIN));
	say("chain 2032 middle " MAIN);

	wanted = 2041;
	raise(SIGUSR1);
	say("chain 2041 in_handler handler " OUTSIDE("@libc+ " MAIN));

	if (argc > 1 && !strcmp(argv[1], "churn")) {
		on(SIGALRM, on_tick, argc > 2 ? SA_ONSTACK : 0);
		churn();
		say("chain 2050 on_tick @libc ... churn " MAIN);
		say("lossy");
	}
	return 0;
}
