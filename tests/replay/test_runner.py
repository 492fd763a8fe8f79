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


def test_serial(scratch):
    path = write(scratch, CHURN)
    played = play(path, "addresses=1", "samples=10", "frames=2", "latency=4", "drain=1,2")
    assert played.status == 0, played.err
    assert played.whole and played.kinds[-1] == "result"
    result = played.result
    assert result["calls"] == 500 * 5 + 497 + 250, result["calls"]
    assert result["failed"] == 0
    assert len(played.addresses) == 2000
    assert all(address and usable for address, usable in played.addresses)
    assert [s["op"] for s in played.samples] == [result["calls"] * i // 10 for i in range(1, 11)]
    assert [f[0]["op"] for f in played.frames] == [result["calls"] // 2, result["calls"]]
    assert sum(map(sum, result["latency"])) > result["calls"] // 8
    assert result["drain_ms"][:3] == (1, 2, 0)
