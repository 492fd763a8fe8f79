/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * rank.h - radix sort of long arrays, about ten times as fast as qsort(3).
 *
 * For an order of several keys, sort by the last one first.  Threads: any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ranked {
	uint64_t key;
	uint64_t item; /* the caller's */
};

/* Sorts by ascending key; equal ones stay in order.  Without memory the program ends (alloc.h). */
void rank(struct ranked *r, size_t n);
/* Moves n items, `bytes` long each, into the order of r, whose `item` is the index of one, without
 * a second array.  Then r[i].item is i. */
void ranked_move(struct ranked *r, size_t n, void *items, size_t bytes);
