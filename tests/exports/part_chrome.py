# SPDX-License-Identifier: LGPL-3.0-or-later
"""Trace events of Chrome, by the rules of the format, and what the counters say.

No reader of them is packaged: Debian has no trace_processor, and its Chromium no chrome://tracing.
"""

import json

import harness
from world import differ

# What a reader needs of each phase, by the published description of the format.
NEEDED = {"C": {"name": str, "pid": int, "ts": (int, float), "args": dict},
          "X": {"name": str, "pid": int, "tid": int, "ts": (int, float), "dur": (int, float)},
          "M": {"name": str, "pid": int, "args": dict}}
NAMES = ("process_name", "thread_name", "process_sort_index")


def rules(trace):
    problems = []
    before = {}
    for e in trace["traceEvents"]:
        for key, kind in NEEDED.get(e.get("ph"), {"ph": type(None)}).items():
            if not isinstance(e.get(key), kind) or isinstance(e.get(key), bool):
                problems.append(f"'{key}' is missing or wrong in {e}")
        if e["ph"] == "M" and e["name"] not in NAMES:
            problems.append(f"an unknown name in {e}")
        if e["ph"] != "C":
            continue
        if any(not isinstance(v, int) or v < 0 for v in e["args"].values()):
            problems.append(f"a value that is none in {e}")
        track = (e["pid"], e["name"])
        if e["ts"] < before.get(track, 0):
            problems.append(f"time goes back in {track}: {e}")
        before[track] = e["ts"]
    return problems[:5]


def read(w, *words, **options):
    return json.loads(w.exported("chrome", *words, **options))


def counter(trace, name, pid=None):
    return [next(iter(e["args"].values())) for e in trace["traceEvents"]
            if e["ph"] == "C" and e["name"] == name and pid in (None, e["pid"])]


def test_chrome(w):
    trace = read(w)
    problems = rules(trace)
    live = counter(trace, "live bytes")
    problems += differ("the greatest counter", max(live), w.totals["peak"])
    problems += differ("the last one", live[-1], 0)
    problems += differ("the one before the end", w.totals["live"] in live, True)
    names = [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"]
    problems += differ("processes", names, ["victim"])
    spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    problems += differ("programs and threads", len(spans), 2)
    return problems


def test_chrome_bounded(w):
    """However few points there are, the peak is one."""
    trace = read(w, "--points", "4")
    problems = rules(trace)
    live = counter(trace, "live bytes")
    problems += differ("the greatest counter", max(live), w.totals["peak"])
    return problems + differ("few points", len(live) <= 3 * 5, True)


def test_chrome_processes(w):
    log = w.path("tree.log")
    w.record(log, "sh", "-c", f"{w.victim} & {w.victim}; wait")
    trace = read(w, log=log)
    problems = rules(trace)
    report, _ = harness.report(log)
    names = {e["pid"]: e["args"]["name"] for e in trace["traceEvents"]
             if e["name"] == "process_name"}
    everyone = [pid for pid, name in names.items() if name == "all processes"]
    problems += differ("the greatest sum", [max(counter(trace, "live bytes", pid))
                                            for pid in everyone], [report["peak_bytes"]])
    pids = list(names)
    return problems + differ("processes, and all of them", len(pids), 4)


def test_chrome_without_what_ended(w):
    """Which stacks have live blocks in the end is known only then."""
    problems = []
    for words, wanted in (((), 200 * 101), (("--hide-zero-live",), 0)):
        live = counter(read(w, "--size", "101..101", *words), "live bytes")
        problems += differ(f"strings of the map, all freed {words}", max(live, default=0), wanted)
    return problems
