# SPDX-License-Identifier: LGPL-3.0-or-later
"""Folded stacks and MallocProfiler's lines, read by flamegraph.pl."""

import os
import re

import harness
from world import Skip, differ, folded, inclusive, missing

PERL = ("flamegraph.pl", "/usr/share/perl5/Devel/NYTProf/flamegraph.pl")


def flamegraph(lines):
    """What flamegraph.pl makes of them: the picture, and what it complained about."""
    for script in PERL:
        for where in [""] if script.startswith("/") else os.environ["PATH"].split(":"):
            path = os.path.join(where, script)
            if os.path.exists(path):
                ran = harness.run(["perl", path, "--minwidth", "0"], stdin=lines)
                return ran.out.decode(), ran.err.decode()
    raise Skip("no flamegraph.pl; Debian has it in libdevel-nytprof-perl")


def drawn(picture, name):
    """The samples that a picture gives to boxes of this name."""
    found = re.findall(rf"<title>{re.escape(name)} \(([0-9,]+) samples", picture)
    return sum(int(number.replace(",", "")) for number in found)


def test_folded_sums(w):
    problems = []
    for value, total in w.totals.items():
        rows = folded(w.exported("folded", "--value", value).decode())
        problems += differ(f"the sum of {value}", sum(v for _, v in rows), total)
    rows = folded(w.exported("folded", "--value", "total").decode())
    for name, wanted in (("phase1", 50 * 65536), ("phase2", 20 * 131072), ("down", 6 * 32),
                         ("fill<...>", 200 * (101 + 72)), ("inlined_here", 333)):
        problems += differ(f"total of {name}", inclusive(rows, name), wanted)
    rows = folded(w.exported("folded", "--value", "peak").decode())
    problems += differ("peak of phase1", inclusive(rows, "phase1"), 10 * 65536)
    rows = folded(w.exported("folded", "--value", "temporary").decode())
    return problems + differ("temporary of main", inclusive(rows, "main"), 1000)


def test_folded_flamegraph(w):
    lines = w.exported("folded", "--value", "total")
    picture, complaints = flamegraph(lines)
    problems = differ("what flamegraph.pl says", complaints, "")
    for name, wanted in (("all", w.totals["total"]), ("phase1", 50 * 65536),
                         ("odd:na$me, &lt;...&gt; 12 {z}", 7777)):
        found = drawn(picture, name.replace("&lt;", "(").replace("&gt;", ")")) or \
            drawn(picture, name)
        problems += differ(f"flamegraph.pl's {name}", found, wanted)
    return problems


def test_folded_names(w):
    """A name may have the separator in it, and the stack stays in one piece."""
    rows = folded(w.exported("folded", "--names", "raw", "--value", "total").decode())
    stack = [s for s, v in rows if v == 7777]
    problems = differ("stacks of the odd name", len(stack), 1)
    if stack:
        problems += differ("the odd name", stack[0][-1], "odd:na$me, <x&y> 12 {z}")
        problems += differ("its caller", stack[0][-2], "call_odd")
    return problems


def test_folded_values_in_files(w):
    w.exported("folded", "--value", "calls,live", "--value", "total", "-o", w.path("some.folded"))
    problems = []
    for value in ("calls", "live", "total"):
        with open(w.path(f"some.{value}.folded"), encoding="utf-8") as file:
            rows = folded(file.read())
        problems += differ(f"the sum of {value}", sum(v for _, v in rows), w.totals[value])
    ran = w.export("folded", "--value", "calls,live")
    problems += differ("status for two values on stdout", ran.status, 2)
    return problems


def dollars(text):
    """Stacks and their four numbers."""
    rows = []
    for line in text.splitlines():
        if line.startswith("_mpTrace_;"):
            stack, *numbers = line.split("$")
            rows.append((stack.rstrip(" ").split(";")[1:], [int(n) for n in numbers]))
    return rows


def summary(text):
    match = re.match(r"MemStat Global Summary for \d+/\d+: (\d+) (\d+) (\d+) (\d+)\n", text)
    return [int(n) for n in match.groups()] if match else None


def check_dollars(w, text, what):
    rows = dollars(text)
    sums = [sum(numbers[i] for _, numbers in rows) for i in range(3)]
    wanted = [w.totals[v] for v in ("calls", "total", "live")]
    problems = differ(f"sums {what}", sums, wanted)
    problems += differ(f"the summary {what}", summary(text), wanted + [w.totals["peak"]])
    most = [numbers[3] for stack, numbers in rows if "Allocations" not in stack[-1]]
    return problems + differ(f"lines {what} in order", most, sorted(most))


def test_mallocprofiler(w):
    text = w.exported("mallocprofiler").decode()
    problems = check_dollars(w, text, "of all")
    by_name = {stack[-1]: numbers for stack, numbers in dollars(text)}
    problems += differ("phase1", by_name.get("phase1"),
                       [50, 50 * 65536, 10 * 65536, 50 * 65536])
    # The separator in a name would shift the columns of every recipe that cuts.
    problems += differ("the odd name", by_name.get("odd:na:me, <...> 12 {z}"), [1] + [7777] * 3)
    return problems


def test_mallocprofiler_threshold(w):
    # The strings have 101 bytes: not below.
    text = w.exported("mallocprofiler", "--stack-min-size", "101").decode()
    problems = check_dollars(w, text, "with small ones apart")
    by_name = {stack[-1]: numbers for stack, numbers in dollars(text)}
    # 6 of 32 bytes that stay, 200 nodes of 72, 1000 of 10 one by one, and 16 for a thread.  The most
    # is not the sum of the sites' own: the thread's came after the last of 10.
    problems += differ("small blocks", by_name.get("SmallAllocations"),
                       [6 + 200 + 1000 + 1, 192 + 14400 + 10000 + 16, 192, 192 + 14400 + 16])
    text = w.exported("mallocprofiler", "--stack-max-size", "65536").decode()
    problems += check_dollars(w, text, "with large ones apart")
    by_name = {stack[-1]: numbers for stack, numbers in dollars(text)}
    # Phase 2, and libstdc++'s reserve for exceptions.
    return problems + differ("large blocks", by_name.get("LargeAllocations"),
                             [21, 20 * 131072 + w.pool] + [20 * 131072 + w.pool] * 2)


def test_mallocprofiler_hidden(w):
    text = w.exported("mallocprofiler", "--hide-zero-live").decode()
    problems = differ("lines without live bytes",
                      [stack for stack, numbers in dollars(text) if not numbers[2]], [])
    sums = [numbers[2] for _, numbers in dollars(text)]
    return problems + differ("live", sum(sums), w.totals["live"])


def test_mallocprofiler_recipe(w):
    """grep, cut and tr of its users, to flamegraph.pl."""
    text = w.exported("mallocprofiler").decode()
    problems = []
    for column, value in ((1, "calls"), (2, "total"), (3, "live")):
        lines = ["$".join([line.split("$")[0], line.split("$")[column]]).replace("$", " ")
                 for line in text.splitlines() if "_mpTrace_" in line]
        picture, complaints = flamegraph("\n".join(lines).encode())
        problems += differ(f"complaints about {value}", complaints, "")
        problems += differ(f"flamegraph.pl's {value}", drawn(picture, "all"), w.totals[value])
    return problems + missing("the lines", text, "_mpTrace_;_start;", ";phase1 $50$3276800$")
