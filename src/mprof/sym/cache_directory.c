/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * cache_directory.c - the directory of the cache: opened for a run, and kept small.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../util/alloc.h"
#include "../util/order.h"
#include "cache_format.h"

#define STALE_SECONDS 3600 /* what a writer that died left behind */

/* ---- opening ---- */

/* A directory that is ours; -1 if it is not. */
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

struct cache *cache_open(void)
{
	struct cache *c = must_calloc(1, sizeof(*c));
	char name[32];

	snprintf(name, sizeof(name), "symbols-%d", CACHE_FORMAT);
	c->directory = enter_and_leave(enter_and_leave(base_directory(), "mprof"), name);
	if (c->directory >= 0)
		return c;
	free(c);
	return NULL;
}

/* ---- what was not used for longest goes ---- */

struct aged {
	char name[256];
	time_t used;
	uint64_t bytes;
};

ORDER(by_age, struct aged, RISING(used))

static struct aged *list(struct cache *c, size_t *count, uint64_t *bytes)
{
	int fd = openat(c->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct aged *all = NULL;
	size_t room = 0;
	struct dirent *d;
	struct stat st;

	while (dir && (d = readdir(dir))) {
		if (fstatat(c->directory, d->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
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

static void trim(struct cache *c)
{
	uint64_t bytes = 0;
	size_t i, count = 0;
	struct aged *all = list(c, &count, &bytes);
	bool much = bytes > CACHE_BYTES;
	time_t now = time(NULL);

	SORT(all, count, by_age);
	for (i = 0; i < count; i++) {
		bool left = strchr(all[i].name, '.') && all[i].used < now - STALE_SECONDS;

		if (!left && !(much && bytes > CACHE_BYTES / 4 * 3))
			continue;
		unlinkat(c->directory, all[i].name, 0);
		bytes -= all[i].bytes;
	}
	free(all);
}

void cache_close(struct cache *c)
{
	if (!c)
		return;
	if (c->wrote)
		trim(c);
	close(c->directory);
	free(c);
}
