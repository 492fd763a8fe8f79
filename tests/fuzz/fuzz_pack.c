// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * fuzz_pack.c - a libFuzzer target: any words, packed and unpacked, are the same words.
 *
 * A chunk of the file that was read badly would be told by its checksum; one
 * that was packed wrongly would be lost for good, so this must never be.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/encode.h>

#include "trace/pack.h"

#define WORDS_MAX 8192

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int what)
{
	if (!what)
		abort();
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
	must(unpacker_chunk(&unpacker, &buf, &unpacked_room, sizeof(*packed) + frame) == n);
	must(!memcmp(buf, words, 8 * n));
	free(buf);
	return 0;
}
