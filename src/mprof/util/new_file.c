// SPDX-License-Identifier: LGPL-3.0-or-later
/* new_file.c - see new_file.h. */
#include "new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unfinished.h"

#define TRIES 64u /* of temporary names */

struct self {
	char path[32];
};

/* The path of an open file without a name; it needs /proc. */
static struct self self_of(int fd)
{
	struct self self;

	snprintf(self.path, sizeof(self.path), "/proc/self/fd/%d", fd);
	return self;
}

static int open_unnamed(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *directory;
	int fd;

	if (asprintf(&directory, "%.*s.", slash ? (int)(slash - path) + 1 : 0, path) < 0)
		return -1;
	fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	free(directory);
	if (fd >= 0 && access(self_of(fd).path, F_OK)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int new_file_open(struct new_file *f, const char *path)
{
	int ret;

	*f = (struct new_file){ .path = strdup(path), .fd = -1 };
	if (!f->path || asprintf(&f->temporary, "%s.XXXXXX", path) < 0) {
		free(f->path);
		f->path = NULL;
		return -ENOMEM;
	}
	f->fd = open_unnamed(path);
	if (f->fd < 0) {
		f->fd = unfinished_open(f->temporary);
		f->named = f->fd >= 0;
	}
	ret = f->fd;
	if (ret < 0)
		new_file_drop(f);
	return ret;
}

/* Links the file to a temporary name.  False and errno. */
static bool link_temporary(struct new_file *f)
{
	char *end = f->temporary + strlen(f->temporary) - 6;

	for (unsigned i = 0; !f->named; i++) {
		snprintf(end, 7, "%06x", ((unsigned)getpid() * TRIES + i) & 0xffffff);
		f->named = !linkat(AT_FDCWD, self_of(f->fd).path, AT_FDCWD, f->temporary,
				   AT_SYMLINK_FOLLOW);
		if (!f->named && (errno != EEXIST || i == TRIES))
			return false;
	}
	unfinished_add(f->temporary);
	return true;
}

/* Copies the file to a named one, which takes its place: not every file system can link a file that
 * has no name. */
static bool copy_temporary(struct new_file *f)
{
	const off_t at = lseek(f->fd, 0, SEEK_CUR);
	struct stat st;
	ssize_t n = -1;
	off_t from = 0;
	int fd, error;

	memset(f->temporary + strlen(f->temporary) - 6, 'X', 6);
	fd = unfinished_open(f->temporary);
	if (fd < 0) {
		errno = -fd;
		return false;
	}
	if (!fstat(f->fd, &st) && !fchmod(fd, st.st_mode & 07777))
		do
			n = sendfile(fd, f->fd, &from, 1 << 30);
		while (n > 0);
	f->named = !n && dup3(fd, f->fd, O_CLOEXEC) >= 0 && lseek(f->fd, at, SEEK_SET) >= 0;
	error = errno;
	if (!f->named) {
		unlink(f->temporary);
		unfinished_forget(f->temporary);
	}
	close(fd);
	errno = error;
	return f->named;
}

const char *new_file_temporary(struct new_file *f)
{
	return f->named || link_temporary(f) || copy_temporary(f) ? f->temporary : NULL;
}

int new_file_done(struct new_file *f)
{
	/* Only rename() replaces another file. */
	if (!new_file_temporary(f) || rename(f->temporary, f->path) < 0)
		return -errno;
	unfinished_forget(f->temporary);
	f->named = false;
	new_file_drop(f);
	return 0;
}

void new_file_drop(struct new_file *f)
{
	if (!f->path)
		return;
	if (f->named)
		unlink(f->temporary);
	unfinished_forget(f->temporary);
	if (f->fd >= 0)
		close(f->fd);
	free(f->temporary);
	free(f->path);
	*f = (struct new_file){ .fd = -1 };
}
