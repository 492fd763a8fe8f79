# SPDX-License-Identifier: LGPL-3.0-or-later
"""Traces made byte by byte, as include/mprof/FORMAT.md says; and what is in one, for changing it.

make() writes a sound trace of a few LONG records, whatever sizes and addresses they name.  Pieces
finds the extents of any trace, raw or compressed, and makes checksums right again.
"""

import os
import re
import struct

HEADER = 65536
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../include/mprof/format.h"),
          encoding="ascii") as f:
    VERSION = int(re.search(r"define MPROF_FORMAT_VERSION (\d+)u", f.read()).group(1))
EXTENT = struct.Struct("<IHHQIIIIIIQQQ")  # struct mprof_extent
MAGIC = 0x74785a6d
SLOT, EVENTS, COUNTS, FACT, SAMPLE, RESIDENCY, PACKED, INDEX, STACKS_SLOT, STACKS = range(2, 12)
RUN = bytes(range(1, 17))
START_FACT, END_FACT = 1, 3
MALLOC, FREE, CALLOC, REALLOC, MMAP = 1, 2, 3, 4, 18
MASK = (1 << 64) - 1
K = 0x9E3779B97F4A7C15


def rotate(value):
    return (value << 31 | value >> 33) & MASK


def checksum(data):
    """FORMAT.md 4.3."""
    n = len(data)
    lane = [n, K, ~n & MASK, K ^ n]
    whole = n // 8
    for i, word in enumerate(struct.unpack_from(f"<{whole}Q", data)):
        lane[i & 3] = rotate((lane[i & 3] ^ word) * K & MASK)
    if n % 8:
        word = int.from_bytes(data[whole * 8:], "little")
        lane[whole & 3] = (lane[whole & 3] ^ word) * K & MASK
    word = (lane[0] ^ lane[1] >> 7 ^ lane[2] >> 17 ^ lane[3] >> 29) * K & MASK
    return (word ^ word >> 32) & 0xFFFFFFFF or 1


def header(tail, processes=1, magic=b"mproftrc"):
    head = bytearray(HEADER)
    struct.pack_into("<8sII16sIIIIQQqq", head, 0, magic, VERSION, HEADER, RUN, 2 | 4, 4096, 0, 0, 10**9,
                     1000, 1000, 10**18)
    struct.pack_into("<QII", head, 80, tail, processes, 1)
    struct.pack_into("<IiQHHi", head, 8192, 1, 100, 1, 2, 0, 0)
    return head


def extent(kind, offset, payload, thread=1, seq=0, first=1000, last=2000, process=1):
    size = (64 + len(payload) + 63) // 64 * 64
    head = EXTENT.pack(MAGIC, kind, 0, offset, size, len(payload), process, thread,
                       int.from_bytes(RUN[:4], "little"), checksum(payload), seq, first, last)
    return (head + payload).ljust(size, b"\0")


def fact(what, ticks, *strings):
    head = bytearray(144)
    struct.pack_into("<IiiI", head, 0, what, 100, 1, 0)
    struct.pack_into("<Qqq", head, 16, ticks, ticks, 10**18 + ticks)
    return bytes(head) + b"".join(s.encode(errors="surrogateescape") + b"\0" for s in strings)


def long_record(function, values, dt=1, flags=0, error=0):
    head = 8 | dt << 4 | function << 16 | flags << 24 | error << 32
    return struct.pack("<5Q", head, *values)


def object_record(path, first=0x400000, size=0x100000):
    """An object without segments or build-id: its addresses are named after its path."""
    text = path.ljust((len(path) + 7) // 8 * 8, b"\0")
    words = struct.pack("<5Q", 1000, 0, first, first + size, 0) + text
    return struct.pack("<Q", 2 | len(words) // 8 << 4 | len(path) << 32) + words


def stack_record(number, frames):
    return struct.pack("<QQ", 1 | len(frames) << 8 | number << 32, 0) + \
        struct.pack(f"<{len(frames)}Q", *frames)


def make(path, calls, strings=("exe=/bin/true", "arg=true"), stacks=b""):
    """calls: (function, (four values)) or ("TOUCHED", bytes), one after the other, of one
    thread, with stack 1 of the stack records if there are any."""
    words = struct.pack("<Q", 13 | 1 << 8) if stacks else b""
    words += b"".join(struct.pack("<Q", 14 | values << 4) if function == "TOUCHED"
                      else long_record(function, values) for function, values in calls)
    out, at = [], HEADER
    for kind, payload, thread, seq in ((FACT, fact(START_FACT, 1000, *strings), 0, 0),
                                       (STACKS, stacks, 0, 1),
                                       (EVENTS, words, 1, 1),
                                       (FACT, fact(END_FACT, 2000 + len(calls)), 0, 0)):
        if not payload:
            continue
        out.append(extent(kind, at, payload, thread, seq, last=1000 + len(calls)))
        at += len(out[-1])
    with open(path, "wb") as file:
        file.write(header(at))
        file.writelines(out)


def unclean(data):
    """What of an output a terminal would obey, or could not show; None: nothing."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return f"not UTF-8: {data[max(0, error.start - 20):error.end + 20]!r}"
    found = re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text.replace("\r\n", "\n"))
    return found and f"a control character: {text[max(0, found.start() - 20):found.end() + 20]!r}"


class Pieces:
    """A trace as a bytearray and the places of its extents, as its headers say them."""

    def __init__(self, data):
        self.data = bytearray(data)
        self.header = struct.unpack_from("<I", self.data, 12)[0] if len(data) >= 16 else HEADER
        self.extents = []
        magic = struct.pack("<I", MAGIC)
        for found in re.finditer(re.escape(magic), self.data):
            at = found.start()
            if at % 64 == 0 and at + 64 <= len(self.data):
                fields = EXTENT.unpack_from(self.data, at)
                if fields[3] == at and 64 <= fields[4] <= len(self.data) - at:
                    self.extents.append(at)

    def used(self, at):
        if at + 64 > len(self.data):
            return 0
        size, used = struct.unpack_from("<II", self.data, at + 16)
        return max(0, min(used, size - 64, len(self.data) - at - 64))

    def sign(self):
        """Makes the checksums right of all that have one."""
        for at in self.extents:
            if at + 64 > len(self.data):
                continue
            kind = struct.unpack_from("<H", self.data, at + 4)[0]
            if kind in (SLOT, STACKS_SLOT, COUNTS):
                continue
            payload = bytes(self.data[at + 64:at + 64 + self.used(at)])
            struct.pack_into("<I", self.data, at + 36, checksum(payload))
