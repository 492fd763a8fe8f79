/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * before_main.c - 200,000 blocks before main: before the constructors of any
 * library (preinit), and in one; and some after main has returned.
 */
#include "victim.h"

#include <dlfcn.h>

enum { EARLY = 1000, LATER = 200000 };
static void *kept[EARLY];

static void preinit(void)
{
	for (int i = 0; i < EARLY; i++) {
		kept[i] = malloc(71);
		must(kept[i] && ((unsigned long)kept[i] & 15) == 0);
	}
}

__attribute__((section(".preinit_array"), used)) static void (*const entry)(void) = preinit;

__attribute__((constructor)) static void construct(void)
{
	for (int i = 0; i < LATER; i++)
		free(malloc(72));
	kept[0] = realloc(kept[0], 100000);
	must(dlsym(RTLD_NEXT, "malloc"));
}

__attribute__((destructor)) static void destruct(void)
{
	for (int i = 0; i < 100; i++)
		free(malloc(73));
}

static void last(void)
{
	free(malloc(74));
}

int main(void)
{
	atexit(last);
	for (int i = 0; i < EARLY; i++)
		free(kept[i]);
	say("size 71 %d", EARLY);
	say("size 72 %d", LATER);
	say("size 73 100");
	say("size 74 1");
	say("expect live_bytes 0");
	say("ends 0");
	return 0;
}
