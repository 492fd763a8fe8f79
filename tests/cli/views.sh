# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2016
#
# views.sh - views that are lists, their filters and names, of programs whose
# every figure is known.

# Lines count: figures are looked up by them.
store_source() {
	cat <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
static void *kept[200];
static void pause_ms(int ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000L }, NULL);
}
static void *A(void) { return malloc(3u << 20); }
static void *B(void) { return malloc(5u << 20); }
static void *C(void) { return malloc(4u << 20); }
void *xmalloc(size_t n) { return malloc(n); }
static void grow(int i) { kept[i] = xmalloc(1000); }
static void once(void) { kept[199] = calloc(7, 11); }
static void often(void)
{
	for (int i = 0; i < 500; i++)
		free(malloc(24));
}
static int deep(int n)
{
	if (n)
		return deep(n - 1) + 1;
	kept[198] = malloc(5000);
	free(kept[198]);
	return 0;
}
int main(void)
{
	void *a = A(), *b = B(), *c, *p = NULL;
	free(a);
	c = C();
	free(b);
	a = A();
	free(c);
	free(a);
	once();
	often();
	deep(9);
	for (int i = 1; i <= 20; i++)
		p = realloc(p, 100 * i);
	free(p);
	p = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(p, 1 << 20);
	for (int i = 0; i < 48; i++) {
		grow(i);
		pause_ms(2);
	}
	return 0;
}
END
}

store() { # ./store and its trace in log
	store_source >store.c
	cc -g -O0 -fno-builtin -o store store.c || bad 'store.c does not compile'
	run "$mprof" record -o log -- ./store
	expect_status 0
}

list() { # VIEW...: JSON of it in answer
	run "$mprof" report --json "$@" log
	expect_status 0
	cp out answer
}

# "FUNCTION VALUE" of each row, and what else is asked for
list_rows() { # [FILTER of a row]
	json answer "[.rows[] | \"\(.function // .stack[-1].function) \(.value)${1:+ \\(}${1:-}${1:+)}\"] | join(\", \")"
}

test_views_peak() {
	store
	list peak
	expect_same peak "$(list_rows .blocks.peak)" 'B 5242880 1, C 4194304 1'
	expect_same moment "$(json answer '.moment_of_peak | "\(.bytes) \(.calls)"')" '9437184 2'
	expect_same lines "$(json answer '[.rows[0].stack[-2:][] | "\(.function):\(.line)"] | join(" ")')" \
		'main:31 B:11'
	expect_same share "$(json answer '.rows[0].share')" 0.5556
	# A has two stacks, which never live at once; its own peak is one of them.
	list peak --by function --sort local
	expect_same local "$(list_rows .sites | cut -d, -f1-4)" \
		'B 5242880 1, C 4194304 1, A 3145728 2, grow 48000 1'
	list peak --sort local
	expect_same 'local by stack' "$(json answer '[.rows[:4][] | .value] | join(" ")')" \
		'5242880 4194304 3145728 3145728'
	run "$mprof" report peak log
	expect_words out 'the program held 9,437,184 bytes (9.0 MiB) in 2 blocks.'
	expect_text out '     5.0 MiB   56 %  in 1 block'
	expect_text out '        B (store.c:11)'
	expect_text out '        main (store.c:31)'
	expect_no_text out '_start'
	expect_lines err 0
}

test_views_leaks() {
	store
	again_until '[ "$(json answer ".rows[0].evidence.kind")" = growing ]' \
		eval '"$mprof" record -q -o log -- ./store; list leaks'
	expect_same leaks "$(list_rows '.evidence.kind')" 'grow 48000 growing, once 77 once'
	expect_same blocks "$(list_rows '.blocks.leaked')" 'grow 48000 48, once 77 1'
	expect_same total "$(json answer .total.figures.leaked)" 48077
	rate=$(json answer '.rows[0].evidence.bytes_per_s')
	[ "$rate" -gt 1000 ] && [ "$rate" -lt 1000000 ] || bad "grows by $rate bytes a second"
	expect_same epochs "$(json answer '.rows[0].live_by_epoch_bytes | "\(length) \(.[15])"')" '16 48000'
	expect_same 'epochs of one' "$(json answer '.rows[1].live_by_epoch_bytes | "\(.[1]) \(.[15])"')" '77 77'
	run "$mprof" report leaks log
	expect_text out '49 blocks were never freed: 48,077 bytes (47.0 KiB).'
	expect_text out 'Still growing at the end'
	expect_text out 'in all 48 blocks; growing by'
	expect_text out 'Growing only for a short time, slightly, or no longer'
	# The wrapper is left out unless asked for.
	expect_no_text out 'xmalloc'
	run "$mprof" report leaks --wrappers log
	expect_text out 'xmalloc (store.c:13)'
	expect_text out '_start'
}

# Of blocks that were never freed, the oldest tells since when, not calls whose blocks were freed.
test_views_leaks_since() {
	cat >since.c <<'END'
#include <stdlib.h>
static char *request(int i) { char *p = malloc(1000 + i); *p = 1; return p; }
static char *marker(void) { return malloc(77); }
static char *early(void) { return malloc(55); }
int main(void)
{
	char *e = early(), *m = NULL;
	for (int i = 0; i < 1000; i++) {
		char *p = request(i);
		if (i == 700)
			m = marker();
		if (i != 900)
			free(p);
	}
	return !e + !m;
}
END
	compile since
	run "$mprof" record -o log -- ./since
	list leaks
	expect_same 'since' "$(json answer '[.rows | sort_by(.evidence.since_ns)[] | .stack[-1].function] | join(" ")')" 'early marker request'
	expect_same 'as old as its row' "$(json answer '.rows[] | select(.stack[-1].function == "early") | .evidence.since_ns == .first_ns')" true
	expect_same 'by function' "$("$mprof" report leaks --json --by function log | jq -r '[.rows | sort_by(.evidence.since_ns)[] | .function] | join(" ")')" 'early marker request'
}

# A program that executes itself again: blocks from before the exec do not count as growth.
test_views_leaks_after_exec() {
	cat >again.c <<'END'
#include <stdlib.h>
#include <unistd.h>
static char *keep(void) { char *p = malloc(1000); *p = 1; return p; }
int main(int argc, char **argv)
{
	int sum = 0;
	for (int i = 0; i < 64; i++) {
		sum += *keep();
		usleep(5000);
	}
	if (argc == 1)
		execl("/proc/self/exe", argv[0], "again", (char *)NULL);
	return sum == 1;
}
END
	compile again
	run "$mprof" record -o log -- ./again
	list leaks
	expect_same blocks "$(json answer '.rows[0] | "\(.stack[-1].function) \(.blocks.leaked) \(.evidence.kind)"')" 'keep 64 growing'
	expect_same 'since the second' "$(json answer '.rows[0] | .evidence.since_ns - .first_ns > (.last_ns - .first_ns) / 4')" true
	expect_same 'epochs' "$(json answer '.rows[0].live_by_epoch_bytes | "\(.[3]) \(.[15])"')" '0 64000'
	run "$mprof" report log
	expect_no_text out 'growing until'
}

# What GTK keeps of its theme, also in lists of GLib, when an object is made; not what the program loads.
# One call, one block, one page: no command says "1 calls".
test_views_of_one_call() {
	local words
	cat >one.c <<'END'
#include <stdlib.h>
int main(int argc, char **argv)
{
	char *p = malloc(1);
	if (argc > 1)
		free(p);
	if (argc > 2)
		p = malloc(-1ul >> 1);
	return 0;
}
END
	compile one
	"$mprof" record -o kept -- ./one 2>err
	"$mprof" record -o freed -- ./one free 2>>err
	"$mprof" record -o failed -- ./one free fail 2>>err
	"$mprof" profile -o profile -- ./one 2>>err
	for words in 'report --all kept' 'report --all freed' 'report --all failed' 'report --all profile' \
		'report peak kept' 'report leaks kept' 'report hot kept' 'report temporary freed' \
		'report lifetimes freed' 'report waste kept' 'report top-down kept' 'report bottom-up kept' \
		'report threads kept' 'report errors kept' 'report peak --at 100 kept' 'stat ./one' \
		'-t ./one' 'diff kept freed' 'check --max-calls 0 kept' 'sort -o x.play failed' \
		'sort -o y.play freed' 'replay -a glibc --reps 2 failed' 'export --to txt kept'; do
		# shellcheck disable=SC2086
		"$mprof" $words >>err 2>&1
	done
	grep -oE '.{0,30}[^0-9.,:=x-]1 [a-z]+s\b.{0,20}' err | grep -vE ' 1 (ns|us|ms|times|is|was|has|process|exceeds|of [0-9]+ was|plays)\b' >several
	expect_same 'one of a kind' "$(cat several)" ''
}

# Blocks of no bytes are blocks: rows add up to the blocks of the first line.
test_views_blocks_of_no_bytes() {
	local mode view rows='([.rows[] | .blocks.leaked] | add)'
	cat >none.c <<'END'
#include <stdlib.h>
static void none(void) { malloc(0); }
static void some(void) { malloc(5); }
int main(int argc, char **argv)
{
	none();
	if (argc > 1)
		some();
	return 0;
}
END
	compile none
	for mode in record profile; do
		rm -f log
		run "$mprof" $mode -o log -- ./none
		run "$mprof" report leaks log
		expect_status 0
		expect_text out '1 block was never freed: 0 bytes.'
		expect_words out 'in its only block'
		expect_text out 'none (none.c:2)'
		run "$mprof" report leaks --json log
		expect_same "leaked blocks of $mode" "$(json out "$rows")" 1
		for view in 'hot --sort total --by function' 'leaks --by function'; do
			run "$mprof" report $view log
			expect_status 0
			expect_text out 'none (none.c)'
		done
		rm log
		run "$mprof" $mode -o log -- ./none some
		run "$mprof" report leaks --json log
		expect_same "both leaked blocks of $mode" "$(json out "$rows, .total.blocks.leaked" | xargs)" '2 2'
		run "$mprof" report leaks --top 1 log
		expect_text out 'some (none.c:3)'
		expect_text out '... and 1 more; --top 0 shows all'
		run "$mprof" report peak log
		expect_words out '0 bytes 0 % in 1 block'
	done
}

# The blocks that a finding counts are those of the view, also those of no bytes.
test_views_and_findings_of_no_bytes() {
	cat >none.c <<'END'
#include <stdlib.h>
#include <unistd.h>
static void *get(int n) { return malloc(n); }
int main(int argc, char **argv)
{
	for (int i = 0; i < 1000; i++)
		get(1000);
	get(0);
	if (argc > 1) { // a higher peak, later
		usleep(60000);
		for (int i = 0; i < 500; i++)
			free(malloc(8));
	}
	return 0;
}
END
	compile none
	report_of ./none
	expect_words out '977 KiB was never freed'
	expect_words out 'all 1,001 blocks allocated by get (none.c:3)'
	report_with '1,001 blocks) was allocated by get' ./none later
	expect_words out 'of the peak (977 KiB in 1,001 blocks) was allocated by get (none.c:3)'
	run "$mprof" report peak --by function --json log
	expect_same 'blocks at the peak' "$(json out '.rows[] | select(.function == "get") | .blocks.peak')" 1001
}

test_views_suppressions_of_libraries() {
	echo 'void *malloc(unsigned long); void *g_list_prepend(void) { char *p = malloc(50); *p = 1; return p; }' |
		cc -g -shared -fPIC -o libglib-2.0.so.0 -xc -
	echo 'void *malloc(unsigned long), *g_list_prepend(void); void gtk_css_provider_load_from_data(void) { char *p = malloc(700), *q = g_list_prepend(); *p = *q = 2; }' |
		cc -g -shared -fPIC -o libgtk-3.so.0 -xc - -xnone ./libglib-2.0.so.0
	echo 'void gtk_css_provider_load_from_data(void); void g_object_new(void) { gtk_css_provider_load_from_data(); __asm__(""); }' |
		cc -g -shared -fPIC -o libgobject-2.0.so.0 -xc - -xnone ./libgtk-3.so.0 ./libglib-2.0.so.0
	echo 'void gtk_css_provider_load_from_data(void), g_object_new(void); int main(void) { g_object_new(); gtk_css_provider_load_from_data(); }' |
		cc -g -o own -xc - -xnone ./libgobject-2.0.so.0 ./libgtk-3.so.0 ./libglib-2.0.so.0
	run "$mprof" record -o log -- ./own
	run "$mprof" report leaks --json log
	expect_same "GTK's theme" "$(json out '.suppressed[] | select(.why == "GTK'\''s theme") | "\(.calls) \(.bytes)"')" '2 750'
	expect_same 'the rest' "$(json out '[.rows[].figures.leaked] | add')" 750
}

test_views_suppressions() {
	store
	printf '# mine\nleak:^grow$\n' >mine
	list leaks --suppressions mine
	expect_same 'what is left' "$(list_rows)" 'once 77'
	expect_same suppressed "$(json answer '.suppressed[] | "\(.pattern) \(.calls) \(.bytes)"')" \
		'^grow$ 48 48000'
	run "$mprof" report leaks --suppressions mine log
	expect_text out 'Suppressed: 48,000 bytes (46.9 KiB) in 48 blocks'
	expect_text out 'in 48 blocks: leak:^grow$'
	printf 'leek:grow\n' >wrong
	run "$mprof" report leaks --suppressions wrong log
	expect_status 2
	expect_one_line_error
	expect_text err "'wrong', line 1: invalid suppression 'leek:grow': expected leak:PATTERN or {"
	run "$mprof" report leaks --suppressions nowhere log
	expect_one_line_error
	expect_text err nowhere
	# The loader's and libc's own are built in.
	cat >own.c <<-'END'
		#include <locale.h>
		#include <stdio.h>
		#include <stdlib.h>
		int main(void)
		{
			setlocale(LC_ALL, "C.UTF-8");
			setenv("NAME", "value", 1);
			puts("hello");
			return malloc(10) == NULL;
		}
	END
	compile own
	run "$mprof" record -o log -- ./own
	list leaks
	expect_same 'of the program' "$(list_rows)" 'main 10'
	[ "$(json answer '[.suppressed[].calls] | add')" -gt 2 ] || bad 'nothing is suppressed'
	list leaks --no-builtin-suppressions
	[ "$(json answer '.rows | length')" -gt 3 ] || bad 'still suppressed'
	expect_same 'none suppressed' "$(json answer '.suppressed | length')" 0
}

# A file as libraries install them, with other errors in it.
test_views_suppressions_of_valgrind() {
	store
	cat >supp <<-'END'
		# of store
		{
		   grown
		   Memcheck:Leak
		   match-leak-kinds: definite
		   fun:malloc
		   fun:xmalloc
		   fun:grow
		   ...
		   fun:ma?n
		}
		{
		   param
		   Memcheck:Param
		   write(buf)
		   fun:once
		}
		leak:nowhere
	END
	list leaks --suppressions supp
	expect_same 'what is left' "$(list_rows)" 'once 77'
	expect_same suppressed "$(json answer '.suppressed[] | "\(.pattern) \(.calls) \(.bytes)"')" 'grown 48 48000'
	run "$mprof" report leaks --suppressions supp log
	expect_text out 'in 48 blocks: grown'
	sed '/ma?n/d' supp | sed '/^}$/,$d' >short
	run "$mprof" report leaks --suppressions short log
	expect_status 2
	expect_one_line_error
	expect_text err "'short' ends within a suppression: expected }"
	sed 's/definite/none/' supp >none
	list leaks --suppressions none
	expect_same 'of no kind' "$(json answer '.suppressed | map(select(.pattern == "grown")) | length')" 0
	sed 's/definite/indirect,reachable/' supp >more
	list leaks --suppressions more
	expect_same 'of two kinds' "$(json answer '.suppressed | map(select(.pattern == "grown")) | length')" 1
	sed 's/definite/definite,lost/' supp >wrong
	run "$mprof" report leaks --suppressions wrong log
	expect_status 2
	expect_text err "'wrong', line 5: invalid kind of leak 'lost': expected definite, indirect, possible, reachable, all or none"
	sed 's/fun:grow/function:grow/' supp >wrong
	run "$mprof" report leaks --suppressions wrong log
	expect_status 2
	expect_text err "'wrong', line 8: invalid line of a suppression 'function:grow': expected fun:, obj:, src: or ..."
}

test_views_calls_and_lifetimes() {
	store
	list hot
	expect_same hot "$(list_rows .figures.total | cut -d, -f1-3)" \
		'often 500 12000, grow 48 48000, main 20 21000'
	expect_same sizes "$(json answer '.rows[2].sizes | "\(.min) \(.mean) \(.max)"')" '100 1050 2000'
	expect_same reallocs "$(json answer '.rows[2].reallocs.calls')" 19
	expect_same maps "$(json answer '.total.maps | "\(.calls) \(.bytes)"')" '1 1048576'
	list temporary
	expect_same temporary "$(list_rows .temporary_bytes)" 'often 500 12000, main 1 2000, deep 1 5000'
	list temporary --temporary 4
	expect_same 'within four calls' "$(json answer '[.rows[] | .value] | add')" 506
	list temporary --temporary 1000s
	expect_same 'within a time, without those that were reallocated' \
		"$(json answer '[.rows[] | .value] | add')" 506
	list lifetimes
	expect_same freed "$(json answer '.total.blocks | "\(.freed) \(.live)"')" '525 49'
	expect_same 'never freed' "$(json answer '.rows[] | select(.stack[-1].function == "grow")
		.lifetimes_ns')" null
	list waste --by function
	expect_same 'waste adds up' "$(json answer '([.rows[].value] | add) == .total.figures.waste')" true
	run "$mprof" report hot log
	expect_text out '500 calls   87 %  for 11.7 KiB, 24 bytes each; at most 24 bytes live at once'
	expect_text out 'deep (store.c:24), 9 times'
	run "$mprof" report hot --depth 1 --top 2 log
	expect_text out '... and 1 caller'
	expect_text out 'more; --top 0 shows all'
}

# Whoever called new is named, whatever the compiler made of the library between them.
test_views_cxx() {
	local level
	cat >v.cc <<-'END'
		#include <memory>
		#include <vector>
		struct Node { char data[100]; };
		static std::vector<Node *> nodes(10);
		__attribute__((noinline)) static void arrays()
		{
			for (int i = 0; i < 5; i++) {
				char *p = new char[1000];
				asm volatile("" ::"r"(p) : "memory");
				delete[] p;
			}
		}
		__attribute__((noinline)) static void leak()
		{
			for (int i = 0; i < 10; i++)
				nodes[i] = new Node;
		}
		__attribute__((noinline)) static void grow(std::vector<int> &v)
		{
			for (int i = 0; i < 1000; i++)
				v.push_back(i);
		}
		int main()
		{
			std::vector<int> v;
			arrays();
			leak();
			grow(v);
		}
	END
	for level in -O0 -O2; do
		g++ -g "$level" -o v v.cc || bad 'v.cc does not compile'
		run "$mprof" record -o log -- ./v
		list hot --by function
		expect_same "arrays $level" "$(json answer '.rows[] | select(.function | test("arrays")) | .value')" 5
		expect_same "leak $level" "$(json answer '.rows[] | select(.function | test("leak")) | .value')" 10
		# What remains of the library are its own functions, with their parameters folded.
		expect_same "wrappers $level" "$(json answer '[.rows[] | select(.function |
			test("operator new|allocator|_Vector_base|[(]"))] | length')" 0
		list hot --function 'grow*' --names full
		expect_same "grow $level" "$(json answer '.total.figures | "\(.calls) \(.total)"')" '11 8188'
		# The pool of libstdc++ is not the program's.
		list leaks
		expect_same "leaks $level" "$(json answer '[.rows[] | .value] | join(" ")')" 1000
	done
	list hot --wrappers --by function
	[ "$(json answer '[.rows[] | select(.function | test("operator new")) | .value] | add')" -ge 20 ] ||
		bad 'operator new is not shown'
}

test_views_peak_rss() {
	cat >d.c <<-'END'
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <unistd.h>
		static void *k[70];
		static int n;
		static void keep(size_t s) { k[n] = malloc(s); memset(k[n++], 1, s); }
		static void phase1(void) { for (int i = 0; i < 50; i++) keep(1 << 20); }
		static void phase2(void) { for (int i = 0; i < 20; i++) keep(2 << 20); }
		int main(void)
		{
			void *m;
			phase1();
			phase2();
			m = mmap(0, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			memset(m, 1, 4 << 20);
			munmap(m, 4 << 20);
			for (int i = 0; i < 60; i++)
				free(k[i]);
			for (int i = 0; i < 2000; i++)
				free(malloc(10));
			return 0;
		}
	END
	compile d
	run "$mprof" record -o log -- ./d
	list peak-rss
	expect_same moment "$(json answer '.moment_of_rss | "\(.bytes) \(.calls) \(.mapped_bytes)"')" \
		'94371840 70 4194304'
	expect_same shares "$(json answer '[.rows[] | "\(.stack[-2].function) \(.value) \(.share)"] | join(", ")')" \
		'phase1 52428800 0.5556, phase2 41943040 0.4444'
	run "$mprof" report peak-rss log
	expect_text out 'of which live blocks:  94,371,840 bytes (90.0 MiB) in 70 blocks'
	expect_text out 'mmap: 4.0 MiB mapped by the program itself'
	expect_text out '    90.0 MiB  100 %  main (d.c)'
	expect_text out '          50.0 MiB   56 %  phase1 (d.c)'
	list leaks --by function
	expect_same leaks "$(list_rows .blocks.leaked)" 'keep 20971520 10'
	# A runtime that reserves address space.
	sed 's/void \*m;/void *m = mmap(0, 8ul << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);/' d.c >e.c
	compile e
	run "$mprof" record -o reserved.log -- ./e
	run "$mprof" report peak-rss reserved.log
	expect_words out 'mmap: 8.0 GiB mapped by the program itself, most of it not resident'
	# The program looks itself.
	run "$mprof" record --no-sample -o log2 -- ./d
	mv log2 log
	list peak-rss
	expect_same 'without samples' "$(json answer '.moment_of_rss | "\(.bytes) \(.calls) \(.sampled)"')" \
		'94371840 70 false'
	# Older traces have no looks.
	run "$mprof" report peak-rss "$root/tests/golden/ok/two-threads.trace"
	expect_status 0
	expect_text out 'The size of the process over time is unknown'
}

test_views_filters() {
	store
	list hot --size 24
	expect_same size "$(list_rows)" 'often 500'
	list hot --size 4M..
	expect_same 'from 4 MiB' "$(list_rows .figures.total)" 'B 1 5242880, C 1 4194304'
	list hot --function 'dee*'
	expect_same function "$(list_rows)" 'deep 1'
	list hot --file 'stor?.c' --function often
	expect_same file "$(list_rows)" 'often 500'
	list hot --file store.c --kind calloc,realloc
	expect_same kind "$(list_rows)" 'main 20, once 1'
	list hot --module 'store*' --function B
	expect_same 'all must be met' "$(list_rows)" 'B 1'
	list hot --module 'libc*' --function B
	expect_same 'filters ignore the callers of main' "$(list_rows)" ''
	# What --without leaves out and what --function shows are all of it.
	list hot --without often
	expect_same without "$(json answer '.total.figures.calls')" 74
	list hot --without 'o*n' --function main --size 24
	expect_same 'without, and through' "$(json answer '.total.figures.calls')" 0
	run "$mprof" report hot --without '*' log
	expect_status 0
	expect_text out 'No block passes --without *'
	list hot --process 1 --size 1G..
	expect_same process "$(json answer '.total.figures.calls')" 0
	list hot --thread 1 --by thread
	expect_same thread "$(json answer '.rows[] | "\(.thread) \(.value)"')" '1 574'
	list hot --lifetime 10s.. --by function
	expect_same 'never freed lives longest' "$(list_rows)" 'grow 48, once 1'
	list peak --size ..4M
	expect_same 'the peak stays that of the run' "$(list_rows)" 'C 4194304'
	expect_same 'its moment' "$(json answer .moment_of_peak.bytes)" 9437184
	list hot --by size --top 1
	expect_same 'by size' "$(json answer '.rows[] | "\(.size) \(.value)"')" '24 500'
	expect_same 'left out' "$(json answer '.rows_left_out > 20')" true
	list hot --by module
	expect_same 'by module' "$(json answer '.rows[] | "\(.module) \(.value)"')" 'store 574'
	list hot --by file
	expect_same 'by file' "$(json answer '.rows[] | "\(.file | split("/") | last) \(.value)"')" 'store.c 574'
	list hot --stop-at '^main$'
	expect_same 'main stands for all' "$(json answer '[.rows[].stack[-1].function] | unique | join(" ")')" main
	list hot --by function --rewrite 's/^often$/seldom/' --top 1
	expect_same rewritten "$(list_rows)" 'seldom 500'
}

test_views_processes_and_threads() {
	local process sum=0 calls
	run "$mprof" record -o log -- "$build/preload/threads" 5 100
	list hot --by thread --size 4 --function '*' --kind malloc
	expect_same threads "$(json answer '[.rows[] | .value] | join(" ")')" '100 100 100 100 100'
	list hot --size 4 --thread "$(json answer '.rows[2].thread')"
	expect_same 'of one' "$(json answer .total.figures.calls)" 100
	run "$mprof" record -o log -- sh -c "$build/preload/fixture_a; $build/preload/fixture_c; :"
	list hot
	calls=$(json answer .total.figures.calls)
	for process in 1 2 3; do
		list hot --process "$process"
		sum=$((sum + $(json answer .total.figures.calls)))
	done
	expect_same 'processes add up' "$sum" "$calls"
	list leaks --by module --process 2
	expect_same 'of fixture_a' "$(json answer '.rows[] | "\(.module) \(.value)"')" 'fixture_a 55'
	list peak --process 3
	expect_same 'the peak is in fixture_c' "$(json answer .total.figures.peak)" 9437184
	# That of fixture_a was earlier, and is its own.
	list peak --process 2
	expect_same 'the peak of fixture_a' "$(json answer .total.figures.peak)" 1089
	run "$mprof" export --to massif --process 2 log
	expect_same 'in massif' "$(sed -n '/^mem_heap_B/h; /heap_tree=peak/{g; p}' out)" mem_heap_B=1089
	run "$mprof" export --to txt --process 2 log
	expect_text out 'after the start; process 2 had 4 blocks'
	run "$mprof" report peak --process 2 log
	expect_words out 'process 2 held 1,089 bytes in 4 blocks.'
	run "$mprof" report peak --process 2 --at end log
	expect_words out 'process 2 held 0 bytes in 0 blocks. No block was live then.'
	run "$mprof" report peak --thread 2 log
	expect_words out 'No block that passes the filters was live then.'
	run "$mprof" report top-down --thread 2 log
	expect_words out 'None of the 6 calls counts as peak (bytes live at the peak of the run); --sort calls shows all.'
	run "$mprof" report peak-rss --process 2 log
	expect_words out 'fixture_a) was largest'
	run "$mprof" report threads --process 2 --json log
	expect_same 'its threads' "$(json out '[.threads[], .stacks[] | .process] | join(" ")')" '2 2'
	for process in 'threads --size 1..' 'globals --process 2' 'errors --kind malloc'; do
		run "$mprof" report $process log
		expect_status 2
		expect_text err ': leave out --'
	done
	printf '%s\n' '#include <stdlib.h>' '#include <unistd.h>' \
		'int main(int n, char **v) { return n < 2 || !malloc(77) || execl(*v, *v, NULL); }' >exec.c
	compile exec
	run "$mprof" record -o log -- ./exec 1
	run "$mprof" report leaks log
	expect_words out '1 block, 77 bytes, was live when a program called exec; every other block was freed.'
}

# Missing data is reported before the answer.
test_views_of_half_a_trace() {
	run "$mprof" record --no-compress -o log -- "$build/preload/threads" 50 500
	expect_status 0
	run "$mprof" report hot log
	expect_lines err 0
	truncate -s $(($(stat -c %s log) * 2 / 3)) log
	run "$mprof" report hot log
	expect_status 0
	expect_text err "parts of 'log' are missing: figures are too low"
	list hot
	expect_same incomplete "$(json answer .incomplete)" true
}

test_views_words() {
	local words
	store
	while read -r words; do
		# shellcheck disable=SC2086
		run "$mprof" report ${words% # *}
		expect_status 2
		expect_text err "${words##* # }"
	done <<-'END'
		peek log # did you mean 'peak'
		nonsense log # invalid view 'nonsense'
		peak --by shape log # invalid --by 'shape'
		peak --sort size log # invalid --sort 'size'
		peak --size 4K..1K log # the smaller first
		peak --size big log # 64..1K
		peak --lifetime 1..0.5 log # the smaller first
		peak --time soon log # invalid --time 'soon'
		peak --thread 0 log # invalid --thread '0'
		peak --kind free log # invalid --kind 'free'
		peak --names long log # short, full, raw
		peak --temporary 0 log # expected 1 to
		peak --top -1 log # invalid --top '-1'
		--by function log # needs a view
		callers log # no FUNCTION given; for example: mprof report callers main log
		callers # no FUNCTION given; for example: mprof report callers main mprof.log
		log log # expected one file; to compare two: mprof diff log log
		log log log # unexpected argument 'log': expected one file
		log leaks # a view comes before the trace: mprof report leaks log
		--color never log # --color takes its value after '=': write --color=never
	END
	run "$mprof" report peak no.log
	expect_status 3
	expect_one_line_error
}

test_views_largest_of_several() {
	local i
	for i in 1 30 5; do
		cat >p.c <<-END
			#include <stdlib.h>
			#include <string.h>
			int main(void) { return memset(malloc($i << 20), 1, $i << 20) == NULL; }
		END
		compile p
		run "$mprof" record -o "run$i.log" -- ./p
	done
	run "$mprof" report peak --json 'run*.log'
	expect_status 0
	expect_same bytes "$(json out .rows[0].value)" 31457280
	expect_text err "the largest of 3 traces is 'run30.log'"
	run "$mprof" report peak --json run1.log run5.log
	expect_same 'of two' "$(json out .trace)" run5.log
	run "$mprof" report peak 'none*.log'
	expect_status 3
}

# Without stacks all is one site, and every view has an answer.
test_views_without_stacks() {
	local view
	store_source >store.c
	compile store
	run env MPROF_CONF=UNWIND=none "$mprof" record -o log -- ./store
	expect_status 0
	for view in peak peak-rss leaks hot temporary lifetimes waste; do
		run "$mprof" report "$view" log
		expect_status 0
		expect_text out 'no call stacks'
	done
	# largest before it allocates: what it maps is not resident
	cat >early.c <<-'END'
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		int main(void)
		{
			void *p = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
			munmap(p, 8 << 20);
			free(malloc(100));
			return 0;
		}
	END
	compile early
	run env MPROF_CONF=UNWIND=none "$mprof" record -o early.log -- ./early
	run "$mprof" report peak-rss early.log
	expect_text out 'No block was live then.'
	expect_text out 'no call stacks'
	run "$mprof" report peak-rss --size 200.. early.log
	expect_status 0
	expect_no_text out 'passes the filters'
	list hot
	expect_same one "$(json answer '.rows | length')" 1
	expect_same calls "$(json answer .rows[0].value)" 574
	list hot --by size
	expect_same sizes "$(json answer '.rows[0] | "\(.size) \(.value)"')" '24 500'
}

test_views_json_names_are_documented() {
	local view by
	store
	for view in peak leaks hot temporary lifetimes waste peak-rss; do
		list "$view"
		expect_same view "$(json answer .view)" "$view"
		case $view in leaks | peak-rss) expect_documented "${view/-/_}_view" answer ;; *) expect_documented flat_view answer ;; esac
	done
	for by in stack function line file module thread size; do
		list peak --by "$by"
		expect_documented flat_view answer
	done
}

# Every figure of every row, and the sums of exports, of programs that allocate at random.
test_views_agree_with_a_model() {
	local run
	cp "$root/tests/cli/random.c" .
	compile random -pthread
	for run in '1 400 1 0 exit' '2 150 3 3 exec' '3 300 4 0 kill' '4 100 2 2 _exit'; do
		"$mprof" record -q -o log -- ./random $run
		"$root/tests/cli/rows.py" "$mprof" log ./random >out 2>&1 || bad "random $run: $(cat out)"
	done
}

# Only threads that pass blocks on are in the matrix, however much the others allocate.
test_views_matrix_of_passed_blocks() {
	cat >pass.c <<'END'
#include <pthread.h>
#include <stdlib.h>
static void *work(void *unused)
{
	for (int i = 0; i < 100; i++)
		free(malloc(1000));
	return malloc(77);
}
int main(void)
{
	pthread_t t[12];
	void *made;
	for (int i = 0; i < 12; i++) {
		pthread_create(&t[i], NULL, work, NULL);
		pthread_join(t[i], &made);
		if (i % 2)
			free(made);
	}
	return 0;
}
END
	compile pass -pthread
	"$mprof" record -o log -- ./pass 2>/dev/null
	run "$mprof" report threads log
	expect_words out 'Bytes of blocks freed by other threads: of thread by '
	expect_same rows "$(grep -cE '^  [0-9]+  +77 bytes$' out)" 6
	expect_no_text out 'more pair'
	tr -s ' ' <out | grep -qx ' 6 of 12 work (pass.c:7)' || bad "not aligned: $(grep ' of ' out)"
	run "$mprof" report hot log
	expect_words out '1,200 calls 99 % for 1.1 MiB, 1,000 bytes each; at most 1,000 bytes live at once'
}

test_views_of_equal_figures() {
	cat >equal.c <<'END'
#include <stdlib.h>
static void *some(int i) { return malloc(2000 + i); }
static void *one(void) { return malloc(3000); }
int main(void)
{
	void *p = one();
	for (int i = 0; i < 40; i++)
		free(some(i));
	free(p);
	return 0;
}
END
	compile equal
	"$mprof" record -o log -- ./equal 2>/dev/null
	run "$mprof" report hot log
	expect_words out '40 calls 98 % for 78.9 KiB, 2,000 to 2,039 bytes each; at most 2.0 KiB live at once [stack:'
	expect_words out '1 call 2 % for 2.9 KiB [stack:'
	run "$mprof" report lifetimes log
	tr -s ' \n' ' ' <out | grep -Eq ' 1 call 2 % 1 block lived [0-9.]+ [num]?s \[stack:' || bad "a block: $(cat out)"
	run "$mprof" report temporary --function one log
	expect_words out '0 calls of 1 were temporary: freed by the thread that allocated them in its very next call. To count'
}

# In a damaged profile, a stack may have bytes without calls.
test_views_of_bytes_without_calls() {
	cat >none.c <<'END'
#include <stdlib.h>
static void some(void) { for (int i = 0; i < 5; i++) free(malloc(100 + i * 1000)); }
int main(void)
{
	some();
	free(malloc(10));
	return 0;
}
END
	compile none
	"$mprof" profile -q -o file -- ./none
	perl -0777 -pi -e 's/\Q${\pack("QQ", 5, 10500)}/pack("QQ", 0, 10500)/e' file
	run "$mprof" report hot --sort total file
	expect_status 0
	expect_words out '10.3 KiB >99 % in 0 calls [stack:'
}

# Stacks without a thousandth of the figure do not fill the screen.
test_views_without_a_tail() {
	cat >tail.c <<'END'
#include <stdlib.h>
static void *kept[30];
#define SMALL(i) static void small_##i(void) { kept[i] = malloc(i); }
SMALL(1) SMALL(2) SMALL(3) SMALL(4) SMALL(5) SMALL(6) SMALL(7) SMALL(8) SMALL(9)
int main(void)
{
	kept[0] = malloc(1000000);
	small_1(), small_2(), small_3(), small_4(), small_5(), small_6(), small_7(), small_8(), small_9();
	return 0;
}
END
	compile tail
	"$mprof" record -o log -- ./tail 2>/dev/null
	run "$mprof" report peak log
	expect_same 'rows' "$(grep -c '\[stack:' out)" 5
	expect_text out '  ... and 5 more, <0.1 % together; --top 0 shows all'
	run "$mprof" report peak --top 7 log
	expect_text out '  ... and 3 more; --top 0 shows all'
	run "$mprof" report peak --by function log
	expect_text out small_1
	run "$mprof" report peak --json log
	expect_same 'rows of JSON' "$(json out '.rows | length')" 10
}

# All blocks of a line are counted, whichever stack they have; a list that is cut says so.
test_views_lines_of_passed_blocks() {
	cat >lines.c <<'END'
#include <pthread.h>
#include <stdlib.h>
static void *make(void) { return malloc(50); }
static void *work(void *made)
{
	void **p = made;
	*p++ = make();
	*p++ = malloc(1);
	*p++ = malloc(2);
	*p++ = malloc(3);
	*p++ = malloc(4);
	*p++ = malloc(5);
	*p++ = malloc(6);
	return NULL;
}
int main(void)
{
	pthread_t t;
	void *made[7];
	for (int i = 0; i < 3; i++)
		free(make());
	pthread_create(&t, NULL, work, made);
	pthread_join(t, NULL);
	for (int i = 0; i < 7; i++)
		free(made[i]);
	return 0;
}
END
	compile lines -pthread
	"$mprof" record -q -o log -- ./lines
	run "$mprof" report threads log
	expect_words out ' 1 of 4 make (lines.c:3) '
	expect_words out ' and 2 more; --top 0 shows all '
	run "$mprof" report threads --top 0 log
	expect_same lines "$(grep -cE ' 1 of  +[14]  ' out)" 7
}

# The deepest call says that it has further callers.
test_views_deepest_call_of_a_cut_stack() {
	printf '#include <stdlib.h>\nstatic int f(int n) { char *p = malloc(10); return n ? f(n - 1) + !p : 0; }\nint main(void) { return f(50); }\n' >deep.c
	compile deep
	"$mprof" record --depth 20 -o log -- ./deep 2>/dev/null
	run "$mprof" report threads log
	expect_words out ' f (deep.c:2), 20 times ... and unknown callers'
	"$mprof" record -o log -- ./deep 2>/dev/null
	run "$mprof" report threads log
	expect_words out ' f (deep.c:2), 51 times main (deep.c:3)'
	expect_no_text out 'unknown callers'
}
