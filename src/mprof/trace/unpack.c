// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * unpack.c - the columns of one chunk back into words (FORMAT.md 8).
 *
 * Nothing in the columns is believed: reading behind the end of one gives
 * zeros, a place or name that is not there ends the chunk, and the words are
 * checked against the checksum of the chunk they were made from.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "bytes.h"
#include "columns.h"
#include "group.h"
#include "pack.h"
#include "predict.h"
#include "reader.h"
#include "stack_pack.h"

struct unpacker {
	ZSTD_DCtx *zstd;
	const uint8_t *common[COLUMNS_COMMON]; /* with zeros for as many records as there can be */
	uint8_t *common_store;
	size_t common_room;
	uint8_t *plain;
	size_t plain_room;
	uint64_t last_far;
	struct cursor column[COLUMNS];
	struct predict predict;
	struct group_unpacker *group; /* made when it is needed */
};

void unpacker_free(struct unpacker *u)
{
	if (!u)
		return;
	ZSTD_freeDCtx(u->zstd);
	free(u->plain);
	free(u->common_store);
	group_unpacker_free(u->group);
	free(u);
}

static struct unpacker *unpacker_new(void)
{
	struct unpacker *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->zstd = ZSTD_createDCtx();
	if (!u->zstd) {
		unpacker_free(u);
		return NULL;
	}
	return u;
}

static inline uint64_t get(struct unpacker *u, unsigned column)
{
	return cursor_get(&u->column[column]);
}

/* A column of which every record reads at most one byte, so that its end is never reached. */
static inline uint64_t get_common(struct unpacker *u, unsigned column)
{
	return *u->common[column]++;
}

static uint64_t get_wide(struct unpacker *u, unsigned column, unsigned bytes)
{
	return cursor_wide(&u->column[column], bytes);
}

static uint64_t get_far(struct unpacker *u)
{
	u->last_far += unzigzag(get_wide(u, COLUMN_FAR, 8));
	return u->last_far;
}

static inline uint64_t get_dt(struct unpacker *u, unsigned column)
{
	uint64_t low = get_common(u, column);

	return low | (get_common(u, COLUMN_DT_HIGH) & 15) << 8;
}

static inline uint64_t get_alloc(struct unpacker *u, unsigned tag)
{
	struct predict *p = &u->predict;
	uint64_t dt = get_dt(u, COLUMN_DT_TAKE), last = p->addr, size, slack, addr;
	unsigned ref;

	size = get_common(u, COLUMN_SIZE_LOW);
	size |= (get_common(u, COLUMN_SIZE_HIGH) & 31) << 8;
	slack = (get_common(u, COLUMN_SLACK) + predict_usable(p, size) - size) & 255;
	ref = (unsigned)get_common(u, COLUMN_REF);
	if (ref == REF_NONE)
		addr = last + (unzigzag(get_wide(u, COLUMN_NEAR, 4)) << 3);
	else
		addr = predict_address(p, ref, size + slack);
	predict_took(p, ref, addr, size, size + slack);
	return mprof_word_alloc(tag, dt, size, slack, addr - last);
}

/* The address that is given back; false when its place is not there. */
static inline bool get_given(struct unpacker *u, unsigned op, uint64_t *addr)
{
	uint64_t place;

	if (op & OP_UNKNOWN) {
		*addr = get_far(u);
		predict_gave_unknown(&u->predict, *addr);
		return true;
	}
	place = get_common(u, COLUMN_PLACE);
	place |= get_common(u, COLUMN_PLACE + 1) << 8;
	place |= get_common(u, COLUMN_PLACE + 2) << 16;
	if (place >= u->predict.places)
		return false;
	*addr = u->predict.place[place].addr;
	predict_gave(&u->predict, (uint32_t)place);
	return true;
}

static bool get_long(struct unpacker *u, unsigned op, uint64_t *w)
{
	unsigned ref;

	w[0] = get_wide(u, COLUMN_WORD, 8);
	w[2] = get_wide(u, COLUMN_VALUE, 8);
	w[3] = w[2] + get_wide(u, COLUMN_VALUE + 8, 8);
	w[4] = get_wide(u, COLUMN_VALUE + 16, 8);
	if (op & OP_OUTSIDE) {
		w[1] = get_far(u);
		return true;
	}
	if (long_role(w[0]) == LONG_GIVES)
		return get_given(u, op, &w[1]);
	if (long_role(w[0]) != LONG_TAKES)
		return false;
	ref = (unsigned)get_common(u, COLUMN_REF);
	w[1] = ref == REF_NONE ? get_far(u) : predict_address(&u->predict, ref, w[3]);
	predict_took(&u->predict, ref, w[1], w[2], w[3]);
	return true;
}

/* One record of at most n words; 0 when it is bad. */
static inline size_t get_record(struct unpacker *u, uint64_t *w, size_t n)
{
	unsigned op = (unsigned)get_common(u, COLUMN_OP), tag = op & 15;
	uint64_t addr, dt;

	switch (tag) {
	case MPROF_TAG_MALLOC:
	case MPROF_TAG_CALLOC:
	case MPROF_TAG_REALLOC_END:
	case MPROF_TAG_NEW:
		*w = get_alloc(u, tag);
		return 1;
	case MPROF_TAG_FREE:
	case MPROF_TAG_DELETE:
	case MPROF_TAG_REALLOC_BEGIN:
		dt = get_dt(u, COLUMN_DT_GIVE);
		if (!get_given(u, op, &addr))
			return 0;
		*w = mprof_word_free(tag, dt, addr);
		return 1;
	case MPROF_TAG_LONG:
		return n >= MPROF_LONG_WORDS && get_long(u, op, w) ? MPROF_LONG_WORDS : 0;
	case OP_WORD:
		*w = get_wide(u, COLUMN_WORD, 8);
		return 1;
	default:
		return 0;
	}
}

static bool find_columns(struct unpacker *u, size_t bytes)
{
	uint32_t length[COLUMNS];
	const uint8_t *at;

	if (bytes < sizeof(length))
		return false;
	at = u->plain + sizeof(length);
	bytes -= sizeof(length);
	memcpy(length, u->plain, sizeof(length));
	for (unsigned i = 0; i < COLUMNS; i++) {
		if (length[i] > bytes)
			return false;
		u->column[i] = (struct cursor){ at, at + length[i] };
		at += length[i];
		bytes -= length[i];
	}
	return !bytes;
}

static bool spread_common(struct unpacker *u, size_t n)
{
	if (u->common_room < n * COLUMNS_COMMON) {
		free(u->common_store);
		u->common_store = malloc(n * COLUMNS_COMMON);
		u->common_room = u->common_store ? n * COLUMNS_COMMON : 0;
	}
	for (unsigned i = 0; i < COLUMNS_COMMON && u->common_room; i++) {
		const struct cursor *c = &u->column[i];
		size_t length = (size_t)(c->end - c->p);

		if (length > n)
			return false;
		memcpy(u->common_store + i * n, c->p, length);
		memset(u->common_store + i * n + length, 0, n - length);
		u->common[i] = u->common_store + i * n;
	}
	return u->common_room;
}

static bool unpack_columns(struct unpacker *u, size_t bytes, uint64_t *words, size_t n)
{
	size_t i = 0;

	if (n > PREDICT_WORDS_MAX || !find_columns(u, bytes) || !spread_common(u, n))
		return false;
	predict_start(&u->predict);
	u->last_far = 0;
	while (i < n) {
		size_t got = get_record(u, words + i, n - i);

		if (!got)
			return false;
		i += got;
	}
	return true;
}

static bool grow_plain(struct unpacker *u, size_t bytes)
{
	if (u->plain_room < bytes) {
		free(u->plain);
		u->plain = malloc(bytes);
		u->plain_room = u->plain ? bytes : 0;
	}
	return u->plain_room >= bytes;
}

static bool unpack(struct unpacker *u, const struct mprof_packed *p, const void *frame,
		   uint64_t *words)
{
	void *to = p->packing == PACKING_PLAIN ? (void *)words : u->plain;
	size_t got = ZSTD_decompressDCtx(u->zstd, to, p->plain_bytes, frame, p->frame_bytes);

	if (ZSTD_isError(got) || got != p->plain_bytes)
		return false;
	if (PACKING_KIND(p->packing) == PACKING_GROUP)
		return group_unpack(&u->group, u->plain, got, p->original.first_ticks, words,
				    p->raw_bytes / 8);
	if (PACKING_KIND(p->packing) == PACKING_STACKS &&
	    !stack_unpack(u->plain, got, words, p->raw_bytes / 8))
		return false;
	if (p->packing == PACKING_COLUMNS && !unpack_columns(u, got, words, p->raw_bytes / 8))
		return false;
	return p->original.kind == MPROF_EXTENT_SLOT ||
	       mprof_checksum(words, p->raw_bytes) == p->original.check;
}

/* Bounds that keep a bad file from asking for much memory. */
static bool sizes_are_possible(const struct mprof_packed *p, size_t bytes, size_t most)
{
	if (p->frame_bytes > bytes || !p->raw_bytes || p->raw_bytes % 8 ||
	    p->raw_bytes > CHUNK_BYTES_MAX)
		return false;
	if (PACKING_KIND(p->packing) == PACKING_GROUP || PACKING_KIND(p->packing) == PACKING_STACKS)
		return p->raw_bytes / 8 <= most &&
		       p->plain_bytes <= GROUP_PLAIN_MAX(p->raw_bytes / 8);
	if (p->packing == PACKING_PLAIN)
		return p->plain_bytes == p->raw_bytes;
	return p->packing == PACKING_COLUMNS && p->raw_bytes <= 8 * PREDICT_WORDS_MAX &&
	       p->plain_bytes <= sizeof(uint32_t) * COLUMNS + COLUMNS * (p->raw_bytes / 8);
}

size_t unpacker_chunk(struct unpacker **u, uint64_t **buf, size_t *room, size_t bytes, size_t most)
{
	struct mprof_packed p;
	uint64_t *words;

	if (!*u)
		*u = unpacker_new();
	if (!*u || bytes < sizeof(p))
		return 0;
	memcpy(&p, *buf, sizeof(p));
	if (!sizes_are_possible(&p, bytes - sizeof(p), most) || !grow_plain(*u, p.plain_bytes))
		return 0;
	words = malloc(p.raw_bytes);
	if (!words)
		return 0;
	if (!unpack(*u, &p, (const char *)*buf + sizeof(p), words)) {
		free(words);
		return 0;
	}
	free(*buf);
	*buf = words;
	*room = p.raw_bytes;
	return p.raw_bytes / 8;
}
