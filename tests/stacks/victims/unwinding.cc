/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * unwinding.cc - C++ exceptions: allocations in destructors while one is in flight, in catch
 * blocks, by the run time itself, and in the same functions afterwards.
 */
#include "stack.h"

#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

struct Guard {
	size_t size;
	explicit Guard(size_t s) : size(s) {}
	FRAME ~Guard();
};

FRAME Guard::~Guard()
{
	if (size)
		TAG(size);
	STAY();
}

struct Big : std::exception {
	char room[3900];
};

FRAME void thrower(int n)
{
	if (n == 1)
		throw Big();
	STAY();
}

FRAME void guarded(int n, size_t size)
{
	Guard g(size);
	volatile char room[200];

	room[0] = 0;
	thrower(n);
	STAY();
}

FRAME void outer(int n, size_t size)
{
	Guard g(size ? size + 1 : 0);

	guarded(n, size);
	STAY();
}

FRAME void catches(int n, size_t size)
{
	try {
		outer(n, size);
	} catch (const std::exception &) {
		TAG(size + 2);
		Guard g(size + 3);
	}
	TAG(size + 4);
	STAY();
}

FRAME void rethrows(size_t size)
{
	try {
		outer(1, size);
	} catch (...) {
		TAG(size + 2);
		throw;
	}
	STAY();
}

FRAME void deep(int n)
{
	Guard g(n == 5 ? 2040 : 0);

	if (n)
		deep(n - 1);
	else
		thrower(1);
	STAY();
}

struct Late {
	FRAME ~Late();
};

/* A second exception, thrown and caught in a destructor while the first is in flight. */
FRAME Late::~Late()
{
	catches(1, 2050);
	STAY();
}

FRAME void two_in_flight()
{
	Late late;

	thrower(1);
	STAY();
}

} // namespace

int main()
{
	for (int i = 0; i < 3; i++) {
		catches(1, 2001);
		catches(0, 2011);
	}
	say("chain 2001 (anonymous_namespace)::Guard::~Guard (anonymous_namespace)::guarded "
	    "(anonymous_namespace)::outer (anonymous_namespace)::catches " MAIN);
	say("chain 2002 (anonymous_namespace)::Guard::~Guard (anonymous_namespace)::outer "
	    "(anonymous_namespace)::catches " MAIN);
	say("chain 2003 (anonymous_namespace)::catches " MAIN);
	say("chain 2004 (anonymous_namespace)::Guard::~Guard (anonymous_namespace)::catches " MAIN);
	say("chain 2005 (anonymous_namespace)::catches " MAIN);
	say("chain 2011 (anonymous_namespace)::Guard::~Guard (anonymous_namespace)::guarded "
	    "(anonymous_namespace)::outer (anonymous_namespace)::catches " MAIN);
	say("count 2001 3");
	say("count 2011 3");
	try {
		rethrows(2021);
	} catch (const Big &) {
		TAG(2030);
	}
	say("chain 2023 (anonymous_namespace)::rethrows " MAIN);
	say("chain 2030 " MAIN);
	try {
		deep(20);
	} catch (const Big &) {
		TAG(2031);
	}
	say("chain 2040 (anonymous_namespace)::Guard::~Guard (anonymous_namespace)::deep*16 " MAIN);
	say("chain 2031 " MAIN);
	try {
		two_in_flight();
	} catch (const Big &) {
		TAG(2032);
	}
	say("chain 2052 (anonymous_namespace)::catches (anonymous_namespace)::Late::~Late "
	    "(anonymous_namespace)::two_in_flight " MAIN);
	say("chain 2050 (anonymous_namespace)::Guard::~Guard (anonymous_namespace)::guarded "
	    "(anonymous_namespace)::outer (anonymous_namespace)::catches "
	    "(anonymous_namespace)::Late::~Late (anonymous_namespace)::two_in_flight " MAIN);
	return 0;
}
