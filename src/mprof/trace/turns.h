/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * turns.h - where in each stream's events those of other streams come between.
 *
 * Times that are rounded must not move an event of one thread across one of
 * another: the first event of each turn keeps its time, and the others stay
 * between it and the last one.
 */
#ifndef MPROF_TRACE_TURNS_H
#define MPROF_TRACE_TURNS_H

#include <stddef.h>
#include <stdint.h>

struct compact_options;
struct trace;

struct turns_of {
	uint8_t *bit; /* one for each event, set for the first one of a turn; NULL: one turn */
	uint64_t events;
	size_t room; /* bytes */
};

struct turns {
	struct turns_of *stream; /* as in the trace */
	size_t n;
};

/* Walks all events of t, which is at its end then.  0, -ENOMEM or -EINTR. */
int turns_find(struct turns *turns, struct trace *t, const struct compact_options *o);
void turns_free(struct turns *turns);

#endif
