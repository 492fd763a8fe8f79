// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * notes.c - the one line about a process that is not recorded: to the file that
 * `mprof` named by MPROF_NOTES, so that it can tell afterwards; to stderr only
 * when there is no mprof around.
 */
#include "internal.h"

static void put_who(struct text *line)
{
	char exe[256];
	long n = sys_readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	exe[n > 0 ? n : 0] = 0;
	text_number(line, (uint64_t)sys_getpid());
	text_char(line, ' ');
	text_string(line, exe);
	text_string(line, ": ");
}

void mp_note(const char *why)
{
	char buffer[1024];
	struct text line = text_on(buffer, sizeof(buffer) - 1);
	const char *notes = text_getenv("MPROF_NOTES");
	int fd = 2;

	if (notes) {
		fd = sys_open(notes, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY, 0);
		if (fd < 0)
			return;
		put_who(&line);
	} else {
		text_string(&line, "mprof: ");
	}
	text_string(&line, why);
	if (!notes)
		text_string(&line, "; the program runs unrecorded");
	buffer[line.used++] = '\n';
	sys_write(fd, buffer, line.used);
	if (notes)
		sys_close(fd);
}
