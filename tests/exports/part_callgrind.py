# SPDX-License-Identifier: LGPL-3.0-or-later
"""callgrind's format, read by callgrind_annotate and by KCachegrind."""

import os
import re
import subprocess
import threading

import harness
from world import differ, missing, need

COLUMNS = ["AllocCnt", "FreeCnt", "MemOps", "AllocSum", "FreeSum", "Leaks", "AliveReqMax"]


def annotate(path, *words):
    # In a directory above the sources it takes that off the names of callers only.
    ran = harness.run([need("callgrind_annotate", "valgrind"), "--threshold=100", *words, path],
                      cwd=os.path.dirname(path))
    return ran.out.decode(), differ("what callgrind_annotate says", ran.err.decode(), "")


def numbers(line):
    """The seven numbers of a line, and what stands behind them."""
    found = re.findall(r"([0-9,]+|\.)(?: +\( *[0-9.]+%\))?", line)[:7]
    return [0 if n == "." else int(n.replace(",", "")) for n in found]


def line_of(text, name):
    """A function's line: numbers, then file:function, then [object]."""
    pattern = re.compile(rf":{re.escape(name)}(?: \[[^]]*\])?$")
    found = [numbers(line) for line in text.splitlines() if pattern.search(line)]
    return found[0] if len(found) == 1 else found


def test_callgrind(w):
    path = w.file("callgrind")
    text, problems = annotate(path, "--auto=no")
    problems += missing("callgrind_annotate's answer", text, " ".join(COLUMNS))
    total = [line for line in text.splitlines() if "PROGRAM TOTALS" in line]
    all_ = numbers(total[0]) if total else [0] * 7
    problems += differ("calls", all_[0], w.totals["calls"])
    problems += differ("bytes", all_[3], w.totals["total"])
    problems += differ("never freed", all_[5], w.totals["live"])
    problems += differ("frees", all_[1], w.totals["calls"] - 42)
    problems += differ("both", all_[2], all_[0] + all_[1])
    problems += differ("phase1", line_of(text, "phase1"),
                       [50, 40, 90, 50 * 65536, 40 * 65536, 10 * 65536, 50 * 65536])
    return problems


def test_callgrind_inclusive(w):
    """What functions call is in them, once, recursion or not."""
    text, problems = annotate(w.file("callgrind"), "--auto=no", "--inclusive=yes")
    for name, calls, total in (("down", 6, 192), ("turn", 5, 160), ("fill<...>", 400, 34600),
                               ("call_odd", 1, 7777), ("down'2", 5, 160)):
        found = line_of(text, name)
        problems += differ(f"{name}, inclusive", [found[0], found[3]] if len(found) == 7 else found,
                           [calls, total])
    found = line_of(text, "main")
    below = [w.totals["total"] - w.pool - 4242, w.totals["calls"] - 2]
    problems += differ("main, inclusive", [found[3], found[0]] if len(found) == 7 else found, below)
    return problems + differ("functions of nothing", [line for line in text.splitlines()
                                                      if line.lstrip().startswith("0 ")], [])


def test_callgrind_source(w):
    """Lines of the source have their figures beside them."""
    text, problems = annotate(w.file("callgrind"), "--auto=yes")
    at = [line for line in text.splitlines() if line.endswith("b = std::malloc(131072);")]
    problems += differ("lines of phase2", len(at), 1)
    if at:
        problems += differ("phase2's line", numbers(at[0])[:4], [20, 0, 20, 20 * 131072])
    return problems


def test_callgrind_names(w):
    """A name is written once, then its number stands for it."""
    with open(w.file("callgrind", "--names", "raw"), encoding="utf-8") as file:
        text = file.read()
    kinds = {"fn": "function", "cfn": "function", "ob": "object", "cob": "object"}
    used, told = set(), []
    for kind, number, name in re.findall(r"^(c?(?:fn|fl|fi|ob))=\((\d+)\)(?: (.*))?$", text, re.M):
        key = kinds.get(kind, "file"), number
        if name:
            told.append((key, name))
        used.add(key)
    names = [name for _, name in told]
    problems = differ("numbers without a name", used - {key for key, _ in told}, set())
    problems += differ("numbers told twice", len(told), len(used))
    return problems + missing("the names", "\n".join(names), "odd;na$me, <x&y> 12 {z}",
                              "_ZL6phase1v")


def kcachegrind(w, path):
    """What KCachegrind says, without a screen, until it shows a function; it does not end itself."""
    command = [need("dbus-run-session", "dbus-daemon"), "--", need("kcachegrind", "kcachegrind"), path]
    home = w.path("home")
    os.makedirs(home, mode=0o700, exist_ok=True)
    env = dict(harness.clean_environment(), QT_QPA_PLATFORM="offscreen", HOME=home,
               XDG_RUNTIME_DIR=home, QT_LOGGING_RULES="default=true")
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, start_new_session=True)
    late = threading.Timer(harness.TIMEOUT, harness.kill_group, [process])
    late.start()
    said = []
    for line in process.stdout:
        said.append(line)
        if line.startswith("Selected "):
            break
    late.cancel()
    harness.kill_group(process)
    process.communicate()
    return "".join(said)


def test_callgrind_kcachegrind(w):
    path = w.file("callgrind")
    said = kcachegrind(w, path)
    problems = missing("what KCachegrind shows", said, 'Selected  "main"')
    problems += differ("what it cannot read", re.findall(r"^Loading .*", said, re.M), [])
    # It does complain when there is reason to.
    with open(path, encoding="utf-8") as file:
        text = file.read().replace("calls=", "callz=", 1)
    with open(w.path("wrong.callgrind"), "w", encoding="utf-8") as file:
        file.write(text)
    return problems + missing("what it says of a wrong line", kcachegrind(w, file.name),
                              "Invalid line 'callz=")


def test_callgrind_at_exit(w):
    """What the process wrote itself: the same figures, and KCachegrind reads it."""
    path, profile = w.path("exit.callgrind"), w.path("exit.profile")
    harness.run([harness.MPROF, "profile", "-q", "-o", profile, "--at-exit=callgrind",
                 "--", w.victim], cwd=w.top,
                env=dict(harness.clean_environment(), MPROF_CONF=f"CALLGRIND_PATH={path}"))
    if not os.path.exists(path):
        return [f"the program wrote no {path}"]
    exported = w.path("exit.exported")
    w.exported("callgrind", "-o", exported, log=profile)
    text, problems = annotate(path, "--auto=no", "--inclusive=yes")
    wanted, more = annotate(exported, "--auto=no", "--inclusive=yes")
    problems += more
    for name in ("main", "_start"):
        found = line_of(text, name)
        problems += differ(f"figures of {name}", len(found), 7)
        problems += differ(f"{name}, inclusive", found, line_of(wanted, name))
    said = kcachegrind(w, path)
    problems += missing("what KCachegrind shows", said, 'Selected  "main"')
    return problems + differ("what it cannot read", re.findall(r"^Loading .*", said, re.M), [])
