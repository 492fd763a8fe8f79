# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2016
#
# heap.sh - leaks, mappings and owners of blocks, in programs whose figures are known.

# Keeps 100,000 bytes in each of 300 steps, in THREADS threads of PROCESSES
# processes, then ends by HOW: a signal, 0 (exit) or "wait" (keeps all at once, then waits until
# it is killed).
leaker() {
	cat >leaker.c <<'END'
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void *kept[8][300];
static int at_once;
static void *keep(void) { return malloc(100000); }
static void *steps(void *into)
{
	void **to = into;
	for (int i = 0; i < 300; i++) {
		to[i] = keep();
		if (!at_once)
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return NULL;
}
int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 1, processes = argc > 3 ? atoi(argv[3]) : 1, i;
	pthread_t t[8];
	at_once = !strcmp(argv[1], "wait");
	for (i = 1; i < processes; i++)
		if (!fork())
			break;
	for (i = 1; i < threads; i++)
		pthread_create(&t[i], NULL, steps, kept[i]);
	steps(kept[0]);
	for (i = 1; i < threads; i++)
		pthread_join(t[i], NULL);
	if (!strcmp(argv[1], "wait")) {
		close(creat("ready", 0600));
		for (;;)
			pause();
	}
	/* The run is over with the first process: nobody waits for those that it leaves behind. */
	while (wait(NULL) > 0)
		;
	if (!strcmp(argv[1], "abort"))
		abort();
	if (atoi(argv[1]))
		raise(atoi(argv[1]));
	return 0;
}
END
	cc -g -O1 -fno-inline -fno-builtin -pthread -o leaker leaker.c || bad 'leaker.c does not compile'
}

seen_growing() {
	"$mprof" report leaks --json log 2>/dev/null | jq -e '.rows[0] | .evidence.kind == "growing" and
		(.live_by_epoch_bytes as $e | [range(1; 16) | select($e[.] > $e[. - 1])] | length >= 8)' >/dev/null
}

# What COMMAND records is reported as growing, over most of the run, even after its peak.
expect_growing() { # WHAT BYTES COMMAND...
	again_until seen_growing "${@:3}"
	run "$mprof" report leaks --json log
	expect_same "$1: kind" "$(json out '"\(.rows[0].evidence.kind) \(.total.figures.leaked)"')" "growing $2"
	expect_same "$1: epochs that grew" "$(json out '.rows[0].live_by_epoch_bytes as $e |
		[range(1; 16) | select($e[.] > $e[. - 1])] | length >= 8')" true
	run "$mprof" report --json log
	expect_same "$1: the run reaches to the peak" "$(json out '.duration_ns >= .peak_ns and .peak_ns > 300000000')" true
}

test_leaks_however_it_ends() {
	local how more
	leaker
	for how in 0 abort 15 9 11; do
		for more in '' --no-compress; do
			# shellcheck disable=SC2086
			expect_growing "$how $more" 30000000 run "$mprof" record $more -o log -- ./leaker "$how"
		done
	done
	expect_growing 'threads and processes' 180000000 run "$mprof" record -o log -- ./leaker 9 3 2
	run "$mprof" report leaks log
	expect_text out 'Still growing when their process ended'
}

test_leaks_while_it_runs() {
	leaker
	"$mprof" record -o log -- ./leaker wait 2 >said 2>&1 &
	wait_for test -e ready
	run "$mprof" report leaks --json log
	expect_same 'still running' "$(json out '.total.figures.leaked')" 60000000
	run "$mprof" report --json log
	sleep 1 # of a run in which nothing more is kept
	kill "$(json out '.processes[0].pid')"
	wait
	run "$mprof" report leaks --json log
	expect_same 'killed from outside' \
		"$(json out '"\(.rows[0].evidence.kind == "growing") \(.total.figures.leaked)"')" 'false 60000000'
	run "$mprof" report leaks log
	expect_text out 'blocks were live at the end: '
	# It may have been about to free them.
	run "$mprof" report log
	expect_words out 'Live at the end: 57.2 MiB in'
	expect_no_text out 'ever freed'
}

test_leaks_of_what_was_killed() {
	leaker
	report_with 'growing throughout' ./leaker 9
	expect_words out 'Live at the end: 28.6 MiB in 300 blocks.'
	expect_words out '28.6 MiB was live at the end, growing throughout the run: all 300 blocks allocated by keep (leaker.c:'
	run "$mprof" report --json log
	expect_same 'as JSON' "$(json out '[.findings[] | select(.finding == "leak") | [.live_at_end, .incomplete, .about]]' | tr -d ' \n')" '[[true,false,false]]'
	"$mprof" report --html page.html log >/dev/null 2>&1
	expect_text page.html '; 28.6 MiB live at the end'
	"$mprof" profile -o totals -- ./leaker 9 2>/dev/null
	"$mprof" report --html page.html totals >/dev/null 2>&1
	expect_text page.html '; 28.6 MiB live at the end'
	"$mprof" record -o log -- ./leaker 0 2>/dev/null
	"$mprof" report --html page.html log >/dev/null 2>&1
	expect_text page.html '; 28.6 MiB never freed'
}

# A killed process that had little does not make the leaks of others doubtful.
test_leaks_beside_a_killed_child() {
	cat >beside.c <<'END'
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *keep(size_t n) { return malloc(n); }
int main(int argc, char **argv)
{
	size_t mine = argc > 1 ? 100 : 100000;
	for (int i = 0; i < 50; i++)
		keep(mine);
	if (!fork()) {
		keep(mine * 3);
		for (int i = 0; argc > 1 && i < 50; i++)
			keep(100000);
		kill(getpid(), SIGKILL);
	}
	wait(NULL);
	return 0;
}
END
	compile beside
	local again
	run "$mprof" record -o log -- ./beside
	for again in 1 2; do
		run "$mprof" report log
		expect_words out 'Never freed: 5.1 MiB in 51 blocks'
		run "$mprof" report leaks log
		expect_words out '51 blocks were never freed: '
	done
	run "$mprof" record -o log -- ./beside most
	for again in 1 2; do
		run "$mprof" report leaks log
		expect_words out '101 blocks were live at the end: '
		run "$mprof" report log
		expect_words out 'Live at the end: 4.8 MiB in 101 blocks'
	done
}

# Few bytes, but nearly all of the blocks that were never freed.
test_leaks_of_small_blocks() {
	cat >small.c <<'END'
#include <stdlib.h>
#include <string.h>
static char *copy(const char *s) { return strcpy(malloc(strlen(s) + 1), s); }
static void *large(void) { return memset(malloc(30000000), 1, 1); }
int main(void)
{
	void *p = large();
	for (int i = 0; i < 1000; i++)
		copy("a name");
	free(p);
	return large() == NULL;
}
END
	cc -g -O1 -fno-inline -fno-builtin -o small small.c
	run "$mprof" record -o log -- ./small
	run "$mprof" report --all log
	expect_words out ': all 1,000 blocks allocated by copy (small.c:3)'
	expect_no_text out 'run: 1 of the 2 blocks allocated by large'
}

test_leaks_preloaded_by_hand() {
	local how
	leaker
	for how in 0 9; do
		expect_growing "by hand, $how" 30000000 \
			env MPROF_CONF='MODE=LogMmap LOG_PATH=log' LD_PRELOAD="$build/libmprof.so" ./leaker $how
	done
	# Read as the program left it, and again after compression.
	expect_growing 'by hand, compressed' 30000000 run "$mprof" compress log
}

# munmap of parts, of several mappings, of holes; MAP_FIXED over mappings; mremap; in a child.
test_maps_that_overlap() {
	cat >maps.c <<'END'
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define MIB (1ul << 20)
static char *map(char *at, size_t n, int flags)
{
	return mmap(at, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}
int main(void)
{
	char *p = map(NULL, 8 * MIB, 0), *q;
	munmap(p + 2 * MIB, MIB);
	munmap(p + 1 * MIB, 4 * MIB);            /* over the hole: 3 MiB are there */
	map(p, 2 * MIB, MAP_FIXED);              /* 1 MiB of it was there */
	munmap(p, 8 * MIB);                      /* 2 and 3 MiB, between them nothing */
	munmap(p, 8 * MIB);                      /* nothing */
	p = map(NULL, 2 * MIB, 0);
	q = mremap(p, 2 * MIB, 4 * MIB, MREMAP_MAYMOVE);
	p = mremap(q, 4 * MIB, MIB, 0);
	if (!fork()) {
		munmap(p, MIB);
		_exit(0);
	}
	wait(NULL);
	munmap(p, MIB);
	return 0;
}
END
	cc -g -o maps maps.c || bad 'maps.c does not compile'
	run "$mprof" record -o log -- ./maps
	run "$mprof" report --json log
	# The program has 1 + 3 + 5 + 0 + 1 MiB, the child 1.
	expect_same 'what munmap unmapped' \
		"$(json out '"\(.calls.munmap) \(.bytes.munmap)"')" \
		"6 $((11 * 1048576))"
	expect_same maps "$(json out '.maps | "\(.mapped_bytes) \(.unknown_unmapped_bytes) \(.peak_bytes)"')" "0 0 8388608"
	run "$mprof" report --all log
	expect_text out 'Bytes of munmap: the mapped part of the ranges passed to it.'
	expect_no_text out 'without a recorded mapping'
}

# A textbook allocator, in OBJECT.c for an executable or a library.
own_malloc_source() {
	cat <<'END'
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
static char pool[1 << 22] __attribute__((aligned(16)));
static size_t at;
SEEN void *malloc(size_t n)
{
	size_t o = __atomic_fetch_add(&at, (n + 31) & ~15ul, __ATOMIC_RELAXED);
	if (o + n + 32 > sizeof(pool))
		return 0;
	*(size_t *)(pool + o) = n;
	return pool + o + 16;
}
SEEN void free(void *p) { (void)p; }
SEEN void *calloc(size_t a, size_t b) { return malloc(a * b); }
SEEN void *realloc(void *p, size_t n)
{
	void *q = malloc(n);
	if (p && q)
		memcpy(q, p, ((size_t *)p)[-2] < n ? ((size_t *)p)[-2] : n);
	return q;
}
SEEN void *memalign(size_t a, size_t n) { (void)a; return malloc(n); }
#ifdef MARK
int mallctl(void) { return 0; }
#endif
void work(void)
{
	memset(mmap(0, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 8 << 20);
	for (int i = 0; i < 100; i++)
		free(malloc(i + 1));
}
END
}

# What doctor, record, report and stat print about ./PROGRAM, identified by its first words.
expect_own() { # WORDS VERDICT COMMAND...
	local words=$1 verdict=$2
	shift 2
	run "$mprof" doctor --json "$1"
	expect_same "doctor's verdict on $1" "$(json out '.[] | select(.check == "program") | .verdict')" "$verdict"
	[ "$verdict" = ok ] || expect_text out "$words"
	rm -f log
	run "$mprof" record -o log -- "$@"
	expect_text err "$words"
	run "$mprof" report log
	expect_words out "$words"
	run "$mprof" stat -- "$@"
	expect_text err "$words"
}

# A library that looks its allocator up when it runs, as TBB's does: a weak import proves no call.
own_malloc_passed() {
	local from=_ZN3tbb6detail2r122cache_aligned_allocateEm to=_ZN3tbb6detail2r124cache_aligned_deallocateEPv
	cat >passes.c <<END
#include <stdlib.h>
void *scalable_malloc(size_t) __attribute__((weak));
void *$from(size_t n) { return scalable_malloc ? scalable_malloc(n) : malloc(n); }
void $to(void *p) { free(p); }
END
	echo "void *$from(unsigned long); void work(void) { $from(7); }" >requests.c
	cc -O1 -fno-builtin -shared -fPIC -o libpasses.so passes.c
	# shellcheck disable=SC2016
	cc -O1 -o passed main.c requests.c -L. -lpasses -Wl,-rpath,'$ORIGIN'
	run "$mprof" record -o log -- ./passed
	expect_no_text err 'not record'
	: >libtbbmalloc.so.2
	expect_own "libpasses.so' passes requests to tbbmalloc, which are not recorded" note ./passed
	for command in 'doctor ./passed' 'report log'; do
		# shellcheck disable=SC2086
		run "$mprof" $command
		expect_words out "run the program under mprof with --wrap malloc:$from --wrap free:$to"
	done
	run "$mprof" record -o log --wrap malloc:$from --wrap free:$to -- ./passed
	expect_no_text err 'not record'
	expect_same 'calls of the library' "$("$mprof" dump log | grep -c 'malloc.7')" 1
}

test_own_malloc() {
	own_malloc_source >own.c
	echo 'void work(void); int main(void) { work(); return 4; }' >main.c
	cc -g -O1 -fno-builtin -DSEEN= -o own own.c main.c
	# Found in the hash table of the dynamic symbols alone, and without a hash table.
	cc -s -rdynamic -O1 -fno-builtin -DSEEN= -DMARK -o marked own.c main.c
	cc -s -rdynamic -Wl,--hash-style=sysv -O1 -fno-builtin -DSEEN= -DMARK -o sysv own.c main.c
	cc -g -O1 -fno-builtin -DSEEN='__attribute__((visibility("hidden")))' -o hidden own.c main.c
	cc -g -O1 -fno-builtin -DSEEN= -shared -fPIC -Wl,-Bsymbolic -o libown.so own.c
	cc -g -O1 -fno-builtin -DSEEN= -shared -fPIC -o libfair.so own.c
	# shellcheck disable=SC2016
	cc -g -o symbolic main.c -L. -lown -Wl,-rpath,'$ORIGIN'
	# shellcheck disable=SC2016
	cc -g -o fair main.c -L. -lfair -Wl,-rpath,'$ORIGIN'
	expect_own "$PWD/own' defines malloc itself, which comes before libmprof.so's" no ./own
	expect_own "$PWD/marked' defines malloc itself (jemalloc, linked in)" no ./marked
	expect_own "$PWD/sysv' defines malloc itself (jemalloc, linked in)" no ./sysv
	expect_own "$PWD/hidden' defines malloc itself for itself alone" note ./hidden
	expect_own "libown.so' defines malloc itself and binds its own calls to that (-Bsymbolic)" note ./symbolic
	# A function of an allocator other than malloc: in the program, with either hash table, and in
	# a library.
	echo '#include <stdlib.h>
		void *mallocx(size_t n, int flags) { return malloc(n + !!flags); }' >extra.c
	echo 'void *mallocx(unsigned long, int); void work(void) { mallocx(7, 0); }' >calls.c
	cc -O1 -fno-builtin -shared -fPIC -o libextra.so extra.c
	# shellcheck disable=SC2016
	cc -O1 -shared -fPIC -o libcalls.so calls.c -L. -lextra -Wl,-rpath,'$ORIGIN'
	for program in calls.c '-Wl,--hash-style=sysv calls.c' '-L. -lcalls'; do
		# shellcheck disable=SC2016,SC2086
		cc -O1 -o calls main.c $program -L. -lextra -Wl,-rpath,'$ORIGIN'
		expect_own "calls mallocx of jemalloc, a function that mprof does not record" note ./calls
		run "$mprof" record -o log --wrap malloc:mallocx -- ./calls
		expect_no_text err 'does not record'
		expect_same 'calls of mallocx' "$("$mprof" dump log | grep -c 'malloc.7')" 1
	done
	# What both know is said once, whatever the path of the library.  A file that replaced it since, or
	# one of this machine in a trace of another, proves nothing.
	ln -s . link
	# shellcheck disable=SC2016
	cc -O1 -o calls main.c -L. -lcalls -Wl,-rpath,'$ORIGIN/link/link'
	run "$mprof" record -o log -- ./calls
	expect_text err 'libcalls.so'"' calls mallocx"
	run "$mprof" report --json log
	expect_same 'remarks about mallocx' "$(json out '.remarks | map(select(test("mallocx"))) | length')" 1
	# The name of the trace is not that of a wrapped function.
	LD_PRELOAD=$build/libmprof.so MPROF_CONF='MODE=LogMmap WRAP=malloc:strdup LOG_PATH=mallocx.log' ./calls 2>/dev/null
	run "$mprof" report mallocx.log
	expect_words out 'calls mallocx of jemalloc'
	mv libcalls.so other.so
	echo '#include <stdlib.h>
		void work(void) { free(malloc(8)); }' >plain.c
	cc -O1 -fno-builtin -shared -fPIC -o libcalls.so plain.c
	run "$mprof" record -o log -- ./calls
	mv other.so libcalls.so
	run "$mprof" report log
	expect_no_text out mallocx
	own_malloc_passed
	# In the program or a library, which call it by another name; but a library that offers it is the
	# allocator itself.
	echo 'void *_rjem_malloc(unsigned long n) { return n ? "" : 0; } void work(void) { _rjem_malloc(7); }' >rust.c
	cc -O1 -o rust main.c rust.c
	expect_own "$PWD/rust' contains jemalloc: its calls of _rjem_malloc and the like are not recorded" note ./rust
	cc -s -rdynamic -O1 -o rust main.c rust.c
	expect_own "$PWD/rust' contains jemalloc" note ./rust
	cc -O1 -shared -fPIC -fvisibility=hidden -include stdlib.h -o libcalls.so -Dwork='__attribute__((visibility("default"))) work' rust.c
	run "$mprof" record -o log -- ./calls
	expect_text err "libcalls.so' contains jemalloc"
	cc -O1 -shared -fPIC -o libcalls.so rust.c
	run "$mprof" record -o log -- ./calls
	expect_no_text err contains
	# A sanitizer, as clang links it: with the symbol table and without.
	echo 'void __asan_init(void) {}' >sanitizer.c
	cc -g -O1 -fno-builtin -DSEEN= -o sanitized own.c main.c sanitizer.c
	cc -s -rdynamic -O1 -fno-builtin -DSEEN= -o stripped own.c main.c sanitizer.c
	for program in sanitized stripped; do
		rm -f log
		run "$mprof" record -o log -- ./$program
		expect_status 4
		expect_text err "'./$program' cannot be recorded: it is built with a sanitizer"
		expect_no_text err 'defines malloc'
		[ ! -e log ] || bad "there is a trace of $program"
	done
	"$mprof" record -o log -- sh -c './sanitized; true' 2>err
	expect_text err "sanitized' is built with a sanitizer"
	run "$mprof" report log
	expect_words out "sanitized' is built with a sanitizer, whose own allocator takes all calls"
	# One that takes the calls of the program that it starts.
	printf '%s\n' '#!/bin/sh' 'exec "$@"' >valgrind
	chmod +x valgrind
	expect_own "most tools of './valgrind' take the calls of malloc" note ./valgrind ls
	# Of children, too.
	expect_own "own' defines malloc itself" ok sh -c './own; ./own; true'
	expect_text err '2 processes: '
	run "$mprof" report --json log
	expect_same 'own_malloc' \
		"$(json out '.own_malloc[] | "\(.path) \(.process) \(.processes)"')" "$PWD/own 2 2"
	# What its allocator maps came from malloc.
	expect_same 'outside malloc' "$(json out '[.findings[] | select(.finding == "outside")] | length')" 0
	rm -f log
	run "$mprof" record -o log -- ./own
	run "$mprof" report log
	expect_words out "No call of malloc was seen: '$PWD/own' defines malloc itself"
	# One that is preloaded before us; a library that can be replaced needs no message.
	LD_PRELOAD=$PWD/libfair.so:$build/libmprof.so MPROF_CONF='MODE=LogMmap LOG_PATH=hand' ls >/dev/null
	run "$mprof" report hand
	expect_words out "libfair.so' defines malloc itself, which is preloaded before libmprof.so's"
	# Neither does a program at a fixed address that takes the address of malloc.
	echo '#include <stdlib.h>
		void *(*volatile f)(size_t) = malloc; int main(void) { f(3); return malloc(5) == 0; }' >fixed.c
	cc -O1 -fno-builtin -no-pie -fno-pie -o fixed fixed.c
	run "$mprof" record -o fixed.log -- ./fixed
	expect_no_text err 'defines malloc'
	run "$mprof" doctor ./fair
	expect_text out './fair can be recorded'
	run "$mprof" record -o log -- ./fair
	run "$mprof" report --json log
	expect_same 'seen in fair' "$(json out '"\(.calls.malloc) \(.own_malloc | length)"')" '100 0'
}

# Kind and line of the first finding, or nothing.
outside() {
	run "$mprof" report --json log
	json out '[.findings[0] // {} | select(.finding == "outside") |
		"\(.function):\(.line) \(.part / .of > 0.9) \(.mapped > 20000000) \(.unseen > 20000000)"] | join("")'
}

# Pages are read from time to time: on a busy machine, perhaps before the program wrote to most of them.
outside_until() { # WHAT outside SAYS, PROGRAM...
	wanted=$1 again_until '[ "$(outside)" = "$wanted" ]' run "$mprof" record -o log -- "${@:2}"
}

test_memory_that_is_not_of_malloc() {
	cat >outside.c <<'END'
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define SIZE (64ul << 20)
static char big[VARIABLES]; THREAD
static char *arena(void)
{
	return mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
static char *direct(void)
{
	return (char *)syscall(SYS_mmap, 0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
int main(int argc, char **argv)
{
	char *p = *argv[1] == 'a' ? arena() : *argv[1] == 'd' ? direct() : *argv[1] == 'v' ? big : malloc(SIZE);
	for (int i = 0; i < (argc > 2 ? 1 : 64); i++) {
		memset(p + SIZE / 64 * i, 1, argc > 2 ? 1 : SIZE / 64);
		nanosleep(&(struct timespec){ .tv_nsec = argc > 2 ? 0 : 4000000 }, NULL);
	}
	memset(malloc(100000), 1, 100000);
	return 0;
}
END
	cc -g -O1 -fno-inline -fno-builtin -DVARIABLES=SIZE -DTHREAD= -o variables outside.c
	cc -g -O1 -fno-inline -fno-builtin -DVARIABLES=1 -DTHREAD='__thread char own[2 * SIZE];' -o thread_local outside.c
	cat >each_thread.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static __thread char own[2 << 20];
static pthread_barrier_t all;
static void *wait_in_thread(void *unused)
{
	memset(own, 1, sizeof(own));
	pthread_barrier_wait(&all);
	nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
	return unused;
}
int main(void)
{
	pthread_t thread[16];

	pthread_barrier_init(&all, NULL, 16);
	for (int i = 0; i < 16; i++)
		pthread_create(&thread[i], NULL, wait_in_thread, NULL);
	for (int i = 0; i < 16; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
END
	cc -g -O1 -pthread -o each_thread each_thread.c || bad 'each_thread.c does not compile'
	cc -g -O1 -fno-inline -fno-builtin -DVARIABLES=1 -DTHREAD= -o outside outside.c || bad 'outside.c does not compile'
	outside_until 'arena:12 true true false' ./outside arena
	expect_same arena "$(outside)" 'arena:12 true true false'
	run "$mprof" report log
	expect_same 'the first finding' "$(grep -A3 '^Finding' out | tr -s ' \n' ' ' | grep -c 'did not come from malloc')" 1
	expect_words out 'mapped by arena (outside.c:12); mprof does not record the blocks inside it.'
	# The view that the finding names shows who mapped it.
	expect_same command "$("$mprof" report --json log | jq -r '.findings[0].command')" 'mprof report peak-rss log'
	run "$mprof" report peak-rss log
	expect_words out 'Mapped by the program itself (mmap, brk, sbrk), '
	expect_text out ' MiB  arena (outside.c:12)'
	# In a run that ends at once, no pages are read; those of files are not the mapping's.
	run "$mprof" record -o log -- ./outside arena reserved
	expect_same reserved "$(outside)" ''
	outside_until 'null:null true false true' ./outside direct
	expect_same direct "$(outside)" 'null:null true false true'
	run "$mprof" report peak-rss log
	expect_no_text out 'Mapped by the program'
	run "$mprof" report log
	expect_words out 'no recorded call mapped it; it may come from direct system calls'
	report_with '64.0 MiB of it is big (outside.c:' ./variables variables
	expect_words out '64.0 MiB of it is big (outside.c:'
	# Variables that nobody touches are not in memory; the loader clears those of the main thread.
	report_with 'no recorded call mapped it; it may come from direct system calls' ./variables direct
	expect_words out 'no recorded call mapped it; it may come from direct system calls'
	# Pages may be read before the program is large.
	report_with 'no recorded call mapped it; global and thread-local variables held 1' ./thread_local malloc
	expect_words out 'no recorded call mapped it; global and thread-local variables held 1'
	expect_words out 'mprof report globals log'
	# Each thread has its own.
	report_with 'no recorded call mapped it; global and thread-local variables held 3' ./each_thread
	expect_words out 'no recorded call mapped it; global and thread-local variables held 3'
	expect_words out 'mprof report globals log'
	run "$mprof" record -o log -- ./outside malloc
	expect_same malloc "$(outside)" ''
	LD_PRELOAD=$build/libmprof.so MPROF_CONF='MODE=LogMmap LOG_PATH=hand' ./outside arena
	mv hand log
	expect_same 'by hand' "$(outside)" 'arena:12 true true false'
}

nearly_all_outside() {
	tr -s ' \n' ' ' <out | grep -qE '[.] (8[5-9]|>?9[0-9]) % of the private resident memory of the program did not come from malloc'
}

# Only what a program wrote to of a large block is in memory: other memory is not malloc's.
test_memory_beside_a_large_block() {
	cat >beside.c <<'END'
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#define MIB (1ul << 20)
static char *block(unsigned long mib)
{
	char *p = malloc(mib * MIB);
	memset(p, 1, 10 * MIB);
	return p;
}
int main(int argc, char **argv)
{
	char *direct;
	if (argc > 2)
		free(block(atoi(argv[1])));
	block(atoi(argv[1]));
	direct = (char *)syscall(SYS_mmap, 0, 128 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(direct, 1, 128 * MIB);
	for (int i = 0; i < 20; i++) {
		free(malloc(10));
		usleep(20000);
	}
	return 0;
}
END
	compile beside
	local size
	for size in '60' '120' '140' '120 again'; do
		again_until 'nearly_all_outside' report_of ./beside $size
		nearly_all_outside || bad "most is of malloc: $(cat out)"
	done
	run "$mprof" report --json log
	expect_same 'known exactly' "$(json out '.findings[] | select(.finding == "outside") | .at_least')" false
	# Nor is it where a block of the heap was freed.
	again_until 'nearly_all_outside' report_of env MALLOC_MMAP_THRESHOLD_=1000000000 MALLOC_TRIM_THRESHOLD_=1000000000 ./beside 60 again
	nearly_all_outside || bad "most is of malloc: $(cat out)"
}

# Freed blocks of the heap remain in memory, or not; only what remains is the allocator's.
test_memory_of_large_blocks_of_the_heap() {
	cat >trim.c <<'END'
#define _GNU_SOURCE
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#define MIB (1ul << 20)
int main(int argc, char **argv)
{
	char *p[4], *direct;
	for (int i = 0; i < 4; i++) {
		p[i] = malloc(15 * MIB);
		memset(p[i], 1, 15 * MIB);
	}
	for (int i = 0; i < 4; i++)
		free(p[i]);
	if (argc > 1) {
		malloc_trim(0);
		direct = (char *)syscall(SYS_mmap, 0, 100 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(direct, 1, 100 * MIB);
	}
	rest(400);
	free(malloc(10));
	return 0;
}
END
	compile trim -include "$here/rest.h"
	export MALLOC_MMAP_THRESHOLD_=1000000000 MALLOC_TRIM_THRESHOLD_=1000000000
	again_until 'nearly_all_outside' report_of ./trim returned
	nearly_all_outside || bad "most is of malloc: $(cat out)"
	expect_no_text out 'Freed memory stays resident'
	again_until 'has_words out "had 60.0 MiB of freed memory"' report_of ./trim
	expect_words out 'had 60.0 MiB of freed memory'
	expect_no_text out ' did not come'
}

# A freed block that was a mapping of its own is gone, wherever realloc had moved it and however small
# it was; what the program maps there itself later is not freed memory.
test_memory_where_a_large_block_was() {
	cat >moved.c <<'END'
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#define MIB (1ul << 20)
static void moved(void)
{
	char *p = NULL;
	for (unsigned long n = 1; n < 120; n++) {
		p = realloc(p, n * MIB);
		p[(n - 1) * MIB] = 1;
	}
	free(p);
}
static void aligned(unsigned long to)
{
	void *p;
	posix_memalign(&p, to, 200 * MIB);
	*(volatile char *)p = 1;
	free(p);
}
static void many(void)
{
	static char *p[120];
	for (int i = 0; i < 120; i++)
		memset(p[i] = malloc(MIB), 1, MIB / 2);
	for (int i = 0; i < 120; i++)
		free(p[i]);
}
int main(int argc, char **argv)
{
	char *direct;
	if (argc > 2)
		aligned(atoi(argv[2]));
	else if (argc > 1)
		many();
	else
		moved();
	direct = (char *)syscall(SYS_mmap, 0, 140 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(direct, 1, 140 * MIB);
	rest(400);
	free(malloc(10));
	return 0;
}
END
	compile moved -include "$here/rest.h"
	local many
	for many in '' many 'aligned 64' 'aligned 4096' 'aligned 2097152'; do
		again_until 'nearly_all_outside' report_of ./moved $many
		nearly_all_outside || bad "most is of malloc: $(cat out)"
		expect_no_text out 'Freed memory stays resident'
	done
}

# What a fork copied is its parent's memory, not that of the program that it then runs.
test_memory_of_a_fork_before_exec() {
	cat >fork.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	char *p = mmap(NULL, 40 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(p, 1, 40 << 20);
	memset(malloc(60 << 20), 1, 60 << 20);
	if (!fork()) {
		usleep(20000);
		for (int i = 0; i < 100000; i++)
			free(malloc(10));
		execlp("true", "true", (char *)0);
	}
	return wait(NULL) < 0;
}
END
	cc -g -O0 -o fork fork.c || bad 'fork.c does not compile'
	run "$mprof" record -o log -- ./fork
	run "$mprof" report log
	expect_words out 'of the private resident memory of fork (process 1) did not come from malloc'
	expect_words out '40.0 MiB was mapped by main (fork.c:8)'
	expect_no_text out 'direct system calls'
}

# Pages are read while little but mapped memory is there; what is allocated afterwards counts, too.
test_memory_read_early() {
	cat >early.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
int main(void)
{
	char *p = mmap(NULL, 3 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(p, 1, 3 << 20);
	nanosleep(&(struct timespec){ .tv_nsec = 150000000 }, NULL);
	for (int i = 0; i < 1024; i++)
		memset(malloc(40000), 1, 40000);
	return p[5] != 1;
}
END
	compile early
	for _ in 1 2 3 4 5; do
		report_of ./early
		expect_no_text out ' did not come'
	done
}

# CPython's own allocator: report and doctor use the same table.
test_memory_of_a_runtime() {
	local python
	python=$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')
	run env -u PYTHONMALLOC "$mprof" record -o log -- "$python" -c 'x = [str(i) for i in range(600000)]'
	run "$mprof" report log
	expect_words out 'was mapped by CPython'"'"'s own allocator'
	expect_words out '; --python would show its blocks and the lines of the script.'
	run "$mprof" report --json log
	expect_same remedy "$(json out '.findings[0].remedy')" '--python would show its blocks and the lines of the script'
	run env PYTHONMALLOC=malloc "$mprof" record -o log -- "$python" -c 'x = [str(i) for i in range(600000)]'
	run "$mprof" report log
	expect_no_text out ' did not come'
	# What it returns to the system and maps again.
	local mapped="times the largest resident set: CPython's own allocator mapped"
	again_until 'has_words out "$mapped" || kernel_is_unusual log' report_of env -u PYTHONMALLOC \
		"$python" -c 'for i in range(40): x = [bytes(400) for _ in range(100000)]; del x'
	kernel_is_unusual log || expect_words out "$mapped"
	expect_no_text out 'the program itself mapped'
	run "$mprof" report --json log
	expect_documented run out
	run env -u PYTHONMALLOC "$mprof" doctor "$python"
	expect_status 0
	expect_words out "CPython's own allocator maps its memory itself: --python would show its blocks and the lines of the script"
	run env PYTHONMALLOC=malloc "$mprof" doctor "$python"
	expect_no_text out 'allocator maps'
}

# What an allocator in a library of its own maps is the heap, as in glibc.
test_memory_mapped_by_the_allocator() {
	cat >bump.c <<'END'
#include <stddef.h>
#include <sys/mman.h>
static char *at, *end;
void *malloc(size_t n)
{
	char *p;
	n = (n + 31) & ~15ul;
	if (at + n > end || !at) {
		at = mmap(0, n + (1 << 20), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		end = at + n + (1 << 20);
	}
	p = at;
	at += n;
	return p;
}
void *calloc(size_t a, size_t b) { return malloc(a * b); }
void *realloc(void *p, size_t n) { return p ? NULL : malloc(n); }
void free(void *p) { (void)p; }
END
	cat >bumped.c <<'END'
#include <stdlib.h>
#include <sys/mman.h>
int main(void)
{
	char *p = mmap(0, 3 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 10000; i++)
		*p += malloc(1000) == NULL;
	return 0;
}
END
	cc -O1 -fno-builtin -shared -fPIC -o libbump.so bump.c
	cc -O1 -fno-builtin -o bumped bumped.c "$PWD/libbump.so"
	report_of ./bumped
	expect_text out 'libbump.so'
	run "$mprof" report --json log
	expect_same mapped "$(json out '.maps.peak_bytes')" 3145728
	run "$mprof" stat ./bumped
	expect_words out 'mmap 1 3,145,728'
}

# An allocator of the program's own that moves the break: these calls are recorded.
test_memory_by_sbrk() {
	cat >moves.c <<'END'
#include <string.h>
#include <unistd.h>
static void *take(size_t size) { return sbrk(size); }
int main(int argc, char **argv)
{
	for (int i = 0; i < 400; i++)
		memset(take(100000), 1, 100000);
	memset(sbrk(100000), 1, 100000);
	rest(300);
	return 0;
}
END
	compile moves -include "$here/rest.h"
	most_moved() {
		run "$mprof" report --json log
		[ "$(json out '.findings[0].moved // 0')" -gt 38000000 ]
	}
	again_until most_moved report_of ./moves
	most_moved || bad "$(cat out)"
	expect_same parts "$(json out '.findings[0] | [.finding, .moved == .unseen, .mapped] | join(" ")')" 'outside true 0'
	expect_documented run out
	run "$mprof" report log
	expect_words out ': it was added by brk and sbrk, mostly in take (moves.c:3); mprof does not record the blocks inside it.'
	run "$mprof" report log # from what the first report kept
	expect_words out 'mostly in take (moves.c:3)'
}

# The function that maps most is named, not the call stack that does.
test_memory_mapped_from_many_places() {
	cat >many.c <<'END'
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define MAP(size) memset(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, size)
static void slab(void) { MAP(1 << 20); }
static void table(void) { MAP(3 << 20); }
#define CALL(name) static void name(void) { slab(); }
CALL(a) CALL(b) CALL(c) CALL(d) CALL(e) CALL(f) CALL(g) CALL(h)
int main(void)
{
	table();
	a(), b(), c(), d(), e(), f(), g(), h();
	rest(300);
	return 0;
}
END
	compile many -include "$here/rest.h"
	most_mapped() { tr -s ' \n' ' ' <out | grep -Eq ': [78]\.[0-9] MiB of it was mapped by slab \(many.c:5\); mprof'; }
	again_until most_mapped report_of ./many
	most_mapped || bad "$(cat out)"
}

# Half of what it mapped was ever resident, and nothing read its pages: it is unknown of which line.
test_line_of_memory_mapped_but_not_touched() {
	cat >lines.c <<'END'
#include <string.h>
#include <sys/mman.h>
#define MAP(mib) mmap(0, mib << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
static void slab(void)
{
	memset(MAP(30), 1, 20 << 20);
	MAP(10);
}
int main(void)
{
	slab();
	return 0;
}
END
	compile lines
	run env MPROF_CONF="MODE=LogMmap LOG_PATH=$PWD/log" LD_PRELOAD="$build/libmprof.so" ./lines
	run "$mprof" report log
	expect_words out ' MiB was mapped by slab (lines.c), mostly at line 6;'
}

# Static functions of two files may have one name: grab maps 30 MiB in each, large maps 40 MiB; copy
# of two.c is called by copy of one.c and, less often, by other.
test_memory_of_functions_of_one_name() {
	local file map='MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)'
	for file in one two; do
		cat >$file.c <<END
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static void grab(void) { memset(mmap(0, 30 << 20, PROT_READ | PROT_WRITE, $map, 1, 30 << 20); }
END
	done
	cat >>two.c <<'END'
static void *copy(size_t n) { return malloc(n); }
void *(*copy_of_two)(size_t) = copy;
void grab_two(void) { grab(); }
END
	cat >>one.c <<END
extern void *(*copy_of_two)(size_t);
void grab_two(void);
static void copy(void) { for (int i = 0; i < 3000; i++) copy_of_two(1000); }
static void other(void) { for (int i = 0; i < 1000; i++) copy_of_two(1000); }
static void large(void) { memset(mmap(0, 40 << 20, PROT_READ | PROT_WRITE, $map, 1, 40 << 20); }
int main(void)
{
	copy(), other(), grab(), grab_two(), large();
	rest(1000);
	return 0;
}
END
	cc -include "$here/rest.h" -g -O1 -fno-inline -fno-builtin -fno-optimize-sibling-calls -o one one.c two.c ||
		bad 'one.c does not compile'
	again_until 'grep -q "40.0 MiB of it was" out' report_of ./one
	expect_words out '40.0 MiB of it was mapped by large (one.c:10); mprof'
	expect_words out 'allocated by copy (two.c:6), mostly called by copy (one.c:8)'
	run "$mprof" report peak-rss log
	expect_same mappers "$(sed -n 's/^ *\([0-9.]* MiB\) .* MiB  \([glo].*\)$/\1 \2/p' out | sort)" \
"30.0 MiB grab (one.c:5)
30.0 MiB grab (two.c:5), called by grab_two (two.c:8)
40.0 MiB large (one.c:10)"
}

# A runtime is known by the name of its program, as the user starts it.
test_memory_of_a_runtime_by_name() {
	cat >maps.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 20; i++)
		memset(mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 1 << 20);
	for (int i = 0; i < 5; i++, usleep(2000))
		free(malloc(i));
	return 0;
}
END
	cc -O0 -w -fno-builtin -o php maps.c
	cp php ruby
	report_of ./php
	expect_words out "was mapped by PHP's own allocator (main [php]); USE_ZEND_ALLOC=0 would show its blocks."
	report_of ./ruby
	expect_words out "was mapped by Ruby's heap (main [ruby]); ObjectSpace.dump_all shows its objects."
	# A profile knows who mapped memory, but not what became of it.
	run "$mprof" profile -o p -- ./ruby
	run "$mprof" report p
	expect_words out "was Ruby's heap (ObjectSpace.dump_all shows its objects) or other memory mapped directly."
}

# Before a Fortran program ends with an error, its library reads debug information for a backtrace.
test_memory_of_a_backtrace() {
	cat >stops.c <<'END'
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
void stop(void)
{
	for (int i = 0; i < 20; i++, usleep(500))
		memset(mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 1 << 20);
}
END
	cat >user.c <<'END'
void stop(void);
int main(void)
{
	stop();
	return 0;
}
END
	cc -O1 -shared -fPIC -o libgfortran.so.5 stops.c
	cc -O0 -g -o user user.c ./libgfortran.so.5
	report_of ./user
	expect_words out "was mapped by GNU Fortran's backtrace of an error (main (user.c:4), through stop [libgfortran.so.5]); GFORTRAN_ERROR_BACKTRACE=0 leaves it out."
}

# The program's allocator has a function that is not recorded, as that of BIND.
test_memory_of_calls_not_recorded() {
	cat >extra.c <<'END'
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
void *mallocx(size_t n, int flags)
{
	return memset((void *)syscall(SYS_mmap, NULL, n, 3, 0x22, -1, 0), 1, n);
}
END
	cat >calls.c <<'END'
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
void *mallocx(unsigned long, int);
int main(int argc, char **argv)
{
	mallocx(20 << 20, 0);
	for (int i = 0; i < 5; i++, usleep(2000))
		free(malloc(i));
	if (argc > 1)
		close(creat("ready", 0600));
	while (argc > 1 && access("go", F_OK))
		usleep(1000);
	return 0;
}
END
	cc -O1 -fPIC -shared -o libextra.so extra.c
	cc -O1 -fno-builtin -o calls calls.c -L. -lextra -Wl,-rpath,"$PWD"
	report_of ./calls
	expect_words out 'it may come from calls that were not recorded.'
	run "$mprof" profile -o p -- ./calls
	run "$mprof" report p
	expect_words out 'was blocks of calls that were not recorded.'
	# The mprof that started it has not told yet, or none did; and what it started may be the one.
	local remark="/calls' calls mallocx of jemalloc, a function that mprof does not record; to record it and the like, run the program under mprof with --wrap malloc:mallocx,"
	rm -f log p
	MPROF_CONF="MODE=LogMmap LOG_PATH=log" LD_PRELOAD=$build/libmprof.so ./calls
	run "$mprof" report log
	expect_words out "$remark"
	run "$mprof" record -o log -- sh -c './calls; true'
	run "$mprof" report log
	expect_words out "$remark"
	run "$mprof" record -o log --wrap malloc:mallocx -- sh -c './calls; true'
	run "$mprof" report log
	expect_no_text out 'does not record'
	"$mprof" profile -q -o p -- ./calls wait &
	wait_for test -e ready
	run "$mprof" report p
	expect_words out "$remark"
	touch go
	wait $!
	expect_same remarks "$("$mprof" report p | grep -c 'Remark: ')" 1
}

# Recognised by stack, not by size: blocks of the program may be as large as libstdc++'s pool.
test_blocks_of_the_runtime() {
	cat >pool.cc <<'END'
#include <clocale>
#include <iostream>
#include <string>
#include <cstdlib>
static void *kept[2];
static void mine(int i) { kept[i] = malloc(72704); }
int main()
{
	setlocale(LC_ALL, "");
	mine(0);
	mine(1);
	std::cout << std::string(100, 'x') << std::endl;
	return 0;
}
END
	c++ -g -O1 -fno-inline -fno-builtin -o pool pool.cc || bad 'pool.cc does not compile'
	c++ -g -O1 -fno-inline -fno-builtin -static-libstdc++ -o inside pool.cc || bad 'pool.cc does not compile'
	for program in pool inside; do
		run env LC_ALL=C.UTF-8 "$mprof" record -o log -- ./$program
		run "$mprof" report --json log
		expect_same "$program: pool" "$(json out '[.kept.by[] | select(.why | startswith("libstdc++")) |
			"\(.live_bytes) \(.live_blocks) \(.peak_bytes)"] | join(", ")' | sed 's/73728/72704/g')" '72704 1 72704'
		# Whether leaks repeat the figures of the peak depends on when the two blocks were
		# allocated.
		expect_same "$program: findings of the peak and of leaks" \
			"$(json out '[.findings[] | select(.finding == "peak" or .finding == "leak") | "\(.function) \(.part)"] | unique | join(", ")')" \
			'mine 145408'
		expect_same "$program: the rest is the program's" "$(json out '.live_bytes - .kept.live_bytes')" 145408
		run "$mprof" report --all log
		expect_text out '  * Not in your code: run-time libraries keep '
		expect_words out "libstdc++'s emergency pool for exceptions (7"
		expect_words out 'kept by run-time libraries, not by the program.'
		run "$mprof" report leaks --json log
		expect_same "$program: leaks" "$(json out '[.rows[] | "\(.stack[-1].function) \(.value)"] | join(", ")')" 'mine 72704, mine 72704'
	done
	run "$mprof" report --no-builtin-suppressions --json log
	expect_same 'kept, if nothing is suppressed' "$(json out '.kept.live_bytes')" 0
}

# Late buffers of stdio do not turn early leaks of the same function into a growing leak.
test_suppressed_blocks_are_no_evidence() {
	cat >late.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static FILE *file[3];
static void *volatile kept;
static void step(int i)
{
	if (!i)
		for (int k = 0; k < 30; k++)
			kept = k < 3 ? (void *)(file[k] = fopen("/dev/null", "w")) : malloc(500);
	if (i % 10 == 9)
		fputc('x', file[i / 10]);
}
int main(void)
{
	for (int i = 0; i < 30; i++) {
		step(i);
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
	return 0;
}
END
	cc -g -O0 -fno-inline -o late late.c || bad 'late.c does not compile'
	run "$mprof" record -o log -- ./late
	run "$mprof" report leaks --by function --json log
	expect_same 'what step left' \
		"$(json out '.rows[0] | "\(.function) \(.blocks.leaked) \(.evidence.kind == "growing")"')" 'step 30 false'
	expect_same suppressed "$(json out '[.suppressed[] | "\(.why) \(.calls)"] | join(", ")')" 'stdio buffers 3'
}

# The C library keeps the buffers of stdio and tables of character sets, but not for each FILE and
# iconv_t that the program forgets to close: those are its leaks, and its peak.
test_lost_files_and_converters_are_leaks() {
	cat >lost.c <<'END'
#include <iconv.h>
#include <stdio.h>
#include <stdlib.h>
static void *volatile kept;
static void convert(void) { kept = iconv_open("UTF-16", "UTF-8"); }
static void note(void)
{
	FILE *file = fopen("/dev/null", "w");
	fputs("note", file);
	kept = file;
}
static void state(int i)
{
	char value[300];
	snprintf(value, sizeof(value), "%0250d", i);
	setenv("STATE", value, 1);
}
int main(void)
{
	for (int i = 0; i < 200; i++) {
		convert();
		note();
		state(i);
	}
	puts("end");
	return 0;
}
END
	compile lost
	report_of ./lost
	expect_words out 'of the peak'
	expect_words out 'allocated by convert (lost.c:5)'
	expect_words out 'allocated by note (lost.c'
	run "$mprof" report leaks --by function --json log
	expect_same 'what note left' "$(json out '.rows[] | select(.function == "note") | .blocks.leaked')" 400
	expect_same 'state left values' \
		"$(json out '.rows[] | select(.function == "state") | .blocks.leaked >= 199')" true
	expect_same 'other buffers' "$(json out '.suppressed[] | select(.why == "stdio buffers") | .calls')" 1
	run "$mprof" report leaks log
	expect_text out 'convert (lost.c:5)'
	# However many other programs ran.
	"$mprof" record -q -o log -- sh -c 'for i in $(seq 80); do /bin/true; done; ./lost' >said
	run "$mprof" report log
	expect_words out 'allocated by convert (lost.c:5)'
}

# One iconv_t that a program keeps is not a leak, but a few that it forgets are hundreds of KiB.  Its
# module, which has source lines with debug symbols of libc, is not who opened it.
test_few_lost_converters() {
	cat >few.c <<'END'
#include <iconv.h>
static void *volatile kept;
static void keep(void) { kept = iconv_open("UTF-16", "UTF-8"); }
static void lose(void) { kept = iconv_open("UTF-16", "UTF-8"); }
int main(void)
{
	keep();
	for (int i = 0; i < 3; i++)
		lose();
	return 0;
}
END
	compile few
	report_of ./few
	expect_words out 'allocated by lose (few.c:4)'
	expect_no_text out gconv_init
	run "$mprof" report leaks --by function --json log
	expect_same 'who lost converters' "$(json out '[.rows[].function] | join(" ")')" lose
}

# Calls of one line, such as those of a loop that the compiler unrolled, have one row in a view and
# are several call stacks: the report and its views count the same blocks as kept.
test_buffers_of_files_opened_in_one_line() {
	cat >line.c <<'END'
#include <stdio.h>
#define OPEN fputs("note", fopen("/dev/null", "w"))
int main(void) { OPEN; OPEN; OPEN; OPEN; OPEN; return 0; }
END
	compile line
	report_of ./line
	expect_same 'buffers that are kept' \
		"$("$mprof" report --json log | jq '.kept.by[] | select(.why == "stdio buffers") | .live_blocks')" 5
	run "$mprof" report leaks --json log
	expect_same 'suppressed buffers' "$(json out '.suppressed[] | select(.why == "stdio buffers") | .calls')" 5
	expect_same 'what main left' "$(json out .total.blocks.leaked)" 5
}

# Why a process stays large after it freed its blocks: free memory beside live blocks, with their
# owner, and on pages of its own. Not reported if everything is freed at the end, or live.
# The tables of 65,536 call stacks take megabytes in the program, which are not its own.
test_resident_pages_without_tables_of_mprof() {
	cat >many.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static char *volatile kept;
#define KEEP(n) static void keep##n(int depth, int path);
KEEP(0) KEEP(1)
static void go(int depth, int path)
{
	if (!depth)
		kept = memset(malloc(64), 1, 64);
	else if (path & 1)
		keep1(depth - 1, path >> 1);
	else
		keep0(depth - 1, path >> 1);
}
static void keep0(int depth, int path) { go(depth, path); kept = 0; }
static void keep1(int depth, int path) { go(depth, path); kept = 0; }
int main(void)
{
	memset(mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 8 << 20);
	for (int i = 0; i < 65536; i++)
		go(16, i);
	rest(600);
	return 0;
}
END
	cc -include "$here/rest.h" -g -O0 -fno-builtin -o many many.c || bad 'many.c does not compile'
	for how in '' --no-compress; do
		run "$mprof" record $how -o log -- ./many
		run "$mprof" report --json log
		expect_same "tables $how" "$(json out '(.processes[0].self_bytes > 3000000) as $large |
			.compactness.physical.samples | max_by(.resident_pages) |
			"\($large) \(.under_live_pages > 1200) \(.resident_pages - .under_live_pages < 2348)"')" 'true true true'
		expect_same "all memory $how" "$(json out '[(.compactness.physical.samples | max_by(.resident_pages) | .resident_pages * 4096),
			(.findings[] | select(.finding == "outside") | .of)] | .[0] == .[1]')" true
	done
}

test_freed_memory_that_stays() {
	cat >stays.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define N 8000
static char *large[N], *small[N];
static char *pin(void) { return memset(malloc(32), 1, 32); }
static char *part(void) { return memset(malloc(3900), 1, 3900); }
static void wait_a_little(void)
{
	for (int i = 0; i < 60; i++) {
		free(malloc(24));
		usleep(5000);
	}
}
static void *thread(void *arg)
{
	char *p[1000], *last;
	for (int i = 0; i < 1000; i++)
		p[i] = part();
	last = pin();
	for (int i = 0; i < 1000; i++)
		free(p[i]);
	wait_a_little();
	free(last);
	return arg;
}
static void threads(void)
{
	pthread_t t[8];
	for (int i = 0; i < 8; i++) {
		pthread_create(&t[i], NULL, thread, NULL);
		usleep(50000);
	}
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
}
static pthread_barrier_t filled;
static void *at_once(void *arg)
{
	char *p[1000], *last;
	for (int i = 0; i < 1000; i++)
		p[i] = part();
	last = pin();
	pthread_barrier_wait(&filled);
	wait_a_little();
	for (int i = 0; i < 1000; i++)
		free(p[i]);
	wait_a_little();
	free(last);
	return arg;
}
static void all_at_once(void)
{
	pthread_t t[8];
	pthread_barrier_init(&filled, NULL, 8);
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, at_once, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
}
static void *cache(void *arg)
{
	void *p[448];
	for (int i = 0; i < 448; i++)
		p[i] = memset(malloc(24 + i / 7 * 16), 1, 24 + i / 7 * 16);
	void *top = malloc(2000); /* or their arena shrinks */
	for (int i = 0; i < 448; i++)
		free(p[i]);
	pthread_barrier_wait(&filled);
	pthread_barrier_wait(&filled);
	free(top);
	return arg;
}
static void caches(void)
{
	pthread_t t[100];
	pthread_barrier_init(&filled, NULL, 101);
	for (int i = 0; i < 100; i++)
		pthread_create(&t[i], NULL, cache, NULL);
	pthread_barrier_wait(&filled);
	wait_a_little();
	pthread_barrier_wait(&filled);
	for (int i = 0; i < 100; i++)
		pthread_join(t[i], NULL);
}
int main(int argc, char **argv)
{
	const char how = argc > 1 ? argv[1][0] : 'p';
	if (how == 't') {
		char *unused = malloc(100 << 20); /* live, but not resident */
		threads();
		free(unused);
		return 0;
	}
	if (how == 'a') {
		all_at_once();
		return 0;
	}
	if (how == 'c') {
		caches();
		return 0;
	}
	for (int i = 0; i < N; i++) {
		large[i] = part();
		small[i] = pin();
	}
	if (how != 'p')
		wait_a_little();
	for (int i = 0; i < N; i++)
		free(large[i]);
	if (how == 'p')
		wait_a_little();
	return 0;
}
END
	cc -g -O0 -fno-builtin -pthread -o stays stays.c || bad 'stays.c does not compile'
	report_with '1. Freed memory stays resident: ' ./stays pinned
	expect_words out '1. Freed memory stays resident: '
	expect_words out ' KiB of live blocks. The freed memory is in pages with live blocks, mostly of pin (stays.c:7). It was more than half of the heap for '
	expect_text out '       mprof replay log # Retained and pinned pages'
	expect_no_text out MALLOC_ARENA_MAX
	run "$mprof" replay --quick -a glibc log
	expect_text out 'Retained and pinned pages'
	expect_text out 'Most retained'
	expect_words out 'pages are pinned by fewer than 64 bytes each, all of them by blocks of pin (stays.c:7)'
	run "$mprof" report --json log
	expect_same pinned "$(json out '.duration_ns as $run | .findings[0] | "\(.finding) \(.function):\(.line) \(.part > 28000000) \(.part < 33000000) \(.whole < 1000000) \(.held_ns < .of_ns and .of_ns <= $run)"')" \
		'retained pin:7 true true true true'
	report_with 'with MALLOC_ARENA_MAX=1, all ' ./stays threads
	expect_words out ' of live blocks. The freed memory is in pages without live blocks, which malloc_trim(0) may return where it is not at the end of an arena. '
	expect_words out 'Most of the heap was in arenas of single threads; with MALLOC_ARENA_MAX=1, all '
	expect_text out "       mprof replay -a 'glibc,glibc[MALLOC_ARENA_MAX=1]' log"
	expect_no_text out ' did not come'
	expect_no_text out 'tcache'
	# Sharing an arena does not make what was live at one time any smaller.
	report_with 'Most of it was live at one time, so one arena for all threads would keep about as much.' ./stays at once
	expect_no_text out MALLOC_ARENA_MAX
	expect_text out '       mprof replay log # Retained and pinned pages'
	expect_words out 'which malloc_trim(0) may return where it is not at the end of an arena. '
	report_with 'Each of 101 threads' ./stays caches # some threads may come too late for the samples
	expect_words out 'The freed memory is in pages without live blocks. It was '
	# glibc 2.43 keeps 16 blocks of each size, earlier ones 7.
	cat >cache.c <<'END'
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	void *p[64];
	free(malloc(1)); /* makes the cache */
	for (int i = 0; i < 64; i++)
		p[i] = malloc(1000);
	size_t used = mallinfo2().uordblks;
	for (int i = 0; i < 64; i++)
		free(p[i]);
	return printf("%zu", 64 - (used - mallinfo2().uordblks) / 1008) < 0;
}
END
	cc -O0 -fno-builtin -o cache cache.c
	expect_words out "Each of 101 threads may keep up to $(($(./cache) * 34304 / 1024)) KiB of freed blocks in a cache of its own, which malloc_trim(0) does not return; GLIBC_TUNABLES=glibc.malloc.tcache_count=0 switches these caches off."
	expect_words out "mprof replay -a \\ 'glibc,glibc[GLIBC_TUNABLES=glibc.malloc.tcache_count=0]' log"
	GLIBC_TUNABLES=glibc.malloc.tcache_count=3 report_with 'Each of 101 threads' ./stays caches
	expect_words out 'Each of 101 threads may keep up to 100 KiB of freed blocks'
	GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.arena_max=101 \
		report_with 'The freed memory is in pages without live blocks, which malloc_trim(0) may return' ./stays caches
	expect_words out 'The freed memory is in pages without live blocks, which malloc_trim(0) may return'
	expect_no_text out tcache
	report_of ./stays end
	expect_no_text out 'Freed memory'
}

# The blocks that a child inherits keep their pages: what it allocates between them, or not far from
# them, leaves no memory without blocks.
test_inherited_blocks_are_not_freed_memory() {
	cat >child.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
enum { N = 40000, PART = 16 };
static void *kept[N];
static void *plain(void) { return memset(malloc(500), 1, 500); }
int main(int argc, char **argv)
{
	for (int i = 0; i < N; i++)
		kept[i] = plain();
	for (int i = 0; argc > 1 && i < N; i += PART)
		free(kept[i]);
	if (fork())
		return wait(NULL) < 0;
	for (int i = 0; i < N; i += PART)
		kept[i] = argc > 1 ? plain() : realloc(kept[i], 400);
	for (int i = 0; i < N; i++)
		memset(kept[i], 2, 400);
	usleep(700000);
	_exit(0);
}
END
	compile child
	report_of ./child
	expect_words out 'Peak: '
	expect_no_text out 'resident:'
	report_of ./child gaps
	expect_words out 'Peak: '
	expect_no_text out 'resident:'
}

# Gaps that alignment leaves were never freed, so nothing can return them.
test_gaps_of_alignment() {
	cat >aligned.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { N = 6000 };
static void *kept[N];
static void *object(void) { void *p; return posix_memalign(&p, 4096, 100) ? 0 : memset(p, 1, 100); }
static void *wide(void) { void *p; return posix_memalign(&p, 65536, 4200) ? 0 : memset(p, 1, 4200); }
static void *plain(void) { return memset(malloc(4000), 1, 4000); }
int main(int argc, char **argv)
{
	for (int i = 0; i < N; i++)
		kept[i] = argc > 2 ? wide() : argc > 1 ? plain() : object();
	for (int i = 0; i < N; i++)
		if (argc == 2 && i % 8)
			free(kept[i]);
	rest(700);
	return 0;
}
END
	compile aligned -include "$here/rest.h"
	report_with 'because 6,000 of these are aligned' ./aligned
	expect_words out '1. Alignment wastes resident memory: '
	expect_words out ' KiB of live blocks, because 6,000 of these are aligned, mostly those of object (aligned.c:6). It was more than half of the heap for '
	expect_text out 'mprof compare log'
	expect_no_text out 'Freed memory'
	expect_no_text out malloc_trim
	run "$mprof" report --json log
	expect_same aligned "$(json out '.findings[0] | "\(.finding) \(.function) \(.aligned_blocks) \(.ended_bytes)"')" 'retained object 6000 0'
	expect_documented run out
	# Of a wide gap, an allocator writes to a few pages.
	report_with 'because 6,000 of these are aligned' ./aligned wide gaps
	expect_words out 'Alignment wastes resident memory: '
	expect_words out ' mostly those of wide (aligned.c:7). '
	report_with 'Freed memory stays resident: ' ./aligned freed
	expect_words out 'Freed memory stays resident: '
	"$mprof" report --json log >freed.json
	cat >beside.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *kept[20];
int main(int argc, char **argv)
{
	if (argc > 1)
		free(malloc(10000));
	for (int i = 0; i < 20; i++) {
		memset(sbrk(1900000), 1, 1900000);
		kept[i] = malloc(100000);
	}
	rest(700);
	return 0;
}
END
	compile beside -include "$here/rest.h"
	report_with 'Memory without blocks is resident: ' ./beside
	expect_words out 'Memory without blocks is resident: '
	expect_words out ' of live blocks, though nothing had been freed. This memory is in pages without live blocks. It was '
	expect_no_text out malloc_trim
	report_with ' of live blocks, though at most 9.8 KiB had been freed. ' ./beside 1
	expect_words out ' of live blocks, though at most 9.8 KiB had been freed. '
	expect_same freed "$(json freed.json '.findings[] | select(.finding == "retained") | "\(.aligned_blocks) \(.ended_bytes)"')" '0 null'
}
