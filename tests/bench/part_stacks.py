# SPDX-License-Identifier: LGPL-3.0-or-later
"""part_stacks.py - what call stacks cost, against the peer that keeps them too."""

import os

import measure
import part_programs
import workloads
from measure import Failed, Figure, Series

# (frames of a stack, -d, -b): churn has other frames besides the requested ones.
SHAPES = [(10, 5, 0), (35, 30, 0), (10, 1, 3), (35, 26, 3)]
FEW = 100_000
PAIRS, PAIRS_SLOW = 2_000_000, 500_000
# What heaptrack and mprof do in other processes counts for these.
TREES = ("mprof record", "heaptrack")


def variants(where):
    found = {"native": measure.Launch()}
    why = measure.missing_library() or measure.missing_mprof()
    if why:
        measure.skipped("mprof", why)
    else:
        found["LogMmap, no stacks"] = measure.preload("LogMmap", where)
        found["LogMmap"] = measure.preload("LogMmap", where, "auto")
        found["Profile"] = measure.preload("Profile", where, "auto")
        found["mprof record"] = measure.record(where)
    why = measure.missing_heaptrack()
    if why:
        measure.skipped("heaptrack", why)
    else:
        found["heaptrack"] = measure.heaptrack(where)
    return found


class Churn:
    """Own and helper CPU ns a pair; a start costs the same whatever follows, and is taken off."""

    def __init__(self, found, repetitions):
        self.found, self.failed = found, {}
        self.own = {shape: Series() for shape in SHAPES}
        self.helpers = {shape: Series() for shape in SHAPES}
        for i in range(repetitions):
            for k, shape in enumerate(SHAPES):
                self.turn(shape, i + k)

    def turn(self, shape, start):
        names = list(self.found)
        start %= len(names)
        for name in names[start:] + names[:start]:
            if name in self.failed:
                continue
            measure.progress("stacks churn %s %s" % (shape, name))
            try:
                self.once(name, shape)
            except Failed as why:
                self.failed[name] = str(why)

    def once(self, name, shape):
        _, depth, branches = shape
        pairs = PAIRS_SLOW if name in TREES else PAIRS
        long = measure.churn(self.found[name], pairs, 1, depth, branches)
        pairs, own, tree = int(long.own["pairs"]), long.own_ns, long.cpu_ns
        if name in TREES:
            short = measure.churn(self.found[name], FEW, 1, depth, branches)
            pairs -= int(short.own["pairs"])
            own, tree = own - short.own_ns, tree - short.cpu_ns
            self.helpers[shape].add(name, (tree - own) / pairs)
        self.own[shape].add(name, own / pairs)

    def table(self):
        names = [n for n in self.found if n != "native" and n not in self.failed]
        header = ["frames", "stacks", "native ns"] + names
        header += [n + ": helpers" for n in TREES if n in names]
        rows = []
        for shape in SHAPES:
            row = [shape[0], 2 ** shape[2], self.own[shape].figure("native").show("%.1f")]
            row += [self.own[shape].added(n).show("%+.1f") for n in names]
            row += [self.helpers[shape].figure(n).show("%.1f") for n in TREES if n in names]
            rows.append(row)
        measure.table(
            "Stacks: CPU ns added per pair of churn, in the program and in helper processes",
            header, rows,
            ["One stack: the best case of a recorder that remembers the last one.  Eight: the "
             "three innermost frames change at random, as in programs."])

    def budgets(self):
        rows = []
        for shape, limit in ((SHAPES[0], 60), (SHAPES[1], 75)):
            added = self.own[shape].added("LogMmap")
            if added:
                rows.append(["LogMmap with stacks of %d frames, added per pair" % shape[0],
                             self.own[shape].added("heaptrack").show("%+.1f ns"),
                             "%d ns" % limit, added.show("%+.1f ns"), added.median <= limit])
        return rows


class Program:
    """CPU of the tree under each variant, and the sizes of the files they leave."""

    def __init__(self, workload, found, repetitions):
        self.name, self.workload = workload.name, workload
        self.calls, self.sizes = None, {}
        self.series = measure.interleave(found, repetitions, self.once)

    def once(self, name, launch):
        measure.progress("stacks %s %s" % (self.name, name))
        ns = self.workload.run(launch).cpu_ns
        files = [path for path in launch.files if os.path.exists(path)]
        if files:
            self.sizes[name] = os.path.getsize(files[-1])
        if name == "LogMmap" and files and not self.calls:
            self.calls = part_programs.calls_of(files[-1])
        return ns

    def per(self, which, name):
        """CPU ns added per call of the family (which 0), or per allocation (1)."""
        return Figure([ns / max(1, self.calls[which]) for ns in self.series.paired(
            name, "native", lambda a, b: a - b)])

    def part_of_peer(self):
        """What mprof adds in all, as a part of what heaptrack adds."""
        return Figure([(ours - native) / (peer - native) for native, ours, peer in zip(
            self.series.of("native"), self.series.of("mprof record"),
            self.series.of("heaptrack"))])


def programs(where, quick, found):
    done = []
    for make in workloads.ALL:
        try:
            workload = make(where, quick)
        except workloads.Missing as why:
            measure.skipped(make.name, why)
            continue
        p = Program(workload, found, 2 if quick else 5)
        for name, why in p.series.failed.items():
            measure.skipped("%s under %s" % (p.name, name), "failed: " + why)
        if p.calls and p.series.of("native"):
            done.append(p)
    measure.progress("")
    return done


def cost_table(done, names):
    rows = [[p.name, p.calls[0], p.calls[1], p.series.figure("native").show("%.0f", 1e-6)]
            + [p.per(0, n).show("%+.0f") for n in names]
            + [p.per(1, "LogMmap").show("%+.0f"), p.part_of_peer().show("%.2f")] for p in done]
    measure.table(
        "Stacks in programs: CPU ns added per call of the malloc family",
        ["program", "calls", "allocations", "native ms"] + names
        + ["LogMmap per allocation", "record / heaptrack"], rows,
        ["calls: frees included; allocations: those that return a block.  'mprof record' and "
         "'heaptrack' with their helper processes and the compression of the result, 'LogMmap' "
         "what the program itself spends.  The last column: what mprof record adds in all over "
         "what heaptrack adds in all."])


def size_table(done):
    rows = []
    for p in done:
        sizes = [p.sizes.get(n) for n in ("LogMmap", "mprof record", "heaptrack")]
        rows.append([p.name] + ["-" if s is None else "%.0f" % (s / 1024) for s in sizes]
                    + ["%.1f" % (sizes[0] / p.calls[0]) if sizes[0] else "-",
                       "%.2f" % (sizes[1] / sizes[2]) if sizes[1] and sizes[2] else "-"])
    measure.table(
        "Stacks in programs: KiB of file",
        ["program", "mprof raw", "mprof compressed", "heaptrack zstd", "raw bytes a call",
         "compressed / heaptrack"], rows)


def budgets(done):
    rows = []
    for p in done:
        limit = 180 if p.name.split()[0] in ("cc1plus", "clang", "z3", "gdb") else 80
        added, part = p.per(0, "LogMmap"), p.part_of_peer()
        if added:
            rows.append(["%s: LogMmap with stacks, added per call" % p.name,
                         p.per(0, "heaptrack").show("%+.0f ns"), "%d ns" % limit,
                         added.show("%+.0f ns"), added.median <= limit])
        if part:
            rows.append(["%s: added by mprof record in all" % p.name, "1", "0.20",
                         part.show("%.2f"), part.median <= 0.2])
        if "mprof record" in p.sizes and "heaptrack" in p.sizes:
            rows.append(["%s: bytes of file, compressed" % p.name, str(p.sizes["heaptrack"]),
                         "heaptrack's", str(p.sizes["mprof record"]),
                         p.sizes["mprof record"] < p.sizes["heaptrack"]])
    return rows


def main(where, quick):
    found = variants(where)
    churn = Churn(found, 3 if quick else 7)
    for name, why in churn.failed.items():
        measure.skipped(name, "failed: " + why)
    measure.progress("")
    churn.table()
    done = programs(where, quick, found)
    if done:
        cost_table(done, [n for n in found if n != "native"])
        size_table(done)
    return churn.budgets() + budgets(done)
