/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * replay_change.h - `mprof replay LOG --drop-site F ...`: what a change of the
 * program would save.
 */
#pragma once

#include <stdbool.h>

#include "../whatif/change.h"
#include "replay_options.h"

struct change_cli {
	struct change_rule rule[CHANGE_RULES];
	size_t rules;
};

/* Options in a struct change_cli. */
extern const struct option_row option_change[];

/* Plays the recorded and the changed calls of path, and prints the answer; returns the exit
 * status. */
int change_run(const char *path, struct change_cli *c, struct replay_cli *cli, bool as_json);
void change_cli_release(struct change_cli *c);
