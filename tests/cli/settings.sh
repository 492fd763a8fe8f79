# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# settings.sh - which processes, threads and sizes are recorded, and where settings come from.

# Allocates 10 blocks of 100 bytes and one of 5,000; forks and execs as its arguments say.
chosen() {
	cat >chosen.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *small(void) { return malloc(100); }
static void *large(void) { return malloc(5000); }
static void *in_thread(void *arg) { for (int i = 0; i < 3; i++) small(); return arg; }
int main(int argc, char **argv)
{
	void *last;
	for (int i = 0; i < 10; i++)
		small();
	last = large();
	for (int i = 1; i < argc; i++) {
		pthread_t t;
		if (!strcmp(argv[i], "thread")) {
			pthread_create(&t, NULL, in_thread, NULL);
			pthread_join(t, NULL);
		} else if (!strcmp(argv[i], "fork")) {
			if (!fork()) {
				large();
				_exit(0);
			}
			wait(NULL);
		} else if (!strcmp(argv[i], "raw")) {
			if (!_Fork()) {
				large();
				_exit(0);
			}
			wait(NULL);
		} else {
			free(last);
			execl(argv[i], argv[i], (char *)NULL);
		}
	}
	return argc > 1 ? 4 : 0;
}
END
	cc -g -O1 -fno-inline -fno-builtin -pthread -D_GNU_SOURCE -o chosen chosen.c || bad 'chosen.c does not compile'
	cp chosen other
}

chosen_figure() { # FILE FIGURE FUNCTION
	"$mprof" report hot --by function --json --top 0 "$1" 2>err |
		jq -r "[.rows[] | select(.function == \"$3\") | .figures.$2] | add // 0"
}

programs_of() {
	"$mprof" report --json "$1" 2>err | jq -r '[.processes[].programs[].exe | split("/") | last] | join(" ")'
}

test_settings_only() {
	chosen
	run "$mprof" profile -q -o p --only other -- sh -c './chosen; ./other fork; exit 5'
	expect_status 5
	[ ! -s err ] || bad "a quiet run said: $(cat err)"
	expect_same 'recorded' "$(programs_of p)" 'other other'
	expect_same 'blocks' "$(chosen_figure p calls small)" 10
	run "$mprof" report p
	expect_no_text out 'missing'
	run "$mprof" profile -q -o q --only 'x,cho*' -- ./chosen ./other
	expect_same 'by pattern' "$(programs_of q)" chosen
	run "$mprof" profile -q -o s --only 'sh' -- sh -c './chosen; true'
	expect_same 'by the name that it was called by' "$("$mprof" report --json s | jq '.processes | length')" 1
	run "$mprof" profile -q -o t --only "$PWD/oth?r" -- sh -c './chosen; ./other'
	expect_same 'by path' "$(programs_of t)" other
	run "$mprof" profile -o u --only nobody -- ./chosen
	expect_status 0
	expect_text err 'no process of the run fits --only nobody'
	[ ! -e u ] || bad 'a file of nothing'
	run env MPROF_CONF='MODE=Profile PROFILE_PATH=v ONLY=other' LD_PRELOAD="$build/libmprof.so" sh -c './chosen; ./other'
	expect_same 'without mprof' "$(programs_of v)" other
	[ ! -s err ] || bad "something was printed: $(cat err)"
}

test_settings_children() {
	local how
	chosen
	for how in fork raw; do
		run "$mprof" profile -q -o p --no-children -- ./chosen $how ./other
		expect_same "$how: of the first process" "$(chosen_figure p calls large)" 2
		expect_same "$how: programs" "$(programs_of p)" 'chosen other'
		run "$mprof" profile -q -o q -- ./chosen $how ./other
		expect_same "$how: with its children" "$(chosen_figure q calls large)" 3
	done
	run "$mprof" record -q -o log --no-children -- sh -c './chosen; ./other; exit 3'
	expect_status 3
	[ ! -s err ] || bad "a quiet run said: $(cat err)"
	run "$mprof" report log
	expect_no_text out 'not recorded'
	expect_same 'one process' "$("$mprof" report --json log | jq '.processes | length')" 1
}

test_settings_ranks() {
	local rank name
	chosen
	for rank in 1 2 4; do
		run env PMIX_RANK=$rank "$mprof" profile -q -o p.$rank --ranks 0-1,4 -- ./chosen
		expect_status 0
	done
	expect_same 'files' "$(echo p.*)" 'p.1 p.4'
	for name in PMIX_RANK PMI_RANK OMPI_COMM_WORLD_RANK MV2_COMM_WORLD_RANK PALS_RANKID ALPS_APP_PE FLUX_TASK_RANK SLURM_PROCID; do
		run env SLURM_PROCID=0 $name=7 "$mprof" profile -q -o 'q.%r' --ranks 7 -- ./chosen
		[ -s q.7 ] || bad "$name: $(echo q.*)"
		rm -f q.7
	done
	run "$mprof" profile --ranks 4-1 -- ./chosen
	expect_status 2
	expect_one_line_error
	expect_text err "invalid --ranks '4-1': expected numbers, such as 0,4-7"
}

test_settings_threads() {
	chosen
	run "$mprof" profile -q -o p --threads 1 -- ./chosen thread
	expect_same 'of the main thread' "$(chosen_figure p calls small)" 10
	run "$mprof" profile -q -o p --threads 2-9 -- ./chosen thread
	expect_same 'of the other' "$(chosen_figure p calls small)" 3
	run "$mprof" report p
	expect_text out '  Counted only what these threads allocated (--threads): 2-9.'
	# As the library accepts it; and not in the name of a file.
	mkdir THREADS=5
	run env LD_PRELOAD="$build/libmprof.so" \
		MPROF_CONF="MODE=Profile PROFILE_PATH=THREADS=5/p	THREADS='1,3-9'	SEED=1" ./chosen thread
	run "$mprof" report THREADS=5/p
	expect_text out 'allocated (--threads): 1,3-9.'
	run "$mprof" profile -q -o THREADS=5/p -- ./chosen thread
	run "$mprof" report THREADS=5/p
	expect_no_text out 'Counted only'
}

# Their four figures are those of all blocks that they stand for.
test_settings_sizes() {
	local f
	chosen
	run "$mprof" profile -q -o p --stack-min-size 128 -- ./chosen thread
	run "$mprof" profile -q -o q --stack-max-size 1K -- ./chosen thread
	run "$mprof" profile -q -o all -- ./chosen thread
	for f in calls total live peak; do
		expect_same "small, $f" "$(chosen_figure p $f small_blocks)" "$(chosen_figure all $f small)"
		expect_same "large, $f" "$(chosen_figure q $f large_blocks)" "$(chosen_figure all $f large)"
		expect_same "others, $f" "$(chosen_figure p $f large) $(chosen_figure q $f small)" "$(chosen_figure all $f large) $(chosen_figure all $f small)"
	done
	run env MPROF_CONF='MODE=Profile AT_EXIT=folded FOLDED_VALUE=total STACK_MIN_SIZE=101' LD_PRELOAD="$build/libmprof.so" ./chosen
	expect_same 'at exit' "$(sed -n 's/^small_blocks //p' malloc.prof.*)" 1000
	grep -q ';large 5000' malloc.prof.* || bad "$(cat malloc.prof.*)"
}

test_settings_paused() {
	chosen
	run "$mprof" profile -q -o p --paused -- ./chosen
	expect_same 'no block' "$(chosen_figure p calls small)" 0
}

test_settings_anonymous() {
	local host
	chosen
	host=$(uname -n)
	run env SLURM_JOB_ID=job77 "$mprof" profile -q -o p --anonymous --at-exit=text -- ./chosen ./other
	"$mprof" report --json p >out
	expect_same 'names' "$(json out '[.processes[0].programs[].exe] | join(" ")')" 'chosen other'
	[ "${#host}" -lt 4 ] || ! grep -qa "host=$host" p || bad 'the host is there'
	! grep -qa 'job77' p || bad 'the job is there'
	! grep -qa 'arg=' p || bad 'arguments are there'
	head -1 mprof.*.txt | grep -q '^mprof: other, process' || bad "$(head -1 mprof.*.txt)"
	! grep -qa "$PWD" p || bad "the directory is there: $(grep -oa "$PWD.\{0,20\}" p | head -3)"
	grep -q small mprof.*.txt || bad "no names at exit: $(head -20 mprof.*.txt)"
	expect_same 'names from the build-id' "$(chosen_figure p calls small)" 20
}

test_settings_of_stat() {
	chosen
	run "$mprof" stat --json -q --only nothing -- ./chosen
	expect_same 'not chosen' "$(json out .calls.malloc)" 0
	run "$mprof" stat --show-config --set file:log_qty=7
	expect_text out 'MODE = Count'
	expect_text out 'LOG_QTY = 7'
	run "$mprof" stat
	expect_status 2
	expect_text err 'no program given; for example: mprof stat -- ls -l'
}

# mprof -m MODE has the same settings as the commands.
test_settings_of_modes() {
	chosen
	run "$mprof" -m Profile -q --only other --set PROFILE_PATH=p -- sh -c './chosen; ./other; exit 5'
	expect_status 5
	[ ! -s err ] || bad "a quiet run said: $(cat err)"
	expect_same 'recorded' "$(programs_of p)" 'other'
	run "$mprof" --stack-min-size 128 -m Profile --set PROFILE_PATH=q ./chosen thread
	expect_status 4
	expect_same 'small blocks' "$(chosen_figure q calls small_blocks)" 13
	run "$mprof" -m Profile --threads 2-9 --paused --set PROFILE_PATH=r ./chosen thread
	expect_same 'paused' "$(chosen_figure r calls small)" 0
	run "$mprof" -m LogMmap --no-children -q --set LOG_PATH=log ./chosen fork
	expect_same 'one process' "$("$mprof" report --json log | jq '.processes | length')" 1
	run env PMI_RANK=2 "$mprof" -m Profile --ranks 0-1 --set PROFILE_PATH=s ./chosen
	expect_status 0
	[ ! -e s ] || bad 'a file of a rank that was not chosen'
	printf '[sample]\nbytes = 64K\n' >conf.ini
	run "$mprof" -m Sample --config conf.ini --preset long-run --show-config
	expect_status 0
	for line in MODE=Sample SAMPLE_BYTES=65536 DUMP_EVERY=600; do
		expect_text out "${line%%=*} = ${line#*=}"
	done
	run "$mprof" --paused report p
	expect_status 2
	expect_one_line_error
	expect_text err 'these options belong to -m and -t: mprof -m MODE PROGRAM'
	run "$mprof" -m Profile --ranks 4-1 ./chosen
	expect_status 2
	expect_one_line_error
	run "$mprof" --help
	expect_text out 'Settings of -m MODE and -t:'
	expect_no_text out 'when resident memory exceeds'
}

# With another separator, the rest of the settings is part of the first value.
test_settings_separator_of_the_variable() {
	run env MPROF_CONF='MODE=Count;COUNTS_PATH=x' LD_PRELOAD="$build/libmprof.so" true
	expect_status 0
	expect_text err "invalid MODE 'Count;COUNTS_PATH=x': expected Null, "
	expect_text err '(a space separates settings); the program runs unrecorded'
}

test_settings_sources() {
	chosen
	cat >conf.ini <<'END'
; a comment
[dump]
every = 60
DUMP = "folded,text"
[sample]
bytes = 64K
[filter]
children = no
END
	run env MPROF_CONF='DEPTH=7 SEED=3' "$mprof" profile --config conf.ini --preset long-run --set sample:seed=5 \
		--set DUMP=text --dump-every 9min --show-config
	expect_status 0
	for line in DEPTH=7 SEED=5 DUMP=text DUMP_EVERY=540 SAMPLE_BYTES=65536 CHILDREN=0 AT_EXIT=text MODE=Profile; do
		expect_text out "${line%%=*} = ${line#*=}"
	done
	mv out again.ini
	run "$mprof" profile --config again.ini --show-config
	cmp -s out again.ini || bad "what is printed is not what is read: $(diff out again.ini)"
	run "$mprof" profile --preset sampling --show-config
	expect_text out 'MODE = Sample'
	run "$mprof" record --show-config --preset mpi
	expect_text out 'PROFILE_PATH = ./mprof.%j.%r.profile'
	run "$mprof" profile -q -o p --config conf.ini -- ./chosen fork
	expect_status 4
	expect_same 'no children' "$(chosen_figure p calls large)" 1
	expect_settings_error "'bad.ini', line 2: invalid DUMP_EVERY 'x': expected a number from 0 to 31536000" '[dump]\nevery = x'
	expect_settings_error "'bad.ini', line 1: invalid section 'dmp': expected module, file" '[dmp]'
	expect_settings_error "'bad.ini', line 1: expected [SECTION], not '[dump'" '[dump'
	expect_settings_error "'bad.ini', line 2: expected KEY=VALUE, not 'every'" '[dump]\nevery'
	expect_settings_error "'bad.ini', line 1: invalid key 'every'" 'every = 1'
	run "$mprof" profile --config nothing.ini -- ./chosen
	expect_status 2
	expect_text err "cannot read 'nothing.ini'"
	run "$mprof" profile --set dump:evry=1 -- ./chosen
	expect_status 2
	expect_text err "section 'dump' has no key 'evry'"
	run "$mprof" profile --set MODE=Count -- ./chosen
	expect_status 2
	expect_text err "invalid MODE 'Count': expected Profile or Sample; mprof -m runs all modes"
	# ... which a recording without a word instead kept as a trace.
	for key in --set=MODE=Count --set=module:mode=Count; do
		run "$mprof" record "$key" -- ./chosen
		expect_status 2
		expect_text err "invalid MODE 'Count': expected LogMmap; mprof -m runs all modes"
	done
	run "$mprof" record --preset sampling -- ./chosen
	expect_text err "invalid MODE 'Sample': expected LogMmap"
	run "$mprof" profile
	expect_status 2
	expect_text err 'no program given'
}

expect_settings_error() { # TEXT FILE
	printf '%b\n' "$2" >bad.ini
	run "$mprof" profile --config bad.ini -- true
	expect_status 2
	expect_one_line_error
	expect_text err "$1"
}

# CONTRIBUTING.md: your own INIT module may be a copy of so_load.c; the static TLS that SO_PATH
# needs is reserved for it, too.
test_settings_copied_init() {
	local so
	so=$(ldconfig -p | sed -n 's/.*libjemalloc\.so\.2 .*=> //p' | head -1)
	[ -n "$so" ] || return 0
	sed 's/mprof_init_so_load/mprof_init/' "$root/modules/init/so_load.c" >own_load.c
	cc -D_GNU_SOURCE -shared -fPIC -I"$root/include" -o own_load.so own_load.c ||
		bad 'own_load.c does not compile'
	run env MPROF_CONF="INIT=$PWD/own_load.so SO_PATH=$so" "$mprof" record -o l.log -- true
	expect_status 0
	expect_no_text err 'static TLS'
	run "$mprof" report l.log
	expect_text out jemalloc
}
