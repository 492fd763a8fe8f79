# SPDX-License-Identifier: LGPL-3.0-or-later
"""mprof replay and mprof compare: real programs on the allocators that are installed."""

import html.parser
import os
import re
import shutil
import signal
import subprocess
import time

import harness

ALLOCATORS = ("glibc", "jemalloc", "mimalloc")

# So many blocks, one byte of each page written, all alive at once, and freed.
BLOCKS = """
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	int n = atoi(argv[1]), i;
	size_t size = atoi(argv[2]);
	char **p = calloc(n, sizeof(*p));

	for (i = 0; i < n; i++)
		memset(p[i] = malloc(size), 1, size);
	for (i = 0; i < n; i++)
		free(p[i]);
	return argc != 3;
}
"""

# An allocator that never comes back.
HANG = """
#include <stddef.h>
#include <unistd.h>
void *__libc_malloc(size_t n);
void *malloc(size_t n)
{
	static int calls;

	if (++calls == 1000)
		for (;;)
			pause();
	return __libc_malloc(n);
}
"""

SQL = """create table t(a integer primary key, b text, c real); begin;
insert into t select value, hex(value * 7919 % 100003) || 'abcdefghijklmnop', value / 7.0
    from generate_series(1, 12000);
commit; create index i on t(b); create index j on t(c);
select count(*), sum(c) from t group by b limit 1; update t set b = b || a where a % 3 = 0;
delete from t where a % 5 = 0; select count(*) from t x join t y on x.a = y.a + 1;"""


def record(scratch, argv):
    log = os.path.join(scratch, "log")
    ran = harness.run([harness.MPROF, "record", "-o", log, "--", *argv])
    assert ran.status == 0, ran.err.decode()
    return log


def build(scratch, name, text, *options):
    source, made = os.path.join(scratch, name + ".c"), os.path.join(scratch, name)
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    ran = harness.run(["gcc", "-O1", "-fno-builtin", "-o", made, source, *options])
    assert ran.status == 0, ran.err.decode()
    return made


def blocks(scratch, count, size):
    return record(scratch, [build(scratch, "blocks", BLOCKS), str(count), str(size)])


def threads(scratch, count, calls):
    return record(scratch, [os.path.join(harness.BUILD, "preload", "threads"), str(count),
                            str(calls)])


def replay(log, *options):
    ran = harness.run([harness.MPROF, "replay", "--json", log, *options])
    assert ran.status == 0, ran.err.decode()
    return harness.load_json(ran.out)


def installed():
    ran = harness.run([harness.MPROF, "replay", "--allocator", "none", "none"])
    known = re.search(r"expected ([a-z, ]+), or", ran.err.decode()).group(1).split(", ")
    return [name for name in ALLOCATORS if name in known]


def row_problems(answer, row):
    name, program, problems = row["name"], answer["program"], []

    def check(what, good):
        if not good:
            problems.append(f"{name}: {what}")

    if not row["played"]:
        return [f"{name}: {row['why']}"]
    check("calls failed", row["failed_calls"] == 0)
    check("peak is not the sum", row["peak_rss_bytes"] == row["heap_rss_bytes"] + row["startup_bytes"])
    check("less memory than there was to hold",
          row["peak_rss_bytes"] > 0.95 * program["peak_live_bytes"])
    check("three times the memory", row["peak_rss_bytes"] < 3 * program["peak_live_bytes"] + (8 << 20))
    check("a curve above the peak",
          max(row["curve"]["rss_bytes"]) <= row["heap_rss_bytes"])
    check("the curve ends early", row["curve"]["op"][-1] == program["calls"])
    check("no faults", row["minor_faults"] > 0)
    check("time runs", row["time_runs"] == answer["run"]["repetitions"])
    # A busy machine may spread the runner's own time too far to tell that of the calls.
    check("no time", (row["cpu_ns_per_call"] is None or row["cpu_ns_per_call"] > 0) and row["wall_ns_per_call"] > 0)
    check("page use", 0.2 < row["heap"]["page_use"]["4k"]["at_peak"] <= 1)
    check("drains", len(row["drain_rss_bytes"]) == len(answer["run"]["drain_ms"]) == 1)
    return problems


# An allocator that mprof has no name for.
OWN = """
#include <stddef.h>
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t s);
void *__libc_realloc(void *p, size_t n);
void __libc_free(void *p);
void *malloc(size_t n) { return __libc_malloc(n); }
void *calloc(size_t n, size_t s) { return __libc_calloc(n, s); }
void *realloc(void *p, size_t n) { return __libc_realloc(p, n); }
void free(void *p) { __libc_free(p); }
void *__libc_memalign(size_t a, size_t n);
void *memalign(size_t a, size_t n) { return __libc_memalign(a, n); }
"""


def under(log):
    """What the text and the JSON say a program was recorded under."""
    options = "--quick", "--reps=0", "--no-heaps", "--drain=0", "--allocator=glibc"
    ran = harness.run([harness.MPROF, "replay", log, *options])
    assert ran.status == 0, ran.err.decode()
    said = re.findall(r"^  Recorded under (.*)\.$", ran.out.decode(), re.M)
    return said, replay(log, *options)["program"]["allocator"]


SET = """
#include <malloc.h>
#include <stdlib.h>
int main(void)
{
	int ok = mallopt(M_ARENA_MAX, 2) && mallopt(M_MMAP_THRESHOLD, 1 << 20) &&
		 mallopt(M_ARENA_MAX, 1) && mallopt(M_PERTURB, 0);
	return !ok + !malloc(10);
}
"""


def test_settings_of_the_program(scratch):
    """Its allocator is played as it was configured, by variables and by mallopt."""
    log, program = os.path.join(scratch, "set.log"), build(scratch, "set", SET)
    set_before = {**os.environ, "MALLOC_TOP_PAD_": "65536", "MALLOC_ARENA_MAX": "7"}
    ran = harness.run([harness.MPROF, "record", "-o", log, "--", program], env=set_before)
    assert ran.status == 0, ran.err.decode()
    options = "--quick", "--reps=0", "--no-heaps", "--drain=0"
    rows = replay(log, *options, "--allocator=glibc,glibc[MALLOC_ARENA_MAX=3]")["allocators"]
    got = [sorted(row["environment"]) for row in rows]
    rest = ["MALLOC_MMAP_THRESHOLD_=1048576", "MALLOC_TOP_PAD_=65536"]
    problems = []
    if got != [["MALLOC_ARENA_MAX=1"] + rest, ["MALLOC_ARENA_MAX=3"] + rest]:
        problems.append(f"settings: {got}")
    ran = harness.run([harness.MPROF, "replay", *options[:3], "--json", "--resize=main=20", log])
    if "MALLOC_ARENA_MAX=1" not in ran.out.decode():
        problems.append(f"what if: {ran.out.decode()} {ran.err.decode()}")
    row, = replay(log, *options, "--allocator=glibc", "--env=clear")["allocators"]
    if row["environment"]:
        problems.append(f"cleared: {row['environment']}")
    return problems


def test_recorded_under(scratch):
    """The program's own allocator is told; it is in the trace, not in a playback file."""
    problems = []
    own = build(scratch, "own.so", OWN, "-shared", "-fPIC")
    for name in (*installed(), own):
        log = os.path.join(scratch, os.path.basename(name) + ".log")
        # A script often ends with exec of a program with more calls.
        ran = harness.run([harness.MPROF, "record", "--allocator", name, "-o", log, "--",
                           *(("sh", "-c", 'exec perl -e "@a = (1 .. 999)"') if name == own else
                             (os.path.join(harness.BUILD, "preload", "fixture_a"),))])
        assert ran.status == 0, ran.err.decode()
        said, path = under(log)
        wanted = f"{name} ({path})" if name != own else f"the malloc of {own}"
        if said != [wanted] or name not in path.replace("libc.so", "glibc"):
            problems.append(f"{name}: {said}, {path}")
    compiled = os.path.join(scratch, "compiled.play")
    harness.run([harness.MPROF, "sort", "-o", compiled, log])
    if under(compiled) != under(log):
        problems.append(f"compiled: {under(compiled)}")
    os.unlink(log)
    if under(compiled) != ([], None):
        problems.append(f"without the trace: {under(compiled)}")
    return problems


def test_sqlite(scratch):
    """All that is told of a real program, on all allocators of ALLOCATORS."""
    if not shutil.which("sqlite3"):
        raise harness.Skip("no sqlite3 here")
    answer = replay(record(scratch, ["sqlite3", ":memory:", SQL]), "--reps=2", "--drain=0.01",
                    "--allocator=" + ",".join(installed()))
    problems = [problem for row in answer["allocators"] for problem in row_problems(answer, row)]
    if [row["name"] for row in answer["allocators"]] != installed():
        problems.append("allocators are " + str([row["name"] for row in answer["allocators"]]))
    if not answer["findings"] or not answer["how"]:
        problems.append("nothing is said")
    return problems


def test_known_memory(scratch):
    """60,000 blocks of 1,000 bytes: 1,008 with glibc's header; other ones lie within reason.
    The kernel counts resident pages in batches: a quarter of a MiB is within the limits."""
    answer = replay(blocks(scratch, 60000, 1000), "--reps=0", "--drain=0.01", "--keep",
                    "--no-heaps", "--allocator=" + ",".join(installed()))
    problems = []
    live = answer["program"]["peak_live_bytes"]
    if live != 60000 * 1000 + 60000 * 8:
        problems.append(f"{live} bytes lived")
    for row in answer["allocators"]:
        low, high = (0.995, 1.02) if row["name"] == "glibc" else (0.99, 1.2)
        part = row["heap_rss_bytes"] / live
        if not low < part < high:
            problems.append(f"{row['name']} needs {part:.3f} times what is live")
        if row["drained_rss_bytes"] is not None or row["drain_rss_bytes"]:
            problems.append(f"{row['name']} freed what it was to keep")
    return problems


def test_settings_reach_the_allocator(scratch):
    """A threshold of 4 KiB makes a mapping of each block: two pages for 5,000 bytes."""
    answer = replay(blocks(scratch, 4000, 5000), "--reps=0", "--drain=0.01", "--no-heaps",
                    "--allocator=glibc,glibc[GLIBC_TUNABLES=glibc.malloc.mmap_threshold=4096]")
    plain, mapped = (row["heap_rss_bytes"] / 4000 for row in answer["allocators"])
    if not 4900 < plain < 5400 or not 8000 < mapped < 8500:
        return [f"a block takes {plain:.0f} bytes, mapped {mapped:.0f}"]
    return [] if "at the peak than glibc" in " ".join(answer["findings"]) else answer["findings"]


def test_modes(scratch):
    """Threads play as they are told to, and as suits when not."""
    log, problems = threads(scratch, 3, 2000), []
    for options, expected in ((), ("ordered", "threads")), (("--mode=serial",), ("serial",) * 2), \
            (("--mode=ordered",), ("ordered",) * 2), \
            (("--mode=threads", "--speed=100"), ("threads",) * 2):
        answer = replay(log, "--reps=2", "--drain=0.01", "--no-heaps", "--allocator=glibc", *options)
        run, row = answer["run"], answer["allocators"][0]
        if (run["memory_mode"], run["time_mode"]) != expected:
            problems.append(f"{options}: {run['memory_mode']}, {run['time_mode']}")
        if not row["played"] or row["failed_calls"] or row["time_runs"] != 2:
            problems.append(f"{options}: {row}")
    return problems


class Page(html.parser.HTMLParser):
    """What a page loads, and whether its elements end."""
    LONE = {"meta", "img", "br", "input", "path", "link", "hr", "li", "p", "html", "body"}

    def __init__(self):
        super().__init__()
        self.open, self.loads, self.problems, self.words = [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.loads += [value for name, value in attributes if name in ("src", "href", "srcset")]
        if tag not in self.LONE:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.LONE and (not self.open or self.open.pop() != tag):
            self.problems.append(f"</{tag}> where none is open")

    def handle_data(self, data):
        self.words.append(data)


def test_compare_page(scratch):
    """One file that loads nothing, with words, table, curves, picture and movie."""
    log, path = blocks(scratch, 3000, 2000), os.path.join(scratch, "a page.html")
    name = "two[MALLOC_ARENA_MAX=1]"
    ran = harness.run([harness.MPROF, "compare", "--quick", "--allocator", "glibc,two=glibc"
                       "[MALLOC_ARENA_MAX=1]", "-o", path, log], cwd=scratch)
    assert ran.status == 0, ran.err.decode()
    with open(path, encoding="utf-8") as file:
        text = file.read()
    page = Page()
    page.feed(text)
    words, problems = " ".join(page.words), page.problems
    problems += [f"<{tag}> does not end" for tag in page.open]
    problems += [f"loads {load[:60]}" for load in page.loads if not load.startswith("data:")]
    problems += [f"'{part}' is missing" for part in
                 ("Peak memory", "The heap over time", "glibc", "two", "blocks 3000 2000", "How")
                 if part not in words]
    problems += [f"{part} is missing" for part in ("<svg", "data:image/png;base64,iVBOR", "mprof-heap", "script-src 'sha256-")
                 if part not in text]
    if "a page.html" not in ran.err.decode() or b"Peak" not in ran.out:
        problems.append(f"{name}: nothing is said")
    return problems


def runners_of(pid):
    """Children of a process, by name."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except FileNotFoundError:
        return []


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def wait_for(what, seconds=harness.TIMEOUT):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if what():
            return True
        time.sleep(0.02)
    return False


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def interrupt(log, allocator, how, send, scratch):
    tmp = os.path.join(scratch, "tmp")
    os.makedirs(tmp, exist_ok=True)
    process = subprocess.Popen(
        [harness.MPROF, "replay", log, "--allocator", allocator], cwd=scratch,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        env=dict(harness.clean_environment(), TMPDIR=tmp))
    found = []

    def running():
        found[:] = runners_of(process.pid)
        return any(b"mode=ordered" in command_of(pid) for pid in found)

    try:
        if not wait_for(running):
            return [f"{how}: no runner was seen"]
        send(process.pid)
        process.wait(harness.TIMEOUT)
        if not wait_for(lambda: not any(alive(pid) for pid in found)):
            return [f"{how}: a runner lives on"]
        return [f"{how}: {name} is left" for name in os.listdir(tmp)]
    finally:
        harness.kill_group(process)
        process.wait()


def test_interrupted(scratch):
    """Ctrl-C reaches all; a signal to mprof alone takes its runner along."""
    log, problems = threads(scratch, 1, 2000), []
    hang = build(scratch, "hang.so", HANG, "-shared", "-fPIC")
    problems += interrupt(log, hang, "Ctrl-C", lambda pid: os.killpg(pid, signal.SIGINT), scratch)
    for number in signal.SIGTERM, signal.SIGKILL:
        problems += interrupt(log, hang, number.name, lambda pid, n=number: os.kill(pid, n), scratch)
    return problems
