// SPDX-License-Identifier: LGPL-3.0-or-later
/* compressed.c - gzip and zstd behind a FILE. */
#include "compressed.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "../util/alloc.h"
#include "../util/memory.h"

#define PIECE	   (64u << 10)
#define ZSTD_LEVEL 3
#define GZIP_BITS  (15 + 16) /* the largest window, and a gzip header instead of a zlib header */

struct compressor {
	FILE *out;
	z_stream gzip;
	ZSTD_CCtx *zstd;
	unsigned char piece[PIECE];
};

enum compressed compressed_of(const char *name)
{
	const char *dot = name ? strrchr(name, '.') : NULL;

	if (dot && !strcmp(dot, ".gz"))
		return COMPRESSED_GZIP;
	return dot && !strcmp(dot, ".zst") ? COMPRESSED_ZSTD : COMPRESSED_NOT;
}

static bool put_gzip(struct compressor *s, const char *data, size_t n, bool end)
{
	size_t got;
	int ret;

	s->gzip.next_in = (Bytef *)data;
	s->gzip.avail_in = (uInt)n;
	do {
		s->gzip.next_out = s->piece;
		s->gzip.avail_out = PIECE;
		ret = deflate(&s->gzip, end ? Z_FINISH : Z_NO_FLUSH);
		got = PIECE - s->gzip.avail_out;
		if (ret == Z_STREAM_ERROR || fwrite(s->piece, 1, got, s->out) != got)
			return false;
	} while (!s->gzip.avail_out);
	return true;
}

static bool put_zstd(struct compressor *s, const char *data, size_t n, bool end)
{
	ZSTD_inBuffer in = { data, n, 0 };
	size_t left;

	do {
		ZSTD_outBuffer to = { s->piece, PIECE, 0 };

		left = ZSTD_compressStream2(s->zstd, &to, &in, end ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left) || fwrite(s->piece, 1, to.pos, s->out) != to.pos)
			return false;
	} while (in.pos < n || (end && left));
	return true;
}

static ssize_t put(void *cookie, const char *data, size_t n)
{
	struct compressor *s = cookie;

	return (s->zstd ? put_zstd : put_gzip)(s, data, n, false) ? (ssize_t)n : 0;
}

static int end(void *cookie)
{
	struct compressor *s = cookie;
	bool ok = (s->zstd ? put_zstd : put_gzip)(s, NULL, 0, true);

	if (s->zstd)
		ZSTD_freeCCtx(s->zstd);
	else
		deflateEnd(&s->gzip);
	free(s);
	if (!ok)
		errno = EIO;
	return ok ? 0 : -1;
}

static bool begin(struct compressor *s, enum compressed how)
{
	if (how == COMPRESSED_GZIP)
		return deflateInit2(&s->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_BITS, 8,
				    Z_DEFAULT_STRATEGY) == Z_OK;
	s->zstd = ZSTD_createCCtx();
	return s->zstd &&
	       !ZSTD_isError(ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL));
}

FILE *compressed_open(FILE *out, enum compressed how)
{
	struct compressor *s;
	FILE *f = NULL;

	if (how == COMPRESSED_NOT)
		return out;
	s = must_calloc(1, sizeof(*s));
	s->out = out;
	if (begin(s, how))
		f = fopencookie(s, "w", (cookie_io_functions_t){ .write = put, .close = end });
	if (!f)
		memory_out();
	setvbuf(f, NULL, _IOFBF, PIECE);
	return f;
}

int compressed_close(FILE *s, FILE *out)
{
	bool bad;

	if (s == out)
		return 0;
	bad = ferror(s);
	return fclose(s) || bad ? -EIO : 0;
}
