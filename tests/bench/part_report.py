# SPDX-License-Identifier: LGPL-3.0-or-later
"""part_report.py - CPU and memory of `mprof report`, against heaptrack_print."""

import os
import shutil

import measure
import workloads
from measure import Failed, Series

PROGRAMS = workloads.Lua, workloads.Perl, workloads.Compiler

PAGE = ", page"
AGAIN = ", later reports"


class Input:
    """One file to be read: name, command that reads it, size of the file."""

    def __init__(self, name, argv, path, launch):
        self.name, self.argv, self.launch = name, argv, launch
        self.size = os.path.getsize(path)


def readings(name, path, where):
    """Ways of mprof to read a trace. The first report leaves what later ones read of it."""
    def first():
        return measure.first(where)
    kept = first()
    measure.run(kept, [measure.MPROF, "report", path])
    return [Input(name, [measure.MPROF, "report", path], path, first),
            Input(name + PAGE, [measure.MPROF, "report", "--html=-", path], path, first),
            Input(name + AGAIN, [measure.MPROF, "report", path], path, lambda: kept)]


def keep(path, where, name):
    kept = os.path.join(where, name)
    os.rename(path, kept)
    return kept


def lacks_heaptrack():
    why = measure.missing_heaptrack()
    if not why and not shutil.which("heaptrack_print"):
        why = "heaptrack_print is not installed"
    return why


def inputs(where, name, run):
    """Records the same run three ways; what cannot be recorded is said and left out."""
    found = []
    ways = {"raw trace": ["--no-compress"], "compressed trace": []}
    for kind, options in ways.items():
        measure.progress("report: recording %s, %s" % (name, kind))
        try:
            made = measure.record(where, *options)
            run(made)
            path = keep(made.files[0], where, "report." + kind.split()[0])
            found += readings(kind, path, where)[:1 if options else None]
        except Failed as why:
            measure.skipped("report on a " + kind, why)
    why = lacks_heaptrack()
    if why:
        measure.skipped("heaptrack_print", why)
        return found
    measure.progress("report: recording %s, heaptrack" % name)
    try:
        made = measure.heaptrack(where)
        run(made)
        path = keep(made.files[0], where, "report.zst")
        found.append(Input("heaptrack_print", ["heaptrack_print", "-f", path], path,
                           measure.Launch))
    except Failed as why:
        measure.skipped("heaptrack_print", why)
    return found


class Reading:
    """CPU and peak memory of each way to read a run, interleaved."""

    def __init__(self, where, name, run, repetitions):
        self.name = name
        self.inputs = inputs(where, name, run)
        self.peak, self.elapsed = Series(), Series()
        ways = {i.name: i for i in self.inputs}
        self.cpu = measure.interleave(ways, repetitions, self.once) if ways else Series()
        for path in {i.argv[-1] for i in self.inputs}:
            os.unlink(path)

    def once(self, name, way):
        measure.progress("report: %s, %s" % (self.name, name))
        run = measure.run(way.launch(), way.argv)
        self.peak.add(name, run.peak_kib)
        self.elapsed.add(name, run.elapsed_ns)
        return run.cpu_ns

    def rows(self):
        return [[self.name, i.name, "%.1f" % (i.size / 1e6),
                 self.cpu.figure(i.name).show("%.3f", 1e-9),
                 self.cpu.ratio(i.name, "heaptrack_print").show("%.3f"),
                 self.elapsed.figure(i.name).show("%.3f", 1e-9),
                 self.peak.figure(i.name).show("%.1f", 1 / 1024)]
                for i in self.inputs if self.cpu.of(i.name)]


def growth(few, many, name):
    if not many.peak.of(name) or not few.peak.of(name):
        return float("nan")
    return many.peak.figure(name).median / few.peak.figure(name).median


def budgets(ran):
    rows = []
    few, many = ran[0], ran[-1]
    for name in ("raw trace", "compressed trace"):
        ratio = many.cpu.ratio(name, "heaptrack_print")
        if ratio:
            rows.append(["report on %s, %s" % (many.name, name), "1",
                         "1/10 of heaptrack_print", ratio.show("%.3f"), ratio.median <= 0.1])
        if many.peak.of(name) and few.peak.of(name):
            times = growth(few, many, name)
            rows.append(["its peak memory against %s, %s" % (few.name, name),
                         "%.2fx" % growth(few, many, "heaptrack_print"),
                         "about 1x", "%.2fx" % times, times <= 1.25])
    return rows


def main(where, quick):
    why = measure.missing_library() or measure.missing_mprof()
    if why:
        measure.skipped("report", why)
        return []
    lengths = [200_000, 2_000_000] if quick else [2_000_000, 20_000_000]
    ran = [Reading(where, "churn, %s pairs" % "{:,}".format(pairs),
                   lambda launch, n=pairs: measure.churn(launch, n), 3) for pairs in lengths]
    real = []
    for kind in PROGRAMS:
        try:
            program = kind(where, quick)
            real.append(Reading(where, program.name, program.run, 3))
        except (Failed, workloads.Missing) as missing:
            measure.skipped(kind.name, missing)
    measure.progress("")
    measure.table(
        "Reading: CPU of `mprof report` against heaptrack_print",
        ["program", "what is read", "file MB", "CPU s", "times heaptrack_print", "elapsed s",
         "peak MiB"],
        [row for r in ran + real for row in r.rows()],
        ["Each reads its own recording of the same run.  CPU of all threads; elapsed time "
         "depends on what else the machine does.  mprof begins with an empty cache, but for "
         "later reports of the same trace."])
    return budgets(ran) if not quick else []
