/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* thread_objects.cc - destructors of thread_local and static objects, and std::thread. */
#include "stack.h"

#include <thread>

struct Tag {
	size_t size;
	explicit Tag(size_t s) : size(s) { made(); }
	FRAME void made()
	{
		TAG(size);
		STAY();
	}
	FRAME ~Tag()
	{
		TAG(size + 1);
		STAY();
	}
};

static Tag global(2001);
static thread_local Tag own(2011);

FRAME static void works(size_t size)
{
	own.size = own.size;
	TAG(size);
	STAY();
}

int main()
{
	std::thread(works, 2021).join();
	std::thread([] {
		works(2022);
		STAY();
	}).join();
	say("chain 2001 Tag::made ... @libc+ _start");
	say("chain 2002 Tag::~Tag @libc+ _start");
	say("chain 2011 Tag::made ... works ... " THREAD);
	say("chain 2012 Tag::~Tag " THREAD);
	say("chain 2021 works ... @libstdc++ " THREAD);
	say("chain 2022 works ... @libstdc++ " THREAD);
	return 0;
}
