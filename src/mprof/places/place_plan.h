/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * place_plan.h - at which ops the sinks of a source want to look, and how a
 * replay is to be run for them.
 *
 * Frame i of `frames`, from 1, stands after ops * i / frames calls, so that the
 * last one shows the end; one more stands after the op of the peak, and one
 * after op `at`.  The sources give each place once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PLACE_NOWHERE UINT64_MAX

struct place_plan {
	unsigned frames;
	unsigned samples;   /* of memory, of a replay; a trace gives those that it has */
	uint64_t at;	    /* one more frame after this op; PLACE_NOWHERE: none */
	const char *mode;   /* "serial" or "ordered"; NULL: serial.  Of a replay, as are these: */
	const char *touch;  /* as in runner.h; NULL: "page" */
	const char *drain;  /* "100,1000": runner.h; NULL: what is left is not freed */
	bool aslr, no_huge; /* runner.h: aslr, thp=0 */
	int64_t limit_ms;   /* a replay that takes longer is stopped; 0: none is */
	/* Called now and then with the calls done so far; may be NULL. */
	void (*progress)(void *context, uint64_t op, uint64_t ops);
	void *progress_context;
	const bool *cancel; /* of a trace: another thread may set it, -ECANCELED follows; NULL */
};
