# SPDX-License-Identifier: LGPL-3.0-or-later
"""mprof image of a profile, and of the table of --dump stat: are the figures the program's, and
drawn where they should be?"""

import json
import os
import subprocess

import harness

try:
    from PIL import Image
except ImportError:
    Image = None

PROGRAM = """
#include <stdlib.h>
#include <time.h>
static void wait_for_steps(void) { nanosleep(&(struct timespec){ 0, 60000000 }, NULL); }
static void *make(size_t size) { return malloc(size); }
int main(void)
{
	void *large[10];
	for (int i = 0; i < 1000; i++)
		make(1000);
	wait_for_steps();
	for (int i = 0; i < 10; i++)
		large[i] = make(1000000);
	wait_for_steps();
	for (int i = 0; i < 10; i++)
		free(large[i]);
	make(0);
	wait_for_steps();
	make(1);
	return 0;
}
"""
TITLES = "seconds\tcalls\tbytes\tlive_bytes\tpeak_bytes\tsizes\tlive_sizes\n"
MAP, RED = (0xdd, 0xdb, 0xd3), (0xbf, 0x2a, 0x2f)


def bins(some):
    return ",".join(str(some.get(i, 0)) for i in range(64))


def row(seconds, calls, total, live, peak, sizes, live_sizes):
    return f"{seconds:.3f}\t{calls}\t{total}\t{live}\t{peak}\t{bins(sizes)}\t{bins(live_sizes)}\n"


def profile(scratch, *options):
    source, program, file = (os.path.join(scratch, n) for n in ("p.c", "p", "p.profile"))
    with open(source, "w", encoding="ascii") as f:
        f.write(PROGRAM)
    subprocess.run(["gcc", "-O1", "-fno-builtin", "-o", program, source], check=True)
    ran = harness.run([harness.MPROF, "profile", "-q", *options, "-o", file, "--", program])
    assert ran.status == 0, ran.err
    return file


def table(scratch, text):
    path = os.path.join(scratch, "mprof.1.stat")
    with open(path, "w", encoding="ascii") as f:
        f.write(text)
    return path


def image(scratch, *args):
    return harness.run([harness.MPROF, "image", *args], cwd=scratch)


def draw(scratch, file, *args):
    """The picture, and the charts that --json lists, by title."""
    if not Image:
        raise harness.Skip("no python3-pil")
    output = os.path.join(scratch, "x.png")
    ran = image(scratch, file, "-o", output, "--json", *args)
    assert ran.status == 0, ran.err.decode()
    told = json.loads(ran.out)
    picture = Image.open(output)
    assert picture.size == (told["width"], told["height"]), picture.size
    return picture.convert("RGB"), told, {chart["title"]: chart for chart in told["charts"]}


def most(chart):
    return {curve["name"]: curve["most"] for curve in chart["curves"]}


def last(chart):
    return {curve["name"]: curve["last"] for curve in chart["curves"]}


def differ(wanted):
    return [f"{what} is {found!r} instead of {right!r}" for what, found, right in wanted
            if found != right]


def near(picture, x, y, colour):
    """Is the colour within two pixels, but for smooth edges?"""
    return any(sum(abs(a - b) for a, b in zip(picture.getpixel((x, y + d)), colour)) < 90
               for d in range(-2, 3))


def test_profile(scratch):
    picture, told, charts = draw(scratch, profile(scratch))
    memory, sizes = charts["Memory"], charts["Blocks by size"]
    wrong = differ([
        ("charts", list(charts), ["Memory", "Virtual memory", "Live blocks",
                                  "Blocks allocated a second", "Bytes allocated a second",
                                  "Mean size of a block", "Blocks by size"]),
        ("most live", most(memory)["live, as requested"], 11000000),
        ("live at the end", last(memory)["live, as requested"], 1000001),
        ("most blocks", most(charts["Live blocks"])[None], 1010),
        ("blocks at the end", last(charts["Live blocks"])[None], 1002),
        ("a great mean", most(charts["Mean size of a block"])[None] >= 900000, True),
        ("blocks by size", last(sizes), {"allocated": 1012, "live at the end": 1002})])
    top = max(most(memory).values())
    y = memory["y"] + memory["height"] - round(1000001 / top * (memory["height"] - 4))
    colour = tuple(bytes.fromhex(memory["curves"][0]["colour"][1:]))
    x = memory["x"] + memory["width"] - 2
    if not near(picture, x, y, colour):
        wrong.append(f"no curve at {x},{y}")
    if near(picture, x, memory["y"] + memory["height"] // 8, colour):
        wrong.append("the curve stays high")
    return wrong + differ([("points", told["points"] > 10, True),
                           ("process", told["process"], 1)])


def test_samples(scratch):
    _, told, charts = draw(scratch, profile(scratch, "--sample=1K"), "--theme", "dark")
    return differ([("estimated", told["estimated"], True),
                   ("charts", list(charts), ["Memory", "Virtual memory", "Live blocks"])])


def test_table(scratch):
    file = table(scratch, TITLES +
                 row(1, 10, 1000, 600, 900, {0: 4, 7: 6}, {0: 1, 7: 6}) +
                 row(2, 110, 11000, 300, 900, {0: 4, 7: 106}, {7: 3}) +
                 row(0.5, 5, 50, 50, 50, {4: 5}, {4: 5}) + "0.700\t1")
    picture, told, charts = draw(scratch, file)
    wrong = differ([
        ("points", told["points"], 3), ("end", told["to_seconds"], 2.5),
        ("memory", most(charts["Memory"]), {"live, as requested": 600, "peak until then": 900}),
        ("live blocks", last(charts["Live blocks"])[None], 5),
        ("most a second", most(charts["Blocks allocated a second"])[None], 100),
        ("last a second", last(charts["Blocks allocated a second"])[None], 10),
        ("bytes a second", most(charts["Bytes allocated a second"])[None], 10000),
        ("all blocks", last(charts["Blocks by size"]), {"allocated": 115, "live at the end": 5})])
    at = charts["Live blocks by size"]
    for second, size, right in ((0.5, 7, RED), (1.5, 0, MAP), (2.2, 7, MAP), (0.5, 4, MAP)):
        x = at["x"] + int(second / 2.5 * at["width"])
        y = at["y"] + at["height"] - int((size + 0.5) / 8 * at["height"])
        wrong += differ([(f"colour of size {size} at {second} s", picture.getpixel((x, y)), right)])
    x, y = at["x"] + at["width"] // 5, at["y"] + at["height"] - 4
    if picture.getpixel((x, y)) in (MAP, RED):
        wrong.append("a block of 0 bytes is not shown")
    # Live bytes are known at the rows only: a line connects them.
    at = charts["Memory"]
    x = at["x"] + int(1.5 / 2.5 * at["width"])
    for live, drawn in (450, True), (300, False):
        y = at["y"] + at["height"] - live / 900 * (at["height"] - 4)
        blue = any(b > r + 60 for r, _, b in (picture.getpixel((x, int(y) + k)) for k in range(-2, 3)))
        wrong += differ([(f"{live} bytes at 1.5 s", blue, drawn)])
    return wrong


def test_long_table(scratch):
    rows = [row(i, 2 * i, 200 * i, 100 * i, 100 * i, {7: 2 * i}, {7: i}) for i in range(1, 5001)]
    _, told, charts = draw(scratch, table(scratch, TITLES + "".join(rows)))
    return differ([("points", 500 < told["points"] <= 1024, True),
                   ("end", told["to_seconds"], 5000), ("rate", most(
                       charts["Blocks allocated a second"])[None], 2),
                   ("blocks", last(charts["Blocks by size"])["allocated"], 10000)])


def test_round_times(scratch):
    """Marks of a scale of hours are minutes and hours."""
    wrong = []
    for last_s, marks in ((900, ["2 min", "4 min", "6 min"]), (7200, ["30 min", "60 min", "90 min"]),
                        (86400, ["12 h", "15 h", "18 h"]), (30, ["5.00 s", "10.0 s"])):
        rows = [row(last_s * i / 20, i, 10 * i, 10, 10, {4: i}, {4: 1}) for i in range(1, 21)]
        ran = image(scratch, table(scratch, TITLES + "".join(rows)), "-o", "x.pdf")
        assert ran.status == 0, ran.err
        found = subprocess.run(["pdftotext", os.path.join(scratch, "x.pdf"), "-"],
                               capture_output=True, check=True).stdout.decode().splitlines()
        wrong += [f"{last_s} s: no mark {mark} in {found}" for mark in marks if mark not in found]
    return wrong


def test_formats(scratch):
    file = profile(scratch)
    for name in "x.svg", "x.pdf":
        ran = image(scratch, file, "-o", name)
        assert ran.status == 0, ran.err
    found = subprocess.run(["pdftotext", os.path.join(scratch, "x.pdf"), "-"],
                           capture_output=True, check=True).stdout.decode()
    ran = image(scratch, file, "--size", "640x900")
    with Image.open(os.path.join(scratch, "p.profile.png")) as picture:
        return differ([("size", picture.size, (640, 900)), ("status", ran.status, 0),
                       ("text", "Blocks allocated a second" in found, True)])


def test_bad_use(scratch):
    file, wrong = profile(scratch), []
    bad = table(scratch, TITLES + row(1, 1, 1, 1, 1, {}, {}) + "2.000\tmany\n")
    empty = os.path.join(scratch, "empty.stat")
    with open(empty, "w", encoding="ascii") as f:
        f.write(TITLES)
    for args, status, words in (
            ([file, "--at", "end"], 2, "--at: '"), ([file, "--by", "site"], 2, "--by: '"),
            ([file, "--layout", "time"], 2, "--layout: '"),
            ([file, "--allocator", "glibc"], 2, "is a profile; it has totals over time"),
            ([file, "--touch", "none"], 2, "--touch: '"),
            ([file, "--process", "9"], 2, "no process 9"),
            ([file, "--size", "640x240"], 1, "7 charts need a height of"),
            ([bad], 3, "line 3: expected five numbers"), ([empty], 3, "titles and no figures"),
            ([bad, "--process", "1"], 2, "is a table of one process")):
        ran = image(scratch, *args, "-o", "x.png")
        if ran.status != status or words not in ran.err.decode() or ran.err.count(b"\n") != 1:
            wrong.append(f"{args}: status {ran.status}, not {status}: {ran.err.decode().strip()}")
    return wrong
