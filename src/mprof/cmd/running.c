// SPDX-License-Identifier: LGPL-3.0-or-later
/* running.c - see running.h. */
#include "running.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../import/import.h"
#include "../run/code_names.h"
#include "../run/run_file_of.h"
#include "../util/alloc.h"
#include "../util/ranges.h"
#include "cmd.h"

static bool as_pid(const char *word, uint64_t *pid)
{
	struct stat st;

	return !parse_whole(word, 1, INT_MAX, pid) && lstat(word, &st);
}

bool running_is_pid(const char *word)
{
	uint64_t pid;

	return as_pid(word, &pid);
}

/* The path that the program has is another file here if it was deleted, or in a container. */
static bool is_here(const struct run_file_of *f)
{
	struct stat here, there;

	return !stat(f->path, &here) && !stat(f->link, &there) && here.st_dev == there.st_dev &&
	       here.st_ino == there.st_ino;
}

/* Paths that are only links to recordings. */
static struct link {
	const char *path, *name;
	struct link *next;
} * links;

static void remember(const char *path, const char *name)
{
	struct link *l = must_malloc(sizeof(*l));

	*l = (struct link){ .path = path, .name = must_strdup(name), .next = links };
	links = l;
}

const char *running_name(const char *path)
{
	for (const struct link *l = links; l; l = l->next)
		if (!strcmp(l->path, path))
			return l->name;
	return path;
}

int running_find(char **word, size_t words)
{
	static struct run_file_of f;
	struct error err;
	const char *path;
	uint64_t pid;

	for (size_t i = 0; i < words; i++) {
		if (!word[i] || !as_pid(word[i], &pid))
			continue;
		if (run_file_find(&f, (pid_t)pid, NULL, &err))
			return cmd_error(STATUS_FILE, "%s", err.text);
		path = is_here(&f) ? cmd_path(f.path) : f.link;
		fprintf(stderr, "mprof: reading the recording of process %s, '%s'\n", word[i],
			f.deleted ? f.path : path);
		word[i] = must_strdup(path);
		if (path == f.link)
			remember(word[i], basename(f.path));
	}
	return STATUS_OK;
}

int running_open(struct trace **t, const char *path, const char *kind_magic, struct error *err)
{
	const int ret = import_open(t, path, kind_magic, err);

	if (!ret)
		code_names_read(*t);
	return ret;
}
