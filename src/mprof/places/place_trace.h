/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * place_trace.h - the source of places that is the recorded run itself.
 *
 * Shown is one program: a process from one exec to the next, as compile_trace()
 * compiles it.  Ops are its calls that began or ended a block of its own, which
 * are those that a playback file has of it: failed calls, frees of NULL, of
 * unknown and of inherited blocks are none.  A block given to realloc ends when
 * realloc is entered, from when on another thread may be given its address.
 * What lives at its end, or when it is replaced by exec, stays.
 *
 * Samples are those that the recorder took, of the whole process: program text
 * and all.  The planned frames come without ranges; where the recorder sampled
 * resident pages, a further frame has them (place_start.has_residency).
 *
 * Walks the trace twice: the first time for the number of ops and the peak.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../trace/trace.h"
#include "placement.h"
#include "place_plan.h"

/*
 * process: its number in the run, of which the program with most calls is taken; 0: of all.  Sites
 * are nodes of trace_stacks(t).  plan may be NULL: no frames but that of the peak. 0; -ENOENT: no
 * such process, or no calls at all; or what the walk returned.
 */
int place_trace(struct trace *t, uint32_t process, const struct place_plan *plan,
		const struct place_sink *sinks, size_t n, struct error *err);
