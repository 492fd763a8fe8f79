// SPDX-License-Identifier: LGPL-3.0-or-later
/* pack.c - zstd frames, made of pieces and taken apart; packed stack records. */
#include "pack.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include <mprof/encode.h>

#include "stack_pack.h"

#define PIECE_APART 1024u /* bytes: a shorter piece is compressed together with the next one */

struct packer {
	ZSTD_CCtx *zstd;
	int level;
};

struct packer *packer_new(int level)
{
	struct packer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->level = level;
	p->zstd = ZSTD_createCCtx();
	if (!p->zstd) {
		free(p);
		return NULL;
	}
	return p;
}

void packer_free(struct packer *p)
{
	if (!p)
		return;
	ZSTD_freeCCtx(p->zstd);
	free(p);
}

uint64_t pieces_bytes(pack_piece *piece, void *from, size_t *most)
{
	const void *data;
	size_t bytes, i;
	uint64_t all = 0;

	for (i = 0; piece(from, i, &data, &bytes); i++)
		all += bytes;
	*most = ZSTD_COMPRESSBOUND(all) + 32 * i + 64;
	return all;
}

static bool add_block(struct packer *p, ZSTD_outBuffer *out, const void *data, size_t bytes,
		      ZSTD_EndDirective how)
{
	ZSTD_inBuffer in = { data, bytes, 0 };
	size_t left;

	do {
		left = ZSTD_compressStream2(p->zstd, out, &in, how);
		if (ZSTD_isError(left) || (left && out->pos == out->size))
			return false;
	} while (in.pos < in.size || (left && how != ZSTD_e_continue));
	return true;
}

size_t packer_frame(struct packer *p, pack_piece *piece, void *from, void *frame, size_t room)
{
	ZSTD_outBuffer out = { frame, room, 0 };
	const void *data;
	size_t bytes, most;
	bool sound = true;

	/* Without the size, zstd clears tables for the largest. */
	ZSTD_CCtx_reset(p->zstd, ZSTD_reset_session_only);
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, p->level);
	ZSTD_CCtx_setPledgedSrcSize(p->zstd, pieces_bytes(piece, from, &most));
	for (size_t i = 0; sound && piece(from, i, &data, &bytes); i++)
		if (bytes)
			sound = add_block(p, &out, data, bytes,
					  bytes < PIECE_APART ? ZSTD_e_continue : ZSTD_e_flush);
	return sound && add_block(p, &out, NULL, 0, ZSTD_e_end) ? out.pos : 0;
}

/* ---- unpacking ---- */

struct unpacker {
	ZSTD_DCtx *zstd;
	uint8_t *plain;
	size_t room;
};

struct unpacker *unpacker_new(void)
{
	struct unpacker *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->zstd = ZSTD_createDCtx();
	if (!u->zstd) {
		free(u);
		return NULL;
	}
	return u;
}

void unpacker_free(struct unpacker *u)
{
	if (!u)
		return;
	ZSTD_freeDCtx(u->zstd);
	free(u->plain);
	free(u);
}

bool unpacker_frame(struct unpacker *u, const void *frame, size_t frame_bytes, void *to,
		    size_t bytes)
{
	size_t got = ZSTD_decompressDCtx(u->zstd, to, bytes, frame, frame_bytes);

	return !ZSTD_isError(got) && got == bytes;
}

static bool grow_plain(struct unpacker *u, size_t bytes)
{
	if (u->room < bytes) {
		free(u->plain);
		u->plain = malloc(bytes);
		u->room = u->plain ? bytes : 0;
	}
	return u->room >= bytes;
}

/* Bounds that prevent a bad file from requesting much memory. */
static bool sizes_are_possible(const struct mprof_packed *p, size_t bytes)
{
	if (p->frame_bytes > bytes || !p->raw_bytes || p->raw_bytes % 8 ||
	    p->raw_bytes > 8 * PACKED_WORDS_MAX)
		return false;
	if (PACKING_KIND(p->packing) == PACKING_STACKS)
		return p->plain_bytes <= PACKED_PLAIN_MAX(p->raw_bytes / 8);
	return PACKING_KIND(p->packing) == PACKING_PLAIN && p->plain_bytes == p->raw_bytes;
}

static bool unpack(struct unpacker *u, const struct mprof_packed *p, const void *frame,
		   uint64_t *words)
{
	if (!unpacker_frame(u, frame, p->frame_bytes, u->plain, p->plain_bytes))
		return false;
	if (PACKING_KIND(p->packing) == PACKING_PLAIN)
		memcpy(words, u->plain, p->raw_bytes);
	else if (!stack_unpack(u->plain, p->plain_bytes, words, p->raw_bytes / 8))
		return false;
	return p->original.kind == MPROF_EXTENT_STACKS_SLOT ||
	       mprof_checksum(words, p->raw_bytes) == p->original.check;
}

size_t unpacker_chunk(struct unpacker **u, uint64_t **buf, size_t *room, size_t bytes)
{
	struct mprof_packed p;
	uint64_t *words;

	if (!*u)
		*u = unpacker_new();
	if (!*u || bytes < sizeof(p))
		return 0;
	memcpy(&p, *buf, sizeof(p));
	if (!sizes_are_possible(&p, bytes - sizeof(p)) || !grow_plain(*u, p.plain_bytes))
		return 0;
	words = malloc(p.raw_bytes);
	if (!words || !unpack(*u, &p, (const char *)*buf + sizeof(p), words)) {
		free(words);
		return 0;
	}
	free(*buf);
	*buf = words;
	*room = p.raw_bytes;
	return p.raw_bytes / 8;
}
