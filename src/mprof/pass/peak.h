/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * peak.h - the pass that finds the moments of most live bytes and most live
 * blocks, for every process (its own blocks) and for the run (the sum of all).
 *
 * Live bytes are requested bytes. The blocks of a process end when it ends or
 * calls exec.
 */
#pragma once

#include "array.h"
#include "walk.h"

struct peak_of {
	struct live at;	      /* the state at the first moment of most live bytes */
	uint64_t ticks;	      /* the time of that moment */
	uint64_t event;	      /* number of the event at that moment */
	uint64_t blocks;      /* most live blocks */
	uint64_t block_ticks; /* when that was first reached */
};

struct peak {
	struct walk *walk;
	struct peak_of all;
	struct array process; /* struct peak_of, by index of the heap */
	bool apart;	      /* `all` is maintained; before that it equals the only process */
};

extern const struct pass_ops peak_pass;

/* Notes the live blocks of a process (an index) and of the run after a block began. */
void peak_look(struct peak *s, uint32_t process, const struct live *own, const struct live *all,
	       const struct event *e, uint64_t number);
