// SPDX-License-Identifier: LGPL-3.0-or-later
/* pack.c - zstd frames, made from pieces and taken apart; packed stack records. */
#include "pack.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include <mprof/encode.h>

#include "stack_pack.h"

#define PIECE_APART 1024u	 /* bytes: shorter pieces are compressed together */
#define JOINED	    (64u << 10)	 /* bytes of them */
#define PIECE_TRIED (128u << 10) /* bytes: of longer pieces a sample is compressed first */
#define SAMPLE	    (8u << 10)	 /* bytes of it */
#define REPEATED    32u		 /* bytes */

struct packer {
	ZSTD_CCtx *zstd;
	int level;
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
	p->level = level;
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

size_t pieces_most(uint64_t bytes, size_t pieces)
{
	/* zstd's bound for a short piece contains up to 64 bytes more. */
	return ZSTD_COMPRESSBOUND(bytes) + 64 * (pieces + 1);
}

struct output {
	uint8_t *at;
	size_t room, n;
	bool sound;
};

/* Where zstd looks for repetitions: as its level says, or hardly anywhere. */
enum search { SEARCH_LEVEL, SEARCH_LITTLE };

/* In one step, zstd copies nothing. */
static size_t compress(struct packer *p, enum search search, void *to, size_t room,
		       const void *data, size_t bytes)
{
	const bool little = search == SEARCH_LITTLE;

	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, little ? 1 : p->level);
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_hashLog, little ? 6 : 0); /* 0: as usual */
	return ZSTD_compress2(p->zstd, to, room, data, bytes);
}

static uint64_t mixed(const uint8_t *at)
{
	uint64_t word, mix = 0;

	for (size_t i = 0; i < REPEATED; i += sizeof(word)) {
		memcpy(&word, at + i, sizeof(word));
		mix = (mix ^ word) * 0x9e3779b97f4a7c15ull;
		mix ^= mix >> 32;
	}
	return mix | 1;
}

/* Do strings of REPEATED bytes repeat?  Compares one string in 64, selected by its first word. */
static bool repeats(const uint8_t *data, size_t bytes)
{
	uint64_t known[512] = { 0 }, word, mix;
	size_t seen = 0, again = 0;

	for (size_t i = 0; i + REPEATED <= bytes; i++) {
		memcpy(&word, data + i, sizeof(word));
		word *= 0x9e3779b97f4a7c15ull;
		if (__builtin_expect(word >> 58, 1))
			continue;
		mix = mixed(data + i);
		seen++;
		again += known[word >> 49] == mix;
		known[word >> 49] = mix;
	}
	return again * 32 > seen;
}

/*
 * Among random bytes of few values, zstd finds short repetitions everywhere.  Encoding them takes
 * more bytes, and three times as long, as encoding each byte separately.  A sample from the middle
 * detects this, unless longer strings repeat farther apart, see repeats().
 */
static enum search choose_search(struct packer *p, const struct output *out, const uint8_t *data,
				 size_t bytes)
{
	const uint8_t *sample = data + (bytes - SAMPLE) / 2;
	size_t much, little;

	if (bytes < PIECE_TRIED)
		return SEARCH_LEVEL;
	much = compress(p, SEARCH_LEVEL, out->at + out->n, out->room - out->n, sample, SAMPLE);
	if (much < SAMPLE / 8 || much > SAMPLE / 8 * 7) /* it is of another kind */
		return SEARCH_LEVEL;
	little = compress(p, SEARCH_LITTLE, out->at + out->n, out->room - out->n, sample, SAMPLE);
	data += (bytes - PIECE_TRIED) / 2;
	return little < much - much / 16 && !repeats(data, PIECE_TRIED) ? SEARCH_LITTLE
									: SEARCH_LEVEL;
}

static void add_frame(struct packer *p, struct output *out, const void *data, size_t bytes)
{
	const enum search search = choose_search(p, out, data, bytes);
	size_t n = compress(p, search, out->at + out->n, out->room - out->n, data, bytes);

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
