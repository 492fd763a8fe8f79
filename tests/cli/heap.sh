# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2016
#
# heap.sh - what is said of leaks, mappings and whose blocks they are, of
# programs whose truth is known.

# Keeps 100,000 bytes in each of 300 steps, in THREADS threads of PROCESSES
# processes, then ends by HOW: a signal, 0 (exit) or "wait" (until it is killed).
leaker() {
	cat >leaker.c <<'END'
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void *kept[8][300];
static void *keep(void) { return malloc(100000); }
static void *steps(void *into)
{
	void **to = into;
	for (int i = 0; i < 300; i++) {
		to[i] = keep();
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return NULL;
}
int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 1, processes = argc > 3 ? atoi(argv[3]) : 1, i;
	pthread_t t[8];
	for (i = 1; i < processes; i++)
		if (!fork())
			break;
	for (i = 1; i < threads; i++)
		pthread_create(&t[i], NULL, steps, kept[i]);
	steps(kept[0]);
	for (i = 1; i < threads; i++)
		pthread_join(t[i], NULL);
	if (!strcmp(argv[1], "wait")) {
		close(creat("ready", 0600));
		for (;;)
			pause();
	}
	if (!strcmp(argv[1], "abort"))
		abort();
	if (atoi(argv[1]))
		raise(atoi(argv[1]));
	while (wait(NULL) > 0)
		;
	return 0;
}
END
	cc -g -O1 -fno-inline -fno-builtin -pthread -o leaker leaker.c || bad 'leaker.c does not compile'
}

# It is called growing, over most of the run, which reaches behind its peak.
expect_growing() { # WHAT BYTES
	run "$mprof" report leaks --json log
	expect_same "$1: kind" "$(json out '"\(.rows[0].evidence.kind) \(.total.figures.leaked)"')" "growing $2"
	expect_same "$1: epochs that grew" "$(json out '.rows[0].live_by_epoch_bytes as $e |
		[range(1; 16) | select($e[.] > $e[. - 1])] | length >= 8')" true
	run "$mprof" report --json log
	expect_same "$1: the run reaches to the peak" "$(json out '.duration_ns >= .peak_ns and .peak_ns > 300000000')" true
}

test_leaks_however_it_ends() {
	local how more
	leaker
	for how in 0 abort 15 9 11; do
		for more in '' --no-compress; do
			# shellcheck disable=SC2086
			run "$mprof" record $more -o log -- ./leaker "$how"
			expect_growing "$how $more" 30000000
		done
	done
	run "$mprof" record -o log -- ./leaker 9 3 2
	expect_growing 'threads and processes' 180000000
	run "$mprof" report leaks log
	expect_text out 'Still growing when the run ended'
	expect_no_text out 'Not growing'
}

test_leaks_while_it_runs() {
	leaker
	"$mprof" record -o log -- ./leaker wait 2 >said 2>&1 &
	wait_for test -e ready
	expect_growing 'still running' 60000000
	kill "$(json out '.processes[0].pid')"
	wait
	expect_growing 'killed from outside' 60000000
}

test_leaks_preloaded_by_hand() {
	local how
	leaker
	for how in 0 9; do
		rm -f log
		LD_PRELOAD=$build/libmprof.so MPROF_CONF='MODE=LogMmap LOG_PATH=log' ./leaker $how 2>err
		expect_growing "by hand, $how" 30000000
	done
	# Seen as the program left it, and compressed afterwards.
	run "$mprof" compress log
	expect_status 0
	expect_growing 'by hand, compressed' 30000000
}
