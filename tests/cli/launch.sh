# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2016 # programs of other languages stand in single quotes
#
# launch.sh - starting programs: status, signals, environment, refusals.

test_exit_status_is_passed_on() {
	local status_of
	for status_of in 0 1 3 42 255; do
		run "$mprof" record -o log -- sh -c "exit $status_of"
		expect_status "$status_of"
		run "$mprof" stat -- sh -c "exit $status_of"
		expect_status "$status_of"
		run "$mprof" -m Null -- sh -c "exit $status_of"
		expect_status "$status_of"
	done
	run "$mprof" -t 'exit 7'
	expect_status 7
	run "$mprof" test -- sh -c 'exit 8'
	expect_status 8
}

test_signal_is_passed_on() {
	local signal
	for signal in 9 15 11 6 10; do
		expect_same 'end of record' \
			"$(how_it_ends "$mprof" record -o log -- sh -c "kill -$signal \$\$")" \
			"signal $signal"
		expect_same 'end of stat' \
			"$(how_it_ends "$mprof" stat -o answer -- sh -c "kill -$signal \$\$")" \
			"signal $signal"
		expect_text answer "signal $signal"
	done
	run "$mprof" stat --json -- sh -c 'kill -9 $$'
	expect_same 'signal in JSON' "$(json out '"\(.signal) \(.status)"')" '9 137'
	expect_same 'end of test' "$(how_it_ends "$mprof" -t 'kill -9 $$')" 'signal 9'
}

# The header has 896 entries: later processes reuse those of ended ones.
test_more_processes_than_entries() {
	run "$mprof" record -o log -- sh -c \
		'i=0; while [ $i -lt 950 ]; do /bin/true; i=$((i+1)); done; /bin/ls / >/dev/null'
	expect_status 0
	run "$mprof" report --json log
	expect_same 'processes' "$(json out '.processes | length')" 952
	expect_same 'lost' "$(json out .lost)" 0
	run "$mprof" report log
	expect_no_text out 'not recorded'
}

test_program_that_cannot_be_run() {
	local command
	: >plain
	for command in "$mprof record" "$mprof stat" "$mprof -m Null" "$mprof test --"; do
		run $command no-such-program-anywhere x
		expect_status 127
		expect_one_line_error
		run $command ./nothing x
		expect_status 127
		run $command ./plain x
		expect_status 126
		expect_one_line_error
		run $command . x
		expect_status 126
		run $command '' x
		expect_status 127
	done
	[ ! -e mprof.log ] || bad 'a trace was made'
	printf '#!/no/such/interpreter\n' >script
	chmod +x script
	run "$mprof" record ./script
	expect_status 127
	expect_text err '/no/such/interpreter'
	perl -pe 's!/ld-linux!/LD-LINUX!' "$(command -v env)" >loaderless
	chmod +x loaderless
	run "$mprof" record ./loaderless
	expect_status 127
	expect_text err 'dynamic linker'
	mkdir bin
	: >bin/here
	PATH=$PWD/bin:$PATH run "$mprof" record here
	expect_status 126
	run "$mprof" record 'ls -l'
	expect_status 127
	expect_text err 'write a program and its arguments without quotes'
	run "$mprof" record A=1 ls
	expect_status 127
	expect_text err 'to set a variable, write: env A=1'
	run "$mprof" record loaderless
	expect_status 127
	expect_text err "did you mean './loaderless'?"
	run "$mprof" loaderless
	expect_status 2
	expect_text err "did you mean 'record -- ./loaderless'?"
	run "$mprof" -t ls -a
	expect_status 2
	expect_one_line_error
	expect_text err "if it belongs to --test, put the whole line in quotes"
	run "$mprof" -t ls -z
	expect_text err "unknown option '-z': 'mprof --help' lists the options; if it belongs to --test, put the whole line in quotes"
	local words
	for words in '-a x' '--color=tty' "-c ''" '--stack-min-size x'; do
		eval "run '$mprof' -t ls $words"
		expect_status 2
		expect_one_line_error
		expect_text err "; if it belongs to --test, put the whole line in quotes"
	done
	run "$mprof" -t ''
	expect_same 'an empty line' "$(cat err)" "mprof: invalid --test '': expected COMMAND"
	run "$mprof" -a x
	expect_status 2
	expect_no_text err '--test'
}

test_no_program_named() {
	local command
	for command in record stat test compress; do
		run "$mprof" "$command"
		expect_status 2
		expect_text err "mprof $command"
		run "$mprof" "$command" --
		expect_status 2
	done
}

test_options_of_the_program_are_its_own() {
	run "$mprof" stat -o answer -- echo --json -o x -- y
	expect_same arguments "$(cat out)" '--json -o x -- y'
	run "$mprof" record -o log echo --json -o x
	expect_same arguments "$(cat out)" '--json -o x'
	run "$mprof" -m Null echo -t -m --help
	expect_same arguments "$(cat out)" '-t -m --help'
}

test_script_without_first_line() {
	echo 'echo from a script' >script
	chmod +x script
	run "$mprof" record -o log ./script
	expect_same output "$(cat out)" 'from a script'
	[ -s log ] || bad 'it was not recorded'
}

test_paths_that_are_refused() {
	local path
	mkdir directory
	mkfifo fifo
	ln -s target link
	ln -s /dev/null device
	echo 'somebody'"'"'s text' >foreign
	printf 'mprofxyz and more' >nearly
	"$mprof" stat -c counts -o /dev/null -- true
	cp counts before
	for path in directory . directory/ fifo link device foreign nearly counts foreign/file /proc/x; do
		run "$mprof" record -o "$path" -- touch started
		expect_status 2
		expect_one_line_error
		expect_text err "${path%/}"
	done
	run "$mprof" stat -c foreign -- touch started
	expect_status 2
	run "$mprof" -t 'touch started' -c foreign
	expect_status 2
	[ ! -e started ] || bad 'the program was started'
	[ ! -e target ] || bad 'a symbolic link was followed'
	expect_same 'the foreign file' "$(cat foreign)" "somebody's text"
	cmp -s counts before || bad 'the counts file was changed'
}

test_modes_of_files() {
	run "$mprof" record -o log -- ls
	expect_same 'mode of the trace' "$(stat -c %a log)" 600
	run sh -c 'cd / && exec "$@"' - "$mprof" record -o "$PWD/absolute.log" -- true
	[ -s absolute.log ] || bad 'an absolute path does not work'
}

# A umask that hides new files even from their owner: mprof can read its own files, and the program
# has that umask.
test_files_under_any_umask() {
	local file
	(
		umask 0777
		"$mprof" record -o log -- touch touched
		"$mprof" profile -o profile --at-exit stat -- ls
		"$mprof" stat -c counts -- true
		MPROF_CONF='MODE=LogMmap LOG_PATH=by_hand' LD_PRELOAD=$build/libmprof.so /bin/true
		nobody_can_run && mkdir -m 777 open && cd open &&
			setpriv --reuid 65534 --regid 65534 --clear-groups "$mprof" stat true
	) >out 2>err
	for file in log profile counts by_hand mprof.*.stat; do
		expect_same "mode of $file" "$(stat -c %a "$file")" 600
	done
	expect_same 'mode of what the program made' "$(stat -c %a touched)" 0
	expect_no_text err 'truncated'
	expect_no_text err 'denied'
	(umask 026 && "$mprof" record -q -o log -- touch other)
	expect_same 'the same under another umask' "$(stat -c %a other)" 640
}

test_file_is_closed_to_its_owner() {
	nobody_can_run || return 0
	mkdir -m 777 open
	run setpriv --reuid 65534 --regid 65534 --clear-groups "$mprof" record -o open/log -- chmod 0 open/log
	expect_status 0
	expect_text err "open/log'"
	expect_text err 'Permission denied'
	expect_no_text err 'truncated'
}

# A policy refuses to map files for writing, on a file system that can map them.
test_policy_forbids_mmap() {
	local why="the system does not permit to map it (mmap): a security policy, such as SELinux or seccomp"
	cat >forbid.c <<'END'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MAP_SHARED, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 77;
	execvp(argv[1], argv + 1);
	return argc > 0;
}
END
	cc -o forbid forbid.c || bad 'forbid.c does not compile'
	run ./forbid "$mprof" record -o log -- touch started
	expect_status 2
	expect_same 'what mprof says' "$(cat err)" "mprof: cannot write 'log': $why"
	[ ! -e started ] || bad 'the program was started'
	run ./forbid env MPROF_CONF="MODE=LogMmap LOG_PATH=log" LD_PRELOAD="$build/libmprof.so" ls
	expect_status 0
	expect_text err "log': $why"
	[ ! -e log ] || bad 'a file remains'
	run "$mprof" record -o log -- ./forbid ls
	expect_status 0
	expect_text err "log': a seccomp filter, added since the run began, may forbid it"
}

test_directory_without_permission() {
	nobody_can_run || return 0
	mkdir -m 755 closed
	local nobody='setpriv --reuid 65534 --regid 65534 --clear-groups' of=a
	local wrong="you have no permission to create a file in '$PWD/closed'; choose another directory"
	run $nobody "$mprof" record -o closed/log -- true
	expect_status 2
	expect_same 'record' "$(cat err)" "mprof: cannot write 'closed/log': $wrong"
	"$mprof" record -q -o a.log -- ls >list
	chmod 644 a.log
	cd closed || return
	for of in 'record -- true' 'profile -- true' 'report --html x ../a.log' 'export --to folded -o x --value calls ../a.log' \
		'sort -o x ../a.log' 'image ../a.log' 'movie ../a.log'; do
		$nobody "$mprof" $of 2>../err
		expect_same "$of" "$(sed "s/'[^']*'/FILE/" ../err)" "mprof: cannot write FILE: $wrong"
	done
}

test_trace_of_another_user() {
	local command
	nobody_can_run || return 0
	chmod 755 .
	"$mprof" record -q -o log -- true
	for command in 'report log' 'check --max-leaked 0 log' 'sort -o /dev/null log' 'diff log log'; do
		run setpriv --reuid 65534 --regid 65534 --clear-groups "$mprof" $command
		expect_status 3
		expect_same "$command" "$(cat err)" \
			"mprof: cannot open 'log': only user root may read it; run mprof as this user, or give the file to yours (chown)"
	done
}

test_directory_that_was_removed() {
	local of
	"$mprof" record -q -o a.log -- true
	mkdir gone
	cd gone || return
	rmdir ../gone
	for of in 'record -- true' 'profile -- true' "report --html x $top/$name/a.log" "image $top/$name/a.log"; do
		"$mprof" $of >>"$top/$name/out" 2>"$top/$name/err"
		expect_same "$of" "$(sed "s/'[^']*'/FILE/" "$top/$name/err")" \
			'mprof: cannot write FILE: the current directory was removed; change to another one'
	done
}

test_two_runs_on_one_log() {
	"$mprof" record -o log -- sh -c 'echo > ready; while [ ! -e stop ]; do sleep 0.02; done' 2>first &
	wait_for test -e ready
	run "$mprof" record -o log -- touch started
	expect_status 2
	expect_text err 'run in progress'
	run "$mprof" compress log
	expect_status 3
	: >stop
	wait $! || bad 'the first run failed'
	[ ! -e started ] || bad 'the second program was started'
	run "$mprof" report log
	expect_status 0
	run "$mprof" record -o log -- true
	expect_status 0
}

test_two_runs_that_start_at_once() {
	local i
	for ((i = 0; i < 5; i++)); do
		rm -f log started.*
		"$mprof" record -o log -- sh -c ': >started.1; while [ ! -e stop ]; do sleep 0.02; done' \
			2>err.1 &
		"$mprof" record -o log -- sh -c ': >started.2; while [ ! -e stop ]; do sleep 0.02; done' \
			2>err.2 &
		wait_for grep -q 'run in progress' err.1 err.2
		wait_for sh -c 'ls started.* >/dev/null'
		: >stop
		wait
		rm stop
		expect_same 'programs that ran' "$(ls started.* | wc -l)" 1
		run "$mprof" report log
		expect_status 0
	done
}

test_signals_of_the_program_are_untouched() {
	local show='open F, "/proc/self/status"; print grep /^Sig(Ign|Blk)/, <F>'
	perl -e "$show" >native
	run "$mprof" record -o log -- perl -e "$show"
	expect_same dispositions "$(cat out)" "$(cat native)"
	(trap '' HUP INT USR1 && perl -e "$show") >native
	(trap '' HUP INT USR1 && "$mprof" record -o log -- perl -e "$show") >out 2>err
	expect_same 'ignored signals' "$(cat out)" "$(cat native)"
	perl -e 'use POSIX; sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGUSR2, SIGTERM)); exec @ARGV' \
		perl -e "$show" >native
	perl -e 'use POSIX; sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGUSR2, SIGTERM)); exec @ARGV' \
		"$mprof" record -o log -- perl -e "$show" >out 2>err
	expect_same 'blocked signals' "$(cat out)" "$(cat native)"
}

test_signals_are_handed_on() {
	local signal
	for signal in TERM HUP USR1 USR2; do
		"$mprof" record -o log -- perl -e '
			$SIG{'$signal'} = sub { open F, ">got"; exit 5 };
			open F, ">ready"; close F; sleep 20' 2>err &
		wait_for test -e ready
		kill -$signal $!
		status=0
		wait $! || status=$?
		expect_status 5
		[ -e got ] || bad "$signal was not handed on"
		rm -f got ready
	done
}

# A server that reloads its settings, and runs on.
test_user_signals_do_not_end_a_run() {
	rm -f ready
	"$mprof" record -o log -- perl -e '
		$SIG{USR1} = sub { open F, ">got" . ++$n; close F }; open F, ">ready"; close F;
		select undef, undef, undef, 0.1 until $n >= 2; exit 7' 2>err &
	wait_for test -e ready
	kill -USR1 $!
	wait_for test -e got1
	kill -USR1 $!
	status=0
	wait $! || status=$?
	expect_status 7
	expect_text err ', 0 lost, '
	# timeout(1) sends its signal to mprof, and then to the group: to mprof and to the program.
	for signal in USR1 USR2; do
		rm -f ready
		perl -e 'setpgrp; exec @ARGV' "$mprof" record -o log -- perl -e '
			$SIG{USR1} = sub { exit 0 }; open F, ">ready"; close F; sleep 20' 2>err &
		wait_for test -e ready
		kill -$signal $!
		kill -$signal -- -$!
		wait $!
		expect_text err ', 0 lost, '
	done
}

test_interrupt_is_for_the_program() {
	# To the whole process group, as a terminal does.
	perl -e 'setpgrp; $SIG{INT} = "DEFAULT"; exec @ARGV' "$mprof" stat -o answer -- perl -e '
		$SIG{INT} = sub { exit 6 }; open F, ">ready"; close F; sleep 20' 2>err &
	wait_for test -e ready
	kill -INT -$!
	status=0
	wait $! || status=$?
	expect_status 6
	expect_text answer 'exit status 6'
}

test_sigchld_ignored_by_the_caller() {
	run perl -e '$SIG{CHLD} = "IGNORE"; exec @ARGV' "$mprof" record -o log -- sh -c 'exit 9'
	expect_status 9
}

test_standard_streams_are_the_programs() {
	echo 'through and through' | "$mprof" record -o log -- cat >out 2>err
	expect_same stdout "$(cat out)" 'through and through'
	# Our descriptor is far above those that programs count on.
	local show='ls /proc/self/fd | awk "\$1 < 256" | tr "\n" " "'
	"$mprof" record -o log -- sh -c "$show" >recorded 2>err
	sh -c "$show" >native
	expect_same 'open descriptors' "$(cat recorded)" "$(cat native)"
	report_of sh -c 'exec cat' <&- >&-
	expect_status 0
}

test_closed_streams() {
	local show='opendir D, "/proc/self/fd"; open F, ">", $ARGV[0]; print F join " ", sort grep {
		/^[0-2]$/ } readdir D'
	perl -e "$show" native <&- >&- 2>&-
	"$mprof" record -o log -- perl -e "$show" recorded <&- >&- 2>&-
	expect_same 'streams of the program' "$(cat recorded)" "$(cat native)"
	run "$mprof" report log
	expect_status 0
	"$mprof" report log >&- 2>err && bad 'an answer that nobody gets is a success'
	expect_text err 'incomplete'
}

test_scarce_resources() {
	(ulimit -n 9 && "$mprof" record -o log -- sh -c 'echo fine; exit 3') >out 2>err
	expect_same 'status with few descriptors' $? 3
	expect_same output "$(cat out)" fine
	(ulimit -v 300000 && "$mprof" record -o log -- sh -c 'echo fine; exit 3') >out 2>err
	expect_same 'status with little address space' $? 3
	expect_same output "$(cat out)" fine
}

test_environment_of_the_program() {
	run "$mprof" record -o log -- env
	expect_text out "LD_PRELOAD=$build/libmprof.so"
	expect_text out "MPROF_RUN="
	expect_text out ":$PWD/log"
	expect_text out 'MODE=LogMmap'
	run env LD_PRELOAD=/no/such/thing.so "$mprof" record -o log -- env
	expect_text out "LD_PRELOAD=$build/libmprof.so:/no/such/thing.so"
}

test_child_that_changes_directory_joins() {
	mkdir away
	run "$mprof" stat --json -- sh -c 'cd away; env true; exit 0'
	expect_same processes "$(json out '.processes | length')" 2
	expect_same 'files left' "$(ls away)" ''
}

test_library_that_is_not_there() {
	cp "$mprof" lonely
	run ./lonely record -o log -- touch started
	expect_status 2
	expect_one_line_error
	expect_text err MPROF_LIB
	run env MPROF_LIB=/no/where "$mprof" record -o log -- touch started
	expect_status 2
	expect_text err /no/where
	mkdir empty
	run env MPROF_LIB="$PWD/empty" "$mprof" record -o log -- touch started
	expect_status 2
	expect_one_line_error
	expect_text err 'expected libmprof.so, or a directory that has it'
	[ ! -e started ] || bad 'the program was started'
	mkdir 'with blank'
	cp "$build/libmprof.so" 'with blank'
	run env MPROF_LIB="$PWD/with blank" ./lonely record -o log -- true
	expect_status 2
	run env MPROF_LIB="$build/libmprof.so" ./lonely record -o log -- true
	expect_status 0
	mkdir bin lib
	mv lonely bin/mprof
	cp "$build/libmprof.so" lib
	run bin/mprof record -o log -- env
	expect_text out "LD_PRELOAD=$PWD/lib/libmprof.so"
}

test_doctor() {
	run "$mprof" doctor
	expect_status 0
	expect_text out "'true' was run and recorded."
	expect_text out 'ok    LD_PRELOAD is not set.'
	expect_text out glibc
	run "$mprof" doctor ls
	expect_status 0
	expect_text out 'can be recorded'
	run "$mprof" doctor no-such-program
	expect_status 1
	run env MPROF_CONF=NOKEY=1 "$mprof" doctor
	expect_status 1
	expect_text out "'NOKEY'"
	run "$mprof" doctor --json ls
	expect_same verdict "$(json out '.[] | select(.check == "program") | .verdict')" ok
}

test_static_program() {
	echo 'int puts(const char *); int main(void) { return puts("I am static") < 0; }' >static.c
	"${CC:-cc}" -static -o static static.c || return
	# What Go allocates would not be recorded of a dynamic program either.
	echo 'char __attribute__((section(".go.buildinfo"))) info[32];' | cat static.c - >go.c
	"${CC:-cc}" -static -o go go.c
	run "$mprof" doctor ./go
	expect_words out 'so nothing can be preloaded; runtime/pprof shows the memory of Go'
	sed 's/.go.buildinfo/.fpcdata/' go.c >fpc.c
	"${CC:-cc}" -static -o fpc fpc.c
	run "$mprof" doctor ./fpc
	expect_words out 'so nothing can be preloaded; to record it, name cmem first in its uses clause'
	run "$mprof" record -o log -- ./static
	expect_status 0
	expect_same output "$(cat out)" 'I am static'
	expect_text err 'statically linked'
	[ ! -e log ] || bad 'a trace was made'
	run "$mprof" stat --json -o answer -- ./static
	expect_status 0
	expect_text err 'statically linked'
	expect_same calls "$(json answer .total_calls)" 0
	run "$mprof" doctor ./static
	expect_status 1
	run "$mprof" -t ./static
	expect_status 0
	# Started by a recorded process: the parent reports the end.
	run "$mprof" record -o log -- sh -c './static & env -i ./static; wait'
	expect_text err 'mprof: warning: 2 programs were not recorded (mprof report); the first: '
	run "$mprof" record -o log -- sh -c './static; exit 0'
	expect_text err "mprof: warning: './static' cannot be recorded: it is statically linked, so nothing can be preloaded; to record it, link it dynamically"
	run "$mprof" report log
	expect_text out 'statically linked'
	run "$mprof" record -o log -- sh -c './static; rm static'
	run "$mprof" report log
	expect_words out 'not recorded, libmprof.so was not loaded, or could not reach the trace: a static or set-user-ID program, one in a sandbox or container, or one that ended early.'
}

# musl's loader would end the program: libmprof.so needs functions of glibc.
test_musl_program() {
	local loader far
	echo 'int puts(const char *); char *getenv(const char *); int main(void) { return puts(getenv("LD_PRELOAD") ? "preloaded" : "alone") < 0; }' >musl.c
	cc -o musl musl.c
	loader=$(od -An -c musl | tr -d ' \n' | grep -o '/lib[^\]*/ld-linux[^\]*' | head -1)
	far=$PWD/a-directory-whose-name-is-longer-than-most-paths-of-loaders-are-as-in-a-build-farm
	mkdir "$far"
	ln -s "$loader" "$far/ld-musl-x.so.1"
	cc -Wl,--dynamic-linker="$far/ld-musl-x.so.1" -o musl musl.c
	run env -u LD_PRELOAD "$mprof" record -o log -- ./musl
	expect_status 0
	expect_same output "$(cat out)" alone
	expect_text err "'./musl' cannot be recorded: its C library is musl, but libmprof.so is built for glibc; to record it, build it for glibc; it runs unrecorded"
	# As a child, it gets an environment without the library, whatever starts it.
	cat >starts.c <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
int main(void)
{
	char *argv[] = { "musl", NULL };
	pid_t pid;
	for (int how = 0; how < 8; how++) {
		if (how < 2) {
			if (how ? posix_spawnp(&pid, *argv, NULL, NULL, argv, environ)
				: posix_spawn(&pid, "./script", NULL, NULL, argv, environ))
				return 1;
		} else if (!(pid = how > 4 ? vfork() : fork())) {
			how == 2 ? execvp(*argv, argv) : how == 3 ? execl("./musl", "musl", NULL)
				: how == 4 ? fexecve(open("./musl", O_RDONLY), argv, environ)
				: how == 5 ? execve("./musl", argv, environ)
				: how == 6 ? execlp(*argv, *argv, NULL) : execl("./nothing", *argv, NULL);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
	}
	return 0;
}
END
	printf '#!%s\n' "$PWD/musl" >script
	chmod +x script
	compile starts
	run env -u LD_PRELOAD PATH="/no:$PWD:$PATH" "$mprof" record -o log -- ./starts
	expect_same children "$(sort out | uniq -c | tr -s ' ')" ' 7 alone'
	expect_text err "7 programs were not recorded (mprof report); the first: '$PWD/musl' cannot be recorded: its C library is musl"
	sed -i 's/ ? "preloaded" : "alone"//' musl.c
	cc -Wl,--dynamic-linker="$far/ld-musl-x.so.1" -o musl musl.c
	run env LD_PRELOAD=libm.so.6:libdl.so.2 "$mprof" record -o log -- sh -c 'exec ./musl'
	expect_same "the user's" "$(cat out)" libm.so.6:libdl.so.2
	# gcc's sanitizers refuse to load second.
	sed -i 's/getenv("LD_PRELOAD")/"sanitized"/' musl.c
	cc -fsanitize=address -o sanitized musl.c 2>/dev/null || return
	cp musl.c unlinked.c
	run env -u LD_PRELOAD "$mprof" record -o log -- sh -c './sanitized; exit 0'
	expect_same sanitized "$(cat out)" sanitized
	expect_text err "'./sanitized' cannot be recorded: it is built with a sanitizer"
	# Nor do those that the user preloads, as for an extension of Python.
	local asan
	asan=$(realpath "$(cc -print-file-name=libasan.so)")
	compile unlinked
	run env LD_PRELOAD="$asan" ASAN_OPTIONS=detect_leaks=0 "$mprof" record -o no.log -- ./unlinked
	expect_status 0
	expect_same 'preloaded' "$(cat out)" sanitized
	expect_text err "'./unlinked' cannot be recorded: LD_PRELOAD names $asan, a sanitizer"
}

# The loader of a glibc that is older than the one that libmprof.so needs would end the program, as in
# a container of an older distribution.
test_older_libc() {
	local loader
	mkdir old
	echo 'int puts(const char *); char *getenv(const char *); int main(void) { return puts(getenv("LD_PRELOAD") ? "preloaded" : "alone") < 0; }' >plain.c
	cc -o plain plain.c
	loader=$(od -An -c plain | tr -d ' \n' | grep -o '/lib[^\*]*/ld-linux[^\*]*' | head -1)
	# The name of each version is hashed (ELF, symbol versioning): these define another one instead.
	python3 - "$build/libmprof.so" "$loader" "$(ldd plain | grep -o '/[^ ]*/libc.so.6')" <<'END' || return
import re, struct, subprocess, sys
library, loader, libc = sys.argv[1:]
needs = subprocess.run(["objdump", "-p", library], capture_output=True, text=True).stdout
needs = re.search(r"from ld-linux.*\n((?: +0x.*\n)+)", needs).group(1)
newest = max(needs.splitlines(), key=lambda line: [int(n) for n in line.split("_")[1].split(".")])
hash = struct.pack("<I", int(newest.split()[0], 16))
for file, name in (loader, "ld-linux-old.so.2"), (libc, "libc.so.6"):
    with open(file, "rb") as whole, open("old/" + name, "wb") as changed:
        changed.write(whole.read().replace(hash, b"\1\0\0\0"))
END
	chmod +x old/*
	cc -Wl,--dynamic-linker="$PWD/old/ld-linux-old.so.2" -Wl,-rpath,"$PWD/old" -o plain plain.c
	run env -u LD_PRELOAD "$mprof" record -o log -- ./plain
	expect_status 0
	expect_same output "$(cat out)" alone
	expect_text err "'./plain' cannot be recorded: its C library is older than libmprof.so needs; to record it, run it with a newer one; it runs unrecorded"
	run env -u LD_PRELOAD "$mprof" record -o log -- old/ld-linux-old.so.2 ./plain
	expect_same 'by its loader' "$(cat out)" alone
	expect_text err "'old/ld-linux-old.so.2' cannot be recorded: its C library is older"
	run env -u LD_PRELOAD "$mprof" record -o log -- sh -c './plain; old/ld-linux-old.so.2 ./plain; exec ./plain'
	expect_same children "$(uniq -c out | tr -s ' ')" ' 3 alone'
	expect_text err "3 programs were not recorded (mprof report); the first: './plain' cannot be recorded: its C library is older"
	# In a container, mprof does not see the file.
	run env -u LD_PRELOAD "$mprof" record -o log -- sh -c './plain; mv plain gone'
	run "$mprof" report log
	expect_words out "not recorded, './plain' cannot be recorded: its C library is older than libmprof.so needs; to record it, run it with a newer one."
}

# QEMU passes its environment on to a program whose loader cannot preload the library.
test_emulator() {
	local name
	printf '%s\n' '#!/bin/sh' 'echo "$QEMU_UNSET_ENV"' >qemu-riscv64
	chmod +x qemu-riscv64
	run "$mprof" record -o log -- ./qemu-riscv64
	expect_same variable "$(cat out)" LD_PRELOAD
	expect_text err "'./qemu-riscv64' emulates another machine: its own calls are recorded, those of the program that it runs are not"
	run env QEMU_UNSET_ENV=FOO "$mprof" record -o log -- ./qemu-riscv64
	expect_same 'in addition' "$(cat out)" FOO,LD_PRELOAD
	# One that a script starts.
	cp "$(command -v ls)" qemu-riscv64
	run "$mprof" record -o log -- sh -c './qemu-riscv64 none; true'
	expect_text err "qemu-riscv64' emulates another machine: its own calls are recorded, those of the program that it runs are not"
	run "$mprof" report log
	expect_words out "qemu-riscv64' emulates another machine: its own calls are recorded, those of the program that it runs are not."
	"$mprof" record -o log -- ./qemu-riscv64 none 2>err
	expect_same 'how often it is said' "$(grep -c 'emulates another' err)" 1
	run "$mprof" report log
	expect_same 'how often the report says it' "$(grep -c 'emulates another' out)" 1
	# What runs on this machine can preload it.
	printf '%s\n' '#!/bin/sh' 'echo "$QEMU_UNSET_ENV"' >qemu-riscv64
	for name in qemu-system-riscv64 "qemu-$(uname -m)" qemu-img; do
		mv qemu-* "$name"
		run "$mprof" record -o log -- "./$name"
		expect_same "$name" "$(cat out)" ''
		expect_no_text err warning
	done
}

# A loader that is run with a program as its argument, as wrappers of bundled programs do.
test_loader_as_program() {
	local loader
	echo 'int puts(const char *); char *getenv(const char *); int main(void) { return puts(getenv("LD_PRELOAD") ? "preloaded" : "alone") < 0; }' >plain.c
	compile plain
	loader=$(od -An -c plain | tr -d ' \n' | grep -o '/lib[^\]*/ld-linux[^\]*' | head -1)
	run env -u LD_PRELOAD "$mprof" record -o log -- "$loader" --library-path "$(dirname "$loader")" ./plain
	expect_status 0
	expect_no_text err warning
	expect_same 'it is recorded' "$(cat out) $("$mprof" report --json log | jq '.events > 0')" 'preloaded true'
	run "$mprof" report log
	expect_no_text out 'What is missing'
	# What the program allocates is its own, and not of the loader, which keeps what it has.
	echo 'void *malloc(unsigned long); int main(void) { for (int i = 0; i < 100; i++) malloc(1000); return 0; }' >leaks.c
	compile leaks
	"$mprof" record -q -o log -- "$loader" ./leaks
	run "$mprof" report leaks --json log
	expect_same 'the leak' "$(json out '.rows[0] | "\(.value) \(.stack[-1].function) \(.stack[-1].module)"')" '100000 main leaks'
	run "$mprof" report log
	expect_no_text out 'different build-id'
	"$mprof" record -q -o log -- sh -c "$loader ./leaks; true"
	run "$mprof" report log
	expect_words out 'most by leaks ('
	# One that makes no call is recorded as such.
	echo 'int main(void) { return 0; }' >calls_nothing.c
	compile calls_nothing
	run "$mprof" record -o no.log -- "$loader" ./calls_nothing
	expect_same 'without a call' "$(sed 's|[0-9.]* KiB|SIZE|' err)" 'mprof: 0 calls of 0 threads and 1 process, 0 lost, SIZE; next: mprof report no.log'
	# Nor those whose own malloc comes first.
	echo 'char pool[99]; void *malloc(unsigned long n) { return pool; } void free(void *p) { } int main(void) { return !malloc(1); }' >own.c
	compile own
	run "$mprof" record -o log -- sh -c "$loader ./own; true"
	expect_words err "/own' defines malloc itself, which comes before libmprof.so's"
	ln -s "$loader" ld-musl-x.so.1
	run env -u LD_PRELOAD "$mprof" record -o log -- ./ld-musl-x.so.1 ./plain
	expect_same "musl's" "$(cat out)" alone
	expect_text err "'./ld-musl-x.so.1' cannot be recorded: its C library is musl"
	run env -u LD_PRELOAD "$mprof" record -o log -- sh -c './ld-musl-x.so.1 ./plain; :'
	expect_same "musl's, as a child" "$(cat out)" alone
}

# As after chroot, or for a user who may not enter its directory: the loader would complain.
test_library_out_of_reach() {
	mkdir lib
	cp "$build/libmprof.so" lib
	run env MPROF_CONF="MODE=LogMmap LOG_PATH=$PWD/log" LD_PRELOAD="$PWD/lib/libmprof.so:libm.so.6" \
		sh -c 'mv lib moved; env | grep ^LD_PRELOAD; exit 3'
	expect_status 3
	expect_same environment "$(cat out)" LD_PRELOAD=libm.so.6
	expect_same 'standard error' "$(cat err)" ''
	# Only the loader knows where these are.
	run env MPROF_CONF="MODE=LogMmap LOG_PATH=$PWD/log" LD_PRELOAD="$build/libmprof.so" \
		sh -c 'LD_PRELOAD=$1 env | grep ^LD_PRELOAD' sh '/$LIB/libmprof.so'
	expect_same 'with $LIB' "$(cat out)" 'LD_PRELOAD=/$LIB/libmprof.so'
}

# In another root directory, a program is recorded if it finds both files where they are outside.
test_program_after_chroot() {
	[ "$(id -u)" = 0 ] || return 0
	local file why='libmprof.so or the file of this run was out of its reach, as after chroot or in a sandbox'
	local there='the directories of both available there at the same paths (mount --bind), that of the file writable'
	mkdir -p "jail$PWD"
	cp "$(type -P true)" jail/inside
	ldd jail/inside "$build/libmprof.so" | grep -o '/[^ ]*' | tr -d : | sort -u | while read -r file; do
		[ -f "$file" ] && mkdir -p "jail$(dirname "$file")" && cp -L "$file" "jail$file"
	done
	rm -f "jail$build/libmprof.so"
	run "$mprof" record -o jail/log -- chroot jail /inside
	expect_status 0
	expect_text err "/inside was not recorded: $why; to record it, make $there"
	run "$mprof" report jail/log
	expect_words out "not recorded, $why: make $there."
	run "$mprof" report --json jail/log
	expect_same 'out of reach' "$(json out '.not_recorded[0] | "\(.out_of_reach) \(.denied)"')" 'true false'
	# The file of the run, without the library.
	ln -s / "jail$PWD/jail"
	run "$mprof" record -o jail/log -- chroot jail /inside
	expect_text err "/inside was not recorded: $why"
	mkdir -p "jail$build"
	cp "$build/libmprof.so" "jail$build"
	run "$mprof" record -o jail/log -- chroot jail /inside
	expect_no_text err 'not recorded'
	run "$mprof" report jail/log
	expect_text out 'which became: /inside'
	expect_no_text out 'not recorded'
	# With /proc, it can say so itself.
	mkdir jail/proc
	mv "jail$PWD" elsewhere
	run "$mprof" record -o jail/log -- unshare -m sh -c 'mount --bind /proc jail/proc && exec chroot jail /inside'
	expect_text err "/inside: cannot write '$PWD/jail/log': no such directory there, as after chroot or in a sandbox; make it available there at the same path, writable (mount --bind)"
}

# As in a sandbox: the file of the run is there, but read-only.
test_program_in_a_sandbox() {
	local sandbox why='libmprof.so or the file of this run was out of its reach, as after chroot or in a sandbox'
	for sandbox in -rm -rmpf; do # with its own process identifiers, too
		unshare $sandbox mount -o bind,ro . . || return 0
		run "$mprof" record -o log -- unshare $sandbox sh -c 'mount -o bind,ro . . && exec true'
		expect_status 0
		expect_text err "true was not recorded: $why"
		run "$mprof" report log
		expect_words out "not recorded, $why"
	done
	[ "$(id -u)" = 0 ] || return 0
	run "$mprof" record -o log -- unshare -m sh -c 'mount -o bind,ro . . && exec true'
	expect_text err "cannot write '$PWD/log': the file system is read-only there, as in a sandbox; make its directory writable there"
}

test_setuid_program() {
	[ "$(id -u)" = 0 ] || return 0
	cp "$(command -v id)" privileged
	chown 1:1 privileged
	chmod 4755 privileged
	run "$mprof" record -o log -- ./privileged -u
	expect_status 0
	expect_same 'who it ran as' "$(cat out)" 1
	expect_text err 'it is setuid, and the dynamic linker ignores LD_PRELOAD for such a program; to record it, run mprof as its owner, or record a copy of it; it runs unrecorded'
	[ ! -e log ] || bad 'a trace was made'
	cp privileged copied
	"$mprof" record -q -o log -- ./copied -u >/dev/null || bad 'the copy was not recorded'
	[ -e log ] || bad 'no trace of the copy'
	chmod 2755 privileged
	run "$mprof" doctor ./privileged
	expect_status 1
	expect_text out 'it is setgid'
	# Nobody can copy what only its owner can read.
	local others='setpriv --reuid 65534 --regid 65534 --clear-groups'
	chmod 755 .
	chmod 4711 privileged
	run $others "$mprof" doctor ./privileged
	expect_words out 'for such a program; to record it, run mprof as its owner.'
	chmod 2711 privileged
	run $others "$mprof" doctor ./privileged
	expect_words out 'it is setgid, and the dynamic linker ignores LD_PRELOAD for such a program.'
}

# A program that another user runs cannot open the file: record, and the report, say why.
test_program_of_another_user() {
	[ "$(id -u)" = 0 ] || return 0
	local nobody='setpriv --reuid 65534 --regid 65534 --clear-groups' why='may not open the file of this run: run mprof as that user.'
	run "$mprof" record -o log -- $nobody true
	expect_status 0
	expect_words err "programs that ran as another user were not recorded: they may not open '$PWD/log'; run mprof as that user, or attach while they run (mprof attach PID)"
	run "$mprof" report log
	expect_words out "true (pid"
	expect_words out "not recorded, it ran as another user, who $why"
	run "$mprof" report --json log
	expect_same denied "$(json out '.not_recorded[0] | "\(.denied) \(.environment_cleared)"')" 'true false'
	run "$mprof" record -q -o log -- $nobody true
	expect_same quiet "$(cat err)" ''
	run "$mprof" record -o log -- sh -c 'exec true'
	expect_no_text err 'not recorded'
}

test_program_without_its_environment() {
	local ls why='was not recorded: its LD_PRELOAD did not name libmprof.so (as after env -i, sudo or su -, or in a script that sets the variable); to record it, put mprof directly before it, or let its parent pass on LD_PRELOAD, MPROF_CONF and MPROF_RUN'
	ls=$(command -v ls)
	run "$mprof" stat -- env -i "$ls"
	expect_text err "mprof: warning: $ls $why"
	run "$mprof" profile -o profile -- env -i "$ls"
	expect_text err "mprof: warning: $ls $why"
	run "$mprof" record -q -o log -- env -i "$ls"
	expect_same quiet "$(cat err)" ''
	run "$mprof" record -o log -- env -i "$ls"
	expect_status 0
	expect_text err "mprof: warning: $ls $why"
	run "$mprof" report --json log
	expect_same processes "$(json out '.processes | length')" 1
	# A script for another allocator.
	run "$mprof" record -o log -- sh -c "LD_PRELOAD=/none.so $ls 2>/dev/null; true"
	expect_text err "mprof: warning: $ls $why"
	run "$mprof" report log
	expect_words out 'not recorded, its LD_PRELOAD did not name libmprof.so.'
	# The C library starts the child of system() itself: it shows in the resident set alone.
	echo 'int main(void) { malloc(1); unsetenv("LD_PRELOAD"); return system("perl -e \"\\$x = q(x) x 3e7\""); }' |
		cc -w -o system -include stdlib.h -xc -
	run "$mprof" record -o log -- ./system
	run "$mprof" report log
	expect_words out 'A program that was not recorded had '
	run "$mprof" report --json log
	expect_same 'the larger one' "$(json out '.unrecorded_rss_bytes > 3e7 and .processes[0].peak_rss_bytes < 3e7')" true
	run "$mprof" record --no-children -q -o log -- ./system
	run "$mprof" report --json log
	expect_same 'left out on request' "$(json out .unrecorded_rss_bytes)" 0
	# Nor is mprof one, whose copy the program replaces.
	run "$mprof" -t true
	run "$mprof" report --json mprof.log
	expect_same 'the memory of mprof' "$(json out .unrecorded_rss_bytes)" 0
}

test_daemon_left_behind() {
	run "$mprof" record -o log -- perl -e '
		if (!fork) { my @a = map { "x" x $_ } 1 .. 1000; close STDOUT; close STDERR; open F, ">runs"; close F;
			while (!-e "stop") { select undef, undef, undef, 0.02 } exit }
		select undef, undef, undef, 0.02 until -e "runs"'
	expect_status 0
	expect_text err 'still running'
	run "$mprof" report log
	expect_status 0
	: >stop
}

# As the init process of a sandbox with its own PID namespace: the trace is complete.
test_process_that_ends_last() {
	outlive() {
		rm -f log
		run "$mprof" record -o log -- perl -e 'fork || select undef, undef, undef, 0.05'
	}
	again_until '! has_words err "still running"' outlive
	expect_words err ' of 2 threads and 2 processes, 0 lost'
	expect_no_text err 'still running'
}

# A daemon that is not recorded keeps no file open: it is compressed as after any run.
test_daemon_that_is_not_recorded() {
	run "$mprof" record -o log -- sh -c 'env -u LD_PRELOAD sleep 99 & echo $! >pid; until grep -q sleep /proc/$!/comm; do :; done'
	kill "$(cat pid)"
	expect_status 0
	expect_text err 'sleep was not recorded'
	expect_no_text err 'still running'
	[ "$(stat -c %s log)" -lt 65536 ] || bad 'log was not compressed'
}

# A statement of Perl: waits until its parent, mprof, has FILE open, which it can restore from then on.
opened() { # FILE
	echo "until (grep { (readlink // '') eq '$PWD/$1' } glob '/proc/' . getppid . '/fd/*') { select undef, undef, undef, 0.02 }"
}

test_log_deleted_during_the_run() {
	run "$mprof" record -o log -- perl -e "$(opened log)"'; unlink "log"; my @a = map { "x" x $_ } 1 .. 1000'
	expect_status 0
	expect_text err 'mprof restored it'
	run "$mprof" report --json log
	expect_status 0
	[ "$(json out .events)" -ge 1000 ] || bad "only $(json out .events) events"
}

test_log_replaced_during_the_run() {
	run "$mprof" record -o log -- perl -e "$(opened log)"'; unlink "log"; open F, ">log"; print F "mine"; close F'
	expect_status 0
	expect_same 'the new file' "$(cat log)" mine
	run "$mprof" report log.*
	expect_status 0
}

test_log_renamed_during_the_run() {
	mkdir here
	run "$mprof" record -o here/log -- perl -e "$(opened here/log)"'; rename "here", "there"; my @a = map { "x" x $_ } 1 .. 1000'
	expect_status 0
	expect_text err "'$PWD/here/log' was renamed during the run; the recording is in '$PWD/there/log'"
	run "$mprof" report --json there/log
	[ "$(json out .events)" -ge 1000 ] || bad "only $(json out .events) events"
	# As by: mprof record -o build/log -- make clean all
	mkdir -p build/logs
	run "$mprof" profile -o build/logs/p -- perl -e "$(opened build/logs/p)"'; system "rm -r build"; system "true;";
		my @a = map { "x" x $_ } 1 .. 1000'
	expect_status 0
	expect_text err "'$PWD/build/logs/p' was deleted with its directory during the run; the recording is in '$PWD/p."
	expect_no_text err 'did not load'
	run "$mprof" report --json p.*
	[ "$(json out .calls)" -ge 1000 ] || bad "only $(json out .calls) calls"
	run "$mprof" report p.*
	expect_words out "not recorded: cannot write '$PWD/build/logs/p': no such directory."
	expect_no_text out Remark
}

test_log_truncated_during_the_run() {
	run "$mprof" record -o log -- perl -e "$(opened log)"'; truncate "log", 0; my @a = map { "x" x $_ } 1 .. 1000;
		print "fine\n"'
	expect_status 0
	expect_same output "$(cat out)" fine
	expect_text err truncated
}

test_file_size_limit() {
	(ulimit -f 100 && exec "$mprof" record -o log -- perl -e 'my @a = map { "x" x $_ } 1 .. 50000;
		print "fine\n"') >out 2>err
	expect_same output "$(cat out)" fine
	expect_text err 'recording ended early in 1 process: the disk was nearly full, or'
	# Space that could not be reserved was never written, so it is not missing as well.
	expect_no_text err 'damaged'
	expect_no_text err 'uncompressed'
	run "$mprof" report log
	expect_status 0
	expect_words out 'the disk was nearly full, or a file size limit was reached'
	expect_no_text out 'missing at the end'
	# One process, also if it runs another program afterwards.
	(ulimit -f 100 && exec "$mprof" record -o exec.log -- perl -e 'my @a = map { "x" x $_ } 1 .. 50000;
		exec "perl", "-e", "print 1"') >out 2>err
	expect_same 'output after exec' "$(cat out)" 1
	expect_text err 'recording ended early in 1 process: the disk was nearly full, or'
}

# The limits of the program are mprof's, too: it needs no memory for a large stack of its thread.
test_limit_of_data() {
	run bash -c "ulimit -s 8192 -d 6000 && exec '$mprof' record --no-compress -o log -- true"
	expect_status 0
	expect_text err 'next: mprof report log'
}

# A program that needs no more stack than this does not end because of mprof, and keeps the limit.
test_limit_of_stack() {
	local command
	ulimit -s 64
	run "$mprof" record -o log -- /bin/sh -c 'ulimit -s'
	expect_status 0
	expect_same 'the limit of the program' "$(cat out)" 64
	expect_text err 'next: mprof report log'
	"$mprof" profile -q -o profile -- true || bad 'no profile'
	for command in 'stat true' 'report log' 'report --all log' 'diff log log' 'check --max-peak 1G log' \
		'image -o image.png log' 'report profile' 'doctor'; do
		run "$mprof" $command
		expect_same "status of $command" "$status" 0
	done
}

# A program closes all descriptors by a system call, and the file cannot be opened again.
test_file_closed_for_good() {
	cat >closes.c <<'END'
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
	struct rlimit few = { 3, 3 };
	free(malloc(1));
	syscall(SYS_close_range, 3, ~0u, 0);
	setrlimit(RLIMIT_NOFILE, &few);
	if (!fork())
		for (int i = 0; i < 1000; i++)
			free(malloc(1));
	return 0;
}
END
	compile closes
	run "$mprof" record -o log -- ./closes
	expect_status 0
	expect_text err 'the file was deleted, truncated or closed'
	expect_no_text err "disk was"
}

# Loading libraries that only some commands need would take most of the start-up time.
test_start_loads_few_libraries() {
	local library=
	ldd "$mprof" >libraries
	for library in $(sed -n 's/^LATE_PKGS := //p' "$root/Makefile"); do
		expect_no_text libraries "lib${library#lib}"
	done
	[ "$library" ] || bad 'no library in the Makefile'
}

test_mprof_under_mprof() {
	ldd "$mprof" | grep -q libasan && return 0 # which must come first itself
	run "$mprof" record -o outer.log -- "$mprof" record -o inner.log -- true
	expect_status 0
	run "$mprof" report --json inner.log
	expect_same processes "$(json out '.processes | length')" 1
	run "$mprof" report outer.log
	expect_status 0
}

# A program that runs more than once reads the same input, from where the first run began.
test_input_of_each_run() {
	printf '%s\n' skipped b a >lines
	bash -c 'read -r _; exec "$0" -t sort' "$mprof" <lines >out 2>err
	expect_same 'both runs' "$(head -4 out | tr '\n' ' ')" 'a b a b '
	"$mprof" stat -r 3 -o three -- wc -l <lines >out 2>err
	expect_same 'three runs' "$(tr '\n' ' ' <out)" '3 3 3 '
	[ ! -s err ] || bad "stderr: $(cat err)"
	# shellcheck disable=SC2002 # a pipe
	cat lines | "$mprof" stat -r 2 -o two -- wc -l >out 2>err
	expect_same 'a pipe' "$(tr '\n' ' ' <out)" '3 0 '
	expect_text err 'the standard input ended during the first run'
	"$mprof" stat -r 2 -o none -- wc -l </dev/null >out 2>err
	[ ! -s err ] || bad "stderr: $(cat err)"
}
