# SPDX-License-Identifier: LGPL-3.0-or-later
"""massif's format: every sum in it, and ms_print."""

import re

import harness
from world import differ, folded, missing, need


class Reader:
    """A massif file, taken apart strictly; what is wrong with its trees is in `problems`."""

    def __init__(self, text):
        self.lines = [line for line in text.splitlines() if not line.startswith("#")]
        self.problems = []
        self.head = dict(line.split(": ", 1) for line in self.lines[:3])
        self.at = 3
        self.points = []
        while self.at < len(self.lines):
            self.point()

    def field(self, name):
        key, _, value = self.lines[self.at].partition("=")
        assert key == name, f"{self.lines[self.at]!r} instead of {name}="
        self.at += 1
        return value

    def point(self):
        p = {name: (float if name == "time" else int)(self.field(name)) for name in
             ("snapshot", "time", "mem_heap_B", "mem_heap_extra_B", "mem_stacks_B")}
        p["tree"] = self.field("heap_tree")
        p["names"] = {}
        if p["tree"] != "empty":
            total = self.node(0, p["names"])
            if total != p["mem_heap_B"]:
                self.problems.append(f"tree of {total} in a point of {p['mem_heap_B']}")
        self.points.append(p)

    def node(self, depth, names):
        """Bytes of a node, which its children must add up to."""
        found = re.match(r"( *)n(\d+): (\d+) (.*)", self.lines[self.at])
        assert found and len(found[1]) == depth, self.lines[self.at]
        self.at += 1
        below = sum(self.node(depth + 1, names) for _ in range(int(found[2])))
        if int(found[2]) and below != int(found[3]):
            self.problems.append(f"children of {below} below '{found[0]}'")
        name = found[4].split(": ", 1)[-1]
        names[name] = names.get(name, 0) + int(found[3])
        return int(found[3])

    def peak(self):
        return [p for p in self.points if p["tree"] == "peak"]


def reader(w, *words, **options):
    return Reader(w.exported("massif", *words, **options).decode())


def test_massif(w):
    m = reader(w)
    peak, last = m.peak(), m.points[-1]
    problems = m.problems + differ("peaks", len(peak), 1)
    problems += differ("the peak", peak[0]["mem_heap_B"], w.totals["peak"])
    problems += differ("the end", last["mem_heap_B"], w.totals["live"])
    problems += differ("the beginning", (m.points[0]["mem_heap_B"], m.points[0]["time"]), (0, 0))
    problems += differ("numbers", [p["snapshot"] for p in m.points], list(range(len(m.points))))
    times = [p["time"] for p in m.points]
    problems += differ("times, sorted", sorted(times) == times, True)
    # Only the peak may be at the time of another point.
    problems += differ("different times", len(set(times)) >= len(times) - 1, True)
    problems += differ("more than the peak", [p for p in m.points
                                              if p["mem_heap_B"] > w.totals["peak"]], [])
    problems += differ("trees", sum(p["tree"] == "detailed" for p in m.points) >= 9, True)
    problems += differ("the command", m.head["cmd"], w.victim)
    names = {name.split(" ")[0]: n for name, n in peak[0]["names"].items()}
    for name, wanted in (("phase1", 10 * 65536), ("phase2", 20 * 131072)):
        problems += differ(f"{name} at the peak", names.get(name), wanted)
    return problems


def test_massif_printed(w):
    need("ms_print", "valgrind")
    path = w.file("massif")
    ran = harness.run(["ms_print", path], cwd=w.top, extra={"TMPDIR": w.top})
    text = ran.out.decode()
    problems = differ("ms_print's status", ran.status, 0) + differ("its words", ran.err, b"")
    return problems + missing("ms_print", text, f"Command:            {w.victim}",
                              f"({w.totals['peak']:,}B) (heap allocation functions)",
                              f"({20 * 131072:,}B)", "phase2 (victim.cc:", "(peak)")


def test_massif_whole_tree(w):
    m = reader(w, "--min-percent", "0", "--points", "7", "--detailed", "1")
    problems = m.problems + differ("points", len(m.points), 8)
    problems += differ("points with a tree", {p["tree"] for p in m.points}, {"detailed", "peak"})
    text = str(sorted(m.points[-1]["names"]))
    problems += differ("lines for several", "below massif's threshold" in text, False)
    return problems + missing("the last tree", text, "inlined_here (victim.cc:")


def test_massif_time_units(w):
    m = reader(w, "--time-unit", "B", "--detailed", "0")
    freed = w.totals["total"] - w.totals["live"]
    problems = differ("the unit", m.head["time_unit"], "B")
    problems += differ("trees", [p["tree"] for p in m.points if p["tree"] != "empty"], ["peak"])
    problems += differ("the last time", m.points[-1]["time"], w.totals["total"] + freed)
    m = reader(w, "--time-unit", "i")
    report, _ = harness.report(w.log)
    problems += differ("the last number of an event", m.points[-1]["time"] >= 2 * 1000, True)
    ran = w.export("massif", "--time-unit", "s")
    problems += differ("the status of an unknown unit", ran.status, 2)
    ran = w.export("massif", "--split")
    problems += differ("the status of an option of others", ran.status, 2)
    return problems + missing("its message", ran.err.decode(), "does not support --split")


def test_massif_filtered(w):
    m = reader(w, "--function", "phase2")
    problems = m.problems + differ("the end", m.points[-1]["mem_heap_B"], 20 * 131072)
    problems += differ("its peaks", len(m.peak()), 1)
    # 40 of its 50 blocks are gone at the peak of the run, which is none of theirs.
    m = reader(w, "--function", "phase1", "--time-unit", "B", "--detailed", "0")
    trees = [p["mem_heap_B"] for p in m.points if p["tree"] == "detailed"]
    problems += differ("trees at the peak of the run", trees, [10 * 65536])
    return problems + differ("peaks that are none", m.peak(), [])


def test_massif_without_what_ended(w):
    """Which stacks have live blocks in the end is known only then."""
    words = ("--hide-zero-live", "--detailed", "0")
    at_peak = folded(w.exported("folded", "--hide-zero-live").decode())
    m = reader(w, *words)
    problems = m.problems + differ("the end", m.points[-1]["mem_heap_B"], w.totals["live"])
    return problems + differ("trees at the peak of the run",
                             [p["mem_heap_B"] for p in m.points if p["tree"] != "empty"],
                             [sum(v for _, v in at_peak)])


def test_massif_hash(w):
    """ms_print takes what follows a # for a comment."""
    need("ms_print", "valgrind")
    log = w.path("hash.log")
    w.record(log, "true", "page#part", "end")
    ran = harness.run(["ms_print", w.file("massif", log=log)], extra={"TMPDIR": w.top})
    return missing("ms_print", ran.out.decode(), "Command:            true page.part end\n")
