// SPDX-License-Identifier: LGPL-3.0-or-later
/* follower.c - starts `mprof compress --follow`, gives it orders, and waits for its result. */
#include "follower.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define OPTIONS_MOST 8
#define DISK_PARTS   8		/* of what is free, the trace has one before it is compressed */
#define AT_LEAST     (1u << 20) /* bytes */

/* Returns our environment with the variable that tells it that it is led.  The caller frees it. */
static char **make_environment(void)
{
	size_t n = 0;
	char **env;

	while (environ[n])
		n++;
	env = calloc(n + 2, sizeof(*env));
	if (!env)
		return NULL;
	memcpy(env, environ, n * sizeof(*env));
	env[n] = (char *)FOLLOWER_VARIABLE "=1";
	return env;
}

/* Above the places that it gets them at. */
static int make_pipe(int fd[2])
{
	int low[2];

	if (pipe2(low, O_CLOEXEC))
		return -1;
	fd[0] = fcntl(low[0], F_DUPFD_CLOEXEC, FOLLOWER_RESULT + 1);
	fd[1] = fcntl(low[1], F_DUPFD_CLOEXEC, FOLLOWER_RESULT + 1);
	close(low[0]);
	close(low[1]);
	return fd[0] < 0 || fd[1] < 0 ? -1 : 0;
}

static int spawn(const struct follower *f, const char *path, int orders, int result)
{
	char at[40], *argv[OPTIONS_MOST + 6] = { (char *)"mprof", (char *)"compress", at };
	char **env = make_environment();
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	size_t n = 3;
	pid_t pid = 0;

	snprintf(at, sizeof(at), "--follow=%" PRIu64, f->at);
	for (size_t i = 0; f->how && f->how[i] && i < OPTIONS_MOST; i++)
		argv[n++] = (char *)f->how[i];
	argv[n++] = (char *)"--";
	argv[n] = (char *)path;
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	posix_spawn_file_actions_adddup2(&actions, orders, FOLLOWER_ORDERS);
	posix_spawn_file_actions_adddup2(&actions, result, FOLLOWER_RESULT);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	if (!env || posix_spawn(&pid, "/proc/self/exe", &actions, &attr, argv, env))
		pid = 0;
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	free(env);
	return pid;
}

static void start(struct follower *f, const char *path)
{
	int orders[2] = { -1, -1 }, result[2] = { -1, -1 };

	if (!make_pipe(orders) && !make_pipe(result))
		f->pid = spawn(f, path, orders[0], result[1]);
	close(orders[0]);
	close(result[1]);
	f->orders = orders[1];
	f->result = result[0];
	if (f->pid)
		return;
	close(f->orders);
	close(f->result);
}

/* On a small disk it starts earlier. */
static void heed_disk(struct follower *f, int fd)
{
	struct statvfs disk;
	uint64_t most;

	if (f->knows_disk || !f->at)
		return;
	f->knows_disk = true;
	/* One without a size has 0 blocks. */
	if (fstatvfs(fd, &disk) || !disk.f_blocks)
		return;
	most = (uint64_t)disk.f_bavail * disk.f_frsize / DISK_PARTS;
	most = most > AT_LEAST ? most : AT_LEAST;
	f->at = f->at < most ? f->at : most;
}

void follower_look(struct follower *f, const struct append *file, const char *path)
{
	heed_disk(f, file->fd);
	if (!f->at || f->tried || __atomic_load_n(&file->header->tail, __ATOMIC_RELAXED) < f->at)
		return;
	f->tried = true;
	start(f, path);
}

static void order(struct follower *f, enum follower_order what)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	const char byte = (char)what;
	struct sigaction before;

	sigaction(SIGPIPE, &ignore, &before); /* it may have died */
	if (write(f->orders, &byte, 1) < 0)
		f->tried = true;
	sigaction(SIGPIPE, &before, NULL);
	close(f->orders);
}

static void wait_for(struct follower *f)
{
	close(f->result);
	while (waitpid(f->pid, NULL, 0) < 0 && errno == EINTR)
		;
	f->pid = 0;
}

bool follower_finish(struct follower *f, void *result, size_t bytes)
{
	size_t got = 0;
	ssize_t n = 1;

	if (!f->pid)
		return false;
	order(f, FOLLOWER_FINISH);
	while (got < bytes && n) {
		n = read(f->result, (char *)result + got, bytes - got);
		if (n < 0 && errno != EINTR)
			break;
		got += n > 0 ? (size_t)n : 0;
	}
	wait_for(f);
	return got == bytes;
}

void follower_leave(struct follower *f)
{
	if (!f->pid)
		return;
	order(f, FOLLOWER_LEAVE);
	wait_for(f);
}
