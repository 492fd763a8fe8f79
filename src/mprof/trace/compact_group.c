// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * compact_group.c - chunks that follow each other, as one piece each (packings 2 and 3).
 *
 * What cannot be in a group is left to compact.c: slots, damaged chunks, and
 * those that repeat a number.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compact_job.h"

#define GROUP_CHUNKS_MAX 4096u

/* The chunk's words behind those of the group so far; false when it cannot be in one. */
static bool add_words(struct job *j, const struct chunk *c, struct group_chunk *to, size_t *words)
{
	uint64_t *at = j->words + *words;

	if (c->slot || c->kind == MPROF_EXTENT_PACKED || !c->bytes || c->bytes % 8 ||
	    c->bytes != c->used || *words + c->bytes / 8 > group_words_most(j->from->streams) ||
	    trace_read(j->from, at, c->bytes, c->payload) != c->bytes ||
	    mprof_checksum(at, c->bytes) != c->check)
		return false;
	*to = (struct group_chunk){ at, c->bytes / 8, c->first_ticks };
	*words += to->n;
	return true;
}

/* Extents stand in the order of the file. */
static struct extent *extent_of(struct job *j, const struct chunk *c)
{
	size_t low = 0, high = j->extents.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (j->extents.item[mid].payload == c->payload)
			return &j->extents.item[mid];
		if (j->extents.item[mid].payload < c->payload)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/* How many chunks, of at most `most`, can be one group. */
static size_t gather(struct job *j, const struct chunk *c, size_t most, struct group_chunk *to,
		     size_t *words)
{
	size_t n = 0;

	*words = 0;
	while (n < most && n < GROUP_CHUNKS_MAX && c[n].process == c->process &&
	       c[n].thread == c->thread && c[n].image == c->image && c[n].seq == c->seq + n &&
	       extent_of(j, &c[n]) && add_words(j, &c[n], &to[n], words))
		n++;
	return n;
}

/* Writes what was packed as one extent in the place of n chunks. */
static int add_group(struct job *j, const struct chunk *c, size_t n, uint32_t packing, size_t words,
		     uint32_t check)
{
	bool events = packing == PACKING_GROUP;
	struct mprof_extent head = extent_of(j, c)->head;
	struct mprof_packed packed = { .packing = packing | (uint32_t)(n - 1) << 8,
				       .raw_bytes = (uint32_t)(8 * words) };
	size_t before = sizeof(head) + sizeof(packed), frame;

	head.last_ticks = c[n - 1].last_ticks;
	packed.original = head;
	packed.original.check = check;
	packed.original.used = packed.raw_bytes;
	if (job_grow((void **)&j->out, &j->out_room, before + 24 * words + 65536))
		return -ENOMEM;
	frame = packer_pieces(j->packer, events ? group_piece : stack_piece,
			      events ? (void *)j->group : j->stacks, j->options->level, &packed,
			      j->out + before, j->out_room - before - 64);
	if (!frame)
		return -EINVAL;
	if (events && job_add_to_index(j, &head))
		return -ENOMEM;
	memcpy(j->out + sizeof(head), &packed, sizeof(packed));
	head.kind = MPROF_EXTENT_PACKED;
	head.used = (uint32_t)(sizeof(packed) + frame);
	head.check = mprof_checksum(j->out + sizeof(head), head.used);
	for (size_t i = 0; i < n; i++)
		j->taken += c[i].bytes;
	for (size_t i = 0; i < n; i++)
		j->done[extent_of(j, &c[i]) - j->extents.item] = true;
	return job_add_extent(j, head, head.used);
}

static int group_stream(struct job *j, size_t i, struct group_chunk *to)
{
	const struct stream *s = &j->from->stream[i];
	struct group_turns turns = { .bit = j->turns.stream[i].bit };
	size_t n, words;
	int ret = 0;

	for (size_t first = s->first; first < s->last && !ret; first += n) {
		const struct chunk *c = &j->from->chunk[first];
		uint64_t events = 0;

		n = gather(j, c, s->last - first, to, &words);
		ret = n ? group_pack(j->group, to, n, c->thread, &turns, j->time_error, &events)
			: -EINVAL;
		if (!ret)
			ret = add_group(j, c, n, PACKING_GROUP, group_words(j->group), 0);
		turns.first += events;
		if (!ret)
			ret = job_go_on(j);
	}
	/* Where events cannot be counted, the turns behind them are not known either. */
	return ret == -EINVAL ? 0 : ret;
}

static int group_stacks(struct job *j, struct group_chunk *to)
{
	size_t n, words;
	int ret = 0;

	for (size_t first = 0; first < j->from->stack_chunks; first += n ? n : 1) {
		const struct chunk *c = &j->from->stack_chunk[first];

		n = gather(j, c, j->from->stack_chunks - first, to, &words);
		ret = n ? stack_pack(j->stacks, j->words, words) : -EINVAL;
		if (!ret)
			ret = add_group(j, c, n, PACKING_STACKS, words,
					mprof_checksum(j->words, 8 * words));
		if (ret && ret != -EINVAL)
			return ret;
	}
	return 0;
}

int job_add_groups(struct job *j)
{
	struct group_chunk *to = calloc(GROUP_CHUNKS_MAX, sizeof(*to));
	int ret = to ? job_grow((void **)&j->words, &j->words_room, 8 * GROUP_WORDS_MAX) : -ENOMEM;

	if (!ret)
		ret = group_stacks(j, to);
	for (size_t i = 0; i < j->from->streams && !ret; i++)
		ret = group_stream(j, i, to);
	free(to);
	return ret;
}
