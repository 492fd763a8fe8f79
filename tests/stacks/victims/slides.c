/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * slides.c - two stacks with the same return addresses at the same places, of which one has a
 * frame more: a frame with alloca takes less so that everything inside of it lies where it lay.
 * Only the frame pointer that `keeps` has saved tells them apart.
 */
#include "stack.h"

#include <alloca.h>
#include <stdint.h>

static char *target; /* where the frame with alloca ends */

FRAME static void leaf(size_t size)
{
	TAG(size);
	STAY();
}

/* Saves the frame pointer and uses the register for something else. */
FRAME static void keeps(size_t size)
{
#if defined(__OPTIMIZE__) && defined(__x86_64__)
	__asm__ volatile("xor %%ebp, %%ebp" ::: "rbp");
#endif
	leaf(size);
	STAY();
}

FRAME static void slides(size_t size)
{
	size_t room = (size_t)((char *)__builtin_frame_address(0) - target) & ~(size_t)15;
	volatile char *p = alloca(room);

	(void)p;
	keeps(size);
	STAY();
}

FRAME static void pads(size_t size)
{
	volatile char room[104]; /* not written: what was there stays there */

	(void)room;
	slides(size);
	STAY();
}

FRAME static void pads_more(size_t size)
{
	volatile char room[232];

	(void)room;
	slides(size);
	STAY();
}

int main(void)
{
	void (*const ways[])(size_t) = { slides, pads, pads_more };

	target = (char *)__builtin_frame_address(0) - 4096;
	target -= (uintptr_t)target & 15;
	for (size_t i = 0; i < 30; i++) {
		ways[i % 3](2001 + i % 3);
		STAY();
	}
	for (size_t i = 0; i < 30; i++) {
		ways[i * i % 3](2004 + i * i % 3);
		STAY();
	}
	say("chain 2001 leaf keeps slides " MAIN);
	say("chain 2002 leaf keeps slides pads " MAIN);
	say("chain 2003 leaf keeps slides pads_more " MAIN);
	say("chain 2004 leaf keeps slides " MAIN);
	say("chain 2005 leaf keeps slides pads " MAIN);
	return 0;
}
