# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# program.sh - programs that control their own recording: <mprof/program.h>.

# Blocks of 1000 to 6000 bytes: 1000 before the main thread asks to be counted, 2000 after, 3000
# while it is ignored; the same in another thread, which may begin ignored.
keep_program() {
	cat >keeps.c <<'END'
#include <mprof/program.h>
#include <pthread.h>
#include <stdlib.h>
static void *before(int n) { return malloc(n); }
static void *counted(int n) { return malloc(n); }
static void *after(int n) { return malloc(n); }
static void *part(void *first)
{
	int k = *(int *)first;
	void *p = before(k), *q, *r;
	mprof_count_thread();
	q = counted(k + 1000);
	mprof_ignore_thread();
	r = after(k + 2000);
	free(p);
	free(q);
	return r;
}
int main(void)
{
	int mine = 1000, other = 4000;
	pthread_t t;
	part(&mine);
	pthread_create(&t, NULL, part, &other);
	pthread_join(t, NULL);
	return 0;
}
END
	cc -g -O1 -fno-inline -fno-builtin -pthread -I"$root/include" -o keeps keeps.c 2>err ||
		bad "does not compile: $(cat err)"
}

keep_rows() { # PROFILE
	"$mprof" report hot --by function --sort calls --top 0 --json "$1" 2>err | jq -r '[.rows[] |
		select(.function == "before" or .function == "counted" or .function == "after") |
		.function + " \(.figures.calls) \(.figures.total) \(.figures.live)"] | sort | join(", ")'
}

test_threads_that_ask_to_be_counted() {
	keep_program
	run ./keeps
	expect_status 0
	run "$mprof" profile -q --paused -o paused -- ./keeps
	expect_status 0
	expect_same 'paused at first' "$(keep_rows paused)" 'counted 2 7000 0'
	run "$mprof" profile -q -o all -- ./keeps
	expect_same 'counted at first' "$(keep_rows all)" 'before 2 5000 0, counted 2 7000 0'
	run "$mprof" profile -q --sample-calls 1 --paused -o samples -- ./keeps
	expect_same samples "$(keep_rows samples)" 'counted 2 7000 0'
	# A trace has every call.
	run "$mprof" record -q -o trace -- ./keeps
	expect_same 'a trace' "$(keep_rows trace)" 'after 2 9000 9000, before 2 5000 0, counted 2 7000 0'
}
