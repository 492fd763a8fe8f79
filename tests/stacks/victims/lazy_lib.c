/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * lazy_lib.c - a library whose function is chosen at its first call, by a resolver that
 * allocates: below it is the loader's assembly, which aligns the stack.
 */
#include "stack.h"

FRAME static void chosen(size_t size)
{
	TAG(size);
	STAY();
}

FRAME static void resolver_leaf(void)
{
	TAG(2001);
	STAY();
}

static void (*resolver(void))(size_t)
{
	resolver_leaf();
	STAY();
	return chosen;
}

void lazy_call(size_t size) __attribute__((ifunc("resolver")));
