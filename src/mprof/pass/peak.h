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
	struct live at;	      /* everything at the first moment of most live bytes */
	uint64_t ticks;	      /* that moment */
	uint64_t event;	      /* the number of that event */
	uint64_t blocks;      /* most live blocks */
	uint64_t block_ticks; /* when that was first so */
};

struct peak {
	struct walk *walk;
	struct peak_of all;
	struct array process; /* struct peak_of, by index of the heap */
	bool apart;	      /* `all` is maintained; before that it equals the only process */
};

extern const struct pass_ops peak_pass;

/* What is live in its process (an index) and in the run after a block began. */
void peak_look(struct peak *s, uint32_t process, const struct live *own, const struct live *all,
	       const struct event *e, uint64_t number);
