/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * stopped.h - stops all threads of another process, to read its memory while nothing changes it.
 *
 * By ptrace(2), so the same thread must stop, read and continue.  The kernel restarts most system
 * calls that this interrupts; those that it fails with EINTR are restarted here, on x86-64 only,
 * also if mprof is killed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define STOPPED_WORDS 40u /* registers of a thread: 27 on x86-64, 34 on aarch64 */

/* Registers that a function saves before it uses them. */
#if defined(__aarch64__)
#define STOPPED_KEPT_FIRST 19u
#define STOPPED_KEPT	   11u
#else
#define STOPPED_KEPT_FIRST 0u
#define STOPPED_KEPT	   6u
#endif

struct stopped_thread {
	pid_t tid;
	int signal;    /* that it was about to get; 0 = none */
	bool restarts; /* its system call was interrupted, and begins again */
	uint64_t sp, thread_pointer;
	uint64_t word[STOPPED_WORDS]; /* its general registers */
	size_t words;
};

struct stopped {
	pid_t pid;
	pid_t memory; /* a thread that has its memory: the main thread may have ended */
	struct stopped_thread *thread;
	size_t threads, room;
};

/*
 * 0, or -errno: -EPERM if the system does not allow it, -ESRCH if the process is gone, -ETIMEDOUT
 * if a thread does not stop, as while it waits for a disk, or new ones keep coming.  After an
 * error, all threads run on.
 */
int stopped_begin(struct stopped *s, pid_t pid);
/* The thread is in the handler of a signal, whose ucontext_t is there: sets its registers to those
 * that it had before. */
void stopped_before_handler(struct stopped *s, pid_t tid, uint64_t context_at);
/* Lets one thread run on.  Returns false if it is not stopped. */
bool stopped_let_go(struct stopped *s, pid_t tid);
/* Waits until the others have ended, at most this long. */
void stopped_wait_end(struct stopped *s, int64_t ns);
/* Lets the threads run on that are still stopped. */
void stopped_end(struct stopped *s);

/* Reads memory; returns how many bytes, from the first on, could be read. */
size_t stopped_read(const struct stopped *s, uint64_t at, void *to, size_t bytes);
