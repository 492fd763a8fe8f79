/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* deep.c DEPTH [KEPT] - recursion, direct and mutual; KEPT is what DEPTH= lets be kept. */
#include "stack.h"

#include <sys/resource.h>

enum { LIMIT = 65535 };
static int depth, most = LIMIT;

FRAME static void direct(int n, size_t size)
{
	if (n)
		direct(n - 1, size);
	else
		TAG(size);
	STAY();
}

FRAME static void odd(int n, size_t size);

FRAME static void even(int n, size_t size)
{
	if (n)
		odd(n - 1, size);
	else
		TAG(size);
	STAY();
}

FRAME static void odd(int n, size_t size)
{
	if (n)
		even(n - 1, size);
	else
		TAG(size);
	STAY();
}

/* Allocates on the way in and on the way out at a few places. */
FRAME static void stairs(int n)
{
	int step = depth / 4 ? depth / 4 : 1;

	if (n && n % step == 0)
		TAG(5000 + n / step);
	if (n < depth)
		stairs(n + 1);
	if (n && n % step == 0)
		TAG(5100 + n / step);
	STAY();
}

static void expect(size_t size, const char *name, int frames)
{
	const char *outer = " " MAIN;

	if (frames + 4 > most) {
		outer = frames > most ? " !truncated" : NULL;
		frames = frames > most ? most : frames;
	}
	if (outer)
		say("chain %zu %s*%d%s", size, name, frames, outer);
	else
		say("chain %zu %s*%d ... !truncated", size, name, frames);
}

int main(int argc, char **argv)
{
	struct rlimit now;

	getrlimit(RLIMIT_STACK, &now);
	if (now.rlim_cur != RLIM_INFINITY && now.rlim_cur < 64u << 20 && argc > 1 &&
	    atoi(argv[1]) > 10000) {
		now.rlim_cur = 64u << 20;
		if (setrlimit(RLIMIT_STACK, &now) == 0)
			execv("/proc/self/exe", argv);
	}
	must(argc > 1);
	depth = atoi(argv[1]);
	if (argc > 2)
		most = atoi(argv[2]);
	direct(depth - 1, 3001);
	expect(3001, "direct", depth);
	direct(depth - 1, 3002);
	expect(3002, "direct", depth);
	direct(depth / 2, 3003);
	expect(3003, "direct", depth / 2 + 1);
	even(6, 3004);
	say(most > 20 ? "chain 3004 even odd even odd even odd even " MAIN
		      : "chain 3004 even odd even odd even odd even ... !truncated");
	odd(6, 3005);
	say(most > 20 ? "chain 3005 odd even odd even odd even odd " MAIN
		      : "chain 3005 odd even odd even odd even odd ... !truncated");
	stairs(0);
	for (int i = 1; i <= 4; i++) {
		int n = i * (depth / 4 ? depth / 4 : 1);

		expect((size_t)(5000 + i), "stairs", n + 1);
		expect((size_t)(5100 + i), "stairs", n + 1);
	}
	return 0;
}
