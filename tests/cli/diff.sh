# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2016
#
# diff.sh - compares traces of two builds, and traces with limits.

# The second build: two lines further down; a static function is renamed; half as many rows more;
# one leak less and one more.
sheet_source() { # NAME ROWS FREED EXTRA LINES
	[ -z "$5" ] || printf '%s\n\n' "$5"
	cat <<END
#include <stdlib.h>
#include <string.h>
static char *keep[256];
static int rows;
static char *$1(int i)
{
	char *p = malloc(100 + i % 7);
	memset(p, 1, 100);
	return p;
}
static void load(int n)
{
	for (int i = 0; i < n; i++)
		keep[rows++] = $1(i);
}
static void scratch(void)
{
	for (int i = 0; i < 1000; i++)
		free(malloc(64));
}
static void *lost(int n)
{
	return n ? malloc(n) : NULL;
}
int main(void)
{
	load($2);
	scratch();
	for (int i = 0; i < $3; i++)
		free(keep[i]);
	return lost($4) != NULL && 0;
}
END
}

sheet() { # DIRECTORY NAME ROWS FREED EXTRA LINES [CFLAGS...]: DIRECTORY/sheet and DIRECTORY.log
	local dir=$1
	mkdir -p "$dir"
	sheet_source "$2" "$3" "$4" "$5" "$6" >"$dir/sheet.c"
	shift 6
	(cd "$dir" && cc -g -fno-builtin -fno-inline "$@" -o sheet sheet.c) || bad 'sheet.c does not compile'
	run "$mprof" record -o "$dir.log" -- "$dir/sheet"
	expect_status 0
}

two_builds() {
	sheet old parse_row 100 90 0 '' -O0 -no-pie
	sheet new parse_line 150 150 4096 '/* moved */' -O1 -pie
}

differ() { # OPTIONS...: JSON of the comparison in answer
	run "$mprof" diff --json "$@" old.log new.log
	expect_status 0
	cp out answer
}

diff_rows() {
	json answer '[.rows[] | "\(.change) \(.function) \(.difference)"] | join(", ")'
}

# 100 + i % 7, i below n.
sum_of_rows() {
	awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) s += 100 + i % 7; print s }'
}

test_diff_of_two_builds() {
	local before after
	before=$(sum_of_rows 100) after=$(sum_of_rows 150)
	two_builds
	differ --value total
	expect_same rows "$(diff_rows)" "grown parse_line $((after - before)), added lost 4096"
	expect_same renamed "$(json answer '.renamed[] | "\(.function_before) \(.function_after)"')" 'parse_row parse_line'
	expect_same counts "$(json answer '.changes | "\(.added) \(.removed) \(.grown) \(.shrunk) \(.same)"')" '1 0 1 0 1'
	expect_same before "$(json answer '.total_before | "\(.calls) \(.total)"')" "1100 $((before + 64000))"
	expect_same after "$(json answer '.total_after | "\(.calls) \(.total) \(.leaked)"')" "1151 $((after + 64000 + 4096)) 4096"
	differ --value leaked --by stack
	expect_same leaks "$(diff_rows)" "added lost 4096, removed parse_line -$((before - $(sum_of_rows 90)))"
	expect_same stack "$(json answer '.rows[0].stack | join(" ")')" 'main lost'
	differ --value total --no-renames
	expect_same 'by name alone' "$(diff_rows)" "added parse_line $after, removed parse_row -$before, added lost 4096"
	differ --value calls --by module
	expect_same module "$(json answer '.rows[] | "\(.function) \(.module) \(.difference)"')" 'null sheet 51'
	run "$mprof" diff --by file old.log new.log
	expect_words out 'because of sheet.c.'
	differ --value total --by line
	expect_same 'by line' "$(diff_rows)" "grown parse_line $((after - before)), added lost 4096"
	expect_same 'lines that moved' "$(json answer '[.rows[].line] | join(" ")')" '9 25'
	differ --value total --min-change 5K
	expect_same noise "$(diff_rows)" "grown parse_line $((after - before))"
	differ --value total --min-change 60%
	expect_same 'noise in percent' "$(diff_rows)" 'added lost 4096'
}

test_diff_in_words() {
	two_builds
	run "$mprof" diff --value total old.log new.log
	expect_status 0
	expect_words out 'Total rose 12 %, mostly because of parse_line (sheet.c:9); peak rose 50 %, because of parse_line (sheet.c:9); leaked memory rose 298 %, because of lost (sheet.c:25); the number of calls rose 5 %, because of parse_line (sheet.c:9).'
	expect_text out 'From old.log to new.log:'
	grep -Eq '^  calls +1,100 +1,151 +\+51 +\+4\.6 %$' out || bad "calls: $(cat out)"
	expect_text out 'total by function: 1 added, 1 grown; 1 the same.'
	expect_text out 'Treated as renamed: parse_row (sheet.c) is now parse_line (sheet.c).'
	grep -Eq '^ +\+4\.0 KiB +0 bytes +4\.0 KiB +added +lost \(sheet\.c\)$' out || bad 'lost'
	run "$mprof" diff --markdown old.log new.log
	expect_text out '| calls | 1,100 | 1,151 | +51 | +4.6 % |'
	expect_text out '`parse_line (sheet.c)`'
	run "$mprof" diff --all old.log old.log
	expect_text out 'peak by function: 2 the same.'
	expect_same 'the verdict on no change' "$(head -1 out)" 'No figure changed by 1 % or more.'
	grep -Eq ' = *$' out || bad 'totals differ from themselves'
}

# Traces of the same 20 calls: with an argument, each block is freed after the next one is allocated.
test_diff_of_temporary_blocks() {
	cat >late.c <<'END'
#include <stdlib.h>
int main(int argc, char **argv)
{
	void *p[4];
	for (int i = 0; i < 4; i++)
		p[i] = malloc(64);
	for (int i = 0; i < 4; i++)
		free(p[i]);
	for (int i = 0; i < 8; i++) {
		p[0] = malloc(64);
		if (argc < 2)
			free(p[0]);
		p[1] = malloc(64);
		if (argc > 1)
			free(p[0]);
		free(p[1]);
	}
	return 0;
}
END
	cc -g -O0 -fno-builtin -o late late.c || bad 'late.c does not compile'
	run "$mprof" record -o old.log -- ./late
	run "$mprof" record -o new.log -- ./late x
	run "$mprof" diff old.log new.log
	expect_same verdict "$(head -2 out | tr '\n' ' ')" 'The number of temporary blocks fell from 16 to 0, because of main (late.c).  '
}

# Two functions share the change equally; then one of them moves to a library.
test_diff_names_modules() {
	echo '#include <stdlib.h>
void *part(int n) { return malloc(n); }' >part.c
	echo '#include <stdlib.h>
void *part(int n);
static void *rest(int n) { return malloc(n); }
int main(int argc, char **argv) { return argc > 1 && (!part(1000) || !rest(1000)); }' >main.c
	cc -g -O0 -fno-builtin -o all main.c part.c || bad 'part.c does not compile'
	cc -g -O0 -shared -fPIC -o libpart.so part.c || bad 'libpart.so'
	cc -g -O0 -fno-builtin -o split main.c ./libpart.so || bad 'main.c does not compile'
	run "$mprof" record -o none.log -- ./all
	run "$mprof" record -o old.log -- ./all x
	run "$mprof" record -o new.log -- ./split x
	run "$mprof" diff none.log old.log
	expect_words out ', partly because of part (part.c:2).'
	run "$mprof" diff old.log new.log
	grep -Eq ' removed  part \(part\.c\) \[all\]$' out || bad "removed: $(cat out)"
	grep -Eq ' added    part \(part\.c\) \[libpart\.so\]$' out || bad "added: $(cat out)"
	expect_no_text out 'rest'
}

test_diff_errors() {
	sheet old parse_row 5 5 0 '' -O0
	run "$mprof" diff old.log
	expect_status 2
	run "$mprof" diff old.log old.log old.log
	expect_status 2
	run "$mprof" diff old.log none.log
	expect_status 3
	expect_one_line_error
	expect_text err none.log
	run "$mprof" diff --value peek old.log old.log
	expect_status 2
	run "$mprof" diff --min-change x old.log old.log
	expect_status 2
	run "$mprof" diff --json --markdown old.log old.log
	expect_status 2
	expect_text err '--json and --markdown: choose one'
}

# ---- limits ----

held() { # OPTIONS...: of new.log
	run "$mprof" check "$@" new.log
}

# Memory that a killed program was using is not a leak; in the other trace it may be one.
test_diff_of_killed() {
	cat >killed.c <<'END'
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
static void *use(int n) { return malloc(n); }
int main(int argc, char **argv)
{
	(void)argv;
	void *p = use(50000);
	use(1000);
	if (argc > 1)
		kill(getpid(), SIGKILL);
	free(p);
	return 0;
}
END
	cc -g -O1 -fno-inline -fno-builtin -o killed killed.c || bad 'killed.c does not compile'
	run "$mprof" record -q -o ended.log -- ./killed
	run "$mprof" record -q -o killed.log -- ./killed x
	expect_status 137
	run "$mprof" diff ended.log killed.log
	expect_words out 'Memory live at the end rose to 51 times what it was, because of use (killed.c)'
	expect_words out 'What leaked in killed.log was live when the program was killed, still ran, or went on in a fork'
	run "$mprof" diff --markdown killed.log ended.log
	expect_text out 'What leaked in killed.log was live when'
	run "$mprof" diff --json ended.log killed.log
	expect_same 'diff' "$(json out '[.left_open_before, .left_open_after]' | tr -d ' \n')" '[false,true]'
	run "$mprof" diff ended.log ended.log
	grep -q 'was live when' out && bad "it was not killed: $(cat out)"
	run "$mprof" check --max-leaked 2K --baseline ended.log --no-new-leaks killed.log
	expect_status 1
	expect_same 'checks' "$(tr -s '\n ' ' ' <out | grep -o 'live when the program was killed, still ran, or went on in a fork' | wc -l)" 3
	run "$mprof" check --all --baseline killed.log ended.log
	expect_status 0
	expect_words out '; in killed.log, live when the program was killed, still ran, or went on in a fork'
	run "$mprof" check --json --max-leaked 2K ended.log
	expect_same 'check' "$(json out '.checks[0].left_open')" false
}

# The peak of a trace is that of all processes together, that of a profile of one process.
test_diff_of_trace_and_profile() {
	cat >forks.c <<'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *take(int n) { return malloc(n); }
int main(void)
{
	int to[2], out[2];
	char c;

	if (pipe(to) || pipe(out))
		return 1;
	for (int i = 0; i < 2; i++)
		if (!fork()) {
			void *p = take(100000);
			if (write(out[1], "", 1) != 1 || read(to[0], &c, 1) != 1)
				_exit(1);
			free(p);
			_exit(0);
		}
	for (int i = 0; i < 2; i++)
		if (read(out[0], &c, 1) != 1)
			return 1;
	if (write(to[1], "ab", 2) != 2)
		return 1;
	while (wait(NULL) > 0)
		;
	return 0;
}
END
	cc -g -O1 -fno-inline -fno-builtin -o forks forks.c || bad 'forks.c does not compile'
	run "$mprof" record -q -o forks.log -- ./forks
	run "$mprof" profile -q -o forks.profile -- ./forks
	run "$mprof" diff forks.log forks.profile
	expect_text out 'No figure changed by 1 % or more.'
	expect_words out 'The peaks of forks.log and forks.profile cannot be compared'
	run "$mprof" diff --json forks.log forks.profile
	expect_same 'trace and profile' "$(json out .peaks_differ)" true
	run "$mprof" export --to txt forks.profile
	expect_text out ', the largest, had 1 block'
	run "$mprof" diff --json forks.log forks.log
	expect_same 'two traces' "$(json out .peaks_differ)" false
	run "$mprof" diff --markdown forks.log forks.profile
	expect_text out 'cannot be compared'
	run "$mprof" check --baseline forks.profile forks.log
	expect_status 1
	expect_words out 'but they cannot be compared: the peak of a trace is of all processes together'
	run "$mprof" check --process 2 --max-peak 1 forks.log
	expect_status 1
	run "$mprof" check --process 2 --max-peak 100000 forks.log
	expect_status 0
	run "$mprof" check --process 2 --baseline forks.profile forks.log
	expect_status 0
	run "$mprof" diff --json --process 3 forks.log forks.profile
	expect_same 'of one process' "$(json out .peaks_differ)" false
	run "$mprof" check --process 2 --max-peak 1 forks.profile
	expect_status 1
	run "$mprof" check --process 2 --max-calls 1000000 forks.log
	expect_status 0
}

test_check_limits() {
	two_builds
	held --max-peak 1M --max-live 4096 --max-leaked 4K --max-calls 1151 --max-total 1M --max-temporary 1000
	expect_status 0
	expect_lines out 0
	held --max-peak 15K --max-live 4095 --max-leaked 0 --max-calls 1150 --max-calls 'load=150' --max-peak 'l*=1K'
	expect_status 1
	expect_same 'limits exceeded' "$(grep -c '^failed ' out)" 5
	expect_words out 'failed max-peak: 15.1 KiB exceeds the 15.0 KiB allowed; >99 % of it by parse_line (sheet.c)'
	expect_words out 'failed max-live: 4,096 exceeds the 4,095 allowed'
	expect_words out 'failed max-calls: 1,151 exceeds the 1,150 allowed; 87 % of it by scratch (sheet.c)'
	expect_words out 'failed max-peak l*:'
	held --all --max-calls 'scratch=999' --max-calls 2000
	expect_status 1
	expect_words out 'failed max-calls scratch: 1,000 exceeds the 999 allowed'
	expect_words out 'passed max-calls: 1,151 is within the 2,000 allowed'
	expect_words out 'passed complete: no call was lost'
}

test_check_baseline() {
	two_builds
	run "$mprof" check --baseline old.log --no-new-leaks old.log
	expect_status 0
	expect_lines out 0
	held --baseline old.log --no-new-leaks --tolerance 5
	expect_status 1
	expect_same 'limits exceeded' "$(grep -c '^failed ' out)" 4
	expect_words out 'failed baseline total:'
	expect_words out 'failed baseline leaked:'
	expect_words out 'failed no-new-leaks: 1 call stack leaks more than in old.log; largest increase, 4.0 KiB, by lost (sheet.c:'
	held --baseline old.log --tolerance 400
	expect_status 0
	run "$mprof" check --max-calls 1000 --tolerance 5 old.log
	expect_status 2
	expect_text err '--tolerance needs an earlier trace; add --baseline LOG'
	held --all --baseline old.log --no-new-leaks
	expect_text out '  +4.0 KiB  lost (sheet.c:'
	held --no-new-leaks
	expect_status 2
	expect_text err '--baseline'
	held
	expect_status 2
	held --max-peak 5Q
	expect_status 2
	run "$mprof" check --max-peak 1 none.log
	expect_status 3
	run "$mprof" check --max-peak 1 --baseline none.log new.log
	expect_status 3
}

test_check_files() {
	command -v xmllint >/dev/null || return 0
	two_builds
	held --max-peak 15K --max-calls '<&"none=5' --allow-missing --baseline old.log --no-new-leaks --junit junit.xml --markdown note.md
	expect_status 1
	xmllint --noout junit.xml || bad 'no XML'
	expect_same tests "$(xmllint --xpath 'string(//testsuite/@tests)' junit.xml)" \
		"$(xmllint --xpath 'count(//testcase)' junit.xml)"
	expect_same failures "$(xmllint --xpath 'string(//testsuite/@failures)' junit.xml)" \
		"$(xmllint --xpath 'count(//failure)' junit.xml)"
	expect_same 'how many' "$(xmllint --xpath 'count(//testcase) * 100 + count(//failure)' junit.xml)" 805
	expect_same message "$(xmllint --xpath 'string(//testcase[@name="max-peak"]/failure/@message)' junit.xml)" \
		'15.1 KiB exceeds the 15.0 KiB allowed; >99 % of it by parse_line (sheet.c)'
	expect_same name "$(xmllint --xpath 'string(//testcase[2]/@name)' junit.xml)" 'max-calls <&"none'
	expect_text junit.xml 'max-calls &lt;&amp;&quot;none'
	expect_text junit.xml 'lost (sheet.c'
	expect_same rows "$(grep -c '^| :' note.md)" 8
	expect_text note.md ': 5 of 8 checks failed'
	expect_text note.md '* `+4.0 KiB  lost (sheet.c:'
	held --max-peak 1M --junit /dev/null/x.xml
	expect_status 3
	expect_same error "$(cat err)" "mprof: cannot write '/dev/null/x.xml': Not a directory"
	held --max-peak 1M --markdown /dev/full
	expect_status 3
	expect_same error "$(cat err)" "mprof: cannot write '/dev/full': No space left on device"
}

test_check_json() {
	local name
	two_builds
	held --json --max-peak 15K --baseline old.log --no-new-leaks
	expect_status 1
	cp out answer
	expect_same peak "$(json answer '.checks[0] | "\(.check) \(.passed) \(.most) \(.blame.function)"')" 'max-peak false 15360 parse_line'
	expect_same leaks "$(json answer '.checks[] | select(.check == "no-new-leaks").leaks[] |
		"\(.function) \(.leaked_before) \(.leaked_after)"')" 'lost 0 4096'
	differ --by stack --all
	expect_documented diff out
	held --json --max-peak 15K --baseline old.log --no-new-leaks
	expect_documented checks out
}

# A leak that is now attributed to another caller is not new; one byte more is.
test_check_leaks_that_moved() {
	local who
	for who in 'a 100' 'b 100' 'b 101'; do
		# shellcheck disable=SC2086
		set -- $who
		cat >moved.c <<END
#include <stdlib.h>
static void *page(int n) { return malloc(n); }
static void *a(int n) { return page(n); }
static void *b(int n) { return page(n); }
int main(void)
{
	void *p = a(7), *q = b(7);
	free(p);
	free(q);
	return !$1($2);
}
END
		cc -g -O0 -fno-builtin -o moved moved.c || bad 'moved.c does not compile'
		"$mprof" record -o "$1$2.log" -- ./moved 2>/dev/null
	done
	run "$mprof" check --baseline a100.log --tolerance 0 --no-new-leaks b100.log
	expect_status 0
	run "$mprof" check --all --baseline a100.log --tolerance 0 --no-new-leaks b101.log
	expect_status 1
	expect_words out 'failed no-new-leaks: 1 call stack leaks more than in a100.log; largest increase, 101 bytes, by page (moved.c:2)'
	expect_text out '  +101 bytes  page (moved.c:2) < b < main'
}

# Text shows the innermost part of a deep stack, JSON all of it.
test_diff_deep_stacks() {
	cat >deep.c <<'END'
#include <stdlib.h>
static int f(int n);
static int g(int n) { return f(n - 1) + 1; }
static int f(int n) { return n ? g(n) + 1 : malloc(10) == NULL; }
int main(int argc, char **argv) { return f(atoi(argv[1])) == -argc; }
END
	cc -g -O0 -fno-builtin -o deep deep.c || bad 'deep.c does not compile'
	run "$mprof" record -o old.log -- ./deep 3
	run "$mprof" record -o new.log -- ./deep 30
	run "$mprof" report temporary new.log
	expect_words out '--temporary 1ms'
	run "$mprof" diff --by stack --value calls old.log new.log
	expect_words out 'f (deep.c:4) < g < f < g < f < g < f < main'
	expect_words out 'f (deep.c:4) < g < f < g < f < g < f < g < f < g < f < g < f < 49 more'
	differ --by stack --value calls
	expect_same depths "$(json answer '[.rows[].stack | length] | sort | join(" ")')" '8 62'
}

# Where blocks are does not show in any figure of blocks.
test_diff_of_resident_memory() {
	cat >gaps.c <<'END'
#include <stdlib.h>
#include <string.h>
static char *box[4000];
int main(int argc, char **argv)
{
	for (int i = 0; i < 4000; i++)
		memset(box[i] = aligned_alloc(argc > 1 ? 4096 : 64, 192), 1, 192);
	for (int i = 0; i < 4000; i++)
		free(box[i]);
	return argv == NULL;
}
END
	compile gaps
	for how in record profile; do
		"$mprof" $how -q -o wide.$how -- ./gaps wide 2>err || bad "$(cat err)"
		"$mprof" $how -q -o close.$how -- ./gaps 2>err || bad "$(cat err)"
		run "$mprof" diff wide.$how close.$how
		expect_words out 'No figure of blocks changed by 1 % or more. The largest resident set fell from'
		run "$mprof" diff close.$how wide.$how
		expect_words out 'The largest resident set rose from'
		run "$mprof" diff --markdown close.$how wide.$how
		expect_text out 'The largest resident set rose from'
		run "$mprof" diff --json close.$how wide.$how
		expect_same "in bytes: $how" "$(json out '.resident_after - .resident_before > 8000000')" true
		run "$mprof" diff close.$how close.$how
		expect_no_text out 'resident'
	done
	run "$mprof" diff --json --size 100..200 close.record wide.record
	expect_same 'of some blocks' "$(json out '.resident_before, .resident_after' | xargs)" '0 0'
}
