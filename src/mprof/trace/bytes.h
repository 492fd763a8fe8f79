/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * bytes.h - columns of bytes that are packed one by one (FORMAT.md 8).
 *
 * A value of several bytes is stored in as many consecutive columns, or in one
 * as a varint: seven bits per byte, low bits first, the upper bit set in all
 * but the last. Reading beyond the end of a column returns zeros.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../util/large.h"

struct byte_column {
	uint8_t *byte;
	size_t n, room;
	bool failed; /* true if memory ran out: something is missing */
};

struct cursor {
	const uint8_t *p, *end;
};

static inline uint64_t zigzag(uint64_t v)
{
	return v << 1 ^ -(v >> 63);
}

static inline uint64_t unzigzag(uint64_t v)
{
	return v >> 1 ^ -(v & 1);
}

/* Makes space for this many more bytes; false without memory. */
static inline bool column_room(struct byte_column *c, size_t bytes)
{
	size_t room = c->room ? c->room : 4096;
	uint8_t *bigger;

	if (__builtin_expect(c->n + bytes <= c->room, 1))
		return true;
	while (room < c->n + bytes)
		room *= 2;
	bigger = large_realloc(c->byte, c->room, room);
	if (!bigger) {
		c->failed = true;
		return false;
	}
	c->byte = bigger;
	c->room = room;
	return true;
}

/* Adds a byte; the caller has made space. */
static inline void column_add(struct byte_column *c, uint64_t byte)
{
	c->byte[c->n++] = (uint8_t)byte;
}

static inline void column_add_varint(struct byte_column *c, uint64_t value)
{
	for (; value > 127; value >>= 7)
		column_add(c, value | 128);
	column_add(c, value);
}

static inline void column_put(struct byte_column *c, uint64_t byte)
{
	if (column_room(c, 1))
		column_add(c, byte);
}

static inline void column_wide(struct byte_column *c, unsigned bytes, uint64_t value)
{
	for (unsigned i = 0; i < bytes; i++)
		column_put(c + i, value >> 8 * i);
}

static inline void column_varint(struct byte_column *c, uint64_t value)
{
	for (; value > 127; value >>= 7)
		column_put(c, value | 128);
	column_put(c, value);
}

/* Omits zeros at the ends; false if a column has failed. */
static inline bool columns_finish(struct byte_column *c, unsigned columns, uint32_t *length)
{
	bool sound = true;

	for (unsigned i = 0; i < columns; i++) {
		while (c[i].n && !c[i].byte[c[i].n - 1])
			c[i].n--;
		length[i] = (uint32_t)c[i].n;
		sound &= !c[i].failed;
	}
	return sound;
}

static inline void columns_clear(struct byte_column *c, unsigned columns)
{
	for (unsigned i = 0; i < columns; i++) {
		c[i].n = 0;
		c[i].failed = false;
	}
}

static inline void columns_free(struct byte_column *c, unsigned columns)
{
	for (unsigned i = 0; i < columns; i++)
		large_free(c[i].byte, c[i].room);
}

static inline uint64_t cursor_get(struct cursor *c)
{
	return c->p < c->end ? *c->p++ : 0;
}

static inline uint64_t cursor_wide(struct cursor *c, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= cursor_get(c + i) << 8 * i;
	return value;
}

static inline uint64_t cursor_varint(struct cursor *c)
{
	uint64_t value = 0, byte;
	unsigned shift = 0;

	do {
		byte = cursor_get(c);
		value |= (byte & 127) << shift;
		shift += 7;
	} while (byte & 128 && shift < 64);
	return value;
}

/* Finds the columns after their lengths; false if the lengths do not match the bytes. */
static inline bool cursors_find(struct cursor *c, unsigned columns, const uint8_t *at, size_t bytes)
{
	const uint8_t *lengths = at;

	if (bytes < 4 * (size_t)columns)
		return false;
	at += 4 * (size_t)columns;
	bytes -= 4 * (size_t)columns;
	for (unsigned i = 0; i < columns; i++) {
		uint32_t length;

		memcpy(&length, lengths + 4 * (size_t)i, sizeof(length));
		if (length > bytes)
			return false;
		c[i] = (struct cursor){ at, at + length };
		at += length;
		bytes -= length;
	}
	return !bytes;
}
