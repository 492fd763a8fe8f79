# SPDX-License-Identifier: LGPL-3.0-or-later
"""part_report.py - CPU and memory of `mprof report`, against heaptrack_print."""

import os
import shutil

import measure
from measure import Failed, Series


PAGE = "compressed trace, page"


class Input:
    """One file to be read: name, command that reads it, size of the file."""

    def __init__(self, name, argv, path):
        self.name, self.argv = name, argv
        self.size = os.path.getsize(path)


def keep(path, where, name):
    kept = os.path.join(where, name)
    os.rename(path, kept)
    return kept


def inputs(where, pairs):
    """Record the same churn three ways; what cannot be is told and left out."""
    found = []
    ours = [("raw trace", lambda: measure.preload("LogMmap", where), 1),
            ("compressed trace", lambda: measure.record(where), 0)]
    for name, launch, index in ours:
        measure.progress("report: recording %d pairs, %s" % (pairs, name))
        try:
            made = launch()
            measure.churn(made, pairs)
            path = keep(made.files[index], where, "report.%d.%d" % (index, pairs))
            found.append(Input(name, [measure.MPROF, "report", path], path))
            if not index:
                found.append(Input(PAGE, [measure.MPROF, "report", "--html=-", path], path))
        except Failed as why:
            measure.skipped("report on a " + name, why)
    why = measure.missing_heaptrack()
    if not why and not shutil.which("heaptrack_print"):
        why = "heaptrack_print is not installed"
    if why:
        measure.skipped("heaptrack_print", why)
        return found
    measure.progress("report: recording %d pairs, heaptrack" % pairs)
    try:
        made = measure.heaptrack(where)
        measure.churn(made, pairs)
        path = keep(made.files[0], where, "report.%d.zst" % pairs)
        found.append(Input("heaptrack_print", ["heaptrack_print", "-f", path], path))
    except Failed as why:
        measure.skipped("heaptrack_print", why)
    return found


class Reading:
    """CPU and peak memory of each way to read, interleaved."""

    def __init__(self, where, pairs, repetitions):
        self.pairs = pairs
        self.inputs = inputs(where, pairs)
        self.peak, self.elapsed = Series(), Series()
        ways = {i.name: i for i in self.inputs}
        self.cpu = measure.interleave(ways, repetitions, self.once) if ways else Series()
        for path in {i.argv[-1] for i in self.inputs}:
            os.unlink(path)

    def once(self, name, way):
        measure.progress("report: %d pairs, %s" % (self.pairs, name))
        run = measure.run(measure.Launch(), way.argv)
        self.peak.add(name, run.peak_kib)
        self.elapsed.add(name, run.elapsed_ns)
        return run.cpu_ns

    def rows(self):
        return [[self.pairs, i.name, "%.1f" % (i.size / 1e6),
                 self.cpu.figure(i.name).show("%.3f", 1e-9),
                 self.cpu.ratio(i.name, "heaptrack_print").show("%.3f"),
                 self.elapsed.figure(i.name).show("%.3f", 1e-9),
                 self.peak.figure(i.name).show("%.1f", 1 / 1024)]
                for i in self.inputs if self.cpu.of(i.name)]


def growth(few, many, name):
    if not many.peak.of(name) or not few.peak.of(name):
        return float("nan")
    return many.peak.figure(name).median / few.peak.figure(name).median


def budgets(readings):
    rows = []
    few, many = readings[0], readings[-1]
    for name in ("raw trace", "compressed trace"):
        ratio = many.cpu.ratio(name, "heaptrack_print")
        if ratio:
            rows.append(["report on %d M pairs, %s" % (many.pairs // 1_000_000, name), "1",
                         "1/10 of heaptrack_print", ratio.show("%.3f"), ratio.median <= 0.1])
        if many.peak.of(name) and few.peak.of(name):
            times = growth(few, many, name)
            rows.append(["its peak memory against %d M pairs, %s" % (
                few.pairs // 1_000_000, name), "%.2fx" % growth(few, many, "heaptrack_print"),
                         "about 1x", "%.2fx" % times, times <= 1.25])
    return rows


def main(where, quick):
    why = measure.missing_library() or measure.missing_mprof()
    if why:
        measure.skipped("report", why)
        return []
    lengths = [200_000, 2_000_000] if quick else [2_000_000, 20_000_000]
    readings = [Reading(where, pairs, 3) for pairs in lengths]
    measure.progress("")
    measure.table(
        "Reading: CPU of `mprof report` against heaptrack_print",
        ["pairs", "what is read", "file MB", "CPU s", "times heaptrack_print", "elapsed s",
         "peak MiB"],
        [row for r in readings for row in r.rows()],
        ["Each reads its own recording of the same churn.  CPU of all threads; elapsed time "
         "depends on what else the machine does."])
    return budgets(readings) if not quick else []
