# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# python.sh - functions and lines of Python scripts in call stacks (--python).

# Sets python to the interpreter, not to a script that starts it. Returns 1 unless its version has lines.
python_found() {
	python=$(python3 -c 'import sys; print(sys.executable)')
	"$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))'
}

# A bytearray of n bytes takes n + 1: sizes that nothing else requests.
python_script() {
	cat >keep.py <<'END'
kept = []
def grow(n):
    for i in range(50):
        kept.append(bytearray(n))
class Store:
    def put(self):
        self.a = list(map(
            lambda i: bytearray(70001), range(40)))
def both():
    a = bytearray(80001)
    b = bytearray(80002)
    return a, b
def steps():
    for i in range(20):
        yield bytearray(60001)
def fails():
    try:
        raise ValueError(bytearray(60002))
    except ValueError as e:
        return len(e.args[0])
grow(100001)
Store().put()
for i in range(30): both()
print(sum(map(len, steps())), fails(), len(kept))
END
}

# expect_at BYTES CALLS PLACES: one stack allocates all blocks of this size; PLACES lists its functions, innermost first
expect_at() {
	"$mprof" report hot --size "$1" --json --top 0 log >said 2>err || bad "$(cat err)"
	expect_same "stacks of $1 bytes" "$(json said '.rows | length')" 1
	expect_same "calls of $1 bytes" "$(json said '.rows[0].figures.calls')" "$2"
	expect_same "lines of $1 bytes" \
		"$(json said '[.rows[0].stack[] | select(.file // "" | endswith(".py")) | "\(.function) \(.file | sub(".*/"; "")):\(.line)"] | reverse | join(", ")')" "$3"
}

# No process of LOG left its map of names, which may be those of another process by now.
expect_no_map() { # LOG
	local pid
	for pid in $("$mprof" report --json "$1" 2>err | jq '.processes[].pid'); do
		! grep -qs 'keep.py\|worker.py' "/tmp/perf-$pid.map" || bad "the map of process $pid stays"
	done
}

test_python_lines() {
	python_found || return 0
	python_script
	"$python" keep.py >native
	run "$mprof" record --python -o log -- "$python" keep.py
	expect_status 0
	expect_same 'what it prints' "$(cat out)" "$(cat native)"
	expect_at 100002 50 'grow keep.py:4, <module> keep.py:21'
	expect_at 70002 40 'Store.put.<locals>.<lambda> keep.py:8, Store.put keep.py:7, <module> keep.py:22'
	expect_at 80002 30 'both keep.py:10, <module> keep.py:23'
	expect_at 80003 30 'both keep.py:11, <module> keep.py:23'
	expect_at 60002 20 'steps keep.py:15, <module> keep.py:24'
	expect_at 60003 1 'fails keep.py:18, <module> keep.py:24'
	# The first screen names the line, and proposes nothing that a script cannot do.
	run "$mprof" report log
	expect_words out 'was allocated by grow (keep.py:4)'
	expect_no_text out --pool-site
	expect_no_text out 'record --python'
	# All functions of the interpreter.
	run "$mprof" report hot --size 100002 --wrappers log
	expect_text out PyEval
	# The map was only for mprof.
	expect_no_map log
	run "$mprof" record -o plain -- "$python" keep.py
	run "$mprof" report plain
	expect_words out 'mprof record --python shows'
}

# Functions of one name and first line: two lambdas, and texts that exec() runs, whose code and table
# of lines are where the last one's were.
test_python_same_names() {
	python_found || return 0
	cat >names.py <<'END'
def run(n):
    exec(compile('\n' * n + f'bytearray({271000 + n})', 'text.py', 'exec'))
pair = [lambda: bytearray(72001), lambda: len(
    bytearray(72002))]
for f in pair: f()
for n in range(60): run(n % 6)
END
	run "$mprof" record --python -o log -- "$python" names.py
	expect_status 0
	expect_at 72002 1 '<lambda> names.py:3, <module> names.py:5'
	expect_at 72003 1 '<lambda> names.py:4, <module> names.py:5'
	for n in 1 2 3 4 5 6; do
		"$mprof" report hot --size $((271000 + n)) --json --top 0 log >said 2>err || bad "$(cat err)"
		expect_same "lines of line $n" \
			"$(json said '[.rows[].stack[] | select(.file // "" | endswith("text.py")) | .line] | unique | join(" ")')" $n
	done
}

# The interpreter's allocator that checks what it frees is not that from which it took our hook's record.
test_python_checked_memory() {
	python_found || return 0
	echo 'print(sum(map(len, [bytes(n) for n in range(100)])))' >checked.py
	for allocator in debug malloc_debug; do
		run env PYTHONMALLOC=$allocator "$mprof" record --python -o log -- "$python" checked.py
		expect_status 0
	done
	run "$mprof" record --python -o log -- "$python" -I -X dev checked.py
	expect_status 0
}

# The interpreter's own names of functions, which refuse another way to evaluate them.
test_python_perf() {
	python_found || return 0
	cat >perf.py <<'END'
import os
os.remove(f'/tmp/perf-{os.getpid()}.map')
print(sum(range(10)))
END
	"$python" -X perf perf.py >native 2>&1 || return 0
	run "$mprof" record --python -o log -- "$python" -X perf perf.py
	expect_status 0
	expect_same 'what it prints' "$(cat out)" 45
}

# The script's own code may be the first that the interpreter runs.
test_python_alone() {
	python_found || return 0
	echo 'a = bytearray(70002)' >alone.py
	run "$mprof" record --python -o log -- "$python" -I -S alone.py
	expect_status 0
	expect_at 70003 1 '<module> alone.py:1'
	# Python's own allocator serves small objects otherwise.
	run "$mprof" replay --quick --reps 0 --no-heaps --allocator glibc log
	expect_words out 'with PYTHONMALLOC=malloc; without that'
	"$mprof" record -q -o plain -- "$python" -I -S alone.py
	run "$mprof" replay --quick --reps 0 --no-heaps --allocator glibc plain
	expect_no_text out PYTHONMALLOC
}

test_python_library_alone() {
	run env LD_PRELOAD="$build/libmprof_python.so" "$(type -P true)"
	expect_status 0
	expect_same 'what it says' "$(cat err)" ''
}

# As in a service of systemd with MemoryDenyWriteExecute.
test_python_without_writable_code() {
	python_found || return 0
	cat >deny.py <<'END'
import ctypes, os, sys
PR_SET_MDWE, MDWE_REFUSE_EXEC_GAIN = 65, 1
if ctypes.CDLL(None).prctl(PR_SET_MDWE, MDWE_REFUSE_EXEC_GAIN, 0, 0, 0):
    sys.exit(0)
os.execv(sys.argv[1], sys.argv[1:])
END
	echo 'a = bytearray(70002)' >alone.py
	run python3 deny.py "$mprof" record --python -o log -- "$python" -I -S alone.py
	expect_status 0
	[ -e log ] || return 0 # a kernel before 6.3
	expect_at 70003 1 '<module> alone.py:1'
}

# Where no file may grow, neither the map of names nor code in a file sends SIGXFSZ, which would end
# a program that embeds Python.
test_python_with_file_size_limit() {
	python_found || return 0
	cat >limit.py <<'END'
import ctypes, resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
ctypes.CDLL(None).prctl(65, 1, 0, 0, 0) # PR_SET_MDWE
before = resource.getrlimit(resource.RLIMIT_FSIZE)
for i in range(2500): # more than a chunk of stubs
    space = {}
    exec(f"def f{i}(): return {i}\ndef g{i}(): return {i}", space)
    space[f"f{i}"]()
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    space[f"g{i}"]()
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
with open("said", "w") as said:
    said.write("alive")
END
	run "$mprof" record --python -o log -- "$python" -S limit.py
	expect_status 0
	expect_same 'what it wrote' "$(cat said)" alive
}

# What a library without source allocates is reached from the script; our own memory is not the program's.
test_python_libraries() {
	python_found || return 0
	cat >pack.py <<'END'
import zlib
def pack():
    return zlib.compressobj()
for i in range(3000):
    pack()
END
	run "$mprof" record --python -o log -- "$python" pack.py
	run "$mprof" report log
	expect_words out 'by pack (pack.py:3),'
	expect_text out through
	run "$mprof" report --json --all log
	expect_no_text out stubs.c
	expect_no_text out mprof_script
	# An extension without symbols has addresses only.
	mkdir site-packages
	from=$("$python" -c 'import _json; print(_json.__file__)') || return 0
	strip -o "site-packages/${from##*/}" "$from" || bad 'strip fails'
	printf '%s\n' 'import _json' 'kept = []' 'for i in range(200):' \
		'    kept.append(_json.encode_basestring_ascii("x" * 50001))' >quote.py
	PYTHONPATH=site-packages run "$mprof" record --python -o log -- "$python" quote.py
	run "$mprof" report log
	expect_words out 'at line 4' ', through _json.'
	expect_no_text out '.so+'
}

test_python_profile() {
	python_found || return 0
	python_script
	run "$mprof" profile --python -o log -- "$python" keep.py
	expect_status 0
	run "$mprof" report hot --by line --json --top 0 log
	expect_same 'calls of line 4' "$(json out '[.rows[] | select(.line == 4 and .function == "grow") | .figures.total] | add >= 50 * 100002')" true
}

# A dump of a program that runs names functions, and leaves the names to the next one and the end.
test_python_dump() {
	local pid
	python_found || return 0
	cat >server.py <<'END'
kept = []
def hold(n):
    for i in range(50):
        kept.append(bytearray(n))
hold(100001)
print("ready", flush=True)
input()
END
	mkfifo in
	"$mprof" profile -q --python -o p -- "$python" server.py <in >said 2>/dev/null &
	exec 9>in
	wait_for grep -q ready said
	pid=$(pgrep -P $!)
	run "$mprof" report p
	expect_text out 'hold (server.py)'
	expect_no_text out 'are in dumps'
	mv "/tmp/perf-$pid.map" map
	run "$mprof" report p
	expect_words out "names of the script's functions are in dumps (mprof ctl PID dump)"
	mv map "/tmp/perf-$pid.map"
	for file in 1 2; do
		run "$mprof" ctl "$pid" dump
		run "$mprof" report "p.$file"
		expect_text out 'hold (server.py)'
	done
	echo >&9
	exec 9>&-
	wait
	run "$mprof" report p
	expect_text out 'hold (server.py)'
	expect_no_text out 'are in dumps'
	[ ! -e "/tmp/perf-$pid.map" ] || bad 'the map stays'
}

# The workers of a server give up root: the map is of another user than mprof's.
test_python_worker_of_another_user() {
	python_found && [ "$(id -u)" = 0 ] || return 0
	cat >worker.py <<'END'
import os
if os.fork() == 0:
    os.setuid(65534)
    def hold():
        return list(map(bytearray, [100001] * 50))
    kept = hold()
    os._exit(0)
os.wait()
END
	run "$mprof" record --python -o log -- "$python" worker.py
	expect_no_text err 'saw no function'
	run "$mprof" report peak log
	expect_text out 'hold (worker.py:5)'
	expect_no_map log
}

# As after chroot, or in a container: mprof does not see the names that the script's process wrote.
test_python_names_that_are_gone() {
	python_found || return 0
	printf 'import os\ndef hold():\n    return bytearray(100001)\nkept = hold()\nos.remove(f"/tmp/perf-{os.getpid()}.map")\nos._exit(0)\n' >gone.py
	run "$mprof" record --python -o log -- "$python" gone.py
	expect_text err "--python found no names of the script's functions: "
	expect_no_text err 'saw no function'
	run "$mprof" report log
	expect_words out "names of the script's functions were not found when it ended"
	run "$mprof" record --python -o log -- true
	expect_text err '--python saw no function of a Python script'
}

# As mod_wsgi runs each application; an interpreter with a lock of its own (3.12) runs without names.
# Names reach the trace when the run ends; until then, or if mprof was killed, reports read the map.
test_python_running() {
	local pid kind
	python_found || return 0
	python_script
	echo 'import os, time; open("pid", "w").write(str(os.getpid())); time.sleep(60)' >>keep.py
	for kind in record profile; do
		rm -f pid
		"$mprof" "$kind" --python -q -o "$kind.log" -- "$python" keep.py >said 2>err &
		wait_for test -s pid
		pid=$(cat pid)
		run "$mprof" report leaks "$pid"
		expect_words out 'grow (keep.py:4)'
		kill -9 $!
		wait $! 2>err
		kill "$pid"
		wait_for flock -n "$kind.log" true
		run "$mprof" report leaks "$kind.log"
		expect_words out 'grow (keep.py:4)'
		rm -f "/tmp/perf-$pid.map" "/tmp/perf-$pid."*.map
	done
}

test_python_interpreters() {
	python_found || return 0
	cat >inner.py <<'END'
kept = []
def hold():
    kept.extend(map(bytearray, [100001] * 50))
hold()
END
	cat >outer.py <<'END'
import sys, threading
sys.path.insert(0, "")
try:
    import _interpreters as them
except ImportError:
    import _xxsubinterpreters as them
def inner(*how, **named):
    them.run_string(them.create(*how, **named), "import sys; sys.path.insert(0, ''); import inner")
if sys.version_info < (3, 12):
    inner()
else:
    # Of these, mprof knows the lock only in 3.12.
    inner("legacy") if sys.version_info >= (3, 13) else inner(isolated=False)
    threads = [threading.Thread(target=inner) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
print("done")
END
	run "$mprof" record --python -o log -- "$python" outer.py
	expect_status 0
	expect_same 'what it prints' "$(cat out)" 'done'
	"$python" -c 'import sys; sys.exit(sys.version_info >= (3, 13))' || return 0
	run "$mprof" report hot --function hold log
	expect_text out 'hold (inner.py:3)'
}

# As in uWSGI, whose plugin needs Python: no object has it when the program starts.
test_python_plugin() {
	local soname
	soname=$(ldconfig -p | grep -o 'libpython3[.][0-9]*[.]so[.]1[.]0' | head -1)
	[ "$soname" ] || return 0
	cat >plugin.c <<'END'
struct status { int type; const char *function, *message; int exit_code; };
long config[1024];
void PyConfig_InitPythonConfig(void *);
struct status Py_InitializeFromConfig(const void *);
void Py_Initialize(void), Py_InitializeEx(int);
int PyRun_SimpleStringFlags(const char *, void *);
extern int Py_NoSiteFlag;
int serve(int how)
{
	Py_NoSiteFlag = 1;
	if (how == 1)
		Py_Initialize();
	else if (how == 2)
		Py_InitializeEx(0);
	else
		PyConfig_InitPythonConfig(config);
	if (how == 3 && Py_InitializeFromConfig(config).type)
		return 1;
	return PyRun_SimpleStringFlags("import os, sys; sys.path.insert(0, os.curdir); import app", 0);
}
END
	cat >server.c <<'END'
#include <dlfcn.h>
#include <stdlib.h>
int main(int n, char **argument)
{
	int (*serve)(int) = (int (*)(int))dlsym(dlopen("./plugin.so", RTLD_NOW), "serve");
	return n > 1 ? serve(atoi(argument[1])) : 9;
}
END
	printf 'kept = []\ndef hold():\n    kept.append(bytearray(1000001))\nhold()\n' >app.py
	cc -shared -fPIC -o plugin.so plugin.c "-l:$soname" && cc -o server server.c || return 0
	for how in 1 2 3; do
		run "$mprof" record --python -o log -- ./server $how
		expect_status 0
		run "$mprof" report peak log
		expect_words out 'hold (app.py:3)'
		expect_no_text out 'libmprof'
	done
}

# Stubs need C stack, which calls of 3.11 and later do not.
test_python_recursion() {
	python_found || return 0
	cat >deep.py <<'END'
import sys, threading
def down(n):
    return 0 if n == 0 else 1 + down(n - 1)
sys.setrecursionlimit(1000000)
print(down(40000)) # more than 8 MiB
def small():
    print(down(10000))
threading.stack_size(64 << 10)
t = threading.Thread(target=small)
t.start()
t.join()
END
	run "$mprof" record --python -o log -- "$python" deep.py
	expect_status 0
	expect_same 'what it prints' "$(tr '\n' ' ' <out)" '40000 10000 '
}

# A child's functions are not its parent's, though both were new after the fork.
test_python_fork() {
	python_found || return 0
	cat >fork.py <<'END'
import os
def of_child():
    return bytearray(90001)
def of_parent():
    return bytearray(90002)
def before():
    return bytearray(90003)
before()
child = os.fork()
if child == 0:
    of_child()
    before()
    os._exit(0)
of_parent()
os.waitpid(child, 0)
END
	run "$mprof" record --python -o log -- "$python" fork.py
	expect_status 0
	expect_at 90002 1 'of_child fork.py:3, <module> fork.py:11'
	expect_at 90003 1 'of_parent fork.py:5, <module> fork.py:14'
	"$mprof" report hot --by function --size 90004 --json log >said
	expect_same 'calls of before' "$(json said '.rows[] | select(.function == "before") | .figures.calls')" 2
}

# Names never go to a file of the program.
test_python_descriptors() {
	python_found || return 0
	cat >close.py <<'END'
import os
os.closerange(3, 256)
file = os.open('written', os.O_WRONLY | os.O_CREAT, 0o600)
for i in range(100):
    exec(f'def f{i}(): return bytearray(1000)')
    eval(f'f{i}()')
os.write(file, b'mine')
END
	run "$mprof" record --python -o log -- "$python" close.py
	expect_status 0
	expect_same 'the file' "$(cat written)" mine
}

test_python_of_others() {
	run "$mprof" record --python -o log -- /bin/sh -c 'exit 7'
	expect_status 7
	run env PYTHONMALLOC=debug "$mprof" record --python -o log -- /bin/sh -c 'echo $PYTHONMALLOC'
	expect_same 'PYTHONMALLOC of the user' "$(cat out)" debug
}

python_package() {
	mkdir -p env/site-packages/parts env/bin
	cat >env/site-packages/parts/__init__.py <<'END'
kept = []
table = [bytearray(20001) for i in range(150)]
def put(n):
    for i in range(50):
        kept.append(bytearray(n))
def main():
    put(40001)
END
	cat >use.py <<'END'
import parts
def fill():
    parts.put(30001)
fill()
END
	printf 'import parts\nparts.main()\n' >env/bin/tool
	export PYTHONPATH=env/site-packages
}

# A package is a library of the script that uses it.
test_python_packages() {
	python_found || return 0
	python_package
	run "$mprof" record --python -o log -- "$python" use.py
	expect_status 0
	"$mprof" report --json log >said
	expect_same 'places of the peak' \
		"$(json said '[.findings[] | select(.finding == "peak" and (.file | endswith("/use.py"))) | "\(.function) \(.file | sub(".*/"; "")):\(.line) \(.through.function)"] | sort | join(", ")')" \
		'<module> use.py:1 <module>, fill use.py:3 put'
	expect_same 'command for the imports' \
		"$(json said '.findings[] | select(.function == "<module>" and (.file | endswith("/use.py"))) | .command')" \
		'mprof report annotate use.py log'
	# Both files have a function of this name.
	for file in use.py __init__.py; do
		run "$mprof" report callers --json --sort total "<module> ($file)" log
		expect_same "functions of $file" "$(json out '[.callees[:1][].file | sub(".*/"; "")] | unique | join(" ")')" "$file"
	done
	run "$mprof" report top-down --function '<module> (__init__.py:2)' --json --sort calls log
	expect_same 'calls of a line' "$(json out '.total.calls >= 150 and .total.calls < 400')" true
	run "$mprof" report callers '<module> (none.py)' log
	expect_status 2
	expect_text err "a function '<module> (none.py)'"
	"$mprof" export --to firefox log >profile 2>err || bad "$(cat err)"
	expect_same 'categories of functions' \
		"$(json profile '.meta.categories as $c | .shared as $s | [range($s.frameTable.length) | {n: $s.stringArray[$s.funcTable.name[$s.frameTable.func[.]]], c: $c[$s.frameTable.category[.]].name} | select(.n == "put" or .n == "fill") | "\(.n) \(.c)"] | unique | join(", ")')" \
		'fill Program, put Library'
}

# Files that nobody wrote: a cell of a notebook, and C that Cython generated.
test_python_generated() {
	python_found || return 0
	mkdir ipykernel_12
	echo 'a = [bytearray(70002) for i in range(20)]' >ipykernel_12/3456.py
	run "$mprof" record --python -o log -- "$python" -I -S ipykernel_12/3456.py
	rm ipykernel_12/3456.py
	run "$mprof" report log
	expect_words out '3456.py is a cell of a notebook,'
	run "$mprof" report annotate 3456.py log
	expect_words out 'It is a cell of a notebook,'
	expect_no_text out --source-dir
	cat >ext.c <<'END'
/* Generated by Cython 0.29.32 */
#include <stdlib.h>
void *__pyx_pf_3ext_table(int n) { return malloc(n); }
int main(void) { for (int i = 0; i < 200; i++) __pyx_pf_3ext_table(5000); return 0; }
END
	compile ext
	"$mprof" record -q -o log -- ./ext
	run "$mprof" report log
	expect_words out 'ext.c was generated by Cython; with cython --line-directives'
	run "$mprof" report annotate ext.c log
	expect_words out 'It was generated by Cython;'
}

# Python frees what a script keeps, so it is never a leak: the finding says that it grew.  A machine that
# stops a run at its end spoils its times.
test_python_growth() {
	python_found || return 0
	cat >cache.py <<'END'
import time
seen = []
table = bytearray(300000)
def remember(n):
    seen.append(bytearray(n))
for i in range(30):
    remember(10001)
    time.sleep(0.004)
END
	for attempt in 1 2 3 4 5; do
		run "$mprof" record --python -o log -- "$python" -I -S cache.py
		run "$mprof" report --json log
		grew=$(json out '[.findings[] | select(.function == "remember" and (.text | test("; this still grew [0-9.]+ m?s before the end, and was freed only then\\.$")))] | length')
		[ "$grew" = 1 ] && break
	done
	# Without it, the run was stopped: it did not grow in both of the last quarters, or not to the last quarter.
	"$mprof" report peak --by function --json log >said
	expect_same 'growth' "$grew" "$(json said '.rows[] | select(.function == "remember") | .live_by_epoch_bytes as $e | ($e | index(max)) as $m | [range(16) | select($e[.] > 0)][0] as $s | ($m + 1 - $s) as $n |
		($s + ($n * 2 / 4 | floor) - 1) as $h | ($s + ($n * 3 / 4 | floor) - 1) as $t | ($e[$m] / 100) as $least |
		if $m >= 12 and $e[15] <= $e[$m] / 2 and $n >= 5 and $e[$m] - $e[$t] >= $least and $e[$t] - $e[$h] >= $least then 1 else 0 end')"
	expect_same 'what stayed the same' "$(json out '[.findings[] | select(.function == "<module>" and (.text | test("still grew")))] | length')" 0
}

test_python_start() {
	python_found || return 0
	mkdir -p env/site-packages/theirs
	printf 'import ctypes\nctypes.CDLL(None).malloc(700001)\n' >env/site-packages/theirs/__init__.py
	printf 'import ctypes\nctypes.CDLL(None).malloc(60001)\n' >mine.py
	cat >kept.py <<'END'
import ctypes
for i in range(20):
    ctypes.CDLL(None).malloc(5000)
import theirs
import mine
END
	PYTHONPATH=env/site-packages run "$mprof" record --python -o log -- "$python" kept.py
	run "$mprof" report leaks log
	expect_words out 'what Python allocates at startup'
	# Modules stay until the process ends; what one of the program's own leaks is a leak.
	expect_words out 'imported modules of Python'
	run "$mprof" report log
	expect_words out 'of which imports and run-time libraries keep'
	expect_words out 'was allocated by <module> (kept.py)'
	run "$mprof" report leaks --by line --json log
	expect_same 'leaks of the modules' \
		"$(json out '[.rows[] | select(.figures.leaked > 50000) | "\(.file | sub(".*/"; "")):\(.line)"] | sort | join(" ")')" \
		'kept.py:3 mine.py:2'
	run "$mprof" report leaks --json --top 0 log
	expect_same 'leaks of its line' \
		"$(json out '[.rows[] | select(.stack[-1].line == 3) | .figures.leaked >= 100000] | join(" ")')" true
	expect_same 'leaks of the start' \
		"$(json out '[.rows[] | select(any(.stack[]; .file == "<frozen site>" or .function == "Py_InitializeFromConfig"))] | length')" 0
	# multiprocessing runs such a text in a new process: it is not the program's, and imports for packages.
	PYTHONPATH=env/site-packages run "$mprof" record --python -o child -- "$python" -c \
		'from multiprocessing.connection import Pipe; a, b = Pipe(); kept = [(a.send("x" * 30001), b.recv()) for i in range(200)]; import theirs'
	run "$mprof" report child
	expect_words out 'allocated by _ConnectionBase.recv (connection.py'
	expect_no_text out '(<string>'
	run "$mprof" report leaks --json child
	expect_same 'leaks of its imports' "$(json out '[.rows[] | select(.figures.leaked > 50000)] | length')" 0
	# Nobody can change how Python starts.
	"$mprof" record -q --python -o plain -- "$python" -c pass
	run "$mprof" report --json plain
	expect_same 'findings of calls' "$(json out '[.findings[] | select(.finding == "hot" or .finding == "temporary")] | length')" 0
	"$mprof" record -q -o plain -- "$python" -c pass
	run "$mprof" report leaks plain
	expect_words out 'what Python allocates at startup'
}

# Objects that its own allocator serves otherwise do not make another one worth trying.
test_python_time_in_the_allocator() {
	python_found || return 0
	slow_free
	run "$mprof" record --python -a ./slow.so -o log -- "$python" -c 'for i in range(40000): [i]'
	expect_status 0
	run "$mprof" report --json log
	expect_same 'finding' "$(json out '[.findings[] | select(.finding == "time")] | length')" 0
	run "$mprof" report log
	expect_words out '; with --python, Python calls it for each object.'
}

# Unless nothing but the package's own command uses it.
test_python_command_of_package() {
	python_found || return 0
	python_package
	mv env/bin bin
	run "$mprof" record --python -o log -- "$python" bin/tool
	expect_status 0
	"$mprof" report --json log >said
	expect_same 'place of the peak' \
		"$(json said '.findings[] | select(.finding == "peak" and .function == "put") | .file | sub(".*/parts/"; "parts/")')" parts/__init__.py
	# A script of the program may be in such a directory, too.
	mv use.py bin
	run "$mprof" record --python -o log -- "$python" bin/use.py
	"$mprof" report --json log >said
	expect_same 'place of the peak in bin/use.py' \
		"$(json said '[.findings[] | select(.finding == "peak" and (.file | endswith("/use.py"))) | "\(.function) \(.file | sub(".*/"; ""))"] | sort | join(", ")')" '<module> use.py, fill use.py'
}

# A decorator of a package does not tell what its function does.
test_python_decorator() {
	python_found || return 0
	python_package
	cat >>env/site-packages/parts/__init__.py <<'END'
def changed(call):
    def wrapper(*a):
        return call(*a)
    return wrapper
put = changed(put)
END
	run "$mprof" record --python -o log -- "$python" use.py
	"$mprof" report --json log >said
	expect_same 'through' \
		"$(json said '.findings[] | select(.finding == "peak" and .function == "fill") | .through.function')" put
}

# The text of python -c is the user's own, unlike those that modules run.
test_python_text() {
	python_found || return 0
	python_package
	cat >env/site-packages/texts.py <<'END'
space = {}
exec('def make():\n    return [bytearray(40001) for i in range(100)]\n', space)
END
	text='import parts, texts
def keep():
    parts.put(30001)
keep()
more = texts.space["make"]()'
	run "$mprof" record --python -o log -- "$python" -c "$text"
	expect_status 0
	"$mprof" report --json log >said
	expect_same 'place in the text' \
		"$(json said '.findings[] | select(.finding == "peak" and .function == "keep") | "\(.file):\(.line) \(.through.function)"')" '<string>:3 put'
	run "$mprof" report annotate '<string>' log
	expect_words out 'text of no file'
	printf '%s\n' "$text" >use.py
	run "$mprof" record --python -o log -- "$python" use.py
	"$mprof" report --json log >said
	expect_same 'place of what the text of a package keeps' \
		"$(json said '[.findings[] | select(.finding == "peak") | "\(.function) \(.file | sub(".*/"; ""))"] | sort | join(", ")')" '<module> use.py, keep use.py'
}

# A line of a .pth file, which Python runs while it starts, has the same name as the user's own text.
test_python_pth() {
	local packages
	python_found || return 0
	export PYTHONUSERBASE=$PWD/base
	packages=$("$python" -m site --user-site) && [ -n "$packages" ] || return 0
	mkdir -p "$packages"
	echo 'import sys; sys.kept = list(map(bytearray, [30001] * 100))' >"$packages/keeps.pth"
	"$python" -c 'import sys; sys.kept' 2>/dev/null || return 0
	run "$mprof" record --python -o log -- "$python" -c 'own = list(map(bytearray, [20001] * 100))'
	expect_status 0
	run "$mprof" report peak --json --top 0 log
	for each in '<string> 2000200' '<frozen site> 3000200'; do
		expect_same "bytes at the peak of $each" \
			"$(json out "[.rows[] | select(.stack[-1].file == \"${each% *}\") | .figures.peak] | add | . >= ${each##* } and . < ${each##* } + 900000")" true
	done
	"$mprof" report --json log >said
	expect_same 'bytes at the peak of the text in findings' \
		"$(json said '[.findings[] | select(.finding == "peak" and .file == "<string>") | .part >= 2000200 and .part < 2100000] | join(" ")')" true
}
