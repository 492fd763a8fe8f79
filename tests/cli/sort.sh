# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# sort.sh - the output of mprof sort. tests/replay/test_sort.py tests its files.

sorted_log() {
	"$mprof" record -o log -- "$build/preload/threads" 2 1000 >/dev/null 2>&1
}

test_sort_text() {
	sorted_log
	run "$mprof" sort log
	expect_status 0
	expect_lines err 0
	[ -f log.play ] || bad "no log.play"
	expect_text out 'log.play: '
	expect_text out ' malloc, '
	expect_text out 'peak '
	expect_text out 'live at the end '
	expect_text out ' threads, '
	expect_text out ' bytes a call; '
	cp out first
	run "$mprof" sort --check log.play
	expect_status 0
	cmp -s out first || bad "--check says otherwise: $(diff out first)"
}

test_sort_json_names() {
	sorted_log
	run "$mprof" sort --json -o x.play log
	expect_status 0
	expect_documented playback out
	expect_text out '"unknown_frees"'
}

test_sort_takes_the_place_of_a_file() {
	sorted_log
	echo old >x.play
	run "$mprof" sort log -o x.play
	expect_status 0
	run "$mprof" sort --check x.play
	expect_status 0
	run "$mprof" report x.play
	expect_status 3
	expect_text err "'x.play' is a playback file; expected a trace or profile"
	[ "$(find . -name '*.play*' | wc -l)" = 1 ] || bad "left behind: $(ls)"
}

test_sort_spares_recordings() {
	sorted_log
	cp log kept
	cp log other
	run "$mprof" sort log -o log
	expect_status 2
	expect_one_line_error
	run "$mprof" sort log -o other
	expect_status 2
	expect_text err 'is not replaced'
	cmp -s log kept && cmp -s other kept || bad "a recording was replaced"
	printf '1: malloc 0x10 8\n1: free 0x10\n' >text
	run "$mprof" sort text -o text
	expect_status 2
	grep -q malloc text || bad "the input was replaced"
}

test_sort_says_what_is_missing() {
	# shellcheck disable=SC2016
	"$mprof" record --no-compress -o log -- \
		perl -e 'my %h; $h{$_} = [$_] for 1..20000; delete @h{1..19000}' 2>/dev/null
	# Without a chunk in the middle, some blocks have no allocation.
	python3 - <<'END'
data = bytearray(open('log', 'rb').read())
at = 65536 + (len(data) - 65536) // 3
data[at:at + 50000] = bytes(50000)
open('log', 'wb').write(data)
END
	run "$mprof" sort log
	expect_status 0
	expect_text err 'whose allocation was not recorded: left out'
	expect_text err 'cannot be read: what follows is missing'
	run "$mprof" sort --check log.play
	expect_status 0
}

test_sort_once_is_enough() {
	sorted_log
	"$mprof" sort log -o x.play >/dev/null 2>&1
	run "$mprof" replay x.play --process 1
	expect_status 2
	expect_one_line_error
	expect_text err "'x.play' is a playback file: --process needs the trace"
}
