# SPDX-License-Identifier: LGPL-3.0-or-later
"""The runner: what it plays, measures and refuses, on files that playback.py wrote."""

import os

from playback import Playback
from runner import play


def write(scratch, text, name="p", **more):
    return Playback(text, **more).write(os.path.join(scratch, name))


CHURN = "".join(f"""
0 malloc a{i} {16 + i * 37 % 5000}
0 calloc b{i} {i * 101 % 3000}
0 realloc a{i} {i * 53 % 9000 + 1}
0 aligned c{i} 100 {4 + i % 5} {["memalign", "posix_memalign", "aligned_alloc"][i % 3]}
0 free b{i}
{f"0 free a{i - 3}" if i > 2 else ""}
{f"0 free c{i - 1}" if i % 2 else ""}
""" for i in range(500))


def ping_pong(rounds):
    """Two threads that hand one block to and fro, each making the next of the other's."""
    yield "0 create 1"
    for i in range(rounds):
        yield f"{i % 2} malloc p{i} {i % 300 + 1}"
        yield f"{(i + 1) % 2} free p{i}"


def pipeline(items, inside=8):
    """0 makes, 1 resizes, 2 frees; a few items are inside at a time."""
    yield "0 create 1\n0 create 2"
    for i in range(items + 2 * inside):
        if i < items:
            yield f"0 malloc m{i} {i * 7 % 2000}"
        if inside <= i < items + inside:
            yield f"1 realloc m{i - inside} {i * 13 % 6000 + 1}"
        if 2 * inside <= i:
            yield f"2 free m{i - 2 * inside}"


def sink(items):
    """A thread that only frees, and ends with blocks alive that it never owned."""
    yield "0 create 1"
    for i in range(items):
        yield f"0 malloc s{i} {i % 700 + 1}"
        if i % 3:
            yield f"1 free s{i}"
    yield "1 exit\n0 gone 1"


def left_alive(threads):
    """Threads that end while their blocks live; the first one frees half of them."""
    for t in range(1, threads + 1):
        yield f"0 create {t}"
        for i in range(20):
            yield f"{t} malloc l{t}.{i} {t * 10 + i}"
        yield f"{t} exit"
        if t > 1:
            yield f"0 gone {t - 1}"
            for i in range(10):
                yield f"0 free l{t - 1}.{i}"


def short_threads(threads, at_once=4):
    """Each is created, allocates, hands a block to the first thread, and ends."""
    for t in range(1, threads + 1):
        old = t - at_once
        if old > 0:
            yield f"0 free b{old}\n{old} malloc c{old} 3\n{old} exit\n0 gone {old}"
        yield f"0 create {t}\n{t} malloc a{t} 100\n{t} calloc b{t} 5000\n{t} free a{t}"


WORKLOADS = {
    "ping_pong": (ping_pong, 3000),
    "pipeline": (pipeline, 2000),
    "sink": (sink, 3000),
    "left_alive": (left_alive, 40),
    "short_threads": (short_threads, 300),
}


def workload(name, n=0, **more):
    make, usual = WORKLOADS[name]
    return Playback("\n".join(make(n or usual)), **more)


def good(played, playback):
    """A run that did all of the playback's calls."""
    assert played.status == 0, played.err
    assert played.whole and played.kinds[-1] == "result", played.kinds[-3:]
    assert played.result["calls"] == sum(playback.ops), played.result["calls"]
    assert played.result["failed"] == 0
    return played.result


def test_serial(scratch):
    playback = Playback(CHURN)
    played = play(playback.write(scratch + "/p"), "addresses=1", "samples=10", "frames=2",
                  "latency=4", "drain=1,2")
    result = good(played, playback)
    assert len(played.addresses) == 2000
    assert all(address and usable for address, usable in played.addresses)
    assert [s["op"] for s in played.samples] == [result["calls"] * i // 10 for i in range(1, 11)]
    assert [f[0]["op"] for f in played.frames] == [result["calls"] // 2, result["calls"]]
    assert sum(map(sum, result["latency"])) > result["calls"] // 8
    assert result["drain_ms"][:3] == (1, 2, 0)


def test_threads(scratch):
    for name in WORKLOADS:
        playback = workload(name)
        path = playback.write(os.path.join(scratch, name))
        for mode in "threads", "ordered", "serial", "null":
            for null in "null=0", "null=1":
                result = good(play(path, f"mode={mode}", null), playback)
                threads = max(playback.streams) + 1 if mode in ("threads", "ordered") else 1
                assert result["threads"] == threads, (name, mode, result["threads"])
                assert result["late_stacks"] == 0, (name, mode, result["late_stacks"])
