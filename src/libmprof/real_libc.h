/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * real_libc.h - libc's functions behind those that we interpose besides malloc.
 *
 * All are looked up once, during initialisation: execve, close and _exit may be called in a child
 * of a threaded process, where the loader's lock may be held by a thread that the child does not
 * have, and dlsym would wait for ever.
 */
#pragma once

#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

/* X(name): declared by the headers above, in libc. */
#define MP_NEXT_FUNCTIONS(X) \
	X(fork)              \
	X(_Fork)             \
	X(execve)            \
	X(execvpe)           \
	X(fexecve)           \
	X(posix_spawn)       \
	X(posix_spawnp)      \
	X(quick_exit)        \
	X(wait)              \
	X(waitpid)           \
	X(wait3)             \
	X(wait4)             \
	X(waitid)            \
	X(close)             \
	X(dup2)              \
	X(dup3)              \
	X(closefrom)         \
	X(pthread_create)    \
	X(thrd_create)       \
	X(prctl)             \
	X(dlopen)            \
	X(dlclose)           \
	X(brk)               \
	X(sbrk)

struct mp_next {
#define X(name) __typeof__(name) *name;
	MP_NEXT_FUNCTIONS(X)
#undef X
};

/* Looked up on the first use if that precedes initialisation. */
const struct mp_next *mp_next(void);
