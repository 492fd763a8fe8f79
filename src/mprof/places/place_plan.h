/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * place_plan.h - the ops at which a source has frames, and how to run a replay for them.
 *
 * Frame i of `frames`, from 1, is taken after ops * i / frames calls, so the last one shows the
 * end; one more is taken after the op of the peak, and one after op `at`. Each is taken once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PLACE_NOWHERE UINT64_MAX

struct place_plan {
	unsigned frames;
	unsigned samples; /* how many samples of a replay's memory; a trace has its own */
	uint64_t at;	  /* one more frame after this op; PLACE_NOWHERE if none */
	/* "serial" or "ordered"; NULL = serial.  This and the next members apply to a replay: */
	const char *mode;
	const char *touch; /* as in runner.h; NULL: "page" */
	bool no_huge;	   /* runner.h: thp=0 */
	int64_t limit_ms;  /* a replay that takes longer is stopped; 0: no limit */
	/* Called occasionally with the calls done so far; may be NULL. */
	void (*progress)(void *context, uint64_t op, uint64_t ops);
	void *progress_context;
	const bool *cancel; /* for a trace: another thread may set it, then the result is
			       -ECANCELED; may be NULL */
	/* For a trace: take no frames when it sampled the resident pages.  They would flicker
	 * between frames that do not have them. */
	bool only_planned;
	bool one_by_one; /* for tests, of a trace: decide each event; the result is the same */
};
