/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * pack.h - rearranging a chunk's words so that zstd has less to say (FORMAT.md 8).
 *
 * struct packer and struct unpacker hold tables that are empty at the start of
 * every chunk; each belongs to one thread.
 */
#ifndef MPROF_TRACE_PACK_H
#define MPROF_TRACE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/format.h>

/* mprof_packed.packing */
#define PACKING_PLAIN	      0u /* words as they are */
#define PACKING_COLUMNS	      1u /* columns.h */
#define PACKING_GROUP	      2u /* group.h; and how many more chunks it has, in the upper 24 bits */
#define PACKING_STACKS	      3u /* stack_pack.h; likewise */
#define PACKING_KIND(packing) ((packing)&255u)

struct packer;
struct unpacker;

/* NULL when there is no memory. */
struct packer *packer_new(void);
void packer_free(struct packer *p);
/*
 * Packs n words into a frame of at most `room` bytes and fills packed but for
 * `original`.  Returns the frame's size, 0 when it does not fit or memory ran out.
 */
size_t packer_chunk(struct packer *p, const uint64_t *words, size_t n, int level,
		    struct mprof_packed *packed, void *frame, size_t room);

/* The i-th piece of the plain bytes that somebody else made; false behind the last one. */
typedef bool pack_piece(const void *from, size_t i, const void **data, size_t *bytes);
/* Makes a frame of the pieces; the caller fills packed->original, packing and raw_bytes. */
size_t packer_pieces(struct packer *p, pack_piece *piece, const void *from, int level,
		     struct mprof_packed *packed, void *frame, size_t room);

/*
 * *buf holds the payload of a PACKED extent, `bytes` long and already checked
 * against its checksum; its words replace it, the buffer grown as needed.
 * *u is made at the first call.  Returns the number of words, 0 when it is bad
 * or has more than `most`.
 */
size_t unpacker_chunk(struct unpacker **u, uint64_t **buf, size_t *room, size_t bytes, size_t most);
void unpacker_free(struct unpacker *u);

#endif
