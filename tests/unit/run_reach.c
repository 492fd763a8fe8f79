// SPDX-License-Identifier: LGPL-3.0-or-later
/* run_reach.c - which blocks pointers lead to, in memory of this process. */
#include "suites.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/examine.h"
#include "run/inject.h"
#include "run/process.h"
#include "run/reach.h"

#define BLOCKS_MOST 600u

static uint64_t root[64];
static struct root_range range;
static struct last_block list[BLOCKS_MOST];
static struct last_blocks blocks;
static struct stopped self;
static struct reach reach;

static void setup(void)
{
	memset(root, 0, sizeof(root));
	range = (struct root_range){ .start = (uintptr_t)root,
				     .end = (uintptr_t)(root + 64),
				     .kind = MPROF_REACH_VARIABLE };
	blocks = (struct last_blocks){ .block = list };
	self = (struct stopped){ .pid = getpid(), .memory = getpid() };
	reach = (struct reach){ .blocks = 0 };
}

static void teardown(void)
{
	reach_release(&reach);
	for (size_t i = 0; i < blocks.blocks; i++)
		free((void *)(uintptr_t)list[i].addr);
}

/* Returns a new, zeroed block of this many words. */
static uint64_t *block(size_t words)
{
	uint64_t *p = calloc(words ? words : 1, 8);

	ck_assert_ptr_nonnull(p);
	list[blocks.blocks++] = (struct last_block){ .addr = (uintptr_t)p, .size = 8 * words };
	return p;
}

static uint64_t to(const void *p)
{
	return (uintptr_t)p;
}

static void find(void)
{
	const struct roots roots = { .range = &range, .ranges = 1 };

	reach_release(&reach);
	reach_find(&reach, &self, &roots, &blocks, 0);
	ck_assert_uint_eq(reach.blocks, blocks.blocks);
}

static const struct reach_block *of(const void *p)
{
	for (size_t i = 0; i < reach.blocks; i++)
		if (reach.block[i].addr == to(p))
			return &reach.block[i];
	ck_abort_msg("a block is missing");
}

#define REACHED	    1
#define UNREACHABLE 2
#define BELOW	    3
static int how(const void *p)
{
	const struct reach_block *b = of(p);

	return b->slot ? REACHED : b->below ? BELOW : UNREACHABLE;
}

START_TEST(chains)
{
	uint64_t *a = block(3), *b = block(3), *c = block(3), *d = block(3);

	root[7] = to(a);
	a[2] = to(b);
	c[0] = to(d);
	c[1] = to(a);
	find();
	ck_assert_int_eq(how(a), REACHED);
	ck_assert_int_eq(how(b), REACHED);
	ck_assert_int_eq(how(c), UNREACHABLE);
	ck_assert_int_eq(how(d), BELOW);
	ck_assert_uint_eq(of(a)->slot, of(b)->slot);
	ck_assert_uint_eq(reach.slot[of(b)->slot - 1].address, to(&root[7]));
}
END_TEST

/* A block is held by the slot that is nearest to it. */
START_TEST(nearest)
{
	uint64_t *a = block(2), *b = block(2), *c = block(2), *x = block(2);

	root[3] = to(c);
	root[7] = to(a);
	a[0] = to(b);
	b[0] = to(x);
	c[0] = to(x);
	find();
	ck_assert_uint_eq(reach.slot[of(x)->slot - 1].address, to(&root[3]));
	root[3] = to(a);
	root[7] = to(c);
	find();
	ck_assert_uint_eq(reach.slot[of(x)->slot - 1].address, to(&root[7]));
}
END_TEST

START_TEST(what_is_a_pointer)
{
	uint64_t *a = block(3), *b = block(3), *c = block(3), *d = block(0), *e = block(3);

	root[0] = to(a) + 23;
	root[1] = to(b) + 24; /* behind it */
	root[2] = to(c) | 0xabcd000000000000u;
	root[3] = to(d);
	memcpy((char *)&root[4] + 4, &(uint64_t){ to(e) }, 8); /* not aligned */
	find();
	ck_assert_int_eq(how(a), REACHED);
	ck_assert_int_eq(how(b), UNREACHABLE);
	ck_assert_int_eq(how(c), REACHED);
	ck_assert_int_eq(how(d), REACHED);
	ck_assert_int_eq(how(e), UNREACHABLE);
	range.exact = true;
	find();
	ck_assert_int_eq(how(a), UNREACHABLE);
	ck_assert_int_eq(how(c), REACHED);
}
END_TEST

START_TEST(rings)
{
	uint64_t *a = block(2), *b = block(2), *c = block(2), *d = block(2), *self_only = block(2);
	int n = 0;

	a[0] = to(b);
	b[0] = to(c);
	c[0] = to(a);
	c[1] = to(d);
	self_only[0] = to(self_only);
	find();
	n = (how(a) == UNREACHABLE) + (how(b) == UNREACHABLE) + (how(c) == UNREACHABLE);
	ck_assert_int_eq(n, 1);
	ck_assert_int_eq(how(d), BELOW);
	ck_assert_int_eq(how(self_only), UNREACHABLE);
}
END_TEST

/* Large blocks are read piece by piece, and what was never written to is not read. */
START_TEST(large)
{
	const size_t words = 5u << 17;
	uint64_t *a, *b = block(2), *c = block(2), *d = block(2);
	unsigned char in[2];

	ck_assert_int_eq(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
	a = mmap(NULL, 8 * words, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(a, MAP_FAILED);
	list[blocks.blocks++] = (struct last_block){ .addr = to(a), .size = 8 * words };
	root[0] = to(a);
	a[words - 1] = to(b);
	a[0] = to(c);
	a[(1u << 17) + 3] = to(d);
	find();
	ck_assert_int_eq(how(b), REACHED);
	ck_assert_int_eq(how(c), REACHED);
	ck_assert_int_eq(how(d), REACHED);
	ck_assert_int_eq(mincore((void *)((to(a) + (3u << 20)) & -4096ull), 8192, in), 0);
	ck_assert_int_eq(in[0] & 1, 0);
	blocks.blocks--; /* malloc did not allocate the last one */
}
END_TEST

START_TEST(none)
{
	find();
	ck_assert_uint_eq(reach.slots, 0);
}
END_TEST

/* ---- a process that is stopped ---- */

static volatile uint32_t *count; /* shared */

static void *count_on(void *unused)
{
	for (;;)
		++*count;
	return unused;
}

/* Counts, and ends when it is told to. */
static void run_process(int ready)
{
	pthread_t id;

	pthread_create(&id, NULL, count_on, NULL);
	if (write(ready, "", 1) == 1)
		read(ready, &id, 1);
	_exit(5);
}

/* The other threads of a process stand still until it has ended. */
START_TEST(process_ends)
{
	struct stopped s;
	int pipe[2], status;
	uint32_t before;
	pid_t pid;
	char c;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pipe), 0);
	count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = fork();
	if (!pid)
		run_process(pipe[1]);
	ck_assert_int_eq(read(pipe[0], &c, 1), 1);
	ck_assert_int_eq(stopped_begin(&s, pid), 0);
	ck_assert_uint_eq(s.threads, 2);
	ck_assert(!stopped_let_go(&s, getpid()));
	before = *count;
	ck_assert(stopped_let_go(&s, pid));
	stopped_wait_end(&s, 20000000); /* it has not ended */
	ck_assert_uint_eq(s.threads, 1);
	ck_assert_uint_eq(*count, before);
	ck_assert_int_eq(write(pipe[0], "", 1), 1);
	stopped_wait_end(&s, INT64_MAX / 2);
	ck_assert_uint_eq(s.threads, 0);
	ck_assert_uint_eq(*count, before);
	stopped_end(&s);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(WEXITSTATUS(status), 5);
	close(pipe[0]);
	close(pipe[1]);
}
END_TEST

/* Waits, with an event to come; ends with 5 if it was not interrupted. */
static void run_waiting(int from)
{
	struct epoll_event event = { .events = EPOLLIN };
	const int epoll = epoll_create1(0);

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* Yama allows it to parents only */
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, from, &event) || write(from, "", 1) != 1)
		_exit(3);
	_exit(epoll_wait(epoll, &event, 1, -1) == 1 ? 5 : 4);
}

/* A process goes on with its system call if what stopped it was killed. */
START_TEST(tracer_is_killed)
{
	struct process_memory m = { .state = 0 };
	struct stopped s;
	int pipe[2], status;
	pid_t pid, tracer;
	char c;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pipe), 0);
	pid = fork();
	if (!pid)
		run_waiting(pipe[1]);
	ck_assert_int_eq(read(pipe[0], &c, 1), 1);
	while (m.state != 'S')
		ck_assert_int_eq(process_memory(pid, &m), 0);
	tracer = fork();
	if (!tracer) {
		if (!stopped_begin(&s, pid))
			raise(SIGKILL);
		_exit(1);
	}
	ck_assert_int_eq(waitpid(tracer, &status, 0), tracer);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(write(pipe[0], "", 1), 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
#ifdef __x86_64__
	ck_assert_int_eq(WEXITSTATUS(status), 5);
#endif
	close(pipe[0]);
	close(pipe[1]);
}
END_TEST

/* A process that ends while it is about to be stopped: no error of the system is named. */
START_TEST(process_has_ended)
{
	const pid_t pid = fork();
	const struct inject_place place = { .system_call = (uintptr_t)syscall };
	struct examine x = { .of.pid = (uint32_t)pid };
	struct process_memory m;
	struct inject *in;
	struct stopped s;
	struct error err;
	char text[64];
	siginfo_t info;

	if (!pid)
		_exit(0);
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	ck_assert_int_eq(process_memory(pid, &m), 0);
	x.of.start_time = m.start_time;
	ck_assert_int_lt(examine_stop(&x, &s, &err), 0);
	ck_assert_str_eq(err.text, "it had ended");
	ck_assert_int_lt(inject_begin(&in, pid, &place, &err), 0);
	snprintf(text, sizeof(text), "cannot read the memory of process %d: it has ended",
		 (int)pid);
#ifdef __x86_64__
	ck_assert_str_eq(err.text, text);
#endif
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

/* ---- random graphs, against a model ---- */

static bool model[BLOCKS_MOST];

static void model_follow(size_t n, size_t words)
{
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < n; i++)
			for (size_t w = 0; model[i] && w < words; w++)
				for (size_t k = 0; k < n; k++)
					if (!model[k] && ((uint64_t *)(uintptr_t)list[i].addr)[w] ==
							     list[k].addr)
						more = model[k] = true;
	}
}

START_TEST(random_graphs)
{
	enum { WORDS = 3 };
	uint64_t state = 77 + (uint64_t)_i;
	const size_t n = 1 + random_after(&state) % (BLOCKS_MOST - 1);

	memset(model, 0, sizeof(model));
	for (size_t i = 0; i < n; i++)
		block(WORDS);
	for (size_t i = 0; i < n; i++)
		((uint64_t *)(uintptr_t)list[i].addr)[random_after(&state) % WORDS] =
		    list[random_after(&state) % n].addr;
	for (size_t i = 0; i < 5; i++) {
		const size_t k = random_after(&state) % n;

		root[random_after(&state) % 64] = list[k].addr;
	}
	for (size_t i = 0; i < 64; i++)
		for (size_t k = 0; k < n; k++)
			model[k] |= root[i] == list[k].addr;
	model_follow(n, WORDS);
	find();
	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(of((void *)(uintptr_t)list[i].addr)->slot != 0, model[i]);
	/* Those to which nothing points lead to all others that are unreachable. */
	for (size_t i = 0; i < n; i++)
		model[i] |= how((void *)(uintptr_t)list[i].addr) == UNREACHABLE;
	model_follow(n, WORDS);
	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(model[i], true);
}
END_TEST

Suite *run_reach_suite(void)
{
	Suite *s = suite_create("run_reach");
	TCase *c = tcase_create("run_reach");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, chains);
	tcase_add_test(c, nearest);
	tcase_add_test(c, what_is_a_pointer);
	tcase_add_test(c, rings);
	tcase_add_test(c, large);
	tcase_add_test(c, none);
	tcase_add_test(c, process_ends);
	tcase_add_test(c, process_has_ended);
	tcase_add_test(c, tracer_is_killed);
	tcase_add_loop_test(c, random_graphs, 0, 20);
	suite_add_tcase(s, c);
	return s;
}
