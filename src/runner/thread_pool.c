/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * thread_pool.c - see thread_pool.h.  `lock` protects the list of free workspaces; no function is
 * called while it is held.
 */
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "thread_pool.h"

#define DEEP  (8u << 10) /* bytes of a stack, besides a thread's minimum, filled in advance */
#define STACK (1u << 20) /* usable size of a stack */
#define SPARE 2		 /* because ended threads are joined with a small delay */
#define MANY  256	 /* with more threads, their buffers are small */

struct thread *threads;
size_t workspace_words;
uint64_t thread_pool_late;

static size_t workspace_bytes, stack_bytes;
static struct workspace *free_workspaces;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void (*thread_main)(struct thread *);

void futex_wait(uint32_t *word, uint32_t value)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void futex_wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

bool thread_pool_lonely(void)
{
	cpu_set_t cpus;

	return !sched_getaffinity(0, sizeof(cpus), &cpus) && CPU_COUNT(&cpus) == 1;
}

static void set_state(struct thread *t, uint32_t state)
{
	__atomic_store_n(&t->state, state, __ATOMIC_RELEASE);
	futex_wake(&t->state);
}

static uint32_t state_of(struct thread *t)
{
	return __atomic_load_n(&t->state, __ATOMIC_ACQUIRE);
}

static void put_workspace(struct workspace *p)
{
	pthread_mutex_lock(&lock);
	p->next = free_workspaces;
	free_workspaces = p;
	pthread_mutex_unlock(&lock);
}

static struct workspace *get_workspace(void)
{
	struct workspace *p;

	pthread_mutex_lock(&lock);
	p = free_workspaces;
	if (p)
		free_workspaces = p->next;
	pthread_mutex_unlock(&lock);
	return p;
}

static size_t up(size_t n)
{
	return (n + PAGE - 1) & ~(size_t)(PAGE - 1);
}

/* Lays out a stack, growing down to its base; above it the workspace's own words and its buffer. */
static void make_workspace(char *at)
{
	struct workspace *p = (struct workspace *)(at + stack_bytes);

	p->stack = at;
	p->buffer = (uint64_t *)(at + stack_bytes + up(sizeof(*p)));
	put_workspace(p);
}

/* The unused bottom of a stack is not filled, and never counts. */
static void map_workspaces(size_t n, size_t filled)
{
	char *at = own_reserve(n * workspace_bytes);

	for (size_t i = 0; i < n; i++) {
		for (size_t b = workspace_bytes - filled; b < workspace_bytes; b += PAGE)
			*(volatile char *)(at + i * workspace_bytes + b) = 0;
		make_workspace(at + i * workspace_bytes);
	}
}

static size_t filled_bytes(void)
{
	return workspace_bytes - stack_bytes + up((size_t)sysconf(_SC_THREAD_STACK_MIN) + DEEP);
}

void thread_pool_prepare(uint32_t most, void (*begin)(struct thread *))
{
	thread_main = begin;
	threads = own_map(playback.head.threads * sizeof(*threads));
	for (uint32_t i = 0; i < playback.head.threads; i++)
		threads[i].index = i;
	workspace_words = most > MANY ? WORKSPACE_WORDS / 4 : WORKSPACE_WORDS;
	stack_bytes = up((size_t)sysconf(_SC_THREAD_STACK_MIN) + STACK);
	workspace_bytes = stack_bytes + up(sizeof(struct workspace)) + up(workspace_words * 8);
	map_workspaces(most + most / 4 + SPARE, filled_bytes());
	threads[0].state = RUNS;
}

/* Takes the workspace of an ended thread that no thread waits for, or a new one. */
static struct workspace *find_workspace(void)
{
	struct workspace *p;

	for (uint32_t i = 1; !(p = get_workspace()) && i < playback.head.threads; i++)
		if (state_of(&threads[i]) == ENDED)
			thread_pool_join(&threads[i]);
	while (!p) {
		__atomic_fetch_add(&thread_pool_late, 1, __ATOMIC_RELAXED);
		map_workspaces(1, filled_bytes());
		p = get_workspace();
	}
	return p;
}

static void *run_thread(void *arg)
{
	struct thread *t = arg;

	thread_main(t);
	set_state(t, ENDED);
	return NULL;
}

void thread_pool_begin(struct thread *t)
{
	pthread_attr_t attr;
	int error;

	t->workspace = find_workspace();
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, t->workspace->stack, stack_bytes);
	set_state(t, RUNS);
	error = pthread_create(&t->id, &attr, run_thread, t);
	if (error)
		die(STATUS_RUN, "cannot create a thread: %s", strerrordesc_np(error));
	pthread_attr_destroy(&attr);
	watch_moved();
}

bool thread_pool_begun(struct thread *t)
{
	return state_of(t) != NOT_YET;
}

uint64_t thread_pool_size(void)
{
	uint64_t n = 1;

	for (uint32_t i = 1; threads && i < playback.head.threads; i++)
		n += thread_pool_begun(&threads[i]);
	return n;
}

static void wait_for_end(struct thread *t)
{
	uint32_t state;

	while ((state = state_of(t)) < ENDED)
		futex_wait(&t->state, state);
}

void thread_pool_join(struct thread *t)
{
	uint32_t ended = ENDED;

	wait_for_end(t);
	if (__atomic_compare_exchange_n(&t->state, &ended, JOINS, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE)) {
		pthread_join(t->id, NULL);
		put_workspace(t->workspace);
		set_state(t, JOINED);
		watch_moved();
	}
	while (state_of(t) == JOINS)
		futex_wait(&t->state, JOINS);
}

void thread_pool_park(struct thread *t)
{
	set_state(t, PARKED);
	for (;;)
		pause();
}

void thread_pool_settle(void)
{
	uint32_t state;

	for (uint32_t i = 1; i < playback.head.threads; i++) {
		struct thread *t = &threads[i];

		while ((state = state_of(t)) < PARKED)
			futex_wait(&t->state, state);
		if (state != PARKED)
			thread_pool_join(t);
	}
}
