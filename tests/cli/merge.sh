# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# merge.sh - profiles add up in any order.

# Rank N keeps N + 1 blocks of 1000 bytes (rank 2: 50), in a thread and a forked child too.
ranked() {
	cat >ranked.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *keep(int n) { return malloc(1000 + n % 3); }
static void churn(void) { for (int i = 0; i < 500; i++) free(realloc(malloc(64), 200)); }
static void *work(void *n) { for (long i = 0; i < (long)n; i++) keep(0); churn(); return NULL; }
int main(int argc, char **argv)
{
	int n = atoi(argv[1]);
	pthread_t t;
	churn();
	for (int i = 0; i < (n == 2 ? 50 : n + 1); i++)
		keep(0);
	if (argc < 3)
		return 0;
	pthread_create(&t, NULL, work, (void *)(long)n);
	pthread_join(t, NULL);
	if (!fork()) {
		keep(1);
		execl(argv[0], argv[0], argv[1], (char *)NULL);
	}
	wait(NULL);
	return 0;
}
END
	cc -g -O1 -fno-inline -fno-builtin -pthread -o ranked ranked.c || bad 'ranked.c does not compile'
}

# All contents of a profile except its own name and size.
all_of() { # FILE
	"$mprof" report --json "$1" 2>err | jq -S 'del(.file, .findings[].command)'
	for view in peak leaks hot temporary lifetimes; do
		"$mprof" report $view --json --top 0 "$1" 2>err | jq -S 'del(.trace, .file)'
	done
	"$mprof" export --to folded --value total "$1" 2>err
	"$mprof" check --max-peak 1 --max-leaked 1 --max-calls 1 "$1" 2>err | sed "s/$1/FILE/g"
}

expect_any_order() { # OPTIONS-OF-PROFILE...
	local i
	rm -f ./*.profile
	for i in 0 1 2 3; do
		PMIX_RANK=$i "$mprof" profile "$@" -o "$i.profile" -- ./ranked $i more >/dev/null 2>err
	done
	run "$mprof" merge 0.profile 1.profile 2.profile 3.profile -o all.profile
	expect_status 0
	run "$mprof" merge 3.profile 1.profile 0.profile 2.profile -o b.profile
	run "$mprof" merge 3.profile 0.profile -o c1.profile
	run "$mprof" merge 2.profile 1.profile -o c2.profile
	run "$mprof" merge c2.profile c1.profile -o c.profile
	run "$mprof" merge 2.profile 3.profile -o d1.profile
	run "$mprof" merge 1.profile d1.profile -o d2.profile
	run "$mprof" merge d2.profile 0.profile -o d.profile
	expect_status 0
	all_of all.profile >all
	[ "$(wc -l <all)" -gt 100 ] || bad "only this of all: $(cat all)"
	for i in b c d; do
		all_of $i.profile >other
		cmp -s all other || bad "$* $i: another order, other figures: $(diff all other | head -20)"
	done
}

test_merge_in_any_order() {
	ranked
	expect_any_order --depth=30
	expect_any_order --sample=1K --seed 7
}

test_merge_adds_up() {
	local i sum
	ranked
	expect_any_order --depth=30
	for i in 0 1 2 3; do
		"$mprof" export --to folded --value calls $i.profile 2>err
	done | awk '{n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n} END {for (s in sum) print s, sum[s]}' | sort >parts
	"$mprof" export --to folded --value calls all.profile 2>err | sort >whole
	cmp -s parts whole || bad "folded: $(diff parts whole)"
	for i in .total.figures.calls .total.figures.total .total.figures.live .calls .threads .lost .total.freed_bytes .functions.malloc.calls; do
		sum=$(for f in 0 1 2 3; do "$mprof" report --json $f.profile | jq "$i"; done | jq -s 'map(. // 0) | add')
		expect_same "$i" "$("$mprof" report --json all.profile | jq "$i // 0")" "$sum"
	done
	# What ran before exec is gone.
	expect_same 'live blocks' "$("$mprof" report leaks --json all.profile | jq '.total.figures.leaked')" \
		$((1000 * (1 + 2 + 50 + 4 + 0 + 1 + 2 + 3 + 1 + 2 + 50 + 4)))
	# One file alone is unchanged.
	"$mprof" merge 2.profile -o one.profile 2>err
	for i in peak leaks hot; do
		"$mprof" report $i --json --top 0 2.profile | jq -S '[.rows[].figures | del(.lifetime)]' >a
		"$mprof" report $i --json --top 0 one.profile | jq -S '[.rows[].figures | del(.lifetime)]' >b
		cmp -s a b || bad "$i of one: $(diff a b | head)"
	done
	run "$mprof" diff 2.profile one.profile
	expect_status 0
	for i in 1K 64K; do
		"$mprof" profile --sample=$i -o $i.profile -- ./ranked 1 >/dev/null 2>err
	done
	"$mprof" merge 64K.profile 1K.profile -o two.profile 2>err
	run "$mprof" report hot two.profile
	expect_words out ' samples, one every 1.0 KiB to 64.0 KiB on average. '
}

test_merge_keeps_processes_and_ranks() {
	local i
	ranked
	expect_any_order --depth=30
	run "$mprof" report --json all.profile
	expect_same processes "$(json out '.processes | length')" 8
	expect_same 'each has its pid' "$(json out '[.processes[].pid] | unique | length')" 8
	expect_same 'children of their parents' "$(json out '[.processes[] | select(.forked) | .parent] | unique | length')" 4
	expect_same ranks "$(json out '[.ranks[].rank] | join(" ")')" '0 1 2 3'
	expect_same 'processes of a rank' "$(json out '[.ranks[].processes] | unique | join(" ")')" 2
	expect_same outlier "$(json out '[.ranks[] | select(.outlier) | .rank] | join(" ")')" 2
	for i in 0 1 2 3; do
		expect_same "peak of rank $i" "$(json out ".ranks[$i].peak_bytes")" \
			"$("$mprof" report --json $i.profile | jq .peak.bytes)"
	done
	run "$mprof" report all.profile
	expect_text out 'Rank 2 stands out: its peak of'
	# The shell that starts the ranks is not compared with them.
	"$mprof" profile -q -o started.profile -- sh -c \
		'for i in 0 1 2; do OMPI_COMM_WORLD_RANK=$i ./ranked 1; done; exit 0' >/dev/null
	run "$mprof" report --json started.profile
	expect_same 'ranks and the shell' "$(json out '[.ranks[] | .rank // "none"] | sort | join(" ")')" '0 1 2 none'
	expect_same 'no outlier' "$(json out '[.ranks[] | select(.outlier)] | length')" 0
	# No ranks, one host: no table.
	"$mprof" profile -o plain.profile -- ./ranked 1 >/dev/null 2>err
	run "$mprof" report plain.profile
	expect_no_text out 'Ranks'
	expect_no_text out 'Hosts'
}

# Rows by rank, process and thread.
test_merge_by_rank() {
	local i
	ranked
	for i in 0 1 2; do
		PMIX_RANK=$i "$mprof" profile -q -o "$i.profile" -- ./ranked $i more >/dev/null 2>err
	done
	run "$mprof" merge 0.profile 1.profile 2.profile -o all.profile
	"$mprof" report hot --by rank --json --function keep all.profile >by_rank 2>err
	for i in 0 1 2; do
		expect_same "calls of rank $i" "$(jq ".rows[] | select(.rank == $i) | .figures.calls" by_rank)" \
			"$("$mprof" report hot --json --function keep $i.profile 2>err | jq .total.figures.calls)"
		# Each process has a peak of its own, and that of the rank is their sum.
		expect_same "its peak" "$("$mprof" report peak --by rank --json all.profile 2>err | jq ".rows[] | select(.rank == $i) | .figures.peak")" \
			"$("$mprof" report peak --by process --json $i.profile 2>err | jq '[.rows[].figures.peak] | add')"
		expect_same "of its first process" "$("$mprof" report peak --by process --json $i.profile 2>err | jq '.rows[] | select(.process == 1) | .figures.peak')" \
			"$("$mprof" report --json $i.profile | jq .peak.bytes)"
	done
	run "$mprof" report hot --by rank all.profile
	expect_text out 'rank 2'
	run "$mprof" report peak --by process all.profile
	expect_text out 'process 1'
	expect_words out 'Each process is shown at its own peak, which may be at another time. '
	expect_no_text out 'selected blocks'
	expect_no_text out 'own peak  '
	run "$mprof" report peak --by rank all.profile
	expect_words out 'A rank has the sum of the peaks of its processes, which may be at other times. '
	run "$mprof" report peak --by process --process 1 all.profile
	expect_text out 'own peak  '
	"$mprof" report hot --by thread --json 1.profile 2>err | jq -c '[.rows[] | .figures.calls] | add' >out
	expect_same 'threads add up' "$(cat out)" "$("$mprof" report hot --json 1.profile 2>err | jq .total.figures.calls)"
	run "$mprof" report leaks --by thread 1.profile
	expect_status 2
	expect_text err "'leaked' by thread needs a trace"
	# Of a trace, too.
	PMIX_RANK=1 "$mprof" record -o log -- ./ranked 1 more >/dev/null 2>err
	expect_same 'of a trace' "$("$mprof" report hot --by rank --json log 2>err | jq -c '[.rows[] | .rank, .figures.calls]')" \
		"$("$mprof" report hot --by rank --json 1.profile 2>err | jq -c '[.rows[] | .rank, .figures.calls]')"
}

test_merge_refuses() {
	ranked
	"$mprof" profile -o exact -- ./ranked 1 >/dev/null 2>err
	"$mprof" profile --sample=1K -o bytes -- ./ranked 1 >/dev/null 2>err
	"$mprof" profile --sample-calls=3 -o calls -- ./ranked 1 >/dev/null 2>err
	"$mprof" record -o log -- ./ranked 1 >/dev/null 2>err
	run "$mprof" merge exact bytes -o c
	expect_status 3
	expect_one_line_error
	expect_text err "'bytes' contains samples, 'exact' exact totals; expected profiles of one kind"
	run "$mprof" merge bytes calls -o c
	expect_status 3
	expect_text err "'calls' samples calls"
	run "$mprof" merge exact exact -o c
	expect_status 3
	expect_one_line_error
	expect_text err "'exact' and 'exact' both contain process"
	run "$mprof" merge exact log -o c
	expect_status 3
	expect_text err "'log' is a trace; expected a profile"
	head -c 70000 exact >torn
	run "$mprof" merge torn -o c
	expect_status 3
	expect_text err "'torn' is damaged at byte"
	run "$mprof" merge exact
	expect_status 2
	expect_text err 'no output file given'
	run "$mprof" merge -o c
	expect_status 2
	run "$mprof" merge exact -o log
	expect_status 2
	expect_text err "is a recording of mprof and is not replaced"
	echo mine >notes
	run "$mprof" merge exact -o notes
	expect_status 2
	expect_text err "'notes' exists and is not a recording of mprof, so it is not replaced"
	expect_same 'another file' "$(cat notes)" mine
	run "$mprof" merge missing -o c/d
	[ ! -e c ] || bad 'something was written'
}

# While it runs, and after a kill.
test_merge_of_the_living() {
	keeps_and_waits
	"$mprof" profile -o file -- ./waits >/dev/null 2>&1 &
	wait_for test -e ready
	run "$mprof" merge file -o now
	expect_status 0
	kill -9 "$("$mprof" report --json file | jq '.processes[0].pid')"
	wait
	run "$mprof" merge file -o then
	for f in now then; do
		expect_same "$f" "$("$mprof" report leaks --json $f | jq .total.figures.leaked)" 77000
	done
	expect_same 'how it ended' "$("$mprof" report --json then | jq -r '.processes[0].end')" killed
}

# Two programs with a source file in common: both are named, and rows that would read the same have
# their program.
test_merge_of_programs() {
	local name
	cat >shared.c <<'END'
#include <stdlib.h>
static void *keep(int n) { return malloc(n); }
#ifdef OTHER
static void *other(int n) { return malloc(n); }
#else
#define other keep
#endif
int main(void) { return keep(1000) == NULL || other(50) == NULL; }
END
	cc -g -O1 -fno-inline -fno-builtin -o first shared.c && cc -g -O1 -fno-inline -fno-builtin -DOTHER -o second shared.c ||
		bad 'shared.c does not compile'
	for name in first second; do
		"$mprof" profile -q -o $name.profile -- ./$name || bad "$name was not profiled"
	done
	"$mprof" merge second.profile first.profile -o both.profile 2>/dev/null
	run "$mprof" report both.profile
	expect_text out '  ./first'
	expect_text out '  and: ./second'
	expect_text out 'keep (shared.c) [first]'
	expect_text out 'keep (shared.c) [second]'
	grep -q 'other (shared.c) \[' out && bad "there is one other: $(grep other out)"
	"$mprof" profile -q -o again.profile -- ./first
	"$mprof" merge first.profile again.profile -o twice.profile 2>/dev/null
	run "$mprof" report twice.profile
	grep -q 'and: \|\[first\]' out && bad "it is one program: $(head -20 out)"
}

# Neither of them takes the PID of a program that runs, as report does.
test_merge_and_compress_take_no_pid() {
	run "$mprof" merge -o all $$ 1
	expect_status 3
	expect_same 'what merge says' "$(cat err)" \
		"mprof: '$$' is not a file, and merge does not accept a PID: 'mprof ctl $$ dump' writes what a program has so far"
	run "$mprof" compress $$
	expect_status 3
	expect_text err "'$$' is not a file, and compress does not accept a PID"
	: >1
	run "$mprof" compress 1
	expect_status 3
	expect_no_text err 'PID'
}
