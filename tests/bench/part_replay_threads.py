# SPDX-License-Identifier: LGPL-3.0-or-later
"""part_replay_threads.py - peak memory of programs with threads, real and replayed.

Ordered: threads of their own, in the recorded order.  Real: the greatest
resident set less what a process needs with that allocator.  Some of these
programs do as much as they can in a given time, and then a faster allocator
really has other work: they are marked.

Without edges: the same calls in the same order, but all threads are there from
the first call to the last, as in a replay that knows nothing of when threads
begin and end.  It has to be wrong, or nobody would notice that edges were lost.
"""

import measure
import part_replay
import peers
import replays
from measure import Failed
from part_replay import MIB, Program

class Threads(Program):
    """A Program that is little more than its heap: peaks are compared as they are."""

    def ratio(self, name, start, played):
        return played[name].peak_rss / max(1, self.real[name] - start[name])

    def play_all(self, path, **keys):
        return {name: self.attempt(name, path, keys) for name in self.real}

    def attempt(self, name, path, keys):
        measure.progress("replay-threads: %s on %s" % (self.name, name))
        try:
            return replays.play(path, self.found[name], **keys)
        except Failed as why:
            measure.skipped("%s on %s" % (self.name, name), "failed: %s" % why)
            return None


def row_of(program, start, names, played):
    row = [program.name + ("" if program.workload.steady else " *"), program.compiled.threads,
           program.compiled.calls, "%.1f" % (program.compiled.peak_bytes / MIB)]
    for name in names:
        if played.get(name):
            row.append("%.1f %+.0f %%" % (
                (program.real[name] - start[name]) / MIB,
                100 * program.ratio(name, start, played) - 100))
        else:
            row.append("-")
    return row


def show(title, programs, start, names, played, note):
    if programs:
        measure.table(title, ["program", "threads", "calls", "heap MB"] + names,
                      [row_of(p, start, names, played[p.name]) for p in programs], [note])


def measured(workload, found, where, quick):
    program = Threads(workload, found, where)
    try:
        program.run(1 if quick else 5)
        program.compile()
    except Failed as why:
        measure.skipped(workload.name, "failed: %s" % why)
        return None
    return program if program.compiled.threads > 1 else None


def main(where, quick):
    why = replays.missing()
    if why:
        measure.skipped("replay-threads", why)
        return []
    found = replays.allocators()
    start = replays.start_ups(found)[0]
    rows = peers.THREADS[:3] if quick else peers.THREADS
    programs = [p for p in (measured(w, found, where, quick)
                            for w in part_replay.make_programs(where, quick, rows)) if p]
    ordered = {p.name: p.play_all(p.path, mode="ordered", touch="recorded") for p in programs}
    free = {p.name: p.play_all(p.path, mode="threads", touch="recorded") for p in programs}
    lost = {}
    for p in programs:
        replays.without_edges(p.path, p.path + ".edges")
        lost[p.name] = p.play_all(p.path + ".edges", mode="ordered", touch="recorded")
    names = list(found)
    show("Replay: peak of programs with threads, MB really and what `ordered` is away from it",
         programs, start, names, ordered,
         "Real: greatest resident set less start-up.  * does as much as it can in a given time, "
         "so that its work depends on the allocator's speed.")
    show("The same, `threads` (without the recorded order)", programs, start, names, free,
         "Only blocks and the lives of threads are kept in order.")
    show("The same, `ordered`, without edges", programs, start, names, lost,
         "A control: all threads live from the first call to the last.")
    return []
