/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * launch.c - fork, exec, signals and wait.
 *
 * Two pipes connect parent and child: through `go` the child gets its last variable and the
 * permission to start (an early end of file means "do not"); through `failed`, which exec closes,
 * the parent gets the errno of exec.
 */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../util/memory.h"
#include "../util/now.h"

static volatile sig_atomic_t running; /* pid for the handler, 0 if none */
static volatile sig_atomic_t handed_on, interrupted;
static volatile sig_atomic_t user;     /* the last SIGUSR1 or SIGUSR2 that was forwarded, or 0 */
static volatile sig_atomic_t ended_by; /* the one that ended the program, or 0; and when */
static int64_t ended_ns;
static mode_t given; /* the umask that mprof was started with */

#define REPEAT_NS 1000000000 /* the most between the two signals of timeout(1) */

void launch_umask(void)
{
	given = umask(077);
	umask(given & 077);
}

static void hand_on(int signal)
{
	int code = errno;

	*(signal == SIGUSR1 || signal == SIGUSR2 ? &user : &handed_on) = signal;
	if (running)
		kill((pid_t)running, signal);
	errno = code;
}

/* Notes a signal that a terminal sends to the program, too. */
static void take_note(int signal)
{
	interrupted = signal;
}

/* SIGCHLD is reset because there would be no status to wait for if it was ignored. */
static const struct {
	int signal;
	void (*handler)(int signal);
} handled[LAUNCH_SIGNALS] = {
	{ SIGINT, take_note }, { SIGQUIT, take_note }, { SIGTERM, hand_on }, { SIGHUP, hand_on },
	{ SIGUSR1, hand_on },  { SIGUSR2, hand_on },   { SIGCHLD, SIG_DFL },
};

/* A signal that was ignored when mprof was started stays ignored. */
static void take_signals(struct launch *l)
{
	struct sigaction act = { .sa_flags = SA_RESTART };
	int i;

	for (i = 0; i < LAUNCH_SIGNALS; i++) {
		sigaction(handled[i].signal, NULL, &l->before[i]);
		act.sa_handler = handled[i].handler;
		if (l->before[i].sa_handler != SIG_IGN || act.sa_handler == SIG_DFL)
			sigaction(handled[i].signal, &act, NULL);
	}
}

static void give_signals_back(const struct launch *l)
{
	int i;

	for (i = 0; i < LAUNCH_SIGNALS; i++)
		sigaction(handled[i].signal, &l->before[i], NULL);
}

static void set_variable(const char *text)
{
	if (strchr(text, '='))
		putenv((char *)text);
	else
		unsetenv(text);
}

/* Reads the last variable until its NUL.  False at an early end: do not run. */
static bool read_go(int fd, char *text, size_t size)
{
	size_t n = 0;
	ssize_t got;

	do {
		got = read(fd, text + n, size - n);
		if (got > 0)
			n += (size_t)got;
	} while ((got > 0 && text[n - 1] && n < size) || (got < 0 && errno == EINTR));
	return n && !text[n - 1];
}

static void run_child(struct launch *l, char **argv, const char *const *env, size_t n, int go,
		      int failed)
{
	static char last[8192];
	int code;
	size_t i;

	close(l->go);
	close(l->failed);
	if (!read_go(go, last, sizeof(last)))
		_exit(127);
	for (i = 0; i < n; i++)
		if (env[i])
			set_variable(env[i]);
	if (*last)
		set_variable(last);
	give_signals_back(l);
	umask(given);
	sigprocmask(SIG_SETMASK, &l->mask, NULL);
	execvp(argv[0], argv);
	code = errno;
	if (write(failed, &code, sizeof(code)) < 0)
		_exit(126);
	_exit(127);
}

int launch_fork(struct launch *l, char **argv, const char *const *env, size_t n, struct error *err)
{
	int go[2] = { -1, -1 }, failed[2] = { -1, -1 };
	sigset_t all;

	if (pipe2(go, O_CLOEXEC) || pipe2(failed, O_CLOEXEC)) {
		fail(err, -errno, "no pipe to start '%s': %s", argv[0], strerror(errno));
		close(go[0]);
		close(go[1]);
		return -EMFILE;
	}
	l->go = go[1];
	l->failed = failed[0];
	/* No signal may reach the child while it has our handlers. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &l->mask);
	take_signals(l);
	fflush(NULL);
	l->pid = fork();
	if (!l->pid)
		run_child(l, argv, env, n, go[0], failed[1]);
	handed_on = interrupted = user = ended_by = 0;
	running = l->pid > 0 ? l->pid : 0;
	close(go[0]);
	close(failed[1]);
	if (l->pid > 0) {
		sigprocmask(SIG_SETMASK, &l->mask, NULL);
		return 0;
	}
	fail(err, -errno, "cannot start '%s': %s", argv[0], strerror(errno));
	close(l->go);
	close(l->failed);
	give_signals_back(l);
	sigprocmask(SIG_SETMASK, &l->mask, NULL);
	return -EAGAIN;
}

static void reap(struct launch *l, struct launch_end *end)
{
	/* The handler must not signal a pid that has been reused. */
	siginfo_t info;

	while (waitid(P_PID, (id_t)l->pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	end->wall_ns = now_ns(CLOCK_MONOTONIC) - l->start_ns;
	running = 0;
	memory_out_child(0);
	end->handed_on = handed_on;
	end->interrupted = interrupted;
	while (wait4(l->pid, &end->status, 0, &end->usage) < 0 && errno == EINTR)
		;
}

void launch_cancel(struct launch *l)
{
	struct launch_end end;

	close(l->go);
	close(l->failed);
	reap(l, &end);
	give_signals_back(l);
}

int launch_go(struct launch *l, const char *variable, struct error *err)
{
	const char *text = variable ? variable : "";
	struct launch_end end;
	int code = 0;
	ssize_t n;

	l->start_ns = now_ns(CLOCK_MONOTONIC);
	memory_out_child(l->pid);
	n = write(l->go, text, strlen(text) + 1);
	close(l->go);
	if (n < 0)
		code = errno;
	while (!code && (n = read(l->failed, &code, sizeof(code))) < 0 && errno == EINTR)
		;
	close(l->failed);
	if (!code)
		return 0;
	reap(l, &end);
	give_signals_back(l);
	return fail(err, -code, "cannot run it: %s", strerror(code));
}

void launch_wait(struct launch *l, struct launch_end *end)
{
	reap(l, end);
	ended_ns = now_ns(CLOCK_MONOTONIC);
	ended_by = end->handed_on ? end->handed_on : end->interrupted ? end->interrupted : user;
}

bool launch_is_repeat(int signal)
{
	return signal == ended_by && now_ns(CLOCK_MONOTONIC) - ended_ns < REPEAT_NS;
}

static void skip_repeat(int signal)
{
	const int code = errno;

	if (!launch_is_repeat(signal)) {
		sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
		raise(signal); /* when this handler returns */
	}
	errno = code;
}

void launch_done(struct launch *l)
{
	const int late = handed_on ? handed_on : interrupted;
	struct sigaction now;

	give_signals_back(l);
	if (late && !ended_by)
		raise(late);
	if (ended_by && !sigaction(ended_by, NULL, &now) && now.sa_handler == SIG_DFL) {
		now = (struct sigaction){ .sa_handler = skip_repeat, .sa_flags = SA_RESTART };
		sigaction(ended_by, &now, NULL);
	}
}
