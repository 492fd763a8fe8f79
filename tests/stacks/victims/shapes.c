/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * shapes.c [SEED] [CALLS] - a random walk over functions with every kind of frame: of all sizes,
 * with alloca, with variable arrays, aligned to 64 bytes, with all registers in use, with
 * arguments on the stack.  The walk keeps its own list of who called whom; each allocation
 * prints it.
 */
#include "stack.h"

#include <alloca.h>
#include <stdint.h>

enum { DEEPEST = 60, SIZE_FIRST = 100 };

static const char *path[DEEPEST + 1];
static int depth, calls = 400, size = SIZE_FIRST;
static uint64_t seed = 1;
static volatile long sink;

static unsigned dice(unsigned sides)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 33) % sides;
}

static void tell(void)
{
	char line[2048];
	int n = snprintf(line, sizeof(line), "chain %d", size);

	for (int i = depth; i > 0; i--)
		n += snprintf(line + n, sizeof(line) - (size_t)n, " %s", path[i]);
	n += snprintf(line + n, sizeof(line) - (size_t)n, " " MAIN "\n");
	if (write(1, line, (size_t)n) != n)
		_exit(99);
}

static void wander(void);

#define ENTER() path[++depth] = __func__
#define LEAVE()          \
	do {             \
		depth--; \
		STAY();  \
	} while (0)
/* Allocates here, and prints that it did. */
#define HERE()             \
	do {               \
		TAG(size); \
		tell();    \
		size++;    \
	} while (0)

FRAME static long plain(long a)
{
	ENTER();
	if (dice(2))
		HERE();
	wander();
	LEAVE();
	return a + 1;
}

FRAME static long busy(long a, long b, long c, long d, long e, long f)
{
	long x[12];

	ENTER();
	for (int i = 0; i < 12; i++)
		x[i] = a * i + b - c * d + e * f + (long)dice(100);
	wander();
	if (dice(2))
		HERE();
	for (int i = 0; i < 12; i++)
		a = a * 31 + x[i] + b;
	wander();
	LEAVE();
	return a + b + c + d + e + f;
}

FRAME static long many(long a, long b, long c, long d, long e, long f, long g, long h, long i)
{
	ENTER();
	wander();
	HERE();
	LEAVE();
	return a + b + c + d + e + f + g + h + i;
}

FRAME static long moving(size_t bytes)
{
	char *p = alloca(bytes);

	ENTER();
	p[0] = p[bytes - 1] = (char)bytes;
	HERE();
	wander();
	if (dice(2)) {
		char *q = alloca(bytes * 2);

		q[bytes] = 1;
		sink += q[bytes];
		wander();
	}
	sink += p[0];
	LEAVE();
	return p[0];
}

FRAME static long variable(int n)
{
	ENTER();
	for (int i = 1; i < 3; i++) {
		volatile int array[n * i];

		array[n - 1] = i;
		wander();
		if (i == 2)
			HERE();
		sink += array[n - 1];
	}
	LEAVE();
	return n;
}

FRAME static long aligned(int n)
{
	volatile char block[96] __attribute__((aligned(64)));

	ENTER();
	must(((uintptr_t)block & 63) == 0);
	block[n & 63] = 1;
	wander();
	HERE();
	LEAVE();
	return block[0];
}

FRAME static long aligned_moving(int n)
{
	volatile char block[64] __attribute__((aligned(64)));
	volatile char *more = alloca((size_t)n);

	ENTER();
	must(((uintptr_t)block & 63) == 0);
	block[n & 63] = more[n - 1] = 2;
	HERE();
	wander();
	sink += more[n - 1];
	LEAVE();
	return block[1];
}

FRAME static long huge(int n)
{
	volatile char block[70000];

	ENTER();
	block[n] = block[69999 - n] = 1;
	wander();
	if (dice(2))
		HERE();
	LEAVE();
	return block[3];
}

FRAME static double floats(double a, double b)
{
	volatile double x[5];

	ENTER();
	for (int i = 0; i < 5; i++)
		x[i] = a * i + b;
	HERE();
	wander();
	LEAVE();
	return x[1] + x[4];
}

FRAME static long through(long (*f)(long), long a)
{
	long r;

	ENTER();
	r = f(a) + a;
	LEAVE();
	return r;
}

FRAME static void wander_on(void)
{
	ENTER();
	switch (dice(10)) {
	case 0:
		sink += plain(1);
		break;
	case 1:
		sink += busy(1, 2, 3, (long)dice(9), 5, 6);
		break;
	case 2:
		sink += many(1, 2, 3, 4, 5, 6, 7, 8, (long)dice(9));
		break;
	case 3:
		sink += moving(16 + dice(700));
		break;
	case 4:
		sink += variable(4 + (int)dice(90));
		break;
	case 5:
		sink += aligned((int)dice(64));
		break;
	case 6:
		sink += aligned_moving(8 + (int)dice(300));
		break;
	case 7:
		sink += huge((int)dice(1000));
		break;
	case 8:
		sink += (long)floats(dice(9), 2.0);
		break;
	case 9:
		sink += through(plain, 3);
		break;
	}
	LEAVE();
}

/* Inlined everywhere, so that each shape has several calls in it. */
static inline __attribute__((always_inline)) void wander(void)
{
	if (size - SIZE_FIRST >= calls || depth + 4 > DEEPEST || dice(16) == 0)
		return;
	wander_on();
}

int main(int argc, char **argv)
{
	if (argc > 1)
		seed = strtoull(argv[1], NULL, 10) * 2654435761u + 88172645463325252ull;
	if (argc > 2)
		calls = atoi(argv[2]);
	while (size - SIZE_FIRST < calls) {
		wander();
		STAY();
	}
	return 0;
}
