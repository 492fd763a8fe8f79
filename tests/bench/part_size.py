# SPDX-License-Identifier: LGPL-3.0-or-later
"""part_size.py - bytes of trace per pair, and memory of ours in the program."""

import json
import os
import subprocess

import measure
from measure import Failed, Series

MIB = 1 << 20


def pipe_size(words):
    """Bytes that a command writes to its stdout."""
    with subprocess.Popen(words, stdout=subprocess.PIPE) as p:
        return sum(len(part) for part in iter(lambda: p.stdout.read(MIB), b""))


def report(log):
    words = [measure.MPROF, "report", "--json", log]
    done = subprocess.run(words, capture_output=True, env=measure.clean_environment())
    if done.returncode:
        raise Failed(done.stderr.decode(errors="replace").strip())
    return json.loads(done.stdout)


def whole(log, pairs):
    """Is every call of the run in the trace?  A small file may be a bad one."""
    found = report(log)
    if found["calls"]["malloc"] < pairs or found["lost"]:
        raise Failed("%d of %d mallocs recorded, %d lost" % (
            found["calls"]["malloc"], pairs, found["lost"]))


def raw(where, pairs, threads):
    launch = measure.preload("LogMmap", where)
    measure.churn(launch, pairs, threads)
    whole(launch.files[1], pairs)
    return os.path.getsize(launch.files[1])


def packed(where, pairs, threads):
    launch = measure.record(where)
    measure.churn(launch, pairs, threads)
    whole(launch.files[0], pairs)
    return os.path.getsize(launch.files[0])


def heaptrack(where, pairs, threads, *options):
    launch = measure.heaptrack(where, *options)
    measure.churn(launch, pairs, threads)
    return launch.files[0]


def peer_sizes(where, pairs, threads):
    """(interpreted and compressed, the same as text, raw text) of heaptrack."""
    small = heaptrack(where, pairs, threads)
    sizes = [os.path.getsize(small), pipe_size(["zstd", "-dcq", small])]
    return sizes + [pipe_size(["zstd", "-dcq", heaptrack(where, pairs, threads, "--raw")])]


def sizes(where, quick):
    pairs = 1_000_000 if quick else 4_000_000
    rows, ours = [], {}
    for threads in (1, 8):
        row = [threads]
        for how in (raw, packed):
            measure.progress("size %d threads" % threads)
            try:
                ours[how, threads] = how(where, pairs, threads) / pairs
                row.append("%.2f" % ours[how, threads])
            except Failed as why:
                measure.skipped("trace of %d threads" % threads, why)
                row.append("-")
        try:
            peer = [] if measure.missing_heaptrack() else peer_sizes(where, pairs, threads)
        except Failed as why:
            measure.skipped("heaptrack with %d threads" % threads, why)
            peer = []
        rows.append(row + ["%.2f" % (n / pairs) for n in peer] + ["-"] * (3 - len(peer)))
    measure.progress("")
    measure.table(
        "Bytes of file per pair (%d million pairs)" % (pairs // 1_000_000),
        ["threads", "mprof raw", "mprof compressed", "heaptrack zstd",
         "heaptrack interpreted text", "heaptrack raw text"], rows,
        ["The whole file over the pairs: for mprof raw two words of 8 bytes a pair, and headers.  "
         "mprof keeps thread, time and usable size of each call, heaptrack the call stack (here "
         "one site)."])
    return budget_rows(ours, rows)


def with_unit(cell):
    return cell if cell == "-" else cell + " B"


def budget_rows(ours, rows):
    found = []
    for how, name, limit, column in ((raw, "raw", 16, 5), (packed, "compressed", 4, 3)):
        if (how, 1) in ours:
            found.append(["trace bytes per pair, " + name, with_unit(rows[0][column]), "%d B" % limit,
                          "%.2f B" % ours[how, 1], ours[how, 1] <= limit])
    return found


class Memory:
    """Resident memory of churn under each variant, and what we say of ourselves."""

    def __init__(self, where, threads, repetitions):
        self.where, self.threads = where, threads
        self.anon, self.said = Series(), None
        found = {"native": measure.Launch()}
        if not measure.missing_library():
            found.update({m: measure.preload(m, where) for m in ("Null", "Count", "LogMmap")})
        if not measure.missing_heaptrack():
            found["heaptrack"] = measure.heaptrack_inside(where)
        self.rss = measure.interleave(found, repetitions, self.once)
        for name, why in self.rss.failed.items():
            measure.skipped("memory of %s with %d threads" % (name, threads), "failed: " + why)

    def once(self, name, launch):
        measure.progress("memory %d threads %s" % (self.threads, name))
        run = measure.churn(launch, 20000 * self.threads, self.threads)
        self.anon.add(name, int(run.own["anon_kib"]))
        if name == "LogMmap" and self.said is None:
            processes = report(launch.files[1])["processes"]
            self.said = sum(p["self_bytes"] for p in processes) / 1024
        return int(run.own["rss_kib"])

    def row(self, names):
        cells = [self.threads, self.rss.figure("native").show("%.0f")]
        for name in names:
            cells.append("%s / %s" % (self.anon.added(name).show("%+.0f"),
                                      self.rss.added(name).show("%+.0f")))
        return cells + ["-" if self.said is None else "%.0f" % self.said]


def memory(where, quick):
    found = [Memory(where, threads, 3 if quick else 7) for threads in (1, 8, 100)]
    measure.progress("")
    names = [n for n in found[0].rss.values if n != "native"]
    measure.table(
        "Memory of the recorder in the program, KiB (private / resident with shared pages)",
        ["threads", "native resident"] + names + ["LogMmap: as mprof says"],
        [m.row(names) for m in found],
        ["Differences to native of RssAnon and VmRSS after the pairs; resident pages include "
         "those of the library file and, for LogMmap, of the slots, which are the trace's.  With "
         "many threads the allocator makes more or fewer arenas from run to run, which is most "
         "of the spread; the last column is free of it."])
    rows = []
    for m in found:
        limit = 16 * 1024 + 100 * m.threads
        figure = m.anon.added("LogMmap")
        if figure:
            rows.append(["LogMmap, private memory with %d threads" % m.threads,
                         m.anon.added("heaptrack").show("%+.0f KiB"), "%d KiB" % limit,
                         figure.show("%+.0f KiB"), figure.median <= limit])
    return rows


def main(where, quick):
    why = measure.missing_library() or measure.missing_mprof()
    if why:
        measure.skipped("size", why)
        return []
    return sizes(where, quick) + memory(where, quick)
