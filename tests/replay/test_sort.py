# SPDX-License-Identifier: LGPL-3.0-or-later
"""`mprof sort`: playback files hold what the program did, no more and no less.

What a file says is compared with `mprof report --json`, with `mprof stat`, and call by call with
`mprof dump`, on real programs; a truncated trace must give the calls that are there."""

import filecmp
import json
import os
import re
import shutil
import struct
import subprocess

import harness
import runner
from harness import MPROF, ROOT, Skip, run

OPS = ("END", "malloc", "free", "calloc", "realloc", "aligned")
END, EXT, SWITCH, EXIT, TIME = 0, 6, 7, 9, 11
CUTS = 100


def functions():
    with open(os.path.join(ROOT, "include", "mprof", "functions.def"), encoding="utf-8") as file:
        rows = [line.split(",") for line in file if re.match(r"(MALLOC|OTHER)\(\w+,", line)]
    return {int(row[1]): row[2].strip().strip('"') for row in rows if row[1].strip().isdigit()}


FUNCTIONS = functions()


def calls_of(path):
    """(thread's number in the trace, function, slot, size, alignment) of each op."""
    with open(path, "rb") as file:
        data = file.read()
    order, size = struct.unpack_from("<QQ", data, 40)
    threads, _ = struct.unpack_from("<QQ", data, 64)
    thread, ext, index = 0, 0, {}
    for word in struct.unpack_from(f"<{size // 8}Q", data, order):
        op = word & 15
        if 1 <= op <= 5:
            if thread not in index:
                index[thread] = struct.unpack_from("<I", data, threads + 48 * thread + 40)[0]
            fn = FUNCTIONS.get(ext >> 10 & 63) or OPS[op]
            yield (index[thread], fn, word >> 32, (word >> 4 & 0xfffffff) | ext >> 32 << 28,
                   1 << (ext >> 4 & 63) if ext >> 4 & 63 else 0)
            ext = 0
        elif op == EXT:
            ext = word
        elif op == SWITCH:
            thread = word >> 32


def sort(log, out, *more):
    """What `mprof sort --json` says, or None; and its words."""
    ran = run([MPROF, "sort", log, "-o", out, "--json", *more])
    assert ran.status in (0, 2, 3), f"{harness.ended(ran.status)}: {ran.err.decode()[-500:]}"
    return (json.loads(ran.out) if ran.status == 0 else None), ran.err.decode()


def checked(path):
    ran = run([MPROF, "sort", "--check", path])
    return [] if ran.status == 0 else [f"--check: {ran.err.decode()}"]


def record(scratch, argv, name="log", *more, extra=None, stdin=b""):
    log = os.path.join(scratch, name)
    ran = run([MPROF, "record", "-o", log, *more, "--", *argv], extra=extra, stdin=stdin,
              cwd=scratch)
    assert os.path.exists(log), ran.err.decode()[-500:]
    return log


def compiled(scratch, source, *libraries):
    out = os.path.join(scratch, "victim")
    subprocess.run(["cc", "-O1", "-fno-builtin", "-o", out, source, *libraries], check=True)
    return out


def program(name):
    path = shutil.which(name, path="/usr/bin:/bin")
    if not path:
        raise Skip(f"{name} is not installed")
    return path


# ---- beside the report ----

FREES = ("free", "cfree", "free_sized", "free_aligned_sized", "operator delete",
         "operator delete[]")
REALLOCS = ("realloc", "reallocarray")


def compare(said, report, path, names=FUNCTIONS.values()):
    """said: of sort; report: of the same process."""
    wrong, ops = [], {}
    calls, mended = report["calls"], said["not_played"]
    for _, fn, _, size, _ in calls_of(path):
        n, asked = ops.get(fn, (0, 0))
        ops[fn] = n + 1, asked + size
    left_out = {kind: 0 for kind in FREES + REALLOCS}
    left_out["free"] = (mended["null_frees"] + mended["unknown_frees"] + mended["inherited_frees"]
                        - mended["double_allocations"] - mended["swept_blocks"])
    for fn in names:
        if fn in ("mmap", "munmap", "mremap", "brk", "sbrk"):
            continue
        want = calls[fn] - report["failed"][fn] - left_out.get(fn, 0)
        if ops.get(fn, (0, 0))[0] != want:
            wrong.append(f"{fn}: {ops.get(fn, (0, 0))[0]} ops, {want} calls")
        if fn not in FREES and fn not in REALLOCS and \
                ops.get(fn, (0, 0))[1] != report["bytes"][fn]:
            wrong.append(f"{fn}: {ops.get(fn, (0, 0))[1]} bytes, {report['bytes'][fn]} asked for")
    for key, want in (("asked_bytes", "total_bytes"), ("peak_bytes", "peak_bytes"),
                      ("peak_blocks", "peak_blocks"), ("left_bytes", "live_bytes"),
                      ("left_blocks", "live_blocks")):
        if said[key] != report[want]:
            wrong.append(f"{key} is {said[key]}, the report's {want} {report[want]}")
    return wrong


def calls_of_dump(log, thread=None):
    """(number of the event, thread, function, size, line, ns) of calls that are played."""
    dump = subprocess.Popen([MPROF, "dump", "--json-lines", "--numbers", log],
                            stdout=subprocess.PIPE)
    for line in dump.stdout:
        event = json.loads(line)
        fn, pointer = event["function"], int(event.get("pointer", "0"), 16)
        if fn in ("mmap", "munmap", "mremap", "brk", "sbrk") or \
                (thread and event["thread"] != thread):
            continue
        result, size = int(event.get("result", "0"), 16), event.get("size", 0)
        if (fn in FREES and not pointer) or (fn not in FREES and not result and
                                             (size or not pointer)):
            continue  # of NULL, or failed
        size = 0 if fn in FREES else size * event.get("count", 1)
        yield event["event"], event["thread"], fn, size, line.decode().strip(), event["time_ns"]
    dump.wait()


CLOCK_NS = 500  # HEAP_CLOCK_NS: what a processor's clock may be early, and is mended without a word


def like_playback(dumped, thread):
    """The next call of the dump, if that of another thread stands no more than CLOCK_NS before it;
    dumped: calls that were read ahead, the rest of them last."""
    *ahead, rest = dumped
    while not any(call[1] == thread for call in ahead) and (more := next(rest, None)):
        ahead.append(more)
        if more[5] > ahead[0][5] + CLOCK_NS:
            break
    if not ahead:
        return None
    at = next((i for i, call in enumerate(ahead) if call[1] == thread), 0)
    if ahead[at][5] > ahead[0][5] + CLOCK_NS:
        at = 0
    call = ahead.pop(at)
    dumped[:] = [*ahead, rest]
    return call


def call_by_call(path, log, thread=None, said=None, peak_event=None):
    """As the dump has it (of one thread); and the peak's op."""
    dumped, op, peak = [calls_of_dump(log, thread)], 0, None
    for got in calls_of(path):
        number, of, fn, size, line, _ = like_playback(dumped, got[0]) or (None,) * 6
        if (got[0], got[1], got[3]) != (of, fn, size):
            return [f"op {op} is {got}, the dump has {line}"]
        if number == peak_event:
            peak = op
        op += 1
    wrong = ["there are more calls than ops"] if like_playback(dumped, None) else []
    if said and peak != said["peak_op"]:
        wrong.append(f"the peak is after op {said['peak_op']}, in the trace after {peak}")
    return wrong


def thread_by_thread(path, log):
    """Where time stamps stood in the wrong order, playback has the calls of a thread earlier than
    the dump; each thread still plays its own calls in their order."""
    played, dumped = {}, {}
    for call in calls_of(path):
        played.setdefault(call[0], []).append((call[1], call[3]))
    for _, thread, fn, size, _, _ in calls_of_dump(log):
        dumped.setdefault(thread, []).append((fn, size))
    return [f"thread {thread} plays other calls than the dump has"
            for thread in sorted({*played, *dumped}) if played.get(thread) != dumped.get(thread)]


def identity(scratch, log, dump=True):
    """One process: sums, calls, two compiles."""
    first, second = os.path.join(scratch, "1.play"), os.path.join(scratch, "2.play")
    said, words = sort(log, first)
    report, wrong = harness.report(log)
    sort(log, second)
    wrong += checked(first)
    if not filecmp.cmp(first, second, shallow=False):
        wrong.append("two compiles differ")
    if report:
        wrong += compare(said, report["processes"][0], first)
        if dump and report["problems"]["inversions"]:
            wrong += thread_by_thread(first, log)
        elif dump:
            wrong += call_by_call(first, log, None, said, report["processes"][0]["peak_event"])
        if said["threads"] == 1 and said["slots"] != said["peak_blocks"]:
            wrong.append(f"{said['slots']} slots for {said['peak_blocks']} blocks")
        if said["remote_frees"] != report["lifetimes"]["freed_by_other_thread"]:
            wrong.append("remote frees are not the report's")
        if said["not_played"]["inversions"] != report["problems"]["inversions"]:
            wrong.append("inversions are not the report's")
        if wrong and any(report["problems"].values()):
            wrong.append(f"problems: {report['problems']}")
    if said["processes"] == [] and "process" in words:
        wrong.append(f"of one process it said: {words}")
    return wrong


PERL = "my %h; $h{$_} = [$_, 'x' x ($_ % 90)] for 1..12000; delete @h{1..9000}; print 0+keys %h"
SQL = b"""create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i+1 from n where i<6000)
insert into t select i, hex(randomblob(i%40)), i*1.5 from n;
create index i on t(b); select count(*), sum(length(b)) > 0 from t group by a%7;
delete from t where a%3=0; vacuum;
"""
PYTHON = "import json; d=[{'a':i,'b':[str(i)]*3} for i in range(4000)]; json.loads(json.dumps(d))"


def test_perl(scratch):
    return identity(scratch, record(scratch, [program("perl"), "-e", PERL]))


def test_sqlite(scratch):
    return identity(scratch, record(scratch, [program("sqlite3"), ":memory:"], stdin=SQL))


def test_python(scratch):
    return identity(scratch, record(scratch, [program("python3"), "-c", PYTHON], "log",
                                    "--no-compress", extra={"PYTHONMALLOC": "malloc"}))


def test_lua(scratch):
    """All of it is realloc."""
    script = "local t={} for i=1,20000 do t[i%999]={tostring(i)..'abc'} end"
    return identity(scratch, record(scratch, [program("lua5.4"), "-e", script]))


def test_threads(scratch):
    """Blocks go from thread to thread, threads come and go; a line of dump does not tell when a
    realloc began, but where it stands is where it is played."""
    victim = compiled(scratch, os.path.join(ROOT, "tests", "replay", "crossing.c"), "-lpthread")
    wrong = identity(scratch, record(scratch, [victim, "3"]))
    said, _ = sort(os.path.join(scratch, "log"), os.path.join(scratch, "1.play"))
    if said["threads"] != 13 or said["remote_frees"] < 300:
        wrong.append(f"{said['threads']} threads, {said['remote_frees']} remote frees")
    raw = identity(scratch, record(scratch, [victim, "3"], "raw", "--no-compress"))
    return wrong + raw


def test_stat(scratch):
    """Counted by another module in another run of a program that does the same each time."""
    argv = [program("lua5.4"), "-e", "for i=1,3000 do local t={i, 'x'..i} end"]
    said, _ = sort(record(scratch, argv), os.path.join(scratch, "play"))
    ran = run([MPROF, "stat", "--json", "-o", os.path.join(scratch, "stat"), "--", *argv])
    assert ran.status == 0, ran.err.decode()
    calls = harness.load_json(os.path.join(scratch, "stat"))["calls"]
    ops, mended = said["calls_by_operation"], said["not_played"]
    # realloc(p, 0) gives back, and is played as a free.
    given = sum(fn == "realloc" for _, fn, *_ in calls_of(os.path.join(scratch, "play")))
    got = {"malloc": ops["malloc"], "calloc": ops["calloc"], "realloc": given,
           "free": ops["free"] - (given - ops["realloc"]) + mended["null_frees"]}
    return [f"{kind}: {n} of {calls[kind]}" for kind, n in got.items() if n != calls[kind]]


def test_touched(scratch):
    """TOUCH words where the recorder was told to look."""
    source = os.path.join(scratch, "touch.c")
    with open(source, "w", encoding="ascii") as file:
        file.write("#include <stdlib.h>\n#include <string.h>\nint main(void)\n{\n"
                   "\tchar *a = malloc(1 << 20), *b = malloc(1 << 20);\n"
                   "\tmemset(a, 1, 40000);\n\tfree(a);\n\tb[5] = 1;\n\treturn 0;\n}\n")
    victim = compiled(scratch, source)
    said, _ = sort(record(scratch, [victim], "log", "--touched"), os.path.join(scratch, "play"))
    wrong = checked(os.path.join(scratch, "play"))
    # The other one is never freed: known if the sampler saw it.
    if said["touched_blocks"] not in (1, 2):
        wrong.append(f"{said['touched_blocks']} blocks were looked at")
    said, _ = sort(record(scratch, [victim], "none"), os.path.join(scratch, "play"))
    if said["touched_blocks"]:
        wrong.append("blocks were looked at without --touched")
    with open(os.path.join(scratch, "play"), "rb") as file:
        data = file.read()
    order, size = struct.unpack_from("<QQ", data, 40)
    if any(word & 15 == 12 for word in struct.unpack_from(f"<{size // 8}Q", data, order)):
        wrong.append("there are TOUCH words without --touched")
    return wrong


# ---- processes ----

def test_processes(scratch):
    victim = compiled(scratch, os.path.join(ROOT, "tests", "replay", "crossing.c"), "-lpthread")
    log = record(scratch, [victim, "1", "fork"])
    report, wrong = harness.report(log)
    play = os.path.join(scratch, "play")
    said, words = sort(log, play)
    if "process 1 (of 4 that made calls)" not in words or "--process" not in words:
        wrong.append(f"nothing is said of the choice: {words}")
    if [p["process"] for p in said["processes"] if p["chosen"]] != [1]:
        wrong.append(f"chosen: {said['processes']}")
    for process in report["processes"]:
        number = process["process"]
        said, words = sort(log, play, "--process", str(number))
        wrong += [f"process {number}: {p}" for p in checked(play) + compare(said, process, play)]
        if (said["not_played"]["inherited_frees"] > 0) != process["forked"]:
            wrong.append(f"process {number}: inherited frees {said['not_played']}")
    said, _ = sort(log, play, "--process", "all")
    wrong += checked(play)
    if said["peak_bytes"] != report["peak_bytes"] or said["asked_bytes"] != report["total_bytes"]:
        wrong.append(f"all: {said['peak_bytes']} at the peak, not {report['peak_bytes']}")
    if said["threads"] != len(report["threads"]):
        wrong.append(f"all: {said['threads']} threads, not {len(report['threads'])}")
    said, words = sort(log, play, "--process", "99")
    if said or "has no process 99" not in words:
        wrong.append(f"process 99: {words}")
    return wrong


def test_exec(scratch):
    """A process that becomes another program has a new heap and new threads: only one of the two is
    played, or both as one heap, which loses at exec what it had."""
    log = record(scratch, [program("perl"), "-e", "my @x = map { [$_] } 1..999; "
                           "exec 'perl', '-e', 'my @y = map { [$_] } 1..5000; ', 'second'"])
    report, wrong = harness.report(log)
    process = report["processes"][0]
    play = os.path.join(scratch, "play")
    said, words = sort(log, play)
    if said["threads"] != 1 or not said["program"].endswith(" second") or \
            "one of the 2 programs" not in words:
        wrong.append(f"{said['threads']} threads of '{said['program']}': {words}")
    if [(p["image"], p["chosen"]) for p in said["processes"]] != [(1, True), (0, False)]:
        wrong.append(f"processes: {said['processes']}")
    if (said["peak_bytes"], said["left_bytes"]) != (process["peak_bytes"], process["live_bytes"]) \
            or said["not_played"]["swept_blocks"]:
        wrong.append(f"the second program: {said}")
    wrong += checked(play)
    # The main thread keeps its number: the dump has its calls in the first program, too.
    played = [(fn, size) for _, fn, _, size, _ in calls_of(play)]
    dumped = [(fn, size) for _, _, fn, size, _, _ in calls_of_dump(log, next(calls_of(play))[0])]
    if dumped[-len(played):] != played:
        wrong.append("the calls are not the last ones of the dump")
    said, _ = sort(log, play, "--process", "all")
    wrong += checked(play) + compare(said, process, play)
    if said["not_played"]["swept_blocks"] != process["live_blocks_at_exec"] or \
            not process["live_blocks_at_exec"]:
        wrong.append(f"{said['not_played']['swept_blocks']} swept, "
                     f"{process['live_blocks_at_exec']} live at exec")
    return wrong


# ---- what is missing ----

def words_of(path):
    """(words that are not times, up to the last threads' ends, number of each thread in the trace)."""
    with open(path, "rb") as file:
        data = file.read()
    count, = struct.unpack_from("<I", data, 32)
    order, size = struct.unpack_from("<QQ", data, 40)
    threads, _ = struct.unpack_from("<QQ", data, 64)
    words = [word for word in struct.unpack_from(f"<{size // 8}Q", data, order) if word & 15 != TIME]
    while words and words[-1] & 15 in (EXIT, END):
        words.pop()
    return words, [data[at + 40:at + 44] for at in range(threads, threads + 48 * count, 48)]


def is_prefix(path, other, others):
    """A thread's calls are the first ones of its calls in the other file, whose words_of is others."""
    words, numbers = words_of(path)
    if others[0][:len(words)] == words and others[1][:len(numbers)] == numbers:
        return None  # so are the calls of each thread: millions need not be taken apart
    threads = {}
    for thread, *call in calls_of(other):
        threads.setdefault(thread, []).append((call[0], call[2]))
    at = dict.fromkeys(threads, 0)
    for thread, fn, _, size, _ in calls_of(path):
        if threads[thread][at[thread]] != (fn, size):
            return f"thread {thread}: {fn}({size}) is not its call {at[thread]}"
        at[thread] += 1
    return None


def cut(scratch, log, prefix, cuts=CUTS, least=.8):
    """At each part: the calls that are there, or one line of why not."""
    play, part, whole = (os.path.join(scratch, name) for name in ("play", "part", "whole"))
    sort(log, whole)
    words = words_of(whole)
    calls, wrong, sizes = sum(1 <= word & 15 <= 5 for word in words[0]), [], []
    with open(log, "rb") as file:
        data = file.read()
    for i in range(cuts):
        with open(part, "wb") as file:
            file.write(data[:len(data) * i // cuts])
        if os.path.exists(play):
            os.unlink(play)
        said, error = sort(part, play)
        if not said:
            sizes.append(0)
            if os.path.exists(play) or not error.startswith("mprof: ") or error.count("\n") != 1:
                wrong.append(f"cut at {i}/{cuts}: {error}")
            continue
        sizes.append(said["calls"])
        wrong += [f"cut at {i}/{cuts}: {p}" for p in checked(play)]
        other = prefix and is_prefix(play, whole, words)
        if other:
            wrong.append(f"cut at {i}/{cuts}: {other}")
        if i % 20 == 19 and os.path.exists(runner.RUNNER):
            played = runner.play(play, "out=1", "mode=null")
            if not played.result or played.result["calls"] != said["calls"]:
                wrong.append(f"cut at {i}/{cuts}: played {played.error or played.result}")
    if sizes != sorted(sizes) or sizes[-1] < calls * least or \
            not 0 < sizes[cuts * 6 // 10] < calls:
        wrong.append(f"of {calls} calls there are {sizes}")
    return wrong


def test_cut_raw(scratch):
    """The extents' header comes first, and slots of threads; then chunks follow each other."""
    script = "my %h; $h{$_} = [$_] for 1..4000; delete @h{1..3000}"
    log = record(scratch, [program("perl"), "-e", script], "log", "--no-compress", "--unwind=none")
    return cut(scratch, log, True)


def test_cut_compressed(scratch):
    """A group of a million events is whole or lost; those before a cut are there."""
    log = record(scratch, [program("perl"), "-e", "for (1..450000) { my @a = map { [$_] } 1..3 }"],
                 "log", "--unwind=none")
    return cut(scratch, log, True, 20, .4)


# ---- what is refused ----

def test_refuses(scratch):
    wrong = []
    log = record(scratch, [program("perl"), "-e", "1"])
    play = os.path.join(scratch, "play")
    sort(log, play)

    def says(words, status, *argv):
        ran = run([MPROF, "sort", *argv], cwd=scratch)
        if ran.status != status or words not in ran.err.decode() or ran.out:
            wrong.append(f"{argv}: status {ran.status}, {ran.err.decode()[-200:]}")

    says("no trace given", 2)
    says("unexpected argument 'b'", 2, "a", "b")
    says("invalid --process '0'", 2, "--process", "0", log)
    says("invalid --process 'x'", 2, "--process", "x", log)
    says("is already a playback file", 2, play)
    says("leave out -o", 2, "--check", "-o", "x", play)
    says("cannot open", 3, "missing")
    says("not a trace of mprof", 3, "/etc/passwd")
    says("is a trace; expected a playback file", 3, "--check", log)
    says("not a regular file", 1, "-o", "/dev/null", log)
    says("cannot write", 1, "-o", "play/x", log)
    if sorted(os.listdir(scratch)) != ["log", "play"]:
        wrong.append(f"left behind: {os.listdir(scratch)}")
    return wrong


def test_full_disk(scratch):
    """Neither half a file nor a temporary one."""
    log = record(scratch, [program("perl"), "-e", PERL])
    import resource
    ran = run([MPROF, "sort", log, "-o", os.path.join(scratch, "play")],
              limits=[(resource.RLIMIT_FSIZE, 100000)])
    wrong = [] if ran.status == 1 and b"cannot write" in ran.err else \
        [f"{harness.ended(ran.status)}: {ran.err.decode()[-300:]}"]
    if os.listdir(scratch) != ["log"]:
        wrong.append(f"left behind: {os.listdir(scratch)}")
    return wrong
