# SPDX-License-Identifier: LGPL-3.0-or-later
"""part_replay_time.py - does a replay put allocators in the order that real CPU times have?

Only programs that spend 15 % or more of their CPU in the allocator: for others
nobody can see the allocator in the program's time.  Real: CPU of the program.
Replay: CPU of the playback less that of one that calls nothing.  The programs
have the small size of a quick bench: many short runs tell more than few long
ones.  Repetitions are interleaved; a pair counts when the real medians are further apart than 3
standard errors.  A control runs the same allocator twice: it must not count.
"""

import os
import statistics

import heaps
import measure
import part_replay
import replays
from measure import Failed
from part_replay import BASE

SHARE_LEAST = 0.15
SIGMAS = 3
AGAIN = "glibc again"


def error_of_median(values):
    """Standard error, from the median absolute deviation (as of a normal distribution)."""
    return 1.2533 * 1.4826 * measure.Figure(values).mad / len(values) ** 0.5


def apart(one, two):
    """Is the difference of medians beyond the noise?"""
    noise = (error_of_median(one) ** 2 + error_of_median(two) ** 2) ** 0.5
    return abs(statistics.median(one) - statistics.median(two)) > SIGMAS * noise


class Program(part_replay.Program):
    """CPU ns of real runs and of playbacks, by allocator, AGAIN included."""

    def __init__(self, workload, found, where):
        super().__init__(workload, dict(found, **{AGAIN: found[BASE]}), where)

    def replay_once(self, name, launch):
        measure.progress("replay-time: %s played on %s" % (self.name, name))
        keys = dict(mode="null") if name == "null" else dict(mode="serial", touch="page")
        played = replays.play(self.path, launch, **keys)
        return played.cpu_ns

    def replay(self, repetitions):
        variants = dict(self.found, null="")
        runs = measure.interleave(variants, repetitions, self.replay_once)
        for name, why in runs.failed.items():
            measure.skipped("%s on %s" % (self.name, name), "failed: %s" % why)
        self.null = statistics.median(runs.of("null"))
        self.replayed = {n: [v - self.null for v in runs.of(n)] for n in self.found if runs.of(n)}
        self.calls = self.compiled.calls

    def share(self):
        """Of the program's CPU, under glibc, in the allocator and the touching of its pages."""
        real = statistics.median(self.cpu[BASE].values)
        return statistics.median(self.replayed[BASE]) / real

    def pairs(self):
        names = [n for n in self.found if n in self.cpu and n in self.replayed]
        return [(one, two) for i, one in enumerate(names) for two in names[:i]]

    def verdict(self, one, two):
        """'right', 'wrong', or 'noise' where the real runs do not tell them apart."""
        real = self.cpu[one].values, self.cpu[two].values
        if not apart(*real):
            return "noise"
        less = statistics.median(real[0]) < statistics.median(real[1])
        return "right" if less == (statistics.median(self.replayed[one]) <
                                   statistics.median(self.replayed[two])) else "wrong"

    def silent(self):
        """The control: neither the real runs nor the playbacks see a difference."""
        return (not apart(self.cpu[AGAIN].values, self.cpu[BASE].values),
                not apart(self.replayed[AGAIN], self.replayed[BASE]))


def describe(program, one, two):
    def gap(values):
        return (statistics.median(values[one]) - statistics.median(values[two])) / 1e6
    real = {n: program.cpu[n].values for n in (one, two)}
    return "%s: %s - %s is %+.1f ms, replay %+.1f" % (
        program.name, one, two, gap(real), gap(program.replayed))


def table(programs, names):
    rows = []
    for p in programs:
        row = [p.name, "%.0f" % (100 * p.share()), p.cpu[BASE].show("%.0f", 1e-6),
               "%.1f" % (p.null / max(1, p.calls))]
        for n in names:
            if n in (BASE, AGAIN):
                continue
            row.append("%+.0f / %+.0f" % tuple(
                (statistics.median(v[n]) - statistics.median(v[BASE])) / 1e6 for v in (
                    {k: f.values for k, f in p.cpu.items()}, p.replayed)) if n in p.cpu else "-")
        rows.append(row)
    measure.table("Replay: CPU ms, difference to glibc, real / replayed",
                  ["program", "malloc %", "glibc ms", "null ns/call"] +
                  [n for n in names if n not in (BASE, AGAIN)], rows,
                  ["malloc %: of the real CPU, by replay; null: what the runner itself needs."])


def control(programs):
    real = [p.name for p in programs if not p.silent()[0]]
    replayed = [p.name for p in programs if not p.silent()[1]]
    print("\nControl, glibc against itself: %d programs; told apart by real runs: %s; by replay: %s"
          % (len(programs), ", ".join(real) or "none", ", ".join(replayed) or "none"))


def ranking(programs):
    counts = {"right": 0, "wrong": 0, "noise": 0}
    wrong = []
    for p in programs:
        for one, two in p.pairs():
            if AGAIN in (one, two):
                continue
            verdict = p.verdict(one, two)
            counts[verdict] += 1
            if verdict == "wrong":
                wrong.append(describe(p, one, two))
    decided = counts["right"] + counts["wrong"]
    measure.table("Replay: order of CPU times, %d programs with %.0f %% or more in malloc" % (
        len(programs), 100 * SHARE_LEAST), ["right", "wrong", "in the noise", "right %"],
        [[counts["right"], counts["wrong"], counts["noise"],
          "%.1f" % (100.0 * counts["right"] / max(1, decided))]])
    for line in wrong:
        print("\nwrong: " + line)


def measured(workload, found, where, quick):
    program = Program(workload, found, where)
    try:
        program.compile()
        program.run(1)
        program.replay(1)
        share = program.share()
        if share < SHARE_LEAST:
            measure.skipped(workload.name, "malloc is %.0f %% of this program; the order of "
                            "allocators cannot be seen in its time" % (100 * share))
            return None
        program.run(5 if quick else 11)
        program.replay(5 if quick else 11)
    except Failed as why:
        measure.skipped(workload.name, "failed: %s" % why)
        return None
    os.unlink(program.path)
    return program


def main(where, quick):
    why = replays.missing()
    if why:
        measure.skipped("replay-time", why)
        return []
    found = replays.allocators()
    rows = heaps.ALL[3:6] if quick else heaps.ALL
    programs = [p for p in (measured(w, found, where, quick)
                            for w in part_replay.make_programs(where, True, rows)) if p]
    measure.progress("")
    if programs:
        table(programs, list(programs[0].found))
        ranking(programs)
        control(programs)
    return []
