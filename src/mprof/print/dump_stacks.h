/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * dump_stacks.h - the printer of stacks for `mprof dump`: each node once, before
 * the first event that names it or one of its callees, and the loaded files.
 *
 *   text  @NODE \t @CALLER \t PATH+0xADDRESS [\t exact]
 *         @NODE \t @CALLER \t 0xADDRESS              no file was there
 *         @NODE \t @CALLER \t ...                    outer frames were left out
 *         @NODE \t @CALLER \t ???                    unwinding lost the way
 *         %FILE \t BUILD-ID or - \t BIAS \t PATH
 *
 * ADDRESS is the return address as the file has it, hexadecimal; with "exact",
 * that of the instruction itself.  Caller @0: there is none.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../trace/stacks.h"
#include "line.h"

struct dump_stacks {
	const struct stacks *stacks;
	char **path;   /* of each object, safe for a terminal or a JSON string */
	uint8_t *told; /* one bit for each node */
	uint32_t *chain;
	size_t chain_room;
	bool json;
};

/* stacks must outlive d. */
void dump_stacks_start(struct dump_stacks *d, const struct stacks *stacks, bool json);
void dump_stacks_end(struct dump_stacks *d);
/* Prints lines for a node and its callers, unless they were printed before. */
void dump_stacks_tell(struct dump_stacks *d, struct line *l, uint32_t node);
/* Prints one line for each file. */
void dump_stacks_files(const struct dump_stacks *d, struct line *l);
