# SPDX-License-Identifier: LGPL-3.0-or-later
"""part_programs.py - whole real programs: CPU of the process tree, as a ratio to native."""

import json
import subprocess

import measure
import workloads

ADDRESS_SPACE = ("mmap", "munmap", "mremap", "brk", "sbrk")
FREES = ("free", "cfree", "free_sized", "free_aligned_sized", "operator delete",
         "operator delete[]")


def variants(where):
    """name -> Launch, and why those that are missing are."""
    found, missing = {"native": measure.Launch()}, {}
    why = measure.missing_library()
    for mode in ("Null", "Count", "LogMmap"):
        if why:
            missing[mode] = why
        else:
            found[mode] = measure.preload(mode, where)
    why = why or measure.missing_mprof()
    if why:
        missing["mprof record"] = why
    else:
        found["mprof record"] = measure.record(where)
    why = measure.missing_heaptrack()
    if why:
        missing["heaptrack"] = why
    else:
        found["heaptrack, in the program"] = measure.heaptrack_inside(where)
        found["heaptrack"] = measure.heaptrack(where)
    for name, text in missing.items():
        measure.skipped(name, text)
    return found


def calls_of(log):
    """(calls, allocations) that a trace holds, or None."""
    words = [measure.MPROF, "report", "--json", log]
    done = subprocess.run(words, capture_output=True, env=measure.clean_environment())
    if done.returncode:
        return None
    calls = {name: n for name, n in json.loads(done.stdout)["calls"].items()
             if name not in ADDRESS_SPACE and isinstance(n, int)}
    total = sum(calls.values())
    return total, total - sum(calls.get(name, 0) for name in FREES)


class Program:
    """The figures of one program."""

    def __init__(self, workload, found, repetitions, where):
        self.name = workload.name
        self.calls = None
        self.workload = workload
        self.log = where + "/bench.log"
        self.series = measure.interleave(found, repetitions, self.once)

    def once(self, name, launch):
        measure.progress("programs %s %s" % (self.name, name))
        ns = self.workload.run(launch).cpu_ns
        if name == "LogMmap" and not self.calls:
            self.calls = calls_of(self.log)
        return ns


def ratio_table(programs, names):
    rows = []
    for p in programs:
        native = p.series.figure("native")
        rows.append([p.name, native.show("%.0f", 1e-6)] + [
            p.series.ratio(n).show("%.2f") for n in names])
    measure.table(
        "Programs: CPU of the whole process tree, times native",
        ["program", "native ms"] + names, rows,
        ["Median of ratios to native in the same repetition ± MAD, %d repetitions.  "
         "'heaptrack' and 'mprof record' include their helper processes and the compression of "
         "the result; the other columns are what the program itself spends (heaptrack then "
         "writes to /dev/null)."
         % max(len(p.series.of("native")) for p in programs)])


def call_table(programs, names):
    rows = []
    for p in programs:
        if p.calls:
            rows.append([p.name, p.calls[0], p.calls[1]] + [
                p.series.added(n).show("%+.0f", 1 / max(1, p.calls[0])) for n in names])
    if rows:
        measure.table(
            "Programs: CPU ns added per call", ["program", "calls", "allocations"] + names, rows,
            ["calls: of the malloc family, frees included, in all processes of one run; "
             "allocations: those that return a block."])


def main(where, quick):
    found = variants(where)
    names = [n for n in found if n != "native"]
    programs = []
    for make in workloads.ALL:
        try:
            workload = make(where, quick)
        except workloads.Missing as why:
            measure.skipped(make.name, why)
            continue
        p = Program(workload, found, 2 if quick else 5, where)
        for name, why in p.series.failed.items():
            measure.skipped("%s under %s" % (p.name, name), "failed: " + why)
        if p.series.of("native"):
            programs.append(p)
    measure.progress("")
    if not programs:
        return []
    ratio_table(programs, names)
    call_table(programs, names)
    return []
