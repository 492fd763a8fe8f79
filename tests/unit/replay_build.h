/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * replay_build.h - playback files made by a test from calls written down.
 *
 * build_start() begins one; build_* feed the compiler; build_finish() ends it,
 * checks every word and leaves the file open in build.file.  Time goes on by
 * 1000 ns a call.  What cannot be is a failed test.
 */
#ifndef TESTS_REPLAY_BUILD_H
#define TESTS_REPLAY_BUILD_H

#include <mprof/playback.h>

#include "replay/compile.h"
#include "replay/playfile.h"

struct build {
	struct compile *to;
	struct compile_options options; /* before build_start: what else is wanted */
	struct mprof_play_summary sum;
	struct playfile *file;
	uint64_t ns;
	uint32_t thread, process; /* of the next call */
	int fd;
	char path[64];
};

extern struct build build;

void build_start(void);
void build_alloc(uint8_t fn, uint64_t addr, uint64_t size, uint64_t align);
void build_malloc(uint64_t addr, uint64_t size);
void build_free(uint64_t old);
void build_realloc(uint64_t old, uint64_t addr, uint64_t size); /* whole */
void build_half(enum compile_half half, uint64_t old, uint64_t addr, uint64_t size);
void build_finish(void);
void build_release(void);

/* ORDER as text: "m0:100 f0 r1:5 c.. a.. T1 +1 -1 ~1 E" and so on; for short files. */
const char *build_order(void);
/* The same of a thread's own stream; waits as "@generation". */
const char *build_stream(uint32_t thread);

/*
 * Plays the threads' own streams with waits, in an order that the seed says:
 * true when all come to their ends, no block was born on another one, and every
 * call found the block that ORDER means.
 */
bool build_plays(unsigned seed);

#endif
