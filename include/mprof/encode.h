/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * encode.h - event words: how the library encodes and the reader decodes them.
 *
 * A chunk is a sequence of 64-bit words.  The low four bits of a word are its tag. Most calls
 * take one word. A call that does not fit becomes a LONG record of five words, and a long pause
 * becomes a TIME word before the event.  Each word is stored atomically, so after SIGKILL a
 * slot is valid up to its first zero word; for the same reason, the head of a LONG record is
 * stored after its payload.
 *
 * State while encoding or decoding a chunk: `ticks`, which starts at the extent's first_ticks,
 * and `addr`, the address of the last block that was returned (by a short allocation, a LONG of
 * class ALLOC, or the end of a realloc, if not NULL), which starts at 0; frees and the mmap
 * family do not change it.  Nothing here allocates, locks or calls libc.  FORMAT.md section 5
 * specifies it.
 */
#ifndef MPROF_ENCODE_H
#define MPROF_ENCODE_H

#include <mprof/format.h>

enum mprof_tag {
	MPROF_TAG_END = 0,	     /* no more words */
	MPROF_TAG_MALLOC = 1,	     /* short allocation: malloc */
	MPROF_TAG_CALLOC = 2,	     /* short allocation: calloc(1, size) */
	MPROF_TAG_REALLOC_END = 3,   /* short allocation: the result of a realloc */
	MPROF_TAG_NEW = 4,	     /* short allocation: operator new */
	MPROF_TAG_FREE = 5,	     /* short free: free */
	MPROF_TAG_DELETE = 6,	     /* short free: operator delete */
	MPROF_TAG_REALLOC_BEGIN = 7, /* short free: the argument of a realloc */
	MPROF_TAG_LONG = 8,	     /* any function, four 64-bit values follow */
	MPROF_TAG_TIME = 9,	     /* absolute ticks in the upper 60 bits */
	MPROF_TAG_LOST = 10,	     /* reason 8 bits, count 52 bits */
	MPROF_TAG_THREAD = 11,	     /* following events belong to this thread number */
	MPROF_TAG_CONTROL = 12,	     /* dt 12, enum mprof_control 8, value 40 */
	MPROF_TAG_STACK = 13,	     /* flags 4, stack id 32, zero 24: for the events that follow */
	MPROF_TAG_TOUCHED = 14,	     /* bytes 48, zero 12: for the block that is freed next */
	MPROF_TAG_COUNT = 15,	     /* elements 32, zero 28: for the short calloc that follows */
};

/*
 * A STACK word names the stack of the events after it, up to the next STACK word or the end of
 * the chunk: of events that allocate (allocations, ends of reallocs, the mmap family) or, with
 * this flag, of events that free (frees, beginnings of reallocs). At the beginning of a chunk
 * both are 0 if unknown.
 */
#define MPROF_STACK_OF_FREES 1u

/*
 * A TOUCHED word gives the bytes that the program had used, in whole pages, of the block that the
 * next event in this chunk frees.
 */
#define MPROF_TOUCHED_MAX ((1ull << 48) - 1)

/*
 * A COUNT word gives the number of elements of the next short calloc, whose size is that of all
 * elements together.  Without a COUNT word it is 1.
 */
#define MPROF_COUNT_MAX UINT32_MAX

/* Kinds of CONTROL words, with their value in brackets. */
enum mprof_control {
	MPROF_CONTROL_THREAD_CREATE = 1, /* about to create [thread number] */
	MPROF_CONTROL_THREAD_START,	 /* first words of a thread [kernel tid] */
	MPROF_CONTROL_THREAD_END,	 /* the thread's destructors have run [0] */
	MPROF_CONTROL_FORK,		 /* before fork [process number of the forker] */
	MPROF_CONTROL_FORKED,		 /* fork returned in the parent [child pid] */
	MPROF_CONTROL_EXEC,		 /* before exec: live blocks end here if it succeeds [0] */
};

/* Values of a LONG record: v[0..3] by class (FORMAT.md section 5.3). */
#define MPROF_LONG_WORDS 5u
#define MPROF_LONG_BEGIN 1u /* flags: first half of a realloc, else the call's end */

#define MPROF_DT_MAX	  4095u
#define MPROF_SIZE_SHORT  8192u	       /* short allocations are smaller than this */
#define MPROF_SLACK_SHORT 256u	       /* and have less slack than this */
#define MPROF_DELTA_SHORT (1ull << 29) /* and are closer to the last one than this */
#define MPROF_TICKS_MASK  ((1ull << 60) - 1)

static inline uint64_t mprof_word_time(uint64_t ticks)
{
	return MPROF_TAG_TIME | ticks << 4;
}

/* Does this call fit into a short allocation word?  delta = address - last address. */
static inline int mprof_alloc_is_short(uint64_t dt, uint64_t size, uint64_t slack, uint64_t delta)
{
	return (dt <= MPROF_DT_MAX) & (size < MPROF_SIZE_SHORT) & (slack < MPROF_SLACK_SHORT) &
	       (delta + MPROF_DELTA_SHORT < 2 * MPROF_DELTA_SHORT) & !(delta & 7);
}

static inline uint64_t mprof_word_alloc(unsigned tag, uint64_t dt, uint64_t size, uint64_t slack,
					uint64_t delta)
{
	return tag | dt << 4 | size << 16 | slack << 29 | delta >> 3 << 37;
}

static inline int mprof_free_is_short(uint64_t dt, uint64_t addr)
{
	return (dt <= MPROF_DT_MAX) & !(addr >> 48);
}

static inline uint64_t mprof_word_free(unsigned tag, uint64_t dt, uint64_t addr)
{
	return tag | dt << 4 | addr << 16;
}

static inline uint64_t mprof_word_control(unsigned what, uint64_t dt, uint64_t value)
{
	return MPROF_TAG_CONTROL | dt << 4 | (uint64_t)what << 16 | value << 24;
}

static inline uint64_t mprof_word_lost(unsigned reason, uint64_t count)
{
	return MPROF_TAG_LOST | (uint64_t)reason << 4 | count << 12;
}

static inline uint64_t mprof_word_thread(uint32_t thread)
{
	return MPROF_TAG_THREAD | (uint64_t)thread << 4;
}

static inline uint64_t mprof_word_stack(unsigned flags, uint32_t id)
{
	return MPROF_TAG_STACK | (uint64_t)flags << 4 | (uint64_t)id << 8;
}

static inline uint64_t mprof_word_touched(uint64_t bytes)
{
	return MPROF_TAG_TOUCHED | bytes << 4;
}

static inline uint64_t mprof_word_count(uint64_t elements)
{
	return MPROF_TAG_COUNT | elements << 4;
}
static inline int mprof_count_is_sound(uint64_t w)
{
	return w >> 4 > 1 && w >> 4 <= MPROF_COUNT_MAX;
}

static inline uint64_t mprof_word_long(unsigned fn, uint64_t dt, unsigned flags, unsigned error)
{
	return MPROF_TAG_LONG | dt << 4 | (uint64_t)fn << 16 | (uint64_t)flags << 24 |
	       (uint64_t)error << 32;
}

static inline unsigned mprof_word_tag(uint64_t w)
{
	return w & 15;
}
static inline uint64_t mprof_word_dt(uint64_t w)
{
	return w >> 4 & MPROF_DT_MAX;
}
static inline uint64_t mprof_word_size(uint64_t w)
{
	return w >> 16 & 8191;
}
static inline uint64_t mprof_word_slack(uint64_t w)
{
	return w >> 29 & 255;
}
static inline uint64_t mprof_word_addr(uint64_t w)
{
	return w >> 16;
}
static inline unsigned mprof_word_fn(uint64_t w)
{
	return w >> 16 & 255;
}
static inline unsigned mprof_word_flags(uint64_t w)
{
	return w >> 24 & 255;
}
static inline unsigned mprof_word_error(uint64_t w)
{
	return (unsigned)(w >> 32);
}
/* Signed: an arithmetic shift extends the sign; the result is in bytes. */
static inline uint64_t mprof_word_delta(uint64_t w)
{
	return (uint64_t)((int64_t)w >> 37) << 3;
}

/*
 * The checksum of a closed payload (FORMAT.md section 4.3): four lanes of multiply and rotate over
 * 64-bit words, at a fraction of a nanosecond a word.  bytes is a multiple of 8, or the last word
 * is padded with zeros.  Never returns 0.
 */
static inline uint32_t mprof_checksum(const void *data, uint64_t bytes)
{
	const unsigned char *p = (const unsigned char *)data;
	const uint64_t k = 0x9e3779b97f4a7c15ull;
	uint64_t lane[4] = { bytes, k, ~bytes, k ^ bytes };
	uint64_t w, i, n = bytes / 8, whole = n & ~3ull;

	/* Four at a time: the lanes stay in registers and do not depend on each other. */
	for (i = 0; i < whole; i += 4) {
		uint64_t v[4];

		__builtin_memcpy(v, p + 8 * i, sizeof(v));
		v[0] = (lane[0] ^ v[0]) * k;
		v[1] = (lane[1] ^ v[1]) * k;
		v[2] = (lane[2] ^ v[2]) * k;
		v[3] = (lane[3] ^ v[3]) * k;
		lane[0] = v[0] << 31 | v[0] >> 33;
		lane[1] = v[1] << 31 | v[1] >> 33;
		lane[2] = v[2] << 31 | v[2] >> 33;
		lane[3] = v[3] << 31 | v[3] >> 33;
	}
	for (; i < n; i++) {
		__builtin_memcpy(&w, p + 8 * i, 8);
		w = (lane[i & 3] ^ w) * k;
		lane[i & 3] = w << 31 | w >> 33;
	}
	if (bytes & 7) {
		w = 0;
		for (i = 0; i < (bytes & 7); i++)
			w |= (uint64_t)p[8 * n + i] << (8 * i);
		lane[n & 3] = (lane[n & 3] ^ w) * k;
	}
	w = (lane[0] ^ lane[1] >> 7 ^ lane[2] >> 17 ^ lane[3] >> 29) * k;
	w ^= w >> 32;
	return (uint32_t)w ? (uint32_t)w : 1;
}

#endif
