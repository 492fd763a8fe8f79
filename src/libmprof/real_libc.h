/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * real_libc.h - libc's own versions of the functions, other than malloc's, that we interpose.
 *
 * All are looked up once, during initialisation: execve, close and _exit may be called in a child
 * of a threaded process, where the loader's lock may be held by a thread that the child does not
 * have, and dlsym would wait for ever.
 */
#pragma once

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

__typeof__(signal) bsd_signal;	       /* not declared for programs of today */
int mallopt(int parameter, int value); /* of <malloc.h>, which the library does not include */

/* X(name): functions of libc that are declared above. */
#define MP_NEXT_FUNCTIONS(X)  \
	X(fork)               \
	X(_Fork)              \
	X(execve)             \
	X(execvpe)            \
	X(fexecve)            \
	X(posix_spawn)        \
	X(posix_spawnp)       \
	X(exit)               \
	X(quick_exit)         \
	X(wait)               \
	X(waitpid)            \
	X(wait3)              \
	X(wait4)              \
	X(waitid)             \
	X(close)              \
	X(dup2)               \
	X(dup3)               \
	X(closefrom)          \
	X(pthread_create)     \
	X(thrd_create)        \
	X(pthread_setname_np) \
	X(sigaction)          \
	X(signal)             \
	X(bsd_signal)         \
	X(ssignal)            \
	X(sysv_signal)        \
	X(__sysv_signal)      \
	X(prctl)              \
	X(dlopen)             \
	X(dlmopen)            \
	X(dlclose)            \
	X(dlerror)            \
	X(brk)                \
	X(sbrk)               \
	X(mallopt)

struct mp_next {
#define X(name) __typeof__(name) *name;
	MP_NEXT_FUNCTIONS(X)
#undef X
};

/* Looks the functions up first if it is called before initialisation. */
const struct mp_next *mp_next(void);
