# SPDX-License-Identifier: LGPL-3.0-or-later
"""part_churn.py - what each MODE adds to one malloc and one free, the worst case."""

import measure
from measure import Failed, Figure, Series

MODES = ["Null", "Count", "LogMmap", "LogFD"]
FAST = ["native", "Null", "Count", "LogMmap", "mprof record"]
FEW = 100_000  # pairs of the run that shows what a start costs


class Plan:
    def __init__(self, quick):
        self.threads = [1, 8] if quick else [1, 2, 4, 8]
        self.depths = [5] if quick else [5, 10, 30]
        self.repetitions = 3 if quick else 7
        self.pairs = {name: (1_000_000 if quick else 2_000_000) for name in FAST}
        self.pairs["LogFD"] = 200_000  # a microsecond a pair
        self.pairs_slow = 400_000 if quick else 600_000


def variants(where, peers):
    """name -> Launch; what is missing is told once."""
    found = {"native": measure.Launch()}
    why = measure.missing_library()
    if why:
        measure.skipped("Null, Count, LogMmap, LogFD", why)
    else:
        found.update({mode: measure.preload(mode, where) for mode in MODES})
    why = why or measure.missing_mprof()
    if why:
        measure.skipped("mprof record", why)
    else:
        found["mprof record"] = measure.record(where)
    why = measure.missing_heaptrack()
    if why:
        measure.skipped("heaptrack", why)
    else:
        found["heaptrack"] = measure.heaptrack(where)
    found.update(peers)
    return found


def has_helpers(name):
    """These are measured by the slope between two runs, to leave out the start.

    heaptrack spends 50 ms in the program waiting for its interpreter.
    """
    return name in ("mprof record", "heaptrack")


class Grid:
    """Own and helper CPU per pair of every variant at every (threads, depth)."""

    def __init__(self, plan, found):
        self.plan, self.found = plan, found
        self.own = {cell: Series() for cell in self.cells()}
        self.helpers = {cell: Series() for cell in self.cells()}
        self.failed = {}
        self.readings = []  # ns of one reading of the counter, one a repetition

    def cells(self):
        return [(t, d) for d in self.plan.depths for t in self.plan.threads]

    def run(self, name, cell, pairs):
        run = measure.churn(self.found[name], pairs, *cell)
        return int(run.own["pairs"]), run.own_ns, run.cpu_ns

    def once(self, name, cell):
        pairs = self.plan.pairs.get(name, self.plan.pairs_slow)
        pairs, own, tree = self.run(name, cell, pairs)
        if has_helpers(name):
            few = self.run(name, cell, FEW)
            pairs, own, tree = pairs - few[0], own - few[1], tree - few[2]
            self.helpers[cell].add(name, (tree - own) / pairs)
        self.own[cell].add(name, own / pairs)

    def measure(self):
        """All cells of one repetition before the next, the order rotating."""
        names = list(self.found)
        for i in range(self.plan.repetitions):
            self.readings.append(measure.reading_ns())
            for k, cell in enumerate(self.cells()):
                turn = (i + k) % len(names)
                for name in names[turn:] + names[:turn]:
                    measure.progress("churn %d/%d %s %s" % (
                        i + 1, self.plan.repetitions, cell, name))
                    if name not in self.failed and self.wanted(name, cell):
                        self.attempt(name, cell)
        measure.progress("")

    def wanted(self, name, cell):
        """`mprof record` does in the program what LogMmap does: not at every depth."""
        return name != "mprof record" or cell[1] == self.plan.depths[0]

    def attempt(self, name, cell):
        try:
            self.once(name, cell)
        except Failed as why:
            self.failed[name] = str(why)
            for series in list(self.own.values()) + list(self.helpers.values()):
                series.drop(name, why)


def added_table(grid):
    names = [n for n in grid.found
             if n not in ("native", "mprof record") and n not in grid.failed]
    header = ["threads", "depth", "native ns"] + names
    rows = []
    for cell in grid.cells():
        row = [cell[0], cell[1], grid.own[cell].figure("native").show("%.1f")]
        for name in names:
            added = grid.own[cell].added(name)
            row.append("-" if not added else "%s (%.2fx)" % (
                added.show("%+.1f"), grid.own[cell].ratio(name).median))
        rows.append(row)
    measure.table(
        "Churn: CPU ns added per pair in the program", header, rows,
        ["Median of differences to native in the same repetition ± MAD, %d repetitions; in "
         "brackets the ratio to native.  LogFD writes to /dev/null."
         % grid.plan.repetitions,
         "LogMmap reads the processor's counter twice a pair; here one reading takes %s ns in an "
         "empty loop." % Figure(grid.readings).show("%.1f")])


def helper_table(grid):
    names = [n for n in grid.found if has_helpers(n) and n not in grid.failed]
    if not names:
        return
    rows = []
    for cell in grid.cells():
        row = [cell[0], cell[1]]
        for name in names:
            row += [grid.own[cell].added(name).show("%+.1f"),
                    grid.helpers[cell].figure(name).show("%.1f")]
        rows.append(row)
    header = ["threads", "depth"]
    for name in names:
        header += [name + ": in the program", "in other processes"]
    measure.table(
        "Churn: CPU ns per pair, helper processes included", header, rows,
        ["Other processes: for heaptrack its interpreter and zstd, for mprof its sampler and "
         "the compression of the finished trace.  What a run of %d pairs costs is taken off both, "
         "so that starting and ending are not in the figures." % FEW])


def scaling(grid, name, depth, threads):
    one, many = grid.own[(1, depth)].of(name), grid.own[(threads, depth)].of(name)
    return Figure([b / a for a, b in zip(one, many)])


def scaling_table(grid):
    most = max(grid.plan.threads)
    names = [n for n in grid.found if n not in grid.failed and n != "mprof record"]
    rows = [[name] + [scaling(grid, name, d, most).show("%.2f") for d in grid.plan.depths]
            for name in names]
    measure.table(
        "Churn: CPU per pair with %d threads, times that with 1 thread" % most,
        ["variant"] + ["depth %d" % d for d in grid.plan.depths], rows)


def budgets(grid):
    """Rows of the table of budgets: what, peer, at most, measured, within."""
    depth, most = grid.plan.depths[0], max(grid.plan.threads)
    cell = (1, depth)
    peer = grid.own[cell].added("heaptrack").show("%+.1f ns")
    rows = []
    for mode, limit in (("Null", 3), ("Count", 6), ("LogMmap", 40)):
        added = grid.own[cell].added(mode)
        if added:
            rows.append([mode + ", added per pair", peer, "%d ns" % limit,
                         added.show("%+.1f ns"), added.median <= limit])
    for mode in ("Count", "LogMmap"):
        figure = scaling(grid, mode, depth, most)
        if figure:
            rows.append(["%s, %d threads: CPU per pair against 1" % (mode, most),
                         scaling(grid, "heaptrack", depth, most).show("%.2fx"), "1.2x",
                         "%s (native %s)" % (
                             figure.show("%.2fx"),
                             scaling(grid, "native", depth, most).show("%.2fx")),
                         figure.median <= 1.2])
    return rows


def main(where, quick, peers):
    grid = Grid(Plan(quick), variants(where, peers))
    grid.measure()
    for name, why in grid.failed.items():
        measure.skipped(name, "failed: " + why)
    added_table(grid)
    helper_table(grid)
    scaling_table(grid)
    return budgets(grid)
