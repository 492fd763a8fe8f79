# SPDX-License-Identifier: LGPL-3.0-or-later
"""part_instructions.py - instructions per pair, counted by valgrind.

The one figure that a busy machine does not change: right for seeing whether a
change to the hot path made it longer, wrong for saying how much time it takes.
Under valgrind the allocator may choose other code for its memory functions.
"""

import os
import re
import shutil

import measure
from measure import Failed

FEW, MANY = 20_000, 120_000  # pairs; the slope leaves out starting and ending


def count(launch, where, pairs):
    log = os.path.join(where, "valgrind.log")
    words = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--trace-children=yes",
             "--cachegrind-out-file=/dev/null", "--log-file=" + log, "env"]
    words += ["%s=%s" % pair for pair in launch.env.items()]
    measure.churn(measure.Launch(prefix=words, files=launch.files), pairs)
    with open(log, encoding="utf-8", errors="replace") as text:
        found = re.findall(r"I\s+refs:\s+([\d,]+)", text.read())
    if not found:
        raise Failed("valgrind counted nothing")
    return int(found[-1].replace(",", ""))


def main(where, quick):
    why = None if shutil.which("valgrind") else "valgrind is not installed"
    why = why or measure.missing_library()
    if why:
        measure.skipped("instructions", why)
        return []
    launches = {"native": measure.Launch()}
    launches.update({m: measure.preload(m, where) for m in ("Null", "Count", "LogMmap")})
    rows, native = [], None
    for name, launch in launches.items():
        measure.progress("instructions %s" % name)
        try:
            each = (count(launch, where, MANY) - count(launch, where, FEW)) / (MANY - FEW)
        except Failed as reason:
            measure.skipped("instructions of " + name, reason)
            continue
        native = each if native is None else native
        rows.append([name, "%.1f" % each, "%+.1f" % (each - native)])
    measure.progress("")
    measure.table("Churn: instructions per pair", ["variant", "instructions", "added"], rows,
                  ["Counted by valgrind's cachegrind: the same on every run and machine, but not "
                   "a time."])
    return []
