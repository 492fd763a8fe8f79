# SPDX-License-Identifier: LGPL-3.0-or-later
"""heaps.py - real programs whose heap is 16 MB or more, for `bench replay`.

The programs of workloads.py with more to do, and others.  Everything they read
is made here, by a seeded generator, and (but for redis, which answers a client)
they ask for the same blocks in every run: so the peak of one run under an
allocator can be compared with the replay of another run's trace.
"""

import base64
import os
import subprocess

import measure
import workloads
from workloads import Missing, Workload, need


class Clang(workloads.Clang):
    name = "clang -O1"
    sizes = 1, 2


class Opt(workloads.Compiler):
    """The optimiser alone, on what clang makes of the same source."""

    name = "opt -O3"
    sizes = 16, 24

    def make(self, size):
        clang = need("clang++")
        opt = os.path.join(os.path.dirname(os.path.realpath(clang)), "opt")
        if not os.path.exists(opt):
            raise Missing("opt (llvm) is not installed")
        source = self.write("heavy.cc", self.source(size))
        subprocess.run([clang, "-std=c++17", "-O1", "-Xclang", "-disable-llvm-passes", "-emit-llvm",
                        "-c", source, "-o", self.path("heavy.bc")], check=True)
        return [opt, "-O3", self.path("heavy.bc"), "-o", "/dev/null"]


class Python(workloads.Python):
    """The system's, which every user of it has; not one that a bench happens to run in."""

    sizes = 3, 10

    def make(self, size):
        argv = super().make(size)
        return ["/usr/bin/python3" if os.path.exists("/usr/bin/python3") else argv[0]] + argv[1:]


class Sqlite(workloads.Sqlite):
    sizes = 6, 15


class Perl(workloads.Perl):
    sizes = 2, 5


class Lua(workloads.Lua):
    """Trees that are built, walked and dropped; all through realloc."""

    sizes = 14, 16

    def make(self, size):
        script = self.write("p.lua", """
local function tree(d, i)
	if d == 0 then return { s = "leaf" .. i } end
	return { tree(d - 1, 2 * i), tree(d - 1, 2 * i + 1), n = i }
end
local function count(t)
	if t.s then return #t.s end
	return 1 + count(t[1]) + count(t[2])
end
local keep, n = tree(%d, 1), 0
for i = 1, 40 do n = n + count(tree(%d, i)) end
local words = {}
for i = 1, %d do words[i %% 5000] = ("w" .. i):rep(i %% 9) end
print(n + count(keep), #words)
""" % (size, size - 4, 20000 * size))
        return [need("lua5.4"), script]


class Z3(workloads.Z3):
    sizes = 3, 5


class Gdb(workloads.Gdb):
    sizes = 8, 16


class Jq(workloads.Jq):
    sizes = 5, 12


class Xmllint(workloads.Xmllint):
    name = "xmllint --noout"
    sizes = 2, 4

    def make(self, size):
        argv = super().make(size)
        return [argv[0], "--noout", argv[2]]


class Gawk(workloads.Gawk):
    """Many keys, and strings that grow."""

    sizes = 3, 8

    def make(self, size):
        argv = super().make(size)
        return [argv[0], '{ n[$2 $1 % 40000] += $4; s[$3] = substr(s[$3] $2, 1, 2000); '
                'for (i = 1; i <= NF; i++) w[$i]++ } '
                'END { k = asorti(n, o); m = asorti(w, q); '
                'for (i = 1; i <= 5; i++) print o[i], q[i]; '
                'for (i in w) if (w[i] == 1) delete w[i]; print k, m, length(w) }', argv[2]]


class GitLog(workloads.Git):
    """Differences of a file of some megabytes, from packs of deltas."""

    name = "git log -p"
    sizes = 10, 40

    def make(self, size):
        argv = super().make(size)
        subprocess.run([argv[0], "-C", argv[2], "repack", "-q", "-a", "-d", "-f", "--threads=1"],
                       check=True, env=measure.clean_environment(self.env))
        return argv

    def history(self, commits):
        return self.versions(commits // 150, 30000)

    def versions(self, commits, length):
        lines = ["line %d of the file, %d" % (i, i * 7919 % 10007) for i in range(length)]
        out = []
        for n in range(commits):
            for _ in range(200):
                lines[self.random.randrange(len(lines))] = "changed %d %d" % (
                    n, self.random.randrange(10000))
            text = "\n".join(lines) + "\n"
            out.append("commit refs/heads/main\ncommitter A <a@example.org> %d +0000\n"
                       "data 8\nchange%02d\nM 644 inline f%d.txt\ndata %d\n%s\n" % (
                           1600000000 + n, n % 100, n % 2, len(text), text))
        return "".join(out)


class GitPack(GitLog):
    """Two threads look for deltas."""

    name = "git pack-objects"
    sizes = 24, 60
    steady = False  # who is done first gets more
    idle = ("git", "--version")

    def make(self, size):
        argv = super().make(size)
        self.stdin = self.write("objects", subprocess.run(
            [argv[0], "-C", argv[2], "rev-list", "--objects", "--all"], check=True, text=True,
            capture_output=True, env=measure.clean_environment(self.env)).stdout)
        return [argv[0], "-C", argv[2], "pack-objects", "--threads=2", "--no-reuse-delta", "-q",
                "--window=20", "--stdout"]


class Postscript(Workload):
    """Pages of text in many fonts, curves, and pictures."""

    name = "gs ppmraw"
    sizes = 2, 8
    device = ["-sDEVICE=ppmraw", "-r300", "-dBufferSpace=16000000", "-sOutputFile=/dev/null"]

    def make(self, size):
        gs = need("gs")
        script = self.write("pages.ps", "%!PS-Adobe-3.0\n" + "".join(
            self.page(n) for n in range(size)))
        return [gs, "-q", "-dBATCH", "-dNOPAUSE", "-dSAFER"] + self.device + [script]

    def page(self, n):
        fonts = ("Times-Roman", "Helvetica-Bold", "Courier", "Palatino-Roman", "Bookman-Demi",
                 "NewCenturySchlbk-Roman", "AvantGarde-Book", "Times-Italic",
                 "ZapfChancery-MediumItalic")
        out = []
        for i in range(60):
            out.append("/%s findfont %d scalefont setfont 50 %d moveto (%s) show\n" % (
                fonts[(n + i) % len(fonts)], 7 + (n * 3 + i) % 9, 780 - 12 * i,
                "page %d line %d of some words %d" % (n, i, i * 7919 % 10007)))
        for i in range(30):
            out.append("newpath %s moveto %s curveto %d setlinewidth stroke\n" % (
                "%d %d" % self.point(), " ".join("%d %d" % self.point() for _ in range(3)), i % 4))
        side = 128 + 32 * (n % 5)
        pixels = base64.a85encode(self.random.randbytes(3 * side * side), wrapcol=80).decode()
        out.append("gsave 300 100 translate 200 200 scale /DeviceRGB setcolorspace\n"
                   "<< /ImageType 1 /Width %d /Height %d /BitsPerComponent 8\n/Decode [0 1 0 1 0 1] "
                   "/ImageMatrix [%d 0 0 %d 0 0] /DataSource currentfile /ASCII85Decode filter >>\n"
                   "image\n%s~>\ngrestore\nshowpage\n" % (side, side, side, side, pixels))
        return "".join(out)

    def point(self):
        return self.random.randrange(50, 550), self.random.randrange(50, 780)


class PostscriptPdf(Postscript):
    name = "gs pdfwrite"
    sizes = 120, 150
    device = ["-sDEVICE=pdfwrite", "-sOutputFile=/dev/null"]


class Ruby(Workload):
    name = "ruby"
    sizes = 2, 5

    def make(self, size):
        script = self.write("p.rb", """
h = {}
(1..%d).each { |i| (h["key#{i * 7919 %% 10007}"] ||= []) << { n: i, s: "x" * (i %% 60 + 20) } }
h.delete_if { |k, _| k.end_with?("3") }
puts h.sum { |_, v| v.sum { |e| e[:s].size } }, h.keys.sort.first(3)
""" % (60000 * size))
        return [need("ruby"), "--disable=gems,jit", script]


class Php(Workload):
    """USE_ZEND_ALLOC=0: every string and array by malloc."""

    name = "php USE_ZEND_ALLOC=0"
    sizes = 1, 3

    def make(self, size):
        self.env = {"USE_ZEND_ALLOC": "0"}
        script = self.write("p.php", """<?php
$h = [];
for ($i = 1; $i <= %d; $i++)
	$h["key" . ($i * 7919 %% 10007)][] = ["n" => $i, "s" => str_repeat("x", $i %% 40)];
foreach (array_keys($h) as $k) if (substr($k, -1) == "3") unset($h[$k]);
ksort($h);
$n = 0;
foreach ($h as $rows) foreach ($rows as $r) $n += strlen($r["s"]);
echo count($h), " ", $n, " ", strlen(json_encode($h)), "\\n";
""" % (100000 * size))
        return [need("php"), "-n", "-d", "memory_limit=-1", script]


class Xsltproc(workloads.Xmllint):
    name = "xsltproc"
    sizes = 1, 3

    def make(self, size):
        data = super().make(size)[2]
        sheet = self.write("sheet.xsl", """<xsl:stylesheet version="1.0"
 xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:key name="k" match="row" use="key"/>
<xsl:template match="/"><out><xsl:for-each select="rows/row[position() &lt; 3000]">
<xsl:sort select="key"/><r id="{@id}" n="{count(key('k', key))}"><xsl:value-of select="v"/></r>
</xsl:for-each></out></xsl:template></xsl:stylesheet>
""")
        return [need("xsltproc"), "-o", "/dev/null", sheet, data]


class Redis(workloads.Redis):
    sizes = 3, 8
    linked = True


ALL = [Clang, Opt, Python, Perl, Lua, Ruby, Php, Sqlite, Z3, Postscript, PostscriptPdf, GitLog,
       Jq, Xmllint, Xsltproc, Gawk, Gdb, Redis]
