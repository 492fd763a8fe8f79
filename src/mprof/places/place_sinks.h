/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * place_sinks.h - how sources call their sink, and when frames are due.
 */
#pragma once

#include "place_plan.h"

/* Calls a member of struct place_ops if the sink has it. */
#define PLACES_TELL(to, member, ...)                                  \
	do {                                                          \
		if ((to)->ops->member)                                \
			(to)->ops->member((to)->self, ##__VA_ARGS__); \
	} while (0)

/* Returns the number of calls, greater than `done`, after which the next frame is; or
 * PLACE_NOWHERE. */
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
