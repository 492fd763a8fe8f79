# SPDX-License-Identifier: LGPL-3.0-or-later
"""Which trace is read, where answers go, and what is refused."""

import csv
import io
import json
import os
import pty
import signal
import stat
import subprocess
import time
import xml.etree.ElementTree as ElementTree

import harness
from world import Skip, differ, missing


def test_replaces_a_file(w):
    path = w.path("again.csv")
    for text in ("old", "older"):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text * 1000)
        os.chmod(path, 0o644)
        w.exported("csv", "-o", path)
    with open(path, "rb") as file:
        same = file.read() == w.exported("csv")
    return differ("the same on disk and on stdout", same, True) + \
        differ("the same with a dash", w.exported("csv", "-o", "-") == w.exported("csv"), True) + \
        differ("files called -", w.left_behind("-"), []) + \
        differ("files", w.left_behind("again"), ["again.csv"])


def test_never_over_a_trace(w):
    with open(w.log, "rb") as file:
        before = file.read()
    problems = []
    for target in (w.log, os.path.join(w.top, ".", "victim.log")):
        ran = w.export("csv", "-o", target)
        problems += differ("status", ran.status, 2)
        problems += missing("the message", ran.err.decode(), "is a recording of mprof")
    os.symlink(w.log, w.path("link.csv"))
    problems += differ("status behind a link", w.export("csv", "-o", w.path("link.csv")).status, 2)
    with open(w.log, "rb") as file:
        problems += differ("the trace as it was", file.read() == before, True)
    return problems + differ("files", w.left_behind("victim.log"), ["victim.log"])


def test_a_fifo_stays(w):
    path = w.path("fifo.csv")
    os.mkfifo(path)
    reader = subprocess.Popen(["timeout", str(harness.TIMEOUT), "cat", path], stdout=subprocess.PIPE)
    ran = w.export("csv", "-o", path)
    read, _ = reader.communicate(timeout=harness.TIMEOUT)
    return differ("status", ran.status, 0) + \
        differ("what came through", read == w.exported("csv"), True) + \
        differ("still a FIFO", stat.S_ISFIFO(os.stat(path).st_mode), True)


def test_interrupted(w):
    """While dot draws, which takes for ever here: nothing is left of the picture."""
    tools = w.path("slow")
    os.mkdir(tools)
    with open(os.path.join(tools, "dot"), "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\ntouch started\nexec sleep 60\n")
    os.chmod(file.name, 0o755)
    problems = []
    for number in (signal.SIGINT, signal.SIGTERM):
        process = subprocess.Popen([harness.MPROF, "export", w.log, "--to", "svg", "-o", "slow.svg"],
                                   cwd=w.top, start_new_session=True, stderr=subprocess.DEVNULL,
                                   env=dict(harness.clean_environment(),
                                            PATH=f"{tools}:{os.environ['PATH']}"))
        wait_for(w.path("started"))
        os.kill(process.pid, number)
        status = process.wait(harness.TIMEOUT)
        harness.kill_group(process)
        os.remove(w.path("started"))
        problems += differ(f"the end by {number.name}", status, -number)
        problems += differ("files left", w.left_behind("slow.svg"), [])
    return problems


def wait_for(path):
    for _ in range(50 * harness.TIMEOUT):
        if os.path.exists(path):
            return
        time.sleep(0.02)
    raise AssertionError(f"waited in vain for {path}")


def test_rss_without_samples(w):
    subprocess.run([harness.MPROF, "record", "--no-sample", "-o", w.path("blind.log"), "--",
                    w.victim], check=True, cwd=w.top, env=harness.clean_environment(),
                   stderr=subprocess.DEVNULL)
    ran = w.export("folded", "--value", "rss", log=w.path("blind.log"))
    problems = differ("status", ran.status, 0) + differ("it has lines", bool(ran.out), True)
    old = os.path.join(harness.ROOT, "tests", "golden", "ok", "two-threads.trace")
    ran = w.export("folded", "--value", "rss", log=old)
    return problems + differ("status", ran.status, 0) + differ("lines", ran.out, b"") + \
        missing("the warning", ran.err.decode(), "the size of the process is unknown")


def test_a_link_stays(w):
    os.symlink(w.path("real.folded"), w.path("name.folded"))
    with open(w.path("real.folded"), "w", encoding="utf-8"):
        pass
    w.exported("folded", "-o", w.path("name.folded"))
    return differ("still a link", os.path.islink(w.path("name.folded")), True) + \
        differ("its file is filled", os.path.getsize(w.path("real.folded")) > 0, True)


def test_a_full_disk(w):
    # A device of our own: a broken command must not replace the one in /dev.
    full = w.path("full")
    try:
        os.mknod(full, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
        with open(full, "wb") as file:
            file.write(b"")
    except PermissionError:
        raise Skip("no right to make a device that is full") from None
    ran = w.export("csv", "-o", full)
    problems = differ("status", ran.status, 1)
    problems += missing("the message", ran.err.decode(), "cannot write '", "full'")
    return problems + differ("still a device", stat.S_ISCHR(os.stat(full).st_mode), True)


def test_stdout_is_full(w):
    with open("/dev/full", "wb") as full:
        ran = subprocess.run([harness.MPROF, "export", w.log, "--to", "csv"], stdout=full,
                             stderr=subprocess.PIPE, env=harness.clean_environment(), check=False)
    return differ("status", ran.returncode, 1) + \
        missing("the message", ran.stderr.decode(), "the output is incomplete")


def test_nowhere_to_write(w):
    ran = w.export("csv", "-o", w.path("/dev/null/dir.csv"))
    return differ("status", ran.status, 1) + \
        missing("the message", ran.err.decode(), "cannot write", "Not a directory")


def test_directory(w):
    target = w.path("made/")
    ran = w.export("folded", "--value", "peak,live", "-o", target)
    problems = differ("status", ran.status, 0)
    problems += missing("the words", ran.err.decode(), "wrote " + target + "victim.peak.folded")
    problems += differ("files", sorted(os.listdir(target)),
                       ["victim.live.folded", "victim.peak.folded"])
    w.exported("csv", "-o", target)
    return problems + differ("one more", os.path.exists(target + "victim.csv"), True)


def test_the_largest_of_several(w):
    """Of many runs the one that was largest in memory: here the one with 40 MiB."""
    big = "import sys; x = bytearray(int(sys.argv[1])); print(x[-1])"
    for name, size in (("a", 1), ("b", 40 << 20), ("c", 1)):
        w.record(w.path(f"run.{name}.log"), "python3", "-S", "-c", big, str(size))
    ran = harness.run([harness.MPROF, "export", "run.*.log", "--to", "folded", "--value", "total"],
                      cwd=w.top)
    problems = differ("status", ran.status, 0)
    problems += missing("the words", ran.err.decode(), "the largest of 3 traces is 'run.b.log'")
    ran = harness.run([harness.MPROF, "export", "run.a.log", "run.b.log", "--to", "folded",
                       "--value", "total"], cwd=w.top)
    problems += missing("the words", ran.err.decode(), "the largest of 2 traces is 'run.b.log'")
    alone = w.exported("folded", "--value", "total", log=w.path("run.b.log"))
    problems += differ("the same as of the file", ran.out, alone)
    # A file whose name is a pattern is that file, alone or beside others.
    os.rename(w.path("run.a.log"), w.path("run.[bc].log"))
    ran = harness.run([harness.MPROF, "export", "run.[bc].log", "--to", "folded"], cwd=w.top)
    problems += differ("words about one file", "largest" in ran.err.decode(), False)
    ran = harness.run([harness.MPROF, "export", "run.c.log", "run.[bc].log", "run.b.log", "--to",
                       "folded"], cwd=w.top)
    return problems + missing("the words", ran.err.decode(),
                              "the largest of 3 traces is 'run.b.log'")


def test_not_on_a_terminal(w):
    ours, theirs = pty.openpty()
    try:
        ran = subprocess.run([harness.MPROF, "export", w.log, "--to", "pdf"], stdout=theirs,
                             stderr=subprocess.PIPE, env=harness.clean_environment(), check=False)
    finally:
        os.close(ours)
        os.close(theirs)
    return differ("status", ran.returncode, 2) + \
        missing("the message", ran.stderr.decode(), "cannot be written to a terminal", "-o FILE")


def test_wrong_words(w):
    problems = []
    for words, sentence in (
            (["--to", "flded"], "did you mean 'folded'?"),
            (["--to", "nothing-like-it"], "expected folded, speedscope"),
            ([], "no format given; add --to FORMAT"),
            (["--to", "folded", "--value", "size"], "calls"),
            (["--to", "csv", "--stack-min-size", "12"], "does not support --stack-min-size"),
            (["--to", "speedscope", "--stack-max-size", "12"], "does not support --stack-max-size"),
            (["--to", "folded", "--symbols"], "does not support --symbols"),
            (["--to", "csv", "--min-percent", "3"], "does not support --min-percent"),
            (["--to", "csv", "--value", "peak"], "does not support --value"),
            (["--to", "dot", "--min-percent", "120"], "0 to 100"),
            (["--to", "mallocprofiler", "--stack-min-size", "-1"], "expected a size such as")):
        ran = harness.run([harness.MPROF, "export", w.log, *words])
        problems += differ(f"status of {words}", ran.status, 2)
        problems += missing(f"the message for {words}", ran.err.decode(), sentence)
    ran = harness.run([harness.MPROF, "export", "--to", "csv", w.victim])
    problems += differ("status for a file that is no trace", ran.status, 3)
    ran = harness.run([harness.MPROF, "export", "--to", "csv", w.path("none")])
    return problems + differ("status for no file", ran.status, 3)


def test_lists(w):
    ran = harness.run([harness.MPROF, "export", "--to", "help"])
    problems = differ("status", ran.status, 0)
    problems += missing("the formats", ran.out.decode(), "folded ", "speedscope ", "callgrind ",
                        "mallocprofiler ", "csv ", "tsv ", "dot ", "svg ", "ps ", "pdf ", "txt ")
    ran = harness.run([harness.MPROF, "export", "--value", "help"])
    return problems + missing("the values", ran.out.decode(), "calls ", "peak ", "leaked ", "waste ")


def formats():
    ran = harness.run([harness.MPROF, "export", "--to", "help"])
    return [line.split()[0] for line in ran.out.decode().splitlines()]


def test_without_stacks(w):
    """Every format of a trace without stacks, and of one without any event."""
    w.record(w.path("none.log"), w.victim, extra={"MPROF_CONF": "UNWIND=none"})
    problems = []
    for form in formats():
        path = w.path("none.out")
        ran = w.export(form, "-o", path, log=w.path("none.log"))
        problems += differ(f"status of {form}: {ran.err.decode()}", ran.status, 0)
        problems += differ(f"{form} wrote", os.path.exists(path) and os.path.getsize(path) > 0,
                           True)
        if os.path.exists(path):
            os.remove(path)
    rows = w.exported("folded", "--value", "total", log=w.path("none.log")).decode().splitlines()
    return problems + differ("lines", rows, [f"(stack not known) {w.totals['total']}"])


AWKWARD = b'q"b\\s |<tag>&amp; \n\t%s{}[];$=(1)\xff\xc3\xb6\''


def awkward_program(w):
    """A program with a function of 30 kB of name that begins with all that is awkward."""
    stand_in = b"A" * len(AWKWARD) + b"x" * 30000
    source = w.path("awkward.c")
    with open(source, "wb") as file:
        file.write(b"#include <stdlib.h>\nstatic void *volatile kept;\n"
                   b"static __attribute__((noinline)) void " + stand_in +
                   b"(size_t n) { kept = malloc(n); }\n"
                   b"int main(void) { " + stand_in + b"(123456); return 0; }\n")
    program = w.path("awkward")
    subprocess.run(["gcc", "-O1", "-o", program, source], check=True)
    with open(program, "rb") as file:
        image = file.read()
    with open(program, "wb") as file:
        file.write(image.replace(b"A" * len(AWKWARD), AWKWARD))
    return program


def test_awkward_names(w):
    """No byte of a name breaks a format, and none is too long."""
    w.record(w.path("awkward.log"), awkward_program(w))
    problems = []
    for form in formats():
        path = w.path("awkward.out")
        for names in ("raw", "short"):
            ran = w.export(form, "--names", names, "-o", path, log=w.path("awkward.log"))
            problems += differ(f"status of {form}: {ran.err.decode()}", ran.status, 0)
    log = w.path("awkward.log")
    text = w.exported("folded", "--names", "raw", log=log).decode()
    stack, value = text.splitlines()[0].rsplit(" ", 1)
    problems += differ("the folded line's value", value, "123456")
    problems += missing("the folded line", stack, "main;q\"b\\s |<tag>&amp: ??%s{}[]:$=(1)?\u00f6'xxx")
    read = json.loads(w.exported("speedscope", "--names", "raw", log=log))
    names = "\n".join(f["name"] for f in read["shared"]["frames"])
    problems += missing("speedscope's names", names,
                        "q\"b\\s |<tag>&amp; ??%s{}[];$=(1)?\u00f6'" + "x" * 30000)
    rows = list(csv.DictReader(io.StringIO(
        w.exported("csv", "--names", "raw", log=log).decode(), newline="")))
    problems += differ("csv's function",
                       [r["function"][:21] for r in rows if r["bytes"] == "123456"],
                       ["q\"b\\s |<tag>&amp; ??%"])
    ran = harness.run(["dot", "-Tsvg"], stdin=w.exported("dot", "--names", "raw", log=log))
    problems += differ("what dot says", ran.err.decode(), "")
    texts = [e.text or "" for e in ElementTree.fromstring(ran.out).iter()]
    return problems + missing("the drawing", "\n".join(texts), "q\"b\\s |<tag>&amp;")


def test_of_nothing(w):
    """A filter that nothing passes: still a file that its tool can read."""
    problems = []
    for form in formats():
        ran = w.export(form, "-o", w.path("empty." + form), "--size", "123456789..")
        problems += differ(f"status of {form}: {ran.err.decode()}", ran.status, 0)
    return problems


def test_lifetimes(w):
    """Only what tells of single blocks cannot select them by lifetime."""
    problems = []
    for form, words in (("csv", []), ("jsonl", []), ("sqlite", ["-o", w.path("lived")]),
                        ("firefox", [])):
        ran = w.export(form, "--lifetime", "..1s", *words)
        problems += differ(f"the status of {form} --lifetime", ran.status, 0)
    for form, words in (("jsonl", ["--events"]), ("heaptrack", []), ("massif", []),
                        ("dhat", []), ("chrome", [])):
        ran = w.export(form, "--lifetime", "..1s", *words)
        problems += differ(f"the status of {form} --lifetime", ran.status, 2)
        problems += missing("its message", ran.err.decode(), "leave out --lifetime")
    return problems
