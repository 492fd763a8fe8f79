// SPDX-License-Identifier: LGPL-3.0-or-later
/* blob.c - see blob.h. */
#include "blob.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "alloc.h"
#include "late.h"
#include "memory.h"

/* zlib compresses where libdeflate is missing; that takes twice as long, for streams that are a
 * twentieth larger. */
#define LEVEL	   6
#define ZLIB_LEVEL 4 /* 6 takes twice as long for 3 to 4 % */

#define NUMBER_MOST 10 /* bytes: of 7 bits each */

#define DEFLATE_FUNCTIONS(X)             \
	X(libdeflate_, alloc_compressor) \
	X(libdeflate_, zlib_compress)    \
	X(libdeflate_, free_compressor)  \
	X(libdeflate_, zlib_compress_bound)

static struct {
	DEFLATE_FUNCTIONS(LATE_MEMBER)
} library;

void blob_add(struct blob *b, const void *data, size_t bytes)
{
	if (!bytes)
		return;
	GROW(b->data, b->used + bytes, b->room);
	memcpy(b->data + b->used, data, bytes);
	b->used += bytes;
}

void blob_number(struct blob *b, uint64_t n)
{
	unsigned char *to;

	GROW(b->data, b->used + NUMBER_MOST, b->room);
	to = b->data + b->used;
	for (; n > 127; n >>= 7)
		*to++ = (unsigned char)(n | 128);
	*to++ = (unsigned char)n;
	b->used = (size_t)(to - b->data);
}

/* Two ways to compress n bytes.  *to: the caller's.  They return its length; 0 without memory. */

static size_t by_libdeflate(const void *from, size_t n, unsigned char **to)
{
	const size_t room = library.zlib_compress_bound(NULL, n);
	struct libdeflate_compressor *c = library.alloc_compressor(LEVEL);
	size_t used = 0;

	*to = must_malloc(room);
	if (c)
		used = library.zlib_compress(c, from, n, *to, room);
	library.free_compressor(c);
	return used;
}

static size_t by_zlib(const void *from, size_t n, unsigned char **to)
{
	uLongf room = compressBound(n);

	*to = must_malloc(room);
	return compress2(*to, &room, from, n, ZLIB_LEVEL) == Z_OK ? room : 0;
}

void blob_deflate(struct blob *b)
{
	static const char *const name[] = { DEFLATE_FUNCTIONS(LATE_NAME) };
	const void *from = b->used ? (const void *)b->data : "";
	unsigned char *to;
	struct error err;
	size_t used;

	used = late_load(LATE_LIBRARY, "compresses", name, &library, sizeof(library), &err)
		   ? by_zlib(from, b->used, &to)
		   : by_libdeflate(from, b->used, &to);
	/* The result has space, so this fails only without memory. */
	if (!used)
		memory_out();
	free(b->data);
	b->data = to;
	b->used = b->room = used;
}

void blob_release(struct blob *b)
{
	free(b->data);
	memset(b, 0, sizeof(*b));
}

void blob_base64(const void *data, size_t bytes, FILE *out)
{
	static const char digit[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *s = data;
	char text[4096];
	size_t n = 0;

	for (; bytes > 2; bytes -= 3, s += 3) {
		const unsigned w = (unsigned)s[0] << 16 | (unsigned)s[1] << 8 | s[2];

		text[n++] = digit[w >> 18];
		text[n++] = digit[w >> 12 & 63];
		text[n++] = digit[w >> 6 & 63];
		text[n++] = digit[w & 63];
		if (n == sizeof(text)) {
			fwrite(text, 1, n, out);
			n = 0;
		}
	}
	if (bytes) {
		const unsigned w = (unsigned)s[0] << 16 | (bytes > 1 ? (unsigned)s[1] << 8 : 0);

		text[n++] = digit[w >> 18];
		text[n++] = digit[w >> 12 & 63];
		text[n++] = bytes > 1 ? digit[w >> 6 & 63] : '=';
		text[n++] = '=';
	}
	fwrite(text, 1, n, out);
}
