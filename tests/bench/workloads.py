# SPDX-License-Identifier: LGPL-3.0-or-later
"""workloads.py - real programs with a fixed piece of work each, made on the spot.

A workload is made in a directory of its own (make: not measured) and is then
run as often as wanted.  Inputs come from a seeded generator, so each run of
the bench does the same work.  Missing says which program is not installed.
"""

import os
import random
import shutil
import socket
import subprocess
import sys
import time

import measure


class Missing(Exception):
    pass


def need(program):
    path = shutil.which(program)
    if not path:
        raise Missing("%s is not installed" % program)
    return path


class Workload:
    """A command; subclasses give name and make(), which sets argv (and stdin)."""

    name = ""
    sizes = 1, 3  # of a quick bench, and of a full one
    linked = False  # to an allocator of its own
    steady = True  # asks for the same blocks in every run
    idle = ()  # what makes the program start and end at once

    def __init__(self, where, quick):
        self.where = os.path.join(where, self.name.replace(" ", "-").replace("/", "-")[:60])
        os.makedirs(self.where, exist_ok=True)
        self.stdin = None
        self.env = {}
        self.random = random.Random(1)
        self.argv = self.make(self.sizes[0 if quick else 1])

    def make(self, size):
        raise NotImplementedError

    def path(self, name):
        return os.path.join(self.where, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as f:
            f.write(text)
        return self.path(name)

    def launch(self, launch):
        return measure.Launch(launch.prefix, dict(launch.env, **self.env), launch.files)

    def run(self, launch):
        return measure.run(self.launch(launch), self.argv, stdin=self.stdin, cwd=self.where)


class Compiler(Workload):
    name = "cc1plus -O2"

    def make(self, size):
        gxx = need("g++")
        cc1 = subprocess.run([gxx, "-print-prog-name=cc1plus"], capture_output=True,
                             text=True, check=True).stdout.strip()
        if not os.path.exists(cc1):
            raise Missing("cc1plus is not installed")
        source = self.write("heavy.cc", self.source(2 * size))
        subprocess.run([gxx, "-std=c++17", "-E", "-o", self.path("heavy.ii"), source], check=True)
        return [cc1, "-fpreprocessed", "-quiet", "-std=c++17", "-O2", self.path("heavy.ii"),
                "-o", "/dev/null"]

    def source(self, boxes):
        head = "".join("#include <%s>\n" % h for h in (
            "algorithm", "chrono", "functional", "iostream", "map", "memory", "numeric",
            "regex", "set", "sstream", "string", "thread", "tuple", "unordered_map",
            "variant", "vector"))
        body = """
template <int N> struct box {
	std::map<std::string, std::vector<std::tuple<int, double, std::string>>> m;
	std::unordered_map<int, std::variant<int, std::string, std::set<long>>> u;
	std::function<int(const std::string &)> f;
	int work(const std::string &k)
	{
		auto &row = m[k];
		row.emplace_back(N, N * 0.5, k + std::to_string(N));
		std::sort(row.begin(), row.end(), [](auto &a, auto &b) {
			return std::get<2>(a) < std::get<2>(b); });
		u[N] = std::set<long>{ N, N + 1 };
		f = [this](const std::string &s) { return (int)(s.size() + m.size()) + N; };
		return std::accumulate(row.begin(), row.end(), f(k),
			[](int a, auto &t) { return a + std::get<0>(t); });
	}
};
"""
        uses = "".join("int use%d(box<%d> &b) { return b.work(\"k%d\"); }\n" % (i, i, i)
                       for i in range(boxes))
        return head + body + uses


class Clang(Compiler):
    name = "clang -O1"

    def make(self, size):
        clang = need("clang++")
        source = self.write("heavy.cc", self.source(size))
        subprocess.run([clang, "-std=c++17", "-E", "-o", self.path("heavy.ii"), source], check=True)
        return [clang, "-std=c++17", "-O1", "-c", self.path("heavy.ii"), "-o", "/dev/null"]


class Python(Workload):
    name = "python3 PYTHONMALLOC=malloc"

    def make(self, size):
        self.env = {"PYTHONMALLOC": "malloc"}
        script = self.write("p.py", """
import json, re
rows = [{"id": i, "name": "n%%d" %% (i * 7919 %% 10007), "tags": [str(i), str(i * 3)]}
        for i in range(%d)]
text = json.dumps(rows)
back = json.loads(text)
groups = {}
for row in back:
    groups.setdefault(row["name"][:3], []).append(row["tags"][0] + row["name"])
words = re.findall(r"n\\d+", text)
print(len(groups), len(words), sum(len(" ".join(sorted(g))) for g in groups.values()))
""" % (12000 * size))
        return [os.path.realpath(sys.executable), "-S", "-s", script]


class Sqlite(Workload):
    name = "sqlite3"

    def make(self, size):
        rows = 40000 * size
        self.stdin = self.write("work.sql", """
create table t(id integer primary key, k text, v real);
with recursive c(x) as (select 1 union all select x + 1 from c where x < %d)
 insert into t select x, 'key' || (x * 7919 %% 10007), x * 0.5 from c;
create index i on t(k);
select count(*), group_concat(k || v) is null from t group by substr(k, 1, 5) limit 3;
select count(distinct upper(k) || printf('%%.2f', v)) from t;
update t set k = replace(k, 'key', 'kk') where id %% 3 = 0;
select a.k, count(*) from t a join t b on a.k = b.k where a.id < 300 group by a.k limit 3;
""" % rows)
        return [need("sqlite3"), ":memory:"]


class Perl(Workload):
    name = "perl"

    def make(self, size):
        script = self.write("p.pl", """
use strict;
my (%%h, @a);
for my $i (1 .. %d) {
	my $k = "key" . ($i * 7919 %% 10007);
	push @{ $h{$k} }, { n => $i, s => "x" x ($i %% 40) };
	push @a, join(",", split(/e/, $k)) if $i %% 3 == 0;
}
my $n = 0;
for my $k (sort keys %%h) { $n += length($_->{s}) for @{ $h{$k} }; }
print scalar(@a), " $n\\n";
""" % (60000 * size))
        return [need("perl"), script]


class Lua(Workload):
    name = "lua5.4"

    def make(self, size):
        script = self.write("p.lua", """
local t, n = {}, 0
for i = 1, %d do
	local k = "key" .. (i * 7919 %% 10007)
	local row = t[k]
	if not row then row = {}; t[k] = row end
	row[#row + 1] = { id = i, s = k .. ":" .. i }
	if #row > 9 then t[k] = nil end
end
for k, row in pairs(t) do
	for _, r in ipairs(row) do n = n + #r.s:gsub("%%d", "x") end
end
print(n)
""" % (100000 * size))
        return [need("lua5.4"), script]


class Git(Workload):
    name = "git log -p"

    def make(self, size):
        git = need("git")
        repository = self.path("repository")
        self.env = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_PAGER": "cat"}
        env = measure.clean_environment(self.env)
        subprocess.run([git, "init", "-q", repository], check=True, env=env)
        subprocess.run([git, "-C", repository, "fast-import", "--quiet"], check=True, env=env,
                       input=self.history(150 * size).encode())
        return [git, "-C", repository, "log", "-p", "--stat", "main"]

    def history(self, commits):
        lines = ["line %d of the file" % i for i in range(400)]
        out = []
        for n in range(commits):
            for _ in range(5):
                lines[self.random.randrange(len(lines))] = "changed %d %d" % (
                    n, self.random.randrange(10000))
            text = "\n".join(lines) + "\n"
            out.append("commit refs/heads/main\ncommitter A <a@example.org> %d +0000\n"
                       "data 8\nchange%02d\nM 644 inline f%d.txt\ndata %d\n%s\n" % (
                           1600000000 + n, n % 100, n % 7, len(text), text))
        return "".join(out)


class Jq(Workload):
    name = "jq"

    def make(self, size):
        rows = ",\n".join('{"id":%d,"k":"key%d","v":[%d,%d.5],"o":{"a":"%s"}}' % (
            i, i * 7919 % 1009, i, i, "x" * (i % 30)) for i in range(6000 * size))
        data = self.write("data.json", "[" + rows + "]\n")
        return [need("jq"), "-c", "group_by(.k)[] | {k: .[0].k, n: length, s: (map(.v[1]) | add), "
                "t: (map(.o.a) | join(\"-\") | length)}", data]


class Gawk(Workload):
    name = "gawk"

    def make(self, size):
        lines = "".join("%d key%d word%d %d.25 tail of the line\n" % (
            i, i * 7919 % 10007, i * 31 % 997, i) for i in range(40000 * size))
        data = self.write("data.txt", lines)
        return [need("gawk"), '{ n[$2] += $4; s[$3] = substr(s[$3] $2, 1, 200); '
                'gsub(/e/, "E"); split($0, a, " "); l += length(a[5]) } '
                'END { k = asorti(n, o); for (i = 1; i <= 5; i++) print o[i], n[o[i]]; '
                'print k, l }', data]


class Xmllint(Workload):
    name = "xmllint"

    def make(self, size):
        rows = "".join('<row id="%d"><key type="t">k%d</key><v>%d.5</v><!-- c --></row>\n' % (
            i, i * 7919 % 1009, i) for i in range(25000 * size))
        data = self.write("data.xml", "<?xml version=\"1.0\"?>\n<rows>\n%s</rows>\n" % rows)
        return [need("xmllint"), "--format", data]


class Node(Workload):
    name = "node"

    def make(self, size):
        script = self.write("p.js", """
const zlib = require("zlib"), crypto = require("crypto");
const rows = [];
for (let i = 0; i < %d; i++)
	rows.push({ id: i, k: "key" + (i * 7919 %% 10007), s: "x".repeat(i %% 40) });
const groups = new Map();
for (const r of JSON.parse(JSON.stringify(rows))) {
	const k = r.k.slice(0, 5);
	groups.set(k, (groups.get(k) || "") + r.s);
}
let n = 0;
for (let i = 0; i < 10; i++)
	for (const [k, v] of groups) {
		n += zlib.deflateSync(v).length;
		n += crypto.createHash("sha256").update(v).digest().length;
		n += Buffer.alloc(9000 + i).length;
	}
console.log(groups.size, n);
""" % (10000 * size))
        return [need("node"), "--single-threaded", script]


class Z3(Workload):
    """Quantifiers and arrays: satisfiable, with a model that takes some search."""

    name = "z3"

    def make(self, size):
        out = ["(declare-fun f (Int) Int)", "(declare-fun g (Int Int) Int)",
               "(declare-const a (Array Int Int))",
               "(assert (forall ((x Int)) (! (>= (f x) x) :pattern ((f x)))))",
               "(assert (forall ((x Int) (y Int))"
               " (! (= (g x y) (+ (f x) (f y))) :pattern ((g x y)))))"]
        n = 20 + 20 * size
        out += ["(declare-const x%d Int)" % i for i in range(n)]
        for i in range(n):
            out.append("(assert (and (> x%d 0) (< x%d %d)))" % (i, i, n * 3))
            out.append("(assert (= (select (store a x%d %d) %d) (g x%d %d)))" % (
                i, i * 7 % 101 + n * 8, i * 31 % 97, (i * 5 + 1) % n, i))
            if i:
                out.append("(assert (or (> (+ x%d (* 2 x%d)) %d) (< (f x%d) (f x%d))))" % (
                    i, i - 1, i % 13 + 3, i, i * 3 % n))
        return [need("z3"), self.write("p.smt2", "\n".join(out + ["(check-sat)", ""]))]


class Gdb(Compiler):
    """Reads the debug information of an object, and answers questions about types."""

    name = "gdb"

    def make(self, size):
        gdb, gxx = need("gdb"), need("g++")
        source = self.write("heavy.cc", self.source(size))
        subprocess.run([gxx, "-std=c++17", "-g", "-c", "-o", self.path("heavy.o"), source],
                       check=True)
        return [gdb, "-nx", "-batch", "-readnow", "-ex", "info types box", "-ex",
                "info functions work", "-ex", "ptype box<0>", self.path("heavy.o")]


class Redis(Workload):
    """The server's tree is what is measured; the client is never preloaded."""

    name = "redis-server"

    def make(self, size):
        self.client = need("redis-benchmark")
        self.requests = 12500 * size
        return [need("redis-server"), "--save", "", "--appendonly", "no", "--bind", "127.0.0.1",
                "--daemonize", "no", "--dir", self.where]

    def ask(self, port, words):
        with socket.create_connection(("127.0.0.1", port), 10) as s:
            s.sendall(words.encode() + b"\r\n")
            return s.recv(64)

    def wait(self, port):
        for _ in range(1000):
            try:
                if self.ask(port, "PING").startswith(b"+PONG"):
                    return
            except OSError:
                pass
            time.sleep(0.01)
        raise measure.Failed("redis-server did not answer in 10 s")

    def run(self, launch):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        server = measure.Running(self.launch(launch), self.argv + ["--port", str(port)],
                                 cwd=self.where)
        try:
            self.wait(port)
            subprocess.run([self.client, "-h", "127.0.0.1", "-p", str(port), "-q", "-c", "20",
                            "-n", str(self.requests), "-r", "10000", "-d", "100", "-P", "8",
                            "-t", "set,get,incr,lpush,sadd,hset,zadd"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
                           env=measure.clean_environment(), timeout=measure.SECONDS_MAX)
            self.ask(port, "SHUTDOWN NOSAVE")
        except (measure.Failed, subprocess.SubprocessError, OSError) as why:
            server.kill()
            server.result(want=None)
            raise measure.Failed(str(why)) from None
        return server.result()


ALL = [Compiler, Clang, Python, Sqlite, Perl, Lua, Node, Z3, Gdb, Redis, Git, Jq, Gawk, Xmllint]
