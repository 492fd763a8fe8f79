# SPDX-License-Identifier: LGPL-3.0-or-later
"""gdb_stops.py - for gdb itself: stops at every Nth malloc and writes down the stack there.

Started by tests/stacks/gdb, which says in the environment where to write (STOPS_FILE), how many
calls to let pass (STOPS_EVERY) and how often to stop (STOPS_MOST).  A line is the bytes asked for
and then the address of each frame outside of libmprof.so's entry, innermost first.  Left out are inlined
ones and those that gdb adds for tail calls, from what the debug information says of call sites:
both have nothing on the stack.  Calls that did not come through libmprof.so are passed over.
"""

import os
import re

import gdb

EVERY, MOST = int(os.environ["STOPS_EVERY"]), int(os.environ["STOPS_MOST"])


def addresses():
    """Of the frames outside of libmprof's entry."""
    found, frame = None, gdb.newest_frame()
    while frame is not None:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            if not found and gdb.solib_name(frame.pc()) == os.environ["STOPS_LD_PRELOAD"]:
                found = []
            elif found is not None:
                found.append(frame.pc())
        frame = frame.older()
    return found


for words in ("pagination off", "confirm off", "backtrace past-main on",
              "backtrace past-entry off", "backtrace limit unlimited", "print inferior-events off", "debuginfod enabled off"):
    gdb.execute("set " + words)
gdb.execute("set exec-wrapper env LD_BIND_NOW=1 '%s' '%s'" % tuple(
    name + "=" + os.environ["STOPS_" + name] for name in ("LD_PRELOAD", "MPROF_CONF")))


class Stop(gdb.Breakpoint):
    """Counts its hits together with the others; stops for good when there are enough stacks."""

    hits = told = 0

    def __init__(self, function, size):
        super().__init__("*" + function, internal=True)
        self.silent = True
        self.size = "(unsigned long)(%s)" % size

    def stop(self):
        Stop.hits += 1
        if Stop.hits % EVERY:
            return False
        if Stop.told == MOST:  # what was told last has returned, and is in the trace
            return True
        found = addresses()
        if found:
            Stop.told += 1
            answer.write(" ".join(["%d" % int(gdb.parse_and_eval(self.size))]
                                  + ["%x" % pc for pc in found]) + "\n")
        return False


def to_entry():
    """Libraries are there from the program's first instruction on."""
    gdb.execute("starti", to_string=True)
    auxv = gdb.execute("info auxv", to_string=True)
    entry = re.search(r"AT_ENTRY.* (0x[0-9a-f]+)", auxv)[1]
    gdb.Breakpoint("*" + entry, internal=True, temporary=True).silent = True
    gdb.execute("continue", to_string=True)


with open(os.environ["STOPS_FILE"], "w", encoding="ascii") as answer:
    words = re.search(r'"(.*)"', gdb.execute("show args", to_string=True), re.S)[1]
    gdb.execute("set args %s < %s > /dev/null" % (words, os.environ["STOPS_INPUT"]))
    to_entry()
    for name, bytes_ in (("malloc", "$rdi"), ("realloc", "$rsi"), ("calloc", "$rdi * $rsi")):
        Stop("__libc_" + name, bytes_)
    gdb.execute("continue")
if gdb.selected_inferior().pid:
    gdb.execute("kill")
