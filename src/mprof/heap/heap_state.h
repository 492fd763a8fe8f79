/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * heap_state.h - a heap as bytes, so that a walk can continue from the middle of a trace.
 *
 * The bytes are for the process that made them, not for a file: values of the same kind follow
 * each other, as varints, so that they compress well.  Pages are left out.
 */
#pragma once

#include "../trace/bytes.h"
#include "heap.h"

/* Sets to->failed without memory. */
void heap_save(const struct heap *h, struct byte_column *to);
/* Loads into a heap that heap_init() has begun, without pages. */
void heap_load(struct heap *h, struct cursor *from);

/* Copies n bytes unchanged. */
void state_put(struct byte_column *to, const void *bytes, size_t n);
void state_get(struct cursor *from, void *bytes, size_t n);
/*
 * Copies n rows of numbers, in groups of STATE_ROWS.  A group stores, number by number, which rows
 * differ from the row before, and by how much: most numbers are the same in many rows.
 */
#define STATE_ROWS 64u
void state_put_rows(struct byte_column *to, const uint64_t *row, size_t n, unsigned numbers);
void state_get_rows(struct cursor *from, uint64_t *row, size_t n, unsigned numbers);
