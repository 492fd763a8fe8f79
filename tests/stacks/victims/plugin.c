/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * plugin.c - built several times (NAME, ROOM, SHIFT) into libraries that fit at the same place:
 * same layout, other names, other frames.
 */
#include "stack.h"

#define JOIN(a, b)   a##b
#define CALLED(a, b) JOIN(a, b)
#define OWN(what)    CALLED(NAME, what)

FRAME static void OWN(_inner)(size_t size)
{
	volatile char room[ROOM];

	room[0] = room[ROOM - 1] = 1;
	TAG(size);
	STAY();
}

FRAME static void OWN(_middle)(size_t size, long a, long b)
{
	volatile long rooms[SHIFT];

	rooms[0] = a + b;
	OWN(_inner)(size);
	rooms[0]++;
	STAY();
}

FRAME void plugin_run(size_t size);
FRAME void plugin_run(size_t size)
{
	OWN(_middle)(size, 1, 2);
	STAY();
}

FRAME __attribute__((constructor)) static void OWN(_begins)(void)
{
	OWN(_inner)(BASE);
	STAY();
}

FRAME __attribute__((destructor)) static void OWN(_ends)(void)
{
	OWN(_inner)(BASE + 1);
	STAY();
}
