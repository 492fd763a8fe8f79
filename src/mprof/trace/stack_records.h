/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* stack_records.h - the records of one process's image, in their order (FORMAT.md 6). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loaded.h"
#include "stack_map.h"
#include "stack_table.h"

/* A frame that was found for this word while the same objects were loaded. */
struct recent_frame {
	uint64_t word;
	uint32_t frame;
	uint32_t loading; /* 0: none */
};

#define RECENT_SHIFT 10u

/* The state while one stream of records is read. */
struct stack_records {
	struct stack_table *table;
	struct stack_map *map;
	size_t map_room;
	struct loaded_list list;     /* its own OBJECT records */
	struct loaded_ranges ranges; /* including those that a forked child inherited */
	uint32_t loading;	     /* counts changes of the ranges */
	struct recent_frame recent[1u << RECENT_SHIFT];
	bool gap;	  /* records are missing: numbers of objects are unknown from here on */
	uint64_t defined; /* number of defined stacks */
	uint64_t bad;	  /* invalid records */
};

/*
 * Takes the records of one chunk.  A bad record is counted and skipped; after one of unknown
 * length, the rest of the chunk is.
 */
void stack_records_take(struct stack_records *r, const uint64_t *w, size_t n);
void stack_records_free(struct stack_records *r);
