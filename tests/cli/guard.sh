# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# guard.sh - MODE=Guard: heap errors, and programs without any.

guarded() { # [KEY=VALUE...] -- COMMAND...
	local conf=
	while [ "$1" != -- ]; do
		conf="$conf $1"
		shift
	done
	shift
	run env "MPROF_CONF=$conf" "$mprof" -m Guard -- "$@"
}

# guard_finds ERROR KIND OFFSET BYTES FOUND: one error, of a block of grow(), by that call.
guard_finds() {
	guarded -- "$build/preload/misuse" "$1"
	expect_status 3
	expect_same "$1: output" "$(cat out)" 'still here'
	"$mprof" report errors --json mprof.guard >answer || bad "no report of $1"
	expect_same "$1" "$(json answer '.rows[] | "\(.kind) \(.offset) \(.bytes) \(.found.function) \(.allocated.stack[-1].function) \(.allocated.function)"')" \
		"$2 $3 $4 $5 grow malloc"
	expect_same "$1: who made it" \
		"$(json answer "[.rows[0].allocated.stack[].function] | index(\"$6\") != null")" true
	expect_same "$1: complete" "$(json answer .incomplete)" false
}

test_guard_errors() {
	guard_finds overrun overrun 24 3 free overrun
	guard_finds beyond overrun 29 1 free beyond
	guard_finds underrun underrun -4 4 free underrun
	guard_finds exit overrun 24 1 null at_exit
	guard_finds realloc overrun 24 1 realloc at_realloc
	guard_finds twice double-free 0 0 free twice
	guard_finds realloc_freed double-free 0 0 realloc realloc_freed
	guard_finds moved_write write-after-free 7 1 null moved_write
	guard_finds moved_free double-free 0 0 free moved_free
	guard_finds freed_write write-after-free 7 1 null freed_write
	guard_finds inside inside-block 16 0 free inside
	guard_finds inside_large inside-block 200000 0 free inside_large
	guard_finds threads overrun 24 1 free in_thread
	guard_finds fork overrun 24 1 free forked
}

test_guard_stacks() {
	guarded -- "$build/preload/misuse" twice
	expect_text err '1. double free of the 24-byte block allocated by grow (misuse.c:'
	expect_text err 'Guard checked 1 block and found 1 error.'
	"$mprof" report errors --json mprof.guard >answer
	expect_same 'freed by' "$(json answer '.rows[0].freed.stack[-2:] | map(.function) | join(" ")')" 'twice drop'
	expect_documented errors_view answer
	guarded -- "$build/preload/misuse" moved_free
	expect_text err 'freed by realloc in thread 1:'
	guarded -- "$build/preload/misuse" threads
	expect_same 'threads' "$("$mprof" report errors --json mprof.guard |
		jq '.rows[0].allocated.thread != .rows[0].found.thread')" true
	guarded -- "$build/preload/misuse" overrun
	run "$mprof" report errors mprof.guard
	expect_status 0
	expect_words out 'heap overrun: 3 bytes written after the 24-byte block allocated by grow (misuse.c:'
	expect_text out 'written: 78 78 78  "xxx"'
	run "$mprof" report errors --depth 1 mprof.guard
	expect_text out '... and'
}

test_guard_foreign() {
	guarded -- "$build/preload/misuse" stack
	expect_status 3
	expect_text err 'never allocated: 0x'
	expect_text err 'on the stack'
	guarded -- "$build/preload/misuse" variable
	expect_text err 'in a variable or code of the program'
	guarded -- "$build/preload/misuse" unmapped
	expect_text err 'that is not mapped'
}

# Every function that returns blocks, alignments, C++.
test_guard_functions() {
	guarded -- "$build/preload/misuse" ways
	expect_status 3
	expect_same functions "$("$mprof" report errors --json mprof.guard |
		jq -r '[.rows[].allocated.function] | join(" ")')" \
		'malloc calloc realloc reallocarray aligned_alloc memalign valloc malloc'
	guarded -- "$build/preload/misuse" aligned
	expect_status 3
	expect_text err '4 times'
	guarded -- "$build/preload/misuse_cxx"
	expect_status 3
	expect_text err 'heap overrun: 2 bytes written after the 16-byte block allocated by shop::take'
	expect_text err 'heap overrun: 4 bytes written after the 20-byte block allocated by main'
	expect_text err 'and found 2 errors'
}

# Of functions that allocate and free a block; not in a program with operators of its own.
test_guard_mismatch() {
	local how kind
	cat >pairs.cc <<'END'
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>
#ifdef OWN
void *operator new(std::size_t n) { return std::malloc(n); }
#endif
struct alignas(64) wide { char byte[64]; };
struct whole { virtual ~whole() {} int x[5]; };
int main(int argc, char **argv)
{
	{
		std::vector<std::string> v(30, std::string(100, 'x'));
		auto shared = std::make_shared<wide>();
		delete[] new wide[3];
		delete[] new whole[3];
		delete new wide;
		delete new (std::nothrow) int;
		::operator delete(::operator new(9), std::size_t(9));
		free(realloc(malloc(9), 99));
		free(aligned_alloc(64, 64));
	}
	switch (argc > 1 ? argv[1][0] : 'n') {
	case 'a': free(new int[7]); break;
	case 'b': delete new int[8]; break;
	case 'c': delete (int *)malloc(9); break;
	case 'd': free(realloc(new int, 4000)); break;
	case 'e': delete[] new int; break;
	case 'f': delete[] (wide *)aligned_alloc(64, 128); break;
	case 'g': free(realloc(new char[200000], 400000)); break;
	}
	puts("still here");
	return 3;
}
END
	g++ -std=c++17 -g -O0 -w -fno-builtin -o pairs pairs.cc || bad 'pairs.cc does not compile'
	guarded -- ./pairs n
	expect_status 3
	expect_text err 'and found no error'
	while read -r how kind; do
		guarded -- ./pairs "$how"
		expect_status 3
		expect_same "$how: output" "$(cat out)" 'still here'
		"$mprof" report errors --json mprof.guard >answer
		expect_same "$how" "$(json answer '.rows[] | "\(.kind): \(.found.function) of \(.allocated.function), \(.found.stack[-1].function) \(.allocated.stack | map(.function) | index("main") != null)"')" \
			"mismatch: $kind, main true"
	done <<'END'
a free of operator new[]
b operator delete of operator new[]
c operator delete of malloc
d realloc of operator new
e operator delete[] of operator new
f operator delete[] of aligned_alloc
g realloc of operator new[]
END
	expect_documented errors_view answer
	expect_text err '1. mismatch: realloc instead of operator delete[] for the 200,000-byte block allocated by main (pairs.cc:'
	guarded GUARD_MATCH=0 -- ./pairs a
	expect_text err 'and found no error'
	g++ -DOWN -std=c++17 -g -O0 -w -fno-builtin -o own pairs.cc || bad 'own does not compile'
	guarded -- ./own a
	expect_text err 'and found no error'
	run env LD_PRELOAD="$build/libmprof.so" MPROF_CONF=MODE=Guard ./pairs a
	expect_text err 'mprof: free by a function that does not match, of the 28-byte block at 0x'
}

# Figures of a process that is killed, or calls exec by the system call, are those of that time.
test_guard_killed() {
	guarded -- "$build/preload/misuse" killed
	expect_status 137
	expect_text err 'Guard checked 1,000 blocks and found no error.'
	expect_text err 'mprof: 10 blocks were not checked: live when the process was killed or ended by a system call of its own (as Go does), or it still runs.'
	"$mprof" report errors --json mprof.guard >answer
	expect_same 'figures' "$(json answer '"\(.blocks) \(.freed) \(.unchecked) \(.errors)"')" '1000 990 10 0'
	guarded -- "$build/preload/misuse" exit
	expect_same 'all are checked at the end' "$("$mprof" report errors --json mprof.guard | jq .unchecked)" 0
	expect_no_text err 'not checked'
}

test_guard_many_errors() {
	guarded -- "$build/preload/misuse" many
	expect_text err '500 times'
	expect_text err 'found 1,000 errors'
	expect_text err '500 more were not recorded'
}

test_guard_keys() {
	guarded GUARD=abort -- "$build/preload/misuse" overrun
	expect_status 134
	expect_text err 'heap overrun: 3 bytes'
	expect_no_text out 'still here'
	guarded GUARD_BYTES=64 -- "$build/preload/misuse" underrun
	expect_text err 'heap underrun: 4 bytes written before'
	guarded GUARD_KEEP=0 -- "$build/preload/misuse" freed_write
	expect_status 3
	expect_text err 'found no error'
	guarded UNWIND=none -- "$build/preload/misuse" overrun
	expect_text err 'heap overrun: 3 bytes written after the 24-byte block'
	guarded GUARD=perhaps -- true
	expect_status 2
	expect_one_line_error
	guarded GUARD_PATH=other -- "$build/preload/misuse" overrun
	[ -s other ] || bad 'GUARD_PATH is not heeded'
}

# Preloaded without mprof: a line for each error, and the file.
test_guard_by_hand() {
	run env MPROF_CONF=MODE=Guard "LD_PRELOAD=$build/libmprof.so" "$build/preload/misuse" overrun
	expect_status 3
	expect_one_line_error
	expect_text err 'heap overrun'
	run "$mprof" report errors mprof.guard
	expect_text out '1. heap overrun: 3 bytes'
	run "$mprof" report mprof.guard
	expect_status 0
	expect_text out '1. heap overrun: 3 bytes'
	run "$mprof" report --html page.html mprof.guard
	expect_status 2
	expect_text err "'mprof.guard' is of MODE=Guard: expected mprof report errors mprof.guard"
	run "$mprof" report --json mprof.guard
	expect_same 'as JSON' "$(json out '.view, .errors')" $'errors\n1'
	"$mprof" compress mprof.guard 2>err || bad "not compressed: $(cat err)"
	run "$mprof" report mprof.guard
	expect_text out '1. heap overrun: 3 bytes'
}

guard_is_clean() { # COMMAND...
	local native=0
	"$@" >native 2>native.err </dev/null || native=$?
	guarded -- "$@"
	expect_status "$native"
	cmp -s native out || bad "$*: another output"
	expect_text err 'found no error'
}

test_guard_clean() {
	guard_is_clean "$build/preload/misuse" clean
	guarded INIT=SO_LOAD SO_PATH=libjemalloc.so.2 -- "$build/preload/misuse" clean
	expect_status 3
	expect_text err 'found no error'
	guarded INIT=SO_LOAD "SO_PATH=$build/preload/lib/tiny_alloc.so" -- "$build/preload/misuse" overrun
	expect_status 3
	expect_text err 'found 1 error'
	guard_is_clean "$build/preload/threads" 20 1000
	run "$mprof" -m Guard -q -- "$build/preload/threads" 2 100
	expect_lines err 0
}

# Recording has ended, so none of our system calls ends the program.
test_guard_in_a_sandbox() {
	run "$build/preload/misuse" sandbox
	expect_status 3
	guarded -- "$build/preload/misuse" sandbox
	expect_status 3
	expect_same output "$(cat out)" 'still here'
}

# libc does not know the address of a guarded block, and ends the program.
test_guard_of_a_deepbound_object() {
	printf '#include <stdlib.h>\nvoid drop(void *p) { free(p); }\n' >plug.c
	cat >host.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	void (*drop)(void *) = (void (*)(void *))dlsym(dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND), "drop");
	if (argc > 2)
		drop(malloc(300000));
	return 0;
}
END
	cc -shared -fPIC -fno-builtin -o plug.so plug.c && cc -o host host.c || bad 'host.c does not compile'
	run "$mprof" -m Guard ./host ./plug.so
	expect_status 0
	expect_text err 'calls of ./plug.so were not recorded' 'MODE=Guard does not fit this program: if that object frees a guarded block, libc ends the program'
	run "$mprof" -m Guard ./host ./plug.so free
	expect_text err 'MODE=Guard does not fit this program'
	run "$mprof" -m Guard true
	expect_no_text err 'does not fit'
}

# A trace that was not written by Guard says so.
test_guard_of_other_trace() {
	run "$mprof" record -o log -- true
	run "$mprof" report errors log
	expect_status 0
	expect_text out 'Guard checked nothing: no call was recorded with MODE=Guard'
}

test_guard_clean_programs() {
	echo 'int main(void) { return 0; }' >t.c
	echo 'int main() { auto f = [](auto x) { return x; }; return f(0); }' >t.cc
	git init -q repo && echo text >repo/file && git -C repo add file
	guard_is_clean python3 -c 'import json, re, sqlite3; print(len(json.dumps(list(range(20000)))))'
	PYTHONMALLOC=malloc guard_is_clean python3 -c 'import json; print(len(json.dumps([{}] * 9999)))'
	guard_is_clean perl -e 'my %h; $h{$_} = $_ for 1 .. 20000; print scalar keys %h'
	guard_is_clean gcc -O2 -c t.c -o t.o
	guard_is_clean g++ -O2 -c t.cc -o t.o
	guard_is_clean git -C repo diff --cached
	guard_is_clean sqlite3 :memory: 'create table t(a, b); with recursive c(x) as (select 1
		union all select x + 1 from c where x < 9999) insert into t select x, hex(x) from c;
		create index i on t(b); select count(*), sum(length(b)) from t;'
	guard_is_clean bash -c 'for i in 1 2 3; do echo $i | tr 1 2 | sort; done'
	if command -v node >node; then
		guard_is_clean node -e 'let a = []; for (let i = 0; i < 1e5; i++) a.push({ i }); console.log(a.length)'
	fi
	if command -v redis-server >redis; then
		guard_is_clean redis-server --version
	fi
}
