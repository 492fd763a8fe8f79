// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * place.c - the path of a run's file.
 *
 * Earlier recordings are never destroyed, and files that are not ours are never touched: see
 * place.h. `mprof` checks the same before it starts a program (src/mprof/run/target.c); this file
 * also covers runs without `mprof`.
 */
#include "place.h"

#include <errno.h>
#include <mprof/module.h>
#include <sys/file.h>

#include "runid.h"
#include "sys.h"
#include "text.h"

/*
 * Opens path if it is a regular file: opening a FIFO may block for ever, and opening a device may
 * do anything. -ELOOP for a symbolic link; -ENOTSUP for anything but a regular file.
 */
int mp_file_existing(const char *path, int how)
{
	struct stat st;
	int ret = sys_stat(path, &st, AT_SYMLINK_NOFOLLOW);

	if (ret < 0)
		return ret;
	if (!S_ISREG(st.st_mode))
		return S_ISLNK(st.st_mode) ? -ELOOP : -ENOTSUP;
	/* Another file may be at the path by now: opening it must not block us either. */
	return sys_open(path, how | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
}

/* Is the file ours, judged by its first n bytes?  An empty one is not. */
static int place_is_ours(const struct head *h, long n)
{
	return n >= MPROF_MAGIC_SIZE && mprof_is_magic(h->magic);
}

/*
 * Checks the file at path, and keeps it open and locked in *held.  0: a finished file of ours;
 * -EEXIST: the file of this run (never if run is NULL); -ESTALE: of a later run; -EBUSY: of a live
 * run; -ENOTSUP: not ours.
 */
static int place_look_at(const char *path, const char *magic, const struct mp_run *run, int *held,
			 struct text *why)
{
	struct head h = { .version = 0 };
	int fd = mp_file_existing(path, O_RDONLY), ret = 0;
	long n;

	*held = fd;
	if (fd == -ELOOP || fd == -ENOTSUP) {
		text_string(why,
			    fd == -ELOOP ? "it is a symbolic link" : "it is not a regular file");
		return -ENOTSUP;
	}
	if (fd < 0)
		return fd;
	n = sys_pread(fd, &h, sizeof(h), 0);
	if (run && n == sizeof(h) && same_run(&h, magic, run))
		ret = -EEXIST;
	else if (!place_is_ours(&h, n))
		ret = -ENOTSUP;
	else if (run && !mp_may_make_way(&h, run))
		ret = -ESTALE;
	else if (sys_flock(fd, LOCK_EX | LOCK_NB) == -EWOULDBLOCK)
		ret = -EBUSY;
	if (ret == -ENOTSUP)
		text_string(why, "exists and was not written by mprof");
	return ret;
}

/* Is the open file still the one at path? */
static int place_is_still_at(int fd, const char *path)
{
	struct stat ours, there;

	return sys_fstat(fd, &ours) >= 0 && sys_stat(path, &there, AT_SYMLINK_NOFOLLOW) >= 0 &&
	       ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

/* Renames the file of an earlier run to PATH.old, replacing one that is ours as well. */
static __attribute__((noinline)) int keep_as_old(const char *path, const char *magic,
						 struct text *why)
{
	char name[4096 + 8];
	struct text old = text_on(name, sizeof(name));
	size_t before = why->used;
	int fd, ret;

	text_string(&old, path);
	text_string(&old, ".old");
	text_string(why, "the earlier file cannot be renamed to '");
	text_string(why, name);
	text_string(why, "', which ");
	ret = place_look_at(name, magic, NULL, &fd, why);
	if (ret == 0 || ret == -ENOENT) {
		why->at[why->used = before] = 0;
		ret = sys_rename(path, name, 0);
	} else if (ret != -ENOTSUP) {
		text_string(why, ret == -EBUSY ? "a run still writes" : "cannot be opened");
		ret = -ENOTSUP;
	}
	if (fd >= 0)
		sys_close(fd);
	return ret;
}

/*
 * Frees run->path for a new file. 0, or -EBUSY if a live run uses it.  The lock is held during the
 * rename: of two runs that begin at once, the second must not mistake the first one's new file for
 * the old one.
 */
static int place_clear(const struct mp_run *run, const char *magic, struct text *why)
{
	int fd, ret = place_look_at(run->path, magic, run, &fd, why);

	if (ret == 0 && place_is_still_at(fd, run->path))
		ret = keep_as_old(run->path, magic, why);
	if (fd >= 0)
		sys_close(fd);
	return ret == -ENOENT ? 0 : ret;
}

int mp_place(const char *temporary, struct mp_run *run, const char *magic, struct text *why)
{
	enum { TRIES = 16 }; /* other runs may win the race */
	struct text path = { run->path, text_length(run->path), sizeof(run->path), 0 };
	int ret = -EEXIST;

	for (int i = 0; i < TRIES && ret == -EEXIST; i++) {
		ret = sys_link(temporary, run->path);
		if (ret < 0 && ret != -EEXIST) /* a file system without hard links */
			ret = sys_rename(temporary, run->path, 1);
		if (ret != -EEXIST)
			break;
		ret = place_clear(run, magic, why);
		if (ret == -EBUSY && i < TRIES / 2) {
			text_char(&path, '.');
			text_number(&path, (uint64_t)sys_getpid());
			i = TRIES / 2;
			ret = 0;
		}
		if (ret < 0)
			break;
		ret = -EEXIST;
	}
	sys_unlink(temporary);
	return ret;
}
