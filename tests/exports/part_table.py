# SPDX-License-Identifier: LGPL-3.0-or-later
"""csv and tsv, read by Python's csv module."""

import csv
import io

import harness
from world import differ


def rows_of(text, **dialect):
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True, **dialect))


def check(w, rows):
    problems = []
    for value, column in (("calls", "calls"), ("total", "bytes"), ("live", "live_bytes"),
                          ("peak", "peak_bytes")):
        problems += differ(f"the sum of {column}", sum(int(r[column]) for r in rows),
                           w.totals[value])
    problems += differ("freed and live calls",
                       sum(int(r["freed_calls"]) + int(r["live_calls"]) for r in rows),
                       w.totals["calls"])
    row = [r for r in rows if r["function"] == "phase2"]
    problems += differ("rows of phase2", len(row), 1)
    if row:
        for column, wanted in (("calls", "20"), ("size_min", "131072"), ("module", "victim"),
                               ("local_bytes", str(20 * 131072))):
            problems += differ(f"phase2's {column}", row[0][column], wanted)
        if not row[0]["file"].endswith("/victim.cc") or not row[0]["line"].isdigit():
            problems.append(f"phase2 is at {row[0]['file']}:{row[0]['line']}")
        problems += differ("phase2's stack", row[0]["stack"].split(";")[-2:], ["main", "phase2"])
    return problems


def test_csv(w):
    raw = w.exported("csv", "--names", "raw")
    problems = check(w, [dict(r, function=plain(r["function"]), stack=plain_stack(r["stack"]))
                         for r in rows_of(raw.decode())])
    odd = [r for r in rows_of(raw.decode()) if r["bytes"] == "7777"]
    problems += differ("the odd name", [r["function"] for r in odd],
                       ["odd;na$me, <x&y> 12 {z}"])
    lines = raw.split(b"\r\n")
    problems += differ("what ends the file", lines[-1], b"")
    return problems + differ("line ends of another kind", raw.count(b"\n"), len(lines) - 1)


def plain(name):
    return name.replace("_ZL6phase2v", "phase2")


def plain_stack(stack):
    return plain(stack)


def test_tsv(w):
    text = w.exported("tsv").decode()
    rows = rows_of(text, delimiter="\t", quoting=csv.QUOTE_NONE)
    lines = text.splitlines()
    problems = differ("columns", {line.count("\t") for line in lines}, {lines[0].count("\t")})
    return problems + check(w, rows)


def test_csv_filtered(w):
    rows = rows_of(w.exported("csv", "--size", "128..65536").decode())
    problems = differ("sizes", [r for r in rows if int(r["size_min"]) < 128 or
                                int(r["size_max"]) > 65536], [])
    rows += rows_of(w.exported("csv", "--size", "..127").decode())
    rows += rows_of(w.exported("csv", "--size", "65537..").decode())
    return problems + differ("the sum of three parts", sum(int(r["bytes"]) for r in rows),
                             w.totals["total"])


def test_columns(w):
    """--columns names what csv and sqlite have, each with a unit."""
    ran = harness.run([harness.MPROF, "export", "--columns"])
    rows = [line.split(None, 2) for line in ran.out.decode().splitlines()]
    header = w.exported("csv").decode().splitlines()[0].split(",")
    problems = differ("names of --columns", [r[0] for r in rows], header)
    problems += differ("the status of --columns", (ran.status, ran.err), (0, b""))
    problems += differ("units", {r[1] for r in rows}, {"number", "bytes", "ns", "text"})
    for name, unit, _ in rows:
        if name.endswith(("_bytes", "_ns")):
            problems += differ(f"the unit of {name}", unit, name.rpartition("_")[2])
    return problems
