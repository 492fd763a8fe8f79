# SPDX-License-Identifier: LGPL-3.0-or-later
"""Real programs, in every format of times and tables: all sums are those of mprof report."""

import json
import os
import shutil

import harness
import part_callgrind
import part_chrome
import part_dhat
import part_heaptrack
import part_massif
import part_pprof
import part_sqlite
import part_table
from world import HERE, differ, folded, need

PROGRAMS = {
    "python3": ["/usr/bin/python3", "-c",
                "import json; json.loads(json.dumps([{'a': 'b' * i} for i in range(999)]))"],
    "sqlite3": ["sqlite3", ":memory:", "create table t(a primary key, b);"
                "with recursive c(x) as (select 1 union all select x + 1 from c limit 2000)"
                " insert into t select hex(x), x from c; select sum(b) from t;"],
    "cc1plus": ["g++", "-std=c++17", "-O1", "-fsyntax-only", os.path.join(HERE, "odd.c")],
}


def totals(log):
    report, problems = harness.report(log)
    assert not problems, problems
    return {"calls": report["total_blocks"], "total": report["total_bytes"],
            "peak": report["peak_bytes"], "live": report["live_bytes"]}


def check_tables(w, log, sums):
    """The formats without time."""
    rows = part_table.rows_of(w.exported("csv", log=log).decode())
    problems = []
    for value, column in (("calls", "calls"), ("total", "bytes"), ("peak", "peak_bytes"),
                          ("live", "live_bytes")):
        problems += differ(f"csv's {column}", sum(int(r[column]) for r in rows), sums[value])
    for value, wanted in sums.items():
        lines = folded(w.exported("folded", "--value", value, log=log).decode())
        problems += differ(f"folded {value}", sum(n for _, n in lines), wanted)
        data = json.loads(w.exported("speedscope", "--value", value, log=log))
        problems += differ(f"speedscope's {value}", sum(data["profiles"][0]["weights"]), wanted)
    path = w.path("callgrind.out.program")
    w.exported("callgrind", "-o", path, log=log)
    text, wrong = part_callgrind.annotate(path, "--auto=no")
    all_ = next(part_callgrind.numbers(line) for line in text.splitlines()
                if "PROGRAM TOTALS" in line)
    problems += wrong + differ("callgrind", [all_[0], all_[3], all_[5]],
                               [sums["calls"], sums["total"], sums["live"]])
    head = w.exported("mallocprofiler", log=log).decode().splitlines()
    head = [line for line in head if line.startswith("_mpTrace_;")]
    fields = [[int(n) for n in line.rsplit("$", 4)[1:]] for line in head]
    return problems + differ("mallocprofiler", [sum(f[i] for f in fields) for i in range(3)],
                             [sums["calls"], sums["total"], sums["live"]])


def check_times(w, log, sums):
    data = json.loads(w.exported("dhat", log=log))
    problems = []
    for field, value in part_dhat.SUMS.items():
        problems += differ(f"dhat's {field}", sum(p[field] for p in data["pps"]), sums[value])
    for p in data["pps"]:
        if not p["tb"] >= p["mb"] >= max(p["gb"], p["eb"]):
            problems.append(f"dhat's order in {p}")
    data = json.loads(w.exported("firefox", log=log))
    found = sum(sum(t["samples"]["weight"]) for t in data["threads"])
    problems += differ("firefox's samples", found, sums["total"])
    live = most = 0
    for change in data["counters"][0]["samples"]["count"]:
        live += change
        most = max(most, live)
    return problems + differ("firefox's peak", most, sums["peak"])


def check(w, log, program):
    sums = totals(log)
    problems = check_tables(w, log, sums) + check_times(w, log, sums)
    path = w.path("program.pb.gz")
    w.exported("pprof", "-o", path, log=log)
    _, samples, _, mappings = part_pprof.raw(w, path)
    problems += differ("pprof's program", mappings.split()[2], shutil.which(program))
    problems += differ("pprof", [sum(v[i] for v, _ in samples) for i in (0, 1, 3)],
                      [sums["calls"], sums["total"], sums["peak"]])
    m = part_massif.reader(w, log=log)
    problems += m.problems + differ("massif's peak", m.peak()[0]["mem_heap_B"], sums["peak"])
    problems += differ("massif's greatest point", max(p["mem_heap_B"] for p in m.points),
                       sums["peak"])
    path = w.path("program.sqlite")
    w.exported("sqlite", "--events", "-o", path, log=log)
    problems += differ("sqlite", part_sqlite.sums(w, path), sums)
    rows = part_sqlite.ask(w, path, "SELECT max(live) AS peak FROM (SELECT sum(change) OVER"
                                    " (ORDER BY rowid) AS live FROM event)")
    problems += differ("the peak of sqlite's events", rows[0]["peak"], sums["peak"])
    lines = [json.loads(line) for line in w.exported("jsonl", log=log).splitlines()]
    problems += differ("jsonl", sum(r["peak_bytes"] for r in lines[1:]), sums["peak"])
    trace = part_chrome.read(w, log=log)
    problems += part_chrome.rules(trace)
    problems += differ("chrome's peak", max(part_chrome.counter(trace, "live bytes")),
                       sums["peak"])
    path = w.path("program.heaptrack.zst")
    w.exported("heaptrack", "-o", path, log=log)
    return problems + part_heaptrack.compare(w, path, log=log)


def test_programs(w):
    problems = []
    for name, command in PROGRAMS.items():
        need(command[0], name)
        log = w.path(name + ".log")
        w.record(log, *command)
        program = shutil.which(command[0])
        problems += [f"{name}: {p}" for p in check(w, log, program)]
    return problems
