// SPDX-License-Identifier: LGPL-3.0-or-later
/* exit_files.c - see exit_files.h. */
#include "exit_files.h"

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../util/alloc.h"
#include "../util/format.h"
#include "cmd.h"

#define NAMED 2u /* at most this many by name */

static const struct {
	const char *word;
	enum conf_key path;
} forms[] = {
	{ "folded", CONF_FOLDED_PATH },	      { "text", CONF_TEXT_PATH },
	{ "stat", CONF_STAT_PATH },	      { "json", CONF_JSON_PATH },
	{ "callgrind", CONF_CALLGRIND_PATH },
};

static bool has_word(const char *list, const char *word)
{
	const size_t n = strlen(word);
	const char *at = list;

	for (; (at = strstr(at, word)); at += n)
		if ((at == list || at[-1] == ',') && (!at[n] || at[n] == ','))
			return true;
	return false;
}

/* May processes write dumps? */
static bool has_dumps(const struct conf *conf)
{
	static const enum conf_key triggers[] = {
		CONF_DUMP_SIGNAL,    CONF_DUMP_AFTER, CONF_DUMP_EVERY,	 CONF_DUMP_CALLS,
		CONF_DUMP_PEAK,	     CONF_DUMP_RSS,   CONF_DUMP_VIRTUAL, CONF_DUMP_SYSTEM,
		CONF_DUMP_REQUESTED, CONF_DUMP_STACK,
	};

	for (size_t i = 0; i < sizeof(triggers) / sizeof(triggers[0]); i++) {
		const char *value = conf_get(conf, triggers[i]);

		if (*value && strcmp(value, "0") != 0)
			return true;
	}
	return false;
}

/* Returns the glob of a path with %p and the like. */
static char *glob_of(const char *path)
{
	char *pattern = must_malloc(2 * strlen(path) + 1), *to = pattern;

	for (; *path; path++) {
		if (*path == '%' && path[1] && *++path != '%') {
			*to++ = '*';
			continue;
		}
		if (strchr("*?[\\", *path))
			*to++ = '\\';
		*to++ = *path;
	}
	*to = '\0';
	return pattern;
}

static bool is_since(const char *path, const struct timespec *since)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) &&
	       (st.st_mtim.tv_sec > since->tv_sec ||
		(st.st_mtim.tv_sec == since->tv_sec && st.st_mtim.tv_nsec >= since->tv_nsec));
}

struct written {
	const struct timespec *since;
	char *name[NAMED];
	size_t n;
};

/* Counts the files that a pattern matches. */
static void count(struct written *w, const char *pattern)
{
	glob_t found;

	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (is_since(found.gl_pathv[i], w->since) && w->n++ < NAMED)
			w->name[w->n - 1] = must_strdup(cmd_path(found.gl_pathv[i]));
	globfree(&found);
}

void exit_files_tell(const struct conf *conf, const struct timespec *since)
{
	const char *at_exit = conf_get(conf, CONF_AT_EXIT);
	const char *dump = has_dumps(conf) ? conf_get(conf, CONF_DUMP) : "";
	struct written w = { .since = since };
	size_t named;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		char *pattern = glob_of(conf_get(conf, forms[i].path));
		char *numbered = must_printf("%s.[0-9]*", pattern);

		if (has_word(at_exit, forms[i].word) || has_word(dump, forms[i].word))
			count(&w, pattern);
		if (has_word(dump, forms[i].word))
			count(&w, numbered);
		free(numbered);
		free(pattern);
	}
	named = w.n < NAMED ? w.n : NAMED;
	for (size_t i = 0; i < named; i++) {
		fprintf(stderr, "%s%s",
			!i	       ? "mprof: wrote "
			: i + 1 == w.n ? " and "
				       : ", ",
			w.name[i]);
		free(w.name[i]);
	}
	if (w.n > named)
		fprintf(stderr, " and %s", format_many(w.n - named, "more file", "more files").s);
	if (w.n)
		fputc('\n', stderr);
}
