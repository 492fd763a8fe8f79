# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# at.sh - what was live at a time: --at of views and exports.

# Calls: 10 of first, 5 of second, 5 frees, a realloc, then a child and a thread with their own.
at_source() {
	cat <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void *a[10], *b[5], *c[3];
static void pause_ms(int ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000L }, NULL);
}
static void first(void) { for (int i = 0; i < 10; i++) a[i] = malloc(1000); }
static void second(void) { for (int i = 0; i < 5; i++) b[i] = malloc(2000); }
static void grown(void) { b[0] = realloc(b[0], 2500); }
static void of_child(void) { for (int i = 0; i < 7; i++) if (!malloc(700)) abort(); }
static void *third(void *unused)
{
	for (int i = 0; i < 3; i++)
		c[i] = malloc(3000);
	for (int i = 0; i < 10000; i++)
		free(malloc(10 + i % 50));
	return unused;
}
int main(void)
{
	pthread_t t;
	first();
	second();
	for (int i = 0; i < 5; i++)
		free(a[i]);
	grown();
	pause_ms(5);
	if (!fork()) {
		of_child();
		pause_ms(10);
		_exit(0);
	}
	wait(NULL);
	pthread_create(&t, NULL, third, NULL);
	pthread_join(t, NULL);
	for (int i = 5; i < 10; i++)
		free(a[i]);
	return 0;
}
END
}

at_record() { # ./at and its trace in raw
	at_source >at.c
	cc -g -O0 -fno-builtin -o at at.c || bad 'at.c does not compile'
	run "$mprof" record --no-compress -o raw -- ./at
	expect_status 0
}

at_rows() { # LOG OPTION...: "FUNCTION BYTES BLOCKS" of each row, and the sum
	local log=$1
	shift
	run "$mprof" report peak --json --by function "$@" "$log"
	expect_status 0
	json out '[(.rows | sort_by(.function)[] | "\(.function) \(.value) \(.blocks.peak)"),
		(.moment_of_peak | "all \(.bytes) \(.calls)")] | join(", ")'
}

test_at_moments() {
	local log
	at_record
	cp raw packed
	run "$mprof" compress packed
	expect_status 0
	for log in raw packed; do
		expect_same "$log, 1 call" "$(at_rows $log --at 1)" 'first 1000 1, all 1000 1'
		expect_same "$log, 10 calls" "$(at_rows $log --at 10)" 'first 10000 10, all 10000 10'
		expect_same "$log, 13 calls" "$(at_rows $log --at 13)" \
			'first 10000 10, second 6000 3, all 16000 13'
		expect_same "$log, 20 calls" "$(at_rows $log --at 20)" \
			'first 5000 5, second 10000 5, all 15000 10'
		expect_same "$log, 21 calls" "$(at_rows $log --at 21)" \
			'first 5000 5, grown 2500 1, second 8000 4, all 15500 10'
		expect_same "$log, 28 calls" "$(at_rows $log --at 28)" \
			'first 5000 5, grown 2500 1, of_child 4900 7, second 8000 4, all 20400 17'
		expect_same "$log, the peak" "$(at_rows $log --at peak)" "$(at_rows $log)"
		expect_same "$log, the end" "$(at_rows $log --at end | sed 's/, main [0-9 ]*//; s/, all.*//')" \
			'grown 2500 1, second 8000 4, third 9000 3'
		expect_same "$log, 100 %" "$(at_rows $log --at 100%)" "$(at_rows $log --at end)"
		# The same, by brute force from the output of dump, at many times.
		run "$here/moments.py" "$mprof" $log
		expect_status 0
		cat out
	done
}

# Before the first allocation: there are some, but later.
test_at_the_start() {
	local at view
	at_record
	for at in 0s 0 0%; do
		for view in peak top-down 'annotate at.c'; do
			# shellcheck disable=SC2086 # a view and its argument
			run "$mprof" report $view --at $at raw
			expect_status 0
			expect_same "$view --at $at" "$(cat out)" 'No allocation was recorded until 0 ns after the start.'
		done
		run "$mprof" image --at $at -o x.png raw
		expect_status 0
	done
	run "$mprof" record -o none -- sleep 0
	run "$mprof" report --at end peak none
	expect_no_text out 'recorded until'
}

test_at_views_and_exports() {
	local view
	at_record
	run "$mprof" report peak --at 20 raw
	expect_status 0
	expect_words out ' after the start, all processes together held 15,000 bytes (14.6 KiB) in 10 blocks.'
	expect_no_text out 'At the peak'
	for view in top-down bottom-up 'callers main' 'annotate at.c'; do
		run "$mprof" report $view --at 20 raw
		expect_status 0
		expect_text out '"peak" is the time'
		expect_text out 'with 15,000 bytes (14.6 KiB) live.'
	done
	run "$mprof" report bottom-up --json --at 20 raw
	expect_same 'the tree' "$(json out '[.rows[] | select(.depth == 1) |
		"\(.function) \(.inclusive.peak)"] | sort | join(", ")')" 'first 5000, second 10000'
	run "$mprof" export --to folded --at 20 raw
	expect_status 0
	expect_same folded "$(sed 's/.*;//' out | sort | tr '\n' ' ')" 'first 5000 second 10000 '
	run "$mprof" export --to folded --at 20 --function second raw
	expect_same 'folded, filtered' "$(sed 's/.*;//' out)" 'second 10000'
	run "$mprof" export --to speedscope --at 20 raw
	expect_same speedscope "$(json out '.profiles[] | select(.name == "peak") | .weights | add')" 15000
}

# A view of the whole run reads no events that an earlier view has read: it gives the same answers,
# whichever view was first, even if the events have been damaged since. A damaged cache file costs
# only time.
test_at_the_end() {
	local what file damage kept
	export XDG_CACHE_HOME=$PWD/cache
	milestones_source | sed 's/00000/0000/' >long.c
	cc -g -O1 -fno-builtin -fno-inline -o longer long.c -lpthread || bad 'long.c does not compile'
	run "$mprof" record -o long -- ./longer
	expect_status 0
	local whole=(report 'report hot' 'report peak --json' 'report leaks' 'report --all'
		'report --json' 'report top-down' 'export --to csv' 'diff --json long'
		'report realloc' 'report threads --json')
	# The first screen leaves the peaks of stacks and grown blocks, which these views print.
	run "$mprof" report long
	file=$(echo cache/mprof/milestones-*/*)
	kept=$(stat -c '%s %i' "$file")
	milestones_agree report hot
	milestones_agree report peak
	milestones_agree report realloc
	expect_same 'a view after the first screen' "$(stat -c '%s %i' "$file")" "$kept"
	for what in "${whole[@]}" report 'report hot --by line' 'report hot --json --thread 2' \
		'report peak --sort local' 'report leaks --json --time 1ms..'; do
		milestones_agree $what
		milestones_agree $what
	done
	"$mprof" report peak --json long >/dev/null 2>&1
	file=$(echo cache/mprof/milestones-*/*)
	kept=$(stat -c '%s %i' "$file")
	cp "$file" good
	cp -p long undamaged
	for what in "${whole[@]}"; do
		"$mprof" $what long >"answer $what" 2>/dev/null
	done
	dd if=/dev/zero of=long bs=1 seek=200000 count=100 conv=notrunc status=none
	touch -r undamaged long
	run "$mprof" report peak --no-symbol-cache long
	expect_text err 'are missing'
	for what in "${whole[@]}"; do
		run "$mprof" $what long
		cmp -s out "answer $what" || bad "read again: $what"
	done
	expect_same 'what was kept' "$(stat -c '%s %i' "$file")" "$kept"
	cp undamaged long
	touch -r undamaged long
	for damage in head rows cut frames; do
		cp good "$file"
		case $damage in
		head) printf '\1' | dd of="$file" bs=1 seek=80 conv=notrunc status=none ;;
		rows) printf '\377\377\377' | dd of="$file" bs=1 seek=150 conv=notrunc status=none ;;
		cut) truncate -s -10 "$file" ;;
		frames) dd if=/dev/zero of="$file" bs=1000 seek=$((${kept% *} / 1000 - 15)) count=15 conv=notrunc status=none ;;
		esac
		milestones_agree report
		cp good "$file"
		milestones_agree report peak
	done
}

# A trace of less than 256 KiB: views after the first report do not read it again.
test_at_the_end_of_a_shorter_trace() {
	local bytes
	export XDG_CACHE_HOME=$PWD/cache
	milestones_source | sed 's:00000):0000 / 4):' >long.c
	cc -g -O1 -fno-builtin -fno-inline -o shorter long.c -lpthread || bad 'long.c does not compile'
	run "$mprof" record -o long -- ./shorter
	expect_status 0
	bytes=$(stat -c %s long)
	[ "$bytes" -gt 65536 ] && [ "$bytes" -lt 262144 ] || bad "the trace has $bytes bytes"
	run "$mprof" report long
	expect_same 'files of milestones' "$(find cache/mprof/milestones-* -type f | wc -l)" 1
	milestones_agree report
	milestones_agree report hot
	milestones_agree report leaks --json
}

milestones_source() { # long enough that a walk leaves milestones
	cat <<'END'
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define SLOTS 4096
static void *small(size_t n) { return malloc(n); }
static void *zeroed(size_t n) { return calloc(1, n); }
static void *deep(int depth, size_t n) { return depth ? deep(depth - 1, n) : small(n); }
static void work(uint64_t x, int n)
{
	void *slot[SLOTS] = { 0 };
	for (int i = 0; i < n; i++) {
		void **p;
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		p = &slot[x % (i < n / 2 ? SLOTS : SLOTS / 8)];
		if (*p && x >> 60 < 3) {
			*p = realloc(*p, x >> 40 & 2047);
		} else if (*p) {
			free(*p);
			*p = 0;
		} else {
			size_t size = x >> 40 & 1023;
			*p = x >> 59 & 1 ? zeroed(size) : deep(x >> 20 & 7, size);
		}
		if (i % 50000 == 0)
			small(i / 50000); /* lost */
	}
}
static void *thread(void *seed) { work((uintptr_t)seed, 300000); return 0; }
int main(void)
{
	pthread_t t[2];
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, thread, (void *)(i + 77));
	work(5, 100000);
	if (!fork()) {
		work(9, 300000);
		_exit(0);
	}
	work(6, 300000);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	wait(NULL);
	return 0;
}
END
}

# Answers from a milestone equal those from the start, at random times. A damaged, truncated or
# foreign file of milestones, or a read-only directory, costs only time.
milestones_agree() { # COMMAND...; the run itself stays the same
	if [ "$*" != "${agreed-}" ]; then
		run "$mprof" "$@" --no-symbol-cache long
		expect_status 0
		mv out from_start
	fi
	agreed=$*
	run "$mprof" "$@" long
	expect_status 0
	cmp -s out from_start || bad "from a milestone: $*: $(diff out from_start | head -5)"
}

test_at_milestones() {
	local when file kept agreed=
	export XDG_CACHE_HOME=$PWD/cache
	milestones_source >long.c
	cc -g -O1 -fno-builtin -fno-inline -o longer long.c -lpthread || bad 'long.c does not compile'
	run "$mprof" record -o long -- ./longer
	expect_status 0
	# The milestones of a walk that ends early are used until then, and the next walk adds more.
	milestones_agree report peak --at 40% --by line
	milestones_agree report peak --at 95% --by line
	file=$(echo cache/mprof/milestones-*/*)
	[ -s "$file" ] || bad "no milestones: $file"
	kept=$(stat -c '%s %y' "$file")
	# A walk of the whole run replaces them, and later ones leave them alone.
	run "$mprof" report long
	[ "$(stat -c '%s %y' "$file")" != "$kept" ] || bad 'the whole walk left nothing'
	kept=$(stat -c %s "$file")
	cp "$file" good
	milestones_agree report peak --at 62.7% --by function
	milestones_agree export --to csv --at 31.3%
	when=1150001
	milestones_agree report top-down --at $when --json
	milestones_agree report callers small --at $when
	milestones_agree report peak --at $when --thread 2
	milestones_agree report bottom-up --at $when --function zeroed --sort calls
	milestones_agree export --to speedscope --at $when
	# A thread that has made no call yet is not refused as unknown.
	run "$mprof" report peak --at 0s --thread 2 long
	expect_status 0
	expect_text out 'No block passes --thread 2.'
	run "$mprof" report peak --at 0s --process 99 long
	expect_status 2
	expect_text err "no process 99 in 'long': its numbers go from 1 to 2"
	# Calls are counted by groups in a compressed trace, one by one in any other.
	run "$mprof" record --no-compress -o longraw -- ./longer
	cp longraw longpacked
	run "$mprof" compress --exact longpacked
	for when in 1 1048577 37.5% 100%; do
		run "$mprof" export --to csv --at $when --no-symbol-cache longraw
		mv out one_by_one
		run "$mprof" export --to csv --at $when --no-symbol-cache longpacked
		cmp -s out one_by_one || bad "--at $when of a compressed trace: $(diff out one_by_one | head -5)"
	done
	rm longraw longpacked
	# Blocks that were allocated in a window and live at the end.
	when=$("$mprof" report --json long | jq '[.threads[].last_ns] | max * 0.9 | floor')
	milestones_agree report peak --time "${when}ns.."
	milestones_agree report temporary --json --time "${when}ns..$((when + 20000000))ns"
	milestones_agree report leaks --json --thread 2 --time "${when}ns.."
	milestones_agree report peak-rss --json --time "${when}ns.."
	kept=$(stat -c '%s %i' "$file")
	run "$mprof" report long
	run "$mprof" report top-down --at $when long
	expect_same 'what was kept' "$(stat -c '%s %i' "$file")" "$kept"
	kept=$(stat -c %s good)
	# Damage.
	for damage in rows frame cut empty; do
		cp good "$file"
		case $damage in
		rows) printf '\377\377\377' | dd of="$file" bs=1 seek=150 conv=notrunc status=none ;;
		frame) dd if=/dev/zero of="$file" bs=1000 seek=100 count=$((kept / 1000 - 100)) conv=notrunc status=none ;;
		cut) truncate -s $((kept / 2)) "$file" ;;
		empty) : >"$file" ;;
		esac
		milestones_agree report peak --at 99%
	done
	# A damaged milestone does not keep another end from being kept.
	rm "$file"
	run "$mprof" report hot long
	kept=$(stat -c '%s %i' "$file")
	dd if=/dev/zero of="$file" bs=1 seek=$((${kept% *} / 3)) count=1000 conv=notrunc status=none
	run "$mprof" report long
	[ "$(stat -c '%s %i' "$file")" != "$kept" ] || bad 'the end of another walk was not kept'
	kept=$(stat -c '%s %i' "$file")
	milestones_agree report
	expect_same 'what was kept then' "$(stat -c '%s %i' "$file")" "$kept"
	milestones_agree report peak --at 60%
	# A walk from a milestone does not read earlier events, so damage there goes unnoticed.
	cp good "$file"
	milestones_agree report peak --at 99%
	cp -p long undamaged
	dd if=/dev/zero of=long bs=1 seek=200000 count=100 conv=notrunc status=none
	touch -r undamaged long
	run "$mprof" report peak --at 99% --no-symbol-cache long
	expect_text err 'are missing'
	! cmp -s out from_start || bad 'damage makes no difference'
	run "$mprof" report peak --at "${when}ns" --by function long
	expect_no_text err 'are missing'
	mv out from_milestone
	cp undamaged long
	touch -r undamaged long
	run "$mprof" report peak --at "${when}ns" --by function --no-symbol-cache long
	expect_same 'before a damaged part' "$(cat from_milestone)" "$(cat out)"
	# The trace has changed: its milestones are not used.
	cp good "$file"
	touch long
	milestones_agree report peak --at 99%
	expect_same 'files' "$(ls cache/mprof/milestones-* | wc -l)" 2
	rm -r cache
	: >cache
	milestones_agree report peak --at 99%
}

# A page is made in one walk: it reads the trace once; its map of the heap takes another walk.
test_at_page_reads_once() {
	local read bytes map walks
	milestones_source >long.c
	cc -g -O1 -fno-builtin -fno-inline -o longer long.c -lpthread || bad 'long.c does not compile'
	run "$mprof" record -o long -- ./longer
	bytes=$(stat -c %s long)
	for map in --no-heap-map ''; do
		read=$(sh -c '"$1" report --html page $2 --no-symbol-cache long 2>/dev/null
			sed -n "s/^rchar: //p" /proc/$$/io' sh "$mprof" "$map")
		walks=${map:+1}
		walks=${walks:-2}
		((read > bytes * walks / 2 && read < bytes * (2 * walks + 1) / 2)) ||
			bad "$read bytes were read of a trace of $bytes, $map"
	done
}

test_at_words() {
	local words
	at_record
	for words in 'report peak --at soon' 'report leaks --at 5' 'report peak --at 1h' \
		'report peak --at 1000000' 'report peak --at 5 --sort rss' \
		'report peak --at 5 --lifetime 1ms..' 'export --to massif --at 5' \
		'export --to folded --at 1h'; do
		run "$mprof" $words raw
		expect_status 2
		expect_text err --at
	done
	run "$mprof" report --at 5 raw
	expect_status 2
	expect_text err '--at needs a view, for example: mprof report peak --at'
	run "$mprof" report peak --at 1h raw
	expect_text err '--at 1h: the recording ends after '
	run "$mprof" report peak --at 1000000 raw
	expect_text err '--at 1000000: there are only '
	run "$mprof" export --to massif --at 5 raw
	expect_text err '--to massif: it describes the whole run, not one point in time; leave out --at'
}

# Processes may end after the last call.
test_at_after_the_last_call() {
	local first last
	cat >ends.c <<-'END'
		#include <stdlib.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static void *kept;
		int main(void)
		{
			int fd[2], c;
			if (pipe(fd))
				return 1;
			if (!fork()) {
				kept = malloc(5000);
				read(fd[0], &c, 1);
				usleep(100000);
				_exit(0);
			}
			kept = malloc(700);
			write(fd[1], "", 1);
			wait(NULL);
			usleep(200000);
			_exit(0);
		}
	END
	compile ends
	run "$mprof" record -o log -- ./ends
	run "$mprof" report --json log
	last=$(json out '[.processes[] | .end_ns] | max')
	first=$(json out '[.processes[] | .end_ns] | min')
	run "$mprof" report peak --at "$((last - 100000000))ns" log
	expect_words out 'held 700 bytes in 1 block'
	run "$mprof" report peak --at "$((first - 1000000))ns" log
	expect_words out 'held 5,700 bytes in 2 blocks'
	run "$mprof" report peak --at "$((last + 1000000000))ns" log
	expect_status 2
	expect_text err 'the recording ends after '
}
