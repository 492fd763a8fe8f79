/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* fixture_c.c - blocks of MiB that overlap in time: the peak is 9 MiB, in two blocks. */
#include "victim.h"

#define MIB ((size_t)1 << 20)

int main(void)
{
	char *a, *b, *c, *d;

	say("exact");
	a = malloc(3 * MIB);
	say("event malloc 3145728 A");
	b = malloc(5 * MIB);
	say("event malloc 5242880 B");
	free(a);
	say("event free A");
	c = malloc(4 * MIB);
	say("event malloc 4194304 C");
	free(b);
	say("event free B");
	d = malloc(3 * MIB);
	say("event malloc 3145728 D");
	free(c);
	say("event free C");
	free(d);
	say("event free D");
	say("expect peak_bytes 9437184");
	say("expect peak_blocks 2");
	say("expect total_bytes 15728640");
	say("expect live_bytes 0");
	say("expect live_blocks 0");
	say("ends 0");
	return 0;
}
