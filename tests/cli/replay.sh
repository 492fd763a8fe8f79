# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# replay.sh - options of mprof replay and mprof compare, bad input, allocators
# that fail, and the names of the answer.  Real runs: tests/replay.

replayed_log() {
	[ -f log ] || "$mprof" record -o log -- "$build/preload/threads" 1 20000 >/dev/null 2>&1
}

replay() { # ARGUMENTS...: quickly
	replayed_log
	run "$mprof" replay --quick log "$@"
}

test_replay_usage() {
	local words
	run "$mprof" replay
	expect_status 2
	expect_text err 'no trace given'
	run "$mprof" compare
	expect_status 2
	expect_text err 'no trace given'
	replayed_log
	run "$mprof" replay log log
	expect_status 2
	while read -r words; do
		# shellcheck disable=SC2086
		run "$mprof" replay log $words
		[ "$status" = 2 ] || bad "$words: exit status $status"
		expect_lines out 0
		grep -q '^mprof replay: .' err || bad "$words: $(head -c 300 err)"
	done <<'END'
--mode fast
--touch all
--speed 0
--speed x
--reps -1
--reps 10001
--cpu x
--cpu 1023
--env drop
--set NAME
--drain 5,1
--drain 1x
--thp never
--time-limit 0
--process x
--allocator nomalloc
--allocator glibc[A]
--allocator glibc,,glibc
--mode ordered --speed 3
END
}

test_replay_bad_files() {
	run "$mprof" replay nothing.log
	expect_status 3
	expect_one_line_error
	expect_text err nothing.log
	head -c 5000 /dev/urandom >noise
	run "$mprof" replay noise
	expect_status 3
	expect_lines out 0
	expect_text err noise
	: >empty
	run "$mprof" compare empty
	expect_status 3
	[ ! -e empty.html ] || bad 'a page of nothing'
	replayed_log
	cp log kept
	run "$mprof" compare --quick -a glibc -o kept log
	expect_status 2
	expect_one_line_error
	cmp -s log kept || bad "a recording was replaced"
	run "$mprof" compare --quick -a glibc -o log/page.html log
	expect_status 1
	expect_text err log/page.html
}

# Memory that the program never wrote to must not take memory of the machine.
test_replay_more_than_there_is() {
	local command
	awk 'BEGIN { for (i = 1; i <= 2000; i++) printf "1: malloc 0x%x0000000000 34359738368\n", i }' >large
	for command in 'replay --quick --no-heaps' 'compare --quick' image movie; do
		# shellcheck disable=SC2086
		run "$mprof" $command --allocator glibc,two=glibc large
		expect_status 1
		expect_one_line_error
		expect_text err '--touch first'
	done
	run "$mprof" replay --quick --no-heaps --reps 0 --touch none -a glibc large
	expect_status 0
}

# Errors that only the runner can see, since mprof does not read all of the file first.
test_replay_damaged() {
	local command
	replayed_log
	"$mprof" sort -o calls.play log 2>sorted >&2
	printf '\377%.0s' {1..64} |
		dd of=calls.play bs=1 seek=20480 conv=notrunc 2>/dev/null
	for command in 'replay --quick' 'compare --quick' image movie; do
		# shellcheck disable=SC2086
		run "$mprof" $command --allocator glibc,two=glibc calls.play
		expect_status 3
		expect_one_line_error
		expect_text err 'calls.play: word'
	done
}

# Every field of the answer is explained.
# The answer itself says of which process it is, and which one was larger.
test_replay_names_the_process() {
	# shellcheck disable=SC2016
	"$mprof" record -o forks.log -- perl -e 'my $x = "x" x (8e6 + @ARGV); if (fork) { wait }
		else { undef $x; my @y = map { [$_] } 1..20000 }' >/dev/null 2>&1
	run "$mprof" replay --quick --no-heaps --reps 0 --allocator glibc forks.log
	expect_status 0
	tr -s ' \n' ' ' <out >words
	grep -Eq "Played: process 2 \\(of 2 that made calls\\), 'perl' with [0-9,]+ calls and a peak of [0-9.]+ MiB; the largest peak, [0-9.]+ MiB, is of process 1, 'perl'; choose with --process N or --process all\\." words ||
		bad "nothing is said of the choice: $(head -c 600 words)"
	run "$mprof" replay --quick --no-heaps --reps 0 --allocator glibc --process 1 --json forks.log
	expect_same process "$(jq .program.process out)" 1
	replay --no-heaps --reps 0 --allocator glibc
	expect_no_text out Played:
}

# A process without calls has a number, too; free(NULL) is not played.
test_replay_counts() {
	cat >silent.c <<'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	void *volatile p = malloc(10);
	for (int i = 0; i < 2; i++) {
		if (!fork()) {
			for (int k = 0; k < 300 * i; k++) {
				free(p = malloc(100));
				free(NULL);
			}
			_exit(0);
		}
		wait(NULL);
	}
	free(p);
	return 0;
}
END
	compile silent -fno-builtin
	"$mprof" record -q -o silent.log -- ./silent
	run "$mprof" replay --quick --no-heaps --reps 0 --allocator glibc silent.log
	expect_words out "Recorded: 600 calls of 1 thread"
	expect_words out "Played: process 3 (of 2 that made calls), 'silent' with 900 calls"
	expect_words out 'Repaired or left out: 300 calls of free(NULL).'
}

test_replay_json_names() {
	replayed_log
	run "$mprof" replay --reps 2 --drain 0.01 --json -a glibc,glibc[MALLOC_ARENA_MAX=1] log
	expect_status 0
	expect_documented replay out
	expect_same version "$(json out '.allocators[0].version | length > 0')" true
	expect_same set "$(json out '.allocators[1].environment[0]')" MALLOC_ARENA_MAX=1
	expect_same reference "$(json out .reference)" glibc
	expect_same command "$(json out '.program.command | endswith("threads 1 20000")')" true
	expect_same drain "$(json out '.allocators[0].drain_rss_bytes | length')" 1
	expect_same runs "$(json out '.allocators[1].time_runs')" 2
}

# A failure takes one row, and the others continue.
test_replay_failing_allocators() {
	cat >bad.c <<'END'
#include <stdlib.h>
#include <unistd.h>
void *__libc_malloc(size_t n);
static int calls;
void *malloc(size_t n)
{
	const char *how = getenv("HOW");

	if (++calls == 5000 && how)
		switch (*how) {
		case 'c':
			abort();
		case 'h':
			for (;;)
				pause();
		case 'e':
			if (write(2, "out of luck\n", 12))
				_exit(7);
		}
	return __libc_malloc(n);
}
END
	cc -shared -fPIC -O1 -o bad.so bad.c || return 1
	printf 'int needed(void);\nvoid *malloc(unsigned long n) { return n + (char *)needed; }\n' >lost.c
	printf 'int needed(void) { return 1; }\n' >needed.c
	cc -shared -fPIC -o libneeded.so needed.c
	cc -shared -fPIC -o lost.so lost.c -L. -lneeded
	rm libneeded.so
	replay --no-heaps --time-limit 2s -a "crash=./bad.so[HOW=c],hang=./bad.so[HOW=h]" \
		-a "exit=./bad.so[HOW=e],lost=./lost.so,fine=./bad.so,glibc"
	expect_status 0
	expect_text out 'crash could not be compared: it was killed by SIGABRT'
	expect_text out 'hang could not be compared: it did not end within'
	expect_text out 'exit could not be compared: it ended with status 7'
	expect_text out 'out of luck'
	expect_text out 'lost could not be compared'
	expect_text out 'libneeded.so'
	grep -qE '^  crash +failed' out || bad 'crash is not in the table'
	grep -qE '^  fine +[0-9.]+ [KM]iB' out || bad 'fine was not played'
	expect_no_text out 'fine could not'
	replay --no-heaps -a "crash=./bad.so[HOW=c]"
	expect_status 1
	cat >loud.c <<'END'
#include <unistd.h>
__attribute__((constructor)) static void tell(void)
{
	if (write(2, "no \033[31msuch setting\n", 21))
		return;
}
void *__libc_malloc(size_t n);
void *malloc(size_t n)
{
	return __libc_malloc(n);
}
END
	cc -shared -fPIC -o loud.so loud.c
	replay --no-heaps -a loud=./loud.so
	expect_text out 'loud said: no  [31msuch setting'
	run "$mprof" compare --quick -a "crash=./bad.so[HOW=c],glibc" -o page.html log
	expect_status 0
	expect_text page.html 'crash could not be compared'
}

# An object that the dynamic linker ignores with a warning would be glibc under another name.
test_replay_cannot_be_preloaded() {
	printf '%s\n' 'void *__libc_malloc(unsigned long n);' \
		'void *malloc(unsigned long n) { return __libc_malloc(n); }' >half.c
	cc -shared -fPIC -o half.so half.c
	replay --no-heaps -a ./half.so
	expect_status 0
	printf '\x01' | dd of=half.so bs=1 seek=54 conv=notrunc 2>/dev/null # size of a program header
	replay --no-heaps -a ./half.so,glibc
	expect_text out 'half.so could not be compared'
	expect_words out 'cannot be loaded'
}

# It would be glibc's malloc under its name.
test_replay_no_allocator() {
	local command
	printf 'void *malloc(unsigned long);\nvoid *take(void) { return malloc(1); }\n' >user.c
	cc -shared -fPIC -o user.so user.c
	replayed_log
	for command in 'replay --quick' 'compare --quick' image movie; do
		# shellcheck disable=SC2086
		run "$mprof" $command log --allocator glibc,./user.so
		expect_status 2
		expect_one_line_error
		expect_text err "user.so': expected a shared object that exports malloc"
	done
	run "$mprof" record --allocator ./user.so -o other.log -- touch started
	expect_status 2
	expect_one_line_error
	expect_text err "user.so': expected a shared object that exports malloc"
	[ ! -e started ] || bad 'the program was run'
	# As that of libc_malloc_debug.so: nothing that is linked today can call it.
	printf '%s\n' '__asm__(".symver old,malloc@V1");' 'void *old(unsigned long n) { return (void *)n; }' |
		cc -shared -fPIC -o old.so -Wl,--version-script=<(echo 'V1 { global: malloc; local: *; };') -xc -
	run "$mprof" record --allocator ./old.so -o other.log -- touch started
	expect_status 2
	expect_text err "old.so': expected a shared object that exports malloc"
}

test_replay_environment() {
	replayed_log
	MALLOC_ARENA_MAX=3 run "$mprof" replay --quick --no-heaps -a glibc log
	expect_text out 'From the environment: MALLOC_ARENA_MAX=3'
	MALLOC_ARENA_MAX=3 run "$mprof" replay --quick --no-heaps --env clear -a glibc log
	expect_no_text out 'MALLOC_ARENA_MAX'
	cat >tell.c <<'END'
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void tell(void)
{
	FILE *f = fopen(getenv("TELL"), "a");

	fprintf(f, "%s %s %s\n", getenv("A") ?: "-", getenv("MALLOC_CONF") ?: "-",
		getenv("MPROF_CONF") ?: "-");
	fclose(f);
}
void *__libc_malloc(size_t n);
void *malloc(size_t n)
{
	return __libc_malloc(n);
}
END
	cc -shared -fPIC -o tell.so tell.c
	TELL=$PWD/told MALLOC_CONF=x MPROF_CONF=y run "$mprof" replay --quick --no-heaps \
		-a './tell.so[A={1,2}]' --set A=3 log
	expect_status 0
	expect_same 'what the runs saw' "$(sort -u told)" $'1 x -\n2 x -'
	rm told
	TELL=$PWD/told MALLOC_CONF=x run "$mprof" replay --quick --no-heaps --env clear \
		-a ./tell.so --set A=3 log
	expect_same 'what the runs saw' "$(sort -u told)" '3 - -'
}

# Without /proc, mprof does not know its own path, and says so.
test_replay_without_proc() {
	replayed_log
	"$mprof" sort -o calls.play log >sorted 2>&1
	unshare -rm sh -c 'mount -t tmpfs none /proc' 2>unshared || return 0
	run unshare -rm sh -c "mount -t tmpfs none /proc && exec '$mprof' replay --quick -a glibc calls.play"
	expect_status 1
	expect_one_line_error
	expect_text err 'without /proc'
	run unshare -rm sh -c "mount -t tmpfs none /proc && exec '$mprof' record -o other.log -- touch started"
	expect_one_line_error
	expect_text err 'without /proc'
}

# glibc takes pages of hugetlbfs if told so: the kernel counts them as resident nowhere.
# The runner touches its stack in advance, but only up to the stack limit.
test_replay_with_a_small_stack() {
	local kib
	replayed_log
	for kib in 96 128 unlimited; do
		run bash -c "ulimit -s $kib && exec '$mprof' replay --quick log"
		expect_status 0
		expect_lines err 0
	done
}

test_replay_of_huge_pages() {
	local free
	cat >large.c <<'END'
#include <stdlib.h>
#include <string.h>
int main(void)
{
	char *p = malloc(3 << 20);
	memset(p, 1, 3 << 20);
	free(p);
	return 0;
}
END
	compile large
	"$mprof" record -o log -- ./large 2>/dev/null
	free=$(sed -n 's/^HugePages_Free: *//p' /proc/meminfo)
	[ "$free" -ge 4 ] || return 0 # most machines reserve none
	GLIBC_TUNABLES=glibc.malloc.hugetlb=2 run "$mprof" replay -a glibc --quick --no-heaps --json log
	expect_same 'the pages count' "$(json out '[.. | .heap_rss_bytes? // empty][0] >= 3145728')" true
}

test_replay_slack() {
	cat >slack.c <<-'END'
		#include <stdlib.h>
		int main(void)
		{
			void *p[1000];
			for (int i = 0; i < 1000; i++)
				p[i] = malloc(49);
			for (int i = 0; i < 1000; i++)
				free(p[i]);
			return 0;
		}
	END
	cc -g -fno-builtin -o slack slack.c || bad 'slack.c does not compile'
	"$mprof" record -q -o log -- ./slack
	run "$mprof" replay -a glibc --reps 0 --drain 0 log
	expect_words out 'glibc: 6.8 KiB, of which 6.8 KiB in 1,000 blocks of 49 bytes to 64 bytes.'
}
