/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * place_trace.h - the source of places that is the recorded run itself.
 *
 * It shows one program: a process from one exec to the next, as compile_trace() compiles it.  Ops
 * are the calls that a playback file has, those that began or ended a block of the program: failed
 * calls and frees of NULL, of unknown and of inherited blocks are not ops.  A block passed to
 * realloc ends when realloc is entered, because from then on another thread may get its address.
 * Blocks that are live at the program's end, or when exec replaces it, stay live.
 *
 * Samples are those that the recorder took, of the whole process including its code.  The planned
 * frames come without ranges; where the recorder sampled resident pages, a further frame has them
 * (place_start.has_residency).
 *
 * Walks the trace twice; the first walk counts ops and finds the peak.  It is not needed if the
 * program is already known.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../pass/programs.h"
#include "../trace/trace.h"
#include "placement.h"
#include "place_plan.h"

/*
 * process: its number in the run; takes its program with most calls. 0 = takes the program with
 * most calls of all.  Sites are nodes of trace_stacks(t). plan may be NULL: then the only frame is
 * the peak's. 0; -ENOENT if there is no such process or it made no calls; or the walk's error.
 */
int place_trace(struct trace *t, uint32_t process, const struct place_plan *plan,
		const struct place_sink *to, struct error *err);
/* The same for a program that was found in t. */
int place_trace_program(struct trace *t, const struct trace_program *of,
			const struct place_plan *plan, const struct place_sink *to,
			struct error *err);
