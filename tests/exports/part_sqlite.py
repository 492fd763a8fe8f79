# SPDX-License-Identifier: LGPL-3.0-or-later
"""SQLite's databases and JSON lines, asked by sqlite3 and jq."""

import json
import os
import re

import harness
from world import differ, missing, need


def ask(w, path, sql):
    need("sqlite3", "sqlite3")
    ran = harness.run(["sqlite3", "-bail", "-json", "-readonly", path, sql], cwd=w.top)
    if ran.status != 0:
        raise AssertionError(f"sqlite3: {ran.err.decode()}: {sql}")
    return json.loads(ran.out or "[]")


def sums(w, path):
    return ask(w, path, "SELECT sum(calls) AS calls, sum(bytes) AS total, sum(peak_bytes) AS peak,"
                        " sum(live_bytes) AS live FROM site")[0]


def test_sqlite(w):
    path = w.file("sqlite")
    problems = differ("sums of sites", sums(w, path), {k: w.totals[k] for k in
                                                       ("calls", "total", "peak", "live")})
    run = ask(w, path, "SELECT calls, bytes AS total, peak_bytes AS peak, live_bytes AS live"
                       " FROM run")
    problems += differ("the run", run, [w.totals])
    for pragma, wanted in (("integrity_check", [{"integrity_check": "ok"}]),
                           ("foreign_key_check", []), ("user_version", [{"user_version": 1}])):
        problems += differ(pragma, ask(w, path, f"PRAGMA {pragma}"), wanted)
    row = ask(w, path, "SELECT function, file, calls, bytes, peak_bytes FROM site JOIN who"
                       " USING(site) WHERE function LIKE 'phase2%'")
    problems += differ("rows of phase2", len(row), 1)
    if row:
        problems += differ("phase2", (row[0]["calls"], row[0]["bytes"], row[0]["peak_bytes"]),
                           (20, 20 * 131072, 20 * 131072))
    stack = ask(w, path, "SELECT function, depth FROM stack JOIN frame USING(frame) WHERE site ="
                         " (SELECT site FROM who WHERE function LIKE 'phase1%') ORDER BY depth")
    problems += differ("the stack of phase1", [r["function"].split("(")[0] for r in stack][:2],
                       ["phase1", "main"])
    problems += differ("depths", [r["depth"] for r in stack], list(range(len(stack))))
    what = ask(w, path, "SELECT program, status, (SELECT count(*) FROM thread) AS threads"
                        " FROM process")
    problems += differ("processes", what, [{"program": os.path.realpath(w.victim), "status": 0,
                                            "threads": 2}])
    return problems + differ("tables of events", ask(w, path, "SELECT name FROM sqlite_master"
                                                              " WHERE name = 'event'"), [])


def test_sqlite_events(w):
    path = w.file("sqlite", "--events")
    problems = differ("sums of sites", sums(w, path)["peak"], w.totals["peak"])
    rows = ask(w, path, "SELECT max(live) AS peak FROM (SELECT sum(change) OVER (ORDER BY rowid)"
                        " AS live FROM event)")
    problems += differ("the peak of running sums", rows[0]["peak"], w.totals["peak"])
    rows = ask(w, path, "SELECT what, count(*) AS n, sum(size) AS bytes FROM event GROUP BY what")
    by = {r["what"]: (r["n"], r["bytes"]) for r in rows}
    problems += differ("what began", by.get("began"), (w.totals["calls"], w.totals["total"]))
    problems += differ("what was left", by.get("left", (0, 0))[1], w.totals["live"])
    rows = ask(w, path, "SELECT count(*) AS n FROM (SELECT site, sum(size) AS bytes FROM event"
                        " WHERE what = 'began' GROUP BY site) AS e JOIN site USING(site)"
                        " WHERE e.bytes <> site.bytes")
    problems += differ("sites that differ from their events", rows[0]["n"], 0)
    return problems + differ("references", ask(w, path, "PRAGMA foreign_key_check"), [])


def queries():
    """Those of the manual page, as they stand there."""
    with open(os.path.join(harness.ROOT, "man", "mprof-export.1.in"), encoding="utf-8") as f:
        text = f.read()
    text = text.replace("\\(dq", '"').replace("\\e", "\\")
    return re.findall(r"^SELECT[^;]*;", text, re.M)


def test_sqlite_queries_of_the_manual(w):
    path = w.file("sqlite", "--events")
    problems = differ("five queries at least", len(queries()) >= 5, True)
    for sql in queries():
        problems += differ(f"rows of {sql[:60]!r}", bool(ask(w, path, sql)), True)
    return problems


def recipes():
    """Shell commands of the manual page on x.csv and x.jsonl."""
    with open(os.path.join(harness.ROOT, "man", "mprof-export.1.in"), encoding="utf-8") as f:
        text = f.read().replace("\\e", "\\")
    blocks = re.findall(r"^\.Bd -literal.*?\n(.*?)\n\.Ed", text, re.M | re.S)
    return [b for b in blocks if "x.csv" in b or "x.jsonl" in b]


def test_recipes_of_the_manual(w):
    need("jq", "jq")
    need("sqlite3", "sqlite3")
    w.exported("csv", "-o", w.path("x.csv"))
    w.exported("jsonl", "-o", w.path("x.jsonl"))
    problems = differ("recipes", len(recipes()), 2)
    for recipe, wanted in zip(recipes(), (f"{20 * 131072}", "phase")):
        ran = harness.run(["sh", "-c", recipe], cwd=w.top)
        problems += differ(f"the status of {recipe[:30]!r}", (ran.status, ran.err), (0, b""))
        problems += missing(f"{recipe[:30]!r}", ran.out.decode(), wanted)
    return problems


def test_sqlite_full_disk(w):
    """A file may grow to 8 KiB only: as on a full disk, writing fails."""
    ran = harness.run(["sh", "-c", 'trap "" XFSZ; ulimit -f 16; exec "$@"', "sh", harness.MPROF,
                       "export", w.log, "--to", "sqlite", "-o", w.path("limited.sqlite")], cwd=w.top)
    problems = differ("the status", ran.status, 1)
    problems += missing("its message", ran.err.decode(), "cannot write", "limited.sqlite")
    return problems + differ("what is left", w.left_behind("limited"), [])


def jq(text, program):
    need("jq", "jq")
    ran = harness.run(["jq", "-s", "-c", program], stdin=text)
    if ran.status != 0:
        raise AssertionError(f"jq: {ran.err.decode()}")
    return json.loads(ran.out)


def test_jsonl(w):
    text = w.exported("jsonl")
    found = jq(text, 'map(select(.type == "site")) | {calls: map(.calls) | add,'
                     ' total: map(.bytes) | add, peak: map(.peak_bytes) | add,'
                     ' live: map(.live_bytes) | add}')
    problems = differ("sums of sites", found, w.totals)
    rows = [json.loads(line) for line in text.splitlines()]
    problems += differ("types", [r["type"] for r in rows], ["run"] + ["site"] * (len(rows) - 1))
    site = [r for r in rows[1:] if r["stack"] and r["stack"][0]["function"].startswith("phase2")]
    problems += differ("sites of phase2", len(site), 1)
    if site:
        problems += differ("its stack", [f["function"].split("(")[0] for f in site[0]["stack"]][:2],
                           ["phase2", "main"])
        problems += missing("its file", site[0]["stack"][0].get("file", ""), "victim.cc")
    inlined = [r for r in rows[1:] if r["stack"] and r["stack"][0].get("inlined")]
    return problems + differ("an inlined line", len(inlined) > 0, True)


def test_jsonl_events(w):
    rows = [json.loads(line) for line in w.exported("jsonl", "--events").splitlines()]
    live = most = 0
    for r in rows:
        live += {"began": 1, "ended": -1, "left": -1}.get(r["type"], 0) * r.get("size", 0)
        most = max(most, live)
    problems = differ("the peak of running sums", most, w.totals["peak"])
    problems += differ("what is left at the end", live, 0)
    times = [r["ns"] for r in rows if "ns" in r]
    problems += differ("times, sorted", sorted(times) == times, True)
    sites = {r["site"] for r in rows if r["type"] == "site"}
    return problems + differ("events of no site", [r for r in rows if r["type"] != "run"
                                                   and r["site"] not in sites], [])
