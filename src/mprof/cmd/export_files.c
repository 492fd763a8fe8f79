/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* export_files.c - chooses the exported trace and the names of files. */
#include "running.h"
#include "export_files.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <mprof/format.h>

#include "../pass/tree.h"
#include "../pass/walk.h"
#include "../import/import.h"
#include "../util/alloc.h"
#include "../util/file_head.h"
#include "../util/format.h"
#include "../util/memory.h"

/* ---- the largest ---- */

static uint64_t most_resident(struct trace *t)
{
	struct walk_input in;
	struct tree tree;
	uint64_t most = 0;
	size_t i;

	walk_input_from_trace(&in, t);
	tree_make(&tree, &in, 0, trace_damage(t)->lost);
	for (i = 0; i < tree.processes; i++) {
		if (tree.process[i].peak_rss_bytes > most)
			most = tree.process[i].peak_rss_bytes;
		if (tree.process[i].rss_most > most)
			most = tree.process[i].rss_most;
	}
	tree_release(&tree);
	return most;
}

/* The traces to choose from. */
struct names {
	char **item;
	size_t n, room;
};

static void add_name(struct names *all, const char *log)
{
	GROW(all->item, all->n + 1, all->room);
	all->item[all->n++] = must_strdup(log);
}

static void add_names(struct names *all, const char *log)
{
	glob_t found;
	struct stat st;

	/* An existing file whose name looks like a pattern is not a pattern. */
	if (!stat(log, &st)) {
		add_name(all, log);
		return;
	}
	if (glob(log, GLOB_NOCHECK, NULL, &found))
		memory_out();
	for (size_t i = 0; i < found.gl_pathc; i++)
		add_name(all, found.gl_pathv[i]);
	globfree(&found);
}

static int find_largest(const struct names *all, size_t *best, struct error *err)
{
	uint64_t most = 0, now;
	struct trace *t;
	size_t i;
	int ret;

	for (i = 0; i < all->n; i++) {
		ret = running_open(&t, all->item[i], NULL, err);
		if (ret < 0)
			return ret;
		now = most_resident(t);
		trace_close(t);
		if (now > most) {
			most = now;
			*best = i;
		}
	}
	return 0;
}

int export_pick(char *const *log, size_t logs, char **picked, struct error *err)
{
	struct names all = { .item = NULL };
	size_t i, best = 0;
	int ret;

	for (i = 0; i < logs; i++)
		add_names(&all, log[i]);
	ret = all.n > 1 ? find_largest(&all, &best, err) : 0;
	*picked = ret ? NULL : must_strdup(all.item[best]);
	if (*picked && all.n > 1)
		fprintf(stderr, "mprof: the largest of %s traces is '%s'\n", format_count(all.n).s,
			*picked);
	for (i = 0; i < all.n; i++)
		free(all.item[i]);
	free(all.item);
	return ret;
}

bool export_is_trace(const char *path)
{
	char magic[MPROF_MAGIC_SIZE];

	return file_head(path, magic, sizeof(magic)) == sizeof(magic) &&
	       !memcmp(magic, MPROF_MAGIC_TRACE, sizeof(magic));
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

char *export_newest(void)
{
	DIR *here = opendir(".");
	struct timespec latest = { .tv_sec = 0 };
	struct dirent *entry;
	char *newest = NULL, *name;
	struct stat st;

	while (here && (entry = readdir(here))) {
		if (stat(entry->d_name, &st) < 0 || !S_ISREG(st.st_mode) ||
		    (newest && !is_later(&st.st_mtim, &latest)) || !export_is_trace(entry->d_name))
			continue;
		name = must_strdup(entry->d_name);
		free(newest);
		newest = name;
		latest = st.st_mtim;
	}
	if (here)
		closedir(here);
	return newest;
}

/* ---- names of files ---- */

int export_directory(const char *output, bool *is, struct error *err)
{
	size_t n = output ? strlen(output) : 0;
	struct stat st;

	*is = n && (output[n - 1] == '/' || (!stat(output, &st) && S_ISDIR(st.st_mode)));
	if (*is && mkdir(output, 0777) < 0 && errno != EEXIST)
		return fail(err, -errno, "cannot create the directory '%s': %m", output);
	return 0;
}

char *export_file_name(const char *output, bool directory, const char *log, const char *extension,
		       const char *value)
{
	const char *base = basename(directory ? log : output), *dot = strrchr(base, '.');
	size_t n = strlen(base), e = strlen(extension);
	const char *slash = directory && output[strlen(output) - 1] != '/' ? "/" : "";

	if (directory) {
		if (n > 4 && !strcmp(base + n - 4, ".log"))
			n -= 4;
		return must_printf("%s%s%.*s%s%s.%s", output, slash, (int)n, base, value ? "." : "",
				   value ? value : "", extension);
	}
	if (!value)
		return must_strdup(output);
	/* Extensions may have two parts. */
	if (n > e + 1 && !strcmp(base + n - e, extension) && base[n - e - 1] == '.')
		dot = base + n - e - 1;
	if (!dot || dot == base)
		dot = base + n;
	return must_printf("%.*s.%s%s", (int)(dot - output), output, value, dot);
}
