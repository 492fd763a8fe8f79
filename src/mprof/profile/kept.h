/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * kept.h - memory that run-time libraries keep until the process ends: blocks of the C library, the
 * dynamic linker and libstdc++ that no program frees, found by the rows of suppressions.def; and
 * modules that Python imports and objects of R, of which the peak does not count here: a program
 * can have fewer.
 *
 * Blocks and bytes at the run's peak, and never freed.  At most KEPT_SITES call
 * stacks with blocks that were never freed are examined, and as many others, those with the most
 * bytes first: figures are never too high, and exact without at_least.
 */
#pragma once

#include "profile.h"

#define KEPT_SITES 200000u
#define KEPT_ROWS  32u

struct kept_of {
	const char *why;
	uint64_t peak_bytes, peak_blocks;
	uint64_t live_bytes, live_blocks;
};

struct kept {
	struct kept_of all; /* why is NULL */
	struct kept_of row[KEPT_ROWS];
	size_t rows;  /* most bytes first */
	bool imports; /* modules of Python are among them */
	bool at_least;
};

void kept_find(struct kept *k, const struct sites *sites, struct profile *names);
/* "run-time libraries", and what else keeps it */
const char *kept_by(const struct kept *k);
/* "at least " before a figure, or "" */
const char *kept_least(const struct kept *k);
