/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* compile_resident.h - what the kernel said about the memory of the program that is compiled. */
#pragma once

#include "../heap/blocks.h"
#include "../pass/walk_input.h"

/* Returns the largest resident size of a process, in bytes, with code and files; 0 if unknown. */
uint64_t compile_peak_rss(const struct walk_input *in, uint32_t process);

/*
 * Finds the largest resident part of a block, in bytes, over the samples from its allocation to
 * `until` (ticks).  Returns false if nobody took a sample in that time.
 */
bool compile_resident(const struct walk_input *in, uint32_t process, const struct block *b,
		      uint64_t until, uint64_t *bytes);
