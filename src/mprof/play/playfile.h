/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * playfile.h - reading playback files (include/mprof/playback.h, PLAYBACK.md).
 *
 * playfile_open() maps the file and checks all that needs no walk: the header and its checksum, and
 * that every section is in the file, at its place, with the size that follows from the header.
 * Readers may trust the words of streams only after playfile_check(), or must check them: the
 * cursor below never returns a slot or thread beyond those of the header.
 *
 * Errors: -ENOENT..., -EBADMSG for a file that is not ours or is incomplete; err says what is wrong
 * at which byte and what was expected. Threads: a struct playfile is not written after
 * playfile_open. Pointers into it live until playfile_close.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/format.h>
#include <mprof/playback.h>

#include "../util/error.h"

/* Members are private to playfile.c and playfile_check.c. */
struct playfile {
	char *path;
	const char *map;
	uint64_t bytes;			     /* size of the file */
	struct mprof_playback_header header; /* a copy whose strings end with NUL */
};

/* Does it begin like a playback file? False if it cannot be read. */
bool playfile_is(const char *path);

int playfile_open(struct playfile **out, const char *path, struct error *err);
/* p may be NULL. */
void playfile_close(struct playfile *p);

/* Checks all checksums and every word, as in PLAYBACK.md: 0 or -EBADMSG. Reads the whole file. */
int playfile_check(const struct playfile *p, struct error *err);

const char *playfile_path(const struct playfile *p);
const struct mprof_playback_header *playfile_header(const struct playfile *p);
/* Returns the ORDER stream; *words includes END. */
const uint64_t *playfile_order(const struct playfile *p, size_t *words);
/* Returns a node of the trace's stacks for each op; NULL if the file has none. */
const uint32_t *playfile_sites(const struct playfile *p);
/* Returns header->threads of them. */
const struct mprof_play_thread *playfile_threads(const struct playfile *p);
/* Returns their numbers in the recording; the caller frees them. */
uint32_t *playfile_thread_numbers(const struct playfile *p);
/* Returns the stream of a thread; NULL if the file has only one thread, whose stream is ORDER. */
const uint64_t *playfile_stream(const struct playfile *p, uint32_t thread, size_t *words);

/* ---- ORDER, call by call ---- */

struct playfile_op {
	uint64_t op;	  /* its number, from 0 */
	uint64_t size;	  /* requested; 0 for a FREE */
	uint64_t ns;	  /* recorded time since the first event, from the last TIME word */
	uint64_t touched; /* bytes; MPROF_PLAY_TOUCH_UNKNOWN if not recorded */
	uint32_t slot;	  /* below header->slots */
	uint32_t thread;  /* index, below header->threads */
	uint32_t site;	  /* of the new block; 0 if unknown */
	uint8_t kind;	  /* enum mprof_play, MALLOC to ALIGNED */
	uint8_t fn;	  /* enum mprof_fn that was called */
};

struct playfile_cursor {
	const uint64_t *at, *end;
	const uint32_t *sites;
	uint64_t op, ns, calls, slots;
	uint32_t thread, threads;
};

void playfile_start(struct playfile_cursor *c, const struct playfile *p);
/* Returns false at the end, or at an invalid word. */
bool playfile_next(struct playfile_cursor *c, struct playfile_op *op);
