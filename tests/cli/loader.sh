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
#include <new>
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
	/* A call that succeeds forgets an error, even one that the program never asked for. */
	dlsym(RTLD_DEFAULT, "nothing_has_this_other_name");
	delete new (std::nothrow) char;
	tell(!dlsym(RTLD_DEFAULT, "malloc") ? "missing" : dlerror() ? "stale" : "forgotten");
	dlsym(RTLD_DEFAULT, "nor_this_name");
	operator delete(operator new(64, std::align_val_t(64)), std::align_val_t(64));
	tell(dlsym(RTLD_DEFAULT, "nor_that_name") ? "found" : dlerror());
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
	c++ -std=c++17 -w asks.cc -o asks && c++ -std=c++17 -w -shared -fPIC -DPLUGIN asks.cc -o asks.so && compile host
	local program mode late
	for program in ./asks ./host; do
		for late in '' late; do
			$program $late >wanted
			expect_lines wanted 8
			for mode in record profile stat; do
				rm -f rec
				"$mprof" "$mode" -o rec -- $program $late >told 2>err || bad "$mode $program $late: status $?: $(cat err)"
				expect_same "what $mode $program $late told" "$(cat told)" "$(cat wanted)"
			done
		done
	done
}

# What the library keeps of the loader's errors needs no system call that a sandbox forbids, and no
# memory of threads that ended, whether they are recorded or not.
test_memory_for_errors_of_the_loader() {
	cat >strict.c <<'EOF'
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/seccomp.h>
int main(void)
{
	const char *said;
	free(malloc(10000)); /* later calls need no more memory */
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	dlsym(RTLD_DEFAULT, "nothing_has_this_name");
	said = dlerror();
	write(1, said, strlen(said));
	syscall(SYS_exit, 3);
}
EOF
	cat >threads.c <<'EOF'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
static void *ask(void *arg)
{
	dlopen("/nonexistent/plugin.so", RTLD_NOW);
	return dlerror() ? arg : NULL;
}
static long pages(void)
{
	long n = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	fscanf(f, "%ld", &n);
	fclose(f);
	return n;
}
static void run(int n)
{
	pthread_t t;
	while (n-- && !pthread_create(&t, NULL, ask, NULL))
		pthread_join(t, NULL);
}
int main(void)
{
	run(300);
	long before = pages();
	run(1500);
	puts(pages() - before < 1000 ? "small" : "large");
}
EOF
	compile strict && cc -w threads.c -o threads -pthread
	local mode status=0
	./strict >wanted || status=$?
	expect_same 'without mprof' $status 3
	for mode in record profile stat; do
		status=0
		"$mprof" "$mode" -o rec -- ./strict >told 2>err || status=$?
		expect_same "$mode: status" $status 3
		expect_same "$mode: told" "$(cat told)" "$(cat wanted)"
		rm -f rec
		expect_same "$mode: threads" "$("$mprof" "$mode" -o rec -- ./threads 2>err)" small
		rm -f rec
	done
	expect_same 'not recorded: threads' "$("$mprof" record -o rec --only other -- ./threads 2>err)" small
}
