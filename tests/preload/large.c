/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* large.c - sizes beyond 32 bits, if the machine has the memory. */
#include "victim.h"

#define GIB ((size_t)1 << 30)

int main(void)
{
	char *p = malloc(5 * GIB + 1), *q;

	if (p) {
		p[5 * GIB] = 1;
		q = realloc(p, 9 * GIB + 3); /* mremap inside */
		must(!q || q[5 * GIB] == 1);
		say("size 5368709121 1");
		if (q)
			say("size 9663676419 1");
		say("expect peak_bytes %zu", q ? 9 * GIB + 3 : 5 * GIB + 1);
		free(q ? q : p);
	}
	say("expect live_bytes 0");
	say("ends 0");
	return 0;
}
