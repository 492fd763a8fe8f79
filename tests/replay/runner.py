# SPDX-License-Identifier: LGPL-3.0-or-later
"""Starts mprof_replay and takes its records apart (include/mprof/runner.h)."""

import os
import struct

import harness

RUNNER = os.path.join(harness.BUILD, "mprof_replay")
KINDS = {1: "addresses", 2: "sample", 3: "frame", 4: "result", 5: "error"}
RESULT = ("calls failed wall_ns user_ns sys_ns minflt majflt base_rss start_hwm peak_rss end_rss "
          "drained_rss").split()
AFTER_DRAIN = "waits late_ns drain_user_ns drain_sys_ns latency_ticks_per_s".split()
LAST = "thp touch aslr threads late_stacks latency_empty".split()
SAMPLE = "op ns rss anon mapped minflt".split()
# The kernel adds resident pages up in batches, one a processor (percpu_counter_batch).
PROCESSORS = os.sysconf("SC_NPROCESSORS_ONLN")
COUNTED_AT_ONCE = os.sysconf("SC_PAGE_SIZE") * max(32, 2 * PROCESSORS) * PROCESSORS


class Played:
    """status, error (text), result (dict), addresses, samples, frames, kinds (in order)."""

    def __init__(self, ran):
        self.status, self.err = ran.status, ran.err.decode(errors="replace")
        self.result, self.error = None, None
        self.addresses, self.samples, self.frames, self.kinds = [], [], [], []
        self.whole = self.take(ran.out)

    def take(self, data):
        at = 0
        while at + 16 <= len(data):
            kind, _, size = struct.unpack_from("<2IQ", data, at)
            body = data[at + 16:at + 16 + size]
            if len(body) != size or size % 8 or kind not in KINDS:
                return False
            self.kinds.append(KINDS[kind])
            getattr(self, "take_" + KINDS[kind])(body)
            at += 16 + size
        return at == len(data)

    def take_addresses(self, body):
        self.addresses += struct.iter_unpack("<2Q", body)

    def take_sample(self, body):
        self.samples.append(dict(zip(SAMPLE, struct.unpack("<6Q", body))))

    def take_frame(self, body):
        sample = dict(zip(SAMPLE, struct.unpack_from("<6Q", body)))
        (count,) = struct.unpack_from("<Q", body, 48)
        at, ranges = 56, []
        for _ in range(count):
            address, pages = struct.unpack_from("<2Q", body, at)
            size = (pages + 63) // 64 * 8
            ranges.append((address, pages, body[at + 16:at + 16 + size]))
            at += 16 + size
        assert at == len(body), "a frame is longer than its ranges"
        self.frames.append((sample, ranges))

    def take_result(self, body):
        values = struct.unpack(f"<{len(body) // 8}Q", body)
        result = dict(zip(RESULT, values))
        at = len(RESULT)
        result["drain_ms"], result["drain_rss"] = values[at:at + 8], values[at + 8:at + 16]
        at += 16
        result.update(zip(AFTER_DRAIN, values[at:]))
        at += len(AFTER_DRAIN)
        result["latency"] = [values[at + 256 * i:at + 256 * (i + 1)] for i in range(3)]
        result.update(zip(LAST, values[at + 768:]))
        self.result = result

    def take_error(self, body):
        self.error = body.rstrip(b"\0").decode()

    def resident(self, frame, address):
        """Is the page of an address resident in that frame?  None: in no range of it."""
        for begin, pages, bits in self.frames[frame][1]:
            page = (address - begin) // 4096
            if 0 <= page < pages:
                return bool(bits[page // 8] >> page % 8 & 1)
        return None


def play(path, *settings, preload=None, runner=RUNNER, env=None):
    extra = dict(env or {})
    if preload:
        extra["LD_PRELOAD"] = preload
    return Played(harness.run([runner, f"in={path}", *settings], extra=extra))
