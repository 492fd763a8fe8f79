/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * registers.c HOW - allocates from correct functions whose registers and call
 * frame information lead an unwinder to places where no stack is.
 *
 *   zero       CFA in a register that is 0: the return address would be at -8
 *   deref      CFA = *(fp - 8), and fp is 0
 *   high       CFA = fp + 16, and fp is -24
 *   bare       no information, and fp is -16: the words of a frame end past the last address
 *   far        CFA = sp + 2^32 + 16, which 32 bits do not hold
 *   saved      fp is saved at CFA + 2^63
 *   beyond     a signal comes where CFA lies past the end of the stack
 *   guard      a signal handler allocates when the stack has run into its guard page
 */
#include "victim.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#define FUNCTION(name, body)                                                            \
	void name(void);                                                                \
	__asm__(".text\n.globl " #name "\n.type " #name ",@function\n" #name ":\n" body \
		"\n.size " #name ", . - " #name "\n")

#if defined(__x86_64__)
#define CALL " mov $100, %edi\n call malloc@plt\n"
#define END  " pop %rbp\n .cfi_def_cfa rsp, 8\n ret\n .cfi_endproc"
FUNCTION(zero,
	 " .cfi_startproc\n push %rbx\n .cfi_adjust_cfa_offset 8\n xor %ebx, %ebx\n"
	 " .cfi_def_cfa rbx, 0\n" CALL " pop %rbx\n .cfi_def_cfa rsp, 8\n ret\n .cfi_endproc");
FUNCTION(deref, " .cfi_startproc\n push %rbp\n xor %ebp, %ebp\n"
		" .cfi_escape 0x0f, 3, 0x76, 0x78, 0x06\n" CALL END);
FUNCTION(high, " .cfi_startproc\n push %rbp\n mov $-24, %rbp\n .cfi_def_cfa rbp, 16\n" CALL END);
FUNCTION(bare, " push %rbp\n mov $-16, %rbp\n" CALL " pop %rbp\n ret");
FUNCTION(far, " .cfi_startproc\n push %rbp\n"
	      " .cfi_escape 0x0c, 7, 0x90, 0x80, 0x80, 0x80, 0x10\n" CALL END);
FUNCTION(saved,
	 " .cfi_startproc\n push %rbp\n .cfi_adjust_cfa_offset 8\n"
	 " .cfi_escape 0x11, 6, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x70\n" CALL END);
/* The return address is at sp + 8 by an expression of its own, CFA = r12 is far from it. */
FUNCTION(beyond, " .cfi_startproc\n push %rbp\n push %r12\n mov $0x7ffffffffff8, %r12\n"
		 " .cfi_escape 0x0f, 2, 0x7c, 0\n .cfi_escape 0x10, 16, 2, 0x77, 16\n"
		 " ud2\n pop %r12\n pop %rbp\n .cfi_def_cfa rsp, 8\n ret\n .cfi_endproc");
enum { UD2 = 2 };
#elif defined(__aarch64__)
#define BEGIN " .cfi_startproc\n stp x29, x30, [sp, #-32]!\n str x19, [sp, #16]\n"
#define CALL  " mov x0, #100\n bl malloc\n"
#define END \
	" ldr x19, [sp, #16]\n ldp x29, x30, [sp], #32\n .cfi_def_cfa sp, 0\n ret\n .cfi_endproc"
FUNCTION(zero, BEGIN " mov x19, #0\n .cfi_def_cfa x19, 0\n .cfi_offset 30, -8\n" CALL END);
FUNCTION(deref, BEGIN " mov x29, #0\n .cfi_escape 0x0f, 3, 0x8d, 0x78, 0x06\n"
		      " .cfi_offset 30, -8\n" CALL END);
FUNCTION(high, BEGIN " mov x29, #-24\n .cfi_def_cfa x29, 16\n .cfi_offset 30, -8\n" CALL END);
FUNCTION(bare,
	 " stp x29, x30, [sp, #-16]!\n mov x29, #-16\n" CALL " ldp x29, x30, [sp], #16\n ret");
FUNCTION(far, BEGIN " .cfi_escape 0x0c, 31, 0x90, 0x80, 0x80, 0x80, 0x10\n"
		    " .cfi_offset 30, -8\n" CALL END);
FUNCTION(saved, BEGIN
	 " .cfi_def_cfa sp, 32\n .cfi_offset 30, -24\n"
	 " .cfi_escape 0x11, 29, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x70\n" CALL END);
FUNCTION(beyond, BEGIN " mov x19, #0x7ffffffffff8\n .cfi_escape 0x0f, 2, 0x83, 0\n"
		       " .cfi_escape 0x10, 30, 2, 0x8f, 8\n udf #0\n" END);
enum { UD2 = 4 };
#else
#error "write these functions for this CPU"
#endif

static sigjmp_buf back;

static void on_signal(int number, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)info;
	free(malloc(100));
	if (number == SIGSEGV)
		siglongjmp(back, 1);
#if defined(__x86_64__)
	u->uc_mcontext.gregs[REG_RIP] += UD2;
#else
	u->uc_mcontext.pc += UD2;
#endif
}

static void on(int number)
{
	static char room[1 << 16];
	struct sigaction action = { .sa_sigaction = on_signal,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK };
	stack_t stack = { .ss_sp = room, .ss_size = sizeof(room) };

	must(sigaltstack(&stack, NULL) == 0);
	must(sigaction(number, &action, NULL) == 0);
}

static void interrupted(void)
{
	on(SIGILL);
	beyond();
}

static volatile int depth;

__attribute__((noinline)) static int overflow(volatile char *outer)
{
	volatile char frame[256];

	frame[0] = *outer;
	return depth++ < 0 ? 0 : overflow(frame) + frame[0];
}

static void *run_over(void *arg)
{
	char zero = 0;

	on(SIGSEGV);
	if (!sigsetjmp(back, 1))
		overflow(&zero);
	return arg;
}

static void guard(void)
{
	pthread_t thread;

	must(pthread_create(&thread, NULL, run_over, NULL) == 0);
	must(pthread_join(thread, NULL) == 0);
	must(depth > 100);
}

static const struct {
	const char *name;
	void (*run)(void);
} ways[] = {
	{ "zero", zero }, { "deref", deref }, { "high", high },		 { "bare", bare },
	{ "far", far },	  { "saved", saved }, { "beyond", interrupted }, { "guard", guard },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(argv[1], ways[i].name) == 0) {
			ways[i].run();
			free(malloc(41));
			say("size 100 1");
			say("size 41 1");
			say("ends 0");
			return 0;
		}
	say("FAILED no such way");
	return 98;
}
