/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "stream.h"

/* Reads n words after the existing `have` words. */
static void fill(struct stream *s, size_t have, size_t n)
{
	char *to = (char *)(s->buffer + have);
	size_t bytes = n * 8;

	while (bytes) {
		ssize_t got = pread(playback.fd, to, bytes, (off_t)s->offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			die(STATUS_FILE, "%s: changed while it was played", settings.in);
		to += got;
		bytes -= (size_t)got;
		s->offset += (uint64_t)got;
	}
	s->left -= n;
}

static void go_on(struct stream *s, size_t have)
{
	size_t n = s->room - STREAM_BEHIND - have;

	if (n > s->left)
		n = s->left;
	fill(s, have, n);
	s->at = s->buffer;
	s->limit = s->buffer + have + n;
	if (s->left)
		s->limit -= STREAM_BEHIND;
	else
		memset(s->buffer + have + n, 0, STREAM_BEHIND * 8);
	watch_moved();
}

void stream_open(struct stream *s, uint64_t *buffer, size_t room, uint64_t offset, uint64_t words)
{
	*s = (struct stream){ .buffer = buffer, .room = room, .offset = offset, .left = words };
	go_on(s, 0);
}

bool stream_more(struct stream *s)
{
	size_t have;

	if (!s->left)
		return false;
	have = (size_t)(s->limit + STREAM_BEHIND - s->at);
	s->first = stream_index(s, s->at);
	memmove(s->buffer, s->at, have * 8);
	go_on(s, have);
	return true;
}
