# SPDX-License-Identifier: LGPL-3.0-or-later
"""Records of other tools: small ones beside what must come of them (tests/golden/import), and what
real producers write, counted by a second reader or compared with a trace of the same program."""

import gzip
import json
import os
import re
import random
import shutil
import struct
import subprocess
import zipfile

import harness
from harness import LIB, MPROF, ROOT, run

GOLDEN = os.path.join(ROOT, "tests", "golden", "import")
MTRACE_LIBRARY = "libc_malloc_debug.so.0"

WORDS = ["END", "malloc", "free", "calloc", "realloc", "aligned", "EXT", "SWITCH", "CREATE", "EXIT",
         "GONE", "TIME", "TOUCH"]
SUMMARY = ("calls", *(f"op{i}" for i in range(6)), "asked", "peak_bytes", "peak_blocks", "peak_op",
           "left_bytes", "left_blocks", "remote_frees", "recorded_ns", "touched_blocks", "failed",
           "unknown_frees", "inherited_frees", "double_allocations", "inversions", "lost", "damaged")


def functions():
    with open(os.path.join(ROOT, "include", "mprof", "functions.def"), encoding="utf-8") as file:
        rows = [line.split(",") for line in file if re.match(r"(MALLOC|OTHER)\(\w+,", line)]
    return {int(row[1]): row[2].strip().strip('"') for row in rows if row[1].strip().isdigit()}


class Compiled:
    """A playback file: .summary, .calls (one text each), .input, .flags."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        self.slots, self.threads, self.flags = struct.unpack_from("<QII", data, 24)
        order, size = struct.unpack_from("<QQ", data, 40)
        at = 40 + 4 * 24
        self.summary = dict(zip(SUMMARY, struct.unpack_from(f"<{len(SUMMARY)}Q", data, at)))
        self.input = data[at + 31 * 8 + 256 + 1024:][:32].rstrip(b"\0").decode()
        self.calls = list(self.read(struct.unpack_from(f"<{size // 8}Q", data, order)))

    @staticmethod
    def read(words):
        names, thread, ext, ns = functions(), 0, 0, 0
        for word in words:
            kind, upper = WORDS[word & 15], word >> 32
            if kind == "SWITCH":
                thread = upper
            elif kind == "EXT":
                ext = word
            elif kind == "TIME":
                ns = word >> 4
            elif kind in ("CREATE", "EXIT"):
                yield f"{kind.lower()} {upper}"
            elif kind in ("malloc", "free", "calloc", "realloc", "aligned"):
                function = names.get(ext >> 10 & 63, kind)
                size = (word >> 4 & (1 << 28) - 1) | ext >> 32 << 28
                align = f" align={1 << (ext >> 4 & 63)}" if ext >> 4 & 63 else ""
                yield (f"{thread} {function} slot={upper}"
                       f"{f' size={size}' if kind != 'free' else ''}{align}"
                       f"{f' ns={ns}' if ns else ''}")
                ext = 0


def sort(path, scratch, *more):
    """The playback file, or None, and what was said."""
    out = os.path.join(scratch, "out.play")
    ran = run([MPROF, "sort", path, "-o", out, *more])
    assert ran.status in (0, 3), f"{harness.ended(ran.status)}: {ran.err.decode()[-500:]}"
    return (Compiled(out) if ran.status == 0 else None), ran.err.decode()


def text_of(compiled, said, path):
    lines = [line.replace(path, "FILE") for line in said.splitlines()]
    if compiled:
        kept = {k: v for k, v in compiled.summary.items() if v}
        lines += [f"{compiled.input} threads={compiled.threads} slots={compiled.slots}"
                  f" flags={compiled.flags}"]
        lines += [f"{k}={v}" for k, v in kept.items()] + compiled.calls
    return "".join(line + "\n" for line in lines)


def test_golden(scratch):
    """UPDATE=1 in the environment writes them anew."""
    problems = []
    for name in sorted(os.listdir(GOLDEN)):
        base, kind = os.path.splitext(name)
        if kind == ".expect":
            continue
        path, expect = os.path.join(GOLDEN, name), os.path.join(GOLDEN, base + ".expect")
        got = text_of(*sort(path, scratch), path)
        if os.environ.get("UPDATE"):
            with open(expect, "w", encoding="utf-8") as file:
                file.write(got)
        with open(expect, encoding="utf-8") as file:
            want = file.read()
        if got != want:
            at = next((i for i, (a, b) in enumerate(zip(got.splitlines(), want.splitlines()))
                       if a != b), min(got.count("\n"), want.count("\n")))
            problems.append(f"{name}: line {at + 1}: {got.splitlines()[at:at + 1]},"
                            f" not {want.splitlines()[at:at + 1]}")
    return problems


# ---- compressed ----

def many(n, seed=1):
    """AOSP text, the calls that come of it, most bytes at once."""
    random.seed(seed)
    live, lines, now, peak = {}, [], 0, 0
    for i in range(n):
        if live and random.random() < .5:
            address = random.choice(list(live))
            now -= live.pop(address)
            lines.append(f"{1 + i % 3}: free {address:#x}")
        else:
            size = random.randrange(5000)
            address = 4096 * (i + 1)
            live[address] = size
            now += size
            lines.append(f"{1 + i % 3}: malloc {address:#x} {size}")
        peak = max(peak, now)
    return "\n".join(lines) + "\n", peak, now


def test_zip_and_gzip(scratch):
    text, peak, left = many(30000)
    paths = [os.path.join(scratch, name) for name in ("plain", "a.zip", "a.gz", "dir.zip")]
    with open(paths[0], "w", encoding="utf-8") as file:
        file.write(text)
    with zipfile.ZipFile(paths[1], "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("some/trace.txt", text)
    with gzip.open(paths[2], "wt") as file:
        file.write(text)
    with zipfile.ZipFile(paths[3], "w", zipfile.ZIP_STORED) as file:
        file.writestr("some/", "")
        file.writestr("some/trace.txt", text)
    first, _ = sort(paths[0], scratch)
    assert first.summary["peak_bytes"] == peak and first.summary["left_bytes"] == left
    assert first.summary["calls"] == 30000 and first.threads == 3
    return [f"{path} compiles to something else" for path in paths[1:]
            if sort(path, scratch)[0].calls != first.calls]


def test_broken_zip_and_gzip(scratch):
    text, _, _ = many(30000)
    problems = []

    def broken(name, data, status, *words):
        path = os.path.join(scratch, name)
        with open(path, "wb") as file:
            file.write(data)
        ran = run([MPROF, "sort", path, "-o", os.path.join(scratch, "out.play")])
        said = ran.err.decode()
        if ran.status != status or not all(word in said for word in words):
            problems.append(f"{name}: {harness.ended(ran.status)}: {said}")

    packed = gzip.compress(text.encode())
    broken("cut.gz", packed[:len(packed) // 2], 0, "after line ", "are truncated")
    broken("not.gz", packed[:20], 3, "cannot read '", "are truncated")
    broken("other.gz", gzip.compress(b"v 10400 3\n"), 3, "is not a trace of mprof", "can be read: ")
    path = os.path.join(scratch, "two.zip")
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("one.txt", text)
        file.writestr("two.txt", text)
    with open(path, "rb") as file:
        two = file.read()
    broken("two.zip", two, 3, "2 files; expected one")
    broken("cut.zip", two[:-100], 3, "begins like a zip file")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("one.txt", text)
    with open(path, "rb") as file:
        one = bytearray(file.read())
    one[len(one) // 2] ^= 0x55
    broken("changed.zip", bytes(one), 0, "after line ")
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("photo.jpg", bytes(range(256)))
    with open(path, "rb") as file:
        broken("photo.zip", file.read(), 3, "is not a trace of mprof", "can be read: ")
    return problems


def test_refused(scratch):
    """What is none of them is told so, in one line."""
    problems = []
    for name, data in (("empty", b""), ("zeros", bytes(5000)), ("words", b"hello\nworld\n"),
                       ("number", b"12\n"), ("header", b"= Start\n= End\n")):
        path = os.path.join(scratch, name)
        with open(path, "wb") as file:
            file.write(data)
        ran = run([MPROF, "sort", path, "-o", os.path.join(scratch, "out.play")])
        if ran.status != 3 or ran.err.count(b"\n") != 1 or path.encode() not in ran.err:
            problems.append(f"{name}: {harness.ended(ran.status)}: {ran.err.decode()}")
        if os.path.exists(os.path.join(scratch, "out.play")):
            problems.append(f"{name}: there is a playback file")
    return problems


# ---- real producers ----

VICTIM = r"""
#include <malloc.h>
#include <mcheck.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	static void *block[64];
	unsigned x = 1;
	void *p;

	mtrace();
	for (int i = 0; i < 20000; i++) {
		unsigned at = (x = x * 1103515245 + 12345) >> 16 & 63, size = x >> 8 & 4095;

		switch (x >> 22 & 7) {
		case 0:
			free(block[at]);
			block[at] = calloc(3, size);
			break;
		case 1:
			if (!posix_memalign(&p, 256, size + 1)) {
				free(block[at]);
				block[at] = p;
			}
			break;
		case 2:
			block[at] = realloc(block[at], size + 1);
			break;
		case 3:
			block[at] = reallocarray(block[at], 2, size + 1);
			break;
		case 4:
			free(block[at]);
			block[at] = NULL;
			break;
		default:
			free(block[at]);
			block[at] = malloc(size);
		}
	}
	p = realloc(malloc(10), (size_t)1 << 62); /* fails */
	muntrace();
	return p != NULL;
}
"""


def victim(scratch):
    program = os.path.join(scratch, "a victim")
    ran = run(["gcc", "-x", "c", "-O0", "-w", "-D_GNU_SOURCE", "-o", program, "-"],
              stdin=VICTIM.encode())
    assert ran.status == 0, ran.err.decode()
    return program


def log_fd(program, scratch):
    path = os.path.join(scratch, "lines")
    with open(path, "wb") as file:
        env = dict(harness.clean_environment(), LD_PRELOAD=LIB,
                   MPROF_CONF=f"MODE=LogFD LOG_FD={file.fileno()}")
        ended = subprocess.call([program], env=env, pass_fds=[file.fileno()], timeout=harness.TIMEOUT)
    assert ended == 0, harness.ended(ended)
    return path


def recorded(program, scratch):
    path = os.path.join(scratch, "log")
    ran = run([MPROF, "record", "-o", path, "--", program])
    assert ran.status == 0, ran.err.decode()
    return path


def without_times(calls):
    return [call.partition(" ns=")[0] for call in calls]


def test_logfd_is_what_a_trace_says(scratch):
    program = victim(scratch)
    lines, _ = sort(log_fd(program, scratch), scratch)
    trace, _ = sort(recorded(program, scratch), scratch)
    assert len(trace.calls) > 15000 and lines.input == "logfd"
    return [f"call {i}: '{a}', in the trace '{b}'"
            for i, (a, b) in enumerate(zip(without_times(lines.calls), without_times(trace.calls)))
            if a != b][:3] or (len(lines.calls) != len(trace.calls) and ["other lengths"])


def counted(path):
    """mtrace text, read for a second time: calls, most bytes, bytes left."""
    live, calls, peak = {}, 0, 0
    with open(path, encoding="utf-8") as file:
        rows = [line.split("]")[-1].split() for line in file if line.startswith("@")]
    for mark, address, *size in rows:
        if mark in "-<":
            del live[address]
        elif mark in "+>":
            live[address] = int(size[0], 16)
        calls += mark in "+->"
        peak = max(peak, sum(live.values()))
    return calls, peak, sum(live.values()), sum(row[0] == "!" for row in rows)


def test_mtrace_of_glibc(scratch):
    program, path = victim(scratch), os.path.join(scratch, "mtrace")
    ran = run([program], extra={"LD_PRELOAD": MTRACE_LIBRARY, "MALLOC_TRACE": path})
    if b"cannot be preloaded" in ran.err or not os.path.exists(path):
        raise harness.Skip(f"no {MTRACE_LIBRARY}")
    got, said = sort(path, scratch)
    s, (calls, peak, left, failed) = got.summary, counted(path)
    assert calls > 15000 and failed == 1 and "should be" not in said
    assert got.input == "mtrace" and got.threads == 1
    assert (s["calls"], s["peak_bytes"], s["left_bytes"]) == (calls, peak, left), s
    assert (s["failed"], s["unknown_frees"], s["double_allocations"]) == (1, 0, 0), s


def test_unknown_figures():
    """Records without times and usable sizes: no report makes any up."""
    problems = []
    for name, timed in ("mtrace.txt", False), ("logfd.txt", False), ("aosp-times.txt", True):
        path = os.path.join(GOLDEN, name)
        for words in ["report"], ["report", "--all"]:
            said = run([MPROF, *words, path]).out.decode()
            for text, known in ("rounding", False), ("in 0 processes", False), \
                    (" lived less than 1 ms", timed), (" after the start. Alloc", timed):
                if text in said and not known:
                    problems.append(f"{words} {name}: '{text}' in {said}")
            if timed and " lived less than 1 ms" not in " ".join(said.split()):
                problems.append(f"{words} {name}: no lifetimes in {said}")
        for words, known in (["report", "waste"], False), (["report", "lifetimes"], timed), \
                (["export", "--to", "folded", "--value", "lifetime"], timed):
            ran = run([MPROF, *words, path])
            if (ran.status == 0) != known or (not known and b"was not recorded by mprof" not in ran.err):
                problems.append(f"{words} {name}: {harness.ended(ran.status)}: {ran.err.decode()}")
    return problems


def test_reports(scratch):
    """The report of a record says what a second reader counts, and every view, export and dump
    takes it, compressed or not."""
    program, path = victim(scratch), os.path.join(scratch, "mtrace")
    run([program], extra={"LD_PRELOAD": MTRACE_LIBRARY, "MALLOC_TRACE": path})
    if not os.path.exists(path):
        raise harness.Skip(f"no {MTRACE_LIBRARY}")
    with open(path, "rb") as plain, gzip.open(path + ".gz", "wb") as packed:
        packed.write(plain.read())
    _, peak, left, failed = counted(path)
    problems = []
    for name in (path, path + ".gz"):
        ran = run([MPROF, "report", "--json", name])
        assert ran.status == 0 and b"which has no times" in ran.err, ran.err.decode()
        said = json.loads(ran.out)
        got = (said["peak_bytes"], said["live_bytes"], said["failed_calls"],
               said["problems"]["unmatched_frees"], said["problems"]["double_allocations"])
        if got != (peak, left, failed, 0, 0):
            problems.append(f"{name}: the report says {got}, not {(peak, left, failed, 0, 0)}")
    for words in (["report"], ["report", "peak"], ["report", "leaks"], ["report", "threads"],
                  ["report", "realloc"], ["dump"], ["export", "--to", "folded"],
                  ["export", "--to", "massif"], ["export", "--to", "jsonl"]):
        ran = run([MPROF, *words, path])
        if ran.status or not ran.out:
            problems.append(f"{words}: {harness.ended(ran.status)}: {ran.err.decode()[-300:]}")
    ran = run([MPROF, "image", path, "-o", os.path.join(scratch, "x.svg")])
    if ran.status:
        problems.append(f"image: {ran.err.decode()[-300:]}")
    return problems


def aosp_of(log):
    """A trace as AOSP text, from `mprof dump`: the way of the calls through the other reader."""
    ran = run([MPROF, "dump", "--json-lines", "--marks", log])
    for line in ran.out.splitlines():
        e = json.loads(line)
        tid, name, at = e["thread"] + 1000, e.get("function"), e["time_ns"]
        result = "0x" + e.get("result", "0").removeprefix("0x")
        pointer = "0x" + str(e.get("pointer", "0")).removeprefix("0x")
        if e.get("mark") == "thread-end":
            yield f"{tid}: thread_done 0x0 {at} {at}"
        elif name == "calloc":
            yield f"{tid}: calloc {result} {e['count']} {e['size']} {at} {at}"
        elif name == "realloc":
            yield f"{tid}: realloc {result} {pointer} {e['size']} {at} {at}"
        elif name == "free":
            yield f"{tid}: free {pointer} {at} {at}"
        elif name in ("memalign", "posix_memalign", "aligned_alloc"):
            yield f"{tid}: memalign {result} {e['alignment']} {e['size']} {at} {at}"
        elif name == "malloc":
            yield f"{tid}: malloc {result} {e['size']} {at} {at}"


def test_aosp_of_threads(scratch):
    """A program with threads, recorded, and told once more as Android would."""
    if not shutil.which("xz"):
        raise harness.Skip("no xz")
    log, path = os.path.join(scratch, "log"), os.path.join(scratch, "aosp")
    ran = run([MPROF, "record", "-o", log, "--", "xz", "-T", "3", "--block-size=100000", "-1", "-c",
               os.path.realpath(MPROF)])
    assert ran.status == 0, ran.err.decode()
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in aosp_of(log))
    trace, _ = sort(log, scratch)
    got, said = sort(path, scratch)
    assert "should be" not in said, said
    assert got.threads == trace.threads > 2
    for key in ("calls", "asked", "peak_bytes", "peak_blocks", "left_bytes", "left_blocks",
                "remote_frees", "failed", "unknown_frees"):
        assert got.summary[key] == trace.summary[key], \
            f"{key} is {got.summary[key]}, of the trace {trace.summary[key]}"
    assert got.flags & 1, "there are times"
    said = [json.loads(run([MPROF, "report", "--json", name]).out) for name in (log, path)]
    wrong = [f"{key} of the report: {said[1][key]}, of the trace's {said[0][key]}"
             for key in ("peak_bytes", "peak_blocks", "live_bytes", "live_blocks", "total_blocks",
                         "failed_calls", "null_frees") if said[0][key] != said[1][key]]
    if said[0]["lifetimes"]["freed_by_other_thread"] != \
            said[1]["lifetimes"]["freed_by_other_thread"]:
        wrong.append("blocks freed by other threads differ")
    return wrong


def test_malloc_lab(scratch):
    random.seed(7)
    sizes, lines, peak = {}, [], 0
    for i in range(5000):
        ident = random.randrange(200)
        if ident not in sizes:
            sizes[ident] = random.randrange(1, 9000)
            lines.append(f"a {ident} {sizes[ident]}")
        elif random.random() < .3:
            sizes[ident] = random.randrange(1, 9000)
            lines.append(f"r {ident} {sizes[ident]}")
        else:
            del sizes[ident]
            lines.append(f"f {ident}")
        peak = max(peak, sum(sizes.values()))
    path = os.path.join(scratch, "lab.rep")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(["0", "200", str(len(lines)), "1", *lines]))
    got, said = sort(path, scratch)
    s = got.summary
    assert "mprof: '" not in said and "should be" not in said, said
    assert (s["calls"], s["peak_bytes"], s["left_bytes"]) == (5000, peak, sum(sizes.values())), s
    assert got.input == "rep" and s["unknown_frees"] == 0
