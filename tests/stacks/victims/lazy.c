/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* lazy.c - calls through a PLT that is bound at the first call (linked with -z lazy). */
#include "stack.h"

void lazy_call(size_t size);

FRAME static void caller(size_t size)
{
	lazy_call(size);
	STAY();
}

int main(void)
{
	caller(2011);
	caller(2011);
	say("chain 2011 chosen caller " MAIN);
	say("count 2011 2");
#ifdef __aarch64__
	/* The call frame information of its loader forgets 16 bytes: one frame is met twice. */
	say("chain 2001 resolver_leaf @lazy_lib @ld-linux+ caller+ ... !any");
	return 0;
#endif
	if (getenv("LD_BIND_NOW") == NULL)
		say("chain 2001 resolver_leaf @lazy_lib @ld-linux+ caller " MAIN);
	return 0;
}
