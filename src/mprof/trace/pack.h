/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * pack.h - zstd frames of a compressed trace, and packed stack records (FORMAT.md 8).
 *
 * A struct packer or unpacker belongs to one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/format.h>

/* mprof_packed.packing; the upper 24 bits: how many more extents it was made from */
#define PACKING_PLAIN	      0u /* words unchanged */
#define PACKING_STACKS	      1u /* stack_pack.h */
#define PACKING_KIND(packing) ((packing)&255u)

#define PACKED_WORDS_MAX	(1u << 20) /* of stack records in one piece */
#define PACKED_PLAIN_MAX(words) (4096u + 128u * (uint64_t)(words)) /* plain bytes for them */

struct packer;
struct unpacker;

/* Returns NULL without memory. */
struct packer *packer_new(int level);
void packer_free(struct packer *p);

/* Returns the i-th piece of the data to compress; false after the last one. */
typedef bool pack_piece(void *from, size_t i, const void **data, size_t *bytes);
/* Returns the bytes of all pieces, and the largest possible size of their frames. */
uint64_t pieces_bytes(pack_piece *piece, void *from, size_t *most);
/* Returns a bound for the size of their frames without looking at them. */
size_t pieces_most(uint64_t bytes, size_t pieces);
/* Makes frames of the pieces, at least one; returns their size, 0 if they do not fit. */
size_t packer_frames(struct packer *p, pack_piece *piece, void *from, void *frames, size_t room);

/* Returns NULL without memory. */
struct unpacker *unpacker_new(void);
void unpacker_free(struct unpacker *u);
/* Unpacks exactly `bytes` of frames into to; false if they are invalid or have another size. */
bool unpacker_frames(struct unpacker *u, const void *frames, size_t frame_bytes, void *to,
		     size_t bytes);
/*
 * *buf holds the payload of a PACKED extent, `bytes` long and already checked against its checksum;
 * its words replace it, and the buffer grows as needed. *u is created at the first call. Returns
 * the number of words, 0 if the payload is bad.
 */
size_t unpacker_chunk(struct unpacker **u, uint64_t **buf, size_t *room, size_t bytes);
