# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2016
#
# answers.sh - what stat, record, test and counts say, on programs whose calls are known.

fixture_a_calls() {
	json "$1" '[.calls.malloc, .calls.free, .calls.calloc, .calls.realloc, .calls.posix_memalign,
		.calls.aligned_alloc] | join(" ")'
}

test_stat_counts() {
	run "$mprof" stat --json -o answer -- "$build/preload/fixture_a"
	expect_status 0
	expect_same calls "$(fixture_a_calls answer)" '2 4 1 1 1 1'
	expect_same total "$(json answer .total_calls)" 10
	expect_same bytes "$(json answer '.bytes | "\(.malloc) \(.calloc) \(.realloc)"')" '155 21 300'
	expect_same failures "$(json answer .total_failed)" 0
	expect_same 'threads and processes' \
		"$(json answer '"\(.threads | length) \(.processes | length)"')" '1 1'
	expect_same 'total of the process' "$(json answer '.processes[0].total_calls')" 10
	expect_same command "$(json answer '.command[0]')" "$build/preload/fixture_a"
	expect_same types "$(json answer '[.wall_seconds, .user_seconds, .system_seconds,
		.max_rss_bytes, .minor_faults, .major_faults, .voluntary_switches,
		.involuntary_switches, .calls_per_second, .lost, .runs] | map(type) | unique[]')" number
	[ "$(json answer '.max_rss_bytes > 500000')" = true ] || bad 'max_rss_bytes is too small'
}

test_stat_text() {
	run "$mprof" stat -o answer -- "$build/preload/fixture_a"
	expect_no_text out 'Calls to the allocator'
	expect_text answer 'exit status 0'
	grep -Eq '^  malloc  +2  +155  +0 ' answer || bad "no row of malloc: $(cat answer)"
	grep -Eq '^  Total  +10 ' answer || bad 'no row of totals'
	grep -Eq 'peak resident set' answer || bad 'no memory'
	run "$mprof" stat -- "$build/preload/fixture_a"
	expect_text out 'Calls to the allocator'
}

test_stat_threads() {
	local n
	for n in 100 110; do
		run "$mprof" stat --json -o answer -- "$build/preload/threads" "$n" 1000
		expect_status 0
		expect_same 'threads that worked' \
			"$(json answer '[.threads[] | select(.calls.malloc >= 1000)] | length')" "$n"
		expect_same 'sum over the threads' \
			"$(json answer '[.threads[].total_calls] | add == '"$(json answer .total_calls)")" true
	done
	run "$mprof" stat -o answer -- "$build/preload/threads" 30 10
	expect_text answer 'and 21 more threads'
	run "$mprof" stat --all -o answer -- "$build/preload/threads" 30 10
	expect_no_text answer 'more threads'
}

test_stat_repeats() {
	run "$mprof" stat -r 3 -o answer -- sh -c 'echo run >>runs'
	expect_status 0
	expect_lines runs 3
	expect_text answer '3 runs'
	expect_text answer '+-'
	run "$mprof" stat -r 3 --json -o answer -- sh -c 'echo >>grows; perl -e "\$x = q(x) x (1e6 * \$ARGV[0])" $(wc -l <grows)'
	expect_same 'mean bytes' "$(jq '.total_bytes - ([.bytes[]] | add) | fabs < 20' answer)" true
	expect_same runs "$(json answer .runs)" 3
	expect_same spread "$(json answer '.spread_percent.wall_seconds | type')" number
	run "$mprof" stat -r 5 -o answer -- sh -c 'echo run >>failing; exit 4'
	expect_status 4
	expect_lines failing 5
	expect_text answer "'sh -c echo run >>failing; exit 4', exit status 4 (5 runs)"
	run "$mprof" stat -r 4 -o answer -- sh -c 'echo >>fails; case $(wc -l <fails) in [23]) exit 5;; esac'
	expect_status 5
	expect_text answer ', exit status 5 in 2 of 4 runs'
	run "$mprof" stat -r 3 --json -o answer -- sh -c 'echo >>dies; case $(wc -l <dies) in 1) exit 0;; esac; kill -9 $$'
	expect_same json "$(json answer '"\(.runs) \(.status) \(.signal) \(.ended_so)"')" '3 137 9 2'
	run "$mprof" stat -r 0 -- true
	expect_status 2
	run "$mprof" stat -r x -- true
	expect_status 2
}

test_stat_leaves_nothing_behind() {
	mkdir tmp
	run env TMPDIR="$PWD/tmp" "$mprof" stat -- true
	expect_status 0
	expect_same 'left files' "$(ls tmp)" ''
	run env TMPDIR=/no/such "$mprof" stat -- touch started
	[ "$status" != 0 ] || bad 'no room for counts, and no word of it'
	[ ! -e started ] || bad 'the program was started'
	run env TMPDIR=/no/such "$mprof" stat -c here -- true
	expect_status 0
	[ -s here ] || bad '-c keeps nothing'
}

test_counts_shown() {
	run "$mprof"
	expect_status 0
	expect_text out 'Start with one of these:'
	run "$mprof" -m Count -- "$build/preload/fixture_a"
	expect_status 0
	[ -s mprof.counts ] || bad 'no counts file'
	run "$mprof"
	expect_status 0
	expect_text out mprof.counts
	expect_text out posix_memalign
	expect_text out 'thread 1'
	expect_text out Total
	run "$mprof" counts --json
	expect_same calls "$(fixture_a_calls out)" '2 4 1 1 1 1'
	cp mprof.counts mprof.counts.2
	run "$mprof"
	expect_text out mprof.counts.2
	mv mprof.counts.2 other
	run "$mprof" -c other
	expect_status 0
	expect_text out other
	expect_same 'files shown' "$(grep -c '^all$' out)" 1
	expect_same 'bytes and failures' "$(awk '$1 == "posix_memalign" && NF == 4 { print $2, $3, $4 }' out)" '1 640 0'
	run "$mprof" counts other mprof.counts
	expect_status 0
	expect_same 'files shown of two' "$(grep -c '^all$' out) $(grep -xc -e other -e mprof.counts out)" '2 2'
	run "$mprof" counts --json other mprof.counts
	expect_same 'objects of two' "$(json out .file | tr '\n' ' ')" 'other mprof.counts '
	run "$mprof" counts nothing other
	expect_status 3
	expect_text out other
	run "$mprof" -m DUMP -c other
	expect_text out other
	run "$mprof" -c nothing
	expect_status 3
	expect_text err nothing
	echo text >mprof.counts
	run "$mprof"
	expect_status 3
	expect_text err mprof.counts
}

test_counts_of_a_run_that_goes_on() {
	"$mprof" -m Count -- perl -e 'my @a = map { "x" x $_ } 1 .. 1000; open F, ">ready"; close F;
		while (!-e "stop") { select undef, undef, undef, 0.02 }' 2>err &
	wait_for test -e ready
	run "$mprof" counts --json
	expect_status 0
	[ "$(json out .calls.malloc)" -ge 1000 ] || bad "only $(json out .calls.malloc) calls"
	expect_same ended "$(json out '.processes[0].ended')" 'still running'
	: >stop
	wait $!
	run "$mprof" counts --json
	expect_same ended "$(json out '.processes[0].ended')" 'status 0'
}

test_counts_survive_sigkill() {
	run "$mprof" -m Count -- perl -e 'my @a = map { "x" x $_ } 1 .. 1000; kill 9, $$'
	expect_status 137
	run "$mprof" counts --json
	[ "$(json out .calls.malloc)" -ge 1000 ] || bad "only $(json out .calls.malloc) calls"
	expect_text out 'signal 9'
}

test_record_and_look() {
	run "$mprof" record -o log -- "$build/preload/fixture_a"
	expect_status 0
	expect_text err '10 calls of 1 thread and 1 process, 0 lost'
	expect_text err "next: mprof report log"
	run "$mprof" report --json log
	expect_same calls "$(fixture_a_calls out)" '2 4 1 1 1 1'
	run "$mprof" dump log
	grep -q malloc out || bad 'dump shows no malloc'
	run "$mprof" -l log
	expect_status 0
	cp out by_option
	run "$mprof" report log
	expect_same 'report of -l' "$(cat by_option)" "$(cat out)"
}

test_record_loses_nothing_with_small_buffers() {
	run "$mprof" record --log-qty 1 --cache-qty 1 -o log -- "$build/preload/threads" 4 50000
	expect_status 0
	run "$mprof" report --json log
	expect_same lost "$(json out .lost)" 0
	[ "$(json out .calls.malloc)" -ge 200000 ] || bad "only $(json out .calls.malloc) mallocs"
}

test_record_compresses() {
	run "$mprof" record --no-compress -o plain -- "$build/preload/threads" 2 20000
	run "$mprof" record -o small -- "$build/preload/threads" 2 20000
	[ $(($(stat -c %s small) * 2)) -lt "$(stat -c %s plain)" ] ||
		bad "$(stat -c %s small) bytes compressed, $(stat -c %s plain) plain"
	run "$mprof" report --json plain
	json out 'del(.trace, .trace_bytes)' >before
	cp plain rounded
	run "$mprof" compress --exact plain
	expect_status 0
	expect_text err "compressed 'plain' from "
	run "$mprof" report --json plain
	expect_same 'report of the compressed trace' "$(json out 'del(.trace, .trace_bytes)')" \
		"$(cat before)"
	# Times are accurate to 1 us, and everything else is unchanged.
	"$mprof" dump --marks rounded >dumped
	run "$mprof" compress rounded
	# In a trace this small, rounding may save nothing, but must not cost much.
	[ $(($(stat -c %s rounded) * 2)) -le $(($(stat -c %s plain) * 3)) ] ||
		bad "$(stat -c %s rounded) bytes rounded, $(stat -c %s plain) exact"
	"$mprof" dump --marks rounded >out
	expect_same 'the same calls in the same order' "$(cut -f 2- out | md5sum)" \
		"$(cut -f 2- dumped | md5sum)"
	expect_same 'times wrong by more than 1.01 us' "$(paste out dumped | awk -F '\t' '
		function ns(s) { split(s, part, "."); return part[1] % 1000 * 1e9 + part[2] }
		{ for (i = 2; i <= NF; i++) if ($i ~ /^[0-9]+\.[0-9]+$/) d = ns($1) - ns($i)
		  if (d > 1010 || d < -1010) n++ } END { print n + 0 }')" 0
	cp plain again
	run "$mprof" compress plain
	expect_status 0
	expect_text err 'already compressed'
	cmp -s plain again || bad 'a compressed trace was changed'
	echo text >text
	run "$mprof" compress text nothing
	expect_status 3
	expect_lines err 2
	expect_same 'the text' "$(cat text)" text
	run "$mprof" compress --level 99 plain
	expect_status 2
}

test_an_interrupted_compression_keeps_the_trace() {
	local signal
	run "$mprof" record --no-compress -o log -- "$build/preload/threads" 4 1500000
	cp log before
	for signal in TERM KILL; do
		# Until it writes the new file, which has no name where the file system allows that.
		run sh -c '
			"$0" compress --level 19 log & pid=$!
			i=0
			while [ $i -lt 500 ] && ! ls log.?????? >/dev/null 2>&1 &&
				! readlink /proc/$pid/fd/* | grep -q "/#.*(deleted)"; do sleep 0.01; i=$((i + 1)); done
			kill -$1 $pid
			wait $pid' "$mprof" $signal
		expect_status "$([ $signal = TERM ] && echo 143 || echo 137)"
		cmp -s log before || bad "$signal: the trace was changed"
		if [ $signal = TERM ]; then
			expect_text err 'was interrupted; the file is unchanged'
		elif ! python3 -c 'import os; os.open(".", os.O_TMPFILE | os.O_RDWR)' 2>/dev/null; then
			rm -f log.??????
		fi
		expect_same "$signal: files left" "$(ls log*)" log
	done
	run "$mprof" compress --best log
	expect_status 0
	[ $(($(stat -c %s log) * 2)) -lt "$(stat -c %s before)" ] || bad 'not compressed'
}

# As on a file system where a file without a name cannot get one.
test_outputs_without_links() {
	local file
	cat >links.c <<'END'
#include <errno.h>
int linkat(int a, const char *b, int c, const char *d, int e) { return errno = EPERM, -1; }
END
	cc -shared -fPIC -w -o links.so links.c || bad 'links.c does not compile'
	run "$mprof" record --no-compress -o log -- ls
	cp log other
	"$mprof" compress log 2>err
	"$mprof" export --to sqlite -o base log 2>err
	"$mprof" sort -o log.rep log >/dev/null 2>err
	mkdir linked
	mv log base log.rep linked
	mv other log
	for file in log base log.rep; do
		case $file in
		log) LD_PRELOAD=$PWD/links.so run "$mprof" compress log ;;
		base) LD_PRELOAD=$PWD/links.so run "$mprof" export --to sqlite -o base log ;;
		log.rep) LD_PRELOAD=$PWD/links.so run "$mprof" sort -o log.rep log ;;
		esac
		expect_status 0
		cmp "$file" "linked/$file" || bad "$file is another one"
		expect_same "mode of $file" "$(stat -c %a "$file")" "$(stat -c %a "linked/$file")"
	done
	expect_same 'files left' "$(ls -d log* base*)" "$(printf 'base\nlog\nlog.rep')"
}

test_memory_is_watched_from_outside() {
	local program='my @a = map { "x" x 100000 } 1 .. 300; select undef, undef, undef, 0.3'
	watched() { [ "$("$mprof" report --json log | jq '.compactness.physical != null')" = true ]; }
	again_until watched run "$mprof" record -o log -- perl -e "$program"
	watched || bad 'no compactness.physical'
	run "$mprof" record --no-sample -o log -- perl -e "$program"
	run "$mprof" report --json log
	[ "$(json out '.compactness.physical == null')" = true ] || bad 'watched with --no-sample'
}

test_shell_line_in_one_go() {
	cp "$root/Makefile" .
	run "$mprof" -t 'cat Makefile' -c my.counts -l my.log
	expect_status 0
	expect_text out 'Compactness'
	expect_text out 'High Water'
	[ -s my.counts ] || bad 'no counts file'
	[ -s my.log ] || bad 'no trace'
	grep -c '^VERSION := ' out >n
	expect_same 'times that the command ran' "$(cat n)" 2
	run "$mprof" -c my.counts
	expect_status 0
	run "$mprof" -t 'cat Makefile' more
	expect_status 2
	run "$mprof" -t 'cat Makefile' -m Count
	expect_status 2
}

test_process_tree_in_one_go() {
	echo 'int main(void) { return 0; }' >x.c
	run "$mprof" -t "sh -c 'gcc -O1 -c x.c && ls | sort | head -3'" -l log
	expect_status 0
	[ -s x.o ] || bad 'nothing was compiled'
	run "$mprof" report --json log
	for program in cc1 as ls sort head; do
		json out '.processes[] | tostring' | grep -q "[-/\" ]$program[\" ]" ||
			bad "$program is not among the processes"
	done
	expect_same lost "$(json out .lost)" 0
	expect_same problems "$(json out '.problems | "\(.double_allocations) \(.unmatched_frees) \(.inversions)"')" \
		'0 0 0'
}

test_two_runs_are_told() {
	run "$mprof" -t 'ls /'
	expect_status 0
	expect_same 'the runs' "$(grep -o 'run [12] of 2: [a-z ]*' err | tr '\n' ';')" \
		'run 1 of 2: counting calls;run 2 of 2: recording every call;'
	expect_no_text out 'two runs differ'
	run "$mprof" test -- no-such-program x
	expect_one_line_error
}

test_runs_that_differ() {
	local line='if [ -e was ]; then exit 3; fi; : >was; ls / >list; cat list list list'
	run "$mprof" -t "$line"
	expect_status 3
	expect_text err 'ended with status 0 when it was counted'
	# Lines above it are the command's.
	sed -n '/^The two runs differ: run 1/,/^  It exited with status 3/p' out >first
	expect_lines first 8
	expect_words first 'in 3 processes, run 2 made'
	expect_words first 'in 1 process. This report'
	expect_words first "record one run: mprof record -- sh -c \\ '$line'"
	# Like make: the second run has nothing to do.
	printf 'x.o: x.c\n\tgcc -c x.c\n' >Makefile
	echo 'int main(void) { return 0; }' >x.c
	run "$mprof" -t make -l make.log
	expect_text out 'The two runs differ: run 1 made'
	expect_same 'the remedy' "$(sed -n 's/^      \(mprof record\)/\1/p' out)" 'mprof record -- make'
	rm x.o
	run "$mprof" test -l make.log -- make -s "X=it's"
	expect_text out "mprof record -- make -s 'X=it'\\''s'"
	# The same number of calls in the same number of processes, with other sizes.
	run "$mprof" test -l perl.log -- perl -e 'my $n = -e "again" ? 1 : 1000; open F, ">again";
		my @a = map { "x" x (300 * $n) } 1 .. 100'
	expect_same 'the first words about bytes' "$(head -1 out | cut -d: -f1)" 'The two runs differ'
	expect_text out 'mprof record -- perl -e '
	run "$mprof" -t true -l true.log
	expect_no_text out differ
	expect_no_text err 'when it was'
}

# A letter means the same option in every command.
test_letters_of_options() {
	"$mprof" help --rows | awk -F'\t' '$1 == "O" && $2 != "" && $2 != "-" {
		if (seen[$2] && seen[$2] != $3) print "-" $2 " is --" $3 " and --" seen[$2]
		seen[$2] = $3 }' >two
	[ ! -s two ] || bad "$(cat two)"
	run "$mprof" report -h
	expect_status 0
	run "$mprof" record -a nonsense -- true
	expect_status 2
}

# A mistyped word lists the valid ones; the shells complete them.
test_words_of_options() {
	local case
	for case in 'leaks log|did you mean .report leaks' '/bin/true|did you mean .record -- /bin/true' 'seq 3|did you mean .record -- seq' \
		'html|did you mean .report --html' \
		'report nonsense log|invalid view' 'report hot --sort foreign log|expected calls, total' \
		'image --layout hilber log|hilbert, time; did you mean' 'replay --touch pages log|none, first, page' \
		'image --by sizes log|did you mean .size' 'diff --by modul a b|did you mean .module' \
		'export --to flded log|did you mean .folded' 'dump --function mallok log|did you mean .malloc' \
		'report --names shrt log|expected short, full, raw' 'check --max-peak 1x log|expected SIZE or FUNCTION=SIZE, such as 64K' 'replay --mode seriel log|auto, serial'; do
		run "$mprof" ${case%|*}
		expect_status 2
		grep -q "${case#*|}" err || bad "${case%|*} says: $(head -1 err)"
	done
}

test_allocators() {
	local name
	for name in glibc jemalloc mimalloc tcmalloc tbb; do
		"$mprof" doctor --json | grep -q "$name is not installed" && continue
		run "$mprof" stat --allocator "$name" --json -o answer -- "$build/preload/fixture_a"
		expect_status 0
		# libstdc++ of GCC 14 requests a block when it ends, TBB of Ubuntu frees two.
		expect_same "calls on $name" "$(fixture_a_calls answer | case $name in
			glibc) cat ;; tbb) sed 's/^3 /2 /; s/^2 6 /2 4 /' ;; *) sed 's/^3 /2 /' ;; esac)" '2 4 1 1 1 1'
		run "$mprof" record --allocator "$name" -o log -- "$build/preload/fixture_a"
		expect_status 0
		# Space for the allocator's thread-local variables must fit even the smallest
		# stacks.
		run "$mprof" record --allocator "$name" -o log -- "$build/preload/threads" 4 100 tiny
		expect_status 0
		[ "$name" = glibc ] && continue
		run "$mprof" report log
		expect_text out "$name"
	done
	run "$mprof" record --allocator jemaloc -o log -- touch started
	expect_status 2
	expect_one_line_error
	expect_text err glibc
	echo text >allocator.so
	run "$mprof" record --allocator ./allocator.so -o log -- touch started
	expect_status 2
	run "$mprof" record --allocator /no/such.so -o log -- touch started
	expect_status 2
	[ ! -e started ] || bad 'the program was started'
}

# Loaded late, an allocator that uses libstdc++ may free blocks that libstdc++ got from another one.
test_allocator_in_cxx_is_preloaded() {
	local file
	for file in c cxx; do
		cc -O1 -shared -fPIC -o $file.so "$here/../preload/lib/tiny_alloc.c" -Wl,--no-as-needed $([ $file = c ] || echo -lstdc++) ||
			bad 'the allocator does not compile'
		# shellcheck disable=SC2016
		MPROF_CONF=INIT=SO_LOAD run "$mprof" record --allocator ./$file.so -o log -- sh -c 'echo ":$LD_PRELOAD:"'
		expect_status 0
		expect_same "$file.so is preloaded" "$(grep -c "/$file.so:" out)" "$([ $file = c ] && echo 0 || echo 1)"
		run "$mprof" report log
		expect_text out "/$file.so"
		# It has no malloc_usable_size.
		expect_no_text out 'rounding added'
	done
	# By its file name, as in LD_PRELOAD.
	LD_LIBRARY_PATH=$PWD run "$mprof" record --allocator c.so -o log -- "$build/preload/fixture_a"
	expect_status 0
	run "$mprof" report log
	expect_text out "/c.so"
}

test_modes_by_hand() {
	run "$mprof" -m Null -- "$build/preload/fixture_a"
	expect_status 0
	expect_lines err 0
	expect_same 'files left' "$(ls | sort | tr '\n' ' ')" 'err out '
	MPROF_CONF='LOG_FD=9' "$mprof" -m LogFD -- "$build/preload/fixture_a" 9>calls >out 2>err
	expect_lines calls 10
	expect_text calls "$(printf 'malloc\t100\t')"
	run "$mprof" -m LogMmap -- "$build/preload/fixture_a"
	expect_status 0
	[ -s mprof.log ] || bad 'no trace'
	run "$mprof" -m "$build/skeleton.so" -- "$build/preload/fixture_a"
	expect_status 0
}

# A program that is killed by it, and one that ends in its own way, like make.
test_interrupted_when_counted() {
	local program
	for program in 'echo run >>runs; exec sleep 20' 'trap "exit 2" INT; echo run >>runs; sleep 20 & wait; exit 2'; do
		perl -e 'setpgrp; $SIG{INT} = "DEFAULT"; exec @ARGV' "$mprof" -t "$program" >out 2>err &
		wait_for test -s runs
		kill -INT -$!
		status=0
		wait $! || status=$?
		case $program in trap*) expect_status 2 ;; *) expect_status 130 ;; esac
		expect_lines runs 1
		expect_text err 'interrupted'
		expect_text out 'malloc'
		expect_text out 'Total'
		[ ! -e mprof.log ] || bad 'it was recorded all the same'
		rm runs
	done
}

test_not_run_again_for_nothing() {
	run "$mprof" -t ' '
	expect_status 2
	expect_one_line_error
	run "$mprof" -t no-such-command
	expect_status 127
	expect_text err 'the shell did not find the command'
	expect_same 'times that the shell said so' "$(grep -c 'no-such-command' err)" 1
	rm -f mprof.counts
	echo 'int puts(const char *); int main(void) { return puts("once") < 0; }' >static.c
	"${CC:-cc}" -static -o static static.c || return
	run "$mprof" test -- ./static x
	expect_status 0
	expect_lines out 1
	expect_text err 'the second run is skipped'
}

test_export_without_descriptors() {
	local n
	run "$mprof" record -o log -- true
	for n in 5 6 7 8 9 10 11 12; do
		run sh -c 'ulimit -n '$n'; exec "$0" export --to folded -o x.folded log' "$mprof"
		expect_no_text err 'Bad file descriptor'
	done
	expect_status 0
}
