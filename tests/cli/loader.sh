# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2086
#
# loader.sh - programs that load objects hear from the loader what they would without us.

# The library looks functions up while the program has not asked yet why a plugin was missing, or copies
# the answer.
test_errors_of_the_loader() {
	cat >asks.cc <<'EOF'
#include <dlfcn.h>
#include <cstdio>
#include <string>
static void tell(const std::string &said)
{
	puts(said.c_str());
	puts(dlerror() ? "again" : "once");
}
extern "C" void asks(int late)
{
	void *h = dlopen("/nonexistent/plugin.so", RTLD_NOW);
	if (late) {
		std::string said("the plugin is missing, for this reason: ");
		said += h ? "none" : dlerror();
		tell(said);
	} else {
		tell(h ? "none" : dlerror());
	}
	dlsym(RTLD_DEFAULT, "nothing_has_this_long_name");
	std::string *more = new std::string[2];
	more[0] = dlerror();
	tell(more[0]);
	delete[] more;
}
#ifndef PLUGIN
int main(int argc, char **argv)
{
	asks(argc > 1);
}
#endif
EOF
	cat >host.c <<'EOF'
#include <dlfcn.h>
int main(int argc, char **argv)
{
	void *h = dlopen("./asks.so", RTLD_NOW);
	((void (*)(int))dlsym(h, "asks"))(argc > 1);
	return 0;
}
EOF
	c++ -w asks.cc -o asks && c++ -w -shared -fPIC -DPLUGIN asks.cc -o asks.so && compile host
	local program mode late
	for program in ./asks ./host; do
		for late in '' late; do
			$program $late >wanted
			expect_lines wanted 4
			for mode in record profile stat; do
				rm -f rec
				"$mprof" "$mode" -o rec -- $program $late >told 2>err || bad "$mode $program $late: status $?: $(cat err)"
				expect_same "what $mode $program $late told" "$(cat told)" "$(cat wanted)"
			done
		done
	done
}
