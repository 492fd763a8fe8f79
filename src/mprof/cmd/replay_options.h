/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * replay_options.h - the options of commands that play a recording on several
 * allocators: `mprof replay` and `mprof compare`.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../play/runs.h"
#include "profile_options.h"

#define REPLAY_REPS  7
#define REPLAY_QUICK 5

struct replay_cli {
	struct runs_plan plan; /* without playback and head */
	struct variants variants;
	const char *const *allocators, *const *sets; /* NULL if none */
	uint32_t process;
	bool clear, quick, no_heaps;
	bool reps_said, drain_said;
};

extern const struct option_row option_replay[];
/* Call it after the options were taken.  0, or -errno with *err. */
int replay_cli_finish(struct replay_cli *c, struct error *err);

void replay_cli_init(struct replay_cli *c);
void replay_cli_release(struct replay_cli *c);
