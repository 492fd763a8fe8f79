/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * when.h - --at WHEN: a moment of a run, for report, export and image.
 */
#pragma once

#include <stdint.h>

#include "../profile/profile.h"
#include "option.h"

#define WHEN_HELP "peak, end, a number of calls, 1.5s, or 50% of the calls [peak]"

enum when_kind { WHEN_PEAK, WHEN_END, WHEN_CALLS, WHEN_TIME, WHEN_PERCENT };

struct when {
	enum when_kind kind;
	const char *text; /* as it was given; NULL if it was not */
	uint64_t calls, ns;
	double percent; /* of the calls */
};

/* --at WHEN; lead: "Show the heap then: ". */
extern const struct option_type option_when;
#define OPTION_WHEN(member, lead, ...)                                                    \
	OPTION_CUSTOM(0, "at", "WHEN", struct when, member, &option_when, lead WHEN_HELP, \
		      __VA_ARGS__)

/*
 * Finds where a walk over the trace has to end to be at that moment; sets nothing for the peak.
 * Counts calls of the malloc family in all processes.  Rewinds the trace. 0, or -ERANGE with err
 * filled if the run has no such time.
 */
int when_find(const struct when *w, struct trace *t, struct walk_until *until, struct error *err);

/* Returns why options cannot select blocks when the walk ends at a moment; NULL if they can. */
const char *when_unheeded(const struct profile_options *o);

/* Returns how many of `calls` come before the moment. */
uint64_t when_calls(const struct when *w, uint64_t calls);
/* Returns -ERANGE with err filled if the run had fewer calls. */
int when_out_of(const struct when *w, uint64_t calls, struct error *err);
