/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * shorter_stacks.h - how many call stacks would differ if each had only its innermost frames
 * (--depth): each takes memory of the program that is recorded.
 *
 * Nodes that call nothing are counted as stacks, and numbers above 4,096 are estimated from a
 * sample of all hashes: within some percent.
 */
#pragma once

#include "stacks.h"

struct shorter_stacks {
	uint64_t all;	/* different stacks */
	unsigned depth; /* the most frames with which few remain; 0: no limit helps */
	uint64_t left;	/* that remain, at most all / SHORTER_LEFT */
};

#define SHORTER_LEFT  8u
#define SHORTER_LEAST (1u << 18) /* with fewer stacks, it is not worth the search: all is 0 */

struct shorter_stacks shorter_stacks_find(const struct stacks *s);
