# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# at.sh - what was live at a moment: --at of views and exports.

# Calls: 10 of first, 5 of second, 5 frees, a realloc, then a child and a thread with their own.
at_source() {
	cat <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void *a[10], *b[5], *c[3];
static void pause_ms(int ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000L }, NULL);
}
static void first(void) { for (int i = 0; i < 10; i++) a[i] = malloc(1000); }
static void second(void) { for (int i = 0; i < 5; i++) b[i] = malloc(2000); }
static void grown(void) { b[0] = realloc(b[0], 2500); }
static void of_child(void) { for (int i = 0; i < 7; i++) if (!malloc(700)) abort(); }
static void *third(void *unused)
{
	for (int i = 0; i < 3; i++)
		c[i] = malloc(3000);
	for (int i = 0; i < 10000; i++)
		free(malloc(10 + i % 50));
	return unused;
}
int main(void)
{
	pthread_t t;
	first();
	second();
	for (int i = 0; i < 5; i++)
		free(a[i]);
	grown();
	pause_ms(5);
	if (!fork()) {
		of_child();
		pause_ms(10);
		_exit(0);
	}
	wait(NULL);
	pthread_create(&t, NULL, third, NULL);
	pthread_join(t, NULL);
	for (int i = 5; i < 10; i++)
		free(a[i]);
	return 0;
}
END
}

at_record() { # ./at and its trace in raw
	at_source >at.c
	cc -g -O0 -fno-builtin -o at at.c || bad 'at.c does not compile'
	run "$mprof" record --no-compress -o raw -- ./at
	expect_status 0
}

at_rows() { # LOG OPTION...: "FUNCTION BYTES BLOCKS" of each row, and the sum
	local log=$1
	shift
	run "$mprof" report peak --json --by function "$@" "$log"
	expect_status 0
	json out '[(.rows | sort_by(.function)[] | "\(.function) \(.value) \(.blocks.peak)"),
		(.moment_of_peak | "all \(.bytes) \(.calls)")] | join(", ")'
}

test_at_moments() {
	local log
	at_record
	cp raw packed
	run "$mprof" compress packed
	expect_status 0
	for log in raw packed; do
		expect_same "$log, 1 call" "$(at_rows $log --at 1)" 'first 1000 1, all 1000 1'
		expect_same "$log, 10 calls" "$(at_rows $log --at 10)" 'first 10000 10, all 10000 10'
		expect_same "$log, 13 calls" "$(at_rows $log --at 13)" \
			'first 10000 10, second 6000 3, all 16000 13'
		expect_same "$log, 20 calls" "$(at_rows $log --at 20)" \
			'first 5000 5, second 10000 5, all 15000 10'
		expect_same "$log, 21 calls" "$(at_rows $log --at 21)" \
			'first 5000 5, grown 2500 1, second 8000 4, all 15500 10'
		expect_same "$log, 28 calls" "$(at_rows $log --at 28)" \
			'first 5000 5, grown 2500 1, of_child 4900 7, second 8000 4, all 20400 17'
		expect_same "$log, the peak" "$(at_rows $log --at peak)" "$(at_rows $log)"
		expect_same "$log, the end" "$(at_rows $log --at end | sed 's/, main [0-9 ]*//; s/, all.*//')" \
			'grown 2500 1, second 8000 4, third 9000 3'
		expect_same "$log, 100 %" "$(at_rows $log --at 100%)" "$(at_rows $log --at end)"
		# The same, found by brute force in what dump says, at many moments.
		run "$here/moments.py" "$mprof" $log
		expect_status 0
		cat out
	done
}

test_at_views_and_exports() {
	local view
	at_record
	run "$mprof" report peak --at 20 raw
	expect_status 0
	expect_words out ' after the start, all processes together held 15,000 bytes (14.6 KiB) in 10 blocks.'
	expect_no_text out 'At the peak'
	for view in top-down bottom-up 'callers main' 'annotate at.c'; do
		run "$mprof" report $view --at 20 raw
		expect_status 0
		expect_text out '"peak" is the time'
		expect_text out 'with 15,000 bytes (14.6 KiB) live.'
	done
	run "$mprof" report bottom-up --json --at 20 raw
	expect_same 'the tree' "$(json out '[.rows[] | select(.depth == 1) |
		"\(.function) \(.inclusive.peak)"] | sort | join(", ")')" 'first 5000, second 10000'
	run "$mprof" export --to folded --at 20 raw
	expect_status 0
	expect_same folded "$(sed 's/.*;//' out | sort | tr '\n' ' ')" 'first 5000 second 10000 '
	run "$mprof" export --to folded --at 20 --function second raw
	expect_same 'folded, filtered' "$(sed 's/.*;//' out)" 'second 10000'
	run "$mprof" export --to speedscope --at 20 raw
	expect_same speedscope "$(json out '.profiles[] | select(.name == "peak") | .weights | add')" 15000
}

test_at_words() {
	local words
	at_record
	for words in 'report peak --at soon' 'report leaks --at 5' 'report peak --at 1h' \
		'report peak --at 1000000' 'report peak --at 5 --sort rss' \
		'report peak --at 5 --lifetime 1ms..' 'export --to massif --at 5' \
		'export --to folded --at 1h'; do
		run "$mprof" $words raw
		expect_status 2
		expect_text err --at
	done
	run "$mprof" report --at 5 raw
	expect_status 2
	expect_text err '--at needs a view, for example: mprof report peak --at'
	run "$mprof" report peak --at 1h raw
	expect_text err '--at 1h: the last call was made after '
	run "$mprof" report peak --at 1000000 raw
	expect_text err '--at 1000000: there are only '
	run "$mprof" export --to massif --at 5 raw
	expect_text err '--to massif: it describes the whole run, not one point in time; leave out --at'
}
