/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * boundaries.h - boundaries between events, in the order of time: made from the facts and the
 * samples of resident pages before the walk begins.
 */
#pragma once

#include "walk_input.h"

enum boundary_kind {
	BOUNDARY_FORK,	    /* process begins with the blocks of `parent` */
	BOUNDARY_RESIDENCY, /* resident pages were sampled */
	BOUNDARY_EXEC,	    /* process runs another program from here on */
	BOUNDARY_END,	    /* all events of process lie before this */
};

struct boundary {
	uint64_t ticks; /* events at or before these ticks precede it */
	enum boundary_kind kind;
	uint32_t process, parent; /* numbers in the run */
	const struct trace_fact *fact;
	const struct trace_residency *residency;
};

/* Allocates *out (caller frees). */
void boundaries_make(const struct walk_input *in, struct boundary **out, size_t *n);
