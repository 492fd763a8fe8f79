/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * trace_build.h - trace files made by tests, byte by byte, without the library.
 *
 * struct words is one chunk in the making: words_* put an event as the library
 * would, short when it fits and with a TIME word when the gap is too long.
 * struct build is a whole file in memory; what build_* add is well-formed, and
 * a test that wants damage edits build->bytes afterwards.
 *
 * An error of memory or files ends the test program: there is nothing to test then.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <mprof/encode.h>
#include <mprof/format.h>

struct words {
	uint64_t *word;
	size_t n, room;
	uint64_t first_ticks; /* of the chunk; set by words_start */
	uint64_t ticks, addr; /* encoding state */
};

void words_start(struct words *w, uint64_t first_ticks);
void words_free(struct words *w);
void words_put(struct words *w, uint64_t word);
void words_alloc(struct words *w, unsigned tag, uint64_t ticks, uint64_t addr, uint64_t size,
		 uint64_t usable);
void words_give(struct words *w, unsigned tag, uint64_t ticks, uint64_t addr);
void words_long(struct words *w, unsigned fn, uint64_t ticks, unsigned flags, unsigned error,
		const uint64_t v[4]);
void words_control(struct words *w, unsigned what, uint64_t ticks, uint64_t value);

void words_stack(struct words *w, unsigned flags, uint32_t id);

/* Stack records are rows of words too. */
void words_define(struct words *w, unsigned flags, uint32_t id, uint32_t joined, uint32_t depth,
		  const uint64_t *frame, uint32_t n);
/* Loaded at [first, first + bytes) with this bias, as one executable segment. */
void words_object(struct words *w, uint64_t ticks, uint64_t bias, uint64_t first, uint64_t bytes,
		  const char *path, const char *build_id);
void words_gone(struct words *w, uint32_t number, uint64_t ticks);

/* n blocks from WORDS_BASE on, 20 ticks apart, each freed but the last; starts w. */
#define WORDS_BASE 0x7f0000001000ull
void words_pairs(struct words *w, uint64_t ticks, int n);

struct build {
	unsigned char *bytes;
	size_t n, room;
	char directory[32], path[64]; /* of build_save() */
};

/* magic: MPROF_MAGIC_TRACE or MPROF_MAGIC_COUNTS.  CLOCK_MONOTONIC, from 1000 ticks on. */
void build_start(struct build *b, const char *magic);
void build_free(struct build *b);
/* The same of a trace that has a file b->path of its own, which nothing else may be left beside. */
void build_start_file(struct build *b);
void build_end_file(struct build *b);
/* Writes it to that file. */
void build_save(const struct build *b);
/* Opens that file. */
struct trace *build_reopen(const struct build *b);
struct mprof_file_header *build_header(struct build *b);
/* The pointer is good until something is added. */
struct mprof_extent *build_extent_at(struct build *b, size_t offset);
/* All return the offset of the extent.  room: bytes of payload to make room for, at least. */
size_t build_extent(struct build *b, unsigned kind, uint32_t process, uint32_t thread,
		    const void *payload, size_t used, size_t room);
size_t build_chunk(struct build *b, uint32_t process, uint32_t thread, uint64_t seq,
		   const struct words *w);
size_t build_slot(struct build *b, uint32_t process, uint32_t thread, uint64_t seq,
		  const struct words *w, size_t room);
/* Add stack records of a process's image, as its chunk or slot `seq`. */
size_t build_stacks(struct build *b, uint32_t process, uint16_t image, uint64_t seq,
		    const struct words *w);
size_t build_stacks_slot(struct build *b, uint32_t process, uint16_t image, uint64_t seq,
			 const struct words *w, size_t room);
/* strings: "key=value" with their NULs, as in the file. */
size_t build_fact(struct build *b, uint32_t process, const struct mprof_fact *fact,
		  const char *strings, size_t strings_bytes);
/* The checksum of an extent whose payload was edited. */
void build_seal(struct build *b, size_t offset);

/* Writes it to a file in memory; *fd is the caller's.  The path lives as long as the fd. */
const char *build_path(const struct build *b, int *fd);
/* The same for the first n bytes. */
const char *build_path_prefix(const struct build *b, size_t n, int *fd);
