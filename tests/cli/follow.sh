# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# follow.sh - traces that are compressed while the program runs: the same calls as at the end, with
# every ending, and for whoever reads meanwhile.

# ./parts PARTS CALLS: PARTS times CALLS calls of several kinds.  Before part K it waits for the file
# go.K, and creates ready.K.  The calls are the same each time; so are their addresses without
# randomization.
follow_program() {
	cat >parts.c <<'END_C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *block[500];
static void *make(size_t n) { return malloc(n); }
static void *grow(void *p, size_t n) { return realloc(p, n); }
static void part(long calls, unsigned s)
{
	while (calls-- > 0) {
		s = s * 1664525 + 1013904223;
		void **b = &block[(s >> 8) % 500];
		switch (s >> 28) {
		case 0: case 1: case 2: case 3: *b = grow(*b, 24 + (s >> 18) % 900); break;
		case 4: free(*b); *b = calloc(s >> 20 & 15, 40); break;
		case 5: free(*b); *b = make(20000 + (s >> 16)); break;
		default: free(*b); *b = make(1 + (s >> 20) % 400);
		}
	}
}
int main(int argc, char **argv)
{
	char name[32];
	for (int i = 0; argc > 2 && i < atoi(argv[1]); i++) {
		snprintf(name, sizeof(name), "ready.%d", i);
		close(creat(name, 0600));
		snprintf(name, sizeof(name), "go.%d", i);
		while (access(name, F_OK))
			usleep(2000);
		part(atol(argv[2]), (unsigned)i);
	}
	return 0;
}
END_C
	cc -g -O1 -fno-inline -fno-builtin -o parts parts.c || bad 'parts.c does not compile'
}

# What the calls of LOG are, without times and numbers of processes.
follow_calls() { # LOG
	"$mprof" dump --stacks "$1" 2>>err | sed 's/@[0-9]*\t.*//' | cut -f3- | md5sum
}

# Makes `wanted` of the same run, compressed at its end.
follow_wanted() { # PARTS CALLS
	touch go.0 go.1 go.2
	setarch -R "$mprof" record --quiet --exact --compress-at 0 -o wanted.log -- ./parts "$@"
	follow_calls wanted.log >wanted
	"$mprof" report --json wanted.log | jq -c "$follow_figures" >wanted.json
	rm -f go.* ready.*
}

follow_figures='{events, peak_bytes, peak_blocks, live_blocks, live_bytes, total_bytes, problems, damage, lost}'

expect_wanted() { # LOG
	expect_same "calls of $1" "$(follow_calls "$1")" "$(cat wanted)"
	expect_same "figures of $1" "$("$mprof" report --json "$1" | jq -c "$follow_figures")" \
		"$(cat wanted.json)"
}

# How many bytes of LOG groups have replaced.
follow_replaced() { od -An -tu8 -j7440 -N8 "$1" | tr -d ' '; }
follow_more_than() { [ "$(follow_replaced "$1")" -gt "$2" ]; }
follow_is_compressed() { [ $(($(od -An -tu4 -j32 -N4 "$1") & 1)) = 1 ]; }

# How many bytes of LOG take no space.
follow_holes() {
	python3 -c 'import os, sys
fd, at, holes = os.open(sys.argv[1], 0), 0, 0
end = os.fstat(fd).st_size
while at < end:
    hole = os.lseek(fd, at, os.SEEK_HOLE)
    try:
        at = os.lseek(fd, hole, os.SEEK_DATA) if hole < end else end
    except OSError:
        at = end
    holes += at - hole
print(holes)' "$1"
}

# Starts `record` of 3 parts, and returns when a part of the trace was compressed: the program waits
# for go.1.
follow_begin() { # CALLS [OPTION...]
	setarch -R "$mprof" record --exact --compress-at 64K -o log "${@:2}" -- ./parts 3 "$1" \
		>out 2>err &
	recording=$!
	touch go.0
	wait_for test -e ready.1
	wait_for follow_more_than log 0
	following=$(pgrep -f "compress --follow=.*$PWD/log")
}

follow_end() {
	touch go.1 go.2
	wait "$recording" 2>/dev/null
}

test_compresses_while_the_program_runs() {
	follow_program
	follow_wanted 3 100000
	follow_begin 100000
	expect_same 'other process' "$(wc -w <<<"$following")" 1
	expect_same 'ends first without memory' "$(cat "/proc/$following/oom_score_adj")" 1000
	before=$(follow_replaced log)
	touch go.1
	wait_for test -e ready.2
	wait_for follow_more_than log "$before"
	[ "$(follow_holes log)" -gt $((before / 2)) ] || bad "$(follow_holes log) bytes were freed"
	follow_end
	expect_text err '0 lost'
	follow_is_compressed log || bad 'log is not compressed'
	expect_wanted log
	wait_for eval "! pgrep -f 'compress --follow=.*$PWD/log' >/dev/null"
}

test_reads_a_trace_that_is_partly_compressed() {
	follow_program
	follow_wanted 1 100000
	follow_begin 100000
	expect_wanted log
	pid=$(pgrep -x -f './parts 3 100000')
	run "$mprof" report "$pid"
	expect_status 0
	expect_words out 'still running'
	run "$mprof" image -o i.png log
	expect_status 0
	kill -9 "$pid"
	follow_end
	expect_wanted log
}

# A reader that stays keeps what it reads; the disk is not freed until it has ended.
test_does_not_free_what_somebody_reads() {
	follow_program
	follow_wanted 2 100000
	follow_begin 100000
	mkfifo slow
	"$mprof" dump log >slow &
	reading=$!
	exec 9<slow
	head -c 100 <&9 >/dev/null
	before=$(follow_replaced log)
	touch go.1
	wait_for test -e ready.2
	sleep 0.5
	expect_same 'replaced while somebody reads' "$(follow_replaced log)" "$before"
	expect_wanted log
	cat <&9 >/dev/null
	exec 9<&-
	wait "$reading"
	follow_end
	follow_wanted 3 100000
	expect_wanted log
}

test_compresses_at_the_end_if_the_other_process_died() {
	follow_program
	follow_wanted 3 50000
	follow_begin 50000
	kill -9 "$following"
	follow_end
	expect_text err '0 lost'
	follow_is_compressed log || bad 'log is not compressed'
	expect_wanted log
}

test_compresses_if_record_was_killed() {
	follow_program
	follow_wanted 3 50000
	follow_begin 50000
	kill -9 "$recording"
	follow_end
	wait_for follow_is_compressed log
	expect_wanted log
}

test_partly_compressed_trace_of_killed_mprof() {
	follow_program
	follow_wanted 3 50000
	follow_begin 50000
	kill -9 "$recording" "$following"
	follow_end
	wait_for test -e ready.2
	wait_for eval "! pgrep -x -f './parts 3 50000' >/dev/null"
	! follow_is_compressed log || bad 'log is compressed'
	expect_wanted log
	run "$mprof" export --to heaptrack -o log.heaptrack log
	expect_status 0
	run "$mprof" compress --exact log
	expect_status 0
	follow_is_compressed log || bad 'log is not compressed'
	expect_wanted log
}

# Signals of a terminal, or of timeout(1), reach the other process, too.
test_compresses_on_when_a_signal_is_for_the_program() {
	follow_program
	follow_wanted 3 300000
	follow_begin 300000
	touch go.1
	until [ -e ready.2 ]; do
		kill -TERM "$following"
		kill -INT "$following"
		sleep 0.002
	done
	kill -QUIT "$following"
	sleep 0.3
	expect_same 'other process' "$(pgrep -f "compress --follow=.*$PWD/log")" "$following"
	follow_end
	follow_is_compressed log || bad "log is not compressed: $(cat err)"
	expect_wanted log
}

# A signal at the end stops the compression, and nothing else.
test_compress_of_the_rest_interrupted() {
	follow_program
	follow_wanted 3 100000
	follow_begin 100000
	kill -STOP "$following"
	pid=$(pgrep -x -f './parts 3 100000')
	touch go.1 go.2
	wait_for eval "! [ -e /proc/$pid ]"
	sleep 0.5
	kill -TERM "$recording"
	wait "$recording"
	expect_same 'status of record' $? 0
	expect_text err 'compress it later with: mprof compress log'
	! follow_is_compressed log || bad 'log is compressed'
	expect_wanted log
	run "$mprof" compress --exact log
	expect_status 0
	expect_wanted log
}

# Makes `wanted`, and starts the same program with the library preloaded; it waits for go.1.
follow_begin_preloaded() {
	follow_program
	follow_wanted 3 50000
	touch go.0
	setarch -R env MPROF_CONF='MODE=LogMmap LOG_PATH=log' LD_PRELOAD="$build/libmprof.so" ./parts 3 50000 &
	program=$!
	wait_for test -e ready.1
}

test_compress_follow_of_a_preloaded_program() {
	follow_begin_preloaded
	run "$mprof" compress log
	expect_status 3
	expect_text err '--follow'
	"$mprof" compress --exact --follow=64K log 2>err &
	following=$!
	wait_for follow_more_than log 0
	run "$mprof" compress --follow=64K log
	expect_status 3
	expect_one_line_error
	touch go.1 go.2
	wait "$program"
	wait "$following" || bad "status $?: $(cat err)"
	expect_text err "compressed 'log' from"
	expect_wanted log
}

# Chunks that the run drops itself would be missing between groups and later chunks.
test_compress_follow_of_a_run_that_drops_calls() {
	follow_program
	touch go.0 go.1
	for key in LAST_BYTES=3000000 LAST_SECONDS=1 BUDGET=100000000; do
		rm -f ready.*
		MPROF_CONF="MODE=LogMmap LOG_PATH=log $key" LD_PRELOAD="$build/libmprof.so" \
			./parts 3 300000 &
		program=$!
		wait_for test -e ready.0
		run timeout 20 "$mprof" compress --follow=64K log
		expect_status 3
		expect_one_line_error
		expect_text err 'when the run has ended'
		touch go.2
		wait "$program"
		run "$mprof" report --json log
		expect_same "problems with $key" "$(json out .problems.double_allocations)" 0
		rm -f log go.2
	done
}

test_compress_follow_interrupted() {
	follow_begin_preloaded
	env --default-signal=INT "$mprof" compress --exact --follow=64K log 2>err &
	following=$!
	wait_for follow_more_than log 0
	kill -INT "$following"
	wait "$following"
	expect_one_line_error
	expect_text err 'compressed in part'
	touch go.1 go.2
	wait "$program"
	expect_wanted log
	run env MPROF_FOLLOWED=1 "$mprof" compress --exact log
	expect_status 0
	expect_wanted log
}

# A daemon goes on when `record` has ended: the trace stays as it is, until it has ended.
test_partly_compressed_trace_of_a_daemon() {
	follow_program
	follow_wanted 3 50000
	touch go.0
	setarch -R "$mprof" record --exact --compress-at 64K -o log -- \
		sh -c './parts 3 50000 & until [ -e ready.1 ]; do sleep 0.05; done; until [ -e stop ]; do sleep 0.05; done' \
		>out 2>err &
	recording=$!
	wait_for follow_more_than log 0
	pid=$(pgrep -x -f './parts 3 50000')
	touch stop
	wait "$recording"
	touch go.1 go.2
	wait_for eval "! pgrep -x -f './parts 3 50000' >/dev/null"
	! follow_is_compressed log || bad 'log is compressed'
	"$mprof" dump wanted.log | cut -f4,5 >wanted
	"$mprof" dump log | grep "/$pid	" | cut -f4,5 | tail -n "$(wc -l <wanted)" >found
	cmp wanted found || bad 'calls differ'
	run "$mprof" compress log
	expect_status 0
}

# Threads, and a child that goes on with their blocks: every size in order.
test_compresses_threads_and_forks_while_they_run() {
	cat >many.c <<'END_C'
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *steps(void *arg)
{
	void *keep[64] = { 0 };
	for (size_t i = 0; i < 60000; i++) {
		free(keep[i % 64]);
		keep[i % 64] = malloc(i % 4999 + 1);
		if (i % 20000 == 19999)
			usleep(150000);
	}
	for (size_t i = 0; i < 64; i++)
		free(keep[i]);
	return arg;
}
int main(void)
{
	pthread_t t[3];
	void *old = malloc(77777);
	int child = fork();
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, steps, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	free(old);
	if (child)
		wait(NULL);
	return 0;
}
END_C
	compile many -pthread
	"$mprof" record --compress-at 64K -o log -- ./many >out 2>err || bad "$(cat err)"
	expect_text err '0 lost'
	"$mprof" dump --function malloc log | cut -f2,3,5 | awk -F'\t' '$3 < 5000 {
		k = $1 " " $2
		if ($3 != n[k]++ % 4999 + 1) { print "call " n[k] " of " k " is of " $3; bad = 1; exit 1 }
	} END { for (k in n) if (n[k] == 60000) full++; if (full != 6 && !bad) { print full " threads"; exit 1 } }' ||
		bad 'calls differ'
	run "$mprof" report --json log
	expect_same problems "$(json out '[.problems.double_allocations, .problems.unmatched_frees,
		.lost, ([.damage[]] | add)] | join(" ")')" '0 0 0 0'
	expect_same 'never freed' "$(json out '.live_blocks < 40')" true
}

# The header has 896 entries of processes; what ended ones need is freed, however many there were.
follow_takes_less_than() { # KB PID: once it has compressed what ended processes wrote
	follow_more_than log 60000000 && [ "$(awk '/VmRSS/ { print $2 }' "/proc/$2/status")" -lt "$1" ]
}

test_follows_many_processes_in_little_memory() {
	cat >many.c <<'END_C'
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 1800; i++) {
		if (!fork()) {
			for (int k = 0; k < 5000; k++)
				if (!malloc(100 + k % 50))
					return 1;
			return 0;
		}
		wait(NULL);
	}
	close(creat("ready", 0600));
	while (access("go", F_OK)) {
		for (int k = 0; k < 3000; k++)
			free(malloc(k));
		usleep(1000);
	}
	return 0;
}
END_C
	compile many
	"$mprof" record --compress-at 2M -o log -- ./many >out 2>err &
	recording=$!
	wait_for test -e ready
	following=$(pgrep -f "compress --follow=.*$PWD/log")
	# A round forgets the processes that had ended in the one before.
	wait_for follow_takes_less_than 150000 "$following"
	touch go
	wait "$recording" || bad "$(cat err)"
	follow_is_compressed log || bad 'log is not compressed'
	run "$mprof" report --json log
	expect_same blocks "$(json out '.live_blocks >= 9000000')" true
}
