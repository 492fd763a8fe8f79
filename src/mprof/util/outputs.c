// SPDX-License-Identifier: LGPL-3.0-or-later
/* outputs.c - see outputs.h. */
#include "outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"

int directories_make(const char *path, size_t *first, struct error *err)
{
	char *copy = must_strdup(path), *slash = copy;
	int ret = 0;

	*first = 0;
	while (!ret && (slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		if (!mkdir(copy, 0777))
			*first = *first ? *first : (size_t)(slash - copy);
		else if (errno != EEXIST && errno != EISDIR && errno != EROFS)
			ret = fail(err, -errno, "cannot create the directory '%s': %s", copy,
				   strerror(errno));
		*slash = '/';
	}
	free(copy);
	return ret;
}

int fail_to_make(struct error *err, int code, const char *path, const char *shown)
{
	const char *slash = strrchr(path, '/');
	char *directory = slash ? must_strndup(path, slash == path ? 1 : (size_t)(slash - path))
				: must_strdup(".");
	char *real = realpath(directory, NULL);
	const char *in = real ? real : directory;

	if (code == -ENOENT && !real && !strcmp(directory, "."))
		fail(err, code,
		     "cannot write '%s': the current directory was removed; change to another one",
		     shown);
	else if (code == -ENOENT && !real)
		fail(err, code, "cannot write '%s': directory '%s' does not exist", shown,
		     directory);
	else if (code == -EACCES)
		fail(err, code,
		     "cannot write '%s': you have no permission to create a file in '%s'; choose "
		     "another directory",
		     shown, in);
	else if (code == -EROFS)
		fail(err, code,
		     "cannot write '%s': the file system of '%s' is read-only; choose another "
		     "directory",
		     shown, in);
	else
		fail(err, code, "cannot write '%s': %s", shown, strerror(-code));
	free(real);
	free(directory);
	return code;
}

void directories_remove(const char *path, size_t first)
{
	char *copy = must_strdup(path), *slash;

	while (first && (slash = strrchr(copy, '/')) && (size_t)(slash - copy) >= first) {
		*slash = '\0';
		if (rmdir(copy))
			break;
	}
	free(copy);
}

int temporary_file(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL, *base = getenv("TMPDIR");
	char *name;
	int fd;

	if (path)
		name = must_printf("%.*s.mprof-XXXXXX", slash ? (int)(slash - path) + 1 : 0, path);
	else
		name = must_printf("%s/mprof-XXXXXX", base && *base ? base : "/tmp");
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	else
		unlink(name);
	free(name);
	return fd;
}

int file_copy(const char *from, const char *to)
{
	const int in = open(from, O_RDONLY | O_CLOEXEC);
	const int out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	ssize_t n = -1;
	int ret = 0;

	if (out >= 0)
		do
			n = sendfile(out, in, NULL, 1 << 30);
		while (n > 0);
	if (n < 0)
		ret = -errno;
	if (out >= 0 && close(out))
		ret = -errno;
	if (in >= 0)
		close(in);
	if (ret && out >= 0)
		unlink(to);
	return ret;
}
