# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2016
#
# ends.sh - what a report says of runs that ended unusually, went wrong, or did nothing.
# Calls that failed: of which functions, and where the first one was.
test_failed_calls_have_a_place() {
	cat >fails.c <<'END'
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
static void *ask(size_t size) { return malloc(size); }
int main(int argc, char **argv)
{
	if (argc == 2 && *argv[1] == 'h')
		return mmap(NULL, 1ull << 46, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0) != MAP_FAILED;
	for (int i = argc; i; i--)
		if (ask(PTRDIFF_MAX - 100 * i))
			return 1;
	return argc > 3 && mmap(NULL, 1ull << 60, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}
END
	compile fails
	report_of ./fails
	expect_words out '1 call of malloc for 8.0 EiB failed, '
	expect_words out ' after the start, in ask (fails.c:5).'
	report_of ./fails huge
	expect_words out '1 call of mmap for 64.0 TiB of huge pages (MAP_HUGETLB) failed, '
	report_of ./fails 2
	expect_words out '2 calls of malloc failed; the first was for 8.0 EiB, '
	report_of ./fails 2 3 4
	expect_words out '5 calls failed (4 of malloc, 1 of mmap); the first was one of malloc for 8.0 EiB, '
	expect_words out ' after the start, in ask (fails.c:5).'
	run "$mprof" report --json log
	expect_text out '"bytes":9223372036854775407,' # PTRDIFF_MAX - 400
	expect_same call "$(json out '.first_failed | [.call, .process, .function, .line] | join(" ")')" 'malloc 1 ask 5'
	run "$mprof" report log # from what the first report kept
	expect_words out ' after the start, in ask (fails.c:5).'
	"$mprof" profile -o profile -- ./fails 2 3 4 2>/dev/null
	run "$mprof" report profile
	expect_words out ' Failed: 4 calls of malloc, 1 call of mmap. '
	run "$mprof" report --json profile
	expect_same 'calls of a process' "$(json out '.processes[0].calls')" null
	"$mprof" record -o true.log -- true 2>/dev/null
	run "$mprof" report --json true.log
	expect_same none "$(json out .first_failed)" null
	expect_documented run out
}

# What an object allocates that is bound to libc's malloc is missing, which the report says first.
test_missing_calls_of_a_deepbound_object() {
	local view
	printf '#include <stdlib.h>\nvoid *make(void) { return malloc(3000); }\n' >plug.c
	cat >host.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		void *(*make)(void) = (void *(*)(void))dlsym(dlopen(argv[i], RTLD_NOW | RTLD_DEEPBIND), "make");
		for (int k = 0; k < 100; k++)
			make();
		free(make());
	}
	return 0;
}
END
	cc -shared -fPIC -fno-builtin -o plug.so plug.c
	cp plug.so other.so
	compile host
	run "$mprof" record -o log -- ./host ./plug.so ./plug.so
	expect_text err 'calls of ./plug.so were not recorded: loaded with RTLD_DEEPBIND or dlmopen, it calls'
	run "$mprof" stat -- ./host ./plug.so ./other.so
	expect_text err 'calls of ./plug.so and other objects were not recorded: loaded with RTLD_DEEPBIND or dlmopen, they call'
	run "$mprof" profile -o profile -- ./host ./plug.so ./other.so
	expect_text err 'calls of ./plug.so and other objects were not recorded: '
	run "$mprof" profile -q -o profile -- ./host ./plug.so
	expect_no_text err 'not recorded'
	report_of ./host ./plug.so ./plug.so
	expect_words out 'What is missing from this trace Process 1 loaded ./plug.so with RTLD_DEEPBIND: what it allocated and freed itself is not recorded.'
	expect_words out 'The trace contradicts itself: 2 unmatched frees; what is missing from the trace may be the reason.'
	expect_words out 'Never freed, as far as this trace shows: '
	expect_no_text out 'a block freed twice'
	for view in leaks 'callers main'; do
		run "$mprof" report $view log
		expect_text err "'log' lacks the calls of objects that bypass the library; mprof report names them"
	done
	for view in 'diff log' 'sort -o play' 'replay --quick -a glibc'; do
		run "$mprof" $view log
		expect_text err 'bypass the library'
	done
	run "$mprof" export --to csv log
	expect_text err 'bypass the library'
	run "$mprof" report --json leaks log
	expect_same incomplete "$(json out .incomplete)" true
	report_of ./host ./plug.so ./other.so
	expect_words out 'loaded ./plug.so and others with RTLD_DEEPBIND: what such an object allocated'
	run "$mprof" report --json log
	expect_same objects "$(json out '.problems.deepbind | join(" ")')" ./plug.so
}

# A plugin that does not exist, and questions about those that are loaded, load nothing.
test_no_calls_of_asked_objects() {
	cat >asks.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
int main(void)
{
	free(malloc(100));
	return dlopen("./missing.so", RTLD_NOW | RTLD_DEEPBIND) || !dlopen(NULL, RTLD_NOW | RTLD_DEEPBIND) ||
	       !dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD | RTLD_DEEPBIND) ||
	       dlmopen(LM_ID_NEWLM, "./missing.so", RTLD_NOW);
}
END
	compile asks
	run "$mprof" record -o log -- ./asks
	expect_status 0
	expect_no_text err 'not recorded'
	run "$mprof" check --max-leaked 1M log
	expect_status 0
}

# The same of an object in another namespace, which has a libc of its own.
test_missing_calls_of_another_namespace() {
	printf '#include <stdlib.h>\nvoid *make(void) { return malloc(3000); }\n' >plug.c
	cat >spaces.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	void *(*make)(void);
	for (int i = 1; i < argc; i++) {
		void *so = dlmopen(i == 1 ? LM_ID_BASE : LM_ID_NEWLM, argv[i], RTLD_NOW);
		if (!so)
			return puts(dlerror()), 1;
		make = (void *(*)(void))dlsym(so, "make");
		printf("%d", make() != NULL);
	}
	return argc > 3 && !dlopen(argv[3], RTLD_NOW | RTLD_DEEPBIND);
}
END
	cc -shared -fPIC -fno-builtin -o plug.so plug.c
	cp plug.so other.so
	compile spaces
	run "$mprof" record -o log -- ./spaces ./plug.so
	expect_no_text err 'not recorded'
	run "$mprof" record -o log -- ./spaces ./plug.so ./other.so
	expect_same 'made' "$(cat out)" 11
	expect_text err 'calls of ./other.so were not recorded'
	run "$mprof" report log
	expect_words out 'Process 1 loaded ./other.so into another namespace (dlmopen): what it allocated and freed itself is not recorded.'
	run "$mprof" record -o log -- ./spaces ./plug.so ./other.so ./plug.so
	run "$mprof" report log
	expect_words out 'loaded ./other.so and others with RTLD_DEEPBIND or into another namespace (dlmopen): what such an object'
	run "$mprof" report --json log
	expect_same objects "$(json out '.problems.deepbind | join(" ")')" ./other.so
}

# A daemon whose end nothing tells: what it and the process that started it left was live, and grew,
# also in a profile, which has no time of each call.
test_killed_daemon() {
	cat >daemon.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) void *grow(void) { void *p = malloc(1000); return p; }
int main(void)
{
	for (int i = 0; i < 150; i++)
		grow();
	if (fork()) {
		usleep(100000);
		_exit(0);
	}
	for (int i = 0; i < 300; i++, usleep(2000))
		grow();
	FILE *f = fopen("new", "w");
	fprintf(f, "%d\n", getpid());
	fclose(f);
	rename("new", "pid");
	for (;; usleep(2000))
		grow();
}
END
	compile daemon
	for mode in record profile; do
		rm -f pid
		"$mprof" $mode -q -o file -- ./daemon >/dev/null 2>&1
		wait_for test -f pid
		run "$mprof" report file
		expect_words out ' KiB is live now, '
		kill -KILL "$(cat pid)"
		wait_for eval '! kill -0 "$(cat pid)" 2>/dev/null'
		run "$mprof" report file
		expect_words out ' ended; its fork, process 2, went on and may have freed its blocks'
		expect_words out ' KiB was live at the end, '
		expect_no_text out 'ever freed'
		rm -f file
	done
}

# The same of one that waits, without any sign of life.
test_killed_idle_daemon() {
	cat >daemon.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) void *load(void) { void *p = malloc(1000); return p; }
int main(void)
{
	for (int i = 0; i < 300; i++)
		load();
	usleep(600000); /* longer than it takes to end, also on a busy machine */
	if (fork())
		_exit(0);
	symlink("/", "ready");
	for (;;)
		pause();
}
END
	compile daemon
	for mode in record profile; do
		rm -f ready
		"$mprof" $mode -q -o file -- ./daemon >/dev/null 2>&1
		wait_for test -e ready
		kill -KILL "$("$mprof" report --json file | jq '.processes[1].pid')"
		wait_for eval '"$mprof" report file | grep -q "ended unrecorded"'
		run "$mprof" report file
		expect_words out ' ended; its fork, process 2, went on and may have freed its blocks'
		expect_no_text out 'ever freed'
		run "$mprof" report leaks file
		expect_text out '300 blocks were live at the end'
		rm -f file
	done
}

# A process that goes on after the first one: when each ended, that it still runs, and that it may
# have freed what the first one left.
test_end_of_a_daemon() {
	cat >daemon.c <<'END'
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) void *load(void) { void *p = malloc(1000); return p; }
int main(int argc, char **argv)
{
	void *p = malloc(1 << 20), *loaded[200];
	for (int i = 0; argc > 1 && i < 200; i++)
		loaded[i] = load();
	pid_t first = getpid();
	if (daemon(1, 1))
		return 1;
	while (getppid() == first) /* until then, its block is live, too */
		usleep(1000);
	for (int i = 0; i < 20 || access("go", F_OK); i++) {
		if (i < 20)
			malloc(argc > 1 && i == 10 ? 100000 : 1000);
		usleep(10000);
	}
	for (int i = 0; argc > 1 && i < 200; i++)
		free(loaded[i]);
	free(p);
	return 0;
}
END
	compile daemon
	"$mprof" record -o log -- ./daemon large >/dev/null 2>&1
	reported() { "$mprof" report "$1" >out && has_words out "$2"; }
	wait_for reported log 'in 2 processes'
	expect_words out 'It exited with status 0 after '
	expect_words out '; the recording ends after '
	tr -s ' \n' ' ' <out | grep -Eq 'Warnings .*Process [2-9], fork of ./daemon large \(pid [0-9]+\), was still running when this was written\.' ||
		bad "not running: $(cat out)"
	touch go
	wait_for reported log ', the last process after '
	expect_words out ', the last process after '
	expect_words out ' ended; its fork, process 2, went on and may have freed its blocks (1.2 MiB, which count for the first one only, up to its end). '
	tr -s ' \n' ' ' <out | grep -q ' Live at the end: [^.]*\.[^.]* blocks (a sum over processes that ended at different times)\. ' ||
		bad "no sum: $(cat out)"
	expect_no_text out 'ever freed'
	expect_words out ' was allocated by load '
	expect_no_text out 'was freed, though'
	rm go
	"$mprof" profile -o profile -- ./daemon >/dev/null 2>&1
	touch go
	wait_for eval '"$mprof" report profile >out && ! has_words out "was still running"'
	expect_words out ' ended; its fork, process 2, went on and may have freed its blocks. '
	expect_words out ' Live at the end: 1,0'
}

# A process ends by a system call of its own, as those of Go do: nobody records that, and nothing
# says that it was killed.
test_end_by_a_system_call() {
	cat >raw.c <<'END'
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) { malloc(10); syscall(SYS_exit_group, 0); }
END
	compile raw
	MPROF_CONF='MODE=LogMmap LOG_PATH=hand.log' LD_PRELOAD=$build/libmprof.so ./raw
	run "$mprof" report hand.log
	expect_words out 'It ended unrecorded (killed, or by a system call of its own); the recording ends '
	"$mprof" record -o log -- ./raw 2>/dev/null
	run "$mprof" report log
	expect_words out 'It exited with status 0 after '
}

# Recording ended long before the program did; when it exited is not known.
test_end_after_the_recording() {
	cat >more.c <<'END'
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 300000; i++)
		free(malloc((size_t)i * 37 % 5000));
	usleep(300000);
	return 0;
}
END
	compile more
	run sh -c 'trap "" XFSZ; ulimit -f 500; exec "$0" record -o log -- ./more' "$mprof"
	run "$mprof" report log
	expect_words out 'a file size limit was reached'
	expect_words out 'It exited with status 0; the recording ends '
}

# Without a block there is nothing to say of call stacks, sizes or filters.
test_views_of_no_block() {
	local view
	printf '#include <sys/mman.h>\nint main(int argc, char **argv) { return argc > 1 && mmap(0, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED; }\n' >none.c
	compile none
	report_of ./none
	expect_words out 'No block was allocated.'
	for view in peak leaks hot temporary lifetimes waste top-down bottom-up; do
		run "$mprof" report $view log
		expect_same "$view" "$(cat out)" 'No allocation was recorded.'
	done
	for view in peak-rss threads realloc; do
		run "$mprof" report $view log
		expect_status 0
		expect_no_text out 'no call stacks'
		expect_no_text out 'filters'
	done
	run "$mprof" dump log
	expect_same 'dump' "$(cat out err)" "mprof: warning: 'log' contains no calls"
	run "$mprof" dump --function malloc log
	expect_text err "no call in 'log' passes the filters"
	for view in folded massif jsonl chrome; do
		run "$mprof" export --to $view log
		expect_status 0
		expect_text err "mprof: warning: 'log' contains no allocation"
	done
	echo 'void *malloc(unsigned long); void free(void *); int main(void) { for (int i = 0; i < 9; i++) { void *volatile p = malloc(9); free(p); } return 0; }' >frees.c
	compile frees
	"$mprof" record -q -o all -- ./frees
	run "$mprof" export --to folded --hide-zero-live all
	expect_same 'nothing live' "$(cat err)" "mprof: warning: no block in 'all' was live at the end (--hide-zero-live)"
	"$mprof" profile -q --sample=1G -o few -- ./frees
	run "$mprof" export --to folded few
	expect_same 'no sample' "$(cat err)" "mprof: warning: 'few' has no sample, so its figures are 0: use mprof profile without --sample, or with a smaller one"
	run "$mprof" export --to folded --size 5 log
	expect_same '--size' "$(cat err)" 'mprof: warning: no block passes --size'
	report_of ./none 1
	run "$mprof" export --to folded log
	expect_text err "mprof: warning: 'log' contains no allocation"
	run "$mprof" report hot log
	expect_same 'a mapping' "$(cat out)" 'No allocation was recorded. 1 call mapped 8.0 KiB.'
	sed -i 's/^int main/void *malloc(unsigned long n) { static char one[99]; return one; }\n&/' none.c
	compile none
	report_of ./none 1
	expect_words out 'No call of malloc was seen: '
	expect_no_text out 'No block was allocated'
	run "$mprof" report leaks log
	expect_no_text out 'No block was allocated'
	"$mprof" profile -o profile -- ./none 2>/dev/null
	run "$mprof" report profile
	expect_words out 'Totals No allocation was recorded. '
}

# The tables of a profile count the blocks that they are about.
test_profile_counts_blocks_not_calls() {
	cat >some.c <<'END'
#include <stdlib.h>
static void *one(int i)
{
	void *p = malloc(1000);
	if (i % 10)
		free(p);
	return p;
}
int main(void) { for (int i = 0; i < 5000; i++) one(i); return 0; }
END
	compile some
	"$mprof" profile -o profile -- ./some 2>/dev/null
	run "$mprof" report profile
	expect_words out 'Never freed Bytes Share Blocks Function 488 KiB 100 % 500 one (some.c)'
	expect_words out 'Largest at the peak Bytes Share Blocks Function 489 KiB 100 % 501 one (some.c)'
	expect_words out 'Calls Share Bytes Function 5,000 100 % 4.8 MiB one (some.c)'
}

# What grows by realloc lives long, although each step ends a block.
test_lifetimes_of_reallocated_blocks() {
	cat >grows.c <<'END'
#include <stdlib.h>
int main(int argc, char **argv)
{
	char *p = malloc(argc > 1 ? 5 : 1);
	for (int i = 2; i < 1000; i++)
		if (argc > 1)
			free(malloc(i));
		else
			p = realloc(p, i * 10);
	free(p);
	return 0;
}
END
	compile grows
	report_of ./grows
	expect_words out 'of freed blocks lived less than 1 ms (realloc counts as a free).'
	expect_no_text out 'realloc copied' # some bytes of 5 MB
	run "$mprof" report lifetimes log
	expect_words out ' on average (realloc counts as a free); 0 were never freed.'
	run "$mprof" report --all log
	expect_words out ' less than 1 us (realloc counts as a free).'
	expect_words out 'of its blocks and copied at most'
	report_of ./grows 1
	expect_words out 'of freed blocks lived less than 1 ms.'
}

# A sample of resident pages is on the first screen only if it was taken near the peak.
test_sample_is_of_the_peak() {
	cat >late.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *kept[3000];
int main(int argc, char **argv)
{
	kept[0] = malloc(100);
	usleep(100000);
	for (int i = 0; i < 3000; i++)
		memset(kept[i] = malloc(10000), 1, 10000);
	if (argc > 1)
		usleep(500000);
	return 0;
}
END
	compile late
	local more=
	for more in '' stays; do
		report_of ./late $more
		run "$mprof" report --json log
		cp out json
		run "$mprof" report log
		if [ "$(json json '(([.compactness.physical.samples[].live_bytes] | max) // 0) * 2 >= .peak_bytes')" = true ]; then
			expect_words out ' of heap, stacks and data was resident, '
		else
			expect_no_text out 'of heap, stacks'
		fi
	done
}

# A limit that is compared with what is left of a trace checks nothing.
test_check_of_an_incomplete_trace() {
	cat >half.c <<'END'
#include <stdlib.h>
static void *kept[3000];
int main(void) { for (int i = 0; i < 3000; i++) kept[i] = malloc(i); return 0; }
END
	compile half
	"$mprof" record --no-compress -o log -- ./half 2>/dev/null
	run "$mprof" check --all --max-peak 1G log
	expect_status 0
	expect_words out 'passed complete: no call was lost'
	head -c 70000 log >cut
	run "$mprof" check --all --max-peak 1G cut
	expect_status 1
	expect_words out 'failed complete: damaged parts of the trace: figures are too low; mprof report says what is missing'
	run "$mprof" check --json --max-peak 1G cut
	expect_same lacks "$(json out '.checks[1] | "\(.check) \(.passed) \(.damaged) \(.bypassed) \(.not_recorded)"')" 'complete false true false false'
	expect_documented checks out
	run "$mprof" check --allow-lost --max-peak 1G cut
	expect_status 0
	report_of env -i ./half
	run "$mprof" check --max-peak 1G log
	expect_status 1
	expect_words out 'failed complete: a program that was not recorded: '
	# A child that is not recorded is another program.
	report_of sh -c 'env -i /bin/true; ./half'
	run "$mprof" check --max-peak 1G log
	expect_status 0
	sed -i 's/^int main/void *malloc(unsigned long n) { static char one[3000]; return one; }\n&/' half.c
	compile half
	"$mprof" record -o own.log -- ./half 2>/dev/null
	run "$mprof" check --max-peak 1G own.log
	expect_status 1
	expect_words out 'failed complete: objects that bypass the library: '
}

# timeout(1) sends its signal to mprof, and again to its process group: then mprof may have seen the
# end of the program already.
test_end_by_timeout() {
	local i
	for i in 1 2 3 4 5 6; do
		rm -f ready
		run timeout 0.1 "$mprof" record -o log -- sh -c ': >ready; exec sleep 9'
		[ -e ready ] || continue # a slow machine
		expect_status 124
		expect_text err 'next: mprof report log'
	done
	[ ! -e ready ] || "$mprof" report log >out
	[ ! -e ready ] || expect_words out 'It was killed by SIGTERM after '
}

# A signal may come before the library is loaded.
test_end_before_the_library_is_loaded() {
	printf '#include <stdlib.h>\nint main(void) { abort(); }\n' >ends.c
	cc -static -o loader ends.c 2>/dev/null || return 0
	cc -Wl,--dynamic-linker="$PWD/loader" -o ends ends.c
	run "$mprof" record -o log -- ./ends # its loader ends by SIGABRT, or crashes
	expect_text err "mprof: warning: nothing was recorded: './ends' was killed by signal "
	expect_text err ') before it made a call, or did not load libmprof.so'
}

# The end of a process that became a program which is not recorded is unknown.
test_ends_of_a_process_that_became_another() {
	cat >leaves.c <<-'END'
		#include <stdlib.h>
		#include <unistd.h>
		int main(void)
		{
			char *const none[] = { NULL };
			void *volatile p = malloc(1000);
			if (fork())
				return 0;
			usleep(200000);
			p = malloc(2000);
			return execle("/bin/true", "true", NULL, none);
		}
	END
	compile leaves
	LD_PRELOAD="$build/libmprof.so" MPROF_CONF='MODE=LogMmap LOG_PATH=%e.log' ./leaves
	until "$mprof" report leaves.log 2>/dev/null | grep -q 'became /bin/true'; do sleep 0.05; done
	run "$mprof" report leaves.log
	expect_words out '; the recording ends after '
	expect_no_text out 'the last process'
}

# Preloaded by hand, a file is named as it would be, not by its pattern.
test_ends_before_a_file_is_made() {
	run env LD_PRELOAD="$build/libmprof.so" MPROF_CONF='MODE=LogMmap LOG_PATH=none/%e.log' true
	expect_same message "$(cat err)" \
		"mprof: cannot write '$PWD/none/true.log': no such directory; the program runs unrecorded"
	run env LD_PRELOAD="$build/libmprof.so" MPROF_CONF='MODE=LogMmap LOG_PATH=%y.log' true
	expect_words err "cannot write '%y.log': has an unknown % sequence"
}

# The kernel only counts what its out-of-memory killer ended, in the group of the program and in the machine.
# killed_by COUNTER: runs a program that SIGKILL ends after one more in the file COUNTER.
killed_by() {
	run unshare -m sh -ec 'mount -t tmpfs none /sys/fs/cgroup
		mkdir /sys/fs/cgroup/memory
		printf "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n" >/sys/fs/cgroup/memory/memory.oom_control
		printf "max 0\noom_kill 7\n" >/sys/fs/cgroup/memory.events
		printf "pgmigrate 0\noom_kill 7\n" >vmstat
		mount --bind vmstat /proc/vmstat
		[ "$1" != none ] || rm /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control
		shift
		exec "$@"' sh "$@"
	expect_status 137
	run "$mprof" report log
	rm log
}

test_killed_for_lack_of_memory() {
	local group='/sys/fs/cgroup/memory.events' probably='was killed by SIGKILL (probably the out-of-memory killer) after' kind
	[ "$(id -u)" = 0 ] && unshare -m mount -t tmpfs none /sys/fs/cgroup 2>/dev/null || return 0
	grep -q ^0:: /proc/self/cgroup || group=/sys/fs/cgroup/memory/memory.oom_control
	for kind in record profile; do
		killed_by group "$mprof" $kind -o log -- sh -c 'sed -i s/7/8/ $1; kill -9 $$' sh $group
		expect_words out "$probably"
		# In another group.
		killed_by group "$mprof" $kind -o log -- sh -c 'printf "a 0\noom_kill 8\n" >/proc/vmstat; kill -9 $$'
		expect_words out 'was killed by SIGKILL after'
		# No group counts.
		killed_by none "$mprof" $kind -o log -- sh -c 'printf "a 0\noom_kill 8\n" >/proc/vmstat; kill -9 $$'
		expect_words out "$probably"
	done
}

# While a program runs, nothing was live "at the end".
test_memory_of_a_running_program_is_live_now() {
	cat >runs.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *kept[4000];
int main(void)
{
	for (int i = 0; i < 4000; i++) {
		kept[i] = malloc(1000);
		usleep(100);
	}
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
END
	compile runs -g
	local mode
	for mode in record profile; do
		"$mprof" $mode -q -o runs.$mode -- ./runs >$mode.ready 2>/dev/null &
		wait_for grep -q ready $mode.ready
		for view in "" leaks; do
			# shellcheck disable=SC2086 # no view is none
			run "$mprof" report $view runs.$mode
			expect_status 0
			expect_no_text out 'was live at the end'
			expect_no_text out 'were live at the end'
			expect_no_text out 'Live at the end'
			expect_text out 'ive now'
		done
		run "$mprof" report --json runs.$mode
		kill -KILL "$(json out '.processes[0].pid')"
		wait 2>/dev/null
		run "$mprof" report leaks runs.$mode
		expect_text out 'were live at the end'
	done
}

# Somebody has truncated the trace, which raises SIGBUS in our memory.  One of another kind, as for
# an address that is not aligned, still ends the program.
test_ends_by_another_sigbus() {
	cat >bus.c <<'END'
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int n, char **log)
{
	siginfo_t info;
	void *p = malloc(16);
	if (truncate(log[1], 0))
		return 1;
	free(malloc(16));
	memset(&info, 0, sizeof(info));
	info.si_signo = SIGBUS;
	info.si_code = BUS_ADRALN;
	info.si_addr = p;
	for (n = 0; n < 2; n++) /* as the kernel does when the instruction is repeated */
		syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGBUS, &info);
	return 0;
}
END
	compile bus
	run "$mprof" record -o log -- ./bus log
	expect_status 135
	expect_words err 'truncated'
}

# After chroot, without /proc, the library knows by itself which mappings are its own.
test_truncated_after_chroot() {
	local mode
	[ "$(id -u)" = 0 ] || return 0
	cat >jailed.c <<'END'
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *kept[8][20000];
static pthread_barrier_t at;
__attribute__((noinline)) static void *deep(int n, size_t size)
{
	void *p = n ? deep(n - 1, size) : malloc(size);
	__asm__ volatile("" : "+r"(p));
	return p;
}
static void *work(void *arg)
{
	void **own = arg;
	for (int i = 0; i < 20000; i++) {
		own[i] = deep(i % 13, 20 + i % 100);
		if (i == 4000) {
			pthread_barrier_wait(&at);
			pthread_barrier_wait(&at);
		}
	}
	for (int i = 0; i < 20000; i++)
		free(own[i]);
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t t[8];
	int fd;
	free(malloc(1));
	fd = open(argv[1], O_RDWR);
	if (fd < 0 || (argc > 2 && (chroot(argv[2]) || chdir("/"))))
		return 9;
	pthread_barrier_init(&at, NULL, 9);
	for (int i = 0; i < 8; i++)
		pthread_create(t + i, NULL, work, kept[i]);
	pthread_barrier_wait(&at);
	if (ftruncate(fd, 0))
		return 8;
	pthread_barrier_wait(&at);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	if (!fork()) {
		pthread_create(t, NULL, (void *(*)(void *))malloc, (void *)16);
		pthread_join(*t, NULL);
		_exit(0);
	}
	wait(NULL);
	return 0;
}
END
	compile jailed -pthread
	mkdir jail
	for mode in Count:COUNTS_PATH LogMmap:LOG_PATH Profile:PROFILE_PATH Sample:PROFILE_PATH; do
		MPROF_CONF="MODE=${mode%:*} ${mode#*:}=file" LD_PRELOAD=$build/libmprof.so run ./jailed file jail
		expect_same "status with ${mode%:*}" "$status" 0
		rm -f file
	done
}

# One of the processes was killed: what it left was live, though most of the run's was never freed.
test_killed_worker_alone() {
	cat >worker.c <<'END'
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
void *volatile kept[2];
int main(void)
{
	kept[0] = malloc(100000);
	const pid_t pid = fork();
	if (!pid) {
		kept[1] = malloc(1000);
		raise(SIGTERM);
	}
	waitpid(pid, NULL, 0);
	return 0;
}
END
	compile worker
	for mode in record profile; do
		"$mprof" $mode -q -o file -- ./worker
		run "$mprof" report leaks file
		expect_words out '2 blocks were never freed: '
		run "$mprof" report leaks --process 1 file
		expect_words out '1 block was never freed: '
		run "$mprof" report leaks --process 2 file
		expect_words out '1 block was live at the end: 1,000 bytes.'
		rm -f file
	done
}

# The last process ends at the time, as it is printed, at which the first one does.
test_ends_at_one_time() {
	cat >last.c <<'END'
#include <unistd.h>
int main(void)
{
	const pid_t parent = getpid();
	if (fork()) {
		sleep(2);
		return 0;
	}
	while (getppid() == parent)
		usleep(1000);
	usleep(1500);
}
END
	compile last
	"$mprof" record -q -o log -- ./last
	run "$mprof" report log
	tr -s ' \n' ' ' <out | grep -E ' after ([0-9.]+ m?s), the last process after \1' && bad 'twice the same time'
	expect_words out 'It exited with status 0 after '
}
