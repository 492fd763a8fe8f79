# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# dumps.sh - a profile while its program runs: dumps on a signal and every N seconds,
# and mprof ctl.

# Keeps 1000 bytes for each byte that it reads, and says so.
steps() {
	cat >steps.c <<'END'
#include <stdlib.h>
#include <unistd.h>
static void *keep(int n) { return malloc(n); }
static void *early;
int main(void)
{
	char c;
	early = keep(500);
	write(1, "r", 1);
	while (read(0, &c, 1) == 1) {
		if (c == 'f')
			free(early);
		else
			keep(1000);
		write(1, "d", 1);
	}
	return 7;
}
END
	cc -g -O1 -fno-inline -fno-builtin -o steps steps.c 2>err || bad 'steps.c does not compile'
}

begin_steps() { # COMMAND...
	rm -f in said
	mkfifo in
	: >said
	"$@" <in >said 2>steps.err &
	pid=$!
	exec 9>in
	wait_for test -s said
}

step() { # LETTER
	local before
	before=$(wc -c <said)
	printf %s "$1" >&9
	wait_for sh -c "[ \$(wc -c <said) -gt $before ]"
}

end_steps() {
	local status=0
	exec 9>&-
	wait "$pid" || status=$?
	expect_same 'how it ended' "$status" 7
}

live_of() { # FILE
	"$mprof" report leaks --json "$1" 2>err | jq .total.figures.leaked
}

test_dump_by_ctl() {
	steps
	begin_steps env MPROF_CONF='MODE=Profile PROFILE_PATH=p' LD_PRELOAD="$build/libmprof.so" ./steps
	run "$mprof" ctl $pid dump
	expect_status 0
	expect_same 'its name' "$(cat out)" p.1
	step k
	step k
	run "$mprof" ctl $pid dump
	expect_same 'the next one' "$(cat out)" p.2
	run "$mprof" ctl $pid dump -o named
	run "$mprof" ctl $pid status
	expect_text out "process $pid: recording, profile p"
	expect_text out '3 calls of 1 thread'
	expect_text out 'live 2.4 KiB'
	step k
	end_steps
	expect_same 'figures' "$(live_of p.1) $(live_of p.2) $(live_of named) $(live_of p)" '500 2500 2500 3500'
	run "$mprof" diff --value leaked p.1 p.2
	expect_text out keep
	[ ! -s steps.err ] || bad "something was printed: $(cat steps.err)"
	run "$mprof" ctl $pid dump
	expect_status 3
	expect_one_line_error
	expect_text err 'it is not running'
	run "$mprof" ctl $$ dump
	expect_status 3
	expect_text err 'is not being profiled'
	run "$mprof" ctl $$ dmp
	expect_status 2
	expect_text err "invalid action 'dmp': expected dump, status, pause or resume"
}

# Paused, no new blocks; what lived is still seen to end.
test_dump_pause() {
	local conf
	steps
	for conf in MODE=Profile 'MODE=Sample SAMPLE_CALLS=1'; do
		rm -f p
		begin_steps env MPROF_CONF="$conf PROFILE_PATH=p" LD_PRELOAD="$build/libmprof.so" ./steps
		step k
		run "$mprof" ctl $pid pause
		expect_status 0
		run "$mprof" ctl $pid status
		expect_text out paused
		step k
		step f
		step k
		run "$mprof" ctl $pid resume
		step k
		end_steps
		expect_same "$conf: live" "$(live_of p)" 2000
		expect_same "$conf: calls" "$("$mprof" report hot --json p | jq .total.figures.calls)" 3
	done
}

test_dump_on_signal() {
	local n
	steps
	begin_steps env MPROF_CONF='MODE=Profile DUMP_SIGNAL=USR1 DUMP=folded,text TEXT_PATH=t.%n.%p FOLDED_PATH=f AT_EXIT=folded' \
		LD_PRELOAD="$build/libmprof.so" ./steps
	for n in 1 2 3; do
		kill -USR1 $pid
		wait_for test -e "t.$n.$pid"
		step k
	done
	end_steps
	for n in 1 2 3; do
		expect_text "t.$n.$pid" "dump $n"
		expect_same "live in dump $n" "$(sed -n 's/^  Live: *\([0-9,]*\) bytes.*/\1/p' "t.$n.$pid" | tr -d ,)" $((500 + 1000 * (n - 1)))
		expect_same "folded $n" "$(sed 's/.*;keep //' f.$n | awk '{n += $1} END {print n}')" "$n"
	done
	expect_same 'at exit' "$(sed 's/.*;keep //' f | awk '{n += $1} END {print n}')" 4
	[ ! -s steps.err ] || bad "something was printed: $(cat steps.err)"
	for n in KILL 11 XYZ 9 65; do
		run env MPROF_CONF="MODE=Profile DUMP_SIGNAL=$n" LD_PRELOAD="$build/libmprof.so" true
		expect_text err "DUMP_SIGNAL='$n': expected USR1, USR2, HUP, 34"
		run "$mprof" profile --dump-signal=$n -- true
		expect_status 2
		expect_one_line_error
	done
	run "$mprof" profile --dump-signal=SIGUSR2 -o other -- true
	expect_status 0
	# The program's own handler stays.
	run env MPROF_CONF='MODE=Profile DUMP_SIGNAL=USR1' LD_PRELOAD="$build/libmprof.so" \
		bash -c 'trap "echo mine" USR1; kill -USR1 $$; true'
	expect_text out mine
}

# Eight threads that call all the time, and a handler that writes meanwhile.
test_dump_of_threads() {
	cat >busy.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void *churn(void *arg) { for (int i = 0; i < 300000; i++) free(malloc(100)); return arg; }
int main(void)
{
	pthread_t t[8];
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, churn, NULL);
	for (int i = 0; i < 200; i++) {
		kill(getpid(), 10);
		usleep(1000);
	}
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	return 0;
}
END
	sed -i 's/<stdlib.h>/<signal.h>\n#include <stdlib.h>/' busy.c
	cc -g -O1 -fno-inline -fno-builtin -pthread -o busy busy.c || bad 'busy.c does not compile'
	run env MPROF_CONF='MODE=Profile DUMP_SIGNAL=10 DUMP_EVERY=1 AT_EXIT=folded' LD_PRELOAD="$build/libmprof.so" ./busy
	expect_status 0
	expect_same 'no call is lost' "$(sed -n 's/.*;churn //p' malloc.prof.*)" 2400000
	[ "$(find . -name 'mprof.*.txt.*' | wc -l)" -ge 2 ] || bad 'hardly a dump'
	[ -z "$(find . -name '*.tmp')" ] || bad 'half a file was left'
}

test_dump_every() {
	cat >long.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < 100000; i++) {
		free(malloc(100));
		usleep(1000);
		if (!access(argv[1], F_OK))
			return argc != 2;
	}
	return 1;
}
END
	cc -g -O1 -fno-builtin -o long long.c || bad 'long.c does not compile'
	run env MPROF_CONF='MODE=Profile DUMP_EVERY=1 TEXT_PATH=t.%n' LD_PRELOAD="$build/libmprof.so" ./long t.3
	expect_status 0
	expect_same 'dumps' "$(echo t.*)" 't.1 t.2 t.3'
	run "$mprof" profile --sample-calls=5 --dump-every=1 --dump=folded -o p -- ./long ./nothing.1 &
	wait_for sh -c 'ls malloc.prof.*.2'
	: >nothing.1
	wait
	grep -q 'main ' malloc.prof.*.1 || bad 'no stack in a dump'
}
