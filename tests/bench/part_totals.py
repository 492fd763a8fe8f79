# SPDX-License-Identifier: LGPL-3.0-or-later
"""part_totals.py - MODEs without a trace (Profile, Sample, Guard) beside the peers that do the same."""

import glob
import shutil

import measure
from measure import Failed, Figure, Series

# (threads, frames, -d, what else of churn or the machine).  A thread that runs while the other
# processors are busy is as slow as the machine makes it: what threads cost shows only against that.
SHAPES = [(1, 10, 5, ""), (1, 35, 30, ""), (1, 10, 5, "busy"), (8, 10, 5, ""), (8, 10, 5, "crossing")]
# Many, because what a thread or a stack costs once, a few ms in all, belongs to no pair.
PAIRS, PAIRS_OF = 16_000_000, {"Guard": 2_000_000, "MALT": 100_000}
SAMPLES = "prof:%s,lg_prof_sample:19,prof_active:%s"  # one every 512 KiB, as Sample's


def jemalloc():
    found = glob.glob("/usr/lib/*/libjemalloc.so.2") + glob.glob("/usr/lib*/libjemalloc.so.2")
    return found[0] if found else None


def sampling_jemalloc(path, on):
    word = "true" if on else "false"
    return measure.Launch(env={"LD_PRELOAD": path, "MALLOC_CONF": SAMPLES % (word, word)})


def variants(where):
    found = {"native": measure.Launch()}
    why = measure.missing_library()
    if why:
        measure.skipped("mprof", why)
    else:
        found["Count"] = measure.preload("Count", where)
        for mode in ("Profile", "Sample", "Guard"):
            found[mode] = measure.preload(mode, where, "auto")
    if jemalloc():
        found["jemalloc"] = sampling_jemalloc(jemalloc(), False)
        found["jemalloc prof"] = sampling_jemalloc(jemalloc(), True)
    else:
        measure.skipped("jemalloc", "libjemalloc2 is not installed")
    if shutil.which("malt"):
        path = where + "/malt.json"
        found["MALT"] = measure.Launch(
            prefix=["malt", "-q", "-o", "output:name=" + path, "--"], files=[path])
    else:
        measure.skipped("MALT", "malt is not in PATH")
    return found


class Grid:
    """CPU ns per pair in the program of every variant at every shape."""

    def __init__(self, found, repetitions):
        self.found, self.failed = found, {}
        self.own = {shape: Series() for shape in SHAPES}
        names = list(found)
        for i in range(repetitions):
            for k, shape in enumerate(SHAPES):
                turn = (i + k) % len(names)
                for name in names[turn:] + names[:turn]:
                    if name not in self.failed:
                        self.attempt(name, shape)
        measure.progress("")

    def attempt(self, name, shape):
        measure.progress("totals %s %s" % (shape, name))
        threads, _, depth, what = shape

        def once():
            return measure.churn(self.found[name], PAIRS_OF.get(name, PAIRS), threads, depth,
                                 more=["-x"] if what == "crossing" else [])
        try:
            run = measure.while_busy(once) if what == "busy" else once()
            self.own[shape].add(name, run.own_ns / int(run.own["pairs"]))
        except Failed as why:
            self.failed[name] = str(why)
            for series in self.own.values():
                series.drop(name, why)

    def added(self, name, shape):
        """jemalloc's sampling: over the same allocator without."""
        base = "jemalloc" if name == "jemalloc prof" else "native"
        return self.own[shape].added(name, base)

    def ratio(self, name, peer, shape):
        """What name adds, as a part of what peer adds, in the same repetition."""
        return Figure([a / b for a, b in zip(self.added(name, shape).values,
                                             self.added(peer, shape).values) if b > 0])


def table(grid):
    names = [n for n in grid.found if n not in ("native", "jemalloc") and n not in grid.failed]
    rows = []
    for shape in SHAPES:
        row = [("%d %s" % (shape[0], shape[3])).strip(), shape[1],
               grid.own[shape].figure("native").show("%.1f")]
        rows.append(row + [grid.added(n, shape).show("%+.1f") for n in names])
    measure.table(
        "Totals: CPU ns added per pair of churn, in the program",
        ["threads", "frames", "native ns"] + names, rows,
        ["Sample and jemalloc prof take one sample every 512 KiB; what jemalloc's costs is over "
         "jemalloc without it, everything else over glibc.",
         "busy: while a bare churn runs on every other processor.  crossing: threads free each "
         "other's blocks."])


def row(what, peer, limit, figure, form, most):
    return [[what, peer, limit, figure.show(form), figure.median <= most]] if figure else []


def budgets(grid):
    one, deep, busy, many, crossing = SHAPES
    rows = []
    for shape, most in ((one, 75), (deep, 95)):
        rows += row("Profile, %d frames, added per pair" % shape[1],
                    grid.added("MALT", shape).show("%+.0f ns"), "%d ns" % most,
                    grid.added("Profile", shape), "%+.1f ns", most)
        rows += row("Profile, %d frames, as a part of MALT" % shape[1], "1", "1/60",
                    grid.ratio("Profile", "MALT", shape), "%.4f", 1 / 60)
    for base, words in ((one, "1"), (busy, "1 while all are busy")):
        scaled = Figure([b / a for a, b in zip(grid.own[base].of("Profile"),
                                               grid.own[many].of("Profile"))])
        rows += row("Profile, 8 threads: CPU per pair against " + words, "-", "1.3x", scaled,
                    "%.2fx", 1.3)
    rows += row("Profile, 8 threads, freed in others, added per pair", "-", "130 ns",
                grid.added("Profile", crossing), "%+.1f ns", 130)
    for shape in (one, many):
        name = "Sample at 512 KiB, %d thread%s, " % (shape[0], "s" if shape[0] > 1 else "")
        over = Figure(grid.own[shape].paired("Sample", "Count", lambda a, b: a - b))
        rows += row(name + "added per pair",
                    grid.added("jemalloc prof", shape).show("%+.1f ns"), "5 ns",
                    grid.added("Sample", shape), "%+.1f ns", 5)
        rows += row(name + "over Count", "-", "3 ns", over, "%+.1f ns", 3)
        rows += row(name + "as a part of jemalloc's", "1", "1.1",
                    grid.ratio("Sample", "jemalloc prof", shape), "%.2f", 1.1)
    return rows


def main(where, quick):
    grid = Grid(variants(where), 3 if quick else 7)
    for name, why in grid.failed.items():
        measure.skipped(name, "failed: " + why)
    table(grid)
    return budgets(grid)
