// SPDX-License-Identifier: LGPL-3.0-or-later
/* answer.c - the file that a command which runs a program writes its answer to. */
#include "answer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../util/alloc.h"
#include "../util/file_head.h"
#include "cmd.h"

#define HEAD 64

/* Compares words, ignoring blanks and line feeds between them. */
static bool begins(const char *s, const char *with)
{
	for (; *with; s++, with++) {
		s += strspn(s, " \n");
		with += strspn(with, " \n");
		if (*s != *with || !*s)
			break;
	}
	return !*with;
}

/* Returns 1 if there is an answer; 0 if there is no file; -errno if there is another file. */
static int look(const char *path, const struct answer_kind *kind, struct error *err)
{
	char head[HEAD + 1] = "";
	const ssize_t n = file_head(path, head, HEAD);

	if (n < 0)
		return n == -ENOENT ? 0
				    : fail(err, (int)n, "cannot write '%s': %s", cmd_path(path),
					   strerror((int)-n));
	if (begins(head, kind->text) || begins(head, kind->json))
		return 1;
	return fail(err, -EEXIST,
		    "'%s' exists and was not written by mprof%s, so it is not replaced; choose "
		    "another file",
		    cmd_path(path), *head ? "" : " (it is empty)");
}

/* May FILE.old be replaced?  Links are not followed: only the name matters. */
static bool may_go(const char *old, const struct answer_kind *kind)
{
	struct stat st;

	if (lstat(old, &st))
		return errno == ENOENT;
	return S_ISREG(st.st_mode) && look(old, kind, NULL) > 0;
}

static char *old_of(const char *path)
{
	return must_printf("%s.old", path);
}

int answer_look(const char *path, const struct answer_kind *kind, struct error *err)
{
	int ret = export_file_look(path, err);
	char *real, *old;

	if (ret)
		return ret < 0 ? ret : 0;
	real = realpath(path, NULL);
	if (!real)
		return export_file_try(path, err);
	ret = look(real, kind, err);
	old = ret > 0 ? old_of(real) : NULL;
	if (old && !may_go(old, kind))
		ret = fail(err, -EEXIST,
			   "'%s' would be kept as '%s', but that file exists and is not replaced; "
			   "choose another file, or move one of the two",
			   cmd_path(real), cmd_path(old));
	free(old);
	free(real);
	return ret < 0 ? ret : export_file_try(path, err);
}

int answer_done(struct export_file *f, int ret, struct error *err)
{
	char *old = ret >= 0 && f->file.path ? old_of(f->target) : NULL;

	if (old && !rename(f->target, old))
		fprintf(stderr, "mprof: renamed the earlier '%s' to '%s'\n", cmd_path(f->target),
			cmd_path(old));
	free(old);
	return export_file_done(f, ret, err);
}
