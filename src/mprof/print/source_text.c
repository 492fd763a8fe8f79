// SPDX-License-Identifier: LGPL-3.0-or-later
/* source_text.c - the lines of a source file. */
#include "source_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../util/alloc.h"

#define TOO_LARGE (64 << 20)

/* Returns the open file, or -errno. */
static int open_regular(const char *path, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	if (fstat(fd, st) < 0 || !S_ISREG(st->st_mode) || st->st_size > TOO_LARGE) {
		close(fd);
		return -EINVAL;
	}
	return fd;
}

/* Looks below dir with all of the path, then without its first directory, and so on. */
static int open_below(const char *dir, const char *path, char **found, struct stat *st)
{
	const char *part = path;
	int fd = -ENOENT;

	for (; part && fd < 0; part = strchr(part, '/')) {
		part += strspn(part, "/");
		free(*found);
		*found = must_printf("%s/%s", dir, part);
		fd = open_regular(*found, st);
	}
	return fd;
}

static int open_source(struct source_text *s, const char *path, const char *const *dir,
		       struct stat *st)
{
	int fd = -ENOENT;

	for (; dir && *dir && fd < 0; dir++)
		fd = open_below(*dir, path, &s->found, st);
	if (fd >= 0)
		return fd;
	free(s->found);
	s->found = must_strdup(path);
	return open_regular(path, st);
}

static void split(struct source_text *s, size_t bytes)
{
	char *at = s->text, *end = s->text + bytes, *next;
	size_t n = 1, i;

	for (i = 0; i < bytes; i++)
		n += s->text[i] == '\n';
	s->line = must_calloc(n, sizeof(*s->line));
	for (; at < end; at = next + 1) {
		next = memchr(at, '\n', (size_t)(end - at));
		next = next ? next : end;
		*next = '\0';
		if (next > at && next[-1] == '\r')
			next[-1] = '\0';
		s->line[s->lines++] = at;
	}
}

static void read_all(struct source_text *s, int fd, const struct stat *st)
{
	size_t size = (size_t)st->st_size, got = 0;
	ssize_t n = 1;

	s->change_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
	s->text = must_malloc(size + 1);
	while (got < size && n > 0) {
		n = read(fd, s->text + got, size - got);
		got += n > 0 ? (size_t)n : 0;
	}
	s->text[got] = '\0';
	split(s, got);
}

void source_text_read(struct source_text *s, const char *path, const char *const *dir)
{
	struct stat st;
	int fd;

	*s = (struct source_text){ .found = NULL };
	fd = open_source(s, path, dir, &st);
	if (fd < 0) {
		free(s->found);
		s->found = NULL;
		s->why = fd == -EINVAL ? "no regular file, or too large" : strerror(-fd);
		return;
	}
	read_all(s, fd, &st);
	close(fd);
}

void source_text_release(struct source_text *s)
{
	free(s->found);
	free(s->text);
	free(s->line);
	*s = (struct source_text){ .found = NULL };
}
