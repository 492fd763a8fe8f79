# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# reach.sh - record --reach: which blocks no pointer led to, and what held the others.

# reach_rows LOG: a line for each function that allocates: blocks, unreachable ones, those below
# others, and the variable that holds them, without its line.
reach_rows() {
	"$mprof" report leaks --json "$1" >answer || bad "no report of $1"
	json answer '.rows[] | [([.stack[].function] | map(select(. != "block")) | last),
		.blocks.leaked, .blocks.unreachable, .blocks.below, (.held_by // "-")] | map(tostring) | join(" ")' |
		sed 's/:[0-9]*)/)/' | sort
}

reach_kept='keep_in_mapping 1 0 0 memory that the program mapped itself
keep_in_record 1 0 0 record (reach.c)
keep_in_thread 1 0 0 a thread-local variable
keep_inner 1 0 0 inner (reach.c)
keep_list 100 0 0 list (reach.c)
keep_table 1 0 0 table (reach.c)
keep_table 50 0 0 table (reach.c)
keep_tagged 1 0 0 tagged (reach.c)'
reach_lost='lose_behind 1 1 0 -
lose_list 5 5 4 -
lose_ring 3 3 2 -
lose_self 1 1 0 -
lose_single 10 10 0 -'
reach_thread='thread 1 0 0 a local variable of a function that still ran'

test_reach_rows() {
	run "$mprof" record --reach -o log -- "$build/preload/reach"
	expect_status 0
	expect_same 'output' "$(cat out)" 'done'
	expect_text err '; next: mprof report leaks log'
	expect_same 'after main returned' "$(reach_rows log)" \
		"$(printf '%s\n' "$reach_kept" "$reach_lost" 'main 1 1 0 -' "$reach_thread" | sort)"
	expect_documented leaks_view answer
	run "$mprof" record --reach --no-compress -o plain -- "$build/preload/reach" exit
	expect_same 'in exit()' "$(reach_rows plain)" \
		"$(printf '%s\n' "$reach_kept" "$reach_lost" \
			'main 1 0 0 a local variable of a function that still ran' "$reach_thread" | sort)"
	reach_rows plain >before
	"$mprof" compress plain
	expect_same 'compressed' "$(reach_rows plain)" "$(cat before)"
}

test_reach_text() {
	run "$mprof" record --reach -o log -- "$build/preload/reach"
	run "$mprof" report leaks log
	expect_text out 'No pointer led to 21 of them, '
	expect_text out 'Unreachable: no pointer led to these blocks'
	expect_text out 'Reachable: pointers still led to these blocks'
	expect_words out 'unreachable, 4 of them through another one'
	expect_words out 'held by list (reach.c:'
	expect_no_text out 'To tell lost blocks'
	run "$mprof" report leaks --sort unreachable log
	expect_no_text out keep_
	expect_text out lose_ring
	run "$mprof" check --max-unreachable 0 log
	expect_status 1
	expect_text out 'failed max-unreachable'
	run "$mprof" check --max-unreachable lose_ring=1M log
	expect_status 0
	run "$mprof" record --reach -o log -- ls
	run "$mprof" check --max-unreachable 0 log
	expect_status 0
}

# A function that leaks enough is a finding.
test_reach_finding() {
	cat >big.c <<-'END'
		#include <stdlib.h>
		#include <string.h>
		static char *volatile held[100], *volatile taken;
		__attribute__((noinline)) static char *grow(void) { return memset(malloc(20000), 1, 20000); }
		int main(int argc, char **argv)
		{
			for (int i = 0; i < 100; i++)
				held[i] = grow();
			for (int i = 0; argc > 1 && i < atoi(argv[1]); i++)
				held[i] = NULL;
			return 0;
		}
	END
	compile big -g
	run "$mprof" record --reach -o log -- ./big
	run "$mprof" report --json log
	expect_same 'held' "$(json out '.findings[] | select(.finding == "leak") | "\(.unreachable) \(.held_by)"')" '0 held (big.c:3)'
	run "$mprof" record --reach -o log -- ./big 30
	run "$mprof" report log
	expect_words out 'no pointer led to 30 of them at the end'
	run "$mprof" record --reach -o log -- ./big 100
	run "$mprof" report log
	expect_words out 'no pointer led to them at the end'
	run "$mprof" record -o log -- ./big 100
	run "$mprof" report --json log
	expect_same 'without --reach' "$(json out '.findings[] | select(.finding == "leak") | .unreachable')" null
}

test_reach_processes() {
	run "$mprof" record --reach -o log -- "$build/preload/reach" fork
	expect_status 0
	expect_same 'a fork' "$(reach_rows log | grep lose_)" 'lose_single 10 10 0 -'
	run "$mprof" record --reach -o log -- "$build/preload/reach" killed
	expect_status 137
	run "$mprof" report leaks log
	expect_words out 'Whether pointers led to them is unknown: no process was examined as it ended.'
	run "$mprof" record --reach -o log -- "$build/preload/reach" exec
	expect_status 0
	run "$mprof" report leaks log
	expect_no_text out keep_
	run "$mprof" record --reach -o log -- sh -c "'$build/preload/reach' killed; '$build/preload/reach'"
	expect_same 'of two' "$(reach_rows log | grep lose_single)" 'lose_single 20 10 0 -'
	run "$mprof" report leaks log
	expect_words out 'Not examined: '
	expect_words out ', which was killed by SIGKILL.'
	run "$mprof" check --max-unreachable 1G log
	expect_status 2
	expect_words err ' was not examined: it was killed by SIGKILL; --allow-lost accepts that'
	run "$mprof" check --max-unreachable 1G --allow-lost log
	expect_status 0
}

# A program that is not recorded, after exec, has no blocks of the one before.
test_reach_exec_unrecorded() {
	cat >becomes.c <<-'END'
		#include <stdlib.h>
		#include <unistd.h>
		static void *volatile kept;
		int main(int argc, char **argv)
		{
			kept = malloc(10);
			if (argc > 1)
				execv(argv[1], argv + 1);
			return 0;
		}
	END
	compile becomes
	gcc -static -o static becomes.c || bad 'no static program'
	run "$mprof" record --reach -q -o log -- sh -c './becomes ./static; ./becomes; exit'
	expect_status 0
	run "$mprof" check --max-unreachable 0 log
	expect_status 0
	run "$mprof" report leaks log
	expect_no_text out 'Not examined'
}

# Without debug information, calls of one function are one row: some of its stacks have no block.
test_reach_without_lines() {
	cat >plain.c <<-'END'
		#include <stdlib.h>
		static void *volatile kept, *volatile taken;
		int main(void)
		{
			kept = malloc(10);
			for (int i = 0; i < 1000; i++) {
				taken = malloc(50);
				free(taken);
			}
			taken = NULL;
			return 0;
		}
	END
	compile plain -g0
	run "$mprof" record --reach -q -o log -- ./plain
	expect_same 'held' "$(reach_rows log)" 'main 1 0 0 kept, a variable of plain'
	run "$mprof" report leaks log
	expect_words out 'Pointers led to all of them when the process ended.'
	expect_no_text out 'Not examined'
	run "$mprof" report leaks --by size log
	expect_no_text out 'Not examined'
}

# Blocks in use whose only pointer lies in unusual memory.
test_reach_roots() {
	local how
	for how in inherited reused stack shared behind signal signal-thread twice; do
		run "$mprof" record --reach -q -o log -- "$build/preload/reach_roots" "$how"
		expect_status 0
		reach_rows log >rows
		[ -s rows ] || bad "$how: no block"
		expect_same "$how" "$(awk '$3' rows)" ''
	done
	expect_same "before libc's" "$(grep variable rows)" 'variable 1 0 0 page (reach_roots.c)'
}

# reach_examined NAME SIGNAL COMMAND...: records a program that takes long to examine, sends the
# signal to mprof's child of this name meanwhile, and sets status.
reach_examined() {
	"$mprof" record --reach -q -o log -- "${@:3}" >out 2>err &
	local pid=$!
	wait_for pgrep -P $pid -x "$(basename "$3")" >pids
	wait_for pgrep -P $pid -x mprof >pids
	kill "-$2" "$(pgrep -P $pid -x "$1")"
	wait $pid
	status=$?
}

# A signal that comes so late does not end the process, unless it asks for that.
test_reach_signals() {
	reach_examined reach_roots ALRM "$build/preload/reach_roots" many
	expect_status 0
	expect_same 'examined' "$(reach_rows log)" "$(printf '%s\n' 'hold_many 1000000 0 0 page (reach_roots.c)' 'main 1 0 0 taken (reach_roots.c)')"
}

# A signal that the program does not handle ends it as it would without mprof, but for the examination.
test_reach_by_signal() {
	local how ends of_main='main 1 0 0 a local variable of a function that still ran'
	for how in signal:143 default:143 restored:143 suspended:143 repeated:143 pending:143 handled:0 fault:139 faults:139 abort:134; do
		ends=${how#*:} how=${how%:*}
		run "$mprof" record --reach -o log -- "$build/preload/reach" "$how"
		expect_status "$ends"
		expect_same "$how: output" "$(cat out)" 'done'
		expect_same "$how" "$(reach_rows log)" "$(printf '%s\n' "$reach_kept" "$reach_lost" "$of_main" "$reach_thread" | sort)"
	done
	run "$mprof" record --reach -o log -- "$build/preload/reach" overflow
	expect_status 139
	expect_same 'overflow' "$(reach_rows log | grep lose_)" "$reach_lost"
	run timeout -k 1 20 "$mprof" record --reach -o log -- "$build/preload/reach" sandbox
	expect_status 139
	run "$mprof" record --reach -o log -- sh -c 'trap "" TERM; kill -TERM $$; exec "$0" signal' "$build/preload/reach"
	expect_status 0
}

# The kernel keeps signals from the first process of a namespace, unless that has a handler.
test_reach_first_process() {
	unshare -pf true 2>/dev/null || return 0
	cat >first.c <<-'END'
		#include <stdio.h>
		#include <sys/time.h>
		#include <unistd.h>
		int main(void)
		{
			setitimer(ITIMER_REAL, &(struct itimerval){ .it_value = { 0, 10000 } }, NULL);
			puts(usleep(100000) ? "interrupted" : "not interrupted");
			return 0;
		}
	END
	compile first
	run "$mprof" record --reach -o log -- unshare -pf ./first
	expect_status 0
	expect_same 'output' "$(cat out)" 'not interrupted'
}

# A process that runs is examined, and runs on.
test_reach_running() {
	local pid of_main='main 1 0 0 a local variable of a function that still ran'
	"$mprof" record -q -o log -- "$build/preload/reach" pause >said &
	wait_for grep -q 'done' said
	pid=$(pgrep -P $! -x reach)
	run "$mprof" report leaks --reach --json "$pid"
	expect_status 0
	cp out of_running
	json of_running '.rows[] | [([.stack[].function] | map(select(. != "block")) | last),
		.blocks.leaked, .blocks.unreachable, .blocks.below, (.held_by // "-")] | map(tostring) | join(" ")' |
		sed 's/:[0-9]*)/)/' | sort >rows
	expect_same 'rows' "$(cat rows)" "$(printf '%s\n' "$reach_kept" "$reach_lost" "$of_main" "$reach_thread" | sort)"
	run "$mprof" report leaks --reach --sort unreachable "$pid"
	expect_words out 'No pointer leads to 20 of them, '
	expect_no_text out keep_
	run "$mprof" report leaks --reach "$pid"
	expect_text out 'Unreachable: no pointer leads to these blocks'
	expect_text out 'Reachable: pointers lead to these blocks'
	run "$mprof" report leaks --reach --process 2 "$pid"
	expect_status 3
	expect_text err "mprof: --reach shows only process $pid, which has the number 1; leave out --process"
	run "$mprof" report leaks --reach --process 1 "$pid"
	expect_words out 'No pointer leads to 20 of them, '
	run "$mprof" report leaks "$pid"
	expect_words out "To tell lost blocks from blocks in use: mprof report leaks --reach $pid"
	run "$mprof" report leaks --reach "$(ls "/proc/$pid/task" | grep -vx "$pid" | head -1)" # as top -H shows it
	expect_text out 'Unreachable: no pointer leads to these blocks'
	run "$mprof" report --reach "$pid"
	expect_status 2
	expect_one_line_error '--reach works with leaks, for example: mprof report leaks --reach PID'
	kill -0 "$pid" || bad 'it does not run on'
	kill "$pid"
	wait
	run "$mprof" report leaks --reach log
	expect_status 2
	expect_one_line_error "--reach needs the PID of a running process, not 'log'; processes that end are examined by mprof record --reach"
	run "$mprof" report leaks --reach $$
	expect_status 3
	expect_one_line_error "process $$ is not being recorded; 'mprof attach $$' profiles it from now on"
	"$mprof" record -q --last 1M -o log -- "$build/preload/reach" pause >said_last &
	wait_for grep -q 'done' said_last
	pid=$(pgrep -P $! -x reach)
	run "$mprof" report leaks --reach "$pid"
	expect_words err "cannot examine process $pid: 'log' does not have all of its calls; expected one that mprof record runs, without --last, --budget and --overhead"
	kill "$pid"
	wait
}

# A signal that comes while the process is stopped interrupts a wait as if it was not.
test_reach_running_signal() {
	local pid report i caught=0
	cat >waits.c <<-'END'
		#include <signal.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/epoll.h>
		static void *volatile taken;
		static void on_signal(int number) { (void)number; }
		int main(void)
		{
			struct epoll_event event;
			signal(SIGUSR1, on_signal);
			for (int i = 0; i < 5000000; i++) {
				taken = malloc(10);
				free(taken);
			}
			puts("ready");
			fflush(stdout);
			puts(epoll_wait(epoll_create1(0), &event, 1, 15000) ? "interrupted" : "not interrupted");
			return 0;
		}
	END
	compile waits
	"$mprof" record -q --no-compress -o log -- ./waits >said &
	wait_for grep -q ready said
	pid=$(pgrep -P $! -x waits)
	for ((i = 0; i < 50 && !caught; i++)); do # until mprof is stopped while it holds the process
		"$mprof" report leaks --reach "$pid" >out 2>err &
		report=$!
		while ((!caught)) && kill -0 $report 2>/dev/null; do
			grep -q 'tracing stop' "/proc/$pid/status" || continue
			kill -STOP $report
			grep -q 'tracing stop' "/proc/$pid/status" && caught=1
			((caught)) && kill -USR1 "$pid"
			kill -CONT $report
		done
		wait $report
	done
	((caught)) || bad 'the process was never caught'
	wait
	expect_same 'output' "$(tail -n 1 said)" interrupted
}

# The report says why a process was not examined.
test_reach_failures() {
	reach_examined mprof KILL "$build/preload/reach_roots" many
	expect_status 0
	run "$mprof" report leaks log
	expect_words out 'A process could not be examined: the process of mprof that did it was killed: Killed.'
	run "$mprof" check --max-unreachable 0 log
	expect_status 2
	expect_one_line_error "'log' does not say what is unreachable: a process could not be examined: the process of mprof that did it was killed: Killed"
	reach_examined mprof KILL sh -c "'$build/preload/reach_roots' many; '$build/preload/reach_roots'; true"
	expect_status 0
	run "$mprof" check --max-unreachable 0 log
	expect_status 2
	expect_one_line_error "'log' does not say all that is unreachable: a process could not be examined: the process of mprof that did it was killed: Killed; --allow-lost accepts that"
	run "$mprof" check --max-unreachable 0 --allow-lost log
	expect_status 0
	run "$mprof" record --reach -q -o log -- "$build/preload/reach_roots" traced
	expect_status 0
	run "$mprof" report leaks log
	expect_words out 'A process could not be examined: mprof may not stop it: a debugger traces it, or it has other privileges.'
	run "$mprof" record --reach -q -o log -- "$build/preload/reach" killed
	run "$mprof" check --max-unreachable 0 log
	expect_status 2
	expect_one_line_error "'log' does not say what is unreachable: no process was examined as it ended"
}

# The main thread is a zombie, which cannot be stopped.
test_reach_without_a_main_thread() {
	run "$mprof" record --reach -q -o log -- "$build/preload/reach" left
	expect_status 0
	expect_same 'lost' "$(reach_rows log | grep lose_)" "$reach_lost"
	expect_same 'kept' "$(reach_rows log | grep keep_list)" 'keep_list 100 0 0 list (reach.c)'
}

test_reach_unknown() {
	run "$mprof" record -o log -- "$build/preload/reach"
	run "$mprof" report leaks log
	expect_words out 'To tell lost blocks from blocks in use: mprof record --reach'
	run "$mprof" report leaks --sort unreachable log
	expect_status 2
	expect_one_line_error "'log' does not say what is unreachable: record with mprof record --reach"
	run "$mprof" check --max-unreachable 0 log
	expect_status 2
	run "$mprof" record --reach --last 1M -o log -- true
	expect_status 2
	expect_one_line_error '--reach and --last: choose one; --reach needs every call'
	run "$mprof" record --reach --budget 10M -o log -- true
	expect_status 2
	run "$mprof" record --reach --overhead 5% -o log -- true
	expect_status 2
}

# A process ends although nobody examines it.
test_reach_alone() {
	MPROF_CONF='MODE=LogMmap LOG_PATH=log REACH=1' LD_PRELOAD=$build/libmprof.so run "$build/preload/reach"
	expect_status 0
	expect_same 'by hand' "$(cat out)" 'done'
	run "$mprof" report leaks log
	expect_words out 'Whether pointers led to them is unknown'
	"$mprof" record --reach -o killed -- sh -c 'sleep 1; exec "$0"' "$build/preload/reach" >out 2>err &
	wait_for test -s killed
	kill -9 $!
	wait $! 2>/dev/null
	wait_for grep -q 'done' out
	wait_for flock -n killed true
}

# Other allocators: pointers in their own tables do not count.
test_reach_allocators() {
	local library
	for library in jemalloc tcmalloc_minimal mimalloc; do
		"$mprof" record --reach -q --allocator "$library" -o log -- "$build/preload/reach" >out 2>err || continue
		expect_same "$library" "$(reach_rows log | grep lose_)" "$reach_lost"
		expect_same "$library" "$(reach_rows log | grep keep_)" "$reach_kept"
	done
}
