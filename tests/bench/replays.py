# SPDX-License-Identifier: LGPL-3.0-or-later
"""replays.py - record, compile, and play by the runner itself (include/mprof/runner.h).

The runner is asked directly, without `mprof replay` between, so that a figure
here says something about the runner; that `mprof replay --json` prints the same
is one line of the output.
"""

import ctypes.util
import os
import re
import statistics
import struct
import subprocess
import threading

import measure
from measure import Failed

PLAY_SECONDS_MAX = 120
RUNNER = os.path.join(measure.BUILD, "mprof_replay")
SONAMES = (("jemalloc", r"libjemalloc\.so\.\d+"), ("mimalloc", r"libmimalloc\.so\.[\d.]+"),
           ("tcmalloc", r"libtcmalloc_minimal\.so\.\d+"), ("tbb", r"libtbbmalloc_proxy\.so\.\d+"))
LIBSTDCXX = ctypes.util.find_library("stdc++") or ""

HEAD = struct.Struct("<IIQ")
ADDRESSES, SAMPLE, FRAME, RESULT, ERROR = range(1, 6)
FIELDS = ("calls", "failed", "wall_ns", "user_ns", "sys_ns", "minflt", "majflt", "base_rss",
          "start_hwm", "peak_rss", "end_rss", "drained_rss") + tuple(
    "drain_ms%d" % i for i in range(8)) + tuple("drain_rss%d" % i for i in range(8)) + (
    "waits", "late_ns")
ASLR = 8 * (len(FIELDS) + 3 + 3 * 256 + 2)  # behind the rest of the drain, latency, thp, touch

# struct mprof_playback_header up to its summary (include/mprof/playback.h).
HEADER = struct.Struct("<8sIIQQII" + 4 * "QQQ" + "Q" + 6 * "Q" + 9 * "Q")
HEADER_CHECK = 1712  # where the header's own check stands: it covers what is before
SWITCH, CREATE, EXIT, GONE = 7, 8, 9, 10
OPS = ("", "malloc", "free", "calloc", "realloc", "aligned", "ext", "switch", "create", "exit",
       "gone", "time", "touch")


def library(soname):
    """The path of the first one whose name matches; None."""
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    path = re.search(r"^\s*%s \(libc6,x86-64.*=> (\S+)$" % soname, listed, re.MULTILINE)
    path = path or re.search(r"^\s*%s .*=> (\S+)$" % soname, listed, re.MULTILINE)
    return path and path.group(1)


def allocators():
    """name -> what to preload; glibc first."""
    found = {"glibc": ""}
    for name, soname in SONAMES:
        path = library(soname)
        if path:
            found[name] = path
    return found


def missing():
    for path in (measure.MPROF, measure.LIBRARY, RUNNER):
        if not os.path.exists(path):
            return "%s is not built" % os.path.relpath(path, measure.ROOT)
    return None


class Play:
    """RESULT's fields as attributes, and what else came: addresses, samples, frames."""

    def __init__(self, stream):
        self.addresses, self.samples, self.frames, self.result = [], [], [], None
        for kind, data in records(stream):
            if kind == ERROR:
                raise Failed("runner: " + data.rstrip(b"\0").decode(errors="replace"))
            if kind == ADDRESSES:
                self.addresses.append(data)
            elif kind == SAMPLE:
                self.samples.append(struct.unpack("<6Q", data[:48]))
            elif kind == FRAME:
                self.frames.append(data)
            elif kind == RESULT:
                self.result = data
        if not self.result:
            raise Failed("runner: it ended without a result")
        for i, name in enumerate(FIELDS):
            setattr(self, name, struct.unpack_from("<Q", self.result, 8 * i)[0])

    @property
    def aslr_off(self):
        return not struct.unpack_from("<Q", self.result, ASLR)[0]

    @property
    def cpu_ns(self):
        return self.user_ns + self.sys_ns


def records(stream):
    while True:
        head = stream.read(HEAD.size)
        if len(head) < HEAD.size:
            return
        kind, _, size = HEAD.unpack(head)
        yield kind, stream.read(size)


def play(path, preload="", env=(), **keys):
    """One playback in a process of its own.  path None: only start."""
    words = [RUNNER] + (["in=" + path] if path else [])
    inner, end = os.pipe()
    words += ["out=%d" % end] + ["%s=%s" % pair for pair in keys.items()]
    variables = dict(env, **({"LD_PRELOAD": preload} if preload else {}))
    process = subprocess.Popen(words, pass_fds=[end], stderr=subprocess.PIPE,
                               env=measure.clean_environment(variables))
    os.close(end)
    late = threading.Timer(PLAY_SECONDS_MAX, process.kill)
    late.start()
    with os.fdopen(inner, "rb") as stream, process:
        try:
            return Play(stream)
        except Failed as why:
            process.kill()
            said = process.stderr.read().decode(errors="replace").strip().splitlines()
            raise Failed("%s%s" % (why, ": " + said[0] if said else "")) from None
        finally:
            late.cancel()


def start_up(preload="", beside=""):
    """Bytes that a program which does nothing needs with this allocator.

    beside: a library that the program has anyway, and that some allocators bring too.
    """
    words = ":".join(word for word in (preload, beside) if word)
    return statistics.median(play(None, words, mode="startup").start_hwm for _ in range(5))


def start_ups(found):
    """Bytes by allocator: for a program without libstdc++, and for one with it."""
    return [{name: start_up(path, beside) for name, path in found.items()}
            for beside in ("", LIBSTDCXX)]


def mprof(*words, **how):
    done = subprocess.run([measure.MPROF, *words], capture_output=True,
                          env=measure.clean_environment(), timeout=measure.SECONDS_MAX, **how)
    if done.returncode:
        raise Failed("mprof %s: %s" % (words[0], done.stderr.decode(errors="replace").strip()))
    return done.stdout


def compile_trace(log, out, *options):
    mprof("sort", *options, "-o", out, log)
    return Playback(out)


def record(workload, log, preload="", touched=False, stacks=False):
    """A trace of one run.  stacks: they tell whether the program had libstdc++."""
    prefix = [measure.MPROF, "record", "-o", log]
    if touched:
        prefix.append("--touched")
    if not stacks:
        prefix.append("--unwind=none")
    if preload:
        prefix += ["--allocator=" + preload]
    workload.run(measure.Launch(prefix=prefix + ["--"], files=[log]))
    return log


class Playback:
    """What a compiled file's header says."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as f:
            field = HEADER.unpack(f.read(HEADER.size))
        self.slots, self.threads, self.flags = field[4], field[5], field[6]
        self.order, self.thread, self.streams, self.sites = (
            field[7 + 3 * i:9 + 3 * i] for i in range(4))
        self.with_libstdcxx = bool(self.flags & 32)
        self.calls = field[19]
        self.by_op = dict(zip(OPS[:6], field[20:26]))
        (self.asked_bytes, self.peak_bytes, self.peak_blocks, self.peak_op, self.left_bytes,
         self.left_blocks, self.remote_frees, self.recorded_ns) = field[26:34]

    def words(self):
        """The ORDER stream, as bytes."""
        with open(self.path, "rb") as f:
            f.seek(self.order[0])
            return f.read(self.order[1])


def check(data):
    """mprof_play_check()"""
    value = 0xcbf29ce484222325
    for (word,) in struct.iter_unpack("<Q", data + b"\0" * (-len(data) % 8)):
        value = (value ^ word) * 0x100000001b3 & 0xffffffffffffffff
    return value


def without_edges(path, out):
    """A copy in which every thread lives as long as the program: its ORDER is another one.

    The new ORDER is put behind all that was there, which a runner that plays
    `ordered` bears; `mprof` itself would call the file damaged.
    """
    with open(path, "rb") as f:
        data = bytearray(f.read())
    order = Playback(path).order
    words = struct.unpack("<%dQ" % (order[1] // 8), data[order[0]:order[0] + order[1]])
    begun = [w for w in words if w & 15 == CREATE]
    ended = {w >> 32: w for w in words if w & 15 == EXIT}
    calls = [w for w in words if w & 15 not in (CREATE, EXIT, GONE)]
    threads = sorted(ended, reverse=True)  # the first one last
    last = [w for t in threads for w in (SWITCH | t << 32, ended[t])]
    words = begun + calls[:-1] + last + calls[-1:]
    data += b"\0" * (-len(data) % 4096)
    new = struct.pack("<%dQ" % len(words), *words)
    struct.pack_into("<3Q", data, 40, len(data), len(new), check(new))
    data += new
    struct.pack_into("<Q", data, 16, len(data))
    struct.pack_into("<Q", data, HEADER_CHECK, check(bytes(data[:HEADER_CHECK])))
    with open(out, "wb") as f:
        f.write(data)
