# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2016
#
# stacks.sh - the stack use of each thread, and variables, compared with programs that print the
# right figures.

# Each thread used as much as the victim prints, within a page below and its own frames above;
# `exact` says whether pages were read.
expect_stacks() { # WHAT TRACE SAID
	"$mprof" report threads --json --top 0 "$2" >answer 2>err || bad "$1: $(head -c 300 err)"
	sed -n 's/^\([a-z]*\) tid=\([0-9]*\) used=\([0-9]*\)$/\1 \2 \3/p' "$3" >truth
	expect_lines truth 5
	while read -r name tid used; do
		expect_same "$1: $name" "$(jq -r --arg tid "$tid" --argjson used "$used" '
			[.stacks[] | select(.tid == ($tid | tonumber)) | .used_bytes - $used |
			. >= 0 and . < 8192] | join(" ")' answer)" true
	done <truth
}

stacks_are_known() { # TRACE SAID
	(case_failed=0; expect_stacks '' "$@" >/dev/null; exit $case_failed)
}

test_stacks_of_threads() {
	run "$mprof" record -o log -- "$build/preload/deep_stacks" exit
	expect_status 0
	expect_stacks exit log out
	expect_same 'which is main' "$(json answer '[.stacks[] | select(.main)] | length')" 1
	# The calls: main allocates below 16 frames of 4 KiB and 3 MiB, the others where they
	# called.
	expect_same 'frames of main' "$(json answer '[.stacks[] | select(.main) | .stack[] |
		select(.function == "nested")] | length')" 16
	expect_same 'where main was deepest' \
		"$(json answer '.stacks[] | select(.main) | .stack[-1].function')" use
	expect_same 'calls' "$(json answer '[.stacks[] | select(.deepest_bytes)] | length')" 4
	expect_same 'functions of main' "$(json answer '.stacks[] | select(.main) | .functions[:2] |
		map("\(.function) \(.frames) \(.bytes / 16384 | floor)") | join(", ")')" \
		'use 1 192, nested 16 4'
	expect_same 'limits' "$(json answer '[.stacks[] | .limit_bytes / 131072 | ceil] | sort | join(" ")')" \
		'2 8 16 64 64'
	expect_documented threads_view answer
	run "$mprof" report threads log
	expect_text out 'used the most, up to 5.0 MiB of 8.0 MiB'
	expect_text out '3.1 MiB down its stack, was in'
	run "$mprof" report --json log
	expect_same 'the full one' "$(json out '.findings[] | select(.finding == "stack-full") |
		.part > 240000 and .of < 262144')" true
	expect_same 'all of them' "$(json out '.findings[] | select(.finding == "stacks") | .threads')" 5
	expect_same 'and memory beyond malloc' \
		"$(json out '[.findings[] | select(.finding == "outside") | .stacks > 3000000] | all')" true
	expect_documented run out
	run "$mprof" report log
	expect_words out 'KiB (97 %), deepest in '
	expect_words out 'deepest in use (deep_stacks.c:62), whose frame has 240 KiB.'
	expect_words out 'It may run out of stack.'
	expect_words out '5 threads ran at once, and thread'
}

# A recursion without end: the stack is why SIGSEGV killed the program.
test_stack_that_was_too_small() {
	cat >endless.c <<'END'
#include <stdlib.h>
#include <string.h>
static char *volatile kept;
static int parse(int depth)
{
	char text[200];
	memset(text, depth, sizeof(text));
	kept = malloc(10);
	return parse(depth + 1) + text[depth % 200];
}
int main(void) { return parse(1); }
END
	compile endless
	(
		ulimit -c 0 -s 1024
		"$mprof" record -o log -- ./endless 2>/dev/null
	) || true
	run "$mprof" report log
	expect_words out 'was killed by SIGSEGV'
	expect_words out 'It probably ran out of stack, because SIGSEGV killed the process.'
}

# Functions that print what the compiler gave them: from their CFA to that of the function that they
# call, in which the stack is deepest.
frames_program() {
	cat >frames.c <<'END'
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define NEW __attribute__((noinline, noclone))
static __thread struct { const char *name; char *cfa; } path[64];
static __thread int depth;
#define ENTER() (path[depth].name = __func__, path[depth++].cfa = __builtin_dwarf_cfa())
static void *volatile block;
static volatile size_t most = 50000;
static NEW int leaf(void)
{
	volatile char *p = alloca(most);
	ENTER();
	p[0] = 1;
	block = malloc(10);
	free(block);
	return p[0];
}
static NEW int small(int n)
{
	volatile char *p = alloca(n * 40);
	ENTER();
	p[n] = 1;
	return leaf() + p[n];
}
static NEW int rec(int n, int (*inner)(int))
{
	volatile char frame[1000];
	ENTER();
	frame[n] = 1;
	return (n ? rec(n - 1, inner) : inner(77)) + frame[n];
}
static void handler(int signal)
{
	volatile char frame[3000];
	ENTER();
	frame[signal] = (char)(leaf() + leaf());
}
static NEW int raises(int n)
{
	ENTER();
	free(malloc(10));
	raise(SIGUSR1);
	return n + depth;
}
static void say(void)
{
	for (int i = 0; i + 1 < depth; i++)
		printf("%d %s %td\n", gettid(), path[i].name, path[i].cfa - path[i + 1].cfa);
	fflush(stdout);
}
static void *thread(void *arg)
{
	rec(19, small);
	say();
	return arg;
}
int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = handler };
	stack_t other = { .ss_sp = calloc(1, 1 << 20), .ss_size = 1 << 20 };
	pthread_attr_t attr;
	pthread_t t;

	if (!strcmp(argv[1], "thread")) {
		pthread_attr_init(&attr);
		pthread_attr_setstacksize(&attr, 192 << 10);
		pthread_create(&t, &attr, thread, NULL);
		return pthread_join(t, NULL);
	}
	if (!strcmp(argv[1], "other")) {
		action.sa_flags = SA_ONSTACK;
		sigaltstack(&other, NULL);
	}
	sigaction(SIGUSR1, &action, NULL);
	rec(9, strcmp(argv[1], "plain") ? raises : small);
	say();
	return argc - 2;
}
END
}

# Of the thread with the largest stack, "FUNCTION BYTES FRAMES" for each function; the sum is right.
functions_of() { # TRACE
	run "$mprof" report threads --json "$1"
	expect_same 'sum' "$(json out '.stacks[] | select(.deepest_bytes) |
		([.functions[].bytes] | add) + .outer_bytes - .deepest_bytes, ([.stack[].frame_bytes] | add) -
		([.functions[].bytes] | add)' | sort -u)" 0
	json out '[.stacks[] | select(.deepest_bytes)] | max_by(.deepest_bytes) | .functions[] |
		"\(.function) \(.bytes) \(.frames)"' >functions
}

test_stack_frames() {
	local flags way
	frames_program
	for flags in -O0 -O2 '-O2 -fno-omit-frame-pointer' '-O2 -fstack-clash-protection -no-pie'; do
		# shellcheck disable=SC2086
		cc -g -fno-builtin -fno-optimize-sibling-calls $flags -pthread -o frames frames.c ||
			bad 'frames.c does not compile'
		for way in plain thread same other; do
			run "$mprof" record -o log -- ./frames "$way"
			expect_status 0
			awk '{ bytes[$2] += $3; n[$2]++ } END { for (f in n) print f, bytes[f], n[f] }' \
				out | sort >truth
			functions_of log
			# What a handler interrupted is between these two.
			case $way in
			plain | thread) grep -E '^(rec|small) ' truth >part ;;
			same) grep -E '^(rec|handler) ' truth >part ;;
			other) grep -E '^rec ' truth >part ;;
			esac
			expect_same "$flags: $way" "$(grep -E "^($(cut -d' ' -f1 part | paste -sd'|')) " \
				functions | sort)" "$(cat part)"
			grep -qE '^leaf 5[0-9]{4} 1$' functions && [ "$way" = other ] &&
				bad "$flags: leaf is on another stack"
			grep -qE '^leaf 5[0-9]{4} 1$' functions || [ "$way" = other ] ||
				bad "$flags: $way: $(cat functions)"
		done
	done
	run "$mprof" report threads log
	expect_text out 'Functions by their part of that stack:'
	run "$mprof" record -o log --unwind libgcc -- ./frames plain
	awk '{ bytes[$2] += $3; n[$2]++ } END { for (f in n) print f, bytes[f], n[f] }' out |
		sort >truth
	functions_of log
	expect_same 'by libgcc' "$(grep -E '^(rec|small) ' functions | sort)" "$(cat truth)"
}

# Each level allocates, so the record grows while it is in use; the process ends at any time.
test_stack_frames_after_a_kill() {
	local i
	cat >deeper.c <<'END'
#include <stdlib.h>
#include <unistd.h>
static void *volatile block;
__attribute__((noinline)) int odd(unsigned n);
__attribute__((noinline)) int even(unsigned n)
{
	volatile char frame[100];
	frame[n % 100] = 1;
	block = malloc(10);
	free(block);
	return (n ? odd(n - 1) : 0) + frame[n % 100];
}
__attribute__((noinline)) int odd(unsigned n)
{
	volatile char frame[200];
	frame[n] = 1;
	return (n & 4 ? odd(n & ~4u) : even(n)) + frame[0];
}
int main(void)
{
	even(1);
	write(1, "x", 1);
	for (unsigned n = 1;; n = n * 5 / 4 % 5000 + 1)
		block = (void *)(size_t)even(n);
}
END
	sed -i 's/frame\[n\] = 1/frame[n % 200] = 1/' deeper.c
	cc -O1 -g -fno-builtin -o deeper deeper.c || bad 'deeper.c does not compile'
	for i in 1 2 3 4 5 6; do
		MPROF_CONF="MODE=LogMmap LOG_PATH=killed.$i" LD_PRELOAD=$build/libmprof.so ./deeper >"began.$i" &
		wait_for test -s "began.$i"
		sleep "0.0$((i * 2))"
		kill -9 $!
		wait $! 2>/dev/null
		run "$mprof" report threads --json "killed.$i"
		expect_same 'one record' "$(json out '.stacks | length')" 1
		expect_same 'sum' "$(json out '.stacks[] | if .functions == [] then 0 else
			([.functions[].bytes] | add) + .outer_bytes - .deepest_bytes end')" 0
	done
}

# Like Ruby: touches only the last page of the stack.
test_stack_that_is_only_touched() {
	printf '%s\n' '#include <stdlib.h>' \
		'int main(void) { volatile char *end = __builtin_frame_address(0);' \
		'	end[-8300000] = 1; free(malloc(100)); return 0; }' >touch.c
	cc -o touch touch.c || bad 'touch.c does not compile'
	(ulimit -s 8192 && "$mprof" record -o log -- ./touch 2>/dev/null)
	run "$mprof" report threads log
	expect_words out 'thread 1 (main) touched a page 7.9 MiB down, of 8.0 MiB, but hardly any in between ('
	expect_no_text out 'used the most'
	run "$mprof" report log
	expect_no_text out 'run out of stack'
}

# For a process that was killed or still runs, the last reading from outside counts.
test_stacks_after_any_end() {
	local pid
	again_until 'stacks_are_known log out' run "$mprof" record -o log -- "$build/preload/deep_stacks" kill
	expect_stacks 'killed' log out
	"$mprof" record -o live -- "$build/preload/deep_stacks" wait >said 2>err &
	pid=$!
	wait_for grep -q ready said
	wait_for stacks_are_known live said
	expect_stacks 'running' live said
	kill -9 "$(sed -n 's/^main tid=\([0-9]*\) .*/\1/p' said)"
	wait "$pid"
	expect_stacks 'killed later' live said
}

# Without mprof, pages are not read, but calls are recorded.
test_stacks_by_hand() {
	MPROF_CONF='MODE=LogMmap LOG_PATH=log' LD_PRELOAD=$build/libmprof.so \
		"$build/preload/deep_stacks" exit >said 2>err
	expect_stacks 'by hand' log said
	MPROF_CONF='MODE=LogMmap LOG_PATH=killed' LD_PRELOAD=$build/libmprof.so \
		"$build/preload/deep_stacks" kill >said 2>err
	run "$mprof" report threads --json killed
	expect_same 'nobody looked' "$(json out '[.stacks[].touched_bytes] | unique | join(" ")')" ''
	expect_same 'calls' "$(json out '[.stacks[] | .deepest_bytes // 0 | . / 1024 | floor] | sort |
		.[2:] | map(. >= 240) | join(" ")')" 'true true true'
}

test_stacks_in_a_profile() {
	run "$mprof" profile -o one -- "$build/preload/deep_stacks" exit
	expect_stacks profile one out
	run "$mprof" report threads one
	expect_text out 'used the most, up to 5.0 MiB of 8.0 MiB'
	"$mprof" profile -o two -- "$build/preload/deep_stacks" exit >/dev/null 2>&1
	run "$mprof" merge one two -o both
	expect_status 0
	run "$mprof" report threads --json both
	expect_same 'of both' "$(json out '.stacks | length')" 10
	expect_same 'names' "$(json out '[.stacks[] | select(.main) | .stack[-1].function] | join(" ")')" 'use use'
}

# Threads that work for a while at depths that they know, one after another.
depths_program() {
	cat >depths.c <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *volatile block;
static __thread struct timespec began;

static double elapsed(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - began.tv_sec) + (double)(now.tv_nsec - began.tv_nsec) / 1e9;
}

/* A tenth longer than everything before, three times: one pause of the machine is never all of it. */
static void work(void)
{
	for (int part = 0; part < 3; part++) {
		double from = elapsed();

		for (int calls = 0; calls < 7000 || elapsed() < from * 1.1 || elapsed() < from + 0.004; calls++) {
			block = malloc(100);
			free(block);
		}
	}
}

/* n frames of 16 KiB. */
static __attribute__((noinline)) int nested(int n)
{
	volatile char frame[16384];

	frame[n] = (char)n;
	if (n > 1)
		return nested(n - 1) + frame[n];
	work();
	return frame[n];
}

static void *run(void *arg)
{
	clock_gettime(CLOCK_MONOTONIC, &began);
	printf("tid %ld", syscall(SYS_gettid));
	for (const int *n = arg; *n; n++)
		printf(" %d", *n);
	puts("");
	for (const int *n = arg; *n; n++)
		block = (void *)(long)nested(*n);
	return NULL;
}

int main(void)
{
	static const int up[] = { 1, 3, 20, 2, 9, 0 }, down[] = { 12, 1, 30, 4, 1, 7, 0 };
	pthread_t t;

	run((void *)up);
	pthread_create(&t, NULL, run, (void *)down);
	pthread_join(t, NULL);
	fflush(stdout);
	if (fork() == 0)
		return run((void *)down) != NULL;
	return wait(NULL) < 0;
}
END
	cc -O1 -g -pthread depths.c -o depths
}

# In order of time, intervals are as deep as the program said, and rise or fall only there.
expect_depths() { # WHAT TRACE
	run "$mprof" report threads --json --top 0 "$2"
	expect_documented threads_view out
	expect_lines truth 3
	while read -r _ tid depths; do
		expect_same "$1: $depths" "$(jq -r --argjson tid "$tid" '.stacks[] | select(.tid == $tid) |
			[.intervals[].deepest_bytes / 16384 | floor | select(. > 0)] |
			[foreach .[] as $d ([null, null]; [.[1], $d]; select(.[0] != .[1]) | .[1])] |
			map(tostring) | join(" ")' out)" "$depths"
	done <truth
	expect_intervals "$1"
}

expect_intervals() { # WHAT, with out
	expect_same "$1: the deepest one" "$(json out '[.stacks[] |
		([.intervals[].deepest_bytes] | max) == .deepest_bytes] | all')" true
	expect_same "$1: in order, while the thread ran" "$(json out '[.stacks[] | .start_ns as $start |
		([.intervals[].from_ns] | . == sort and .[0] == $start and length <= 64)] | all')" true
}

test_stacks_over_time() {
	depths_program
	run "$mprof" record --no-compress -o log -- ./depths
	expect_status 0
	grep '^tid' out >truth
	expect_depths raw log
	run "$mprof" compress --exact log
	expect_depths compressed log
	run "$mprof" record --last 1s -o last -- ./depths
	grep '^tid' out >truth
	expect_depths 'the last second' last
	# Without events there are few intervals.
	run "$mprof" record --budget 1M -o less -- ./depths
	grep '^tid' out >truth
	run "$mprof" report threads --json --top 0 less
	expect_intervals 'a small file'
	run "$mprof" profile -o totals -- ./depths
	grep '^tid' out >truth
	expect_depths profile totals
}

# A forked child continues on its parent's stack; more threads than there are records.
test_stacks_of_children_and_crowds() {
	cat >crowd.c <<'END'
#include <alloca.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static __attribute__((noinline)) void use(size_t bytes)
{
	char *volatile p = alloca(bytes);
	memset(p, 1, bytes);
	free(malloc(10));
}
static void *child(void *arg)
{
	free(malloc(10));
	if (!fork()) {
		use(300000);
		_exit(0);
	}
	wait(NULL);
	return arg;
}
static void *one(void *arg)
{
	use(*(size_t *)arg);
	return arg;
}
int main(int argc, char **argv)
{
	size_t n = strtoul(argv[1], NULL, 0), bytes = 20000, most = 700000;
	pthread_t t;
	pthread_create(&t, NULL, child, NULL);
	pthread_join(t, NULL);
	for (size_t i = 0; i < n; i++) {
		pthread_create(&t, NULL, one, i == n - 10 ? &most : &bytes);
		pthread_join(t, NULL);
	}
	return argc - 2;
}
END
	cc -g -O0 -fno-builtin -pthread -o crowd crowd.c || bad 'crowd.c does not compile'
	run "$mprof" record -o log -- ./crowd 6000
	expect_status 0
	run "$mprof" report threads --json --top 0 log
	expect_same 'the child' "$(json out '[.stacks[] | select(.process == 2) | .used_bytes | . > 300000 and . < 330000] | join(" ")')" true
	expect_same 'threads' "$(json out '[.stacks[] | select(.process == 1) | 1 + .others] | add')" 6002
	expect_same 'records' "$(json out '.stacks | length | . < 4200')" true
	expect_same 'the largest' "$(json out '.stacks[0].used_bytes | . > 700000 and . < 710000')" true
	expect_same 'its function' "$(json out '.stacks[0].functions[0] | "\(.function) \(.bytes >= 700000)"')" 'use true'
}

# ---- variables ----

variables_source() {
	cat <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define MIB (1 << 20)
char whole[64 * MIB] __attribute__((aligned(4096)));
static char part[32 * MIB] __attribute__((aligned(4096)));
char starts_as_one[8 * MIB] __attribute__((aligned(4096))) = { 1 };
__thread char local[MIB];
extern char *of_library(void);
static pthread_barrier_t all;
static void *run(void *arg)
{
	memset(local, 1, sizeof(local));
	free(malloc(10));
	pthread_barrier_wait(&all);
	return arg;
}
int main(int argc, char **argv)
{
	static int inside[1000];
	pthread_t t[3];
	inside[3] = 1;
	memset(whole, 1, sizeof(whole));
	memset(part + MIB, 1, 3 * MIB);
	memset(starts_as_one, 2, 2 * MIB);
	pthread_barrier_init(&all, NULL, 4);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, run, NULL);
	pthread_barrier_wait(&all);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	pthread_barrier_init(&all, NULL, 1);
	for (int i = 0; i < 5; i++) {
		pthread_create(&t[0], NULL, run, NULL);
		pthread_join(t[0], NULL);
	}
	free(of_library());
	if (argc > 1) {
		sleep(1);
		raise(SIGKILL);
	}
	return inside[3] - 1;
}
END
}

# NAME: "bytes resident line", of the variable.
variable() {
	json out ".rows[] | select(.name == \"$1\") | \"\(.bytes) \(.resident_bytes) \(.line)\""
}

test_globals() {
	local build_of how
	variables_source >variables.c
	echo '#include <stdlib.h>
char *of_library(void);
char in_library[4 << 20] __attribute__((aligned(4096)));
static char hidden[2 << 20] __attribute__((aligned(4096)));
char *of_library(void) { hidden[9] = 1; for (int i = 0; i < 1 << 20; i++) in_library[i] = 1; return malloc(77); }' >library.c
	cc -g -O0 -fPIC -shared -o libvariables.so library.c || bad 'library.c does not compile'
	for build_of in '-pie -fPIE' '-no-pie'; do
		# shellcheck disable=SC2086
		cc -g -O0 -fno-builtin $build_of -pthread -o variables variables.c -L. -lvariables \
			-Wl,-rpath,"$PWD" || bad 'variables.c does not compile'
		for how in record profile; do
			run "$mprof" "$how" -o log -- ./variables
			run "$mprof" report globals --json --top 0 log
			expect_same "$build_of: whole" "$(variable whole)" '67108864 67108864 8'
			expect_same "$build_of: part" "$(variable part)" '33554432 3145728 9'
			expect_same "$build_of: initial" "$(variable starts_as_one)" '8388608 2097152 10'
			expect_same "$build_of: local" "$(variable local)" '1048576 null 11'
			expect_same "$build_of: static of a function" "$(variable inside.0 | cut -d' ' -f1,3)" '4000 23'
			expect_same "$build_of: of a library" "$(variable in_library)" '4194304 1048576 3'
			expect_same "$build_of: hidden" "$(variable hidden)" '2097152 4096 4'
			expect_same "$build_of: threads" "$(json out '[.objects[] |
				select(.object | endswith("/variables")) |
				"\(.threads) \(.thread_local_bytes) \(.bytes > 109051904)"] | join("")')" \
				'4 1048576 true'
			expect_documented globals_view out
		done
	done
	run "$mprof" record -o log -- ./variables
	run "$mprof" report globals log
	expect_text out 'variables.c:8'
	run "$mprof" report --json log
	expect_same finding "$(json out '[.findings[] | select(.finding == "variables") | .part > 70000000] | join("")')" true
	expect_documented run out
	# Of a stripped library, only exported variables are named, and the answer says so. The
	# rest of their section has its name.
	strip libvariables.so
	run "$mprof" record -o log -- ./variables
	run "$mprof" report globals --json --top 0 log
	expect_same 'stripped: exported' "$(variable in_library)" '4194304 1048576 null'
	expect_same 'stripped: hidden' "$(variable hidden)" ''
	expect_same 'stripped: rest' "$(json out '[.rows[] | select(.name == ".bss" and (.object | endswith("/libvariables.so"))) |
		.bytes >= 2097152 and .bytes < 2105344 and .resident_bytes >= 4096 and .resident_bytes <= 8192] | any')" true
	expect_same 'stripped, and told' "$(json out '[.objects[] | select(.stripped) | .object | split("/") | last] |
		index("libvariables.so") != null')" true
	# Of a killed process: the pages of the last reading, which are those without an initial
	# value.
	run "$mprof" record -o log -- ./variables kill
	run "$mprof" report globals --json --top 0 log
	expect_same 'killed: whole' "$(variable whole)" '67108864 67108864 8'
	expect_same 'killed: initial, unknown' "$(variable starts_as_one)" '8388608 null 10'
	expect_same 'killed: part' "$(variable part)" '33554432 3145728 9'
	run "$mprof" report globals log
	expect_words out 'of which at least'
}

# An allocator's own operator new is recorded by ours: no unwinder shows that frame, or stops there.
test_stacks_of_own_operators() {
	local how
	cat >own.cc <<'END'
#include <cstddef>
#include <cstring>
static char room[1 << 30];
static std::size_t used;
static void *take(std::size_t n) { return room + __atomic_fetch_add(&used, (n + 15) & ~15ul, 0); }
extern "C" {
void *malloc(std::size_t n) { return take(n); }
void free(void *) {}
void *calloc(std::size_t a, std::size_t b) { return take(a * b); }
void *realloc(void *p, std::size_t n) { return p ? std::memcpy(take(n), p, n) : take(n); }
}
void *operator new(std::size_t n) { return take(n); }
void operator delete(void *) noexcept {}
void *operator new[](std::size_t n) { return take(n); }
void operator delete[](void *) noexcept {}
extern "C" void *tail_new(std::size_t), *plain_new(std::size_t), tail_delete(void *), plain_delete(void *);
extern "C" void own_work()
{
	char *lent = (char *)plain_new(1000), *kept = (char *)tail_new(2000), *both = (char *)tail_new(3000);
	delete lent;
	plain_delete(kept);
	tail_delete(both);
}
END
	# As libstdc++'s functions of std::string do: a tail call seems to come from the caller's caller.
	cat >string.cc <<'END'
#include <new>
extern "C" {
void *tail_new(std::size_t n) { return operator new(n); }
void *plain_new(std::size_t n) { char *p = (char *)operator new(n); asm volatile("" : : "r"(p) : "memory"); return p; }
void tail_delete(void *p) { operator delete(p); }
void plain_delete(void *p) { operator delete(p); asm volatile("" : : : "memory"); }
}
END
	cat >asks.cc <<'END'
__attribute__((noinline)) char *inner(int i)
{
	char *p = new char[100 + i];
	asm volatile("" : : "r"(p) : "memory");
	return p;
}
extern "C" void own_work();
int main()
{
	own_work();
	int *p = new int;
	asm volatile("" : : "r"(p) : "memory");
	delete p;
	own_work();
	for (int i = 0; i < 50; i++)
		delete[] inner(i);
}
END
	g++ -O2 -fPIC -shared -o string.so string.cc || bad 'string.cc does not compile'
	g++ -O1 -g -fPIC -shared -o own.so own.cc ./string.so -Wl,-rpath,"$PWD" || bad 'own.cc does not compile'
	g++ -O1 -g -fno-omit-frame-pointer -o asks asks.cc ./own.so -Wl,-rpath,"$PWD" || bad 'asks.cc does not compile'
	for how in auto cfi fp libgcc; do
		LD_PRELOAD=$PWD/own.so run "$mprof" record -o log --unwind "$how" -- ./asks
		expect_status 0
		run "$mprof" report hot --wrappers log
		expect_same "$how" "$(grep -m1 -A3 '50 calls' out | grep -o 'operators.*\|inner (asks.cc:3)\|main (asks.cc:16)' | tr '\n' ' ')" \
			'inner (asks.cc:3) main (asks.cc:16) '
	done
	run "$mprof" dump log
	expect_same 'frees of blocks that no call returned; blocks that stay' "$(awk -F '\t' '
		/new/ { live[$6] = $5 }
		/delete/ { if ($5 in live) delete live[$5]; else print "free", $0 }
		END { for (a in live) print "live", live[a] }' out)" ''
	expect_same "calls of the allocator's own" "$(grep -c 'new.*	[1-3]000	' out)" 2
	run "$mprof" dump --function new log
	expect_same 'the program, and what libstdc++ calls' "$(cut -f 4,5 out | sort | uniq -c | tr -s ' \t' ' ' | tr '\n' ';')" \
		' 2 operator new 1000; 1 operator new 4;'
}

# After chroot, without /proc, a forked child still has its stacks, and a thread of it.
test_stacks_after_chroot() {
	[ "$(id -u)" = 0 ] || return 0
	cat >jail.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) void *in_jail(void) { return malloc(4000); }
static void *work(void *none) { for (int i = 0; i < 20; i++) free(in_jail()); return none; }
int main(void)
{
	pthread_t t;
	if (chroot("jail") || chdir("/"))
		return 9;
	if (!fork()) {
		work(NULL);
		pthread_create(&t, NULL, work, NULL);
		pthread_join(t, NULL);
		_exit(0);
	}
	wait(NULL);
	return 0;
}
END
	cc -g -O1 -fno-builtin -o jailed jail.c -lpthread || bad 'jail.c does not compile'
	mkdir jail
	run "$mprof" record -o log -- ./jailed
	expect_status 0
	run "$mprof" report hot --by function log
	expect_same calls "$(awk '/in_jail/ { print $1 }' out)" 40
	run "$mprof" report log
	expect_no_text out 'without the stack'
	expect_no_text out 'unknown program'
	run "$mprof" profile --at-exit text -- ./jailed
	expect_text err "cannot write $PWD/mprof.%p.txt: no such directory after chroot"
}

# A program that is preloaded in a jail without /proc does not know when it began.
test_exec_after_chroot() {
	[ "$(id -u)" = 0 ] || return 0
	cat >again.c <<'END'
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	void *volatile kept = malloc(5000);
	if (argc < 2)
		execl(argv[0], argv[0], "again", NULL);
	return !kept;
}
END
	cc -g -O1 -fno-builtin -o again again.c || bad 'again.c does not compile'
	mkdir -p jail/tmp
	ldd again "$build/libmprof.so" | grep -o '/[^ ]*' | tr -d : | sort -u | while read -r file; do
		[ -f "$file" ] && mkdir -p "jail$(dirname "$file")" && cp -L "$file" "jail$file"
	done
	cp again jail/again
	cp "$build/libmprof.so" jail/libmprof.so
	run python3 -c 'import os, sys
os.chroot("jail"); os.chdir("/")
os.execve("/again", ["/again"], {"LD_PRELOAD": "/libmprof.so", "MPROF_CONF": "MODE=LogMmap LOG_PATH=/tmp/log"})'
	expect_status 0
	run "$mprof" report jail/tmp/log
	expect_text out 'which became: /again'
	expect_no_text out 'not recorded'
	run "$mprof" report --json jail/tmp/log
	expect_same 'processes, images and blocks' \
		"$(json out '"\(.processes | length) \(.processes[0].programs | length) \(.total_blocks)"')" '1 2 2'
}

# Go calls C on the thread's stack, from the stack of a goroutine.
test_stacks_from_go_to_c() {
	[ "$(uname -m)" = x86_64 ] || return 0
	cat >routine.c <<'END'
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
static struct { char *low, *high; } stack;
static ucontext_t thread, routine;
static char *of_thread;
void on_thread(void (*f)(void), void *stack, char *sp);
__asm__(".text\n.globl on_thread\n.type on_thread,@function\non_thread:\n"
	ENTER
	"mov 8(%rsi), %rcx\nsub %rsp, %rcx\n"
	"lea -64(%rdx), %rsp\nand $-16, %rsp\n"
	"mov %rsi, " ROUTINE "(%rsp)\nmov %rcx, " DISTANCE "(%rsp)\n"
	"call *%rdi\n"
	LOAD
	"mov " ROUTINE "(%rsp), %rdi\nmov 8(%rdi), %rsi\nsub " DISTANCE "(%rsp), %rsi\n"
	"mov %rsi, %rsp\n" LEAVE "ret\n");
static void in_c(void) { free(malloc(100)); }
static void asks(int i) { on_thread(in_c, &stack, of_thread - 256 * (i % 4)); }
static void other(int i) { on_thread(in_c, &stack, of_thread - 256 * (i % 4)); }
static void body(void)
{
	for (int i = 0; i < 1000; i++)
		i % 4 ? asks(i) : other(i);
}
int main(void)
{
	char room[65536];
	of_thread = room + 60000;
	stack.low = mmap(NULL, 1 << 18, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack.high = stack.low + (1 << 18);
	getcontext(&routine);
	routine.uc_stack = (stack_t){ .ss_sp = stack.low, .ss_size = 1 << 18 };
	routine.uc_link = &thread;
	makecontext(&routine, body, 0);
	swapcontext(&thread, &routine);
	return 0;
}
END
	# Position-independent code loads the offset of a thread variable first.
	for load in '' 'mov main@GOTPCREL(%rip), %rcx\n'; do
		for form in 'ROUTINE="48" DISTANCE="40" ENTER="" LEAVE=""' \
			'ROUTINE="8" DISTANCE="" ENTER="push_%rbp\nmov_%rsp,%rbp\n" LEAVE="pop_%rbp\n"'; do
			eval set -- "$(printf '%s\n' $form | sed "s/.*/'-D&'/" | tr '_\n' '  ')"
			cc -g -O0 -fno-builtin -DLOAD="\"$load\"" "$@" -Wl,--no-relax -o routine routine.c || bad 'routine.c does not compile'
			"$mprof" record -o log -- ./routine 2>/dev/null
			"$mprof" export --to folded --value calls log 2>/dev/null >folded
			expect_same "calls by both callers, with '$load', $form" "$(sed -n 's/.*body;\(.*in_c\).* \([0-9]*\)$/\1 \2/p' folded | sort | tr '\n' ' ')" \
				'asks;on_thread;in_c 750 other;on_thread;in_c 250 '
		done
	done
	command -v go >/dev/null || return 0
	cat >text.go <<'END'
package main

// #include <stdlib.h>
import "C"
import "unsafe"

//go:noinline
func text(n int) {
	for i := 0; i < n; i++ {
		C.free(unsafe.Pointer(C.CString("text")))
	}
}

func main() { text(1000) }
END
	GOCACHE=$PWD/cache CGO_ENABLED=1 go build -o text text.go 2>/dev/null || return 0
	"$mprof" record -o log -- ./text 2>/dev/null
	run "$mprof" report --json log
	expect_same 'the line in Go' "$(json out '.findings[] | select(.finding == "temporary") | "\(.file | split("/") | last):\(.line) \(.part)"')" 'text.go:10 1000'
	# A library of Go.
	sed -i 's,^func main.*,//export call\nfunc call() { text(1000) }\n\nfunc main() {},' text.go
	echo 'void call(void); int main(void) { call(); return 0; }' >calls.c
	GOCACHE=$PWD/cache CGO_ENABLED=1 go build -buildmode=c-shared -o libtext.so text.go 2>/dev/null || return 0
	cc -o calls calls.c ./libtext.so || bad 'calls.c does not compile'
	"$mprof" record -o log -- ./calls 2>/dev/null
	run "$mprof" report --json log
	expect_same 'the line in a library of Go' "$(json out '.findings[] | select(.finding == "temporary") | "\(.file | split("/") | last):\(.line) \(.part)"')" 'text.go:10 1000'
}

# Code that has no call frame information is left by its frame pointer; 0 marks the outermost frame.
test_stacks_that_end_and_that_lose_their_way_differ() {
	[ "$(uname -m)" = x86_64 ] || return 0
	cat >stubs.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#define STUBS 3500
int main(void)
{
	/* push %rbp; mov %rsi, %rbp; mov %rdi, %rax; mov $16, %edi; call *%rax; pop %rbp; ret */
	static const unsigned char stub[16] = { 0x55, 0x48, 0x89, 0xf5, 0x48, 0x89, 0xf8, 0xbf,
						16, 0, 0, 0, 0xff, 0xd0, 0x5d, 0xc3 };
	char *code = mmap(0, STUBS * 16, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < STUBS; i++)
		memcpy(code + i * 16, stub, 16);
	for (long frame = 0; frame < 2; frame++)
		for (int i = 0; i < STUBS; i++)
			free(((void *(*)(void *(*)(size_t), long))(code + 16 * i))(malloc, frame));
	return 0;
}
END
	compile stubs
	"$mprof" record -o log -- ./stubs 2>/dev/null
	"$mprof" dump --stacks --function malloc log >dump
	expect_same 'different stacks' "$(awk -F'\t' '!/^@/ && !had[$NF]++' dump | wc -l)" 7000
}

# A handler jumps out of a call, perhaps while its event is being stored.
test_jumps_out_of_events_leave_the_trace_valid() {
	cat >leaves.c <<'END'
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
static sigjmp_buf env;
static volatile sig_atomic_t armed;
static void leave(int signal)
{
	if (armed) {
		armed = 0;
		siglongjmp(env, signal);
	}
}
int main(void)
{
	struct itimerval often = { { 0, 100 }, { 0, 100 } };
	signal(SIGALRM, leave);
	setitimer(ITIMER_REAL, &often, 0);
	for (volatile int i = 0; i < 100000; i++)
		if (!sigsetjmp(env, 1)) {
			armed = 1;
			munmap(mmap(0, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 65536);
			armed = 0;
		}
	return 0;
}
END
	compile leaves
	"$mprof" record -q -o log -- ./leaves 2>said
	expect_no_text said damaged
}

mib_at_most() { # LOG: the largest resident size
	"$mprof" report --json "$1" | jq '.processes[0].peak_rss_bytes / 1048576 | floor'
}

# Recursion makes very many stacks, which take memory of the program; the report says what helps.
test_fewer_frames_for_very_many_stacks() {
	cat >recursion.c <<'END'
#include <stdlib.h>
void a(int n), b(int n);
void a(int n)
{
	free(malloc(10));
	if (n) {
		a(n - 1);
		b(n - 1);
	}
}
void b(int n)
{
	free(malloc(10));
	if (n) {
		b(n - 1);
		a(n - 1);
	}
}
/* What differs is near to malloc. */
void wide(int n)
{
	free(malloc(10));
	if (n) {
		wide(n - 1);
		wide(n - 1);
		wide(n - 1);
		wide(n - 1);
		wide(n - 1);
		wide(n - 1);
		wide(n - 1);
		wide(n - 1);
	}
}
int main(int argc, char **argv)
{
	(argc > 2 ? wide : a)(atoi(argv[1]));
	return 0;
}
END
	compile recursion
	local how depth
	for how in record profile; do
		"$mprof" $how -q -o log -- ./recursion 18
		run "$mprof" report log
		expect_words out "of mprof's own memory. mprof kept 524,"
		depth=$(tr -s ' \n' ' ' <out | sed -n 's/.*; --depth \([0-9]*\) would leave about [0-9,]*[.].*/\1/p')
		[ "${depth:-0}" -ge 8 ] || bad "depth: '$depth'"
		"$mprof" $how -q --depth "${depth:-8}" -o less -- ./recursion 18
		[ "$(mib_at_most less)" -lt $(($(mib_at_most log) / 3)) ] ||
			bad "$how: $(mib_at_most less) MiB instead of $(mib_at_most log)"
		run "$mprof" report less
		expect_no_text out 'different call stacks'
	done
	"$mprof" record -q -o log -- ./recursion 6 wide
	run "$mprof" report log
	expect_words out "of mprof's own memory"
	expect_no_text out ' would leave about '
}
