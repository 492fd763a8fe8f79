# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# at_exit.sh - what a process writes about itself when it ends, without mprof around.

preloaded() { # CONF COMMAND...
	local conf=$1
	shift
	MPROF_CONF=$conf LD_PRELOAD=$build/libmprof.so "$@"
}

# 3,000,000 blocks of a static function, 1,500,000 by new.  Not linked with -rdynamic.
counted() {
	cat >counted.cc <<'END'
#include <cstdlib>
#include <new>
namespace ns {
__attribute__((noinline)) void leafB(int n) { for (int i = 0; i < n; i++) { int *volatile p = new int; delete p; } }
}
static __attribute__((noinline)) void leafA() { for (int i = 0; i < 1000000; i++) { void *volatile p = malloc(32); free(p); } }
int main()
{
	for (int i = 0; i < 3; i++) {
		leafA();
		ns::leafB(500000);
	}
}
END
	g++ -g -O1 -fno-builtin -o counted counted.cc || bad 'counted.cc does not compile'
}

# Stacks begin at main and have readable names.
from_main() {
	sed -n 's/^.*;main;/main;/p' "$1" | c++filt -n | sed 's/_ZN2ns5leafBEi/ns::leafB(int)/; s/_ZL5leafAv/leafA()/; s/_Znwm/operator new(unsigned long)/' | sort
}

expect_folded() { # FILE: flamegraph.pl takes every line
	local wrong flamegraph=/usr/share/perl5/Devel/NYTProf/flamegraph.pl
	wrong=$(grep -vcE '^[^;]+(;[^;]+)* [0-9]+$' "$1")
	[ "$wrong" = 0 ] || bad "$wrong lines of $1 are not folded stacks: $(grep -vE '^.+ [0-9]+$' "$1" | head -3)"
	[ -e "$flamegraph" ] || return 0
	perl "$flamegraph" "$1" >picture.svg 2>complaints
	[ ! -s complaints ] || bad "flamegraph.pl: $(cat complaints)"
}

# What mprof says of files that processes write: those of this run.
test_at_exit_files_are_named() {
	echo old >mprof.1.txt
	touch -d '1 hour ago' mprof.1.txt
	run "$mprof" profile -o 'a [1]' --set 'TEXT_PATH=x*%p' --at-exit folded,text -- "$build/preload/fixture_a"
	expect_same 'both' "$(head -1 err | sed "s/[0-9]\+/N/g")" "mprof: wrote ./malloc.prof.N and x*N"
	run "$mprof" profile -o b --at-exit text -- sh -c 'ls; ls; ls; ls'
	expect_same 'more' "$(head -1 err | sed "s/[.][0-9]\+/.N/g")" 'mprof: wrote ./mprof.N.txt, ./mprof.N.txt and 3 more files'
	run "$mprof" profile -o c --dump-calls 5 -- "$build/preload/fixture_a"
	expect_text err '.txt.1'
	run "$mprof" profile -q -o d --at-exit text -- ls
	expect_same 'quiet' "$(cat err)" ''
	run "$mprof" profile -o e -- ls
	expect_no_text err wrote
}

test_at_exit_folded_counts() {
	local file
	counted
	run preloaded 'MODE=Profile AT_EXIT=folded' ./counted
	expect_status 0
	[ ! -s out ] && [ ! -s err ] || bad "something was printed: $(cat out err)"
	file=$(echo malloc.prof.*)
	expect_folded "$file"
	expect_same stacks "$(from_main "$file")" "main;leafA() 3000000
main;ns::leafB(int);operator new(unsigned long) 1500000"
	rm "$file"
	preloaded 'MODE=Sample SAMPLE_CALLS=1000 SEED=5 AT_EXIT=folded' ./counted
	expect_folded malloc.prof.*
	from_main malloc.prof.* | awk '
		/leafA/ && ($NF < 2900000 || $NF > 3100000) || /leafB/ && ($NF < 1450000 || $NF > 1550000) { print }' >wrong
	[ ! -s wrong ] || bad "estimates: $(cat wrong)"
	expect_same 'two stacks' "$(from_main malloc.prof.* | wc -l)" 2
	rm malloc.prof.*
	preloaded 'MODE=Sample SAMPLE_BYTES=5000 SEED=5 FOLDED_VALUE=total AT_EXIT=folded' ./counted
	expect_folded malloc.prof.*
	from_main malloc.prof.* | awk '
		/leafA/ && ($NF < 91200000 || $NF > 100800000) || /leafB/ && ($NF < 5100000 || $NF > 6900000) { print }' >wrong
	[ ! -s wrong ] || bad "estimated bytes: $(cat wrong)"
	expect_same 'two stacks by bytes' "$(from_main malloc.prof.* | wc -l)" 2
}

test_at_exit_is_the_profile() {
	local value file python
	python=$(python3 -c 'import sys; print(sys.executable)') # not a script that starts it
	for value in calls total live peak; do
		rm -f malloc.prof.* mprof.*
		preloaded "MODE=Profile AT_EXIT=folded,text FOLDED_VALUE=$value" "$python" -c 'import json; x = json.dumps(list(range(500)))'
		for file in malloc.prof.*; do
			expect_folded "$file"
		done
		expect_same "$value" "$(awk '{n += $NF} END {print n + 0}' malloc.prof.*)" \
			"$("$mprof" export --to folded --value $value mprof.profile 2>err | awk '{n += $NF} END {print n + 0}')"
	done
}

several_ends() {
	cat >ends.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *keep(int n) { return malloc((size_t)n); }
static void *churn(void *arg) { for (int i = 0; i < 20000; i++) free(keep(100)); return arg; }
static void *leave(void *arg) { exit(7); return arg; }
static void deep(int n) { if (n) deep(n - 1); else keep(5000); __asm__ volatile(""); }
int main(int argc, char **argv)
{
	pthread_t t[8];
	const char *how = argv[1];
	keep(10);
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, churn, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	deep(3000);
	if (!strcmp(how, "fork")) {
		if (!fork()) {
			for (int i = 0; i < 7; i++)
				keep(20);
			exit(0);
		}
		wait(NULL);
	}
	if (!strcmp(how, "few")) {
		if (!fork())
			exit(!keep(20));
		wait(NULL);
	}
	if (!strcmp(how, "_exit"))
		_exit(7);
	if (!strcmp(how, "quick_exit"))
		quick_exit(7);
	if (!strcmp(how, "thread")) {
		pthread_create(&t[0], NULL, leave, NULL);
		pthread_join(t[0], NULL);
	}
	if (!strcmp(how, "closed")) {
		for (int i = 0; i < 1024; i++)
			close(i);
		if (chdir("/"))
			return 1;
	}
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	if (!strcmp(how, "replaced")) {
		unlink(argv[0]);
		if (link("/bin/true", argv[0]) && symlink("/bin/true", argv[0]))
			return 1;
	}
	return 7;
}
END
	cc -O1 -fno-inline -fno-builtin -fno-optimize-sibling-calls -pthread -o ends ends.c || bad 'ends.c does not compile'
}

test_at_exit_however_it_ends() {
	local how deep
	deep=$(printf 'd%.0s' {0..3000})
	several_ends
	for how in return _exit quick_exit thread closed; do
		rm -f malloc.prof.* mprof.*
		run preloaded 'MODE=Profile AT_EXIT=folded,text' ./ends $how
		expect_status 7
		[ ! -s err ] || bad "$how: $(cat err)"
		expect_same "$how: files" "$(ls -d malloc.prof.* mprof.*.txt | wc -l)" 2
		expect_same "$how: 8 threads" "$(sed -n 's/.*;churn;keep //p' malloc.prof.*)" 160000
		expect_same "$how: the deep stack" \
			"$(sed -n 's/.*;main;\(deep;.*\)keep 1$/\1/p' malloc.prof.* | sed 's/deep;/d/g')" "$deep"
		expect_text mprof.*.txt 'Never freed:'
	done
	rm -f malloc.prof.* mprof.*
	run preloaded 'MODE=Profile AT_EXIT=folded,text' ./ends kill
	expect_same 'killed: no file' "$(find . -name 'malloc.prof*' -o -name '*.txt*')" ''
}

test_at_exit_of_processes() {
	several_ends
	preloaded 'MODE=Profile AT_EXIT=folded' ./ends fork
	expect_same 'two files' "$(ls -d malloc.prof.* | wc -l)" 2
	expect_same "the child's own" "$(cat "$(grep -L churn malloc.prof.*)" | sed 's/.*;main;//')" 'keep 7'
	rm malloc.prof.*
	preloaded 'MODE=Profile AT_EXIT=folded EXIT_MIN_CALLS=5' ./ends few
	expect_same 'too few' "$(ls -d malloc.prof.* | wc -l)" 1
	grep -q churn malloc.prof.* || bad 'the parent wrote nothing'
}

# The stacks that a daemon inherited are still found when the processes that defined them have ended;
# so are those of a parent that did not know of its child.
test_at_exit_of_daemons() {
	local way
	cat >daemon.c <<'E'
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *inherited(int n) { return malloc(n); }
static void *own(int n) { return malloc(n); }
int main(int argc, char **argv)
{
	int alive[2];
	char byte;
	for (int i = 0; i < 3; i++) {
		inherited(10);
		if (i == 2)
			continue;
		if (pipe(alive))
			return 1;
		if (argc > 1 ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork())
			exit(0);
		close(alive[1]); /* then it is closed when the parent has ended */
		if (read(alive[0], &byte, 1))
			return 1;
	}
	own(100);
	return 0;
}
E
	compile daemon -g
	for way in '' raw; do
		"$mprof" profile -q --at-exit folded -o file -- ./daemon $way 2>err || bad "$(cat err)"
		wait_for sh -c 'grep -ls ";own 1$" malloc.prof.*[0-9] >own'
		grep -q ';inherited 1$' "$(cat own)" || bad "$way: $(cat "$(cat own)")"
		rm -f file malloc.prof.*
	done
}

test_at_exit_text() {
	several_ends
	run preloaded 'MODE=Profile AT_EXIT=text TEXT_PATH=/dev/stderr' ./ends return
	expect_status 7
	"$mprof" report --json mprof.profile >json 2>/dev/null
	expect_same allocated "$(sed -n 's/^  Allocated: *\([0-9,]*\) bytes in \([0-9,]*\) calls/\1 \2/p' err | tr -d ,)" \
		"$(jq -r '.total.figures | "\(.total) \(.calls)"' json)"
	expect_same peak "$(sed -n 's/^  Peak: *\([0-9,]*\) bytes in \([0-9,]*\) .*/\1 \2/p' err | tr -d ,)" \
		"$(jq -r '.peak | "\(.bytes) \(.blocks)"' json)"
	expect_same 'never freed' "$(sed -n 's/^  Never freed: *\([0-9,]*\) bytes in \([0-9,]*\) .*/\1 \2/p' err | tr -d ,)" \
		"$(jq -r '"\(.total.figures.live) \(.total.blocks.live)"' json)"
	tr -s ' ' <err >rows
	expect_text rows ' 10 0% keep < main < '
	expect_text rows ' keep < deep < deep < deep < deep < deep < deep < deep < ...'
	expect_text rows ' 160,000 99% keep < churn < '
	expect_text rows ' 160,000 64 to 127'
	expect_no_text out mprof
}

totals_of() { # FILE: the seven sums of a file in callgrind's format
	sed -n 's/^totals: //p' "$1"
}

# Both readers of the format must find these functions with the same figures.
inclusive() { # FILE
	callgrind_annotate --threshold=100 --inclusive=yes --show-percs=no "$1" 2>&1 |
		sed -nE "s/^ *([0-9,. ]+) [^ ]*:((main|churn|keep|deep)('2)?)( \\[.*\\])?$/\\2 \\1/p" | tr -s ' ' | sort
}

test_at_exit_callgrind() {
	local file sum
	several_ends
	run preloaded 'MODE=Profile AT_EXIT=callgrind' ./ends return
	expect_status 7
	[ ! -s err ] || bad "something was printed: $(cat err)"
	file=$(echo callgrind.out.mprof.*)
	"$mprof" export --to callgrind -o exported mprof.profile 2>/dev/null
	expect_same totals "$(totals_of "$file")" "$(totals_of exported)"
	expect_same summary "$(sed -n 's/^summary: //p' "$file")" "$(totals_of exported)"
	# Figures of lines without a call before them are a function's own.
	sum=$(awk '/^calls=/ { getline; next } /^[0-9]/ { for (i = 2; i <= 8; i++) n[i] += $i }
		END { print n[2], n[3], n[4], n[5], n[6], n[7], n[8] }' "$file")
	expect_same 'sum of its lines' "$sum" "$(totals_of "$file")"
	expect_same 'names of levels' "$(grep -oE "deep('[0-9]+)?$" "$file" | sort)" "deep
deep'2"
	if command -v callgrind_annotate >/dev/null; then
		inclusive "$file" >ours
		inclusive exported >theirs
		expect_same 'functions' "$(wc -l <ours)" 5
		expect_same 'inclusive figures' "$(cat ours)" "$(cat theirs)"
	fi
	rm -f callgrind.out.* mprof.*
	preloaded 'MODE=Profile AT_EXIT=callgrind' ./ends fork
	expect_same 'two files' "$(ls -d callgrind.out.mprof.* | wc -l)" 2
	file=$(grep -L churn callgrind.out.mprof.*)
	expect_same "the child's own" "$(totals_of "$file" | cut -d' ' -f 1,3,4,6)" '7 7 140 140'
	"$mprof" export --to callgrind -o exported mprof.profile 2>/dev/null
	expect_same 'both processes' "$(sed -n 's/^totals: //p' callgrind.out.mprof.* |
		awk '{ for (i = 1; i <= 7; i++) n[i] += $i } END { print n[1], n[2], n[3], n[4], n[5], n[6], n[7] }')" \
		"$(totals_of exported)"
	rm -f callgrind.out.* mprof.*
	run preloaded 'MODE=Profile AT_EXIT=callgrind' ./ends kill
	expect_same 'killed: no file' "$(find . -name 'callgrind*')" ''
	run preloaded 'MODE=Profile AT_EXIT=callgrind CALLGRIND_PATH=f/%p' ./ends return
	expect_status 7
	run "$mprof" report mprof.profile
	expect_text out 'Remark: cannot write'
}

# One object of JSON, whatever the program is called.
test_at_exit_json() {
	local file odd=$'we"ird\\\n\xff\xc3\xa9'
	several_ends
	run preloaded 'MODE=Profile AT_EXIT=json' ./ends return
	expect_status 7
	[ ! -s err ] || bad "something was printed: $(cat err)"
	file=$(echo mprof.*.json)
	"$mprof" report --json mprof.profile >json 2>/dev/null
	expect_same totals "$(json "$file" '.total | [.calls, .total_bytes, .live_bytes, .peak_bytes]')" \
		"$(json json '.total.figures | [.calls, .total, .live, .peak]')"
	expect_same 'sums of stacks' "$(json "$file" '[.stacks | map(.calls), map(.total_bytes), map(.live_blocks), map(.live_bytes), map(.peak_bytes)] | map(add)')" \
		"$(json "$file" '.total | [.calls, .total_bytes, .live_blocks, .live_bytes, .peak_bytes]')"
	expect_same sizes "$(json "$file" '.sizes | add')" "$(json "$file" .total.calls)"
	expect_same '8 threads' "$(json "$file" '.stacks[] | select(.stack[-2:] == ["churn", "keep"]) | .calls')" 160000
	expect_same 'deep' "$(json "$file" '[.stacks[].stack | map(select(. == "deep")) | length] | max')" 3001
	rm -f mprof.*
	cp ends "$odd"
	run preloaded 'MODE=Sample SAMPLE_CALLS=10 AT_EXIT=json JSON_PATH=said' "./$odd" return
	expect_status 7
	python3 -c 'import json, sys
said = json.load(open("said", encoding="utf-8"))
sys.exit(not said["program"].endswith("/we\"ird\\\n\ufffd\u00e9") or not said["estimated"])' ||
		bad "not JSON, or of another program: $(head -c 200 said)"
	rm -f mprof.* said
	run preloaded 'MODE=Profile AT_EXIT=json JSON_PATH=said' ./ends kill
	expect_same 'killed: no file' "$(find . -name 'said*')" ''
}

# Names always come from the file that ran.
test_at_exit_names() {
	several_ends
	cp ends whole
	strip ends
	preloaded 'MODE=Profile AT_EXIT=folded FOLDED_PATH=stripped' ./ends return
	expect_folded stripped
	grep -qE 'ends\+0x[0-9a-f]+' stripped || bad 'no offsets without symbols'
	grep -q churn stripped && bad 'where are these names from?'
	cp whole ends
	preloaded 'MODE=Profile AT_EXIT=folded FOLDED_PATH=replaced' ./ends replaced
	expect_folded replaced
	grep -q ';churn;' replaced && bad 'a name from a file that is not there any more'
	[ -s replaced ] || bad 'nothing was written'
}

test_at_exit_files() {
	several_ends
	preloaded 'MODE=Profile AT_EXIT=folded FOLDED_PATH=f/%e.%n' ./ends return
	[ ! -e f ] || bad 'a directory was made'
	run "$mprof" report mprof.profile
	expect_text out 'Remark: cannot write'
	mkdir f 'f%d'
	preloaded 'MODE=Profile AT_EXIT=folded FOLDED_PATH=f/%e.%n' ./ends return
	preloaded 'MODE=Profile AT_EXIT=folded FOLDED_PATH=f/%e.%n' ./ends return
	expect_same 'an earlier one is kept' "$(cd f && echo *)" 'ends.0 ends.0.old'
	cd 'f%d' || return
	preloaded 'MODE=Profile AT_EXIT=folded FOLDED_PATH=x' ../ends return
	[ -s x ] || bad 'no file in a directory with a % in its name'
	cd .. || return
	# Another's file at the path, or where the earlier one would go, stays; ours and empty ones do not.
	for form in folded text stat callgrind json; do
		printf 'my notes\n7\n' >"mine.$form"
		preloaded "MODE=Profile AT_EXIT=$form ${form^^}_PATH=mine.$form" ls >/dev/null
		preloaded "MODE=Profile AT_EXIT=$form ${form^^}_PATH=mine.$form" ls >/dev/null
		expect_same "the file of another at the path of $form" "$(cat "mine.$form")" $'my notes\n7'
		: >"ours.$form"
		cp "mine.$form" "ours.$form.old"
		preloaded "MODE=Profile AT_EXIT=$form ${form^^}_PATH=ours.$form" ls >/dev/null
		expect_same "and behind it" "$(cat "ours.$form.old")" $'my notes\n7'
		rm "ours.$form.old"
		preloaded "MODE=Profile AT_EXIT=$form ${form^^}_PATH=ours.$form" ls >/dev/null
		[ -s "ours.$form" ] || bad "an empty file stops $form"
		preloaded "MODE=Profile AT_EXIT=$form ${form^^}_PATH=ours.$form" ls >/dev/null
		[ "$form" = stat ] || [ -s "ours.$form.old" ] || bad "the earlier $form is not kept"
	done
	expect_same 'a table goes on' "$(wc -l <ours.stat)" 4
	preloaded 'MODE=Profile AT_EXIT=stat EXIT_MIN_CALLS=0 STAT_PATH=none.stat' "$(type -P true)"
	awk 'NR == FNR { up = $1; next } FNR == 2 && $1 < up / 2 && !$2 { right = 1 } END { exit !right }' \
		/proc/uptime none.stat || bad "without calls, the time since boot: $(cat none.stat)"
	run preloaded 'MODE=Profile AT_EXIT=folded,json FOLDED_PATH=mprof.profile JSON_PATH=mprof.profile' ./ends return
	run "$mprof" report mprof.profile
	expect_words out 'is there that mprof did not write'
	run "$mprof" profile --at-exit=json --set exit:JSON_PATH=mine.json -o file -- ./ends return
	expect_words err '/mine.json: a file is there that mprof did not write'
	for conf in AT_EXIT=foldd AT_EXIT=folded,txt FOLDED_VALUE=calls,live FOLDED_VALUE=bytes; do
		run preloaded "MODE=Profile $conf" ./ends return
		expect_status 7
		expect_text err ": expected "
	done
	run "$mprof" profile --at-exit=foldd -- ./ends return
	expect_status 2
	expect_text err "invalid --at-exit 'foldd': expected folded, text, stat, callgrind, json"
	run "$mprof" profile --at-exit=folded,text -o file -- ./ends return
	expect_status 7
	expect_same 'both' "$(ls -d malloc.prof.* mprof.*.txt | wc -l)" 2
}

# It cannot open files afterwards, so it writes before.
test_at_exit_sandbox() {
	cat >locked.c <<'END'
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *keep(void) { return malloc(10); }
int main(void)
{
	for (int i = 0; i < 5; i++)
		keep();
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	keep();
	syscall(SYS_exit, 0);
}
END
	cc -O1 -fno-inline -fno-builtin -o locked locked.c || bad 'locked.c does not compile'
	run preloaded 'MODE=Profile AT_EXIT=folded' ./locked
	expect_status 0
	expect_same 'before it locked itself in' "$(sed 's/.*;main;//' malloc.prof.*)" 'keep 5'
}

# Wall-clock time between samples of each thread, compared with the program's own measurement.
test_at_exit_time() {
	local try
	cat >timed.c <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}
static void busy(void) { for (int i = 0; i < 5000000; i++) free(malloc(32)); }
static void waits(void) { for (int i = 0; i < 300; i++) { usleep(1000); free(malloc(32)); } }
static long took;
static void *thread(void *arg)
{
	long start = now();
	waits();
	took = now() - start;
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t;
	long start = now();
	if (argc > 1) {
		pthread_create(&t, NULL, thread, NULL);
		pthread_join(t, NULL);
		dprintf(1, "%ld\n", took);
	} else {
		busy();
		dprintf(1, "%ld\n", now() - start);
	}
	return 0;
}
END
	cc -g -O1 -fno-inline -fno-builtin -pthread -o timed timed.c || bad 'timed.c does not compile'
	# Time that the kernel takes while a sample is recorded is in neither: on a busy processor,
	# at least one of several runs is not affected.
	for try in 1 2 3 4 5 6; do
		rm -f malloc.prof.*
		run preloaded 'MODE=Sample SAMPLE_CALLS=10000 FOLDED_VALUE=time AT_EXIT=folded' ./timed
		[ -n "$(expect_part busy 95 105)" ] || break
	done
	expect_part busy 95 105
	rm malloc.prof.*
	run "$mprof" profile -q -o p --sample-calls 1 --at-exit folded --folded-value time -- ./timed thread
	expect_part waits 95 105
	run "$mprof" profile --folded-value tim -- true
	expect_status 2
	expect_one_line_error
}

expect_part() { # FUNCTION LEAST MOST: percentages of the microseconds in `out`
	local n part
	n=$(sed -n "s/.*;$1 //p" malloc.prof.*)
	part=$((n * 100 / $(cat out)))
	[ "$part" -ge "$2" ] && [ "$part" -le "$3" ] || bad "$1: $part % of $(cat out) us: $(cat malloc.prof.*)"
}

# Workers that gave up root may not write where mprof runs, nor tell it: the file says it, once.
test_at_exit_without_privileges() {
	[ "$(id -u)" = 0 ] || return 0
	cat >drop.c <<'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *keep(void) { return malloc(1000); }
int main(void)
{
	for (int i = 0; i < 2; i++)
		if (!fork()) {
			if (setuid(65534))
				return 9;
			for (int k = 0; k < 30; k++)
				keep();
			return 0;
		}
	while (wait(NULL) > 0)
		;
	return 0;
}
END
	cc -g -O1 -fno-builtin -o drop drop.c 2>err || bad 'drop.c does not compile'
	chmod 755 .
	run "$mprof" profile --dump folded --dump-calls 10 --at-exit text -- ./drop
	expect_words err 'warning: cannot write'
	expect_words err 'permission denied for user 65534'
	run "$mprof" report mprof.profile
	expect_same 'said once of each file' "$(tr -s ' \n' ' ' <out | grep -o 'denied for user' | wc -l)" 2
}

test_at_exit_of_one_block() {
	cat >one.c <<'END'
#include <stdlib.h>
int main(void)
{
	return !malloc(1);
}
END
	compile one
	run preloaded 'MODE=Profile AT_EXIT=text TEXT_PATH=/dev/stderr' ./one
	sed -n 's/^  \([A-Z][a-z ]*:\) */\1 /p' err >found
	cat >wanted <<'END'
Allocated: 1 byte in 1 call
Peak: 1 byte in 1 block
Never freed: 1 byte in 1 block
END
	expect_same 'the text of one block' "$(cat found)" "$(cat wanted)"
}
