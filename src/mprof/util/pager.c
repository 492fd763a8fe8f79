// SPDX-License-Identifier: LGPL-3.0-or-later
/* pager.c - a long answer on a terminal goes through a pager. */
#include "pager.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "path_search.h"
#include "terminal.h"

static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

static struct {
	bool off;
	bool errors;		   /* 1 if errors go to it, too */
	volatile sig_atomic_t pid; /* 0 if none runs */
} pager;

void pager_off(void)
{
	pager.off = true;
}

/* Is it a program?  A command that needs a shell is passed to one. */
static bool is_there(const char *command)
{
	char name[PATH_MAX], found[PATH_MAX];

	if (strpbrk(command, "'\"`$&|;<>()*?[#~=%\\"))
		return true;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(command, " \t"), command);
	return strchr(name, '/') ? path_is_runnable(name)
				 : !path_search(name, found, sizeof(found));
}

/* Returns the pager's command, or NULL. */
static const char *choose(void)
{
	const char *command = getenv("MPROF_PAGER");

	if (!command)
		command = getenv("PAGER");
	if (!command)
		command = "less";
	command += strspn(command, " \t");
	return *command && strcmp(command, "cat") != 0 && is_there(command) ? command : NULL;
}

static void leave(void)
{
	int status;

	close(STDOUT_FILENO);
	if (pager.errors)
		close(STDERR_FILENO);
	while (waitpid(pager.pid, &status, 0) < 0 && errno == EINTR)
		;
	pager.pid = 0;
}

static void on_end(int signal)
{
	struct sigaction usual = { .sa_handler = SIG_DFL };

	if (pager.pid)
		leave();
	sigaction(signal, &usual, NULL);
	raise(signal);
}

static void watch_signals(void)
{
	struct sigaction on = { .sa_handler = on_end }, was;
	size_t i;

	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!sigaction(ends[i], NULL, &was) && was.sa_handler == SIG_DFL)
			sigaction(ends[i], &on, NULL);
	/* A write to a pager that was quit fails; SIGPIPE would change our exit status. */
	signal(SIGPIPE, SIG_IGN);
}

static void run(const char *command, const int end[2])
{
	if (dup2(end[0], STDIN_FILENO) >= 0) {
		setenv("LESS", "FRX", 0);
		setenv("LV", "-c", 0);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	}
	_exit(127);
}

void pager_start(void)
{
	const char *command = pager.off || pager.pid || !terminal_is() ? NULL : choose();
	int end[2];
	pid_t pid;

	if (!command || pipe2(end, O_CLOEXEC))
		return;
	fflush(stdout);
	pid = fork();
	if (!pid)
		run(command, end);
	close(end[0]);
	if (pid < 0 || dup2(end[1], STDOUT_FILENO) < 0) {
		/* Without input the pager ends immediately. */
		close(end[1]);
		return;
	}
	pager.pid = pid;
	pager.errors = isatty(STDERR_FILENO) && dup2(end[1], STDERR_FILENO) >= 0;
	close(end[1]);
	watch_signals();
}

bool pager_left(void)
{
	return pager.pid && ferror(stdout);
}

void pager_end(void)
{
	if (pager.pid)
		leave();
}
