# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2016
#
# peak_rss.sh - the time when a process was largest, of programs that know it
# (tests/preload/largest.c), under mprof and preloaded by hand.

by_hand() { # PROGRAM...
	LD_PRELOAD="$build/libmprof.so" MPROF_CONF='MODE=LogMmap LOG_PATH=log' "$@" >said 2>&1
}

by_mprof() {
	"$mprof" record -o log -- "$@" >said 2>&1
}

largest() { # HOW WHAT [END]: records it, the answer goes to `answer'
	rm -f log
	"$1" "$build/preload/largest" "${@:2}"
	answer
}

answer() {
	run "$mprof" report peak-rss --json log
	expect_status 0
	cp out answer
}

# MiB of resident memory, blocks that were live then and their MiB, MiB mapped by the program.
moment() {
	json answer '.moment_of_rss | [.rss_bytes, .calls, .bytes, .mapped_bytes] |
		"\(.[0] / 1048576 | floor) \(.[1]) \(.[2] / 1048576) \(.[3] / 1048576)"'
}

holders() {
	json answer '[.rows[] | select(.value > 0) | "\(.stack[-1].function) \(.value / 1048576)"] |
		join(", ")'
}

expect_moment() { # WHAT LEAST MOST (MiB in memory) MOMENT HOLDERS
	local said
	said=$(moment)
	if [ "${said%% *}" -lt "$2" ] || [ "${said%% *}" -gt "$3" ]; then
		bad "$1: ${said%% *} MiB in memory, not $2 to $3"
	fi
	expect_same "$1: the moment" "${said#* }" "$4"
	expect_same "$1: who had it" "$(holders)" "$5"
}

expect_phases() { # WHAT
	expect_moment "$1" 95 97 '70 90 4' 'phase1 50, phase2 40'
	expect_same "$1: it lies in its bracket" "$(json answer '.moment_of_rss |
		.from_ns <= .time_ns and .time_ns <= .to_ns and .cpu_ns != 0')" true
}

test_peak_rss_at_every_end() {
	local end
	for end in exit _exit exit_group kill term; do
		largest by_mprof phases $end
		expect_phases "record, $end"
		largest by_hand phases $end
		expect_phases "by hand, $end"
	done
}

test_peak_rss_while_it_runs() {
	local pid how
	for how in by_hand by_mprof; do
		rm -f log said
		$how "$build/preload/largest" phases wait &
		pid=$!
		wait_for grep -q waits said
		answer
		expect_phases "$how, while it runs"
		if [ $how = by_hand ]; then kill -9 $pid; else kill -9 "$(pgrep -P $pid)"; fi
		wait $pid 2>/dev/null
		answer
		expect_phases "$how, killed from outside"
	done
}

# The program ends when it is largest, without a free at which we would look.
test_peak_rss_is_at_the_end() {
	local end
	for end in exit _exit; do
		largest by_mprof atpeak $end
		expect_moment "record, $end" 91 93 '70 90 0' 'phase1 50, phase2 40'
		largest by_hand atpeak $end
		expect_moment "by hand, $end" 91 93 '70 90 0' 'phase1 50, phase2 40'
	done
	# Figures that the parent gets at its end complete it.
	largest by_mprof atpeak kill
	expect_moment 'record, kill' 91 93 '70 90 0' 'phase1 50, phase2 40'
	# Readings are limited in number, and none came after the last writes: the report says so.
	largest by_hand atpeak kill
	expect_same 'by hand, kill: what was seen, and what came later' \
		"$(json answer '.moment_of_rss | .bytes + .later_bytes')" 94371840
	[ "$(json answer .moment_of_rss.later_bytes)" -ge 2097152 ] || bad 'nothing came later'
	run "$mprof" report peak-rss log
	expect_text out 'Later it allocated and mapped up to'
}

test_peak_rss_of_waves() {
	local how
	for how in by_hand by_mprof; do
		largest $how waves
		expect_moment $how 41 44 '1 40 0' 'second_wave 40'
	done
}

test_peak_rss_of_untouched_memory() {
	local how
	for how in by_hand by_mprof; do
		largest $how untouched
		expect_same "$how: blocks" "$(moment | cut -d ' ' -f 2-)" '2 120 0'
		run "$mprof" report peak-rss log
		expect_words out 'not resident, because it was not written to or was returned to the system'
		! grep -q '^  because' out || bad 'a sentence is broken'
		expect_no_text out '%)'
		expect_same "$how: untouched" "$(json answer '.moment_of_rss |
			.untouched_bytes == .bytes - .rss_bytes')" true
	done
}

# Was all memory of more() resident, except for the part that it was still writing?
has_more() {
	awk '$5 == "more" && $1 >= 4 && $1 - $3 <= 2 { n++ } END { exit n != 1 }' out
}

# What the program added to the heap by itself, and what it mapped only before.
test_peak_rss_of_the_break() {
	cat >brk.c <<-'END'
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <unistd.h>
		static void early(void)
		{
			void *p = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
			munmap(p, 8 << 20);
		}
		static void more(long bytes) { memset(sbrk(bytes), 1, bytes); }
		static void unused(void) { sbrk(4 << 20); }
		int main(void)
		{
			early();
			unused();
			for (int i = 0; i < 16; i++) {
				more(2 << 20);
				usleep(10000);
			}
			sbrk(-(2 << 20));
			rest(1000);
			free(malloc(100));
			return 0;
		}
	END
	compile brk -include "$here/rest.h"
	# On a busy machine, pages may be read only before most of it was resident.
	again_until has_more peak_rss_of ./brk
	expect_no_text out 'early (brk.c:'
	grep -qE '^ *4[.]0 MiB +0 bytes  unused ' out || bad "unused: $(cat out)"
	has_more || bad "more: $(cat out)"
}

# Never by a block that is large enough to trigger a reading.
test_peak_rss_of_small_blocks() {
	local how
	for how in by_hand by_mprof; do
		largest $how small
		expect_same "$how: blocks" "$(json answer '.moment_of_rss.calls')" 20972
		expect_same "$how: bytes" "$(json answer '.moment_of_rss.bytes')" 42109768
		expect_same "$how: arena" "$(json answer '.moment_of_rss.arena_bytes / 1048576 |
			. > 40 and . < 44')" true
	done
}

test_peak_rss_of_realloc() {
	local how
	for how in by_hand by_mprof; do
		largest $how grown
		expect_moment $how 41 44 '1 40 0' 'grow 40'
	done
}

test_peak_rss_of_threads() {
	local how
	for how in by_hand by_mprof; do
		largest $how threads
		expect_same $how "$(json answer '.moment_of_rss |
			"\(.calls >= 40 and .calls < 60) \(.bytes / 1048576 | floor)"')" 'true 40'
		expect_same "$how: who" "$(json answer '.rows[0] | .stack[-1].function')" work
	done
}

test_peak_rss_of_maps() {
	local how
	for how in by_hand by_mprof; do
		largest $how maps
		expect_moment $how 33 37 '0 0 48' ''
	done
}

test_peak_rss_of_forked_children() {
	local how
	for how in by_hand by_mprof; do
		largest $how fork
		expect_moment $how 60 65 '1 60 0' 'own_of_child 60'
		expect_same "$how: process" "$(json answer .moment_of_rss.process)" 2
	done
	largest by_hand fork kill
	expect_moment 'killed' 60 65 '1 60 0' 'own_of_child 60'
}

# The high-water mark of the parent, or of the program before exec, does not count.
test_peak_rss_of_another_program() {
	local how
	for how in by_hand by_mprof; do
		largest $how spawn
		expect_moment "$how, spawn" 60 65 '1 60 0' 'own_of_child 60'
		expect_same "$how: of what was started" "$("$mprof" report --json log |
			jq '[.processes[].peak_rss_bytes / 1048576 | floor] |
				(.[0] > 60 and .[1] > 40 and .[1] < 48)')" true
		largest $how exec
		expect_moment "$how, exec" 60 65 '1 60 0' 'own_of_child 60'
	done
	# Read alone, the parent's memory is missing: the child is the largest process.
	rm -f log
	run python3 -c "import subprocess, sys
x = bytearray(120 << 20)
subprocess.run(sys.argv[1:], env={'LD_PRELOAD': '$build/libmprof.so',
	'MPROF_CONF': 'MODE=LogMmap LOG_PATH=$PWD/log'}, check=True)" "$build/preload/largest" phases
	expect_status 0
	answer
	expect_phases 'child of a large program'
}

# /proc/PID/status lists the groups of the user before the memory.
test_peak_rss_of_a_user_in_many_groups() {
	local groups
	[ "$(id -u)" = 0 ] || return 0
	groups=$(seq -s, 1000000000 1000000999)
	run setpriv --groups "$groups" "$mprof" record -o log -- \
		sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do env true; done; exec sh -c :'
	expect_same 'processes without a peak' "$("$mprof" report --json log |
		jq '[.processes[] | select(.peak_rss_bytes == 0)] | length')" 0
	"$mprof" replay --json log >alone 2>err
	run setpriv --groups "$groups" "$mprof" replay --json log
	expect_same 'peaks in many groups that differ by 1 MiB' "$(jq -s \
		'map([.allocators[].peak_rss_bytes]) | transpose |
		map(select((.[0] - .[1] | fabs) > 1048576)) | length' out alone)" 0
}

# A report never says that samples saw more than the peak.
test_peak_rss_is_no_less_than_any_sample() {
	local i
	for i in 1 2 3; do
		by_mprof "$build/preload/largest" small
		run "$mprof" report --json log
		expect_same 'samples below the peak' "$(json out '[.processes[] |
			.rss_most_bytes <= .peak_rss_bytes] | all')" true
	done
}

live_then() {
	"$mprof" report peak-rss --json log | jq -r '.moment_of_rss | "\(.bytes) \(.calls)"'
}

# The process reads its own size when blocks are freed, and at its end; in between, mprof's samples
# show that it only became so large after most blocks were freed.  A mapping was reserved first.
test_peak_rss_between_readings() {
	cat >quiet.c <<-'END'
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <unistd.h>
		static char *block[10000], later[16 << 20];
		static void reserve(void)
		{
			char *m = mmap(NULL, 256 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			mprotect(m, 8 << 20, PROT_READ | PROT_WRITE);
			memset(m, 1, 8 << 20);
		}
		int main(void)
		{
			reserve();
			for (int i = 0; i < 10000; i++)
				block[i] = memset(malloc(4000), 1, 4000);
			for (int i = 0; i < 9999; i++)
				free(block[i]);
			rest(300);
			memset(later, 1, sizeof(later));
			rest(300);
			return !later[5];
		}
	END
	compile quiet -include "$here/rest.h"
	again_until '[ "$(live_then)" = "4000 1" ]' peak_rss_of ./quiet
	expect_same 'what was live' "$(live_then)" '4000 1'
	expect_words out '8.0 MiB 8.0 MiB reserve (quiet.c:'
}

# Shared memory without a file has pages like those of a file: none are private.
test_peak_rss_of_shared_memory() {
	cat >shared.c <<-'END'
		#include <fcntl.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <unistd.h>
		static void zone(void)
		{
			memset(mmap(NULL, 48 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), 1, 48 << 20);
		}
		static void own(void)
		{
			memset(mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 16 << 20);
		}
		static void *base(int fd) { return mmap(NULL, 32 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0); }
		int main(void)
		{
			int fd = open("base", O_RDWR | O_CREAT, 0600);
			void *last;
			ftruncate(fd, 32 << 20);
			zone();
			own();
			last = memset(base(fd), 1, 32 << 20);
			free(malloc(1000));
			munmap(last, 32 << 20);
			base(fd);
			rest(1000);
			return 0;
		}
	END
	compile shared -include "$here/rest.h"
	again_until 'has_words out "16.0 MiB 16.0 MiB own (shared.c:"' peak_rss_of ./shared
	expect_words out 'mmap: 16.0 MiB mapped by the program itself'
	expect_words out 'mapped resident function 16.0 MiB 16.0 MiB own (shared.c:'
	expect_words out 'Files and shared memory that it mapped, when most was mapped: mapped function 48.0 MiB zone (shared.c:'
	tr -s ' \n' ' ' <out | grep -q '32.0 MiB base (shared.c:' || bad 'the file is missing'
	run "$mprof" report log
	# It is not called private if its pages were read only before most of it was resident.
	tr -s ' \n' ' ' <out | grep -qE 'of the (private resident memory of the program|resident memory of the program, without code and files,) did not come from malloc \(16[.]' ||
		bad "the finding: $(cat out)"
	run "$mprof" report --json log
	expect_same 'most at once' "$(json out '.maps | "\(.peak_bytes / 1048576) \(.file_peak_bytes / 1048576)"')" '16 80'
}

# ---- memory of the machine ----

# Compressed or not; only mprof itself reads it.
test_memory_of_the_machine() {
	local total
	total=$(awk '/^MemTotal:/ { printf "%d", $2 * 1024 }' /proc/meminfo)
	for options in '' --no-compress; do
		rm -f log
		again_until '[ "$("$mprof" report --json log | jq .least_available)" != null ]' \
			run "$mprof" record $options -o log -- sleep 0.3
		run "$mprof" report --json log
		expect_status 0
		expect_same "total $options" "$(json out .least_available.total_bytes)" "$total"
		expect_same "parts $options" "$(json out '.least_available | .available_bytes > 0 and .available_bytes <= .total_bytes and
			.free_bytes <= .total_bytes and .swap_used_bytes <= .swap_bytes and .at_ns >= 0')" true
	done
	rm -f log
	by_hand sleep 0.1
	run "$mprof" report --json log
	expect_same 'without mprof' "$(json out .least_available)" null
}

# Pages of a mapped file do not belong to the heap.
test_peak_rss_of_files() {
	cat >maps.c <<'END'
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
	int fd = open("large", O_RDWR | O_CREAT, 0600);
	ftruncate(fd, 64 << 20);
	volatile char *p = mmap(NULL, 64 << 20, PROT_READ, MAP_SHARED, fd, 0);
	for (long i = 0; i < 64 << 20; i += 4096)
		p[i];
	free(malloc(1000));
	rest(1000);
	return 0;
}
END
	compile maps -include "$here/rest.h"
	report_with ' MiB of it files and shared memory, mapped mostly by main (maps.c:9).' ./maps
	expect_words out 'at least 6'
	expect_words out ' MiB of it files and shared memory, mapped mostly by main (maps.c:9). Allocated in total'
	run "$mprof" report peak-rss log
	grep -qE '^ *6[0-9.]* MiB +>?9[0-9] % +code, files and shared memory|of which files and shared memory:  at least 6' out ||
		bad "files are missing: $(cat out)"
	report_of ls
	expect_words out ', with code and files. '
}

# What is mapped need not be resident: a function is named only if it mapped most of that, whatever
# is resident of the others' files.
test_peak_rss_of_sparse_files() {
	cat >sparse.c <<'END'
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static char *map(const char *name, long n)
{
	int fd = open(name, O_RDWR | O_CREAT, 0600);
	ftruncate(fd, n);
	return mmap(0, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}
static char *sparse(void) { return map("holes", 2l << 30); }
static char *table(void) { return memset(map("table", 64 << 20), 1, 64 << 20); }
static char *other(void)
{
	int fd = open("holes", O_RDWR | O_CREAT, 0600);
	ftruncate(fd, 2l << 30);
	return mmap(0, 2l << 30, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}
int main(int n, char **arg)
{
	char *p = n > 1 ? other() : sparse(), *q = table();
	free(malloc(1000));
	rest(200);
	return !p || !q || !arg;
}
END
	compile sparse -include "$here/rest.h"
	report_with ' MiB of it files and shared memory' ./sparse
	expect_words out ' MiB of it files and shared memory, mapped mostly by map (sparse.c:10). Allocated'
	report_with ' MiB of it files and shared memory' ./sparse other
	expect_words out ' MiB of it files and shared memory. Allocated'
}

# Where no pages were read, the kernel's figure without code and files is what the finding is about.
test_peak_rss_outside_without_samples() {
	cat >outside.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
int main(void)
{
	char *p = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	free(malloc(100));
	return *(char *)memset(p, 1, 64 << 20) != 1;
}
END
	compile outside
	run "$mprof" record --no-sample -o log -- ./outside
	run "$mprof" report log
	expect_words out 'of the resident memory of the program, without code and files, did not come from malloc (6'
}

mapper_is_largest() {
	run "$mprof" record -o log -- ./mapper
	run "$mprof" report peak-rss --process 2 log
}

# A process that called no allocating function has a size, and mapped memory.
test_peak_rss_of_a_process_without_blocks() {
	cat >mapper.c <<-'END'
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static void *volatile kept;
		int main(void)
		{
			const size_t n = 20 << 20;
			kept = malloc(1000);
			if (!fork()) {
				memset(mmap(NULL, n, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, n);
				rest(300);
				_exit(0);
			}
			wait(NULL);
			return 0;
		}
	END
	compile mapper -include "$here/rest.h"
	again_until 'grep -qE "^ *20[.]0 MiB +20[.]0 MiB" out' mapper_is_largest
	expect_status 0
	expect_text out 'Process 2 (pid '
	expect_words out 'main (mapper.c:'
	expect_text out '20.0 MiB'
	run "$mprof" report peak-rss --process 2 --size 5 log
	expect_words out 'No block passes --process 2 --size'
}

# Parts of resident memory, of a program that knows them.
test_peak_rss_parts() {
	cat >parts.c <<-'END'
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <unistd.h>
		static char variable[12 << 20];
		static char *block[40000];
		int main(int argc, char **argv)
		{
			memset(variable, 1, sizeof(variable));
			memset(mmap(0, 20 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 20 << 20);
			for (int i = 0; i < 40000; i++)
				memset(block[i] = malloc(1000), 1, 1000);
			for (int i = 0; i < 30000; i++)
				if (i < 20000 || i % 2)
					free(block[i]);
			puts("waits");
			fflush(stdout);
			return argc > 1 ? 0 : getchar();
		}
	END
	compile parts
	mkfifo go
	"$mprof" record -o log -- ./parts <go >said 2>&1 &
	exec 5>go
	wait_for grep -q waits said
	has_parts() { # they are what the program had once it waited
		run "$mprof" report peak-rss --json log
		expect_status 0
		[ "$(json out '.parts | map_values(. / 1048576 | floor) |
			"\(.live_bytes) \(.gaps_bytes / 2 | floor) \(.retained_bytes / 2 | floor) \(.mapped_bytes) \(.other_bytes)"')" = '14 2 9 20 12' ]
	}
	wait_for has_parts
	expect_documented peak_rss_view out
	run "$mprof" report peak-rss log
	grep -qE '^  20[.]0 MiB +[0-9]+ % +mapped by the program itself' out || bad "the mapped part: $(cat out)"
	grep -qx 'Live blocks when it was largest:' out || bad "the stacks follow the parts without a heading: $(cat out)"
	echo >&5
	exec 5>&-
	wait
}

# Pages of hugetlbfs are in memory, though the kernel counts them as no process's resident ones.
test_peak_rss_of_huge_pages() {
	local free
	cat >huge.c <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define SIZE (4ul << 20)
static char *pool(void)
{
	char *p = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	return p == MAP_FAILED ? NULL : memset(p, 1, SIZE);
}
int main(void)
{
	char *p = pool();
	rest(300);
	return !p || p[9] != 1;
}
END
	compile huge -include "$here/rest.h"
	free=$(sed -n 's/^HugePages_Free: *//p' /proc/meminfo)
	[ "$free" -ge 2 ] && ./huge || return 0 # most machines reserve none
	again_until 'grep -qF "4.0 MiB   4.0 MiB  pool" out' peak_rss_of ./huge
	expect_text out '4.0 MiB   4.0 MiB  pool'
}

# A byte that is written takes all of a transparent huge page.
test_peak_rss_of_transparent_huge_pages() {
	cat >sparse.c <<'END'
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#define SIZE (64ul << 20)
static char *table(int advice)
{
	char *p = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(p, SIZE, advice);
	for (unsigned long i = 0; i < SIZE; i += 65536)
		p[i] = 1;
	return p;
}
int main(int argc, char **argv)
{
	prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
	char *p = table(argc > 1 ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
	rest(300);
	return p[0] != 1 || !argv;
}
END
	compile sparse -include "$here/rest.h"
	report_of ./sparse small
	expect_no_text out huge
	grep -q 'never\]' /sys/kernel/mm/transparent_hugepage/enabled && return 0
	report_with 'in transparent huge pages' ./sparse
	# No machine must have any free.
	[ "$(json_of_huge)" -gt 16777216 ] || return 0
	expect_words out 'of the resident memory was in transparent huge pages, each of which is resident as a whole once a byte of it is written.'
	run "$mprof" report peak-rss log
	expect_text out 'of which transparent huge pages:  up to '
	run "$mprof" report --all log
	expect_words out '* Up to '
	expect_words out 'of the resident memory was in transparent huge pages, each of which is resident as a whole'
	again_until 'has_words out "in transparent huge pages"' resident_profile_of ./sparse
	expect_words out 'of the resident memory was in transparent huge pages, each of which is resident as a whole'
}

resident_profile_of() { # COMMAND...: profiles it, and reports
	"$mprof" profile -q -o profile -- "$@"
	run "$mprof" report profile
}

json_of_huge() {
	"$mprof" report --json log >huge.json
	json huge.json '.processes[0].huge_pages_bytes'
}

# Looking at many processes takes all the time that mprof may use.  Their pages are read, too.
test_peak_rss_parts_of_many_processes() {
	cat >many.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < 40; i++)
		if (!fork()) {
			char *p = memset(malloc(4 << 20), 1, 4 << 20);
			rest(2500);
			_exit(p[argc] != 1);
		}
	while (wait(NULL) > 0)
		;
	return !argv;
}
END
	compile many -include "$here/rest.h"
	again_until '[ -z "$(without_parts 10 20 30 41)" ]' report_of ./many
	expect_same 'processes without parts' "$(without_parts 10 20 30 41)" ''
}

without_parts() { # PROCESS...
	local process
	for process; do
		"$mprof" report peak-rss --process "$process" --json log >parts.json
		[ "$(json parts.json '.parts.live_bytes // 0')" -gt 4000000 ] || printf '%s ' "$process"
	done
}

# Forks share what they only read: the sum of their resident sizes tells nothing.
test_peak_rss_of_all_processes_together() {
	cat >forks.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define SIZE (32 << 20)
int main(int argc, char **argv)
{
	char *p = memset(malloc(SIZE), 1, SIZE), byte;
	int written[2], end[2];
	if (pipe(written) || pipe(end))
		return 1;
	for (int i = 0; i < 3; i++)
		if (!fork()) {
			if (argc > 1)
				memset(p, 2, SIZE);
			close(end[1]);
			_exit(write(written[1], p, 1) != 1 || read(end[0], p, 1) != 0);
		}
	for (int i = 0; i < 3; i++)
		if (read(written[0], &byte, 1) != 1)
			return 1;
	rest(900); /* with the memory of all */
	close(end[1]);
	while (wait(NULL) > 0)
		;
	return !argv;
}
END
	compile forks -include "$here/rest.h"
	four_times() {
		run "$mprof" report --json "$1"
		[ "$(json out '.together_bytes > 4 * 32 * 1048576')" = true ]
	}
	again_until 'four_times log' report_of ./forks writing
	run "$mprof" report log
	expect_words out 'All processes together had at least 1'
	expect_words out ' MiB at one time, with pages that they share counted once.'
	run "$mprof" report --all log
	expect_words out '* All processes together had at least '
	run "$mprof" report --json log
	expect_same 'four times' "$(json out '.together_bytes > 4 * 32 * 1048576 and .together_bytes < 5 * 32 * 1048576')" true
	report_of ./forks
	expect_no_text out together
	again_until 'four_times profile' resident_profile_of ./forks writing
	run "$mprof" report profile
	expect_words out ' MiB at one time, with pages that they share counted once.'
	run "$mprof" report --json profile
	expect_documented profile out
	expect_same 'of a profile' "$(json out '.together_bytes > 4 * 32 * 1048576 and .together_bytes < 5 * 32 * 1048576')" true
	resident_profile_of ./forks
	expect_no_text out together
}

# malloc does not know mappings of shared memory: the first screen names the function that maps them.
test_peak_rss_names_who_maps_shared_memory() {
	cat >shared.c <<'END'
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define SIZE (4 << 20)
static char *map(int n)
{
	return mmap(0, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}
static char *segment(void) { return memset(map(SIZE), 1, SIZE); }
static char *ring(void) { return memset(map(2 * SIZE), 1, 2 * SIZE); }
int main(void)
{
	char *p = ring();
	for (int i = 0; i < 10; i++) {
		p = segment();
		usleep(20000);
	}
	rest(200);
	return !p;
}
END
	compile shared -include "$here/rest.h"
	report_with ' MiB of it files and shared memory, mapped mostly by ' ./shared
	expect_words out ' MiB of it files and shared memory, mapped mostly by map (shared.c:7), mostly called by segment (shared.c:9).'
}
