/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * messages.c - errors and warnings of all commands: see cmd.h.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../print/quote.h"
#include "../util/pager.h"
#include "../util/plain.h"
#include "../util/styled.h"
#include "cmd.h"

int cmd_error(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	terminal_say("mprof: ", format, args);
	va_end(args);
	return status;
}

int cmd_failed(int ret, const struct error *err)
{
	const bool refused = ret == -EINVAL || ret == -ERANGE || ret == -EEXIST || ret == -EISDIR;

	return cmd_error(refused ? STATUS_USAGE : STATUS_FOUND, "%s", err->text);
}

void cmd_warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	terminal_say("mprof: warning: ", format, args);
	va_end(args);
}

const char *cmd_path(const char *path)
{
	static char here[PATH_MAX];
	size_t n;

	if (!getcwd(here, sizeof(here)))
		return path;
	n = strlen(here);
	/* Do not make a path that looks like an option. */
	if (strncmp(path, here, n) || path[n] != '/' || path[n + 1] == '-')
		return path;
	return path + n + 1;
}

uint64_t cmd_file_bytes(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

void cmd_next(const char *path)
{
	cmd_next_view("", path);
}

void cmd_next_view(const char *view, const char *path)
{
	fprintf(stderr, "next: mprof report %s%s", view, *view ? " " : "");
	shell_path(cmd_path(path), stderr);
	fputc('\n', stderr);
}

int cmd_flush(int status)
{
	static bool failed;
	FILE *const out[] = { stdout, plain_raw() };
	unsigned i;

	for (i = 0; i < 2; i++)
		fflush(out[i]);
	for (i = 0; i < 2 && !failed; i++) {
		if (!ferror(out[i]) || pager_left())
			continue;
		failed = true;
		cmd_error(0, "the output is incomplete: cannot write to standard output: %s",
			  strerror(-plain_why(out[i])));
	}
	return !failed || status ? status : STATUS_FOUND;
}
