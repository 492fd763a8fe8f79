// SPDX-License-Identifier: LGPL-3.0-or-later
/* run_file_of.c - see run_file_of.h. */
#include "run_file_of.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../util/file_head.h"

/* Linux adds this to the path of a file that was deleted. */
static void find_path(struct run_file_of *f)
{
	static const char added[] = " (deleted)";
	const ssize_t n = readlink(f->link, f->path, sizeof(f->path) - 1);
	char *end;

	f->path[n > 0 ? n : 0] = 0;
	end = strrchr(f->path, ' ');
	f->deleted = end && end > f->path && !strcmp(end, added) && access(f->path, F_OK);
	if (f->deleted)
		*end = 0;
}

/* The library keeps the file open. */
static bool is_file(struct run_file_of *f, const char *fd, const char *magic)
{
	struct stat st;

	snprintf(f->link, sizeof(f->link), "/proc/%d/fd/%.20s", (int)f->pid, fd);
	if (stat(f->link, &st) || !S_ISREG(st.st_mode) ||
	    file_head(f->link, &f->header, sizeof(f->header)) != sizeof(f->header) ||
	    (magic ? memcmp(f->header.magic, magic, MPROF_MAGIC_SIZE) != 0
		   : !mprof_is_magic(f->header.magic)))
		return false;
	find_path(f);
	return true;
}

int run_file_find(struct run_file_of *f, pid_t pid, const char *magic, struct error *err)
{
	char path[64];
	struct dirent *e;
	bool found = false;
	DIR *dir;

	f->pid = pid;
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return fail(err, -errno, "cannot examine process %d: %s", (int)pid,
			    errno == ENOENT ? "it is not running" : strerror(errno));
	while (!found && (e = readdir(dir)))
		found = *e->d_name != '.' && is_file(f, e->d_name, magic);
	closedir(dir);
	if (found)
		return 0;
	return fail(err, -ENOENT,
		    "process %d is not being profiled; start it with mprof profile, or with "
		    "MODE=Profile, or use mprof attach",
		    (int)pid);
}
