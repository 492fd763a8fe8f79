# SPDX-License-Identifier: LGPL-3.0-or-later
"""peers.py - programs with threads, and those of mimalloc-bench where it has been built.

MIMALLOC_BENCH names a checkout of github.com/daanx/mimalloc-bench; programs are
looked for in its out/bench, where its own script puts them, and are skipped by
name when they are not there.  Arguments are those of its script, with less
time where a program is told how long to run.
"""

import os

import heaps
import measure
from workloads import Missing, Workload


class Generations(Workload):
    """generations.c: threads that come and go, the same blocks in every run."""

    name = "generations"

    def make(self, size):
        return [os.path.join(measure.BUILD, "bench", "generations"), "16", "4", str(2048 * size)]


class Peer(Workload):
    program = arguments = ""

    def make(self, size):
        root = os.environ.get("MIMALLOC_BENCH")
        if not root:
            raise Missing("MIMALLOC_BENCH is not set")
        path = os.path.join(os.path.abspath(root), "out", "bench", self.program)
        if not os.access(path, os.X_OK):
            raise Missing("%s is not built" % path)
        data = os.path.join(os.path.abspath(root), "bench")
        self.stdin = os.path.join(data, "barnes", "input") if self.program == "barnes" else None
        return [path] + self.arguments.replace("BENCH", data).split()


def peer(program, arguments="", **more):
    name = "%s %s" % (program, arguments.split("/")[-1])
    return type(program, (Peer,), dict(more, program=program, arguments=arguments,
                                       name=name.strip()))


SERIAL = [
    peer("cfrac", "17545186520507317056371138836327483792736"),
    peer("espresso", "BENCH/espresso/largest.espresso"),
    peer("barnes"),
    peer("malloc-large"),
    peer("alloc-test", "1"),
]
THREADS = [
    Generations,
    heaps.GitPack,
    peer("mstress", "2 50 25"),
    peer("mstress", "4 50 10"),
    peer("rptest", "4 0 1 2 500 1000 100 8 16000", steady=False),
    peer("larson", "1 8 1000 5000 100 4141 2", steady=False),
    peer("xmalloc-test", "-w 2 -t 1 -s 64", steady=False),
    peer("mleak", "5"),
]
ALL = SERIAL + THREADS
