// SPDX-License-Identifier: LGPL-3.0-or-later
/* tls_objects.cc - thread_local objects with destructors, static objects, exceptions in threads. */
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include "victim.h"
}

struct Holder {
	std::unique_ptr<char[]> block;

	Holder() : block(new char[3001]) {}
	~Holder()
	{
		block.reset();
		operator delete[](operator new[](3002)); // new char[3002] may be left out
	}
};

static thread_local Holder of_thread;
static Holder of_process;

static void work(int i)
{
	of_thread.block[0] = 1;
	std::map<int, std::string> words;

	for (int n = 0; n < 100; n++)
		words[n] = std::string(100, char('a' + n % 26));
	try {
		if (i % 2)
			throw std::runtime_error(words[3]);
	} catch (const std::exception &e) {
		must(std::string(e.what()) == words[3]);
	}
}

int main()
{
	for (int round = 0; round < 5; round++) {
		std::vector<std::thread> threads;

		for (int i = 0; i < 8; i++)
			threads.emplace_back(work, i);
		for (auto &t : threads)
			t.join();
	}
	must(of_process.block != nullptr);
	say("size 3001 41");
	say("size 3002 41");
	say("expect threads 41");
	say("ends 0");
	return 0;
}
