# SPDX-License-Identifier: LGPL-3.0-or-later
"""Real programs, in every format of times and tables: all sums are those of mprof report."""

import json
import os

import harness
import part_chrome
import part_heaptrack
import part_massif
import part_pprof
import part_sqlite
from world import HERE, differ, need

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


def check(w, log):
    sums = totals(log)
    path = w.path("program.pb.gz")
    w.exported("pprof", "-o", path, log=log)
    _, samples, _, _ = part_pprof.raw(w, path)
    problems = differ("pprof", [sum(v[i] for v, _ in samples) for i in (0, 1, 3)],
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
        problems += [f"{name}: {p}" for p in check(w, log)]
    return problems
