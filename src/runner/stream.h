/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * stream.h - the words of one stream, read by pread into a buffer that is small enough to leave the
 * caches to the allocator.  Not mapped: its pages would count as resident.
 *
 * Words from `at` up to `limit` can be played, and the two words after each can be read: an EXT,
 * its call and a TOUCH are never split.  Two ENDs follow the last word.
 */
#pragma once

#include "run.h"

#define STREAM_BEHIND 2

struct stream {
	const uint64_t *at, *limit;
	uint64_t *buffer;
	size_t room;	       /* words */
	uint64_t first;	       /* number of the word buffer[0] in the stream */
	uint64_t offset, left; /* where to continue in the file, and the words left there */
};

/* Fills the buffer for the first time; room: its words, a few pages. */
void stream_open(struct stream *s, uint64_t *buffer, size_t room, uint64_t offset, uint64_t words);
/* Called when `at` has reached `limit`; false at the end of the stream. */
bool stream_more(struct stream *s);

/* plan.c, for ORDER: returns where playing stops next, at the limit or at a stop before it. */
const uint64_t *stream_halt(const struct stream *in, const struct stops *stops);
/* Records the stop there, or reads more.  False at the end of the stream. */
bool stream_go_on(struct stream *in, struct stops *stops);

/* Returns the number of the word at `p`. */
static inline uint64_t stream_index(const struct stream *s, const uint64_t *p)
{
	return s->first + (uint64_t)(p - s->buffer);
}
