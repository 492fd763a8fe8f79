# SPDX-License-Identifier: LGPL-3.0-or-later
"""DHAT's file: its sums, and what Valgrind's own dh_view.html shows of it."""

import glob
import json
import os
import re

import harness
import part_speedscope
from world import Skip, differ, missing

SUMS = {"tb": "total", "tbk": "calls", "gb": "peak", "eb": "live"}
FIELDS = ["eb", "ebk", "fs", "gb", "gbk", "mb", "mbk", "tb", "tbk", "tl"]
# Metrics that need no reads and writes, which a trace does not have.
METRICS = ["At t-end (bytes)", "At t-gmax (bytes)", "Total (blocks)", "Total (blocks), short-lived",
           "Total (blocks), tiny", "Total (bytes)"]


def read(w, *words):
    return json.loads(w.exported("dhat", *words))


def named(data, function):
    """Program points that a function asked for."""
    return [p for p in data["pps"] if data["ftbl"][p["fs"][0]].startswith(function + " (")]


def test_dhat(w):
    data = read(w)
    problems = differ("the version", (data["dhatFileVersion"], data["mode"]), (2, "heap"))
    problems += differ("frame 0", data["ftbl"][0], "[root]")
    problems += differ("the command", data["cmd"], w.victim)
    for p in data["pps"]:
        problems += differ("fields of a point", sorted(p), FIELDS)
        problems += differ(f"unknown frames of {p}",
                           [i for i in p["fs"] if not 0 < i < len(data["ftbl"])], [])
        problems += differ(f"order in {p}", p["tb"] >= p["mb"] >= max(p["gb"], p["eb"]), True)
    problems += differ("stacks, each once", len({tuple(p["fs"]) for p in data["pps"]}),
                       len(data["pps"]))
    for field, value in SUMS.items():
        problems += differ(f"the sum of {field}", sum(p[field] for p in data["pps"]),
                           w.totals[value])
    problems += differ("the peak lies in the run", 0 < data["tg"] <= data["te"], True)
    one, = named(data, "phase1")
    problems += differ("phase1", [one[k] for k in ("tb", "tbk", "mb", "mbk", "gb", "gbk", "eb", "ebk")],
                       [50 * 65536, 50, 50 * 65536, 50, 10 * 65536, 10, 10 * 65536, 10])
    two, = named(data, "phase2")
    # Never freed: they lived until the end.
    problems += differ("phase2's lifetimes", 0 < two["tl"] <= 20 * data["te"], True)
    loop = [p for p in named(data, "main") if p["tbk"] == 1000]
    problems += differ("the loop", [(p["tb"], p["mb"], p["mbk"], p["gb"], p["eb"]) for p in loop],
                       [(10000, 10, 1, 0, 0)])
    only = read(w, "--function", "phase2")
    problems += differ("filtered", [p["tb"] for p in only["pps"]], [20 * 131072])
    ran = w.export("dhat", "--at", "5")
    return problems + differ("the status of --at", ran.status, 2)


def viewer():
    for path in glob.glob("/usr/lib*/valgrind/dh_view.html"):
        return path
    raise Skip("no dh_view.html; Debian has it in valgrind")


def test_dhat_browser(w):
    path, program = viewer(), part_speedscope.browser()
    part_speedscope.install()
    ran = harness.run(["node", "dhat.mjs", program, path, w.file("dhat")],
                      cwd=part_speedscope.MODULES, env=dict(os.environ))
    if ran.status != 0:
        raise AssertionError(f"the browser: {harness.ended(ran.status)}: {ran.err.decode()[:600]}")
    shown = json.loads(ran.out)
    problems = differ("errors", shown["errors"], [])
    problems += differ("metrics", sorted(shown["metrics"]), METRICS)
    for label, text in shown["metrics"].items():
        problems += differ(f"numbers that are none, by {label}",
                           re.findall(r"NaN|undefined|Infinity", text), [])
        problems += missing(f"the page by {label}", text, w.victim, "t-gmax", "PP 1/1")
    whole = shown["metrics"].get("Total (bytes)", "")
    problems += missing("the page", whole, f"Total:     {w.totals['total']:,} bytes (100%",
                        f"At t-gmax: {w.totals['peak']:,} bytes (100%",
                        f"At t-end:  {w.totals['live']:,} bytes (100%",
                        f"{50 * 65536:,} bytes", "phase1 (")
    return problems
