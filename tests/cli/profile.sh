# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# profile.sh - MODE=Profile gives the same totals as a trace of the same program.

# Keeps 3 of 7, frees in order, grows, frees immediately; forks or threads on request, ends by HOW.
totalled() {
	cat >totalled.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *kept[700];
static pthread_barrier_t turn;
static void *box[4][50];
static void *keep(int i) { return malloc(10 + i % 5); }
static void at_once(void) { for (int i = 0; i < 1000; i++) free(calloc(3, 100)); }
static char *grow(void)
{
	char *p = NULL;
	for (int i = 1; i <= 40; i++)
		p = realloc(p, (size_t)i * 1000);
	return p;
}
static void *make(int i) { return malloc(64 + i % 3 * 1000); }
static void *cross(void *arg)
{
	long me = (long)arg;
	for (int round = 0; round < 200; round++) {
		for (int i = 0; i < 50; i++)
			box[me][i] = make(i);
		pthread_barrier_wait(&turn);
		for (int i = 0; i < 50; i++)
			free(box[(me + 1) % 4][i]);
		pthread_barrier_wait(&turn);
	}
	return NULL;
}
static void threads(void)
{
	pthread_t t[4];
	pthread_barrier_init(&turn, NULL, 4);
	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, cross, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}
int main(int argc, char **argv)
{
	volatile size_t too_much = (size_t)-4096;
	char *p;
	void *big;
	for (int i = 0; i < 700; i++)
		kept[i] = keep(i);
	at_once();
	p = grow();
	big = aligned_alloc(4096, 3 << 20);
	free(big);
	p = realloc(p, 10);
	if (realloc(p, too_much)) /* fails: p lives on */
		return 1;
	free(p);
	for (int i = 0; i < 400; i++)
		free(kept[i]);
	if (strchr(argv[1], 't'))
		threads();
	if (strchr(argv[1], 'f')) {
		if (!fork()) {
			for (int i = 400; i < 700; i++)
				free(kept[i]); /* the parent's: they count there */
			keep(1);
			_exit(0);
		}
		wait(NULL);
	}
	if (argc > 2 && !strcmp(argv[2], "exec"))
		execl(argv[0], argv[0], "-", (char *)NULL);
	if (argc > 2)
		raise(atoi(argv[2]));
	return 0;
}
END
	cc -g -O1 -fno-inline -fno-builtin -pthread -o totalled totalled.c || bad 'totalled.c does not compile'
}

# Figures of rows by function, except those that need events or are times.
figures_of() { # VIEW FILE MORE
	# shellcheck disable=SC2086
	"$mprof" report "$1" --by function --json $3 "$2" 2>err |
		jq -S '[.rows[] | {function, calls, blocks, sizes, freed_bytes, temporary_bytes, figures} |
			.figures |= del(.rss, .lifetime, .local) | .blocks |= del(.rss, .local)] | sort_by(.function)'
}

expect_as_recorded() { # WHAT OPTIONS-OF-REPORT ARGS...
	local what=$1 options=$2 view
	shift 2
	"$mprof" profile -o file -- ./totalled "$@" >/dev/null 2>err || true
	"$mprof" record -o log -- ./totalled "$@" >/dev/null 2>err || true
	for view in peak leaks hot temporary; do
		figures_of "$view" file "$options" >a
		figures_of "$view" log "$options" >b
		cmp -s a b || bad "$what: $view differs: $(diff a b | head -20)"
		[ "$(jq length a)" -gt 0 ] || bad "$what: $view has no row"
	done
	run "$mprof" check --max-leaked 1 --max-peak 1 --max-calls 1 --max-temporary 1 --max-total 1 file
	mv out a
	run "$mprof" check --max-leaked 1 --max-peak 1 --max-calls 1 --max-temporary 1 --max-total 1 log
	expect_same "$what: check" "$(cat a)" "$(cat out)"
	for view in total calls live leaked; do
		"$mprof" export --to folded --value $view file >a 2>err
		"$mprof" export --to folded --value $view log >b 2>err
		cmp -s a b || bad "$what: folded $view differs: $(diff a b | head -20)"
	done
}

test_profile_is_the_trace() {
	totalled
	expect_as_recorded 'one thread' '' -
	expect_as_recorded 'killed' '' - 9
	expect_as_recorded 'aborted' '' - 6
	expect_as_recorded 'exec' --process=1 - exec
	expect_same 'live at exec' "$("$mprof" report --json file | jq -c '[.live_blocks_at_exec, .live_bytes_at_exec]')" \
		"$("$mprof" report --json log | jq -c "[.live_blocks_at_exec, .live_bytes_at_exec]")"
	run "$mprof" report file
	expect_words out 'Discarded by exec: '
}

# The peak of several processes differs from that of the run, so it is left out.
test_profile_of_processes() {
	local process sums='.total | {blocks, sizes, freed_bytes} | .blocks |= del(.peak, .rss, .local)'
	totalled
	"$mprof" profile -o file -- ./totalled f >/dev/null 2>err
	"$mprof" record -o log -- ./totalled f >/dev/null 2>err
	for process in 1 2; do
		"$mprof" report hot --json --process $process file | jq -S "$sums" >a
		"$mprof" report hot --json --process $process log | jq -S "$sums" >b
		expect_same "process $process" "$(cat a)" "$(cat b)"
	done
	run "$mprof" report --json file
	expect_same 'the child has one block' "$(json out .processes[1].forked)" true
}

test_profile_of_threads() {
	local bound peak truth
	totalled
	"$mprof" profile -o file -- ./totalled t >/dev/null 2>err
	"$mprof" record -o log -- ./totalled t >/dev/null 2>err
	"$mprof" report hot --json file | jq -S '[.rows[].figures | del(.rss, .lifetime, .local, .peak)]' >a
	"$mprof" report hot --json log | jq -S '[.rows[].figures | del(.rss, .lifetime, .local, .peak)]' >b
	expect_same 'figures of 4 threads' "$(cat a)" "$(cat b)"
	run "$mprof" report --json file
	peak=$(json out .peak.bytes)
	bound=$(json out .peak.right_to_bytes)
	truth=$("$mprof" report --json log | jq .peak_bytes)
	[ "$bound" -gt 0 ] || bad "several threads, and the peak is said to be exact"
	# Two runs may differ by what four threads hold at one time.
	[ $((peak > truth ? peak - truth : truth - peak)) -le $((bound + 4 * 50 * 2064)) ] ||
		bad "peak $peak, but $truth was recorded"
}

test_profile_needs_events() {
	local view
	totalled
	run "$mprof" profile -o 'a file' -- ./totalled -
	expect_status 0
	expect_text err "next: mprof report 'a file'"
	mv 'a file' file
	for view in peak-rss realloc; do
		run "$mprof" report $view file
		expect_status 2
		expect_one_line_error
		expect_text err "'file' contains totals, not individual calls: '$view' needs a trace from mprof record"
	done
	run "$mprof" report hot --size 10.. file
	expect_status 2
	expect_text err 'figures of some sizes need a trace'
	run "$mprof" report peak --at 50% file
	expect_text err 'figures of a moment need a trace'
	run "$mprof" report hot --sort rss file
	expect_status 2
	expect_text err "'rss' needs a trace"
	run "$mprof" export --to massif file
	expect_status 2
	expect_text err 'massif needs a trace'
	run "$mprof" report --html page.html file
	expect_status 0
	expect_text page.html '<h2>Totals</h2>'
	expect_text page.html '<br><code>mprof report callers '
	run "$mprof" dump file
	expect_status 3
	expect_text err 'is a profile, which has no individual calls'
	run "$mprof" report waste file
	expect_status 0
	grep -Eq '^The allocator rounded [0-9,]+ blocks up by ' out || bad "waste: $(head -3 out)"
	expect_no_text out 'at the peak'
	run "$mprof" report file
	expect_status 0
	expect_text out 'Largest at the peak'
	expect_no_text out 'missing'
	# The other way round: a file of another kind is not overwritten.
	run "$mprof" record -o file -- ./totalled -
	expect_status 2
	expect_text err "'file' exists and is a profile, not a trace"
}

# While the program runs, and again after it was killed.
test_profile_while_it_runs() {
	keeps_and_waits
	"$mprof" profile -o file -- ./waits >/dev/null 2>&1 &
	wait_for test -e ready
	run "$mprof" report leaks --json file
	expect_same 'running' "$(json out .total.figures.leaked)" 77000
	run "$mprof" report file
	expect_words out 'Live now: 77,000 bytes'
	expect_words out 'the recording ends'
	expect_no_text out 'Never freed'
	kill -9 "$("$mprof" report --json file | jq '.processes[0].pid')"
	wait
	run "$mprof" report leaks --json file
	expect_same 'killed' "$(json out .total.figures.leaked)" 77000
}

test_profile_says_how_many_processes() {
	run "$mprof" profile -o one -- true
	expect_no_text err process
	run "$mprof" profile -o three -- sh -c 'ls / | sort'
	expect_text err ' in 3 processes, '
}

# The time of the last figures, where no end is recorded.
test_profile_that_was_copied() {
	cat >ticks.c <<'END'
#include <stdlib.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0;; i++) {
		free(malloc(100));
		nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
		if (i == 30)
			close(creat("ready", 0600));
	}
}
END
	cc -O1 -fno-builtin -o ticks ticks.c || bad 'ticks.c does not compile'
	"$mprof" profile -q -o file -- ./ticks &
	wait_for test -e ready
	cp file copy
	kill -9 "$("$mprof" report --json file | jq '.processes[0].pid')"
	wait
	run "$mprof" report copy
	! tr -s ' \n' ' ' <out | grep -q 'ends [0-9.]* us' || bad "the recording is too short: $(grep ' us' out)"
	expect_words out 'the recording ends'
}

# What the samples of a program with known figures estimate.
sampled() {
	cat >sampled.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *small(int i) { return malloc(16 + i % 100); }
static void *mid(int i) { return malloc(4000 + i % 4000); }
static void *large(void) { return malloc(1000000); }
static void *leak(int i) { return malloc(500 + i % 50); }
static void *ring[1000];
static void *work(void *arg)
{
	for (int i = 0; i < 200000; i++) {
		int k = i % 1000;
		free(ring[k]);
		ring[k] = i % 100 == 7 ? mid(i) : i % 20000 == 3 ? large() : small(i);
		if (i % 40 == 0 && !arg)
			leak(i);
	}
	return NULL;
}
static void *empty(void *arg)
{
	for (int k = 0; k < 1000; k++)
		free(ring[k]);
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t;
	work(argc > 1 ? argv[1] : NULL);
	if (argc > 1 && *argv[1] == 't') {
		pthread_create(&t, NULL, empty, NULL);
		pthread_join(t, NULL);
	}
	if (argc > 1 && *argv[1] == 'f') {
		if (!fork()) {
			empty(NULL);
			_exit(0);
		}
		wait(NULL);
		empty(NULL);
	}
	if (argc > 1 && *argv[1] == 'k')
		raise(SIGKILL);
	return 0;
}
END
	cc -g -O1 -fno-inline -fno-builtin -pthread -o sampled sampled.c || bad 'sampled.c does not compile'
}

# A figure from a few samples only is not told as if it were exact.
test_profile_of_few_samples() {
	cat >few.c <<'END'
#include <stdlib.h>
static void *few(void) { return malloc(16); }
int main(void) { for (int i = 0; i < 200000; i++) free(few()); return 0; }
END
	cc -g -O1 -fno-inline -fno-builtin -o few few.c || bad 'few.c does not compile'
	run "$mprof" profile -q --sample=1M --seed 2 -o p -- ./few
	run "$mprof" report p
	expect_words out ' of all allocations (about 131,0'
	run "$mprof" profile -q --sample=16K --seed 1 -o p -- ./few
	run "$mprof" report p
	expect_no_text out '(about '
	run "$mprof" report hot --hide-zero-live p
	expect_same 'none is live' "$(cat out)" 'No block was live at the end (--hide-zero-live).'
	run "$mprof" check --hide-zero-live --max-peak 1K p
	expect_no_text err 'has no sample'
	run "$mprof" profile -q --sample=1G --seed 1 -o p -- ./few
	run "$mprof" report p
	expect_words out 'Recorded: 0 samples of 1 thread'
	expect_words out 'No sample was taken: there is one every 1.0 GiB on average.'
	run "$mprof" report peak p
	expect_words out 'No sample was taken: '
	run "$mprof" check --max-peak 1K p
	expect_text err "'p' has no sample, so its figures are 0"
}

# In 95 of 100 cases; a seed chooses the same samples everywhere.
test_profile_samples_hold_the_truth() {
	local seed within=0 of=0 row
	sampled
	"$mprof" profile -o exact -- ./sampled >/dev/null 2>err
	"$mprof" report hot --by function --json --top 0 exact >truth
	for seed in 1 2 3 4 5 6 7 8 9 10 11 12; do
		"$mprof" profile --sample=64K --seed $seed -o file -- ./sampled >/dev/null 2>err
		"$mprof" report hot --by function --json --top 0 file >estimate
		row=$(jq -n --slurpfile t truth --slurpfile e estimate '
			[($t[0].rows[] | select(.function | IN("small", "mid", "large", "leak"))) as $true |
			 ($e[0].rows[] | select(.function == $true.function)) as $est |
			 ("calls", "total", "live") as $v | ($est.ranges[$v] // [0, 0]) as $r |
			 $true.figures[$v] >= $r[0] and $true.figures[$v] <= $r[1]] | "\(map(select(.)) | length) \(length)"' -r)
		within=$((within + ${row% *}))
		of=$((of + ${row#* }))
	done
	[ "$of" -ge 130 ] || bad "only $of figures were estimated"
	[ $((within * 100)) -ge $((of * 92)) ] || bad "$within of $of figures are within their ranges"
}

test_profile_samples_end() {
	local form how
	sampled
	for how in t f; do
		run "$mprof" profile --sample=4K -o file -- ./sampled $how
		expect_status 0
		run "$mprof" report hot --by function --json --process 1 file
		expect_same "$how: live" "$(json out '.rows[] | select(.function == "small") | .figures.live')" 0
		expect_same "$how: estimated" "$(json out '.estimated')" true
	done
	run "$mprof" profile --sample -o file -- ./sampled kill
	expect_status 137
	run "$mprof" report file
	expect_text out 'Estimated from'
	expect_text out 'one every 512 KiB on average'
	run "$mprof" report temporary file
	expect_status 2
	expect_text err "'file' contains samples: 'temporary' needs mprof profile without --sample, or a trace"
	run "$mprof" report peak --by thread file
	expect_text err "'peak' by thread needs a trace from mprof record; expected --sort calls or total"
	run "$mprof" report hot --by size file
	expect_text err 'need mprof profile --site-sizes without --sample, or a trace from mprof record'
	run "$mprof" profile --sample-calls 9 --site-sizes -- ./sampled
	expect_status 2
	expect_text err 'invalid --site-sizes: samples do not keep sizes; leave out --sample-calls'
	run "$mprof" export --to folded file
	expect_text err "'file' contains estimates from"
	run "$mprof" report waste file
	expect_status 2
	expect_text err "'file' contains samples: 'waste' needs mprof profile without --sample"
	run "$mprof" export --to folded --value all -o each file
	expect_status 0
	[ ! -e each.waste ] || bad 'samples have no waste'
	# What is unknown is no 0.
	for form in "" --sample=4K; do
		"$mprof" profile $form -o file -- ./sampled >/dev/null 2>err
		expect_same "csv $form" "$("$mprof" export --to csv file 2>/dev/null | tr -d '\r' | awk -F, '
			NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
			NR == 2 { print ($at["calls"] > 0), ($at["rss_bytes"] == ""), ($at["temporary_calls"] == ""), ($at["slack"] == "") }')" \
			"$([ "$form" ] && echo 1 1 1 1 || echo 1 1 0 0)"
		expect_same "jsonl $form" "$("$mprof" export --to jsonl file 2>/dev/null | jq -c 'select(.type == "site") |
			[.rss_bytes == null, .temporary_calls == null]' | uniq)" "$([ "$form" ] && echo '[true,true]' || echo '[true,false]')"
		"$mprof" export --to sqlite -o base file 2>/dev/null
		expect_same "sqlite $form" "$(python3 -c 'import sqlite3; print(*sqlite3.connect("base").execute(
			"SELECT count(calls) > 0, count(rss_calls), count(reallocs) > 0 FROM site").fetchone())')" \
			"$([ "$form" ] && echo 1 0 0 || echo 1 0 1)"
		rm -f base
	done
}

# Differences between two runs of one program are sampling error; figures that samples do not have
# are neither compared nor printed.
test_profile_samples_compared() {
	local pair
	sampled
	"$mprof" profile -o exact -- ./sampled >/dev/null 2>err
	"$mprof" profile --sample=4K --seed 1 -o one -- ./sampled >/dev/null 2>err
	"$mprof" profile --sample=4K --seed 2 -o two -- ./sampled >/dev/null 2>err
	run "$mprof" diff one two
	expect_status 0
	expect_text out 'No figure changed by more than the error of samples.'
	expect_text out '%, within the error'
	for pair in 'one two' 'two one'; do
		run "$mprof" check --all --tolerance 0 --no-new-leaks --baseline "${pair% *}" "${pair#* }"
		expect_status 0
		cat out >>checks
	done
	expect_words checks ', but may be equal, within the error of samples'
	run "$mprof" diff one two
	# Each row has its ranges, and only what is beyond them is a change.
	expect_text out 'peak by function: 3 within the error; 1 the same.'
	"$mprof" profile --sample=64K --seed 2 -o tidy -- ./sampled without >/dev/null 2>err
	run "$mprof" diff --json --value leaked --all one tidy
	expect_same 'changes' "$(json out '[.rows[] | select(.change != "same") | [.change, .function]] | sort' | tr -d ' \n')" \
		'[["removed","leak"],["unclear","mid"],["unclear","small"]]'
	expect_same 'its ranges' "$(json out '.rows[] | select(.function == "leak") |
		.range_before[0] < 2600000 and .range_before[1] > 2600000 and .range_after[0] == 0 and .range_after[1] > 0')" true
	run "$mprof" diff --value leaked exact tidy
	expect_text out 'exact before, 0 bytes to '
	run "$mprof" profile -q --sample-calls 100 -o calls -- ./sampled
	run "$mprof" diff --json calls exact
	expect_same 'bytes of samples by calls' "$(json out '.changes | .grown + .shrunk + .added + .removed')" 0
	run "$mprof" diff exact one
	grep -q temporary out && bad "temporary is compared: $(grep temporary out)"
	# Nor are they limited; a limit on an estimate tells its range.
	run "$mprof" check --max-temporary 1000 one
	expect_status 2
	expect_text err "'temporary' needs mprof profile without --sample"
	run "$mprof" check --all --max-total 1T --json one
	expect_same 'the range of an estimate' "$(json out '.checks[0] | .range[0] <= .found and .found <= .range[1] and
		(.message | contains("; the 95 % range is "))')" true
	run "$mprof" diff --markdown one two
	expect_text out '%, within the error'
	run "$mprof" report lifetimes one
	expect_status 0
	grep -q '0 ns to 0 ns' out && bad 'samples have no shortest life'
	expect_text out 'on average'
	run "$mprof" report lifetimes exact
	grep -Eq 'lived [0-9.]+ (ns|us) to [0-9.]+ (ns|us|ms), [0-9.]+ (ns|us|ms) on average' out ||
		bad "$(head -3 out)"
}

# Threads with few calls have their share of samples: 2,000 of 25 blocks each, one in 20 sampled, with an
# error of 1 %.
test_profile_samples_of_short_threads() {
	cat >short.c <<'END'
#include <pthread.h>
#include <stdlib.h>
static void *keep(void *at)
{
	for (int i = 0; i < 25; i++)
		((void **)at)[i] = malloc(1000);
	return at;
}
int main(void)
{
	static void *kept[25];
	for (int i = 0; i < 2000; i++) {
		pthread_t t;
		if (pthread_create(&t, NULL, keep, kept))
			return 1;
		pthread_join(t, NULL);
	}
	return 0;
}
END
	cc -g -O1 -fno-builtin -pthread -o short short.c
	run "$mprof" profile -q --sample-calls 20 --seed 1 -o few -- ./short
	run "$mprof" report --json few
	expect_same 'sampled calls' "$(json out '.total.figures.calls | if . > 47500 and . < 52500 then "right" else . end')" right
}

# A period of one call samples every call.
test_profile_samples_of_all_calls() {
	totalled
	"$mprof" profile --sample-calls 1 -o file -- ./totalled - >/dev/null 2>err
	"$mprof" profile -o exact -- ./totalled - >/dev/null 2>err
	for view in file exact; do
		"$mprof" report hot --by function --json --top 0 $view |
			jq -S '[.rows[] | {function, calls: .figures.calls, total: .figures.total, live: .figures.live,
				peak: .figures.peak, freed_bytes}]' >$view.figures
	done
	cmp -s file.figures exact.figures || bad "figures differ: $(diff file.figures exact.figures | head -20)"
	run "$mprof" profile --sample-calls 0.5 -- true
	expect_status 2
	expect_one_line_error
}

# Our memory follows the size of the heap at one time, not all addresses that it ever had.
test_profile_memory_follows_the_heap() {
	local without with conf
	cat >wanders.c <<'END2'
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *block[200000];
static int blocks, other;
static sem_t full, empty;
static void all_freed(void)
{
	for (int i = 0; i < blocks; i++)
		free(block[i]);
}
static void *frees(void *arg)
{
	for (;;) {
		sem_wait(&full);
		all_freed();
		sem_post(&empty);
	}
	return arg;
}
static void fill(int n, size_t size)
{
	for (blocks = 0; blocks < n; blocks++)
		block[blocks] = malloc(size);
	if (!other) {
		all_freed();
		return;
	}
	sem_post(&full);
	sem_wait(&empty);
}
int main(int argc, char **argv)
{
	static char line[256];
	pthread_t t;
	FILE *f;
	other = argc > 1 && argv[1][0] == 't';
	if (other)
		pthread_create(&t, NULL, frees, NULL);
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	for (int round = 0; round < 40; round++) {
		fill(200000, 24);
		fill(6400000 / (1500 + 100 * round), 1500 + 100 * round);
		malloc_trim(0);
		if (sbrk(1 << 23) == (void *)-1) /* the heap goes on behind it */
			return 1;
	}
	f = fopen("/proc/self/status", "r");
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "VmHWM", 5))
			printf("%d\n", atoi(line + 6));
	return 0;
}
END2
	cc -O1 -fno-builtin -pthread -o wanders wanders.c || bad 'wanders.c does not compile'
	for conf in - threads; do
		without=$(./wanders $conf)
		with=$("$mprof" profile -o file -- ./wanders $conf 2>err)
		[ $((with - without)) -lt 24000 ] || bad "$conf: $without kB became $with kB"
		run "$mprof" report hot --by function --json file
		expect_same "$conf: calls, live" "$(jq -c '.rows[] | select(.function == "fill") |
			.figures | [.calls > 8000000, .live]' out)" '[true,0]'
	done
}

# Six programs with fixed input, so their allocations are always the same.
real_programs() {
	cat >p.py <<'END2'
import json
d = json.loads(json.dumps([{"a%d" % i: list(range(i % 50)), "s": "x" * (i % 300)} for i in range(20000)]))
print(len(d), sum(len(x["s"]) for x in d))
END2
	cat >p.pl <<'END2'
my %h;
for my $i (1..60000) { $h{"key$i"} = "v" x ($i % 200); push @{$h{list}{$i % 100}}, $i; }
print scalar(keys %h), "\n";
END2
	cat >p.sql <<'END2'
create table t(a integer primary key, b text);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 60000) insert into t select x, hex(x) || printf('%0100d', x) from c;
create index i on t(b);
select count(*), max(b) from t where b like '%77%';
select b from t order by substr(b, 3) limit 1;
END2
	jq -nc '[range(30000) | {a: ., b: ("\(.)" * 10)}]' >in.json
	seq 1 200000 >lines
	awk 'BEGIN {
		print "unsigned long strlen(const char *);\nint f0(int x, const char *s) { return x + (int)strlen(s); }"
		for (i = 1; i < 150; i++)
			printf "int f%d(int x, const char *s) { int n = 0; for (int i = 0; i < x; i++) { if (s[i] == %d) n += i * %d; else n ^= strlen(s + i) + f%d(x - 1, s); } return n; }\n", i, i % 90, i, i - 1
	}' >in.c
}

real_program() { # NAME COMMAND...: COMMAND with the program of this name
	local name=$1
	shift
	case $name in
	python) PYTHONMALLOC=malloc PYTHONHASHSEED=0 "$@" /usr/bin/python3 p.py ;;
	perl) PERL_HASH_SEED=0 "$@" perl p.pl ;;
	sqlite) "$@" sqlite3 -batch :memory: -init p.sql .quit ;;
	jq) "$@" jq -c 'map(select(.a > 5)) | group_by(.a % 100) | length' in.json ;;
	cc1) "$@" "$(gcc -print-prog-name=cc1)" -quiet -O1 in.c -o out.s ;;
	awk) "$@" awk '{ a[$1 % 5000] = a[$1 % 5000] "x" $0 } END { print length(a) }' lines ;;
	esac >/dev/null 2>err </dev/null
}

# Total and live bytes of functions with two samples and one hundredth of all, or more: 95 of 100
# are within their ranges, less a margin for chance with about 130 of them, which a program's environment
# and its libraries change: those of one program are not independent of each other.
test_profile_samples_of_programs() {
	local name seed within=0 of=0 row
	real_programs
	for name in python perl sqlite jq cc1 awk; do
		real_program $name "$mprof" profile -q -o exact -- || bad "$name: $(cat err)"
		"$mprof" report hot --by function --json --top 0 exact >truth 2>err
		for seed in 1 2; do
			real_program $name "$mprof" profile -q --sample=64K --seed $seed -o file --
			"$mprof" report hot --by function --json --top 0 file >estimate 2>err
			row=$(jq -nr --slurpfile t truth --slurpfile e estimate '$t[0].total.figures as $all |
				["total", "live"] | map(. as $v |
				[($t[0].rows[] | select(.figures[$v] * 100 > $all[$v] and .figures[$v] >= 131072)) as $true |
				 (first($e[0].rows[] | select(.function == $true.function and .module == $true.module)) // {}) as $est |
				 ($est.ranges[$v] // [0, 0]) as $r |
				 $true.figures[$v] >= $r[0] and $true.figures[$v] <= $r[1]]) | add |
				"\(map(select(.)) | length) \(length)"')
			within=$((within + ${row% *}))
			of=$((of + ${row#* }))
		done
	done
	[ "$of" -ge 80 ] || bad "only $of figures were estimated"
	[ $((within * 100)) -ge $((of * 85)) ] || bad "$within of $of figures are within their ranges"
}

# Processes that end while the profile is read hand their stack records on, and the next ones take
# their place.
test_profile_of_short_processes_while_they_run() {
	cat >short.c <<-'END'
		#include <stdlib.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static void *work(int i) { return malloc(1000 + i); }
		int main(void)
		{
			for (int n = 0; n < 300; n++) {
				if (!fork()) {
					for (int i = 0; i < 20; i++)
						work(i);
					usleep(10000);
					_exit(0);
				}
				usleep(12000);
				while (waitpid(-1, NULL, WNOHANG) > 0)
					;
			}
			while (wait(NULL) > 0)
				;
			return 0;
		}
	END
	compile short -fno-builtin
	"$mprof" profile -o short.profile -- ./short >said 2>&1 &
	wait_for test -s short.profile
	while [ ! -s said ]; do # the last words of mprof
		run "$mprof" report short.profile
		expect_no_text out damaged
		expect_no_text out unrecorded # when it was read, it ran
		run "$mprof" report peak --json short.profile
		expect_no_text out 'stack not known'
	done
	wait $!
}

# How large the process was, which the system tells, as a report of a trace says.
test_profile_resident() {
	cat >large.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
int main(void)
{
	memset(mmap(0, 60 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 60 << 20);
	return !malloc(100);
}
END
	compile large
	local way
	for way in '' --sample=64; do
		rm -f profile
		"$mprof" profile $way -o profile -- ./large 2>err
		run "$mprof" report profile
		grep -qE '^  Largest resident set: 6[0-9]\.[0-9] MiB, with code and files\.$' out || bad "$(cat out)"
	done
}

# A worker was killed, and its parent has no figures of it: those of the run count.
test_profile_resident_of_killed_worker() {
	cat >worker.c <<'END'
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	int i;
	if (fork())
		return waitpid(-1, &i, 0) < 0;
	for (i = 0; i < 100; i++)
		memset(malloc(600000), 1, 600000), usleep(2000);
	raise(SIGKILL);
}
END
	compile worker
	profile_worker() {
		"$mprof" profile -q -o profile -- ./worker
		run "$mprof" report profile
	}
	again_until 'grep -q "Largest resident set: [456][0-9]\.[0-9] MiB, of .* (process 2)" out' profile_worker
	grep -q 'Largest resident set: [456][0-9]\.[0-9] MiB, of .* (process 2)' out || bad "$(cat out)"
}

# Where huge pages are always used, few bytes of a large table would keep 2 MiB of it resident.
test_large_tables_have_no_huge_pages() {
	[ -e /sys/kernel/mm/transparent_hugepage ] || return 0
	run "$mprof" profile -q -o profile -- cat /proc/self/smaps
	perl -ne '$map = $_, $name = (split)[5] if /^[0-9a-f]+-/; $size = $1 if /^Size: +(\d+)/;
		print $map if /^VmFlags:/ && !/ nh/ && / wr/ && !$name && $size >= 2048' out >large
	expect_same 'large tables without the advice' "$(cat large)" ''
	grep -q '^VmFlags:.* nh' out || bad 'no table has the advice'
}

# What a thread has not gathered when it is killed was live, so it is in the peak.
test_profile_peak_is_not_below_the_end() {
	cat >prog.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
void *volatile kept[6];
static void *idle(void *p) { pause(); return p; }
__attribute__((noinline)) void fill(void) { for (int i = 1; i < 6; i++) kept[i] = malloc(100); }
int main(int argc, char **argv)
{
	pthread_t t;
	kept[0] = malloc(100000);
	if (argc > 1)
		free(kept[0]);
	pthread_create(&t, NULL, idle, NULL);
	fill();
	raise(SIGKILL);
}
END
	compile prog -pthread
	run "$mprof" profile -q -o profile -- ./prog
	run "$mprof" report peak --json profile
	expect_same blocks "$(json out .moment_of_peak.calls)" 7
	expect_same peak "$(json out .moment_of_peak.bytes)" "$(json out .total.figures.live)"
	expect_same 'own peak' "$(json out .total.figures.local)" "$(json out .total.figures.live)"
	run "$mprof" report peak profile
	expect_text out 'fill (prog.c:7)'
	run "$mprof" report peak --json --by process profile
	expect_same 'own peak of the process' "$(json out '.rows[].figures.local')" \
		"$(json out .total.figures.live)"
	rm profile
	run "$mprof" profile -q -o profile -- ./prog freed
	run "$mprof" report peak --json profile
	expect_same 'earlier peak' "$(json out .moment_of_peak.bytes)" 100000
}
