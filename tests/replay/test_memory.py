# SPDX-License-Identifier: LGPL-3.0-or-later
"""Where blocks lie: a program that pins pages knowingly, recorded and on every allocator that is
installed; and a runner that tells what cannot be."""

import os
import stat

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
KEPT, SCRATCH, SIZE = 4096, 409600, 40
PEAK = (KEPT + SCRATCH) * SIZE


def build(scratch, name):
    made = os.path.join(scratch, name)
    ran = harness.run(["gcc", "-g", "-O1", "-fno-builtin", "-o", made,
                       os.path.join(HERE, name + ".c")])
    assert ran.status == 0, ran.err.decode()
    return made


def record(scratch, argv):
    log = os.path.join(scratch, "log")
    ran = harness.run([harness.MPROF, "record", "-o", log, "--", *argv])
    assert ran.status == 0, ran.err.decode()
    return log, ran.out


def replay(log, *options, extra=None):
    return harness.run([harness.MPROF, "replay", log, "--quick", "--reps=0", "--drain=0", *options],
                       extra=extra)


def replay_json(log, *options):
    ran = replay(log, "--json", *options)
    assert ran.status == 0, ran.err.decode()
    return harness.load_json(ran.out)


def heap_problems(name, heap):
    """What is true of every allocator, from the program's source alone."""
    problems = []

    def same(what, got, expected):
        if got != expected:
            problems.append(f"{name}: {what} is {got}, not {expected}")

    peak, end = heap["peak"], heap["end"]
    same("requested at the peak", peak["requested_bytes"], PEAK)
    same("blocks at the peak", peak["blocks"], KEPT + SCRATCH)
    same("requested at the end", end["requested_bytes"], KEPT * SIZE)
    same("births", heap["births"], KEPT + SCRATCH)
    same("ops", heap["ops"], KEPT + 2 * SCRATCH)
    same("pages by live bytes", sum(end["pages_by_live_bytes"].values()), end["live_pages"]["4k"])
    same("pages held by functions", sum(row["pages"] for row in end["pinned_by"]),
         end["pages_by_live_bytes"]["under_64"])
    for grain, size in ("4k", 1 << 12), ("64k", 1 << 16), ("2m", 1 << 21):
        same(f"page use of {grain}", heap["page_use"][grain]["at_peak"],
             round(PEAK / (peak["live_pages"][grain] * size), 4))
    same("who pins", [row["function"] for row in end["pinned_by"]], ["cache_insert"])
    same("its file", os.path.basename(end["pinned_by"][0]["file"] or ""), "pins.c")
    # 101 blocks of 40 to 48 bytes from one kept block to the next: one in nearly every page.
    if not KEPT * 0.95 < end["pinned_by"][0]["pages"] < KEPT * 1.05:
        problems.append(f"{name}: {end['pinned_by'][0]['pages']} pages are pinned")
    same("slack", peak["usable_bytes"] - peak["requested_bytes"],
         sum(row["peak_slack_bytes"] for row in heap["sizes"]))
    same("most of a size", max(row["most_live_bytes"] for row in heap["sizes"]), PEAK)
    curve = heap["curve"]
    rising = [p for p in curve if p["op"] <= KEPT + SCRATCH]
    same("the curve's rise", [p["requested_bytes"] for p in rising],
         [SIZE * p["op"] for p in rising])
    same("the curve's fall", curve[-1]["requested_bytes"],
         PEAK - SIZE * (curve[-1]["op"] - KEPT - SCRATCH))
    return problems


def test_pins(scratch):
    log, out = record(scratch, [build(scratch, "pins")])
    answer = replay_json(log, "--allocator", "all")
    problems = heap_problems("recorded", answer["recorded"])
    own = answer["recorded"]["end"]["pinned_by"][0]
    if (own["pages"], own["blocks"] <= KEPT) != (int(out), True):
        problems.append(f"recorded: {own['pages']} pages, the program says {int(out)}")
    for row in answer["allocators"]:
        heap = row["heap"]
        problems += heap_problems(row["name"], heap)
        end = heap["end"]
        # All that was touched stays, or is given back; live pages are there in any case.
        if end["resident_bytes"] < 4096 * end["live_pages"]["4k"]:
            problems.append(f"{row['name']}: less in memory than the live pages: {end}")
        if heap["most_retained"]["retained_bytes"] < end["retained_bytes"]:
            problems.append(f"{row['name']}: the most retained is not the most")
        # Theirs are pages of no live block: the peak has nearly none, beside its 16 MB.
        if not 0 <= heap["peak"]["retained_bytes"] < 4 << 20:
            problems.append(f"{row['name']}: {heap['peak']['retained_bytes']} retained at the peak")
        peak = heap["peak"]
        of_peak = peak["resident_bytes"] / peak["requested_bytes"] - 1
        if abs(heap["fragmentation"]["at_live_peak"] - of_peak) > 0.0002:
            problems.append(f"{row['name']}: {heap['fragmentation']} with {of_peak} at the peak")
    glibc = next(row for row in answer["allocators"] if row["name"] == "glibc")["heap"]
    if glibc["end"]["pinned_by"][0]["pages"] != int(out):
        problems.append("glibc: other pages than when it was recorded with glibc")
    return problems


def test_text(scratch):
    log, out = record(scratch, [build(scratch, "pins")])
    ran = replay(log, "--allocator", "glibc")
    text = " ".join(ran.out.decode().split())
    assert ran.status == 0, ran.err.decode()
    wanted = [f"glibc: at the end, {int(out):,} pages are pinned by fewer than 64 bytes each, all of"
              " them by blocks of cache_insert (pins.c:",
              "First at the peak of 15.8 MiB in 413,696 blocks", "Retained and pinned pages",
              "Johnstone and Wilson"]
    return [f"not said: {words!r} in\n{text}" for words in wanted if words not in text]


def test_without_stacks(scratch):
    """Without stacks there are pins, but nobody who did it."""
    log = os.path.join(scratch, "log")
    harness.run([harness.MPROF, "record", "--unwind=none", "-o", log, "--",
                 build(scratch, "pins")])
    answer = replay_json(log, "--allocator", "glibc")
    rows = answer["allocators"][0]["heap"]["end"]["pinned_by"]
    text = " ".join(replay(log, "--allocator", "glibc").out.decode().split())
    problems = []
    if [row["function"] for row in rows] != [None] or rows[0]["pages"] < 4000:
        problems.append(f"pinned by {rows}")
    if "are pinned by fewer than 64 bytes each" not in text or "cache_insert" in text:
        problems.append(f"said: {text}")
    return problems


# ---- a runner that does not tell the truth ----

LIAR = """#!/usr/bin/python3
import os, subprocess, struct, sys
real, how = {real!r}, {how!r}
if "addresses=1" not in sys.argv:
    os.execv(real, ["mprof_replay", *sys.argv[1:]])
argv = [a for a in sys.argv[1:] if not a.startswith("out=")]
read, write = os.pipe()
child = subprocess.Popen([real, *argv, "out=%d" % write], pass_fds=[write])
os.close(write)
data = bytearray(open(read, "rb").read())
child.wait()
exec(how)
os.write(1, b"")
out = 3
while data:
    data = data[os.write(out, data):]
"""

FIND = """
def find(kind, skip=0):
    at = 0
    while at < len(data):
        k, _, n = struct.unpack_from("<IIQ", data, at)
        if k == kind:
            if not skip:
                return at, n
            skip -= 1
        at += 16 + n
    sys.exit("no such record")
"""

LIES = {
    "nothing": "data[:] = b''",
    "half a head": "del data[7:]",
    "cut in the addresses": "del data[100:]",
    "no result": FIND + "at, n = find(4); del data[at:]",
    "dies": "os.kill(os.getpid(), 11)",
    "addresses beyond memory": FIND + "at, n = find(1)\n"
                                      "struct.pack_into('<Q', data, at + 16, 1 << 60)",
    "one address less": FIND + "at, n = find(1)\n"
                               "struct.pack_into('<IIQ', data, at, 1, 0, n - 16)\n"
                               "del data[at + 16:at + 32]",
    "more addresses than calls": FIND + "at, n = find(4)\n"
                                        "data[at:at] = struct.pack('<IIQQQ', 1, 0, 16, 4096, 8)",
    "a frame that says it has more": FIND + "at, n = find(3)\n"
                                            "struct.pack_into('<Q', data, at + 16 + 48, 1 << 40)",
    "a sample that goes back": FIND + "at, n = find(2, 5)\n"
                                      "struct.pack_into('<Q', data, at + 16, 0)",
    "a sample after the end": FIND + "at, n = find(2)\n"
                                     "struct.pack_into('<Q', data, at + 16, 1 << 50)",
    "a frame with an impossible size": FIND + "at, n = find(3)\n"
                                               "struct.pack_into('<Q', data, at + 8, 1 << 62)",
}


def test_a_runner_that_lies(scratch):
    log, _ = record(scratch, ["/bin/sh", "-c", "ls -lR /etc >/dev/null; :"])
    fake = os.path.join(scratch, "lib")
    os.mkdir(fake)
    os.symlink(harness.LIB, os.path.join(fake, "libmprof.so"))
    problems = []
    for name, how in LIES.items():
        path = os.path.join(fake, "mprof_replay")
        with open(path, "w", encoding="utf-8") as file:
            file.write(LIAR.format(real=os.path.join(harness.BUILD, "mprof_replay"), how=how))
        os.chmod(path, stat.S_IRWXU)
        ran = replay(log, "--allocator", "glibc", "--json", extra={"MPROF_LIB": fake})
        if ran.status != 0:
            problems.append(f"{name}: {harness.ended(ran.status)}: {ran.err.decode()[-200:]}")
            continue
        row = harness.load_json(ran.out)["allocators"][0]
        if row["heap"] is not None:
            problems.append(f"{name}: it was believed")
    text = replay(log, "--allocator", "glibc", extra={"MPROF_LIB": fake}).out.decode()
    said = [line for line in text.splitlines() if line.startswith("Not analysed: ")]
    if len(said) != 1 or not said[0].startswith("Not analysed: glibc: the runner's records"):
        problems.append(f"said {said}")
    return problems


def test_threads(scratch):
    """Blocks of many threads are played in the recorded order, with an address for each birth."""
    harness.run(["gcc", "-g", "-O1", "-o", os.path.join(scratch, "many"), "-x", "c", "-"],
                stdin=MANY.encode())
    log, _ = record(scratch, [os.path.join(scratch, "many")])
    answer = replay_json(log, "--allocator", "glibc,jemalloc")
    problems = []
    heaps = {"recorded": answer["recorded"]}
    heaps.update((row["name"], row["heap"]) for row in answer["allocators"])
    for name, heap in heaps.items():
        peak = heap["peak"]
        if heap["births"] < 80000 or peak["requested_bytes"] < 8 * 5000 * 100:
            problems.append(f"{name}: {heap['births']} births, {peak['requested_bytes']} bytes")
        if not 0.3 < heap["page_use"]["4k"]["at_peak"] <= 1:
            problems.append(f"{name}: page use {heap['page_use']}")
    first, *others = heaps.values()
    for other in others:
        if (other["ops"], other["births"]) != (first["ops"], first["births"]):
            problems.append("not the same calls in all")
    return problems


MANY = """
#include <pthread.h>
#include <stdlib.h>
static void *work(void *x)
{
	static __thread char *kept[10000];
	for (int i = 0; i < 10000; i++)
		kept[i] = malloc(100);
	for (int i = 0; i < 10000; i += 2)
		free(kept[i]);
	return x;
}
int main(void)
{
	pthread_t t[8];
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], 0, work, 0);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], 0);
	return 0;
}
"""
