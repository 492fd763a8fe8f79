/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * target.c - what may be replaced by a new trace or counts file.
 */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <mprof/format.h>

static const char *kind_of(const char *magic)
{
	return memcmp(magic, MPROF_MAGIC_COUNTS, MPROF_MAGIC_SIZE) ? "trace" : "counts file";
}

/* Its directory's real path and its own name, so that it holds after chdir. */
static char *absolute(const char *path, struct error *err)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	char *directory, *real, *whole = NULL;

	if (!*name || !strcmp(name, ".") || !strcmp(name, "..")) {
		fail(err, -EISDIR, "cannot write '%s': it is a directory, name a file", path);
		return NULL;
	}
	directory = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	real = directory ? realpath(directory, NULL) : NULL;
	if (!real)
		fail(err, -errno, "cannot write '%s': directory '%s': %s", path,
		     directory ? directory : "", strerror(errno));
	else if (asprintf(&whole, "%s/%s", strcmp(real, "/") ? real : "", name) < 0)
		whole = NULL;
	if (whole && strlen(whole) >= PATH_MAX) {
		fail(err, -ENAMETOOLONG, "cannot write '%s': the path is too long", path);
		free(whole);
		whole = NULL;
	}
	free(directory);
	free(real);
	return whole;
}

static int check_open(int fd, const char *path, const char *magic, struct error *err)
{
	char found[MPROF_MAGIC_SIZE];
	ssize_t n = pread(fd, found, sizeof(found), 0);

	if (n < 0)
		return fail(err, -errno, "cannot read '%s': %s", path, strerror(errno));
	if (n == 0)
		return 0;
	if (n != sizeof(found) || (memcmp(found, MPROF_MAGIC_TRACE, sizeof(found)) &&
				   memcmp(found, MPROF_MAGIC_COUNTS, sizeof(found))))
		return fail(err, -EEXIST,
			    "'%s' exists and is no file of mprof; it is not overwritten", path);
	if (memcmp(found, magic, sizeof(found)))
		return fail(err, -EEXIST, "'%s' exists and is a %s, not a %s; not overwritten",
			    path, kind_of(found), kind_of(magic));
	if (flock(fd, LOCK_EX | LOCK_NB))
		return fail(err, -EBUSY,
			    "'%s' is being written by a run that still goes on; %%p in a path makes"
			    " one for each",
			    path);
	return 0;
}

static int clear(const char *path, const char *magic, struct error *err)
{
	struct stat st;
	int fd, code;

	if (lstat(path, &st))
		return errno == ENOENT
			   ? 0
			   : fail(err, -errno, "cannot write '%s': %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fail(err, -EEXIST, "cannot write '%s': %s is there", path,
			    S_ISDIR(st.st_mode)	   ? "a directory"
			    : S_ISLNK(st.st_mode)  ? "a symbolic link"
			    : S_ISFIFO(st.st_mode) ? "a FIFO"
						   : "something that is no regular file");
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return fail(err, -errno, "cannot write '%s': %s", path, strerror(errno));
	code = check_open(fd, path, magic, err);
	if (!code && unlink(path))
		code = fail(err, -errno, "cannot replace '%s': %s", path, strerror(errno));
	close(fd);
	return code;
}

/* Can a file be made there?  Tried, because permissions alone do not tell. */
static int try_to_make(const char *path, struct error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return fail(err, -errno, "cannot write '%s': %s", path, strerror(errno));
	close(fd);
	return unlink(path) ? fail(err, -errno, "cannot write '%s': %s", path, strerror(errno)) : 0;
}

/*
 * Two mprofs that start at once both find the path free; the library's lock
 * comes with the first event only.  A name that the kernel frees with us
 * settles it: a socket's, made of the path.
 */
static int claim_path(const char *path, struct error *err)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	uint64_t hash = 0xcbf29ce484222325ull;
	const char *p;
	bool busy;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	for (p = path; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 0x100000001b3ull;
	/* A leading NUL: in the kernel, not in the file system. */
	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "mprof-%u-%016" PRIx64, geteuid(),
		 hash);
	if (!bind(fd, (struct sockaddr *)&name, sizeof(name)))
		return fd;
	busy = errno == EADDRINUSE;
	close(fd);
	if (!busy)
		return -1;
	return fail(err, -EBUSY,
		    "'%s' is being written by a run that still goes on; %%p in a path makes"
		    " one for each",
		    path);
}

char *target_clear(const char *path, const char *magic, int *claim, struct error *err)
{
	char *whole = absolute(path, err);

	*claim = whole ? claim_path(whole, err) : -1;
	if (whole && *claim != -EBUSY && !clear(whole, magic, err) && !try_to_make(whole, err))
		return whole;
	if (*claim >= 0)
		close(*claim);
	*claim = -1;
	free(whole);
	return NULL;
}
