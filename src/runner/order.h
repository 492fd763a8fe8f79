/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * order.h - playing the words of ORDER: by one thread (serial.c) or by threads that take turns
 * (ordered.c).  A slot's word: the block's address, and in the upper bits how many whole pages the
 * program requested (65535: that or more), so that realloc touches only new pages.  0: no block.
 */
#pragma once

#include "call.h"

/*
 * Plays from p to limit or to a word of player.ends, whichever is first; returns where it stopped.
 */
typedef const uint64_t *order_play(struct player *s, const uint64_t *p, const uint64_t *limit);

/* Returns the loop for the settings. */
order_play *order_choose(void);
