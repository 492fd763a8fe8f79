# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# names.sh - names in reports: with and without debug information, from another directory, of
# deleted files, and in the form that the user wants.

names_program() { # COMPILER OPTIONS...: records `prog`
	cat >prog.cc <<'END'
#include <cstdlib>
#include <vector>
namespace {
inline __attribute__((always_inline)) void *inlined(std::size_t n) { return std::malloc(n); }
__attribute__((noinline)) void *hidden(std::size_t n) { void *p = inlined(n); asm(""); return p; }
}
template <class T> struct Store {
	std::vector<T> v;
	__attribute__((noinline)) void put(const T &t) { v.push_back(t); asm(""); }
};
int main()
{
	Store<long> store;
	void *p = hidden(77777);
	store.put(1);
	asm volatile("" : : "r"(p));
	return 0;
}
END
	g++ -g -O2 -Wl,--build-id=sha1 "$@" -o prog prog.cc || bad "does not compile"
	run "$mprof" record -o log -- ./prog
	expect_status 0
	export XDG_CACHE_HOME=$PWD/cache
}

hot() { # OPTION...: the stacks of the program's own two calls
	run "$mprof" report hot "$@" log
	expect_status 0
}

expect_named() {
	expect_text out '(anonymous namespace)::inlined (prog.cc:4)'
	expect_text out '(anonymous namespace)::hidden (prog.cc:5)'
	expect_text out 'Store<...>::put (prog.cc:9)'
	expect_text out 'main (prog.cc:14)'
}

expect_nameless() {
	expect_no_text out hidden
	expect_no_text out 'put'
	expect_text out 'prog+0x'
}

test_names_in_every_form() {
	names_program
	hot
	expect_named
	hot --names full
	expect_text out 'Store<long>::put(long const&) (prog.cc:9)'
	hot --names raw
	expect_text out '_ZN5StoreIlE3putERKl (prog.cc:9)'
	expect_text out '_ZN12_GLOBAL__N_1' # and L from GCC 16 on
	expect_text out '6hiddenEm'
}

# -gz compresses the debug information; a damaged section costs its lines only.
test_names_with_compressed_debug_info() {
	local as at
	names_program
	mv prog plain
	for as in zlib zstd; do
		objcopy --compress-debug-sections=$as plain prog
		readelf -SW prog | grep -Eq '\.debug_info .* C ' || continue
		hot --no-symbol-cache
		expect_named
		at=$(readelf -SW prog | sed -n 's/.* \.debug_info *PROGBITS *[^ ]* *\([^ ]*\) .*/\1/p')
		printf '\377\377\377\377' | dd of=prog bs=1 seek=$((0x$at + 64)) conv=notrunc 2>/dev/null
		hot --no-symbol-cache
		expect_text out '(anonymous namespace)::hidden'
		expect_no_text out 'prog.cc'
	done
}

test_names_without_pie_or_debug_info() {
	names_program -no-pie -g0
	hot
	expect_text out '(anonymous namespace)::hidden'
	expect_text out 'Store<...>::put'
	expect_no_text out 'prog.cc'
}

# Recorded here, read on a machine that has the files elsewhere or not at all.
test_names_on_another_machine() {
	names_program
	objcopy --only-keep-debug prog prog.debug && strip prog &&
		objcopy --add-gnu-debuglink=prog.debug prog
	mkdir -p "root$PWD" "root/usr/lib/debug$PWD" symbols
	mv prog "root$PWD"
	mv prog.debug symbols
	hot --no-symbol-cache
	expect_nameless
	expect_text err "no names for '$PWD/prog': the file does not exist"
	hot --no-symbol-cache --sysroot root
	expect_nameless
	expect_text err 'stripped, and no debug file'
	hot --no-symbol-cache --sysroot root --debug-dir /none --debug-dir symbols
	expect_named
	mv symbols/prog.debug "root/usr/lib/debug$PWD"
	hot --no-symbol-cache --sysroot root
	expect_named
	[ ! -e cache ] || bad 'something was kept'
}

# Preloaded by hand where /proc is missing, as in a jail: the kernel passed the path of the program.
test_names_of_a_program_without_proc() {
	names_program
	unshare -rm sh -c 'mount -t tmpfs none /proc' 2>unshared || return 0
	local name
	for name in ./prog "$PWD/prog"; do
		rm -f log
		run unshare -rm sh -c "mount -t tmpfs none /proc
			MPROF_CONF='MODE=LogMmap LOG_PATH=%e.log' LD_PRELOAD='$build/libmprof.so' exec $name"
		expect_status 0
		mv prog.log log
		hot
		expect_named
		run "$mprof" report --json log
		expect_same program "$(json out '.processes[0].exe')" "$PWD/prog"
	done
}

# strip may leave only .debug_frame in a program; lines are then in its debug file.
test_names_beside_debug_frame() {
	cat >framed.c <<-'END'
		#include <stdlib.h>
		__attribute__((noipa)) static void *get(void) { return malloc(10); }
		int main(void) { return !get(); }
	END
	gcc -g -O0 -fno-omit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables -o framed framed.c || bad 'does not compile'
	objcopy --only-keep-debug framed framed.debug
	strip --keep-section=.debug_frame framed
	objcopy --add-gnu-debuglink=framed.debug framed
	run "$mprof" record -q -o log -- ./framed
	run "$mprof" report hot --no-symbol-cache log
	expect_text out 'get (framed.c:2)'
}

# Of a stripped object, three files are open; the soft limit is often too low for many of them.
test_names_of_many_objects() {
	local i
	cat >get.c <<-'END'
		#include <stdlib.h>
		void *get(void) { return malloc(10); }
	END
	cat >many.c <<-'END'
		#include <dlfcn.h>
		#include <stdio.h>
		int main(void)
		{
			char name[64];
			for (int i = 0; i < 100; i++) {
				snprintf(name, sizeof(name), "./get%d.so", i);
				((void *(*)(void))dlsym(dlopen(name, RTLD_NOW), "get"))();
			}
			return 0;
		}
	END
	gcc -g -O0 -shared -fPIC -o get.so get.c && gcc -g -o many many.c -ldl || bad 'does not compile'
	objcopy --only-keep-debug get.so get.debug
	strip get.so
	objcopy --add-gnu-debuglink=get.debug get.so
	for ((i = 0; i < 100; i++)); do cp get.so get$i.so; done
	run "$mprof" record -q -o log -- ./many
	ulimit -Sn 64
	run "$mprof" report hot --top 0 --no-symbol-cache log
	expect_same 'objects with lines' "$(grep -c 'get (get.c:2)' out)" 100
}

# Most machines have no debug file of libc, whose code that calls main and threads has no exported
# names, and programs of distributions are stripped: no stack shows how they were started.
test_names_without_those_of_libc() {
	cat >starts.c <<-'END'
		#include <pthread.h>
		#include <stdlib.h>
		static void *get(void *n)
		{
			return malloc(*(size_t *)n);
		}
		int main(void)
		{
			size_t of_thread = 12345, of_main = 54321;
			pthread_t t;

			return pthread_create(&t, NULL, get, &of_thread) || pthread_join(t, NULL) || !get(&of_main);
		}
	END
	gcc -g -O0 -o starts starts.c -lpthread || bad 'does not compile'
	local how
	for how in named stripped; do
		[ $how = named ] || strip starts
		rm -f log
		run "$mprof" record -q -o log -- ./starts
		run unshare -rm sh -c "mount -t tmpfs none /usr/lib/debug &&
			'$mprof' report hot --no-symbol-cache log"
		[ "$status" = 0 ] || { bad "$(cat err)"; return 0; }
		expect_text out 'for 12.1 KiB'
		expect_text out 'for 53.0 KiB'
		expect_no_text out 'libc.so.6+0x'
		expect_no_text err 'libc.so'
		hot --module libc.so.6
		expect_text out 'for 288 bytes'
		expect_no_text out 'for 12.1 KiB'
		expect_no_text out 'for 53.0 KiB'
	done
	expect_text out 'starts+0x'
	expect_no_text out '_start'
}

# Functions that end by jumping to a local one: the call in their caller names them.  Not if a library
# in between made the call, nor if callers meant different functions, or called the local one.
test_names_of_jumping_functions() {
	[ "$(uname -m)" = x86_64 ] || return 0
	cat >jumps.c <<-'END'
		#include <stdlib.h>
		static __attribute__((noinline)) void *local(long n) { void *p = malloc(n); __asm__(""); return p; }
		static __attribute__((noinline)) void *shared(long n) { void *p = malloc(n + 8); __asm__(""); return p; }
		void *jumps(long n) { return local(n); }
		void *one(long n) { return shared(n); }
		void *other(long n) { return shared(n); }
		static __attribute__((noinline)) void *both(long n) { void *p = malloc(n + 16); __asm__(""); return p; }
		void *first(long n) { return both(n); }
		int second(long n) { return !both(n); }
		int third(long n) { return !jumps(n); }
	END
	cat >between.c <<-'END'
		void *jumps(long);
		void *between(long n) { return jumps(n); }
	END
	cat >main.c <<-'END'
		void *jumps(long), *between(long), *one(long), *other(long), *first(long);
		int second(long), third(long);
		int main(int argc, char **argv)
		{
			char *all[4];
			if (argc > 1)
				return !(all[0] = between(44444));
			all[0] = jumps(11111), all[1] = one(22222), all[2] = other(22222);
			all[3] = first(33333);
			return !all[0] + !all[1] + !all[2] + !all[3] + second(33333) + third(11111);
		}
	END
	gcc -O2 -shared -fPIC -s -o libjumps.so jumps.c && gcc -O2 -shared -fPIC -s -o libbetween.so between.c ./libjumps.so &&
		gcc -g -o whole main.c ./libbetween.so ./libjumps.so &&
		gcc -g -fno-plt -Wl,-z,now -o direct main.c ./libbetween.so ./libjumps.so || bad 'does not compile'
	local program
	for program in whole direct; do
		"$mprof" record -q -o log -- ./$program
		hot --wrappers --no-symbol-cache
		expect_text out '        jumps [libjumps.so]'
		expect_no_text out 'one [libjumps.so]'
		expect_no_text out 'first [libjumps.so]'
		[ "$(grep -c 'jumps \[libjumps.so\]' out)" = 2 ] || bad "$(cat out)"
		expect_text out '        libjumps.so+0x'
		"$mprof" record -q -o log -- ./$program between
		hot --wrappers --no-symbol-cache
		expect_text out 43.4
		expect_text out '        libjumps.so+0x'
		expect_no_text out ' [lib'
	done
}

# Without its .dwo files, the lines of a program are those of inlined code in headers: they must not
# make a function look like a library's.  With them, later answers have all again.
test_names_without_split_dwarf() {
	cat >split.cc <<-'END'
		#include <memory>
		#include <vector>
		struct node { int of[20]; };
		static std::vector<std::unique_ptr<node>> all;
		[[gnu::noinline]] static void build(int n)
		{
			while (n--)
				all.push_back(std::make_unique<node>());
		}
		int main(int argc, char **)
		{
			build(1000 * argc);
			return 0;
		}
	END
	local version
	for version in 4 5; do
		rm -f log
		g++ -g -O2 -gdwarf-$version -gsplit-dwarf -Wl,--build-id=sha1 -o split split.cc
		run "$mprof" record -o log -- ./split
		mkdir away && mv ./*.dwo away
		run "$mprof" report hot --json log
		expect_same "$version: who allocates" "$(jq -r '.rows[0].stack[-1].function' out)" build
		expect_text err "no inlined functions and few lines for '$PWD/split': the .dwo files of -gsplit-dwarf are missing, such as '"
		: >split.dwp
		run "$mprof" report hot --no-symbol-cache log
		grep -qE "(libdw 0\.[0-9]+ cannot read|, also in) '$PWD/split.dwp'" err ||
			bad "$version: the package is not named: $(cat err)"
		rm split.dwp
		run "$mprof" report log
		expect_words out 'was allocated by build [split]'
		expect_words out 'No inlined functions and few lines for split: the .dwo files of -gsplit-dwarf are missing'
		expect_no_text out 'build with -g'
		mv away/* . && rmdir away
		run "$mprof" report hot --json log
		expect_same "$version: with the files" \
			"$(jq -r '.rows[0].stack[-1] | "\(.function) \(.line)"' out)" 'build 8'
		expect_no_text err split
		run "$mprof" report log
		expect_words out 'was allocated by build (split.cc:8)'
	done
}

# Several of them take one line, with the remedy.
test_names_of_stripped_objects() {
	names_program
	cp prog named
	strip prog
	cp prog other
	run "$mprof" record -o log -- sh -c './prog; ./other; ./named; true'
	hot --no-symbol-cache --top 100
	expect_one_line_error
	expect_text err 'only exported names for '
	expect_text err "'$PWD/prog'"
	expect_text err "'$PWD/other'"
	expect_text err ': they are stripped, and no debug files of their build-ids were found; install debug symbols (-dbgsym or -debuginfo packages), or add --debuginfod'
	# Only those of functions that are shown count.
	run "$mprof" report top-down --no-symbol-cache log
	expect_one_line_error
	expect_text err "'$PWD/prog'"
	run "$mprof" report callers '*hidden' --no-symbol-cache log
	expect_text out hidden
	expect_lines err 0
	run "$mprof" report annotate prog.cc --no-symbol-cache log
	expect_text out 'hidden(77777)'
	expect_lines err 0
	run "$mprof" diff --no-symbol-cache log log
	expect_one_line_error
	# A check that passes whatever the names are does not tell that they are missing.
	run "$mprof" check --no-symbol-cache --max-peak 1G log
	expect_lines err 0
	run "$mprof" check --no-symbol-cache --max-peak 1 log
	expect_one_line_error
	run "$mprof" check --no-symbol-cache --max-peak main=1G --allow-missing log
	expect_one_line_error
}

test_names_of_a_program_that_was_built_again() {
	names_program
	sed -i 's/hidden/changed/g; s/^int main/\n\n&/' prog.cc
	g++ -g -O2 -Wl,--build-id=sha1 -o prog prog.cc
	hot
	expect_nameless
	expect_no_text out changed
	expect_text err "no names for '$PWD/prog': the file has a different build-id"
}

# The loader lists each segment for itself if there are gaps between them, as in node.
test_names_of_a_program_with_gaps() {
	echo '#include <stdlib.h>
		static void *kept;
		int main(void) { kept = malloc(1000); return 0; }' >gaps.c
	for pie in pie no-pie; do
		compile gaps -$pie -Wl,-z,separate-code,-z,max-page-size=0x200000,--build-id=sha1
		run "$mprof" record -o log -- ./gaps
		compile gaps -$pie -Wl,--build-id=sha1
		run "$mprof" report hot log
		expect_text err "no names for '$PWD/gaps': the file has a different build-id"
	done
}

# A program that is nowhere but in memory: nobody can keep its file.
test_names_of_a_program_in_memory() {
	cat >memory.c <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int from = open("/proc/self/exe", O_RDONLY), to = memfd_create("copy", MFD_CLOEXEC);
	char *again[] = { "again", "again", NULL };
	if (argc > 1)
		return !malloc(100000);
	while (sendfile(to, from, NULL, 1 << 20) > 0)
		;
	fexecve(to, again, environ);
	return 1;
}
END
	compile memory
	report_of ./memory
	expect_words out 'No names for memfd:copy (deleted): it was a file in memory (memfd_create).'
	expect_no_text out 'Record it again'
}

# Nor of one that is mounted only while it runs.
test_names_of_an_appimage() {
	echo 'void *malloc(unsigned long); int main(void) { return !malloc(100000); }' >inside.c
	compile inside
	mkdir .mount_insideAbCdEf
	mv inside .mount_insideAbCdEf
	"$mprof" record -q -o log -- .mount_insideAbCdEf/inside
	rm -r .mount_insideAbCdEf
	run "$mprof" report log
	expect_words out 'No names for inside: it was in an AppImage, which is mounted only while it runs. Extract it (--appimage-extract), and record squashfs-root/AppRun.'
	expect_no_text out 'Record it again'
}

test_names_are_kept() {
	names_program
	hot
	expect_named
	rm prog
	hot
	expect_named
	expect_no_text err "$PWD/prog"
	find cache -type f -exec sh -c 'echo rubbish >>"$1"' - {} \;
	hot
	expect_nameless
}

test_names_as_the_user_wants_them() {
	names_program
	hot --rewrite 's/.*(Store).*/My\1/' --rewrite 's/^My/Our/' --stop-at '::hidden$'
	expect_text out '    OurStore (prog.cc:9)'
	expect_no_text out inlined
	expect_text out '(anonymous namespace)::hidden'
	for rule in 's/(/x/' 's/a/b' 'abc' 's/a/\1/'; do
		run "$mprof" report hot --rewrite "$rule" log
		expect_status 2
		expect_one_line_error
		expect_text err "'$rule'"
	done
	run "$mprof" report hot --stop-at '[' log
	expect_status 2
	expect_one_line_error
	for rule in '--stop-at=mian' '--rewrite=s/mian/x/'; do
		run "$mprof" report hot "$rule" log
		expect_status 0
		expect_text err "no function in 'log' matches '${rule#*=}' (--rewrite, --stop-at)"
	done
	run "$mprof" report hot --stop-at '^main$' --stop-at main log
	expect_no_text err matches
	# A renamed function has its new name in one of two traces.
	sed 's/hidden/shown/' prog.cc >new.cc
	g++ -g -O1 -o new new.cc
	"$mprof" record -o new.log -- ./new 2>err
	run "$mprof" diff --rewrite 's/shown/hidden/' log new.log
	expect_no_text err matches
	run "$mprof" diff --rewrite 's/mian/x/' log new.log
	expect_text err "no function in 'log' or 'new.log' matches 's/mian/x/'"
	[ "$(grep -c matches err)" = 1 ] || bad 'it tells it twice'
}

# Calls malloc from generated code and writes its name to a map: ./jit HOW [fork]
jit_source() {
	cat <<'END'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
/* push %rbp; mov %rsp,%rbp; mov %rdi,%rax; mov %rsi,%rdi; call *%rax; pop %rbp; ret */
static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7,
				      0xff, 0xd0, 0x5d, 0xc3 };
int main(int argc, char **argv)
{
	void *(*volatile call)(void *(*)(size_t), size_t);
	char path[64], *how = argv[1];
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FILE *map, *maps = fopen("maps", "a");
	if (argc > 2 && fork())
		return wait(NULL) < 0;
	memcpy(at, code, sizeof(code));
	call = at;
	for (int i = 0; i < 40; i++)
		((char *volatile)call(malloc, 1000))[0] = 1;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	unlink(path);
	fprintf(maps, "%s\n", path);
	fclose(maps);
	if (!strcmp(how, "link") && symlink("real.map", path))
		return 1;
	if (!strcmp(how, "fifo"))
		return mkfifo(path, 0600);
	map = fopen(strcmp(how, "link") ? path : "real.map", "w");
	if (!strcmp(how, "rubbish"))
		for (int i = 0; i < 300000; i++)
			fputc(i * 7919 >> 3, map);
	else if (!strcmp(how, "all"))
		fprintf(map, "0 ffffffffffffffff \033[31mred\nffffffffffffffff 7 no\n1 2\n\n");
	else
		fprintf(map, "1000 10 no\n%lx %zx older\n%lx %zx %s\n", (long)at, sizeof(code), (long)at,
			sizeof(code), !strcmp(how, "js") || !strcmp(how, "link") ?
			"JS:*work file:///x/app.js:7:3" : !strcmp(how, "py") ? "py::work:/x/app.py" :
			"void [x] C::work()");
	return fclose(map);
}
END
}

test_names_of_generated_code() {
	local how
	[ "$(uname -m)" = x86_64 ] || return 0
	jit_source >jit.c
	cc -g -O1 -fno-omit-frame-pointer -o jit jit.c || bad 'jit.c does not compile'
	for how in js py other rubbish all link fifo 'js fork'; do
		run "$mprof" record -o log -- ./jit $how
		expect_status 0
		# The names are in the trace, so it can be read elsewhere and later.
		xargs rm -f <maps
		run "$mprof" report peak log
		expect_status 0
		case $how in
		js*) expect_text out 'work (app.js:7)' ;;
		py) expect_text out 'work (app.py)' ;;
		other) expect_text out 'C::work' '[generated code]' ;;
		all) expect_text out '?[31mred' ;;
		*) expect_no_text out work ;;
		esac
		expect_no_text out older
	done
	run "$mprof" record --anonymous -o log -- ./jit js
	run "$mprof" report peak log
	expect_no_text out app.js
	xargs rm -f <maps
}

# mprof was killed, so the names are still in the map; then another process got the PID.
test_names_of_generated_code_of_a_reused_pid() {
	local killed other of
	[ "$(uname -m)" = x86_64 ] || return 0
	jit_source >jit.c
	cc -g -O1 -fno-omit-frame-pointer -o jit jit.c || bad 'jit.c does not compile'
	"$mprof" record -q -o log -- sh -c './jit js; echo $$ >ready; exec sleep 1000' 2>err &
	killed=$!
	wait_for test -s ready
	kill -9 $killed
	wait $killed 2>/dev/null
	run "$mprof" report peak log
	expect_text out 'work (app.js:7)'
	sleep 1000 &
	other=$!
	of=$(sed 's/.*-//; s/[.]map//' maps)
	mv "$(cat maps)" "/tmp/perf-$other.map"
	perl -e 'open(F, "+<", "log"); binmode F; read(F, $h, 16); $size = unpack("x12 V", $h);
		seek(F, 0, 0); read(F, $h, $size);
		for ($i = $size - 896 * 64; $i < $size; $i += 64) {
			next if unpack("x4 V", substr($h, $i, 64)) != $ARGV[0];
			seek(F, $i + 4, 0); print F pack("V", $ARGV[1]);
		}' "$of" "$other"
	run "$mprof" report peak log
	expect_no_text out 'work (app.js:7)'
	expect_text out 'main (jit.c:'
	kill "$other" "$(cat ready)"
	wait "$other" 2>/dev/null
	run "$mprof" report peak log
	expect_text out 'work (app.js:7)'
	# A process that cannot read /proc does not know when it started.
	mv "/tmp/perf-$other.map" "/tmp/perf-$BASHPID.map"
	perl -e 'open(F, "+<", "log"); binmode F; read(F, $h, 16); $size = unpack("x12 V", $h);
		seek(F, 0, 0); read(F, $h, $size);
		for ($i = $size - 896 * 64; $i < $size; $i += 64) {
			next if unpack("x4 V", substr($h, $i, 64)) != $ARGV[0];
			seek(F, $i + 4, 0); print F pack("V Q", $ARGV[1], 0);
		}' "$other" "$BASHPID"
	run "$mprof" report peak log
	mv "/tmp/perf-$BASHPID.map" "/tmp/perf-$other.map"
	expect_text out 'work (app.js:7)'
	rm -f "/tmp/perf-$other.map"
}

# One file may be several programs: each has the name it was run by, from any directory.
# Two parts of a program, each compiled in its own directory, have a file of the same relative path.
test_names_of_relative_files() {
	mkdir -p a/src b/src
	printf '#include <stdlib.h>\nvoid *of_a(void) { return malloc(1000); }\n' >a/src/util.c
	printf '#include <stdlib.h>\n\nvoid *of_b(void) { return malloc(2000); }\n' >b/src/util.c
	printf 'void *of_a(void), *of_b(void);\nint main(void) { return !of_a() || !of_b(); }\n' >main.c
	for i in a b; do
		(cd $i && cc -g -O0 -c src/util.c) || bad 'does not compile'
	done
	cc -o prog main.c a/util.o b/util.o
	"$mprof" record -q -o log -- ./prog
	run "$mprof" report annotate --sort total util.c log
	expect_status 0
	grep -Eq '^ *1,000 bytes .* void \*of_a\(void\)' out && grep -Eq '^ *2.0 KiB .* void \*of_b\(void\)' out ||
		bad "sources: $(cat out)"
	run "$mprof" report hot --json log
	expect_same files "$(json out '[.rows[].stack[-1].file] | sort | join(" ")')" "$PWD/a/src/util.c $PWD/b/src/util.c"
}

# Compilers give an instruction that is part of several lines the line 0, and the file of any.
test_names_of_code_without_a_line() {
	command -v clang >/dev/null || return 0
	cat >own.c <<'END_OF_SOURCE'
void *malloc(unsigned long);
__attribute__((noinline)) static char *keep(int n) { char *p = malloc(n); p[0] = 1; return p + 1; }
int main(void) { return keep(5) == 0; }
END_OF_SOURCE
	clang -g -O1 -fno-builtin -S own.c
	sed -E 's/^\t(callq?|bl)\tmalloc/\t.file 1 "\/other" "other.h"\n\t.loc 1 0 0\n&/' own.s >other.s
	clang -o own other.s 2>err || bad "does not compile: $(cat err)"
	"$mprof" record -q -o log -- ./own
	run "$mprof" report leaks log
	expect_text out 'keep (own.c)'
}

# clang calls the bodies of parallel regions .omp_outlined._debug__ and the like.
test_names_of_parallel_regions() {
	command -v clang++ >/dev/null || return 0
	cat >own.cc <<'END_OF_SOURCE'
#include <stdlib.h>
extern "C" void __kmpc_fork_call(void *, int, void (*body)(int *, int *), ...) { int i = 0; body(&i, &i); }
void *kept[9];
void earlier() { kept[8] = 0; }
struct box { void fill(); void other() {} };
void box::fill() {
#pragma omp parallel
	kept[0] = malloc(5000);
}
template <class T> void each() {
#pragma omp parallel
	kept[sizeof(T)] = malloc(sizeof(T) * 10000);
}
extern "C" void plain() {
#pragma omp parallel
	kept[3] = malloc(2000);
}
int main() { box().fill(); earlier(); each<char>(); each<short>(); plain(); }
END_OF_SOURCE
	clang++ -g -fopenmp -fno-builtin -c own.cc && clang++ -o own own.o || bad 'does not compile'
	"$mprof" record -q -o log -- ./own
	run "$mprof" report leaks --json log
	# From LLVM 17 on, the body's own name tells the instance of the template.
	expect_same functions "$(json out '[.rows[].stack[-1].function | sub("^each<...>$"; "each.omp_outlined")] |
		unique | join(" ")')" 'box::fill each.omp_outlined plain.omp_outlined'
}

test_names_of_a_link() {
	names_program -s
	ln -s prog linked
	mkdir below
	run "$mprof" record -o log -- ./linked
	expect_status 0
	run "$mprof" report --json log
	expect_same 'by a link' "$(json out '.processes[0].programs[].exe')" "$PWD/linked"
	hot
	expect_text out 'linked+0x'
	expect_no_text out 'prog'
	(cd below && "$mprof" record -q -o ../log -- ../linked)
	run "$mprof" report --json log
	expect_same 'from below' "$(json out '.processes[0].programs[].exe')" "$PWD/below/../linked"
	run "$mprof" record -o log -- sh -c 'exec "$0"' ./prog
	run "$mprof" report --json log
	expect_same 'the shell' "$(json out '.processes[0].programs[0].exe | split("/") | last')" sh
	expect_same 'no link' "$(json out '.processes[0].programs[1].exe')" "$PWD/prog"
}

# The code to which a signal handler returns has no symbol in libc, not even in its debug symbols.
test_names_say_that_a_handler_was_called() {
	[ "$(uname -m)" = x86_64 ] || return 0
	cat >handled.c <<'END'
#include <signal.h>
#include <stdlib.h>
static void *volatile kept;
static void handler(int number) { kept = malloc(number + 100); }
int main(void) { signal(SIGUSR1, handler); raise(SIGUSR1); return 0; }
END
	compile handled
	report_of ./handled
	run "$mprof" report leaks --function '[signal handler called]' log
	expect_text out 'handler (handled.c:4)'
	grep -A1 'handler (handled.c:4)' out | grep -qF '[signal handler called] [libc.so.6]' || bad "$(cat out)"
}

# Methods of Objective-C have their names in the source, also where commands take them.
test_methods_of_objective_c() {
	local method='-[Store add:withName:]'
	cat >store.c <<'END'
#include <stdlib.h>
void *kept[2000];
__attribute__((noinline)) void _i_Store__add_withName_(int i) { kept[i] = malloc(1000 + i); }
__attribute__((noinline)) void _c_Store_Cache_fill(void)
{
	for (int i = 0; i < 2000; i++)
		_i_Store__add_withName_(i);
}
int main(void) { _c_Store_Cache_fill(); }
END
	cc -g -O1 -o store store.c || bad 'store.c does not compile'
	"$mprof" record -q -o log -- ./store || bad 'store cannot be recorded'
	run "$mprof" report log
	expect_words out "allocated by $method (store.c:3)"
	grep -o 'mprof report leaks .*' out >command || bad 'no command'
	run sh -c "PATH=$build:\$PATH; $(cat command)"
	expect_status 0
	expect_text out '2,000 blocks'
	run "$mprof" report callers "$method" log
	expect_status 0
	expect_text out '+[Store(Cache) fill] (store.c)'
	run "$mprof" report callers '-\[Store*' log
	expect_status 0
	run "$mprof" report peak --function="$method" log
	expect_text out "$method (store.c:3)"
	run "$mprof" report -x
	expect_text err "unknown option '-x'"
}

# An '@' in a Crystal name does not begin a symbol version.
test_methods_of_crystal() {
	cat >prog.c <<'END'
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) void *resize(int n) { return memset(malloc(n), 1, n); }
int main(void) { return !resize(1000); }
END
	gcc -O1 -c prog.c &&
		objcopy --redefine-sym 'resize=*Hash(String, Int32)@Hash(K, V)#resize<Int32>:Nil' prog.o &&
		gcc -o prog prog.o || bad "does not compile"
	run "$mprof" record -o log -- ./prog
	run "$mprof" report hot log
	expect_text out 'Hash(...)#resize [prog]'
	run "$mprof" report hot --names full log
	expect_text out 'Hash(String, Int32)#resize<Int32>:Nil [prog]'
}
