# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2016
#
# report.sh - report and dump on real programs whose calls are known.

record() { # record PROGRAM...: into log; its output is not ours to judge
	run "$mprof" record -o log -- "$@"
}

report_json() {
	run "$mprof" report --json log
	expect_status 0
	cp out answer
}

problems() {
	json answer '.problems | "\(.double_allocations) \(.unmatched_frees) \(.inversions)"'
}

test_report_fixture_a() {
	record "$build/preload/fixture_a"
	report_json
	expect_same calls "$(json answer '[.calls.malloc, .calls.free, .calls.calloc, .calls.realloc,
		.calls.posix_memalign, .calls.aligned_alloc, .events, .lost] | join(" ")')" \
		'2 4 1 1 1 1 10 0'
	expect_same peak "$(json answer '"\(.peak_bytes) \(.peak_blocks)"')" '1089 4'
	expect_same 'what is left' "$(json answer '"\(.live_bytes) \(.live_blocks)"')" '55 1'
	expect_same 'its size' "$(json answer '.never_freed.size_classes[0].size')" 55
	expect_same total "$(json answer .total_bytes)" 1244
	expect_same problems "$(problems)" '0 0 0'
	expect_same realloc "$(json answer '.realloc | "\(.calls) \(.chains.count)"')" '1 1'
	expect_same 'high water' "$(json answer .high_water.bytes)" 1089
	run "$mprof" report --all log
	expect_text out '1,089 bytes in 4 blocks'
	expect_text out '1 block, 55 bytes, was never freed'
	expect_text out 'exited with status 0'
	expect_text out '0 double allocations, 0 unmatched frees, 0 time inversions.'
}

test_report_fixture_c() {
	record "$build/preload/fixture_c"
	report_json
	expect_same peak "$(json answer '"\(.peak_bytes) \(.live_blocks)"')" '9437184 0'
	expect_same problems "$(problems)" '0 0 0'
}

# The columns and figures that mprof has always had for this program.
test_report_threads() {
	record "$build/preload/threads" 100 1000
	report_json
	expect_same threads "$(json answer '.threads | length')" 101
	expect_same 'size 4' "$(json answer '.size_classes[] | select(.size == 4).count')" 100000
	expect_same problems "$(problems)" '0 0 0'
	expect_same 'tids' "$(json answer '[.threads[].tid] | unique | length')" 101
	run "$mprof" report --all log
	grep -Eq '^ *Bytes +Count +%Size +%Qty' out || bad 'no size classes'
	grep -Eq '^ +4 +100,000 +9[0-9] +99 ' out || bad "size 4: $(grep '100,000' out)"
	expect_same 'threads' "$(sed -n '/^Threads/,/^$/p' out | grep -c '^  *[0-9]')" 101
}

# Each block is freed by another thread than it was allocated by; the trace has no contradictions.
test_report_blocks_that_travel() {
	record "$build/preload/ring"
	expect_status 0
	report_json
	expect_same problems "$(problems)" '0 0 0'
	expect_same lost "$(json answer .lost)" 0
	expect_same 'freed by others' "$(json answer '.lifetimes | .freed_by_other_thread > .blocks / 2')" \
		true
}

# Every field of the answer is explained, and none was renamed.
test_report_json_names_are_documented() {
	local name
	record sh -c "$build/preload/fixture_a; exec $build/preload/threads 2 5"
	report_json
	expect_documented run answer
	for name in calls threads processes events lost problems peak_bytes peak_blocks \
		total_bytes live_bytes live_blocks size_classes compactness high_water; do
		expect_same "$name" "$(json answer "has(\"$name\")")" true
	done
}

# Strings of a program that are not valid UTF-8 or control a terminal.
test_report_hostile_names() {
	local name
	name=$(printf 'a\033[31m\377b')
	cp "$build/preload/fixture_a" "$name"
	record "./$name"
	report_json
	expect_same command "$(json answer '.processes[0].programs[0].argv[0]')" \
		"$(printf './a\033[31m\357\277\275b')"
	run "$mprof" report log
	! grep -q "$(printf '\033')" out || bad 'an escape reached the terminal'
}

test_report_tree() {
	record sh -c "$build/preload/fixture_a; (exit 3); sh -c 'kill -9 \$\$'; exec $build/preload/fixture_c"
	report_json
	expect_same 'peak of the last program' \
		"$(json answer '.processes[0] | "\(.peak_bytes) \(.programs | length)"')" '9437184 2'
	expect_same 'fixture_a' "$(json answer '[.processes[] | select(.exe | endswith("fixture_a"))
		| "\(.events) \(.live_bytes) \(.status) \(.parent)"] | join(" ")')" '10 55 0 1'
	expect_same problems "$(problems)" '0 0 0'
	run "$mprof" report --all log
	expect_text out 'before exec: sh -c'
	grep -B 1 '^ *before exec' out | grep -q '^ *$' && bad 'an empty line before a program that called exec'
	return 0
}

test_report_not_recorded() {
	printf 'int main(void) { return 0; }\n' >static.c
	cc -static -o static static.c || return 0
	record sh -c './static; env -i /bin/true'
	report_json
	expect_same missing "$(json answer '[.not_recorded[] | "\(.path) \(.environment_cleared)"]
		| sort | join(" ")')" './static false /bin/true true'
	expect_same reason "$(json answer '.not_recorded[] | select(.environment_cleared) | .why')" \
		'its LD_PRELOAD did not name libmprof.so'
	run "$mprof" report log
	expect_words out 'statically linked'
	expect_words out 'its LD_PRELOAD did not name libmprof.so'
}

# ---- dump ----

test_dump_lines() {
	record "$build/preload/fixture_a"
	run "$mprof" dump log
	expect_status 0
	expect_lines out 10
	cut -f 4- out | sed -E 's/\t[0-9a-f]{6,}//g' >calls
	printf '%s\n' 'malloc	100' 'realloc	300' 'calloc	3	7' 'posix_memalign	64	640' \
		'aligned_alloc	64	128' free free free free 'malloc	55' >wanted
	expect_same calls "$(cat calls)" "$(cat wanted)"
	expect_same 'freed is what was allocated' "$(awk -F '\t' '$4 == "calloc" { a = $NF }
		$4 == "free" && $5 "" == a "" { print "yes" }' out)" yes
	run "$mprof" dump --json-lines log
	expect_lines out 10
	expect_same functions "$(jq -r .function out | paste -sd ' ')" \
		'malloc realloc calloc posix_memalign aligned_alloc free free free free malloc'
	expect_same sizes "$(jq -s '[.[] | select(.function == "malloc").size] | add' out)" 155
	expect_same 'order' "$(jq -s '[.[].time_ns] == ([.[].time_ns] | sort)' out)" true
}

test_dump_filters() {
	record "$build/preload/threads" 3 10
	run "$mprof" dump log
	cp out all
	run "$mprof" dump --thread 2 --function malloc log
	expect_same 'one thread and function' "$(cut -f 3,4 out | sort -u)" '2	malloc'
	expect_lines out 10
	run "$mprof" dump --from 1000 log
	expect_lines out 0
	run "$mprof" dump --to 1000 --process 1 log
	expect_same 'all of it' "$(cat out)" "$(cat all)"
	run "$mprof" dump --process 2 log
	expect_lines out 0
	run "$mprof" dump --marks log
	expect_same 'starts' "$(grep -c '#thread-start' out)" 4
	record "$build/preload/fixture_a"
	report_json
	run "$mprof" dump --numbers log
	expect_same 'the event of the peak' "$(cut -f 1,5 out | grep "^$(json answer .peak_event)	")" \
		"$(json answer .peak_event)	aligned_alloc"
	run "$mprof" dump --numbers --json-lines log
	expect_same 'the same in JSON' "$(jq -r "select(.event == $(json answer .peak_event)).function" \
		out)" aligned_alloc
	run "$mprof" dump --function nonsense log
	expect_status 2
	run "$mprof" dump --from yesterday log
	expect_status 2
	run "$mprof" dump
	expect_status 2
}

# A stack is defined before the first call that refers to it, and its callers before it.
dump_from_late_program() {
	cat >long.c <<'END'
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	void *old[3] = { malloc(1001), malloc(1002), malloc(1003) };
	for (int i = 0; i < 1300000; i++)
		free(malloc(i % 300 + 1));
	usleep(20000);
	free(old[0]);
	old[1] = realloc(old[1], 3000);
	free(old[1]);
	free(malloc(77));
	free(NULL);
	return 0;
}
END
	cc -g -O0 -fno-builtin -o long long.c || bad 'long.c does not compile'
	"$mprof" record -q -o long.log -- ./long
}

# A late part of a long trace is the same as in the whole, but for the addresses of older blocks.
test_dump_from_late() {
	local from
	dump_from_late_program
	"$mprof" dump --numbers long.log >all
	from=$(awk '$5 == "malloc" && $6 == 77 { print $2 }' all | tail -1)
	from=$(awk "BEGIN { printf \"%.9f\", $from - 0.01 }")
	awk -v from="$from" '$2 >= from' all >want
	run "$mprof" dump --numbers --from "$from" long.log
	expect_status 0
	expect_same 'lines' "$(cut -f 1-5 out)" "$(cut -f 1-5 want)"
	expect_same 'older blocks' "$(awk -F '\t' '$6 == "?" || $7 == "?"' out | cut -f 5 | tr '\n' ' ')" 'free realloc '
	expect_same 'all others' "$(grep -vF '?' out)" "$(awk -F '\t' '$5 != "free" && $5 != "realloc" || n++ > 1' want)"
	run "$mprof" dump --json-lines --from "$from" long.log
	expect_same 'pointers' "$(jq -r 'select(.function == "free") | .pointer // "none"' out | head -1)" none
	run "$mprof" dump --from "$from" --thread 1 long.log
	expect_status 0
	run "$mprof" dump --from 1h --thread 1 long.log
	expect_text err "no call in 'long.log' passes the filters"
	run "$mprof" dump --from 1h --thread 2 long.log
	expect_text err "no thread 2 in 'long.log'"
}

test_dump_stacks() {
	record "$build/preload/fixture_a"
	run "$mprof" dump --stacks --files log
	expect_same 'told too late' "$(awk -F '\t' '
		$1 ~ /^@/ { if ($2 != "@0" && !($2 in told)) n++; told[$1] = 1; next }
		$1 ~ /^%/ { next }
		$NF == "@0" && $4 != "free" { n++ }
		$NF != "@0" && !($NF in told) { n++ } END { print n + 0 }' out)" 0
	grep -q '^@.*/fixture_a+0x[0-9a-f]*$' out || bad 'no frame of the program'
	grep -q '^%[0-9]*	[0-9a-f]*	[0-9a-f]*	.*/fixture_a$' out || bad 'no line of its file'
	expect_same 'lines of calls' "$(grep -c '^[0-9]' out)" 10
	run "$mprof" dump --stacks --files --json-lines log
	expect_same 'told too late in JSON' "$(jq -s '[foreach .[] as $l ({};
		if $l.define then .[$l.define | tostring] = true else . end;
		select($l.stack > 0 and (has($l.stack | tostring) | not)))] | length' out)" 0
	expect_same 'file of the program' "$(jq -r 'select(.build_id and (.path |
		endswith("/fixture_a"))).process' out)" 1
}

# A reader that closes the pipe is not an error, and the rest of the trace is not read.
test_dump_into_head() {
	record "$build/preload/threads" 10 5000
	{
		"$mprof" dump log
		echo "${PIPESTATUS[0]}" >status
	} 2>err | head -3 >out
	expect_lines out 3
	expect_same 'what it said' "$(cat err)" ''
}

test_report_bad_files() {
	record "$build/preload/fixture_a"
	cp log good
	head -c "$(($(stat -c %s good) - 200))" good >cut
	printf 'no trace' >text
	: >empty
	for file in text empty missing .; do
		run "$mprof" report "$file"
		expect_status 3
		expect_one_line_error
		run "$mprof" dump "$file"
		expect_status 3
	done
	run "$mprof" report cut
	expect_status 0
	expect_text out "What is missing from this trace"
	for file in "$mprof" "$here/run"; do
		run "$mprof" report "$file"
		expect_status 3
		expect_text err "'$file' is a program or a library, not a recording of one; to make one: mprof record -- PROGRAM"
	done
	run "$mprof" report good more
	expect_status 2
	head -c 1200 good >head # no event of it
	run "$mprof" report head
	expect_status 0
	expect_text out 'No allocation can be read.'
}

# One line names the file and the reason; nothing remains.
test_output_to_a_full_disk() {
	local command
	record "$build/preload/fixture_a"
	ln -s /dev/full full.html
	ln -s /dev/full full.png
	for command in 'report --html full.html' 'image -o full.png' 'movie -o full.html' 'export --to folded -o full.html' \
		'compare --quick --reps 0 -a glibc -o full.html'; do
		run "$mprof" $command log
		expect_status 1
		expect_lines err 1
		expect_text err "mprof: cannot write '/dev/full': No space left on device"
	done
}

# A build has thousands of processes, of which most is the same.
test_report_html_of_many_processes() {
	"$mprof" record -q -o log -- sh -c 'i=0; while [ $i -lt 300 ]; do ls none 2>/dev/null; i=$((i + 1)); done'
	run "$mprof" report --html page.html log
	expect_status 0
	[ "$(stat -c %s page.html)" -lt 450000 ] || bad "the page has $(stat -c %s page.html) bytes"
}

test_report_html_without_heap_map() {
	record "$build/preload/fixture_a"
	run "$mprof" report --html with.html log
	expect_status 0
	expect_text with.html 'id="mprof-heap"'
	run "$mprof" report --html without.html --no-heap-map log
	expect_status 0
	expect_no_text without.html 'id="mprof-heap"'
	# Nothing else is missing.
	expect_same 'the data' "$(grep -c mprof-data without.html)" "$(grep -c mprof-data with.html)"
	run "$mprof" report --no-heap-map log
	expect_status 2
	expect_one_line_error
	expect_text err '--no-heap-map needs --html FILE'
}

# Two modes, one program, the same addresses: the lines are equal except for errno.
test_dump_is_what_logfd_said() {
	local program
	setarch -R true 2>/dev/null || return 0
	for program in fixture_a cxx api; do # from the break: mmap differs
		setarch -R env LD_PRELOAD="$build/libmprof.so" MPROF_CONF='MODE=LogFD LOG_FD=9' \
			"$build/preload/$program" 9>said >/dev/null 2>&1
		rm -f log
		setarch -R env LD_PRELOAD="$build/libmprof.so" MPROF_CONF='MODE=LogMmap LOG_PATH=log' \
			"$build/preload/$program" >/dev/null 2>&1
		[ -s said ] || bad "$program: LogFD said nothing"
		"$mprof" dump log | cut -f 4- | sed -E 's/\t[A-Z]+$//' >dumped
		expect_same "$program" "$(diff said dumped | head -5)" ''
		run "$mprof" compress log
		"$mprof" dump log | cut -f 4- | sed -E 's/\t[A-Z]+$//' >dumped
		expect_same "$program, compressed" "$(diff said dumped | head -5)" ''
	done
}

# glibc moves blocks that have mappings of their own without a copy: all moves but the first here.
test_report_moved_pages() {
	local moves
	cat >moves.c <<-'END'
		#include <stdlib.h>
		int main(void)
		{
			char *p = malloc(100000);
			int moves = 0;
			for (int i = 1; i <= 20; i++) {
				char *old = p;
				malloc(1000000);
				p = realloc(p, i * 1000000);
				moves += p != old;
			}
			return moves;
		}
	END
	compile moves
	record ./moves
	moves=$status
	[ "$moves" -gt 2 ] || bad 'nothing was in the way'
	report_json
	expect_same moves "$(json answer '.realloc | "\(.moved.grew) \(.remapped) \(.copied_bytes)"')" \
		"$moves $((moves - 1)) 100000"
	run "$mprof" report --all log
	expect_text out 'of its blocks and copied at most 100,000 bytes'
	expect_text out "Moved by mremap, without copying: $((moves - 1)) calls."
	run "$mprof" report realloc --json log
	expect_same grown "$(json out '.copied_bytes')" 100000
}

test_thread_that_goes_on_after_exec() {
	record sh -c "exec '$build/preload/threads' 7 100"
	report_json
	expect_same threads "$(json answer '.threads | length')" 8
	expect_same 'threads of the process' "$(json answer '.processes[0].threads')" 8
	expect_same events "$(json answer '([.threads[].events] | add) == .events')" true
	run "$mprof" stat --json -o answer -- sh -c "exec '$build/preload/threads' 7 100"
	expect_same 'threads counted' "$(json answer '.threads | length')" 8
	expect_same 'threads of the process' "$(json answer '.processes[0].threads')" 8
	expect_same calls "$(json answer '([.threads[].total_calls] | add) == .total_calls')" true
}

# Every figure that can also be computed from individual calls, for four real programs.
test_report_agrees_with_a_model() {
	local n
	for n in 1 2 3 4; do
		case $n in
		1) record "$build/preload/api" ;;
		2) record "$build/preload/threads" 8 500 ;;
		3) record gawk 'BEGIN { for (i = 0; i < 3000; i++) a[i % 100] = a[i % 100] i }' ;;
		4) record sort --parallel=2 "$root/LICENSE" ;;
		esac
		expect_status 0
		run "$root/tests/cli/model.py" "$mprof" log
		[ "$status" = 0 ] || bad "program $n: $(cat out err)"
	done
}

# Only its parent, a shell, learns how it ended; mprof knows only how the shell ended.
test_child_that_is_killed() {
	local shell
	for shell in sh bash; do
		command -v $shell >/dev/null || continue
		run "$mprof" record -o log -- $shell -c "$shell -c 'ls >/dev/null; kill -9 \$\$'; echo \$?; exit 3"
		expect_status 3
		expect_same 'what the shell saw' "$(cat out)" 137
		run "$mprof" report log
		expect_words out ', was killed by SIGKILL.'
		run "$mprof" report --json log
		expect_same 'how they ended' "$(json out '.processes[] | "\(.end) \(.signal // .status)"' | sort | tr '\n' ';')" \
			'exited 0;exited 3;killed 9;'
		run "$mprof" stat -- $shell -c "$shell -c 'ls >/dev/null; kill -11 \$\$'; exit 3"
		expect_text out 'signal 11'
	done
}

# Figures of ./log, and those that views print.
everything_of_log() {
	local view
	for view in '' peak-rss realloc threads; do
		"$mprof" report ${view:+"$view"} --json log | grep -v '^  "trace_bytes":'
	done
	"$mprof" report hot --json --by=size --lifetime=2us.. --size=20..5K log
	"$mprof" report leaks --json --by=thread --time=1ms..20ms --temporary=8 log
	"$mprof" export --to massif log -o -
}

# Block numbers are found in two ways, with the same results.
expect_packed_as_raw() { # WHAT
	everything_of_log >of_raw 2>/dev/null
	[ -s of_raw ] || bad "$1: no figures"
	"$mprof" report --json log | jq -S "$figures_without_time" >without_time
	cp log rounded
	run "$mprof" compress --exact log
	expect_status 0
	everything_of_log >of_packed 2>/dev/null
	expect_same "$1, compressed with exact times" "$(diff of_raw of_packed | head -5)" ''
	mv rounded log
	run "$mprof" compress log
	"$mprof" report --json log | jq -S "$figures_without_time" >rounded
	expect_same "$1, compressed" "$(diff without_time rounded | head -5)" ''
}

figures_without_time='walk(if type == "object" then with_entries(select(.key |
	test("_ns$|^under_|^trace|^lifetimes$|^findings$|over_time|command") | not)) else . end)'

test_packed_reads_as_raw() {
	local program trace
	for program in threads fork children moves maps cxx api ends thread_ends touched; do
		run "$mprof" record --no-compress --touched --free-stacks -o log -- \
			"$build/preload/$program" </dev/null
		expect_packed_as_raw "$program"
	done
	run "$mprof" record --no-compress -o log -- perl -e '
		my (%h, @a);
		for my $i (1 .. 8000) { push @{ $h{$i * 7919 % 1007} }, "x" x ($i % 40); push @a, $i }
		my $child = fork; waitpid $child, 0 if $child; # whatever outlives the first process adds calls
		print scalar(@a), scalar(keys %h); exec "/bin/sh", "-c", "ls / | sort"'
	expect_packed_as_raw perl
	# Not those that packing removes, and a process without a number.
	for trace in fork-and-exec late-threads long-records one-thread realloc-short slot-copied \
		slot-tail stacks two-threads; do
		cp "$root/tests/golden/ok/$trace.trace" log
		chmod u+w log
		expect_packed_as_raw "$trace"
	done
}
