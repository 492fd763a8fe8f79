# SPDX-License-Identifier: LGPL-3.0-or-later
"""part_replay_threads.py - peak memory of programs with threads, real and replayed.

Ordered: threads of their own, in the recorded order.  Real: the greatest
resident set less what a process needs with that allocator.  Some of these
programs do as much as they can in a given time, and then a faster allocator
really has other work: they are marked.  Blocks are touched as recorded: arrays
that are mostly empty are usual here.

Without edges: the same calls in the same order, but all threads are there from
the first call to the last, as in a replay that knows nothing of when threads
begin and end.  It has to be wrong, or nobody would notice that edges were lost.
"""

import os

import measure
import part_replay
import peers
import replays
from measure import Failed
from part_replay import MIB, Program

SMALL = 4 * MIB


class Threads(Program):
    """Peaks are compared as they are, less what the program needs before it does anything."""

    def measure_idle(self, start):
        """idle: bytes by allocator; start: those of a process that does nothing."""
        self.idle = dict(start)
        for name, launch in self.launches().items():
            if self.workload.idle:
                run = measure.run(launch, list(self.workload.idle))
                self.idle[name] = max(start[name], run.peak_kib * 1024)

    def heap(self, name):
        return max(1, self.real[name] - self.idle[name])

    def play_all(self, path, **keys):
        return {name: self.attempt(name, path, keys) for name in self.real}

    def attempt(self, name, path, keys):
        measure.progress("replay-threads: %s on %s" % (self.name, name))
        try:
            return replays.play(path, self.found[name], **keys)
        except Failed as why:
            measure.skipped("%s on %s" % (self.name, name), "failed: %s" % why)
            return None


def away(program, name, played):
    """In per cent, or in MB of what is too small for that."""
    heap, replayed = program.heap(name), played[name].peak_rss
    if heap < SMALL:
        return "%.1f %+.1f MB" % (heap / MIB, (replayed - heap) / MIB)
    return "%.1f %+.0f %%" % (heap / MIB, 100 * replayed / heap - 100)


def row_of(program, names, played):
    row = [program.name + ("" if program.workload.steady else " *"), program.compiled.threads,
           program.compiled.calls, "%.1f" % (program.compiled.peak_bytes / MIB)]
    for name in names:
        row.append(away(program, name, played) if played.get(name) else "-")
    return row


def show(title, programs, names, played, note):
    programs = [p for p in programs if played.get(p.name)]
    if programs:
        measure.table(title, ["program", "threads", "calls", "heap MB"] + names,
                      [row_of(p, names, played[p.name]) for p in programs], [note])


def measured(workload, found, start, where, repetitions):
    program = Threads(workload, found, where)
    try:
        program.run(repetitions)
        program.measure_idle(start)
        program.compile()
    except Failed as why:
        measure.skipped(workload.name, "failed: %s" % why)
        return None
    return program


def without_threads(found, start, where):
    """mimalloc-bench's programs of one thread; most have next to nothing in memory."""
    programs = [p for p in (measured(w, found, start, where, 1)
                            for w in part_replay.make_programs(where, False, peers.SERIAL)) if p]
    played = {}
    for p in programs:
        played[p.name] = p.play_all(p.path, mode="serial", touch="recorded")
        os.unlink(p.path)
    show("Replay: peak of mimalloc-bench's programs of one thread", programs, list(found), played,
         "MB really, and what the replay is away from it.")


def main(where, quick):
    why = replays.missing()
    if why:
        measure.skipped("replay-threads", why)
        return []
    found = replays.allocators()
    start = replays.start_ups(found)[0]
    rows = peers.THREADS[:3] if quick else peers.THREADS
    programs = [p for p in (measured(w, found, start, where, 1 if quick else 3)
                            for w in part_replay.make_programs(where, quick, rows)) if p]
    ordered = {p.name: p.play_all(p.path, mode="ordered", touch="recorded") for p in programs}
    free = {p.name: p.play_all(p.path, mode="threads", touch="recorded") for p in programs}
    lost = {}
    for p in programs:
        if not p.workload.steady or p.compiled.threads > 200:
            continue  # long, or too many at once
        replays.without_edges(p.path, p.path + ".edges")
        lost[p.name] = p.play_all(p.path + ".edges", mode="ordered", touch="recorded")
    names = list(found)
    show("Replay: peak of programs with threads, MB really and what `ordered` is away from it",
         programs, names, ordered,
         "Real: greatest resident set less that of a process which does nothing.  * its work "
         "depends on the allocator's speed, or on which thread is faster.")
    show("The same, `threads` (without the recorded order)", programs, names, free,
         "Only blocks and the lives of threads are kept in order.")
    show("The same, `ordered`, without edges", programs, names, lost,
         "A control: all threads live from the first call to the last.")
    if not quick:
        without_threads(found, start, where)
    return []
