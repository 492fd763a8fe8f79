# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# totals.sh - profiles of programs whose figures follow from their source.

# One pattern for each first letter of its argument.
patterns() {
	cat >patterns.cc <<'END'
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <stdexcept>
#include <sys/mman.h>
#include <unistd.h>
#define APART extern "C" __attribute__((noinline))
static void *box[4096];
APART void *shortly(void) { return malloc(1024); }
APART void *peak_1(void) { return malloc(1024); }
APART void *peak_2(void) { return malloc(10240); }
APART void *leaky(void) { return malloc(1024); }
APART void *grow(void *p, size_t n) { return realloc(p, n); }
APART void *zero(void) { return malloc(0); }
APART void *handed(void) { return malloc(100); }
APART void mapped(void)
{
	for (int i = 0; i < 3; i++) {
		char *p = (char *)mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		munmap(p, 1 << 19);
		munmap(p + (1 << 19), 1 << 19);
	}
}
APART void deep(int n) { if (n) deep(n - 1); else box[0] = malloc(77); __asm__ volatile(""); }
APART void thrower(int i) { box[i] = malloc(50); throw std::runtime_error("x"); }
APART void *three_mib(void) { return malloc(3 << 20); }
APART void *five_mib(void) { return malloc(5 << 20); }
APART void *four_mib(void) { return malloc(4 << 20); }
static void overlap(void)
{
	void *a, *b, *c = NULL;
	for (volatile int i = 0; i < 2; i++) {
		a = three_mib();
		if (i) {
			free(c);
			free(a);
		} else {
			b = five_mib();
			free(a);
			c = four_mib();
			free(b);
		}
	}
}
static void *freer(void *p) { free(p); return NULL; }
static void *maker(void *) { return handed(); }
static void two_peaks(void)
{
	for (int i = 0; i < 1024; i++) box[i] = peak_1();
	for (int i = 0; i < 1024; i++) free(box[i]);
	for (int i = 0; i < 1024; i++) box[i] = peak_2();
	for (int i = 0; i < 1024; i++) free(box[i]);
}
static void threads(void)
{
	pthread_attr_t a;
	pthread_t t;
	void *p;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 1 << 16);
	for (int i = 0; i < 2049; i++) {
		pthread_create(&t, &a, maker, NULL);
		pthread_join(t, &p);
		pthread_create(&t, &a, freer, p);
		pthread_join(t, NULL);
	}
}
static pthread_barrier_t turn;
static void *question, *answer;
APART void *asked(void) { return malloc(1000); }
APART void *answered(void) { return malloc(1000); }
static void *talk(void *asks)
{
	void **mine = asks ? &question : &answer, **theirs = asks ? &answer : &question;
	for (int i = 0; i < 2000; i++) {
		*mine = asks ? asked() : answered();
		pthread_barrier_wait(&turn);
		free(*theirs);
		pthread_barrier_wait(&turn);
	}
	return NULL;
}
static void exchange(void)
{
	pthread_t t;
	pthread_barrier_init(&turn, NULL, 2);
	pthread_create(&t, NULL, talk, NULL);
	talk(&turn);
	pthread_join(t, NULL);
}
int main(int argc, char **argv)
{
	void *p = NULL;
	switch (argv[1][0]) {
	case 's': for (int i = 0; i < 100000; i++) { void *volatile q = shortly(); free(q); } break;
	case 'p': two_peaks(); break;
	case 'l':
		for (int i = 0; i < 4096; i++) box[i] = leaky();
		for (int i = 2; i < 4096; i++) free(box[i]);
		break;
	case 'g': p = malloc(256); for (size_t n = 512; n <= 1 << 20; n += 256) p = grow(p, n); free(p); break;
	case 'z': for (int i = 0; i < 10; i++) free(zero()); break;
	case 'm': mapped(); break;
	case 'd': deep(257); free(box[0]); break;
	case 'e': for (int i = 0; i < 100; i++) try { thrower(i); } catch (std::exception &) { free(box[i]); } break;
	case 'o': overlap(); break;
	case 't': threads(); break;
	case 'x': exchange(); break;
	}
	return 0;
}
END
	g++ -g -O1 -fno-builtin -fno-optimize-sibling-calls -pthread -o patterns patterns.cc || bad 'patterns.cc does not compile'
}

profile_of() { # PROGRAM ARGS...
	rm -f file
	"$mprof" profile -o file -- "$@" >/dev/null 2>err || bad "$*: $(cat err)"
	"$mprof" report hot --by function --json --top 0 file >rows 2>err
	"$mprof" report --json file >json 2>err
}

figure() { # FUNCTION PATH
	jq -c ".rows[] | select(.function == \"$1\") | $2" rows
}

test_totals_of_patterns() {
	patterns
	profile_of ./patterns short
	expect_same 'short life' "$(figure shortly '[.figures.calls, .figures.total, .figures.live, .figures.temporary, .figures.local]')" \
		'[100000,102400000,0,100000,1024]'
	run "$mprof" report hot file
	expect_words out '; at most 1.0 KiB live at once'
	profile_of ./patterns peaks
	expect_same 'two peaks: local' "$(figure peak_1 .figures.local) $(figure peak_2 .figures.local)" '1048576 10485760'
	expect_same 'two peaks: the global one' "$(figure peak_1 .figures.peak) $(figure peak_2 .figures.peak)" '0 10485760'
	profile_of ./patterns leak
	expect_same leak "$(figure leaky '[.figures.calls, .blocks.leaked, .figures.leaked]')" '[4096,2,2048]'
	profile_of ./patterns grow
	expect_same 'heavy realloc' "$(figure grow '[.figures.calls, .reallocs.calls, .figures.live]')" '[4095,4095,0]'
	expect_same 'cumulated' "$(figure grow .figures.total)" $((256 * (4096 * 4097 / 2 - 1)))
	profile_of ./patterns zero
	expect_same 'malloc(0) in a bin of its own' "$(jq -c '.sizes[] | select(.from == 0) | [.calls, .freed]' json)" '[10,10]'
	profile_of ./patterns mmap
	jq -c '.functions | [.mmap.calls, .mmap.bytes, .munmap.calls, .munmap.bytes]' json >with
	profile_of ./patterns -
	jq -c '.functions | [.mmap.calls, .mmap.bytes, .munmap.calls, .munmap.bytes]' json >without
	expect_same 'mmap, munmap' "$(jq -nc --slurpfile a with --slurpfile b without '[range(4)] | map(($a[0][.] // 0) - ($b[0][.] // 0))')" \
		'[3,3145728,6,3145728]'
	profile_of ./patterns deep
	expect_same recursion "$("$mprof" export --to folded --value calls file 2>err | grep -o 'deep' | wc -l)" 258
	profile_of ./patterns exceptions
	expect_same exceptions "$(figure thrower '[.figures.calls % 100, .figures.live, .sizes.max > 50]')" '[0,0,true]'
	profile_of ./patterns overlap
	# libstdc++ keeps a pool.
	expect_same peak "$(($(jq .peak.bytes json) - $(jq '[.rows[] | select(.function | IN("three_mib", "five_mib", "four_mib", "main") | not) | .figures.peak] | add' rows)))" 9437184
	expect_same shares "$(figure three_mib .figures.peak) $(figure five_mib .figures.peak) $(figure four_mib .figures.peak)" '0 5242880 4194304'
	expect_same 'local peaks' "$(figure three_mib .figures.local) $(figure five_mib .figures.local) $(figure four_mib .figures.local)" \
		'3145728 5242880 4194304'
}

test_totals_across_threads() {
	patterns
	profile_of ./patterns threads
	expect_same 'freed by others' "$(figure handed '[.figures.calls, .figures.total, .figures.live, .blocks.freed]')" \
		'[2049,204900,0,2049]'
	expect_same threads "$(jq .threads json)" 4099
	# Each keeps the other's blocks for a moment: a thread's own sums per function only grow.
	profile_of ./patterns xchange
	expect_same 'freed by each other' "$(figure asked '[.figures.calls, .figures.live, .figures.local < 10000]') $(figure answered '[.figures.calls, .figures.live, .figures.local < 10000]')" \
		'[2000,0,true] [2000,0,true]'
	profile_of "$build/preload/threads" 1000 100
	expect_same 'no call of 1000 threads is lost' "$(jq '.sizes[] | select(.from == 4) | .calls >= 100000' json)" true
}

test_totals_of_fixture_a() {
	profile_of "$build/preload/fixture_a"
	expect_same 'peak' "$(jq .peak.bytes json)" 1089
	expect_same 'leak' "$(jq '[.total.blocks.leaked, .total.figures.leaked]' -c json)" '[1,55]'
}

# A profile knows own peaks of single stacks: a row of several never has more than the program had.
test_totals_own_peak_of_several_stacks() {
	cat >turns.c <<'END2'
#include <stdlib.h>
#include <string.h>
static __attribute__((noinline)) void take(size_t size)
{
	char *volatile block = malloc(size);

	memset(block, 1, size);
	free(block);
}
static void *volatile kept;
int main(void)
{
	kept = malloc(1000);
	take(300000);
	take(200000);
	kept = malloc(10);
	take(100000);
	return 0;
}
END2
	cc -g -O1 -fno-builtin -fno-optimize-sibling-calls -o turns turns.c || bad 'turns.c does not compile'
	"$mprof" profile -o file -- ./turns 2>err || bad "$(cat err)"
	"$mprof" report peak --json --by function file >json
	expect_same 'by function' "$(jq -r '[.rows[] | "\(.function) \(.figures.peak) \(.figures.local)"] | join(", ")' json)" \
		'take 300000 301000, main 1000 1010'
	"$mprof" report peak --by function file >out
	expect_text out 'The own peak of a row with several sites is an upper bound.'
	"$mprof" report peak --json --by module file >json
	expect_same 'by module' "$(jq -c '[.rows[].figures | .peak, .local]' json)" '[301000,301000]'
	"$mprof" report peak --by module file >out
	expect_no_text out 'upper bound'
	"$mprof" profile --sample=1K -o samples -- ./turns 2>err || bad "$(cat err)"
	"$mprof" report peak --json --by function samples >json
	expect_same 'samples' "$(jq -c '[.estimated, .rows[0].function, .rows[0].figures.local == .moment_of_peak.bytes]' json)" \
		'[true,"take",true]'
	"$mprof" record -q -o log -- ./turns
	"$mprof" report peak --json --by function log >json
	expect_same 'a trace knows' "$(jq -r '[.rows[] | "\(.function) \(.figures.local)"] | join(", ")' json)" \
		'take 300000, main 1010'
	"$mprof" report peak --by function log >out
	expect_no_text out 'upper bound'
	"$mprof" report top-down --sort local log >out
	expect_text out 'local (sums of separate peaks): 587 KiB'
}

# The own peak of a stack is at least its largest block, whatever a thread keeps back.
test_totals_own_peak() {
	cat >brief.c <<'END2'
#include <pthread.h>
#include <stdlib.h>
static void *brief(void *arg)
{
	for (int i = 0; i < 1000; i++)
		free(malloc(i ? 100 : 500));
	return arg;
}
int main(void)
{
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, brief, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return 0;
}
END2
	cc -g -O1 -fno-builtin -pthread -o brief brief.c || bad 'brief.c does not compile'
	"$mprof" profile -o file -- ./brief 2>err || bad "$(cat err)"
	"$mprof" report hot --json --function brief file >json
	expect_same 'bytes' "$(jq '[.rows[].figures | .total > 0 and .local >= 500] | all' json)" true
	expect_same 'blocks' "$(jq '[.rows[].blocks.local >= 1] | all' json)" true
}

# Over time: memory counts as live until the call that ended it, however long before that no call
# was made; and what was live at the end, until the end.
test_totals_over_quiet_time() {
	local mode
	cat >quiet.c <<'END2'
#include <stdlib.h>
#include <unistd.h>
static void *box[100];
static void *big(size_t n) { return malloc(n); }
int main(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < 100; i++)
		box[i] = big(10000);
	usleep(100000); /* ten steps */
	if (argc > 1) {
		box[0] = realloc(box[0], 20000);
		return 0;
	}
	for (int i = 0; i < 99; i++)
		free(box[i]);
	usleep(100000);
	return 0;
}
END2
	cc -g -O1 -fno-inline -fno-builtin -o quiet quiet.c || bad 'quiet.c does not compile'
	steps_of_all() { "$mprof" report --json file | jq '[.course[] | select(.bytes == 1000000)] | length'; }
	for mode in '' --sample=1; do
		# Of a run that a busy machine keeps for seconds, the steps are longer.
		again_until '[ "$(steps_of_all)" -ge 8 ]' run "$mprof" profile $mode -o file -- ./quiet
		expect_status 0
		"$mprof" report --json file >json 2>err
		expect_same "steps before the frees $mode" "$(($(steps_of_all) >= 8))" 1
		expect_same "at the end $mode" "$(jq -c '.course[-1] | .bytes, .blocks' json | xargs)" '10000 1'
	done
	"$mprof" report --all file 2>err | grep -q '0 bytes' && bad 'samples have figures of 0 bytes a second'
	"$mprof" profile -o file -- ./quiet realloc 2>err || bad "$(cat err)"
	"$mprof" report --json file >json
	"$mprof" report --html page.html file >/dev/null 2>&1
	grep -q ' d="M0 120V[0-9.]*H' page.html || bad 'the curve of a page has no stairs'
	expect_same 'before a realloc' "$(jq '[.course[].bytes] | .[index(1000000):] | map(select(. < 1000000)) | length' json)" 0
}

# Over time: the steps cover the run, their calls add up, and the highest step is the peak, with its
# stack.
test_totals_over_time() {
	local f
	patterns
	cat >waves.c <<'END2'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *box[1000];
static void *low(void) { return malloc(1000); }
static void *high(void) { return malloc(5000); }
static void *middle(void) { return malloc(3000); }
static void wave(void *(*make)(void))
{
	for (int i = 0; i < 1000; i++)
		box[i] = make();
	usleep(21000); /* more than a step */
	for (int i = 0; i < 1000; i++)
		free(box[i]);
}
int main(int argc, char **argv)
{
	wave(low);
	if (argc > 1) {
		if (!fork())
			wave(high);
		wait(NULL);
		_exit(argv[1] == NULL);
	}
	wave(high);
	for (int i = 0; i < 150; i++) { /* more steps than there is room for */
		usleep(20000);
		free(low());
	}
	wave(middle);
	return 0;
}
END2
	cc -g -O1 -fno-inline -fno-builtin -o waves waves.c || bad 'waves.c does not compile'
	order() { jq -r '.course[] | select(.bytes > 800000) | .stack[-1].function // empty' json | uniq | tr '\n' ' '; }
	again_until '[ "$(order)" = "low high middle " ]' profile_of ./waves
	expect_same 'the highest step' "$(jq -c '[(.course | sort_by(-.bytes)[0]) | .bytes, .blocks, .stack[-1].function], [.peak.bytes, .peak.blocks, "high"]' json | uniq | wc -l)" 1
	expect_same 'calls, bytes' "$(jq -c '.course | [(map(.calls) | add), (map(.allocated_bytes) | add)]' json)" \
		"$(jq -c '[.total.figures.calls, .total.figures.total]' json)"
	expect_same 'no gap' "$(jq '[.course as $c | range(1; $c | length) | $c[.].from_ns - $c[. - 1].to_ns | select(. != 0)] | length' json)" 0
	expect_same 'order of the waves' "$(order)" 'low high middle '
	expect_same 'steps' "$(jq '.course | length > 128 and length <= 257' json)" true
	expect_same 'memory' "$(jq '.course[1] | .resident_bytes > 1000000 and .virtual_bytes > .resident_bytes' json)" true
	run "$mprof" report --all file
	expect_text out 'Over time'
	grep -q 'high (waves.c' out || bad "$(tail -20 out)"
	# The largest process of a merged file; its times are from one clock.
	mv file waves.profile
	"$mprof" profile -o other -- ./patterns leak >/dev/null 2>err
	"$mprof" merge other waves.profile -o both 2>err || bad "merge: $(cat err)"
	"$mprof" report --json both >merged
	for f in bytes calls 'stack[-1].function'; do
		expect_same "merged: $f" "$(jq -c "[.course[].$f]" merged)" "$(jq -c "[.course[].$f]" json)"
	done
	# A forked child has its own.
	profile_of ./waves fork
	expect_same 'a child' "$(jq -c '[.course_process, (.course | sort_by(-.bytes)[0] | .bytes, .stack[-1].function)]' json)" \
		'[2,5000000,"high"]'
	"$mprof" merge file other -o few 2>err || bad "merge: $(cat err)"
	"$mprof" report --json few >merged
	expect_same 'merged, of few steps' "$(jq -c '[.course[] | .bytes, .calls]' merged)" "$(jq -c '[.course[] | .bytes, .calls]' json)"
}

# A process takes little room, and what each left is not taken for one leak.
test_profile_of_many_processes() {
	cat >each.c <<'E'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 64; i++) {
		if (!fork())
			_exit(malloc(100000) == NULL);
		wait(NULL);
	}
	return 0;
}
E
	compile each -g
	"$mprof" profile -q -o file -- ./each 2>err || bad "$(cat err)"
	expect_same 'processes' "$("$mprof" report --json file | jq '.processes | length')" 65
	[ "$(wc -c <file)" -lt $((65536 + 65 * 32768)) ] || bad "$(wc -c <file) bytes"
	run "$mprof" report file
	expect_words out 'never frees 6.1 MiB in 64 blocks (at most 97.7 KiB at a time, in processes that ended)'
}

# expect_growth NAME WORDS [ARG]: profiles ./course ARG; the report finds a leak in these words.  A machine
# that stops the program for most of its time hides the growth.
expect_growth() {
	local i
	for i in 1 2 3 4 5 6; do
		"$mprof" profile -q -o "$1.profile" -- ./course ${3+"$3"} 2>err
		run "$mprof" report "$1.profile"
		tr -s ' \n' '  ' <out >line
		! grep -q "$2" line || break
	done
	grep -q "$2 all .* blocks allocated by leak_session (course.c:10)" line ||
		bad "no growing leak in $1.profile: $(cat out)"
}

# A program of which each function does one thing: what it leaks follows the clock, whatever the
# machine does.
test_findings_of_a_profile() {
	local grown
	cat >course.c <<'E'
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#define APART __attribute__((noinline))
static void *table[2000], *cache[2];
APART void build_table(void) { for (int i = 0; i < 2000; i++) table[i] = malloc(1000); }
APART void *leak_session(void) { return malloc(100); }
APART void renew(int i) { free(cache[i & 1]); cache[i & 1] = malloc(3000); }
APART void scratch(void) { free(malloc(256)); }
static long now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}
int main(int argc, char **argv)
{
	const long start = now_us();
	long leaked = 0, us;
	build_table();
	while ((us = now_us() - start) < 250000) {
		for (; leaked < us / 50; leaked++)
			leak_session();
		for (int i = 0; i < 20; i++) renew(i), scratch(), scratch();
		usleep(500);
	}
	if (argc > 1) raise(SIGKILL);
}
E
	compile course -g
	grown='\(still growing\|growing to the end of the run\|growing until .* after the start\):'
	expect_growth ended "never freed, $grown"
	expect_words out 'mprof report leaks --function leak_session ended.profile'
	expect_words out 'of the peak (1.9 MiB in 2,000 blocks) was allocated by build_table (course.c:9)'
	expect_words out 'by scratch (course.c:12). mprof report temporary --function scratch ended.profile'
	expect_no_text out 'mprof replay'
	run "$mprof" report --all ended.profile
	expect_words out 'allocated by scratch (course.c:12)'
	run "$mprof" report leaks ended.profile
	tr -s ' \n' '  ' <out >line
	grep -q 'in all .* blocks; .* more than at .* after the start' line || bad "no growth: $(cat out)"
	run "$mprof" report --json ended.profile
	expect_documented profile out
	# What is live when a program is killed is a finding only if it grew.
	expect_growth killed "live at the end, $grown" killed
	expect_no_text out 'blocks allocated by renew'
}

# The first of the times at which live bytes are noted is while the program loads.
test_totals_loaded() {
	cat >loaded.c <<'E'
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static void *table[2000];
static void load(int from) { for (int i = from; i < from + 1000; i++) table[i] = malloc(1000); }
int main(void)
{
	struct timespec begun, now;
	clock_gettime(CLOCK_MONOTONIC, &begun);
	load(0);
	usleep(25000);
	load(1000);
	clock_gettime(CLOCK_MONOTONIC, &now);
	usleep(10 * ((now.tv_sec - begun.tv_sec) * 1000000 + (now.tv_nsec - begun.tv_nsec) / 1000));
	free(malloc(10));
	raise(SIGKILL);
}
E
	compile loaded
	"$mprof" profile -q -- ./loaded
	run "$mprof" report mprof.profile
	expect_words out '(1.9 MiB in 2,000 blocks) was allocated by load'
	expect_no_text out 'growing'
}

# How large a process was is known only at calls: those of mmap, too, but not between two of them;
# what it allocated is taken to have been written at once.
test_totals_of_resident_memory() {
	local how
	cat >grows.c <<'E'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define PART (2 << 20)
static void *map(void) { return mmap(NULL, PART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
int main(int argc, char **argv)
{
	if (argc > 2) {
		char *block = malloc(20 * PART);
		memset(block, 1, 20 * PART);
		usleep(200000);
		free(block);
		return 0;
	}
	char *p = argc > 1 ? mmap(NULL, 20 * PART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : NULL;
	for (int i = 0; i < 20; i++) {
		memset(p ? p + i * PART : map(), 1, PART);
		usleep(20000);
	}
	free(p && argv[1][0] == 'r' ? realloc(NULL, 300) : malloc(300));
	usleep(20000);
	return 0;
}
E
	cc -g -O1 -fno-builtin -o grows grows.c || bad 'grows.c does not compile'
	# steps_with LEAST MOST: the steps of ./grows that have this many bytes
	steps_with() { jq "[.course[] | select(.resident_bytes and .resident_bytes >= $1 and .resident_bytes < $2)] | length" json; }
	profile_of ./grows
	expect_same 'it grows' "$(($(steps_with 0 20000000) >= 6 && $(steps_with 20000000 100000000) >= 6))" 1
	run "$mprof" report file
	expect_words out 'MiB was memory mapped directly. This lasted'
	profile_of ./grows once
	expect_same 'without calls' "$(($(steps_with 0 20000000) >= 6 && $(steps_with 20000000 100000000) <= 2))" 1
	expect_same 'times' "$(jq '[.course[] | .at_ns >= .from_ns and .at_ns <= .to_ns] | all' json)" true
	for how in once realloc; do
		profile_of ./grows $how
		expect_same 'what the last call allocates' "$(jq '[.course[] | select(.allocated_bytes > 0)] | length == 1 and .[0].from_ns > 200000000' json)" true
	done
	profile_of ./grows in one
	expect_same 'what it allocated before a pause' "$(($(steps_with 40000000 100000000) >= 6)) $(steps_with 0 40000000)" '1 0'
}

# A profile does not take for freed memory what was never freed.
test_totals_of_aligned_blocks() {
	cat >aligned.c <<'E'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char *box[5000];
int main(void)
{
	for (int i = 0; i < 5000; i++)
		memset(box[i] = aligned_alloc(4096, 192), 1, 192);
	usleep(100000);
	for (int i = 0; i < 5000; i++)
		free(box[i]);
	return 0;
}
E
	compile aligned
	has_gaps() { run "$mprof" report file && has_words out 'MiB was gaps beside aligned blocks. This lasted'; }
	again_until has_gaps profile_of ./aligned
	expect_words out 'MiB was gaps beside aligned blocks. This lasted'
	# Few of them have small gaps.
	cat >deep.c <<'E'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int deep(int n)
{
	volatile char part[64 << 10];
	memset((char *)part, 1, sizeof(part));
	if (n)
		return deep(n - 1) + part[5];
	free(malloc(64));
	usleep(100000);
	free(malloc(64));
	return part[7];
}
int main(void)
{
	free(aligned_alloc(64, 64));
	return deep(400) == 1;
}
E
	compile deep
	is_stack() { run "$mprof" report file && has_words out 'MiB was its stack or memory that the allocator took in advance. This lasted'; }
	ulimit -Ss 65536
	again_until is_stack profile_of ./deep
	expect_words out 'MiB was its stack or memory that the allocator took in advance. This lasted'
}
