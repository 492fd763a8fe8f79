# SPDX-License-Identifier: LGPL-3.0-or-later
"""heaptrack's format, read by heaptrack_print."""

import os
import re
import subprocess

import harness
from world import differ, folded, missing, need

COSTS = {"allocations": "calls", "peak": "peak", "leaked": "live", "temporary": "temporary"}


def printed(w, path, *words):
    need("heaptrack_print", "heaptrack")
    ran = harness.run(["heaptrack_print", "-f", path, "--disable-builtin-suppressions", *words],
                      cwd=w.top)
    if ran.status != 0 or ran.err.strip():
        raise AssertionError(f"heaptrack_print: {ran.err.decode()[:300]}")
    return ran.out.decode()


def cost(w, path, kind):
    """Stacks and what each costs, to the byte."""
    to = w.path("stacks")
    printed(w, path, "-F", to, "--flamegraph-cost-type", kind, "-p0", "-a0", "-T0")
    with open(to, encoding="utf-8") as f:
        return [(stack.split(";"), value) for stack, value in
                ((line.rstrip("\n").rpartition(" ")[0], int(line.rpartition(" ")[2]))
                 for line in f)]


def compare(w, path, log=None, temporary=True):
    """heaptrack_print's sums and ours."""
    problems = []
    for kind, value in COSTS.items():
        if value == "temporary" and not temporary:
            continue
        ours = sum(v for _, v in folded(w.exported("folded", "--value", value,
                                                   log=log).decode()))
        theirs = sum(v for _, v in cost(w, path, kind))
        # From 2026, a site's peak is at least what it leaks, even if others had ended before.
        if log and value == "peak" and theirs > ours:
            ours = sum(v for _, v in cost(w, path, "leaked"))
        problems += differ(f"the sum of {kind}", theirs, ours)
    return problems


def test_heaptrack(w):
    path = w.file("heaptrack")
    problems = compare(w, path)
    text = printed(w, path)
    problems += missing("heaptrack_print", text, f"calls to allocation functions: "
                        f"{w.totals['calls']} ", "temporary memory allocations: 1000 ",
                        "phase2", "victim.cc:", "in " + w.victim, "inlined_here")
    for name, kind, wanted in (("phase1", "peak", 10 * 65536), ("phase2", "leaked", 20 * 131072),
                               ("phase2", "allocations", 20)):
        found = sum(v for stack, v in cost(w, path, kind)
                    if any(re.match(rf"{name}\b", line) for line in stack))
        problems += differ(f"{kind} of {name}", found, wanted)
    rss = re.search(r"peak RSS \(including heaptrack overhead\): (\S+)", text)
    return problems + differ("a peak of RSS", bool(rss) and rss[1] != "0B", True)


def test_heaptrack_compressed(w):
    plain = w.path("plain.heaptrack")
    w.exported("heaptrack", "-o", plain)
    with open(plain, "rb") as f:
        wanted = f.read()
    problems = differ("stdout and a file", w.exported("heaptrack") == wanted, True)
    for end, command in ((".gz", ["gzip", "-dc"]), (".zst", ["zstd", "-dc", "-q"])):
        w.exported("heaptrack", "-o", plain + end)
        problems += differ(f"{end}, unpacked",
                           subprocess.check_output(command + [plain + end]) == wanted, True)
        problems += compare(w, plain + end)
    return problems


def test_heaptrack_processes(w):
    """Leaks of processes that ended long before the peak, and of one that was forked."""
    log = w.path("several.log")
    w.record(log, "sh", "-c", f"{w.victim}; {w.victim}; {w.victim} & {w.victim}; wait; exec true")
    path = w.path("several.heaptrack")
    w.exported("heaptrack", "-o", path, log=log)
    return compare(w, path, log=log, temporary=False)


def test_heaptrack_filtered(w):
    path = w.path("part.heaptrack")
    w.exported("heaptrack", "--function", "phase1", "-o", path)
    problems = differ("leaked in phase1", sum(v for _, v in cost(w, path, "leaked")), 10 * 65536)
    ran = w.export("heaptrack", "--lifetime", "1ms..", "-o", w.path("never"))
    problems += differ("the status with --lifetime", ran.status != 0, True)
    problems += missing("its message", ran.err.decode(), "--lifetime")
    return problems + differ("what is left", os.path.exists(w.path("never")), False)


def test_heaptrack_without_what_ended(w):
    """Which stacks have live blocks in the end is known only then."""
    path = w.path("stays.heaptrack")
    w.exported("heaptrack", "--hide-zero-live", "-o", path)
    problems = []
    for kind in ("allocations", "leaked"):
        lines = folded(w.exported("folded", "--hide-zero-live", "--value", COSTS[kind]).decode())
        problems += differ(kind, sum(v for _, v in cost(w, path, kind)), sum(v for _, v in lines))
    return problems
