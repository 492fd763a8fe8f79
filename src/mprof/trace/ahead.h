/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * ahead.h - unpacking the next chunks while the last ones are worked on.
 *
 * One thread of our own unpacks chunks that were asked for.  It touches nothing
 * of struct trace that changes after trace_open, and counts no damage: a chunk
 * that it cannot read has no words, and whoever takes it says so.
 *
 * Threads: all functions are for the one thread that the trace belongs to.
 */
#ifndef MPROF_TRACE_AHEAD_H
#define MPROF_TRACE_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ahead;
struct chunk;
struct trace;

/* NULL when there can be no such thread; then chunks are unpacked when they are needed. */
struct ahead *ahead_new(const struct trace *t);
/* Waits for what is being unpacked.  a may be NULL. */
void ahead_free(struct ahead *a);
/* A wish: forgotten when too many are open. */
void ahead_ask(struct ahead *a, const struct chunk *c);
/*
 * What was asked for, if it was begun: *buf and *room are exchanged for it, and
 * *words says how many there are, 0 when the chunk is bad.  False: load it yourself.
 */
bool ahead_take(struct ahead *a, const struct chunk *c, uint64_t **buf, size_t *room,
		size_t *words);

#endif
