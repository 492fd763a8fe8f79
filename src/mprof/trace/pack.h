/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * pack.h - rearranging a chunk's words so that zstd has less to say (FORMAT.md 7).
 *
 * struct packer and struct unpacker hold tables that are empty at the start of
 * every chunk; each belongs to one thread.
 */
#ifndef MPROF_TRACE_PACK_H
#define MPROF_TRACE_PACK_H

#include <stddef.h>
#include <stdint.h>

struct unpacker;

/*
 * *buf holds the payload of a PACKED extent, `bytes` long and already checked
 * against its checksum; its words replace it, the buffer grown as needed.
 * *u is made at the first call.  Returns the number of words, 0 when it is bad.
 */
size_t unpacker_chunk(struct unpacker **u, uint64_t **buf, size_t *room, size_t bytes);
void unpacker_free(struct unpacker *u);

#endif
