/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * room.h - how much memory there is to play in.
 */
#ifndef MPROF_REPLAY_ROOM_H
#define MPROF_REPLAY_ROOM_H

#include <stdint.h>

#include <mprof/playback.h>

#include "../util/error.h"

/* Bytes that can be had without swapping; what is free, where that is not told. */
uint64_t room_available(void);

/*
 * What a program asked for and never wrote to, a replay that writes to all of it
 * needs.  0, or -EFBIG with *err, of whatever allocator: it does not fit.
 * touch: as in runner.h.
 */
int room_check(const struct mprof_playback_header *head, const char *touch, struct error *err);

#endif
