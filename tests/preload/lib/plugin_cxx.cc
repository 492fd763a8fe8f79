// SPDX-License-Identifier: LGPL-3.0-or-later
/* plugin_cxx.cc - a C++ plugin: throws, and uses new, inside itself. */
#include <new>
#include <stdexcept>
#include <string>

extern "C" int plugin_run(int n)
{
	void *block = operator new[](5432);
	std::string words(5431, 'x'); // 5432 with its NUL

	try {
		throw std::runtime_error(words.substr(0, 100));
	} catch (const std::exception &) {
		n++;
	}
	operator delete[](block);
	return n;
}
