/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * coroutines.c slab|maps|guards [NUMBER] - coroutines by swapcontext, on stacks cut from one
 * block, each mapped for itself (then mostly side by side in one mapping), or with a page that
 * must not be read between them.  Each allocates at a depth of its own, switching meanwhile.
 * (What libc lets a coroutine return to has no call frame information: there it may end.)
 */
#include "stack.h"

#include <sys/mman.h>
#include <ucontext.h>

enum { STACK = 64 << 10, MOST = 200, ROUNDS = 6 };

static ucontext_t home, context[MOST];
static int number = 40, turn;

FRAME static void leaf(int me)
{
	for (int i = 0; i < ROUNDS; i++) {
		TAG(1000 + me);
		swapcontext(&context[me], &home);
	}
	STAY();
}

FRAME static void descend(int n, int me)
{
	volatile char room[40];

	room[0] = 0;
	if (n)
		descend(n - 1, me);
	else
		leaf(me);
	STAY();
}

FRAME static void coroutine(void)
{
	descend(turn % 17, turn);
	STAY();
}

static char *stack_of(const char *how, int i)
{
	static char *slab;
	char *p;

	if (!strcmp(how, "slab")) {
		if (!slab)
			must((slab = malloc((size_t)number * STACK)) != NULL);
		return slab + (size_t)i * STACK;
	}
	if (!strcmp(how, "maps")) {
		p = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		must(p != MAP_FAILED);
		return p;
	}
	p = mmap(NULL, STACK + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(p != MAP_FAILED && mprotect(p + 4096, STACK, PROT_READ | PROT_WRITE) == 0);
	return p + 4096;
}

FRAME static void resume(int i)
{
	turn = i;
	TAG(500);
	must(swapcontext(&home, &context[i]) == 0);
	STAY();
}

int main(int argc, char **argv)
{
	must(argc > 1);
	if (argc > 2)
		number = atoi(argv[2]);
	must(number <= MOST);
	for (int i = 0; i < number; i++) {
		must(getcontext(&context[i]) == 0);
		context[i].uc_stack.ss_sp = stack_of(argv[1], i);
		context[i].uc_stack.ss_size = STACK;
		context[i].uc_link = &home;
		makecontext(&context[i], coroutine, 0);
	}
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < number; i++)
			resume(i);
	for (int i = 0; i < number; i++) {
		say("chain %d leaf descend*%d coroutine @libc~ !any", 1000 + i, i % 17 + 1);
		say("count %d %d", 1000 + i, ROUNDS);
	}
	say("chain 500 resume " MAIN);
	return 0;
}
