// SPDX-License-Identifier: LGPL-3.0-or-later
/* play_runs.c - one playback in a process of its own: whose memory it counts, how it ends. */
#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "play/play.h"
#include "play/runs.h"

#define MB (1u << 20)

static struct variant glibc = { .name = (char *)"glibc", .so = (char *)"" };
static struct error err;

/* Sanitized builds have no runner beside them. */
static bool have_runner(void)
{
	char *path = play_find(&err);

	free(path);
	return path != NULL;
}

/* The launcher's own memory, past and present, is none of the runner's. */
START_TEST(test_memory_is_its_own)
{
	static const char *const args[] = { "mode=startup", NULL };
	struct mprof_run_result small, large;
	char *p;

	if (!have_runner())
		return;
	ck_assert_msg(!play_result(&glibc, args, 20000, &small, &err), "%s", err.text);
	p = mmap(NULL, 200 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(p, MAP_FAILED);
	memset(p, 1, 200 * MB);
	ck_assert_msg(!play_result(&glibc, args, 20000, &large, &err), "%s", err.text);
	munmap(p, 200 * MB);
	ck_assert_uint_gt(large.start_hwm, 0);
	ck_assert_uint_lt(large.start_hwm, 10 * MB);
	ck_assert_uint_lt(large.start_hwm, small.start_hwm + MB);
}
END_TEST

START_TEST(test_refusals)
{
	static const char *const nothing[] = { "in=/nowhere/file", NULL }, *const bad[] = {
		"nonsense", NULL
	};
	struct mprof_run_result result;

	if (!have_runner())
		return;
	ck_assert_int_lt(play_result(&glibc, nothing, 20000, &result, &err), 0);
	ck_assert_ptr_nonnull(strstr(err.text, "/nowhere/file"));
	ck_assert_int_lt(play_result(&glibc, bad, 20000, &result, &err), 0);
	ck_assert_ptr_nonnull(strstr(err.text, "nonsense"));
}
END_TEST

/* Nothing of ours is left open in it, and nothing of it in us. */
START_TEST(test_descriptors)
{
	static const char *const args[] = { "mode=startup", NULL };
	struct mprof_run_result result;
	struct play p;
	int before, after;

	if (!have_runner())
		return;
	before = dup(0);
	ck_assert_int_eq(play_start(&p, &glibc, args, 0, &err), 0);
	/* Nobody reads to the end: it is stopped. */
	ck_assert_int_eq(play_end(&p, &err), 0);
	ck_assert_int_eq(p.fd, -1);
	ck_assert_int_eq(play_result(&glibc, args, 0, &result, &err), 0);
	close(before);
	after = dup(0);
	ck_assert_int_eq(after, before);
	close(after);
}
END_TEST

/* An allocator may need as long as the program did, if another one needs a hundredth of it. */
START_TEST(test_limit_of_a_slow_one)
{
	struct mprof_playback_header head = { .sum.recorded_ns = 0 };
	const struct runs_plan plan = { .head = &head };
	struct mprof_run_sample fast = { .ns = 300000000 };
	struct runs_row row = { .sample = &fast, .samples = 1 };
	const struct runs r = { .row = &row, .n = 1 };
	const int64_t least = runs_limit_ms(&r, &plan, 1);

	head.sum.recorded_ns = 35000000000;
	ck_assert_int_eq(runs_limit_ms(&r, &plan, 1), least + 35000);
	ck_assert_int_eq(runs_limit_ms(&r, &plan, 3) - runs_limit_ms(&r, &plan, 2),
			 50 * 300 + 35000);
	/* It may have waited for days. */
	head.sum.recorded_ns = 200000000000000;
	ck_assert_int_eq(runs_limit_ms(&r, &plan, 1), least + 600000);
}
END_TEST

/* A result that waits for its reader is not late; one that does not come is. */
START_TEST(test_limits)
{
	static const char *const args[] = { "mode=startup", NULL };
	char room[] = "/tmp/mprof-unit-XXXXXX", fifo[64], in[80];
	const char *const stuck[] = { in, NULL };
	struct mprof_run_record r;
	siginfo_t ended;
	struct play p;

	if (!have_runner())
		return;
	ck_assert_ptr_nonnull(mkdtemp(room));
	snprintf(fifo, sizeof(fifo), "%s/fifo", room);
	snprintf(in, sizeof(in), "in=%s", fifo);
	ck_assert_int_eq(play_start(&p, &glibc, args, 2000, &err), 0);
	ck_assert_int_eq(waitid(P_PID, (id_t)p.pid, &ended, WEXITED | WNOWAIT), 0);
	p.until = 1;
	ck_assert_int_eq(play_next(&p, &r, &err), 1);
	ck_assert_int_eq(play_skip(&p, r.bytes, &err), 0);
	ck_assert_int_eq(play_end(&p, &err), 0);
	/* Nobody writes into the pipe that it opens. */
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	ck_assert_int_eq(play_start(&p, &glibc, stuck, 2000, &err), 0);
	p.until = 1;
	ck_assert_int_eq(play_next(&p, &r, &err), -ETIMEDOUT);
	ck_assert_int_eq(play_end(&p, &err), -ETIMEDOUT);
	unlink(fifo);
	rmdir(room);
	ck_assert_ptr_nonnull(strstr(err.text, "did not end within 2 s"));
}
END_TEST

Suite *play_runs_suite(void)
{
	Suite *s = suite_create("play_runs");
	TCase *t = tcase_create("a process of its own");

	tcase_add_test(t, test_memory_is_its_own);
	tcase_add_test(t, test_refusals);
	tcase_add_test(t, test_descriptors);
	tcase_add_test(t, test_limits);
	tcase_add_test(t, test_limit_of_a_slow_one);
	suite_add_tcase(s, t);
	return s;
}
