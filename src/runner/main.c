/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * main.c - mprof_replay: plays one playback file with the allocator of this process.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include "thread_pool.h"

static struct mprof_run_result result;
static struct stops stops;
static struct order order;
static struct played played;

/* Only the next image gets the new personality, so this one executes itself again. */
static void no_random_addresses(char **argv)
{
	int now = personality(0xffffffff);

	if (settings.aslr || now == -1 || now & ADDR_NO_RANDOMIZE)
		return;
	if (personality((unsigned long)now | ADDR_NO_RANDOMIZE) == -1)
		return; /* it is forbidden, as result.aslr shows */
	execv("/proc/self/exe", argv);
	die_errno(STATUS_RUN, "cannot start again", "/proc/self/exe");
}

static void pin(uint64_t cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		die(STATUS_RUN, "cannot pin to processor %u: %s", cpu, strerrordesc_np(errno));
}

/* If memory runs out, the kernel should end this process and no other. */
static void go_first(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : write(fd, "1000", 4);

	(void)n; /* optional */
	close(fd);
}

static void shape_process(char **argv)
{
	no_random_addresses(argv);
	go_first();
	signal(SIGPIPE, SIG_IGN);
	if (!settings.thp)
		prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	if (settings.speed)
		prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	if (settings.cpu)
		pin(settings.cpu - 1);
}

static void prepare_threads(void)
{
	if (settings.mode == MODE_THREADS) {
		if (!file_parallel())
			die(STATUS_FILE, "%s: has no streams of its threads", settings.in);
		check_threads(&order, live_table);
		table_clear();
	}
	thread_pool_prepare(order.thread_pool,
			    settings.mode == MODE_THREADS ? threads_begin : ordered_begin);
}

static void prepare(void)
{
	file_open(settings.in);
	if (playback.head.threads == 1 && settings.mode != MODE_STARTUP)
		settings.mode = MODE_SERIAL;
	table_make(settings.mode == MODE_THREADS ? 2 : 1);
	plan_make(&stops, playback.head.sum.calls);
	check_order(&order, &stops, live_table);
	table_clear();
	if (settings.mode == MODE_THREADS || settings.mode == MODE_ORDERED)
		prepare_threads();
	frames_prepare();
	functions_find();
}

static void play(void)
{
	if (settings.mode == MODE_STARTUP)
		free(malloc(1));
	else if (settings.mode == MODE_THREADS)
		play_threads(&order, &stops, &played);
	else if (settings.mode == MODE_ORDERED)
		play_ordered(&order, &stops, &played);
	else
		play_serial(&order, &stops, &played);
	watch_stop();
}

/* Returns bytes above the baseline. */
static uint64_t above(uint64_t bytes)
{
	return bytes > baseline.rss ? bytes - baseline.rss : 0;
}

/* Divides CPU time into system and user time. */
static void split(const struct usage *u, uint64_t *user, uint64_t *sys)
{
	*sys = u->sys_ns < u->cpu_ns ? u->sys_ns : u->cpu_ns;
	*user = u->cpu_ns - *sys;
}

static void calls_result(void)
{
	result.peak_rss = above(hwm_now());
	result.end_rss = above(rss_now());
	result.calls = played.calls;
	result.failed = played.failed;
	result.wall_ns = played.used.wall_ns;
	split(&played.used, &result.user_ns, &result.sys_ns);
	result.minflt = played.used.minflt;
	result.majflt = played.used.majflt;
	result.waits = played.waits;
	result.late_ns = played.late_ns;
	result.threads = thread_pool_size();
	result.late_stacks = thread_pool_late;
	memcpy(result.latency, played.latency, sizeof(result.latency));
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* Measures what remains, immediately and later. */
static void rest(uint64_t since)
{
	result.drained_rss = above(rss_now());
	for (uint64_t i = 0; i < settings.drain.n; i++) {
		sleep_until(since + settings.drain.value[i] * 1000000);
		result.drain_ms[i] = settings.drain.value[i];
		result.drain_rss[i] = above(rss_now());
	}
}

static void drain(void)
{
	struct usage begin, end, used = { 0 };

	usage_now(&begin);
	if (!settings.keep && settings.mode != MODE_STARTUP)
		drain_table();
	usage_now(&end);
	usage_add(&used, &begin, &end);
	split(&used, &result.drain_user_ns, &result.drain_sys_ns);
	rest(end.wall_ns);
}

/* Measures ticks per second, from the baseline until now; waits a little if that is too short. */
static void clock_result(void)
{
	uint64_t least = UINT64_MAX, ns, t;

	for (int i = 0; i < 1000; i++) {
		t = ticks();
		t = ticks() - t;
		least = t < least ? t : least;
	}
	sleep_until(baseline.begin_ns + 10000000);
	t = ticks() - baseline.ticks;
	ns = now_ns() - baseline.begin_ns;
	result.latency_ticks_per_s = (uint64_t)((unsigned __int128)t * 1000000000u / ns);
	result.latency_empty = least;
}

static void circumstances(void)
{
	result.base_rss = baseline.rss;
	result.start_hwm = baseline.hwm;
	result.thp = thp_now();
	result.touch = settings.touch;
	result.aslr = !(personality(0xffffffff) & ADDR_NO_RANDOMIZE);
}

int main(int argc, char **argv)
{
	settings_read(argc, argv);
	shape_process(argv);
	if (settings.mode != MODE_STARTUP)
		prepare();
	watch_start();
	baseline_open();
	baseline_take();
	play();
	calls_result();
	drain();
	if (settings.latency)
		clock_result();
	circumstances();
	record(MPROF_RUN_RESULT, &result, sizeof(result));
	_exit(0);
}
