/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* group_packer.h - one group in the making; for group_pack.c and group_times.c only. */
#ifndef MPROF_TRACE_GROUP_PACKER_H
#define MPROF_TRACE_GROUP_PACKER_H

#include "bytes.h"
#include "group.h"
#include "model.h"
#include "model_clock.h"

/* One event's time, and what it takes to write it again. */
struct timed {
	uint64_t ticks;
	uint32_t at; /* its number, with those that have no time */
	uint16_t class;
	uint8_t words;
	bool first; /* behind events of other threads */
};

/* Valid for this group only when `group` is the packer's. */
struct found {
	uint64_t key;
	uint32_t number, group;
};

struct group_packer {
	struct model model;
	struct model_clock clock;
	struct byte_column column[GROUP_COLUMNS];
	struct {
		struct group_head head;
		uint32_t length[GROUP_COLUMNS];
	} start;
	struct found *block, *sort; /* by address, by hash */
	size_t found_size;	    /* of each, a power of two */
	uint32_t group;
	struct timed *timed;
	size_t timed_room;
	/* What the words say now, and what was told of it. */
	uint64_t ticks, addr, addr_told;
	uint32_t stack[2], told[2]; /* by SYMBOL_GIVES - SYMBOL_TAKES */
	uint32_t thread, thread_told;
	uint64_t touched; /* a TOUCHED word for what is given back next, or 0 */
	uint64_t value;	  /* the last one of a raw word */
	uint32_t words;	  /* that it will unpack to */
	uint32_t seen;	  /* events, with those that have no time */
};

/*
 * group_times.c: the columns of the clock for all events, which have their true
 * times, and how many words they will unpack to.  base: ticks that count as 0.
 * 0 or -ENOMEM.
 */
int group_fit_times(struct group_packer *p, uint64_t base);

#endif
