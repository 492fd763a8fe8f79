# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# known.sh - programs whose figures follow from their source, such as users write to test a
# profiler. totals.sh has more of them.

# ./known PATTERN: the first letter chooses.
known() {
	cat >known.cc <<'END'
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <pthread.h>
#include <unistd.h>
#define APART __attribute__((noinline))
struct Item {
	explicit Item(size_t n) : mem(new char[n]), size(0) {}
	Item(const Item &other) : mem(new char[other.size]), size(0) {} /* line 10 */
	~Item() { delete[] mem; }
	char *mem;
	size_t size;
};
static APART void copies()
{
	std::list<Item> items;
	for (int i = 0; i < 1000; i++)
		items.emplace_back(1024);
	for (int round = 0; round < 1000; round++)
		for (auto item : items)
			__asm__ volatile("" : : "r"(item.mem) : "memory");
}
static APART void *larger(size_t n) { return malloc(n); }
static APART void grows_by_copy()
{
	void *old = NULL, *p;
	for (size_t n = 0; n < 6 << 20; n += 128) {
		p = larger(n);
		free(old);
		old = p;
	}
	free(old);
}
static APART void *resized(void *p, size_t n) { return realloc(p, n); }
static APART void grows_by_realloc()
{
	void *p = NULL;
	for (size_t n = 256; n < 1 << 20; n += 256)
		p = resized(p, n);
	free(p);
}
/* Each round adds 10,000 blocks and frees every third of all: prints the live and the most bytes. */
static APART char *piece(size_t n) { return new char[n]; }
static APART void fragments()
{
	static size_t size_of[40000];
	std::list<char *> all;
	size_t live = 0, most = 0, count = 0;
	for (size_t n = 0; n < 512; n += 8) {
		size_t visit = 0, kept = 0;
		for (int i = 0; i < 10000; i++) {
			all.push_back(piece(n));
			size_of[count++] = (n ? n : 1) + 3 * sizeof(void *); /* with its node */
			live += size_of[count - 1];
		}
		most = live > most ? live : most;
		for (auto it = all.begin(); it != all.end(); visit++)
			if (visit % 3 == 0) {
				live -= size_of[visit];
				delete[] *it;
				it = all.erase(it);
			} else {
				size_of[kept++] = size_of[visit];
				++it;
			}
		count = kept;
	}
	char line[64];
	write(1, line, snprintf(line, sizeof(line), "%zu %zu\n", live, most));
	_exit(0);
}
static pthread_barrier_t turn;
static APART void *make(int n) { return malloc(n); }
static void *of_threads(void *)
{
	void *mine[1000];
	for (int i = 0; i < 1000; i++)
		mine[i] = make(100);
	pthread_barrier_wait(&turn);
	for (int i = 0; i < 1000; i++)
		free(mine[i]);
	for (int i = 0; i < 500000; i++)
		free(make(8));
	return NULL;
}
static void eight()
{
	pthread_t t[8];
	pthread_barrier_init(&turn, NULL, 8);
	for (auto &x : t)
		pthread_create(&x, NULL, of_threads, NULL);
	for (auto &x : t)
		pthread_join(x, NULL);
}
int main(int, char **argv)
{
	switch (argv[1][0]) {
	case 'c': copies(); break;
	case 'g': grows_by_copy(); break;
	case 'r': grows_by_realloc(); break;
	case 'f': fragments(); break;
	case 'e': eight(); break;
	}
	return 0;
}
END
	g++ -g -O1 -fno-builtin -fno-optimize-sibling-calls -pthread -o known known.cc || bad 'known.cc does not compile'
}

known_profile() { # PROGRAM ARGS...: rows by function in rows, the report in json
	rm -f file
	"$mprof" profile -q -o file -- "$@" >out 2>err || bad "$*: $(cat err)"
	"$mprof" report hot --by function --json --top 0 file >rows 2>err
	"$mprof" report --json file >json 2>err
}

known_figure() { # FUNCTION PATH
	jq -c ".rows[] | select(.function == \"$1\") | $2" rows
}

# A copy for each element where a reference was meant: each copy belongs to the line of the
# constructor.
test_known_copies() {
	known
	known_profile ./known copies
	expect_same 'calls, bytes' "$("$mprof" report hot --json --function copies file 2>err |
		jq -c '.total.figures | [.calls, .total, .live]')" '[1002000,2056000,0]'
	expect_same 'the copies' "$("$mprof" report hot --by line --json --top 0 file 2>err |
		jq -c '.rows[] | select(.figures.calls == 1000000) | [.function, (.file | split("/") | last), .line, .figures.total]')" \
		'["Item::Item","known.cc",10,1000000]'
}

test_known_growth_by_copies() {
	known
	known_profile ./known grow
	expect_same 'calls, bytes, its own peak' "$(known_figure larger '[.figures.calls, .figures.total, .figures.local]')" \
		"[49152,$((128 * (49151 * 49152 / 2))),$((2 * (6 << 20) - 3 * 128))]"
}

test_known_growth_by_realloc() {
	local how
	known
	for how in profile record; do
		rm -f file
		"$mprof" $how -q -o file -- ./known realloc >out 2>err || bad "$how: $(cat err)"
		"$mprof" report hot --by function --json --top 0 file >rows 2>err
		expect_same "$how: calls, bytes, reallocs" "$(known_figure resized '[.figures.calls, .figures.total, .reallocs.calls]')" \
			'[4095,2146959360,4094]'
	done
	expect_same 'from a trace: differences' "$("$mprof" report --json file | jq -c '[.realloc.calls, .realloc.of_null, .realloc.grown_bytes, .realloc.shrunk_bytes,
		([.realloc.sizes[] | .to - .from] | unique)]')" '[4095,1,1048064,0,[256]]'
	known_profile ./known realloc
	expect_same 'from a profile: differences' "$(jq .realloc_grown_bytes json)" 1048064
	run "$mprof" report file
	expect_words out 'Reallocated: 4,094 blocks'
}

# 640,000 arrays and as many list nodes, a few of which keep many pages.
test_known_fragments() {
	local how live most
	known
	for how in profile record; do
		rm -f file
		"$mprof" $how -q -o file -- ./known fragments >out 2>err || bad "$how: $(cat err)"
		read -r live most <out
		"$mprof" report hot --json --by function --function fragments file >rows 2>err
		expect_same "$how: calls, live" "$(jq -c '.total.figures | [.calls, .live, .peak]' rows)" "[1280000,$live,$most]"
		expect_same "$how: arrays" "$(known_figure piece .figures.calls)" 640000
	done
	"$mprof" report --json file >json 2>err
	expect_same 'pages that are not full' "$(jq ".high_water.pages * 4096 > 1.2 * $most and .compactness.virtual.at_peak < 0.85" json)" true
}

maps_source() {
	cat <<'END'
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#define MIB (1 << 20)
static char *map(void) { return mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
static void halves(void) { char *p = map(); munmap(p, MIB / 2); munmap(p + MIB / 2, MIB / 2); }
static void shrinks(void) { char *p = map(); p = mremap(p, MIB, MIB / 2, 0); munmap(p, MIB / 2); }
static void middle(void) { char *p = map(); munmap(p + MIB / 4, MIB / 2); munmap(p, MIB); munmap(p, MIB); }
int main(int argc, char **argv)
{
	if (argc > 1)
		middle();
	if (argc > 2)
		raise(SIGKILL);
	if (argc == 1) {
		halves();
		shrinks();
	}
	return 0;
}
END
}

# mremap counts as mapping and unmapping; unmapping a range that is not mapped does not count.
test_known_maps() {
	maps_source >maps.c
	cc -g -O0 -D_GNU_SOURCE -o maps maps.c || bad 'maps.c does not compile'
	known_profile ./maps
	expect_same 'halves, and a mremap' "$(jq -c '[.total.maps.calls, .total.maps.bytes, .unmap_calls, .unmap_bytes]' json)" '[3,2621440,4,2621440]'
	expect_same 'by function' "$(jq -c '.functions | [.mmap.bytes, .mremap.bytes, .munmap.bytes]' json)" '[2097152,524288,1572864]'
	run "$mprof" report --all file
	expect_words out 'Mapped directly, files included: 2.5 MiB in 3 calls; unmapped: 2.5 MiB in 4 calls; 1 of them was mremap, which counts as both with the whole size.'
	known_profile ./maps middle
	expect_same 'the middle, then all, then nothing' "$(jq -c '[.total.maps.calls, .total.maps.bytes, .unmap_calls, .unmap_bytes]' json)" '[1,1048576,3,1048576]'
	rm -f file
	MPROF_CONF='MODE=Profile PROFILE_PATH=file' LD_PRELOAD=$build/libmprof.so ./maps middle kill 2>err
	"$mprof" report --json file >json
	expect_same 'by hand, and killed' "$(jq -c '[.total.maps.bytes, .unmap_calls, .unmap_bytes]' json)" '[1048576,3,1048576]'
	run "$mprof" stat --json -q -- ./maps middle
	expect_same 'as counts' "$(json out '.bytes.munmap')" 1048576
	"$mprof" record -q -o log -- ./maps middle
	expect_same 'as the trace says' "$("$mprof" report --json log | jq -c '[.bytes.munmap, .maps.mapped_bytes]')" '[1048576,0]'
}

# 8 threads with 2 million calls each: none is lost, and a trace shows what was live at a given
# time.
test_known_eight_threads() {
	known
	known_profile ./known eight
	expect_same calls "$(known_figure make '[.figures.calls, .figures.total, .figures.live]')" \
		"[4008000,$((8 * 1000 * 100 + 4000000 * 8)),0]"
	expect_same lost "$(jq .lost json)" 0
	run env MPROF_CONF='MODE=Sample SAMPLE_CALLS=997 SEED=3 PROFILE_PATH=s' LD_PRELOAD="$build/libmprof.so" ./known eight
	expect_same 'one of 997, of all threads' "$("$mprof" report hot --by function --json s 2>err |
		jq '.rows[] | select(.function == "make") | .ranges.calls[0] <= 4008000 and 4008000 <= .ranges.calls[1]')" true
	"$mprof" record -q -o log -- ./known eight
	expect_same 'all events' "$("$mprof" report --json log | jq -c '[.lost, (.size_classes[] | select(.size == 8) | .count)]')" '[0,4000000]'
	expect_same 'live at the peak' "$("$mprof" report peak --by function --json log | jq '.rows[] | select(.function == "make") | .figures.peak >= 800000')" true
	expect_same 'live at the end' "$("$mprof" report peak --by function --at end --json log | jq '[.rows[] | select(.function == "make")] | length')" 0
}

# The sizes that a function requested, on demand; over threads and merged files.
test_known_sizes_of_a_function() {
	local sizes='[.rows[] | [.size, .figures.calls, .figures.total, .figures.live]] | sort'
	cat >sizes.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <signal.h>
static void *mixed(int n) { return malloc(n); }
static void *other(int n) { return malloc(n); }
static void *run(void *arg)
{
	for (int i = 0; i < 100; i++) {
		mixed(0);
		free(mixed(100));
		mixed(1000);
		other(64);
	}
	free(realloc(mixed(5), 70));
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t;
	run(argv);
	if (argc > 1) {
		pthread_create(&t, NULL, run, argv);
		pthread_join(t, NULL);
		raise(SIGKILL);
	}
	return 0;
}
END
	cc -g -O1 -fno-inline -fno-builtin -pthread -o sizes sizes.c || bad 'sizes.c does not compile'
	run "$mprof" profile -q --site-sizes -o one -- ./sizes
	run "$mprof" profile -q --set SITE_SIZES=1 -o two -- ./sizes thread
	expect_status 137
	run "$mprof" merge one two -o both
	expect_same 'one thread' "$("$mprof" report hot --by size --function mixed --json one | jq -c "$sizes")" \
		'[[0,100,0,0],[4,1,5,0],[64,100,10000,0],[512,100,100000,100000]]'
	expect_same 'two threads, killed' "$("$mprof" report hot --by size --function mixed --json two | jq -c "$sizes")" \
		'[[0,200,0,0],[4,2,10,0],[64,200,20000,0],[512,200,200000,200000]]'
	expect_same 'merged' "$("$mprof" report hot --by size --function mixed --json both | jq -c "$sizes")" \
		'[[0,300,0,0],[4,3,15,0],[64,300,30000,0],[512,300,300000,300000]]'
	run "$mprof" report hot --by size --function mixed one
	expect_text out '512 to 1,023 bytes'
	expect_no_text out ', from'
	expect_same 'without the option' "$(known_profile ./sizes; "$mprof" report hot --by size file 2>&1)" \
		"mprof: 'file' contains totals, not individual calls: figures by size need mprof profile --site-sizes or a trace from mprof record"
	run "$mprof" report hot --by function --json one
	expect_same 'the other figures' "$(json out '.rows[] | select(.function == "mixed") | .figures.calls')" 301
}

# Before recording is switched on nothing counts, afterwards everything does.
test_known_switched_on() {
	cat >switched.c <<'END'
#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>
static void *before(void) { return malloc(1000); }
static void *after(void) { return malloc(2000); }
int main(int argc, char **argv)
{
	char line[300];
	before();
	snprintf(line, sizeof(line), "env -u LD_PRELOAD -u MPROF_CONF '%s' ctl %d resume", argv[1], (int)getpid());
	if (system(line))
		return 1;
	after();
	return argc - 2;
}
END
	cc -g -O1 -fno-inline -fno-builtin -o switched switched.c || bad 'switched.c does not compile'
	known_profile_paused ./switched "$mprof"
	expect_same 'before, after' "$(known_figure before .figures.calls) $(known_figure after '[.figures.calls, .figures.total]')" ' [1,2000]'
}

known_profile_paused() {
	rm -f file
	"$mprof" profile -q --paused -o file -- "$@" >out 2>err || bad "$*: $(cat err)"
	"$mprof" report hot --by function --json --top 0 file >rows 2>err
}

# The figures of a real program in each export format, read by its tool.
test_known_exports() {
	local value flamegraph=/usr/share/perl5/Devel/NYTProf/flamegraph.pl total
	cat >demo.py <<'END'
import json
data = [json.loads(str(list(range(n * 100)))) for n in range(1, 100)]
print(len(data))
END
	rm -f file
	PYTHONMALLOC=malloc "$mprof" profile -q -o file -- /usr/bin/python3 demo.py >out 2>err || bad "$(cat err)"
	expect_same 'what the program printed' "$(cat out)" 99
	"$mprof" report --json file >json 2>err
	for value in calls total live peak; do
		"$mprof" export --to folded --value $value file >folded 2>err
		total=$(jq ".total.figures.$value" json)
		expect_same "$value" "$(awk '{n += $NF} END {printf "%.0f\n", n}' folded)" "$total"
		if [ $value = peak ] && [ -e "$flamegraph" ]; then
			perl "$flamegraph" folded >picture.svg 2>complaints
			[ ! -s complaints ] || bad "flamegraph.pl: $(cat complaints)"
		fi
	done
	"$mprof" export --to speedscope --value all file 2>err | jq '.profiles | length > 3' >out
	expect_same speedscope "$(cat out)" true
	"$mprof" export --to callgrind -o callgrind.out file 2>err
	expect_same 'seven columns' "$(sed -n 's/^events: *//p' callgrind.out)" 'AllocCnt FreeCnt MemOps AllocSum FreeSum Leaks AliveReqMax'
	if command -v callgrind_annotate >/dev/null; then
		callgrind_annotate callgrind.out 2>err | grep 'PROGRAM TOTALS' | tr -d , >out
		expect_same 'callgrind_annotate' "$(awk '{print $1}' out)" "$(jq .total.figures.calls json)"
	fi
	"$mprof" export --to csv file 2>err >file.csv
	expect_same 'csv' "$(python3 -c 'import csv; print(sum(int(r["bytes"]) for r in csv.DictReader(open("file.csv"))))' 2>&1)" "$(jq .total.figures.total json)"
}

# Names in a library that is loaded and unloaded while the program runs, with file and line.
test_known_plugins() {
	cat >plugin.c <<'END'
#include <stdlib.h>
void *in_plugin(void);
void *in_plugin(void) { return malloc(321); }
END
	cat >loads.c <<'END'
#include <dlfcn.h>
#include <stdlib.h>
int main(void)
{
	for (int i = 0; i < 3; i++) {
		void *h = dlopen("./plugin.so", RTLD_NOW);
		void *(*f)(void) = h ? (void *(*)(void))dlsym(h, "in_plugin") : NULL;
		if (!f)
			return 1;
		free(f());
		dlclose(h);
	}
	return 0;
}
END
	cc -g -O1 -fno-builtin -fPIC -shared -o plugin.so plugin.c && cc -g -O1 -o loads loads.c || bad 'it does not compile'
	known_profile ./loads
	"$mprof" report hot --by line --json --top 0 file >rows 2>err
	expect_same 'calls, file, line' "$(known_figure in_plugin '[.figures.calls, .figures.total, (.file | split("/") | last), .line]')" '[3,963,"plugin.c",3]'
}

# Writes outside a block: two words before it, one byte after it.
test_known_guard() {
	cat >guarded.c <<'END'
#include <stdlib.h>
static int *ints(void) { return malloc(10 * sizeof(int)); }
static char *chars(void) { return malloc(13); }
int main(void)
{
	int *i = ints();
	char *c = chars();
	i[-2] = 7;
	i[-1] = 7;
	c[13] = 7;
	free(i);
	free(c);
	return 0;
}
END
	cc -w -g -O0 -o guarded guarded.c || bad 'guarded.c does not compile'
	run "$mprof" -m Guard ./guarded
	expect_status 0
	expect_same 'both errors, and who allocated' "$("$mprof" report errors --json mprof.guard |
		jq -c '[.rows[] | [.kind, .bytes, .allocated.stack[-1].function]] | sort')" \
		'[["overrun",1,"chars"],["underrun",8,"ints"]]'
}

# Static memory: sizes of variables, and how much of them is resident.
test_known_variables() {
	[ "$(awk '/^MemAvailable/ {print int($2 / 1024)}' /proc/meminfo)" -gt 3000 ] || return 0
	cat >static.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#define MIB (1UL << 20)
char whole[512 * MIB] __attribute__((aligned(4096)));
__thread char local[128 * MIB];
static pthread_barrier_t all;
static void *run(void *arg) { local[0] = 1; free(malloc(1)); if (arg) pthread_barrier_wait(&all); return arg; }
int main(void)
{
	pthread_t t[3];
	memset(whole, 1, sizeof(whole));
	pthread_barrier_init(&all, NULL, 3);
	pthread_create(&t[0], NULL, run, t);
	pthread_create(&t[1], NULL, run, t);
	run(t);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 4; i++) {
		pthread_create(&t[2], NULL, run, NULL);
		pthread_join(t[2], NULL);
	}
	return 0;
}
END
	cc -g -O0 -pthread -o static static.c || bad 'static.c does not compile'
	rm -f file
	run "$mprof" profile -q -o file -- ./static
	expect_status 0
	run "$mprof" report globals --json --top 0 file
	expect_same 'global' "$(json out '.rows[] | select(.name == "whole") | "\(.bytes) \(.resident_bytes)"')" '536870912 536870912'
	expect_same 'thread-local' "$(json out '.rows[] | select(.name == "local") | .bytes')" 134217728
	expect_same 'threads at once' "$(json out '[.objects[] | select(.object | endswith("/static")) | .threads][0]')" 3
}

# A million live blocks from 65,536 stacks: our memory and file, which do not grow with more calls.
test_known_memory_of_many_blocks_and_stacks() {
	local without with
	[ "$(awk '/^MemAvailable/ {print int($2 / 1024)}' /proc/meminfo)" -gt 2000 ] || return 0
	cat >blocks.c <<'END'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define BLOCKS (1u << 20)
static void *block[BLOCKS];
static uint64_t state = 1;
static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}
static void *make(void) { return malloc(16 + next() % 1024); }
static void replace(void)
{
	unsigned from = next() % BLOCKS & -32u;
	for (unsigned i = from; i < from + 32; i++) {
		free(block[i]);
		block[i] = make();
	}
}
static void branch(uint64_t way, int more) /* 2^more stacks */
{
	if (!more)
		replace();
	else if (way & 1)
		branch(way >> 1, more - 1);
	else {
		branch(way >> 1, more - 1);
		__asm__ volatile("nop");
	}
	__asm__ volatile("");
}
int main(void)
{
	static char line[256];
	FILE *f;
	for (unsigned i = 0; i < BLOCKS; i++)
		block[i] = make();
	for (unsigned i = 0; i < 131072; i++)
		branch(i * 40503u, 16);
	f = fopen("/proc/self/status", "r");
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "VmHWM", 5))
			printf("%d\n", atoi(line + 6));
	return 0;
}
END
	cc -g -O1 -fno-inline -fno-builtin -fno-optimize-sibling-calls -o blocks blocks.c || bad 'blocks.c does not compile'
	without=$(./blocks)
	with=$("$mprof" profile -q -o file -- ./blocks)
	[ $((with - without)) -lt 292968 ] || bad "$without kB became $with kB" # 300 MB
	[ "$(stat -c %s file)" -lt 50000000 ] || bad "the file has $(stat -c %s file) bytes"
	expect_same 'blocks' "$("$mprof" report hot --by function --json file 2>err |
		jq -c '.rows[] | select(.function == "make") | .figures | [.calls, .live > 500000000]')" '[5242880,true]'
	run "$mprof" report hot --json --top 1 file
	[ "$(json out .rows_left_out)" -gt 65000 ] || bad "only $(json out .rows_left_out) more stacks"
}

# Each object that is loaded into a C program finds the operators of C++ in its own scope, once: failing
# lookups of the loader are slow, and allocate the text of an error.
test_operators_of_many_plugins() {
	local i
	cat >plugin.cc <<'END'
extern "C" void use(int n)
{
	while (n--)
		operator delete(operator new(40));
}
END
	cat >main.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
	void (*use[40])(int);
	char name[40];
	for (int i = 0; i < 40; i++) {
		sprintf(name, "./plugin%d.so", i);
		*(void **)&use[i] = dlsym(dlopen(name, RTLD_NOW | RTLD_LOCAL), "use");
	}
	for (int i = 0; i < 40; i++)
		use[i](1000);
	return 0;
}
END
	g++ -O1 -shared -fPIC -fno-builtin -o plugin0.so plugin.cc || bad 'plugin.cc does not compile'
	for ((i = 1; i < 40; i++)); do cp plugin0.so "plugin$i.so"; done
	cc -O1 -o main main.c || bad 'main.c does not compile'
	run "$mprof" stat --json -- ./main
	expect_same 'calls' "$(json out '.calls.malloc | . >= 40000 and . < 42000')" true
}
