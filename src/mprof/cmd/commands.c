/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * commands.c - the commands as an array, and what every command needs to speak.
 */
#include "cmd.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../util/memory.h"
#include "../util/nearest.h"
#include "../util/pager.h"
#include "../util/plain.h"

const struct command cmd_table[] = {
#define MPROF_COMMAND(name, function, group, args, help) { name, function, group, args, help },
#include "commands.def"
#undef MPROF_COMMAND
	{ NULL, NULL, NULL, NULL, NULL },
};

const struct command *cmd_find(const char *name)
{
	const struct command *c;

	for (c = cmd_table; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

const struct command *cmd_nearest(const char *name)
{
	const struct command *c, *best = NULL;
	unsigned d, least = nearest_limit(name);

	for (c = cmd_table; c->name; c++) {
		d = nearest_distance(name, c->name);
		if (d < least) {
			least = d;
			best = c;
		}
	}
	return best;
}

int cmd_run(const struct command *c, int argc, char **argv)
{
	memory_out_title(argv[0]);
	/* What a program takes that we run is its own affair. */
	if (strcmp(c->group, "Run a program"))
		memory_cap();
	return c->run(argc, argv);
}

int cmd_unknown(const char *name)
{
	const struct command *c = cmd_nearest(name);

	if (c)
		return cmd_error(STATUS_USAGE, "unknown command '%s'; did you mean '%s'?", name,
				 c->name);
	return cmd_error(STATUS_USAGE, "unknown command '%s'; `mprof help' lists all commands",
			 name);
}

int cmd_error(int status, const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fputs("mprof: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return status;
}

void cmd_warn(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fputs("mprof: warning: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

const char *cmd_path(const char *path)
{
	static char here[PATH_MAX];
	size_t n;

	if (!getcwd(here, sizeof(here)))
		return path;
	n = strlen(here);
	/* Not one that would be taken for an option. */
	if (strncmp(path, here, n) || path[n] != '/' || path[n + 1] == '-')
		return path;
	return path + n + 1;
}

int cmd_call(const char *name, const char *path)
{
	const struct command *c = cmd_find(name);
	char title[64], file[4096];
	char *argv[] = { title, path ? file : NULL, NULL };

	if (!c)
		return cmd_error(STATUS_USAGE, "this mprof was built without the command '%s'",
				 name);
	snprintf(title, sizeof(title), "mprof %s", name);
	if (!path)
		return cmd_run(c, 1, argv);
	/* A path that begins with a dash must not become an option. */
	snprintf(file, sizeof(file), "%s%s", path[0] == '-' ? "./" : "", path);
	return cmd_run(c, 2, argv);
}

int cmd_flush(int status)
{
	int failed, code;

	/* plain_raw() flushes stdout as well, so check for errors last. */
	errno = 0;
	failed = fflush(stdout) || fflush(plain_raw());
	code = failed ? errno : 0;
	if ((!failed && !ferror(stdout) && !ferror(plain_raw())) || pager_left())
		return status;
	cmd_error(0, "the output is incomplete: cannot write to standard output%s%s",
		  code ? ": " : "", code ? strerror(code) : "");
	return status ? status : STATUS_FOUND;
}
