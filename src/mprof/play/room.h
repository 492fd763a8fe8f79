/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * room.h - is there enough memory for a playback?
 */
#pragma once

#include <stdint.h>

#include <mprof/playback.h>

#include "../util/error.h"

/*
 * A replay that writes to all blocks needs memory that the program requested and never touched.
 * Returns 0, or -EFBIG with *err if it fits with no allocator into half of the free memory or 2
 * GiB, whichever is less, or into --memory, if given. playback: path of the file. touch: as in
 * runner.h.
 */
int room_check(const struct mprof_playback_header *head, const char *playback, const char *touch,
	       struct error *err);
