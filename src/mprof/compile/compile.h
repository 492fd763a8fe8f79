/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * compile.h - from recorded calls to a playback file (include/mprof/playback.h).
 *
 * Feeding.  A source tells what happened in the order in which it was recorded:
 *
 *	struct compile_call c = { .fn = MPROF_FN_MALLOC, .thread = 1, .addr = p, .size = n };
 *
 *	compile_new(&compile, &options, &err);
 *	while (...)
 *		compile_call(compile, &c);
 *	compile_finish(compile, &sum, &err);	(also releases it, whatever it returns)
 *
 * Identity is by address: the compiler knows what lives where, gives each block
 * a slot, mends what stands in the wrong order and counts what it cannot use
 * (struct mprof_play_summary).  No feed makes it fail; only memory and the disk
 * do, and compile_finish says so.
 *
 * Threads have numbers of the source's own; a thread begins with its first call.
 * Memory grows with live blocks and threads, not with the number of calls.
 *
 * Threads: one at a time.
 */
#ifndef MPROF_COMPILE_COMPILE_H
#define MPROF_COMPILE_COMPILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/format.h>
#include <mprof/playback.h>

#include "../trace/trace.h"
#include "../util/error.h"

enum compile_half {
	COMPILE_WHOLE = 0, /* a call, complete */
	COMPILE_BEGIN,	   /* realloc, first half: `old` is given back, its address is free now */
	COMPILE_END,	   /* realloc, second half of the same thread: `addr`, `size` */
};

/*
 * One call.  By class of fn (functions.def):
 *   ALLOC    addr, size, align
 *   FREE     old; 0: of NULL
 *   REALLOC  old, addr, size; whole, or in two halves between which the old
 *            address may be given to another thread
 * addr 0: failed; of a realloc with size 0: it was a free.
 */
struct compile_call {
	uint64_t ns;	/* recorded, on any clock; never far backwards; all 0: not known */
	uint64_t addr;	/* handed out */
	uint64_t old;	/* given back */
	uint64_t size;	/* bytes asked for: calloc's product */
	uint64_t align; /* 0: none */
	uint64_t
	    touched;	 /* with has_touched: bytes of the old block that the program had touched */
	uint32_t thread; /* number, unique over processes */
	uint32_t process; /* whose addresses these are; 0 is as good as any */
	uint32_t site;	  /* node of the trace's stacks, 0 not known */
	uint8_t fn;	  /* enum mprof_fn */
	uint8_t half;	  /* enum compile_half */
	bool has_touched;
};

/*
 * What-if: a hook that changes calls before they are compiled.
 *
 * It is called for each call that will be played, in the final order: matched
 * (an old block is known or 0), never in halves, never failed, never of NULL.
 * It passes on what is to be played with compile_emit, which may be called any
 * number of times, with addresses of its own as long as no two live blocks
 * have the same one (0xf000... up is free for that).  The call may be changed
 * and passed on.  `old` is the block that is given back, NULL if none; *tag
 * is the hook's own word for the block that is born (kept until it ends, and
 * then in old->tag).
 */
struct compile;
struct compile_old {
	uint64_t size;
	uint32_t site, thread; /* of its birth; thread: number */
	uint64_t tag;
};
struct compile_change {
	void *self;
	void (*call)(void *self, struct compile_call *call, const struct compile_old *old,
		     uint64_t *tag, struct compile *to);
	/* After the last call: what is still to be passed on.  May be NULL. */
	void (*finish)(void *self, struct compile *to);
};
void compile_emit(struct compile *to, const struct compile_call *call);

struct compile_options {
	const char *path; /* made anew, complete or not at all; NULL: write to fd */
	int fd;		  /* an empty regular file, open for reading and writing; stays open */
	bool sites;	  /* calls have sites */
	bool touch;	  /* calls may have has_touched */
	const char *program, *source, *input; /* for the header; NULL: empty */
	uint32_t flags;			      /* of MPROF_PLAY_*, what the source alone knows */
	const uint8_t *run_id;		      /* 16 bytes of the trace, NULL: zeros */
	const struct compile_change *change;  /* NULL: none */
	/* compile_trace only: */
	uint32_t process;		    /* number; COMPILE_ALL; 0: the one with most calls */
	const struct compile_process *only; /* this one; NULL: as `process` says */
	void (*progress)(void *context, uint64_t events, double part);
	void *progress_context;
};
#define COMPILE_ALL UINT32_MAX

int compile_new(struct compile **out, const struct compile_options *o, struct error *err);
void compile_call(struct compile *c, const struct compile_call *call);
/* Thread `thread` will begin (or has begun, and made no call yet), started by `creator`. */
void compile_thread_begin(struct compile *c, uint32_t thread, uint32_t creator);
/* It has ended.  Calls of it that still come move its end back. */
void compile_thread_end(struct compile *c, uint32_t thread);
/* exec, or its end while others go on: a FREE is put for all its blocks, by this thread (0: any).
 */
void compile_process_gone(struct compile *c, uint32_t process, uint32_t thread);
/* Frees of blocks that this process never had are not unknown but inherited. */
void compile_process_forked(struct compile *c, uint32_t process, uint32_t creator_thread);

/* Of the input, for the summary: lost, damaged; cut: MPROF_PLAY_CUT. */
void compile_damage(struct compile *c, uint64_t lost, uint64_t damaged, bool cut);

/* Writes what is left, fills *sum (may be NULL) and releases c.  0 or -errno; on an error no file.
 */
int compile_finish(struct compile *c, struct mprof_play_summary *sum, struct error *err);
/* Releases c and removes what it wrote. */
void compile_abandon(struct compile *c);

/* ---- from a trace ---- */

/*
 * A program that a trace has: a process between two execs.  Each has a heap and
 * threads of its own.
 */
struct compile_process {
	uint32_t number;
	uint32_t image;		       /* how often the process had called exec */
	uint64_t calls;		       /* of the malloc family */
	const char *exe;	       /* its base name, "" not known */
	const struct trace_fact *fact; /* that has its arguments; NULL: not known */
};

/*
 * Those that called, most calls first; the caller frees *out.  Reads the whole
 * trace, which is rewound before and after.  -EINVAL: there is none.
 */
int compile_processes(struct trace *t, struct compile_process **out, size_t *n, struct error *err);
/* False when there is one program only, so that nobody need count. */
bool compile_has_choice(struct trace *t);
/*
 * Which of them is meant by `process`: a number (of several images the one with
 * most calls), or 0 or COMPILE_ALL (the first).  -ESRCH: none of that number.
 */
int compile_choose(const struct trace *t, const struct compile_process *list, size_t n,
		   uint32_t process, const struct compile_process **chosen, struct error *err);

/*
 * Compiles t (rewound before and after): options.only, or else options.process
 * as compile_choose has it.  -ESRCH with a sentence when it has no such process, -EINVAL
 * when it has no calls at all.  program, source, input, run_id, sites and touch of the
 * options are taken from the trace when left empty.
 */
int compile_trace(struct trace *t, const struct compile_options *o, struct mprof_play_summary *sum,
		  struct error *err);

/*
 * The fact that has what is known of a program which was compiled from t: the
 * first that began with this command line, as the header has it.  NULL: none.
 */
const struct trace_fact *compile_fact_of(const struct trace *t, const char *program);

#endif
