# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2016
#
# ends.sh - what a report says of runs that ended unusually, went wrong, or did nothing.
# Calls that failed: of which functions, and where the first one was.
test_failed_calls_have_a_place() {
	cat >fails.c <<'END'
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
static void *ask(size_t size) { return malloc(size); }
int main(int argc, char **argv)
{
	for (int i = argc; i; i--)
		if (ask(PTRDIFF_MAX - 100 * i))
			return 1;
	return argc > 3 && mmap(NULL, 1ull << 60, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}
END
	compile fails
	report_of ./fails
	expect_words out '1 call of malloc for 8.0 EiB failed, '
	expect_words out ' after the start, in ask (fails.c:4).'
	report_of ./fails 2
	expect_words out '2 calls of malloc failed; the first was for 8.0 EiB, '
	report_of ./fails 2 3 4
	expect_words out '5 calls failed (4 of malloc, 1 of mmap); the first was one of malloc for 8.0 EiB, '
	expect_words out ' after the start, in ask (fails.c:4).'
	run "$mprof" report --json log
	expect_text out '"bytes":9223372036854775407,' # PTRDIFF_MAX - 400
	expect_same call "$(json out '.first_failed | [.call, .process, .function, .line] | join(" ")')" 'malloc 1 ask 4'
	run "$mprof" report log # from what the first report kept
	expect_words out ' after the start, in ask (fails.c:4).'
	"$mprof" record -o true.log -- true 2>/dev/null
	run "$mprof" report --json true.log
	expect_same none "$(json out .first_failed)" null
	expect_documented run out
}

