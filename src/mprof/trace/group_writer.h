/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* group_writer.h - a group that is being written; for group_write.c and group_words.c only. */
#pragma once

#include "group.h"

/* What an event does to its block: nothing, or: */
enum {
	IS_BIRTH = 1,
	IS_END = 2,
	IS_PLAIN = 4, /* an end without arguments, touched bytes, and a new stack */
	IS_OP = 8     /* times enum group_op of an end without arguments */
};

/* No member is a byte, whose stores may change anything as far as the compiler knows. */
struct coming {
	const struct event *e;
	union {
		const struct places_region *region; /* where the search for its cell begins */
		uint32_t *cell;			    /* of its address */
	};
	union {
		uint64_t hash; /* of its sort */
		uint32_t pile; /* of that, once it is known */
	};
	uint32_t sort;	/* number */
	uint32_t guess; /* enum group_guess */
};

struct going {
	const struct event *e; /* unless IS_PLAIN */
	uint64_t addr;
	union {
		const struct places_region *region;
		uint32_t *cell; /* NULL until there is one */
	};
};

struct group_writer {
	struct slots slots;
	struct sorts *sorts;
	struct group_guesses guesses;
	struct piles piles;
	struct byte_column column[GROUP_COLUMNS];
	struct byte_column plane; /* one of the four of wide values, see group_piece() */
	uint32_t length[MPROF_GROUP_FRAMES][GROUP_COLUMNS];
	/* A batch; births and ends are listed apart, so that loops over one of the two need not
	 * foresee which comes next. */
	struct coming coming[GROUP_BATCH + 1];
	struct going going[GROUP_BATCH + 1];
	uint16_t what[GROUP_BATCH];
	struct event born[GROUP_BATCH]; /* those that group_words.c decodes */
	size_t births, ends;
	uint32_t mixed; /* 0 if all of it is of one thread */
	uint16_t what_of[UINT8_MAX + 1][8], what_of_null[UINT8_MAX + 1][8]; /* by function, kind */
	uint16_t what_of_tag[16];					    /* of a short word */
	uint8_t sized[UINT8_MAX + 1]; /* enum group_op of an end with a size, by function */
	uint32_t events, calls;
	/* The current lane, how many kinds it had when its turn began, and the lane before. */
	struct lane *lane, *before, no_lane; /* no_lane: of process 0, which no event has */
	size_t turn;
	/* Times: events since the last step, and the bucket that they are in. */
	uint64_t bucket, count;
	uint64_t mark_at; /* bucket of the next mark; 0 if all times are exact */
	unsigned shift;
	bool exact;
	const uint64_t *mark;
	size_t marks, next_mark;
	/* The last values of fields stored as differences. */
	uint64_t far, other_addr, other_usable, other_arg;
};

/* Puts the time of an event that is not in the current bucket or the next one, or is exact. */
void group_put_time(struct group_writer *w, uint64_t ticks, bool control);

/* Makes room for n more events, at most GROUP_BATCH.  False without memory. */
bool group_ready(struct group_writer *w, size_t n);
/*
 * Puts n events that w->coming, with hashes of sorts, w->going and w->what list, except for their
 * times.  h: of their process.  e is used for those that neither begin nor end a block, and if
 * w->mixed.  False without memory.
 */
bool group_put_listed(struct group_writer *w, struct home *h, uint32_t thread,
		      const struct event *e, size_t n);
