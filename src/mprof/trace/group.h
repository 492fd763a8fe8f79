/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * group.h - packing 2: the chunks of one thread that follow each other as one
 * piece, with times that are right to within a given number of ticks.
 *
 * The words that come out are not those that went in, but the same events in
 * the same order: a short word where one is possible, one STACK word where the
 * stack changes, one TIME word where it must be.
 */
#ifndef MPROF_TRACE_GROUP_H
#define MPROF_TRACE_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/format.h>

#define GROUP_WORDS_MAX	   (1u << 20) /* of one group, before and after packing */
#define GROUP_WORDS_ALL	   (1u << 23) /* of one group of each stream of a file together */
#define GROUP_WORDS_LEAST  (1u << 13) /* but so many in any case */
#define GROUP_PLAIN_MAX(n) (4096u + 128u * (uint64_t)(n)) /* plain bytes for so many words */

/* How many words a group of a file with so many streams may have. */
static inline size_t group_words_most(size_t streams)
{
	size_t most = GROUP_WORDS_ALL / (streams ? streams : 1);

	return most > GROUP_WORDS_MAX	  ? GROUP_WORDS_MAX
	       : most < GROUP_WORDS_LEAST ? GROUP_WORDS_LEAST
					  : most;
}

/* One chunk that goes into a group. */
struct group_chunk {
	const uint64_t *word;
	size_t n;
	uint64_t ticks; /* first_ticks */
};

/*
 * Where in the stream's events those of another one come between, so that times
 * may not be moved across; one bit an event, set for the first one behind the
 * others'.  bit NULL: nowhere.
 */
struct group_turns {
	const uint8_t *bit;
	uint64_t first; /* number of the group's first event in the stream */
};

struct group_packer;
struct group_unpacker;

/* NULL when there is no memory. */
struct group_packer *group_packer_new(void);
void group_packer_free(struct group_packer *p);

/*
 * Packs n chunks of one thread whose times never go back.  *events is how many
 * they have.  0; -EINVAL when they do not fit the model (bad words, times that
 * go back, too many words), or -ENOMEM.
 */
int group_pack(struct group_packer *p, const struct group_chunk *chunk, size_t n, uint32_t thread,
	       const struct group_turns *turns, uint32_t error, uint64_t *events);
/* How many words that unpacks to. */
uint32_t group_words(const struct group_packer *p);
/* The plain bytes of what was packed, in pieces from 0 on; false behind the last one. */
bool group_piece(const void *packer, size_t i, const void **data, size_t *bytes);

/*
 * Unpacks into n words exactly; false when the plain bytes are not right.
 * base: first_ticks of the group.  *u is made at the first call.
 */
bool group_unpack(struct group_unpacker **u, const uint8_t *plain, size_t bytes, uint64_t base,
		  uint64_t *words, size_t n);
void group_unpacker_free(struct group_unpacker *u);

#endif
