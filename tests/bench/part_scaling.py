# SPDX-License-Identifier: LGPL-3.0-or-later
"""part_scaling.py - does the cost of an event grow with the size of a trace?

Churn is recorded with more and more events, live blocks, stacks and threads; each raw
trace is compressed, and the result reported.  BEFORE=MPROF in the environment names the
mprof of another build, which does the same in turns.
"""

import os
import shutil

import measure
from measure import Failed, Series

# Name of the growing quantity: (churn's option, [(value, pairs of a thread), ...])
FULL = {
    "events": ("-n", [(500_000,) * 2, (5_000_000,) * 2, (20_000_000,) * 2]),
    "live blocks": ("-l", [(1 << 10, 2_000_000), (1 << 16, 2_000_000), (1 << 20, 2_000_000)]),
    "stacks": ("-b", [(4, 2_000_000), (10, 2_000_000), (14, 2_000_000), (17, 2_000_000)]),
    "threads": ("-t", [(8, 250_000), (100, 20_000), (1000, 2_000), (4000, 500)]),
}
QUICK = {
    "events": ("-n", [(50_000,) * 2, (500_000,) * 2]),
    "live blocks": ("-l", [(1 << 10, 200_000), (1 << 16, 200_000)]),
    "stacks": ("-b", [(4, 200_000), (14, 200_000)]),
    "threads": ("-t", [(8, 25_000), (1000, 200)]),
}


def builds():
    found = {"": measure.MPROF}
    if os.environ.get("BEFORE"):
        found["before"] = os.environ["BEFORE"]
    return found


def value_of(axis, value):
    """What the figure means: churn has 2^BRANCHES stacks, and an event is half a pair."""
    return {"stacks": 1 << value, "events": 2 * value}.get(axis, value)


class Point:
    """One raw trace: what compressing it and reading the result cost, an event."""

    def __init__(self, where, axis, option, value, pairs, repetitions):
        self.where, self.axis, self.value = where, axis, value_of(axis, value)
        self.raw = os.path.join(where, "scaling.raw")
        self.packed = os.path.join(where, "scaling.log")
        words = [measure.CHURN, "-d", "5", "-n", str(pairs)]
        if option != "-n":
            words += [option, str(value)]
        launch = measure.Launch(
            prefix=[measure.MPROF, "record", "--no-compress", "-o", self.raw, "--"],
            files=[self.raw])
        measure.progress("scaling: recording %s %d" % (axis, self.value))
        measure.run(launch, words)
        threads = value if option == "-t" else 1
        live = value if option == "-l" else 256
        self.events = 2 * threads * (pairs + live)
        self.report, self.peak = Series(), Series()
        self.compress = measure.interleave(builds(), repetitions, self.once)
        self.bytes = os.path.getsize(self.packed)
        os.unlink(self.raw)
        os.unlink(self.packed)

    def once(self, name, mprof):
        measure.progress("scaling: %s %d, %s" % (self.axis, self.value, name or "this build"))
        shutil.copyfile(self.raw, self.packed)
        cost = measure.run(measure.Launch(), [mprof, "compress", self.packed])
        read = measure.run(measure.first(self.where), [mprof, "report", self.packed])
        self.report.add(name, read.cpu_ns)
        self.peak.add(name + "compress", cost.peak_kib)
        self.peak.add(name + "report", read.peak_kib)
        return cost.cpu_ns

    def row(self):
        if "" in self.compress.failed:
            raise Failed(self.compress.failed[""])
        cells = [self.axis, "{:,}".format(self.value), "%.2f" % (self.bytes / self.events)]
        for what, series in (("compress", self.compress), ("report", self.report)):
            cells += [series.figure("").show("%.1f", 1 / self.events),
                      series.ratio("", "before").show("%.2f"),
                      "%.0f" % (self.peak.figure(what).median / 1024)]
        return cells


def main(where, quick):
    why = measure.missing_mprof() or measure.missing_library()
    if why:
        measure.skipped("scaling", why)
        return []
    rows = []
    for axis, (option, values) in (QUICK if quick else FULL).items():
        for value, pairs in values:
            try:
                rows.append(Point(where, axis, option, value, pairs, 3).row())
            except Failed as why:
                measure.skipped("scaling of %s, %d" % (axis, value), why)
    measure.progress("")
    measure.table(
        "Scaling: CPU ns an event of `mprof compress` and `mprof report`",
        ["what grows", "to", "bytes an event", "compress ns", "times before", "peak MiB",
         "report ns", "times before", "peak MiB"], rows,
        ["Churn with so many events, live blocks of a thread, stacks, or threads at once; the "
         "rest is small.  Starting mprof is in it: divide by few events with care."])
    return []
