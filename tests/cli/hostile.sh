# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# hostile.sh - malicious files: what they may cost and print.

# make_trace FILE CALLS: (function, (four values)), ... in Python; B is an address.
make_trace() {
	PYTHONPATH=$root/tests python3 -c '
import sys
from traces import *
B = 0x7f0000000000
make(sys.argv[1], eval(sys.argv[2]))' "$1" "$2" || bad "no trace"
}

# The largest possible figures: every picture is finished.
test_hostile_image_of_the_largest_blocks() {
	local how
	make_trace log '[(MALLOC, (B, 1 << 61, 1 << 61, 0)),
		(MALLOC, (B + (1 << 62), 1 << 63, 1 << 63, 0)), (FREE, (B, 0, 0, 0))]'
	for how in '' '--layout=hilbert --by=site' --layout=time; do
		# shellcheck disable=SC2086
		run timeout 600 "$mprof" image $how -o x.png log
		expect_status 0
		expect_text err 'wrote x.png'
	done
}

# Files of some kilobytes that claim terabytes: no command takes 2 GB for them.
test_hostile_sizes_take_no_memory() {
	local command
	make_trace log '[(MALLOC, (B + (i << 36), 1 << 40, 1 << 40, 0)) for i in range(12)]'
	for command in report 'report peak' dump 'image -o x.png' 'movie -o x.html' sort \
		'image --layout=hilbert --by=site -o x.png' 'export --to=folded' compress; do
		# shellcheck disable=SC2086
		run timeout 600 bash -c 'ulimit -v 1900000; "$@"' bash "$mprof" $command log
		[ "$status" = 0 ] || [ "$status" = 1 ] || bad "$command: status $status: $(cat err)"
		[ "$status" = 0 ] || expect_text err ' within 1.0 GiB; --memory SIZE allows more'
	done
}

test_hostile_number_of_threads() {
	make_trace log '[(MALLOC, (B, 100, 100, 0))]'
	printf '\377\377\377\377' | dd of=log bs=1 seek=92 conv=notrunc status=none # header.threads
	run "$mprof" movie --memory=64M -o x.html log
	expect_status 0
	run "$mprof" report --html y.html log
	expect_status 0
}

test_hostile_memory_option() {
	make_trace log '[(MALLOC, (B + (i << 36), 1 << 34, 1 << 34, 0)) for i in range(4)]'
	run "$mprof" report --memory 1 log
	expect_status 2
	expect_text err "invalid --memory '1': expected a size of at least 64M"
	run "$mprof" image --memory=64M --json -o x.png log
	expect_status 0
	run "$mprof" movie --memory=64M -o x.html log
	[ "$status" = 0 ] || expect_text err ' within 0.1 GiB; --memory SIZE allows more'
}

# A replay refuses to touch much memory without --memory; memory that it does not touch has no limit.
test_hostile_replay_of_gigabytes() {
	make_trace log '[(MALLOC, (B, 2400 << 20, 2400 << 20, 0)), (FREE, (B, 0, 0, 0))]'
	run "$mprof" replay --quick --allocator glibc log
	expect_status 1
	expect_one_line_error
	expect_text err 'up to 2.3 GiB were live, and '
	expect_text err ' are free here: --memory 3G allows it; '
	run "$mprof" replay --quick --reps 1 --drain 0.1 --touch none --allocator glibc log
	expect_status 0
	run "$mprof" image --allocator glibc -o x.png log
	expect_status 1
	expect_text err '--memory 3G allows it'
}

# The same for a trace that records how much was touched: all of it, or a little.
test_hostile_replay_of_touched_gigabytes() {
	local bytes
	for bytes in '2400 << 20' 4096; do
		make_trace log "[(MALLOC, (B, 2400 << 20, 2400 << 20, 0)), ('TOUCHED', $bytes),
			(FREE, (B, 0, 0, 0))]"
		run "$mprof" replay --quick --reps 1 --drain 0.1 --allocator glibc log
		if [ "$bytes" = 4096 ]; then
			expect_status 0
		else
			expect_status 1
			expect_text err '--memory 3G allows it'
		fi
	done
}

# A FIFO in place of a file is not waited for.
test_hostile_fifos() {
	local command
	mkfifo log
	for command in report dump 'export --to=folded' sort 'replay --quick' 'image -o x.png' \
		'movie -o x.html' 'check --max-peak=1' compress counts 'diff log' compare; do
		# shellcheck disable=SC2086
		run timeout 600 "$mprof" $command log
		[ "$status" != 124 ] || bad "$command waits"
		[ "$status" = 3 ] || bad "$command: status $status: $(cat err)"
		expect_text err 'is not a regular file'
	done
}

# Objects and arguments in a trace may have any name: no output controls the terminal or makes a
# spreadsheet calculate.
test_hostile_names() {
	local name format
	name='=1+1\x1b]0;title\x07\xff\xc2\x9b31m\r\x7f'
	PYTHONPATH=$root/tests python3 -c "
from traces import *
B = 0x7f0000000000
name = b'$name'
exe = name.decode(errors='surrogateescape')
make('log', [(MALLOC, (B + 64 * i, 40, 40, 0)) for i in range(20)],
     ('exe=/' + exe, 'arg=' + exe, 'arg=x', 'cwd=/', 'host=' + exe),
     object_record(b'/tmp/' + name) + stack_record(1, [0x400123, 0x400456]))" || bad "no trace"
	"$mprof" sort -o "$(printf 'a\033[31m\377.play')" log >sorted 2>&1
	"$mprof" sort --check "$(printf 'a\033[31m\377.play')" >checked 2>&1
	clean sorted checked
	expect_text checked '\x1b[31m\xff.play'
	for name in report 'report --all' 'report peak' 'report leaks' 'report top-down' dump counts \
		'dump --stacks' 'check --max-peak=1' 'diff log' 'report --json' 'sort --json -o x.play'; do
		# shellcheck disable=SC2086
		"$mprof" $name log >said 2>&1
		clean said
	done
	for format in folded speedscope callgrind mallocprofiler massif heaptrack csv tsv dot txt \
		chrome jsonl; do
		"$mprof" export --to "$format" -o "said.$format" log 2>err || bad "$format: $(cat err)"
		clean "said.$format"
	done
	! grep -qE '(^|,)"?=' said.csv || bad "csv: $(grep -E '(^|,)"?=' said.csv)"
	expect_text said.csv "'=1+1"
	! grep -qE "(^|	)=" said.tsv || bad "tsv: $(cat said.tsv)"
}

clean() { # FILE...
	PYTHONPATH=$root/tests python3 -c '
import sys
from traces import unclean
for path in sys.argv[1:]:
    wrong = unclean(open(path, "rb").read())
    if wrong:
        print(f"{path}: {wrong}")' "$@" >unclean
	[ -s unclean ] || return
	bad "${name-} $(cat unclean)"
}

# Every command says that a file is damaged, also if it reads the events again after it found that.
test_hostile_damage_is_told() {
	local command
	cat >many.c <<'END'
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
	static void *block[200000];

	for (int i = 0; i < 200000; i++)
		block[i] = malloc(200);
	for (int i = 0; i < 200000; i++)
		if (i % 100)
			free(block[i]);
	usleep(400000);
}
END
	cc -g -O1 -fno-builtin -o many many.c || bad 'many.c does not compile'
	run "$mprof" record -o sound -- ./many
	expect_status 0
	cp sound log
	printf 'damage' | dd of=log bs=1 seek=$(($(stat -c %s log) / 4)) conv=notrunc status=none
	run "$mprof" report sound
	expect_text out 'Freed memory stays resident' # this takes another reading
	for command in report 'report --all'; do
		run "$mprof" $command log
		expect_text out 'The trace is damaged, first at byte '
		expect_text out '1 part fails its checksum'
	done
	run "$mprof" report --json log
	expect_same 'bad parts' "$(json out .damage.chunks_bad)" 1
	run "$mprof" report peak log
	expect_text err "parts of 'log' are missing"
	for command in dump 'export --to folded' 'check --max-leaked 1M' 'diff log' 'image -o x.png' \
		'movie -o x.html'; do
		# shellcheck disable=SC2086
		run timeout 600 "$mprof" $command log
		expect_text err "'log' is damaged: its unreadable parts are not "
	done
	run "$mprof" record --no-compress -o raw -- ./many
	expect_status 0
	# Frees are missing, so blocks only seem to be leaked.
	yes damage | head -c 300000 |
		dd of=raw bs=1000 seek=$(($(stat -c %s raw) / 4000 * 3)) conv=notrunc status=none
	run "$mprof" report raw
	tr -s ' \n' ' ' <out >joined
	grep -q 'Never freed, as far as this trace shows: ' joined || bad "$(cat out)"
	grep -q ' never frees .*; as far as this trace shows)' joined || bad "$(cat out)"
	run "$mprof" report --html x.html log
	grep -q 'the trace is damaged, so figures are too low' x.html || bad 'the page does not say it'
}
