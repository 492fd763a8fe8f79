// SPDX-License-Identifier: LGPL-3.0-or-later
/* own_stack.c - see own_stack.h. */
#include "own_stack.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#define ENOUGH ((size_t)1 << 20)
#define TAKEN  ((size_t)8 << 20) /* the usual limit */

static struct {
	int (*main)(int argc, char **argv);
	int argc, result;
	char **argv;
} call;

static void run(void)
{
	call.result = call.main(call.argc, call.argv);
}

static bool is_small(void)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_STACK, &limit) && limit.rlim_cur < ENOUGH;
}

static void enlarge_threads(void)
{
	pthread_attr_t attr;

	if (pthread_attr_init(&attr))
		return;
	if (!pthread_attr_setstacksize(&attr, TAKEN))
		pthread_setattr_default_np(&attr);
	pthread_attr_destroy(&attr);
}

int own_stack_run(int (*main)(int argc, char **argv), int argc, char **argv)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
	ucontext_t here, there;
	void *stack;

	if (!is_small())
		return main(argc, argv);
	stack = mmap(NULL, TAKEN, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (stack == MAP_FAILED || getcontext(&there))
		return main(argc, argv);
	enlarge_threads();
	call.main = main;
	call.argc = argc;
	call.argv = argv;
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = TAKEN;
	there.uc_link = &here;
	makecontext(&there, run, 0);
	swapcontext(&here, &there);
	return call.result;
}
