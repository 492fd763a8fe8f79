// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * compact_stacks.c - stack records: consecutive chunks as one piece.
 *
 * Invalid records are copied unchanged, so that a reader reports them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/order.h"
#include "compact_job.h"
#include "stack_pack.h"

#define CHUNKS_MAX 4096u /* in one piece */

struct records {
	struct job *job;
	struct stack_packer *packer;
	uint64_t *word;
	size_t n;
};

/* Finds the extent of a chunk; extents are in file order. */
static struct extent *extent_of(struct job *j, const struct chunk *c)
{
	struct extent *e = j->extents.item;
	const size_t i = FIRST_WHERE(k, j->extents.n, e[k].payload >= c->payload);

	return i < j->extents.n && e[i].payload == c->payload ? &e[i] : NULL;
}

/* Appends the words of the chunk; false if it cannot be joined. */
static bool add_words(struct records *r, const struct chunk *c)
{
	uint64_t *at = r->word + r->n;

	if (c->kind == MPROF_EXTENT_PACKED || !c->bytes || c->bytes % 8 ||
	    r->n + c->bytes / 8 > PACKED_WORDS_MAX || !extent_of(r->job, c) ||
	    trace_read(r->job->from, at, c->bytes, c->payload) != c->bytes)
		return false;
	if (c->slot && r->n)
		return false; /* the end of its words is unknown to a reader of the joined piece */
	if (!c->slot && (c->bytes != c->used || mprof_checksum(at, c->bytes) != c->check))
		return false;
	r->n += c->bytes / 8;
	while (c->slot && r->n && !r->word[r->n - 1])
		r->n--;
	return true;
}

/* Returns the number of consecutive chunks from this one on that can form one piece. */
static size_t gather(struct records *r, const struct chunk *c, size_t most)
{
	size_t n = 0;

	r->n = 0;
	while (n < most && n < CHUNKS_MAX && c[n].process == c->process && c[n].image == c->image &&
	       c[n].seq == c->seq + n && !(n && c[n - 1].slot) && add_words(r, &c[n]))
		n++;
	return n;
}

/* Passes words unchanged. */
static bool plain_piece(void *from, size_t i, const void **data, size_t *bytes)
{
	const struct records *r = from;

	*data = r->word;
	*bytes = 8 * r->n;
	return !i;
}

/* Adds the words of n chunks as one extent in the place of the first one's. */
static int add_packed(struct records *r, const struct extent *x, size_t n)
{
	bool stacks = !stack_pack(r->packer, r->word, r->n);
	pack_piece *piece = stacks ? stack_piece : plain_piece;
	void *from = stacks ? (void *)r->packer : r;
	struct mprof_extent head = x->head;
	struct mprof_packed packed = { .original = x->head, .raw_bytes = (uint32_t)(8 * r->n) };
	unsigned char *to;
	size_t most;

	packed.packing = (stacks ? PACKING_STACKS : PACKING_PLAIN) | (uint32_t)(n - 1) << 8;
	packed.original.check = mprof_checksum(r->word, 8 * r->n);
	packed.original.used = packed.raw_bytes;
	packed.plain_bytes = (uint32_t)pieces_bytes(piece, from, &most);
	to = job_payload(r->job, sizeof(packed) + most);
	if (!to)
		return -ENOMEM;
	packed.frame_bytes =
	    (uint32_t)packer_frames(r->job->packer, piece, from, to + sizeof(packed), most);
	if (!packed.frame_bytes)
		return -ENOMEM;
	memcpy(to, &packed, sizeof(packed));
	head.kind = MPROF_EXTENT_PACKED;
	head.used = (uint32_t)(sizeof(packed) + packed.frame_bytes);
	head.check = mprof_checksum(to, head.used);
	return job_add_extent(r->job, head, head.used);
}

static int add_all(struct records *r)
{
	const struct trace *t = r->job->from;
	struct job *j = r->job;
	size_t n;
	int ret = 0;

	for (size_t first = 0; first < t->stack_chunks && !ret; first += n ? n : 1) {
		const struct chunk *c = &t->stack_chunk[first];

		n = gather(r, c, t->stack_chunks - first);
		for (size_t i = 0; i < n; i++)
			j->done[extent_of(j, &c[i]) - j->extents.item] = true;
		if (r->n && n)
			ret = add_packed(r, extent_of(j, c), n);
	}
	return ret;
}

int job_add_stacks(struct job *j)
{
	struct records r = { .job = j, .packer = stack_packer_new() };
	size_t bytes = 8;
	int ret;

	for (size_t i = 0; i < j->from->stack_chunks && bytes < 8 * PACKED_WORDS_MAX; i++)
		bytes += j->from->stack_chunk[i].bytes;
	r.word = malloc(bytes < 8 * PACKED_WORDS_MAX ? bytes : 8 * PACKED_WORDS_MAX);
	ret = r.packer && r.word ? add_all(&r) : -ENOMEM;

	stack_packer_free(r.packer);
	free(r.word);
	return ret;
}
