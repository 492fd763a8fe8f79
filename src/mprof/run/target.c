/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * target.c - which files a new trace or counts file may replace.
 */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mprof/format.h>

#include "../util/alloc.h"
#include "../util/outputs.h"
#include "claim.h"

/* The real path of the directory that the file is in, which is made if it is missing. */
static char *directory_of(const char *path, const char *slash, struct error *err)
{
	char *directory, *real;
	size_t first;
	int code;

	directory = slash ? must_strndup(path, slash == path ? 1 : (size_t)(slash - path))
			  : must_strdup(".");
	real = realpath(directory, NULL);
	if (!real && errno == ENOENT) {
		code = directories_make(path, &first, err);
		if (code) {
			free(directory);
			return NULL;
		}
		real = realpath(directory, NULL);
	}
	if (!real && errno == ENOENT)
		fail_to_make(err, -errno, path, path);
	else if (!real)
		fail(err, -errno, "cannot write '%s': directory '%s': %s", path, directory,
		     strerror(errno));
	free(directory);
	return real;
}

/* Its directory's real path and its own name, so that it stays valid after chdir. */
static char *absolute(const char *path, struct error *err)
{
	const char *slash = strrchr(path, '/');
	const char *name = basename(path);
	char *real, *whole;

	if (!*name || !strcmp(name, ".") || !strcmp(name, "..")) {
		fail(err, -EISDIR, "cannot write '%s': it is a directory; name a file", path);
		return NULL;
	}
	real = directory_of(path, slash, err);
	if (!real)
		return NULL;
	whole = must_printf("%s/%s", strcmp(real, "/") ? real : "", name);
	if (strlen(whole) >= PATH_MAX) {
		fail(err, -ENAMETOOLONG, "cannot write '%s': the path is too long", path);
		free(whole);
		whole = NULL;
	}
	free(real);
	return whole;
}

static int busy(const char *path, struct error *err)
{
	return fail(err, -EBUSY,
		    "'%s' is being written by a run in progress; %%p in the path gives each "
		    "process its own file",
		    path);
}

static int check_open(int fd, const char *path, const char *magic, struct error *err)
{
	char found[MPROF_MAGIC_SIZE];
	ssize_t n = pread(fd, found, sizeof(found), 0);

	if (n < 0)
		return fail(err, -errno, "cannot read '%s': %s", path, strerror(errno));
	if (n != sizeof(found) || !mprof_is_magic(found))
		return fail(err, -EEXIST,
			    "'%s' exists and is not a %s of mprof%s, so it is not replaced; choose "
			    "another file",
			    path, mprof_kind_name(magic), n ? "" : " (it is empty)");
	if (memcmp(found, magic, sizeof(found)))
		return fail(
		    err, -EEXIST,
		    "'%s' exists and is a %s, not a %s, so it is not replaced; choose another file",
		    path, mprof_kind_name(found), mprof_kind_name(magic));
	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return busy(path, err);
	return 0;
}

/* In a directory like /tmp only the owner can rename a file. */
static bool may_move(const char *path, const struct stat *file)
{
	const char *slash = strrchr(path, '/');
	char *directory = must_strndup(path, slash == path ? 1 : (size_t)(slash - path));
	struct stat st;
	bool may = !geteuid() || file->st_uid == geteuid() || stat(directory, &st) ||
		   !(st.st_mode & S_ISVTX) || st.st_uid == geteuid();

	free(directory);
	return may;
}

struct found {
	struct stat st;
	uint8_t run_id[16];
};

/* 1: a finished file of that kind is there, *f; 0: nothing; -errno: anything else. */
static int look_at(const char *path, const char *shown, const char *magic, struct found *f,
		   struct error *err)
{
	struct stat *found = &f->st;
	int fd, code;

	if (lstat(path, found))
		return errno == ENOENT
			   ? 0
			   : fail(err, -errno, "cannot write '%s': %s", shown, strerror(errno));
	if (!S_ISREG(found->st_mode))
		return fail(err, -EEXIST, "cannot write '%s': it is %s", shown,
			    S_ISDIR(found->st_mode)    ? "a directory"
			    : S_ISLNK(found->st_mode)  ? "a symbolic link"
			    : S_ISFIFO(found->st_mode) ? "a FIFO"
						       : "not a regular file");
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return fail(err, -errno, "cannot write '%s': %s", shown, strerror(errno));
	code = check_open(fd, shown, magic, err);
	/* If the file ends earlier, the library reads zeros, too. */
	memset(f->run_id, 0, sizeof(f->run_id));
	if (pread(fd, f->run_id, sizeof(f->run_id), offsetof(struct mprof_file_header, run_id)) < 0)
		memset(f->run_id, 0, sizeof(f->run_id));
	close(fd);
	if (!code && !may_move(path, found))
		code = fail(err, -EPERM,
			    "cannot write '%s': it belongs to another user, and only that user may "
			    "rename it",
			    shown);
	return code ? code : 1;
}

/*
 * The library maps the file, which not every file system of a network or FUSE allows, nor every
 * policy.  NULL, or why it cannot.
 */
static const char *why_unmapped(int fd)
{
	const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map != MAP_FAILED) {
		munmap(map, bytes);
		return NULL;
	}
	if (errno == ENOMEM || errno == EAGAIN)
		return NULL;
	if (errno == EACCES || errno == EPERM)
		return "the system does not permit to map it (mmap): a security policy, such as "
		       "SELinux or seccomp";
	return "its file system cannot map files (mmap); choose another directory";
}

int target_try(const char *path, const char *shown, struct error *err)
{
	/* As the library does, whose name is longest. */
	char *name = must_printf("%s.%d.new", path, (int)getpid());
	const char *why;
	int fd, code = 0;

	fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		code = fail_to_make(err, -errno, path, shown);
	} else {
		why = why_unmapped(fd);
		if (close(fd) | unlink(name))
			code = fail(err, -errno, "cannot write '%s': %s", shown, strerror(errno));
		else if (why)
			code = fail(err, -ENODEV, "cannot write '%s': %s", shown, why);
	}
	free(name);
	return code;
}

/*
 * The file at PATH.old is replaced as soon as something is recorded; until that is certain, a
 * second name keeps it.
 */
static int look_at_old(struct target *t, const char *shown, const char *magic, struct error *err)
{
	struct found found;
	char *old = target_old(t);
	int code = look_at(old, shown, magic, &found, err);

	if (code < 0)
		fail(err, code,
		     "'%s' would be kept as '%s.old', but that file exists and is not replaced; "
		     "choose another file, or move one of the two",
		     shown, shown);
	if (code == 1) {
		t->spare = must_printf("%s.%d", old, (int)getpid());
		if (link(old, t->spare)) {
			free(t->spare);
			t->spare =
			    NULL; /* no hard links there: it is replaced a little too early */
		}
	}
	free(old);
	return code < 0 ? code : 0;
}

/*
 * Two mprofs that start at the same time both find the path free, because the library takes its
 * lock only at the first event. So they compete for a name, made from the path.
 */
static int claim_path(const char *path, const char *shown, struct error *err)
{
	uint64_t hash = 0xcbf29ce484222325ull;
	char name[64];
	int fd;

	for (const char *p = path; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 0x100000001b3ull;
	snprintf(name, sizeof(name), "mprof-%u-%016" PRIx64, geteuid(), hash);
	fd = claim_take(name);
	if (fd == -EADDRINUSE)
		return busy(shown, err);
	return fd < 0 ? -1 : fd;
}

static bool same_directory(const char *a, const char *b)
{
	char *x = must_printf("%.*s./", (int)(basename(a) - a), a);
	char *y = must_printf("%.*s./", (int)(basename(b) - b), b);
	struct stat p, q;
	bool same;

	if (!stat(x, &p) && !stat(y, &q))
		same = p.st_dev == q.st_dev && p.st_ino == q.st_ino;
	else
		same = !strcmp(x, y);
	free(x);
	free(y);
	return same;
}

bool target_same(const char *a, const char *b)
{
	struct stat x, y;

	if (!stat(a, &x) && !stat(b, &y))
		return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
	return !strcmp(basename(a), basename(b)) && same_directory(a, b);
}

char *target_old(const struct target *t)
{
	return must_printf("%s.old", t->path);
}

static int check(struct target *t, const char *shown, const char *magic, struct error *err)
{
	struct found found;
	int code = look_at(t->path, shown, magic, &found, err);

	if (code < 0)
		return code;
	t->earlier = code;
	if (t->earlier) {
		t->dev = found.st.st_dev;
		t->ino = found.st.st_ino;
		memcpy(t->run_id, found.run_id, sizeof(t->run_id));
	}
	code = target_try(t->path, shown, err);
	return code || !t->earlier ? code : look_at_old(t, shown, magic, err);
}

int target_take(struct target *t, const char *path, const char *magic, struct error *err)
{
	int code = -EINVAL;

	*t = (struct target){ .claim = -1 };
	t->path = absolute(path, err);
	if (t->path) {
		t->claim = claim_path(t->path, path, err);
		code = t->claim == -EBUSY ? -EBUSY : check(t, path, magic, err);
	}
	if (code)
		target_release(t);
	return code;
}

static bool is_file(const char *path, const struct target *t)
{
	struct stat st;

	return !lstat(path, &st) && st.st_dev == t->dev && st.st_ino == t->ino;
}

enum target_earlier target_settle(struct target *t, bool recorded)
{
	enum target_earlier now = TARGET_NONE;
	char *old = target_old(t);

	if (!t->earlier)
		now = TARGET_NONE;
	else if (is_file(t->path, t))
		now = TARGET_UNTOUCHED;
	else if (!is_file(old, t))
		now = TARGET_NONE; /* another process moved it */
	else if (recorded || rename(old, t->path))
		now = TARGET_KEPT;
	else
		now = TARGET_PUT_BACK;
	if (now == TARGET_PUT_BACK && t->spare && !rename(t->spare, old)) {
		free(t->spare);
		t->spare = NULL;
	}
	free(old);
	return now;
}

void target_release(struct target *t)
{
	if (t->spare)
		unlink(t->spare);
	if (t->claim >= 0)
		close(t->claim);
	free(t->spare);
	free(t->path);
	*t = (struct target){ .claim = -1 };
}
