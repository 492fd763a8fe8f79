# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# memory.sh - mprof with a limited number of allocations (tests/preload/lib/scarce.c).

scarce() { # REQUESTS COMMAND...: its stdout in out, its stderr in err, its status in $status
	run timeout 600 env LD_PRELOAD="$build/preload/lib/scarce.so" SCARCE="$1" "${@:2}"
}

# It prints one line, leaves no incomplete file, and is not killed by a signal. Libraries are worse:
# libdw and json-c abort without memory, and fontconfig never ends. So names and variables come from
# the cache here: each command that opens objects has run once before.
test_memory_ends() {
	local command n ended=0
	"$mprof" record -o log -- ls -l / >/dev/null 2>&1
	"$mprof" report --all log >/dev/null 2>&1
	"$mprof" report leaks log >/dev/null 2>&1
	"$mprof" export --to pprof -o x.pb.gz log >/dev/null 2>&1
	"$mprof" report --html=x.html log >/dev/null 2>&1
	rm -f x.pb.gz x.html
	for command in report 'report peak' 'report leaks' dump 'export --to folded -o x.folded' \
		'export --to heaptrack -o x.zst' 'export --to pprof -o x.pb.gz' 'sort -o x.play' \
		'export --to callgrind -o x.callgrind' 'report --html=x.html' 'movie -o x.html'; do
		for n in 60 200 350 500 700 1000 1500; do
			# shellcheck disable=SC2086
			scarce $n "$mprof" $command log
			rm -f x.folded x.zst x.pb.gz x.play x.callgrind x.html
			expect_same "files after $command with $n" "$(echo *)" 'err log out'
			[ "$status" != 0 ] || continue
			[ "$status" = 1 ] || [ "$status" = 2 ] || [ "$status" = 3 ] ||
				bad "$command with $n: status $status"
			grep -v '^mprof: warning: ' err >said
			expect_lines said 1
			grep -q '^mprof.*memory' said || bad "$command with $n says $(cat err)"
			rm said
			grep -q ': out of memory within .*; --memory SIZE allows more$' err && ended=1
		done
	done
	[ $ended = 1 ] || bad 'none of them ran out of memory'
}

# Wherever it runs out, also where a text is complete but cannot be handed over.
test_memory_ends_anywhere() {
	local n
	"$mprof" record -o log -- ls -l / >/dev/null 2>&1
	"$mprof" report --all log >/dev/null 2>&1
	"$mprof" report leaks log >/dev/null 2>&1
	for ((n = 300; n < 800; n += 3)); do
		scarce "$n" "$mprof" report log
		[ "$status" -le 3 ] || bad "status $status with $n"
	done
}

# The processes that play end with mprof and leave nothing behind.
test_memory_of_replay() {
	local n ended=0
	"$mprof" record -o log -- "$build/preload/threads" 1 20000 >/dev/null 2>&1
	"$mprof" sort -o x.play log >/dev/null 2>&1
	for n in 20 60 100 200 400 700 1000 100000; do
		scarce $n "$mprof" replay --quick --allocator glibc "$PWD/x.play"
		expect_same "files after replay with $n" "$(echo *)" 'err log out x.play'
		wait_for nobody_plays
		[ "$status" != 0 ] || continue
		ended=$((ended + 1))
		expect_same "status with $n" "$status" 1
		[ ! -s out ] || expect_text out 'What was played' # and it ended while it printed that
		expect_lines err 1
		expect_text err 'mprof replay: out of memory within '
	done
	[ $ended -ge 5 ] || bad "it ran out of memory only $ended times"
	expect_status 0
}

nobody_plays() {
	! pgrep -f "in=$PWD/x.play" >/dev/null
}

# The program is not harmed, and its recording is complete.
test_memory_of_record() {
	local n started=0
	for n in 5 30 45 50 55 60 70 90 120 200 300 450 700 1000; do
		rm -f log*
		scarce $n "$mprof" record -o log -- sh -c 'echo fine; exit 7'
		if [ "$status" != 7 ]; then
			expect_same "output before the start with $n" "$(cat out)" ''
			expect_lines err 1
			continue
		fi
		started=$((started + 1))
		expect_same "output with $n" "$(cat out)" fine
		expect_same "files with $n" "$(echo *)" 'err log out'
		"$mprof" report log >/dev/null 2>err || bad "with $n the trace is lost: $(cat err)"
	done
	[ $started -ge 5 ] || bad "it started only $started times"
}

# The line names mprof's own limit and the shell's.
test_memory_limits_are_named() {
	"$mprof" record -o log -- ls -l / >/dev/null 2>&1
	(ulimit -v 900000; scarce 200 "$mprof" report --memory 200M log; echo "$status" >status)
	expect_same status "$(cat status)" 1
	expect_text err 'mprof report: out of memory within 200 MiB; --memory SIZE allows more (ulimit -v: 879 MiB)'
	(ulimit -v 900000; scarce 200 "$mprof" report --memory 2G log)
	expect_text err 'mprof report: out of memory within 879 MiB, the limit of ulimit -v'
}
