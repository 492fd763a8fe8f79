# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# wrap.sh - --wrap and --wrap-prefix: allocation functions of the program's own.

# libmy.so: my_* over malloc, with a header before each block; je_*, all functions, over mmap: blocks
# of any size one after the other.
wrap_libraries() {
	cat >my.c <<'END'
#include <stdlib.h>
#include <string.h>
void *my_malloc(size_t n)
{
	size_t *p = malloc(n + 32);
	if (!p)
		return NULL;
	*p = n;
	return p + 4;
}
void my_free(void *p)
{
	if (p)
		free((size_t *)p - 4);
}
void *my_calloc(size_t n, size_t size)
{
	void *p = my_malloc(n * size);
	return p ? memset(p, 0, n * size) : p;
}
void *my_realloc(void *p, size_t n)
{
	size_t had = p ? ((size_t *)p)[-4] : 0;
	void *q = n ? my_malloc(n) : NULL;
	if (q && p)
		memcpy(q, p, had < n ? had : n);
	if (q || !n)
		my_free(p);
	return q;
}
END
	cat >je.c <<'END'
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#define POOL (64u << 20)
static char *_Atomic pool;
static atomic_size_t used;
static void *take(size_t align, size_t n)
{
	char *none = NULL, *p;
	size_t at;
	if (!pool) {
		p = mmap(NULL, POOL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (!atomic_compare_exchange_strong(&pool, &none, p))
			munmap(p, POOL);
	}
	if (n > POOL / 4)
		return errno = ENOMEM, NULL;
	at = atomic_fetch_add(&used, (n + 8 + align + 15) & ~15ul);
	p = (char *)(((size_t)pool + at + 8 + align - 1) & -align);
	memcpy(p - 8, &n, 8);
	return p;
}
void *je_malloc(size_t n) { return take(8, n); }
void *je_calloc(size_t n, size_t size) { return take(8, n * size); }
void *je_memalign(size_t align, size_t n) { return take(align, n); }
void *je_aligned_alloc(size_t align, size_t n) { return take(align, n); }
void *je_valloc(size_t n) { return take(4096, n); }
void *je_pvalloc(size_t n) { return take(4096, (n + 4095) & ~4095ul); }
int je_posix_memalign(void **out, size_t align, size_t n)
{
	void *p = take(align, n);
	if (p)
		*out = p;
	return p ? 0 : ENOMEM;
}
void *je_realloc(void *p, size_t n)
{
	size_t had;
	void *q = take(8, n);
	if (!q || !p)
		return q;
	memcpy(&had, (char *)p - 8, 8);
	return memcpy(q, p, had < n ? had : n);
}
void je_free(void *p) { (void)p; }
END
	cc -g -O1 -fPIC -shared -o libmy.so my.c && cc -g -O1 -fPIC -shared -o libje.so je.c ||
		bad 'the libraries do not compile'
}

wrap_program() { # NAME: of NAME.c
	cc -g -O1 -fno-inline -fno-builtin -o "$1" "$1.c" -L. -lmy -lje -Wl,-rpath,"$PWD" -lpthread -ldl ||
		bad "$1.c does not compile"
}

wrap_my='malloc:my_malloc,free:my_free,calloc:my_calloc,realloc:my_realloc'

my_program() {
	wrap_libraries
	cat >uses.c <<'END'
#include <stdlib.h>
void *my_malloc(size_t), *my_calloc(size_t, size_t), *my_realloc(void *, size_t);
void my_free(void *);
static void *keep[1000];
static void work(void)
{
	for (int i = 0; i < 1000; i++)
		keep[i] = my_malloc(100);
	for (int i = 0; i < 600; i++)
		my_free(keep[i]);
}
static void more(void)
{
	void *p = my_calloc(10, 50);
	p = my_realloc(p, 700);
	keep[0] = my_realloc(p, 2000);
	my_realloc(my_realloc(NULL, 30), 0);
	free(malloc(7));
}
int main(void)
{
	work();
	more();
	return 0;
}
END
	wrap_program uses
}

# The figures of a function, in a trace or a profile: calls, bytes, bytes that are never freed.
wrap_figures() { # FILE FUNCTION
	"$mprof" report hot --by function --json --top 0 "$1" 2>err | jq -r --arg f "$2" '[.rows[] |
		select(.function == $f) | .figures] | [map(.calls), map(.total), map(.live)] |
		map(add) | map(tostring) | join(" ")'
}

# Calls, bytes, live blocks and bytes of all.
wrap_totals() { # FILE
	"$mprof" report hot --json "$1" 2>err | jq -r '.total | [.figures.calls, .figures.total, .blocks.live,
		.figures.live] | map(tostring) | join(" ")'
}

# A function that takes a pool before the size: wrapped as malloc, the pool would be the size.
test_wrap_of_a_pool_and_a_size() {
	cat >pool.c <<'END'
#include <stdlib.h>
void *pool_alloc(void *pool, size_t n) { return pool ? malloc(n) : NULL; }
END
	cat >uses.c <<'END'
#include <stdlib.h>
void *pool_alloc(void *pool, size_t n);
int main(void)
{
	char *pool = malloc(10), *p = NULL;
	for (int i = 0; i < 20; i++)
		p = pool_alloc(pool, 1000);
	return p == NULL;
}
END
	cc -g -O1 -fPIC -shared -o libpool.so pool.c || bad 'pool.c does not compile'
	cc -g -O1 -o uses uses.c -L. -lpool -Wl,-rpath,"$PWD" || bad 'uses.c does not compile'
	run "$mprof" record --wrap malloc:pool_alloc -o log -- ./uses
	run "$mprof" report log
	expect_words out 'More bytes were live than a program can address. A function that --wrap names may take its size second, as in pool_alloc(pool, size): then use memalign:FUNCTION.'
	run "$mprof" record --wrap memalign:pool_alloc -o log -- ./uses
	run "$mprof" report log
	expect_no_text out 'can address'
	expect_words out '19.5 KiB was never freed'
}

# Any 8 bytes may begin a block of such a pool, but most do not: the table of live blocks is smaller
# than large blocks.
test_wrap_of_large_blocks_takes_little_memory() {
	cat >pool.c <<'END'
#include <stdlib.h>
static char *at, *end;
void *pool_alloc(size_t n)
{
	char *p;
	if ((size_t)(end - at) < n)
		end = (at = malloc(1 << 20)) + (1 << 20);
	p = at;
	at += n;
	return p;
}
END
	cat >uses.c <<'END'
#include <stdlib.h>
void *pool_alloc(size_t n);
int main(void)
{
	for (int i = 0; i < 20000; i++)
		if (!pool_alloc(1024))
			return 1;
	return 0;
}
END
	cc -g -O1 -fPIC -shared -o libpool.so pool.c || bad 'pool.c does not compile'
	cc -g -O1 -o uses uses.c -L. -lpool -Wl,-rpath,"$PWD" || bad 'uses.c does not compile'
	"$mprof" profile -q -o log --wrap malloc:pool_alloc -- ./uses
	expect_same blocks "$(wrap_totals log)" '20000 20480000 20000 20480000'
	run "$mprof" report --json log
	expect_same 'own memory' "$(json out '.processes[0].self_bytes < 10000000')" true
}

report_of_pool() { # COMMAND...
	"$mprof" record -o log --wrap malloc:pool_alloc -- "$@" 2>/dev/null
	run "$mprof" report log
}

# What a pool maps for blocks that are recorded is not memory outside malloc.
test_wrap_pool_that_maps() {
	cat >pool.c <<'END'
#include <stddef.h>
#include <sys/mman.h>
static char *at, *end;
void *pool_alloc(size_t n)
{
	if ((size_t)(end - at) < n) {
		at = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		end = at + (1 << 20);
	}
	at += n;
	return at - n;
}
END
	cat >use.c <<'END'
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
void *pool_alloc(size_t);
int main(int argc, char **argv)
{
	size_t n = (size_t)(argc - 1) << 20;
	(void)argv;
	for (int i = 0; i < 20 * 1024; i++)
		memset(pool_alloc(1024), 1, 1024);
	if (n)
		memset(mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, n);
	for (int i = 0; i < 5; i++, usleep(2000))
		pool_alloc(1);
	return 0;
}
END
	cc -g -O1 -fPIC -shared -o libpool.so pool.c
	# shellcheck disable=SC2016
	cc -g -O1 -o use use.c -L. -lpool -Wl,-rpath,'$ORIGIN'
	again_until 'has_words out "did not come from malloc"' report_of ./use
	expect_words out 'did not come from malloc'
	report_of_pool ./use
	expect_no_text out ' did not come'
	# The blocks come long after the mapping, so no event but theirs is near them.
	cat >whole.c <<'END'
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
static char *at;
void *pool_alloc(size_t n)
{
	if (!at) {
		at = mmap(NULL, 24 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(at, 1, 24 << 20);
		rest(200);
	}
	at += n;
	return at - n;
}
END
	mkdir whole
	cc -g -O1 -fPIC -shared -include "$here/rest.h" -o whole/libpool.so whole.c
	echo 'void *pool_alloc(unsigned long);
		int main(void) { for (int i = 0; i < 200; i++) pool_alloc(100000); rest(200); return !pool_alloc(1); }' >few.c
	# shellcheck disable=SC2016
	cc -g -O1 -include "$here/rest.h" -o whole/use few.c -Lwhole -lpool -Wl,-rpath,'$ORIGIN'
	again_until 'has_words out "did not come from malloc"' report_of whole/use
	expect_words out 'did not come from malloc'
	report_of_pool whole/use
	expect_no_text out ' did not come'
	# Other mappings count, as before.
	# shellcheck disable=SC2046
	again_until 'has_words out "did not come from malloc"' report_of_pool ./use $(seq 40)
	expect_words out 'mapped by main (use.c:13)'
}

test_wrap_functions_over_malloc() {
	local file
	my_program
	run "$mprof" record -q --wrap malloc:my_malloc,free:my_free --wrap calloc:my_calloc,realloc:my_realloc -o t ./uses
	expect_status 0
	expect_lines err 0
	run "$mprof" profile -q --wrap "$wrap_my" -o p ./uses
	expect_status 0
	expect_lines err 0
	# The library's own malloc is not counted again, and the stack begins in the program.
	for file in t p; do
		expect_same "all of $file" "$(wrap_totals $file)" '1005 103237 401 42000'
		expect_same "work in $file" "$(wrap_figures $file work)" '1000 100000 40000'
		expect_same "more in $file" "$(wrap_figures $file more)" '5 3237 2000'
		run "$mprof" export --to folded $file
		expect_status 0
		expect_text out ';main;work '
		expect_no_text out my_malloc
	done
	# Also with an unwinder that does not leave frames of the library out.
	run "$mprof" profile -q --unwind fp --depth 1 --wrap "$wrap_my" -o d ./uses
	expect_same 'one frame' "$(wrap_figures d work)" '1000 100000 40000'
	run "$mprof" dump t
	expect_same 'calls of the trace' "$(awk '{ n[$4]++ } END { print n["malloc"], n["calloc"], n["realloc"], n["free"] }' out)" \
		'1001 1 4 601'
	run "$mprof" -m Count --set file:COUNTS_PATH=c --wrap "$wrap_my" ./uses
	expect_status 0
	run "$mprof" counts --json c
	expect_same 'counted calls' "$(json out '.calls | [.malloc, .calloc, .realloc, .free] | map(tostring) | join(" ")')" \
		'1001 1 4 601'
	run "$mprof" profile -q --sample-calls 1 --wrap "$wrap_my" -o s ./uses
	expect_status 0
	expect_same 'each call a sample' "$(wrap_figures s work)" '1000 100000 40000'
	run "$mprof" -t ./uses -c c2 -l t2 --only uses --wrap "$wrap_my" -q
	expect_status 0
	expect_no_text err 'run 1 of 2'
	expect_same 'the second run' "$(wrap_totals t2)" '1005 103237 401 42000'
	expect_same 'the first run' "$("$mprof" counts --json c2 | jq .calls.malloc)" 1001
	run "$mprof" -t ./uses --show-config
	expect_status 2
	expect_one_line_error
	run "$mprof" -m Guard --set file:GUARD_PATH=g --wrap "$wrap_my" ./uses
	expect_status 0
}

# malloc's blocks freed by a wrapped function, and the reverse: they are the same blocks.
test_wrap_blocks_of_malloc_itself() {
	local file
	mkdir lib
	cat >lib/x.c <<'END'
#include <stdlib.h>
void *xmalloc(size_t n) { return malloc(n); }
void xfree(void *p) { free(p); }
END
	cc -g -O1 -fPIC -shared -o lib/libx.so lib/x.c
	cat >mixed.c <<'END'
#include <stdlib.h>
void *xmalloc(size_t);
void xfree(void *);
static void *keep(size_t n) { return xmalloc(n); }
int main(void)
{
	for (int i = 0; i < 100; i++) {
		free(keep(i % 2 ? 64 : 64000));
		xfree(malloc(i % 2 ? 48 : 48000));
	}
	keep(5);
	return 0;
}
END
	cc -g -O1 -fno-inline -fno-builtin -o mixed mixed.c -Llib -lx -Wl,-rpath,"$PWD/lib"
	run "$mprof" record -q --wrap malloc:xmalloc,free:xfree -o t ./mixed
	expect_status 0
	run "$mprof" profile -q --wrap malloc:xmalloc,free:xfree -o p ./mixed
	expect_status 0
	for file in t p; do
		expect_same "all of $file" "$(wrap_totals $file)" '201 5605605 1 5'
	done
}

test_wrap_prefix_of_a_pool() {
	local file i
	wrap_libraries
	cat >pool.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
void *je_malloc(size_t), *je_calloc(size_t, size_t), *je_realloc(void *, size_t);
void *je_memalign(size_t, size_t), *je_aligned_alloc(size_t, size_t), *je_valloc(size_t), *je_pvalloc(size_t);
int je_posix_memalign(void **, size_t, size_t);
void je_free(void *);
static void *each(void *unused)
{
	for (int i = 0; i < 1000; i++) {
		void *p = je_malloc(i % 7 ? 24 : 3000);
		if (i % 4)
			je_free(p);
	}
	return unused;
}
static void all(void)
{
	void *p = NULL;
	je_calloc(3, 100);
	je_memalign(64, 200);
	je_aligned_alloc(64, 300);
	je_valloc(400);
	je_pvalloc(500);
	je_posix_memalign(&p, 64, 600);
	p = je_realloc(p, 5000);
	if (je_malloc(1ul << 40))
		puts("too much");
	je_free(je_realloc(p, 7000));
}
int main(void)
{
	pthread_t t[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, each, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	all();
	return 0;
}
END
	wrap_program pool
	run "$mprof" record -q --wrap-prefix je_ -o t ./pool
	expect_status 0
	expect_lines out 0
	expect_lines err 0
	run "$mprof" profile -q --wrap-prefix je_ -o p ./pool
	expect_status 0
	# 143 of 1000 blocks are large; of the 250 that each thread keeps, 36.
	for file in t p; do
		expect_same "threads in $file" "$(wrap_figures $file each)" \
			"4000 $((4 * (857 * 24 + 143 * 3000))) $((4 * (214 * 24 + 36 * 3000)))"
		expect_same "all functions in $file" "$(wrap_figures $file all)" "8 14300 1700"
	done
	run "$mprof" dump t
	for i in calloc memalign aligned_alloc valloc pvalloc posix_memalign realloc; do
		expect_text out "	$i	"
	done
	run "$mprof" report --json t
	expect_same 'failed calls' "$(json out .failed_calls)" 1
}

# Forked children and programs after an exec; a plugin whose functions only it can see.
test_wrap_children_and_plugins() {
	my_program
	run "$mprof" profile -q --wrap "$wrap_my" -o p -- sh -c './uses; ./uses'
	expect_status 0
	expect_same 'two processes' "$(wrap_figures p work)" '2000 200000 80000'
	cat >forks.c <<'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
void *my_malloc(size_t);
static void *keep(void) { return my_malloc(10); }
int main(void)
{
	keep();
	if (!fork())
		return keep() == NULL;
	wait(NULL);
	keep();
	return 0;
}
END
	wrap_program forks
	run "$mprof" profile -q --wrap "$wrap_my" -o f ./forks
	expect_status 0
	expect_same 'a forked child' "$(wrap_figures f keep | cut -d' ' -f1)" 3
	cat >plugin.c <<'END'
#include <stddef.h>
void *my_malloc(size_t);
void *plug(void) { return my_malloc(77); }
END
	cc -g -O1 -fPIC -shared -o plugin.so plugin.c -L. -lmy -Wl,-rpath,"$PWD"
	cat >loads.c <<'END'
#include <dlfcn.h>
int main(void)
{
	void *(*plug)(void) = (void *(*)(void))dlsym(dlopen("./plugin.so", RTLD_NOW | RTLD_LOCAL), "plug");
	for (int i = 0; i < 10; i++)
		plug();
	return 0;
}
END
	cc -g -O1 -fno-builtin -o loads loads.c -ldl
	run "$mprof" profile -q --wrap malloc:my_malloc -o l ./loads
	expect_status 0
	expect_same 'a plugin' "$(wrap_figures l plug)" '10 770 770'
	# Nobody has the function: the program's test of a weak symbol says yes, and malloc serves.
	cat >weak.c <<'END'
#include <stdlib.h>
extern void *my_malloc(size_t) __attribute__((weak));
extern void my_free(void *) __attribute__((weak));
static void *keep(void) { return my_malloc ? my_malloc(50) : NULL; }
int main(void)
{
	keep();
	if (my_free)
		my_free(keep());
	return 0;
}
END
	cc -g -O1 -fno-inline -fno-builtin -o weak weak.c
	run "$mprof" profile -q --wrap "$wrap_my" -o w ./weak
	expect_status 0
}

test_wrap_leaves_quiet_by_a_jump() {
	cat >jump.c <<'END'
#include <setjmp.h>
#include <stdlib.h>
extern jmp_buf out;
void *my_malloc(size_t n)
{
	if (n == 13)
		longjmp(out, 1);
	return malloc(n);
}
END
	cat >jumps.c <<'END'
#include <setjmp.h>
#include <stdlib.h>
void *my_malloc(size_t);
jmp_buf out;
static void *keep(void) { return malloc(100); }
static void *mine(void) { return my_malloc(200); }
int main(void)
{
	for (volatile int i = 0; i < 5; i++)
		if (!setjmp(out))
			my_malloc(13);
	for (int i = 0; i < 10; i++)
		keep(), mine();
	return 0;
}
END
	cc -g -O1 -fPIC -shared -o libjump.so jump.c
	cc -g -O1 -fno-inline -fno-builtin -rdynamic -o jumps jumps.c -L. -ljump -Wl,-rpath,"$PWD"
	run "$mprof" profile -q --wrap malloc:my_malloc -o p ./jumps
	expect_status 0
	expect_same 'after the jumps' "$(wrap_figures p keep) $(wrap_figures p mine)" '10 1000 1000 10 2000 2000'
}

# Plugins are unloaded as without mprof, and the next one gets its own functions.
test_wrap_lets_plugins_go() {
	local i
	for i in 1 2; do
		cat >part.cc <<END
#include <stdio.h>
#include <stdlib.h>
extern "C" void *my_malloc(size_t n) { puts("my_malloc $i"); return malloc(n); }
extern "C" void *plug(void) { delete new int; return my_malloc(70); }
__attribute__((destructor)) static void unloaded(void) { puts("unloaded $i"); }
END
		g++ -g -O1 -fno-builtin -fPIC -shared -o part$i.so part.cc
	done
	cat >unloads.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
	for (int i = 0; i < 40; i++) {
		void *part = dlopen(i % 2 ? "./part2.so" : "./part1.so", RTLD_NOW | RTLD_LOCAL);
		((void *(*)(void))dlsym(part, "plug"))();
		dlclose(part);
	}
	puts("end");
	return 0;
}
END
	cc -g -O1 -o unloads unloads.c -ldl
	./unloads >native
	for i in '' '--wrap malloc:my_malloc'; do
		# shellcheck disable=SC2086
		run "$mprof" profile -q $i -o p ./unloads
		expect_status 0
		cmp native out || bad "with '$i' the program prints something else"
	done
	expect_same 'calls' "$("$mprof" report hot --by function --json p | jq '[.rows[] |
		select(.function == "plug") | .figures.calls] | add')" 40
}

# The process's first call jumps out, and later ones come from deeper down; threads end in one.
test_wrap_left_for_good() {
	cat >leave.c <<'END'
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
jmp_buf out;
void *my_malloc(size_t n)
{
	if (n == 13)
		longjmp(out, 1);
	if (n == 17)
		pthread_exit(NULL);
	return malloc(n);
}
END
	cat >leaves.c <<'END'
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
extern jmp_buf out;
void *my_malloc(size_t);
static void *deep(void)
{
	char frame[4000];
	memset(frame, 1, sizeof(frame));
	__asm__ volatile("" : : "r"(frame) : "memory");
	return malloc(100);
}
static void *thread(void *unused) { return my_malloc(17); }
int main(void)
{
	pthread_t t;
	if (!setjmp(out))
		my_malloc(13);
	for (int i = 0; i < 10; i++)
		deep();
	for (int i = 0; i < 5; i++)
		pthread_create(&t, NULL, thread, NULL), pthread_join(t, NULL);
	return 0;
}
END
	cc -g -O1 -fPIC -shared -o libleave.so leave.c -lpthread
	cc -g -O1 -fno-inline -fno-builtin -o leaves leaves.c -L. -lleave -Wl,-rpath,"$PWD" -lpthread
	run "$mprof" record -q --wrap malloc:my_malloc -o t ./leaves
	expect_status 0
	expect_same 'after the jump' "$(wrap_figures t deep)" '10 1000 1000'
	run "$mprof" dump --marks t
	expect_same 'ends of threads' "$(grep -c thread-end out)" 5
	run "$mprof" -m Count -q --set file:COUNTS_PATH=c --wrap malloc:my_malloc ./leaves
	expect_same 'counted' "$("$mprof" counts --json c | jq .calls.malloc)" 10
}

# A signal handler jumps out of each part of a wrapped call and of its recording.
test_wrap_left_by_a_handler() {
	cat >pool.c <<'END'
#include <stddef.h>
static char pool[1 << 20];
static size_t used;
void *my_malloc(size_t n) { return pool + (used = (used + 32) % sizeof(pool)); }
void my_free(void *p) { }
END
	cat >handler.c <<'END'
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
void *my_malloc(size_t), my_free(void *);
static sigjmp_buf out;
static volatile int ready, jumps;
static void *volatile kept;
static void on(int signal)
{
	if (ready) {
		ready = 0;
		siglongjmp(out, 1);
	}
}
static void keep(void) { kept = malloc(100000); }
int main(void)
{
	const struct itimerval often = { { 0, 300 }, { 0, 300 } };
	signal(SIGALRM, on);
	setitimer(ITIMER_REAL, &often, NULL);
	if (sigsetjmp(out, 1)) {
		if (++jumps > 400)
			return 0;
		keep();
	}
	ready = 1;
	for (;;)
		my_free(my_malloc(24));
}
END
	cc -g -O1 -fPIC -shared -o libpool.so pool.c
	cc -g -O1 -fno-inline -fno-builtin -o handler handler.c -L. -lpool -Wl,-rpath,"$PWD"
	run "$mprof" record -q --wrap malloc:my_malloc,free:my_free -o t ./handler
	expect_status 0
	expect_same 'after the jumps' "$(wrap_figures t keep)" '400 40000000 40000000'
}

# An object of an earlier run stays for programs that still run, and is replaced if damaged.
test_wrap_keeps_its_object() {
	local object
	my_program
	export XDG_CACHE_HOME=$PWD/cache
	run "$mprof" profile -q --wrap "$wrap_my" -o p ./uses
	object=$(echo cache/mprof/wrap/wrap-*)
	touch -d '5 hours ago' "$object"
	run "$mprof" profile -q --wrap malloc:other -o o true
	[ -s "$object" ] || bad 'the object of another run is removed'
	printf x | dd of="$object" bs=1 seek=300 conv=notrunc 2>err
	run "$mprof" profile -q --wrap "$wrap_my" -o p ./uses
	expect_status 0
	expect_same 'after the damage' "$(wrap_figures p work)" '1000 100000 40000'
	# Without libmprof.so, a program that calls none of the functions runs.
	run env LD_PRELOAD="$PWD/$object" true
	expect_status 0
	expect_lines err 0
}

test_wrap_says_what_it_cannot_see() {
	my_program
	run "$mprof" profile --wrap "$wrap_my,malloc:arena_alloc" --wrap-prefix je_ -o p ./uses
	expect_status 0
	expect_text err ' of malloc:arena_alloc, je_*: it sees only calls that the dynamic linker binds'
	expect_no_text err my_
	[ "$(id -u)" != 0 ] || expect_text err 'Or the process gave up privileges of root first'
	run "$mprof" profile --wrap "$wrap_my" -o p ./uses
	expect_no_text err ': it sees only calls'
}

test_wrap_mistakes() {
	local o words
	while IFS='|' read -r o words; do
		run "$mprof" record -o t "--$o" ./nothing
		expect_status 2
		expect_one_line_error
		expect_text err "$words"
	done <<'END'
wrap=my_malloc|invalid --wrap 'my_malloc': expected TYPE:FUNCTION
wrap=alloc:my_malloc|invalid --wrap 'alloc:my_malloc': expected TYPE:FUNCTION
wrap=malloc:|'malloc:': expected the name of a function after the colon
wrap=malloc:my malloc|'malloc:my malloc': expected the name of a function after the colon
wrap=malloc:malloc|'malloc' is always recorded; name a function of the program
wrap=malloc:a,free:a|'a' is named twice
wrap-prefix=|invalid --wrap-prefix '': expected the beginning of a function's name
wrap-prefix=1x|invalid --wrap-prefix '1x'
END
	run "$mprof" record -o t --set module:WRAP=x ./nothing
	expect_status 2
	expect_one_line_error
	run env XDG_CACHE_HOME=/proc/none "$mprof" record -o t --wrap malloc:my_malloc true
	expect_status 2
	expect_one_line_error
	expect_text err '--wrap cannot write a small library to the directory mprof/wrap in $XDG_CACHE_HOME or ~/.cache'
}
