# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# live.sh - reports on a program that is still running.

# ./passes THREADS [PROCESSES]: threads begin and end all the time; each frees what the one
# before it left, and leaves blocks to the next one.  A forked child frees some of them, too.
live_program() {
	cat >passes.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *left[16][50];
static void *pass(void *arg)
{
	void **mine = arg;
	for (int i = 0; i < 1000; i++) {
		free(mine[i % 50]);
		mine[i % 50] = malloc((size_t)i % 500 + 1);
	}
	return NULL;
}
int main(int argc, char **argv)
{
	int threads = atoi(argv[1]), processes = argc > 2;
	pthread_t t[16];
	for (;;) {
		if (processes && !fork()) {
			pass(left[0]);
			exit(0);
		}
		for (int i = 0; i < threads; i++)
			pthread_create(&t[i], NULL, pass, left[i]);
		for (int i = 0; i < threads; i++)
			pthread_join(t[i], NULL);
		if (processes)
			wait(NULL);
		usleep(20000);
	}
}
END
	cc -g -O1 -pthread -o passes passes.c || bad 'does not compile'
}

# 8 reports of LOG while it is written: undamaged, and each has all events of the previous one.
expect_live() { # LOG
	local i now
	live_events=0
	wait_for eval '[ "$(stat -c %s '"$1"')" -gt 200000 ]'
	for ((i = 0; i < 8; i++)); do
		"$mprof" report --json "$1" >r.json 2>err || bad "$(cat err)"
		expect_same "problems of reading $i" "$(json r.json '[.problems.double_allocations,
			.problems.unmatched_frees, .problems.inversions, .lost] | join(" ")')" '0 0 0 0'
		expect_same "damage of reading $i" "$(json r.json '[.damage[]] | add')" 0
		now=$(json r.json .events)
		[ "$now" -ge "$live_events" ] || bad "reading $i has $now events, the one before $live_events"
		live_events=$now
	done
	[ "$live_events" -gt 0 ] || bad 'no events'
}

live_run() { # ARGUMENTS OF passes...
	local pid
	live_program
	"$mprof" record --no-compress -o live.log -- ./passes "$@" >/dev/null 2>&1 &
	pid=$!
	expect_live live.log
	pkill -KILL -P "$pid" passes
	wait "$pid"
	"$mprof" report --json live.log >r.json
	expect_same 'problems after the end' "$(json r.json '[.problems[] | numbers] | add')" 0
	[ "$(json r.json .events)" -ge "$live_events" ] || bad 'events are missing after the end'
}

test_live_threads_come_and_go() {
	live_run 4
}

test_live_processes_come_and_go() {
	live_run 1 processes
}

# A server's children, each with more stacks than a slot has space for, begin and end while its
# profile is read: nothing is missing from the profile.
test_live_profile_of_short_children() {
	local pid i
	cat >many.c <<'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static __attribute__((noinline)) void leaf(void)
{
	void *volatile p = malloc(50);
	free(p);
}
static __attribute__((noinline)) void walk(unsigned way, int n)
{
	if (!n) {
		leaf();
	} else if (way & 1) {
		walk(way >> 1, n - 1);
		__asm__ volatile("nop");
	} else {
		walk(way >> 1, n - 1);
		__asm__ volatile("nop; nop");
	}
}
int main(void)
{
	for (unsigned i = 0; i < 40; i++)
		walk(i, 12);
	for (;;) {
		if (!fork()) {
			for (unsigned i = 0; i < 600; i++)
				walk(i * 2654435761u >> 16, 14);
			exit(0);
		}
		wait(NULL);
		usleep(1000);
	}
}
END
	cc -g -O1 -o many many.c || bad 'does not compile'
	"$mprof" profile -q -o many.profile -- ./many &
	pid=$!
	wait_for eval '[ "$(stat -c %s many.profile)" -gt 20000000 ]'
	for i in 1 2 3; do
		run "$mprof" report many.profile
		expect_status 0
		expect_no_text out 'What is missing'
	done
	pkill -KILL -P "$pid" many
	wait "$pid"
	run "$mprof" report many.profile
	expect_no_text out 'is damaged'
}

# The number of a process stands for its recording, in each command that reads it.
test_recording_of_a_pid() {
	local of pid child nobody='setpriv --reuid 65534 --regid 65534 --clear-groups'
	keeps_and_waits
	for of in record profile; do
		rm -f ready
		mkdir "$of"
		"$mprof" "$of" -q -o "$of/rec" -- ./waits &
		pid=$!
		wait_for eval 'child=$(pgrep -P '"$pid"' -x waits)'
		wait_for test -e ready
		run "$mprof" report "$child"
		expect_status 0
		expect_same 'what is read' "$(cat err)" "mprof: reading the recording of process $child, '$of/rec'"
		expect_words out 'was still running when this was written'
		expect_words out "$of/rec"
		run "$mprof" report leaks "$child"
		expect_words out '77 blocks are live now: 77,000 bytes'
		run "$mprof" report callers keep "$child"
		expect_words out 'main (waits.c'
		run "$mprof" report "$child" leaks
		expect_status 2
		expect_text err "a view comes before the trace: mprof report leaks $child"
		run "$mprof" export --to folded "$child"
		expect_text out 'main;keep 77000'
		run "$mprof" check --max-peak 1K "$child"
		expect_status 1
		expect_text out 'failed max-peak: 75.2 KiB exceeds'
		run "$mprof" check --baseline "$child" "$of/rec"
		expect_status 0
		run "$mprof" diff "$child" "$of/rec"
		expect_words out "From $of/rec to $of/rec:"
		if [ "$of" = record ]; then
			run "$mprof" dump "$child"
			expect_lines out 77
			run "$mprof" sort "$child"
			expect_status 0
			expect_text out "$of/rec.play: 77 calls of './waits'"
			run "$mprof" sort --check "$of/rec.play"
			expect_status 0
			run "$mprof" replay --json --allocator glibc "$child"
			expect_same 'what was played' "$(json out .trace)" "$of/rec"
			run "$mprof" compare --allocator glibc -o page.html "$child"
			expect_status 0
			run "$mprof" movie -o movie.html "$child"
			expect_status 0
			run "$mprof" counts "$child"
			expect_status 3
			expect_text err "'$of/rec' is a trace; expected a counts file"
		else
			run "$mprof" image --json -o memory.svg "$child"
			expect_same 'the first chart' "$(json out '.charts[0].title')" Memory
		fi
		# A file of that name comes first.
		echo no >"$child"
		run "$mprof" report "$child"
		expect_status 3
		expect_text err "'$child' is not a trace or profile of mprof"
		rm "$child"
		if [ "$(id -u)" = 0 ]; then
			run $nobody "$mprof" report "$child"
			expect_status 3
			expect_one_line_error
			expect_text err "cannot examine process $child: it runs as user $(id -un); run mprof as this user"
		fi
		rm "$of/rec"
		run "$mprof" report leaks "$child"
		expect_words out '77 blocks are live now: 77,000 bytes'
		expect_words err "reading the recording of process $child, '$PWD/$of/rec'"
		rm -f rec.png rec.play
		run "$mprof" image "$child"
		expect_text err 'wrote rec.png'
		if [ "$of" = record ]; then
			run "$mprof" sort "$child"
			expect_text out "rec.play: 77 calls of './waits'"
		fi
		kill -KILL "$child"
		wait "$pid" 2>/dev/null
		run "$mprof" report "$child"
		expect_status 3
		expect_one_line_error
		expect_text err "cannot examine process $child: it is not running"
	done
	rm -f ready
	"$mprof" -m Count ./waits 2>/dev/null &
	pid=$!
	wait_for eval 'child=$(pgrep -P '"$pid"' -x waits)'
	wait_for test -e ready
	run "$mprof" counts --json "$child"
	expect_same 'calls of malloc' "$(json out '.calls.malloc')" 77
	kill -KILL "$child"
	wait "$pid" 2>/dev/null
	run "$mprof" counts "$child"
	expect_status 3
	expect_text err "cannot examine process $child: it is not running"
	run "$mprof" view $$
	expect_status 3
	expect_one_line_error
	expect_text err "process $$ is not being recorded; 'mprof attach $$' profiles it from now on"
	# One that reads a recording is not recorded into it.
	"$mprof" record -q --no-compress -o other -- true
	sleep 60 <other &
	pid=$!
	wait_for grep -qx sleep "/proc/$pid/comm"
	run "$mprof" report "$pid"
	expect_status 3
	expect_text err "process $pid is not being recorded; "
	kill "$pid"
	# A process that has ended, and whose parent has not asked for its status.
	perl -e '$p = fork; exit 0 unless $p; $| = 1; print "$p\n"; sleep 60' >zombie &
	pid=$!
	wait_for test -s zombie
	wait_for grep -q '^State:.Z' "/proc/$(cat zombie)/status"
	run "$mprof" report "$(cat zombie)"
	expect_status 3
	expect_text err "cannot examine process $(cat zombie): it"
	expect_no_text err 'attach'
	kill "$pid"
}

# What grows in a program that runs has no end yet.
test_leaks_of_a_running_program() {
	cat >grows.c <<'END'
#include <stdlib.h>
#include <unistd.h>
#include <fcntl.h>
static void *keep(void) { return malloc(1000); }
int main(void)
{
	for (int i = 0;; i++) {
		keep();
		usleep(10000);
		if (i == 64)
			close(creat("ready", 0600));
	}
}
END
	compile grows
	local pid child
	"$mprof" record -q -o log -- ./grows &
	pid=$!
	wait_for test -e ready
	child=$(pgrep -P "$pid" -x grows)
	again_until 'grep -qx "Still growing" out' run "$mprof" report leaks log
	grep -qx 'Still growing' out || bad "no heading: $(cat out)"
	expect_words out ' blocks are live now: '
	expect_no_text out 'at the end'
	run "$mprof" report leaks --process 1 log
	expect_words out ' blocks are live now: '
	kill -KILL "$child"
	wait "$pid" 2>/dev/null
	run "$mprof" report leaks log
	grep -qx 'Still growing at the end' out || bad "no heading: $(cat out)"
}
