/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * generated.c frames|bare|poison - code made at run time, of which no table tells anything: with
 * rbp frames the stack continues; without, it ends there, wherever rbp may point.
 */
#include "stack.h"

#include <stdint.h>
#include <sys/mman.h>

#ifndef __x86_64__
int main(void)
{
	return 0;
}
#else
FRAME static void leaf(size_t size)
{
	TAG(size);
	STAY();
}

FRAME static void middle(size_t size)
{
	volatile char room[128];

	room[0] = 0;
	leaf(size);
	STAY();
}

/* push rbp; mov rbp, rsp; sub rsp, 32; mov rax, rsi; call rax; leave; ret */
static const unsigned char with_frame[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20,
					    0x48, 0x89, 0xf0, 0xff, 0xd0, 0xc9, 0xc3 };
/* sub rsp, 40; mov rax, rsi; call rax; add rsp, 40; ret */
static const unsigned char bare[] = { 0x48, 0x83, 0xec, 0x28, 0x48, 0x89, 0xf0,
				      0xff, 0xd0, 0x48, 0x83, 0xc4, 0x28, 0xc3 };
/* push rbp; mov rbp, rdx; mov rax, rsi; call rax; pop rbp; ret */
static const unsigned char poison[] = { 0x55, 0x48, 0x89, 0xd5, 0x48, 0x89,
					0xf0, 0xff, 0xd0, 0x5d, 0xc3 };

typedef void (*code)(size_t size, void (*call)(size_t), uintptr_t rbp);

static code make(const unsigned char *bytes, size_t n)
{
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(p != MAP_FAILED);
	memcpy(p + 256, bytes, n);
	must(mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0);
	return (code)(void *)(p + 256);
}

FRAME static void enters(code f, size_t size, void (*call)(size_t), uintptr_t rbp)
{
	f(size, call, rbp);
	STAY();
}

FRAME static void poisoned(void)
{
	code f = make(poison, sizeof(poison));
	char *trap = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	volatile uintptr_t room[8];
	uintptr_t here = (uintptr_t)room;
	uintptr_t values[] = { 0,
			       1,
			       7,
			       4096,
			       ~(uintptr_t)0,
			       here,
			       here + 3,
			       here - 4096,
			       (uintptr_t)trap,
			       (uintptr_t)trap + 8,
			       1ull << 47,
			       1ull << 63,
			       (uintptr_t)&values,
			       (uintptr_t)&poisoned,
			       here + (1 << 20),
			       here + (64 << 20),
			       (uintptr_t)&kept };

	must(trap != MAP_FAILED);
	/* A frame on the stack that says that it is its own caller, and one that goes back. */
	room[0] = here;
	room[1] = (uintptr_t)f + 9;
	room[2] = here - 64;
	room[3] = (uintptr_t)f + 9;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		enters(f, 2100 + i, middle, values[i]);
		say("chain %zu leaf middle - ... !any", 2100 + i);
	}
	enters(f, 2150, middle, here + 16);
	say("chain 2150 leaf middle - ... !any");
	/* One that returns to memory that cannot be read, and says nothing of its caller. */
	room[4] = 1;
	room[5] = (uintptr_t)trap + 256;
	enters(f, 2151, middle, here + 32);
	say("chain 2151 leaf middle - ... !any");
}

int main(int argc, char **argv)
{
	must(argc > 1);
	if (!strcmp(argv[1], "frames")) {
		code f = make(with_frame, sizeof(with_frame));

		for (int i = 0; i < 3; i++) {
			enters(f, 2001, middle, 0);
			enters(f, 2002, leaf, 0);
		}
		say("chain 2001 leaf middle - enters " MAIN);
		say("chain 2002 leaf - enters " MAIN);
		/* The allocator called from there directly. */
		enters(f, 2003, (void (*)(size_t))malloc, 0);
		say("chain 2003 - enters " MAIN);
		say("count 2001 3");
	} else if (!strcmp(argv[1], "bare")) {
		code f = make(bare, sizeof(bare));

		enters(f, 2001, middle, 0);
		say("chain 2001 leaf middle - ... !any");
		enters(f, 2003, (void (*)(size_t))malloc, 0);
		say("chain 2003 - ... !any");
	} else {
		poisoned();
	}
	middle(2900);
	say("chain 2900 leaf middle " MAIN);
	return 0;
}
#endif
