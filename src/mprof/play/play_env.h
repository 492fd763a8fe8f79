/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* play_env.h - the environment that a playback runs in. */
#ifndef MPROF_PLAY_PLAY_ENV_H
#define MPROF_PLAY_PLAY_ENV_H

#include "variant.h"

/*
 * Ours without what preloads or records, without settings of allocators if v
 * clears them, with v's settings and its allocator preloaded.  For
 * play_env_free(); NULL without memory.
 */
char **play_env(const struct variant *v);
void play_env_free(char **env);

#endif
