/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * compile.h - compiles calls on blocks to a playback file (include/mprof/playback.h).
 *
 * Feeding.  A source passes on calls in the order of time: which block each frees, and whether it
 *allocates one:
 *
 *	compile_new(&compile, &options, &err);
 *	block = compile_call(compile, &call, COMPILE_NONE, true);	(a malloc)
 *	block = compile_call(compile, &call, block, true);		(a realloc)
 *	compile_call(compile, &call, block, false);			(a free)
 *	compile_finish(compile, &sum, &err);	(also releases it, whatever it returns)
 *
 * Which blocks are live, and which calls are valid, is decided before: for traces and records of
 *other tools by the heap (compile_trace). No input makes it fail; only lack of memory or disk space
 *does, which compile_finish() reports.
 *
 * The source numbers the threads; a thread begins with its first call.
 * Memory grows with live blocks and threads, not with the number of calls.
 *
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/format.h>
#include <mprof/playback.h>

#include "../pass/walk.h"
#include "../trace/trace.h"
#include "../util/error.h"
#include "programs.h"

#define COMPILE_NONE UINT32_MAX /* no block */

/* A call. size and align are those of the block that it allocates. */
struct compile_call {
	uint64_t ns;	  /* recorded time, by any clock; never far backwards; all equal: unknown */
	uint64_t size;	  /* requested bytes: calloc's product */
	uint64_t align;	  /* 0: none */
	uint64_t touched; /* with has_touched: bytes of the old block that the program used */
	uint32_t thread;  /* number, unique over processes */
	uint32_t process; /* whose thread that is */
	uint32_t site;	  /* node of the trace's stacks; 0: unknown */
	uint8_t fn;	  /* enum mprof_fn */
	bool has_touched;
	bool moved;  /* a realloc that moved the block */
	bool mended; /* a FREE that the program did not make */
};

/*
 * What-if: a hook that changes calls before they are compiled.
 *
 * It is called for each call.  `begins`: it allocates a block; `old`: the block that it frees,
 * NULL: none. The hook passes on the calls to be played, any number of them, by compile_call().
 * *tag is the hook's word for the new block (kept until it is freed, then in old->tag).
 */
struct compile;
struct compile_old {
	uint64_t size;
	uint32_t site, thread; /* of its allocation; thread: number */
	uint64_t tag;
};
struct compile_change {
	void *self;
	void (*call)(void *self, const struct compile_call *call, const struct compile_old *old,
		     bool begins, uint64_t *tag, struct compile *to);
	/* After the last call: passes on the rest. May be NULL. */
	void (*finish)(void *self, struct compile *to);
};

struct compile_options {
	const char *path; /* a new file, complete or not at all; NULL: write to fd */
	int fd;		  /* an empty regular file, open for reading and writing; stays open */
	bool sites;	  /* calls have sites */
	bool touch;	  /* calls may have has_touched */
	bool untimed;	  /* the input has no times */
	const char *program, *source, *input; /* for the header; NULL: empty */
	uint32_t flags;			      /* flags MPROF_PLAY_* that only the source knows */
	const uint8_t *run_id;		      /* 16 bytes of the trace, NULL: zeros */
	const struct compile_change *change;  /* NULL: none */
	/* compile_trace only: */
	uint32_t process;		  /* number; COMPILE_ALL; 0: the one with most calls */
	const struct trace_program *only; /* this one; NULL: as `process` says */
	void (*progress)(void *context, const struct walk *w);
	void *progress_context;
};
#define COMPILE_ALL PROGRAMS_ALL

int compile_new(struct compile **out, const struct compile_options *o, struct error *err);
/*
 * The call frees `old`, unless that is COMPILE_NONE, and allocates a block if `begins`. Returns
 * that block, which is `old` if it is resized; else COMPILE_NONE.
 */
uint32_t compile_call(struct compile *c, const struct compile_call *call, uint32_t old,
		      bool begins);
/* Thread `thread`, started by `creator`, will begin (or has begun and made no call yet). */
void compile_thread_begin(struct compile *c, uint32_t thread, uint32_t creator);
/* It has ended. Later calls of it postpone its end. */
void compile_thread_end(struct compile *c, uint32_t thread);
/* The first thread of a process that no thread was told to begin is started by this one. */
void compile_process_forked(struct compile *c, uint32_t process, uint32_t creator_thread);
/*
 * exec, or its end while others go on: a FREE is put for all its blocks, by this thread, or
 * if that is not known, by the last one that called.  block[] is put in order.
 */
void compile_process_gone(struct compile *c, uint32_t process, uint32_t thread, uint32_t *block,
			  size_t n);

/* For the summary: what the source left out or repaired. cut: MPROF_PLAY_CUT. */
void compile_found(struct compile *c, const struct mprof_play_summary *found, bool cut);

/* Writes the rest, fills *sum (may be NULL) and releases c.  0 or -errno; on an error no file.
 */
int compile_finish(struct compile *c, struct mprof_play_summary *sum, struct error *err);
/* Releases c and removes what it wrote. */
void compile_abandon(struct compile *c);

/* ---- from a trace ---- */

/*
 * Compiles t (rewound before and after): options.only, or else options.process
 * as programs_choose has it.  -ESRCH with a sentence when it has no such process, -EINVAL
 * when it has no calls at all.  program, source, input, run_id, sites and touch of the
 * options are taken from the trace if empty.
 */
int compile_trace(struct trace *t, const struct compile_options *o, struct mprof_play_summary *sum,
		  struct error *err);

/*
 * The fact about a program that was compiled from t: the first with the command line of the header.
 * NULL: none.
 */
const struct trace_fact *compile_fact_of(const struct trace *t, const char *program);
