# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2016 # programs of other languages stand in single quotes
#
# keep.sh - mprof destroys nothing: neither earlier recordings nor files of others.

hash_of() { # FILE...
	cat "$@" 2>/dev/null | sha256sum | cut -d' ' -f1
}

make_static() {
	echo 'int puts(const char *); int main(void) { return puts("I am static") < 0; }' >static.c
	"${CC:-cc}" -static -o static static.c
}

test_keep_earlier_recordings() {
	local first second
	run "$mprof" record -- ls
	expect_no_text err '.old'
	first=$(hash_of mprof.log)
	run "$mprof" record -- ls /
	expect_status 0
	expect_text err "renamed the earlier 'mprof.log' to 'mprof.log.old'"
	expect_same 'the trace that is kept' "$(hash_of mprof.log.old)" "$first"
	second=$(hash_of mprof.log)
	run "$mprof" -m LogMmap -- ls /
	expect_text err "to 'mprof.log.old'"
	expect_same 'the trace that is kept' "$(hash_of mprof.log.old)" "$second"
	run "$mprof" report mprof.log.old
	expect_status 0
	run "$mprof" stat -c counts -o answer -- ls
	first=$(hash_of counts)
	second=$(hash_of answer)
	run "$mprof" stat -c counts -o answer -- ls /
	expect_text err "to 'counts.old'"
	expect_text err "renamed the earlier 'answer' to 'answer.old'"
	expect_same 'the counts that are kept' "$(hash_of counts.old)" "$first"
	expect_same 'the answer that is kept' "$(hash_of answer.old)" "$second"
	first=$(hash_of counts)
	run "$mprof" stat -r 4 -c counts -o answer --json -- ls /
	expect_same 'the counts before several runs' "$(hash_of counts.old)" "$first"
	second=$(hash_of answer)
	run "$mprof" stat --json -o answer -- ls
	expect_same 'the JSON answer that is kept' "$(hash_of answer.old)" "$second"
	first=$(hash_of counts mprof.log)
	run "$mprof" -t 'ls /' -c counts -l mprof.log
	expect_same 'what -t found' "$(hash_of counts.old mprof.log.old)" "$first"
	expect_same 'files' "$(ls | tr '\n' ' ')" \
		'answer answer.old counts counts.old err mprof.log mprof.log.old out '
	run "$mprof"
	expect_text out 'Start with one of these:' # no mprof.counts here
	"$mprof" stat -c mprof.counts -o /dev/null -- ls
	"$mprof" stat -c mprof.counts -o /dev/null -- ls
	run "$mprof"
	expect_no_text out mprof.counts.old
}

# The old trace stays where it is if the new run has nothing to replace it.
test_keep_when_nothing_is_recorded() {
	local before command
	make_static || return
	"$mprof" record -o log -- ls >out 2>err
	"$mprof" record -o log -- ls / >out 2>err
	"$mprof" stat -c counts -o answer -- ls >out 2>err
	before=$(hash_of log log.old counts)
	for command in "record -o log -- ./static" "record -o log -- true" "stat -c counts -o new -- ./static" \
		"test -l log -c counts -- ./static x" "stat -r 3 -c counts -o new -- ./static"; do
		run "$mprof" $command
		expect_status 0
		expect_text err 'recorded; '
		expect_same "what there was, after $command" "$(hash_of log log.old counts)" "$before"
	done
	expect_same files "$(ls | tr '\n' ' ')" \
		'answer counts err log log.old new new.old out static static.c '
	run "$mprof" record -o log -- ./static
	expect_text err "'./static' cannot be recorded: it is statically linked"
	expect_text err "nothing was recorded; 'log' is unchanged"
	run "$mprof" record -o other -- ./static
	expect_text err "nothing was recorded, and 'other' was not created"
	[ ! -e other ] || bad 'a trace was made'
	run "$mprof" stat ./static
	expect_text err "'./static' cannot be recorded"
	expect_no_text err 'was not created'
	run "$mprof" record -o log -- no-such-program
	expect_status 127
	expect_same 'after a program that is not there' "$(hash_of log log.old counts)" "$before"
	[ "$(id -u)" = 0 ] || return 0
	cp "$(command -v id)" privileged
	chown 1:1 privileged
	chmod 4755 privileged
	run "$mprof" record -o log -- ./privileged
	expect_text err "'log' is unchanged"
	expect_same 'after a setuid program' "$(hash_of log log.old counts)" "$before"
}

# malloc is the program's own: the library is loaded, but no call reaches it.
test_keep_when_the_allocator_is_the_programs() {
	local before
	cat >own.c <<'END'
#include <stddef.h>
static char pool[1 << 20];
static size_t used;
void *malloc(size_t n) { void *p = pool + used; used += (n + 15) & ~(size_t)15; return p; }
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t m) { return malloc(n * m); }
void *realloc(void *p, size_t n) { (void)p; return malloc(n); }
int main(void) { return malloc(10) == NULL; }
END
	"${CC:-cc}" -fno-builtin -o own own.c || return
	"$mprof" record -o log -- ls >out 2>err
	"$mprof" record -o log -- ls / >out 2>err
	before=$(hash_of log log.old)
	run "$mprof" record -o log -- ./own
	expect_status 0
	expect_same 'what there was' "$(hash_of log log.old)" "$before"
	expect_text err "restored the earlier 'log'"
	expect_same files "$(ls log* | tr '\n' ' ')" 'log log.old '
}

# Files of others, at the path and at FILE.old.
make_strangers() { # NAME: makes $kind there
	case $kind in
	text) echo 'a text of mine' >"$1" ;;
	empty) : >"$1" ;;
	short) printf mprof >"$1" ;;
	directory) mkdir -p "$1" ;;
	link) ln -s real "$1" ;;
	dangling) ln -s nowhere "$1" ;;
	fifo) mkfifo "$1" ;;
	playback) cp run.play "$1" ;;
	esac
}

look_of() {
	stat -c '%F %s %i %y' "$1"
}

test_keep_strangers() {
	local kind option before
	"$mprof" record -o run.log -- ls >out 2>err
	"$mprof" sort run.log -o run.play >out 2>err
	cp run.log real
	for kind in text empty short directory link dangling fifo playback; do
		make_strangers x
		before=$(look_of x)
		for option in 'record -o x --' 'stat -c x --' 'stat -o x --' 'test -l x --' 'test -c x --'; do
			[ "$option" = 'stat -o x --' ] && case $kind in link | fifo) continue ;; esac
			run "$mprof" $option touch started
			expect_status 2
			expect_one_line_error
			expect_text err "'x'"
		done
		MPROF_CONF=LOG_PATH=./x run "$mprof" -m LogMmap -- touch started
		expect_status 2
		MPROF_CONF="MODE=LogMmap LOG_PATH=./x" LD_PRELOAD=$build/libmprof.so ls . >out 2>err
		expect_text err 'runs unrecorded'
		MPROF_CONF="MODE=Count COUNTS_PATH=./x" LD_PRELOAD=$build/libmprof.so ls . >out 2>err
		expect_text err 'runs unrecorded'
		expect_same "the $kind" "$(look_of x)" "$before"
		rm -rf x
	done
	[ ! -e started ] || bad 'a program was started'
	[ ! -e nowhere ] || bad 'a symbolic link was followed'
	cmp -s real run.log || bad 'what a symbolic link names was changed'
}

test_keep_strangers_named_old() {
	local kind before mine
	"$mprof" record -o run.log -- ls >out 2>err
	"$mprof" sort run.log -o run.play >out 2>err
	"$mprof" stat -c counts -o answer -- ls >out 2>err
	cp run.log real
	mine=$(hash_of run.log counts answer)
	for kind in text empty directory link dangling fifo playback; do
		for name in run.log.old counts.old answer.old; do
			make_strangers $name
		done
		before=$(look_of run.log.old; look_of counts.old; look_of answer.old)
		run "$mprof" record -o run.log -- touch started
		expect_status 2
		expect_text err "'run.log' would be kept as 'run.log.old'"
		run "$mprof" stat -c counts -- touch started
		expect_status 2
		case $kind in link | fifo) ;; *)
			run "$mprof" stat -o answer -- touch started
			expect_status 2 ;;
		esac
		MPROF_CONF="MODE=LogMmap LOG_PATH=./run.log" LD_PRELOAD=$build/libmprof.so ls . >out 2>err
		expect_text err 'runs unrecorded'
		expect_same "the $kind" "$(look_of run.log.old; look_of counts.old; look_of answer.old)" "$before"
		expect_same 'what was recorded' "$(hash_of run.log counts answer)" "$mine"
		rm -rf ./*.old
	done
	[ ! -e started ] || bad 'a program was started'
	cp counts run.log.old
	run "$mprof" record -o run.log -- touch started
	expect_status 2
	cmp -s counts run.log.old || bad 'a counts file made way for a trace'
}

test_keep_files_that_are_named_twice() {
	run "$mprof" stat -c x -o ./x -- touch started
	expect_status 2
	expect_text err 'same file'
	run "$mprof" -t 'touch started' -c x -l ../"${PWD##*/}"/x
	expect_status 2
	expect_text err 'same file'
	run "$mprof" -t 'touch started' -c mprof.log
	expect_status 2
	"$mprof" record -o run.log -- ls >out 2>err
	cp run.log kept
	run "$mprof" stat -o run.log -- touch started
	expect_status 2
	cmp -s run.log kept || bad 'an answer replaced a trace'
	[ ! -e started ] || bad 'the program was started'
	"$mprof" stat -o /dev/stdout -- ls / >both 2>err
	grep -q usr both && grep -q 'Calls to the allocator' both || bad 'program and answer do not share stdout'
}

# Outputs that are made from recordings never replace an input or a recording, and under a default
# name never a file that mprof did not write.
test_keep_inputs() {
	local command before
	"$mprof" record -o run.log -- ls >out 2>err
	"$mprof" record -o other.log -- ls >out 2>err
	"$mprof" stat -c counts -o /dev/null -- ls
	printf '= Start\n@ ./a:[0x1] + 0x10 0x18\n@ ./a:[0x1] - 0x10\n= End\n' >text
	ln -s other.log link
	before=$(hash_of run.log other.log counts text)
	cp run.log run.png
	cp text text.png
	ln -s other.log link.png
	mkdir folder.png
	for command in sort image movie 'compare --quick -a glibc' 'export --to folded'; do
		for output in run.log other.log counts link run.png link.png folder.png; do
			case "$command $output" in
			image*.png | movie*.png) ;;
			image* | movie* | export*folder*) continue ;;
			esac
			run "$mprof" $command run.log -o $output
			expect_status 2
			expect_same "after $command -o $output" \
				"$(hash_of run.log other.log counts text)" "$before"
		done
	done
	cmp -s run.log run.png || bad 'a picture replaced a trace'
	rm -r run.png link.png folder.png
	for command in sort 'image --allocator glibc' 'movie --allocator glibc' 'compare --quick -a glibc'; do
		run "$mprof" $command text.png -o text.png
		expect_status 2
		expect_text err "'text.png' is the input"
	done
	cmp -s text text.png || bad 'an output replaced its input'
	for command in 'check --max-peak 1G --junit' 'check --max-peak 1G --markdown'; do
		run "$mprof" $command other.log run.log
		expect_status 3
	done
	expect_same 'the recordings' "$(hash_of run.log other.log counts text)" "$before"
	for name in run.png run.html run.movie.html run.log.play; do
		echo mine >$name
	done
	for command in sort image movie 'compare --quick -a glibc'; do
		run "$mprof" $command run.log
		expect_status 2
		expect_text err 'was not written by mprof'
	done
	for name in run.png run.html run.movie.html run.log.play; do
		expect_same $name "$(cat $name)" mine
		rm $name
	done
	for command in sort image movie 'compare --quick -a glibc'; do
		run "$mprof" $command run.log
		expect_status 0
		run "$mprof" $command run.log
		expect_status 0
	done
	run "$mprof" export run.log --to folded -o new/dir/x.folded
	expect_status 0
	[ -s new/dir/x.folded ] || bad 'directories are not made for an export'
	run "$mprof" sort run.log -o plays/dir/x.play
	[ -s plays/dir/x.play ] || bad 'directories are not made for a playback file'
	run "$mprof" sort missing.log -o none/dir/x.play
	expect_status 3
	[ ! -e none ] || bad 'the directory of a file that was not made remained'
	ln -s nowhere dangling
	run "$mprof" export run.log --to folded -o dangling
	expect_status 1
	[ -L dangling ] || bad 'a symbolic link was replaced'
}

test_keep_read_only() {
	local before
	"$mprof" record -o log -- ls >out 2>err
	chmod 400 log
	before=$(hash_of log)
	run "$mprof" record -o log -- ls
	expect_status 0
	expect_same 'a trace without permission to write' "$(hash_of log.old)" "$before"
	mkdir closed
	cp log closed/log
	chmod 777 .
	chmod 644 closed/log
	chmod 555 closed
	local nobody='setpriv --reuid 65534 --regid 65534 --clear-groups'
	nobody_can_run || return 0
	run $nobody "$mprof" record -o closed/log -- touch started
	expect_status 2
	expect_text err 'you have no permission to create a file in'
	mkdir -m 1777 sticky
	cp log sticky/log
	chmod 644 sticky/log
	run $nobody "$mprof" record -o sticky/log -- touch started
	expect_status 2
	expect_text err "another user"
	[ ! -e started ] || bad 'the program was started'
	cmp -s log sticky/log && cmp -s log closed/log || bad 'a trace was changed'
}

test_keep_by_hand() {
	local first second
	by_hand() {
		MPROF_CONF="MODE=LogMmap LOG_PATH=./log" LD_PRELOAD=$build/libmprof.so "$@" >out 2>err
	}
	by_hand ls
	first=$(hash_of log)
	by_hand sh -c 'ls /; ls'
	expect_same 'the first trace' "$(hash_of log.old)" "$first"
	second=$(hash_of log)
	by_hand ls
	expect_same 'the second trace' "$(hash_of log.old)" "$second"
	expect_same files "$(ls log* | tr '\n' ' ')" 'log log.old '
}

test_keep_when_mprof_is_killed() {
	local before signal
	make_static || return
	"$mprof" record -o log -- ls >out 2>err
	before=$(hash_of log)
	for signal in KILL TERM INT HUP; do
		# If nothing was recorded, whichever process dies: the old one is in its place.
		rm -f ready stop
		printf '#include <unistd.h>\n#include <fcntl.h>\nint main(void) { close(creat("ready", 0600)); for (int i = 0; i < 500 && access("stop", 0); i++) usleep(10000); return 0; }\n' >wait.c
		"${CC:-cc}" -static -o wait wait.c || return
		perl -e '$SIG{INT} = "DEFAULT"; setpgrp; exec @ARGV' "$mprof" record -o log -- ./wait 2>err &
		wait_for test -e ready
		if [ $signal = KILL ]; then kill -KILL $!; else kill -$signal -- -$!; fi
		wait $!
		: >stop
		expect_same "the old trace after SIG$signal" "$(hash_of log)" "$before"
		# If something was recorded, the old one is kept beside it.
		rm -f ready stop log.old
		cp log copy
		perl -e '$SIG{INT} = "DEFAULT"; setpgrp; exec @ARGV' "$mprof" record -o log -- \
			perl -e 'my @a = map { "x" x $_ } 1 .. 1000; open F, ">ready"; close F;
				for (1 .. 500) { last if -e "stop"; select undef, undef, undef, 0.01 }' 2>err &
		wait_for test -e ready
		if [ $signal = KILL ]; then kill -KILL $!; else kill -$signal -- -$!; fi
		wait $!
		: >stop
		expect_same "the kept trace after SIG$signal" "$(hash_of log.old)" "$before"
		run "$mprof" report --json log
		expect_status 0
		[ "$(json out .events)" -ge 1000 ] || bad "only $(json out .events) events after SIG$signal"
		sleep 0.1
		mv -f copy log
		rm -f log.*
	done
}

# In any order, the old trace and both new ones exist afterwards.
test_keep_with_runs_that_start_at_once() {
	local i before
	"$mprof" record -o first -- ls >out 2>err
	before=$(hash_of first)
	for ((i = 0; i < 5; i++)); do
		rm -f log*
		cp first log
		for j in 1 2 3 4; do
			MPROF_CONF="MODE=LogMmap LOG_PATH=./log" LD_PRELOAD=$build/libmprof.so \
				perl -e 'my @a = map { "x" x $_ } 1 .. 1000;
					for (1 .. 500) { last if -e "stop"; select undef, undef, undef, 0.01 }' &
		done
		wait_for sh -c 'test $(ls log* | grep -vc new) = 5'
		: >stop
		wait
		rm stop
		expect_same 'the old trace' "$(hash_of log.old)" "$before"
		for file in log*; do
			run "$mprof" report --json "$file"
			expect_status 0
			[ "$file" = log.old ] || [ "$(json out .events)" -ge 1000 ] || bad "events are missing in $file"
		done
	done
}

test_keep_makes_directories() {
	run "$mprof" record -o new/dir/x.log -- ls
	expect_status 0
	[ -s new/dir/x.log ] || bad 'no trace'
	run "$mprof" stat -c a/b/counts -o c/d/answer -- ls
	expect_status 0
	[ -s a/b/counts ] && [ -s c/d/answer ] || bad 'no counts or answer'
	run "$mprof" -t 'ls /' -c e/f/counts -l "$PWD/g/h/../log"
	expect_status 0
	[ -s e/f/counts ] && [ -s g/log ] || bad 'no counts or trace of -t'
	run "$mprof" record -o new/dir/x.log/y/z.log -- touch started
	expect_status 2
	run "$mprof" record -o further/on/ -- touch started
	expect_status 2
	[ ! -e started ] || bad 'the program was started'
}
