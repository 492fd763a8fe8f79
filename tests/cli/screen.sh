# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2016
#
# screen.sh - the first screen of a report: 40 lines of 80 columns, whatever ran.

# A recording fits on one screen in a pipe, and the screen says how the program ended.
expect_screen() { # LOG
	run "$mprof" report "$1"
	expect_status 0
	[ "$(wc -l <out)" -le 40 ] || bad "$1: $(wc -l <out) lines: $(cat out)"
	[ "$(wc -L <out)" -le 80 ] || bad "$1: $(wc -L <out) columns: $(awk 'length > 80' out)"
	expect_words out 'It exited with status 0 after'
	expect_words out ' Peak: '
	grep -A4 -E '^Finding(s, largest gain first)?$' out | grep -q '^  1\. ' || bad "$1: no finding: $(cat out)"
	grep -Eq '^       mprof report [a-z-]+ ' out || bad "$1: no command: $(cat out)"
	! grep -q "$(printf '\033')" out || bad "$1: an escape in a pipe"
	# A finding that does not fit is omitted, and counted.
	[ "$(grep -Ec '^  [1-8]\. ' out)" -le 8 ] || bad "$1: $(grep -c '^  [0-9]' out) findings"
}

keeper_source() {
	cat <<'END'
#include <stdlib.h>
static void *kept[3000]; int usleep(unsigned us); /* so that it grows to the end of the run */
static void keep(int i) { kept[i] = malloc(48); }
static char *text(void) { return malloc(100); }
int main(void)
{
	char *list = NULL;
	for (int i = 0; i < 3000; i++) {
		char *s = text();
		keep(i);
		list = realloc(list, 16 * (i + 1));
		free(s); if (i % 100 == 0) usleep(5000);
	}
	free(list);
	return 0;
}
END
}

keeper() {
	keeper_source >keeper.c
	compile keeper
	"$mprof" record -o log -- ./keeper 2>/dev/null
}

test_screen_of_a_leak() {
	keeper
	report_with growing ./keeper
	expect_screen log
	expect_words out 'Never freed: 141 KiB in 3,000 blocks.'
	expect_words out '1. 141 KiB was never freed, '
	expect_words out 'growing'
	expect_words out ': all 3,000 blocks allocated by keep (keeper.c:3). '
	expect_text out 'mprof report leaks --function keep log'
	expect_text out 'All tables: mprof report --all log; views: mprof report --help'
	# The peak consists of the same blocks: they appear once, and again with --all.
	expect_no_text out 'mprof report callers keep log'
	expect_words out 'mprof replay --reserve-site main:11 log # measures the gain'
	expect_no_text out '    48  3,000'
	run "$mprof" report --all log
	expect_text out 'mprof report callers keep log'
	expect_text out '     48  3,000      144,000'
}

# Whoever tries mprof loses a few bytes on purpose.
test_screen_of_small_leaks() {
	printf '#include <stdlib.h>\nvoid *volatile kept;\nint main(void) { %s return 0; }\n' \
		'for (int i = 0; i < 3; i++) kept = malloc(100);' >few.c
	compile few
	report_of ./few
	expect_words out 'No call site stands out. To list the blocks that were not freed: mprof report leaks log'
	sed 's/return/__builtin_trap(); return/' few.c >killed.c
	compile killed
	report_of ./killed
	expect_words out 'No call site stands out. To list the blocks that were live at the end: mprof report leaks log'
	"$mprof" profile -o totals ./few 2>/dev/null
	run "$mprof" report totals
	expect_same 'ways to the leaks of a profile' "$(grep -c 'mprof report leaks' out)" 1
	sed 's/kept = malloc(100)/free(kept), kept = malloc(100)/; s/return/free(kept); return/' few.c >freed.c
	compile freed
	report_of ./freed
	expect_text out 'No call site stands out.'
	expect_no_text out 'mprof report leaks'
}

# The same program under the name of an interpreter: no finding proposes to change it.
test_screen_of_an_interpreter() {
	keeper
	cp keeper lua5.9
	"$mprof" record -o script.log -- ./lua5.9 2>/dev/null
	run "$mprof" report script.log
	expect_words out 'lua5.9 is the Lua runtime;'
	expect_no_text out 'mprof replay'
	expect_no_text out 'reserving'
	run "$mprof" report --all script.log
	expect_words out 'Findings * lua5.9 is the Lua runtime;'
	"$mprof" report --html script.html script.log 2>/dev/null
	expect_text script.html '<li>lua5.9 is the Lua runtime;'
	cp keeper perl5.99
	"$mprof" record -o perl.log -- ./perl5.99 2>/dev/null
	run "$mprof" report perl.log
	expect_words out "perl5.99 is the Perl runtime, which ends without freeing all objects; Devel::MAT"
	cp keeper mono
	"$mprof" record -o mono.log -- ./mono 2>/dev/null
	run "$mprof" report mono.log
	expect_words out 'mono is the .NET runtime, which ends without freeing all objects; mono --profile=log:heapshot shows its objects, and with --jitmap call stacks have its functions.'
	"$mprof" profile -o perl.profile -- ./perl5.99 2>/dev/null
	run "$mprof" report perl.profile
	expect_words out "perl5.99 is the Perl runtime, which ends without freeing all objects; Devel::MAT"
	echo 'int main(void) { return 0; }' | cc -x c -o php8.9 -
	"$mprof" profile -o php.profile -- ./php8.9 2>/dev/null
	run "$mprof" report php.profile
	expect_words out 'No allocation was recorded.'
	expect_words out 'php8.9 is the PHP runtime; its extension memprof shows which lines of the script allocate.'
	run "$mprof" report --all log
	expect_no_text out ' runtime;'
	run "$mprof" report log
	expect_no_text out 'is the Lua runtime'
	expect_text out 'mprof replay'
}

# Memory that a runtime keeps until it ends is not a leak: Erlang's loaded code, Java's startup.
test_screen_of_what_a_runtime_keeps() {
	printf '#include <stdlib.h>\nvoid *beamasm_metadata_update(void) { return malloc(5000); }\n' >beam.c
	printf 'void *beamasm_metadata_update(void);\nint main(void) { for (int i = 0; i < 100; i++) beamasm_metadata_update(); return 0; }\n' >main.c
	cc -g -O0 -o beam.smp beam.c main.c || bad 'beam.c does not compile'
	run "$mprof" record -o log -- ./beam.smp
	run "$mprof" report leaks log
	expect_text out "488 KiB  in 100 blocks: Erlang's loaded modules"
	printf '#include <cstdlib>\nstruct Threads { static void *create_vm(); };\nvoid *Threads::create_vm() { return malloc(7000); }\nextern "C" void *start() { return Threads::create_vm(); }\n' >jvm.cc
	printf 'void *start(void);\nint main(void) { return !start(); }\n' >main.c
	g++ -g -O0 -shared -fPIC -o libjvm.so jvm.cc && cc -g -o java main.c ./libjvm.so || bad 'jvm.cc does not compile'
	run "$mprof" record -o log -- ./java
	run "$mprof" report leaks log
	expect_text out '6.8 KiB  in 1 block: what Java allocates at startup'
}

# What an interpreter keeps to its end does not hide what an extension leaks.
test_screen_of_an_extension_that_leaks() {
	cat >perl.c <<'END'
#include <stdlib.h>
void lose(int n);
#define KEEP(name, bytes) static void *name(void) { return malloc(bytes); }
KEEP(scalars, 4000) KEEP(arrays, 3500) KEEP(hashes, 3000) KEEP(code, 2500)
int main(void)
{
	lose(100);
	for (int i = 0; i < 300; i++)
		if (!scalars() || !arrays() || !hashes() || !code())
			return 1;
	return 0;
}
END
	printf '#include <stdlib.h>\nvoid lose(int n) { while (n--) if (!malloc(2000)) abort(); }\n' >ext.c
	cc -g -O0 -fno-builtin -shared -fPIC -o libext.so ext.c
	cc -g -O0 -fno-builtin -o perl5.98 perl.c ./libext.so || bad 'perl.c does not compile'
	report_of ./perl5.98
	expect_words out '195 KiB was never freed'
	expect_words out ': all 100 blocks allocated by lose (ext.c:2).'
	run "$mprof" report --json log
	expect_same leaks "$(json out '[.findings[] | select(.finding == "leak") | .function] | join(" ")')" \
		'scalars arrays hashes lose'
}

# What a language's run-time allocates belongs to the function that called it.
test_screen_of_languages() {
	cat >builds.c <<'END'
#include <stdlib.h>
#define RUNS(name) void *runs_##name(int n) __asm__(#name); void *runs_##name(int n) { return malloc(n); }
RUNS(_d_newarrayT) RUNS(__Pyx_PyObject_Call) RUNS(caml_ba_create) RUNS(camlStdlib__Bytes__make_93)
#define BUILDS(name, n) void *by_##name(void) { return runs_##name(n); }
BUILDS(_d_newarrayT, 1001) BUILDS(__Pyx_PyObject_Call, 1004) BUILDS(caml_ba_create, 1002) BUILDS(camlStdlib__Bytes__make_93, 1003)
int main(void)
{
	for (int i = 0; i < 1000; i++) {
		by__d_newarrayT();
		by___Pyx_PyObject_Call();
		by_caml_ba_create();
		by_camlStdlib__Bytes__make_93();
	}
	return 0;
}
END
	compile builds
	report_of ./builds
	run "$mprof" report leaks --json log
	expect_same 'functions that allocate' "$(json out '[.rows[].stack[-1].function] | sort | join(" ")')" \
		'by___Pyx_PyObject_Call by__d_newarrayT by_camlStdlib__Bytes__make_93 by_caml_ba_create'
	# A runtime that maps memory: the one who knows its blocks.
	cat >maps.c <<'END'
#include <string.h>
#include <sys/mman.h>
void *osTryAllocPages__system_3747(void) { return mmap(NULL, 40 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
int main(void) { return !memset(osTryAllocPages__system_3747(), 1, 40 << 20); }
END
	compile maps
	report_of ./maps
	# ... from a function that does not tell.
	sed 's/void \*osTry.*) { return/static void *my_mmap(void) { return/; s/^int main.*/void *getMBlocks(void) { return my_mmap(); }\nint main(void) { return !memset(getMBlocks(), 1, 40 << 20); }/' maps.c >near.c
	compile near
	"$mprof" record -q -o near.log -- ./near
	run "$mprof" report near.log
	expect_words out "mapped by Haskell's heap (my_mmap (near.c:3)); linked with -rtsopts, the program's option +RTS -hT shows its objects."
	# GCC 16 exports the callers only.
	strip -o cc1 near
	"$mprof" record -q -o cc1.log -- ./cc1
	run "$mprof" report cc1.log
	expect_words out "mapped by the heap of GCC's collector ("
	strip -o lisp.run near
	"$mprof" record -q -o lisp.log -- ./lisp.run
	run "$mprof" report lisp.log
	expect_words out "mapped by CLISP's heap ("
	expect_words out "; (room) shows how much of it is in use."
	sed '/^int main/d' near.c >poly.c
	cc -g -shared -fPIC -o libpolyml.so.9 poly.c
	printf '#include <string.h>\nvoid *getMBlocks(void);\nint main(void) { return !memset(getMBlocks(), 1, 40 << 20); }\n' >ml.c
	cc -g -o ml ml.c ./libpolyml.so.9 || bad 'ml.c does not compile'
	"$mprof" record -q -o ml.log -- ./ml
	run "$mprof" report ml.log
	expect_words out "mapped by Poly/ML's heap ("
	expect_words out "PolyML.Profiling.ProfileAllocations shows which functions allocate."
	sed 's/getMBlocks/S_getmem/' near.c >scheme.c
	compile scheme
	"$mprof" record -q -o scheme.log -- ./scheme
	run "$mprof" report scheme.log
	expect_words out "mapped by the heap of Chez Scheme (my_mmap (scheme.c:3)); after (enable-object-counts #t), (object-counts) shows its objects."
	sed 's/getMBlocks/caml_mem_map/' near.c >domains.c
	compile domains
	"$mprof" record -q -o domains.log -- ./domains
	run "$mprof" report domains.log
	expect_words out "mapped by OCaml's heap (my_mmap (domains.c:3)); OCAMLRUNPARAM=v=0x400 prints its figures at the end."
	# ... without debug information, as Zig calls it.
	sed 's/^void \*getMBlocks(void)/void *getMBlocks(void) __asm__("heap.PageAllocator.alloc");\n&/' near.c >zig.c
	compile zig -g0
	"$mprof" record -q -o zig.log -- ./zig
	run "$mprof" report zig.log
	expect_words out "mapped by Zig's page allocator ("
	expect_words out "std.heap.c_allocator in its place would show the blocks."
	# Two callers: the larger share is named, though another stack of the smaller one is largest.
	cat >two.c <<'END'
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define MAP(n) memset(mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, n)
void *getMBlocks(void) { return MAP(12 << 20); }
void *ggc_internal_alloc(size_t n) { return MAP(n); }
int trees(void) {
	void *p = ggc_internal_alloc(10 << 20);
	void *q = ggc_internal_alloc(9 << 20);
	void *r = ggc_internal_alloc(8 << 20);
	return p && q && r; }
int loops(void) { return !!ggc_internal_alloc(11 << 20); }
int main(void) { return !(getMBlocks() && trees() && loops() && (rest(300), 1)); }
END
	compile two -include "$here/rest.h"
	two_mappers() {
		"$mprof" record -q -o two.log -- ./two
		run "$mprof" report two.log
	}
	again_until 'has_words out "38.0 MiB of it was mapped by"' two_mappers
	expect_words out "38.0 MiB of it was mapped by the heap of GCC's collector, 27.0 MiB of it in trees (two.c), most at line 8 (10.0 MiB of 27.0 MiB);"
	run "$mprof" report log
	expect_words out "mapped by Nim's own allocator (main (maps.c:4), through osTryAllocPages__system_3747 (maps.c)); compiled with --mm:arc -d:useMalloc, the program would show its blocks."
}

# R's collector may never free an object, so none is called a leak; the report names the function that
# allocated most.
test_screen_of_objects_of_r() {
	cat >libR.c <<'END'
#include <stdlib.h>
#include <string.h>
void *Rf_allocVector(size_t n) { return memset(malloc(n), 1, n); }
END
	cat >script.c <<'END'
void *Rf_allocVector(long);
void *volatile kept[3];
__attribute__((noinline)) void matrix(void) { kept[0] = Rf_allocVector(30 << 20); }
__attribute__((noinline)) void frame(void) { kept[1] = Rf_allocVector(10 << 20); }
int main(void) { matrix(); frame(); return 0; }
END
	cc -g0 -O1 -shared -fPIC -o libR.so libR.c && cc -g -O1 -o script script.c ./libR.so ||
		bad 'does not compile'
	report_of ./script
	expect_words out 'Never freed: 40.0 MiB in 2 blocks; run-time libraries keep all of it.'
	expect_words out '75 % of the peak (30.0 MiB in 1 block) was allocated by matrix (script.c:3)'
	expect_words out '25 % of the peak (10.0 MiB in 1 block) was allocated by frame (script.c:4)'
	expect_no_text out 'was never freed'
}

# A program that gives Lua a function which requests memory: the part of Lua that calls it is named,
# and the line of the program that runs Lua.
test_screen_of_an_allocator_for_lua() {
	cat >lua.c <<'END'
#include <stddef.h>
void *luaM_realloc_(void *(*get)(void *, size_t), void *p, size_t n) { void *q = get(p, n); __asm__(""); return q; }
void *luaH_resize(void *(*get)(void *, size_t), size_t n) { void *q = luaM_realloc_(get, NULL, n); __asm__(""); return q; }
END
	cat >embeds.c <<'END'
#include <stdlib.h>
#include <string.h>
void *luaH_resize(void *(*get)(void *, size_t), size_t n);
void *volatile kept[100];
static void *l_mem(void *p, size_t n) { void *q = realloc(p, n); memset(q, 1, n); return q; }
__attribute__((noinline)) void load(void) { for (int i = 0; i < 100; i++) kept[i] = luaH_resize(l_mem, 100000); }
int main(void) { load(); return 0; }
END
	cc -g0 -O1 -c lua.c && cc -g -O1 -o embeds embeds.c lua.o || bad 'does not compile'
	report_of ./embeds
	expect_words out 'allocated by luaH_resize [embeds]'
	expect_words out 'reached from load (embeds.c:6)'
	expect_no_text out 'l_mem (embeds.c:5)'
}

# GLib's slices: blocks that it divides, as it requests them and with G_SLICE=always-malloc.
test_screen_of_slices() {
	cat >slices.c <<'END'
#include <stdlib.h>
#include <string.h>
void *g_malloc(size_t n) { return malloc(n); }
static void *add_slab(void) { return aligned_alloc(1024, 1024); }
void *g_slice_alloc(size_t n)
{
	static char *slab;
	static size_t used = 1024;
	if (getenv("G_SLICE"))
		return g_malloc(n);
	if (used + n > 1024) {
		slab = add_slab();
		used = 0;
	}
	return slab + (used += n) - n;
}
void *item(void) { return g_slice_alloc(64); }
int main(void) { for (int i = 0; i < 8000; i++) memset(item(), 1, 64); return 0; }
END
	compile slices
	report_of ./slices
	expect_words out 'all 500 blocks allocated by item (slices.c:17)'
	expect_words out 'G_SLICE=always-malloc in the environment shows those of each.'
	report_of env G_SLICE=always-malloc ./slices
	expect_words out 'all 8,000 blocks allocated by item (slices.c:17)'
	expect_no_text out 'G_SLICE=always-malloc in'
}

# Qt's strings and lists belong to the line that calls Qt; only a list of its own can be reserved.
test_screen_of_a_library_of_classes() {
	printf '#include <stdlib.h>\nvoid *%s(void *p, int n) { return realloc(p, n); }\n' append >qt.c
	cat >>qt.c <<'END'
void *split(int n) { void *p = NULL; for (int i = 1; i <= n; i++) p = realloc(p, i * 32); return p; }
END
	cc -O1 -shared -fPIC -o libQt5Core.so.5 qt.c
	cat >words.c <<'END'
#include <stdlib.h>
void *append(void *p, int n), *split(int n);
static void parse(void) { free(split(40)); }
static void collect(void) { void *p = NULL; for (int i = 1; i <= 40; i++) p = append(p, i * 32); free(p); }
int main(void) { for (int i = 0; i < 200; i++) { parse(); collect(); } return 0; }
END
	cc -g -O0 -o words words.c ./libQt5Core.so.5 || bad 'words.c does not compile'
	report_of ./words
	expect_words out 'come from parse (words.c:3), through split [libQt5Core.so.5]'
	expect_words out 'in collect (words.c:4), through append [libQt5Core.so.5]'
	run "$mprof" report realloc log
	expect_words out 'parse (words.c:3), through split'
	run "$mprof" report --json log
	expect_same reserved "$(json out '[.findings[] | select(.finding == "realloc") | .function] | join(" ")')" collect
}

# A pool of C++'s library: whoever needs its next block is not all that uses it.
test_screen_of_a_pool_of_cpp() {
	cat >pool.cc <<'END'
#include <stdlib.h>
#include <string.h>
namespace std { namespace pmr { struct monotonic_buffer_resource {
	char *at, *end;
	void _M_new_buffer(size_t n) { at = (char *)malloc(n); end = at + n; }
	void *do_allocate(size_t n) { if (at + n > end) _M_new_buffer(65536); return (at += n) - n; }
}; } }
static std::pmr::monotonic_buffer_resource pool;
static void names() { for (int i = 0; i < 3000; i++) memset(pool.do_allocate(64), 1, 64); }
int main() { names(); return 0; }
END
	c++ -g -O0 -o pool pool.cc || bad 'pool.cc does not compile'
	report_with 'all 3 blocks allocated by names (pool.cc:9)' ./pool
	expect_words out 'all 3 blocks allocated by names (pool.cc:9)'
	expect_words out 'A std::pmr::monotonic_buffer_resource divides its blocks for many callers; std::pmr::new_delete_resource() in its place shows those of each.'
}

# The heap of OCaml's collector is not a leak; a block that C code loses is.
test_screen_of_the_heap_of_ocaml() {
	cat >collected.c <<'END'
#include <stdlib.h>
#include <string.h>
static void *kept[9];
void *caml_alloc_for_heap(size_t n) { return malloc(n); }
static void *caml_alloc_string(size_t n) { return caml_alloc_for_heap(n); }
static void one(int i) { kept[i] = memset(caml_alloc_string(3 << 20), 1, 3 << 20); }
static void two(int i) { kept[i] = caml_alloc_string(2 << 20); }
static void three(int i) { kept[i] = caml_alloc_string(2 << 20); }
static void lose(int i) { kept[i] = malloc(1 << 20); }
int main(void) { for (int i = 0; i < 8; i++) (i & 1 ? i & 2 ? one : two : i & 2 ? three : lose)(i); return 0; }
END
	compile collected
	report_of ./collected
	expect_words out 'of the peak (6.0 MiB in 2 blocks) was allocated by one (collected.c:6), through caml_alloc_string'
	expect_words out 'keeps its heap until the program ends: that is not a leak.'
	expect_words out ': both blocks allocated by lose (collected.c:9).'
	[ "$(grep -c 'was never freed' out)" = 1 ] || bad 'a heap is a leak'
	run "$mprof" report --all log
	expect_words out '* OCaml'
	sed -i 's/caml_alloc_for_heap/C_rereclaim2/' collected.c
	compile collected
	report_of ./collected
	expect_words out "Chicken's collector requests large blocks"
	[ "$(grep -c 'was never freed' out)" = 1 ] || bad 'a heap of Chicken is a leak'
}

# Advice that the reader has followed already, in vain.
test_screen_of_an_old_python() {
	keeper
	for name in python2.7 python3.8 libpython3.8.so.1.0 python3.10 python3; do
		cp keeper $name
		run "$mprof" record --python -o log -- ./$name
		expect_text err '--python saw no function of a Python script: it knows CPython 3.9 to 3.15'
		run "$mprof" report log
		case $name in
		python3.10 | python3) expect_words out 'mprof record --python shows which functions of the script' ;;
		*) expect_words out "$name is the Python runtime; mprof record --python shows the functions of scripts from Python 3.9 on." ;;
		esac
	done
	python_found || return 0
	run "$mprof" record --python -o log -- "$python" -c 'import json'
	expect_no_text err '--python saw'
}

# What code that an interpreter generated allocates: it belongs to no file.
test_screen_of_generated_code() {
	[ "$(uname -m)" = x86_64 ] || return 0
	cat >generates.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
static void *kept[3000];
void *native_allocate(size_t n) { return malloc(n); }
int main(void)
{
	/* push %rbp; mov %rsp,%rbp; movabs malloc,%rax; call *%rax; pop %rbp; ret */
	unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x5d, 0xc3 };
	void *(*call)(size_t) = (void *(*)(size_t))CALLS, *page;
	memcpy(code + 6, &call, sizeof(call));
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	call = (void *(*)(size_t))memcpy(page, code, sizeof(code));
	for (int i = 0; i < 3000; i++)
		kept[i] = call(500);
	return 0;
}
END
	cc -O0 -fno-omit-frame-pointer -w -DCALLS=malloc -o lua5.9 generates.c
	report_of ./lua5.9
	expect_words out 'lua5.9 is the Lua runtime; collectgarbage'
	tr -s ' \n' ' ' <out | grep -q 'all 3,000 blocks allocated by 0x[0-9a-f]* \[no file\]' || bad "$(cat out)"
	# A function of the runtime tells more than an address.
	cc -g -O0 -fno-omit-frame-pointer -w -DCALLS=native_allocate -o generates generates.c
	report_of ./generates
	expect_words out 'all 3,000 blocks allocated by native_allocate (generates.c:5).'
	run "$mprof" report leaks --json log
	expect_same 'allocating function' "$(json out '.rows[0] | "\(.figures.leaked) \(.stack[-1].function)"')" '1500000 native_allocate'
	expect_same 'its caller' "$(json out '.rows[0].stack[-2].function | startswith("0x")')" true
	expect_same 'rows' "$(json out '.rows | length')" 1
}

# What an extension of an interpreter allocates, it allocates for a script, too.
test_screen_of_an_extension() {
	cat >extension.c <<'END'
#include <stdlib.h>
void *keep(void) { return malloc(48); }
END
	cat >runs.c <<'END'
void *keep(void);
int main(void) { for (int i = 0; i < 3000; i++) keep(); return 0; }
END
	cc -O0 -shared -fPIC -o extension.so extension.c
	cc -O0 -o lua5.9 runs.c ./extension.so
	report_of ./lua5.9
	expect_words out "lua5.9, the Lua runtime, calls extension.so; collectgarbage('count')"
}

test_screen_of_python() {
	command -v python3 >/dev/null || return 0
	"$mprof" record -o log -- python3 -c 'import json; print(len(json.dumps(list(range(10000)))))' \
		>/dev/null 2>&1
	expect_screen log
	# Functions of the runtime are no answer for the author of a script: how to see the script's comes first.
	tr -s ' \n' ' ' <out | grep -Eq 'Findings, largest gain first [^;]*Python runtime[^;]*; mprof record --python shows' ||
		bad "the way to the script is not first: $(cat out)"
}

test_screen_of_a_compiler() {
	words_source >words.cc
	"$mprof" record -o log -- g++ -std=c++17 -g -c -o words.o words.cc 2>/dev/null
	expect_screen log
	expect_words out '; most by cc1plus ('
	# The rest of the screen is for findings: six fit.
	[ "$(grep -n '^Findings' out | cut -d: -f1)" -le 13 ] || bad "the header is too long: $(cat out)"
}

test_screen_of_a_pipe() {
	"$mprof" record -o log -- sh -c 'seq 1 20000 | sort -r | uniq | wc -l' >/dev/null 2>&1
	expect_screen log
	tr -s ' \n' ' ' <out | grep -Eq '; most by sort \([0-9.]+ MiB in process [0-9]+\), ' || bad "sort is missing: $(cat out)"
}

# Equal programs are summed.
test_screen_of_sixty_processes() {
	"$mprof" record -o log -- sh -c \
		'for i in $(seq 1 30); do sh -c "ls / | sort >/dev/null"; done' >/dev/null 2>&1
	expect_screen log
	tr -s ' \n' ' ' <out >words
	grep -Eq '; most by [^.]*(\.[0-9][^.]*)* and [^ ]+ \([^)]*\)\. ' words || bad "not three: $(cat out)"
	expect_same 'programs summed' "$(grep -Eo '(ls|sort) \([0-9.]+ [KM]iB in 30 processes\)' words | wc -l)" 2
}

# Problems precede the figures, however many there are.
test_screen_says_what_is_missing() {
	keeper
	cp log cut
	truncate -s $(($(stat -c %s log) - 300)) cut
	run "$mprof" report cut
	[ "$(wc -l <out)" -le 40 ] || bad "$(wc -l <out) lines"
	expect_words out 'What is missing from this trace The trace is'
	expect_same 'before the figures' "$(grep -nE '^(What is missing|The whole run)' out | cut -d: -f2 | head -1)" 'What is missing from this trace'
	report_of sh -c 'for i in 1 2 3 4 5 6 7 8 9; do sh -c "ls >/dev/null; kill -9 \$\$"; env -i /bin/true; done; true'
	[ "$(wc -l <out)" -le 40 ] || bad "$(wc -l <out) lines"
	expect_words out 'more lines: see mprof report --all.'
	expect_words out 'was killed by SIGKILL'
}

# A name longer than a line: the command still matches it, and words stay whole.
test_screen_of_long_names() {
	local name
	name=a_function_with_a_name_that_$(printf 'goes_on_%.0s' {1..12})and_ends
	printf '#include <stdlib.h>\nvoid *p[500];\nvoid %s(int i) { p[i] = malloc(900); }\nint main(void) { for (int i = 0; i < 500; i++) %s(i); return 0; }\n' \
		"$name" "$name" >long.c
	cc -g -O0 -o long long.c
	"$mprof" record -o log -- ./long 2>/dev/null
	expect_screen log
	grep -A1 -E '^ *mprof report (leaks|callers) ' out | sed '/[^\\]$/q' >command
	PATH=$build:$PATH sh -c "$(cat command)" >said 2>&1 || bad "$(cat command): $(cat said)"
	expect_text said "$(printf '%.30s' "$name")"
}

# The names of the trace and of a function have bytes that are not valid UTF-8.
test_screen_commands_of_a_name_in_latin_1() {
	keeper_source >keeper.c
	cc -O0 -s -o $'keep\xe9' keeper.c
	"$mprof" record -o $'log\xe9' -- ./$'keep\xe9' 2>/dev/null
	run "$mprof" report $'log\xe9'
	grep -E '^ *mprof report (leaks|callers) ' out >command
	expect_text command "'keep?+0x"
	PATH=$build:$PATH sh -c "$(cat command)" >said 2>&1 || bad "$(cat command): $(cat said)"
}

# Stripped objects: missing names, and the remedy.
test_screen_of_a_stripped_program() {
	keeper_source >keeper.c
	cc -O0 -s -o keeper keeper.c
	"$mprof" record -o log -- ./keeper 2>/dev/null
	expect_screen log
	local remark='No source lines for keeper: build with -g, install debug symbols (-dbgsym or -debuginfo packages), or add --debuginfod.'
	expect_words out "$remark"
	run "$mprof" report --all log
	expect_words out "* $remark"
	run "$mprof" report --html page log
	expect_text page "<li>$remark"
	expect_screen log
	# A finding needs a line or a function to change.
	expect_no_text out 'mprof replay'
	# Built again since the run: other debug information does not help.
	cc -O1 -g -o keeper keeper.c
	expect_screen log
	expect_words out 'No names for keeper: the file has a different build-id. Record it again, or keep the files'
	expect_no_text out 'No source lines for'
	run "$mprof" report --all log
	expect_words out '* No names for keeper: the file has a different build-id.'
	run "$mprof" report --html page log
	expect_text page '<li>No names for keeper: the file has a different build-id.'
	# Only a part was built without -g.
	printf '#include <stdlib.h>\nvoid *p[500];\nvoid part(int i) { p[i] = malloc(900); }\n' >part.c
	printf 'void part(int);\nint main(void) { for (int i = 0; i < 500; i++) part(i); return 0; }\n' >whole.c
	cc -c -O0 part.c && cc -g -O0 -o whole whole.c part.o
	report_of ./whole
	expect_words out 'allocated by part [whole], reached from main (whole.c:2)'
	expect_no_text out 'No source lines for'
}

# A function without a name, which no function calls for most of its blocks: the nearest one that is
# always on the stack tells more than an address.
test_screen_of_a_nameless_function() {
	cat >within.c <<'END'
#include <stdlib.h>
#include <string.h>
#define PART __attribute__((noinline, noclone))
static PART void *surface(int n) { char *p = malloc(n); return memset(p, 1, n); }
PART void *rows(int n) { char *p = surface(n); p[1] = 2; return p; }
PART void *columns(int n) { char *p = surface(n); p[2] = 2; return p; }
PART void *corners(int n) { char *p = surface(n); p[3] = 2; return p; }
PART int page(int n) { char *a = rows(n), *b = columns(n), *c = corners(n); n = a[1] + b[2] + c[3]; free(a); free(b); free(c); return n; }
PART int book(int n) { return page(n) + page(n); }
END
	cc -O1 -shared -fPIC -s -o libwithin.so within.c
	printf 'int book(int); int main(void) { return book(1 << 20) != 12; }\n' >reader.c
	cc -O1 -s -o reader reader.c ./libwithin.so
	report_of ./reader
	expect_words out 'was allocated by libwithin.so+0x'
	expect_words out ', reached from page.'
}

# A function appears once, with all findings about it.
test_screen_names_a_function_once() {
	words
	expect_screen log
	expect_same 'findings about read' "$(grep -cE '^       mprof report [a-z -]+ read log$' out)" 1
	grep -A9 '^  1\. .* by read' out | tr -s ' \n' ' ' | grep -q 'It also makes [0-9]* % of all allocations' ||
		grep -A9 'come from read' out | tr -s ' \n' ' ' | grep -q 'It also has [0-9,]* blocks freed immediately' ||
		bad "not merged: $(cat out)"
	expect_words out 'mprof replay --drop-site read:18 log'
	# --all lists each with its own command.
	run "$mprof" report --all log
	expect_text out 'mprof report callers --sort calls read log'
	run "$mprof" report --json log
	expect_same 'of JSON' "$(json out '[.findings[] | select(.finding == "hot" and .function == "read")] | length')" 1
}

# Blocks of a library without source lines also name the line that called it.
test_screen_of_a_library() {
	printf '#include <stdlib.h>\nvoid *lib_make(int n)\n{\n\treturn malloc(n);\n}\n' >lib.c
	printf 'void *lib_make(int);\nstatic void *kept[2000];\nstatic void fill(void)\n{\n\tfor (int i = 0; i < 2000; i++)\n\t\tkept[i] = lib_make(90);\n}\nint main(void)\n{\n\tfill();\n\treturn 0;\n}\n' >user.c
	cc -O0 -fno-builtin -shared -fPIC -o libmake.so lib.c
	cc -g -O0 -o user user.c -L. -lmake -Wl,-rpath,"$PWD"
	"$mprof" record -o log -- ./user 2>/dev/null
	expect_screen log
	expect_words out 'allocated by lib_make [libmake.so], reached from fill (user.c:6)'
	# The reader cannot change it.
	expect_no_text out 'mprof replay'
}

# A forked process has the variables of its parent.
test_screen_of_inherited_variables() {
	cat >forks.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static char big[16 << 20];
int main(void)
{
	memset(big, 1, sizeof(big));
	if (!fork())
		exit(!malloc(big[77] * 10));
	wait(NULL);
	memset(malloc(64 << 20), 1, 64 << 20);
	return big[77] != 1;
}
END
	cc -g -O0 -fno-builtin -o forks forks.c
	"$mprof" record -o log -- ./forks 2>/dev/null
	run "$mprof" report log
	expect_no_text out 'Variables took'
}

# Memory of stacks and variables outside malloc appears once, by name.
test_screen_of_stacks_and_variables() {
	cat >outside.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static char big[30 << 20];
static pthread_barrier_t all;
static void *work(void *unused)
{
	char stack[5 << 20];
	memset(stack, 1, sizeof(stack));
	pthread_barrier_wait(&all);
	free(malloc(stack[7] * 10));
	pthread_barrier_wait(&all);
	return unused;
}
int main(void)
{
	pthread_t t[8];
	memset(big, 1, sizeof(big));
	pthread_barrier_init(&all, NULL, 8);
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	return big[77] != 1;
}
END
	cc -g -O0 -pthread -fno-builtin -o outside outside.c
	"$mprof" record -o log -- ./outside 2>/dev/null
	expect_screen log
	expect_no_text out ' did not come'
	expect_words out 'deepest in work (outside.c:11), whose frame has'
	expect_words out '30.0 MiB of it is big (outside.c:4). mprof report globals log'
}

# What was never freed is told once, also where the finding is about the peak.
test_screen_tells_a_leak_once() {
	cat >once.c <<'END'
#include <stdlib.h>
#include <time.h>
static void *kept[200];
static void keep(int i) { kept[i] = malloc(10000); }
int main(void)
{
	for (int i = 0; i < 200; keep(i++))
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	for (int i = 0; i < 80; i++)
		free(kept[i * 2]);
	return 0;
}
END
	compile once
	report_of ./once
	expect_words out 'It also never frees 1.1 MiB in 120 blocks'
	expect_no_text out 'were never freed'
}

# A stack that grows in functions that do not allocate is not that of its deepest recorded call.
test_screen_of_a_deep_stack() {
	cat >deep.c <<'END'
#include <stdlib.h>
#include <string.h>
static int deeper(int n)
{
	volatile char frame[4096];
	memset((char *)frame, n, sizeof(frame));
	return n ? deeper(n - 1) + frame[7] : frame[8];
}
static void *shallow(void) { return malloc(100); }
int main(void)
{
	free(shallow());
	return deeper(1500) == 1;
}
END
	compile deep
	report_of ./deep
	expect_words out 'in functions that do not allocate (its deepest recorded call was'
	expect_no_text out 'deepest in'
}

# A comment behind a command never continues on the next line, which a shell would run.
test_screen_of_commands_to_paste() {
	local name=l i
	keeper
	for i in 1 2 3 4 5 6 7 8 9; do
		name=${name}ong
		cp log $name
		run "$mprof" report $name
		expect_text out 'mprof replay '
		! grep -q '#.*\\$' out || bad "$name: a comment continues: $(cat out)"
	done
}

# mprof -t: at most 25 more lines below the findings, with the two analyses.
test_screen_of_test() {
	keeper_source >keeper.c
	compile keeper
	run "$mprof" -t ./keeper
	expect_status 0
	cp out both
	run "$mprof" report mprof.log
	[ $(($(wc -l <both) - $(wc -l <out))) -le 25 ] || bad "$(wc -l <both) lines, $(wc -l <out) without"
	[ "$(wc -L <both)" -le 80 ] || bad "$(wc -L <both) columns"
	expect_text both 'Compactness (pages needed : pages touched): min: '
	expect_same 'size classes' "$(sed -n '/^Size classes/,/^ *Total/p' both | grep -Ec '^ *[0-9]')" 10
}

test_newest_trace() {
	keeper
	mv log old
	touch -d '2001-01-01' old
	cp old newer
	touch -d '2002-02-02' newer
	echo text >newest
	run "$mprof" report
	expect_status 0
	expect_text err "reading the newest trace here, 'newer'"
	run "$mprof" report peak --json
	expect_same trace "$(json out .trace)" newer
	run "$mprof" report callers keep
	expect_text out keep
	rm newer old
	run "$mprof" report leaks
	expect_status 2
	expect_text err 'no trace in this directory; name one, for example: mprof report leaks mprof.log'
}

# Three of ten thousand blocks that come late are not growth.
test_late_blocks_are_no_growth() {
	cat >late.c <<'END'
#include <stdlib.h>
#include <time.h>
static void *kept[10003];
static void keep(int i) { kept[i] = malloc(64); }
int main(void)
{
	int i = 0;
	while (i < 10000)
		keep(i++);
	for (; i < 10003; keep(i++))
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	return 0;
}
END
	compile late
	"$mprof" record -o log -- ./late 2>/dev/null
	run "$mprof" report --all log
	expect_no_text out 'growing'
	run "$mprof" report leaks log
	expect_text out '10,003 blocks were never freed: 640,192 bytes (625 KiB).'
	expect_no_text out 'Still growing'
}

# Growth that stops and a few late blocks: the findings say what the view does.
test_late_growth_is_told_alike() {
	cat >pause.c <<'END'
#include <stdlib.h>
#include <time.h>
static void *kept[1300];
static void keep(int i) { kept[i] = malloc(64); }
static void rest(int ms) { nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL); }
int main(void)
{
	struct timespec begun, now;
	int i = 0;
	clock_gettime(CLOCK_MONOTONIC, &begun);
	for (; i < 1000; keep(i++))
		if (i % 100 == 0)
			rest(10);
	clock_gettime(CLOCK_MONOTONIC, &now);
	rest(8 * ((now.tv_sec - begun.tv_sec) * 1000 + (now.tv_nsec - begun.tv_nsec) / 1000000));
	while (i < 1300)
		keep(i++);
	return 0;
}
END
	compile pause
	"$mprof" record -o log -- ./pause 2>/dev/null
	run "$mprof" report --all log
	expect_words out '81.2 KiB was never freed: all 1,300 blocks allocated by keep (pause.c:4)'
	expect_no_text out 'growing to the end'
	expect_no_text out 'still growing'
	run "$mprof" report leaks log
	expect_no_text out 'Still growing'
}

# A function grows to the end, but none of its call stacks does: the view explains the finding.
test_growth_of_a_sum() {
	cat >sum.c <<END
#include <stdlib.h>
#include <time.h>
static void *kept[200];
static int n, end;
#define PART for (end += 10; n < end;) keep();
static void keep(void) { kept[n++] = malloc(500); nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL); }
int main(void)
{
$(yes '	PART' | head -20)
	return 0;
}
END
	compile sum
	report_with 'growing throughout the run' ./sum
	expect_words out '97.7 KiB was never freed, growing throughout the run: all 200 blocks allocated by keep (sum.c:6).'
	run "$mprof" report leaks log
	expect_text out 'No row grew to the end by itself, but their sum did.'
	expect_no_text out 'Still growing'
	run "$mprof" report leaks --by function log
	expect_no_text out 'No row grew'
}

# A cache that is full in each of two processes, one after the other, does not grow.
test_a_cache_of_each_process_is_no_growth() {
	cat >each.c <<'END'
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static void *cache[100], *kept[1000];
static void fill(int i) { free(cache[i]); cache[i] = malloc(1000); }
static void keep(int i) { kept[i] = malloc(500); }
static void run(int n)
{
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < 100; k++)
			fill(k);
		keep(i);
		nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
	}
}
int main(void)
{
	run(100);
	if (fork())
		_exit(0);
	run(300);
	return 0;
}
END
	compile each
	growths() {
		"$mprof" report --json log | jq -r '[.findings[] | select(.finding == "leak") |
			"\(.function) \(.growth | sub("steady|goes_on"; "grows"))"] | sort | join(", ")'
	}
	again_until '[ "$(growths)" = "fill other, keep grows" ]' \
		env MPROF_CONF='MODE=LogMmap LOG_PATH=log' LD_PRELOAD="$build/libmprof.so" sh -c './each | { read -r _; :; }'
	run "$mprof" report log
	expect_words out 'was never freed: 200 of the 40,000 blocks allocated by fill (each.c:5)'
	expect_same 'growth of keep, and of fill' "$(growths)" 'fill other, keep grows'
	run "$mprof" report leaks log
	expect_words out 'in all 300 blocks; growing by'
	sed -n '/^Still growing when their process ended/,/^Growing only/p' out >growing
	expect_text growing 'keep (each.c:6)'
	expect_no_text growing fill
}

# Blocks that a program held when it called exec were not freed.
test_screen_of_an_exec() {
	cat >again.c <<'END'
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < (argc > 1 ? 1 : 1000); i++)
		if (!malloc(1000))
			return 1;
	return argc > 1 ? 0 : execl(argv[0], argv[0], "again", (char *)NULL);
}
END
	compile again
	sed 's/malloc(1000)/malloc(i + 1)/; s/? 1 :/? 0 :/' again.c >none.c
	compile none
	report_of ./none
	expect_words out 'Discarded by exec: 489 KiB in 1,000 blocks.'
	expect_no_text out 'Every block was freed'
	run "$mprof" report --all log
	expect_words out '1,000 blocks, 500,500 bytes (489 KiB), were live when a program called exec.'
	expect_no_text out 'Every block was freed'
	report_of ./again
	expect_words out 'Never freed: 1,000 bytes in 1 block. Discarded by exec: 977 KiB in 1,000 blocks.'
	# Both programs of a process allocate; a shell's child does after exec.
	report_of sh -c './none; cat "" /dev/null; sh -c "exec true"; :'
	expect_words out '; most by none (489 KiB in process 2), '
	sed 's/argv\[0\], argv\[0\], "again"/"\/bin\/cat", "cat", "\/dev\/null", ""/' none.c >other.c
	compile other
	report_of sh -c './other; :'
	expect_words out '; most by other which became cat ('
	run "$mprof" stat -- ./other
	expect_words out "): ./other, which became cat /dev/null '', status 1"
	run "$mprof" stat --json -- sh -c './other; :'
	expect_same 'commands before exec' "$(json out '[.processes[] | .before_exec // .command | split(" ")[0]] | join(" ")')" \
		'sh ./other'
	report_of ./other
	expect_words out "./other which became: cat /dev/null ''"
}

# The allocator notices a double free later or never: the report names it and the command that finds
# it.
test_screen_of_a_double_free() {
	cat >twice.c <<'END'
#include <stdlib.h>
int main(void)
{
	char *p = malloc(2000), *q = malloc(30);
	free(p);
	q[0] = 1;
	free(p);
	return q[0];
}
END
	compile twice
	report_of ./twice
	tr -s ' \n' ' ' <out >words
	grep -Eq '1 free passed an address where no block was live: [0-9.]+ [mu]?s after the start, thread 1 freed a block of 2.0 KiB again, [0-9.]+ [nmu]?s after thread 1 had freed it; it was allocated by main \(twice.c:4\). mprof -m Guard PROGRAM finds the calls of free.' words ||
		bad "of a double free: $(cat out)"
	expect_no_text out 'contradicts itself'
	cat >child.c <<'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	char *p = malloc(2000), *q = malloc(30);
	free(p);
	if (fork() > 0) {
		wait(NULL);
		return 0;
	}
	free(p);
	free(q);
	return 0;
}
END
	compile child
	report_of ./child
	expect_words out 'freed a block of 2.0 KiB again,'
	expect_words out 'after thread 1 had freed it; it was allocated by main (child.c:6).'
}

# A block that doubles grows well; a copy of a string belongs to the caller; nobody can reserve in
# what a library keeps for itself, nor in one without source.
test_screen_of_what_is_right() {
	cat >right.c <<'END'
#include <stdlib.h>
#include <string.h>
char *xstrdup(const char *s) { return strcpy(malloc(strlen(s) + 1), s); }
static char *kept[3000]; int usleep(unsigned us); void rows(char *p);
static void parse(int i) { kept[i] = xstrdup("some word"); }
__attribute__((noinline)) void __nss_rows(char *p) { for (int i = 1; i < 400; i++) p = realloc(p, 8 * i); free(p); }
int main(void)
{
	int *a = NULL;
	for (int i = 0, room = 0; i < 100000; i++) {
		if (i == room)
			a = realloc(a, (room = room ? 2 * room : 4) * sizeof(*a));
		a[i] = i;
	}
	free(a);
	__nss_rows(NULL);
	rows(NULL);
	for (int i = 0; i < 3000; i++) {
		parse(i);
		if (i % 100 == 0) usleep(5000);
	}
	return 0;
}
END
	echo '#include <stdlib.h>
		void rows(char *p) { for (int i = 1; i < 400; i++) p = realloc(p, 8 * i); free(p); }' >rows.c
	cc -O1 -shared -fPIC -o librows.so rows.c || bad 'rows.c does not compile'
	compile right -Wl,--no-as-needed ./librows.so
	report_with 'growing throughout' ./right
	expect_no_text out 'Reserving'
	expect_words out '29.3 KiB was never freed, growing throughout the run: all 3,000 blocks allocated by parse (right.c:5). It also makes'
}

# Why the peak exceeds the resident size: blocks that were never written to. Programs with many
# calls get a hint to compare allocators.
test_screen_of_untouched_blocks() {
	cat >vast.c <<'END'
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	char *p = argc > 2 ? calloc(64 << 20, 1) : malloc(64 << 20);
	memset(p, 1, argc > 1 ? 64 << 20 : 4096);
	for (int i = 0; i < (argc > 1 ? 500000 : 1000); i++)
		free(malloc(10 + p[i % 4096]));
	free(p);
	return 0;
}
END
	compile vast
	report_of ./vast
	expect_words out ' Largest resident set: '
	expect_words out ' MiB of the peak was not resident, because the program had not written to it or had returned it to the system. Allocated in total'
	expect_words out 'nearly all at line 5; at least 6'
	expect_words out ' MiB of it was not resident, because nothing was written there or it was returned to the system.'
	run "$mprof" report --json log
	expect_same 'untouched' "$(json out '.findings[] | select(.finding == "peak") | .untouched > 55000000 and .untouched < 67000000')" true
	expect_no_text out 'mprof compare'
	run "$mprof" replay -a glibc --quick --reps 0 --no-heaps log
	expect_words out '* Peaks are too high here: glibc takes 64'
	expect_words out 'writes to every page of a block; mprof record --touched records how much'
	"$mprof" record --touched -o log -- ./vast 2>/dev/null
	run "$mprof" replay -a glibc --quick --reps 0 --no-heaps log
	expect_no_text out 'Peaks are too high'
	run "$mprof" replay -a 'glibc,glibc[MALLOC_ARENA_MAX=1]' --quick --reps 0 --no-heaps log
	expect_no_text out calloc
	report_of ./vast full calloc
	run "$mprof" replay -a 'glibc,glibc[MALLOC_ARENA_MAX=1]' --quick --reps 0 --no-heaps log
	expect_words out '* 64.0 MiB of the peak (>99 %) is in large blocks of calloc. Playback writes to them,'
	report_of sh -c './vast; :'
	tr -s ' \n' ' ' <out | grep -qE ' Largest resident set: [0-9.]+ MiB, of (sh|vast) [(]process [12][)][.] At least ' ||
		bad "the largest process: $(cat out)"
	expect_words out ' MiB of the peak was not resident, because '
	# The memory of a child does not count again as that of its parent, which waited for it.
	echo 'int main(void) { char *volatile p = malloc(128 << 20); memset(p, 1, 48 << 20); return p[1 << 20] - 1; }' |
		cat <(printf '#include <%s.h>\n' stdlib string) - >half.c
	compile half
	"$mprof" record -o log -- sh -c './half; :' 2>/dev/null
	run "$mprof" report --json log
	expect_same 'untouched beside its parent' "$(json out '.findings[] | select(.finding == "peak") | .untouched > 70000000')" true
	report_of ./vast full
	expect_words out ' Largest resident set: '
	expect_no_text out 'not resident'
	expect_screen log
	expect_text out 'Which allocator would do better? mprof compare log'
}

# Of several processes, which one was large, and which one did not free.
test_screen_of_workers() {
	cat >workers.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *kept[1000];
static void handle(int worker)
{
	for (int i = 0; i < 1000; i++)
		if (worker == 2 || i < 30)
			memset(kept[i] = malloc(10000), 1, 10000);
}
int main(int argc, char **argv)
{
	for (int worker = 1; worker <= 3; worker++) {
		if (!fork()) {
			handle(worker);
			for (int i = 0; worker != 2 && i < 30 && argc < 2; i++)
				free(kept[i]);
			exit(0);
		}
		wait(NULL);
	}
	return 0;
}
END
	compile workers
	report_of ./workers
	tr -s ' \n' ' ' <out | grep -qE ' Largest resident set: 1[0-9.]+ MiB, of workers [(]process 3[)][.] Allocated' ||
		bad "the largest worker: $(cat out)"
	expect_words out 'Never freed: 9.5 MiB in 1,000 blocks; all in workers (process 3).'
	report_of ./workers all
	expect_words out ' in 1,060 blocks (a sum over processes that ended at different times); 94 % in workers (process 3).'
}

# What is resident includes the tables of a recorder that has seen many call stacks.
test_screen_of_resident_tables() {
	cat >paths.c <<'END'
#include <stdlib.h>
void *kept;
static void g(int d, unsigned path);
__attribute__((noinline)) static void f(int d, unsigned path)
{
	if (d)
		g(d - 1, path);
	else
		free(kept = malloc(16));
	__asm__ volatile("");
}
__attribute__((noinline)) static void g(int d, unsigned path)
{
	if (path >> d & 1)
		f(d, path);
	else if (d)
		g(d - 1, path);
	else
		f(0, path);
	__asm__ volatile("");
}
int main(int argc, char **argv)
{
	for (unsigned path = 0; path < (argc > 1 ? 100000 : 10); path++)
		f(17, path);
	return 0;
}
END
	compile paths -O1
	report_of ./paths many
	expect_same 'largest resident set' "$(tr -s '\n ' ' ' <out | grep -c '[lL]argest resident set: [0-9.]* MiB, with code, files and [0-9.]* MiB of mprof.s own memory\. ')" 1
	report_of ./paths
	expect_words out 'with code and files. '
}

# A process that sets its own title, as servers do, and a runtime whose heap is recognised by a
# function.
test_screen_of_a_server() {
	cat >server.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
char *x_cgo_mmap(size_t n) { return mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
int main(int argc, char **argv)
{
	strcpy(argv[0], "server: worker process /etc/other.conf");
	memset(x_cgo_mmap(32 << 20), 1, 32 << 20);
	for (int i = 0; argc < 4 && i < 50; i++, usleep(4000))
		free(malloc(100));
	if (argc > 2 && !fork()) {
		for (int i = 0; i < 1000; i++)
			free(malloc(1000));
		strcpy(argv[0], getenv("TITLE") ?: "server: child of it ");
		_exit(argc > 3 && system(argv[3]));
	}
	wait(NULL);
	return 0;
}
END
	compile server
	report_of ./server and-a-long-argument-that-leaves-room-for-it fork
	expect_no_text out 'most by'
	run env COLUMNS=160 "$mprof" report --all log # wide enough whatever the length of the pid is
	expect_words out ' server: child of it, exited with status 0'
	run "$mprof" report peak --by process log
	expect_text out '  process 2, server: child of it'
	TITLE='server 5.6 (tcp://host:80) [x]' report_of ./server and-a-long-argument-that-leaves-room-for-it fork ''
	expect_words out 'most by server (977 KiB in 2 processes)'
	# The child's title while it runs, once mprof has looked; its own child has another program.
	run "$mprof" record -o log -- ./server and-a-long-argument-that-leaves-room-for-it fork \
		"unset LD_PRELOAD; for i in \$(seq 100); do
			'$mprof' report --all log >running; tr -s ' \n' ' ' <running | grep -q 'child of it (pid' && break; sleep 0.2
		done; '$mprof' report --json log >json"
	expect_words running 'Process 2, server: child of it (pid '
	expect_same json "$(json json '.processes[1] | "\(.command), \(.programs | length)"')" 'server: child of it, 1'
	run "$mprof" stat -- ./server and-a-long-argument-that-leaves-room-for-it fork 'exit 1'
	expect_text out ': server: child of it, status 1'
	run "$mprof" stat -- sh -c '(echo; true); true'
	expect_text out ': fork of sh -c (echo; true); true, status 0'
	report_with "was mapped by Go's heap" ./server and-a-long-argument-that-leaves-room-for-it
	expect_words out "was mapped by Go's heap (x_cgo_mmap (server.c:6)); runtime/pprof shows its objects."
}

# Memory of another origin stands among the findings by its size.
test_screen_ranks_memory_outside_malloc() {
	cat >mapper.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static void *leaked;
static void leak(void) { leaked = malloc(20 << 20); memset(leaked, 1, 20 << 20); }
static void map(int mib)
{
	void *p = mmap(0, (size_t)mib << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(p, 1, (size_t)mib << 20);
}
int main(int argc, char **argv) { leak(); map(atoi(argv[argc - 1])); rest(400); return 0; }
END
	cc -include "$here/rest.h" -g -O1 -fno-builtin -fno-inline -o mapper mapper.c || bad 'mapper.c does not compile'
	local mib ranks
	ranks() { sed -nE 's/^  ([12])\. .*(peak|resident memory) .*/\1 \2/p' out; }
	for mib in 10 30; do
		ranks=$([ $mib = 10 ] && printf '1 peak\n2 resident memory' || printf '1 resident memory\n2 peak')
		again_until '[ "$(ranks)" = "$ranks" ]' report_of ./mapper $mib
		expect_same "$mib MiB mapped" "$(ranks)" "$ranks"
	done
}
