# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# reduced.sh - runs with --budget or --overhead whose busiest call stacks have totals only, while all
# others keep their calls.

# ./sites N [THREADS [END]]: THREADS + 1 threads exchange blocks of 1 to 1000 bytes (hot) over 64
# places, N times each, so that any thread frees what another one allocated; every eighth is
# reallocated first (grown).  Meanwhile the main thread allocates 200 blocks of 10000 + i bytes
# (cold), at regular intervals, and frees each when it has allocated 20 later ones; the last 20
# stay, and the 5th is reallocated to 20000 bytes (moved) when its time comes, then freed with the
# next one.  END: a signal, or fork: everything again in a child that the parent forks halfway, when
# both go on.  Prints "BLOCKS BYTES" of hot and grown of all processes to the descriptor 3.
sites_program() {
	cat >sites.c <<'CODE'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define COLD 200
static int n, threads, forks;
static void *place[64], *held[COLD], *again;
static long blocks, bytes;
static void *hot(int i) { return malloc(i % 1000 + 1); }
static void *grown(void *p, int i) { return realloc(p, i % 3000 + 1); }
static void *cold(int i) { return malloc(10000 + i); }
static void *moved(void *p) { return realloc(p, 20000); }
static void exchange(int i, long *sum)
{
	void *p = hot(i);
	*sum += i % 1000 + 1;
	if (i % 8 == 0) {
		p = grown(p, i);
		*sum += i % 3000 + 1;
	}
	free(__atomic_exchange_n(&place[i % 64], p, __ATOMIC_ACQ_REL));
}
static void turns(int from, int to, int has_cold)
{
	long sum = 0;
	for (int i = from; i < to; i++) {
		int k = i / (n / COLD);
		exchange(i, &sum);
		if (!has_cold || i % (n / COLD))
			continue;
		held[k] = cold(k);
		free(again);
		again = NULL;
		if (k == 25)
			again = moved(held[5]);
		else if (k >= 20)
			free(held[k - 20]);
	}
	__atomic_add_fetch(&bytes, sum, __ATOMIC_RELAXED);
	__atomic_add_fetch(&blocks, to - from + (to - from) / 8, __ATOMIC_RELAXED);
}
static void *thread(void *unused) { turns(0, n, 0); return unused; }
int main(int argc, char **argv)
{
	const char *end = argc > 3 ? argv[3] : "0";
	pthread_t t[8];
	char said[64];
	n = atoi(argv[1]);
	threads = argc > 2 ? atoi(argv[2]) : 0;
	forks = !strcmp(end, "fork");
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	for (int half = 0; half < 2; half++) {
		turns(half * (n / 2), (half + 1) * (n / 2), 1);
		if (!half && forks && fork() == 0)
			blocks = bytes = 0;
	}
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 64; i++)
		free(place[i]);
	if (write(3, said, snprintf(said, sizeof(said), "%ld %ld\n", blocks, bytes)) < 0)
		return 1;
	if (forks)
		wait(NULL);
	if (atoi(end))
		raise(atoi(end));
	_exit(0);
}
CODE
	cc -g -O1 -fno-inline -fno-builtin -pthread -o sites sites.c || bad 'does not compile'
}

# The calls on cold blocks in one process of LOG: a number for the block's allocation, -number for
# its end.  Frees find their block by its address, as a reader must.
sites_cold() { # LOG PROCESS
	"$mprof" dump --json --process "$2" "$1" | perl -ne '
		next if /"pointer":"0"/;
		($from) = /"pointer":"([^"]*)"/ or ($from) = /"old":"([^"]*)"/;
		($to) = /"result":"([^"]*)"/;
		($size) = /"size":(\d+)/;
		print -delete $at{$from}, "\n" if defined $from && exists $at{$from};
		print $at{$to} = $size, "\n" if defined $to && $size >= 10000'
}

# What the program did, from its k-th cold block on.
sites_cold_truth() { # K
	awk -v from="$1" 'BEGIN { for (k = from; k < 200; k++) {
		print 10000 + k
		if (k == 26) print -20000
		if (k == 25) { print -10005; print 20000 }
		else if (k >= 20) print -(9980 + k) } }'
}

sites_same() { # WHAT FOUND WANTED: of many lines
	diff <(echo "$2") <(echo "$3") >differ || bad "$1: $(wc -l <differ) lines differ: $(head -5 differ)"
}

sites_sound() { # LOG
	"$mprof" report --json "$1" >r.json 2>err || bad "$(cat err)"
	expect_same "problems of $1" "$(json r.json '[.problems.double_allocations,
		.problems.unmatched_frees, .lost, ([.damage[]] | add)] | join(" ")')" '0 0 0 0'
	[ "$(json r.json '.reduced_stacks > 0 and .reduced_from_ns > 0 and .kept_until_ns == 0')" = true ] ||
		bad "$1: $(json r.json '[.reduced_stacks, .reduced_from_ns, .kept_until_ns] | join(" ")')"
}

# The totals are exact, and say which rows are not in the events as well.
sites_totals() { # LOG
	"$mprof" report hot --by function --sort calls --json "$1" >hot.json 2>err || bad "$(cat err)"
	expect_same "totals of $1" "$(json hot.json '[.rows[] | select(.function == "hot" or
		.function == "grown") | .figures] | [(map(.calls) | add), (map(.total) | add),
		(map(.live) | add)] | join(" ")')" "$(awk '{ b += $1; c += $2 } END { print b, c, 0 }' said)"
	expect_same "kept of $1" "$(json hot.json '[.rows[] |
		select(.function == "hot" or .function == "cold" or .function == "moved") |
		"\(.function) \(.kept_until_ns > 0)"] | sort | join(", ")')" \
		'cold false, hot true, moved false'
}

sites_whole() { # LOG WHAT: its sums are right, and it has every cold call
	sites_sound "$1"
	sites_totals "$1"
	sites_same "cold calls of $2" "$(sites_cold "$1" 1)" "$(sites_cold_truth 0)"
}

# Records with --budget MIB to LOG, and checks it.
sites_within() { # MIB LOG N THREADS END
	run "$mprof" record --budget "$1M" --no-compress -o "$2" -- ./sites "$3" "$4" "$5" 3>said
	sites_whole "$2" "$4 threads that end with $5"
	[ "$(stat -c %s "$2")" -le $(($1 << 20)) ] || bad "the trace has $(stat -c %s "$2") bytes"
}

test_reduced_stacks_leave_the_others_whole() {
	local end
	sites_program
	for end in 0 9 11; do
		sites_within 1 raw.log 400000 0 $end
	done
	run "$mprof" compress raw.log
	expect_status 0
	sites_whole raw.log 'a compressed trace'
}

test_reduced_stacks_of_threads() {
	local end
	sites_program
	for end in 0 9; do
		sites_within 4 many.log 200000 4 $end
	done
}

# The child inherits blocks with and without calls, and which stacks are reduced.
test_reduced_stacks_of_a_fork() {
	sites_program
	sites_within 2 fork.log 400000 0 fork
	# Frees of the parent's blocks follow their addresses.
	sites_same 'cold allocations of the child' "$(sites_cold fork.log 2 | grep -v -)" \
		"$(sites_cold_truth 100 | grep -v -)"
	"$mprof" dump --json --process 2 fork.log | jq -r 'select(.size <= 1000) | .size' >found
	[ "$(wc -l <found)" -lt 1000 ] || bad "the child has $(wc -l <found) calls of hot"
}

# ./maps N: maps and unmaps a page N times (hot_map), keeping the last 50; meanwhile maps 100 regions
# of 1 to 100 MiB one after the other (cold_map), and unmaps each when the next one is there.
maps_program() {
	cat >maps.c <<'CODE'
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
static void *map(size_t bytes) { return mmap(0, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
static void *hot_map(void) { return map(4096); }
static void *cold_map(size_t i) { return map(i << 20); }
int main(int argc, char **argv)
{
	int n = atoi(argv[1]);
	void *page[50] = { 0 }, *old = 0, *next;
	for (int i = 0; i < n; i++) {
		if (page[i % 50])
			munmap(page[i % 50], 4096);
		page[i % 50] = hot_map();
		if (i % 3 == 0) {
			page[i % 50] = mremap(page[i % 50], 4096, 8192, MREMAP_MAYMOVE);
			munmap(page[i % 50], 4096);
			page[i % 50] = (char *)page[i % 50] + 4096;
		}
		if (i % (n / 100))
			continue;
		next = cold_map(i / (n / 100) + 1);
		if (old)
			munmap(old, (size_t)(i / (n / 100)) << 20);
		old = next;
	}
	return argc - 2;
}
CODE
	cc -g -O1 -fno-inline -fno-builtin -o maps maps.c || bad 'does not compile'
}

test_reduced_stacks_of_mappings() {
	maps_program
	run "$mprof" record --budget 1M --no-compress -o maps.log -- ./maps 50000
	expect_status 0
	sites_sound maps.log
	[ "$(stat -c %s maps.log)" -lt 1048577 ] || bad "the trace has $(stat -c %s maps.log) bytes"
	"$mprof" dump --json maps.log | jq -r 'select(.function == "mmap" or .function == "munmap") |
		select(.length >= 1048576) | "\(.function) \(.length / 1048576)"' >found
	awk 'BEGIN { for (i = 1; i <= 100; i++) { print "mmap " i; if (i > 1) print "munmap " i - 1 } }' >wanted
	sites_same 'cold mappings' "$(cat found)" "$(cat wanted)"
	"$mprof" dump --json --function mmap maps.log | jq -r 'select(.length == 4096).length' >found
	[ "$(wc -l <found)" -lt 40000 ] || bad "$(wc -l <found) hot mappings are in the trace"
	"$mprof" export --to jsonl maps.log 2>err | jq -r 'select(.map_calls > 0) | .stack[1].function + " " +
		"\(.map_calls) \(.map_bytes) \(.kept_until_ns > 0)"' | sort >found
	expect_text found 'hot_map 50000 204800000 true'
	expect_text found 'cold_map 100 5295308800 false'
}

# Mappings that grow, shrink and lose pages at random, from busy places and a rare one: in the end,
# none is left, and nothing was unmapped that the trace does not know.
test_reduced_stacks_of_mappings_that_change() {
	cat >changes.c <<'CODE'
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#define PAGE 4096
static struct { char *at; size_t bytes; } place[100];
static void *map(size_t bytes) { return mmap(0, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
static void *hot(size_t bytes) { return map(bytes); }
static void *cold(size_t bytes) { return map(bytes); }
static void *moved(void *at, size_t bytes, size_t more) { return mremap(at, bytes, more, MREMAP_MAYMOVE); }
static void change(int k, int how, size_t bytes)
{
	if (how == 0 && place[k].bytes > PAGE) {
		munmap(place[k].at, PAGE);
		place[k].at += PAGE;
		place[k].bytes -= PAGE;
	} else if (how == 1) {
		place[k].at = moved(place[k].at, place[k].bytes, bytes);
		place[k].bytes = bytes;
	} else {
		munmap(place[k].at, place[k].bytes);
		place[k].at = 0;
	}
}
int main(void)
{
	srand(1);
	for (int i = 0; i < 60000; i++) {
		int k = rand() % 100;
		size_t bytes = (size_t)(1 + rand() % 20) * PAGE;
		if (place[k].at) {
			change(k, rand() % 8, bytes);
		} else {
			place[k].at = rand() % 50 ? hot(bytes) : cold(bytes);
			place[k].bytes = bytes;
		}
	}
	for (int k = 0; k < 100; k++)
		if (place[k].at)
			munmap(place[k].at, place[k].bytes);
	return 0;
}
CODE
	cc -g -O1 -fno-inline -fno-builtin -o changes changes.c || bad 'does not compile'
	run "$mprof" record --budget 1M -o changes.log -- ./changes
	sites_sound changes.log
	expect_same 'mapped at the end, unmapped though unknown' \
		"$(json r.json '[.maps.mapped_bytes, .maps.unknown_unmapped_bytes] | join(" ")')" '0 0'
}

test_reduced_traces_played_back() {
	sites_program
	run "$mprof" record --budget 1M -o part.log -- ./sites 400000 3>said
	run "$mprof" sort part.log
	expect_status 0
	expect_lines err 1
	expect_text err "'part.log' does not have all calls of the program, which used more memory and time than they do"
	run "$mprof" replay --allocator glibc --reps 1 part.log
	expect_text err "'part.log' does not have all calls of the program"
	run "$mprof" record -o all.log -- ./sites 400 3>said
	run "$mprof" sort all.log
	expect_lines err 0
}

# Two threads that keep less than what a thread folds: the totals do not see their blocks at the peak.
test_reduced_total_beside_the_peak_of_events() {
	cat >small.c <<'END'
#include <pthread.h>
#include <stdlib.h>
__attribute__((noinline)) static void turn(int i) { free(malloc(500 + i % 7)); }
static void *turns(void *unused)
{
	for (int i = 0; i < 200000; i++)
		turn(i);
	return unused;
}
int main(void)
{
	pthread_t t[2];
	for (int i = 0; i < 2; i++)
		if (pthread_create(&t[i], NULL, turns, NULL))
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return 0;
}
END
	cc -g -O1 -fno-builtin -pthread -o small small.c
	run "$mprof" record --budget 1M -o log -- ./small
	run "$mprof" report --json log
	expect_same 'the peak of the finding' "$(json out '.peak_bytes as $p | .findings[] | select(.finding == "total") |
		(.of / (.text | capture("(?<n>[0-9,]+) times the peak").n | gsub(","; "") | tonumber) | round) >= $p')" true
}

# Regions from a busy place; into 300 of these, pages are mapped from a rare one.  One munmap ends both,
# or the first one only what is before them.
test_reduced_stacks_of_mappings_in_others() {
	cat >inner.c <<'END'
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#define PAGE 4096
static char *region(void) { return mmap(0, 8 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
static void inner(char *at) { mmap(at, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0); }
int main(int argc, char **argv)
{
	static char *kept[300];
	int head = argc > 1 ? 2 : 0;
	for (int i = 0; i < 60000; i++) {
		char *at = region();
		if (i >= 30000 && i % 100 == 0) {
			kept[i / 100 - 300] = at;
			inner(at + 2 * PAGE);
		} else {
			munmap(at, 8 * PAGE);
		}
	}
	for (int i = 0; i < 300; i++) {
		munmap(kept[i], head * PAGE);
		munmap(kept[i] + head * PAGE, (8 - head) * PAGE);
	}
	return !argv;
}
END
	cc -g -O1 -fno-inline -o inner inner.c || bad 'does not compile'
	run "$mprof" record --budget 1M -o inner.log -- ./inner
	run "$mprof" report --json inner.log
	expect_same 'mappings' "$(json out '[.reduced_stacks, .kept_until_ns, .maps.mapped_bytes, .maps.unknown_unmapped_bytes] | join(" ")')" \
		'1 0 0 0'
	run "$mprof" record --budget 1M -o head.log -- ./inner head
	run "$mprof" report --json head.log
	expect_same 'mappings without their head' "$(json out '[.reduced_stacks, .kept_until_ns, .maps.mapped_bytes] | join(" ")')" '1 0 0'
}
