/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * blob.h - bytes that grow, numbers in as few bytes as they need, and how pages embed them.
 *
 * A zeroed struct is empty.  Without memory the program ends (alloc.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct blob {
	unsigned char *data;
	size_t used, room;
};

void blob_add(struct blob *b, const void *data, size_t bytes);
/* Appends LEB128: 7 bits a byte, least first; the top bit says that more follow. */
void blob_number(struct blob *b, uint64_t n);
/* Replaces the bytes of b by their zlib stream (RFC 1950). */
void blob_deflate(struct blob *b);
void blob_release(struct blob *b);

/* Writes base64 (RFC 4648), padded, on one line. */
void blob_base64(const void *data, size_t bytes, FILE *out);
