# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# budget.sh - runs that keep only some calls: mprof record --budget, and the totals of the whole run
# besides --last.

# ./turns N [THREADS [END]]: each of THREADS + 1 threads allocates N blocks of 1, 2 ... 5000 bytes
# over and over, keeps the last 100, and frees them in the end; then 10 that it keeps.  Meanwhile
# every eighth block is followed by a request that fails: these calls are kept when the busiest stacks
# have totals only, so the file still reaches its limit.  Before END
# (fork: in a child, too; exec: once more; a number: that signal; 0: exit) it prints
# "BLOCKS BYTES LIVE_BYTES" of its own calls to the descriptor 3.
budget_program() {
	cat >turns.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static int n;
static long blocks, bytes, live_bytes;
static void *turn(int i) { return malloc(i % 5000 + 1); }
static void *kept(int i) { return malloc(i % 5000 + 1); }
static void failed(size_t size) { if (malloc(size)) abort(); }
static void *turns(void *unused)
{
	void *keep[100] = { 0 };
	long all = 0, left = 0;
	for (int i = 0; i < n; i++) {
		free(keep[i % 100]);
		keep[i % 100] = turn(i);
		all += i % 5000 + 1;
		if (i % 8 == 0)
			failed(PTRDIFF_MAX);
	}
	for (int i = 0; i < 100; i++)
		free(keep[i]);
	for (int i = 0; i < 10; i++, left += i)
		kept(i);
	__atomic_add_fetch(&blocks, n + 10, __ATOMIC_RELAXED);
	__atomic_add_fetch(&bytes, all + left, __ATOMIC_RELAXED);
	__atomic_add_fetch(&live_bytes, left, __ATOMIC_RELAXED);
	return unused;
}
int main(int argc, char **argv)
{
	const char *end = argc > 3 ? argv[3] : "0";
	int threads = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t t[8];
	if (!strcmp(end, "fork"))
		fork();
	n = atoi(argv[1]);
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, turns, NULL);
	turns(NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	dprintf(3, "%ld %ld %ld\n", blocks, bytes, live_bytes);
	if (!strcmp(end, "exec"))
		execl(argv[0], argv[0], argv[1], argv[2], "0", NULL);
	if (!strcmp(end, "fork"))
		wait(NULL);
	if (atoi(end))
		raise(atoi(end));
	_exit(0);
}
END
	cc -g -O1 -fno-inline -fno-builtin -pthread -o turns turns.c || bad 'does not compile'
}

# The figures of `turn` and `kept` equal those in the totals of LOG, summed over processes.
budget_totals() { # LOG
	"$mprof" report hot --totals --by function --sort calls --json "$1" >hot.json 2>err ||
		bad "$(cat err)"
	json hot.json '[.rows[] | select(.function == "turn" or .function == "kept") | .figures]
		| [(map(.calls) | add), (map(.total) | add), (map(.live) | add)] | join(" ")'
}

# The program's own output: BLOCKS and BYTES of all images and processes, LIVE of those that did not
# call exec.
budget_truth() { # exec|other
	awk -v how="$1" '{ b += $1; c += $2; if (how != "exec" || NR == 2) { l += $3 } }
		END { print b, c, l }' said
}

budget_sound() { # LOG
	"$mprof" report --json "$1" >r.json 2>err || bad "$(cat err)"
	expect_same "problems of $1" "$(json r.json '[.problems.double_allocations,
		.problems.unmatched_frees, .lost] | join(" ")')" '0 0 0'
	expect_same "damage of $1" "$(json r.json '[.damage[]] | add')" 0
}

# Up to the end of events, the trace equals that of a run without a budget: the first calls of turn,
# all of them.
budget_first_turns() { # LOG N
	"$mprof" dump --function malloc --json "$1" | jq -r 'select(.size <= 5000) | .size' >found
	[ "$(wc -l <found)" -gt 1000 ] || bad "only $(wc -l <found) turns in $1"
	[ "$(wc -l <found)" -lt "$2" ] || bad "all turns are in $1"
	awk '$1 != (NR - 1) % 5000 + 1 { print "turn " NR " is " $1; exit 1 }' found || bad "of $1"
}

test_budget_keeps_the_first_calls_and_all_totals() {
	local end
	budget_program
	for end in 0 9 11 15; do
		run "$mprof" record --budget 1M --no-compress -o raw.log -- ./turns 300000 0 $end 3>said
		budget_first_turns raw.log 300000
		budget_sound raw.log
		expect_same "totals at the end $end" "$(budget_totals raw.log)" "$(budget_truth other)"
		[ "$(stat -c %s raw.log)" -lt 1048577 ] || bad "the trace has $(stat -c %s raw.log) bytes"
		[ "$(json r.json '.kept_until_ns > 0 and .whole_run.peak_error_bytes == 0 and
			.whole_run.total_blocks > .total_blocks')" = true ] || bad 'the report does not say so'
	done
	cp raw.log packed.log
	run "$mprof" compress packed.log
	expect_status 0
	budget_first_turns packed.log 300000
	budget_sound packed.log
	expect_same 'totals of a compressed trace' "$(budget_totals packed.log)" "$(budget_truth other)"
}

test_budget_of_threads_and_processes() {
	local end
	budget_program
	for end in 0 9 fork exec; do
		run "$mprof" record --budget 3M -o many.log -- ./turns 60000 5 $end 3>said
		budget_sound many.log
		expect_same "totals with $end" "$(budget_totals many.log)" "$(budget_truth $end)"
		[ "$(json r.json '.kept_until_ns > 0')" = true ] || bad "the budget was not reached ($end)"
		# The kept part is complete: each block is freed once or live.
		expect_same "older frees ($end)" "$(json r.json .older_frees)" 0
	done
}

test_budget_by_hand() {
	budget_program
	MPROF_CONF="MODE=LogMmap LOG_PATH=hand.log BUDGET=1048576" \
		LD_PRELOAD=$build/libmprof.so ./turns 300000 3 9 3>said 2>/dev/null
	budget_sound hand.log
	expect_same totals "$(budget_totals hand.log)" "$(budget_truth other)"
}

test_budget_that_is_not_reached() {
	budget_program
	run "$mprof" record --budget 500M -o all.log -- ./turns 2000 2 3>said
	budget_sound all.log
	expect_same 'kept until' "$(json r.json .kept_until_ns)" 0
	expect_same totals "$(budget_totals all.log)" "$(budget_truth other)"
	expect_same 'blocks of both' "$(json r.json '.whole_run.total_blocks == .total_blocks and
		.whole_run.total_bytes == .total_bytes and .whole_run.live_bytes == .live_bytes')" true
	run "$mprof" report all.log
	expect_no_text out '--budget'
}

test_budget_said_in_a_report() {
	budget_program
	run "$mprof" record --budget 1M -o said.log -- ./turns 300000 3>said
	run "$mprof" report said.log
	expect_words out 'Every call is recorded up to'
	expect_words out 'when the trace neared its budget of 1.0 MiB (--budget); later calls are counted only in the totals.'
	expect_words out 'These totals are exact.'
	expect_text out 'mprof report --totals said.log'
	expect_words out 'The first'
	expect_words out 'Every recorded block was freed.'
	expect_no_text out 'never freed'
	run "$mprof" report --all said.log
	expect_text out 'The whole run'
	expect_text out 'later calls are counted only in the totals'
	run "$mprof" report --html page.html said.log
	expect_text page.html 'later calls are counted only in the totals. The whole run: Peak: '
	run "$mprof" report leaks --totals said.log
	expect_words out '10 blocks were never freed: 55 bytes'
	run "$mprof" diff --totals said.log said.log
	expect_status 0
	run "$mprof" report sizes --totals said.log
	expect_status 2
	run "$mprof" report --html totals.html --totals said.log
	expect_text totals.html '<code>mprof report --totals callers '
	page_head totals.html >head
	expect_text head '"beside":true'
	run "$mprof" record -o all.log -- ./turns 10 3>said
	run "$mprof" report --totals all.log
	expect_status 2
	expect_text err "'all.log' has no totals beside its calls"
	# Views of events say which are missing; those that totals have show these.
	run "$mprof" report leaks --size 1..5000 said.log
	expect_words err 'does not have all calls of 1 busy call stack: figures are too low'
	expect_words err 'contains other calls only up to'
	run "$mprof" report leaks said.log
	expect_words out '10 blocks were never freed: 55 bytes'
	expect_words err 'figures are its totals of the whole run'
	expect_no_text err 'calls only up to'
	run "$mprof" report leaks --totals said.log
	expect_same 'stderr with --totals' "$(cat err)" ''
	# What libraries keep is known of the whole run, not of the recorded part.
	sed -e 's/n = atoi/kept(15); &/' -e 's/_exit(0)/puts("x"); fflush(stdout); &/' turns.c >prints.c
	cc -g -O1 -fno-inline -fno-builtin -pthread -o prints prints.c
	run "$mprof" record --budget 1M -o prints.log -- ./prints 300000 3>said
	run "$mprof" report prints.log
	expect_words out 'Never freed: 4.1 KiB in 12 blocks, of which run-time libraries keep 4.0 KiB. These totals'
	expect_words out 'Live at the end of this time: at least 16 bytes in 1 block. '
	run "$mprof" report --all prints.log
	expect_no_text out 'kept by'
	# Where that takes all lines of a screen, one finding is shown nevertheless.
	run env COLUMNS=40 "$mprof" report prints.log
	grep -q '^  1\. ' out || bad "no finding: $(cat out)"
}

test_budget_invalid() {
	local value
	for value in '' 5 900K x 60s 2000G; do
		run "$mprof" record --budget "$value" -- true
		expect_status 2
		expect_one_line_error
		expect_text err 'expected a size from 1M to 1024G, for example 500M'
	done
	run "$mprof" record --budget 5M --last 5M -- true
	expect_status 2
	expect_text err '--last and --budget: choose one'
}

test_last_with_totals_of_the_whole_run() {
	local end
	budget_program
	for end in 0 9 fork exec; do
		run "$mprof" record --last 256K -o last.log -- ./turns 60000 3 $end 3>said
		budget_sound last.log
		expect_same "totals with $end" "$(budget_totals last.log)" "$(budget_truth $end)"
		[ "$(json r.json '.dropped_bytes > 0 and .kept_until_ns == 0 and
			.whole_run.total_blocks > .total_blocks')" = true ] || bad "nothing was dropped ($end)"
	done
	run "$mprof" report last.log
	expect_words out 'The whole run Peak'
	expect_words out 'The last'
	run "$mprof" record --last 256K --no-totals -o events.log -- ./turns 60000 3>said
	run "$mprof" report --json events.log
	cp out r.json
	expect_same 'no totals' "$(json r.json '.whole_run == null and .dropped_bytes > 0')" true
}
