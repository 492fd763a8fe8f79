# SPDX-License-Identifier: LGPL-3.0-or-later
"""part_replay.py - does a replay predict the peak memory of real runs under other allocators?

Real: the greatest resident set of the program itself with each allocator
preloaded.  Replay: one trace, recorded under glibc, played on each; its peak
above the runner's baseline, plus what a process needs with this allocator
before it asks for anything (beside libstdc++, if the program has it: some
allocators bring it with them).  Both are compared as differences between two
allocators, so that the program's own code and data do not matter.

A pair of allocators is resolvable where the real peaks differ by more than
1 MB and 2 %; it is right where the replay has them in the same order.
"""

import json
import os

import heaps
import measure
import replays
from measure import Failed

MIB = 1 << 20
BASE = "glibc"


def resolvable(a, b):
    return abs(a - b) > max(MIB, 0.02 * min(a, b))


class Pair:
    """Two allocators under one program: bytes, first minus second."""

    def __init__(self, program, one, two):
        self.program, self.one, self.two = program.name, one, two
        self.real = program.real[one] - program.real[two]
        self.replay = program.predicted[one] - program.predicted[two]
        self.counts = resolvable(program.real[one], program.real[two])
        self.right = (self.real > 0) == (self.replay > 0)

    def describe(self):
        return "%s: %s - %s is %+.1f MB, replay %+.1f" % (
            self.program, self.one, self.two, self.real / MIB, self.replay / MIB)


class Program:
    """Real and replayed peaks of one program, bytes by allocator."""

    def __init__(self, workload, found, where):
        self.name, self.workload, self.found = workload.name, workload, found
        self.log = os.path.join(workload.where, "bench.log")
        self.path = os.path.join(workload.where, "bench.playback")
        self.real, self.spread, self.faults, self.cpu = {}, {}, {}, {}
        self.played, self.predicted = {}, {}

    def preload(self, name):
        """What makes `name` the allocator, also where the program brings one of its own."""
        return self.found[name] or (
            replays.library(r"libc\.so\.6") if self.workload.linked else "")

    def launches(self):
        return {name: measure.Launch(env={"LD_PRELOAD": self.preload(name)}
                                     if self.preload(name) else {}) for name in self.found}

    def run(self, repetitions):
        runs = measure.interleave(self.launches(), repetitions, self.once)
        for name, why in runs.failed.items():
            measure.skipped("%s under %s" % (self.name, name), "failed: %s" % why)
        for name in list(runs.values):
            peak = measure.Figure([r.peak_kib * 1024 for r in runs.of(name)])
            self.real[name], self.spread[name] = peak.median, peak.mad
            self.faults[name] = measure.Figure([r.faults for r in runs.of(name)]).median
            self.cpu[name] = measure.Figure([r.cpu_ns for r in runs.of(name)])

    def once(self, name, launch):
        measure.progress("replay: %s under %s" % (self.name, name))
        return self.workload.run(launch)

    def compile(self, under=BASE):
        replays.record(self.workload, self.log, self.preload(under), touched=True, stacks=True)
        self.compiled = replays.compile_trace(self.log, self.path)
        os.unlink(self.log)
        return self.compiled

    def play(self, starts, **keys):
        """Fills `predicted`; starts: of start_ups()."""
        start = starts[self.compiled.with_libstdcxx]
        for name in self.real:
            measure.progress("replay: %s played on %s" % (self.name, name))
            self.played[name] = replays.play(self.path, self.found[name], **keys)
            self.predicted[name] = self.played[name].peak_rss + start[name]

    def ask(self, touch):
        """The same by `mprof replay`, as its users have it."""
        measure.progress("replay: mprof replay of " + self.name)
        said = json.loads(replays.mprof(
            "replay", "--json", "--reps=0", "--no-heaps", "--drain=0.1", "--touch=" + touch,
            "--allocator=" + ",".join(self.found), self.path))
        self.predicted = {row["name"]: row["peak_rss_bytes"] for row in said["allocators"]
                          if row.get("peak_rss_bytes") and row["name"] in self.real}

    def pairs(self):
        names = [n for n in self.found if n in self.predicted]
        return [Pair(self, one, two) for i, one in enumerate(names) for two in names[:i]]

    def errors(self):
        """|error| of each difference to glibc, as a part of the heap."""
        return [abs(p.replay - p.real) / self.compiled.peak_bytes
                for p in self.pairs() if p.two == BASE]


def quantile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))] if values else float("nan")


def score(programs):
    """(right, wrong, ties, median error, p90 of it, wrong pairs)."""
    pairs = [p for program in programs for p in program.pairs()]
    counted = [p for p in pairs if p.counts]
    wrong = [p for p in counted if not p.right]
    errors = [e for program in programs for e in program.errors()]
    return (len(counted) - len(wrong), len(wrong), len(pairs) - len(counted),
            quantile(errors, 0.5), quantile(errors, 0.9), wrong)


def score_row(name, result):
    right, wrong, ties, middle, most, _ = result
    return [name, right, wrong, ties, "%.1f" % (100.0 * right / max(1, right + wrong)),
            "%.1f" % (100 * middle), "%.1f" % (100 * most)]


SCORE_HEADER = ["touch", "right", "wrong", "ties", "right %", "error median %", "error p90 %"]


def program_table(programs, names):
    rows = []
    for p in programs:
        row = [p.name, p.compiled.calls, "%.1f" % (p.compiled.peak_bytes / MIB),
               "%.1f" % (p.real[BASE] / MIB)]
        for name in names:
            if name == BASE:
                continue
            row.append("%+.1f / %+.1f" % (
                (p.real[name] - p.real[BASE]) / MIB,
                (p.predicted[name] - p.predicted[BASE]) / MIB) if name in p.real else "-")
        rows.append(row)
    measure.table(
        "Replay: peak resident set, difference to glibc in MB, real / replayed",
        ["program", "calls", "heap MB", "glibc MB"] + [n for n in names if n != BASE], rows,
        ["heap: most bytes asked for that were alive at once.  Replayed: what `mprof replay "
         "--touch=page --json` says, ordered, with the allocator's start-up."])


def start_table(starts):
    rows = [[what] + ["%.0f" % ((start[n] - start[BASE]) / 1024) for n in start]
            for what, start in zip(("without", "with"), starts)]
    measure.table("Replay: start-up, KB resident before the first call, above glibc's",
                  ["program with libstdc++"] + list(starts[0]), rows)


def make_programs(where, quick, rows):
    made = []
    for make in rows:
        try:
            made.append(make(where, quick))
        except heaps.Missing as why:
            measure.skipped(make.name, why)
    return made


def measured(workload, found, where, quick):
    """A Program that ran and was compiled, or None with a line that says why."""
    program = Program(workload, found, where)
    try:
        program.run(1 if quick else 3)
        program.compile()
    except Failed as why:
        measure.skipped(workload.name, "failed: %s" % why)
        return None
    if BASE not in program.real:
        return None
    return program


def fault_table(programs, found):
    """Faults of the real run and of replays; a process needs some before the first call."""
    rows = []
    for p in programs:
        if "gs" not in p.name.split():
            continue
        counts = {touch: replays.play(p.path, found[BASE], mode="serial", touch=touch).minflt
                  for touch in ("none", "page", "recorded")}
        rows.append([p.name, "%.0f" % p.faults[BASE]] + list(counts.values()) + [
            "%+.1f" % (100.0 * counts["recorded"] / p.faults[BASE] - 100)])
    if rows:
        measure.table("Replay: page faults under glibc", [
            "program", "real", "touch=none", "touch=page", "touch=recorded",
            "recorded - real %"], rows)


def main(where, quick):
    why = replays.missing()
    if why:
        measure.skipped("replay", why)
        return []
    found = replays.allocators()
    starts = replays.start_ups(found)
    start_table(starts)
    programs = [p for p in (measured(w, found, where, quick)
                            for w in make_programs(where, quick, heaps.ALL)) if p]
    rows = []
    for touch in ("none", "first", "full"):
        for p in programs:
            p.play(starts, mode="ordered", touch=touch)
        rows.append(score_row(touch, score(programs)))
    for touch in ("recorded", "page"):
        for p in programs:
            p.ask(touch)
        rows.append(score_row(touch, score(programs)))
    measure.progress("")
    if programs:
        program_table(programs, list(found))
        measure.table("Replay: order of peak resident sets, %d programs" % len(programs),
                      SCORE_HEADER, rows, [
                          "Pairs of allocators under one program; ties differ by less than 1 MB or "
                          "2 % in reality.  Error: of the difference to glibc, in % of the heap."])
        for pair in score(programs)[5]:
            print("\nwrong: " + pair.describe())
        fault_table(programs, found)
    return []
