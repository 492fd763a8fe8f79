# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# attach_python.sh - mprof attach --python: functions and lines of Python scripts that run already.

# Each CPython here that can be shown: the usual one, the system's, and those of pyenv; into pythons[].
attach_pythons() {
	local each path
	attach_is_allowed || return 1
	pythons=()
	for each in python3 /usr/bin/python3 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[1-3].*/bin/python3; do
		path=$("$each" -c 'import sys, platform
if platform.python_implementation() == "CPython" and (3, 11) <= sys.version_info < (3, 14):
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

# One stack in leaks.json allocates all blocks of this size; PLACES lists its functions, innermost first.
attach_expect_at() { # BYTES CALLS PLACES
	json leaks.json "[.rows[] | select(.sizes.max == $1 and .sizes.min == $1)]" >at.json
	expect_same "stacks of $1 bytes" "$(json at.json length)" 1
	expect_same "blocks of $1 bytes" "$(json at.json '.[0].blocks.leaked')" "$2"
	expect_same "lines of $1 bytes" \
		"$(json at.json '[.[0].stack[] | select(.file // "" | test("(keep|text|fork).py$")) | "\(.function) \(.file | sub(".*/"; "")):\(.line)"] | reverse | join(", ")')" "$3"
}

test_attach_python_lines() {
	local python n
	attach_pythons || return 0
	attach_python_script
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
		attach_expect_at 50002 30 'step keep.py:4, main keep.py:23, <module> keep.py:34'
		attach_expect_at 50003 1 'main keep.py:24, <module> keep.py:34'
		attach_expect_at 60004 1 'rises keep.py:6, rises keep.py:6, rises keep.py:6, rises keep.py:6, main keep.py:26, <module> keep.py:34'
		attach_expect_at 60002 20 'gives keep.py:9, main keep.py:27, <module> keep.py:34'
		attach_expect_at 70002 40 'Store.put.<locals>.<lambda> keep.py:13, Store.put keep.py:12, main keep.py:29, <module> keep.py:34'
		attach_expect_at 90002 50 'thread keep.py:18'
		for n in 0 1 2 3 4 5; do
			attach_expect_at $((81001 + n)) 1 "<module> text.py:$((n + 1)), <module> keep.py:37"
		done
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
		attach_expect_at 40002 1 'größe_名_𠀀 fork.py:4, main fork.py:10, <module> fork.py:26'
		attach_expect_at 40003 1 'of_child fork.py:6, main fork.py:12, <module> fork.py:26'
		attach_expect_at 40004 1 'größe_名_𠀀 fork.py:4, main fork.py:13, <module> fork.py:26'
		attach_expect_at 40005 1 'größe_名_𠀀 fork.py:4, main fork.py:20, <module> fork.py:26'
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
		run "$mprof" attach -q --python --for 200ms -o a.profile "$pid"
		expect_status 0
		"$mprof" report hot --json a.profile >r.json
		expect_same 'small objects of fill' "$(json r.json '[.rows[] | select(any(.stack[]; .function == "fill"))
			| .figures.calls] | add | . > 100')" true
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
	# With an allocator that does not know blocks of malloc.
	attach_python_start env PYTHONMALLOC=debug "$python" keep.py
	attach_to --python -o a.profile
	touch go
	wait_for test -e 'done'
	attach_detach
	expect_text err 'small objects are not recorded; start it with PYTHONMALLOC=malloc'
	attach_expect_end 7
	"$mprof" report leaks --top 0 --json a.profile >r.json
	expect_same 'what a thread left' "$(json r.json '[.rows[] | select(any(.stack[]; .function == "thread")) | .blocks.leaked] | add')" 50
	# No Python, and an older one.
	attach_program
	attach_start
	attach_refused 3 "cannot show functions of Python in process $pid: it does not run Python" --python "$pid"
	touch go
	attach_expect_end 7
	old=$(ls "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.10.*/bin/python3 2>/dev/null | head -1)
	[ "$old" ] || return 0
	attach_python_start "$old" keep.py
	attach_refused 3 'its Python is none of 3.11 to 3.13' --python "$pid"
	touch go
	attach_expect_end 7
}
