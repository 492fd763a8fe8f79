// SPDX-License-Identifier: LGPL-3.0-or-later
/* many.c - one block from each of 2^15 stacks, so that a profile has more sites than some readers
 * take. */
#include <stdlib.h>

#define DEPTH 15

static void *volatile kept;

static __attribute__((noinline, noclone)) void descend(int depth)
{
	if (!depth) {
		kept = malloc(24);
		return;
	}
	/* Two calls that return to two places. */
	descend(depth - 1);
	descend(depth - 1);
	kept = NULL;
}

int main(void)
{
	descend(DEPTH);
	return 0;
}
