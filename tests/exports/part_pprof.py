# SPDX-License-Identifier: LGPL-3.0-or-later
"""pprof's format, read by go tool pprof."""

import gzip
import os
import re
import subprocess

import harness
from world import HERE, differ, missing, need

TYPES = ["alloc_objects/count", "alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes"]
SAMPLES = 16000
BYTES = 4 << 20


def pprof(w, path, *words):
    """What go tool pprof says; it must not look anywhere else for symbols."""
    need("go", "golang-go")
    ran = harness.run(["go", "tool", "pprof", "-symbolize=none", *words, path], cwd=w.top,
                      extra={"HOME": w.top, "PPROF_TMPDIR": w.top, "GOFLAGS": "-mod=mod"})
    if ran.status != 0:
        raise AssertionError(f"go tool pprof {' '.join(words)}: {ran.err.decode()}")
    return ran.out.decode()


def top(w, path, kind):
    """Flat and cumulative values by function, and the total, in the unit of the file."""
    text = pprof(w, path, "-top", "-nodecount=100000", "-nodefraction=0", "-edgefraction=0",
                 "-unit=B", f"-sample_index={kind}")
    rows = {}
    for line in text.splitlines():
        found = re.match(r"\s*(\d+)B?\s+\S+%\s+\S+%\s+(\d+)B?\s+\S+%\s+(.*)", line)
        if found:
            rows[found[3]] = (int(found[1]), int(found[2]))
    total = re.search(r"of (\d+)B? total", text)
    return rows, int(total[1]) if total else None


def raw(w, path):
    """Types, samples (values, locations), lines of locations, mappings."""
    text = pprof(w, path, "-raw")
    head, rest = text.split("Locations\n")
    locations, mappings = rest.split("Mappings\n")
    lines = head.split("Samples:\n")[1].splitlines()
    samples = [([int(v) for v in a.split()], b.split())
               for a, b in (line.split(":", 1) for line in lines[1:])]
    return lines[0].replace("[dflt]", "").split(), samples, locations, mappings


def test_pprof(w):
    path = w.file("pprof")
    types, samples, locations, mappings = raw(w, path)
    problems = differ("sample types", types, TYPES)
    for i, value in ((0, "calls"), (1, "total"), (3, "peak")):
        problems += differ(f"the sum of {TYPES[i]}", sum(v[i] for v, _ in samples),
                           w.totals[value])
    problems += missing("-raw", locations, "phase1()" if "phase1()" in locations else "phase1")
    problems += differ("stacks that are unknown", "(stack not known)" in locations, False)
    text = pprof(w, path, "-top", "-sample_index=inuse_space")
    problems += missing("-top", text, "Type: inuse_space", "inuse is peak")
    problems += differ("the default type", "Type: inuse_space" in pprof(w, path, "-top"), True)
    head = pprof(w, path, "-raw").splitlines()
    problems += missing("-raw", "\n".join(head), "PeriodType: space bytes", "Period: 1")
    build_id = re.search(r"Build ID: ([0-9a-f]+)",
                         subprocess.check_output(["readelf", "-n", w.victim], text=True))
    mine = [line for line in mappings.splitlines() if " " + w.victim + " " in line]
    problems += differ("mappings of the program", len(mine), 1)
    if mine and build_id:
        problems += missing("its mapping", mine[0], build_id[1], "[FN][FL][LN][IN]")
    return problems


def test_pprof_of_samples(w):
    """Not every call: which, and the period."""
    problems = differ("every call", "every call" in pprof(w, w.file("pprof"), "-raw"), True)
    for words, said, kind, period in ((["--sample=1000"], "one every 1,000 bytes on average",
                                       "space bytes", 1000),
                                      (["--sample-calls", "10"], "one every 10 calls on average",
                                       "calls count", 10)):
        log = w.path("samples.profile")
        ran = harness.run([harness.MPROF, "profile", *words, "-o", log, "--", w.victim], cwd=w.top)
        assert ran.status == 0, ran.err
        head = pprof(w, w.file("pprof", log=log), "-raw").split("Samples:")[0]
        problems += missing("-raw", head, said, f"PeriodType: {kind}", f"Period: {period}\n")
        for form in "txt", "callgrind":
            text = w.exported(form, log=log).decode()
            problems += missing(form, text, "Calls: estimates from", said)
    return problems


def test_pprof_functions(w):
    path = w.file("pprof")
    problems = []
    for kind, name, wanted in (("alloc_space", "phase1", (50 * 65536, 50 * 65536)),
                               ("alloc_objects", "phase2", (20, 20)),
                               ("inuse_space", "phase2", (20 * 131072, 20 * 131072)),
                               ("inuse_objects", "phase1", (10, 10)),
                               ("alloc_space", "down", (6 * 32, 6 * 32)),
                               ("alloc_objects", "turn", (0, 5))):
        rows, _ = top(w, path, kind)
        problems += differ(f"{kind} of {name}", rows.get(name), wanted)
    rows, total = top(w, path, "alloc_space")
    problems += differ("the total of alloc_space", total, w.totals["total"])
    return problems + differ("the inlined call", rows.get("inlined_here (inline)"), (333, 333))


def test_pprof_moments(w):
    problems = []
    for value in ("live", "leaked", "peak"):
        path = w.file("pprof", "--value", value)
        _, total = top(w, path, "inuse_space")
        wanted = sum(int(line.rpartition(b" ")[2]) for line in
                     w.exported("folded", "--value", value).splitlines())
        problems += differ(f"inuse with --value {value}", total, wanted)
    ran = w.export("pprof", "--value", "calls", "-o", w.path("bad.pb.gz"))
    problems += differ("the status of --value calls", ran.status != 0, True)
    return problems + differ("what it leaves behind", w.left_behind("bad"), [])


def test_pprof_source(w):
    text = pprof(w, w.file("pprof"), "-list=phase2", "-sample_index=alloc_space")
    return missing("-list", text, "victim.cc", "std::malloc(131072)")


def test_pprof_split(w):
    many, log = w.path("many"), w.path("many.log")
    subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", "-fno-optimize-sibling-calls", "-o", many,
                    os.path.join(HERE, "many.c")], check=True)
    w.record(log, many)
    w.exported("pprof", "--split", "-o", w.path("split.pb.gz"), log=log)
    parts = w.left_behind("split")
    problems = differ("parts", parts, ["split.2.pb.gz", "split.3.pb.gz", "split.pb.gz"])
    calls = 0
    for name in parts:
        _, samples, _, _ = raw(w, w.path(name))
        calls += sum(v[0] for v, _ in samples)
        if len(samples) > SAMPLES:
            problems.append(f"{name} has {len(samples)} samples")
        with gzip.open(w.path(name)) as f:
            if len(f.read()) > BYTES:
                problems.append(f"{name} is too large")
    whole = w.path("whole.pb.gz")
    w.exported("pprof", "-o", whole, log=log)
    _, samples, _, _ = raw(w, whole)
    problems += differ("samples of the whole", len(samples) >= 1 << 15, True)
    problems += differ("calls in all parts", calls, sum(v[0] for v, _ in samples))
    ran = w.export("pprof", "--split", log=log)
    problems += differ("the status of --split without -o", ran.status != 0, True)
    return problems + missing("its message", ran.err.decode(), "-o FILE")
