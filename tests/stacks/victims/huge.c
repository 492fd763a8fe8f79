/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* huge.c - frames of megabytes, and of every size around what a short rule can say. */
#include "stack.h"

FRAME static void leaf(size_t size)
{
	TAG(size);
	STAY();
}

#define SIZED(bytes)                                \
	FRAME static void room_##bytes(size_t size) \
	{                                           \
		volatile char room[bytes];          \
		room[0] = 1;                        \
		leaf(size);                         \
		TAG(size + 1);                      \
		room[bytes - 1] = 1;                \
		STAY();                             \
	}

SIZED(100)
SIZED(4000)
SIZED(8100)
SIZED(16200)
SIZED(16300)
SIZED(16400)
SIZED(32800)
SIZED(131100)
SIZED(1048600)
SIZED(5000000)

FRAME static void nested(size_t size)
{
	volatile char room[1000000];

	room[5] = 1;
	room_1048600(size);
	room[6] = 1;
	STAY();
}

int main(void)
{
	size_t size = 2000;

#define RUN(bytes)                                        \
	for (int i = 0; i < 2; i++)                       \
		room_##bytes(size);                       \
	say("chain %zu leaf room_%d " MAIN, size, bytes); \
	say("chain %zu room_%d " MAIN, size + 1, bytes);  \
	size += 2
	RUN(100);
	RUN(4000);
	RUN(8100);
	RUN(16200);
	RUN(16300);
	RUN(16400);
	RUN(32800);
	RUN(131100);
	RUN(1048600);
	RUN(5000000);
	nested(size);
	say("chain %zu leaf room_1048600 nested " MAIN, size);
	return 0;
}
