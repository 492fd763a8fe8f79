# SPDX-License-Identifier: LGPL-3.0-or-later
"""Pictures: read by another program, do they show what the heap was?

The victim places.c tells where its blocks are; PIL tells the colours there.
"""

import functools
import io
import json
import os
import re
import subprocess
import tempfile

import harness

try:
    from PIL import Image
except ImportError:
    Image = None

HERE = os.path.dirname(os.path.abspath(__file__))
SCRATCH = tempfile.TemporaryDirectory(prefix="mprof-image-")
PAGE = 4096


def need_reader():
    if not Image:
        raise harness.Skip("no python3-pil")


@functools.lru_cache(None)
def trace(*options):
    """The victim's trace, and {name: (address, bytes)}.

    Without samples, unless a test wants them: which pages were resident depends on when mprof read
    them.
    """
    need_reader()
    victim, log = (os.path.join(SCRATCH.name, "places" + name) for name in ("", "".join(options) + ".log"))
    subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-g", "-O0", "-fno-builtin", "-o", victim,
                    os.path.join(HERE, "places.c")], check=True)
    ran = harness.run([harness.MPROF, "record", *(options or ["--no-sample"]), "-o", log, "--", victim])
    assert ran.status == 0, ran.err
    lines = (line.split() for line in ran.out.decode().splitlines())
    return log, {name: (int(at, 16), int(size)) for name, at, size in lines}


def image(*args, status=0):
    return harness.run([harness.MPROF, "image", *args], cwd=SCRATCH.name)


def draw(*args):
    """The picture, and what --json says of it."""
    output = os.path.join(SCRATCH.name, "x.png")
    ran = image(trace()[0], "-o", output, "--json", *args)
    assert ran.status == 0, ran.err.decode()
    picture = Image.open(output)
    told = json.loads(ran.out)
    assert picture.format == "PNG" and picture.size == (told["width"], told["height"]), picture.size
    return picture.convert("RGB"), told


def text(colour):
    return "#%02x%02x%02x" % colour


def place(told, address, panel=0):
    """The middle of the square of an address, in strips."""
    at = told["panels"][panel]
    for row in at["rows"]:
        offset = address - int(row["address"], 16)
        if 0 <= offset < told["row_bytes"]:
            px = told["square_pixels"]
            return (row["x"] + offset // told["square_bytes"] * px + px // 2 - 1,
                    row["y"] + px // 2 - 1)
    raise AssertionError(f"{address:x} is in no row")


def colour_at(picture, told, address, panel=0):
    return text(picture.getpixel(place(told, address, panel)))


def squares(picture, told, panel=0):
    """Colours of the squares of a panel, by the middle of each, with the edge of each."""
    at, px, count = told["panels"][panel], told["square_pixels"], {}
    for row in at["rows"]:
        for i in range(told["row_bytes"] // told["square_bytes"]):
            x, y = row["x"] + i * px, row["y"]
            colour = (text(picture.getpixel((x + px // 2 - 1, y + px // 2 - 1))),
                      text(picture.getpixel((x, y))))
            count[colour] = count.get(colour, 0) + 1
    return count


def told_wrong(expected):
    return [f"{what}: {found}, not {wanted}" for what, found, wanted in expected if found != wanted]


def test_recorded_pages_have_their_colours():
    picture, told = draw()
    blocks, colours = trace()[1], told["colours"]
    full, half, pin, gone = (blocks[name][0] for name in ("full", "half", "pin", "gone"))
    wrong = told_wrong([
        *((f"full page {i}", colour_at(picture, told, full + i * PAGE), colours["full"][-1])
          for i in range(8)),
        ("half page", colour_at(picture, told, half), colours["full"][len(colours["full"]) // 2]),
        ("pinned page", colour_at(picture, told, pin), colours["full"][0]),
        *((f"freed page {i}", colour_at(picture, told, gone + i * PAGE), colours["unknown"])
          for i in range(2, 6)),
    ])
    x, y = place(told, pin)
    edge = text(picture.getpixel((x - told["square_pixels"] // 2 + 1, y)))
    return wrong + told_wrong([("the pinned page's edge", edge, colours["pinned"]),
                               ("moment", told["panels"][0]["peak"], True)])


def test_every_page_is_drawn_once():
    """Squares of each colour, counted, are the pages that were counted while playing."""
    wrong = []
    for args in (["--allocator", "glibc"], ["--allocator", "glibc", "--at", "end"], []):
        picture, told = draw(*args)
        at, colours, found = told["panels"][0], told["colours"], squares(picture, told)
        pins = sum(n for (_, edge), n in found.items() if edge == colours["pinned"])
        live = sum(n for (colour, _), n in found.items() if colour in colours["full"])
        kept = sum(n for (colour, _), n in found.items() if colour == colours["kept"])
        wrong += told_wrong([
            (f"{args} pinned pages", pins, at["pinned_pages"]),
            (f"{args} live pages", live, at["live_pages"]),
            (f"{args} pages kept", kept, at.get("kept_pages", 0)),
        ])
    return wrong


def test_dark_paper():
    """The same squares on another paper, with text that is lighter than it; videos, too."""
    light, dark = draw("--by", "site"), draw("--by", "site", "--theme", "dark")
    wrong = told_wrong([("theme", dark[1]["theme"], "dark"), ("paper", text(dark[0].getpixel((0, 0))), dark[1]["colours"]["paper"]),
                        ("light paper", text(light[0].getpixel((0, 0))), light[1]["colours"]["paper"]),
                        ("panels", dark[1]["panels"], light[1]["panels"])])
    most = [max(sum(c) for _, c in p.crop((0, 0, p.width, told["panels"][0]["y"])).getcolors(1 << 20)) for p, told in (light, dark)]
    if sum(dark[0].getpixel((0, 0))) > 150 or most[1] < 600:
        wrong.append(f"not dark: {dark[0].getpixel((0, 0))}, lightest {most[1]}")
    for (x, y) in (place(dark[1], int(dark[1]["panels"][0]["rows"][0]["address"], 16)),):
        if text(dark[0].getpixel((x, y))) not in [c["colour"] for c in dark[1]["colours"]["classes"]] + list(
                v for v in dark[1]["colours"].values() if isinstance(v, str)):
            wrong.append("a square has a colour that --json does not tell")
    vector = os.path.join(SCRATCH.name, "dark.svg")
    assert image(trace()[0], "--theme", "dark", "-o", vector).status == 0
    with open(vector, encoding="utf-8") as file:
        if "rgb(90" not in file.read():  # the ink, #e6e8ea, in percent
            wrong.append("text of an SVG is not light")
    video = os.path.join(SCRATCH.name, "dark.apng")
    ran = harness.run([harness.MPROF, "movie", trace()[0], "--frames", "3", "--theme", "dark", "-o", video])
    assert ran.status == 0, ran.err.decode()
    wrong += told_wrong([("paper of a video", text(Image.open(video).convert("RGB").getpixel((0, 0))), dark[1]["colours"]["paper"])])
    ran = harness.run([harness.MPROF, "movie", trace()[0], "--theme", "dark", "-o", os.path.join(SCRATCH.name, "x.html")])
    return wrong + told_wrong([("status of a dark page", ran.status, 2), ("what is said", b"--theme applies to videos" in ran.err, True)])


def test_what_is_kept_is_white():
    """glibc keeps what lies below a block that stays; the other allocators are on one scale."""
    picture, told = draw("--allocator", "glibc,jemalloc", "--at", "end")
    first, second = told["panels"]
    wrong = []
    if first["kept_pages"] < 64 * 16 // 2:
        wrong.append(f"glibc kept only {first['kept_pages']} pages")
    if first["live_pages"] > 4 or first["calls"] != first["calls_in_all"]:
        wrong.append(f"this is not the end: {first}")
    if first["y"] != second["y"] or first["width"] != second["width"]:
        wrong.append("panels are not side by side")
    return wrong


def test_sites_have_hues():
    picture, told = draw("--by", "site")
    hue = {row["name"]: row["colour"] for row in told["colours"]["classes"]}
    blocks = trace()[1]
    return told_wrong([
        (name, colour_at(picture, told, blocks[block][0]), hue.get(name))
        for name, block in (("full_pages", "full"), ("half_page", "half"), ("pinned_page", "pin"))])


def test_other_ways_to_colour():
    blocks, wrong = trace()[1], []
    for by, colours in (("size", lambda c: c["size"][2]), ("age", lambda c: c["age"][-1]),
                        ("thread", lambda c: c["classes"][0]["colour"]),
                        ("module", lambda c: c["classes"][0]["colour"])):
        picture, told = draw("--by", by, "--at", "end")
        wrong += told_wrong([(by, colour_at(picture, told, blocks["pin"][0]),
                              colours(told["colours"]))])
    return wrong


def column(picture, at, x):
    return [text(picture.getpixel((at["x"] + x, at["y"] + y))) for y in range(at["height"])]


def test_time_shows_what_is_kept_after_the_peak():
    picture, told = draw("--layout", "time", "--allocator", "glibc")
    at, colours = told["panels"][0], told["colours"]
    full = colours["full"][len(colours["full"]) * 3 // 4:]
    peak = max(range(at["width"]), key=lambda x: sum(c in full for c in column(picture, at, x)))
    last = column(picture, at, at["width"] - 1)
    wrong = []
    if sum(c == colours["kept"] for c in last) < at["height"] // 2:
        wrong.append("what is kept at the end is not white")
    if sum(c in full for c in column(picture, at, peak)) < at["height"] // 2:
        wrong.append("the peak is not full")
    if any(c in full for c in column(picture, at, 0)[:at["height"] // 2]):
        wrong.append("the heap is large before it grew")
    return wrong


def test_legend_of_the_recorded_run(scratch):
    """Its resident pages are unknown, those of a playback are not."""
    wrong = []
    for options, pages in ([], "live bytes in a page"), (["--allocator", "glibc"], "live bytes in resident pages"):
        ran = image(trace()[0], "--layout", "time", *options, "-o", os.path.join(scratch, "x.pdf"))
        assert ran.status == 0, ran.err
        found = subprocess.run(["pdftotext", os.path.join(scratch, "x.pdf"), "-"],
                               capture_output=True, check=True).stdout.decode()
        if pages + ": few to all" not in found:
            wrong.append(f"{options}: {found}")
    return wrong


def test_title_says_which_call(scratch):
    """The picture that is nearest to no call is that of the first one."""
    wrong = []
    for at, title in ("0", "1 call"), ("1", "1 call"), ("20", "20 calls"):
        ran = image(trace()[0], "--at", at, "-o", os.path.join(scratch, "x.pdf"))
        assert ran.status == 0, ran.err
        found = subprocess.run(["pdftotext", os.path.join(scratch, "x.pdf"), "-"],
                               capture_output=True, check=True).stdout.decode().splitlines()
        if f"the heap after {title}" not in found:
            wrong.append(f"--at {at}: {found[:3]}")
    return wrong


def test_hilbert_shows_as_much():
    """As many white pixels along the curve as there are pages kept."""
    picture, told = draw("--layout", "hilbert", "--allocator", "glibc", "--at", "end")
    at, px = told["panels"][0], told["square_pixels"]
    box = picture.crop((at["x"], at["y"], at["x"] + at["width"], at["y"] + at["height"]))
    white = sum(n for n, colour in box.getcolors(1 << 24) if text(colour) == told["colours"]["kept"])
    pages = white / (px - (px >= 8)) ** 2
    # Borders between regions take some pixels of a square.
    return [] if abs(pages - at["kept_pages"]) <= 0.1 * at["kept_pages"] else [
        f"{pages} squares, {at['kept_pages']} pages"]


def test_vector_formats(scratch):
    """An SVG has squares as an image and curves as paths, a PDF has text that can be searched."""
    for _ in range(5):  # The curve of resident bytes (1.6) needs a sample, and the run is short.
        log = trace("--quiet")[0]
        for name in "x.svg", "x.pdf":
            ran = image(log, "-o", os.path.join(scratch, name))
            assert ran.status == 0, ran.err
        with open(os.path.join(scratch, "x.svg"), encoding="utf-8") as f:
            svg = f.read()
        curves = re.findall('stroke-width(?::|=")1.6', svg)  # a style, or an attribute
        if curves:
            break
        trace.cache_clear()
    assert svg.count("<image") == 1 and curves, (svg.count("<image"), svg[:300])
    found = subprocess.run(["pdftotext", os.path.join(scratch, "x.pdf"), "-"],
                           capture_output=True, check=True).stdout.decode()
    assert "usable bytes" in found and "places" in found, found


def test_moments():
    wrong = []
    for at, calls in (("10", 10), ("50%", None), ("end", None), ("0s", 1)):
        told = draw("--at", at)[1]["panels"][0]
        if at == "50%":
            calls = told["calls_in_all"] // 2
        wrong += told_wrong([(at, told["calls"], told["calls_in_all"] if at == "end" else calls)])
    return wrong


PAUSES = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	char *big = malloc(1 << 20), *small = malloc(5000), *own;
	int status;

	usleep(30000);
	if (!fork()) {
		own = malloc(7000);
		free(own);
		_exit(0);
	}
	wait(&status);
	free(big);
	free(small);
	own = malloc(3000);
	usleep(30000);
	return 0;
}
"""


def test_times_of_frees(scratch):
    """A time between the last malloc and the first free shows what lived then, and so does one after
    the last call; all times count from the start of the run, in a process that began later, too."""
    need_reader()
    program, source, log = (os.path.join(scratch, name) for name in ("p", "p.c", "p.log"))
    with open(source, "w", encoding="ascii") as f:
        f.write(PAUSES)
    subprocess.run(["gcc", "-O1", "-fno-builtin", "-o", program, source], check=True)
    assert harness.run([harness.MPROF, "record", "-o", log, "--", program]).status == 0
    ran = harness.run([harness.MPROF, "dump", "--json-lines", log])
    assert ran.status == 0, ran.err
    calls = [json.loads(line) for line in ran.out.splitlines()]
    calls = [call for call in calls if call.get("function") in ("malloc", "free")]
    parent = [call["time_ns"] for call in calls if call["process"] == 1]
    child = [call["time_ns"] for call in calls if call["process"] == 2]
    wrong = []
    for at, process, live, last in (((parent[1] + parent[2]) // 2, "1", (1 << 20) + 5000, parent[1]),
                                    (child[1], "2", 7000, child[0]),
                                    (parent[3], "1", 5000, parent[2]),
                                    (parent[4] + 10000000, "1", 3000, parent[4])):
        ran = image(log, "--process", process, "--at", f"{at}ns", "--json", "-o", program + ".png")
        assert ran.status == 0, ran.err
        told = json.loads(ran.out)["panels"][0]
        wrong += told_wrong([(f"live at {at}", told["live_bytes"], live),
                             (f"last call at {at}", told["time_ns"], last)])
    for process, earlier in ("1", False), ("2", True):
        pdf = program + ".pdf"
        assert image(log, "--process", process, "-o", pdf).status == 0
        text = subprocess.run(["pdftotext", pdf, "-"], capture_output=True, check=True).stdout
        wrong += told_wrong([(f"earlier blocks of process {process}", b"earlier" in text, earlier)])
    return wrong


def test_size_and_output(scratch):
    log = trace()[0]
    ran = image(log, "--size", "640x480", "-o", "-")
    assert ran.status == 0, ran.err
    wrong = told_wrong([("size", Image.open(io.BytesIO(ran.out)).size, (640, 480))])
    ran = harness.run([harness.MPROF, "image", log], cwd=scratch)
    wrong += told_wrong([("files", os.listdir(scratch), ["places.png"]), ("stdout", ran.out, b"")])
    return wrong


def test_bad_use():
    log = trace()[0]
    playback = os.path.join(SCRATCH.name, "p.mprof-play")
    assert harness.run([harness.MPROF, "sort", log, "-o", playback]).status == 0
    text_file = os.path.join(SCRATCH.name, "t")
    with open(text_file, "w", encoding="ascii") as f:
        f.write("no trace\n" * 100)
    wrong = []
    for args, status, words in (
            ([log, "--at", "99999999"], 2, "there are only"),
            ([log, "--at", "1.5h"], 2, "the recording ends after"),
            ([log, "--at", "1.5h", "--allocator", "glibc"], 2, "the recording ends after"),
            ([playback, "--at", "1.5h", "--allocator", "glibc"], 2, "the recording ends after"),
            ([log, "--at", "noon"], 2, "invalid --at"),
            ([log, "--by", "colour"], 2, "occupancy, age"),
            ([log, "--layout", "spiral"], 2, "strips, hilbert, time"),
            ([log, "--theme", "blue"], 2, "light, dark"),
            ([log, "--layout", "time", "--at", "end"], 2, "which shows the whole run"),
            ([log, "--layout", "time", "--by", "site"], 2, "only --by occupancy"),
            ([log, "--size", "10x10"], 2, "240x240"),
            ([log, "--size", "big"], 2, "1200x800"),
            ([log, "--allocator", "nosuch"], 2, "nosuch"),
            ([log, "-o", "-", "--json"], 2, "-o FILE"),
            ([log, "-o", "x.jpg"], 2, "ends in .png, .svg or .pdf"),
            ([log, "-o", "d.png/x.apng"], 2, "mprof movie"),
            ([log, "--process", "77"], 2, "no process 77"),
            ([playback], 2, "--allocator"),
            ([text_file], 3, ""),
            (["nosuch.log"], 3, "nosuch.log"),
            ([log, "-o", "/dev/null/x.png"], 1, "/dev/null/x.png"),
            ([], 2, "no trace given")):
        ran = image(*args)
        if ran.status != status or words not in ran.err.decode() or ran.out:
            wrong.append(f"{args}: status {ran.status}, not {status}: {ran.err.decode().strip()}")
    return wrong
