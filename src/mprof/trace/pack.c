// SPDX-License-Identifier: LGPL-3.0-or-later
/* pack.c - unpacking the chunks of a compressed trace. */
#include "pack.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include <mprof/format.h>

#include "reader.h"

struct unpacker {
	ZSTD_DCtx *zstd;
};

void unpacker_free(struct unpacker *u)
{
	if (u)
		ZSTD_freeDCtx(u->zstd);
	free(u);
}

size_t unpacker_chunk(struct unpacker **u, uint64_t **buf, size_t *room, size_t bytes)
{
	struct mprof_packed p;
	uint64_t *words;
	size_t got;

	if (!*u) {
		*u = calloc(1, sizeof(**u));
		if (!*u)
			return 0;
		(*u)->zstd = ZSTD_createDCtx();
	}
	memcpy(&p, *buf, sizeof(p));
	if (bytes < sizeof(p) || p.packing || p.raw_bytes > CHUNK_BYTES_MAX ||
	    p.frame_bytes > bytes - sizeof(p) || !(*u)->zstd)
		return 0;
	words = malloc(p.raw_bytes + 8);
	if (!words)
		return 0;
	got = ZSTD_decompressDCtx((*u)->zstd, words, p.raw_bytes, (char *)*buf + sizeof(p),
				  p.frame_bytes);
	free(*buf);
	*buf = words;
	*room = p.raw_bytes;
	return ZSTD_isError(got) || got != p.raw_bytes ? 0 : got / 8;
}
