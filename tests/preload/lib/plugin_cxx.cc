// SPDX-License-Identifier: LGPL-3.0-or-later
/* plugin_cxx.cc - a C++ plugin: throws, and uses new, inside itself. */
#include <memory>
#include <stdexcept>
#include <string>

static thread_local std::string of_thread(5431, 'x'); // 5432 with its NUL

extern "C" int plugin_run(int n)
{
	std::unique_ptr<char[]> block(new char[5432]);

	block[0] = of_thread[0];
	try {
		throw std::runtime_error("as usual");
	} catch (const std::exception &) {
		n++;
	}
	of_thread = std::string();
	return n;
}
