/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * block_numbers.h - finds the block of each event: addresses become numbers of blocks.
 *
 * A compressed trace names blocks itself; events of a raw trace, of other tools'
 * records and of tests are named here, by the same rules (slots.h).  Only
 * addresses and the order of events matter: the heap reports contradictions.
 *
 * Threads: one at a time.
 */
#pragma once

#include <stddef.h>

#include "trace.h"

struct names;

/* Returns NULL without memory. */
struct names *names_new(void);
void names_free(struct names *n);
/* Fills event.block of the next events.  0 or -ENOMEM. */
int names_give(struct names *n, struct event *e, size_t count);
