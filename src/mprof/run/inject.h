/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * inject.h - calls functions in another process, by ptrace(2).
 *
 * A thread is stopped where it holds no lock of the C library, the loader or the allocator: in its
 * own code, or in a system call that these do not make while they hold one.  The call runs on a
 * stack of its own with all signals blocked; then registers and signals are as before, and the
 * kernel restarts an interrupted system call.  The other threads run on all the time.
 *
 * x86-64 only; -ENOSYS elsewhere.  Errors: 0 or -errno with one sentence in *err.  Threads: all
 * calls from the one of inject_session().
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../util/error.h"

struct inject;

/* What must be known of a process before: the paths are those in /proc/PID/maps. */
struct inject_place {
	const char *allocator; /* the object that defines its malloc */
	uint64_t system_call;  /* the address of libc's syscall() */
};

/*
 * Does the work in a process of its own, so that it comes to its end if mprof is killed: the
 * program would not survive a call without a tracer.  At the end, the kernel lets all threads go
 * that it traces, also those that have not stopped yet.  Returns the result; what work() stores in
 * `state` is there afterwards.  Signals wait.
 */
int inject_session(int (*work)(void *state), void *state, size_t bytes);

/* Returns the process that traces the thread, or 0. */
pid_t inject_tracer(pid_t pid, pid_t tid);
/* Fails because of that process. */
int inject_traced(pid_t pid, pid_t tracer, struct error *err);

/* In a session: stops a thread of the process at a safe point.  On an error, all run on as before.
 */
int inject_begin(struct inject **in, pid_t pid, const struct inject_place *place,
		 struct error *err);
/* Copies a string into the process, and returns its address there, which is valid until
 * inject_end(); 0 if it is too long. */
uint64_t inject_string(struct inject *in, const char *s);
/* Calls the function at `at` there. */
int inject_call(struct inject *in, uint64_t at, uint64_t first, uint64_t second, uint64_t *result,
		struct error *err);
/* Restores the thread and lets it run. */
void inject_end(struct inject *in);

/* Reads a string of the process; "" if it cannot be read.  The process need not be stopped. */
void inject_read(pid_t pid, uint64_t at, char *to, size_t size);
