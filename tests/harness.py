# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the Python tests share: running programs with a time limit, and counting results."""

import ctypes
import json
import os
import resource
import signal
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, os.environ.get("O", "build"))
MPROF = os.path.join(BUILD, "mprof")
LIB = os.path.join(BUILD, "libmprof.so")
TIMEOUT = 600  # seconds, until something hangs: a busy machine takes its time
AT_ONCE = (os.cpu_count() or 1) + 1  # cases: at any time, some of them wait

# Under nohup, or in the background of a shell, programs that we start would ignore them.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


# Where the system gives every program huge pages, resident memory is not what a program wrote to.
PR_SET_THP_DISABLE = 41
ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)


class Skip(Exception):
    """Raised by a test that cannot run here, with the reason."""


class Results:
    """Counts; failures are printed as they come, successes only when asked."""

    def __init__(self, name, verbose=False):
        self.name, self.verbose = name, verbose
        self.passed = self.failed = 0
        self.skipped = []

    def check(self, what, problems):
        if problems:
            self.failed += 1
            for problem in problems:
                print(f"not ok - {self.name}: {what}: {problem}", flush=True)
        else:
            self.passed += 1
            if self.verbose:
                print(f"ok - {self.name}: {what}", flush=True)

    def skip(self, what, why):
        self.skipped.append(what)
        print(f"skipped - {self.name}: {what}: {why}", flush=True)

    def finish(self):
        skipped = f", {len(self.skipped)} skipped" if self.skipped else ""
        print(f"{self.name}: {self.passed} passed, {self.failed} failed{skipped}", flush=True)
        return 1 if self.failed else 0


class Ran:
    """How a program ended: status is negative for a signal, None when it ran out of time."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err


def clean_environment():
    """Ours, without what mprof or malloc reads."""
    return {k: v for k, v in os.environ.items()
            if k not in ("LD_PRELOAD", "GLIBC_TUNABLES", "COLUMNS", "NO_COLOR", "DEBUGINFOD_URLS", "PYTHONMALLOC")
            and not k.startswith(("MPROF_", "MALLOC_"))}


def run(argv, cwd=None, env=None, extra=None, stdin=b"", timeout=TIMEOUT, limits=(), **more):
    """Runs in a session of its own; kills all of it when the time is up."""
    env = dict(clean_environment() if env is None else env, **(extra or {}))

    def prepare():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for what, most in limits:
            resource.setrlimit(what, (most, most))

    process = subprocess.Popen(argv, cwd=cwd, env=env, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True, preexec_fn=prepare, **more)
    try:
        out, err = process.communicate(stdin, timeout=timeout)
        return Ran(process.returncode, out, err)
    except subprocess.TimeoutExpired:
        kill_group(process)
        out, err = process.communicate()
        return Ran(None, out, err)


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def ended(status):
    """-N and 128+N are the same end: which one it is depends on who is asked."""
    if status is None:
        return "no end in time"
    if status < 0:
        status = 128 - status
    return f"signal {signal.Signals(status - 128).name}" \
        if 128 < status < 128 + 65 and status - 128 in list(signal.Signals) \
        else f"status {status}"


def own_words(err):
    """The lines of mprof itself in a mixture with the program's."""
    return [line for line in err.decode(errors="replace").splitlines()
            if line.startswith("mprof: ")]


def without_own_words(err):
    return b"".join(line for line in err.splitlines(keepends=True)
                    if not line.startswith(b"mprof: "))


def load_json(path_or_bytes):
    if isinstance(path_or_bytes, bytes):
        return json.loads(path_or_bytes)
    with open(path_or_bytes, encoding="utf-8") as file:
        return json.load(file)


def report(log, *options):
    """`mprof report --json LOG` as an object, and what was wrong with that."""
    ran = run([MPROF, "report", "--json", *options, log])
    if ran.status != 0:
        return None, [f"report: {ended(ran.status)}: {ran.err.decode()[:300]}"]
    try:
        return load_json(ran.out), []
    except ValueError as error:
        return None, [f"report --json is no JSON: {error}"]


def need_build(*more):
    for path in (MPROF, LIB, *more):
        if not os.path.exists(path):
            sys.exit(f"{path} is missing: make first (O=DIR names another build directory)")


def problems_of(data):
    """What a report calls a problem of the program's: there is none in a correct program."""
    return [f"problems.{kind} is {data['problems'][kind]}"
            for kind in ("double_allocations", "unmatched_frees", "inversions")
            if data["problems"][kind] != 0]
