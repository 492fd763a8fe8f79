# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# dumps.sh - profiles of a running program: dumps on a signal and every N seconds, and mprof ctl.

# A clear drops the figures of processes, and of programs before an exec, that have ended.
test_dump_clear_of_what_ended() {
	local conf
	steps
	for conf in MODE=Profile 'MODE=Sample SAMPLE_CALLS=1'; do
		rm -f p
		begin_steps env MPROF_CONF="$conf PROFILE_PATH=p" LD_PRELOAD="$build/libmprof.so" \
			sh -c './steps </dev/null; exec ./steps'
		wait_for sh -c '[ $(wc -c <said) = 2 ]'
		step k
		[ "$("$mprof" report hot --json p | jq .total.figures.calls)" -gt 2 ] || bad 'nothing to clear'
		run "$mprof" ctl $pid clear
		step k
		run "$mprof" ctl $pid dump
		step k
		end_steps
		expect_same "$conf: live" "$(live_of p) $(live_of p.1)" '2000 1000'
		expect_same "$conf: calls" "$("$mprof" report hot --json p | jq .total.figures.calls)" 2
		[ "${conf#*SAMPLE}" != "$conf" ] ||
			expect_same 'calls of malloc' "$("$mprof" report --json p | jq .functions.malloc.calls)" 2
		rm -f p.1
	done
}

# Keeps 1000 bytes for each byte that it reads, and prints one; w: a worker
# keeps 4000, and ends; x: is killed.
steps() {
	cat >steps.c <<'END'
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *keep(int n) { return malloc(n); }
static void *early;
static void work(char how)
{
	if (!fork()) {
		keep(4000);
		if (how == 'x')
			raise(9);
		_exit(0);
	}
	wait(NULL);
}
int main(void)
{
	char c;
	early = keep(500);
	write(1, "r", 1);
	while (read(0, &c, 1) == 1) {
		if (c == 'f')
			free(early);
		else if (c == 'w' || c == 'x')
			work(c);
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

# A server that made no call for a long time goes on all the same, until it is looked at.
test_idle_time_of_a_process_that_runs() {
	cat >idler.c <<'END'
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static void *kept[800];
static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}
__attribute__((noinline)) static void grow(int i)
{
	kept[i] = malloc(1000);
}
int main(void)
{
	const long long begun = now();
	for (int i = 0; i < 800; i++) {
		grow(i);
		usleep(i % 10 ? 0 : 100);
	}
	usleep((now() - begun) / 500);
	raise(SIGSTOP);
	return !kept[0];
}
END
	compile idler
	MPROF_CONF='MODE=Profile PROFILE_PATH=p' LD_PRELOAD="$build/libmprof.so" ./idler &
	pid=$!
	MPROF_CONF='MODE=LogMmap LOG_PATH=log' LD_PRELOAD="$build/libmprof.so" ./idler &
	wait_for grep -q '^State:.*stopped' /proc/$pid/status
	wait_for grep -q '^State:.*stopped' /proc/$!/status
	run "$mprof" ctl $pid dump
	expect_status 0
	for file in p p.1 log; do
		run "$mprof" report $file
		expect_no_text out 'growing to the end'
		expect_no_text out 'still growing'
		expect_no_text out 'throughout'
	done
	kill -KILL $pid $!
	run "$mprof" report p.1
	expect_words out '781 KiB was live at the end, growing until'
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
	run "$mprof" ctl $pid dump -o 'so named'
	expect_text err "next: mprof report 'so named'"
	mv 'so named' named
	run "$mprof" ctl $pid status
	expect_text out "process $pid: recording, profile p"
	expect_text out '3 calls of 1 thread'
	expect_text out 'live 2.4 KiB'
	run "$mprof" report p
	expect_text out "  What grows: mprof ctl $pid dump, later again, then mprof diff of both"
	run "$mprof" report leaks p
	expect_text out "What grows: mprof ctl $pid dump"
	step k
	# Of a profile that was deleted, a dump is all that remains.
	ln p kept
	rm p
	run "$mprof" ctl $pid dump
	expect_same 'of a deleted profile' "$(cat out)" p.3
	run "$mprof" ctl $pid pause
	expect_status 0
	run "$mprof" ctl $pid status
	expect_text out "process $pid: paused, profile p, which was deleted ("
	run "$mprof" ctl $pid resume
	run "$mprof" ctl $pid status
	expect_text out "process $pid: recording, profile p, which was deleted ("
	mv kept p
	end_steps
	expect_same 'figures' "$(live_of p.1) $(live_of p.2) $(live_of named) $(live_of p.3) $(live_of p)" '500 2500 2500 3500 3500'
	run "$mprof" diff --value leaked p.1 p.2
	expect_text out keep
	run "$mprof" report p.2
	expect_no_text out 'What grows'
	run "$mprof" diff p.1 p.2
	expect_text out 'Live memory rose 400 %'
	expect_text out 'live by function: 1 grown.'
	expect_no_text out leaked
	run "$mprof" diff --value peak p.1 p.2
	expect_text out 'peak by function: 1 grown.'
	run "$mprof" profile -q -o again -- ./steps </dev/null
	run "$mprof" diff p.1 again
	expect_text out 'peak by function: '
	run "$mprof" report p.1
	expect_words out 'was still running when this was written; the recording ends '
	run "$mprof" merge p.2 -o sum
	expect_same modes "$(stat -c %a p p.1 sum | tr '\n' ' ')" '600 600 600 '
	run "$mprof" report sum
	expect_words out 'was still running when this was written; the recording ends '
	for f in 'p.1 p.2' 'p p.1'; do
		run "$mprof" merge $f -o twice
		expect_status 3
		expect_words err 'both contain process'
	done
	# Drawn together, in the order of time.
	run "$mprof" image --json -o dumps.svg p named p.1 p.2
	expect_status 0
	expect_same 'a point for each dump' "$(json out .points)" 4
	expect_same 'their figures' "$(json out '[.charts[] | select(.title == "Memory") | .curves[0] | (.most, .last) | floor]' | tr -d ' \n')" '[3500,3500]'
	expect_same 'sizes over time' "$(json out '[.charts[].title | select(. == "Live blocks by size")] | length')" 1
	run "$mprof" profile -q -o other -- true
	run "$mprof" image -o dumps.svg p.1 other
	expect_status 2
	expect_text err "'other' is of another run than 'p.1'"
	run "$mprof" image -o dumps.svg steps p.1
	expect_status 2
	expect_text err "'steps' is not a profile of mprof"
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
	expect_text err "invalid action 'dmp': expected dump, status, pause, resume or clear"
	run "$mprof" ctl dump 1
	expect_status 2
	expect_text err 'the process comes first: mprof ctl 1 dump'
	run "$mprof" ctl 1 dump x
	expect_status 2
	expect_text err "unexpected argument 'x': expected one action"
	run "$mprof" ctl 1 -o x pause
	expect_status 2
	expect_text err '--output belongs to dump'
}

# Blocks that are live at both times have the same samples, so they add no uncertainty.
test_diff_of_two_dumps_of_samples() {
	cat >steps.c <<'END'
#include <stdlib.h>
#include <unistd.h>
static void *kept[20000];
static void *cache(void) { return malloc(1000); }
static void *leak(void) { return malloc(1000); }
static void *once(void) { return malloc(1000); }
int main(void)
{
	char c;
	for (int i = 0; i < 20000; i++) {
		kept[i] = cache();
		leak();
		once();
	}
	write(1, "r", 1);
	while (read(0, &c, 1) == 1) {
		for (int i = 0; i < 10000; i++)
			leak();
		for (int i = 0; i < 60000; i++) {
			free(kept[i % 20000]);
			kept[i % 20000] = cache();
		}
		write(1, "d", 1);
	}
	return 7;
}
END
	cc -g -O1 -fno-inline -fno-builtin -o steps steps.c || bad 'steps.c does not compile'
	begin_steps env MPROF_CONF='MODE=Sample SEED=1 PROFILE_PATH=p' LD_PRELOAD="$build/libmprof.so" ./steps
	run "$mprof" ctl $pid dump
	step k
	run "$mprof" ctl $pid dump
	end_steps
	run "$mprof" diff --all --json p.1 p.2
	expect_same 'what grew' "$(json out '[.rows[] | select(.change == "grown") | .function] | join(" ")')" leak
	expect_same 'what may have' "$(json out '[.rows[] | select(.change == "unclear") | .function] | join(" ")')" cache
	expect_same 'ranges that overlap' "$(json out '.rows[] | select(.function == "leak") |
		.range_before[1] > .range_after[0]')" true
	run "$mprof" diff p.1 p.2
	expect_words out 'of one run, they may overlap where it changed'
}

# While paused, no new blocks count; frees of older blocks do.
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
		run "$mprof" report p
		expect_text out 'Paused at times (--paused, mprof ctl): blocks allocated then are not counted.'
		expect_same "$conf: pauses" "$("$mprof" report --json p | jq .pauses)" 1
		expect_same "$conf: calls" "$("$mprof" report hot --json p | jq .total.figures.calls)" 3
	done
}

test_dump_on_signal() {
	local n
	steps
	begin_steps env MPROF_CONF='MODE=Profile DUMP_SIGNAL=USR1 DUMP=folded,text,callgrind TEXT_PATH=t.%n.%p FOLDED_PATH=f CALLGRIND_PATH=c.%n AT_EXIT=folded' \
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
		expect_text "c.$n" "desc: Trigger: dump $n"
		expect_same "callgrind $n" "$(sed -n 's/^totals: //p' "c.$n" | cut -d' ' -f 1,6)" \
			"$(sed -nE 's/^  Live: *([0-9,]*) bytes.*/\1/p; s/^  Allocated: .* in ([0-9,]*) calls?/\1/p' "t.$n.$pid" | tr -d , | tr '\n' ' ' | sed 's/ $//')"
		expect_same "folded $n" "$(sed 's/.*;keep //' f.$n | awk '{n += $1} END {print n}')" "$n"
	done
	expect_same 'at exit' "$(sed 's/.*;keep //' f | awk '{n += $1} END {print n}')" 4
	[ ! -s steps.err ] || bad "something was printed: $(cat steps.err)"
	for n in KILL 11 XYZ 9 65; do
		run env MPROF_CONF="MODE=Profile DUMP_SIGNAL=$n" LD_PRELOAD="$build/libmprof.so" true
		expect_text err "invalid DUMP_SIGNAL '$n': expected USR1, USR2, HUP, INT"
		run "$mprof" profile --dump-signal=$n -- true
		expect_status 2
		expect_one_line_error
	done
	run "$mprof" profile --dump-signal=SIGUSR2 -o other -- true
	expect_status 0
	# The program's own handler stays in place.
	run env MPROF_CONF='MODE=Profile DUMP_SIGNAL=USR1' LD_PRELOAD="$build/libmprof.so" \
		bash -c 'trap "echo mine" USR1; kill -USR1 $$; true'
	expect_text out mine
	cat >handles.c <<'END'
#include <signal.h>
static void handle(int n) { (void)n; }
int main(void) { signal(SIGUSR1, handle); }
END
	compile handles
	for n in 1 2; do
		run "$mprof" profile --dump-signal USR$n -o handled -- ./handles
		expect_same "remarks of USR$n" \
			"$(grep -c 'the program handles signal USR1 itself, so it writes no dump on it' err)" $((2 - n))
	done
}

# Eight threads allocate constantly while a handler writes.
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
	run "$mprof" profile -q --dump-after 2 -o after -- ./long ./mprof.after.2 &
	wait_for sh -c 'ls mprof.*.txt.1'
	run env MPROF_CONF='MODE=Profile DUMP_AFTER=2 DUMP_EVERY=1 TEXT_PATH=a.%n' \
		LD_PRELOAD="$build/libmprof.so" ./long a.2
	expect_same 'dumps' "$(echo a.*)" 'a.1 a.2'
	expect_same 'dumps after 2 s' "$(echo mprof.*.txt.*)" "$(echo mprof.*.txt.1)"
	: >mprof.after.2
	wait
	run "$mprof" profile --sample-calls=5 --dump-every=1 --dump=folded -o p -- ./long ./nothing.1 &
	wait_for sh -c 'ls malloc.prof.*.2'
	: >nothing.1
	wait
	grep -q 'main ' malloc.prof.*.1 || bad 'no stack in a dump'
}

# A clear drops earlier figures, also of threads that make no call at that time.
test_dump_clear() {
	local conf
	steps
	for conf in MODE=Profile 'MODE=Sample SAMPLE_CALLS=1'; do
		rm -f p
		begin_steps env MPROF_CONF="$conf PROFILE_PATH=p" LD_PRELOAD="$build/libmprof.so" ./steps
		step k
		step k
		run "$mprof" ctl $pid pause
		run "$mprof" ctl $pid clear
		expect_status 0
		run "$mprof" ctl $pid status
		expect_text out paused
		step k
		run "$mprof" ctl $pid resume
		step f
		step k
		end_steps
		expect_same "$conf: live" "$(live_of p)" 1000
		run "$mprof" report p
		expect_text out 'Cleared while it ran (mprof ctl): the totals are of what followed.'
		expect_text out 'Paused at times'
		[ "${conf#*SAMPLE}" != "$conf" ] || expect_text out '1 call allocated 1,000 bytes.'
		expect_same "$conf: calls" "$("$mprof" report hot --json p | jq .total.figures.calls)" 1
		expect_same "$conf: peak" "$("$mprof" report --json p | jq .peak.bytes)" 1000
	done
	cat >turns.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_barrier_t turn;
static void *box[4][1000];
static void *made(int i) { return malloc(100 + i % 7); }
static void *work(void *arg)
{
	long me = (long)arg;
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 1000; i++)
			box[me][i] = made(i);
		pthread_barrier_wait(&turn);
		for (int i = round * 500; i < 1000; i++)
			free(box[(me + 1) % 4][i]);
		pthread_barrier_wait(&turn); /* the main thread asks for a clear */
		pthread_barrier_wait(&turn);
	}
	return NULL;
}
int main(void)
{
	pthread_t t[4];
	char c;
	pthread_barrier_init(&turn, NULL, 5);
	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int round = 0; round < 2; round++) {
		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
		write(1, "r", 1);
		if (read(0, &c, 1) != 1)
			return 1;
		pthread_barrier_wait(&turn);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return 7;
}
END
	cc -g -O1 -fno-inline -fno-builtin -pthread -o turns turns.c || bad 'turns.c does not compile'
	begin_steps env MPROF_CONF='MODE=Profile PROFILE_PATH=t' LD_PRELOAD="$build/libmprof.so" ./turns
	run "$mprof" ctl $pid pause
	run "$mprof" ctl $pid resume
	run "$mprof" ctl $pid clear
	run "$mprof" report t
	expect_no_text out 'Paused'
	step g
	printf g >&9
	end_steps
	"$mprof" report hot --json --by function t | jq -c '.rows[] | select(.function == "made") | .figures | [.calls, .live]' >out
	expect_same 'calls and live bytes of the second round' "$(cat out)" "[4000,$((4 * $(awk 'BEGIN {for (i = 0; i < 500; i++) n += 100 + i % 7; print n}')))]"
}

# Grows to 40 MB and shrinks again, twice, in steps; then recurses.
grows() {
	cat >grows.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *kept[400];
static void *keep(void) { return memset(malloc(100000), 1, 100000); }
static int deep(int n)
{
	volatile char room[10000];
	room[0] = (char)n;
	free(malloc(10));
	return n ? deep(n - 1) + room[0] : 0;
}
int main(int argc, char **argv)
{
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 400; i++)
			kept[i] = keep();
		usleep(1100000);
		free(malloc(1));
		usleep(20000);
		for (int i = 0; i < 400; i++)
			free(kept[i]);
		free(malloc(1));
		usleep(20000);
		free(malloc(1));
	}
	return argc > 1 ? deep(atoi(argv[1])) : 0;
}
END
	cc -g -O1 -fno-inline -fno-builtin -o grows grows.c || bad 'grows.c does not compile'
}

first_lines() {
	head -q -n 1 d.* | sed 's/^.*, dump //' | tr '\n' '|'
}

# in_group LINE DIRECTORY LIMIT_FILE USED_FILE CACHED COMMAND...: runs a command that seems to be in a control group with a
# limit of 1 MB, of which 900,000 bytes are used.
in_group() {
	rm -f d.*
	printf '%s\n' "$1" >line
	run unshare -m sh -ec 'mount -t tmpfs none /sys/fs/cgroup
		mkdir -p "/sys/fs/cgroup/$1"
		cd "/sys/fs/cgroup/$1"
		echo 1000000 >"$2"
		echo 900000 >"$3"
		printf "anon 1\n%s\n" "$4" >memory.stat
		cd "$OLDPWD"
		mount --bind line /proc/$$/cgroup
		shift 4
		exec "$@"' "$@"
	expect_status 0
}

test_dump_of_control_group() {
	[ "$(id -u)" = 0 ] && unshare -m mount -t tmpfs none /sys/fs/cgroup 2>/dev/null || return 0
	cat >waits.c <<'END'
#include <stdlib.h>
#include <unistd.h>
int main(void) { for (int i = 0; i < 5; i++) free(malloc(1)), usleep(11000); }
END
	compile waits
	set -- env MPROF_CONF='MODE=Profile TEXT_PATH=d.%n DUMP_SYSTEM=80%' LD_PRELOAD="$build/libmprof.so" ./waits
	in_group '0::/a/b' a memory.max memory.current 'inactive_file 50000' "$@"
	expect_text d.1 'dump 1 (memory of the control group above 800000 bytes)'
	in_group '0::/a/b' a memory.max memory.current 'inactive_file 150000' "$@"
	expect_same 'what it may drop' "$(echo d.*)" 'd.*'
	# As in a container of Kubernetes, after the long names of other groups.
	in_group "$(seq 900; echo 5:memory:/gone)" memory memory.limit_in_bytes memory.usage_in_bytes 'total_inactive_file 50000' "$@"
	expect_text d.1 'dump 1 (memory of the control group above 800000 bytes)'
	# A recording keeps the limit, too.
	set -- "$mprof" record -o log -- ./waits
	for line in '0::/a/b a memory.max' '0::/ . memory.max' '4:memory:/gone memory memory.limit_in_bytes'; do
		# shellcheck disable=SC2086 # three words
		in_group $line used '' "$@"
		run "$mprof" report log
		expect_words out "The control group's memory limit was 977 KiB."
		run "$mprof" report --all log
		expect_text out 'Memory limit of the control group: 977 KiB.'
		expect_same limit "$("$mprof" report --json log | jq .group_limit_bytes)" 1000000
	done
	in_group '0::/a/b' a memory.high used '' "$@"
	expect_same 'no limit' "$("$mprof" report --json log | jq .group_limit_bytes)" 0
}

test_dump_at_limits() {
	local key
	grows
	for key in REQUESTED RSS VIRTUAL; do
		rm -f d.*
		run env MPROF_CONF="MODE=Profile TEXT_PATH=d.%n DUMP_$key=$([ $key = VIRTUAL ] && echo 2T || echo 30M)" LD_PRELOAD="$build/libmprof.so" ./grows
		expect_status 0
		case $key in
		VIRTUAL) expect_same 'never' "$(echo d.*)" 'd.*' ;;
		REQUESTED) expect_same "$key" "$(first_lines)" '1 (requested memory above 31457280 bytes)|2 (requested memory above 31457280 bytes)|' ;;
		RSS) expect_text d.1 '1 (resident memory above 31457280 bytes)' ;;
		esac
	done
	rm -f d.*
	run env MPROF_CONF='MODE=Sample TEXT_PATH=d.%n DUMP_VIRTUAL=1K DUMP_SYSTEM=0%' LD_PRELOAD="$build/libmprof.so" ./grows
	expect_text d.1 'virtual memory above 1024 bytes'
	for key in x 101% 5X -1 ''; do
		run "$mprof" profile --dump-rss="$key" -- true
		expect_status 2
		expect_one_line_error
	done
	run env MPROF_CONF='MODE=Profile DUMP_RSS=many' LD_PRELOAD="$build/libmprof.so" true
	expect_text err "invalid DUMP_RSS 'many': expected a size or percentage, such as 500M or 80%"
}

test_dump_at_calls() {
	grows
	run env MPROF_CONF='MODE=Profile TEXT_PATH=d.%n DUMP_CALLS=250' LD_PRELOAD="$build/libmprof.so" ./grows
	expect_same 'dumps' "$(first_lines)" '1 (number of calls)|2 (number of calls)|3 (number of calls)|'
	expect_text d.1 'in 250 calls'
	expect_text d.3 'in 750 calls'
}

test_dump_at_stacks_and_peaks() {
	grows
	run env MPROF_CONF='MODE=Profile TEXT_PATH=d.%n DUMP_STACK=1M' LD_PRELOAD="$build/libmprof.so" ./grows 50
	expect_same 'a small stack' "$(echo d.*)" 'd.*'
	run env MPROF_CONF='MODE=Profile TEXT_PATH=d.%n DUMP_STACK=1M' LD_PRELOAD="$build/libmprof.so" ./grows 150
	expect_text d.1 '1 (stack of a thread above 1048576 bytes)'
	rm -f d.*
	run env MPROF_CONF='MODE=Profile TEXT_PATH=d.%n DUMP_PEAK=50' LD_PRELOAD="$build/libmprof.so" ./grows
	expect_text d.1 '1 (new peak)'
	[ ! -e d.9 ] || bad 'too many dumps'
}

# Figures and histograms over time in one table: each dump appends a line, and so does the end.
test_dump_stat() {
	local n bins
	cat >zeros.c <<'END2'
#include <stdlib.h>
static void *keep(int n) { return malloc(n); }
int main(void)
{
	for (int i = 0; i < 100; i++) {
		free(keep(0));
		keep(100);
		keep(1000);
	}
	return 0;
}
END2
	cc -g -O1 -fno-inline -fno-builtin -o zeros zeros.c || bad 'zeros.c does not compile'
	run env MPROF_CONF='MODE=Profile DUMP=stat DUMP_CALLS=100 AT_EXIT=stat STAT_PATH=s' LD_PRELOAD="$build/libmprof.so" ./zeros
	expect_status 0
	expect_same 'titles' "$(head -1 s)" "$(printf 'seconds\tcalls\tbytes\tlive_bytes\tpeak_bytes\tsizes\tlive_sizes')"
	expect_same 'calls' "$(tail -n +2 s | cut -f 2 | tr '\n' ' ')" '100 200 300 '
	expect_same 'bytes, live, peak at the end' "$(tail -1 s | cut -f 3-5)" "$(printf '110000\t110000\t110000')"
	for n in 6 7; do
		expect_same 'bins' "$(tail -n +2 s | cut -f $n | awk -F, '{print NF}' | uniq)" 64
	done
	bins=$(tail -1 s | cut -f 6)
	expect_same 'malloc(0), 64 to 127, 512 to 1023' "$(echo "$bins" | cut -d, -f 1,8,11)" 100,100,100
	expect_same 'all sizes are calls' "$(tail -n +2 s | cut -f 6 | awk -F, '{n = 0; for (i = 1; i <= NF; i++) n += $i; print n}' | tr '\n' ' ')" '100 200 300 '
	expect_same 'live sizes' "$(tail -1 s | cut -f 7 | cut -d, -f 1,8,11)" 0,100,100
	cut -f 1 s | tail -n +2 | sort -n -c || bad "times: $(cut -f 1 s)"
	run "$mprof" profile -q -o p --dump stat --dump-every 1 --at-exit stat -- ./zeros
	expect_lines mprof.*.stat 2
}

# Stacks without live blocks are omitted on request.
test_dump_hide_zero_live() {
	cat >half.c <<'END2'
#include <stdlib.h>
static void *kept(int n) { return malloc(n); }
static void *gone(int n) { return malloc(n); }
int main(void) { for (int i = 0; i < 10; i++) { kept(100); free(gone(100)); } return 0; }
END2
	cc -g -O1 -fno-inline -fno-builtin -o half half.c || bad 'half.c does not compile'
	run "$mprof" profile -q -o p --at-exit folded --hide-zero-live -- ./half
	grep -q ';kept 10$' malloc.prof.* || bad "kept is missing: $(cat malloc.prof.*)"
	! grep -q 'gone' malloc.prof.* || bad 'gone is there'
	run "$mprof" export --to folded --value calls p
	expect_text out gone
	for view in calls total live peak; do
		"$mprof" export --to folded --hide-zero-live --value $view p >out 2>err
		! grep -q gone out || bad "$view: gone is there"
		grep -q ';kept 10' out || bad "$view: kept is missing"
	done
	"$mprof" export --to callgrind --hide-zero-live p >out 2>err || bad "callgrind: $(cat err)"
	expect_no_text out gone
	"$mprof" report hot --by function --hide-zero-live --json p >out 2>err
	expect_same 'rows' "$(jq -c '[.rows[] | .function] | index("gone")' out)" null
}

# The clock is described in the file. A program that joins it after exec may have measured another
# shift; its times must still follow the file.
test_dump_stat_by_the_clock_of_the_file() {
	cat >patch.c <<'END2'
#include <mprof/format.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct mprof_file_header h;
	const size_t fixed = offsetof(struct mprof_file_header, tail);
	int fd = open(argv[1], O_RDWR);
	if (pread(fd, &h, sizeof(h), 0) != sizeof(h))
		return 1;
	h.clock_shift++;
	h.start_ticks /= 2;
	h.clock_hz /= 2;
	return pwrite(fd, &h, fixed, 0) != (ssize_t)fixed;
}
END2
	cc -D_GNU_SOURCE -I"$root/include" -o patch patch.c || bad 'patch.c does not compile'
	"$mprof" profile -q -o file --at-exit stat -- sh -c 'while [ ! -e go ]; do sleep 0.02; done; exec true' >out 2>err &
	wait_for test -s file
	wait_for ./patch file
	touch go
	wait
	for file in mprof.*.stat; do
		expect_same "seconds of $file" "$(awk 'NR > 1 && $1 > 60' "$file")" ''
	done
}

# A server replaces its workers: what they left is not live, and does not make it grow.
test_dump_of_replaced_workers() {
	local conf
	steps
	for conf in MODE=Profile 'MODE=Sample SAMPLE_CALLS=1'; do
		rm -f p p.?
		begin_steps env MPROF_CONF="$conf PROFILE_PATH=p" LD_PRELOAD="$build/libmprof.so" ./steps
		step w
		run "$mprof" ctl $pid dump
		step w
		step w
		run "$mprof" ctl $pid dump
		run "$mprof" ctl $pid status
		expect_text out 'live 500 bytes in 1 process, peak of the largest '
		run "$mprof" report p.2
		[ "${conf#*SAMPLE}" != "$conf" ] ||
			expect_words out 'Left by processes that ended before: 12,000 bytes (11.7 KiB) in 3 blocks.'
		step f
		run "$mprof" report leaks p
		[ "${conf#*SAMPLE}" != "$conf" ] ||
			expect_words out '3 blocks, 12,000 bytes (11.7 KiB), were live when a process ended or called exec;'
		end_steps
		expect_same "$conf: live" "$(live_of p.1) $(live_of p.2) $(live_of p)" '500 500 12000'
		expect_same 'of a worker' "$("$mprof" report leaks --process 3 --json p.2 | jq .total.figures.leaked)" 4000
		[ "${conf#*SAMPLE}" != "$conf" ] ||
			expect_same "JSON of what is left" "$("$mprof" report --json p.2 | jq .left_bytes_by_ended)" 12000
		run "$mprof" diff p.1 p.2
		expect_no_text out 'Live memory rose'
	done
	# One that was killed leaves the others' blocks never freed.
	"$mprof" profile -q -o q -- ./steps <<<wwwx >/dev/null
	run "$mprof" report q
	expect_no_text out 'Left by processes'
	expect_words out 'Never freed: 17,500 bytes (17.1 KiB) in 6 blocks (a sum over processes that ended at different times).'
}

# Workers that a full disk leaves no room are missing for this reason only, which the status says.
test_status_when_the_disk_is_full() {
	local i
	steps
	begin_steps sh -c 'ulimit -f 300 && exec "$@"' sh env MPROF_CONF='MODE=Profile PROFILE_PATH=p' \
		LD_PRELOAD="$build/libmprof.so" ./steps
	for ((i = 0; i < 8; i++)); do step w; done
	run "$mprof" ctl $pid status
	end_steps
	expect_words out ': the disk was nearly full, or a file size limit was reached'
	expect_no_text out 'address space'
}

# Of several processes, live memory is a sum, and the peak that of one.
test_status_of_several_processes() {
	keeps_and_waits
	"$mprof" profile -q -o p -- sh -c 'echo $$ >pid; ./waits & exec ./waits' 2>/dev/null &
	wait_for test -s pid
	live() { "$mprof" ctl "$(cat pid)" status 2>/dev/null | grep "^live $1"; }
	wait_for live '1[56][0-9] KiB in 2 processes, peak of the largest 7[0-9]\.[0-9] KiB$'
	kill "$(cat pid)" $(pgrep -P "$(cat pid)")
	wait
}
