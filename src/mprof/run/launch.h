/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * launch.h - starts one program and waits for it, as time(1) does.
 *
 * The program gets the signal dispositions and the mask that mprof was started
 * with.  While it runs mprof ignores SIGINT and SIGQUIT (the terminal sends them to both) and
 * forwards SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2: a service manager knows the pid of mprof only.
 *
 * Threads: one launch at a time; signal dispositions belong to the process.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "../util/error.h"

#define LAUNCH_SIGNALS 7

struct launch {
	pid_t pid;
	int go, failed; /* pipes to and from the child; -1 when closed */
	int64_t start_ns;
	sigset_t mask;
	struct sigaction before[LAUNCH_SIGNALS];
};

struct launch_end {
	int status; /* as wait(2) returns it */
	struct rusage usage;
	int64_t wall_ns;
	int handed_on;	 /* the last SIGTERM or SIGHUP that mprof forwarded, 0 if none */
	int interrupted; /* SIGINT or SIGQUIT that it received and ignored, 0 if none */
};

/*
 * From now on, the owner of a file that mprof creates can read and write it, whatever the umask is.
 * The program gets the umask that mprof was started with.
 */
void launch_umask(void);

/*
 * Forks.  The child waits, and runs the program only after launch_go. env are n strings
 * "NAME=value" that are set, or "NAME" that are unset.
 */
int launch_fork(struct launch *l, char **argv, const char *const *env, size_t n, struct error *err);
/*
 * Runs the program, with one more variable that was not known earlier (or NULL).  0, or -errno with
 * *err if exec failed; then the child has been waited for.
 */
int launch_go(struct launch *l, const char *variable, struct error *err);
/* Ends the waiting child; the program does not run. */
void launch_cancel(struct launch *l);
/* Waits for the end.  Signals are handled as before until launch_done(). */
void launch_wait(struct launch *l, struct launch_end *end);
/*
 * Restores mprof's own signal dispositions, when what only mprof knows of the end has been written.
 * timeout(1) sends its signal twice, to mprof and to its process group: the second one may come
 * when the first one has ended the program, and must not end mprof.  Any other signal does it now.
 */
void launch_done(struct launch *l);
/* Is this signal such a second one: has it ended the program just now?  For signal handlers, too.
 */
bool launch_is_repeat(int signal);
