/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * families.c fork|vfork|spawn|exec [again] - processes: a forked child has its parent's stacks and
 * makes its own under the same numbers as its parent; a new program begins with new numbers.
 */
#include "stack.h"

#include <spawn.h>
#include <sys/wait.h>

FRAME static void leaf(size_t size)
{
	TAG(size);
	STAY();
}

FRAME static void before(void)
{
	leaf(2001);
	STAY();
}

FRAME static void in_child(size_t size)
{
	leaf(size);
	STAY();
}

FRAME static void in_parent(size_t size)
{
	leaf(size);
	STAY();
}

FRAME static void in_grandchild(size_t size)
{
	leaf(size);
	STAY();
}

FRAME static void waits(pid_t pid)
{
	int status;

	must(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	STAY();
}

FRAME static void forks(void)
{
	int order[2];
	char c = 0;
	pid_t pid;

	must(pipe(order) == 0);
	pid = fork();
	if (pid == 0) {
		/* After the parent has defined stacks of its own. */
		must(read(order[0], &c, 1) == 1);
		in_child(2011);
		before();
		in_child(2012);
		pid = fork();
		if (pid == 0) {
			in_grandchild(2021);
			in_child(2011);
			before();
			_exit(0);
		}
		waits(pid);
		in_child(2011);
		_exit(0);
	}
	in_parent(2013);
	in_parent(2014);
	must(write(order[1], &c, 1) == 1);
	waits(pid);
	in_parent(2013);
	before();
	say("chain 2011 leaf in_child forks " MAIN);
	say("chain 2012 leaf in_child forks " MAIN);
	say("chain 2013 leaf in_parent forks " MAIN);
	say("chain 2014 leaf in_parent forks " MAIN);
	say("chain 2021 leaf in_grandchild forks " MAIN);
	say("count 2011 3");
	STAY();
}

FRAME static void vforks(char **argv)
{
	pid_t pid;

	for (int i = 0; i < 5; i++) {
		in_parent(2013);
		pid = vfork();
		if (pid == 0) {
			execl("/proc/self/exe", argv[0], "again", NULL);
			_exit(1);
		}
		waits(pid);
	}
	say("chain 2013 leaf in_parent vforks " MAIN);
	say("chain 2031 leaf in_child " MAIN);
	say("count 2013 5");
	say("count 2031 5");
	STAY();
}

FRAME static void spawns(char **argv)
{
	char *words[] = { argv[0], "again", NULL };
	extern char **environ;
	pid_t pid;

	in_parent(2013);
	must(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, words, environ) == 0);
	waits(pid);
	in_parent(2013);
	say("chain 2013 leaf in_parent spawns " MAIN);
	say("chain 2031 leaf in_child " MAIN);
	STAY();
}

int main(int argc, char **argv)
{
	must(argc > 1);
	if (!strcmp(argv[1], "again")) {
		in_child(2031);
		return 0;
	}
	before();
	if (!strcmp(argv[1], "fork"))
		forks();
	else if (!strcmp(argv[1], "vfork"))
		vforks(argv);
	else if (!strcmp(argv[1], "spawn"))
		spawns(argv);
	if (strcmp(argv[1], "fork")) {
		say("chain 2001 leaf before " MAIN);
	} else {
		/* The same function from two places: in main, and in three processes of forks. */
		say("chain 2001 leaf before forks~ " MAIN);
		say("count 2001 4");
	}
	if (!strcmp(argv[1], "exec")) {
		say("chain 2031 leaf in_child " MAIN);
		execl("/proc/self/exe", argv[0], "again", NULL);
		_exit(1);
	}
	return 0;
}
