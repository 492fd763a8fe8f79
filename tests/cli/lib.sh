# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# lib.sh - what the cases of tests/cli share.
#
# A case is a file of shell functions test_NAME.  Each runs in a directory of
# its own, that is empty, with $mprof, and passes if it returns 0 and no check
# in it failed.  Checks print what was wrong and go on.

run() { # run COMMAND...: its stdout in out, its stderr in err, its status in $status
	status=0
	"$@" >out 2>err </dev/null || status=$?
}

bad() {
	echo "    $*"
	case_failed=1
}

# Can another user run what we test?  Not if we are not root, or in a build that only root may enter.
nobody_can_run() {
	[ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups test -r "$mprof"
}

expect_status() {
	[ "$status" = "$1" ] && return
	bad "exit status $status instead of $1; stderr: $(head -c 600 err)"
}

expect_text() { # FILE TEXT: a fixed string that must be in it
	grep -qF -e "$2" "$1" || bad "'$2' is missing in $1: $(head -c 600 "$1")"
}

expect_words() { # FILE TEXT: as expect_text, wherever lines are broken
	tr -s ' \n' ' ' <"$1" | grep -qF -e "$2" && return
	bad "'$2' is missing in $1: $(head -c 600 "$1")"
}

page_head() { # FILE: what a report's page says of the run, as JSON
	python3 -c 'import base64, re, sys, zlib
head = re.search(r"id=.mprof-head.>([^<]*)<", open(sys.argv[1]).read())[1]
sys.stdout.buffer.write(zlib.decompress(base64.b64decode(head)))' "$1"
}

expect_no_text() {
	! grep -qF -e "$2" "$1" || bad "'$2' should not be in $1"
}

expect_same() { # WHAT FOUND WANTED
	[ "$2" = "$3" ] || bad "$1 is '$2' instead of '$3'"
}

expect_lines() { # FILE N
	expect_same "number of lines of $1" "$(wc -l <"$1")" "$2"
}

expect_one_line_error() {
	expect_lines err 1
	grep -qE '^mprof( [a-z]+)?: ' err || bad "not a line of mprof: $(head -c 600 err)"
}

json() { # FILE FILTER
	jq -r "$2" "$1" 2>&1
}

# Every field of the JSON answers in these files is in the reference, with its type.
expect_documented() { # OBJECT FILE...
	[ -s "$top/json_rows" ] || "$build/gendoc" --json >"$top/json_rows"
	"$interpreter" -I -S "$here/json_reference.py" "$top/json_rows" "$@" >undocumented ||
		bad "${*:2}: $(head -5 undocumented)"
}

# How a program ended, according to its parent: "exit 3" or "signal 9".
how_it_ends() {
	perl -e 'my $s = system {$ARGV[0]} @ARGV; $s = $?;
		print $s & 127 ? "signal " . ($s & 127) : "exit " . ($s >> 8), "\n"' \
		"$@" 2>err </dev/null | tail -1
}

wait_for() { # COMMAND...: until it succeeds, ten minutes at most: the machine may be busy
	local end=$((SECONDS + 600))
	while ((SECONDS < end)); do
		"$@" 2>/dev/null && return
		sleep 0.02
	done
	bad "waited in vain for: $*"
}

# ./waits keeps 77 blocks of 1000 bytes, makes the file `ready`, and waits to be killed.
keeps_and_waits() {
	cat >waits.c <<'END'
#include <stdlib.h>
#include <unistd.h>
#include <fcntl.h>
static void *keep(void) { return malloc(1000); }
int main(void) { for (int i = 0; i < 77; i++) keep(); close(creat("ready", 0600)); for (;;) pause(); }
END
	cc -g -O1 -fno-inline -fno-builtin -o waits waits.c || bad 'waits.c does not compile'
}

# compile NAME [OPTION...]: compiles NAME.c to NAME without optimising any call of malloc away
compile() {
	cc -g -O0 -fno-builtin -w "${@:2}" -o "$1" "$1.c"
}

report_of() { # COMMAND...: records it to log, and reports
	"$mprof" record -o log -- "$@" 2>/dev/null
	run "$mprof" report log
}

# has_words FILE TEXT: as expect_words, but only a test
has_words() { tr -s ' \n' ' ' <"$1" | grep -qF -e "$2"; }

# again_until CHECK COMMAND...: runs COMMAND until CHECK (a text for eval) succeeds.  For what depends on
# the times of calls: a busy machine may stop a program at any time, but hardly in each of eight runs.
again_until() {
	local i
	for ((i = 0; i < 8; i++)); do
		"${@:2}"
		eval "$1" && return
	done
}

peak_rss_of() { # COMMAND...: what `report peak-rss` says of it
	run "$mprof" record -o log -- "$@"
	run "$mprof" report peak-rss log
}

# report_with TEXT COMMAND...: as report_of, until the report has TEXT
report_with() {
	wanted=$1 again_until 'has_words out "$wanted"' report_of "${@:2}"
}
