// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * notes.c - the one line about a process that is not recorded: written to the file that `mprof`
 * named by MPROF_NOTES, which prints it afterwards; to stderr only without mprof.
 *
 * A line that nobody reads must not end the program: the signals that a write can raise are
 * blocked, and removed if they were raised.
 */
#include <errno.h>
#include <signal.h>

#include "config.h"
#include "core.h"
#include "sys.h"
#include "text.h"

/* The kernel's sigset_t is one word. */
#define BIT(signal_number) (1ull << ((signal_number)-1))

long mp_write_quietly(int fd, const void *data, size_t bytes)
{
	uint64_t quiet = BIT(SIGPIPE) | BIT(SIGXFSZ), before = 0, pending = 0;
	struct timespec now = { 0, 0 };
	long n;

	mp_sys(SYS_rt_sigprocmask, SIG_BLOCK, (long)&quiet, (long)&before, 8, 0, 0);
	mp_sys(SYS_rt_sigpending, (long)&pending, 8, 0, 0, 0, 0);
	do
		n = sys_write(fd, data, bytes);
	while (n == -EINTR);
	quiet &= ~pending;
	if (n < 0 && quiet)
		mp_sys(SYS_rt_sigtimedwait, (long)&quiet, 0, (long)&now, 8, 0, 0);
	mp_sys(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, 8, 0, 0);
	return n;
}

static void note_put_who(struct text *line)
{
	text_number(line, (uint64_t)sys_getpid());
	text_char(line, ' ');
	text_string(line, mp_known.exe);
	text_string(line, ": ");
}

/* /proc/PID/fd/N may be another file by now: accepts only a memfd of mprof. */
static int note_open(void)
{
	static const char expected[] = "/memfd:mprof notes";
	char path[64], target[64];
	struct text t = text_on(path, sizeof(path));
	int fd =
	    sys_open(mp_known.notes, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
	long n;

	if (fd < 0)
		return fd;
	text_string(&t, "/proc/self/fd/");
	text_number(&t, (uint64_t)fd);
	n = sys_readlink(path, target, sizeof(target) - 1);
	if (n >= (long)sizeof(expected) - 1 &&
	    !__builtin_memcmp(target, expected, sizeof(expected) - 1))
		return fd;
	sys_close(fd);
	return -EBADF;
}

void mp_give_up(const char *why)
{
	char buffer[256];
	struct text line = text_on(buffer, sizeof(buffer) - 1);

	text_string(&line, "mprof: ");
	text_string(&line, why);
	buffer[line.used++] = '\n';
	mp_write_quietly(2, buffer, line.used);
	for (;;)
		mp_sys(SYS_exit_group, 127, 0, 0, 0, 0, 0);
}

static struct text *into;

void mp_notes_into(struct text *to)
{
	into = to;
}

void mp_note(const char *why)
{
	char buffer[1024];
	struct text line = text_on(buffer, sizeof(buffer) - 1);
	int notes = mp_known.notes[0] != 0, fd;

	if (into) {
		text_string(into, why);
		return;
	}
	fd = notes ? note_open() : 2;
	if (fd < 0)
		return;
	if (notes)
		note_put_who(&line);
	else
		text_string(&line, "mprof: ");
	text_string(&line, why);
	if (!notes)
		text_string(&line, "; the program runs unrecorded");
	buffer[line.used++] = '\n';
	mp_write_quietly(fd, buffer, line.used);
	if (notes)
		sys_close(fd);
}

/* Notes a line that mprof does not print but evaluates. */
void mp_note_called(const char *function)
{
	char buffer[320];
	struct text line = text_on(buffer, sizeof(buffer) - 1);
	int fd = mp_known.notes[0] ? note_open() : -1;

	if (fd < 0)
		return;
	text_char(&line, '+');
	text_string(&line, function);
	buffer[line.used++] = '\n';
	mp_write_quietly(fd, buffer, line.used);
	sys_close(fd);
}
