# SPDX-License-Identifier: LGPL-3.0-or-later
"""measure.py - run a command under a recorder and say what it cost.

Every figure is CPU time (user + system) of a whole process tree, or of the
program alone by its own getrusage; never wall time, so that a busy machine
does not change it much.  Nothing here compares figures of different runs of
the bench: variants are run one after the other, again and again (A B C B C A
...), and a variant's figure is the median of its differences or ratios to
native *in the same repetition*.  Spread is the median absolute deviation of
those (MAD).
"""

import os
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("O", "build"))
CHURN = os.path.join(BUILD, "bench", "churn")
COST = os.path.join(BUILD, "bench", "cost")
MPROF = os.path.join(BUILD, "mprof")
LIBRARY = os.path.join(BUILD, "libmprof.so")
SECONDS_MAX = 300  # one run; then it is taken for hung


class Failed(Exception):
    """A variant did not do what it was asked to: its figure would be wrong."""


class Run:
    """What one run cost: cpu_ns and peak_kib of the tree, own: churn's line.

    elapsed_ns is wall time, for the rare place where threads are the point.
    """

    def __init__(self, cost, own):
        self.cpu_ns = 1000 * (int(cost["user_us"]) + int(cost["system_us"]))
        self.elapsed_ns = 1000 * int(cost["elapsed_us"])
        self.peak_kib = int(cost["peak_kib"])
        self.faults = int(cost["faults"])
        self.status = int(cost["status"])
        self.own = own

    @property
    def own_ns(self):
        return int(self.own["user_ns"]) + int(self.own["system_ns"])


class Launch:
    """How a variant starts a command: words before it, and its environment."""

    def __init__(self, prefix=(), env=None, files=()):
        self.prefix = list(prefix)
        self.env = env or {}
        self.files = list(files)  # made by the run; removed before each


def clean_environment(extra=()):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("MPROF_", "LD_", "MAKE", "MFLAGS", "PYTHON"))}
    env.update({"LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1"})
    env.update(extra)
    return env


def fields(line):
    return dict(word.split("=", 1) for word in line.split()[1:])


def complaint(text):
    """The line of stderr that says a preloaded recorder does not record, or None."""
    for line in text.splitlines():
        if line.startswith(("mprof:", "ERROR: ld.so")):
            return line
    return None


class Running:
    """A command that was started; result() waits for its whole tree."""

    def __init__(self, launch, argv, stdin=None, stdout=None, cwd=None, report=False):
        for path in launch.files:
            if os.path.exists(path):
                os.unlink(path)
        self.errors = tempfile.TemporaryFile()
        self.argv = argv
        self.preloaded = "LD_PRELOAD" in launch.env
        inner, cost_end = os.pipe()
        self.lines = os.fdopen(inner)
        words = [COST, str(cost_end)] + ["%s=%s" % pair for pair in launch.env.items()]
        words += launch.prefix + argv
        if report:
            words += ["-r", str(cost_end)]
        self.process = subprocess.Popen(
            words, env=clean_environment(), cwd=cwd, stderr=self.errors,
            stdin=open(stdin) if stdin else subprocess.DEVNULL,
            stdout=stdout or subprocess.DEVNULL, start_new_session=True,
            pass_fds=[cost_end, null_descriptor()])
        os.close(cost_end)

    def kill(self):
        """The session is ours, made for this run alone."""
        os.killpg(self.process.pid, signal.SIGKILL)

    def result(self, want=0):
        """want: the exit status that is right; None takes any."""
        try:
            self.process.wait(SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failed("still running after %d s" % SECONDS_MAX) from None
        except BaseException:
            self.kill()
            raise
        lines = {line.split()[0]: fields(line) for line in self.lines if line.strip()}
        self.lines.close()
        self.errors.seek(0)
        errors = self.errors.read().decode(errors="replace")
        self.errors.close()
        said = complaint(errors)
        if said and self.preloaded:
            raise Failed(said)
        if want is None:
            return None
        if "cost" not in lines or int(lines["cost"]["status"]) != want:
            last = errors.strip().splitlines()[-1:] or ["nothing on stderr"]
            raise Failed("%s: status %s: %s" % (
                os.path.basename(self.argv[0]), lines.get("cost", {}).get("status"), last[0]))
        return Run(lines["cost"], lines.get("churn"))


def run(launch, argv, **how):
    want = how.pop("want", 0)
    return Running(launch, argv, **how).result(want)


def churn(launch, pairs, threads=1, depth=5, branches=0, more=()):
    """churn with `pairs` pairs in all, shared out to the threads."""
    return run(launch, [CHURN, "-t", str(threads), "-n", str(max(1, pairs // threads)),
                        "-d", str(depth), "-b", str(branches), *more], report=True)


def while_busy(once):
    """What once() returns while a bare churn runs on every other processor."""
    bare = [Running(Launch(), [CHURN, "-n", str(1 << 40)])
            for _ in range((os.cpu_count() or 1) - 1)]
    try:
        return once()
    finally:
        for other in bare:
            other.kill()
            other.process.wait()
            other.lines.close()
            other.errors.close()


NULL = []


def null_descriptor():
    """One descriptor of /dev/null for LogFD, the same number in every child."""
    if not NULL:
        NULL.append(os.open("/dev/null", os.O_WRONLY))
    return NULL[0]


def reading_ns():
    """CPU ns of one reading of the processor's counter."""
    inner, end = os.pipe()
    with os.fdopen(inner) as lines:
        subprocess.run([os.path.join(BUILD, "bench", "ticks"), str(end)], check=True,
                       pass_fds=[end])
        os.close(end)
        return float(fields(lines.readline())["ns_per_reading"])


def quote(path):
    return "'%s'" % path


def preload(mode, where, unwind="none"):
    files = [os.path.join(where, "bench." + kind) for kind in ("counts", "log", "profile", "guard")]
    conf = ("INIT=LD_NEXT MODE=%s COUNTS_PATH=%s LOG_PATH=%s PROFILE_PATH=%s GUARD_PATH=%s LOG_FD=%d UNWIND=%s" %
            (mode, *map(quote, files), null_descriptor(), unwind))
    return Launch(env={"LD_PRELOAD": LIBRARY, "MPROF_CONF": conf}, files=files)


def record(where, *options):
    path = os.path.join(where, "record.log")
    return Launch(prefix=[MPROF, "record", *options, "-o", path, "--"], files=[path])


def first(where):
    """For a command of mprof whose cache on disk has nothing yet."""
    return Launch(env={"XDG_CACHE_HOME": tempfile.mkdtemp(prefix="cache.", dir=where)})


def heaptrack(where, *options):
    base = os.path.join(where, "heaptrack")
    suffix = ".raw.zst" if "--raw" in options else ".zst"
    return Launch(prefix=["heaptrack", *options, "-o", base], files=[base + suffix])


def heaptrack_inside(where):
    """Only what heaptrack does in the program: its library, writing to /dev/null."""
    tool = shutil.which("heaptrack")
    root = os.path.dirname(os.path.dirname(os.path.realpath(tool)))
    library = os.path.join(root, "lib", "heaptrack", "libheaptrack_preload.so")
    return Launch(env={"LD_PRELOAD": library, "DUMP_HEAPTRACK_OUTPUT": "/dev/null"})


def peer(text):
    """--peer "NAME: WORD=VALUE ... [COMMAND ...]" as (name, Launch)."""
    name, _, rest = text.partition(":")
    env, prefix = {}, shlex.split(rest)
    while prefix and "=" in prefix[0]:
        key, _, value = prefix.pop(0).partition("=")
        env[key] = value
    return name.strip(), Launch(prefix=prefix, env=env)


def missing_heaptrack():
    return None if shutil.which("heaptrack") else "heaptrack is not installed"


def missing_library():
    return None if os.path.exists(LIBRARY) else "%s is not built" % os.path.relpath(LIBRARY, ROOT)


def missing_mprof():
    return None if os.path.exists(MPROF) else "%s is not built" % os.path.relpath(MPROF, ROOT)


class Series:
    """Figures of several variants, one of each in every repetition."""

    def __init__(self):
        self.values = {}
        self.failed = {}

    def add(self, name, value):
        self.values.setdefault(name, []).append(value)

    def drop(self, name, why):
        self.failed[name] = str(why)
        self.values.pop(name, None)

    def of(self, name):
        return self.values.get(name, [])

    def paired(self, name, base, how):
        return [how(a, b) for a, b in zip(self.of(name), self.of(base))]

    def added(self, name, base="native"):
        return Figure(self.paired(name, base, lambda a, b: a - b))

    def ratio(self, name, base="native"):
        return Figure(self.paired(name, base, lambda a, b: a / b if b else float("nan")))

    def figure(self, name):
        return Figure(self.of(name))


class Figure:
    """A median and its MAD; false when nothing was measured."""

    def __init__(self, values):
        self.values = values

    def __bool__(self):
        return bool(self.values)

    @property
    def median(self):
        return statistics.median(self.values)

    @property
    def mad(self):
        middle = self.median
        return statistics.median(abs(v - middle) for v in self.values)

    def show(self, form="%.1f", scale=1.0):
        if not self.values:
            return "-"
        return (form + " ±" + form.replace("+", "")) % (self.median * scale, self.mad * scale)


def interleave(variants, repetitions, once):
    """Call once(name, launch) for each variant in turns; a Series of what it returns.

    The order rotates, so that no variant always follows the same one.  A
    variant that fails is dropped, with its reason, and the others go on.
    """
    series = Series()
    names = list(variants)
    for i in range(repetitions):
        turn = i % len(names)
        for name in names[turn:] + names[:turn]:
            if name in series.failed:
                continue
            try:
                series.add(name, once(name, variants[name]))
            except Failed as why:
                series.drop(name, why)
    return series


def table(title, header, rows, notes=()):
    """A Markdown table, padded so that it reads as text too."""
    width = [max(len(str(row[i])) for row in [header] + rows) for i in range(len(header))]
    print("\n### %s\n" % title)
    for n, row in enumerate([header] + rows):
        print("| " + " | ".join(str(c).ljust(w) for c, w in zip(row, width)) + " |")
        if n == 0:
            print("|" + "|".join("-" * (w + 2) for w in width) + "|")
    for note in notes:
        print("\n%s" % note)
    sys.stdout.flush()


def skipped(what, why):
    print("\nskipped: %s: %s" % (what, why))
    sys.stdout.flush()


def progress(text):
    """On a terminal only: what is being measured."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K" + text)
        sys.stderr.flush()
