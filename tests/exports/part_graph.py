# SPDX-License-Identifier: LGPL-3.0-or-later
"""The call graph: drawn by graphviz, and in words."""

import json
import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree

import harness
from world import HERE, Skip, differ, missing, need

STARS = "*" * 80


def graph(w, *words):
    """dot's own reading of a graph: nodes by name, edges as (caller, callee, label)."""
    need("dot", "graphviz")
    ran = harness.run(["dot", "-Tjson"], stdin=w.exported("dot", *words))
    if ran.status != 0 or ran.err:
        return {}, [], [f"dot: {harness.ended(ran.status)}: {ran.err.decode()}"]
    read = json.loads(ran.out)
    nodes = {o["_gvid"]: o for o in read["objects"] if "label" in o and "nodes" not in o}
    edges = [(nodes[e["tail"]], nodes[e["head"]], e["label"].strip()) for e in read["edges"]]
    return nodes, edges, []


def words_of(node):
    return node["label"].split("\\n")


def test_dot(w):
    nodes, edges, problems = graph(w, "--value", "total", "--min-percent", "0")
    found = [n for n in nodes.values() if words_of(n)[0] == "phase2"]
    problems += differ("nodes of phase2", len(found), 1)
    for node in found:
        problems += missing("phase2's box", node["label"], "victim.cc:", "2.5 MiB", "43.4 %")
    into = [label for tail, head, label in edges
            if words_of(head)[0] == "phase2" and words_of(tail)[0] == "main"]
    problems += differ("arrows into phase2", into, ["2.5 MiB"])
    legend = [n["label"] for n in nodes.values() if n["name"] == "legend"]
    problems += missing("the legend", "".join(legend), w.total_words(), "victim")
    problems += differ("boxes of the odd name",
                       sum("odd;na$me, <...> 12 {z}" == words_of(n)[0] for n in nodes.values()), 1)
    return problems


def test_dot_cut(w):
    """--min-percent leaves out what is small, and says what that was."""
    all_, _, problems = graph(w, "--value", "total", "--min-percent", "0")
    some, _, more = graph(w, "--value", "total", "--min-percent", "20")
    names = {words_of(n)[0] for n in some.values() if n["name"] != "legend"}
    problems += more + differ("boxes above 20 %", names, {
        "_start", "__libc_start_main", "__libc_start_call_main", "main", "phase1", "phase2"})
    legend = "".join(n["label"] for n in some.values() if n["name"] == "legend")
    left = re.search(r"(\d+) lines below 20 % left out; they requested ([0-9,]+) bytes", legend)
    if not left:
        return problems + [f"the legend does not say what was left out: {legend}"]
    problems += differ("lines left out", int(left.group(1)), len(all_) - len(some))
    return problems + differ("what they requested", int(left.group(2).replace(",", "")),
                             w.totals["total"] - 50 * 65536 - 20 * 131072)


def test_dot_symbols(w):
    nodes, _, problems = graph(w, "--value", "total", "--symbols")
    labels = "\n".join(n["label"] for n in nodes.values())
    return problems + missing("the boxes", labels, "_ZL6phase1v+0x", "victim+0x")


def test_svg(w):
    need("dot", "graphviz")
    tree = ElementTree.fromstring(w.exported("svg", "--value", "total"))
    texts = [e.text or "" for e in tree.iter("{http://www.w3.org/2000/svg}text")]
    return missing("the picture", "\n".join(texts), "phase1", "phase2", "Legend",
                   w.total_words() + " (5.8 MiB)")


def test_ps_and_pdf(w):
    need("dot", "graphviz")
    problems = missing("PostScript", w.exported("ps").decode("latin-1")[:30], "%!PS-Adobe-")
    path = w.file("pdf")
    with open(path, "rb") as file:
        pdf = file.read()
    problems += missing("PDF", pdf[:8].decode("latin-1"), "%PDF-1")
    problems += differ("the end of PDF", pdf.rstrip()[-5:], b"%%EOF")
    try:
        ran = harness.run([need("pdftotext", "poppler-utils"), path, "-"])
    except Skip:
        return problems
    return problems + missing("the PDF's text", ran.out.decode(), "phase2", "Legend")


def sections(text):
    """The head and the sections, each a list of lines."""
    return [part.strip("\n").splitlines() for part in text.split(STARS + "\n")]


def amount(line):
    return int(re.search(r"([0-9,]+) (?:bytes|calls)", line).group(1).replace(",", ""))


def test_txt(w):
    head, *nodes = sections(w.exported("txt", "--value", "total", "--min-percent", "0").decode())
    problems = missing("the head", "\n".join(head), "Call graph of victim.log",
                       w.total_words() + " (5.8 MiB)")
    by_name = {node[1].strip(): node for node in nodes}
    totals = [amount(node[0]) for node in nodes]
    problems += differ("sections in order", totals, sorted(totals, reverse=True))
    own = [amount(line) for node in nodes for line in node if "Allocated by itself" in line]
    problems += differ("the sum of what lines asked for themselves", sum(own), w.totals["total"])
    phase2 = "\n".join(by_name.get("phase2", []))
    problems += missing("phase2's section", phase2, "2,621,440 bytes (2.5 MiB) - 43.4 %",
                        "victim.cc:", "in victim+0x", "Called by:", "100.0 %  main  ")
    fill = by_name.get("fill<...>", [])
    below = [amount(line) for line in fill[fill.index("  Allocated by its callees:") + 1:]
             if line.startswith("    ")]
    return problems + differ("what fill calls", below, [20200, 14400])


def test_txt_recursion(w):
    """Six times 32 bytes through a function that calls itself by another one."""
    _, *nodes = sections(w.exported("txt", "--value", "total", "--min-percent", "0").decode())
    own = [amount(node[0]) for node in nodes if node[1].strip() == "down"]
    problems = differ("the lines of down", sorted(own), [160, 192])
    return problems + differ("turn", [amount(n[0]) for n in nodes if n[1].strip() == "turn"], [160])


def parts_of(w, value):
    """The head of a graph in words, and what functions asked for themselves, with its part."""
    head, *nodes = sections(w.exported("txt", "--value", value, log=w.path("phases.log")).decode())
    own = {}
    for node in nodes:
        if any("Allocated by itself" in line for line in node):
            own[node[1].strip()] = (amount(node[0]), node[0].rpartition(" - ")[2])
    return "\n".join(head), own


def test_txt_at_greatest_rss(w):
    """memlog's question: who had what when the process was largest, and what is left at the end."""
    program = w.path("phases")
    subprocess.run(["gcc", "-O1", "-g", "-fno-builtin", "-o", program,
                    os.path.join(HERE, "phases.c")], check=True)
    w.record(w.path("phases.log"), program)
    head, own = parts_of(w, "rss")
    problems = missing("the head", head, "Total: 94,371,840 bytes (90.0 MiB)",
                       "process 1 had 70 blocks and ", " resident", "mapped: 4.0 MiB")
    problems += differ("at the greatest RSS", own, {"phase1": (50 << 20, "55.6 %"),
                                                    "phase2": (40 << 20, "44.4 %")})
    head, own = parts_of(w, "peak")
    problems += missing("the head", head, "the whole run had 70 blocks")
    head, own = parts_of(w, "live")
    return problems + differ("left at the end", own, {"phase2": (20 << 20, "100.0 %")})


def test_dot_is_missing(w):
    path = w.path("never.svg")
    ran = w.export("svg", "-o", path, extra={"PATH": w.path("nothing here")})
    problems = differ("status", ran.status, 1)
    problems += missing("the message", ran.err.decode(), "cannot find the program 'dot'", "install graphviz",
                        "--to txt")
    return problems + differ("files left behind", w.left_behind("never"), [])
