/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * descriptors.c HOW - closes descriptors that it does not own, as daemons
 * do, then continues to allocate: no record may be lost, and not one byte of the
 * recorder may appear in a file of the program.
 *
 *   loop      close() on every number     range    close_range      from    closefrom
 *   raw       close by system call        dup2     its own file on every number
 *   rawdup2   the same by system call     open     files until there is no number left
 *   listed    close() on all that /proc/self/fd lists: each is there to be closed
 *   full      as rawdup2, and no number is given back: then recording may end
 */
#include "victim.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { LIMIT = 1024, CHURN = 200000 };

static int file; /* the program's own, must stay empty */

static void churn(void)
{
	for (int i = 0; i < CHURN; i++)
		free(malloc(40));
}

static void by_loop(void)
{
	for (int fd = 3; fd < LIMIT; fd++)
		if (fd != file) {
			errno = 0;
			/* What a free number answers; an inherited one may be closed. */
			must(close(fd) == 0 || errno == EBADF);
		}
}

static void by_list(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	must(dir);
	while ((entry = readdir(dir))) {
		int fd = atoi(entry->d_name);

		if (fd >= 3 && fd != file && fd != dirfd(dir))
			must(close(fd) == 0);
	}
	must(closedir(dir) == 0);
}

static void by_range(void)
{
	const unsigned one = (unsigned)dup(file);

	must(close_range(one, one, 0) == 0 && fcntl((int)one, F_GETFD) < 0);
	must(close_range(one, one - 1, 0) < 0 && errno == EINVAL);
	must(close_range((unsigned)file + 1, ~0u, 0) == 0);
}

static void by_from(void)
{
	closefrom(file + 1);
}

static void by_raw(void)
{
	for (int fd = 3; fd < LIMIT; fd++)
		if (fd != file)
			syscall(SYS_close, fd);
}

static void by_dup2(void)
{
	for (int fd = 3; fd < LIMIT; fd++)
		if (fd != file)
			must(dup2(file, fd) == fd);
	for (int fd = 3; fd < LIMIT; fd++)
		if (fd != file)
			must(close(fd) == 0);
}

static void by_full(void)
{
	for (int fd = 3; fd < LIMIT; fd++)
		if (fd != file)
			must(syscall(SYS_dup2, file, fd) == fd);
}

static void by_raw_dup2(void)
{
	by_full();
	by_raw();
}

static void by_open(void)
{
	int n = 0;

	while (dup(file) >= 0)
		n++;
	must(errno == EMFILE);
	must(n > LIMIT - 64);
}

static const struct {
	const char *name;
	void (*take)(void);
} ways[] = {
	{ "loop", by_loop },	    { "listed", by_list }, { "range", by_range },
	{ "from", by_from },	    { "raw", by_raw },	   { "dup2", by_dup2 },
	{ "rawdup2", by_raw_dup2 }, { "open", by_open },   { "full", by_full },
};

int main(int argc, char **argv)
{
	struct rlimit limit = { LIMIT, LIMIT };
	char name[] = "/tmp/mprof-victim-XXXXXX";
	struct stat st;

	must(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(argv[1], ways[i].name) != 0)
			continue;
		churn();
		file = mkstemp(name);
		must(file >= 0 && unlink(name) == 0);
		ways[i].take();
		churn();
		free(malloc(41));
		must(fstat(file, &st) == 0);
		must(st.st_size == 0);
		if (ways[i].take == by_full) {
			say("lossy");
			say("atleast calls.malloc %d", CHURN);
		} else {
			say("size 40 %d", 2 * CHURN);
			say("size 41 1");
			if (ways[i].take != by_list) /* opendir allocates, too */
				say("expect calls.malloc %d", 2 * CHURN + 1);
		}
		say("ends 0");
		return 0;
	}
	say("FAILED no such way");
	return 98;
}
