/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * place_sinks.h - handing places to every sink of a source, and the frames
 * that are due.  For sources.
 */
#ifndef MPROF_PLACES_PLACE_SINKS_H
#define MPROF_PLACES_PLACE_SINKS_H

#include "placement.h"
#include "place_plan.h"

struct place_sinks {
	const struct place_sink *sink;
	size_t n;
};

static inline void places_start(const struct place_sinks *to, const struct place_start *s)
{
	size_t i;

	for (i = 0; i < to->n; i++)
		if (to->sink[i].ops->start)
			to->sink[i].ops->start(to->sink[i].self, s);
}

static inline void places_begin(const struct place_sinks *to, const struct place_block *b)
{
	size_t i;

	for (i = 0; i < to->n; i++)
		if (to->sink[i].ops->begin)
			to->sink[i].ops->begin(to->sink[i].self, b);
}

static inline void places_end(const struct place_sinks *to, const struct place_block *b,
			      uint64_t op)
{
	size_t i;

	for (i = 0; i < to->n; i++)
		if (to->sink[i].ops->end)
			to->sink[i].ops->end(to->sink[i].self, b, op);
}

static inline void places_sample(const struct place_sinks *to, const struct place_sample *s)
{
	size_t i;

	for (i = 0; i < to->n; i++)
		if (to->sink[i].ops->sample)
			to->sink[i].ops->sample(to->sink[i].self, s);
}

static inline void places_frame(const struct place_sinks *to, const struct place_sample *s,
				const struct place_range *r, size_t n)
{
	size_t i;

	for (i = 0; i < to->n; i++)
		if (to->sink[i].ops->frame)
			to->sink[i].ops->frame(to->sink[i].self, s, r, n);
}

static inline void places_finish(const struct place_sinks *to)
{
	size_t i;

	for (i = 0; i < to->n; i++)
		if (to->sink[i].ops->finish)
			to->sink[i].ops->finish(to->sink[i].self);
}

/* The least number of calls greater than `done` after which a frame stands; or PLACE_NOWHERE. */
static inline uint64_t place_next_frame(const struct place_plan *p, uint64_t ops, uint64_t peak_op,
					uint64_t done)
{
	uint64_t next = PLACE_NOWHERE, i;

	if (p->frames && done < ops) {
		/* The least i with ops * i / frames > done. */
		i = (uint64_t)(((unsigned __int128)(done + 1) * p->frames + ops - 1) / ops);
		next = (uint64_t)((unsigned __int128)ops * i / p->frames);
	}
	if (peak_op < ops && peak_op + 1 > done && peak_op + 1 < next)
		next = peak_op + 1;
	if (p->at < ops && p->at + 1 > done && p->at + 1 < next)
		next = p->at + 1;
	return next;
}

#endif
