# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# attach_python.sh - mprof attach --python: functions and lines of Python scripts that run already.

# Each CPython here that can be shown: the usual one, the system's, and those of pyenv; into pythons[].
# But not 3.15, whose bytearrays have other sizes.
attach_pythons() {
	local each path
	attach_is_allowed || return 1
	pythons=()
	for each in python3 /usr/bin/python3{,.1[1-4]} "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[1-4].*/bin/python3; do
		path=$("$each" -c 'import sys, platform
if platform.python_implementation() == "CPython" and (3, 11) <= sys.version_info < (3, 15):
    print(sys.executable)' 2>/dev/null) || continue
		[[ " ${pythons[*]} " == *" $path "* || -z $path ]] || pythons+=("$path")
	done
	[ ${#pythons[@]} -gt 0 ]
}

# Its last functions run until the process ends.  main and both threads call no function of a script
# until `go` exists.
attach_python_script() {
	cat >keep.py <<'END'
import os, sys, threading, time
kept = []
def step(n):
    kept.append(bytearray(n))
def rises(n):
    return rises(n - 1) if n else bytearray(60003)
def gives():
    for i in range(20):
        yield bytearray(60001)
class Store:
    def put(self):
        self.a = list(map(
            lambda i: bytearray(70001), range(40)))
def thread():
    while not os.access('go', os.F_OK):
        time.sleep(0.01)
    for i in range(25):
        kept.append(bytearray(90001))
def main():
    while not os.access('go', os.F_OK):
        time.sleep(0.01)
    for i in range(30):
        step(50001)
    kept.append(bytearray(
        50002))
    kept.append(rises(3))
    kept.extend(gives())
    kept.append(Store())
    kept[-1].put()
    kept.append([object() for i in range(1000)])
threads = [threading.Thread(target=thread) for i in range(2)]
for t in threads: t.start()
open('ready', 'w').close()
main()
for t in threads: t.join()
for i in range(6):
    exec(compile('\n' * i + f'kept.append(bytearray({81000 + i}))', 'text.py', 'exec'))
open('done', 'w').close()
while not os.access('end', os.F_OK):
    time.sleep(0.01)
print(len(kept), sum(map(len, kept[-6:])))
sys.exit(7)
END
}

attach_python_start() { # PYTHON SCRIPT...
	rm -f ready go 'done' end
	"$@" >printed 2>&1 &
	pid=$!
	wait_for test -e ready
}

# The blocks of one size of 40,002 bytes or more in leaks.json, by size: size, blocks, and the functions of
# Python that allocate all of them, innermost first.  A stripped interpreter's own functions between
# them may differ.
attach_expect_at() { # LINES
	json leaks.json '[.rows[] | select(.sizes.max == .sizes.min and .sizes.min >= 40002) | {size: .sizes.min, blocks: .blocks.leaked,
		at: [.stack[] | select(.file // "" | test("(keep.py|text.py|fork.py)$")) | "\(.function) \(.file | sub(".*/"; "")):\(.line)"] |
			reverse | join(", ")} | select(.at != "")] | group_by(.size)[] |
		"\(.[0].size) \(map(.blocks) | add) \(map(.at) | unique | join("; "))"' >at
	expect_same 'blocks, and where they are allocated' "$(cat at)" "$1"
}

test_attach_python_lines() {
	local python lines n
	attach_pythons || return 0
	attach_python_script
	lines='50002 30 step keep.py:4, main keep.py:23, <module> keep.py:34
50003 1 main keep.py:24, <module> keep.py:34
60002 20 gives keep.py:9, main keep.py:27, <module> keep.py:34
60004 1 rises keep.py:6, rises keep.py:6, rises keep.py:6, rises keep.py:6, main keep.py:26, <module> keep.py:34
70002 40 Store.put.<locals>.<lambda> keep.py:13, Store.put keep.py:12, main keep.py:29, <module> keep.py:34'
	for n in 0 1 2 3 4 5; do
		lines+=$'\n'"$((81001 + n)) 1 <module> text.py:$((n + 1)), <module> keep.py:37"
	done
	lines+=$'\n90002 50 thread keep.py:18'
	for python in "${pythons[@]}"; do
		attach_python_start "$python" keep.py
		attach_to --python -o a.profile
		touch go
		wait_for test -e 'done'
		attach_detach
		expect_no_text err warning
		attach_expect_end 7
		expect_same "what $python prints" "$(cat printed)" '110 486015'
		"$mprof" report leaks --wrappers --top 0 --json a.profile >leaks.json
		attach_expect_at "$lines"
		# Small objects: 1,000 of 16 bytes.
		expect_same 'small objects' "$(json leaks.json '[.rows[] | select(any(.stack[]; .function == "main" and .line == 30))
			| .blocks.leaked] | add | . >= 1000 and . < 1100')" true
	done
}

# Forked children, which have addresses of their own for lines, and names that are not of ASCII.
test_attach_python_of_children() {
	local python
	attach_pythons || return 0
	cat >fork.py <<'END'
import os, time
kept = []
def größe_名_𠀀(n):
    kept.append(bytearray(n))
def of_child():
    kept.append(bytearray(40002))
def main():
    while not os.access('go', os.F_OK):
        time.sleep(0.01)
    größe_名_𠀀(40001)
    if not os.fork():
        of_child()
        größe_名_𠀀(40003)
        open('child', 'w').close()
        while not os.access('end', os.F_OK):
            time.sleep(0.01)
        os._exit(0)
    while not os.access('child', os.F_OK):
        time.sleep(0.01)
    größe_名_𠀀(40004)
    open('done', 'w').close()
    while not os.access('end', os.F_OK):
        time.sleep(0.01)
    os.wait()
open('ready', 'w').close()
main()
os._exit(7)
END
	for python in "${pythons[@]}"; do
		rm -f child
		attach_python_start "$python" fork.py
		attach_to --python -o a.profile
		touch go
		wait_for test -e 'done'
		"$mprof" report leaks --wrappers --top 0 --json a.profile >leaks.json # while it is attached
		attach_expect_at '40002 1 größe_名_𠀀 fork.py:4, main fork.py:10, <module> fork.py:26
40003 1 of_child fork.py:6, main fork.py:12, <module> fork.py:26
40004 1 größe_名_𠀀 fork.py:4, main fork.py:13, <module> fork.py:26
40005 1 größe_名_𠀀 fork.py:4, main fork.py:20, <module> fork.py:26'
		attach_detach
		attach_expect_end 7
	done
}

# Generators, coroutines, exceptions, recursion and texts that are compiled, in threads; checks itself.
attach_python_work() {
	cat >work.py <<'END'
import asyncio, json, os, sys, threading
errors = []
def gives(n):
    for i in range(n):
        yield [i] * (i % 7)
class Node:
    def __init__(self, depth):
        self.below = [Node(depth - 1) for _ in range(2)] if depth else []
    def __getitem__(self, i):
        return self.below[i]
    def count(self):
        return 1 + sum(n.count() for n in self.below)
def fails(n):
    if n:
        return fails(n - 1)
    raise ValueError('x' * 50)
async def result(n):
    await asyncio.sleep(0)
    return [n] * 10
async def results():
    return sum(map(len, await asyncio.gather(*[result(i) for i in range(10)])))
def once(k):
    assert sum(map(len, gives(50))) == sum(i % 7 for i in range(50))
    node = Node(5)
    assert node.count() == 63 and node[0][1].count() == 15
    try:
        fails(30 + k % 5)
    except ValueError as e:
        assert str(e) == 'x' * 50
    assert json.loads(json.dumps({'a': list(range(50)), 'b': 'é' * 20}))['b'] == 'é' * 20
    assert sum(map(len, {str(i): bytearray(i) for i in range(100)}.values())) == 4950
    exec(compile('\n' * (k % 6) + 'def f(a):\n  return [a]\nf(3)', 'text.py', 'exec'), {})
def work():
    k = 0
    try:
        while not os.access('end', os.F_OK):
            once(k)
            k += 1
    except BaseException as e:
        errors.append(repr(e))
threads = [threading.Thread(target=work) for _ in range(3)]
for t in threads: t.start()
open('ready', 'w').close()
while not os.access('end', os.F_OK):
    once(0)
    assert asyncio.run(results()) == 100
for t in threads: t.join()
print(errors)
sys.exit(1 if errors else 7)
END
}

# Attached and detached four times, and once more by an mprof that is killed at any time.
test_attach_python_harmless() {
	local python n
	attach_pythons || return 0
	attach_python_work
	for python in "${pythons[@]}"; do
		attach_python_start "$python" work.py
		for n in 1 2 3 4; do
			run "$mprof" attach -q --python --for "${n}0ms" $([ $n != 2 ] || echo --sample=4K) -o a.profile "$pid"
			expect_status 0
		done
		"$mprof" attach -q --python -o b.profile "$pid" 2>err &
		attached=$!
		sleep "0.$((RANDOM % 2))$((RANDOM % 10))"
		kill -KILL "$attached"
		wait "$attached" 2>/dev/null
		sleep 0.2
		attach_expect_end 7
		expect_same "what $python prints" "$(cat printed)" '[]'
	done
}

attach_python_fills() { # small objects
	"$mprof" report hot --json a.profile | jq -e '[.rows[] | select(any(.stack[]; .function == "fill")) | .figures.calls] | add > 100' >fills
}

# What it kept in the meantime, it frees afterwards; and the other way round.
test_attach_python_again() {
	attach_pythons || return 0
	cat >turns.py <<'END'
import os, sys, time
kept, turns = [], 0
def fill():
    kept.append([(i, str(i), i * 1.5) for i in range(1000)])
open('ready', 'w').close()
while not os.access('end', os.F_OK):
    fill()
    if len(kept) > 50:
        for each in kept.pop(turns % 50):
            assert each[1] == str(each[0])
        turns += 1
    if turns == 100:
        open('done', 'w').close()
for many in kept:
    assert [int(each[1]) for each in many] == list(range(1000))
sys.exit(7)
END
	attach_python_start "${pythons[0]}" turns.py
	for n in 1 2 3; do
		attach_to --python -o a.profile
		wait_for attach_python_fills
		attach_detach
	done
	attach_expect_end 7
}

test_attach_python_says() {
	local python old
	attach_pythons || return 0
	python=${pythons[0]}
	attach_python_script
	# Without --python.
	attach_python_start "$python" keep.py
	attach_to -o a.profile
	touch go
	wait_for test -e 'done'
	attach_detach
	expect_text err 'it runs Python: --python shows functions and lines of its scripts'
	attach_expect_end 7
	run "$mprof" report a.profile
	expect_words out 'mprof attach --python shows which functions of the script allocate'
	# With an allocator that does not know blocks of malloc.
	attach_python_start env PYTHONMALLOC=debug "$python" keep.py
	attach_to --python -o a.profile
	touch go
	wait_for test -e 'done'
	attach_detach
	expect_text err 'small objects are not recorded; start it with PYTHONMALLOC=malloc'
	attach_expect_end 7
	"$mprof" report leaks --top 0 --json a.profile >r.json
	# The interpreter may keep a block, too.
	expect_same 'what a thread left' "$(json r.json '[.rows[] | select(any(.stack[]; .function == "thread")) | .blocks.leaked] | add | . >= 50 and . < 55')" true
	# No Python, and an older one.
	attach_program
	attach_start
	attach_refused 3 "cannot show functions of Python in process $pid: it does not run Python" --python "$pid"
	touch go
	attach_expect_end 7
	old=$(ls "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.10.*/bin/python3 2>/dev/null | head -1)
	[ "$old" ] || return 0
	attach_python_start "$old" keep.py
	attach_refused 3 'its Python is not 3.11 to 3.15' --python "$pid"
	touch go
	attach_expect_end 7
}

# Calls at random, through C and not; at each block, the script notes its own stack.
attach_python_calls() {
	cat >calls.py <<'END'
import asyncio, functools, os, random, sys, threading, time
kept, notes, size = [], [], [100000]
lock, runs = threading.Lock(), [False]
def note():
    f, places = sys._getframe(1), []
    while f:
        if f.f_code.co_filename.endswith(('calls.py', 'text')):
            places.append(f'{f.f_code.co_qualname}:{f.f_lineno}')
        f = f.f_back
    return places
def hold():
    with lock:
        size[0] += 1
        n = size[0]
    kept.append(bytearray(n)); notes.append(f'{n + 1} {" ".join(note())}')
class Made:
    def __init__(self, r, d): step(r, d)
class Asked:
    def __init__(self, r, d): self.r, self.d = r, d
    @property
    def value(self): step(self.r, self.d)
    def __getitem__(self, i): step(self.r, self.d)
    def __call__(self, x): step(self.r, self.d)
    def __exit__(self, *a): step(self.r, self.d)
    def __enter__(self): step(self.r, self.d)
    def __lt__(self, other):
        step(self.r, self.d)
        return True
    def __iter__(self):
        yield step(self.r, self.d)
        yield 2
def gives(r, d):
    yield step(r, d)
    yield from gives(r, d - 3) if d > 3 else []
def fails(r, d):
    step(r, d)
    raise KeyError(d)
def takes(r, d):
    try:
        yield 1
    except ValueError:
        step(r, d)
def wrapped(call):
    @functools.wraps(call)
    def inner(*a):
        return call(*a)
    return inner
@wrapped
def decorated(r, d): step(r, d)
def deeper(r, d, n): deeper(r, d, n - 1) if n else step(r, d)
async def waits(r, d):
    step(r, d)
    await asyncio.sleep(0)
    step(r, d)
def step(r, d):
    hold()
    if d <= 0:
        return
    how, d = r.randrange(16), d - 1
    if how == 0: list(map(lambda x: step(r, d), [1, 2]))
    elif how == 1: sorted([Asked(r, d), Asked(r, 0)])
    elif how == 2: list(gives(r, d))
    elif how == 3: Made(r, d)
    elif how == 4: Asked(r, d).value
    elif how == 5: Asked(r, d)[3]
    elif how == 6: [step(r, d) for i in range(2)]
    elif how == 7:
        try:
            fails(r, d)
        except KeyError: hold()
        finally: hold()
    elif how == 8: decorated(r, d)
    elif how == 9: deeper(r, d, r.randrange(1, 12))
    elif how == 10:
        g = takes(r, d)
        next(g)
        try:
            g.throw(ValueError())
        except StopIteration: pass
    elif how == 11:
        for i in Asked(r, d): hold()
    elif how == 12:
        with Asked(r, d // 2): step(r, d // 2)
    elif how == 13: functools.reduce(lambda a, b: step(r, d), [1, 2, 3])
    elif how == 14: exec(compile('\n' * r.randrange(3) + 'step(r, d)', 'text', 'exec'), {'step': step, 'r': r, 'd': d})
    elif threading.current_thread() is threading.main_thread() and not runs[0]:
        runs[0] = True
        asyncio.run(waits(r, d))
        runs[0] = False
def before(n, call): return before(n - 1, call) if n else call()
def body(seed):
    r = random.Random(seed)
    while not os.access('go', os.F_OK):
        time.sleep(0.01)
    for i in range(30):
        step(r, r.randrange(9))
def other(): before(5, lambda: body(2))
thread = threading.Thread(target=other)
thread.start()
open('ready', 'w').close()
before(20, lambda: list(map(body, [1])))
thread.join()
open('notes', 'w').write('\n'.join(notes))
open('done', 'w').close()
while not os.access('end', os.F_OK):
    time.sleep(0.01)
sys.exit(7)
END
	cat >compare.py <<'END'
import collections, json
noted, seen, sizes = collections.Counter(), collections.Counter(), set()
for line in open('notes'):
    n, *places = line.split()
    noted[tuple(places)] += 1
    sizes.add(int(n))
for row in json.load(open('leaks.json'))['rows']:
    if row['sizes']['max'] in sizes:
        seen[tuple(f"{f['function']}:{f['line']}" for f in reversed(row['stack'])
                   if (f['file'] or '').endswith(('calls.py', 'text')))] += row['blocks']['leaked']
for stack in noted.keys() | seen.keys():
    if noted[stack] != seen[stack]:
        print(noted[stack], 'noted', seen[stack], 'seen', *stack)
print(len(noted) > 100)
END
}

test_attach_python_random_calls() {
	local python
	attach_pythons || return 0
	attach_python_calls
	for python in "${pythons[@]}"; do
		attach_python_start "$python" calls.py
		attach_to --python -o a.profile
		touch go
		wait_for test -e 'done'
		attach_detach
		attach_expect_end 7
		"$mprof" report leaks --wrappers --top 0 --json a.profile >leaks.json
		expect_same "stacks of $python" "$(python3 compare.py | sed -n 1,5p)" True
	done
}

# As in uWSGI: a plugin brings Python, whose functions no other object sees.
test_attach_python_plugin() {
	local soname
	attach_is_allowed || return 0
	soname=$(ldconfig -p | grep -o 'libpython3[.]1[1-3][.]so[.]1[.]0' | head -1)
	[ "$soname" ] || return 0
	cat >plugin.c <<'END'
void Py_InitializeEx(int);
int PyRun_SimpleStringFlags(const char *, void *);
extern int Py_NoSiteFlag;
int serve(void)
{
	Py_NoSiteFlag = 1;
	Py_InitializeEx(0);
	return PyRun_SimpleStringFlags("import os, sys; sys.path.insert(0, os.curdir); import app", 0);
}
END
	cat >server.c <<'END'
#include <dlfcn.h>
int main(void)
{
	int (*serve)(void) = (int (*)(void))dlsym(dlopen("./plugin.so", RTLD_NOW), "serve");
	return serve() ? 1 : 7;
}
END
	cat >app.py <<'END'
import os, time
kept = []
def hold():
    kept.append(bytearray(1000001))
open('ready', 'w').close()
while not os.access('go', os.F_OK):
    time.sleep(0.01)
hold()
open('done', 'w').close()
while not os.access('end', os.F_OK):
    time.sleep(0.01)
END
	cc -shared -fPIC -o plugin.so plugin.c "-l:$soname" && cc -o server server.c -ldl || return 0
	attach_python_start ./server
	attach_to --python -o a.profile
	touch go
	wait_for test -e 'done'
	attach_detach
	attach_expect_end 7
	run "$mprof" report leaks a.profile
	expect_words out 'hold (app.py:4)'
	expect_words out '<module> (app.py:8)'
}

# A text that is compiled again is the same function: its names are in the file once.
test_attach_python_compiles() {
	attach_pythons || return 0
	cat >texts.py <<'END'
import os, sys, time
kept = []
open('ready', 'w').close()
while not os.access('go', os.F_OK):
    time.sleep(0.01)
for i in range(3000):
    kept.append(compile('def f(a):\n  b = bytearray(2000)\n  return b\nkept.append(f(3))\n', 'text', 'exec'))
    exec(kept[-1])
open('done', 'w').close()
while not os.access('end', os.F_OK):
    time.sleep(0.01)
sys.exit(7)
END
	attach_python_start "${pythons[0]}" texts.py
	attach_to --python -o a.profile
	touch go
	wait_for test -e 'done'
	attach_detach
	attach_expect_end 7
	"$mprof" report leaks --top 0 --json a.profile >leaks.json
	expect_same 'blocks of f' "$(json leaks.json '[.rows[] | select(.stack[-1].function == "f") | "\(.blocks.leaked) \(.stack[-1].line)"] | join(", ")')" '6000 2'
	[ "$(stat -c %s a.profile)" -lt 2000000 ] || bad "the profile has $(stat -c %s a.profile) bytes"
}

# When a process has no addresses for lines any more, further functions take no memory at each call.
test_attach_python_of_many_lines() {
	attach_pythons || return 0
	cat >many.py <<'END'
import os, sys, time
kept = []
open('ready', 'w').close()
while not os.access('go', os.F_OK):
    time.sleep(0.01)
for i in range(80):
    exec(compile('\n' * 60000 + 'kept.append(bytearray(3000))', f'text {i}', 'exec'))
late = compile('x = 1\n' * 5000 + 'kept.append(bytearray(4000))', 'late', 'exec')
for i in range(1000):
    exec(late)
open('done', 'w').close()
while not os.access('end', os.F_OK):
    time.sleep(0.01)
sys.exit(7)
END
	attach_python_start "${pythons[0]}" many.py
	attach_to --python -o a.profile
	touch go
	wait_for test -e 'done'
	"$mprof" report --json a.profile >r.json
	attach_detach
	attach_expect_end 7
	expect_same 'own memory below 16 MiB' "$(json r.json '.processes[0].self_bytes < 16777216')" true
	"$mprof" report leaks --top 0 --json a.profile >leaks.json
	expect_same 'early texts have lines' "$(json leaks.json '[.rows[] | select(any(.stack[]; .line == 60001))] | length | . > 50 and . < 80')" true
	expect_same 'late ones belong to their callers' "$(json leaks.json '[.rows[] | select(any(.stack[]; .file != null and (.file | endswith("many.py")) and .line == 10)) | .blocks.leaked] | add | . >= 2000')" true
}
