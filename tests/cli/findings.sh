# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2016
#
# findings.sh - one rule in every view for who requested a block; findings whose figures add up;
# proposals that can be applied; names that the trace does not contain. The programs' figures are
# all known.

# ---- C++: library functions that the program called are hidden ----

# Line numbers matter: figures are looked up by them.
words_source() {
	cat <<'END_OF_SOURCE'
#include <map>
#include <string>
#include <vector>
struct index {
	std::map<std::string, std::vector<long>> where;
	__attribute__((noinline)) void add(std::string word, long line)
	{
		where[word].push_back(line);
	}
};
static std::vector<std::string> *words;
__attribute__((noinline)) static index read(int n)
{
	index all;
	for (int i = 0; i < n; i++) {
		if (i % 4 == 0)
			std::string((*words)[i % 100]).append(" as well");
		all.add((*words)[i % 100], i);
	}
	return all;
}
int main()
{
	std::vector<std::string> some;
	for (int i = 0; i < 100; i++)
		some.push_back("a word that needs a block of its own " + std::to_string(i));
	words = &some;
	return read(2000).where.size() != 100;
}
END_OF_SOURCE
}

# 2000 copies of line 18, 500 sums of line 17 (one block, or two where the sum grows); index::add
# has 100 keys, 100 nodes, and 6 blocks for each of 100 vectors of 20.
words() {
	words_source >words.cc
	c++ -std=c++17 -O1 -g -o words words.cc 2>/dev/null || {
		bad 'words.cc does not compile'
		return
	}
	"$mprof" record -o log -- ./words 2>/dev/null
}

test_who_asked_is_of_the_program() {
	words
	run "$mprof" report hot --by function --json log
	cp out answer
	expect_same 'most calls' "$(json answer '.rows[0] | .function')" read
	expect_same 'of add' "$(json answer '.rows[] | select(.function == "index::add") | .figures.calls')" 800
	run "$mprof" report hot --by line --json log
	expect_same 'line 18' "$(json out '.rows[] | select(.function == "read" and .line == 18) | .figures.calls')" 2000
	run "$mprof" report hot --by line log
	expect_no_text out 'std::'
	run "$mprof" report hot log
	expect_text out 'read (words.cc:18), through std::string::basic_string (basic_string.h)'
	expect_no_text out '        std::'
	run "$mprof" report hot --wrappers log
	expect_text out 'operator new'
	run "$mprof" report bottom-up --sort calls --json log
	expect_same 'who asked first' "$(json out '.rows[0].function')" read
	run "$mprof" check --max-calls 10 log
	expect_status 1
	grep -Eq 'of it by read \(words.cc\)$' out || bad "blamed: $(cat out)"
	run "$mprof" diff --value calls --json log log
	expect_same 'leaves of diff' "$(json out '[.rows[] | select(.after.calls > 1) | .function | startswith("std::")] | any')" false
	# Hidden functions can be selected, and are counted as themselves.
	run "$mprof" report callers '*push_back' --sort calls --json log
	expect_same 'push_back' "$(json out .total.calls)" "$(calls_through push_back)"
	run "$mprof" export --to csv log
	expect_same 'who asked of csv' "$(grep -c '^[0-9]*,std::' out)" 0
	grep -q ';std::vector<...>::push_back;' out || bad "the library is missing in stacks of csv: $(head -c 900 out)"
}

# Code of others that is compiled into the program is a library: its callers can change how they
# call it.  Where nothing of the program calls it, it allocates itself.
test_who_asked_is_not_an_installed_header() {
	cat >own.c <<'END_OF_SOURCE'
#include <stdlib.h>
#line 1 "/usr/include/third/list.h"
static __attribute__((noinline)) char *list_node(int n) { char *p = malloc(n); *p = 0; return p; }
static __attribute__((noinline)) char *list_insert(int n) { char *p = list_node(n); p[1] = 1; return p; }
#ifdef ALONE
int main(void) { for (int i = 0; i < 500; i++) list_insert(40); return 0; }
#else
#line 8 "own.c"
int main(void) { for (int i = 0; i < 500; i++) list_insert(40); return 0; }
#endif
END_OF_SOURCE
	cc -O1 -g -o own own.c && cc -O1 -g -DALONE -o alone own.c || bad 'does not compile'
	"$mprof" record -q -o log -- ./own
	run "$mprof" report log
	expect_words out '500 blocks allocated by main (own.c:8), through list_insert (list.h).'
	run "$mprof" report leaks --json log
	expect_same 'stack' "$(json out '.rows[0].stack[-1].function')" main
	"$mprof" record -q -o log -- ./alone
	run "$mprof" report log
	expect_words out '500 blocks allocated by list_node (list.h:1).'
	run "$mprof" report leaks --json log
	expect_same 'stack alone' "$(json out '.rows[0].stack[-1].function')" list_node
}

calls_through() { # FUNCTION: calls of stacks in folded form
	"$mprof" export --to folded --value calls log 2>/dev/null |
		awk -v f="$1" 'index($0, f) { n += $NF } END { print n }'
}

# With nothing but line tables, inlined functions of the language's library have no namespace.
test_who_asked_with_line_tables_only() {
	command -v clang++ >/dev/null || return 0
	printf '#include <vector>\n#include <string>\nstd::vector<std::string> all;\nint main()\n{\n\tfor (int i = 0; i < 500; i++)\n\t\tall.push_back(std::string(60 + i, 32));\n\treturn 0;\n}\n' >short.cc
	clang++ -O2 -gline-tables-only -o short short.cc 2>/dev/null || return 0
	"$mprof" record -q -o log -- ./short
	run "$mprof" report hot --by line --json log
	expect_same 'lines' "$(json out '[.rows[] | select(.figures.calls > 1) | "\(.function):\(.line)"] | unique | join(" ")')" main:7
	command -v rustc >/dev/null || return 0
	printf 'fn main() {\n    let v: Vec<Vec<u8>> = (0..300).map(|i| vec![1; i + 1]).collect();\n    print!("{}", v.len());\n}\n' >short.rs
	rustc -C debuginfo=line-tables-only -O -o short short.rs 2>/dev/null || return 0
	"$mprof" record -q -o log -- ./short >out
	run "$mprof" report hot --by line --json log
	expect_same 'line of Rust' "$(json out '.rows[0] | "\(.file | sub(".*/"; "")) \(.line) \(.figures.calls >= 300)"')" 'short.rs 2 true'
}

test_who_asked_of_rust() {
	command -v rustc >/dev/null || return 0
	cat >lists.rs <<'END_OF_SOURCE'
use std::collections::HashMap;
#[derive(Clone)]
struct Conn { name: String, data: Vec<u8> }
#[inline(never)]
fn make(i: usize) -> Conn { Conn { name: format!("connection {}", i), data: vec![0; 100] } }
#[inline(never)]
fn copy_all(v: &[Conn]) -> Vec<Conn> { v.iter().cloned().collect() }
#[inline(never)]
fn index(v: &[Conn]) -> HashMap<String, usize> {
    let mut m = HashMap::new();
    for (i, c) in v.iter().enumerate() { m.insert(c.name.clone(), i); }
    m
}
fn main() {
    let v: Vec<Conn> = (0..500).map(make).collect();
    let c = copy_all(&v);
    println!("{} {}", index(&c).len(), c.iter().map(|c| c.data.len()).sum::<usize>());
}
END_OF_SOURCE
	rustc -g -O lists.rs 2>/dev/null || return 0
	"$mprof" record -o log -- ./lists >/dev/null 2>&1
	run "$mprof" report hot --by function --json log
	expect_same 'most calls' "$(json out '[.rows[:3][] | .function | sub("^<(?<t>[^ ]*) .*"; "\(.t)")] | sort | join(" ")')" \
		'lists::Conn lists::index lists::make'
	expect_same make "$(json out '.rows[] | select(.function == "lists::make") | .figures.calls')" 1000
	run "$mprof" report log
	expect_words out '>::clone (mod.rs), called by lists::copy_all (lists.rs:7)'
	# The program's own allocator asks for what others need.
	echo 'struct Own; unsafe impl std::alloc::GlobalAlloc for Own { unsafe fn alloc(&self, l: std::alloc::Layout) -> *mut u8 { std::alloc::System.alloc(l) } unsafe fn dealloc(&self, p: *mut u8, l: std::alloc::Layout) { std::alloc::System.dealloc(p, l) } } #[global_allocator] static OWN: Own = Own; #[inline(never)] fn keep(n: usize) { std::mem::forget(std::hint::black_box(vec![1u8; n])); } fn main() { for n in 1000..1050 { keep(n); } }' >owns.rs
	rustc -g -A warnings owns.rs 2>/dev/null || return 0
	"$mprof" record -q -o log -- ./owns
	run "$mprof" report hot --by function --json log
	expect_same 'who asked Own' "$(json out '.rows[] | select(.figures.calls == 50) | .function')" owns::keep
	echo 'fn main() { std::thread::spawn(|| for i in 1..51 { std::hint::black_box(vec![1; i]); }).join().unwrap(); std::panic::set_hook(Box::new(|_| {})); for i in 0..2000 { let _ = std::panic::catch_unwind(|| panic!("{}{:050}{:99}{:300}", i, i, i, i)); } }' >fails.rs
	rustc -g -O fails.rs 2>/dev/null || return 0
	"$mprof" record -q -o log -- ./fails
	run "$mprof" report hot --by function --json log
	cp out answer
	# Nobody can reserve or use a pool for a panic, nor free what std keeps.
	run "$mprof" report --all log
	expect_words out 'through core::panicking::panic_fmt'
	expect_no_text out Reserving
	expect_no_text out pool-site
	run "$mprof" report leaks log
	expect_text out 'Every block was freed'
	# What std does before main, and before the function of a thread, is left out.
	run "$mprof" report top-down --sort calls --json --min-percent 0 log
	expect_same 'outermost functions' "$(json out '[.rows[] | select(.depth == 1 and .inclusive.calls >= 50) | .function | sub("::{.*"; "")] | join(" ")')" \
		'fails::main fails::main'
	expect_same 'panics of std' "$(json answer '[.rows[] | select(.function | test("panic|fails::main"; "i")) | .function | sub("::{.*"; "")] | unique | join(" ")')" fails::main
}

# libgomp keeps its threads; without its symbols, too.
test_findings_of_openmp() {
	printf 'int main(void)\n{\n\tint n = 0;\n#pragma omp parallel num_threads(3)\n#pragma omp atomic\n\tn++;\n\treturn n != 3;\n}\n' >team.c
	cc -g -fopenmp -o team team.c 2>/dev/null || return 0
	"$mprof" record -q -o log -- ./team
	run "$mprof" report leaks log
	expect_text out 'Every block was freed, except suppressed ones.'
	expect_text out "OpenMP's pool of threads"
}

# What libraries keep is counted over all call stacks, however many.
test_findings_of_what_many_stacks_keep() {
	cat >handlers.c <<'END_OF_SOURCE'
#include <unistd.h>
int __cxa_atexit(void (*)(void *), void *, void *);
static void nothing(void *p) { (void)p; }
static void both(int depth)
{
	if (!depth) {
		__cxa_atexit(nothing, 0, 0);
		return;
	}
	both(depth - 1);
	both(depth - 1);
}
int main(void) { both(20); _exit(0); }
END_OF_SOURCE
	compile handlers
	"$mprof" record -q -o log -- ./handlers
	run "$mprof" report log
	expect_words out 'Never freed: 32.5 MiB in 32,768 blocks; run-time libraries keep all of it.'
}

# If block sizes differ a lot, no single size is proposed for all of them.
# What the program does between a new block and the free of a smaller one is unknown.
test_findings_of_arrays_computed_anew() {
	cat >levels.c <<'END_OF_SOURCE'
#include <stdlib.h>
static double *refine(const double *old, int n)
{
	double *new = malloc(2 * n * sizeof(*new));
	for (int i = 0; i < 2 * n; i++)
		new[i] = old[i / 2] / 2;
	return new;
}
int main(void)
{
	for (int run = 0; run < 200; run++) {
		double *level = calloc(8, sizeof(*level)), *next;
		for (int n = 8; n < 4096; n *= 2) {
			next = refine(level, n);
			free(level);
			level = next;
		}
		free(level);
	}
	return 0;
}
END_OF_SOURCE
	compile levels
	report_of ./levels
	expect_words out 'MiB of copying, if each is copied into the next: 200 blocks grow in 1,600 steps of a new block and a free of the smaller one, in refine (levels.c:4).'
}

# The result of + is a new string, whatever was reserved.
test_findings_of_strings_added() {
	cat >add.cc <<'END_OF_SOURCE'
# 1 "/usr/include/c++/12/bits/my_string.h"
extern "C" void *malloc(unsigned long);
extern "C" void free(void *);
struct text { char *at; unsigned long n; };
__attribute__((noinline)) text operator+(text a, char c)
{
	text sum = { (char *)malloc(a.n + 1), a.n + 1 };
	sum.at[a.n] = c;
	return sum;
}
# 1 "add.cc"
int main()
{
	text all = { (char *)malloc(1000), 1000 }, next;
	for (int i = 0; i < 20000; i++, all = next) {
		free((all + 'x').at);
		next = all + 'x';
		free(all.at);
	}
}
END_OF_SOURCE
	c++ -g -o add add.cc || bad 'does not compile'
	"$mprof" record -q -o log -- ./add
	run "$mprof" report log
	expect_words out 'times the peak; + makes a new string each time, += or insert grows one in place)'
	expect_words out 'Growing the string in place (+= or insert) instead of by + would save 19,999 new blocks and up to 210 MiB of copying: 1 block grows in 19,999 steps of a new block, a copy and a free, in main (add.cc:6), through operator+'
}

# Beside much that the program keeps, too: a long string that is made anew for each word. Short ones
# do not make a finding.
test_findings_of_long_strings_added() {
	cat >words.cc <<'END_OF_SOURCE'
#include <string>
#include <vector>
__attribute__((noinline)) std::string join(int n)
{
	std::string all;
	while (n--)
		all = all + "a word of a text" + ", ";
	return all;
}
__attribute__((noinline)) size_t name(const std::string &of, int n)
{
	size_t sum = 0;
	while (n--)
		sum += (of + "/").size();
	return sum;
}
int main(int argc, char **argv)
{
	std::vector<char> kept((argc > 2 ? 100 : 4) << 20, 'x');
	size_t n = *argv[1] == 'j' ? join(4000).size() : name(std::string(200, 'd'), 500000);
	return n == kept[7];
}
END_OF_SOURCE
	c++ -O1 -g -o words words.cc || bad 'words.cc does not compile'
	"$mprof" record -q -o log -- ./words join
	run "$mprof" report log
	expect_words out 'come from join (words.cc:7), through std::operator+'
	expect_words out 'times the peak; + makes a new string each time, += or insert grows one in place)'
	"$mprof" record -q -o log -- ./words join more
	run "$mprof" report log
	tr -s '\n ' '  ' <out | grep -q '([0-9][.][0-9]* times the peak; ' || bad "the ratio: $(cat out)"
	"$mprof" record -q -o log -- ./words name
	run "$mprof" report log
	expect_words out 'name (words.cc:14)'
	expect_no_text out 'Over the run'
	expect_no_text out 'makes a new string'
}

# std::regex, deque and stringstream grow blocks of their own, in which nobody can reserve.
test_findings_of_classes_without_reserve() {
	cat >closed.cc <<'END_OF_SOURCE'
#include <deque>
#include <regex>
#include <sstream>
#include <string>
#include <vector>
__attribute__((noinline)) bool matches(const std::string &line)
{
	return std::regex_match(line, std::regex("([a-z]+)=([0-9]+)(ab|cd|ef)*"));
}
__attribute__((noinline)) int queue(int n)
{
	std::deque<int> all;
	while (n--)
		all.push_back(n);
	return all.back();
}
__attribute__((noinline)) int print(int n)
{
	std::ostringstream out;
	while (n--)
		out << n << ' ';
	return (int)out.str().size();
}
struct regex_number { int n; };
__attribute__((noinline)) int list(int n)
{
	std::vector<regex_number> all;
	while (n--)
		all.push_back({ n });
	return all.back().n;
}
int main(int argc, char **argv)
{
	int n = 0;
	for (int i = 0; i < 200; i++)
		n += *argv[1] == 'm' ? matches("name=" + std::to_string(i)) : *argv[1] == 'q' ? queue(20000) :
		     *argv[1] == 'p' ? print(3000) : list(3000);
	return n < 0;
}
END_OF_SOURCE
	c++ -O1 -g -o closed closed.cc || bad 'closed.cc does not compile'
	for how in matches queue print list; do
		"$mprof" record -q -o log -- ./closed $how
		run "$mprof" report --all log
		expect_words out "$how (closed.cc"
		if [ $how = list ]; then
			expect_words out 'Reserving 16.0 KiB for each block'
			run "$mprof" report realloc --names full log
			expect_text out 'reserve 16,384 bytes'
		else
			expect_no_text out 'Reserving'
			run "$mprof" report realloc --names raw log
			expect_text out 'its class has no reserve()'
			expect_no_text out 'reserve 2'
		fi
	done
}

test_findings_reserve_as_needed() {
	printf '#include <stdlib.h>\nint main(void)\n{\n\tfor (int k = 0; k < 20; k++) {\n\t\tchar *list = NULL;\n\t\tfor (int i = 1; i < (k == 9 ? 4000 : 12); i++)\n\t\t\tlist = realloc(list, 16 * i);\n\t\tfree(list);\n\t}\n}\n' >lists.c
	compile lists
	"$mprof" record -q -o log -- ./lists
	run "$mprof" report log
	expect_words out 'Reserving what each block needs, at most 62.5 KiB, would save 4,188 calls of realloc'
}

# A class of the library that is passed by value: what is copied, and where.
test_findings_name_what_is_copied() {
	cat >value.cc <<'END_OF_SOURCE'
#include <map>
#include <vector>
__attribute__((noinline)) long sum(std::vector<long> v) { return v[1]; }
__attribute__((noinline)) long count(std::map<int, long> m) { return (long)m.size(); }
__attribute__((noinline)) int *other(int i) { return new int(i); }
int main()
{
	std::vector<long> v(1000, 1);
	std::map<int, long> m{ { 1, 1 }, { 2, 2 }, { 3, 3 } };
	long n = 0;
	for (int i = 0; i < 20000; i++)
		n += sum(v);
	for (int i = 0; i < 10000; i++)
		n += count(m);
	for (int i = 0; i < 60000; i++)
		delete other(i);
	return n == 0;
}
END_OF_SOURCE
	for level in -O0 -O2; do
		c++ $level -g -o value value.cc || bad 'value.cc does not compile'
		"$mprof" record -o log -- ./value 2>/dev/null
		run "$mprof" report log
		expect_words out 'by main (value.cc), mostly at line 12 (153 MiB of 154 MiB), by copying std::vector<...>.'
		expect_text out 'mprof replay --drop-site main:14 log'
	done
}

# Who wants fewer copies changes the caller; a pool is nothing for blocks that members copy.
test_findings_name_who_copies() {
	cat >copies.cc <<'END_OF_SOURCE'
#include <string>
#include <vector>
struct inner { std::string name; };
struct record { inner in; std::vector<int> v; };
static std::vector<record *> kept;
__attribute__((noinline)) static void keep(const record &r, int n)
{
	for (int i = 0; i < n; i++)
		kept.push_back(new record(r));
}
__attribute__((noinline)) static void other(record *all, const record &r)
{
	for (int i = 0; i < 500; i++)
		all[i] = r;
	delete[] all;
}
int main(int argc, char **)
{
	record r{ { "a name that needs a block of its own" }, { 1, 2, 3 } };
	if (argc == 1)
		keep(r, 1000);
	else
		other(new record[500], r);
	return 0;
}
END_OF_SOURCE
	local level
	for level in -O0 -O2; do
		c++ -std=c++17 $level -g -o copies copies.cc || bad 'copies.cc does not compile'
		"$mprof" record -o log -- ./copies 2>/dev/null
		run "$mprof" report log
		expect_words out 'inner::inner (copies.cc:3), '
		expect_words out 'called by keep (copies.cc:9)'
		expect_text out 'mprof replay --drop-site inner::inner:3 log'
		"$mprof" record -o log -- ./copies assign 2>/dev/null
		run "$mprof" report log
		expect_words out 'inner::operator= (copies.cc:3), '
		expect_words out 'called by other (copies.cc:14)'
		expect_text out 'mprof replay --drop-site inner::operator=:3 log'
	done
}

# ---- a function of several lines ----

two_lines_source() {
	cat <<'END_OF_SOURCE'
#include <stdlib.h>
static void *kept[1000];
static void *from_system(size_t n) { return malloc(n); } void *xmalloc(size_t n) { return from_system(n); }
__attribute__((noinline)) void once(int i)
{
	kept[i] = xmalloc(10);
}
__attribute__((noinline)) void both(void)
{
	for (int i = 0; i < 1600; i++)
		free(xmalloc(50));
	for (int i = 0; i < 400; i++) {
		void *p = xmalloc(60);
		once(i);
		free(p);
	}
	for (int i = 0; i < 100; i++)
		free(xmalloc(100000));
}
__attribute__((noinline)) void large(void)
{
	static void *ring[4];
	for (int i = 0; i < 1000; i++) {
		free(ring[i % 4]);
		ring[i % 4] = xmalloc(100000);
	}
	for (int i = 0; i < 4; i++)
		free(ring[i]);
}
int main(int argc, char **argv)
{
	if (argc > 1)
		large();
	else
		both();
	return 0;
}
END_OF_SOURCE
}

two_lines() {
	two_lines_source >two.c
	cc -O1 -g -fno-inline -fno-builtin-malloc -o two two.c || bad 'two.c does not compile'
	"$mprof" record -o log -- ./two 2>/dev/null
	"$mprof" record -o large.log -- ./two large 2>/dev/null
}

# Of a function that wraps malloc under a name of its own, or mmap, the caller tells more.
test_findings_name_who_calls_a_wrapper() {
	cat >wrap.c <<-'END'
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <unistd.h>
		static void *get(size_t n) { return malloc(n); }
		static void *map(size_t n)
		{
			return mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		}
		static void parse(void) { memset(get(3 << 20), 1, 3 << 20); }
		static void list(void) { memset(get(1 << 20), 1, 1 << 20); }
		static void table(void) { memset(map(60 << 20), 1, 60 << 20); }
		static void cache(void) { memset(map(20 << 20), 1, 20 << 20); }
		static void one(void) { free(memset(malloc(2 << 20), 1, 2 << 20)); }
		static void only(void) { one(); }
		int main(void)
		{
			parse();
			list();
			only();
			cache();
			table();
			rest(1000);
			return 0;
		}
	END
	compile wrap -include "$here/rest.h"
	# Pages are read when the program may not yet have written to all of them.
	again_until 'grep -qE "^ *60[.]0 MiB +60[.]0 MiB" out' peak_rss_of ./wrap
	expect_text out '60.0 MiB  map (wrap.c:8), called by table (wrap.c:12)'
	expect_text out '20.0 MiB  map (wrap.c:8), called by cache (wrap.c:13)'
	run "$mprof" report log
	expect_words out 'was allocated by get (wrap.c:5), mostly called by parse (wrap.c:10)'
	expect_words out 'was mapped by map (wrap.c:8), mostly called by table (wrap.c:12); mprof'
	expect_words out 'was allocated by one (wrap.c:14).'
	run "$mprof" report --json log
	expect_same callers "$(json out '[.findings[].called_by.function] | join(" ")')" 'table parse '
	run "$mprof" report --json peak-rss log
	expect_same mapped "$(json out '[.mapped.by[] | "\(.function) \(.called_by.function) \(.mapped_bytes)"] | join(", ")')" \
		'map table 62914560, map cache 20971520'
	expect_documented peak_rss_view out
}

# Wrappers that call each other: the way to the first function that is none.
test_findings_behind_several_wrappers() {
	cat >chain.c <<'END'
#include <stdlib.h>
static void *kept[20000];
static int n;
void *mem_get(size_t s) { return kept[n++] = malloc(s); }
void *zone_get(size_t s) { return (char *)mem_get(s + 8) + 8; }
void *new_object(int kind) { return (char *)zone_get(kind * 40) + 4; }
void *twice(int i, int most) { return i < most ? (char *)twice(i + 1, most) + 8 : new_object(i); }
void parse(int i) { twice(i % 2 + 8, 10); }
void draw(void) { new_object(3); }
void list(void) { zone_get(100); }
void load(void) { mem_get(50); }
int main(void)
{
	for (int i = 0; i < 2000; i++) {
		parse(i);
		draw();
		list();
		load();
	}
	return 0;
}
END
	compile chain -O0
	report_of ./chain
	expect_words out 'allocated by mem_get (chain.c:4), mostly called by zone_get (chain.c:5), reached mostly from twice (chain.c:7)'
	run "$mprof" report --json log
	expect_same 'the way' "$(json out '.findings[0] | "\(.called_by.function) \(.reached_from.function)"')" 'zone_get twice'
}

# The same without source of the wrappers: the way ends at a line, and names it once.
test_findings_behind_wrappers_without_source() {
	cat >wrap.c <<'END'
#include <stdlib.h>
void *mem_get(size_t s) { return malloc(s); }
void *zone_get(size_t s) { return (char *)mem_get(s + 8) + 8; }
void *new_object(size_t s) { return (char *)zone_get(s) + 8; }
END
	cat >wrapped.c <<'END'
#include <stdlib.h>
void *mem_get(size_t s), *zone_get(size_t s), *new_object(size_t s);
void parse(void) { NEEDS(10000); }
void draw(void) { NEEDS(3000); }
void list(void) { zone_get(1000); }
void load(void) { mem_get(500); }
int main(void)
{
	for (int i = 0; i < 200; i++) {
		parse();
		draw();
		list();
		load();
	}
	return 0;
}
END
	cc -O0 -fno-builtin -c wrap.c || bad 'wrap.c does not compile'
	compile wrapped -DNEEDS=new_object wrap.o
	report_of ./wrapped
	expect_words out 'allocated by mem_get [wrapped], mostly called by zone_get, reached mostly from parse (wrapped.c:3).'
	compile wrapped '-DNEEDS(n)=zone_get(n / 2); new_object(n)' wrap.o
	report_of ./wrapped
	expect_words out 'mostly called by zone_get, reached mostly from new_object and parse (wrapped.c:3).'
}

# A caller has most of the finding, not only of the line with most of it.
test_findings_name_who_calls_all_lines() {
	cat >lines.c <<-'END'
		#include <stdlib.h>
		static void *get(size_t n, int zero)
		{
			if (zero)
				return calloc(1, n);
			return malloc(n);
		}
		static void many(void) { get(350000, 0); }
		static void some(void) { get(250000, 0); }
		static void zeros(size_t n) { get(n, 1); }
		int main(int argc, char **argv)
		{
			(void)argv;
			many();
			some();
			zeros(argc > 1 ? 500000 : 400000);
			if (argc > 1)
				zeros(200000);
			return 0;
		}
	END
	compile lines
	run "$mprof" record -o log -- ./lines
	run "$mprof" report log
	expect_words out 'mostly at line 6 (586 KiB of 977 KiB)'
	expect_no_text out 'called by'
	run "$mprof" record -o log -- ./lines twice
	run "$mprof" report log
	expect_words out 'mostly called by zeros (lines.c:10)'
}

# Batches, a full cache, and sessions: what is live at a time is high or low as chance will have it.
# A queue that grows has no old block, and a leak has.
test_findings_of_batches() {
	cat >batches.c <<'END_OF_SOURCE'
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define BATCH(n)                                                             \
	static void batch##n(void)                                           \
	{                                                                    \
		static char *v[200];                                         \
		static int k;                                                \
		while (k >= 40 + n * 7)                                      \
			for (; k; k--)                                       \
				free(v[k - 1]);                              \
		v[k++] = memset(malloc(1000), 1, 1000);                      \
	}
BATCH(0) BATCH(1) BATCH(2) BATCH(3) BATCH(4) BATCH(5) BATCH(6) BATCH(7) BATCH(8) BATCH(9)
static char *queue[4000];
static void enqueue(int i) { queue[i] = malloc(900); }
static char *lost(int i) { return malloc(300 + i % 2); }
/* Full from the first third on; replaced in any order. */
static void cached(void)
{
	static char *v[2000];
	for (int i = 0; i < 10; i++) {
		int k = rand() % 2000;
		free(v[k]);
		v[k] = malloc(100 + rand() % 900);
	}
}
static void session(void)
{
	static char *v[400];
	int k = rand() % 400;
	if (v[k]) {
		free(v[k]);
		v[k] = NULL;
	} else {
		v[k] = malloc(500 + rand() % 3000);
	}
}
int main(void)
{
	int from = 0;
	for (int i = 0; i < 1500; i++) {
		batch0(), batch1(), batch2(), batch3(), batch4(), batch5(), batch6(), batch7(), batch8(), batch9();
		enqueue(i);
		cached(), session();
		for (; from < i * 9 / 10; from++)
			free(queue[from]);
		*lost(i) = 1;
		usleep(400);
	}
	raise(SIGKILL);
}
END_OF_SOURCE
	compile batches
	report_of ./batches
	run "$mprof" report --json log
	expect_same 'what grows' "$(json out '[.findings[] | select(.finding == "leak") | .function] | sort | join(" ")')" 'enqueue lost'
	run "$mprof" report leaks --json --by function log
	expect_same 'rows that grow' "$(json out '[.rows[] | select(.evidence.kind == "growing") | .function] | sort | join(" ")')" 'enqueue lost'
}

# A cache that was full early is replaced, and did not grow since.
test_findings_of_a_full_cache() {
	cat >full.c <<'END'
#include <stdlib.h>
#include <unistd.h>
static char *cache[1000];
static void put(int i)
{
	char *old = cache[i % 1000];
	cache[i % 1000] = malloc(700);
	free(old);
}
int main(void)
{
	for (int i = 0; i < 40000; i++) {
		put(i);
		if (i % 100 == 0)
			usleep(500);
	}
	return 0;
}
END
	compile full
	report_of ./full
	expect_words out 'was allocated by put (full.c:7); 684 KiB of its blocks were never freed.'
}

# Of several callers, only one may lose what it gets.
test_findings_name_who_leaks() {
	cat >loses.c <<-'END'
		#include <stdlib.h>
		static char *get(int i) { char *p = malloc(100); *p = (char)i; return p; }
		static int frees(int i) { char *p = get(i); int c = *p; free(p); return c; }
		static int loses(int i) { return *get(i); }
		int main(void)
		{
			int sum = 0;
			for (int i = 0; i < 10000; i++)
				sum += i % 10 ? frees(i) : loses(i);
			return sum == 1;
		}
	END
	compile loses
	report_of ./loses
	expect_words out '1,000 of the 10,000 blocks allocated by get (loses.c:2), called by loses (loses.c:4).'
	# The same of a profile.
	run "$mprof" profile -o file -- ./loses
	run "$mprof" report file
	expect_words out 'allocated by get (loses.c:2), called by loses (loses.c:4).'
}

# Findings about a wrapper of malloc that differ in who calls it are apart: each names its own caller.
test_findings_name_each_caller_of_a_wrapper() {
	cat >apart.c <<-'END'
		#include <stdlib.h>
		static char *get(size_t n) { char *p = malloc(n); *p = 1; return p; }
		static char *load(int i) { return get(2000 + i); }
		static int work(int i) { char *p = get(20); int c = *p + i; free(p); return c; }
		static int lose(int i) { return *get(30 + i % 2); }
		int main(void)
		{
			char *kept[1000];
			int sum = 0;
			for (int i = 0; i < 1000; i++)
				kept[i] = load(i);
			for (int i = 0; i < 20000; i++)
				sum += i % 10 ? work(i) : lose(i);
			for (int i = 0; i < 1000; i++)
				free(kept[i]);
			return sum == 1;
		}
	END
	compile apart
	report_of ./apart
	expect_words out 'was allocated by get (apart.c:2), mostly called by load (apart.c:3).'
	expect_words out '18,000 of the 21,000 blocks allocated by get (apart.c:2), called by work (apart.c:4).'
	expect_words out '2,000 of the 21,000 blocks allocated by get (apart.c:2), called by lose (apart.c:5).'
	run "$mprof" profile -o file -- ./apart
	run "$mprof" report file
	expect_words out 'allocated by get (apart.c:2), called by lose (apart.c:5).'
}

test_findings_sum_what_they_name() {
	local all
	two_lines
	run "$mprof" report --all log
	cp out text
	# 1,600 of line 11, 400 of line 13 and 100 of line 18; temporary are those of 11 and 18.
	run "$mprof" report --json log
	cp out answer
	expect_same temporary "$(json answer '.findings[] | select(.finding == "temporary") | "\(.function):\(.line) \(.part) \(.line_part) \(.lines)"')" 'both:11 1700 1600 2'
	expect_words text 'both (two.c), mostly at line 11 (1,600 of 1,700)'
	words
	run "$mprof" report hot --by function --json log
	all=$(json out '.rows[] | select(.function == "read") | .figures.calls')
	run "$mprof" report --json log
	cp out answer
	expect_same hot "$(json answer '.findings[] | select(.finding == "hot") | "\(.function):\(.line) \(.part) \(.line_part)"')" "read:18 $all 2000"
	expect_same grown "$(json answer '.findings[] | select(.finding == "realloc") | "\(.function):\(.line) \(.lines)"')" 'index::add:8 1'
}

# One line with two callers: one frees immediately what the other keeps. Calls of another line of
# the function are not in the figure of the named line.
test_findings_count_all_calls_of_a_line() {
	cat >callers.c <<'END_OF_SOURCE'
#include <stdlib.h>
static void *kept[700], *more[5];
__attribute__((noinline)) void *make(int other)
{
	void *p;
	if (other)
		p = realloc(NULL, 30);
	else
		p = malloc(40);
	__asm__("" ::"r"(p) : "memory");
	return p;
}
int usleep(unsigned us);
__attribute__((noinline)) void keep(void) /* so that it grows to the end of the run */
{
	for (int i = 0; i < 700; i++) {
		kept[i] = make(0);
		if (i % 50 == 0)
			usleep(3000);
	}
}
int main(void)
{
	for (int i = 0; i < 300; i++)
		free(make(0));
	for (int i = 0; i < 5; i++)
		more[i] = make(1);
	keep();
	for (int i = 0; i < 5; i++)
		free(more[i]);
	return 0;
}
END_OF_SOURCE
	cc -O1 -g -fno-inline -fno-builtin-malloc -o callers callers.c
	"$mprof" record -o log -- ./callers 2>/dev/null
	run "$mprof" report --all log
	expect_words out '30 % of all allocations are freed immediately: 300 of the 1,000 blocks allocated by make (callers.c:9)'
	expect_text out '27.3 KiB was never freed'
	expect_words out ': 700 of the 1,000 blocks allocated by make (callers.c:9)'
	expect_no_text out '--drop-site'
}

# Applies every proposal: it must change some calls, but not all of them.
expect_proposals() { # FILE
	local line n=0
	sed -n 's/^ *\(mprof replay [^#]*[^# ]\)\( *#.*\)*$/\1/p' "$1" >proposals
	while read -r line; do
		n=$((n + 1))
		PATH=$build:$PATH sh -c "$line --allocator glibc --reps 0 --no-heaps --json" >said 2>why </dev/null ||
			bad "$line: $(cat why)"
		expect_same "$line changes" "$(json said '.changes[0].blocks > 0')" true
		expect_same "$line leaves" "$(json said '.program | .changed.calls > 0.05 * .as_it_is.calls')" true
	done <proposals
	[ "$n" -ge 1 ] || bad "no proposal in: $(cat "$1")"
}

test_findings_propose_what_can_be_done() {
	two_lines
	run "$mprof" report --all log
	expect_words out 'To see what it would save if this line did not allocate its 1,600 blocks: mprof replay --drop-site both:11 log'
	expect_proposals out
	run "$mprof" report log
	expect_text out 'mprof replay --drop-site both:11 log # measures the gain'
	expect_proposals out
	# Only requests of the line itself, not of once(), which another of its lines calls.
	run "$mprof" replay --drop-site both:11 --allocator glibc --reps 0 --no-heaps --json log
	expect_same dropped "$(json out '.changes[0].blocks')" 1600
	# Blocks of 100,000 bytes do not fit into a pool, and the program has no others.
	run "$mprof" report large.log
	expect_words out 'was allocated by large (two.c:'
	expect_words out 'It also makes 100 % of all allocations (1,000)'
	expect_no_text out 'mprof replay'
	words
	run "$mprof" report log
	expect_proposals out
}

test_replay_of_lines_and_stacks() {
	local stack
	two_lines
	run "$mprof" report hot --json log
	stack=$(json out '.rows[] | select(.stack[-1].line == 13) | .stack_number')
	run "$mprof" report hot log
	expect_text out "[stack:$stack]"
	run "$mprof" replay --drop-site "stack:$stack" --allocator glibc --reps 0 --no-heaps --json log
	expect_same 'of a stack' "$(json out '.changes[0] | "\(.site) \(.blocks)"')" "stack:$stack 400"
	run "$mprof" replay --drop-site stack:99999 log
	expect_status 2
	expect_one_line_error
	run "$mprof" replay --drop-site bth log
	expect_status 2
	expect_text err "did you mean 'both'?"
	run "$mprof" replay --drop-site main:31 log
	expect_status 2
	expect_text err 'no call on that line allocates directly'
	run "$mprof" replay --pool-site large large.log
	expect_status 2
	expect_one_line_error
	expect_text err "no block of 'large' fits into a pool"
	expect_text err "try --pool-site 'large,chunk=512K'"
	run "$mprof" replay --pool-site large,chunk=512K --allocator glibc --reps 0 --no-heaps large.log
	expect_status 0
	run "$mprof" replay --pool-site both --allocator glibc --reps 0 --no-heaps log
	expect_words out '100 others (9.5 MiB in all) did not, being larger than 16.0 KiB'
}

# ---- rows with the same text are merged ----

unrolled_source() {
	cat <<'END_OF_SOURCE'
#include <pthread.h>
#include <stdlib.h>
static void *kept[64], *grown[8];
__attribute__((noinline)) void fill(void)
{
#pragma GCC unroll 4
	for (int i = 0; i < 16; i++)
		kept[i] = malloc(100 + i);
}
__attribute__((noinline)) void grow(int n)
{
#pragma GCC unroll 4
	for (int i = 0; i < 8; i++)
		grown[i] = realloc(grown[i], n);
}
static void *drain(void *unused)
{
	for (int i = 0; i < 16; i++)
		free(kept[i]);
	return unused;
}
int main(void)
{
	pthread_t t;
	for (int k = 0; k < 10; k++)
		fill();
	for (int n = 1; n < 30; n++)
		grow(n * 100);
	pthread_create(&t, NULL, drain, NULL);
	pthread_join(t, NULL);
	return 0;
}
END_OF_SOURCE
}

test_rows_merge_by_what_they_show() {
	local view
	unrolled_source >unrolled.c
	cc -O2 -g -pthread -o unrolled unrolled.c
	"$mprof" record -o log -- ./unrolled 2>/dev/null
	# The loop is really unrolled: its calls have several addresses.
	run "$mprof" dump --stacks --function malloc log
	[ "$(grep -o '@[0-9]*$' out | sort -u | wc -l)" -ge 3 ] || bad 'the loop was not unrolled'
	for view in hot peak leaks waste lifetimes; do
		run "$mprof" report "$view" --sort total --json log
		expect_same "rows of fill in $view" "$(json out '[.rows[] | select(.stack[-1].function == "fill")] | length')" 1
	done
	run "$mprof" report hot --json log
	expect_same 'calls' "$(json out '.rows[] | select(.stack[-1].function == "fill") | "\(.figures.calls) \(.figures.local) \(.sites)"')" '160 17200 1'
	run "$mprof" report realloc --json log
	expect_same 'rows of grow' "$(json out '[.rows[] | select(.function == "grow")] | length')" 1
	expect_same 'chains of grow' "$(json out '.rows[] | select(.function == "grow") | "\(.chains) \(.steps)"')" '8 224'
	run "$mprof" report threads --json log
	expect_same 'lines of threads' "$(json out '[.sites[] | select(.function == "fill") | .foreign_frees] | tostring')" '[16]'
	run "$mprof" export --to csv log
	expect_same 'rows of csv' "$(grep -c ',fill,' out)" 1
	run "$mprof" export --to jsonl --events log
	expect_same 'sites of jsonl' "$(grep '"type":"site"' out | grep -c '"function":"fill"')" 1
	expect_same 'events of jsonl' "$(grep '"type":"began"' out | grep -c "\"site\":$(json out 'select(.type == "site" and .stack[0].function == "fill") | .site'),")" 160
	run "$mprof" export --to sqlite -o base log
	expect_same 'sites of sqlite' "$(sqlite3 base "select count(*) from site where calls = 160")" 1
	for view in stack line function; do
		run "$mprof" diff --by "$view" --value calls --all --json log log
		expect_same "diff by $view" "$(json out '[.rows[] | select(.after.calls == 160)] | length')" 1
	done
}

# ---- names that the trace does not contain ----

test_filters_that_match_nothing() {
	local command
	two_lines
	for command in 'report hot --function bothh' 'report peak --json --function bothh' \
		'report callers bothh' 'diff log --function bothh' 'export --to folded --function bothh' \
		'export --to csv --function bothh' 'check --max-peak bothh=1K' \
		'check --max-peak 1M --function bothh' 'replay --drop-site bothh' \
		'replay --pool-site bothh,free-list' 'replay --resize bothh=x2' 'replay --reserve-site bothh'; do
		# shellcheck disable=SC2086
		run "$mprof" $command log
		expect_status 2
		expect_one_line_error
		expect_text err "did you mean 'both'?"
		expect_lines out 0
	done
	run "$mprof" report hot --file tow.c log
	expect_status 2
	expect_text err "did you mean 'two.c'?"
	run "$mprof" report hot --module twoo log
	expect_status 2
	expect_text err "did you mean 'two'?"
	for command in 'report hot' 'export --to folded' 'export --to heaptrack' 'export --to chrome' 'check --max-peak 1M' 'diff log' dump \
		'replay --quick' 'image -o x.png' 'movie -o x.html' 'compare --quick' 'sort -o x'; do
		# shellcheck disable=SC2086
		run "$mprof" $command --process 99 log
		expect_status 2
		expect_text err 'no process 99'
		expect_lines err 1
	done
	for command in 'report hot' 'export --to folded' 'check --max-peak 1M' 'diff log' dump; do
		# shellcheck disable=SC2086
		run "$mprof" $command --thread 99 log
		expect_status 2
		expect_text err 'no thread 99'
	done
	run "$mprof" dump --pid 1 log
	expect_status 2
	expect_text err 'no process with pid 1'
	# Names that exist, but not together, give an answer.
	run "$mprof" report hot --function once --size 1M.. log
	expect_status 0
	expect_words out 'No block passes --function once --size: each occurs in the trace, but no block matches all of them.'
	run "$mprof" check --max-calls 10 --function once --size 1M.. log
	expect_status 0
	expect_text err 'no block passes --function once --size'
	run "$mprof" dump --function memalign log
	expect_status 0
	expect_text err 'no call in'
	# Filters belong to views.
	run "$mprof" report --function both log
	expect_status 2
	expect_text err 'mprof report peak --function'
}

# A function that no longer exists: the message names the remedy, and --allow-missing applies it.
test_check_of_a_function_that_is_gone() {
	two_lines
	run "$mprof" check --max-calls once=1000 --baseline log large.log
	expect_status 2
	expect_one_line_error
	expect_text err "goes through 'once', as some in 'log' do"
	expect_text err 'add --allow-missing'
	run "$mprof" check --max-calls once=1000 --allow-missing large.log
	expect_status 0
	run "$mprof" check --max-calls 'large=10' --allow-missing large.log
	expect_status 1
	run "$mprof" check --max-calls 'on*=400' log
	expect_status 0
}

# Blocks that a library allocates for its callers cannot come from a pool.
test_findings_propose_no_pool_for_a_library() {
	local by
	echo '#include <stdlib.h>
		void *g_text(void) { return malloc(10); }' >text.c
	cc -shared -fPIC -o libglib-2.text.so text.c || bad 'text.c does not compile'
	for by in 'strdup("some text")' 'g_text()' 'malloc(10)'; do
		printf '#include <stdlib.h>\n#include <string.h>\nvoid *g_text(void); static void *all[3000];\nstatic void *copy(void)\n{\n\treturn %s;\n}\nint main(void)\n{\n\tfor (int i = 0; i < 3000; i++)\n\t\tall[i] = copy();\n\tfor (int i = 0; i < 3000; i++)\n\t\tfree(all[i]);\n\treturn 0;\n}\n' "$by" >copies.c
		compile copies -Wl,--no-as-needed ./libglib-2.text.so
		"$mprof" record -o log -- ./copies 2>/dev/null
		run "$mprof" report --all log
		expect_words out '3,000) come from copy (copies.c:6)'
		case $by in
		strdup* | g_text*) ! grep -q -e --pool-site out || bad 'a pool is proposed' ;;
		*) expect_text out 'mprof replay --pool-site copy:6,free-list log' ;;
		esac
	done
}

# ---- what does not show in the figures of the peak ----

# 20,000 blocks of 5,000 bytes, 4 of them live at once.
test_finding_of_the_total() {
	cat >turns.c <<'END_OF_SOURCE'
#include <stdlib.h>
__attribute__((noinline)) static char *parse(size_t n) { return malloc(n); }
int main(void)
{
	char *ring[4] = { 0 };
	for (int i = 0; i < 20004; i++) {
		free(ring[i % 4]);
		ring[i % 4] = i < 20000 ? parse(5000) : NULL;
	}
	return 0;
}
END_OF_SOURCE
	cc -g -O1 -fno-builtin -o turns turns.c
	"$mprof" record -o log -- ./turns 2>/dev/null
	run "$mprof" report --json log
	expect_same 'the total' "$(json out '.findings[] | select(.finding == "total") | "\(.function) \(.line) \(.part) \(.of)"')" \
		'parse 2 100000000 100000000'
	run "$mprof" report log
	expect_words out 'requests 95.4 MiB over the run (5,000 times the peak)'
}

# Of a mebibyte, or aligned, a block does not fit into a pool, however small the others are; what
# pthread_create allocates is the C library's.
test_proposed_pools_are_possible() {
	cat >pools.c <<'END_OF_SOURCE'
#include <pthread.h>
#include <stdlib.h>
static void *nothing(void *arg) { return arg; }
int main(int argc, char **argv)
{
	for (int i = 0; i < (**(argv + 1) == 'f' ? 400 : 600); i++) {
		void *p = NULL, *q = NULL;
		pthread_t t;
		if (**++argv == 'a')
			p = aligned_alloc(4096, 4096), q = aligned_alloc(4096, 4096);
		else if (**argv == 'l')
			p = malloc(i % 100 ? 100 : 1 << 20), q = malloc(100);
		else if (**argv == 's' || **argv == 'f')
			p = malloc(100), q = malloc(100);
		else if (pthread_create(&t, NULL, nothing, NULL) == 0 && i % 2)
			pthread_join(t, NULL);
		--argv;
		free(p);
		free(q);
	}
	return argc - 2;
}
END_OF_SOURCE
	cc -g -O1 -fno-builtin -pthread -o pools pools.c
	for how in aligned large few small threads; do
		"$mprof" record -o log -- ./pools $how 2>/dev/null
		run "$mprof" report --json log
		expect_same "pool of $how" "$(json out '[.findings[] | select(.proof) | .proof | test("pool-site")] | any')" \
			"$([ $how = small ] && echo true || echo false)"
	done
	run "$mprof" report hot --json log
	expect_same 'through the library of that name' "$(json out '.rows[0].through | "\(.function) \(.module | test("mprof"))"')" \
		'pthread_create false'
}

# In each process, glibc keeps the stacks of at most 40 MiB of threads that were joined.
test_finding_of_threads_nobody_joined() {
	cat >zombies.c <<'END_OF_SOURCE'
#include <pthread.h>
#include <unistd.h>
static void *nothing(void *arg) { return arg; }
__attribute__((noinline)) static void start(int join)
{
	pthread_t t;
	if (pthread_create(&t, NULL, nothing, NULL) == 0 && join)
		pthread_join(t, NULL);
}
int main(int argc, char **argv)
{
	for (int i = 0; i < 60; i++)
		start(argc > 1);
	usleep(200000);
	return !argv;
}
END_OF_SOURCE
	cc -g -O1 -pthread -o zombies zombies.c
	"$mprof" record -o log -- ./zombies 2>/dev/null
	run "$mprof" report --json log
	expect_same 'not joined' "$(json out '.findings[] | select(.finding == "unjoined") | "\(.function) \(.line) \(.threads >= 50 and .threads <= 60)"')" \
		'start 7 true'
	"$mprof" record -o log -- ./zombies join 2>/dev/null
	run "$mprof" report --json log
	expect_same 'joined' "$(json out '[.findings[] | select(.finding == "unjoined")] | length')" 0

	cat >several.c <<'END_OF_SOURCE'
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_barrier_t all;
static void *wait_for_all(void *arg)
{
	pthread_barrier_wait(&all);
	return arg;
}
int main(void)
{
	pthread_t t[8];
	int i;
	for (i = 0; i < 6 && fork() != 0; i++)
		;
	if (i == 6) {
		while (wait(NULL) > 0)
			;
		return 0;
	}
	pthread_barrier_init(&all, NULL, 8);
	for (i = 0; i < 8; i++)
		if (pthread_create(&t[i], NULL, wait_for_all, NULL))
			_exit(1);
	for (i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	return 0;
}
END_OF_SOURCE
	cc -g -O1 -pthread -o several several.c
	"$mprof" record -o log -- ./several 2>/dev/null
	run "$mprof" report --json log
	expect_same 'joined in each of six processes' "$(json out '"\(.processes | length) \([.findings[] | select(.finding == "unjoined")] | length)"')" '7 0'
}

# 16 blocks of a page, each with two mebibytes of address space behind it.
test_rounding_in_whole_pages_is_no_waste() {
	cat >apart.c <<'END_OF_SOURCE'
#include <stdlib.h>
int main(void)
{
	static char *p[64];
	for (int i = 0; i < 64; i++)
		*(p[i] = aligned_alloc(2 << 20, 100000)) = 1;
	return 0;
}
END_OF_SOURCE
	cc -g -O1 -fno-builtin -o apart apart.c
	"$mprof" record -o log -- ./apart 2>/dev/null
	run "$mprof" report log
	expect_words out 'mostly of address space'
	run "$mprof" report --json log
	expect_same 'waste' "$(json out '[.findings[] | select(.finding == "waste") | .part <= 64 * 4096] | all')" true
}

# It allocated for a tenth of its time, then waited until it was killed.
test_finding_of_a_leak_that_stopped() {
	cat >stopped.c <<'END_OF_SOURCE'
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) static void keep(void) { *(char *volatile)malloc(1000) = 1; }
int main(void)
{
	struct timespec begun, now;
	clock_gettime(CLOCK_MONOTONIC, &begun);
	for (int i = 0; i < 500; i++)
		keep();
	clock_gettime(CLOCK_MONOTONIC, &now);
	usleep(10 * ((now.tv_sec - begun.tv_sec) * 1000000 + (now.tv_nsec - begun.tv_nsec) / 1000) + 100000);
	close(creat("ready", 0600));
	sleep(60);
	return 0;
}
END_OF_SOURCE
	cc -g -O1 -fno-builtin -o stopped stopped.c
	"$mprof" record --no-compress -o log -- ./stopped 2>/dev/null &
	local recorder=$!
	wait_for test -e ready
	run "$mprof" report log
	expect_words out 'It was still running when this was written'
	expect_words out 'none of its 500 blocks was freed, though the last one came'
	expect_words out 's ago.'
	expect_no_text out 'before the end'
	pkill -P $recorder
	wait $recorder
	run "$mprof" report log
	expect_words out 'none of its 500 blocks was freed, though the last one came'
}

# ./slow [PERCENT [SIGNAL]] allocates 16 MiB in a burst, keeps three pools of 1 MiB, and from then on
# keeps one of 1000 blocks: 2,000 in 0.4 s or more.  With PERCENT, it then keeps 2 MiB, rests for
# PERCENT of that time, and ends.
slow_leak() {
	cat >slow.c <<'END'
#include <signal.h>
#include <stdlib.h>
#include <time.h>
static void *kept[5002];
static int n;
static void *burst(void) { return malloc(16 << 20); }
static void workers(int i) { kept[n++] = malloc(1024); }
static void buffers(int i) { kept[n++] = malloc(1024); }
static void names(int i) { kept[n++] = malloc(1024); }
static void session(void) { kept[n++] = malloc(100); }
static void *late(void) { return malloc(1 << 20); }
static void rest(int ms) { nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL); }
int main(int argc, char **argv)
{
	struct timespec begun, now;
	clock_gettime(CLOCK_MONOTONIC, &begun);
	free(burst());
	for (int i = 0; i < 1000; i++) {
		workers(i);
		buffers(i);
		names(i);
	}
	for (int i = 0; i < 2000; i++) {
		for (int k = 0; k < 100; k++)
			free(malloc(500));
		session();
		if (i % 50 == 0)
			rest(10);
	}
	for (int i = 0; i < 2 && argc > 1; i++)
		kept[n++] = late();
	clock_gettime(CLOCK_MONOTONIC, &now);
	rest(argc > 1 ? ((now.tv_sec - begun.tv_sec) * 1000 + (now.tv_nsec - begun.tv_nsec) / 1000000) *
				atoi(argv[1]) / 100 : 0);
	if (argc > 2)
		raise(atoi(argv[2]));
	return 0;
}
END
	compile slow
}

# A leak that grows comes before what is larger, but constant.
test_findings_name_a_slow_leak() {
	slow_leak
	report_with 'growing throughout' ./slow
	expect_words out '195 KiB was never freed, growing throughout the run: all 2,000 blocks allocated by session (slow.c:10).'
	sed -n '/growing throughout/,$p' out >later
	expect_text later 'not growing after the first quarter of the run'
	run "$mprof" report --json log
	expect_same 'its growth' "$(json out '.findings[] | select(.function == "session") | .growth')" steady
	# A server that is idle before it ends, or is killed.
	report_with 'growing until' ./slow 75
	expect_words out '195 KiB was never freed, growing until'
	# What was kept in a short time may be a leak, too, and comes first if it is much larger.
	run "$mprof" report --json log
	expect_same order "$(json out '[.findings[].function] | index("late") < index("session")')" true
	report_with 'growing until' ./slow 75 15
	expect_words out '195 KiB was live at the end, growing until'
	expect_no_text out workers
}

# A program that is idle for most of its time leaks while it is not.
test_findings_name_a_leak_beside_an_idle_time() {
	cat >idles.c <<'END'
#include <stdlib.h>
#include <unistd.h>
static void session(void) { malloc(100); free(malloc(500)); }
int main(int argc, char **argv)
{
	usleep(atoi(argv[1]) * 1000);
	for (int i = 0; i < 5000; i++)
		session();
	usleep(atoi(argv[2]) * 1000);
	return 0;
}
END
	compile idles
	local idle
	for idle in '0 200' '200 0'; do
		report_with 'growing from' ./idles $idle
		expect_words out '488 KiB was never freed, growing from '
		tr -s ' \n' ' ' <out | grep -qE 'growing from [0-9.]+ (us|ms|s) to [0-9.]+ (us|ms|s) after the start' ||
			bad "it says: $(grep -A1 growing out)"
		expect_words out ' after the start, when the program made nearly all of its calls: 5,000 of the 10,000 blocks allocated by session (idles.c:3).'
	done
	run "$mprof" report --json log
	expect_same 'its growth' "$(json out '.findings[] | select(.finding == "leak") | .growth')" busy
	run "$mprof" report leaks log
	expect_text out 'Growing only for a short time, slightly, or no longer'
}

# What each of many short processes leaves is never live at once.
test_findings_of_what_short_processes_leave() {
	cat >short.c <<'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *left(void) { return malloc(20000); }
int main(int argc, char **argv)
{
	void *base = argc > 1 ? NULL : malloc(300000);
	for (int i = 0; i < 40; i++) {
		if (!fork())
			return !left();
		wait(NULL);
	}
	free(base);
	return 0;
}
END
	compile short
	report_of ./short
	expect_words out '781 KiB was never freed, left by processes that ended one after another (at most 312 KiB was live at a time): all 40 blocks allocated by left (short.c:4).'
	run "$mprof" report --json log
	expect_same json "$(json out '[.findings[] | select(.finding == "leak") | .one_by_one][0]')" true
	expect_documented run out
	report_of ./short x
	expect_words out 'never frees 781 KiB in 40 blocks (at most 19.5 KiB at a time, in processes that ended).'
}

# Of four workers that last, none has half of the leak.
test_findings_name_a_slow_leak_of_workers() {
	cat >workers.c <<'END'
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void *kept[1000];
static void session(int i) { kept[i] = malloc(200); }
static void rest(int ms) { nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL); }
int main(int argc, char **argv)
{
	pid_t pid[4];
	int done[2];
	char byte;
	if (pipe(done))
		return 1;
	for (int i = 0; i < 4; i++)
		if (!(pid[i] = fork())) {
			for (int k = 0; k < 1000; k++) {
				session(k);
				if (k % 50 == 0)
					rest(20);
			}
			if (write(done[1], "", 1) != 1)
				return 1;
			while (argc > 1)
				pause();
			return 0;
		}
	for (int i = 0; i < 4; i++)
		if (read(done[0], &byte, 1) != 1)
			return 1;
	rest(argc > 1 ? 400 : 0);
	for (int i = 0; i < 4 && argc > 1; i++)
		kill(pid[i], SIGTERM);
	while (wait(NULL) > 0)
		;
	return 0;
}
END
	compile workers
	report_with 'growing throughout' ./workers
	expect_words out '781 KiB was never freed, growing throughout the run: all 4,000 blocks allocated by session (workers.c:7).'
	report_with 'growing until' ./workers kill
	expect_words out '781 KiB was live at the end, growing until'
}

# Is the kernel's part of the CPU time too small for a finding about new pages, or so large that it may
# have done other work (refaults.h)?  On a busy machine, a page may take any time.
kernel_is_unusual() { # FILE
	"$mprof" report --json "$1" | jq -e '.processes | [map(.system_ns), map(.user_ns), map(.minor_faults * 4096)] | map(add) |
		.[0] < 0.27 * (.[0] + .[1]) or .[0] > 1.5 * .[2]' >/dev/null
}

# Time that no call shows: memory that is freed goes back to the system, and its pages are new the next time.
test_finding_of_new_pages() {
	local keep='MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=1073741824' part
	local -x ROUNDS
	cat >pages.c <<'END'
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
static void large(void) { char *p = malloc(40 << 20); memset(p, 1, 40 << 20); free(p); }
static void small(void) {
	static __thread void *p[700];
	for (int i = 0; i < 700; i++)
		p[i] = memset(malloc(60000), 1, 60000);
	for (int i = 700; i--;)
		free(p[i]);
}
static void reads(void) {
	char *p = malloc(1 << 20);
	for (int i = 0; i < 40; i++)
		if (read(3, p, 1 << 20) < 0)
			abort();
	free(p);
}
static void maps(void) {
	void *p = mmap(NULL, 40 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(p, 1, 40 << 20);
	munmap(p, 40 << 20);
}
static void *one(void *arg) { small(); return arg; }
static void threads(void) {
	pthread_t other;
	if (pthread_create(&other, NULL, one, NULL) || !one(&other) || pthread_join(other, NULL))
		abort();
}
/* Requests that need no new pages, as many as the other functions have faults. */
static void churn(void) {
	for (int i = 0; i < 1000; i++)
		free(memset(malloc(60000), 1, 8));
}
static void drops(void) {
	static char *p;
	if (!p)
		p = mmap(NULL, 40 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(p, 1, 40 << 20);
	madvise(p, 40 << 20, MADV_DONTNEED);
	churn();
}
static void forks(void) {
	static char *p[700];
	int child;
	for (int i = 0; i < 700; i++)
		p[i] = p[i] ? p[i] : malloc(60000);
	child = fork();
	if (!child)
		_exit(0);
	for (int i = 0; i < 700; i++)
		memset(p[i], 1, 60000);
	churn();
	waitpid(child, NULL, 0);
}
static void *deep(void *x) {
	char b[40 << 20];
	memset(b, 1, sizeof(b));
	__asm__ volatile("" ::"r"(b) : "memory");
	return x;
}
static void stacks(void) {
	pthread_attr_t a;
	pthread_t t;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 64 << 20);
	pthread_create(&t, &a, deep, NULL);
	pthread_join(t, NULL);
	churn();
}
static void sparse(void) {
	char *p = malloc(40 << 20), *q = malloc(60000);
	for (int i = 0; i < 40; i++)
		p[i << 20] = 1;
	for (int i = 0; i < 5000; i++)
		if (read(3, q, 60000) < 0)
			abort();
	free(q);
	free(p);
}
static void child(void) {
	static int is_child, begun;
	if (!begun++ && !(is_child = !fork())) {
		for (int i = 0; i < 300; i++)
			free(malloc(40 << 20));
		wait(NULL);
	}
	if (is_child)
		small();
}
/* Much is kept until a program is ready to serve: the largest resident set. */
static void warmup(void) {
	static int begun;
	if (!begun++) {
		char *p = malloc(200 << 20);
		memset(p, 1, 200 << 20);
		free(p);
	}
	large();
}
static void hardly_used(void) {
	for (int i = 0; i < 2000; i++) {
		char *volatile p = calloc(40 << 20, 1);
		p[1] = 1;
		free(p);
	}
}
/* Pages of the program's own mappings, while live bytes rise even more. */
static void both(void) {
	static char *kept;
	if (!kept)
		kept = malloc(60000);
	maps();
	for (int i = 0; i < 1000; i++) {
		char *p = malloc(60000), *q = malloc(60000);
		p[0] = q[0] = 1;
		free(q);
		free(p);
	}
}
/* The same, beside large blocks that glibc keeps. */
static void beside(void) {
	free(malloc(8 << 20));
	maps();
	for (int i = 0; i < 40; i++) {
		char *volatile p = malloc(2 << 20);
		memset(p, 1, 2 << 20);
		free(p);
	}
}
int main(int n, char **arg) {
	void (*of[])(void) = { large, small, reads, maps, drops, forks, stacks, sparse, child, threads, warmup, hardly_used, both, beside };
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	int rounds = n > 2 ? atoi(arg[2]) : atoi(getenv("ROUNDS"));
	if (n < 2 || (dup2(open("/dev/zero", O_RDONLY), 3), 0))
		return 2;
	for (int i = 0; i < rounds; i++)
		of[atoi(arg[1])]();
	return 0;
}
END
	compile pages
	finding_of() { # ARGUMENT [VARIABLE=VALUE...]
		local arg=$1
		shift
		env "$@" "$mprof" record -q -o log -- ./pages "$arg"
		run "$mprof" report log
		"$mprof" report --json log | jq '[.findings[] | select(.finding == "refaults")]' >finding
	}
	refaults_of() { # the same, where there is one; false if the machine does not let mprof tell
		again_until '[ "$(cat finding)" != "[]" ]' finding_of "$@"
		[ "$(cat finding)" != '[]' ] || ! kernel_is_unusual log
	}
	report_until() { # TEXT COMMAND...: as report_with, but COMMAND records it itself, to $file
		wanted=$1 again_until 'run "$mprof" report $file; has_words out "$wanted"' "${@:2}"
	}
	refaults_until() { # FILTER COMMAND...: the same, until FILTER holds for this finding
		wanted=".findings[] | select(.finding == \"refaults\") | $1" \
			again_until '"$mprof" report --json $file >out; [ "$(json out "$wanted")" = true ]' "${@:2}"
	}
	blocks() { # N: the bytes of N blocks of 40 MiB
		awk -v n="$1" 'BEGIN { if (n * 40 < 1024) print n * 40 " MiB"; else printf "%.1f GiB\n", n * 40 / 1024 }'
	}
	local file=log
	# As few as take the kernel twice as long as the least that is told.
	for ROUNDS in 10 20 30; do
		finding_of 0
		[ "$("$mprof" report --json log | jq '[.processes[].system_ns] | add >= 200000000')" != true ] || break
	done
	part=$((ROUNDS * 7 / 10))
	refaults_of 0 || return 0
	expect_words out ". glibc mapped $(blocks $ROUNDS) for large blocks, "
	expect_words out " large (pages.c:9) allocated $(blocks $ROUNDS) in $ROUNDS large blocks: keep and reuse them. With $keep, glibc keeps freed memory."
	expect_same 'a finding' "$(jq -r '.[] | "\(.function) \(.large_blocks) \(.mapped_bytes) \(.setting)"' finding)" \
		"large $ROUNDS $((ROUNDS * (40 << 20))) $keep"
	"$mprof" report --json log >out
	expect_documented run out
	# shellcheck disable=SC2086 # two variables
	finding_of 0 $keep
	expect_same 'none where it is kept' "$(cat finding)" '[]'
	refaults_of 1 || return 0
	expect_words out ' of new pages, '
	expect_words out "times the largest resident set: freed memory goes back to the system, and comes back as new pages. With $keep,"
	expect_same 'no function' "$(jq -c '[.[].function, .[].mapped_bytes]' finding)" '[null,0]'
	# The allocator's time is the same finding.
	expect_no_text out 'was spent in the allocator'
	finding_of 2
	expect_same 'none of a program that reads' "$(cat finding)" '[]'
	refaults_of 3 || return 0
	expect_words out "times the largest resident set: the program itself mapped $(blocks $ROUNDS) in $ROUNDS calls of mmap. Keep and reuse them."
	# Each thread has an arena, whose heaps are unmapped once they are empty.
	refaults_of 9 || return 0
	expect_same 'the setting for threads' "$(jq -r '.[].setting' finding)" "$keep MALLOC_ARENA_MAX=1"
	# shellcheck disable=SC2086 # three variables
	finding_of 9 $keep MALLOC_ARENA_MAX=1
	expect_same 'none where it is kept' "$(cat finding)" '[]'
	# With jemalloc's setting, programs with blocks of this size would grow without end.
	if "$mprof" record -q -o log --allocator jemalloc -- ./pages 1 2>/dev/null; then
		run "$mprof" report log
		expect_no_text out 'MALLOC_CONF'
		report_until 'With MALLOC_CONF=' "$mprof" record -q -o log --allocator jemalloc -- ./pages 0
		expect_words out 'With MALLOC_CONF=dirty_decay_ms:-1,muzzy_decay_ms:-1, jemalloc keeps freed memory.'
	fi
	# New pages that do not come from freed blocks: no setting of the allocator saves them.
	local other
	for other in 4 5 6; do
		ROUNDS=30 finding_of $other
		expect_same "none of other pages ($other)" "$(cat finding)" '[]'
	done
	ROUNDS=30 finding_of 7
	expect_same 'none of blocks that were hardly used' "$(cat finding)" '[]'
	refaults_of 8 || return 0
	expect_same 'no function of another process' "$(jq -c '[.[].process, .[].function]' finding)" '[2,null]'
	file=profile refaults_until '.function == "large"' "$mprof" profile -q -o profile -- ./pages 0
	expect_same 'of a profile' "$(json out '.findings[] | select(.finding == "refaults") | .function')" large
	expect_documented profile out
	report_until '1 more process did the same (' "$mprof" record -q -o log -- sh -c './pages 0 & ./pages 0; wait'
	expect_words out 'all pages were new every time. 1 more process did the same ('
	expect_words out "allocated $(blocks $((2 * ROUNDS))) in $((2 * ROUNDS)) large blocks of all processes: keep and reuse them."
	# New pages are six times those of the beginning.
	ROUNDS=30 refaults_of 10 || return 0
	expect_same 'also after a beginning that needed more' "$(jq -c '[.[].function, .[].large_blocks]' finding)" '["large",30]'
	# calloc would clear the 40 MiB of each block, of which one page is used.
	ROUNDS=30 refaults_of 11 || return 0
	expect_same 'no setting with which calloc is slower' "$(jq -c '[.[].function, .[].large_blocks, .[].setting]' finding)" '["hardly_used",60000,null]'
	expect_no_text out MALLOC_MMAP_MAX_
	file=profile refaults_until '.setting == null' "$mprof" profile -q -o profile -- ./pages 11 30
	expect_same 'nor in a profile' "$(json out '.findings[] | select(.finding == "refaults") | .setting')" null
	finding_of 12
	expect_same 'none of mappings of its own' "$(cat finding)" '[]'
	# Each of many processes.
	refaults_until '.more_processes > 2' "$mprof" record -q -o log -- sh -c 'for i in 1 2 3 4 5 6 7 8; do ./pages 0 6; done'
	expect_same 'of many processes' "$(json out '.findings[] | select(.finding == "refaults") | .more_processes > 2')" true
	expect_documented run out
	file=profile report_until 'In process 3, the kernel took' "$mprof" profile -q -o profile -- sh -c './pages 2; ./pages 0; true'
	expect_words out 'In process 3, the kernel took'
	expect_words out " large (pages.c:9) allocated $(blocks $ROUNDS) in $ROUNDS large blocks: keep and reuse them."
	"$mprof" profile -q -o profile -- sh -c './pages 13; ./pages 13; true'
	"$mprof" report --json profile >out
	expect_same 'none of mappings of one of them' "$(json out '.findings[] | select(.finding == "refaults")')" ''
	# One that maps memory itself is another matter.
	report_until "the program itself mapped $(blocks $ROUNDS)" "$mprof" record -q -o log -- sh -c "./pages 3; ./pages 0 $part; true"
	expect_words out "the program itself mapped $(blocks $ROUNDS)"
	expect_no_text out 'more process'
	"$mprof" profile -q -o profile -- sh -c "./pages 3; ./pages 0 $part; true"
	run "$mprof" report profile
	expect_words out " large (pages.c:9) allocated $(blocks $part) in $part large blocks: keep and reuse them."
	# Without a function, a profile has nothing that would show more.
	"$mprof" profile -q -o profile -- ./pages 1
	run "$mprof" report profile
	expect_no_text out 'mprof compare'
}

# Each program of a run has its own main.
test_findings_of_functions_with_one_name() {
	local n
	for n in one two; do
		cat >$n.c <<'END'
#include <stdlib.h>
#include <string.h>
int main(void)
{
	void *volatile p;
	for (int i = 0; i < 500; i++)
		memset(p = malloc(10000), 1, 10000);
	return !p;
}
END
		cc -g -O1 -fno-builtin -o $n $n.c || bad "$n.c does not compile"
	done
	run "$mprof" record -o log -- sh -c './one; ./two; true'
	run "$mprof" report log
	for n in one two; do
		expect_text out "mprof report leaks --function 'main ($n.c)' log"
	done
	run "$mprof" report leaks --function 'main (one.c)' log
	expect_words out '500 blocks were never freed'
	run "$mprof" record -o log -- ./one
	run "$mprof" report log
	expect_text out 'mprof report leaks --function main log'
}

# ---- installed libraries without source ----

# Its blocks belong to the line of the program that called it, with all their stacks in one finding,
# but not what it does on its own while it waits for events.
test_findings_of_an_installed_library() {
	mkdir -p miniconda3/lib secondary
	cat >gui.c <<'END'
#include <stdlib.h>
#define PART __attribute__((noinline, noclone))
PART void *gui_rows(int n) { char *p = malloc(n); *p = 1; return p; }
PART void *gui_columns(int n) { char *p = malloc(n); *p = 2; return p; }
PART int gui_text(int n) { char *p = gui_rows(n), *q = gui_columns(n); return *p + *q; }
PART int gtk_main(int (*draw)(void))
{
	int sum = 0;
	for (int i = 0; i < 1000; i++) {
		char *p = gui_rows(100);
		sum += draw() + *p;
	}
	return sum;
}
END
	cat >user.c <<'END'
int gui_text(int n), gtk_main(int (*draw)(void));
static int draw(void)
{
	return gui_text(50);
}
int main(void)
{
	return gtk_main(draw) != 4000;
}
END
	cc -O1 -shared -fPIC -o miniconda3/lib/libgui.so gui.c
	cc -O0 -g -o user user.c miniconda3/lib/libgui.so
	report_of ./user
	expect_words out 'all 2,000 blocks allocated by draw (user.c:4), through gui_text [libgui.so].'
	expect_words out 'all 1,000 blocks allocated by gui_rows [libgui.so], reached from main (user.c:8).'
	expect_no_text out 'pool-site'
	run "$mprof" report leaks --by function --json log
	expect_same 'functions' "$(json out '[.rows[] | "\(.function) \(.figures.leaked)"] | sort | join(", ")')" 'draw 100000, gui_rows 100000'
	# Names of the program suffice, but not those of an installed one; and a library of its own.
	cc -O0 -o user user.c miniconda3/lib/libgui.so
	report_of ./user
	expect_words out 'all 2,000 blocks allocated by draw [user], through gui_text [libgui.so].'
	cp user miniconda3/user
	report_of miniconda3/user
	expect_words out 'blocks allocated by gui_rows [libgui.so]'
	expect_no_text out 'by draw'
	cc -O1 -shared -fPIC -o secondary/libgui.so gui.c
	cc -O0 -g -o user user.c secondary/libgui.so
	report_of ./user
	expect_words out 'blocks allocated by gui_columns [libgui.so], reached from draw (user.c:4)'
}

# What an interpreter does for a line of an extension may be in a function without a name, to which an
# exported one jumps.  What it does for itself is its own.
test_findings_of_an_extension() {
	mkdir -p usr/include
	cat >ruby.c <<'END'
#include <stdlib.h>
#define PART __attribute__((noinline, noclone))
static PART char *take(size_t n) { char *p = malloc(n); *p = 1; return p; }
void *ruby_xmalloc(size_t n) { return take(n); }
PART int ruby_run(char *(*work)(void))
{
	int sum = 0;
	for (int i = 0; i < 1000; i++) {
		char *p = take(100);
		sum += *work() + *p;
	}
	return sum;
}
END
	cat >usr/include/ruby.h <<'END'
void *ruby_xmalloc(unsigned long);
static inline __attribute__((always_inline)) void *rows(int n)
{
	return ruby_xmalloc(n * 10);
}
END
	cat >ext.c <<'END'
#include "usr/include/ruby.h"
int ruby_run(char *(*work)(void));
static char *work(void)
{
	char *p = ruby_xmalloc(50);
	return p;
}
static char *inner(void)
{
	char *p = rows(7);
	return p;
}
int main(void)
{
	return ruby_run(work) + ruby_run(inner) != 4000;
}
END
	cc -O2 -s -shared -fPIC -o libruby.so.9 ruby.c
	cc -O0 -g -o ext ext.c ./libruby.so.9
	report_of ./ext
	expect_words out 'all 1,000 blocks allocated by work (ext.c:5).'
	expect_words out 'all 1,000 blocks allocated by inner (ext.c:10)'
	expect_words out 'in 2,000 blocks) was allocated by libruby.so.9+'
	run "$mprof" report leaks --by function --json log
	expect_same functions "$(json out '[.rows[] | select(.function | contains("+") | not) |
		"\(.function) \(.figures.leaked)"] | sort | join(", ")')" 'inner 70000, work 50000'
	run "$mprof" report hot --json log
	expect_same stacks "$(json out '[.rows[].stack[-1].function | sub("[+].*"; "")] | sort | join(", ")')" 'inner, libruby.so.9, work'
}

# Where a thread of a package runs no line of a script, an allocator by its name is not what allocates.
test_findings_of_a_package_with_threads() {
	mkdir -p site-packages
	cat >rows.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#define PART __attribute__((noinline, noclone))
PART char *pool_allocate(int n) { char *p = malloc(n); *p = 1; return p; }
PART char *pool_rows(int n) { char *p = pool_allocate(n); *p = 2; return p; }
PART char *rows_allocated(int n) { char *p = pool_rows(n); *p = 3; return p; }
static void *work(void *arg)
{
	for (int i = 0; i < 2000; i++)
		*rows_allocated(1000) = 4;
	return arg;
}
void rows(void)
{
	pthread_t t;
	if (!pthread_create(&t, NULL, work, NULL))
		pthread_join(t, NULL);
}
END
	cc -O1 -fno-builtin -rdynamic -shared -fPIC -o site-packages/librows.so rows.c
	printf '%s\n' 'import ctypes' 'ctypes.CDLL("./site-packages/librows.so").rows()' >rows.py
	"$mprof" record --python -o log -- /usr/bin/python3 rows.py 2>/dev/null
	run "$mprof" report log
	expect_words out '2,000 blocks allocated by pool_rows [librows.so]'
	run "$mprof" report leaks --by function --json log
	expect_same 'functions' "$(json out '[.rows[] | select(.figures.leaked == 2000000) | .function] | join(", ")')" pool_rows
	run "$mprof" report leaks --function pool_rows log
	expect_text out '        pool_rows [librows.so]'
}

# ---- queues and caches without a limit ----

# A queue that is freed at exit does not leak, but a longer run would need more memory.
test_findings_of_growth_that_is_freed() {
	cat >queue.c <<'END'
#include <stdlib.h>
#include <unistd.h>
enum { N = 40 };
static char *queue[N];
static void push(int i) { *(queue[i] = malloc(100000)) = 1; }
int main(int argc, char **argv)
{
	for (int i = 0; i < N; i++) {
		if (argc != 2 || i < N / 2)
			push(i);
		usleep(argc > 2 ? 5000 : 80000);
	}
	for (int i = 0; i < N; i++)
		free(queue[i]);
	return !argv;
}
END
	compile queue
	report_with 'allocated by push (queue.c:5); this still grew' ./queue
	expect_words out 'before the end, and was freed only then'
	run "$mprof" report --json log
	expect_same 'growing_ns' "$(json out '.findings[] | select(.finding == "peak") | .growing_ns > 0 and .growing_ns < 1000000000')" true
	report_of ./queue early
	expect_no_text out 'still grew'
	run "$mprof" report --json log
	expect_same 'growing_ns' "$(json out '[.findings[] | select(.finding == "peak") | .growing_ns] | max')" 0
	report_of ./queue short run # many a program does so
	expect_no_text out 'still grew'
}

# What realloc adds in small steps is requested anew each time; the finding about the steps says it.
test_findings_of_small_steps() {
	cat >steps.c <<'END'
#include <stdlib.h>
static struct { int *of, n; } list;
static void push(int i)
{
	list.of = realloc(list.of, (list.n + 1) * sizeof(int));
	list.of[list.n++] = i;
}
int main(void)
{
	for (int i = 0; i < 20000; i++)
		push(i);
	free(list.of);
	return 0;
}
END
	compile steps
	report_of ./steps
	expect_words out 'would save 19,999 calls of realloc'
	expect_no_text out 'over the run'
}

# A program that works for long and hardly allocates gains nothing from fewer calls; it does from fewer large
# blocks, and what was not recorded while it worked is unknown.
test_findings_of_rare_calls() {
	cat >rare.c <<'END'
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	while (*how && clock() < CLOCKS_PER_SEC / 2)
		continue;
	if (!strcmp(how, "waits")) {
		close(creat("ready", 0600));
		while (access("go", F_OK))
			usleep(1000);
	}
	for (int i = 0; i < 150; i++)
		free(malloc(strcmp(how, "large") ? 10 : 100000));
	return 0;
}
END
	compile rare
	report_of ./rare
	expect_words out 'freed immediately: all 150 blocks'
	report_of ./rare long
	expect_no_text out 'Finding'
	report_of ./rare large
	expect_words out '150 blocks freed immediately'
	rm -f ready
	"$mprof" profile -q --paused -o p -- ./rare waits &
	wait_for test -e ready
	run "$mprof" ctl "$(pgrep -P $! -x rare)" resume
	touch go
	wait $!
	run "$mprof" report p
	expect_words out 'freed immediately: all 150 blocks'
}
