# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# overhead.sh - runs that record less when recording takes too much time: mprof record --overhead.

# ./busy N [THREADS [END]]: keeps 1000 blocks of 64 bytes (early), then each of THREADS + 1 threads
# allocates and frees N blocks of 1 ... 500 bytes (turn), by realloc every 16th, then frees 600 of the
# early ones and keeps 3 blocks of 32 MiB (late).  Prints "CALLS BYTES", of malloc, to the
# descriptor 3.  END: a signal, or fork: all of it in a child, after the parent's turns.
overhead_program() {
	cat >busy.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static int n;
static void *early(void) { return malloc(64); }
static void *turn(int i) { return malloc(i % 500 + 1); }
static void *late(void) { return malloc(32 << 20); }
static void *turns(void *unused)
{
	for (int i = 0; i < n; i++) {
		void *p = turn(i);
		if (i % 16 == 0)
			p = realloc(p, 700);
		free(p);
	}
	return unused;
}
int main(int argc, char **argv)
{
	const char *end = argc > 3 ? argv[3] : "0";
	int threads = argc > 2 ? atoi(argv[2]) : 0;
	static void *first[1000];
	long bytes = 64000 + 3l * (32 << 20);
	pthread_t t[8];
	char said[64];
	n = atoi(argv[1]);
	for (int i = 0; i < 1000; i++)
		first[i] = early();
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, turns, NULL);
	turns(NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 600; i++)
		free(first[i]);
	for (int i = 0; i < 3; i++)
		late();
	for (int i = 0; i < n; i++)
		bytes += (i % 500 + 1) * (threads + 1l);
	/* dprintf() allocates. */
	if (write(3, said, snprintf(said, sizeof(said), "%ld %ld\n", 1003 + (threads + 1l) * n, bytes)) < 0)
		return 1;
	if (!strcmp(end, "fork")) {
		if (fork()) {
			wait(NULL);
			_exit(0);
		}
		/* Blocks of the parent, then some of its own. */
		for (int i = 600; i < 1000; i++)
			free(first[i]);
		turns(NULL);
		_exit(0);
	}
	if (atoi(end))
		raise(atoi(end));
	_exit(0);
}
END
	cc -g -O1 -fno-inline -fno-builtin -pthread -o busy busy.c || bad 'does not compile'
}

# Exact in all phases: earlier blocks with their ends, and calls of functions.
overhead_exact() { # LOG
	"$mprof" report hot --totals --by function --sort calls --top 0 --json "$1" >hot.json 2>err ||
		bad "$(cat err)"
	expect_same "early blocks of $1" "$(json hot.json '.rows[] | select(.function == "early") |
		.figures | [.calls, .total, .live] | join(" ")')" '1000 64000 25600'
}

# Estimates: each of the 3 blocks of 32 MiB was sampled.  Other bytes are exact up to a moment, and then
# estimates from 1,400 to 4,000 samples, with a standard error of up to 2.7 %.
overhead_estimate() { # LOG
	expect_same "late blocks of $1" "$(json hot.json '.rows[] | select(.function == "late") |
		.figures | [.calls, .live] | join(" ")')" '3 100663296'
	awk -v has="$(json hot.json '[.rows[] | select(.function == "turn") | .figures.total] | add')" \
		-v truth="$(awk '{ print $2 - 64000 - 100663296 }' said)" 'BEGIN {
			exit !(has > 0.89 * truth && has < 1.11 * truth) }' ||
		bad "turns of $1 have $(json hot.json '[.rows[] | select(.function == "turn") |
			.figures.total] | add') bytes of $(cat said)"
}

overhead_said() { # LOG
	"$mprof" report --json "$1" >r.json 2>err || bad "$(cat err)"
	expect_same "problems of $1" "$(json r.json '[.problems.double_allocations,
		.problems.unmatched_frees, .lost, ([.damage[]] | add)] | join(" ")')" '0 0 0 0'
}

test_overhead_steps_down_to_samples() {
	overhead_program
	run "$mprof" record --overhead 1% -o steps.log -- ./busy 10000000 3>said
	overhead_said steps.log
	expect_same 'steps' "$(json r.json '.overhead_percent == 1 and .kept_until_ns > 0 and
		.whole_run.estimated and .whole_run.estimated_from_ns > .kept_until_ns and
		.whole_run.samples > 100')" true
	overhead_exact steps.log
	overhead_estimate steps.log
	"$mprof" report --totals --json steps.log >totals.json
	expect_same 'calls of malloc' "$(json totals.json '.functions.malloc |
		[.calls, .bytes] | join(" ")')" "$(cat said)"
	# Until the first change, the events equal those of a run without a limit.
	"$mprof" dump --function malloc --json steps.log | jq -r .size | awk '
		NR > 1000 && $1 != (NR - 1001) % 500 + 1 { print "turn " NR - 1000 " is " $1; exit 1 }' ||
		bad 'of steps.log'
	run "$mprof" report steps.log
	expect_words out 'when recording took more than 1 % of the program'"'"'s own CPU time (--overhead)'
	expect_words out 'the totals are estimates from samples'
	expect_words out 'These totals are exact up to'
	expect_no_text out 'These totals are exact.'
	expect_words out '96.0 MiB was never freed: all 3 blocks allocated by late (busy.c:11)'
	run "$mprof" report hot --totals steps.log
	expect_words out 'Exact up to'
	run "$mprof" report hot steps.log
	expect_words err 'figures are its totals of the whole run'
}

# At the estimated peak, one sample of 512 KiB stands for all blocks of `turn`.
test_overhead_part_of_one_sample() {
	cat >one.c <<'END'
#include <stdlib.h>
static void *turn(void) { return malloc(512); }
static void *kept(void) { return malloc(700000); }
int main(void)
{
	void *a = kept(), *b = kept();
	for (int i = 0; i < 10000000; i++)
		free(turn());
	free(a);
	free(b);
	return 0;
}
END
	compile one
	run "$mprof" record --overhead 1% -o one.log -- ./one
	run "$mprof" report one.log
	expect_words out 'the totals are estimates from samples'
	expect_words out ' has about 27 % of the peak (512 KiB)'
	"$mprof" report --json one.log 2>/dev/null >few.json
	expect_same 'as JSON' "$(json few.json '[.findings[] | select(.finding == "peak") | .about] | any')" true
	expect_words out '73 % of the peak (1.3 MiB in 2 blocks) was allocated by kept (one.c:3)'
	expect_no_text out 'About'
}

test_overhead_of_threads_and_processes() {
	overhead_program
	run "$mprof" record --overhead 1% -o killed.log -- ./busy 1500000 2 9 3>said
	overhead_said killed.log
	overhead_exact killed.log
	overhead_estimate killed.log
	# The child continues with samples, and does not count its parent's blocks.
	run "$mprof" record --overhead 1% --budget 2M -o forked.log -- ./busy 2500000 0 fork 3>said
	overhead_said forked.log
	overhead_exact forked.log
	"$mprof" report --totals --json forked.log >totals.json
	expect_same 'strange frees' "$(json totals.json '.strange_frees')" 0
	expect_same 'calls of malloc in both' "$(json totals.json '.functions.malloc.calls')" \
		"$(awk '{ print $1 + 2500000 }' said)"
}

test_overhead_that_is_not_reached() {
	overhead_program
	run "$mprof" record --overhead 1% -o few.log -- ./busy 1000 2 3>said
	overhead_said few.log
	overhead_exact few.log
	expect_same 'kept until' "$(json r.json '[.kept_until_ns, .whole_run.estimated,
		.whole_run.total_blocks == .total_blocks] | join(" ")')" '0 false true'
}

test_overhead_invalid() {
	local value
	for value in '' 0 0% 5%% x -1% 1001% 5.5 %; do
		run "$mprof" record --overhead "$value" -- true
		expect_status 2
		expect_one_line_error
		expect_text err 'expected a percentage from 1% to 1000%, for example 5%'
	done
	run "$mprof" record --overhead 5% --last 5M -- true
	expect_status 2
	expect_text err '--last and --overhead: choose one'
}
