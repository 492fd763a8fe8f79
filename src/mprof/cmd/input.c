// SPDX-License-Identifier: LGPL-3.0-or-later
/* input.c - the standard input of a program that runs more than once. */
#include "input.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"

static bool at_end(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&p, 1, 0) > 0 && p.revents & POLLHUP && !(p.revents & POLLIN);
}

struct input input_before(void)
{
	struct input i = { .from = lseek(STDIN_FILENO, 0, SEEK_CUR) };
	struct stat st;

	if (fstat(STDIN_FILENO, &st))
		return i;
	i.file = S_ISREG(st.st_mode) && i.from >= 0;
	i.open = (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) && !at_end();
	return i;
}

void input_again(struct input *i)
{
	if (i->file)
		lseek(STDIN_FILENO, i->from, SEEK_SET);
	if (!i->open || !at_end())
		return;
	i->open = false;
	cmd_warn("the standard input ended during the first run, so nothing is left for the next "
		 "one; pass a file (PROGRAM <FILE), which is read again");
}
