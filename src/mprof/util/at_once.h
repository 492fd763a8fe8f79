/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* at_once.h - how many of some periods overlap. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Returns how many of n periods, each from `first` to `last`, have a time in common at most.  Sorts
 * both arrays.  One that ends before it begins counts at its beginning.  Threads: any. */
size_t most_at_once(uint64_t *first, uint64_t *last, size_t n);
