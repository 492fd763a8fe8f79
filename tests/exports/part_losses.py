# SPDX-License-Identifier: LGPL-3.0-or-later
"""What is missing in a trace is said, and the rest is exported all the same."""

import json
import re

import harness
from world import differ, missing, need


def cut(w):
    """The trace without its last tenth."""
    log = w.path("cut.log")
    w.record(log, w.victim)
    with open(log, "r+b") as f:
        f.seek(0, 2)
        f.truncate(f.tell() * 9 // 10)
    return log


def test_damaged(w):
    problems = []
    log = cut(w)
    for form in ("folded", "pprof", "massif", "heaptrack", "chrome", "sqlite", "jsonl"):
        ran = w.export(form, "-o", w.path("cut." + form), log=log)
        problems += differ(f"the status of {form}", ran.status, 0)
        problems += missing(f"what {form} says", ran.err.decode(), "mprof: warning: ",
                            "cut.log", "mprof report has the details")
    return problems


def test_nothing_to_say(w):
    ran = w.export("folded")
    return [f"it says {line!r}" for line in ran.err.decode().splitlines()
            if "names for" not in line and "have no names" not in line]


def test_nothing_that_passes(w):
    """Of files without a single block, too, tools read what there is."""
    words = ("--size", "123456789..")
    problems = differ("sites", [json.loads(line)["type"] for line in
                                w.exported("jsonl", *words).splitlines()], ["run"])
    need("ms_print", "valgrind")
    ran = harness.run(["ms_print", w.file("massif", *words)], extra={"TMPDIR": w.top})
    problems += differ("ms_print's status", ran.status, 0)
    need("heaptrack_print", "heaptrack")
    ran = harness.run(["heaptrack_print", "-f", w.file("heaptrack", *words)])
    calls = re.search(r"calls to allocation functions: (\d+)", ran.out.decode())
    problems += differ("heaptrack_print's calls", calls and calls[1], "0")
    need("go", "golang-go")
    ran = harness.run(["go", "tool", "pprof", "-top", w.file("pprof", *words)], cwd=w.top,
                      extra={"HOME": w.top}, timeout=600)  # Go 1.25 and later builds it first.
    return problems + differ("pprof's status", ran.status, 0)
