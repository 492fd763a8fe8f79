/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * replay_run.h - plays the input of a command on its list of allocators.
 */
#pragma once

#include "../print/replay.h"
#include "playback_input.h"
#include "replay_options.h"

struct replay_run {
	struct playback_input in;
	struct runs runs;
	struct replay_answer answer;
	/* The variants whose heaps were analysed because they could be played; borrowed. */
	struct variants played;
	struct memories memories;
	struct profile profile; /* names of sites */
	bool named;
};

/*
 * Opens the input and plays it.  Prints what is wrong; returns the exit status. cli must outlive
 * the run.  Call replay_run_release() in any case.
 */
int replay_run_make(struct replay_run *r, const char *path, struct replay_cli *cli);
/* Returns how its memory was measured, for another analysis of block placement. */
struct place_plan replay_run_plan(const struct replay_run *r, const struct replay_cli *cli);
void replay_run_release(struct replay_run *r);

/* Prints the answer as JSON or by `text`, through a pager if `paged`.  Returns the exit status of a
 * command: STATUS_OK, or STATUS_FOUND if no allocator could be played. */
int replay_run_print(const struct replay_run *r, bool as_json, bool paged,
		     void (*text)(const struct replay_answer *a, FILE *out));
