/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* fixture_a.c - one block of each kind, one leak of 55 bytes, live peak 1,089 bytes. */
#include "victim.h"

int main(void)
{
	char *a, *b, *d;
	void *c;

	say("exact");
	a = malloc(100);
	say("event malloc 100 A");
	a = realloc(a, 300);
	say("event realloc A 300 A");
	b = calloc(3, 7);
	say("event calloc 3 7 B");
	must(posix_memalign(&c, 64, 640) == 0);
	say("event posix_memalign 64 640 C");
	d = aligned_alloc(64, 128);
	say("event aligned_alloc 64 128 D");
	free(a);
	say("event free A");
	free(b);
	say("event free B");
	free(c);
	say("event free C");
	free(d);
	say("event free D");
	must(malloc(55));
	say("event malloc 55 E");
	say("expect calls.malloc 2");
	say("expect calls.free 4");
	say("expect calls.calloc 1");
	say("expect calls.realloc 1");
	say("expect calls.posix_memalign 1");
	say("expect calls.aligned_alloc 1");
	say("expect peak_bytes 1089");
	say("expect live_bytes 55");
	say("expect live_blocks 1");
	say("ends 0");
	return 0;
}
