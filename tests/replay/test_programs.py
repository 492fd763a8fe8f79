# SPDX-License-Identifier: LGPL-3.0-or-later
"""Real programs, recorded, compiled and played: does it all say the same, and what reality says?

The programs are those of tests/bench, with less to do.  They ask for the same
blocks in each run.  Peaks are memory, not time: a busy machine does not move
them.  `make bench-replay` does the same with larger heaps, and prints how near
it comes.
"""

import functools
import os
import struct
import subprocess
import sys
import tempfile

import harness

BENCH = os.path.join(harness.ROOT, "tests", "bench")
if BENCH not in sys.path:
    sys.path.append(BENCH)
import heaps  # noqa: E402
import measure  # noqa: E402
import replays  # noqa: E402
import workloads  # noqa: E402
from runner import COUNTED_AT_ONCE  # noqa: E402

MIB = 1 << 20
SCRATCH = tempfile.TemporaryDirectory(prefix="mprof-replay-")
TOUCH, TIME = 12, 11
MAPS = ("mmap", "munmap", "mremap", "brk", "sbrk")
PEAK_AWAY = 0.03  # of the heap, and 1 MB: real and replayed differences to glibc
THREADS_AWAY = 0.20  # of the peak, and 1 MB


def small(base, size):
    return type(base.__name__, (base,), {"sizes": (size, size)})


PROGRAMS = [small(heaps.Perl, 1), small(workloads.Jq, 2), small(heaps.Xmllint, 1),
            small(heaps.GitLog, 10)]


class Generations(workloads.Workload):
    """Sixteen times four threads; built here, with nothing of ours in it."""

    name = "generations"

    def make(self, size):
        program = self.path("generations")
        subprocess.run(["gcc", "-std=gnu11", "-O1", "-fno-builtin", "-o", program,
                        os.path.join(BENCH, "generations.c"), "-lpthread"], check=True)
        return [program, "16", "4", "2048"]


@functools.lru_cache(None)
def workload(kind):
    if not os.path.exists(measure.COST):
        subprocess.run(["make", "-s", "-C", harness.ROOT, "bench-programs",
                        "O=" + os.path.relpath(harness.BUILD, harness.ROOT)], check=True)
    return kind(SCRATCH.name, True)


@functools.lru_cache(None)
def traced(kind, under="glibc"):
    """(trace, playback file) of a run with an allocator."""
    made = workload(kind)
    log = made.path(under + ".log")
    replays.record(made, log, replays.allocators()[under], touched=True, stacks=True)
    return log, replays.compile_trace(log, made.path(under + ".playback"))


def installed():
    found = []
    for kind in PROGRAMS:
        try:
            workload(kind)
            found.append(kind)
        except workloads.Missing:
            pass
    if not found:
        raise harness.Skip("none of its programs is installed")
    return found


def need_allocator(name):
    if name not in replays.allocators():
        raise harness.Skip("%s is not installed" % name)


def calls(playback, keep=lambda word: word):
    """ORDER without what differs from run to run: the times."""
    return [keep(word) for (word,) in struct.iter_unpack("<Q", playback.words())
            if word & 15 not in (TIME, TOUCH)]


class Counted:
    """A count of a playback file's calls that knows nothing of how it was made."""

    def __init__(self, playback):
        self.by_op, self.bytes, self.peak, self.asked = [0] * 6, 0, 0, 0
        sizes, ext = {}, 0
        for (word,) in struct.iter_unpack("<Q", playback.words()):
            op, slot = word & 15, word >> 32
            if op == 6:
                ext = slot << 28
            elif 1 <= op <= 5:
                size = (word >> 4 & 0xfffffff) | ext
                self.by_op[op] += 1
                self.asked += size
                self.bytes -= sizes.pop(slot, 0)
                if op != 2:
                    sizes[slot] = size
                    self.bytes += size
                self.peak = max(self.peak, self.bytes)
                ext = 0
        self.blocks = len(sizes)


def test_calls_and_bytes_are_the_traces():
    wrong = []
    for kind in installed():
        log, playback = traced(kind)
        report, problems = harness.report(log)
        wrong += problems
        counted = Counted(playback)
        called = sum(report["calls"][name] for name in report["calls"] if name not in MAPS)
        says = {"calls": called - report["null_frees"] - report["failed_calls"],
                "peak": report["peak_bytes"], "left": report["live_bytes"],
                "left blocks": report["live_blocks"], "asked": report["total_bytes"]}
        header = {"calls": playback.calls, "peak": playback.peak_bytes,
                  "left": playback.left_bytes, "left blocks": playback.left_blocks,
                  "asked": playback.asked_bytes}
        own = {"calls": sum(counted.by_op), "peak": counted.peak, "left": counted.bytes,
               "left blocks": counted.blocks, "asked": counted.asked}
        wrong += ["%s: %s: report %d, header %d, words %d" % (
            kind.name, key, says[key], header[key], own[key])
            for key in says if not says[key] == header[key] == own[key]]
    return wrong


def test_slots_are_the_most_blocks():
    return ["%s: %d slots, at most %d blocks" % (kind.name, traced(kind)[1].slots,
                                                 traced(kind)[1].peak_blocks)
            for kind in installed() if traced(kind)[1].slots != traced(kind)[1].peak_blocks]


def test_compiled_twice_is_the_same():
    wrong = []
    for kind in installed()[:2]:
        log, playback = traced(kind)
        again = replays.compile_trace(log, playback.path + ".again")
        with open(playback.path, "rb") as one, open(again.path, "rb") as two:
            if one.read() != two.read():
                wrong.append("%s: two compilations differ" % kind.name)
    return wrong


def test_played_twice_has_the_same_addresses():
    wrong = []
    for kind in installed()[:2]:
        path = traced(kind)[1].path
        one, two = (replays.play(path, mode="serial", addresses=1, aslr=0) for _ in range(2))
        if not one.aslr_off:
            raise harness.Skip("addresses cannot be made the same here")
        if b"".join(one.addresses) != b"".join(two.addresses):
            wrong.append("%s: other addresses" % kind.name)
        if abs(one.peak_rss - two.peak_rss) > COUNTED_AT_ONCE:
            wrong.append("%s: peaks %d and %d" % (kind.name, one.peak_rss, two.peak_rss))
    return wrong


def peaks_apart(playbacks, preload):
    """The peaks of two playbacks on one allocator, if they are too far from each other."""
    peaks = [replays.play(p.path, preload, mode="serial", aslr=0).peak_rss for p in playbacks]
    apart = abs(peaks[0] - peaks[1]) > 0.01 * peaks[0] + COUNTED_AT_ONCE
    return peaks if apart else None


def test_whatever_it_was_recorded_under():
    """mimalloc and jemalloc purge by the clock, so peaks that are apart are measured twice more."""
    need_allocator("mimalloc")
    wrong = []
    for kind in installed():
        playbacks = traced(kind)[1], traced(kind, "mimalloc")[1]
        for name, preload in replays.allocators().items():
            apart = [peaks_apart(playbacks, preload)]
            while apart[-1] and len(apart) < 3:
                apart.append(peaks_apart(playbacks, preload))
            if apart[-1]:
                wrong.append("%s on %s: bytes recorded under glibc and under mimalloc: %s" % (
                    kind.name, name, apart))
    return wrong


def test_a_recorded_replay_compiles_to_the_same():
    wrong = []
    for kind in installed():
        playback = traced(kind)[1]
        log, out = playback.path + ".log", playback.path + ".closed"
        harness.run([harness.MPROF, "record", "--unwind=none", "-o", log, "--", replays.RUNNER,
                     "in=" + playback.path, "out=1", "mode=serial", "keep=1"])
        closed = replays.compile_trace(log, out)
        if calls(closed) != calls(playback):
            wrong.append("%s: %d calls became %d, or others" % (
                kind.name, playback.calls, closed.calls))
    return wrong


def real_peaks(made, found):
    """Bytes by allocator: the middle of three runs."""
    peaks = {}
    for name, preload in found.items():
        launch = measure.Launch(env={"LD_PRELOAD": preload} if preload else {})
        peaks[name] = 1024 * sorted(made.run(launch).peak_kib for _ in range(3))[1]
    return peaks


def peaks_away(kind, found, starts):
    """By allocator: how far the peak of its replay is from that of real runs, if that is too far."""
    real, playback = real_peaks(workload(kind), found), traced(kind)[1]
    start = starts[playback.with_libstdcxx]
    played = {name: start[name] + replays.play(playback.path, preload, mode="serial").peak_rss
              for name, preload in found.items()}
    away = {name: (played[name] - played["glibc"]) - (real[name] - real["glibc"])
            for name in found}
    return {name: n for name, n in away.items()
            if abs(n) > PEAK_AWAY * playback.peak_bytes + MIB}


def test_peaks_are_those_of_real_runs():
    """A peak that one run had by chance does not come again, so it is measured again."""
    found = replays.allocators()
    starts, wrong = replays.start_ups(found), []
    for kind in installed():
        away = peaks_away(kind, found, starts)
        again = peaks_away(kind, found, starts) if away else {}
        wrong += ["%s on %s: %+.1f MB away from reality, then %+.1f MB" % (
            kind.name, name, away[name] / MIB, again[name] / MIB) for name in away if name in again]
    return wrong


def test_threads_lives_matter():
    """In order, peaks are the real ones; without begins and ends of threads, not at all."""
    made = workload(Generations)
    found = {n: p for n, p in replays.allocators().items() if n != "tbb"}
    playback = traced(Generations)[1]
    if playback.threads != 65:
        return ["%d threads, not 65" % playback.threads]
    replays.without_edges(playback.path, playback.path + ".edges")
    real, wrong = real_peaks(made, found), []
    for name, preload in found.items():
        heap = real[name] - replays.start_up(preload)
        ordered = replays.play(playback.path, preload, mode="ordered",
                               touch="recorded").peak_rss
        lost = replays.play(playback.path + ".edges", preload, mode="ordered",
                            touch="recorded").peak_rss
        if abs(ordered - heap) > THREADS_AWAY * heap + MIB:
            wrong.append("%s: really %d bytes, ordered %d" % (name, heap, ordered))
        if name != "glibc" and lost < 2 * ordered:
            wrong.append("%s: %d bytes, and %d without edges: nothing is lost" % (
                name, ordered, lost))
    return wrong
