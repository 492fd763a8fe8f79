// SPDX-License-Identifier: LGPL-3.0-or-later
/* run_file_of.c - see run_file_of.h. */
#include "run_file_of.h"

#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../util/file_head.h"
#include "process.h"

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

/*
 * The library keeps the file open to write, as the mode of the link shows; others may read one.
 * *why: EACCES if mprof may list the links, but not follow them (root without CAP_SYS_PTRACE).
 */
static bool is_file(struct run_file_of *f, const char *fd, const char *magic, int *why)
{
	struct stat st;

	snprintf(f->link, sizeof(f->link), "/proc/%d/fd/%.20s", (int)f->pid, fd);
	if (lstat(f->link, &st) || !(st.st_mode & S_IWUSR))
		return false;
	if (stat(f->link, &st)) {
		*why = errno == EACCES || errno == EPERM ? EACCES : *why;
		return false;
	}
	if (!S_ISREG(st.st_mode) ||
	    file_head(f->link, &f->header, sizeof(f->header)) != sizeof(f->header) ||
	    (magic ? memcmp(f->header.magic, magic, MPROF_MAGIC_SIZE) != 0
		   : !mprof_is_magic(f->header.magic)))
		return false;
	find_path(f);
	return true;
}

/* The directory of a process that changed its user belongs to root; its status tells the user. */
static bool user_of(pid_t pid, uid_t *user)
{
	char path[64], line[256];
	bool found = false;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	in = fopen(path, "re");
	while (in && !found && fgets(line, sizeof(line), in))
		found = !strncmp(line, "Uid:", 4);
	if (found)
		*user = (uid_t)strtoul(line + 4, NULL, 10);
	if (in)
		fclose(in);
	return found;
}

static bool has_ended(pid_t pid)
{
	struct process_memory m;

	return !process_memory(pid, &m) && m.state == 'Z';
}

int run_cannot_examine(pid_t pid, int why, struct error *err)
{
	const struct passwd *known;
	char name[64];
	uid_t user;

	if (why == ENOENT || why == ESRCH)
		return fail(err, -why, "cannot examine process %d: it is not running", (int)pid);
	if (has_ended(pid))
		return fail(err, -ESRCH, "cannot examine process %d: it has ended", (int)pid);
	if (why == EACCES && user_of(pid, &user) && user == geteuid())
		return fail(err, -why,
			    "cannot examine process %d: it has more privileges, or protects "
			    "itself (PR_SET_DUMPABLE); run mprof %s",
			    (int)pid, user ? "as root" : "with the capability CAP_SYS_PTRACE");
	if (why != EACCES || !user_of(pid, &user))
		return fail(err, -why, "cannot examine process %d: %s", (int)pid,
			    error_of_process(why));
	known = getpwuid(user);
	snprintf(name, sizeof(name), known ? "%s" : "%.0s%u", known ? known->pw_name : "", user);
	return fail(err, -why,
		    "cannot examine process %d: it runs as user %s; run mprof as this user",
		    (int)pid, name);
}

/* magic: as for run_file_find(). */
static int not_recorded(pid_t pid, const char *magic, struct error *err)
{
	if (has_ended(pid))
		return run_cannot_examine(pid, ESRCH, err);
	if (!magic)
		return fail(err, -ENOENT,
			    "process %d is not being recorded; 'mprof attach %d' profiles it from "
			    "now on",
			    (int)pid, (int)pid);
	return fail(err, -ENOENT,
		    "process %d is not being profiled; start it with mprof profile, or with "
		    "MODE=Profile, or use mprof attach",
		    (int)pid);
}

int run_file_find(struct run_file_of *f, pid_t pid, const char *magic, struct error *err)
{
	char path[64];
	struct dirent *e;
	bool found = false;
	int why = 0;
	DIR *dir;

	f->pid = pid = process_of_thread(pid);
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return run_cannot_examine(pid, errno, err);
	while (!found && (e = readdir(dir)))
		found = *e->d_name != '.' && is_file(f, e->d_name, magic, &why);
	closedir(dir);
	if (!found && why)
		return run_cannot_examine(pid, why, err);
	return found ? 0 : not_recorded(pid, magic, err);
}
