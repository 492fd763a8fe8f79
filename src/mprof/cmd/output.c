// SPDX-License-Identifier: LGPL-3.0-or-later
/* output.c - the file that a command makes from a recording. */
#include "cmd.h"

#include <string.h>
#include <sys/stat.h>

#include "../export/exports.h"
#include "../play/playfile.h"
#include "../util/file_head.h"

#define HEAD 4096

/* Did mprof make the file?  Pictures and pages name their maker near their beginning. */
static bool made_here(const char *path)
{
	char head[HEAD];
	const ssize_t n = file_head(path, head, sizeof(head));

	return n < 0 || memmem(head, (size_t)n, "mprof", 5);
}

int output_check(const char *path, const char *input, bool chosen)
{
	struct stat in, out;
	struct error err;
	bool there = !stat(path, &out) && S_ISREG(out.st_mode);
	int ret;

	if (there && input && !stat(input, &in) && in.st_dev == out.st_dev &&
	    in.st_ino == out.st_ino)
		return cmd_error(
		    STATUS_USAGE,
		    "'%s' is the input file and is not replaced; choose another file with -o",
		    path);
	if (there && !chosen && !playfile_is(path) && !made_here(path))
		return cmd_error(STATUS_USAGE,
				 "'%s' exists and was not written by mprof; choose a file with -o",
				 path);
	ret = export_file_try(path, &err);
	return ret < 0 ? cmd_failed(ret, &err) : STATUS_OK;
}
