/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * jumps.c - longjmp out of deep stacks, and other functions allocating where these were: what a
 * recorder remembers of the stack before is wrong in each way that it can be.
 */
#include "stack.h"

#include <setjmp.h>

static jmp_buf back;

FRAME static void leaf(size_t size, int jump)
{
	TAG(size);
	if (jump)
		longjmp(back, 1);
	STAY();
}

#define SAME_SHAPE(name)                                     \
	FRAME static void name(int n, size_t size, int jump) \
	{                                                    \
		if (n)                                       \
			name(n - 1, size, jump);             \
		else                                         \
			leaf(size, jump);                    \
		STAY();                                      \
	}
SAME_SHAPE(red)
SAME_SHAPE(blue)

FRAME static void other_shape(int n, size_t size, int jump)
{
	volatile char room[72];

	room[n] = 1;
	if (n)
		other_shape(n - 1, size, jump);
	else
		leaf(size, jump);
	STAY();
}

/* The same return addresses on the stack, with another function at the outer end. */
FRAME static void first_way(size_t size)
{
	red(9, size, 0);
	STAY();
}

FRAME static void second_way(size_t size)
{
	red(9, size, 0);
	STAY();
}

int main(void)
{
	for (volatile int i = 0; i < 5; i++) {
		if (!setjmp(back))
			red(30, 2001, 1);
		if (!setjmp(back))
			blue(30, 2002, 1);
		if (!setjmp(back))
			other_shape(17, 2003, 1);
		blue(12, 2004, 0);
		if (!setjmp(back))
			red(30, 2001, 1);
		leaf(2005, 0);
		first_way(2006);
		second_way(2007);
		first_way(2006);
	}
	say("chain 2001 leaf red*31 " MAIN);
	say("chain 2002 leaf blue*31 " MAIN);
	say("chain 2003 leaf other_shape*18 " MAIN);
	say("chain 2004 leaf blue*13 " MAIN);
	say("chain 2005 leaf " MAIN);
	say("chain 2006 leaf red*10 first_way " MAIN);
	say("chain 2007 leaf red*10 second_way " MAIN);
	say("count 2001 10");
	say("count 2006 10");
	return 0;
}
