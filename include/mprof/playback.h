/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * playback.h - a playback file: the calls of a program, compiled so that a runner can repeat
 * them on another allocator with a few instructions per call.  `mprof sort` writes it, the runner
 * (src/runner) plays it.  PLAYBACK.md is the specification and says what a reader must reject.
 *
 * Little-endian.  A header of one page, then sections, each 4096-aligned and
 * named by (offset, bytes) in the header.  Streams are rows of 64-bit words:
 *
 *   bits 0..3   enum mprof_play, the operation
 *   bits 4..31  requested size, below 2^28 (larger: an EXT word precedes)
 *   bits 32..63 slot: an index of the table of live blocks
 *
 * A call is one word, or an EXT word and the call's word.  The n-th call of
 * the ORDER stream (from 0; EXT and all others are not calls) is "op n", the unit of
 * frames, samples and sites.
 *
 * Slots.  A block keeps its slot from birth to end, realloc included.  Slots of freed blocks
 * are reused, last freed first within a thread. A slot whose last block was freed by another
 * thread than the one that needs it next, or by a thread that has ended, is not reused for
 * MPROF_PLAY_REST ops.  With one thread, `slots` is the greatest number of blocks live at once.
 *
 * Two forms of the same calls:
 * - ORDER: all threads in the recorded order; a SWITCH word before the first
 *   word of another thread.  Played by one thread, or by many that take turns.
 * - THREAD streams, one per thread, only if there is more than one: no SWITCH.
 *   Before a call on a slot that another thread used last is an EXT with
 *   the slot's generation at that time: the call waits until the table has
 *   this generation.  A generation is the number of blocks allocated on the slot so far, modulo
 *   2^14, times two, plus one while a block is live; a realloc ends a block
 *   and begins one.  So MALLOC waits for an even one, FREE and REALLOC for an
 *   odd one, and a slot that only one thread uses needs no EXT.  A call waits
 *   only for calls that come earlier in ORDER, so streams cannot deadlock.
 *   CREATE is where a thread begins, preceded by GONE for each thread
 *   that had ended by then and was not waited for yet.  EXIT ends a stream.
 *
 * ORDER contains CREATE, GONE and EXIT, too, among the words of the same thread.  Every
 * thread has one EXIT, after its last call; every thread but index 0 has one CREATE, before its
 * first call.  END follows the last word.
 */
#ifndef MPROF_PLAYBACK_H
#define MPROF_PLAYBACK_H

#ifdef __cplusplus
#include <cstdint>
#else
#include <stdint.h>
#endif
#include <mprof/functions.h>

#define MPROF_PLAYBACK_MAGIC   "mprofplb" /* 8 bytes, no NUL */
#define MPROF_PLAYBACK_VERSION 1u
#define MPROF_PLAY_REST	       65536u /* ops */
#define MPROF_PLAY_SIZE_BITS   28u
#define MPROF_PLAY_PAGE	       4096u
#define MPROF_PLAY_LARGE       16384u /* only blocks of at least this size may have a TOUCH word */
/* TOUCH: it is unknown how many bytes were touched, so assume all. */
#define MPROF_PLAY_TOUCH_UNKNOWN ((1ull << 60) - 1)

enum mprof_play {
	MPROF_PLAY_END = 0,    /* no more words in this stream */
	MPROF_PLAY_MALLOC = 1, /* slot, size */
	MPROF_PLAY_FREE = 2,   /* slot; size field 0; fn of EXT may be realloc: realloc(block, 0) */
	MPROF_PLAY_CALLOC = 3, /* slot, size: calloc(1, size) */
	MPROF_PLAY_REALLOC = 4, /* slot, size: realloc(block of the slot or NULL, size) */
	MPROF_PLAY_ALIGNED = 5, /* slot, size; the preceding EXT has fn and alignment */
	MPROF_PLAY_EXT = 6,	/* for the next call; see mprof_play_ext() */
	MPROF_PLAY_SWITCH = 7,	/* ORDER: bits 32..63 are the index of the next thread */
	MPROF_PLAY_CREATE = 8,	/* bits 32..63: this thread (index) begins */
	MPROF_PLAY_EXIT = 9,	/* bits 32..63: its own index; the last word of the thread */
	MPROF_PLAY_GONE = 10,	/* bits 32..63: wait until this thread has ended */
	MPROF_PLAY_TIME = 11,	/* bits 4..63: recorded ns since the first event; never decreases */
	MPROF_PLAY_TOUCH =
	    12, /* bits 4..63: bytes that the program had touched of the block just allocated */
};

/* The operation that plays a function, by its shape; an allocation with an alignment is ALIGNED. */
enum mprof_play_of {
#define X(shape, values, operation) MPROF_PLAY_OF_##shape = MPROF_PLAY_##operation,
	MPROF_SHAPES(X)
#undef X
};

/*
 * EXT: bits 4..9 log2 of the alignment (0 if none), 10..15 enum mprof_fn (0: the
 * function that the operation is named after), 16..31 the generation to wait
 * for + 1 (0: no wait), 32..63 size >> 28.
 */
static inline uint64_t mprof_play_ext(unsigned log2align, unsigned fn, unsigned wait, uint64_t size)
{
	return MPROF_PLAY_EXT | (uint64_t)log2align << 4 | (uint64_t)fn << 10 |
	       (uint64_t)wait << 16 | size >> MPROF_PLAY_SIZE_BITS << 32;
}

static inline uint64_t mprof_play_call(enum mprof_play op, uint32_t slot, uint64_t size)
{
	return (uint64_t)op | (size & ((1u << MPROF_PLAY_SIZE_BITS) - 1)) << 4 |
	       (uint64_t)slot << 32;
}

static inline uint64_t mprof_play_other(enum mprof_play op, uint32_t thread)
{
	return (uint64_t)op | (uint64_t)thread << 32;
}

static inline unsigned mprof_play_op(uint64_t w)
{
	return w & 15;
}
static inline uint32_t mprof_play_slot(uint64_t w)
{
	return (uint32_t)(w >> 32);
}
static inline uint64_t mprof_play_size(uint64_t w, uint64_t ext)
{
	return (w >> 4 & ((1u << MPROF_PLAY_SIZE_BITS) - 1)) | ext >> 32 << MPROF_PLAY_SIZE_BITS;
}
static inline unsigned mprof_play_log2align(uint64_t ext)
{
	return ext >> 4 & 63;
}
static inline unsigned mprof_play_fn(uint64_t ext)
{
	return ext >> 10 & 63;
}
static inline unsigned mprof_play_wait(uint64_t ext)
{
	return ext >> 16 & 0xffff;
}
static inline int mprof_play_is_call(uint64_t w)
{
	unsigned op = w & 15;

	return op >= MPROF_PLAY_MALLOC && op <= MPROF_PLAY_ALIGNED;
}

struct mprof_play_section {
	uint64_t offset, bytes;
	uint64_t check; /* mprof_play_check() of the bytes */
};

/* Section THREADS: one for each thread, by index; index 0 is the first thread. */
struct mprof_play_thread {
	uint64_t offset; /* of its stream in the file; 0 if there is only one thread */
	uint64_t words;	 /* including END */
	uint64_t calls;
	uint64_t first_ns, last_ns; /* recorded times of its first and last event */
	uint32_t recorded;	    /* its number in the trace */
	uint32_t creator; /* index of the thread whose stream has the CREATE; its own index if none
			     has */
};

/* Figures of the program, computed by the compiler; a replay has its own. */
struct mprof_play_summary {
	uint64_t calls;	      /* ops */
	uint64_t by_op[6];    /* indexed by enum mprof_play */
	uint64_t asked_bytes; /* requested by all calls */
	uint64_t peak_bytes, peak_blocks;
	uint64_t peak_op;		  /* the first op after which peak_bytes are live */
	uint64_t left_bytes, left_blocks; /* live at the end */
	uint64_t remote_frees;	 /* frees, reallocs by a thread other than the one that allocated */
	uint64_t recorded_ns;	 /* from the first event to the last */
	uint64_t touched_blocks; /* number of TOUCH words */
	/* Calls that are not played, or were repaired. */
	uint64_t failed;	     /* calls that had failed in the program */
	uint64_t unknown_frees;	     /* frees of unknown blocks, which are omitted */
	uint64_t inherited_frees;    /* frees of blocks from before its first call: omitted */
	uint64_t double_allocations; /* allocations at an address that was still live: a FREE was
					inserted */
	uint64_t inversions;	     /* events in the wrong order, which were sorted */
	uint64_t lost;		     /* events that the recorder counted as lost */
	uint64_t damaged;	     /* unreadable parts of the input */
	uint64_t null_frees;	     /* free(NULL): nothing to play */
	/* FREEs inserted for blocks that an exec or the end of a process discarded. */
	uint64_t swept;
	/* Largest resident size of the program, with code and files; 0: unknown, or several
	 * programs. */
	uint64_t peak_rss_bytes;
	uint64_t
	    peak_calloc_bytes; /* of peak_bytes: in blocks of calloc of MPROF_PLAY_LARGE or more */
	uint64_t reserved[4];
};

enum mprof_play_flags {
	MPROF_PLAY_HAS_TIMES = 1,
	MPROF_PLAY_HAS_SITES = 2,
	MPROF_PLAY_HAS_TOUCH = 4,
	MPROF_PLAY_CHANGED = 8, /* a what-if changed the program's calls */
	MPROF_PLAY_CUT = 16,	/* the input ended prematurely */
	/* The program had libstdc++, which some allocators also load: do not count it twice
	 * when comparing what processes need before the first call. */
	MPROF_PLAY_LIBSTDCXX = 32,
};

struct mprof_playback_header {
	char magic[8];
	uint32_t version, header_bytes; /* MPROF_PLAY_PAGE */
	uint64_t file_bytes;
	uint64_t slots; /* number of slots in the table; every slot in a stream is below it */
	uint32_t threads, flags;
	struct mprof_play_section order;   /* words */
	struct mprof_play_section thread;  /* struct mprof_play_thread */
	struct mprof_play_section streams; /* all THREAD streams, end to end; 0 if one thread */
	/* uint32_t for each op of ORDER: stack node (stacks.h) of the new block, else 0. */
	struct mprof_play_section sites;
	struct mprof_play_summary sum;
	char program[256];  /* command line, cut, NUL-terminated */
	char source[1024];  /* absolute path of the trace or other input */
	char input[32];	    /* "mprof", "aosp", "mtrace", "rep", "logfd", "script" */
	uint8_t run_id[16]; /* run_id of the trace, else zeros; shows if `source` was replaced */
	uint64_t check;	    /* of the header's bytes before this field */
};

/* 64-bit FNV-1a over 64-bit words, the last one padded with zeros; used for sections and header. */
static inline uint64_t mprof_play_check(uint64_t check, const void *data, uint64_t bytes)
{
	const unsigned char *p = (const unsigned char *)data;
	uint64_t w;

	for (; bytes; p += 8, bytes -= bytes < 8 ? bytes : 8) {
		w = 0;
		__builtin_memcpy(&w, p, bytes < 8 ? bytes : 8);
		check = (check ^ w) * 0x100000001b3ull;
	}
	return check;
}
#define MPROF_PLAY_CHECK_START 0xcbf29ce484222325ull

#endif
