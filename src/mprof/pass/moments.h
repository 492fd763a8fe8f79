/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * moments.h - what happens between events, in the order of time: made from
 * the facts and the samples of resident pages before the walk begins.
 */
#ifndef MPROF_PASS_MOMENTS_H
#define MPROF_PASS_MOMENTS_H

#include "walk.h"

enum moment_kind {
	MOMENT_FORK,	  /* process begins with the blocks of `parent` */
	MOMENT_RESIDENCY, /* resident pages were sampled */
	MOMENT_EXEC,	  /* process runs another program from here on */
	MOMENT_END,	  /* all events of process lie before this */
};

struct moment {
	uint64_t ticks; /* events up to and at these ticks come before it */
	enum moment_kind kind;
	uint32_t process, parent; /* numbers of the run */
	const struct trace_fact *fact;
	const struct trace_residency *residency;
};

/* Allocates *out (caller frees).  Returns 0 or -ENOMEM. */
int moments_make(const struct walk_input *in, struct moment **out, size_t *n);

#endif
