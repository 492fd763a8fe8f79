// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * fuzz_pack.c - a libFuzzer target: any words, packed and unpacked, are the same words.
 *
 * A chunk of the file that was read badly would be told by its checksum; one
 * that was packed wrongly would be lost for good, so this must never be.  A
 * group gives other words, which must give the same ones when they are packed
 * again.  The input is taken for packed bytes as well.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/encode.h>

#include "trace/group.h"
#include "trace/pack.h"
#include "trace/stack_pack.h"

#define WORDS_MAX 8192

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int what)
{
	if (!what)
		abort();
}

/* All pieces in one, the caller's. */
static uint8_t *plain_of(pack_piece *piece, const void *from, size_t *bytes)
{
	uint8_t *plain = NULL;
	const void *data;
	size_t n;

	*bytes = 0;
	for (size_t i = 0; piece(from, i, &data, &n); i++) {
		plain = realloc(plain, *bytes + n + 1);
		must(plain != NULL);
		if (n)
			memcpy(plain + *bytes, data, n);
		*bytes += n;
	}
	return plain;
}

/* The words that n words become in a group, the caller's; NULL when they do not fit. */
static uint64_t *regroup(const uint64_t *words, size_t n, size_t *m)
{
	static struct group_packer *packer;
	static struct group_unpacker *unpacker;
	struct group_chunk chunk = { words, n, 0 };
	struct group_turns turns = { 0 };
	uint64_t *out, events;
	uint8_t *plain;
	size_t bytes;

	if (!packer)
		packer = group_packer_new();
	must(packer != NULL);
	if (group_pack(packer, &chunk, 1, 1, &turns, 0, &events))
		return NULL;
	plain = plain_of(group_piece, packer, &bytes);
	*m = group_words(packer);
	out = malloc(8 * *m + 8);
	must(group_unpack(&unpacker, plain, bytes, 0, out, *m));
	free(plain);
	return out;
}

static void groups(const uint64_t *words, size_t n)
{
	size_t m, k;
	uint64_t *once = regroup(words, n, &m), *twice;

	if (!once)
		return;
	twice = regroup(once, m, &k);
	must(twice && k == m && !memcmp(once, twice, 8 * m));
	free(once);
	free(twice);
}

static void stacks(const uint64_t *words, size_t n)
{
	static struct stack_packer *packer;
	uint64_t *out;
	uint8_t *plain;
	size_t bytes;

	if (!packer)
		packer = stack_packer_new();
	must(packer != NULL);
	if (stack_pack(packer, words, n))
		return;
	plain = plain_of(stack_piece, packer, &bytes);
	out = malloc(8 * n);
	must(stack_unpack(plain, bytes, out, n) && !memcmp(out, words, 8 * n));
	free(plain);
	free(out);
}

static void hostile(const uint8_t *data, size_t size)
{
	static struct group_unpacker *unpacker;
	static uint64_t out[WORDS_MAX];

	group_unpack(&unpacker, data, size, 0, out, WORDS_MAX);
	stack_unpack(data, size, out, WORDS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct packer *packer;
	static struct unpacker *unpacker;
	static uint64_t words[WORDS_MAX];
	struct mprof_packed *packed;
	size_t n = size / 8, room = 16 * size + 65536, frame, unpacked_room;
	uint64_t *buf;

	if (!n || n > WORDS_MAX)
		return -1;
	if (!packer)
		packer = packer_new();
	unpacked_room = sizeof(*packed) + room;
	buf = malloc(unpacked_room);
	must(packer && buf);
	memcpy(words, data, 8 * n);
	packed = (struct mprof_packed *)buf;
	memset(packed, 0, sizeof(*packed));
	packed->original.kind = MPROF_EXTENT_EVENTS;
	packed->original.check = mprof_checksum(words, 8 * n);
	frame = packer_chunk(packer, words, n, 1, packed, packed + 1, room);
	must(frame && frame <= room);
	must(unpacker_chunk(&unpacker, &buf, &unpacked_room, sizeof(*packed) + frame, n) == n);
	must(!memcmp(buf, words, 8 * n));
	free(buf);
	groups(words, n);
	stacks(words, n);
	hostile(data, size);
	return 0;
}
