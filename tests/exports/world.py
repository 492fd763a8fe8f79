# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the tests of exports share: one recorded program, what is known of it, and small readers."""

import os
import shutil
import subprocess

import harness

HERE = os.path.dirname(os.path.abspath(__file__))


class Skip(Exception):
    """The tool is not here; says which."""


def need(program, package):
    path = shutil.which(program) or (program if os.path.exists(program) else None)
    if not path:
        raise Skip(f"no {program}; Debian has it in {package}")
    return path


class World:
    """A scratch directory with a trace of victim.cc, and `mprof report`'s totals of it."""

    def __init__(self, top):
        self.top = top
        self.victim = self.path("victim")
        self.log = self.path("victim.log")
        self.build(self.victim)
        self.record(self.log, self.victim)
        report, problems = harness.report(self.log)
        if problems:
            raise SystemExit(f"exports: {problems[0]}")
        self.totals = {"total": report["total_bytes"], "live": report["live_bytes"],
                       "peak": report["peak_bytes"], "calls": report["total_blocks"]}
        self.pool = self.pool_bytes()

    def path(self, name):
        return os.path.join(self.top, name)

    def pool_bytes(self):
        """The block that libstdc++ requests before main, of 71 or 72 KiB by its version."""
        dump = harness.run([harness.MPROF, "dump", self.log]).out.decode().splitlines()
        sizes = [int(line.split("\t")[4]) for line in dump if line.split("\t")[3] == "malloc"]
        found = [size for size in sizes if 70000 < size < 80000]
        assert len(found) == 1, f"{len(found)} blocks may be libstdc++'s pool"
        return found[0]

    def total_words(self):
        return f"Total: {self.totals['total']:,} bytes"

    def build(self, to):
        odd = self.path("odd.o")
        for command in (["gcc", "-O1", "-c", "-o", odd, os.path.join(HERE, "odd.c")],
                        ["g++", "-std=c++17", "-O1", "-g", "-fno-builtin", "-o", to,
                         os.path.join(HERE, "victim.cc"), odd, "-lpthread"]):
            subprocess.run(command, check=True)

    def record(self, log, *command, **options):
        ran = harness.run([harness.MPROF, "record", "-o", log, "--", *command], cwd=self.top,
                          **options)
        if ran.status != 0:
            raise SystemExit(f"exports: record: {harness.ended(ran.status)}: {ran.err.decode()}")

    def export(self, form, *words, log=None, **options):
        return harness.run([harness.MPROF, "export", log or self.log, "--to", form, *words],
                           cwd=self.top, **options)

    def exported(self, form, *words, **options):
        """The answer of an export that must work."""
        ran = self.export(form, *words, **options)
        if ran.status != 0:
            raise AssertionError(f"--to {form}: {harness.ended(ran.status)}: {ran.err.decode()}")
        return ran.out

    def left_behind(self, begin):
        return sorted(name for name in os.listdir(self.top) if name.startswith(begin))

    def file(self, form, *words, **options):
        """The same as a file; its path."""
        path = self.path("out." + form)
        self.exported(form, "-o", path, *words, **options)
        return path


def differ(what, found, wanted):
    return [] if found == wanted else [f"{what} is {found} instead of {wanted}"]


def missing(what, text, *words):
    return [f"'{word}' is missing in {what}: {text[:300]!r}" for word in words if word not in text]


def folded(text):
    """Stacks and values of folded lines, as flamegraph.pl takes them apart."""
    rows = []
    for line in text.splitlines():
        stack, _, value = line.rpartition(" ")
        rows.append((stack.split(";"), int(value)))
    return rows


def inclusive(rows, name):
    return sum(value for stack, value in rows if name in stack)
