// SPDX-License-Identifier: LGPL-3.0-or-later
/* misuse_cxx.cc - operator new, and one byte too many; see misuse.c. */
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "victim.h"

namespace shop
{
struct order {
	int number;
	char name[12];

	order(const char *text) : number(1)
	{
		char *volatile to = name;

		for (size_t i = 0; i <= strlen(text); i++)
			to[i] = text[i];
	}
};
struct alignas(128) wide {
	char byte[128];
};

__attribute__((noinline)) order *take(const char *name)
{
	return new order(name);
}
} // namespace shop

int main(int argc, char **)
{
	const char *names[] = { "Bob", "Montgomery IV" }; /* 14 bytes with its end */
	shop::order *o = shop::take(names[1]), *good = shop::take(names[0]);
	shop::wide *w = new shop::wide;
	int *a = new int[5];
	std::string text(100, 'a');

	must(reinterpret_cast<size_t>(w) % 128 == 0);
	*const_cast<volatile int *>(a + argc + 4) = 0; /* the sixth of five */
	text += "b";
	delete o;
	delete good;
	delete w;
	delete[] a;
	say("still here");
	return 3;
}
