// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * cxx.cc - operator new and delete in every form.  Each may be recorded as
 * itself or as the malloc and free below it, never as both: the totals and
 * sizes are the same either way.  `kind`: nothing fails, as not every allocator
 * survives its own failures.
 */
#include <cstdint>
#include <new>
#include <vector>

extern "C" {
#include "victim.h"
}

struct alignas(128) Wide {
	char bytes[256];
};

static volatile std::size_t huge = PTRDIFF_MAX - 4096;

static void plain()
{
	for (int i = 0; i < 10; i++) {
		operator delete(operator new(1001));
		operator delete[](operator new[](1003));
		operator delete(operator new(1001), std::size_t(1001));
		operator delete[](operator new[](1003), std::size_t(1003));
		operator delete(operator new(1001, std::nothrow), std::nothrow);
		operator delete[](operator new[](1003, std::nothrow), std::nothrow);
	}
}

static void aligned()
{
	auto const align = std::align_val_t(128);

	for (int i = 0; i < 10; i++) {
		void *p = operator new(2176, align);

		must((uintptr_t)p % 128 == 0);
		operator delete(p, align);
		operator delete[](operator new[](4224, align), align);
		operator delete(operator new(2176, align), 2176, align);
		operator delete[](operator new[](4224, align), 4224, align);
		operator delete(operator new(2176, align, std::nothrow), align, std::nothrow);
		operator delete[](operator new[](4224, align, std::nothrow), align, std::nothrow);
	}
}

static void failing()
{
	bool thrown = false;

	try {
		operator delete(operator new(huge));
	} catch (const std::bad_alloc &) {
		thrown = true;
	}
	must(thrown);
	must(operator new(huge, std::nothrow) == nullptr);
	operator delete(nullptr);
}

static int handled;

static void handler()
{
	handled++;
	if (handled == 2)
		std::set_new_handler(nullptr);
}

static void handlers()
{
	std::set_new_handler(handler);
	must(operator new(huge, std::nothrow) == nullptr);
	must(handled == 2);
}

int main(int argc, char **argv)
{
	plain();
	aligned();
	if (argc < 2 || strcmp(argv[1], "kind") != 0) {
		failing();
		handlers();
	}
	{
		std::vector<Wide> v(3);

		must((uintptr_t)v.data() % 128 == 0);
	}
	say("size 1001 30");
	say("size 1003 30");
	say("size 2176 30");
	say("size 4224 30");
	say("size 768 1");
	say("ends 0");
	return 0;
}
