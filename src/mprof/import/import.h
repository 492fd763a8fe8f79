/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * import.h - records that other tools made, as traces: their calls become the same events
 * that a trace of mprof's has, so whatever reads traces reads them.
 *
 * The formats are rows of import.def; which one a file has is told by its first
 * lines.  All are text, plain, compressed by gzip, or the only file in a zip.
 * What they do not say stays unknown: most have neither times nor threads, none
 * has call stacks or touched bytes, and usable sizes are the requested sizes.
 *
 * A line that makes no sense is counted and left out; the first few are kept
 * with what would be right.  Memory does not grow with lines.
 *
 * Errors: -ENOENT..., -EBADMSG for a file without one usable line, or whose
 * compression is broken from the start; broken later, it ends there.
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../trace/trace.h"
#include "../util/error.h"

struct import_format {
	const char *name;  /* header.input of the playback file */
	const char *title; /* "glibc mtrace text" */
	const char *lines; /* what its lines look like, in one sentence's part */
};

/*
 * The format of a file; NULL: none of these, or it cannot be read.  What is
 * compressed is never one of mprof's own, so it has a format in any case, and
 * import_open says what is wrong with it.
 */
const struct import_format *import_recognise(const char *path);

#define IMPORT_REMARKS 5u

struct import_report {
	uint64_t lines, calls;
	uint64_t bad; /* lines left out, or said to be there and missing */
	size_t remarks;
	char remark[IMPORT_REMARKS][256]; /* of the first of them: "line 12: '...' is ..." */
	bool cut;			  /* it ended in the middle */
};

/*
 * Opens what trace_open takes, or another tool's record as a trace.  For neither, the
 * error says what could have been read.
 */
int import_open(struct trace **out, const char *path, const char *kind_magic, struct error *err);
/* Of a record, complete behind its last event, until the trace is rewound; NULL: of a trace. */
const struct import_report *import_report(const struct trace *t);
/* "glibc mtrace text"; NULL: it is a trace of mprof's own. */
const char *import_title(const struct trace *t);
