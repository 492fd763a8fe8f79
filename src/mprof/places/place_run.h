/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * place_run.h - a replay as a source of places: the runner plays a playback file on an allocator
 * and reports the address of each block; its records are joined with the file's ORDER stream.
 *
 * The runner is another process with an unknown allocator: if it dies or its records are
 * impossible, that is an error. Two live blocks at one address are possible; a sink must tolerate
 * them.
 *
 * Blocks that are live at the end of the file stay live.
 */
#pragma once

#include <mprof/runner.h>
#include <stdbool.h>
#include <stddef.h>

#include "../util/error.h"
#include "placement.h"
#include "place_plan.h"

struct variant;

/*
 * playback: a path.  plan may be NULL: then there is only the frame of the peak, and no samples.
 * 0, or -errno with err naming the allocator that failed and how; `finish` is
 * called only on success.
 */
int place_run(const char *playback, const struct variant *v, const struct place_plan *plan,
	      const struct place_sink *to, struct error *err);

/*
 * Would place_run() return this status for every allocator?  Then the playback file is damaged
 * (-EBADMSG), or its blocks do not fit into memory (-EFBIG, room.h).
 */
bool place_run_is_common(int status);
