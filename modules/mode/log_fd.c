// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * log_fd.c - MODE=LogFD: one line of text for each call, to LOG_FD.
 *
 *   function <TAB> arguments, in the order of the call <TAB> result
 *
 * Numbers are decimal, addresses hexadecimal in lower case without 0x.  A line
 * is one write, shorter than PIPE_BUF, so threads and processes never mix half
 * lines.  If LOG_FD has become another file than at the start, because the
 * program closed it and opened something else, nothing is written to it.
 */
#include <errno.h>
#include <mprof/module.h>

static const struct mprof_host *host;

struct line {
	char text[256]; /* a name, four numbers of 20 digits, tabs */
	unsigned used;
};

static const char *const shapes[] = {
#define X(shape, values, operation) values,
	MPROF_SHAPES(X)
#undef X
};
static const struct {
	const char *name;
	enum mprof_shape shape;
} rows[MPROF_FN_MAX] = {
#define MPROF_SHAPED(id, code, name, class, shape) [code] = { name, MPROF_SHAPE_##shape },
#include <mprof/functions.def>
};

static void line_char(struct line *l, char c)
{
	l->text[l->used++] = c;
}

static struct line line_for(unsigned fn)
{
	struct line l = { .used = 0 };

	for (const char *s = rows[fn].name; *s; s++)
		line_char(&l, *s);
	return l;
}

static void line_base(struct line *l, uint64_t n, unsigned base)
{
	char digits[20];
	int i = 0;

	line_char(l, '\t');
	do
		digits[i++] = "0123456789abcdef"[n % base];
	while (n /= base);
	while (i)
		line_char(l, digits[--i]);
}

static void line_number(struct line *l, uint64_t n)
{
	line_base(l, n, 10);
}

static void line_address(struct line *l, const void *ptr)
{
	line_base(l, (uintptr_t)ptr, 16);
}

static void line_finish(struct line *l)
{
	int ret;

	if (!host->enter()) /* not a call of the program's */
		return;
	line_char(l, '\n');
	ret = host->fd_write((int)host->config->log_fd, l->text, l->used);
	if (ret == -EBADF)
		host->stop(MPROF_LOST_FILE, "LOG_FD now refers to another file");
	else if (ret < 0)
		host->stop(MPROF_LOST_SPACE, "LOG_FD accepts no more lines");
}

static MPROF_COLD void log_fd_say(unsigned fn, const void *old, const void *result, size_t size,
				  size_t arg)
{
	struct line l = line_for(fn);

	for (const char *v = shapes[rows[fn].shape]; *v; v++)
		if (*v == 'o' || *v == 'r')
			line_address(&l, *v == 'o' ? old : result);
		else if (*v == 's')
			line_number(&l, size);
		else if (*v == 'n' || *v == 'a')
			line_number(&l, arg);
	line_finish(&l);
}

MPROF_HOT void on_alloc(unsigned fn, void *ptr, size_t size, size_t arg)
{
	log_fd_say(fn, NULL, ptr, size, arg);
}
MPROF_HOT void on_fail(unsigned fn, size_t size, size_t arg, unsigned error)
{
	(void)error;
	log_fd_say(fn, NULL, NULL, size, arg);
}
MPROF_HOT void on_free(unsigned fn, void *ptr, size_t size, size_t arg)
{
	log_fd_say(fn, ptr, NULL, size, arg);
}
MPROF_HOT void on_realloc_begin(unsigned fn, void *ptr, size_t size, size_t arg)
{
	(void)fn, (void)ptr, (void)size, (void)arg;
}
MPROF_HOT void on_realloc_end(unsigned fn, void *old, void *ptr, size_t size, size_t arg)
{
	log_fd_say(fn, old, ptr, size, arg);
}

/* address length | old-address old-length new-length new-address | old-break new-break */
static void note_map(unsigned fn, uint64_t ticks, const uint64_t value[4], unsigned error)
{
	struct line l = line_for(fn);

	(void)ticks, (void)error;
	if (fn == MPROF_FN_MREMAP) {
		line_base(&l, value[2], 16);
		line_number(&l, value[3]);
	}
	if (fn == MPROF_FN_MUNMAP)
		line_base(&l, value[0], 16);
	line_number(&l, value[1]);
	if (fn != MPROF_FN_MUNMAP)
		line_base(&l, value[0], 16);
	line_finish(&l);
}

static void note_control(unsigned what, uint64_t value)
{
	(void)what, (void)value;
}

#include <mprof/template.h>

static int log_fd_start(const struct mprof_host *h)
{
	int ret = h->fd_open((int)h->config->log_fd);

	host = h;
	if (ret < 0)
		h->note(
		    "LOG_FD is not an open file descriptor; open it first: LOG_FD=9 with 9>file");
	return ret;
}

const struct mprof_mode_ops mprof_mode_log_fd MPROF_SHARED = {
	.abi = MPROF_MODULE_ABI,
	.api = &mode_api,
	.start = log_fd_start,
};
