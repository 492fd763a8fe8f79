# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# attach_harmless.sh - mprof attach does not change what a program does otherwise.

# Each program here creates `ready`, waits for `end`, and exits with status 7 if all is well.
harmless_start() { # NAME
	rm -f ready end
	"./$1" &
	pid=$!
	wait_for test -e ready
}

harmless_end() {
	status=0
	touch end
	wait "$pid" || status=$?
	expect_status 7
}

harmless_attach() { # OPTIONS...
	run "$mprof" attach -q --for 50ms -o a.profile "$@" "$pid"
}

# The first variable may only be read, a later page not even that.
test_attach_heeds_protected_data() {
	attach_is_allowed || return 0
	cat >guards.c <<'END'
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static struct { void *(*get)(size_t); char more[4088]; } fixed
	__attribute__((aligned(4096))) = { malloc };
static struct { char before[4096], guard[4096]; void (*let_go)(void *); }
	rest __attribute__((aligned(4096)));
int main(void)
{
	rest.let_go = free;
	mprotect(&fixed, 4096, PROT_READ);
	mprotect(rest.guard, 4096, PROT_NONE);
	close(creat("ready", 0600));
	while (access("end", F_OK)) {
		rest.let_go(fixed.get(777));
		usleep(1000);
	}
	return 7;
}
END
	compile guards
	# It begins and ends while the program has a block, or that makes no call meanwhile, by chance only.
	again_until '[ "$found" = "777 777 0 0" ]' attach_to_guards
	expect_same 'sizes, live, errors' "$found" '777 777 0 0'
}

attach_to_guards() {
	local before
	harmless_start guards
	before=$(grep "$PWD/guards" "/proc/$pid/maps")
	harmless_attach
	expect_status 0
	expect_same protections "$(grep "$PWD/guards" "/proc/$pid/maps")" "$before"
	harmless_end
	"$mprof" report hot --json a.profile >r.json
	found=$(json r.json '.rows[] | select(.stack[-1].function == "main")
		| [.sizes.min, .sizes.max, .figures.live, .foreign_frees] | join(" ")')
}

# A handler has interrupted malloc_trim, which keeps a lock; libc's caller is not where to look.
test_attach_sees_what_a_signal_interrupted() {
	attach_is_allowed || return 0
	cat >trims.c <<'END'
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>
static volatile int handled;
static void handle(int number)
{
	close(creat("ready", 0600));
	while (access("end", F_OK))
		for (volatile int i = 0; i < 1000000; i++)
			;
	handled = number;
}
int main(void)
{
	const struct itimerval soon = { { 0, 0 }, { 0, 100000 } };
	static char *block[50000];

	for (int i = 0; i < 50000; i++)
		block[i] = malloc(1500);
	for (int i = 0; i < 50000; i += 2)
		free(block[i]);
	signal(SIGALRM, handle);
	setitimer(ITIMER_REAL, &soon, NULL);
	while (!handled)
		malloc_trim(0);
	return 7;
}
END
	compile trims
	harmless_start trims
	harmless_attach
	expect_status 3
	expect_text err 'could not be interrupted outside of its allocator and loader'
	harmless_end
}

harmless_loops() {
	cat >loops.c <<'END'
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	static unsigned char *block[256];

	close(creat("ready", 0600));
	for (unsigned i = 0; access("end", F_OK); i++) {
		const unsigned k = i * 7919u % 256;

		if (block[k] && *block[k] != k)
			return 1;
		free(block[k]);
		block[k] = malloc(1000 + i % 3000);
		*block[k] = k;
		usleep(100);
	}
	return 7;
}
END
	compile loops
}

# SIGSTOP cannot be blocked during a call.
test_attach_while_a_process_is_stopped_and_goes_on() {
	attach_is_allowed || return 0
	harmless_loops
	cat >storm.c <<'END'
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	const int pid = atoi(argv[1]);

	while (!kill(pid, SIGSTOP)) {
		usleep(300);
		kill(pid, SIGCONT);
		usleep(1500);
	}
	return 0;
}
END
	compile storm
	local storm
	harmless_start loops
	./storm "$pid" &
	storm=$!
	for _ in 1 2 3 4 5; do
		# On a busy machine, it may remain stopped for longer than mprof waits.
		again_until '! grep -q "it is stopped" err' harmless_attach
		expect_status 0
	done
	kill "$storm"
	wait "$storm" 2>/dev/null
	kill -CONT "$pid"
	harmless_end
}

test_attach_refuses_a_stopped_process() {
	attach_is_allowed || return 0
	harmless_loops
	harmless_start loops
	kill -STOP "$pid"
	harmless_attach
	expect_status 3
	expect_one_line_error
	expect_text err "it is stopped; let it go on with kill -CONT $pid"
	kill -CONT "$pid"
	harmless_end
}

# A thread in vfork() cannot be stopped until the child runs another program or ends: it must not
# remain stopped then.
test_attach_leaves_a_vfork_alone() {
	attach_is_allowed || return 0
	cat >vforks.c <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void *work(void *arg)
{
	for (;;) {
		free(malloc(100));
		usleep(1000);
	}
	return arg;
}
int main(void)
{
	const struct timespec second = { 1, 500000000 };
	pthread_t thread;

	pthread_create(&thread, NULL, work, NULL);
	close(creat("ready", 0600));
	if (!vfork()) {
		nanosleep(&second, NULL);
		_exit(0);
	}
	close(creat("back", 0600));
	while (access("end", F_OK))
		usleep(1000);
	return 7;
}
END
	compile vforks -pthread
	rm -f back
	harmless_start vforks
	local attached
	attach_to -o a.profile
	wait_for test -e back
	harmless_end
	wait "$attached" || bad "attach failed: $(cat err)"
}

# A program that ignores them still does so, and no signal is blocked in it.
test_attach_keeps_signals() {
	attach_is_allowed || return 0
	cat >ignores.c <<'END'
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
int main(void)
{
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_IGN);
	close(creat("ready", 0600));
	while (access("end", F_OK))
		usleep(1000);
	return 7;
}
END
	compile ignores
	local before
	harmless_start ignores
	before=$(grep '^Sig[BIC]' "/proc/$pid/status")
	harmless_attach
	expect_status 0
	expect_same signals "$(grep '^Sig[BIC]' "/proc/$pid/status")" "$before"
	harmless_end
}

# A thread of the program loads libmprof.so then, which waits for the loader's lock: the call would
# return to nowhere.
test_attach_that_is_killed() {
	attach_is_allowed || return 0
	attach_slow_loader go
	local attached
	rm -f go
	harmless_start loads
	"$mprof" attach -q -o a.profile "$pid" 2>err &
	attached=$!
	wait_for grep -q futex "/proc/$pid/task/$pid/wchan"
	kill -KILL "$attached"
	wait "$attached" 2>/dev/null
	sleep 0.2
	touch go
	sleep 0.5
	harmless_end
}

# The library of the first time handles SIGBUS, but knows its own file only.
test_attach_again_heeds_a_truncated_profile() {
	attach_is_allowed || return 0
	harmless_loops
	harmless_start loops
	local attached
	harmless_attach
	expect_status 0
	attach_to -o b.profile
	: >b.profile
	sleep 0.2
	kill -INT "$attached"
	wait "$attached"
	: >a.profile
	harmless_end
}

test_attach_refuses_a_replaced_library() {
	attach_is_allowed || return 0
	harmless_loops
	mkdir lib
	cp "$(ldd ./loops | sed -n 's/.*libc.so.6 => \([^ ]*\).*/\1/p')" lib/libc.so.6
	LD_LIBRARY_PATH=$PWD/lib harmless_start loops
	local attached
	attach_to -o b.profile
	cp lib/libc.so.6 lib/new
	mv lib/new lib/libc.so.6
	attach_detach
	expect_no_text err warning
	harmless_attach
	expect_status 3
	expect_one_line_error
	expect_text err "'$PWD/lib/libc.so.6' was replaced since the program started, as by an upgrade"
	harmless_end
}

# On the stack of a coroutine or greenlet, words that follow the outermost frame look like callers.
test_attach_to_a_coroutine() {
	attach_is_allowed || return 0
	cat >coroutine.c <<'END'
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
static uintptr_t stack[1 << 16] __attribute__((aligned(64)));
static void run(void)
{
	close(creat("ready", 0600));
	while (access("end", F_OK)) {
		free(malloc(100));
		usleep(1000);
	}
	_exit(7);
}
int main(void)
{
	uintptr_t *top = stack + sizeof(stack) / sizeof(*stack) - 65;

	for (int i = 0; i < 65; i++)
		top[i] = 0x04cbe039cb53c200;
	__asm__ volatile("mov %0, %%rsp\n\tjmp *%1" : : "r"(top), "r"(run));
	return 1;
}
END
	compile coroutine
	harmless_start coroutine
	harmless_attach
	expect_status 0
	harmless_end
}
