/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * play_feed.h - playback files made by a test from calls written down.
 *
 * played_start() begins one; played_* feed the compiler; played_finish() ends it,
 * checks every word and leaves the file open in played.file.  Time goes on by
 * 1000 ns a call.  What cannot be is a failed test.
 */
#ifndef TESTS_PLAY_FEED_H
#define TESTS_PLAY_FEED_H

#include <mprof/playback.h>

#include "compile/compile.h"
#include "play/playfile.h"

struct played {
	struct compile *to;
	struct compile_options options; /* before played_start: what else is wanted */
	struct mprof_play_summary sum;
	struct playfile *file;
	uint64_t ns;
	uint32_t thread, process; /* of the next call */
	int fd;
	char path[64];
};

extern struct played played;

void played_start(void);
void played_alloc(uint8_t fn, uint64_t addr, uint64_t size, uint64_t align);
void played_malloc(uint64_t addr, uint64_t size);
void played_free(uint64_t old);
void played_realloc(uint64_t old, uint64_t addr, uint64_t size); /* whole */
void played_half(enum compile_half half, uint64_t old, uint64_t addr, uint64_t size);
void played_finish(void);
void played_release(void);

/* ORDER as text: "m0:100 f0 r1:5 c.. a.. T1 +1 -1 ~1 E" and so on; for short files. */
const char *played_order(void);
/* The same of a thread's own stream; waits as "@generation". */
const char *played_stream(uint32_t thread);

/*
 * Plays the threads' own streams with waits, in an order that the seed says:
 * true when all come to their ends, no block was born on another one, and every
 * call found the block that ORDER means.
 */
bool played_plays(unsigned seed);

#endif
