# SPDX-License-Identifier: LGPL-3.0-or-later
"""part_replay_cost.py - what the runner and the compiler themselves cost."""

import os
import statistics

import heaps
import measure
import part_replay
import peers
import replays
import workloads
from measure import Failed
from part_replay import MIB


LONG = 1000000  # calls: of shorter traces starting and ending is most of the cost


class Churn(workloads.Lua):
    """Tables that are dropped at once: a long trace of a small heap."""

    name = "lua5.4 churn"
    sizes = 5, 50  # million tables; each is allocated and freed

    def make(self, size):
        return [workloads.need("lua5.4"), self.write(
            "churn.lua", "for i = 1, %d do local t = {} end\n" % (1000000 * size))]


class Cost:
    """Of one trace: null ns a call, and how fast it was compiled."""

    def __init__(self, workload, where, repetitions):
        self.name = workload.name
        self.log = os.path.join(workload.where, "bench.log")
        self.path = os.path.join(workload.where, "bench.playback")
        replays.record(workload, self.log)
        words = [measure.MPROF, "sort", "-o", self.path, self.log]
        runs = [measure.run(measure.Launch(), words) for _ in range(min(3, repetitions))]
        self.compiled = replays.Playback(self.path)
        self.compile_ns = min(r.cpu_ns for r in runs)
        self.compile_kib = max(r.peak_kib for r in runs)
        self.log_bytes = os.path.getsize(self.log)
        self.null = self.nulls(repetitions, "serial")
        self.threads = self.nulls(repetitions, "threads") if self.compiled.threads > 1 else None

    def nulls(self, repetitions, mode):
        values = []
        for _ in range(repetitions):
            measure.progress("replay-cost: %s, %s" % (self.name, mode))
            values.append(replays.play(self.path, mode=mode, null=1).cpu_ns)
        return statistics.median(values) / max(1, self.compiled.calls)

    def rate(self):
        return self.compiled.calls * 1000.0 / self.compile_ns


def row(cost):
    return [cost.name, cost.compiled.calls, cost.compiled.slots, cost.compiled.threads,
            "%.1f" % cost.null, "-" if cost.threads is None else "%.1f" % cost.threads,
            "%.1f" % cost.rate(), "%.0f" % (cost.compile_kib / 1024.0),
            "%.1f" % (cost.log_bytes / MIB)]


def budgets(costs):
    long = [c for c in costs if c.compiled.calls >= LONG] or costs
    real = [c for c in long if c.compiled.threads == 1]
    many = [c.threads for c in long if c.threads is not None]
    rows = [["runner, ns per call, median", "-", "5", statistics.median(c.null for c in real),
             "%.1f"]]
    if many:
        rows.append(["runner, `threads`, ns per call, median", "-", "10",
                     statistics.median(many), "%.1f"])
    return [r[:3] + [r[4] % r[3], r[3] <= float(r[2])] for r in rows] + [
        ["sort, million events per second, median", "-", "10 at least",
         "%.1f" % statistics.median(c.rate() for c in real),
         statistics.median(c.rate() for c in real) >= 10]]


def main(where, quick):
    why = replays.missing()
    if why:
        measure.skipped("replay-cost", why)
        return []
    costs = []
    rows = [Churn] + (heaps.ALL[3:7] + peers.THREADS[:1] if quick else
                      heaps.ALL + peers.THREADS)
    for workload in part_replay.make_programs(where, quick, rows):
        try:
            costs.append(Cost(workload, where, 3 if quick else 7))
        except Failed as why:
            measure.skipped(workload.name, "failed: %s" % why)
    measure.progress("")
    if not costs:
        return []
    measure.table("Replay: cost of the runner and of `mprof sort`", [
        "program", "calls", "slots", "threads", "null ns/call", "`threads` ns/call",
        "sort M calls/s", "sort MB", "trace MB"], [row(c) for c in costs],
        ["null: CPU of a playback that calls nothing.  sort: CPU, and its greatest resident set "
         "(with the pages of files that it maps)."])
    return budgets(costs)
