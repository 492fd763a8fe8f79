/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * play_feed.h - playback files made by a test from calls written down.
 *
 * played_start() begins one; played_* write calls and what happens between them down, as the events
 * and facts of a trace; played_finish() compiles all of them, checks every word and leaves the file
 * open in played.file.  Time advances by 1000 ns a call.  What cannot be is a failed test.
 */
#pragma once

#include <mprof/playback.h>

#include "compile/compile_feed.h"
#include "play/playfile.h"

#define PLAYED_EVENTS 400000
#define PLAYED_FACTS  8

enum played_half { PLAYED_WHOLE, PLAYED_BEGIN, PLAYED_END };

/* A call: old is given back, addr handed out; of a realloc, both or a half. */
struct played_call {
	uint64_t ns, addr, old, size, align, touched;
	uint32_t thread, process, site;
	uint8_t fn, half;
	bool has_touched;
};

struct played {
	struct compile_options options; /* before played_start: what else is wanted */
	struct mprof_play_summary sum;
	struct playfile *file;
	uint64_t ns;
	uint32_t thread, process; /* of the next call */
	int fd;
	char path[64];
	struct event event[PLAYED_EVENTS];
	size_t events, read;
	struct mprof_fact fact[PLAYED_FACTS];
	struct trace_fact facts[PLAYED_FACTS];
	size_t fact_count;
	struct trace_residency residency[2]; /* before played_finish */
	size_t residency_count;
};

extern struct played played;

void played_start(void);
void played_alloc(uint8_t fn, uint64_t addr, uint64_t size, uint64_t align);
void played_malloc(uint64_t addr, uint64_t size);
void played_free(uint64_t old);
void played_realloc(uint64_t old, uint64_t addr, uint64_t size); /* whole */
void played_half(enum played_half half, uint64_t old, uint64_t addr, uint64_t size);
void played_call(const struct played_call *c);
void played_thread_begin(uint32_t thread, uint32_t creator);
void played_thread_end(uint32_t thread);
/* The child begins here, with the blocks of the parent. */
void played_fork(uint32_t parent, uint32_t child);
void played_exec(uint32_t process);
/* 0, or what the compiler says. */
int played_try(struct error *err);
void played_finish(void);
void played_release(void);

/* ORDER as text: "m0:100 f0 r1:5 c.. a.. T1 +1 -1 ~1 E" and so on; for short files. */
const char *played_order(void);
/* The same for a thread's own stream; waits are "@generation". */
const char *played_stream(uint32_t thread);

/*
 * Plays the threads' own streams with waits, in an order that the seed says:
 * true when all come to their ends, no block was born on another one, and every
 * call found the block that ORDER means.
 */
bool played_plays(unsigned seed);
