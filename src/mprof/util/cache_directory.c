/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * cache_directory.c - see cache_directory.h.
 */
#include "cache_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "order.h"
#include "whole.h"

#define STALE_SECONDS 3600 /* such a file was left by a writer that died */

/* ---- opening ---- */

/* Opens a directory that belongs to us; -1 if it does not. */
static int open_ours(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || st.st_uid != geteuid())) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int enter(int parent, const char *name)
{
	mkdirat(parent, name, 0700);
	return open_ours(parent, name);
}

static int enter_and_leave(int parent, const char *name)
{
	int fd = parent < 0 ? -1 : enter(parent, name);

	if (parent >= 0)
		close(parent);
	return fd;
}

static int base_directory(void)
{
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (base && *base == '/')
		return enter(AT_FDCWD, base);
	return home && *home == '/' ? enter_and_leave(open_ours(AT_FDCWD, home), ".cache") : -1;
}

int cache_directory(const char *name)
{
	return enter_and_leave(enter_and_leave(base_directory(), "mprof"), name);
}

/* ---- files ---- */

int cache_file_open(int directory, const char *name, uint64_t *bytes)
{
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid()) {
		*bytes = (uint64_t)st.st_size;
		futimens(fd, NULL);
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

static int write_parts(int fd, const struct cache_part *part, size_t parts)
{
	uint64_t at = 0;
	int ret = 0;

	for (size_t i = 0; i < parts && !ret; at += part[i++].bytes)
		ret = write_at(fd, part[i].from, part[i].bytes, at);
	return ret;
}

int cache_file_write(int directory, const char *name, mode_t mode, const struct cache_part *part,
		     size_t parts)
{
	char beside[32];
	uint64_t unique = 0;
	int fd, ret;

	if (getrandom(&unique, sizeof(unique), 0) < 0) /* runs in containers share pids */
		return -errno;
	snprintf(beside, sizeof(beside), ".%016llx", (unsigned long long)unique);
	fd = openat(directory, beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (fd < 0)
		return -errno;
	ret = write_parts(fd, part, parts);
	if (close(fd) && !ret)
		ret = -errno;
	if (!ret && renameat(directory, beside, directory, name))
		ret = -errno;
	if (ret)
		unlinkat(directory, beside, 0);
	return ret;
}

/* ---- what was not used for longest goes ---- */

struct aged {
	char name[256];
	time_t used;
	uint64_t bytes;
};

ORDER(by_age, struct aged, RISING(used))

static struct aged *list(int directory, size_t *count, uint64_t *bytes)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct aged *all = NULL;
	size_t room = 0;
	struct dirent *d;
	struct stat st;

	while (dir && (d = readdir(dir))) {
		if (fstatat(directory, d->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		GROW(all, *count + 1, room);
		snprintf(all[*count].name, sizeof(all->name), "%s", d->d_name);
		all[*count].used = st.st_mtime;
		all[(*count)++].bytes = (uint64_t)st.st_size;
		*bytes += (uint64_t)st.st_size;
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	return all;
}

void cache_directory_trim(int directory, uint64_t most)
{
	uint64_t bytes = 0;
	size_t i, count = 0;
	struct aged *all = list(directory, &count, &bytes);
	bool much = bytes > most;
	time_t now = time(NULL);

	SORT(all, count, by_age);
	for (i = 0; i < count; i++) {
		bool left = strchr(all[i].name, '.') && all[i].used < now - STALE_SECONDS;

		if (!left && !(much && bytes > most / 4 * 3))
			continue;
		unlinkat(directory, all[i].name, 0);
		bytes -= all[i].bytes;
	}
	free(all);
}
