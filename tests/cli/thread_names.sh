# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# thread_names.sh - threads have the names that the program gave them.

# ./named HOW: a thread without a name keeps 1000 bytes; one that names itself keeps 2000; one that
# uses prctl keeps 3000; one that waits after it was named by main keeps 4000 before.  main is killed
# with HOW "kill", forks with "fork", else it exits.
named_program() {
	cat >named.c <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
void *kept[8];
static pthread_barrier_t there;
static void *plain(void *arg) { kept[1] = malloc(1000); return arg; }
static void *by_itself(void *arg)
{
	kept[2] = malloc(2000);
	pthread_setname_np(pthread_self(), "net-reader");
	return arg;
}
static void *by_prctl(void *arg)
{
	prctl(PR_SET_NAME, "fifteen letters and more");
	kept[3] = malloc(3000);
	return arg;
}
static void *waiting(void *arg)
{
	kept[4] = malloc(4000);
	pthread_barrier_wait(&there);
	pause();
	return arg;
}
static void run(void *(*routine)(void *))
{
	pthread_t t;
	pthread_create(&t, NULL, routine, NULL);
	pthread_join(t, NULL);
}
int main(int argc, char **argv)
{
	pthread_t t;
	kept[0] = malloc(500);
	run(plain);
	run(by_itself);
	run(by_prctl);
	pthread_barrier_init(&there, NULL, 2);
	pthread_create(&t, NULL, waiting, NULL);
	pthread_barrier_wait(&there);
	pthread_setname_np(t, argc > 2 ? argv[2] : "<idle>");
	if (argc > 1 && !strcmp(argv[1], "fork")) {
		pid_t child = fork();
		if (!child) {
			prctl(PR_SET_NAME, "child-main");
			kept[5] = malloc(5000);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	if (argc > 1 && !strcmp(argv[1], "kill"))
		kill(getpid(), SIGKILL);
	return 0;
}
END
	cc -g -O0 -o named named.c -pthread || bad 'named.c does not compile'
}

# The name of the thread that allocated so many bytes, in rows of report hot --by thread.
name_of() { # FILE BYTES
	json "$1" ".rows[] | select(.figures.total == $2) | .name"
}

expect_names() { # JSON
	expect_same 'names of main and of the plain thread' "$(json "$1" '[.rows[] | select(.name == null)] | length')" 2
	expect_same 'name that a thread gave itself' "$(name_of "$1" 2000)" net-reader
	expect_same 'name by prctl' "$(name_of "$1" 3000)" 'fifteen letters'
	expect_same 'name that main gave a thread' "$(name_of "$1" 4000)" '<idle>'
}

test_threads_have_their_names() {
	named_program
	local how
	for how in exit kill; do
		run "$mprof" record -q -o "$how.log" -- ./named "$how"
		run "$mprof" report hot --by thread --json "$how.log"
		cp out "$how.json"
		expect_names "$how.json"
	done
	expect_documented flat_view exit.json
	run "$mprof" compress kill.log
	run "$mprof" report hot --by thread --json kill.log
	expect_names out
	run "$mprof" profile -q -o exit.profile -- ./named
	run "$mprof" report hot --by thread --json exit.profile
	expect_names out
	run "$mprof" report hot --by thread exit.log
	expect_text out '(net-reader)'
	run "$mprof" report threads exit.log
	expect_text out '(<idle>)'
	run "$mprof" report threads --json exit.log
	expect_same 'names in report threads' "$(json out '[.threads[], .stacks[] | .name // empty] | sort | unique | join(" ")')" \
		'<idle> fifteen letters net-reader'
	run "$mprof" report --all exit.log
	expect_text out '(net-reader)'
	run "$mprof" report --json exit.log
	expect_same 'names in report --json' "$(json out '[.threads[].name // empty] | sort | join(" ")')" \
		'<idle> fifteen letters net-reader'
}

test_a_forked_child_names_its_thread() {
	named_program
	run "$mprof" record -q -o fork.log -- ./named fork
	run "$mprof" report hot --by thread --process 1 --json fork.log
	expect_names out
	run "$mprof" report hot --by thread --process 2 --json fork.log
	expect_same 'name of the child' "$(name_of out 5000)" child-main
}

# A script's threads are not all named after it.
test_the_name_of_the_program_is_no_name() {
	named_program
	cp named 'a name beyond fifteen'
	run "$mprof" record -q -o long.log -- './a name beyond fifteen'
	run "$mprof" report hot --by thread --json long.log
	expect_names out
}

test_exports_have_the_names_of_threads() {
	named_program
	run "$mprof" record -q -o t.log -- ./named
	run "$mprof" export --to sqlite -o t.db t.log
	expect_same 'names in the data base' "$(sqlite3 t.db "SELECT name FROM thread WHERE name LIKE 'net%'")" net-reader
	run "$mprof" export --to chrome -o t.json t.log
	expect_same 'tracks' "$(json t.json '[.traceEvents[]? // .[] | select(.name == "thread_name") | .args.name] | map(select(test("idle"))) | length')" 1
	run "$mprof" report --html t.html t.log
	expect_status 0
}

test_anonymous_recordings_have_no_names_of_threads() {
	named_program
	run "$mprof" record -q --anonymous -o t.log -- ./named exit secret-customer
	grep -aq 'secret-custome' t.log && bad 'the name is in the file'
	run "$mprof" report hot --by thread --json t.log
	expect_same 'names' "$(json out '[.rows[].name // empty] | length')" 0
}

# A name is any 15 bytes.
test_the_name_of_a_thread_is_any_bytes() {
	named_program
	run "$mprof" record -q -o t.log -- ./named exit "$(printf 'a\033[31m\377"\n\tz')"
	run "$mprof" report hot --by thread t.log
	expect_status 0
	expect_text out 'thread 5 (a\x1b[31m\xff"\n\tz)'
	run "$mprof" report hot --by thread --json t.log
	expect_same 'a row' "$(json out '.rows[] | select(.figures.total == 4000) | .thread')" 5
	run "$mprof" export --to sqlite -o t.db t.log
	expect_status 0
	run "$mprof" report --html t.html t.log
	expect_status 0
}

test_threads_are_chosen_by_their_names() {
	named_program
	run "$mprof" record -q -o t.log -- ./named
	for chosen in "net-reader 2000" "net* 2000" "fifteen* 3000" "[!n]* 7000"; do
		run "$mprof" report hot --json --thread "${chosen% *}" t.log
		expect_same "bytes of '${chosen% *}'" "$(json out .total.figures.total)" "${chosen##* }"
	done
	run "$mprof" export --to folded --thread net-reader -o - t.log
	expect_text out 'by_itself 2000'
	run "$mprof" dump --thread 'net*' t.log
	expect_text out '	malloc	2000	'
	expect_no_text out '	malloc	3000	'
	run "$mprof" diff --json --thread 'net*' t.log t.log
	expect_status 0
	run "$mprof" report hot --thread 'x*' t.log
	expect_status 2
	expect_same 'the reason' "$(cat err)" "mprof: no thread in 't.log' has the name 'x*'; mprof report threads shows names"
	run "$mprof" dump --thread 'x*' t.log
	expect_status 2
	run "$mprof" report hot --thread '' t.log
	expect_same 'the reason' "$(cat err)" "mprof report: invalid --thread '': expected a number, or a name such as worker*"
	run "$mprof" record -q -o c.log -- true
	run "$mprof" report hot --thread 'x*' c.log
	expect_same 'the reason' "$(cat err)" "mprof: no thread in 'c.log' has the name 'x*': none has a name"
}

# The library keeps records, with their names, of 4096 threads that ended.
test_threads_without_a_kept_name_are_not_chosen_in_silence() {
	cat >many.c <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
static void *volatile kept;
static void *work(void *arg)
{
	pthread_setname_np(pthread_self(), "worker");
	kept = malloc(1000);
	return arg;
}
int main(void)
{
	for (int i = 0; i < 5000; i++) {
		pthread_t t;
		pthread_create(&t, NULL, work, NULL);
		pthread_join(t, NULL);
	}
	return 0;
}
END
	cc -g -O0 -o many many.c -pthread || bad 'many.c does not compile'
	run "$mprof" record -q -o many.log -- ./many
	run "$mprof" report hot --thread 'work*' --json many.log
	local chosen unnamed
	chosen=$(json out '.total.figures.calls')
	unnamed=$(sed -n "s/^mprof: warning: 'many.log' does not have the names of \([0-9]*\) threads: --thread 'work\*' leaves these out$/\1/p" err)
	expect_same 'threads with and without names' "$((chosen + unnamed))" 5000
	run "$mprof" dump --thread 'work*' many.log
	expect_text err "leaves these out"
	run "$mprof" export --to folded --thread 'work*' -o - many.log
	expect_text err "leaves these out"
	run "$mprof" report hot --thread 2 many.log
	expect_no_text err "leaves these out"
}

# Counts have the names, too.
test_counted_threads_have_their_names() {
	named_program
	local how
	for how in exit kill; do
		run "$mprof" stat -c counts --json -- ./named "$how"
		run "$mprof" counts --json counts
		expect_same "names of $how" "$(json out '[.threads[] | .name // "none"] | join(",")')" \
			'none,none,net-reader,fifteen letters,<idle>'
		expect_documented counts out
		run "$mprof" counts counts
		expect_text out '    thread 3 (net-reader)       '
		expect_text out '    thread 5 (<idle>)           '
		expect_text out '    thread 1 ('
		rm counts
	done
	run "$mprof" stat -c fork.counts -- ./named fork
	run "$mprof" counts --json fork.counts
	expect_same 'how the child ended' "$(json out '.processes[1].ended')" 'status 0'
	expect_same 'name of a forked child' "$(json out '[.threads[] | select(.process == 2) | .name] | join(",")')" child-main
	run "$mprof" stat -c any.counts -- ./named exit "$(printf 'a\033[31m\377"\n\tz')"
	run "$mprof" counts any.counts
	expect_text out 'thread 5 (a\x1b[31m\xff"\n\tz)'
	run "$mprof" stat -c anonymous.counts --anonymous -- ./named exit secret-customer
	grep -aq 'secret-custome' anonymous.counts && bad 'the name is in the file'
	run "$mprof" counts --json anonymous.counts
	expect_same 'anonymous names' "$(json out '[.threads[].name // empty] | length')" 0
}
