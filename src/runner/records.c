/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * records.c - output: records on the descriptor and, on failure, a line on stderr.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include "run.h"

uint64_t records_telling;
int records_to = 1;

/* Time spent waiting for a slow reader does not count as a stall. */
void record_bytes(const void *data, size_t bytes)
{
	__atomic_fetch_add(&records_telling, 1, __ATOMIC_RELAXED);
	while (bytes) {
		ssize_t n = write(records_to, data, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(STATUS_RUN); /* the reader is gone */
		data = (const char *)data + n;
		bytes -= (size_t)n;
	}
	__atomic_fetch_sub(&records_telling, 1, __ATOMIC_RELAXED);
}

void record_begin(uint32_t kind, uint64_t bytes)
{
	struct mprof_run_record r = { .kind = kind, .bytes = bytes };

	record_bytes(&r, sizeof(r));
}

void record(uint32_t kind, const void *data, size_t bytes)
{
	record_begin(kind, bytes);
	record_bytes(data, bytes);
}

struct line {
	char text[512];
	size_t n;
};

static void put(struct line *l, const char *s)
{
	while (*s && l->n < sizeof(l->text) - 9) /* space for a newline and padding */
		l->text[l->n++] = *s++;
}

static void put_number(struct line *l, uint64_t v)
{
	char digits[21], *s = digits + 20;

	*s = 0;
	do
		*--s = (char)('0' + v % 10);
	while (v /= 10);
	put(l, s);
}

static void compose(struct line *l, const char *what, va_list ap)
{
	char one[2] = { 0 };

	for (; *what; what++) {
		if (*what != '%') {
			one[0] = *what;
			put(l, one);
		} else if (*++what == 's') {
			put(l, va_arg(ap, const char *));
		} else if (*what == 'u') {
			put_number(l, va_arg(ap, uint64_t));
		} else {
			put(l, "%");
		}
	}
}

/* The first failing thread reports; others that fail meanwhile wait for the process to end. */
void die(int status, const char *what, ...)
{
	static int dead;
	static const char name[] = "mprof_replay: ";
	static struct line l;
	va_list ap;
	ssize_t n;

	while (__atomic_exchange_n(&dead, 1, __ATOMIC_ACQ_REL))
		pause();
	va_start(ap, what);
	compose(&l, what, ap);
	va_end(ap);
	memset(l.text + l.n, 0, 8);
	n = write(2, name, sizeof(name) - 1);
	l.text[l.n] = '\n';
	n = write(2, l.text, l.n + 1);
	(void)n;
	l.text[l.n] = 0;
	if (status != STATUS_USAGE)
		record(MPROF_RUN_ERROR, l.text, (l.n + 8) & ~(size_t)7);
	_exit(status);
}

void die_errno(int status, const char *what, const char *name)
{
	die(status, "%s %s: %s", what, name, strerrordesc_np(errno));
}
