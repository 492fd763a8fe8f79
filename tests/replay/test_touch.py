# SPDX-License-Identifier: LGPL-3.0-or-later
"""touch=recorded: a replay writes as much of large blocks as the program did, and so has as many
page faults, where touch=page has more."""

import os
import resource
import shutil
import subprocess

import harness
from harness import MPROF, run
from runner import play
from test_import import Compiled

FONT_PAGE = """%!PS
/Times-Roman findfont 11 scalefont setfont
1 1 60 {
  pop
  20 20 780 { 20 exch moveto (The quick brown fox jumps over the lazy dog. ) show } for
  showpage
} for
"""

VICTIM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define KEPT 20

static long faults(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return r.ru_minflt;
}

/* Blocks of a megabyte and more of which little is used, small ones between them, and
   sometimes one that is filled and then grows. */
int main(void)
{
	static char *large[KEPT], *small[4096];
	long before;

	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	memset(small, 0, sizeof(small));
	before = faults();
	for (int i = 0; i < 400; i++) {
		size_t size = ((size_t)1 << 20) + 40960u * (i % 37), used = 4096u * (i % 17);

		free(large[i % KEPT]);
		large[i % KEPT] = malloc(size);
		memset(large[i % KEPT], 1, i % 40 ? used : size);
		if (i % 40 == 0)
			large[i % KEPT] = realloc(large[i % KEPT], size + 500000);
		for (int k = 0; k < 50; k++) {
			int at = (i * 50 + k) % 4096;

			free(small[at]);
			small[at] = malloc(30 + at % 200);
			memset(small[at], 1, 30);
		}
	}
	printf("%ld\n", faults() - before);
	for (int i = 0; i < KEPT; i++)
		free(large[i]); /* looked at when they go */
	return 0;
}
"""


def compiled(command, scratch, *options):
    log, path = os.path.join(scratch, "log"), os.path.join(scratch, "play")
    ran = run([MPROF, "record", "-o", log, *options, "--unwind=none", "--", *command])
    assert ran.status == 0, ran.err.decode()
    ran = run([MPROF, "sort", log, "-o", path])
    assert ran.status == 0, ran.err.decode()
    return path


def faults(path, how):
    played = play(path, "mode=serial", f"touch={how}", "thp=0")
    assert played.status == 0, played.error
    return played.result["minflt"]


def close(got, real, what):
    return [] if abs(got - real) <= .15 * real else [f"{what}: {got} faults, not {real}"]


def test_faults_of_a_program(scratch):
    program = os.path.join(scratch, "victim")
    ran = run(["gcc", "-x", "c", "-O1", "-fno-builtin", "-o", program, "-"], stdin=VICTIM.encode())
    assert ran.status == 0, ran.err.decode()
    real = int(run([program]).out)
    path = compiled([program], scratch, "--touched")
    assert Compiled(path).summary["touched_blocks"] >= 410
    page = faults(path, "page")
    assert page > 2 * real, f"touch=page has {page} faults, and the program {real}"
    return close(faults(path, "recorded"), real, "touch=recorded")


def test_not_recorded_is_page(scratch):
    path = compiled(["sort", os.path.realpath(__file__)], scratch)
    assert Compiled(path).summary["touched_blocks"] == 0
    assert not Compiled(path).flags & 4
    page, recorded = faults(path, "page"), faults(path, "recorded")
    assert abs(page - recorded) <= 2, f"{page} and {recorded} faults"


def own_faults(command, cwd):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
    assert subprocess.call(command, cwd=cwd, env=harness.clean_environment(), timeout=harness.TIMEOUT,
                           stdout=subprocess.DEVNULL) == 0
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before


def test_faults_of_ghostscript(scratch):
    """Without those that it has to start: files mapped, relocations."""
    gs = shutil.which("gs")
    if not gs:
        raise harness.Skip("no gs")
    with open(os.path.join(scratch, "page.ps"), "w", encoding="utf-8") as file:
        file.write(FONT_PAGE)
    command = [gs, "-q", "-dBATCH", "-dNOPAUSE", "-sDEVICE=nullpage",
               os.path.join(scratch, "page.ps")]
    real = own_faults(command, scratch) - own_faults([gs, "--version"], scratch)
    path = compiled(command, scratch, "--touched")
    page = faults(path, "page")
    assert page > 2 * real, f"touch=page has {page} faults, and the program {real}"
    return close(faults(path, "recorded"), real, "touch=recorded")
