/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * place_run.h - the source of places that is a replay: a runner plays a
 * playback file under some allocator and says where each block was put; its
 * records are joined with the file's ORDER stream as they come.
 *
 * The runner is another process with a stranger's allocator in it: that it
 * dies, or says what cannot be, is an error here and nothing worse.  Blocks at
 * the same address at the same time are possible then, and sinks must bear it.
 *
 * What lives at the end of the file is never ended.
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
 * playback: a path.  plan may be NULL: no frames but that of the peak, no
 * samples.  result may be NULL.  0, or -errno with err saying which allocator
 * failed and how; the sinks have been told `finish` only if 0.
 */
int place_run(const char *playback, const struct variant *v, const struct place_plan *plan,
	      const struct place_sink *sinks, size_t n, struct mprof_run_result *result,
	      struct error *err);

/*
 * Of a status of place_run: would it be the same with every allocator?  The
 * playback file is damaged (-EBADMSG), or what it plays does not fit into
 * memory (-EFBIG, room.h).
 */
bool place_run_is_common(int status);
