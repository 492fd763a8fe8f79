/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * assembly.c - hand-written functions: with correct CFI of rare kinds, without CFI, and with wrong
 * CFI. Each calls what its first argument points to with its second.
 */
#include "stack.h"

#ifndef __x86_64__
int main(void)
{
	return 0;
}
#else
#define FUNCTION(name, body)                                                              \
	__asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ", @function\n" #name \
		":\n" body "\n.size " #name ", .-" #name "\n");                           \
	void name(void (*call)(size_t), size_t size)

#define START " .cfi_startproc\n mov %rdi, %rax\n mov %rsi, %rdi\n"
#define BARE  " mov %rdi, %rax\n mov %rsi, %rdi\n"

FUNCTION(cfi_rsp, START " sub $72, %rsp\n .cfi_def_cfa_offset 80\n call *%rax\n"
			" add $72, %rsp\n .cfi_def_cfa_offset 8\n ret\n .cfi_endproc");
FUNCTION(cfi_rbp,
	 START " push %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset %rbp, -16\n"
	       " mov %rsp, %rbp\n .cfi_def_cfa_register %rbp\n sub $200, %rsp\n and $-64, %rsp\n"
	       " call *%rax\n leave\n .cfi_def_cfa %rsp, 8\n ret\n .cfi_endproc");
/* Two calls with other states around: remember and restore. */
FUNCTION(cfi_states, START " push %rbx\n .cfi_def_cfa_offset 16\n .cfi_offset %rbx, -16\n"
			   " xor %ebx, %ebx\n test %rax, %rax\n .cfi_remember_state\n jz 1f\n"
			   " sub $16, %rsp\n .cfi_def_cfa_offset 32\n call *%rax\n add $16, %rsp\n"
			   " .cfi_def_cfa_offset 16\n pop %rbx\n .cfi_restore %rbx\n"
			   " .cfi_def_cfa_offset 8\n ret\n1: .cfi_restore_state\n pop %rbx\n"
			   " .cfi_def_cfa_offset 8\n ret\n .cfi_endproc");
/* The frame hangs on a register that the callees save. */
FUNCTION(cfi_r12, START " push %r12\n .cfi_def_cfa_offset 16\n .cfi_offset %r12, -16\n"
			" mov %rsp, %r12\n .cfi_def_cfa_register %r12\n sub $128, %rsp\n"
			" and $-32, %rsp\n call *%rax\n mov %r12, %rsp\n pop %r12\n"
			" .cfi_def_cfa %rsp, 8\n ret\n .cfi_endproc");
/* The frame's address is an expression: rsp + 32, as DW_OP_breg7 32. */
FUNCTION(cfi_expression, START " sub $24, %rsp\n .cfi_escape 0x0f, 0x02, 0x77, 0x20\n call *%rax\n"
			       " add $24, %rsp\n .cfi_def_cfa %rsp, 8\n ret\n .cfi_endproc");
/* The return address is not below the frame, but moved: DW_CFA_expression for rip, breg7 8. */
FUNCTION(cfi_moved_return, START
	 " pop %rdx\n .cfi_def_cfa_offset 0\n .cfi_register %rip, %rdx\n sub $48, %rsp\n"
	 " .cfi_def_cfa_offset 48\n mov %rdx, 8(%rsp)\n .cfi_escape 0x10, 0x10, 0x02, 0x77, 0x08\n"
	 " call *%rax\n mov 8(%rsp), %rdx\n add $48, %rsp\n .cfi_def_cfa_offset 0\n"
	 " jmp *%rdx\n .cfi_endproc");
/* Says that nothing is outside of it. */
FUNCTION(cfi_outermost,
	 START " .cfi_undefined %rip\n sub $8, %rsp\n .cfi_def_cfa_offset 16\n"
	       " call *%rax\n add $8, %rsp\n .cfi_def_cfa_offset 8\n ret\n .cfi_endproc");
FUNCTION(bare_rbp, BARE " push %rbp\n mov %rsp, %rbp\n sub $48, %rsp\n call *%rax\n leave\n ret");
FUNCTION(bare_rsp, BARE " sub $56, %rsp\n call *%rax\n add $56, %rsp\n ret");
FUNCTION(bare_clobbered, BARE " push %rbp\n mov $0x1234567, %ebp\n call *%rax\n pop %rbp\n ret");
/* Its CFI says 8 bytes less than it takes, so the return address read is another word. */
FUNCTION(wrong, START " sub $40, %rsp\n .cfi_def_cfa_offset 40\n call *%rax\n"
		      " add $40, %rsp\n .cfi_def_cfa_offset 8\n ret\n .cfi_endproc");
FUNCTION(wrong_far, START " sub $8, %rsp\n .cfi_def_cfa_offset 800000000\n call *%rax\n"
			  " add $8, %rsp\n .cfi_def_cfa_offset 8\n ret\n .cfi_endproc");
FUNCTION(wrong_register,
	 START " sub $8, %rsp\n .cfi_def_cfa %rdx, 16\n mov $16, %edx\n call *%rax\n"
	       " add $8, %rsp\n .cfi_def_cfa %rsp, 8\n ret\n .cfi_endproc");

FRAME static void leaf(size_t size)
{
	TAG(size);
	STAY();
}

/* Uses every saved register, so that frames outside find theirs only where this one put them. */
FRAME static void busy_leaf(size_t size)
{
	__asm__ volatile("" ::: "rbx", "r12", "r13", "r14", "r15", "memory");
	leaf(size);
	__asm__ volatile("xor %%ebx, %%ebx\n xor %%r12d, %%r12d" ::: "rbx", "r12", "memory");
}

FRAME static void deeper(size_t size)
{
	__asm__ volatile("mov $1, %%r12d\n mov $2, %%ebx" ::: "rbx", "r12", "memory");
	busy_leaf(size);
	STAY();
}

FRAME static void enters(void (*f)(void (*)(size_t), size_t), void (*call)(size_t), size_t size)
{
	f(call, size);
	STAY();
}

static const struct {
	const char *name;
	void (*run)(void (*)(size_t), size_t);
	const char *outer;
} all[] = {
	{ "cfi_rsp", cfi_rsp, "enters " MAIN },
	{ "cfi_rbp", cfi_rbp, "enters " MAIN },
	{ "cfi_states", cfi_states, "enters " MAIN },
	{ "cfi_r12", cfi_r12, "enters " MAIN },
	{ "cfi_expression", cfi_expression, "enters " MAIN },
	{ "cfi_moved_return", cfi_moved_return, "enters " MAIN },
	{ "cfi_outermost", cfi_outermost, "" },
	{ "bare_rbp", bare_rbp, "enters " MAIN },
	{ "bare_rsp", bare_rsp, "... !any" },
	{ "bare_clobbered", bare_clobbered, "... !any" },
	{ "wrong", wrong, "... !any" },
	{ "wrong_far", wrong_far, "... !any" },
	{ "wrong_register", wrong_register, "... !any" },
};

int main(void)
{
	for (int i = 0; i < 3; i++)
		for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
			enters(all[k].run, leaf, 2000 + 3 * k);
			enters(all[k].run, deeper, 2001 + 3 * k);
			enters(all[k].run, (void (*)(size_t))malloc, 2002 + 3 * k);
		}
	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
		say("chain %zu leaf %s %s", 2000 + 3 * k, all[k].name, all[k].outer);
		say("chain %zu leaf busy_leaf deeper %s %s", 2001 + 3 * k, all[k].name,
		    all[k].outer);
		say("chain %zu %s %s", 2002 + 3 * k, all[k].name, all[k].outer);
		say("count %zu 3", 2001 + 3 * k);
	}
	return 0;
}
#endif
