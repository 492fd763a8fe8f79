// SPDX-License-Identifier: LGPL-3.0-or-later
/* export_file.c - writes an export to disk. */
#include "exports.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../util/alloc.h"
#include "../util/file_head.h"
#include "../util/outputs.h"
#include "../util/plain.h"
#include "../util/unfinished.h"

static bool is_ours(const char *path)
{
	char magic[sizeof(((struct mprof_file_header *)0)->magic)];

	return file_head(path, magic, sizeof(magic)) == sizeof(magic) && mprof_is_magic(magic);
}

/* Returns the descriptor that a path such as /dev/fd/3 names; -1 if none. */
static int descriptor_of(const char *target)
{
	int fd = -1, end = 0;

	if (!strcmp(target, "/dev/stdout"))
		return STDOUT_FILENO;
	if (!strcmp(target, "/dev/stderr"))
		return STDERR_FILENO;
	if ((sscanf(target, "/dev/fd/%d%n", &fd, &end) == 1 && !target[end]) ||
	    (sscanf(target, "/proc/self/fd/%d%n", &fd, &end) == 1 && !target[end]))
		return fd;
	return -1;
}

int export_file_look(const char *target, struct error *err)
{
	struct stat st;

	if (descriptor_of(target) >= 0)
		return 1;
	if (stat(target, &st) < 0 && errno == ENOENT && !lstat(target, &st))
		return fail(
		    err, -ENOENT,
		    "cannot write '%s': it is a symbolic link to a file that does not exist",
		    target);
	if (stat(target, &st) < 0)
		return errno == ENOENT ? 0 : fail(err, -errno, "cannot write '%s': %m", target);
	if (S_ISDIR(st.st_mode))
		return fail(err, -EISDIR, "cannot write '%s': it is a directory", target);
	if (!S_ISREG(st.st_mode))
		return 1;
	if (is_ours(target))
		return fail(err, -EEXIST,
			    "'%s' is a recording of mprof and is not replaced; choose another file",
			    target);
	return 0;
}

/* Opens a file at its current offset; fd stays open.  NULL and errno. */
static FILE *open_copy(int fd)
{
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? NULL : fdopen(fd, "w");
}

/* Opens the existing file or descriptor. */
static FILE *open_into(const char *target)
{
	int fd = descriptor_of(target);

	return fd < 0 ? fopen(target, "we") : open_copy(fd);
}

static int open_beside(struct export_file *f, struct error *err)
{
	mode_t mask;
	int fd = directories_make(f->target, &f->first, err);

	if (fd < 0) {
		directories_remove(f->target, f->first);
		return fd;
	}
	unfinished_watch();
	fd = new_file_open(&f->file, f->target);
	if (fd < 0) {
		directories_remove(f->target, f->first);
		return fail_to_make(err, fd, f->target, f->target);
	}
	mask = umask(0);
	umask(mask);
	fchmod(fd, 0666 & ~mask);
	/* The file gets its name after the last error of this one is known. */
	f->out = open_copy(fd);
	return 0;
}

int export_file_try(const char *target, struct error *err)
{
	struct export_file f;
	int ret = export_file_look(target, err);

	if (ret)
		return ret < 0 ? ret : 0;
	ret = export_file_open(&f, target, err);
	if (!ret)
		export_file_drop(&f);
	return ret;
}

int export_file_open(struct export_file *f, const char *target, struct error *err)
{
	char *real;
	int ret;

	memset(f, 0, sizeof(*f));
	if (!target) {
		f->out = plain_raw();
		return 0;
	}
	ret = export_file_look(target, err);
	if (ret < 0)
		return ret;
	/* Resolves a symbolic link, so that the link stays. */
	real = realpath(target, NULL);
	f->target = real ? real : must_strdup(target);
	if (ret)
		f->out = open_into(target);
	else
		ret = open_beside(f, err);
	if (ret >= 0 && !f->out)
		ret = fail(err, -errno, "cannot write '%s': %m", target);
	if (ret < 0)
		export_file_drop(f);
	return ret < 0 ? ret : 0;
}

int export_file_open_recording(struct export_file *f, const char *target, struct error *err)
{
	struct stat st;
	int ret;

	/* Unlike a text or a picture, a recording is not made twice under one name. */
	if (!stat(target, &st) && S_ISREG(st.st_mode) && st.st_size && !is_ours(target))
		return fail(err, -EEXIST,
			    "'%s' exists and is not a recording of mprof, so it is not replaced; "
			    "choose another file",
			    target);
	ret = export_file_open(f, target, err);
	if (!ret && f->file.path)
		fchmod(f->file.fd, 0600);
	return ret;
}

int export_file_done(struct export_file *f, int ret, struct error *err)
{
	if (ret < 0) {
		export_file_drop(f);
		return ret;
	}
	ret = 0;
	if (f->out == plain_raw())
		return 0; /* main flushes and checks it */
	if (ferror(f->out)) {
		ret = plain_why(f->out);
		fail(err, ret, "cannot write '%s': %s", f->target, strerror(-ret));
	}
	if (fclose(f->out) && !ret)
		ret = fail(err, -errno, "cannot write '%s': %m", f->target);
	f->out = NULL;
	if (!ret && f->file.path) {
		ret = new_file_done(&f->file);
		if (ret)
			fail(err, ret, "cannot write '%s': %s", f->target, strerror(-ret));
	}
	export_file_drop(f);
	return ret;
}

void export_file_drop(struct export_file *f)
{
	if (f->out && f->out != plain_raw())
		fclose(f->out);
	if (f->file.path) {
		new_file_drop(&f->file);
		directories_remove(f->target, f->first);
	}
	free(f->target);
	memset(f, 0, sizeof(*f));
}
