/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * tails.c - calls that are jumps: who jumps is not on the stack, for any unwinder.  Calls as the
 * last instruction of a function: the return address is outside of it.
 */
#include "stack.h"

#include <setjmp.h>

static jmp_buf back;

FRAME static void *leaf(size_t size)
{
	void *p = TAG(size);

	STAY();
	return p;
}

FRAME static void *jumping(size_t size)
{
	return leaf(size);
}

FRAME static void *calling(size_t size)
{
	void *p = jumping(size);

	STAY();
	return p;
}

FRAME static void *wrapper(size_t size)
{
	return malloc(size);
}

FRAME static void *caller_of_wrapper(size_t size)
{
	void *p = wrapper(size);

	STAY();
	return p;
}

FRAME __attribute__((noreturn)) static void gone(size_t size)
{
	TAG(size);
	STAY();
	longjmp(back, 1);
}

/* Ends with its call; `after` stands where the return address points to. */
FRAME static void ends_with_call(size_t size)
{
	gone(size);
}

FRAME __attribute__((unused)) static void after(void)
{
	STAY();
}

int main(void)
{
	kept = calling(2001);
	kept = caller_of_wrapper(2002);
#ifdef __OPTIMIZE__
	say("chain 2001 leaf calling " MAIN);
	say("chain 2002 caller_of_wrapper " MAIN);
#else
	say("chain 2001 leaf jumping calling " MAIN);
	say("chain 2002 wrapper caller_of_wrapper " MAIN);
#endif
	if (!setjmp(back))
		ends_with_call(2003);
	say("chain 2003 gone ends_with_call " MAIN);
	return 0;
}
