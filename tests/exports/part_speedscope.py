# SPDX-License-Identifier: LGPL-3.0-or-later
"""speedscope's format and folded stacks, opened by the real speedscope in a real browser."""

import glob
import json
import os
import shutil

import harness
from world import HERE, Skip, differ, missing, need

MODULES = os.path.join(harness.BUILD, "exports-web")
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
UNITS = {"calls": "none", "total": "bytes", "live": "bytes", "peak": "bytes",
         "lifetime": "nanoseconds"}


def install():
    """speedscope and playwright-core from npm, once for each build directory."""
    need("node", "nodejs")
    need("npm", "npm")
    files = ("package.json", "package-lock.json", ".npmrc")
    fresh = all(os.path.exists(os.path.join(MODULES, f)) and
                same(os.path.join(HERE, "web", f), os.path.join(MODULES, f)) for f in files)
    if not fresh or not os.path.isdir(os.path.join(MODULES, "node_modules", "speedscope")):
        shutil.rmtree(MODULES, ignore_errors=True)
        os.makedirs(MODULES)
        for name in files:
            shutil.copy(os.path.join(HERE, "web", name), MODULES)
        ran = harness.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
                          cwd=MODULES, env=dict(os.environ))
        if ran.status != 0:
            shutil.rmtree(MODULES)
            raise Skip("npm cannot fetch speedscope and playwright-core")
    for name in glob.glob(os.path.join(HERE, "web", "*.mjs")):
        shutil.copy(name, MODULES)


def same(one, other):
    with open(one, "rb") as a, open(other, "rb") as b:
        return a.read() == b.read()


def browser():
    for name in BROWSERS:
        if shutil.which(name):
            return shutil.which(name)
    raise Skip("no browser; Debian has it in chromium")


def opened(*files):
    """What speedscope shows of each file."""
    program = browser()
    install()
    ran = harness.run(["node", "open.mjs", program,
                       os.path.join("node_modules", "speedscope", "dist", "release"), *files],
                      cwd=MODULES, env=dict(os.environ))
    if ran.status != 0:
        raise AssertionError(f"the browser: {harness.ended(ran.status)}: {ran.err.decode()[:600]}")
    return json.loads(ran.out)


def weights(read, name):
    for profile in read["profiles"]:
        if profile["name"] == name:
            return sum(profile["weights"])
    return None


def below(read, value, name):
    """The weight of all samples that a function is in."""
    frames = [f["name"] for f in read["shared"]["frames"]]
    profile = next(p for p in read["profiles"] if p["name"] == value)
    return sum(weight for sample, weight in zip(profile["samples"], profile["weights"])
               if name in {frames[i] for i in sample})


def test_speedscope_file(w):
    """The file by itself: what the published schema asks for, and the sums."""
    read = json.loads(w.exported("speedscope"))
    problems = differ("$schema", read.get("$schema"),
                      "https://www.speedscope.app/file-format-schema.json")
    for profile in read["profiles"]:
        name = profile["name"]
        problems += differ(f"members of {name}", sorted(profile),
                           ["endValue", "name", "samples", "startValue", "type", "unit", "weights"])
        problems += differ(f"type of {name}", profile["type"], "sampled")
        problems += differ(f"unit of {name}", profile["unit"], UNITS.get(name, profile["unit"]))
        problems += differ(f"samples of {name}", len(profile["samples"]), len(profile["weights"]))
        problems += differ(f"endValue of {name}", profile["endValue"], sum(profile["weights"]))
        used = {i for sample in profile["samples"] for i in sample}
        problems += differ(f"unknown frames of {name}",
                           [i for i in used if not 0 <= i < len(read["shared"]["frames"])], [])
    for value, total in w.totals.items():
        problems += differ(f"the sum of {value}", weights(read, value), total)
    problems += differ("phase1", below(read, "total", "phase1"), 50 * 65536)
    problems += differ("the one on view", read["profiles"][read["activeProfileIndex"]]["name"],
                       "peak")
    some = json.loads(w.exported("speedscope", "--value", "live,calls"))
    return problems + differ("chosen values", [p["name"] for p in some["profiles"]],
                             ["calls", "live"])


def test_speedscope_browser(w):
    """Loaded, shown, and exported again: nothing got lost on the way."""
    own = w.file("speedscope")
    folded = w.file("folded", "--value", "total")
    json_view, folded_view = opened(own, folded)
    problems = differ("errors", json_view["errors"] + folded_view["errors"], [])
    problems += missing("the tab's title", json_view["title"], "victim.log")
    problems += missing("what is shown first", json_view["text"], "peak (")
    shown = {row[1]: row[2] for row in json_view["rows"]}
    problems += differ("calls in the list of profiles", shown.get("calls"),
                       f"{w.totals['calls']:,}")
    problems += differ("peak in the list of profiles", shown.get("peak"),
                       f"{w.totals['peak'] / (1 << 20):.2f} MB")
    ends = {p["name"]: p["endValue"] for p in json_view["exported"]["profiles"]}
    for value, total in w.totals.items():
        problems += differ(f"what speedscope read of {value}", ends.get(value), total)
    rows = {row[2]: row for row in json_view["rows"]}
    problems += differ("phase2's row", rows.get("phase2", [""])[0][:7], "2.50 MB")
    problems += missing("the functions", "\n".join(rows), "fill<...>", "down",
                        "odd;na$me, <...> 12 {z}")
    return problems + check_folded(w, folded_view)


def check_folded(w, view):
    read = view["exported"]["profiles"]
    problems = differ("profiles of the folded file", len(read), 1)
    problems += differ("what speedscope read of it", read[0]["endValue"], w.totals["total"])
    rows = {row[2]: row for row in view["rows"]}
    for name, total, own in (("phase1", 50 * 65536, 50 * 65536), ("down", 192, 192),
                             ("turn", 160, 0), ("fill<...>", 34600, 0)):
        found = [cell.split(" ")[0] for cell in rows.get(name, ["", ""])[:2]]
        problems += differ(f"{name}'s total and self", found, [f"{total:,}", f"{own:,}"])
    return problems + missing("the functions", "\n".join(rows), "odd:na$me, <...> 12 {z}")
