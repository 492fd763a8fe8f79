// SPDX-License-Identifier: LGPL-3.0-or-later
/* pack.c - zstd frames, made from pieces and taken apart; packed stack records. */
#include "pack.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include <mprof/encode.h>

#include "stack_pack.h"

#define PIECE_APART 1024u	/* bytes: shorter pieces are compressed together */
#define JOINED	    (64u << 10) /* bytes of them */

struct packer {
	ZSTD_CCtx *zstd;
	uint8_t *joined;
};

struct packer *packer_new(int level)
{
	struct packer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->joined = malloc(JOINED);
	p->zstd = ZSTD_createCCtx();
	if (!p->joined || !p->zstd) {
		packer_free(p);
		return NULL;
	}
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, level);
	return p;
}

void packer_free(struct packer *p)
{
	if (!p)
		return;
	ZSTD_freeCCtx(p->zstd);
	free(p->joined);
	free(p);
}

uint64_t pieces_bytes(pack_piece *piece, void *from, size_t *most)
{
	const void *data;
	size_t bytes;
	uint64_t all = 0;

	*most = 64;
	for (size_t i = 0; piece(from, i, &data, &bytes); i++) {
		all += bytes;
		*most += ZSTD_COMPRESSBOUND(bytes);
	}
	return all;
}

struct output {
	uint8_t *at;
	size_t room, n;
	bool sound;
};

/* In one step, zstd copies nothing. */
static void add_frame(struct packer *p, struct output *out, const void *data, size_t bytes)
{
	size_t n = ZSTD_compress2(p->zstd, out->at + out->n, out->room - out->n, data, bytes);

	out->sound &= !ZSTD_isError(n);
	out->n += out->sound ? n : 0;
}

size_t packer_frames(struct packer *p, pack_piece *piece, void *from, void *frames, size_t room)
{
	struct output out = { frames, room, 0, true };
	const void *data;
	size_t bytes, joined = 0;

	for (size_t i = 0; out.sound && piece(from, i, &data, &bytes); i++) {
		const bool apart = bytes >= PIECE_APART;

		if (joined && (apart || joined + bytes > JOINED)) {
			add_frame(p, &out, p->joined, joined);
			joined = 0;
		}
		if (apart) {
			add_frame(p, &out, data, bytes);
		} else if (bytes) {
			memcpy(p->joined + joined, data, bytes);
			joined += bytes;
		}
	}
	if (joined || !out.n)
		add_frame(p, &out, p->joined, joined);
	return out.sound ? out.n : 0;
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

bool unpacker_frames(struct unpacker *u, const void *frames, size_t frame_bytes, void *to,
		     size_t bytes)
{
	size_t got = ZSTD_decompressDCtx(u->zstd, to, bytes, frames, frame_bytes);

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
	if (!unpacker_frames(u, frame, p->frame_bytes, u->plain, p->plain_bytes))
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
