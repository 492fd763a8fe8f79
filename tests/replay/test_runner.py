# SPDX-License-Identifier: LGPL-3.0-or-later
"""The runner: what it plays, measures and refuses, on files that playback.py wrote."""

import glob
import os
import struct

import harness
import playback
from playback import Playback
from runner import COUNTED_AT_ONCE, RUNNER, Played, play

HERE = os.path.dirname(os.path.abspath(__file__))

ALIGNED = [(4, "memalign"), (7, "posix_memalign"), (5, "aligned_alloc"), (12, "valloc"),
           (6, "memalign"), (3, "posix_memalign"), (8, "aligned_alloc"), (12, "pvalloc")]


def churn(n):
    """One thread, all functions, most blocks short-lived."""
    for i in range(n):
        log2, function = ALIGNED[i % 8]
        size = 4096 if function == "pvalloc" else 100  # which it would be rounded to
        yield f"0 malloc a{i} {16 + i * 37 % 5000}\n0 calloc b{i} {i * 101 % 3000}"
        yield f"0 realloc a{i} {i * 53 % 9000 + 1}\n0 aligned c{i} {size} {log2} {function}"
        yield f"0 free b{i}"
        if i > 2:
            yield f"0 free a{i - 3}"
        if i % 2:
            yield f"0 free c{i - 1}"


CHURN = "\n".join(churn(500))


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


# Fewer rounds where each costs more.
CHECKED = {"ping_pong": 400, "pipeline": 400, "sink": 500, "left_alive": 15, "short_threads": 60}


def workload(name, n=0, **more):
    make, usual = WORKLOADS[name]
    return Playback("\n".join(make(n or usual)), **more)


def good(played, playback, failed=0):
    """The result of a run that did all of the playback's calls."""
    assert played.status == 0, played.err
    assert played.whole and played.kinds[-1] == "result", played.kinds[-3:]
    assert played.result["calls"] == sum(playback.ops), played.result["calls"]
    assert played.result["failed"] == failed, played.result["failed"]
    return played.result


def built(scratch, source, out, *flags):
    out = os.path.join(scratch, out)
    sources = [os.path.join(HERE, source)] if isinstance(source, str) else source
    ran = harness.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-g", "-fno-builtin",
                       "-I" + os.path.join(harness.ROOT, "include"), *flags, "-o", out, *sources,
                       "-lpthread"])
    assert ran.status == 0, ran.err.decode()
    return out


def checker(scratch):
    return built(scratch, "checker.c", "checker.so", "-O1", "-fPIC", "-shared")


def counted(text):
    """What checker.c counted, by name."""
    line = [line for line in text.splitlines() if line.startswith("checker: malloc=")][-1]
    return {k: int(v) for k, v in (word.split("=") for word in line.split()[1:])}


def test_checker_catches(scratch):
    """The checking allocator notices what it is there for."""
    preload, careless = checker(scratch), built(scratch, "careless.c", "careless", "-O0")
    for what, said in (("", None), ("untouched", "not touched"), ("behind", "written behind"),
                       ("scribbled", "written to"), ("twice", "freed twice"),
                       ("late", "written to after it was freed")):
        ran = harness.run([careless, what], extra={"LD_PRELOAD": preload})
        err = ran.err.decode()
        if said is None:
            assert counted(err)["errors"] == 0, err
        else:
            assert counted(err)["errors"] and f"error: {said}" in err, (what, err)


def fits(said, playback, threads, where):
    """The calls are those of the playback: the runner has none of its own."""
    _, malloc, free, calloc, realloc, aligned = playback.ops
    want = dict(malloc=malloc, calloc=calloc, realloc=realloc, aligned=aligned, failed=0, errors=0,
                left=0, free=free + len(playback.live), loader=threads - 1)
    return [f"{where}: {key} is {said[key]}, not {value}"
            for key, value in want.items() if said[key] != value]


def test_checked(scratch):
    """Each block freed once, written where the policy says, nothing called besides."""
    preload, problems = checker(scratch), []
    for name in ["churn", *WORKLOADS]:
        playback = Playback(CHURN) if name == "churn" else workload(name, CHECKED.get(name, 0))
        path = playback.write(os.path.join(scratch, name))
        for mode in "serial", "ordered", "threads":
            played = play(path, f"mode={mode}", preload=preload)
            result = good(played, playback)
            problems += fits(counted(played.err), playback, result["threads"], f"{name}, {mode}")
    return problems


def test_touch_policies(scratch):
    """Every byte of every block is as the policy leaves it, in both forms."""
    preload = checker(scratch)
    for name, playback in ("churn", Playback(CHURN)), ("pipeline", workload("pipeline", 300)):
        path = playback.write(os.path.join(scratch, name))
        for touch in "none", "first", "page", "full", "recorded":
            for mode in "serial", "threads":
                played = play(path, f"mode={mode}", f"touch={touch}", "latency=3", preload=preload,
                              env={"CHECKER_TOUCH": "page" if touch == "recorded" else touch})
                good(played, playback)
                said = counted(played.err)
                assert said["errors"] == 0, (name, mode, touch, played.err)
    # and the checker would see it
    played = play(path, "touch=first", preload=preload, env={"CHECKER_TOUCH": "page"})
    assert counted(played.err)["errors"] > 0


def test_modes(scratch):
    """Both forms of every workload, with and without the allocator; nothing but it grows."""
    for name in WORKLOADS:
        playback = workload(name)
        path = playback.write(os.path.join(scratch, name))
        for mode in "threads", "ordered", "serial", "null":
            for null in 0, 1:
                result = good(play(path, f"mode={mode}", f"null={null}"), playback)
                threads = max(playback.streams) + 1 if mode in ("threads", "ordered") else 1
                assert result["threads"] == threads, (name, mode, result["threads"])
                if mode == "null" or null:
                    # one table of thread variables for each thread that lives
                    most = 0 if threads == 1 else 32768
                    assert result["peak_rss"] <= most, (name, mode, result["peak_rss"])


def test_failing_allocations(scratch):
    """What the allocator refuses is counted, its free left out, and a refused realloc harmless."""
    preload = checker(scratch)
    for name, playback in ("churn", Playback(CHURN)), ("pipeline", workload("pipeline")):
        path = playback.write(os.path.join(scratch, name))
        for mode in "serial", "ordered", "threads":
            played = play(path, f"mode={mode}", "touch=none", preload=preload,
                          env={"CHECKER_TOUCH": "none", "CHECKER_FAIL": "7"})
            said = counted(played.err)
            assert said["failed"] > 200 and said["errors"] == said["left"] == 0, said
            # a request of no bytes that fails is none of ours
            none = said["failed"] - played.result["failed"]
            assert 0 <= none <= 10, (said, played.result["failed"])
            good(played, playback, played.result["failed"])


def test_left_blocks(scratch):
    preload = checker(scratch)
    playback = workload("left_alive")
    path = playback.write(scratch + "/p")
    for mode in "serial", "ordered", "threads":
        played = play(path, f"mode={mode}", "keep=1", preload=preload)
        good(played, playback)
        assert counted(played.err)["left"] == len(playback.live)


def test_serial(scratch):
    """A file of several buffers: samples, frames, addresses and timed calls, all in place."""
    playback = Playback("\n".join(churn(3500)))
    assert len(playback.order) > 3 * 8192
    path = playback.write(scratch + "/p")
    played = play(path, "addresses=1", "samples=100", "frames=7", "latency=4", "drain=1,2")
    result = good(played, playback)
    births = sum(playback.ops) - playback.ops[2]
    assert len(played.addresses) == births
    assert all(address and usable for address, usable in played.addresses)
    for found, n in ([s["op"] for s in played.samples], 100), \
            ([f[0]["op"] for f in played.frames], 7):
        assert found == [result["calls"] * i // n for i in range(1, n + 1)], found
    assert sum(map(sum, result["latency"])) > result["calls"] // 8
    assert [sum(row) > 100 for row in result["latency"]] == [True] * 3
    assert result["drain_ms"][:3] == (1, 2, 0)
    said = counted(play(path, preload=checker(scratch)).err)
    assert fits(said, playback, 1, "churn") == []


def test_samples_of_threads(scratch):
    playback = workload("ping_pong", 6000)
    path = playback.write(scratch + "/p")
    played = play(path, "mode=threads", "samples=10", "frames=2", "latency=10")
    result = good(played, playback)
    assert [s["op"] for s in played.samples] == [result["calls"] * i // 10 for i in range(1, 11)]
    assert [s["ns"] for s in played.samples] == sorted(s["ns"] for s in played.samples)
    assert len(played.frames) == 2 and sum(map(sum, result["latency"])) > 600


def test_deterministic(scratch):
    """Twice the same addresses and the same peak, where addresses are not random."""
    playback = workload("pipeline")
    path = playback.write(scratch + "/p")
    for mode in "serial", "ordered":
        runs = [play(path, f"mode={mode}", "addresses=1", "aslr=0", "cpu=0") for _ in range(2)]
        for run in runs:
            good(run, playback)
        if harness.run(["setarch", "-R", "true"]).status != 0:
            raise harness.Skip("this system does not allow fixed addresses")
        assert [run.result["aslr"] for run in runs] == [0, 0]
        assert runs[0].addresses == runs[1].addresses, mode
        peaks = [run.result["peak_rss"] for run in runs]
        assert abs(peaks[0] - peaks[1]) <= COUNTED_AT_ONCE, (mode, peaks)


def test_frames(scratch):
    """Pages of living blocks are resident where they were touched, and nowhere else."""
    text = """
    0 malloc small 100
    0 malloc big 1000000
    0 malloc touched 1000000
    0 touch 300000
    0 malloc unknown 1000000
    0 touch 1152921504606846975
    0 free big
    """
    playback = Playback(text)
    path = playback.write(scratch + "/p")
    played = play(path, "addresses=1", "frames=1", "at=4", "touch=recorded", "samples=5")
    good(played, playback)
    small, big, touched, unknown = [address for address, _ in played.addresses]
    assert [f[0]["op"] for f in played.frames] == [4, 5]
    resident = played.resident
    assert resident(0, small) and resident(1, small)
    for address, size, want in (big, 1000000, 1000000), (touched, 1000000, 300000), \
            (unknown, 1000000, 1000000):
        for at in range(0, size, 4096):
            if at + 4096 < want or at > want + 4096:
                assert resident(0, address + at) == (at < want), (at, want)
    assert resident(1, big + 500000) in (None, False), "freed, and still there"
    assert played.samples[3]["rss"] >= 2300000 > played.samples[4]["rss"]
    last = played.samples[-1]
    assert last["op"] == 5 and last["anon"] <= last["rss"] <= last["mapped"]


def test_frames_of_a_large_heap(scratch):
    """More than one piece, and neighbours of the runner's own memory."""
    playback = Playback("\n".join(f"0 malloc b{i} 100000" for i in range(1500)))
    played = play(playback.write(scratch + "/p"), "addresses=1", "frames=3",
                  env={"MALLOC_TOP_PAD_": "200000000"})
    good(played, playback)
    assert played.frames[-1][0]["rss"] > 150000000
    for address, usable in played.addresses:
        assert played.resident(2, address) and played.resident(2, address + 99999)
    whole = sum(bin(int.from_bytes(bits, "little")).count("1")
                for _, _, bits in played.frames[-1][1]) * 4096
    assert abs(whole - played.frames[-1][0]["rss"]) < 1 << 20, whole


def test_paced(scratch):
    """Recorded times are waited for; in mode serial too."""
    text = "0 create 1\n0 time 0\n"
    for i in range(10):
        text += f"0 time {i * 20000000}\n0 malloc a{i} 10\n1 time {i * 20000000 + 5}\n1 free a{i}\n"
    playback = Playback(text)
    path = playback.write(scratch + "/p")
    for mode in "serial", "threads":
        result = good(play(path, f"mode={mode}", "speed=2"), playback)
        assert result["wall_ns"] >= 90000000, result["wall_ns"]
        assert good(play(path, f"mode={mode}"), playback)["late_ns"] == 0


def test_passes(scratch):
    playback = Playback(CHURN)
    preload = checker(scratch)
    played = play(playback.write(scratch + "/p"), "passes=3", "frames=1", preload=preload)
    assert played.status == 0, played.err
    assert played.result["calls"] == 3 * sum(playback.ops)
    assert [f[0]["op"] for f in played.frames] == [sum(playback.ops)], "only the last pass"
    said = counted(played.err)
    assert said["malloc"] == 3 * playback.ops[1] and said["errors"] == said["left"] == 0, said


def test_startup():
    ran = harness.run([RUNNER, "mode=startup"])
    played = Played(ran)
    assert played.status == 0 and played.kinds == ["result"], played.err
    assert 500000 < played.result["base_rss"] < 5000000
    assert played.result["peak_rss"] <= 1 << 20


def test_launcher_does_not_count(scratch):
    """A launcher of 200 MB leaves nothing of it in the figures."""
    playback = Playback(CHURN)
    path = playback.write(scratch + "/p")
    ballast = bytearray(b"x" * 200000000)
    result = good(play(path), playback)
    assert len(ballast) == 200000000
    assert result["start_hwm"] < 20000000 and result["peak_rss"] < 20000000, result


REFUSED_SETTINGS = [
    ("mode=fast", "'mode=fast': not a value of this key"),
    ("samples=-1", "'samples=-1': needs a number"),
    ("samples=99999999999999999999999", "too large a number"),
    ("drain=1,x", "'drain=1,x': needs a number"),
    ("drain=1,2,3,4,5,6,7,8,9", "more than 8 numbers"),
    ("colour=red", "'colour=red': not a known KEY=VALUE"),
    ("mode=threads addresses=1", "not with mode=threads"),
    ("mode=ordered speed=1", "not with mode=ordered"),
    ("mode=threads passes=2", "only with mode=serial"),
    ("passes=2 addresses=1", "not with addresses=1 or speed="),
    ("null=1 latency=7", "no latency"),
    ("at=100000000", "at=100000000: there are only"),
]


def test_refused_settings(scratch):
    path = Playback(CHURN).write(scratch + "/p")
    for words, said in REFUSED_SETTINGS:
        played = play(path, *words.split())
        assert played.status == 2 and said in played.err, (words, played.status, played.err)
        assert played.err.count("\n") == 1 and played.kinds == [], words
    ran = harness.run([RUNNER])
    assert ran.status == 2 and b"no playback file" in ran.err


def bad_files():
    """(what, a playback that is wrong, words of the refusal)"""
    def order(*words, slots=1, **more):
        p = Playback("")
        p.order, p.ops = list(words), [0] + [sum(w & 15 == k for w in words) for k in range(1, 6)]
        p.slots = [None] * slots
        for name, value in more.items():
            setattr(p, name, value)
        return p

    born = playback.call(playback.MALLOC, 0, 10)
    dies = playback.call(playback.FREE, 0, 0)
    word = playback.other
    yield "free first", order(dies), "frees a slot that holds no block"
    yield "twice born", order(born, born), "allocated in a slot that holds one"
    yield "slot", order(playback.call(1, 5, 10), born, dies), "beyond the table"
    yield "slots", order(born, slots=9), "more slots than its calls can use"
    yield "ext", order(playback.ext(), word(playback.TIME, 0)), "EXT without a call"
    yield "last ext", order(born, playback.ext()), "EXT without a call"
    yield "aligned", order(playback.call(playback.ALIGNED, 0, 10)), "ALIGNED without"
    yield "align", order(playback.ext(60), born), "an impossible alignment"
    yield "touch", order(playback.TOUCH | 16), "TOUCH without a call"
    yield "touch free", order(born, dies, playback.TOUCH | 16), "TOUCH after a call"
    yield "op 13", order(13), "an unknown operation"
    yield "end", order(born, playback.END, dies), "words after END"
    yield "time", order(playback.TIME | 32, playback.TIME | 16), "TIME goes backwards"
    yield "switch", order(word(playback.SWITCH, 7)), "a thread that the file does not have"
    yield "exit", order(word(playback.EXIT, 0), born), "a call of a thread that has ended"
    yield "gone", order(word(playback.GONE, 0)), "a thread that has not ended"


def bad_streams():
    born = playback.call(playback.MALLOC, 0, 10)
    dies = playback.call(playback.FREE, 0, 0)
    create = playback.other(playback.CREATE, 1)
    first_dead = playback.ext(wait=3)  # generation 2: born once, dead

    def streams(*both, order="0 create 1\n0 malloc a 1\n0 free a"):
        p = Playback(order)
        p.streams = dict(enumerate(map(list, both)))
        return p

    yield "race", streams([create, born], [dies]), "does not wait for the thread that used"
    yield "deadlock", streams([create, first_dead, born], [playback.ext(wait=4), dies]), \
        "all threads wait for each other"
    yield "twice", streams([create, create, born, dies], []), "a thread that already exists"
    yield "nobody", streams([born, dies], [], []), "no thread creates thread 1"
    yield "more", streams([create, born, dies], [playback.ext(wait=3), born]), \
        "the threads have 3 calls, ORDER has 2"
    yield "switch", streams([create, playback.other(playback.SWITCH, 0)], []), "not allowed here"
    yield "exit", streams([create, playback.other(playback.EXIT, 1), born, dies], []), \
        "EXIT is another thread's"


def test_refused_files(scratch):
    """One line that says what and where, an ERROR record, status 3."""
    problems = []

    def refuses(what, said, *settings):
        played = play(os.path.join(scratch, "p"), *settings)
        if played.status != 3 or said not in played.err or played.err.count("\n") != 1:
            problems.append(f"{what}: status {played.status}: {played.err.strip()[-200:]}")
        elif played.kinds != ["error"] or played.error not in played.err:
            problems.append(f"{what}: records {played.kinds}")

    for what, wrong, said in bad_files():
        wrong.creator[1] = 0
        wrong.write(os.path.join(scratch, "p"))
        refuses(what, said)
    for what, wrong, said in bad_streams():
        wrong.creator.update({1: 0, 2: 0})
        wrong.write(os.path.join(scratch, "p"))
        refuses(what, said, "mode=threads")
    return problems


def test_damaged_files(scratch):
    """Cut anywhere, or any byte changed: refused, and never a crash."""
    path = workload("short_threads", 12).write(scratch + "/p")
    with open(path, "rb") as file:
        whole = file.read()
    bad = os.path.join(scratch, "bad")
    used = [i for i in range(0, len(whole), 61) if i < 1736 or any(whole[i & ~63:(i & ~63) + 64])]
    for at in used:
        with open(bad, "wb") as file:
            file.write(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1:])
        played = play(bad, "mode=threads")
        assert played.status == 3 and played.kinds == ["error"], (at, played.status, played.err)
    for length in range(0, len(whole), len(whole) // 25):
        with open(bad, "wb") as file:
            file.write(whole[:length])
        assert play(bad).status == 3, length
    for other in "/dev/null", scratch, scratch + "/none":
        assert play(other).status == 3, other


def test_stall(scratch):
    """An allocator that never returns does not keep the runner for ever."""
    hang = built(scratch, "hang.c", "hang.so", "-O1", "-fPIC", "-shared")
    path = workload("ping_pong", 200).write(scratch + "/p")
    for mode in "serial", "ordered", "threads":
        played = play(path, f"mode={mode}", "stall=1", preload=hang)
        assert played.status == 1 and "no progress for 1 seconds" in played.err, played.err
        assert played.kinds[-1] == "error"


def test_slow_reader(scratch):
    """A reader that takes its time is no stall."""
    path = Playback("\n".join(churn(3500))).write(scratch + "/p")
    ran = harness.run(["sh", "-c", f"{RUNNER} in={path} addresses=1 stall=1 | (sleep 2.5; cat)"])
    played = Played(ran)
    assert played.whole and played.kinds[-1] == "result", played.err


def test_other_allocators(scratch):
    """Those that are installed play everything; usable sizes are their own."""
    playback, missing = workload("pipeline"), []
    path = playback.write(scratch + "/p")
    churn = Playback(CHURN)
    churned = churn.write(scratch + "/c")
    for name in "jemalloc.so.2", "mimalloc.so.[23]", "tcmalloc_minimal.so.4", \
            "tbbmalloc_proxy.so.2":
        found = glob.glob(f"/usr/lib/x86_64-linux-gnu/lib{name}")
        if not found:
            missing.append(name)
            continue
        preload = found[0]
        for mode in "serial", "ordered", "threads":
            good(play(path, f"mode={mode}", preload=preload), playback)
        played = play(churned, "addresses=1", "frames=1", preload=preload)
        good(played, churn)
        assert all(address and usable for address, usable in played.addresses), name
        live = [a for a, _ in played.addresses[-4:]]
        assert all(played.resident(0, a) for a in live[-1:]), name
    if missing:
        raise harness.Skip(f"not installed: {' '.join(missing)}")


def sanitized(scratch, kind):
    """The runner built with a sanitizer plays everything, in every mode, without a word.

    But for ThreadSanitizer in mode ordered: it knows a thread by its storage, as allocators do."""
    sources = sorted(glob.glob(os.path.join(harness.ROOT, "src", "runner", "*.c")))
    runner = built(scratch, sources, kind, "-O1", f"-fsanitize={kind}")
    for name in WORKLOADS:
        playback = workload(name, CHECKED[name])
        path = playback.write(os.path.join(scratch, name))
        for mode in ("serial", "threads") + ("ordered",) * (kind != "thread"):
            played = play(path, f"mode={mode}", "touch=full", "latency=5", runner=runner)
            good(played, playback)
            assert played.err == "", (name, mode, played.err)


def test_address_sanitizer(scratch):
    sanitized(scratch, "address")


def test_thread_sanitizer(scratch):
    sanitized(scratch, "thread")


def test_threads_are_gone(scratch):
    """A thread that has ended has given its caches back before the next call."""
    preload = built(scratch, "exits.c", "exits.so", "-O1", "-fPIC", "-shared")
    text = "0 malloc z 1000\n"
    for t in range(1, 6):
        text += f"0 create {t}\n{t} malloc a{t} 8\n{t} exit\n0 gone {t}\n0 malloc b{t} {1000 + t}\n"
    playback = Playback(text)
    path = playback.write(scratch + "/p")
    for mode in "threads", "ordered":
        played = play(path, f"mode={mode}", preload=preload)
        good(played, playback)
        assert played.err == "", (mode, played.err)
    assert play(path, preload=preload).err != "", "one thread flushes nothing"


def words_of(path):
    """ORDER of a playback file."""
    with open(path, "rb") as file:
        data = file.read()
    offset, size = struct.unpack_from("<2Q", data, 40)
    return [word for (word,) in struct.iter_unpack("<Q", data[offset:offset + size])]


def recorded(scratch, path, *settings):
    """What a run of the runner compiles to, recorded by libmprof."""
    log, out = scratch + "/loop.log", scratch + "/loop.playback"
    for argv in ([harness.MPROF, "record", "-o", log, "--", RUNNER, f"in={path}", "keep=1",
                  *settings], [harness.MPROF, "sort", "-o", out, log]):
        ran = harness.run(argv)
        assert ran.status == 0, ran.err.decode()
    return words_of(out)


def calls_by_thread(words):
    """(thread, operation, size) of each call, without the loader's: calloc and what frees that."""
    thread, calls, loaders = 0, [], set()
    for word in words:
        op, slot = word & 15, word >> 32
        if op == playback.SWITCH:
            thread = slot
        elif op == playback.CALLOC:
            loaders.add(slot)
        elif op == playback.FREE and slot in loaders:
            loaders.remove(slot)
        elif playback.MALLOC <= op <= playback.ALIGNED:
            calls.append((thread, op, word >> 4 & (1 << 28) - 1))
    return calls


def test_closed_loop(scratch):
    """A recorded replay compiles to what was played: to the word, slots and functions included."""
    played = Playback(CHURN)
    again = recorded(scratch, played.write(scratch + "/p"))
    kept = (playback.END, playback.EXIT, playback.TIME)
    assert [word for word in again if word & 15 not in kept] == played.order
    for name in "ping_pong", "pipeline", "sink":
        played = workload(name, CHECKED[name])
        again = recorded(scratch, played.write(scratch + "/p"), "mode=ordered")
        assert calls_by_thread(again) == calls_by_thread(played.order), name


def test_mprof_reads_them(scratch):
    """What playback.py wrote is a playback file to mprof too, with the same figures."""
    for name in "pipeline", "left_alive":
        playback = workload(name, CHECKED[name])
        ran = harness.run([harness.MPROF, "replay", "--json", "--quick", "--reps=1", "--no-heaps",
                           "--allocator=glibc", playback.write(os.path.join(scratch, name))])
        assert ran.status == 0, ran.err.decode()
        program = harness.load_json(ran.out)["program"]
        assert program["calls"] == sum(playback.ops), program
        assert program["peak_live_bytes"] == playback.peak_bytes, program
        assert program["threads"] == max(playback.streams) + 1, program


def test_five_thousand_threads(scratch):
    playback = workload("short_threads", 5000)
    path = playback.write(scratch + "/p")
    for mode in "threads", "ordered":
        result = good(play(path, f"mode={mode}"), playback)
        assert result["threads"] == 5001
        assert result["peak_rss"] < 4 << 20, result["peak_rss"]
