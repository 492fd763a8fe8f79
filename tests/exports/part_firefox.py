# SPDX-License-Identifier: LGPL-3.0-or-later
"""A processed profile of the Firefox Profiler: the rules of its tables, and what they add up to.

The profiler publishes types and changes of the format (docs-developer/CHANGELOG-formats.md), no
schema, and its importer is in no registry; so the rules of version 60 are written down here.
"""

import collections
import json
import os

import harness
from world import differ

# Tables and their columns; a column refers to the table in brackets.
SHARED = {
    "stackTable": {"frame": "frameTable", "prefix": "stackTable"},
    "frameTable": {"address": None, "inlineDepth": None, "category": None, "subcategory": None,
                   "func": "funcTable", "nativeSymbol": None, "innerWindowID": None, "line": None,
                   "column": None},
    "funcTable": {"name": "stringArray", "isJS": None, "relevantForJS": None,
                  "resource": "resourceTable", "source": "sources", "lineNumber": None,
                  "columnNumber": None},
    "resourceTable": {"lib": "libs", "name": "stringArray", "host": None, "type": None},
    "nativeSymbols": {"libIndex": None, "address": None, "name": None, "functionSize": None},
    "sources": {"uuid": None, "filename": "stringArray"},
}
THREAD = {
    "samples": {"time": None, "stack": "stackTable", "weight": None},
    "nativeAllocations": {"time": None, "stack": "stackTable", "weight": None,
                          "memoryAddress": None, "threadId": None},
    "markers": {"data": None, "name": None, "startTime": None, "endTime": None, "phase": None,
                "category": None},
}
OF_THREAD = ("processType", "processStartupTime", "processShutdownTime", "registerTime",
             "unregisterTime", "pausedRanges", "name", "isMainThread", "pid", "tid")
OF_META = ("interval", "startTime", "processType", "categories", "product", "stackwalk", "version",
           "preprocessedProfileVersion", "markerSchema")


def read(w, *words):
    return json.loads(w.exported("firefox", *words))


def table(name, found, columns, sizes):
    extra = {"length"} | ({"weightType"} if "weight" in columns else set())
    problems = differ(f"columns of {name}", sorted(found), sorted(set(columns) | extra))
    for column, to in columns.items():
        values = found[column]
        problems += differ(f"length of {name}.{column}", len(values), found["length"])
        wrong = [v for v in values if to and v not in (None, -1) and not 0 <= v < sizes[to]]
        problems += differ(f"references of {name}.{column}", wrong, [])
    return problems


def rules(data):
    shared = data["shared"]
    sizes = {name: shared[name]["length"] for name in SHARED}
    sizes.update(stringArray=len(shared["stringArray"]), libs=len(data["libs"]))
    problems = differ("the version", data["meta"]["preprocessedProfileVersion"], 60)
    problems += differ("missing in meta", [k for k in OF_META if k not in data["meta"]], [])
    for name, columns in SHARED.items():
        problems += table(name, shared[name], columns, sizes)
    problems += differ("parents behind their children",
                       [i for i, p in enumerate(shared["stackTable"]["prefix"])
                        if p is not None and p >= i], [])
    problems += differ("strings, each once", len(set(shared["stringArray"])),
                       sizes["stringArray"])
    for thread in data["threads"]:
        problems += differ("missing in a thread", [k for k in OF_THREAD if k not in thread], [])
        problems += differ("the pid's type", isinstance(thread["pid"], str), True)
        for name, columns in THREAD.items():
            problems += table(name, thread[name], columns, sizes)
        times = thread["nativeAllocations"]["time"]
        problems += differ("times, sorted", times == sorted(times), True)
    for counter in data["counters"]:
        for column in ("time", "count"):
            problems += differ(f"length of {counter['name']}.{column}",
                               len(counter["samples"][column]), counter["samples"]["length"])
        problems += differ("the counter's process", counter["pid"],
                           data["threads"][counter["mainThreadIndex"]]["pid"])
    return problems


def functions(data, stack):
    shared = data["shared"]
    while stack is not None:
        function = shared["frameTable"]["func"][shared["stackTable"]["frame"][stack]]
        yield shared["stringArray"][shared["funcTable"]["name"][function]]
        stack = shared["stackTable"]["prefix"][stack]


def retained(data):
    """What is retained after each time, by the profiler's rule: by address, in the order of rows."""
    rows = [row for thread in data["threads"] for row in zip(
        thread["nativeAllocations"]["time"], thread["nativeAllocations"]["memoryAddress"],
        thread["nativeAllocations"]["weight"])]
    live, after = {}, collections.OrderedDict()
    for time, address, weight in sorted(rows, key=lambda row: row[0]):
        if weight >= 0:
            assert address not in live, f"{address} is allocated twice"
            live[address] = weight
        else:
            assert live.pop(address) == -weight, f"{address} is freed with another size"
        after[time] = sum(live.values())
    return after


def test_firefox(w):
    data = read(w)
    problems = rules(data)
    after = retained(data)
    problems += differ("the most retained", max(after.values()), w.totals["peak"])
    problems += differ("retained at the end", list(after.values())[-1], w.totals["live"])
    thread, = data["threads"]
    problems += differ("allocated", sum(v for v in thread["nativeAllocations"]["weight"] if v > 0),
                       w.totals["total"])
    problems += differ("samples", sum(thread["samples"]["weight"]), w.totals["total"])
    phase1 = sum(weight for stack, weight in zip(thread["samples"]["stack"],
                                                 thread["samples"]["weight"])
                 if "phase1" in functions(data, stack))
    problems += differ("phase1", phase1, 50 * 65536)
    live = next(c for c in data["counters"] if c["name"] == "malloc")["samples"]
    now, differences = 0, []
    for time, count in zip(live["time"], live["count"]):
        now += count
        if time in after and after[time] != now:
            differences.append((time, now, after[time]))
    # The last point is the end of the process, with whose blocks its memory goes.
    problems += differ("the counter beside what is retained", differences[:-1], [])
    some = read(w, "--points", "7", "--function", "phase2")
    problems += rules(some) + differ("filtered", list(retained(some).values())[-1], 20 * 131072)
    short = read(w, "--lifetime", "..1s", "--size", "..100")
    weights = [v for v in short["threads"][0]["nativeAllocations"]["weight"]]
    return problems + rules(short) + differ("what is freed of freed blocks", sum(weights), 0)


def test_firefox_processes(w):
    log = w.path("processes.log")
    w.record(log, "sh", "-c", f"{w.victim}; {w.victim}")
    data = json.loads(w.exported("firefox", log=log))
    names = [t["name"] for t in data["threads"]]
    problems = rules(data) + differ("processes", names.count("victim"), 2)
    for thread in data["threads"]:
        if thread["name"] == "victim":
            problems += differ("allocated by one", sum(thread["samples"]["weight"]) >=
                               w.totals["total"], True)
    return problems


def test_firefox_of_another_tool(w):
    """A record that does not name its process has one all the same."""
    log = os.path.join(harness.ROOT, "tests", "golden", "import", "logfd.txt")
    report, problems = harness.report(log)
    if problems:
        return problems
    data = json.loads(w.exported("firefox", log=log))
    problems = rules(data) + differ("the most retained", max(retained(data).values(), default=0),
                                    report["peak_bytes"])
    return problems + differ("counters", [c["name"] for c in data["counters"]], ["malloc"])
