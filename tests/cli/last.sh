# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# last.sh - mprof record --last: only the last calls, however the program ends.

# ./steps_up N [THREADS [SIGNAL]]: each thread allocates blocks of 1, 2 ... 5000 bytes over and
# over, N of them, and frees each one when it has 100.  In the end SIGNAL.
last_program() {
	cat >steps_up.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static int n;
static void *step(int i) { return malloc(i % 5000 + 1); }
static void *steps(void *unused)
{
	void *keep[100] = { 0 };
	for (int i = 0; i < n; i++) {
		free(keep[i % 100]);
		keep[i % 100] = step(i);
	}
	return unused;
}
static void *early(void) { return malloc(123456); }
int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t t[8];
	void *old = early();
	n = atoi(argv[1]);
	if (threads > 4)
		fork();
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, steps, NULL);
	steps(NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	free(old);
	wait(NULL);
	if (argc > 3)
		raise(atoi(argv[3]));
	return 0;
}
END
	cc -g -O1 -fno-inline -fno-builtin -pthread -o steps_up steps_up.c || bad 'does not compile'
}

# The sizes that `step` requested in LOG, one a line.
last_sizes() { # LOG
	"$mprof" dump --function malloc --json "$1" | jq -r 'select(.size <= 5000) | .size'
}

# The calls of a thread that made N steps: the last ones, without a gap.
expect_last_steps() { # LOG N LEAST
	last_sizes "$1" >found
	[ "$(wc -l <found)" -ge "$3" ] || bad "only $(wc -l <found) steps in $1"
	[ "$(wc -l <found)" -lt "$2" ] || bad "all steps are in $1"
	awk -v n="$2" -v have="$(wc -l <found)" '{ want = (n - have + NR - 1) % 5000 + 1 }
		$1 != want { print "step " NR " is " $1 " instead of " want; exit 1 }' found ||
		bad "of $1"
}

expect_sound() { # LOG
	"$mprof" report --json "$1" >r.json 2>err || bad "$(cat err)"
	expect_same problems "$(json r.json '[.problems.double_allocations,
		.problems.unmatched_frees, .lost] | join(" ")')" '0 0 0'
	expect_same damage "$(json r.json '[.damage[]] | add')" 0
	[ "$(json r.json '.older_frees > 0 and .kept_from_ns > 0 and .dropped_bytes > 0')" = true ] ||
		bad "$1 does not say that calls were dropped"
}

expect_small() { # LOG BYTES: on the disk
	[ $(($(stat -c %b "$1") * 512)) -le "$2" ] || bad "$1 has $(stat -c %b "$1") blocks"
}

test_last_steps_are_all_there() {
	local end
	last_program
	for end in '' 9 11 15; do
		run "$mprof" record --last 256K --no-compress -o raw.log -- ./steps_up 400000 0 $end
		expect_text err ' 0 lost'
		expect_last_steps raw.log 400000 10000
		expect_sound raw.log
		expect_small raw.log 3000000
	done
	run "$mprof" record --last 256K -o packed.log -- ./steps_up 400000
	expect_last_steps packed.log 400000 10000
	expect_sound packed.log
}

# Space is freed in steps of at least 1 MiB: each one may wait for the disk.
test_last_drops_in_large_steps() {
	last_program
	run "$mprof" record --last 64K --no-compress -o raw.log -- ./steps_up 20000
	[ "$(stat -c %s raw.log)" -gt 300000 ] || bad 'the trace is too small for this test'
	expect_same 'steps kept' "$(last_sizes raw.log | wc -l)" 20000
	expect_same 'bytes dropped' "$("$mprof" report --json raw.log | jq .dropped_bytes)" 0
	run "$mprof" record --last 64K --no-compress -o raw.log -- ./steps_up 400000
	expect_last_steps raw.log 400000 4000
	expect_small raw.log 2000000
}

test_last_said_in_a_report() {
	local command
	last_program
	run "$mprof" record --last 256K -o packed.log -- ./steps_up 400000
	run "$mprof" report packed.log
	expect_words out 'These are the last'
	expect_words out '(--last):'
	expect_words out 'of earlier calls were dropped, and blocks allocated before that are not counted.'
	expect_no_text out contradicts
	expect_no_text out growing
	expect_no_text out early
	run "$mprof" report --all packed.log
	expect_words out 'of earlier calls were dropped'
	for command in 'report hot' 'export --to csv'; do
		run "$mprof" $command packed.log
		expect_words err "'packed.log' contains only the calls of the last"
		expect_words err '(--last); add --totals for the whole run'
		run "$mprof" $command --totals packed.log
		expect_no_text err '--last'
	done
	# This one would not take it.
	run "$mprof" export --to chrome packed.log
	expect_words err '(--last); --totals shows the whole run, in formats without times'
	run "$mprof" check --max-calls 10000000 --lifetime 1s.. packed.log
	expect_status 1
	expect_words out 'failed complete: calls that were not kept: figures are too low'
	run "$mprof" check --max-calls 10000000 --lifetime 1s.. --allow-lost packed.log
	expect_status 0
	run "$mprof" check --json --max-calls 10000000 --lifetime 1s.. packed.log
	expect_same 'not kept' "$(json out '[.checks[] | select(.check == "complete") | .not_kept]' | tr -d ' \n')" '[true]'
	run "$mprof" diff --markdown --lifetime ..1s packed.log packed.log
	expect_text out 'packed.log and packed.log do not have all calls of the run'
	run "$mprof" diff --json packed.log packed.log
	expect_same 'all calls' "$(json out '[.partial_before, .partial_after]' | tr -d ' \n')" '[false,false]'
	for command in 'image -o x.pdf' 'sort -o x.play' 'replay --quick --reps 0 -a glibc'; do
		run "$mprof" $command packed.log
		expect_words err "'packed.log' does not have all calls of the program"
		expect_no_text err 'inherited'
	done
	run "$mprof" record -o all.log -- ./steps_up 4000
	run "$mprof" report all.log
	expect_no_text out '--last'
	run "$mprof" image -o x.pdf all.log
	expect_same 'warnings of a picture' "$(grep -v '^mprof: wrote' err)" ''
	run "$mprof" report hot all.log
	expect_same 'warnings' "$(cat err)" ''
	run "$mprof" record -o all.log -- ./steps_up 400000
	run "$mprof" export --to folded --value rss --totals packed.log
	expect_status 2
	expect_text err "the totals of 'packed.log' have no 'rss', which needs a trace of all calls"
	run "$mprof" diff --totals all.log packed.log
	expect_same 'warnings of totals' "$(cat err)" ''
	expect_text out 'No figure changed by 1 % or more.'
}

test_last_of_a_killed_program() {
	last_program
	run "$mprof" record --last 256K -o killed.log -- ./steps_up 400000 0 9
	run "$mprof" report killed.log
	expect_words out ' was killed by SIGKILL '
	expect_words out ' Live at the end: '
	expect_no_text out 'Never freed: '
}

# Blocks from before the kept calls are resident, and nothing is known of them.
test_last_of_a_large_heap() {
	cat >keep.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
char *keep[60000];
int main(void)
{
	for (int i = 0; i < 60000; i++)
		memset(keep[i] = malloc(1000), 1, 1000);
	for (int i = 0; i < 20; i++) {
		for (int k = 0; k < 60000; k++)
			free(malloc(32 + k % 100));
		usleep(20000);
	}
	return 0;
}
END
	compile keep
	run "$mprof" record --last 512K -o keep.log -- ./keep
	run "$mprof" report keep.log
	expect_words out 'Peak: 57.2 MiB in 60,0'
	expect_no_text out ' did not come'
	expect_no_text out 'was resident'
	run "$mprof" report --all keep.log
	expect_words out 'pages without blocks may be theirs.'
	expect_no_text out 'stays resident'
	run "$mprof" report peak-rss keep.log
	expect_words out 'of which live blocks: unknown, as calls until then were dropped'
	run "$mprof" report leaks keep.log
	expect_words err "'keep.log' contains only the calls of the last"
	run "$mprof" check --max-leaked 1M keep.log
	expect_status 1
	expect_text err 'has the calls of a part of the run only: figures are its totals of the whole run'
	expect_words out 'failed max-leaked: 57.2 MiB exceeds the 1.0 MiB allowed; 100 % of it by main'
	run "$mprof" replay --allocator glibc keep.log
	expect_text err 'does not have all calls of the program, which used more memory'
	run "$mprof" report --html keep.html keep.log
	expect_same 'headings' "$(grep -c '^The whole run$' keep.html)" 0
	report_with 'was resident' ./keep
	expect_words out 'was resident'
	mv log all.log
	run "$mprof" report --all all.log
	expect_no_text out 'may be theirs'
}

test_last_of_threads_and_processes() {
	last_program
	run "$mprof" record --last 1M -o raw.log --no-compress -- ./steps_up 100000 7
	expect_text err ' 0 lost'
	expect_sound raw.log
	expect_small raw.log 12000000
	cp --sparse=always raw.log packed.log
	run "$mprof" compress packed.log
	expect_status 0
	expect_sound packed.log
	"$mprof" report --json raw.log | jq 'del(.trace, .trace_bytes, .time_error_ns)
		| [.calls, .bytes, .older_frees, .leaked_blocks, .total_blocks]' >raw.json
	"$mprof" report --json packed.log | jq '[.calls, .bytes, .older_frees, .leaked_blocks,
		.total_blocks]' >packed.json
	cmp raw.json packed.json || bad 'raw and compressed differ'
}

test_last_can_be_played() {
	last_program
	run "$mprof" record --last 256K -o packed.log -- ./steps_up 400000
	run "$mprof" sort -o last.play packed.log
	expect_status 0
	run "$mprof" replay --quick last.play
	expect_status 0
}

test_last_seconds() {
	cat >two.c <<'END'
#include <stdlib.h>
#include <unistd.h>
static void *before(void) { return malloc(100); }
static void *behind(void) { return malloc(200); }
int main(void)
{
	for (int i = 0; i < 100000; i++)
		free(before());
	sleep(3);
	for (int i = 0; i < 20000; i++)
		free(behind());
	return 0;
}
END
	cc -g -O1 -fno-inline -fno-builtin -o two two.c || bad 'does not compile'
	calls_of_behind() {
		"$mprof" report hot --sort calls --json two.log >hot.json
		json hot.json '[.rows[] | select(.stack[-1].function == "behind") | .value] | add'
	}
	# All in two seconds, unless the machine does something else.
	again_until '[ "$(calls_of_behind)" = 20000 ]' run "$mprof" record --last 2s -o two.log -- ./two
	expect_same 'calls of behind' "$(calls_of_behind)" 20000
	run "$mprof" report --json two.log
	[ "$(json out '.dropped_bytes > 500000')" = true ] || bad 'nothing was dropped'
}

test_last_while_it_runs() {
	last_program
	sed -i 's/raise(.*;/while (access("stop", F_OK)) steps(NULL);/' steps_up.c
	cc -g -O1 -fno-inline -fno-builtin -pthread -o steps_up steps_up.c || bad 'does not compile'
	"$mprof" record --last 256K -o live.log --no-compress -- ./steps_up 300000 0 1 2>/dev/null &
	wait_for sh -c 'test "$(stat -c %s live.log)" -gt 1000000'
	for _ in 1 2 3 4 5 6 7 8; do
		"$mprof" report --json live.log >r.json 2>err || bad "$(cat err)"
		expect_same 'damage while it runs' "$(json r.json '[.damage[]] | add')" 0
	done
	: >stop
	wait
}

# mprof restores the trace without the calls that it dropped.
test_last_deleted_while_it_runs() {
	last_program
	run "$mprof" record --last 256K --no-compress -o log -- \
		sh -c './steps_up 400000; until for f in /proc/$PPID/fd/*; do [ $f -ef log ] && break; done; do :; done; exec rm log'
	expect_text err "log' was deleted during the run; mprof restored it"
	expect_sound log
	expect_small log 3000000
}

test_last_by_hand() {
	last_program
	MPROF_CONF="MODE=LogMmap LOG_PATH=hand.log LAST_BYTES=262144" \
		LD_PRELOAD=$build/libmprof.so ./steps_up 400000
	expect_last_steps hand.log 400000 10000
	expect_sound hand.log
}

test_last_invalid() {
	local value
	for value in '' 5 1K 0s x 60x; do
		run "$mprof" record --last "$value" -- true
		expect_status 2
		expect_one_line_error
		expect_text err "expected a size from 64K or a time, for example 200M or 60s"
	done
}

# ./then_idle fills 20,000 blocks of 1000 bytes, replaces every 20th of them over and over, for which
# it needs all of --last, and then prints a line and sleeps.
replaces_and_idles() {
	cat >then_idle.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *keep[20000];
static void *entry(void) { return memset(malloc(1000), 1, 1000); }
int main(int argc, char **argv)
{
	for (int i = 0; i < 20000; i++)
		keep[i] = entry();
	for (int i = 0; i < 1000000; i++) {
		free(keep[i % 1000 * 20]);
		keep[i % 1000 * 20] = entry();
		if (i == 500000)
			usleep(200000);
	}
	write(1, "\n", 1);
	sleep(argc > 1 ? atoi(argv[1]) : 0);
	return 0;
}
END
	cc -g -O1 -fno-inline -fno-builtin -o then_idle then_idle.c || bad 'does not compile'
}

# Memory of blocks whose calls were dropped is neither freed nor the program's own.
test_last_blames_no_memory_of_dropped_calls() {
	replaces_and_idles
	run "$mprof" record --last 256K -o held.log -- ./then_idle
	run "$mprof" report held.log
	expect_words out 'Never freed: 19.1 MiB in 20,000 blocks'
	expect_no_text out ' did not come'
	expect_no_text out 'Freed memory stays resident'
	expect_no_text out compactness
	mkfifo idles
	run "$mprof" record --last 256K -o killed.log -- sh -c 'exec 3<>idles; ./then_idle 60 >&3 & read -r _ <&3; kill $!; wait'
	run "$mprof" report killed.log
	expect_words out 'Live at the end: 19.1 MiB in 20,'
	expect_no_text out 'Never freed: 19'
	expect_no_text out 'in pages with live blocks'
	run "$mprof" report --all held.log
	expect_no_text out ' did not come'
	expect_no_text out 'Compactness (pages needed'
}

test_last_of_an_idle_end_is_kept() {
	replaces_and_idles
	run "$mprof" record --last 1s -o idle.log -- true
	run "$mprof" record --last 1s -o idle.log -- ./then_idle 3
	expect_text err "renamed the earlier 'idle.log'"
	expect_text err '0 lost, earlier ones dropped'
	run "$mprof" report idle.log
	expect_words out 'Allocated in total: 973 MiB in 1,020,000 blocks. Never freed: 19.1 MiB in 20,000 blocks.'
	expect_words out 'No block was allocated.'
	run "$mprof" record --last 1s --no-totals -o idle.log -- ./then_idle 3
	expect_no_text err 'no call was recorded'
}

# The tables of the totals are mprof's own memory, not heap of the program.
test_last_counts_no_tables_of_totals() {
	cat >many.c <<'END'
#include <stdlib.h>
#include <unistd.h>
static void *one(void) { return malloc(24); }
int main(void) { for (int i = 0; i < 200000; i++) one(); rest(300); return 0; }
END
	compile many -include "$here/rest.h"
	resident_pages() { "$mprof" report --json many.log | jq '[.compactness.physical.samples[].resident_pages] | max // 0'; }
	for only in '' '--last 64K'; do
		# Until they are read when it has all blocks, of 32 bytes each.
		again_until '[ "$(resident_pages)" -ge 1562 ]' run "$mprof" record $only -o many.log -- ./many
		resident_pages >>pages
	done
	[ "$(tail -1 pages)" -lt $(($(head -1 pages) + 350)) ] || bad "resident pages: $(cat pages)"
}

# A cache of limited size, whose blocks live longer than the calls that are kept, looks like a leak.
replaces() {
	cat >replaces.c <<-'END'
		#include <stdlib.h>
		static char *cache[20000], *lost[100000];
		static char *fill(int i) { return malloc(100 + i % 7); }
		static char *lose(int i) { return malloc(10 + i % 3); }
		int main(int argc, char **argv)
		{
			int n = atoi(argv[1]);
			for (int i = 0; i < n; i++) {
				char **p = &cache[i % 20000];
				free(*p);
				*p = fill(i);
				if (i % 100 == 0)
					lost[i / 100 % 100000] = lose(i);
			}
			return 0;
		}
	END
	compile replaces -fno-builtin
}

test_last_does_not_take_replacement_for_growth() {
	replaces
	run "$mprof" record --last 64K -o kept.log -- ./replaces 200000
	run "$mprof" report leaks kept.log
	expect_text out 'fill (replaces.c:3)'
	expect_no_text out growing
	expect_no_text out Growing
	expect_words out 'Whether they grow is unknown: they may replace older blocks'
	run "$mprof" report leaks --json kept.log
	expect_same 'no evidence' "$(json out '[.rows[] | has("evidence")] | any')" false
	# With all blocks, it is known.
	run "$mprof" record -o all.log -- ./replaces 200000
	run "$mprof" report leaks --json all.log
	expect_same 'the cache grows' "$(json out '[.rows[] | select(.stack[-1].function == "fill") |
		.evidence.kind == "growing"] | join(" ")')" false
}

# The totals have no times of calls.
test_budget_leaves_growth_open() {
	replaces
	run "$mprof" record --budget 1M -o busy.log -- ./replaces 500000
	run "$mprof" report busy.log
	expect_words out 'was never freed: 20,000 of the 500,000 blocks allocated by fill'
	expect_no_text out 'from 0 ns'
	run "$mprof" report --all busy.log
	expect_no_text out 'from 0 ns'
}
