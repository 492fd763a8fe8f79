/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * moves.c HOW - changes something that a recorder depends on, then starts a
 * child (unless noted).
 *
 *   chdir     into /              clearenv   no environment for the child
 *   chroot    into DIRECTORY (root; a child forked)    setuid   to nobody (root)
 *   umask     077, and a new session                   execve   a child with env replaced
 *   dumpable  prctl(PR_SET_DUMPABLE, 0)
 */
#include "victim.h"

#include <grp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char self[4096];
static const char *directory;

static void churn(void)
{
	for (int i = 0; i < 100000; i++)
		free(malloc(40));
}

static void by_chdir(void)
{
	must(chdir("/") == 0);
}

static void by_clearenv(void)
{
	must(clearenv() == 0);
}

static void by_chroot(void)
{
	must(chroot(directory) == 0 && chdir("/") == 0);
}

static void by_setuid(void)
{
	must(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
}

static void by_umask(void)
{
	umask(077);
	setsid();
}

static void by_dumpable(void)
{
	must(prctl(PR_SET_DUMPABLE, 0) == 0);
}

static const struct {
	const char *name;
	void (*move)(void);
	int child; /* 1: exec of this program; 2: fork alone */
} ways[] = {
	{ "chdir", by_chdir, 1 },	{ "clearenv", by_clearenv, 1 }, { "chroot", by_chroot, 2 },
	{ "setuid", by_setuid, 2 },	{ "umask", by_umask, 1 },	{ "execve", NULL, 1 },
	{ "dumpable", by_dumpable, 2 },
};

static void child(const char *how, int kind)
{
	char *args[] = { self, "child", NULL };
	char *env[] = { "PATH=/bin", NULL };
	int status;
	pid_t pid = fork();

	must(pid >= 0);
	if (pid == 0) {
		if (kind == 2) {
			churn();
			_exit(5);
		}
		if (strcmp(how, "execve") == 0)
			execve(self, args, env);
		else
			execv(self, args);
		_exit(6);
	}
	must(waitpid(pid, &status, 0) == pid);
	must(WIFEXITED(status) && WEXITSTATUS(status) == 5);
}

int main(int argc, char **argv)
{
	must(argc > 1);
	if (strcmp(argv[1], "child") == 0) {
		churn();
		return 5;
	}
	must(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	directory = argc > 2 ? argv[2] : "/tmp";
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(argv[1], ways[i].name) != 0)
			continue;
		churn();
		if (ways[i].move)
			ways[i].move();
		churn();
		child(argv[1], ways[i].child);
		say("atleast size 40 200000");
		say("expect processes 2");
		say("ends 0");
		return 0;
	}
	say("FAILED no such way");
	return 98;
}
