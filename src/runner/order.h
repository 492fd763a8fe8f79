/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * order.h - playing the words of ORDER: by one thread (serial.c) or by those who hold the baton
 * (ordered.c).  A slot's word: the block's address, and above it how many whole pages the program
 * asked for (65535: that or more), so that realloc touches only what is new.  0: no block.
 */
#ifndef RUNNER_ORDER_H
#define RUNNER_ORDER_H

#include "call.h"

/* Plays from p to limit or to a word of player.ends, whichever is first; returns where it is. */
typedef const uint64_t *order_play(struct player *s, const uint64_t *p, const uint64_t *limit);

/* The one for what is set. */
order_play *order_choose(void);

#endif
