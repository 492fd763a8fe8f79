# SPDX-License-Identifier: LGPL-3.0-or-later
"""Writes playback files from small texts, without the compiler: a second reading of
include/mprof/playback.h, so that runner and compiler are not tested by each other alone.

A text has a line for each event, in the recorded order; the first word is the thread:

    T malloc NAME SIZE          T calloc NAME SIZE       T realloc NAME SIZE   (NAME born if new)
    T aligned NAME SIZE LOG2 FN (FN: posix_memalign, memalign, aligned_alloc, valloc, pvalloc)
    T free NAME                 T touch BYTES            (of the block just born)
    T create U                  T exit                   T gone U
    T time NS                   # a comment

`Playback(text)` has the words of both forms; `.write(path)` makes the file.  Slots: last freed
first, but one that another thread freed rests until the end of the file; `rest=False` reuses it.
"""

import struct

PAGE = 4096
END, MALLOC, FREE, CALLOC, REALLOC, ALIGNED, EXT, SWITCH, CREATE, EXIT, GONE, TIME, TOUCH = range(13)
CALLS = {"malloc": MALLOC, "free": FREE, "calloc": CALLOC, "realloc": REALLOC, "aligned": ALIGNED}
FUNCTIONS = {"memalign": 6, "posix_memalign": 7, "aligned_alloc": 8, "valloc": 9, "pvalloc": 10}
GENERATIONS = 1 << 15


def check(data):
    value = 0xcbf29ce484222325
    data += b"\0" * (-len(data) % 8)
    for (word,) in struct.iter_unpack("<Q", data):
        value = (value ^ word) * 0x100000001b3 & 0xffffffffffffffff
    return value


def call(op, slot, size):
    return op | (size & (1 << 28) - 1) << 4 | slot << 32


def ext(log2align=0, function=0, wait=0, size=0):
    return EXT | log2align << 4 | function << 10 | wait << 16 | size >> 28 << 32


def other(op, thread):
    return op | thread << 32


class Slot:
    def __init__(self, number):
        self.number, self.generation, self.last = number, 0, None


class Playback:
    """Attributes: order, streams (lists of words), slots, ops; changed at will before write."""

    def __init__(self, text, rest=True):
        self.order, self.streams = [], {0: []}
        self.rest, self.slots, self.pool = rest, [], []
        self.live, self.now, self.ops = {}, 0, [0] * 6
        self.bytes = self.peak_bytes = self.peak_blocks = self.peak_op = self.asked = 0
        self.remote, self.touched, self.last_ns = 0, 0, 0
        self.creator = {}
        for line in text.splitlines():
            words = line.split("#")[0].split()
            if words:
                self.event(int(words[0]), words[1], words[2:])

    def event(self, thread, what, rest):
        self.streams.setdefault(thread, [])
        if thread != self.now:
            self.order.append(other(SWITCH, thread))
            self.now = thread
        if what in CALLS:
            self.call(thread, CALLS[what], rest)
        elif what == "touch":
            self.both(thread, TOUCH | int(rest[0]) << 4)
            self.touched += 1
        elif what == "time":
            self.last_ns = int(rest[0])
            self.both(thread, TIME | self.last_ns << 4)
        else:
            if what == "create":
                self.creator[int(rest[0])] = thread
                self.streams.setdefault(int(rest[0]), [])
            op = {"create": CREATE, "exit": EXIT, "gone": GONE}[what]
            self.both(thread, other(op, int(rest[0]) if rest else thread))

    def both(self, thread, word):
        self.order.append(word)
        self.streams[thread].append(word)

    def take_slot(self):
        if self.pool:
            return self.pool.pop()
        self.slots.append(Slot(len(self.slots)))
        return self.slots[-1]

    def call(self, thread, op, rest):
        name = rest[0]
        size = int(rest[1]) if op != FREE else 0
        born = name not in self.live
        if op == FREE:
            slot, old, owner = self.live.pop(name)
        elif op == REALLOC and not born:
            slot, old, owner = self.live[name]
        else:
            assert born, f"{name} is born twice"
            slot, old, owner = self.take_slot(), 0, thread
        align = int(rest[2]) if op == ALIGNED else 0
        function = FUNCTIONS[rest[3]] if op == ALIGNED else 0
        wait = slot.generation + 1 if slot.last not in (None, thread) else 0
        word = call(op, slot.number, size)
        if wait or size >> 28 or op == ALIGNED:
            self.streams[thread].append(ext(align, function, wait, size))
        if size >> 28 or op == ALIGNED:
            self.order.append(ext(align, function, 0, size))
        self.both(thread, word)
        self.count(op, size, old, slot, thread, owner, name)

    def count(self, op, size, old, slot, thread, owner, name):
        self.ops[op] += 1
        self.asked += size
        self.bytes += size - old
        was_live = slot.generation & 1
        slot.generation += -1 if op == FREE else 2 if was_live else 3
        slot.generation %= GENERATIONS
        slot.last = thread
        if op == FREE:
            self.remote += owner != thread
            if owner == thread or not self.rest:
                self.pool.append(slot)
        else:
            self.live[name] = (slot, size, thread)
        if self.bytes > self.peak_bytes:
            self.peak_bytes, self.peak_op = self.bytes, sum(self.ops) - 1
        self.peak_blocks = max(self.peak_blocks, len(self.live))

    @staticmethod
    def calls_of(words):
        return sum(MALLOC <= word & 15 <= ALIGNED for word in words)

    def summary(self):
        """struct mprof_play_summary"""
        numbers = [sum(self.ops), *self.ops, self.asked, self.peak_bytes, self.peak_blocks,
                   self.peak_op, self.bytes, len(self.live), self.remote, self.last_ns,
                   self.touched] + [0] * 7 + [0] * 8
        return struct.pack("<31Q", *numbers)

    def thread_records(self, streams, start):
        """struct mprof_play_thread for each stream; start: where the first one lies."""
        records = b""
        for i, data in enumerate(streams):
            records += struct.pack("<5Q2I", start if len(streams) > 1 else 0, len(data) // 8,
                                   self.calls_of(self.streams.get(i, [])), 0, self.last_ns, i,
                                   self.creator.get(i, i))
            start += len(data)
        return records

    def write(self, path):
        threads = max(self.streams) + 1
        sections, body = [], bytearray()

        def section(data):
            body.extend(b"\0" * (-len(body) % PAGE))
            sections.append((PAGE + len(body), len(data), check(data)) if data else (0, 0, 0))
            body.extend(data)

        def packed(words):
            return struct.pack(f"<{len(words) + 1}Q", *words, END)

        def up(n):
            return n + -n % PAGE

        section(packed(self.order))
        streams = [packed(self.streams.get(i, [])) for i in range(threads)]
        section(self.thread_records(streams, PAGE + up(up(len(body)) + 48 * threads)))
        section(b"".join(streams) if threads > 1 else b"")
        section(b"")
        header = b"mprofplb" + struct.pack("<2I2Q2I", 1, PAGE, PAGE + len(body), len(self.slots),
                                           threads, 0)
        header += b"".join(struct.pack("<3Q", *s) for s in sections)
        header += self.summary()
        header += b"script".ljust(256, b"\0") + b"".ljust(1024, b"\0") + b"script".ljust(32, b"\0")
        header += bytes(16)
        header += struct.pack("<Q", check(header))
        with open(path, "wb") as file:
            file.write(header.ljust(PAGE, b"\0") + body)
        return path
