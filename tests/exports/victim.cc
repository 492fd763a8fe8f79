// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * victim.cc - allocates in ways whose sums can be computed by hand: known functions, sizes and
 * leaks, recursion, templates, inlined and static functions, and a name of the symbol table with
 * every character that a format takes for itself.
 */
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#define KEEP __attribute__((noinline, noclone))

extern "C" void *call_odd(std::size_t bytes); /* in odd.c */

static void *volatile kept[64];

/* 50 blocks of 64 KiB, of which 40 are given back. */
static KEEP void phase1()
{
	void *block[50];

	for (auto &b : block)
		b = std::malloc(65536);
	for (int i = 0; i < 40; i++)
		std::free(block[i]);
	kept[0] = block[49];
}

/* 20 blocks of 128 KiB that stay. */
static KEEP void phase2()
{
	static void *block[20];

	for (auto &b : block)
		b = std::malloc(131072);
	kept[1] = block[19];
}

/* 32 bytes at each of `depth` levels: 10 calls deep, through two functions. */
static KEEP void *down(int depth);
static KEEP void *turn(int depth)
{
	void *p = down(depth - 1);

	return p;
}
static KEEP void *down(int depth)
{
	void *own = std::malloc(32);

	if (depth)
		kept[2] = turn(depth);
	return own;
}

template <typename K, typename V> KEEP std::size_t fill(std::map<K, V> &m, int n)
{
	for (int i = 0; i < n; i++)
		m[i] = V(100, 'x');
	return m.size();
}

static inline __attribute__((always_inline)) void *inlined_here(std::size_t n)
{
	return std::calloc(n, 3);
}

int main()
{
	std::map<int, std::string> m;
	void *grown = std::malloc(1000);

	phase1();
	phase2();
	kept[3] = down(5);
	kept[4] = reinterpret_cast<void *>(fill(m, 200));
	kept[5] = inlined_here(111);
	kept[6] = call_odd(7777);
	for (int i = 0; i < 1000; i++)
		std::free(std::malloc(10));
	kept[7] = std::realloc(grown, 5000);
	std::thread([] { kept[8] = std::malloc(4242); }).join();
	return 0;
}
