// SPDX-License-Identifier: LGPL-3.0-or-later
/* blob.c - see blob.h. */
#include "blob.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "alloc.h"
#include "memory.h"

#define LEVEL 4 /* of zlib; 6 takes twice as long for 3 to 4 % */

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
	unsigned char text[10];
	size_t bytes = 0;

	for (; n > 127; n >>= 7)
		text[bytes++] = (unsigned char)(n | 128);
	text[bytes++] = (unsigned char)n;
	blob_add(b, text, bytes);
}

void blob_deflate(struct blob *b)
{
	uLongf room = compressBound(b->used);
	unsigned char *to = must_malloc(room);

	/* The result has space, so this fails only if zlib cannot get its own memory. */
	if (compress2(to, &room, b->used ? b->data : to, b->used, LEVEL) != Z_OK)
		memory_out();
	free(b->data);
	b->data = to;
	b->used = b->room = room;
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
	unsigned long w;
	size_t i;

	for (i = 0; i < bytes; i += 3) {
		w = (unsigned long)s[i] << 16 | (unsigned long)(i + 1 < bytes ? s[i + 1] : 0) << 8 |
		    (i + 2 < bytes ? s[i + 2] : 0);
		putc(digit[w >> 18 & 63], out);
		putc(digit[w >> 12 & 63], out);
		putc(i + 1 < bytes ? digit[w >> 6 & 63] : '=', out);
		putc(i + 2 < bytes ? digit[w & 63] : '=', out);
	}
}
