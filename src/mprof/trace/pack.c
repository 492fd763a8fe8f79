// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * pack.c - the words of one chunk into columns (FORMAT.md 8).
 *
 * Each kind of value goes to a column of its own, so that zstd sees like with
 * like, and addresses are replaced by the names that struct predict has for
 * them.  The table from addresses to places is needed on this side only.
 */
#include "pack.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include <mprof/encode.h>

#include "bytes.h"
#include "columns.h"
#include "predict.h"

#define MAP_BITS 18
#define MAP_SIZE (1u << MAP_BITS) /* twice as many as there can be places */

/* Valid for this chunk only when `chunk` is the packer's. */
struct map_entry {
	uint64_t addr;
	uint32_t place, chunk;
};

struct packer {
	ZSTD_CCtx *zstd;
	struct predict predict;
	struct map_entry map[MAP_SIZE];
	uint32_t chunk;	   /* number of the chunk in work: empties the map at once */
	uint64_t last_far; /* the last address in COLUMN_FAR */
	uint8_t *column[COLUMNS];
	uint32_t length[COLUMNS];
	size_t room; /* of each column */
	uint8_t *store;
};

static void put(struct packer *p, unsigned column, uint64_t value)
{
	p->column[column][p->length[column]++] = (uint8_t)value;
}

static void put_wide(struct packer *p, unsigned column, unsigned bytes, uint64_t value)
{
	for (unsigned i = 0; i < bytes; i++)
		put(p, column + i, value >> 8 * i);
}

static void put_far(struct packer *p, uint64_t addr)
{
	put_wide(p, COLUMN_FAR, 8, zigzag(addr - p->last_far));
	p->last_far = addr;
}

static struct map_entry *map_find(struct packer *p, uint64_t addr)
{
	size_t i = (addr * 0x9e3779b97f4a7c15ull) >> (64 - MAP_BITS);

	while (p->map[i].chunk == p->chunk && p->map[i].addr != addr)
		i = (i + 1) & (MAP_SIZE - 1);
	return &p->map[i];
}

/* Names an address that is handed out; true when the name says it all. */
static bool take(struct packer *p, uint64_t addr, uint64_t size, uint64_t usable)
{
	unsigned ref = predict_find(&p->predict, addr, usable);
	uint32_t place = predict_took(&p->predict, ref, addr, size, usable);

	put(p, COLUMN_REF, ref);
	*map_find(p, addr) = (struct map_entry){ addr, place, p->chunk };
	return ref != REF_NONE;
}

/* Names an address that is given back, or says that it has no place. */
static unsigned give(struct packer *p, uint64_t addr)
{
	struct map_entry *m = map_find(p, addr);

	if (m->chunk != p->chunk || m->place == UINT32_MAX) {
		put_far(p, addr);
		predict_gave_unknown(&p->predict, addr);
		return OP_UNKNOWN;
	}
	put_wide(p, COLUMN_PLACE, 3, m->place);
	predict_gave(&p->predict, m->place);
	m->place = UINT32_MAX;
	return 0;
}

static void put_dt(struct packer *p, unsigned column, uint64_t word)
{
	put(p, column, mprof_word_dt(word));
	put(p, COLUMN_DT_HIGH, mprof_word_dt(word) >> 8);
}

static void pack_alloc(struct packer *p, uint64_t word)
{
	uint64_t size = mprof_word_size(word), usable = size + mprof_word_slack(word);
	uint64_t delta = mprof_word_delta(word);

	put(p, COLUMN_OP, mprof_word_tag(word));
	put_dt(p, COLUMN_DT_TAKE, word);
	put(p, COLUMN_SIZE_LOW, size);
	put(p, COLUMN_SIZE_HIGH, size >> 8);
	put(p, COLUMN_SLACK, usable - predict_usable(&p->predict, size));
	if (!take(p, p->predict.addr + delta, size, usable))
		put_wide(p, COLUMN_NEAR, 4, zigzag((uint64_t)((int64_t)delta >> 3)));
}

static void pack_free(struct packer *p, uint64_t word)
{
	put_dt(p, COLUMN_DT_GIVE, word);
	put(p, COLUMN_OP, mprof_word_tag(word) | give(p, mprof_word_addr(word)));
}

static void pack_long(struct packer *p, const uint64_t *w)
{
	unsigned op = MPROF_TAG_LONG;

	switch (w[1] ? long_role(w[0]) : LONG_OUTSIDE) {
	case LONG_TAKES:
		if (!take(p, w[1], w[2], w[3]))
			put_far(p, w[1]);
		break;
	case LONG_GIVES:
		op |= give(p, w[1]);
		break;
	case LONG_OUTSIDE:
		op |= OP_OUTSIDE;
		put_far(p, w[1]);
		break;
	}
	put(p, COLUMN_OP, op);
	put_wide(p, COLUMN_WORD, 8, w[0]);
	put_wide(p, COLUMN_VALUE, 8, w[2]);
	put_wide(p, COLUMN_VALUE + 8, 8, w[3] - w[2]);
	put_wide(p, COLUMN_VALUE + 16, 8, w[4]);
}

static size_t pack_record(struct packer *p, const uint64_t *w, size_t n)
{
	switch (mprof_word_tag(*w)) {
	case MPROF_TAG_MALLOC:
	case MPROF_TAG_CALLOC:
	case MPROF_TAG_REALLOC_END:
	case MPROF_TAG_NEW:
		pack_alloc(p, *w);
		return 1;
	case MPROF_TAG_FREE:
	case MPROF_TAG_DELETE:
	case MPROF_TAG_REALLOC_BEGIN:
		pack_free(p, *w);
		return 1;
	case MPROF_TAG_LONG:
		if (n >= MPROF_LONG_WORDS) {
			pack_long(p, w);
			return MPROF_LONG_WORDS;
		}
	}
	put(p, COLUMN_OP, OP_WORD);
	put_wide(p, COLUMN_WORD, 8, *w);
	return 1;
}

enum long_role long_role(uint64_t head)
{
	static const uint8_t classes[MPROF_FN_MAX] = {
#define MPROF_FUNCTION(id, code, name, class) [code] = MPROF_CLASS_##class,
#include <mprof/functions.def>
#undef MPROF_FUNCTION
	};
	unsigned fn = mprof_word_fn(head);

	switch (fn < MPROF_FN_MAX ? classes[fn] : 0) {
	case MPROF_CLASS_ALLOC:
		return LONG_TAKES;
	case MPROF_CLASS_FREE:
		return LONG_GIVES;
	case MPROF_CLASS_REALLOC:
		return mprof_word_flags(head) & MPROF_LONG_BEGIN ? LONG_GIVES : LONG_TAKES;
	default:
		return LONG_OUTSIDE;
	}
}

struct packer *packer_new(void)
{
	struct packer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->zstd = ZSTD_createCCtx();
	if (!p->zstd) {
		packer_free(p);
		return NULL;
	}
	return p;
}

void packer_free(struct packer *p)
{
	if (!p)
		return;
	ZSTD_freeCCtx(p->zstd);
	free(p->store);
	free(p);
}

static int make_room(struct packer *p, size_t words)
{
	if (p->room < words) {
		free(p->store);
		p->room = 0;
		p->store = malloc(words * COLUMNS);
		if (!p->store)
			return -ENOMEM;
		p->room = words;
	}
	for (unsigned i = 0; i < COLUMNS; i++)
		p->column[i] = p->store + i * p->room;
	memset(p->length, 0, sizeof(p->length));
	return 0;
}

static void trim(struct packer *p)
{
	for (unsigned i = 0; i < COLUMNS; i++)
		while (p->length[i] && !p->column[i][p->length[i] - 1])
			p->length[i]--;
}

/* One block of the frame for each column: their statistics have nothing in common. */
static int add_block(struct packer *p, ZSTD_outBuffer *out, const void *data, size_t bytes,
		     ZSTD_EndDirective how)
{
	ZSTD_inBuffer in = { data, bytes, 0 };
	size_t left = ZSTD_compressStream2(p->zstd, out, &in, how);

	return ZSTD_isError(left) || left ? -ENOSPC : 0;
}

static size_t plain_size(const struct packer *p)
{
	size_t bytes = sizeof(p->length);

	for (unsigned i = 0; i < COLUMNS; i++)
		bytes += p->length[i];
	return bytes;
}

static int compress_columns(struct packer *p, ZSTD_outBuffer *out)
{
	int ret = add_block(p, out, p->length, sizeof(p->length), ZSTD_e_flush);

	for (unsigned i = 0; !ret && i < COLUMNS; i++)
		if (p->length[i])
			ret = add_block(p, out, p->column[i], p->length[i], ZSTD_e_flush);
	return ret ? ret : add_block(p, out, NULL, 0, ZSTD_e_end);
}

static void pack_words(struct packer *p, const uint64_t *words, size_t n)
{
	predict_start(&p->predict);
	p->last_far = 0;
	if (!++p->chunk) {
		memset(p->map, 0, sizeof(p->map));
		p->chunk = 1;
	}
	for (size_t i = 0; i < n;)
		i += pack_record(p, words + i, n - i);
	trim(p);
}

/*
 * Begins a frame of so many plain bytes.  Who is not told empties tables for the
 * largest, which takes longer than to compress what a thread of a few calls did.
 */
static void start_frame(struct packer *p, int level, size_t plain)
{
	ZSTD_CCtx_reset(p->zstd, ZSTD_reset_session_only);
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setPledgedSrcSize(p->zstd, plain);
}

size_t packer_chunk(struct packer *p, const uint64_t *words, size_t n, int level,
		    struct mprof_packed *packed, void *frame, size_t room)
{
	ZSTD_outBuffer out = { frame, room, 0 };
	int ret;

	packed->raw_bytes = (uint32_t)(8 * n);
	packed->packing = n <= PREDICT_WORDS_MAX ? PACKING_COLUMNS : PACKING_PLAIN;
	if (packed->packing == PACKING_PLAIN) {
		packed->plain_bytes = packed->raw_bytes;
		start_frame(p, level, packed->plain_bytes);
		ret = add_block(p, &out, words, 8 * n, ZSTD_e_end);
	} else {
		if (make_room(p, n))
			return 0;
		pack_words(p, words, n);
		packed->plain_bytes = (uint32_t)plain_size(p);
		start_frame(p, level, packed->plain_bytes);
		ret = compress_columns(p, &out);
	}
	packed->frame_bytes = (uint32_t)out.pos;
	return ret ? 0 : out.pos;
}

size_t packer_pieces(struct packer *p, pack_piece *piece, const void *from, int level,
		     struct mprof_packed *packed, void *frame, size_t room)
{
	ZSTD_outBuffer out = { frame, room, 0 };
	const void *data;
	size_t bytes, plain = 0;
	int ret = 0;

	for (size_t i = 0; piece(from, i, &data, &bytes); i++)
		plain += bytes;
	start_frame(p, level, plain);
	for (size_t i = 0; !ret && piece(from, i, &data, &bytes); i++)
		if (bytes)
			ret = add_block(p, &out, data, bytes, ZSTD_e_flush);
	if (!ret)
		ret = add_block(p, &out, NULL, 0, ZSTD_e_end);
	packed->plain_bytes = (uint32_t)plain;
	packed->frame_bytes = (uint32_t)out.pos;
	return ret || plain > UINT32_MAX ? 0 : out.pos;
}
