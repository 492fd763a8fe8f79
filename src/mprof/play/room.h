/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * room.h - how much memory there is to play in.
 */
#pragma once

#include <stdint.h>

#include <mprof/playback.h>

#include "../util/error.h"

/*
 * What a program asked for and never wrote to, a replay that writes to all of it
 * needs.  0, or -EFBIG with *err, of whatever allocator: it does not fit into half of what is
 * free, or 2 GiB if that is less; into what --memory says, if it says something.
 * playback: the file's path.  touch: as in runner.h; of what was recorded, it is read.
 */
int room_check(const struct mprof_playback_header *head, const char *playback, const char *touch,
	       struct error *err);
