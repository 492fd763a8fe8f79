/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * replay_options.h - the options of commands that play a recording on several
 * allocators: `mprof replay` and `mprof compare`.
 */
#ifndef MPROF_CMD_REPLAY_OPTIONS_H
#define MPROF_CMD_REPLAY_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "../play/runs.h"
#include "profile_options.h"

#define REPLAY_REPS  7
#define REPLAY_QUICK 5
#define REPLAY_KEYS  0x6000 /* the keys of this parser begin here */

struct replay_cli {
	struct runs_plan plan; /* without playback and head */
	struct variants variants;
	struct argument_list lists, sets; /* of --allocator, of --set */
	uint32_t process;
	bool clear, quick, no_heaps;
	bool reps_said, drain_said;
};

/* A child of a command's parser, whose input is a struct replay_cli. */
extern const struct argp replay_argp;

void replay_cli_init(struct replay_cli *c);
void replay_cli_release(struct replay_cli *c);

#endif
