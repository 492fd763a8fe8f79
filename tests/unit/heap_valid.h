/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* heap_valid.h - the invariants of a heap. */
#pragma once

#include "heap/heap.h"

/* Is every block found at its address, and counted once? */
bool blocks_is_valid(const struct blocks *t);
/* Do the sums agree with the tables, and do own blocks of a process not overlap?  Slow. */
bool heap_is_valid(const struct heap *h);
