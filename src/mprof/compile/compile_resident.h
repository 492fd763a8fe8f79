/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* compile_resident.h - what the kernel said about the memory of the program that is compiled. */
#pragma once

#include "../heap/blocks.h"
#include "../pass/walk_input.h"

/* Returns the largest resident size of a process, in bytes, with code and files; 0 if unknown. */
uint64_t compile_peak_rss(const struct walk_input *in, uint32_t process);

/*
 * Returns the most bytes of a block that were resident at one reading between its allocation and
 * `until`, ticks.  False if there was no reading.
 */
bool compile_resident(const struct walk_input *in, uint32_t process, const struct block *b,
		      uint64_t until, uint64_t *bytes);
