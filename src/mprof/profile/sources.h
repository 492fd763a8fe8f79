/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * sources.h - a profile by lines of source: the figures of each line itself (exclusive: it is the
 * inner end of a path) and including the functions that it called (inclusive: it is on the path;
 * counted once, however often it occurs).
 *
 * The profile must outlive the result.
 */
#pragma once

#include "../pass/interner.h"
#include "../util/hash.h"
#include "profile.h"

struct source_line {
	uint32_t file; /* index */
	uint32_t line; /* from 1; 0 = unknown */
	uint64_t inclusive[VALUE_COUNT], exclusive[VALUE_COUNT];
	const struct sym_line *example;
	uint64_t sites;
	size_t last; /* index + 1 of the site counted last */
};

struct source_file {
	const char *path;    /* as in the debug information */
	size_t first, count; /* its part of `line`, ascending by line */
	uint64_t inclusive[VALUE_COUNT], exclusive[VALUE_COUNT];
	size_t last;
};

struct sources {
	struct source_line *line;
	size_t lines, line_room;
	struct source_file *file; /* most inclusive bytes of the requested value first */
	size_t files, file_room;
	struct interner paths, places; /* private */
	size_t *file_of;	       /* by id of paths: index + 1, 0 if it does not match */
	size_t file_of_room;
	struct hash entry_of; /* line -> index + 2 of its entry, 1 if its file does not match */
};

/*
 * Takes files whose path is the pattern, ends with "/pattern", or matches it as a glob, whole or by
 * its last part; NULL = all.  Release in any case.
 */
void sources_make(struct sources *s, struct profile *p, const char *pattern,
		  enum profile_value value);
void sources_release(struct sources *s);
