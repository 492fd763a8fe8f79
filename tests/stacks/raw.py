# SPDX-License-Identifier: LGPL-3.0-or-later
"""raw.py - a second reader of traces, written from FORMAT.md alone, for call stacks only.

It shares no code with mprof, so that what both say the same of a trace is what is in it.  It
reads uncompressed, undamaged traces of small programs; every event is a Python object.
"""

import bisect
import mmap
import os
import re
import struct
import subprocess

HEADER = 65536
(SLOT, EVENTS, FACT, STACKS_SLOT, STACKS) = (2, 3, 5, 10, 11)
(FACT_START, FORKED_CHILD) = (1, 1)
EXACT = 1 << 63
MASK48 = (1 << 48) - 1
NAMES = {1: "malloc", 2: "free", 3: "calloc", 4: "realloc", 5: "reallocarray", 6: "memalign",
         7: "posix_memalign", 8: "aligned_alloc", 9: "valloc", 10: "pvalloc", 11: "cfree",
         12: "free_sized", 13: "free_aligned_sized", 14: "operator new", 15: "operator new[]",
         16: "operator delete", 17: "operator delete[]", 18: "mmap", 19: "munmap", 20: "mremap",
         21: "brk", 22: "sbrk"}
SHORT_ALLOC = {1: 1, 2: 3, 3: 4, 4: 14}
SHORT_FREE = {5: 2, 6: 16, 7: 4}
GIVES_BACK = {2, 11, 12, 13, 16, 17}
REALLOCS = {4, 5}
MAPS = {18, 19, 20, 21, 22}


class Bad(Exception):
    """The trace is not what FORMAT.md says."""


class Object:
    """A loaded object, from one OBJECT record."""

    def __init__(self, path, build_id, bias, first, last):
        self.path, self.build_id, self.bias = path, build_id, bias
        self.first, self.last = first, last
        self.segments = []


class Frame:
    """exact: address is where the program was; else it is a return address."""

    __slots__ = ("address", "exact", "object", "function")

    def __init__(self, address, exact, loaded):
        self.address, self.exact, self.object = address, exact, loaded
        self.function = None

    @property
    def in_file(self):
        """The address to look up in the object's file."""
        inside = self.address - (0 if self.exact else 1)
        return inside - self.object.bias if self.object else inside


class Stack:
    """frames: outermost first."""

    __slots__ = ("frames", "flags")

    def __init__(self, frames, flags):
        self.frames, self.flags = frames, flags


class Event:
    __slots__ = ("process", "image", "thread", "function", "size", "address", "ticks", "stack",
                 "begin")

    def __init__(self, where, function, size, address, ticks, stack, begin=False):
        self.process, self.image, self.thread = where
        self.function, self.size, self.address = function, size, address
        self.ticks, self.stack, self.begin = ticks, stack, begin


class Stream:
    """The stack records of one image of a process."""

    def __init__(self):
        self.chunks = {}  # seq -> words
        self.stack = {}
        self.objects = []  # in the order of their records; None when gone
        self.live = []
        self.memo = {}

    def add(self, seq, words, final):
        if final or seq not in self.chunks:
            self.chunks[seq] = words

    def find(self, address):
        for loaded in reversed(self.live):
            if loaded.first <= address < loaded.last:
                return loaded
        return None

    def frame(self, word):
        address, exact = word & ~EXACT, bool(word & EXACT)
        found = self.memo.get(word)
        if found is None:
            found = Frame(address, exact, self.find(address - (0 if exact else 1)))
            self.memo[word] = found
        return found

    def inherit(self, parent, most):
        self.stack = {n: s for n, s in parent.stack.items() if n <= most}
        self.live = list(parent.live)

    def read(self):
        if self.chunks and sorted(self.chunks) != list(range(1, len(self.chunks) + 1)):
            raise Bad("chunks of stack records are missing: %s" % sorted(self.chunks))
        take = {1: self.take_stack, 2: self.take_object, 3: self.take_gone,
                4: lambda words, at: at + (words[at] >> 4)}
        for seq in sorted(self.chunks):
            words, at = self.chunks[seq], 0
            while at < len(words) and words[at]:
                if words[at] & 15 not in take:
                    raise Bad("a stack record of kind %d" % (words[at] & 15))
                at = take[words[at] & 15](words, at)

    def take_stack(self, words, at):
        head, join = words[at], words[at + 1]
        flags, new, number = head >> 4 & 15, head >> 8 & 0xffffff, head >> 32
        joined, depth = join & 0xffffffff, join >> 32
        outer = []
        if depth:
            if joined not in self.stack:
                raise Bad("stack %d joins %d, which is not there" % (number, joined))
            outer = self.stack[joined].frames[:depth]
            flags |= self.stack[joined].flags  # what is missing there is missing here
            if len(outer) != depth:
                raise Bad("stack %d joins %d at %d of %d" % (
                    number, joined, depth, len(self.stack[joined].frames)))
        frames = outer + [self.frame(w) for w in words[at + 2:at + 2 + new]]
        if number in self.stack:
            raise Bad("stack %d is defined twice" % number)
        self.stack[number] = Stack(frames, flags)
        return at + 2 + new

    def take_object(self, words, at):
        head = words[at]
        body = words[at + 1:at + 1 + (head >> 4 & 0xfffffff)]
        _, bias, first, last, counts = body[:5]
        segments, id_bytes, path_bytes = counts & 0xffffffff, counts >> 32, head >> 32
        where = 5 + 3 * segments
        raw = struct.pack("<%dQ" % (len(body) - where), *body[where:])
        path_at = (id_bytes + 7) // 8 * 8
        found = Object(raw[path_at:path_at + path_bytes].rstrip(b"\0").decode(),
                       raw[:id_bytes].hex(), bias, first, last)
        found.segments = [body[5 + 3 * i:8 + 3 * i] for i in range(segments)]
        self.objects.append(found)
        self.live.append(found)
        self.memo = {}
        return at + 1 + len(body)

    def take_gone(self, words, at):
        number = words[at] >> 32
        gone = self.objects[number - 1] if 0 < number <= len(self.objects) else None
        if gone not in self.live:
            raise Bad("object %d is gone, but was not there" % number)
        self.live.remove(gone)
        self.memo = {}
        return at + 2


class Trace:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self.data[:8] != b"mproftrc":
            raise Bad("%s is no trace" % path)
        self.tail = min(struct.unpack_from("<Q", self.data, 80)[0], len(self.data))
        self.streams, self.chunks, self.births = {}, {}, {}
        self.events = []
        self.lost = 0
        self.read_extents()
        self.read_streams()
        for key in sorted(self.chunks):
            self.read_thread(key)

    def read_extents(self):
        at = HEADER
        while at + 64 <= self.tail:
            magic, kind, image, offset, size, used, process, thread, _, _, seq, first, _ = \
                struct.unpack_from("<IHHQIIIIIIQQQ", self.data, at)
            if magic != 0x74785a6d or offset != at:
                at += 64
                continue
            room = min(size, len(self.data) - at) - 64
            if kind in (EVENTS, SLOT):
                self.add(self.chunks.setdefault((process, thread), {}), seq, kind == EVENTS,
                         (image, first, self.words(at + 64, used if kind == EVENTS else room)))
            elif kind in (STACKS, STACKS_SLOT):
                stream = self.streams.setdefault((process, image), Stream())
                stream.add(seq, self.words(at + 64, used if kind == STACKS else room),
                           kind == STACKS)
            elif kind == FACT:
                self.read_fact(at + 64, process, image)
            at += size

    @staticmethod
    def add(chunks, seq, final, value):
        if final or seq not in chunks:
            chunks[seq] = value

    def words(self, at, size):
        """Of a slot all of it: whoever reads records stops at a head that is zero."""
        return struct.unpack_from("<%dQ" % (size // 8), self.data, at)

    def read_fact(self, at, process, image):
        what, _, _, parent = struct.unpack_from("<IiiI", self.data, at)
        how = struct.unpack_from("<I", self.data, at + 60)[0]
        stacks, parent_image = struct.unpack_from("<II", self.data, at + 128)
        if what == FACT_START and parent and how == FORKED_CHILD:
            self.births[process, image] = (parent, parent_image, stacks)

    def read_streams(self):
        done = set()

        def read(key):
            if key in done:
                return
            done.add(key)
            stream = self.streams.setdefault(key, Stream())
            if key in self.births:
                parent, image, most = self.births[key]
                read((parent, image))
                stream.inherit(self.streams[parent, image], most)
            stream.read()

        for key in sorted(set(self.streams) | set(self.births)):
            read(key)

    def read_thread(self, key):
        process, thread = key
        for seq in sorted(self.chunks[key]):
            image, ticks, words = self.chunks[key][seq]
            self.read_chunk((process, image, thread), ticks, words)

    def read_chunk(self, where, ticks, words):
        at, last, stacks = 0, 0, [0, 0]
        stream = self.streams.get(where[:2])
        while at < len(words):
            w = words[at]
            tag = w & 15
            at += 1
            if tag == 0:
                if w:
                    raise Bad("a word of tag 0: %x" % w)
                break
            dt = w >> 4 & 4095
            if tag in SHORT_ALLOC:
                ticks += dt
                delta = w >> 37
                last += 8 * (delta - (1 << 27) if delta >> 26 else delta)
                self.event(stream, where, SHORT_ALLOC[tag], w >> 16 & 8191, last, ticks, stacks[0])
            elif tag in SHORT_FREE:
                ticks += dt
                self.event(stream, where, SHORT_FREE[tag], 0, w >> 16, ticks, stacks[1], tag == 7)
            elif tag == 8:
                ticks += dt
                last = self.take_long(stream, where, w, words[at:at + 4], ticks, last, stacks)
                at += 4
            elif tag == 9:
                ticks = w >> 4
            elif tag == 10:
                self.lost += w >> 12
            elif tag == 11:
                where = where[:2] + (w >> 4 & 0xffffffff,)
            elif tag == 12:
                ticks += dt
            elif tag == 13:
                stacks[w >> 4 & 1] = w >> 8 & 0xffffffff
            elif tag != 15:  # the number of elements of a calloc: its size is that of all
                raise Bad("a word of tag %d" % tag)

    def take_long(self, stream, where, w, v, ticks, last, stacks):
        function, begin = w >> 16 & 255, bool(w >> 24 & 1)
        if function in GIVES_BACK or begin:
            self.event(stream, where, function, v[1], v[0], ticks, stacks[1], begin)
            return last
        size = v[1] * v[3] if function in (3, 5) and v[3] else v[1]
        self.event(stream, where, function, size, v[0], ticks, stacks[0])
        return v[0] if v[0] and function not in MAPS else last

    def event(self, stream, where, function, size, address, ticks, number, begin=False):
        stack = None
        if number:
            if stream is None or number not in stream.stack:
                raise Bad("process %d image %d: an event names stack %d, which is not there"
                          % (where[0], where[1], number))
            stack = stream.stack[number]
        self.events.append(Event(where, NAMES[function], size, address, ticks, stack, begin))


class Symbols:
    """The functions of a file, from nm; of two names for one place the one that nm has first."""

    def __init__(self, path):
        rows = self.read([], path) or self.read(["-D"], path)
        self.starts = [row[0] for row in rows]
        self.rows = rows

    @staticmethod
    def read(words, path):
        ran = subprocess.run(["nm", "-n", "-S", "-C", "--defined-only", *words, path],
                             capture_output=True, text=True)
        found = {}
        for line in ran.stdout.splitlines():
            sized = re.match(r"(\w{16}) (?:(\w{16}) )?[tTwWiIuV] (.*)", line)
            if sized and not sized[3].startswith("$"):  # what ARM's assembler marks code with
                start = int(sized[1], 16)
                found.setdefault(start, (start, int(sized[2] or "0", 16), sized[3]))
        return [found[start] for start in sorted(found)]

    def at(self, address):
        """A symbol without a size reaches to the next one."""
        i = bisect.bisect_right(self.starts, address) - 1
        if i < 0 or (self.rows[i][1] and address >= self.starts[i] + self.rows[i][1]):
            return ""
        return self.rows[i][2]


SYMBOLS = {}


def name_frames(frames, debug=None, root=""):
    """Fills in the functions; debug: path -> the file that has its symbols; root: files below."""
    for frame in frames:
        if frame.function is None and frame.object:
            path = (debug or {}).get(frame.object.path, frame.object.path)
            path = root + path if os.path.exists(root + path) else path
            if path not in SYMBOLS:
                SYMBOLS[path] = Symbols(path)
            frame.function = SYMBOLS[path].at(frame.in_file)
