/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * compile_feed.h - what the heap decided of a walk's events, compiled.
 *
 * A pass like any other: the heap's notes say which block a call gave back and which
 * one it handed out; repairs, frees of unknown or inherited blocks, addresses that were
 * taken are its business (heap.h) and only counted here.  Of COMPILE_ALL, exec ends the
 * blocks of the image before, and the end of a process all that it had, as long as
 * others go on; what a single program leaves when it ends is what it left.
 */
#pragma once

#include "compile.h"

/*
 * Walks `in` and compiles o->process: a number, of which image `image`, or COMPILE_ALL.
 * damage: of the input, complete behind its last event; NULL: none.
 */
int compile_feed(const struct walk_input *in, const struct compile_options *o, uint32_t image,
		 const struct trace_damage *damage, struct mprof_play_summary *sum,
		 struct error *err);
