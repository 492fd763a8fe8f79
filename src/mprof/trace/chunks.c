/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* chunks.c - loads and checks the words of one chunk, and finds their last time. */
#include "reader.h"

#include <stdlib.h>
#include <string.h>

#include <mprof/encode.h>

#include "pack.h"

static void grow_buffer(uint64_t **buf, size_t *room, size_t bytes)
{
	if (*room < bytes) {
		free(*buf);
		*room = 0;
		*buf = must_malloc(bytes);
		*room = bytes;
	}
}

/* For a profile, whose slots are not copied: have its words changed since its header was read? */
static bool slot_is_still(const struct trace *t, const struct chunk *c)
{
	struct mprof_extent now;

	return trace_read(t, &now, sizeof(now), c->payload - sizeof(now)) == sizeof(now) &&
	       now.kind == c->kind && now.seq == c->seq && now.process == c->process &&
	       (c->kind == MPROF_EXTENT_SLOT ? now.thread == c->thread : now.image == c->image);
}

bool chunk_is_cut(const struct trace *t, const struct chunk *c)
{
	return c->bytes < c->used && c->payload + c->bytes == t->file_bytes;
}

/* Loads the current words of a chunk; 0 if they do not match its header. */
static size_t chunk_load_now(struct trace *t, const struct chunk *c, uint64_t **buf, size_t *room)
{
	if (!c->bytes || c->bytes > CHUNK_BYTES_MAX)
		return 0;
	grow_buffer(buf, room, c->bytes + 8);
	if (c->copy) {
		memcpy(*buf, c->copy, c->bytes);
		return c->bytes / 8;
	}
	if (trace_read(t, *buf, c->bytes, c->payload) != c->bytes)
		return 0;
	if (c->kind == MPROF_EXTENT_SLOT || c->kind == MPROF_EXTENT_STACKS_SLOT)
		return slot_is_still(t, c) ? c->bytes / 8 : 0;
	if (chunk_is_cut(t, c))
		return c->kind != MPROF_EXTENT_PACKED ? c->bytes / 8 : 0;
	if (c->bytes != c->used || mprof_checksum(*buf, c->bytes) != c->check)
		return 0;
	if (c->kind == MPROF_EXTENT_PACKED)
		return unpacker_chunk(&t->unpacker, buf, room, c->bytes);
	return c->bytes / 8;
}

bool chunk_is_gone(const struct trace *t, const struct chunk *c)
{
	return !c->slot && trace_has_dropped(t, chunk_offset(c));
}

/* The last chunks of a live trace may be incomplete. */
size_t chunk_load(struct trace *t, const struct chunk *c, uint64_t **buf, size_t *room)
{
	size_t words;

	do
		words = chunk_load_now(t, c, buf, room);
	while (!words && c->used && !chunk_is_gone(t, c) && trace_reread(t));
	return words;
}

uint64_t words_last_ticks(const uint64_t *word, size_t n, uint64_t ticks)
{
	uint64_t last = 0;
	size_t i = 0, step;

	for (; i < n; i += step) {
		unsigned tag = mprof_word_tag(word[i]);

		if (!tag || (tag == MPROF_TAG_COUNT && !mprof_count_is_sound(word[i])))
			break; /* the decoder stops here, too */
		step = tag == MPROF_TAG_LONG ? MPROF_LONG_WORDS : 1;
		if (tag == MPROF_TAG_TIME)
			ticks = word[i] >> 4;
		else if ((tag <= MPROF_TAG_LONG || tag == MPROF_TAG_CONTROL) && step <= n - i)
			last = ticks = (ticks + mprof_word_dt(word[i])) & MPROF_TICKS_MASK;
	}
	return last;
}
