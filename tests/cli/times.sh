# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2016
#
# times.sh - the time in the allocator: how many calls are timed, and what reports make of them.

# slow_free [WAITS]: an allocator whose free takes a hundred times as long as its malloc, or sleeps
# WAITS ns and 50 us
slow_free() {
	cat >slow.c <<'EOF'
#include <stddef.h>
#include <string.h>
#include <time.h>
static char room[64 << 20];
static size_t used;
void *malloc(size_t size)
{
	size_t *at;
	if (size > sizeof(room) / 2)
		return NULL;
	size = (size + 31) & -(size_t)16;
	at = (size_t *)(room + (__atomic_fetch_add(&used, size, __ATOMIC_RELAXED) & (sizeof(room) / 2 - 1) & -(size_t)16));
	at[1] = size - 16;
	return at + 2;
}
void free(void *p)
{
#ifdef WAITS
	if (p)
		nanosleep(&(struct timespec){ 0, WAITS }, NULL);
#else
	volatile unsigned n = p ? 20000 : 0;
	while (n)
		n = n - 1;
#endif
}
void *calloc(size_t n, size_t size)
{
	void *p = malloc(n * size);
	return p ? memset(p, 0, n * size) : NULL;
}
size_t malloc_usable_size(void *p)
{
	return p ? ((size_t *)p)[-1] : 0;
}
void *realloc(void *p, size_t size)
{
	void *to = malloc(size);
	size_t old = malloc_usable_size(p);
	return to && p ? memcpy(to, p, old < size ? old : size) : to;
}
EOF
	cc -O1 -fno-builtin -shared -fPIC ${1:+-DWAITS=$1} -o slow.so slow.c || bad 'slow.c does not compile'
}

# pairs THREADS PAIRS [kill]: each thread allocates and frees, but not all the time.  Of a program that
# does nothing else, a few interrupted calls seem to take more than twice its CPU time, and mprof then
# gives no estimate.
pairs_program() {
	cat >pairs.c <<'EOF'
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
static long pairs;
static void *work(void *arg)
{
	void *volatile p;
	for (long i = 0; i < pairs; i++) {
		p = malloc(20 + i % 50);
		free(p);
		for (volatile int k = 0; k < 100; k++)
			;
	}
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t[8];
	int n = atoi(argv[1]);
	pairs = atol(argv[2]);
	for (int i = 1; i < n; i++)
		pthread_create(&t[i], NULL, work, NULL);
	work(NULL);
	for (int i = 1; i < n; i++)
		pthread_join(t[i], NULL);
	if (argc > 3)
		raise(SIGKILL);
	return 0;
}
EOF
	cc -O1 -fno-builtin -pthread -o pairs pairs.c || bad 'pairs.c does not compile'
}

# estimated CHECK COMMAND...: runs it until CHECK holds, five times at most: on a noisy machine, an
# estimate may be withheld, or a call that was interrupted may be a large part of it.
estimated() {
	local i
	for i in 1 2 3 4 5; do
		run "${@:2}"
		$1 && return
	done
	bad "no estimate of: ${*:2}"
}

# estimated_file CHECK FILE COMMAND...: the same, with what COMMAND recorded to FILE
estimated_file() {
	local i
	for i in 1 2 3 4 5; do
		"${@:3}" >/dev/null 2>&1
		run "$mprof" report --json "$2"
		$1 && return
	done
	bad "no estimate of: ${*:3}"
}

has_estimate() { [ "$(json out '.allocator_time != null')" = true ]; }
says_estimate() { grep -qF 'in the allocator, estimated' out; }
is_much_slower() {
	[ "$(json out '.allocator_time.functions // [] | map({(.function): .call_ns}) | add |
		.free > 10 * .malloc')" = true ]
}

# Sums are those of their parts, and calls those of the run.
expect_times() { # WHAT TRACE
	run "$mprof" report --json "$2"
	expect_same "$1: sums" "$(json out '.allocator_time as $a | [.threads[].allocator_ns | add // 0] | add as $sum |
		($a.ns - ($a.functions | map(.ns) | add) | fabs < 10) and ($a.ns - $sum | fabs < 100) and
		$a.timed_calls == ($a.functions | map(.timed_calls) | add) and $a.cpu_ns > 0 and
		$a.error_ns >= 0')" true
	expect_same "$1: calls" "$(json out '.calls as $c | [.allocator_time.functions[] | .calls == $c[.function]] | all')" true
}

test_time_in_the_allocator() {
	pairs_program
	for threads in 1 4; do
		estimated_file has_estimate log "$mprof" record -o log -- ./pairs "$threads" 400000
		expect_times "$threads threads" log
		# One of 512 words; one of 2048 of each thread, if four run at once.
		expect_same "$threads threads: timed" "$(json out '.allocator_time.timed_calls |
			. > 300 and . < 10000')" true
		expect_same 'both functions' "$(json out '[.allocator_time.functions[] |
			select(.timed_calls > 30) | .function] | sort | join(" ")')" 'free malloc'
	done
	expect_documented run out
	estimated_file has_estimate killed "$mprof" record --no-compress -o killed -- ./pairs 2 4000000 kill
	expect_times 'killed' killed
	run "$mprof" report --json killed
	# As times_are_told does: on a busy machine, the error may be as large as the time.
	told=$(json out '.allocator_time | .ns >= 5e7 and .share >= 0.01 and .ns > .error_ns')
	run "$mprof" report --all killed
	[ "$told" = false ] || expect_words out ' until the last calls'
	# A few calls say nothing, nor do those of a part of the run.
	run "$mprof" record -o log -- ./pairs 1 1000
	run "$mprof" report --json log
	expect_same 'few calls' "$(json out '.allocator_time')" null
	run "$mprof" record --last 1M -o log -- ./pairs 1 400000
	run "$mprof" report --json log
	expect_same 'last calls' "$(json out '.allocator_time')" null
	estimated_file has_estimate log "$mprof" record --unwind none -o log -- ./pairs 1 400000
	expect_times 'without stacks' log
}

# A process whose calls are too few to be timed uses CPU time, too.  It prints how much.
test_time_of_few_calls() {
	cat >few.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
	struct timespec from, at = { 0 };
	for (int i = 0; i < 400000; i++)
		free(malloc(20 + i % 50));
	if (!fork()) {
		free(malloc(1)); /* a process without calls is not in the trace */
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
		while (at.tv_sec == 0 && at.tv_nsec < 200000000)
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
		dprintf(1, "%ld", (at.tv_sec - from.tv_sec) * 1000000000 + at.tv_nsec - from.tv_nsec);
		exit(0);
	}
	wait(NULL);
	return 0;
}
END
	cc -O1 -fno-builtin -o few few.c || bad 'few.c does not compile'
	estimated_file has_estimate log sh -c '"$0" record -o log -- ./few >used' "$mprof"
	used=$(cat used)
	expect_same 'CPU time of both processes' "$(json out ".allocator_time.cpu_ns > $used")" true
}

# Code that follows a system call takes longer, so none comes directly before a timed call.  All calls
# of this allocator are long, and therefore compared with CPU time if interruptions are not noticed.
test_time_of_calls_after_system_calls() {
	pairs_program
	cat >marked.c <<'END'
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>
static char room[64 << 20];
static size_t used;
static void mark(void)
{
	syscall(SYS_getppid);
	for (volatile unsigned n = 20000; n; n = n - 1)
		;
}
void *malloc(size_t size)
{
	size_t *at = (size_t *)(room + (used & (sizeof(room) / 2 - 1)));
	used += (size + 31) & -(size_t)16;
	mark();
	at[1] = size;
	return at + 2;
}
void free(void *p) { (void)p, mark(); }
void *calloc(size_t n, size_t size) { return malloc(n * size); }
void *realloc(void *p, size_t size) { return p ? NULL : malloc(size); }
size_t malloc_usable_size(void *p) { return p ? ((size_t *)p)[-1] : 0; }
END
	cc -O1 -fno-builtin -shared -fPIC -o marked.so marked.c || bad 'marked.c does not compile'
	GLIBC_TUNABLES=glibc.pthread.rseq=0 run strace -f -e trace=getppid,clock_gettime -o calls \
		"$mprof" record -a ./marked.so -o log -- ./pairs 1 20000
	awk '/THREAD_CPUTIME/ { if (calls == 1) near++; reads++; calls = 0 } /getppid/ { calls++ }
		END { print (reads > 20), (near > reads / 8) }' calls >got
	expect_same 'readings of the CPU time, directly before and after a call' "$(cat got)" '1 0'
}

test_time_in_counts() {
	pairs_program
	estimated has_estimate "$mprof" stat --json -- ./pairs 2 400000
	expect_status 0
	expect_same 'sums' "$(json out '.calls as $c | .allocator_time |
		(.ns - (.functions | map(.ns) | add) | fabs < 10) and .timed_calls > 300 and .ns <= .cpu_ns and
		([.functions[] | .calls == $c[.function]] | all)')" true
	expect_documented stat out
	estimated says_estimate "$mprof" stat -- ./pairs 2 400000
	run "$mprof" stat -- ./pairs 1 1000
	expect_no_text out 'in the allocator'
}

test_time_in_profiles() {
	local one
	pairs_program
	estimated_file has_estimate one "$mprof" profile -o one -- ./pairs 2 400000
	expect_same 'sums' "$(json out '.functions as $f | .allocator_time |
		(.ns - (.functions | map(.ns) | add) | fabs < 10) and .timed_calls > 300 and .ns <= .cpu_ns and
		([.functions[] | .calls == $f[.function].calls] | all)')" true
	expect_documented profile out
	one=$(json out '.allocator_time.timed_calls')
	estimated_file has_estimate two "$mprof" profile -o two -- ./pairs 1 400000
	run "$mprof" merge one two -o both
	run "$mprof" report --json both
	expect_same 'of both' "$(json out ".allocator_time | .timed_calls > $one and .calls > 2400000")" true
	run "$mprof" profile --sample -o sampled -- ./pairs 1 400000
	run "$mprof" report --json sampled
	expect_same 'samples' "$(json out '.allocator_time')" null
}

test_time_of_a_slow_allocator() {
	pairs_program
	slow_free
	estimated_file is_much_slower log "$mprof" record -a ./slow.so -o log -- ./pairs 1 60000
	expect_times 'slow' log
	expect_same 'the function' "$(json out '.allocator_time.functions | max_by(.ns) | .function')" free
	expect_same 'finding' "$(json out '.findings[] | select(.finding == "time") | .part > .of / 3')" true
	expect_documented run out
	run "$mprof" report log
	expect_words out 'of the CPU time with recording ('
	expect_words out 'of the CPU time was spent in the allocator'
	expect_words out 'mprof compare log'
	run "$mprof" report --all log
	expect_words out 'of the CPU time was spent in the allocator'
	expect_words out 'The allocator took about'
}

# Of a call that waits only CPU time counts: otherwise, all would seem to take more than the program.
test_time_of_a_waiting_allocator() {
	pairs_program
	slow_free 1
	estimated_file has_estimate log "$mprof" record -a ./slow.so -o log -- ./pairs 1 30000
}

in_order() { printf '%s\n' "$@" | sort -V -C; }

# Long calls that were not interrupted need no system call (undisturbed.h).
test_time_of_long_calls() {
	in_order 2.35 "$(getconf GNU_LIBC_VERSION | cut -d' ' -f2)" && in_order "$(uname -r)" 6.18.9999 || return 0
	pairs_program
	slow_free
	few_reads() { [ "$(grep -c THREAD_CPUTIME calls)" -lt 70 ]; }
	again_until few_reads strace -f -e trace=clock_gettime -o calls "$mprof" record -q -a ./slow.so -o log -- ./pairs 1 60000
	expect_same 'readings' "$(grep -c THREAD_CPUTIME calls | awk '{ print ($1 < 70) }')" 1
	run "$mprof" report --json log
	expect_same 'timed calls' "$(json out '.allocator_time.timed_calls > 150')" true
}
