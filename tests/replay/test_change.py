# SPDX-License-Identifier: LGPL-3.0-or-later
"""What if: the calls of a program of which every one is known, changed; and the commands that
findings of a report propose."""

import os
import shlex

import harness
from test_memory import MANY, build, record

LIST, VECTOR, LINES, NODES = 1000 + 1, 10 * 22, 2 * 2000, 2 * 10000
CALLS = LIST + VECTOR + LINES + NODES
LIST_BYTES = 16 * sum(range(1, 1001))
VECTOR_BYTES = 10 * sum(64 << k for k in range(11))
BYTES = LIST_BYTES + VECTOR_BYTES + 2000 * 100 + 10000 * 24


def replay(log, *options):
    return harness.run([harness.MPROF, "replay", log, "--quick", "--reps=0", *options])


def change(log, *options):
    ran = replay(log, "--json", *options)
    assert ran.status == 0, ran.err.decode()
    return harness.load_json(ran.out)


def differences(what, got, expected):
    return [f"{what}: {name} is {got[name]}, not {value}"
            for name, value in expected.items() if got[name] != value]


# Options, calls left, bytes left, what the change says of itself.  The victim's calls are the
# same under every allocator, and so is what is left of them.
CHANGES = [
    (["--drop-site", "format_line"], CALLS - LINES, BYTES - 200000,
     {"change": "drop", "function": "format_line", "blocks": 2000, "bytes": 200000}),
    (["--drop-site", "*_new"], CALLS - NODES, BYTES - 240000, {"blocks": 10000}),
    # One call of 16,000 bytes and one free are left of the list.
    (["--reserve-site", "list_append"], CALLS - 999, BYTES - LIST_BYTES + 16000,
     {"change": "reserve", "blocks": 1, "bytes": 16, "steps": 999}),
    # A block of 64 KiB and a free are left of each vector.
    (["--reserve-site", "vector_grow"], CALLS - 200, BYTES - VECTOR_BYTES + 10 * 65536,
     {"blocks": 10, "bytes": 640, "steps": 100, "copied_bytes": 10 * sum(64 << k for k in range(10))}),
    # 32 bytes a block, 128 a chunk: 79 chunks; the last one stays for what comes next.
    (["--pool-site", "node_new,chunk=4k"], CALLS - NODES + 79 + 78, BYTES - 240000 + 79 * 4096,
     {"change": "pool", "chunk_bytes": 4096, "free_list": False, "chunks": 79, "blocks": 10000}),
    # One chunk is enough for lines that are freed immediately, and it is never freed.
    (["--pool-site", "format_line,free-list"], CALLS - LINES + 1, BYTES - 200000 + 65536,
     {"free_list": True, "chunks": 1, "blocks": 2000}),
    (["--resize", "node_new=x2.5"], CALLS, BYTES + 360000,
     {"change": "resize", "factor": 2.5, "blocks": 10000}),
    (["--resize", "format_line=1k"], CALLS, BYTES - 200000 + 2000 * 1024, {"size": 1024}),
]


def test_known_figures(scratch):
    log, _ = record(scratch, [build(scratch, "changes")])
    problems = []
    for options, calls, size, rule in CHANGES:
        what = " ".join(options)
        answer = change(log, "--no-heaps", *options)
        problems += differences(what, answer["program"]["as_it_is"],
                                {"calls": CALLS, "asked_bytes": BYTES})
        problems += differences(what, answer["program"]["changed"],
                                {"calls": calls, "asked_bytes": size})
        problems += differences(what, answer["changes"][0], rule)
        if [row["name"] for row in answer["allocators"]] != ["glibc"]:
            problems.append(f"{what}: played on {answer['allocators']}")
    return problems


def test_all_at_once(scratch):
    """The first rule that matches changes a block, on all allocators that are asked for."""
    log, _ = record(scratch, [build(scratch, "changes")])
    answer = change(log, "--reserve-site", "vector_*", "--reserve-site", "list_append",
                    "--drop-site", "format_line", "--drop-site", "node_new",
                    "--drop-site", "*", "--allocator", "glibc,jemalloc")
    problems = differences("all", answer["program"]["changed"],
                           {"calls": 2 + 20, "asked_bytes": 16000 + 10 * 65536})
    blocks = [rule["blocks"] for rule in answer["changes"]]
    if blocks != [10, 1, 2000, 10000, 0]:
        problems.append(f"blocks of the rules: {blocks}")
    for row in answer["allocators"]:
        before, after = row["as_it_is"], row["changed"]
        if not 0.5 < before["page_use_4k"] < after["page_use_4k"] <= 1:
            problems.append(f"{row['name']}: page use {before} {after}")
    return problems


def test_time_and_text(scratch):
    log, _ = record(scratch, [build(scratch, "changes")])
    ran = harness.run([harness.MPROF, "replay", log, "--reps=3", "--reserve-site", "list_append",
                       "--drop-site", "main:1"])
    text = " ".join(ran.out.decode().split())
    wanted = ["reserve list_append: 1 block started at full size, without 999"
              " steps that grew it and copied up to ", "drop main:1: it changes no block",
              "calls 25,221 -> 24,222 (-3.96 %)", "most live blocks ",
              "* glibc: it would ",
              "the median of 3 runs each"]
    ran = harness.run([harness.MPROF, "replay", log, "--reps=0", "--no-heaps", "--drop-site",
                       "format_line", "--pool-site", "node_new"])
    text += " ".join(ran.out.decode().split())
    wanted += ["drop format_line: 2,000 blocks were never requested, 195 KiB in all.",
               "pool node_new: 10,000 blocks (234 KiB in all) came from ",
               "* glibc: time was not measured; its peak memory stays "]
    return [f"status {ran.status}"] * (ran.status != 0) + \
        [f"not said: {words!r} in\n{text}" for words in wanted if words not in text]


def test_proofs(scratch):
    """A finding's proposal, played as the report says, saves at least what it says."""
    log, _ = record(scratch, [build(scratch, "changes")])
    report = harness.load_json(harness.run([harness.MPROF, "report", "--json", log]).out)
    problems, proofs = [], {}
    for finding in report["findings"]:
        if not finding["proof"]:
            continue
        argv = shlex.split(finding["proof"])
        if argv[0] != "mprof":
            problems.append(f"no command: {argv}")
        ran = harness.run([harness.MPROF, *argv[1:], "--quick", "--reps=0", "--no-heaps",
                           "--json"])
        if ran.status:
            problems.append(f"{finding['proof']}: {ran.err.decode()}")
            continue
        asked = harness.load_json(ran.out)["program"]
        saved = asked["as_it_is"]["calls"] - asked["changed"]["calls"]
        proofs[finding["finding"], finding["function"]] = saved
        if saved < finding["part"]:
            problems.append(f"{finding['proof']} saves {saved} calls, not {finding['part']}")
    expected = {("realloc", "list_append"), ("realloc", "vector_grow"), ("hot", "node_new"),
                ("temporary", "format_line")}
    if not expected <= set(proofs):
        problems.append(f"proposals: {proofs}")
    return problems


def test_threads(scratch):
    made = os.path.join(scratch, "many")
    harness.run(["gcc", "-g", "-O1", "-o", made, "-x", "c", "-"], stdin=MANY.encode())
    log, _ = record(scratch, [made])
    answer = change(log, "--drop-site", "work", "--no-heaps")["program"]
    gone = answer["as_it_is"]["calls"] - answer["changed"]["calls"]
    return [] if gone == 8 * 15000 else [f"{gone} calls are gone: {answer}"]


def test_refused(scratch):
    log, _ = record(scratch, [build(scratch, "changes")])
    none = os.path.join(scratch, "none")
    harness.run([harness.MPROF, "record", "--unwind=none", "-o", none, "--",
                 os.path.join(scratch, "changes")])
    compiled = os.path.join(scratch, "compiled")
    assert harness.run([harness.MPROF, "sort", log, "-o", compiled]).status == 0
    problems = []
    for argv, status, words in [
            ([log, "--drop-site", "nobody"], 2, "goes through a function 'nobody'"),
            ([log, "--drop-site", "main:1"], 2, "no block is changed by --drop-site main:1"),
            ([log, "--resize", "main"], 2, "expected SITE=SIZE"),
            ([log, "--pool-site", "main,chunk=1"], 2, "expected a chunk of 256 bytes to 1 GiB"),
            ([none, "--drop-site", "main"], 3, "has no call stacks"),
            ([os.path.join(scratch, "nothing"), "--drop-site", "main"], 3, "nothing")]:
        ran = replay(*argv)
        if ran.status != status or words not in ran.err.decode() or ran.out:
            problems.append(f"{argv[1:]}: status {ran.status}: {ran.err.decode()}")
    # A compiled file says where it came from, and that knows the functions.
    answer = change(compiled, "--drop-site", "format_line", "--no-heaps")
    return problems + differences("compiled", answer["program"]["changed"],
                                  {"calls": CALLS - LINES})


# Growth by a new block, a copy and a free, in a container whose code is inlined and templates.
VECTOR_OF_INT = """
#include <vector>
#include <cstdio>
struct Index {
	std::vector<int> all;
	__attribute__((noinline)) void add(int x) { all.push_back(x); }
};
int main()
{
	long sum = 0;
	for (int k = 0; k < 50; k++) {
		Index index;
		for (int n = 0; n < 1024; n++)
			index.add(n);
		sum += index.all[7];
	}
	std::printf("%ld\\n", sum);
}
"""


def test_std_vector(scratch):
    """Each of 50 vectors has room for 1, 2, 4, ... 1024 numbers of 4 bytes, one after the other;
    reserved, each is one block of 4 KiB."""
    made = os.path.join(scratch, "vector")
    ran = harness.run(["g++", "-g", "-O2", "-o", made, "-x", "c++", "-"],
                      stdin=VECTOR_OF_INT.encode())
    assert ran.status == 0, ran.err.decode()
    log, _ = record(scratch, [made])
    answer = change(log, "--reserve-site", "Index::add", "--no-heaps")
    before, after = answer["program"]["as_it_is"], answer["program"]["changed"]
    sizes = [4 << k for k in range(11)]
    problems = differences("vector", answer["changes"][0],
                           {"blocks": 50, "bytes": 50 * 4, "steps": 50 * 10,
                            "copied_bytes": 50 * sum(sizes[:-1])})
    for name, saved in ("calls", 50 * 20), ("asked_bytes", 50 * sum(sizes[:-1])):
        if before[name] - after[name] != saved:
            problems.append(f"{name}: {before[name]} - {after[name]} is not {saved}")
    return problems
