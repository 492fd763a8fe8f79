// SPDX-License-Identifier: LGPL-3.0-or-later
/* unfinished.c - files that must not remain. */
#include "unfinished.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define PATHS 16

/* Atomic, since a signal or another thread may read it at any time. */
static const char *unfinished[PATHS];

void unfinished_add(const char *path)
{
	const char *none;
	size_t i;

	for (i = 0; i < PATHS; i++) {
		none = NULL;
		if (__atomic_compare_exchange_n(&unfinished[i], &none, path, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return;
	}
}

int unfinished_open(char *template)
{
	sigset_t all, before;
	int fd;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	fd = mkostemp(template, O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	else
		unfinished_add(template);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return fd;
}

void unfinished_forget(const char *path)
{
	const char *same;
	size_t i;

	for (i = 0; path && i < PATHS; i++) {
		same = path;
		__atomic_compare_exchange_n(&unfinished[i], &same, NULL, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED);
	}
}

void unfinished_remove(void)
{
	const char *path;
	size_t i;

	for (i = PATHS; i-- > 0;) {
		path = __atomic_exchange_n(&unfinished[i], NULL, __ATOMIC_ACQ_REL);
		if (path && unlink(path))
			rmdir(path);
	}
}

static void on_signal(int signal)
{
	unfinished_remove();
	sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	raise(signal);
}

void unfinished_watch(void)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction now;
	size_t i;

	for (i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
		/* nohup(1) and shells make us ignore it, which must not change. */
		if (!sigaction(ending[i], NULL, &now) && now.sa_handler == SIG_DFL)
			sigaction(ending[i], &(struct sigaction){ .sa_handler = on_signal }, NULL);
}
