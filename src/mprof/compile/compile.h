/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * compile.h - compiles calls on blocks to a playback file (include/mprof/playback.h).
 *
 * Feeding.  A source passes on calls in the order of time: which block each frees, and whether it
 * allocates one:
 *
 *	compile_new(&compile, &options, &err);
 *	block = compile_call(compile, &call, COMPILE_NONE, true);	(a malloc)
 *	block = compile_call(compile, &call, block, true);		(a realloc)
 *	compile_call(compile, &call, block, false);			(a free)
 *	compile_finish(compile, &sum, &err);	(also releases it, whatever it returns)
 *
 * The source decides which blocks are live and which calls are valid: for traces and records of
 * other tools, the heap does (compile_trace). No input makes the compiler fail; only lack of memory
 * or disk space does, which compile_finish() reports.
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
#include "../pass/programs.h"

#define COMPILE_NONE UINT32_MAX /* no block */

/* A call.  size and align describe the block that it allocates. */
struct compile_call {
	uint64_t ns;	/* recorded time, by any clock; never far backwards; all equal if unknown */
	uint64_t size;	/* requested bytes: calloc's product */
	uint64_t align; /* 0 = no alignment */
	uint64_t touched; /* with has_touched: bytes of the old block that the program used */
	uint32_t thread;  /* number, unique over processes */
	uint32_t process; /* the process of the thread */
	uint32_t site;	  /* node of the trace's stacks; 0 if unknown */
	uint8_t fn;	  /* enum mprof_fn */
	bool has_touched;
	bool copied; /* a realloc that copied the block */
	bool mended; /* a FREE that the compiler added */
};

/*
 * What-if: a hook that changes calls before they are compiled.
 *
 * It is called for each call. `begins`: the call allocates a block; `old`: the block that it frees,
 * or NULL.  The hook passes on the calls to be played, any number of them, by compile_call(). *tag
 * is the hook's word for the new block (kept until it is freed, then in old->tag).
 */
struct compile;
struct compile_old {
	uint64_t size;
	uint32_t site; /* of its allocation */
	uint64_t tag;
};
struct compile_change {
	void *self;
	void (*call)(void *self, const struct compile_call *call, const struct compile_old *old,
		     bool begins, uint64_t *tag, struct compile *to);
	/* compile_left() was called for the block with this tag.  May be NULL. */
	void (*left)(void *self, uint64_t tag, uint64_t bytes, struct compile *to);
};

struct compile_options {
	const char *path; /* a new file, written completely or not at all; NULL = write to fd */
	int fd;		  /* an empty regular file, open for reading and writing; stays open */
	bool sites;	  /* calls have sites */
	bool touch;	  /* calls may have has_touched */
	bool untimed;	  /* the input has no times */
	const char *program, *source, *input; /* for the header; NULL = empty */
	uint32_t flags;			      /* flags MPROF_PLAY_* that only the source knows */
	const uint8_t *run_id;		      /* 16 bytes of the trace; NULL = zeros */
	const struct compile_change *change;  /* NULL if there is no what-if */
	/* For compile_trace only: */
	uint32_t process;		  /* number; COMPILE_ALL; 0 = the one with most calls */
	const struct trace_program *only; /* compile this one; NULL = as `process` says */
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
/* The program used this many bytes of a block that it never freed. */
void compile_left(struct compile *c, uint32_t block, uint64_t bytes);
/* Thread `thread`, started by `creator`, will begin (or has begun and made no call yet). */
void compile_thread_begin(struct compile *c, uint32_t thread, uint32_t creator);
/* The thread has ended.  If it makes further calls, its end is postponed. */
void compile_thread_end(struct compile *c, uint32_t thread);
/* Names the thread that starts the first thread of a process, unless compile_thread_begin()
 * does. */
void compile_process_forked(struct compile *c, uint32_t process, uint32_t creator_thread);
/*
 * Call it at an exec, or when a process ends while others continue: frees all its blocks, in this
 * thread or, if unknown, in the last one that called.  Sorts block[].
 */
void compile_process_gone(struct compile *c, uint32_t process, uint32_t thread, uint32_t *block,
			  size_t n);

/* Adds to the summary what the source left out or repaired.  cut: MPROF_PLAY_CUT. */
void compile_found(struct compile *c, const struct mprof_play_summary *found, bool cut);

/* Writes the rest, fills *sum (may be NULL) and releases c.  0 or -errno; on an error there is
 * no file. */
int compile_finish(struct compile *c, struct mprof_play_summary *sum, struct error *err);
/* Releases c and removes its file. */
void compile_abandon(struct compile *c);

/* ---- from a trace ---- */

/*
 * Compiles t (rewound before and after): options.only, or else options.process, see
 * programs_choose.  -ESRCH with a sentence if it has no such process, -EINVAL if it has no calls.
 * program, source, input, run_id, sites and touch of the options are taken from the trace if empty.
 */
int compile_trace(struct trace *t, const struct compile_options *o, struct mprof_play_summary *sum,
		  struct error *err);

/*
 * Returns the fact about a program that was compiled from t: the first with the command line of the
 * header.  NULL if there is none.
 */
const struct trace_fact *compile_fact_of(const struct trace *t, const char *program);
