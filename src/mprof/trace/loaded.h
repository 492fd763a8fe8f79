/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * loaded.h - finds which object was mapped where in a process, at the current position in its stack
 * records.
 *
 * The list has every OBJECT record of one stream in its order, with the times
 * of loading and unloading; the ranges are the objects loaded now, sorted,
 * without overlap: a new one ends those that it overlaps.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOADED_MAX 16384 /* objects at one time; real processes have fewer */

struct loaded {
	uint64_t first, end; /* addresses */
	uint64_t bias;
	uint64_t ticks, gone; /* gone: UINT64_MAX while it is loaded */
	uint32_t object;
};

struct loaded_list {
	struct loaded *item;
	size_t n, room;
};

/* It owns all its memory; {0} is empty. */
struct loaded_ranges {
	struct loaded *item;
	size_t n, room;
	size_t last; /* where the last address was found */
};

/* False if there are already LOADED_MAX. */
bool loaded_add(struct loaded_ranges *r, const struct loaded *l);
void loaded_remove(struct loaded_ranges *r, uint64_t first, uint64_t end);
/* Returns the object that contains this address, or NULL. */
const struct loaded *loaded_find(struct loaded_ranges *r, uint64_t address);
