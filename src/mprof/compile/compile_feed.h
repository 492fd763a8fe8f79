/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * compile_feed.h - compiles the events of a walk as the heap interprets them.
 *
 * A pass like any other, with its own loop over runs (heap/event_run.h): the heap says which block
 * a call freed and which one it allocated; it handles repairs, frees of unknown or inherited
 * blocks, and addresses in use (heap.h), which are only counted here. With COMPILE_ALL, an exec
 * ends the blocks of the old image, and the end of a process ends its blocks while other processes
 * run; blocks that are live when a single program ends stay live.
 */
#pragma once

#include "compile.h"

/*
 * Walks `in` and compiles o->process: image `image` of that number, or COMPILE_ALL.  damage: of the
 * input, complete after its last event; may be NULL.
 */
int compile_feed(const struct walk_input *in, const struct compile_options *o, uint32_t image,
		 const struct trace_damage *damage, struct mprof_play_summary *sum,
		 struct error *err);
