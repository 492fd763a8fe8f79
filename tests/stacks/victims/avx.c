/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* avx.c - frames realigned for 32-byte vectors: the frame is found through a saved pointer. */
#include "stack.h"

#include <alloca.h>

typedef double vector __attribute__((vector_size(32)));

static volatile double sink;

FRAME static void leaf(size_t size)
{
	TAG(size);
	STAY();
}

FRAME __attribute__((target("avx"))) static void realigned(vector *v, int n, size_t size)
{
	vector x[4];

	for (int i = 0; i < 4; i++)
		x[i] = *v * (double)i;
	leaf(size);
	for (int i = 0; i < 4; i++)
		*v += x[i];
	if (n)
		realigned(v, n - 1, size);
	STAY();
}

/* With alloca the realigned frame needs a register of its own for the arguments. */
FRAME __attribute__((target("avx"))) static void realigned_moving(vector *v, int n, size_t size,
								  long a, long b, long c, long d)
{
	volatile char *p = alloca((size_t)(n + 1) * 40);
	vector x = *v;
	volatile vector y = x;

	p[0] = 1;
	if (n)
		realigned_moving(v, n - 1, size, a, b, c, d + 1);
	else
		leaf(size);
	*v += x + y;
	sink += p[0] + (double)(a + b + c + d);
	STAY();
}

int main(void)
{
	vector v = { 1, 2, 3, 4 };

#ifdef __x86_64__
	if (!__builtin_cpu_supports("avx"))
		return 0;
#endif
	realigned(&v, 0, 2001);
	realigned_moving(&v, 5, 2002, 1, 2, 3, 4);
	realigned_moving(&v, 5, 2002, 1, 2, 3, 4);
	sink += v[0];
	say("chain 2001 leaf realigned " MAIN);
	say("chain 2002 leaf realigned_moving*6 " MAIN);
	say("count 2002 2");
	return 0;
}
