// SPDX-License-Identifier: LGPL-3.0-or-later
/* summary_out.c - the buffer through which summaries are written. */
#include <errno.h>
#include <mprof/module.h>

#include "core.h"
#include "summary.h"
#include "text.h"

void summary_flush(struct summary *s)
{
	size_t done = 0;

	while (done < s->used && !s->error) {
		long n = mp_write_quietly(s->fd, s->out + done, s->used - done);

		if (n <= 0)
			s->error = n ? n : -EIO;
		else
			done += (size_t)n;
	}
	s->used = 0;
}

void summary_put(struct summary *s, const char *at, size_t n)
{
	while (n) {
		size_t part = SUMMARY_OUT - s->used < n ? SUMMARY_OUT - s->used : n;

		__builtin_memcpy(s->out + s->used, at, part);
		s->used += part, at += part, n -= part;
		if (s->used == SUMMARY_OUT)
			summary_flush(s);
	}
}

void summary_say(struct summary *s, const char *text)
{
	summary_put(s, text, text_length(text));
}

void summary_number(struct summary *s, uint64_t n)
{
	char buffer[24];
	struct text t = text_on(buffer, sizeof(buffer));

	text_number(&t, n);
	summary_put(s, buffer, t.used);
}
